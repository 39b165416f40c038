//! An error told in one line, where it becomes part of what somebody reads later: a value on the bus, a line of a log.

use std::error::Error;

/// An error and its causes, the outermost first, with a colon between them.
#[must_use]
pub fn in_a_line(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        text.push_str(&format!(": {next}"));
        cause = next.source();
    }
    text
}
