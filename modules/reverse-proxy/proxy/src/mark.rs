//! The sign by which a head that the guard put in a refused one's place is known.
//!
//! Its name is made anew at each start, so nobody who sends a request can make one.

use std::fmt::Write;
use std::sync::Arc;

use http::{HeaderMap, HeaderName};

/// The sign.
#[derive(Debug, Clone)]
pub(crate) struct Mark {
    name: HeaderName,
    head: Arc<str>,
}

impl Mark {
    pub(crate) fn new() -> Self {
        let mut random = [0; 16];
        getrandom::fill(&mut random).expect("the system gives randomness");
        let mut name = "x-".to_owned();
        random.iter().for_each(|byte| write!(name, "{byte:02x}").expect("a text can be written to"));
        let head =
            format!("GET / HTTP/1.1\r\nhost: refused.invalid\r\nconnection: close\r\n{name}: 1\r\n\r\n");
        Self { name: name.parse().expect("it is a name of a field"), head: head.into() }
    }

    /// The head that stands for a refused one.
    pub(crate) fn head(&self) -> &str {
        &self.head
    }

    /// Whether these fields are those of such a head.
    pub(crate) fn is_on(&self, fields: &HeaderMap) -> bool {
        fields.contains_key(&self.name)
    }
}
