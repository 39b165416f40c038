//! From a plan to a server that is as wanted, and an answer for each consumer.
//!
//! What takes away comes first, so that nothing that fails later keeps somebody in. Roles are made in bulk, and where
//! a bulk fails, one by one, so that one that fails holds up no other. Databases are made on two connections, and
//! each consumer is proved and answered as soon as its database is there.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::{Stream, StreamExt, stream};
use mesh_provider::{Answer, Outcome, Replies, reconcile};
use mesh_seal::KeyedDigest;
use zeroize::Zeroizing;

use crate::desire::{Access, Desired, Login, Wanted};
use crate::name::{DatabaseName, RoleName};
use crate::plan::{Plan, Step};
use crate::scram::Verifiers;
use crate::sql;
use crate::world::{Lane, World, WorldError};

/// How many roles are made in one transaction.
const BULK: usize = 200;

/// How many logins are proved at once.
const PROOFS: usize = 4;

/// The logins that were proved in this run, each with what it was proved with.
#[derive(Debug, Default)]
pub(crate) struct Proved(BTreeMap<RoleName, KeyedDigest>);

/// Where consumers reach the server.
#[derive(Debug, Clone)]
pub(crate) struct Reached {
    pub(crate) host: String,
    pub(crate) port: u16,
}

/// One pass at work.
pub(crate) struct Applying<'a, W> {
    pub(crate) world: &'a W,
    pub(crate) desired: &'a Desired,
    pub(crate) verifiers: &'a Verifiers,
    pub(crate) reached: &'a Reached,
    pub(crate) replies: &'a Replies,
}

/// What could not be done, and why, in words for the consumer.
#[derive(Debug, Default)]
struct Failed {
    roles: BTreeMap<RoleName, String>,
    databases: BTreeMap<DatabaseName, String>,
}

/// Why a database is not there.
#[derive(Debug, Clone)]
enum Unmade {
    /// The server went away.
    Gone,
    /// In words for the consumer.
    Refused(String),
}

