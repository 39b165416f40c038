//! What the consumers file asks of PostgreSQL, in PostgreSQL's own nouns.
//!
//! Each consumer stands on its own: what is wrong with one is that one's failure and nobody else's.

use std::collections::BTreeMap;

use mesh_model::name::ModuleName;
use mesh_provider::{Consumer, ConsumerId, Consumers, Credential, Secret};

use crate::name::{DatabaseName, RoleName};

/// Everything that is wanted.
#[derive(Debug)]
pub(crate) struct Desired {
    /// Each database once, however many consumers share it.
    pub(crate) databases: BTreeMap<DatabaseName, Owner>,
    /// Each consumer of the file.
    pub(crate) consumers: Vec<Wanted>,
}

/// Whose a database is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) module: ModuleName,
    pub(crate) group: RoleName,
}

/// One consumer.
#[derive(Debug)]
pub(crate) struct Wanted {
    pub(crate) id: ConsumerId,
    pub(crate) revision: String,
    /// What it is to have, or why it cannot have it.
    pub(crate) access: Result<Access, String>,
}

/// A database, and the logins for it.
#[derive(Debug)]
pub(crate) struct Access {
    pub(crate) database: DatabaseName,
    pub(crate) group: RoleName,
    /// The newest last; never empty.
    pub(crate) logins: Vec<Login>,
}

/// One credential as a role.
#[derive(Debug)]
pub(crate) struct Login {
    pub(crate) credential: String,
    pub(crate) role: RoleName,
    /// Its password, or why it has none that would do.
    pub(crate) password: Result<Secret, String>,
}

impl Desired {
    pub(crate) fn of(wanted: &Consumers) -> Self {
        let mut desired = Self { databases: BTreeMap::new(), consumers: Vec::new() };
        for consumer in &wanted.consumers {
            let access = desired.access(consumer);
            let (id, revision) = (consumer.id.clone(), consumer.revision.clone());
            desired.consumers.push(Wanted { id, revision, access });
        }
        desired
    }

    fn access(&mut self, consumer: &Consumer) -> Result<Access, String> {
        let name = match consumer.contribution.get("name") {
            None => Err("its contribution has no `name`".to_owned()),
            Some(name) => name.as_str().ok_or_else(|| "the `name` it contributes is not text".to_owned()),
        }?;
        let database = DatabaseName::contributed(name)?;
        if consumer.credentials.is_empty() {
            return Err("no credential was delivered for it".to_owned());
        }
        let module = &consumer.id.module;
        let owner = self
            .databases
            .entry(database.clone())
            .or_insert_with(|| Owner { module: module.clone(), group: RoleName::group(module, &database) });
        if owner.module != *module {
            return Err(format!("the name `{database}` is taken by module `{}`", owner.module));
        }
        let logins = consumer.credentials.iter().map(|credential| login(&consumer.id, credential)).collect();
        Ok(Access { database, group: owner.group.clone(), logins })
    }

    /// Every login that has a password, with its consumer and what it is to reach.
    pub(crate) fn logins(&self) -> impl Iterator<Item = (&Wanted, &Access, &Login, &Secret)> {
        self.consumers.iter().filter_map(|wanted| Some((wanted, wanted.access.as_ref().ok()?))).flat_map(
            |(wanted, access)| {
                let logins = access.logins.iter();
                logins.filter_map(move |login| Some((wanted, access, login, login.password.as_ref().ok()?)))
            },
        )
    }
}

fn login(consumer: &ConsumerId, credential: &Credential) -> Login {
    let role = RoleName::login(consumer, &credential.id);
    let password = match credential.secrets.get("password") {
        None => Err("it has no field `password`".to_owned()),
        Some(password) if password.is_empty() => Err("its password is empty".to_owned()),
        Some(password) if password.expose().contains(&0) => Err("its password has a NUL in it".to_owned()),
        Some(password) => Ok(password.clone()),
    };
    Login { credential: credential.id.clone(), role, password }
}
