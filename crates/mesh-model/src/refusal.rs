//! Bad news about what somebody wrote: a code, a message, a place and the way out.
//!
//! A refusal is not an error: pure code collects all of them, and each stands for itself. The codes are a contract; each
//! has a page under `docs/refusals/`.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::name::{ModuleName, NodeName};

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)+) => {
        /// What a refusal is about.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $($(#[$doc])* $name,)+
        }

        impl Code {
            /// Every code, in the order of the contract.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// The code as it is written.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)+
                }
            }
        }
    };
}

codes! {
    /// The text is not YAML.
    BadSyntax = "bad-syntax",
    /// A key that this place does not have.
    UnknownKey = "unknown-key",
    /// A value of the wrong shape.
    BadValue = "bad-value",
    /// A text that is not a name.
    BadName = "bad-name",
    /// The same key twice.
    DuplicateName = "duplicate-name",
    /// A module that is nowhere.
    UnknownModule = "unknown-module",
    /// A node that is not in `nodes`.
    UnknownNode = "unknown-node",
    /// A node without an address where one is needed.
    MissingAddress = "missing-address",
    /// Nobody provides it.
    NoProvider = "no-provider",
    /// A module of the folder would provide it, and runs nowhere.
    ProviderNotAssigned = "provider-not-assigned",
    /// More than one could provide it.
    AmbiguousProvider = "ambiguous-provider",
    /// A binding to what does not provide it.
    BadBinding = "bad-binding",
    /// A circle of modules that wait for each other.
    WaitsOnItself = "waits-on-itself",
    /// The provider takes a field that is not given.
    MissingContribution = "missing-contribution",
    /// A field is given that the provider does not take.
    UnknownContribution = "unknown-contribution",
    /// A field does not fit the provider's pattern.
    BadContribution = "bad-contribution",
    /// Two modules contribute the same to one provider.
    ContributionTaken = "contribution-taken",
    /// A placeholder that cannot be read.
    BadPlaceholder = "bad-placeholder",
    /// A placeholder of no known kind.
    UnknownKind = "unknown-kind",
    /// A placeholder whose name is not declared.
    UnknownPlaceholder = "unknown-placeholder",
    /// A field that the provision does not give.
    UnknownField = "unknown-field",
    /// A filter that is not known.
    UnknownFilter = "unknown-filter",
    /// A list or an object without a filter that writes it.
    NeedsFilter = "needs-filter",
    /// A secret where others can read it.
    SecretExposed = "secret-exposed",
    /// A setting that must be set and is not.
    MissingSetting = "missing-setting",
    /// A setting that the module does not have.
    UnknownSetting = "unknown-setting",
    /// A setting of the wrong type.
    BadSetting = "bad-setting",
    /// A secret that is used and not declared.
    MissingSecret = "missing-secret",
    /// A port that two hold at one address, or a range that is full.
    PortTaken = "port-taken",
    /// A seat that two modules may hold.
    SeatTaken = "seat-taken",
    /// Two files or folders at one path.
    PathTaken = "path-taken",
    /// A manifest or an assignment that is too large.
    TooLarge = "too-large",
    /// An image of ours that nothing builds.
    ImageNotBuilt = "image-not-built",
    /// A containerfile that no image names.
    ImageWithoutTarget = "image-without-target",
    /// A warning: a module that is assigned nowhere.
    UnusedModule = "unused-module",
    /// A warning: a secret that is put nowhere.
    UnusedSecret = "unused-secret",
    /// A warning: a setting that nothing reads.
    UnusedSetting = "unused-setting",
}

/// A word that is no code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("that is not a code of a refusal")]
pub struct NotACode;

impl FromStr for Code {
    type Err = NotACode;

    fn from_str(text: &str) -> Result<Self, NotACode> {
        Self::ALL.iter().copied().find(|code| code.as_str() == text).ok_or(NotACode)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Code {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// One thing in the description that could never work. A warning has the same shape.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// What it is about.
    pub code: Code,
    /// What is wrong, in one sentence.
    pub message: String,
    /// The file, relative to the description's folder, with `/` between its parts.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The bytes of the file that are wrong, for underlining.
    #[serde(skip)]
    pub span: Range<usize>,
    /// The node concerned.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub node: Option<NodeName>,
    /// The module concerned.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub module: Option<ModuleName>,
    /// The name concerned: of a need, a setting, a port, a file.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub name: Option<String>,
    /// The way out.
    pub help: String,
}
