//! `mesh explain`: a refusal, at length.
//!
//! The pages of `docs/refusals/` are built in by `build.rs`; the house rules check that every code has one.

use clap::Args;
use mesh_model::refusal::Code;
use thiserror::Error;

use crate::exit::{Exit, Failure};
use crate::screen::{Screen, WIDTH};
use crate::table::wrapped;

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
    screen.print(fitted(page))?;
    Ok(Exit::Done)
}

/// A page with its paragraphs in lines that a terminal has room for; examples stay as they are.
fn fitted(page: &str) -> String {
    let (mut out, mut paragraph, mut example) = (String::new(), Vec::new(), false);
    for line in page.lines().chain([""]) {
        let fence = line.starts_with("```");
        if !example && !fence && !line.is_empty() && !line.starts_with('#') && !is_path(line) {
            paragraph.push(line);
            continue;
        }
        let text = std::mem::take(&mut paragraph).join(" ");
        let lines = if text.is_empty() { Vec::new() } else { wrapped(&text, WIDTH) };
        lines.iter().map(String::as_str).chain([line]).for_each(|line| {
            out.push_str(line);
            out.push('\n');
        });
        example ^= fence;
    }
    format!("{}\n", out.trim_end())
}

/// Whether a line names the file of the example below it.
fn is_path(line: &str) -> bool {
    let inside = line.strip_prefix('`').and_then(|line| line.strip_suffix('`'));
    inside.is_some_and(|inside| !inside.contains('`'))
}

fn unknown(code: &str) -> Failure {
    let codes = Code::ALL.iter().map(|code| code.as_str());
    let near = codes.min_by_key(|known| strsim::osa_distance(code, known)).expect("there are codes");
    let all: Vec<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
    Failure::new(UnknownCode { code: code.to_owned() })
        .hint(format!("the nearest is `{near}`. There is: {}", all.join(", ")))
}
