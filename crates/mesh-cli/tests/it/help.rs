//! What each command says of itself, in eighty columns.

use std::path::Path;

use mesh_model::refusal::Code;

use crate::program::{fits, mesh};

const COMMANDS: &[&str] = &[
    "",
    "up",
    "down",
    "check",
    "plan",
    "apply",
    "graph",
    "status",
    "provisioning",
    "needs",
    "secret",
    "secret list",
    "secret set",
    "secret rotate",
    "secret escrow",
    "secret confirm-escrow",
    "secret reveal",
    "logs",
    "modules",
    "modules show",
    "new",
    "schema",
    "explain",
    "completions",
];

#[test]
fn every_command_says_what_it_does() {
    let mut manual = String::new();
    for command in COMMANDS {
        let help = mesh(Path::new("."), &format!("{command} --help")).done();
        fits(&help);
        let help: Vec<&str> = help.lines().map(str::trim_end).collect();
        manual.push_str(&format!("$ mesh {command} --help\n{}\n\n", help.join("\n")));
    }
    insta::assert_snapshot!("help", manual);
}

#[test]
fn every_code_of_a_refusal_is_explained() {
    for code in Code::ALL {
        let page = mesh(Path::new("."), &format!("explain {code}")).done();
        fits(&page);
        assert!(page.starts_with(&format!("# {code}\n")), "{code}: {page}");
    }
}

#[test]
fn a_shell_completes_the_commands() {
    for shell in ["bash", "zsh", "fish"] {
        let script = mesh(Path::new("."), &format!("completions {shell}")).done();
        assert!(script.contains("provisioning"), "{shell}: {script}");
    }
}
