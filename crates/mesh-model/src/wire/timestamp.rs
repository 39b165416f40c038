//! A moment, as RFC 3339 in UTC with milliseconds.

use std::fmt;

use serde::{Deserialize, Serialize};
use time::format_description::well_known::Rfc3339;
use time::{OffsetDateTime, UtcOffset};

/// A moment on somebody's wall clock: told to people, never compared to decide anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Timestamp(OffsetDateTime);

impl Timestamp {
    /// A moment, to the millisecond.
    #[must_use]
    pub fn new(moment: OffsetDateTime) -> Self {
        let moment = moment.to_offset(UtcOffset::UTC);
        let whole = moment.millisecond();
        Self(moment.replace_millisecond(whole).unwrap_or(moment))
    }

    /// The moment itself.
    #[must_use]
    pub fn moment(self) -> OffsetDateTime {
        self.0
    }
}

impl TryFrom<String> for Timestamp {
    type Error = time::error::Parse;

    fn try_from(text: String) -> Result<Self, time::error::Parse> {
        OffsetDateTime::parse(&text, &Rfc3339).map(Self::new)
    }
}

impl From<Timestamp> for String {
    fn from(at: Timestamp) -> String {
        at.to_string()
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0.format(&Rfc3339).map_err(|_| fmt::Error)?)
    }
}
