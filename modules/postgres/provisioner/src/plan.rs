//! From what is wanted and what is there to the steps between them. Pure: the same in, the same out.
//!
//! What was not made by this provisioner is never in a step. Whose a database is follows from the marker of the role
//! that owns it, so neither a database of somebody else's nor one that keeps another module's data is ever handed out.

use std::collections::{BTreeMap, BTreeSet};

use mesh_seal::KeyedDigest;

use crate::desire::{Access, Desired, Login, Owner};
use crate::marker::{Maker, Marker};
use crate::name::{DatabaseName, RoleName};
use crate::scram::{Verifier, Verifiers};

/// What the server has.
#[derive(Debug, Default)]
pub(crate) struct Observed {
    pub(crate) roles: BTreeMap<RoleName, Role>,
    /// Of each role, the roles that it is a member of.
    pub(crate) memberships: BTreeMap<RoleName, BTreeSet<RoleName>>,
    pub(crate) databases: BTreeMap<DatabaseName, Database>,
}

/// A role that is there.
#[derive(Debug, Clone)]
pub(crate) struct Role {
    pub(crate) can_log_in: bool,
    /// Whether it may do nothing beyond what any role may.
    pub(crate) ordinary: bool,
    pub(crate) verifier: Option<KeyedDigest>,
    /// What we made it for, if we made it.
    pub(crate) marker: Option<Marker>,
    /// The role that it acts as from the start of a session.
    pub(crate) acts_as: Option<String>,
}

/// A database that is there.
#[derive(Debug, Clone)]
pub(crate) struct Database {
    pub(crate) owner: RoleName,
    /// Whether anybody may connect.
    pub(crate) open: bool,
    pub(crate) marker: Option<Marker>,
}

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// A login that is no longer wanted may not log in.
    Lock {
        role: RoleName,
    },
    MakeGroup {
        role: RoleName,
        comment: String,
    },
    SettleGroup {
        role: RoleName,
    },
    MakeLogin {
        role: RoleName,
        group: RoleName,
        verifier: Verifier,
        comment: String,
    },
    /// Its rights, and its password where the server has another.
    SettleLogin {
        role: RoleName,
        verifier: Option<Verifier>,
    },
    Join {
        role: RoleName,
        group: RoleName,
    },
    Leave {
        role: RoleName,
        group: RoleName,
    },
    ActAs {
        role: RoleName,
        group: RoleName,
    },
    /// Made closed: nobody gets in before it is finished.
    MakeDatabase {
        database: DatabaseName,
        group: RoleName,
    },
    FinishDatabase {
        database: DatabaseName,
        comment: String,
    },
    /// One of the server's own databases, into which everybody may by default.
    CloseDatabase {
        database: DatabaseName,
    },
}

/// Everything to do, in the order of the fields.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) shared: Vec<Step>,
    /// Logins that are no longer wanted and may still log in.
    pub(crate) locks: Vec<(RoleName, Vec<Step>)>,
    /// By role: groups first.
    pub(crate) roles: Vec<(RoleName, Vec<Step>)>,
    /// Logins that were taken from a group, so that what their sessions still reach is no longer theirs.
    pub(crate) moved: Vec<RoleName>,
    pub(crate) databases: Vec<(DatabaseName, Vec<Step>)>,
    /// Logins that are no longer wanted: their sessions end at once, they themselves are dropped at the end.
    pub(crate) drop: Vec<RoleName>,
    /// What cannot be, and why.
    pub(crate) refused_databases: BTreeMap<DatabaseName, String>,
    pub(crate) refused_roles: BTreeMap<RoleName, String>,
}

/// The databases that every PostgreSQL has and that everybody may connect to.
const SHARED: [&str; 2] = ["postgres", "template1"];

/// The steps from what is there to what is wanted.
pub(crate) fn plan(desired: &Desired, observed: &Observed, maker: &Maker, verifiers: &mut Verifiers) -> Plan {
    let mut plan = Plan::default();
    for database in SHARED.map(|name| DatabaseName::observed(name.to_owned())) {
        if observed.databases.get(&database).is_some_and(|there| there.open) {
            plan.shared.push(Step::CloseDatabase { database });
        }
    }
    for (database, owner) in &desired.databases {
        match refuse(database, owner, observed) {
            Some(why) => drop(plan.refused_databases.insert(database.clone(), why)),
            None => plan.database(database, owner, observed, maker),
        }
    }
    let mut wanted = BTreeSet::new();
    for (consumer, access, login, password) in desired.logins() {
        if plan.refused_databases.contains_key(&access.database) {
            continue;
        }
        wanted.insert(&login.role);
        let there = observed.roles.get(&login.role);
        match there {
            Some(there) if !matches!(there.marker, Some(Marker::Login { .. })) => {
                plan.refused_roles.insert(login.role.clone(), not_ours("role", login.role.as_str()));
            }
            Some(there) => {
                let verifier = verifiers.unless_there(&login.role, password, there.verifier);
                plan.settle(login, access, there, verifier, observed);
            }
            None => {
                let comment = maker.comment(&Marker::login(&consumer.id, &login.credential));
                let (role, group) = (login.role.clone(), access.group.clone());
                let verifier = verifiers.verifier(&role, password);
                let steps = vec![
                    Step::MakeLogin { role: role.clone(), group: group.clone(), verifier, comment },
                    Step::ActAs { role: role.clone(), group },
                ];
                plan.roles.push((role, steps));
            }
        }
    }
    verifiers.keep(&wanted);
    plan.withdraw(&wanted, observed);
    plan
}

