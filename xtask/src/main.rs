//! `cargo xtask`: set-up, demo, tests, benchmarks, house rules.
//!
//! Builds in seconds, with next to no dependencies, because it is what a newcomer runs first. It knows nothing of what
//! mesh does: it starts programs. Read `setup` for what is installed and why, `demo` and `suite` for what is run with
//! it, `reach` for where, `tidy` for the house rules.

mod demo;
mod place;
mod reach;
mod setup;
mod shell;
mod suite;
mod tidy;

use std::process::ExitCode;

use crate::place::Place;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  setup                    install what is missing: a nats-server, PostgreSQL
  demo [--state FOLDER]    set up, build, and run examples/quickstart until Ctrl-C
  test [ARGUMENTS]         set up, run every test; with arguments, those of `cargo test ARGUMENTS`
  cases [--release]        try `mesh plan` on the cases kept beside the checkout, if there are any
  bench [NAME]             set up, measure
  tidy                     the house rules
";

#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("{USAGE}")]
    Usage,
    #[error(transparent)]
    Setup(#[from] setup::Error),
    #[error(transparent)]
    Demo(#[from] demo::Error),
    #[error(transparent)]
    Suite(#[from] suite::Error),
    #[error(transparent)]
    Tidy(#[from] tidy::Error),
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Error::Usage) => {
            shell::say(USAGE);
            ExitCode::from(2)
        }
        Err(error) => {
            shell::say(&format!("error: {}", shell::chain(&error)));
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<(), Error> {
    let place = Place::of_this_checkout();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["setup"] => drop(setup::run(&place)?),
        ["demo"] => demo::run(place, None)?,
        ["demo", "--state", state] => demo::run(place, Some(state.as_ref()))?,
        ["test", rest @ ..] => suite::test(place, rest)?,
        ["cases"] => suite::cases(&place, suite::Profile::Dev)?,
        ["cases", "--release"] => suite::cases(&place, suite::Profile::Release)?,
        ["bench", rest @ ..] => suite::bench(place, rest)?,
        ["tidy"] => tidy::run(&place)?,
        _ => return Err(Error::Usage),
    }
    Ok(())
}
