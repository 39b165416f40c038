//! `mesh up` as somebody watches it, until Ctrl-C.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::quickstart::home::Home;
use crate::quickstart::processes;

#[test]
fn it_says_what_is_waited_for_and_leaves_nothing_after_ctrl_c() {
    let home = Home::quickstart();
    let mut command = Command::new(env!("CARGO_BIN_EXE_mesh"));
    command.args(["up", "--nats-server"]).arg(mesh_bus::testing::nats_server()).current_dir(home.dir());
    let mut up = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    let mut lines = BufReader::new(up.stderr.take().unwrap());
    while !said.contains("everything is applied") {
        assert_ne!(lines.read_line(&mut said).unwrap(), 0, "it ended: {said}");
    }
    assert!(said.contains("quickstart runs here: attic, cellar"), "{said}");
    assert!(said.contains("waiting for `db` of postgres@attic"), "{said}");
    home.browser().write("seen");
    kill_process(Pid::from_child(&up), Signal::INT).unwrap();
    lines.read_to_string(&mut said).unwrap();
    assert_eq!(up.wait().unwrap().code(), Some(0), "{said}");
    let left = processes::of_folder(home.dir());
    assert!(left.is_empty(), "{left:?}");
    let mut table = String::new();
    up.stdout.take().unwrap().read_to_string(&mut table).unwrap();
    assert!(table.contains("notes") && table.contains("applied"), "{table}");
}
