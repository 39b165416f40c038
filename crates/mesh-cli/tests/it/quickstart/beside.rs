//! Beside others: a second mesh, and a PostgreSQL that was there before.

use std::net::{TcpListener, TcpStream};

use crate::quickstart::home::Home;

#[test]
fn two_run_on_one_machine_and_keep_clear_of_what_is_there() {
    // Where something has PostgreSQL's own port already, it is that which they have to keep clear of.
    let postgres = TcpListener::bind("127.0.0.1:5432");
    assert!(postgres.is_ok() || TcpStream::connect("127.0.0.1:5432").is_ok());
    let first = Home::quickstart();
    first.up();
    let second = Home::another();
    second.up();
    let ports = |home: &Home| [home.port("attic", "postgres", "sql"), home.port("cellar", "notes", "http")];
    let [a, b] = ports(&first);
    let [c, d] = ports(&second);
    let mut all = vec![a, b, c, d];
    all.sort_unstable();
    all.dedup();
    assert!(all.len() == 4 && !all.contains(&5432), "{all:?}");

    first.browser().write("of the first");
    second.browser().write("of the second");
    assert!(!first.browser().page().contains("of the second"));
    second.down();
    first.browser().well();

    // The port that it had is taken by the time it is back: kept, and said, not moved in silence. Or it is free again.
    second.up();
    assert_eq!(ports(&second), [c, d]);
    assert!(second.browser().page().contains("of the second"));
}
