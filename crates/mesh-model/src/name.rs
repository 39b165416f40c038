//! What anything may be called: one newtype a noun, parsed once at the border.
//!
//! Two grammars cover nearly all: a *label* (nodes, modules, provisions, seats: a DNS label, since they become host
//! names and tokens of subjects) and an *identifier* (what is named inside a manifest: it becomes a variable or a
//! field). Collections and files have grammars of their own.
//!
//! A name is made once and cloned often (a plan of a thousand nodes has millions), so a clone shares its text.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};
use thiserror::Error;

/// Why a text is not a name.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NameError {
    /// The text is not a DNS label.
    #[error(
        "`{0}` is not a name: a name has 1 to 63 of the characters a-z, 0-9 and -, and neither begins nor ends with -"
    )]
    Label(String),
    /// The text is not an identifier.
    #[error(
        "`{0}` is not a name: a name begins with a-z and has up to 63 of the characters a-z, 0-9, _ and -"
    )]
    Identifier(String),
    /// The text is not the name of a collection.
    #[error("`{0}` does not name a collection: that is printable text of 1 to 200 bytes")]
    Collection(String),
    /// The text is not a path below a folder.
    #[error("`{0}` does not name a file: that is a relative path that stays inside its folder")]
    Path(String),
}

fn is_label(text: &str) -> bool {
    let bytes = text.as_bytes();
    let alphanumeric = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    (1..=63).contains(&bytes.len())
        && bytes.iter().all(|b| alphanumeric(b) || *b == b'-')
        && bytes.first().is_some_and(alphanumeric)
        && bytes.last().is_some_and(alphanumeric)
}

fn is_identifier(text: &str) -> bool {
    let bytes = text.as_bytes();
    (1..=63).contains(&bytes.len())
        && bytes[0].is_ascii_lowercase()
        && bytes.iter().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'_' | b'-'))
}

fn is_collection(text: &str) -> bool {
    (1..=200).contains(&text.len()) && !text.chars().any(char::is_control)
}

/// A relative path without `.` or `..`, empty parts, backslashes or control characters, of at most 255 bytes.
fn is_path(text: &str) -> bool {
    (1..=255).contains(&text.len())
        && !text.chars().any(|c| c.is_control() || c == '\\')
        && text.split('/').all(|part| !part.is_empty() && part != "." && part != "..")
}

macro_rules! names {
    ($test:ident, $error:ident: $($(#[$doc:meta])* $name:ident;)+) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
        #[serde(try_from = "String")]
        pub struct $name(Arc<str>);

        impl $name {
            /// The name as it was written.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::str::FromStr for $name {
            type Err = NameError;

            fn from_str(text: &str) -> Result<Self, NameError> {
                if $test(text) { Ok(Self(text.into())) } else { Err(NameError::$error(text.to_owned())) }
            }
        }

        impl TryFrom<String> for $name {
            type Error = NameError;

            fn try_from(text: String) -> Result<Self, NameError> {
                if $test(&text) { Ok(Self(text.into())) } else { Err(NameError::$error(text)) }
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> String {
                name.0.as_ref().to_owned()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }
    )+};
}

names! { is_label, Label:
    /// All the machines of one owner.
    MeshName;
    /// One machine of the mesh.
    NodeName;
    /// Something that can run on a node.
    ModuleName;
    /// A kind of thing that one module can make for another.
    ProvisionName;
    /// A role held once for the mesh.
    SeatName;
    /// A person who may apply.
    OperatorName;
}

names! { is_identifier, Identifier:
    /// The consumer's own name for a provision that it needs.
    LocalName;
    /// A port of a module.
    PortName;
    /// A folder of a module.
    DirName;
    /// A secret of a module's own.
    SecretName;
    /// A setting of a module.
    SettingName;
    /// A field of a contribution or of a bound value.
    FieldName;
    /// A service of a module.
    ServiceName;
}

names! { is_collection, Collection:
    /// A named list that modules on a node add items to.
    CollectionName;
}

names! { is_path, Path:
    /// A file of a module: a relative path that stays inside its folder.
    FilePath;
}

#[cfg(test)]
mod tests;
