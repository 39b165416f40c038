//! The tokens by which the server knows who somebody is, signed by hand.
//!
//! Start at [`operator`], [`account`] and [`user`]: each returns the text of one token. The crates that make
//! NATS tokens are stale or partial, and what is needed is small: a header, claims in JSON, an ed25519
//! signature over both, each in base64url without padding.
//!
//! This file knows no names and no grants of ours; it keeps nothing and reads no clock.

use data_encoding::{BASE32_NOPAD, BASE64URL_NOPAD};
use nkeys::KeyPair;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha512_256};

/// How many answers a service gives to one question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Answers {
    /// Exactly one.
    One,
    /// Any number, until whoever asked stops listening.
    Many,
}

/// A slice of subjects that an account offers to the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Export {
    /// The subjects, with wildcards.
    pub subject: &'static str,
    /// How many answers a question on them gets.
    pub answers: Answers,
}

/// A slice of another account's subjects that an account may ask on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Import {
    /// The subjects as the other account knows them.
    pub subject: String,
    /// The same here, where it must be called otherwise.
    pub local: Option<String>,
}

/// What an account may use of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The longest message that its clients may send, in bytes; -1 for the server's own limit.
    pub payload: i64,
    /// Connections at one time; -1 for any number.
    pub connections: i64,
    /// Whether it has JetStream of its own.
    pub jetstream: JetStream,
}

/// Whether an account keeps streams of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JetStream {
    /// It has streams, without a limit beyond the disk's.
    Own,
    /// It has none.
    None,
}

/// Some subjects: those that are listed, or all but those.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Subjects {
    listed: Vec<String>,
    denied: Vec<String>,
}

impl Subjects {
    /// All of the account's.
    #[must_use]
    pub fn all() -> Self {
        Self::default()
    }

    /// These alone. The server takes an empty list for all: so none are all but all.
    #[must_use]
    pub fn only(listed: Vec<String>) -> Self {
        match listed.is_empty() {
            true => Self::all_but(vec![">".to_owned()]),
            false => Self { listed, denied: Vec::new() },
        }
    }

    /// All of the account's but these.
    #[must_use]
    pub fn all_but(denied: Vec<String>) -> Self {
        Self { listed: Vec::new(), denied }
    }

    fn claim(&self) -> Value {
        let mut claim = json!({});
        for (name, subjects) in [("allow", &self.listed), ("deny", &self.denied)] {
            if !subjects.is_empty() {
                claim[name] = json!(subjects);
            }
        }
        claim
    }
}

/// Subjects that a user of an account may use.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Permissions {
    /// Subjects that it may publish to.
    pub publish: Subjects,
    /// Subjects that it may subscribe to.
    pub subscribe: Subjects,
}

/// A user whose tokens count no more, with the time (Unix seconds) up to which they do not.
pub type Revocation = (String, i64);

/// The operator's own token.
#[must_use]
pub fn operator(operator: &KeyPair, name: &str, system_account: &str, at: i64) -> String {
    let nats = json!({"system_account": system_account, "type": "operator", "version": 2});
    sign(operator, &operator.public_key(), name, at, None, nats)
}

/// What an account's token says beside its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountClaims<'a> {
    /// What it may use.
    pub limits: Limits,
    /// What it offers.
    pub exports: &'a [Export],
    /// What it may ask, and the public key of the account that offers it.
    pub imports: &'a [Import],
    /// The account that offers what is imported.
    pub from: &'a str,
    /// Users whose tokens count no more.
    pub revoked: &'a [Revocation],
}

/// An account's token, signed by the operator.
#[must_use]
pub fn account(operator: &KeyPair, account: &str, name: &str, at: i64, claims: &AccountClaims<'_>) -> String {
    let limits = &claims.limits;
    let mut allowed = json!({
        "subs": -1, "data": -1, "payload": limits.payload,
        "imports": -1, "exports": -1, "wildcards": true, "conn": limits.connections, "leaf": -1,
    });
    if limits.jetstream == JetStream::Own {
        for what in ["mem_storage", "disk_storage", "streams", "consumer"] {
            allowed[what] = json!(-1);
        }
    }
    let mut nats = json!({"limits": allowed, "type": "account", "version": 2});
    if !claims.exports.is_empty() {
        nats["exports"] = claims.exports.iter().map(export).collect();
    }
    if !claims.imports.is_empty() {
        nats["imports"] = claims.imports.iter().map(|i| import(i, claims.from)).collect();
    }
    if !claims.revoked.is_empty() {
        let revoked: Map<String, Value> = claims.revoked.iter().map(|(k, t)| (k.clone(), json!(t))).collect();
        nats["revocations"] = Value::Object(revoked);
    }
    sign(operator, account, name, at, None, nats)
}

/// A user's token, signed by its account.
#[must_use]
pub fn user(
    account: &KeyPair,
    user: &str,
    name: &str,
    at: i64,
    until: Option<i64>,
    permissions: &Permissions,
) -> String {
    let nats = json!({
        "pub": permissions.publish.claim(), "sub": permissions.subscribe.claim(),
        "subs": -1, "data": -1, "payload": -1, "type": "user", "version": 2,
    });
    sign(account, user, name, at, until, nats)
}

/// The operator's word that accounts are to be forgotten.
#[must_use]
pub fn delete(operator: &KeyPair, accounts: &[&str], at: i64) -> String {
    let nats = json!({"accounts": accounts, "type": "generic", "version": 2});
    sign(operator, &operator.public_key(), "delete", at, None, nats)
}

fn export(export: &Export) -> Value {
    let response = match export.answers {
        Answers::One => "Singleton",
        Answers::Many => "Stream",
    };
    json!({"name": export.subject, "subject": export.subject, "type": "service", "response_type": response})
}

fn import(import: &Import, from: &str) -> Value {
    let mut value =
        json!({"name": import.subject, "subject": import.subject, "account": from, "type": "service"});
    if let Some(local) = &import.local {
        value["local_subject"] = json!(local);
    }
    value
}

/// Puts a token together. `jti` is the digest of the claims without it.
fn sign(by: &KeyPair, subject: &str, name: &str, at: i64, until: Option<i64>, nats: Value) -> String {
    let mut claims = json!({"iat": at, "iss": by.public_key(), "sub": subject, "name": name, "nats": nats});
    if let Some(until) = until {
        claims["exp"] = json!(until);
    }
    let digest = Sha512_256::digest(claims.to_string().as_bytes());
    claims["jti"] = json!(BASE32_NOPAD.encode(&digest));
    let header = json!({"typ": "JWT", "alg": "ed25519-nkey"});
    let part = |value: &Value| BASE64URL_NOPAD.encode(value.to_string().as_bytes());
    let said = format!("{}.{}", part(&header), part(&claims));
    let signature = by.sign(said.as_bytes()).expect("our key pairs hold their seeds");
    format!("{said}.{}", BASE64URL_NOPAD.encode(&signature))
}

#[cfg(test)]
mod tests;