impl<W: World> Applying<'_, W> {
    /// Does all of it. An error means that the server went away.
    pub(crate) async fn run(&self, plan: Plan, proved: &mut Proved) -> Result<(), WorldError> {
        proved.forget(&plan, self.desired);
        self.take_back(&plan).await?;
        let mut failed = Failed { roles: plan.refused_roles, databases: plan.refused_databases };
        for (role, why) in self.in_bulk(&plan.roles).await? {
            failed.roles.insert(role, why);
        }
        self.evict(&plan.moved).await?;
        let fresh = self.serve(&plan.databases, &failed, proved).await?;
        proved.0.extend(fresh);
        self.drop_logins(&plan.drop).await
    }

    async fn take_back(&self, plan: &Plan) -> Result<(), WorldError> {
        for step in &plan.shared {
            let done = self.world.execute(Lane::First, &sql::statements(step)).await;
            tell(done, "could not close one of the server's own databases")?;
        }
        let held = self.in_bulk(&plan.locks).await?;
        self.evict(&plan.drop).await?;
        // A session may have held a lock on its own role; it has ended by now.
        let held: BTreeSet<_> = held.iter().map(|(role, _)| role).collect();
        let again: Vec<_> = plan.locks.iter().filter(|(role, _)| held.contains(role)).cloned().collect();
        for (role, why) in self.in_bulk(&again).await? {
            tracing::error!("{role}: may still log in: {why}");
        }
        if again.is_empty() { Ok(()) } else { self.evict(&plan.drop).await }
    }

    async fn evict(&self, roles: &[RoleName]) -> Result<(), WorldError> {
        if roles.is_empty() {
            return Ok(());
        }
        tell(self.world.end_sessions(roles).await, "could not end every session")
    }

    /// Many roles' steps in few transactions; returns which failed.
    async fn in_bulk(&self, work: &[(RoleName, Vec<Step>)]) -> Result<Vec<(RoleName, String)>, WorldError> {
        let mut failed = Vec::new();
        for bulk in work.chunks(BULK) {
            let all = joined(bulk.iter().flat_map(|(_, steps)| steps));
            match self.world.execute(Lane::First, &all).await {
                Err(error) if error.is_gone() => return Err(error),
                Err(_) => failed.extend(self.one_by_one(bulk).await?),
                Ok(()) => {}
            }
        }
        Ok(failed)
    }

    async fn one_by_one(
        &self,
        work: &[(RoleName, Vec<Step>)],
    ) -> Result<Vec<(RoleName, String)>, WorldError> {
        let mut failed = Vec::new();
        for (role, steps) in work {
            match self.world.execute(Lane::First, &joined(steps)).await {
                Err(error) if error.is_gone() => return Err(error),
                Err(error) => failed.push((role.clone(), reconcile::chain(&error))),
                Ok(()) => {}
            }
        }
        Ok(failed)
    }

    /// Makes the databases, and proves and answers for each consumer as soon as its own is there. Returns what was
    /// proved.
    async fn serve(
        &self,
        work: &[(DatabaseName, Vec<Step>)],
        failed: &Failed,
        known: &Proved,
    ) -> Result<Vec<(RoleName, KeyedDigest)>, WorldError> {
        let mut consumers = BTreeMap::<_, Vec<_>>::new();
        for wanted in &self.desired.consumers {
            match &wanted.access {
                Err(why) => self.fail(wanted, why.clone()),
                Ok(access) => consumers.entry(&access.database).or_default().push((wanted, access)),
            }
        }
        let served = self
            .each_database(work, failed, consumers.keys().copied().collect())
            .flat_map(|(database, made)| {
                let waiting = consumers.get(database).into_iter().flatten();
                stream::iter(waiting.map(move |(wanted, access)| (*wanted, *access, made.clone())))
            })
            .map(async |(wanted, access, made)| match made {
                Err(Unmade::Gone) => Err(WorldError::Gone),
                Err(Unmade::Refused(why)) => Ok((wanted, Err(why))),
                Ok(()) => Ok((wanted, self.prove(access, &failed.roles, known).await?)),
            })
            .buffer_unordered(PROOFS);
        let mut served = std::pin::pin!(served);
        let mut fresh = Vec::new();
        while let Some(one) = served.next().await {
            match one? {
                (wanted, Err(why)) => self.fail(wanted, why),
                (wanted, Ok(proof)) => {
                    fresh.push((proof.role.clone(), proof.token));
                    self.answer(wanted, proof);
                }
            }
        }
        Ok(fresh)
    }

    /// Each wanted database: those that are there at once, those that are made as they are made or fail.
    fn each_database<'b>(
        &'b self,
        work: &'b [(DatabaseName, Vec<Step>)],
        failed: &'b Failed,
        wanted: Vec<&'b DatabaseName>,
    ) -> impl Stream<Item = (&'b DatabaseName, Result<(), Unmade>)> {
        let to_make: BTreeSet<_> = work.iter().map(|(database, _)| database).collect();
        let there = wanted.into_iter().filter(move |database| !to_make.contains(database));
        let there = there.map(|database| {
            let refused = failed.databases.get(database).cloned();
            (database, refused.map_or(Ok(()), |why| Err(Unmade::Refused(why))))
        });
        stream::select(stream::iter(there), self.make(work))
    }

    /// Each database as it is made or fails, on two connections.
    fn make<'b>(
        &'b self,
        work: &'b [(DatabaseName, Vec<Step>)],
    ) -> impl Stream<Item = (&'b DatabaseName, Result<(), Unmade>)> {
        let lane = move |lane, from| {
            stream::iter(work.iter().skip(from).step_by(2))
                .then(move |(database, steps)| async move { (database, self.make_one(lane, steps).await) })
        };
        stream::select(lane(Lane::First, 0), lane(Lane::Second, 1))
    }

    async fn make_one(&self, lane: Lane, steps: &[Step]) -> Result<(), Unmade> {
        for step in steps {
            let made = self.world.execute(lane, &sql::statements(step)).await;
            made.map_err(|error| match error.is_gone() {
                true => Unmade::Gone,
                false => Unmade::Refused(reconcile::chain(&error)),
            })?;
        }
        Ok(())
    }

    /// The newest credential that logs in; the outer error is the server's, the inner one the consumer's.
    async fn prove<'b>(
        &self,
        access: &'b Access,
        failed: &BTreeMap<RoleName, String>,
        known: &Proved,
    ) -> Result<Result<Proof<'b>, String>, WorldError> {
        let mut why = None;
        if let Some(group) = failed.get(&access.group) {
            return Ok(Err(group.clone()));
        }
        for login in access.logins.iter().rev() {
            match self.prove_one(access, login, failed, known).await? {
                Ok(token) => return Ok(Ok(Proof { access, login, role: &login.role, token, why })),
                Err(reason) => {
                    why.get_or_insert(format!("credential {} is not accepted: {reason}", login.credential));
                }
            }
        }
        Ok(Err(why.unwrap_or_else(|| "no credential was delivered for it".to_owned())))
    }

    async fn prove_one(
        &self,
        access: &Access,
        login: &Login,
        failed: &BTreeMap<RoleName, String>,
        known: &Proved,
    ) -> Result<Result<KeyedDigest, String>, WorldError> {
        let password = match (&login.password, failed.get(&login.role)) {
            (Err(why), _) | (_, Some(why)) => return Ok(Err(why.clone())),
            (Ok(password), None) => password,
        };
        let Access { database, group, .. } = access;
        let token = self.verifiers.token(password, database.as_str(), group.as_str());
        if known.0.get(&login.role) == Some(&token) {
            return Ok(Ok(token));
        }
        match self.world.log_in(&login.role, password, database).await {
            Err(error) if error.is_gone() => Err(error),
            Err(error) => Ok(Err(reconcile::chain(&error))),
            Ok(role) if role == *group => Ok(Ok(token)),
            Ok(role) => Ok(Err(format!("its session acts as `{role}` and not as `{group}`"))),
        }
    }

    fn answer(&self, wanted: &Wanted, proof: Proof<'_>) {
        let values = BTreeMap::from([
            ("host".to_owned(), self.reached.host.clone()),
            ("port".to_owned(), self.reached.port.to_string()),
            ("database".to_owned(), proof.access.database.to_string()),
            ("user".to_owned(), proof.role.to_string()),
        ]);
        let credential = Some(proof.login.credential.clone());
        self.reply(wanted, Outcome::Accepted { credential, values, why: proof.why });
    }

    fn fail(&self, wanted: &Wanted, error: String) {
        self.reply(wanted, Outcome::Failed { error });
    }

    fn reply(&self, wanted: &Wanted, outcome: Outcome) {
        let (consumer, revision) = (wanted.id.clone(), wanted.revision.clone());
        self.replies.give(Answer { consumer, revision, outcome });
    }

    /// Last of all. One that cannot be dropped stays, without a login, and is tried again.
    async fn drop_logins(&self, roles: &[RoleName]) -> Result<(), WorldError> {
        for role in roles {
            match self.world.drop_login(role).await {
                Ok(()) => tracing::info!("{role}: dropped"),
                Err(error) if error.is_gone() => return Err(error),
                Err(error) => tracing::warn!("{role}: stays, without a login: {}", reconcile::chain(&error)),
            }
        }
        Ok(())
    }
}

