//! What somebody signs in with: a token, and the key that it was signed for.
//!
//! The text form is the credentials file of NATS, so that any NATS client can sign in with it too. The key is
//! a secret: it shows in no Debug and is wiped when dropped.

use std::fmt;

use data_encoding::BASE64URL_NOPAD;
use nkeys::KeyPair;
use thiserror::Error;
use zeroize::Zeroizing;

use crate::account::Account;

/// A user's key pair.
#[derive(Clone)]
pub struct UserKey(Zeroizing<String>);

impl UserKey {
    /// Makes one.
    #[must_use]
    pub fn new() -> Self {
        Self(Zeroizing::new(KeyPair::new_user().seed().expect("a key that was just made has a seed")))
    }

    /// Reads the text of a seed (`SU…`).
    ///
    /// # Errors
    /// Where the text is no user's seed.
    pub fn from_seed(seed: &str) -> Result<Self, CredsError> {
        let seed = seed.trim();
        match KeyPair::from_seed(seed) {
            Ok(key) if key.key_pair_type() == nkeys::KeyPairType::User => {
                Ok(Self(Zeroizing::new(seed.to_owned())))
            }
            _ => Err(CredsError::Seed),
        }
    }

    /// The text to keep in a file of mode 0600, and nowhere else.
    #[must_use]
    pub fn seed(&self) -> &str {
        &self.0
    }

    fn pair(&self) -> KeyPair {
        KeyPair::from_seed(&self.0).expect("it was read as a seed, or made as one")
    }

    /// The public half (`U…`), for others to sign a token for.
    #[must_use]
    pub fn public(&self) -> String {
        self.pair().public_key()
    }

    /// Its signature of something, as a text.
    #[must_use]
    pub fn prove(&self, what: &str) -> String {
        BASE64URL_NOPAD.encode(&self.pair().sign(what.as_bytes()).expect("it holds its seed"))
    }

    pub(crate) fn sign(&self, nonce: &[u8]) -> Result<Vec<u8>, nkeys::error::Error> {
        self.pair().sign(nonce)
    }
}

/// Whether the key of this public half (`U…`) has proved something.
#[must_use]
pub fn has_proved(public: &str, what: &str, proof: &str) -> bool {
    let signature = BASE64URL_NOPAD.decode(proof.as_bytes()).ok();
    let key = is_user(public).then(|| KeyPair::from_public_key(public).ok()).flatten();
    key.zip(signature).is_some_and(|(key, signature)| key.verify(what.as_bytes(), &signature).is_ok())
}

/// Whether a text is the public half of a user's key.
#[must_use]
pub fn is_user(public: &str) -> bool {
    let key = KeyPair::from_public_key(public);
    key.is_ok_and(|key| key.key_pair_type() == nkeys::KeyPairType::User)
}

impl Default for UserKey {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for UserKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UserKey({})", self.public())
    }
}

/// Who somebody is, and the proof.
#[derive(Clone)]
pub struct Creds {
    account: Account,
    token: String,
    key: UserKey,
}

impl fmt::Debug for Creds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Creds({}, {:?})", self.account, self.key)
    }
}

/// Why a text is no credentials.
#[derive(Debug, Error)]
pub enum CredsError {
    /// A part is missing.
    #[error("the credentials have no {0}")]
    Missing(&'static str),
    /// The seed is no user's seed.
    #[error("the credentials' seed is not one of a user")]
    Seed,
    /// The token cannot be read.
    #[error("the credentials' token cannot be read")]
    Token,
    /// The token names nobody whom we know.
    #[error("the credentials are for `{0}`, which is no node, module, operator or seat")]
    Nobody(String),
}

impl Creds {
    /// Puts together what was made apart.
    #[must_use]
    pub fn new(account: Account, token: String, key: UserKey) -> Self {
        Self { account, token, key }
    }

    /// Who this is.
    #[must_use]
    pub fn account(&self) -> &Account {
        &self.account
    }

    /// The token of the key.
    #[must_use]
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Whom the token was signed for, by its own word: the server is who verifies it.
    pub(crate) fn says_who(&self) -> Option<Account> {
        name_in(&self.token)?.parse().ok()
    }

    /// The key that proves it.
    #[must_use]
    pub fn key(&self) -> &UserKey {
        &self.key
    }

    /// The text of a credentials file. It holds the secret: for a file of mode 0600.
    #[must_use]
    pub fn to_text(&self) -> Zeroizing<String> {
        let (token, seed) = (&self.token, self.key.seed());
        Zeroizing::new(format!(
            "-----BEGIN NATS USER JWT-----\n{token}\n------END NATS USER JWT------\n\n\
             -----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n"
        ))
    }

    /// Reads the text of a credentials file; who it is for is in its token.
    ///
    /// # Errors
    /// Where a part is missing or cannot be read.
    pub fn from_text(text: &str) -> Result<Self, CredsError> {
        let token = between(text, "NATS USER JWT").ok_or(CredsError::Missing("token"))?;
        let seed = between(text, "USER NKEY SEED").ok_or(CredsError::Missing("seed"))?;
        let name = name_in(token).ok_or(CredsError::Token)?;
        let account = name.parse().map_err(|_| CredsError::Nobody(name))?;
        Ok(Self::new(account, token.to_owned(), UserKey::from_seed(seed)?))
    }
}

fn between<'a>(text: &'a str, what: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("BEGIN {what}"))?;
    rest.lines().nth(1).map(str::trim).filter(|line| !line.is_empty())
}

/// The name in a token, unverified: the server is who verifies it.
fn name_in(token: &str) -> Option<String> {
    let claims = token.split('.').nth(1)?;
    let claims = BASE64URL_NOPAD.decode(claims.as_bytes()).ok()?;
    let claims: serde_json::Value = serde_json::from_slice(&claims).ok()?;
    Some(claims.get("name")?.as_str()?.to_owned())
}

#[cfg(test)]
mod tests;
