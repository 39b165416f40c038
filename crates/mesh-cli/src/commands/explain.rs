//! `mesh explain`: a refusal, at length.
//!
//! The pages of `docs/refusals/` are built in by `build.rs`; the house rules check that every code has one.

use clap::Args;
use mesh_model::refusal::Code;
use thiserror::Error;

use crate::exit::{Exit, Failure};
use crate::screen::Screen;

/// Each code and its page.
const PAGES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/pages.rs"));

/// Which code.
#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// A code as a refusal names it: no-provider
    code: String,
}

/// Why nothing is explained.
#[derive(Debug, Error)]
#[error("`{code}` is not a code of a refusal")]
struct UnknownCode {
    code: String,
}

/// Prints the page.
pub(crate) fn run(args: &ExplainArgs, screen: &Screen) -> Result<Exit, Failure> {
    let page = PAGES.iter().find(|(code, _)| *code == args.code);
    let Some((_, page)) = page else { return Err(unknown(&args.code)) };
    screen.print(page)?;
    Ok(Exit::Done)
}

fn unknown(code: &str) -> Failure {
    let codes = Code::ALL.iter().map(|code| code.as_str());
    let near = codes.min_by_key(|known| strsim::osa_distance(code, known)).expect("there are codes");
    let all: Vec<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
    Failure::new(UnknownCode { code: code.to_owned() })
        .hint(format!("the nearest is `{near}`. There is: {}", all.join(", ")))
}
