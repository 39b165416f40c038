//! The order of a chain, and which error comes to which code.

use std::fmt;

use mesh_bus::client::RequestError;
use mesh_bus::verb::VerbError;

use super::*;

#[derive(Debug)]
struct Says(&'static str, Option<Box<Says>>);

impl fmt::Display for Says {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl Error for Says {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.1.as_deref().map(|says| says as _)
    }
}

#[test]
fn the_cause_comes_first_and_each_is_said_once() {
    let cause = Says("connection refused", None);
    let between = Says("io error: connection refused", Some(Box::new(cause)));
    let failure = Failure::new(Says("cannot connect to the bus", Some(Box::new(between))));
    assert_eq!(failure.chain(), ["io error: connection refused", "cannot connect to the bus"]);
}

#[test]
fn a_seat_that_does_not_answer_is_unreachable_and_a_refusal_is_not() {
    let verb = "mesh-vault.list".to_owned();
    let source = RequestError::TimedOut { subject: verb.clone() };
    let failure = Failure::from(AskError::Unreachable { verb: verb.clone(), source });
    assert_eq!(failure.exit, Exit::Unreachable);
    assert!(failure.way_out().is_some_and(|hint| hint.contains("mesh-vault")));

    let refused = VerbError::new("unknown-secret", "nothing declares notes.smtp").help("apply it first");
    let failure = Failure::from(AskError::Refused { verb, refused });
    assert_eq!(failure.exit, Exit::Failed);
    assert_eq!(failure.way_out(), Some("apply it first"));
    assert_eq!(failure.chain(), ["mesh-vault.list refused: nothing declares notes.smtp"]);
}
