//! The secret part of a credential: several fields, sealed as one.
//!
//! On the inside of the seal it is a JSON map of text to text: `{"password":"…"}`. A module's own secret
//! is sealed in the same shape, with the one field [`Fields::OWN`].

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use serde::de::{Deserialize, Deserializer, Error as _, Visitor};
use zeroize::Zeroizing;

use crate::Secret;

/// Secrets by the name of their field, in that order. Prints its names and none of its secrets.
#[derive(Clone, Default)]
pub struct Fields(BTreeMap<String, Secret>);

/// A credential's fields could not be put together or taken apart. It holds nothing of what they say:
/// a parser's message might quote it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FieldsError {
    /// A field's secret is not text.
    #[error("the field {field} is not UTF-8 text")]
    NotText {
        /// Which.
        field: String,
    },
    /// What was opened is no map of fields.
    #[error("what was sealed is not a map of fields")]
    NotFields,
    /// What is to say what they are is no JSON object.
    #[error("the label is not a JSON object")]
    NotLabel,
}

impl Fields {
    /// The field of a module's own secret.
    pub const OWN: &str = "value";

    /// A module's own secret.
    pub fn own(secret: Secret) -> Self {
        let mut fields = Self::new();
        fields.insert(Self::OWN, secret);
        fields
    }

    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts one in; one of the same name is replaced.
    pub fn insert(&mut self, field: impl Into<String>, secret: Secret) {
        self.0.insert(field.into(), secret);
    }

    /// The one of that name.
    pub fn get(&self, field: &str) -> Option<&Secret> {
        self.0.get(field)
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Secret)> {
        self.0.iter().map(|(field, secret)| (field.as_str(), secret))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All in one, to be sealed.
    pub fn encode(&self) -> Result<Secret, FieldsError> {
        let texts = self.texts()?;
        let mut json = Zeroizing::new(Vec::with_capacity(room(&texts)));
        serde_json::to_writer(&mut *json, &texts).expect("a map of text to text always has a JSON");
        Ok(Secret::from_wiped(json))
    }

    /// All in one line that says what it is, for somebody who opens it with nothing else at hand: the keys of a label
    /// (which is a JSON object), and `secrets`, the map of [`Fields::encode`].
    pub fn encode_labelled(&self, label: &impl Serialize) -> Result<Secret, FieldsError> {
        #[derive(Serialize)]
        struct Labelled<'a, L> {
            #[serde(flatten)]
            label: &'a L,
            secrets: &'a BTreeMap<&'a str, &'a str>,
        }

        let secrets = &self.texts()?;
        let label_room = serde_json::to_string(label).map_err(|_| FieldsError::NotLabel)?.len();
        let mut json = Zeroizing::new(Vec::with_capacity(label_room + room(secrets) + 32));
        serde_json::to_writer(&mut *json, &Labelled { label, secrets }).map_err(|_| FieldsError::NotLabel)?;
        json.push(b'\n');
        Ok(Secret::from_wiped(json))
    }

    fn texts(&self) -> Result<BTreeMap<&str, &str>, FieldsError> {
        let mut texts = BTreeMap::new();
        for (field, secret) in self.iter() {
            let text = secret.expose_text();
            texts.insert(field, text.ok_or_else(|| FieldsError::NotText { field: field.to_owned() })?);
        }
        Ok(texts)
    }

    /// Takes apart what [`Fields::encode`] put together.
    pub fn decode(encoded: &Secret) -> Result<Self, FieldsError> {
        let fields: BTreeMap<String, Text> =
            serde_json::from_slice(encoded.expose()).map_err(|_| FieldsError::NotFields)?;
        Ok(Self(fields.into_iter().map(|(field, Text(secret))| (field, secret)).collect()))
    }
}

impl fmt::Debug for Fields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

/// How many bytes they come to as JSON: at most six bytes a byte (`\u0000`), so that a buffer of this size never grows and
/// leaves an unwiped copy behind.
fn room(texts: &BTreeMap<&str, &str>) -> usize {
    texts.iter().map(|(field, text)| 6 * (field.len() + text.len()) + 6).sum::<usize>() + 2
}

/// A JSON text that becomes a secret without a copy that nobody wipes.
struct Text(Secret);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visit;
        impl Visitor<'_> for Visit {
            type Value = Text;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Text, E> {
                Ok(Text(Secret::new(text.as_bytes().to_vec())))
            }

            fn visit_bytes<E: serde::de::Error>(self, _: &[u8]) -> Result<Text, E> {
                Err(E::custom("bytes are not text"))
            }
        }
        deserializer.deserialize_str(Visit).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests;