/// Why a database cannot be this module's, if it cannot.
fn refuse(database: &DatabaseName, owner: &Owner, observed: &Observed) -> Option<String> {
    let group = observed.roles.get(&owner.group);
    let marker = Marker::group(&owner.module, database);
    if group.is_some_and(|role| role.marker.as_ref() != Some(&marker)) {
        return Some(not_ours("role", owner.group.as_str()));
    }
    let there = observed.databases.get(database)?;
    match observed.roles.get(&there.owner).and_then(|role| role.marker.as_ref()) {
        Some(marker_there) if *marker_there == marker => None,
        Some(Marker::Group { module, database: name }) if name == database.as_str() => Some(format!(
            "the name is taken by the database `{database}` of module `{module}`, whose data is kept: \
             contribute another name, or drop that database first"
        )),
        _ => {
            Some(format!("the name is taken by a database that this provisioner did not make: `{database}`"))
        }
    }
}

fn not_ours(what: &str, name: &str) -> String {
    format!("the name is taken by a {what} that this provisioner did not make: `{name}`")
}

impl Plan {
    fn database(&mut self, database: &DatabaseName, owner: &Owner, observed: &Observed, maker: &Maker) {
        let role = owner.group.clone();
        match observed.roles.get(&role) {
            None => {
                let comment = maker.comment(&Marker::group(&owner.module, database));
                self.roles.push((role.clone(), vec![Step::MakeGroup { role: role.clone(), comment }]));
            }
            Some(there) if there.can_log_in || !there.ordinary || there.verifier.is_some() => {
                self.roles.push((role.clone(), vec![Step::SettleGroup { role: role.clone() }]));
            }
            Some(_) => {}
        }
        let marker = Marker::Database { module: owner.module.clone() };
        let there = observed.databases.get(database);
        let mut steps = Vec::new();
        if there.is_none() {
            steps.push(Step::MakeDatabase { database: database.clone(), group: role });
        }
        if there.is_none_or(|there| there.open || there.marker.as_ref() != Some(&marker)) {
            let comment = maker.comment(&marker);
            steps.push(Step::FinishDatabase { database: database.clone(), comment });
        }
        if !steps.is_empty() {
            self.databases.push((database.clone(), steps));
        }
    }

    /// A login that is there already: only what differs.
    fn settle(
        &mut self,
        login: &Login,
        access: &Access,
        there: &Role,
        verifier: Option<Verifier>,
        observed: &Observed,
    ) {
        let role = &login.role;
        let mut steps = Vec::new();
        if verifier.is_some() || !there.can_log_in || !there.ordinary {
            steps.push(Step::SettleLogin { role: role.clone(), verifier });
        }
        let none = BTreeSet::new();
        let groups = observed.memberships.get(role).unwrap_or(&none);
        for group in groups.iter().filter(|group| **group != access.group && observed.is_ours(group)) {
            steps.push(Step::Leave { role: role.clone(), group: group.clone() });
            self.moved.push(role.clone());
        }
        if !groups.contains(&access.group) {
            steps.push(Step::Join { role: role.clone(), group: access.group.clone() });
        }
        if there.acts_as.as_deref() != Some(access.group.as_str()) {
            steps.push(Step::ActAs { role: role.clone(), group: access.group.clone() });
        }
        if !steps.is_empty() {
            self.roles.push((role.clone(), steps));
        }
    }

    fn withdraw(&mut self, wanted: &BTreeSet<&RoleName>, observed: &Observed) {
        for (role, there) in &observed.roles {
            if wanted.contains(role) || !matches!(there.marker, Some(Marker::Login { .. })) {
                continue;
            }
            if there.can_log_in {
                self.locks.push((role.clone(), vec![Step::Lock { role: role.clone() }]));
            }
            self.drop.push(role.clone());
        }
    }
}

impl Observed {
    fn is_ours(&self, role: &RoleName) -> bool {
        self.roles.get(role).is_some_and(|role| role.marker.is_some())
    }
}

#[cfg(test)]
mod tests;
