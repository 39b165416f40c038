//! Lines of `/proc/<pid>/stat`, and trees of processes.

use super::*;

#[test]
fn a_name_may_hold_parentheses_and_spaces() {
    let stat = "7 (a) Z (b) S 3 7 5 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 4242 0 0";
    let process = parse(7, stat).unwrap();
    assert_eq!((process.parent, process.session, process.started), (3, 5, 4242));
    assert_eq!(process.life, Life::Alive);
}

#[test]
fn descendants_are_found_however_deep() {
    let process = |pid, parent| Process { pid, parent, session: 0, started: 0, life: Life::Alive };
    let all = [process(4, 3), process(2, 1), process(3, 2), process(9, 1), process(5, 2)];
    let mut found: Vec<i32> = descendants(&all, 2).iter().map(|process| process.pid).collect();
    found.sort_unstable();
    assert_eq!(found, [3, 4, 5]);
}

#[test]
fn this_process_is_found_with_its_parent() {
    let own = i32::try_from(std::process::id()).unwrap();
    let process = look(own).unwrap();
    assert_eq!(process.parent, rustix::process::getppid().unwrap().as_raw_nonzero().get());
    assert!(all().contains(&process));
}
