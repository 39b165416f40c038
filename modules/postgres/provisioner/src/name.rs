//! What things are called inside PostgreSQL: databases as consumers ask, roles as derived from who they are for.
//!
//! A name has at most 63 bytes; PostgreSQL cuts what is longer, without a word, and then two would be one. So a name
//! is derived exactly where it fits, and otherwise ends in a digest. The three forms cannot meet: a login has `_`
//! between its parts, a group has a `:`, and only what ends in a digest has a `.`.

use std::fmt;

use mesh_model::name::ModuleName;
use mesh_provider::ConsumerId;

/// The longest name that PostgreSQL keeps, in bytes.
const LONGEST: usize = 63;

/// How much of a name that is too long is kept before its digest.
const READABLE: usize = 28;

/// The name of a database.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct DatabaseName(String);

/// The name of a role.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RoleName(String);

impl DatabaseName {
    /// Takes a name as a consumer contributed it, or says why it cannot be one.
    pub(crate) fn contributed(name: &str) -> Result<Self, String> {
        match name {
            "" => Err("the name of the database is empty".to_owned()),
            _ if name.len() > LONGEST => Err(format!(
                "the name of the database has {} bytes, and PostgreSQL keeps {LONGEST}",
                name.len()
            )),
            _ if name.chars().any(char::is_control) => {
                Err("the name of the database has a control character".to_owned())
            }
            _ => Ok(Self(name.to_owned())),
        }
    }

    /// Takes a name as the server has it.
    pub(crate) fn observed(name: String) -> Self {
        Self(name)
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl RoleName {
    /// The role that owns a module's database: the same for each node and each local of that module.
    pub(crate) fn group(module: &ModuleName, database: &DatabaseName) -> Self {
        let exact = format!("{module}:{}", database.0);
        let plain = database.0.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
        if plain && exact.len() <= LONGEST {
            return Self(exact);
        }
        Self(digested(module.as_str(), "group", &[module.as_str(), &database.0]))
    }

    /// The role that logs in with one credential of one consumer.
    pub(crate) fn login(consumer: &ConsumerId, credential: &str) -> Self {
        let ConsumerId { node, module, local } = consumer;
        let exact = format!("{module}_{node}_{local}_{credential}");
        // Modules and nodes have no `_`, and where the id has none either, the parts can be told apart again.
        let plain = credential.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        // PostgreSQL keeps `pg_` for itself.
        if plain && exact.len() <= LONGEST && !exact.starts_with("pg_") {
            return Self(exact);
        }
        let parts = [module.as_str(), node.as_str(), local.as_str(), credential];
        Self(digested(&format!("{module}.{node}.{local}"), "login", &parts))
    }

    /// Takes a name as the server has it.
    pub(crate) fn observed(name: String) -> Self {
        Self(name)
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// `<readable>.<32 hex digits>`, the digits over every part with its length.
fn digested(readable: &str, form: &str, parts: &[&str]) -> String {
    let mut hasher = blake3::Hasher::new_derive_key("mesh-postgres-provisioner role name v1");
    for part in std::iter::once(&form).chain(parts) {
        hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
    }
    let digest = hasher.finalize().to_hex();
    let readable: String = readable.chars().take(READABLE).collect();
    format!("{readable}.{}", &digest[..32])
}

impl fmt::Display for DatabaseName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for RoleName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests;