/// A login that was proved.
struct Proof<'a> {
    access: &'a Access,
    login: &'a Login,
    role: &'a RoleName,
    token: KeyedDigest,
    /// Why no newer one was.
    why: Option<String>,
}

impl Proved {
    /// What a step touches must be proved again, and what is not wanted is forgotten.
    fn forget(&mut self, plan: &Plan, desired: &Desired) {
        let roles: BTreeSet<_> = plan.roles.iter().map(|(role, _)| role).collect();
        let databases: BTreeSet<_> = plan.databases.iter().map(|(database, _)| database).collect();
        let kept: BTreeSet<_> = desired
            .logins()
            .filter(|(_, access, login, _)| {
                !roles.contains(&login.role)
                    && !roles.contains(&access.group)
                    && !databases.contains(&access.database)
            })
            .map(|(_, _, login, _)| &login.role)
            .collect();
        self.0.retain(|role, _| kept.contains(role));
    }
}

fn joined<'a>(steps: impl IntoIterator<Item = &'a Step>) -> Zeroizing<String> {
    let mut all = Zeroizing::new(String::new());
    for step in steps {
        all.push_str(&sql::statements(step));
        all.push('\n');
    }
    all
}

/// Goes on after what is not a consumer's failure, and says it.
fn tell(done: Result<(), WorldError>, what: &str) -> Result<(), WorldError> {
    match done {
        Err(error) if !error.is_gone() => {
            tracing::error!("{what}: {}", reconcile::chain(&error));
            Ok(())
        }
        done => done,
    }
}
