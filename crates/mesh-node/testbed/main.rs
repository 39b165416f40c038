//! A program for the tests alone: a shim, and a node that can be killed without killing the test.

use std::{ffi::OsString, process::ExitCode};

mod node;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    match arguments.split_first() {
        Some((first, rest)) if first == "shim" => mesh_node::shim::main(rest),
        Some((first, rest)) if first == "node" => node::main(rest),
        _ => ExitCode::from(2),
    }
}
