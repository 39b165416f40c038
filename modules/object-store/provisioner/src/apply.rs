//! From a plan to a store that is as wanted, and an answer for each consumer.
//!
//! What takes away comes first, so that nothing that fails later keeps somebody in. One that fails holds up no other.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use futures_util::{StreamExt, stream};
use mesh_provider::{Answer, Outcome, Replies, reconcile};

use crate::desire::{Access, Desired, Key, Wanted};
use crate::name::{AccessKey, BucketName, UserName};
use crate::plan::{Plan, Put};
use crate::world::{Entry, World, WorldError};

/// How many things are done at once.
const AT_ONCE: usize = 8;
/// How long a key may take to be known to the gate of the store after its keeper took it.
const KNOWN_WITHIN: Duration = Duration::from_secs(10);
/// The pause before it is tried again.
const AGAIN: Duration = Duration::from_millis(50);

/// The keys that were proved in this run.
#[derive(Debug, Default)]
pub(crate) struct Proved(BTreeSet<AccessKey>);

/// Where consumers reach the store.
#[derive(Debug, Clone)]
pub(crate) struct Reached {
    pub(crate) endpoint: String,
    pub(crate) region: String,
}

/// One pass at work.
pub(crate) struct Applying<'a, W> {
    pub(crate) world: &'a W,
    pub(crate) desired: &'a Desired,
    pub(crate) reached: &'a Reached,
    pub(crate) replies: &'a Replies,
}

/// What could not be done, and why, in words for the consumer.
#[derive(Debug, Default)]
struct Failed {
    buckets: BTreeMap<BucketName, String>,
    users: BTreeMap<UserName, String>,
}

impl<W: World> Applying<'_, W> {
    /// Does all of it. An error means that the store went away.
    pub(crate) async fn run(&self, plan: Plan, proved: &mut Proved) -> Result<(), WorldError> {
        proved.forget(&plan, self.desired);
        let dropped = each(&plan.drop, |user| self.world.drop_user(user)).await?;
        for (user, why) in dropped {
            tracing::error!("{user}: may still come in: {why}");
        }
        let mut failed = Failed { buckets: plan.refused, ..Failed::default() };
        for ((bucket, _), why) in each(&plan.claim, |(_, mark)| self.world.mark(mark)).await? {
            failed.buckets.insert(bucket, why);
        }
        let make: Vec<_> =
            plan.make.into_iter().filter(|bucket| !failed.buckets.contains_key(bucket)).collect();
        failed.buckets.extend(each(&make, |bucket| self.world.make_bucket(bucket)).await?);
        let put = each(&plan.put, |(name, user, put)| async move {
            self.world.put_user(name, user, *put == Put::New).await
        });
        failed.users = put.await?.into_iter().map(|((name, ..), why)| (name, why)).collect();
        self.serve(&failed, proved).await
    }

    /// Proves and answers for each consumer.
    async fn serve(&self, failed: &Failed, proved: &mut Proved) -> Result<(), WorldError> {
        let known = &proved.0;
        let served = stream::iter(&self.desired.consumers)
            .map(async |wanted| match &wanted.access {
                Err(why) => Ok((wanted, Err(why.clone()))),
                Ok(access) => Ok((wanted, self.prove(access, failed, known).await?)),
            })
            .buffer_unordered(AT_ONCE)
            .collect::<Vec<Result<_, WorldError>>>()
            .await;
        for one in served {
            match one? {
                (wanted, Err(error)) => self.reply(wanted, Outcome::Failed { error }),
                (wanted, Ok(proof)) => {
                    proved.0.insert(proof.key.access.clone());
                    self.answer(wanted, proof);
                }
            }
        }
        Ok(())
    }

    /// The newest key that opens the bucket; the outer error is the store's, the inner one the consumer's.
    async fn prove<'b>(
        &self,
        access: &'b Access,
        failed: &Failed,
        known: &BTreeSet<AccessKey>,
    ) -> Result<Result<Proof<'b>, String>, WorldError> {
        let unmade = failed.buckets.get(&access.bucket).or_else(|| failed.users.get(&access.user));
        if let Some(why) = unmade {
            return Ok(Err(why.clone()));
        }
        let mut why = None;
        for key in access.keys.iter().rev() {
            match self.prove_one(access, key, known).await? {
                Ok(()) => return Ok(Ok(Proof { access, key, why })),
                Err(reason) => {
                    why.get_or_insert(format!("credential {} is not accepted: {reason}", key.credential));
                }
            }
        }
        Ok(Err(why.unwrap_or_else(|| "no credential was delivered for it".to_owned())))
    }

    async fn prove_one(
        &self,
        access: &Access,
        key: &Key,
        known: &BTreeSet<AccessKey>,
    ) -> Result<Result<(), String>, WorldError> {
        let secret = match &key.secret {
            Err(why) => return Ok(Err(why.clone())),
            Ok(_) if known.contains(&key.access) => return Ok(Ok(())),
            Ok(secret) => secret,
        };
        let begun = Instant::now();
        loop {
            match self.world.enter(&key.access, secret, &access.bucket).await? {
                Entry::Open => return Ok(Ok(())),
                Entry::Refused(why) if begun.elapsed() >= KNOWN_WITHIN => return Ok(Err(why)),
                Entry::Refused(_) => tokio::time::sleep(AGAIN).await,
            }
        }
    }

    fn answer(&self, wanted: &Wanted, proof: Proof<'_>) {
        let values = BTreeMap::from([
            ("endpoint".to_owned(), self.reached.endpoint.clone()),
            ("region".to_owned(), self.reached.region.clone()),
            ("bucket".to_owned(), proof.access.bucket.to_string()),
            ("access_key".to_owned(), proof.key.access.to_string()),
        ]);
        let credential = Some(proof.key.credential.clone());
        self.reply(wanted, Outcome::Accepted { credential, values, why: proof.why });
    }

    fn reply(&self, wanted: &Wanted, outcome: Outcome) {
        let (consumer, revision) = (wanted.id.clone(), wanted.revision.clone());
        self.replies.give(Answer { consumer, revision, outcome });
    }
}

/// A key that was proved.
struct Proof<'a> {
    access: &'a Access,
    key: &'a Key,
    /// Why no newer one was.
    why: Option<String>,
}

impl Proved {
    /// What is put right must be proved again, and what is not wanted is forgotten.
    fn forget(&mut self, plan: &Plan, desired: &Desired) {
        let put: BTreeSet<_> = plan.put.iter().map(|(name, ..)| name).collect();
        let made: BTreeSet<_> = plan.make.iter().collect();
        let stays = |access: &&Access| !put.contains(&access.user) && !made.contains(&access.bucket);
        let kept: BTreeSet<_> =
            desired.served().filter(stays).flat_map(|access| &access.keys).map(|key| &key.access).collect();
        self.0.retain(|key| kept.contains(key));
    }
}

/// Does something with each, a few at once; returns which failed, and why.
async fn each<'t, T: Clone, F: Future<Output = Result<(), WorldError>>>(
    all: &'t [T],
    doing: impl Fn(&'t T) -> F,
) -> Result<Vec<(T, String)>, WorldError> {
    let one = |thing: &'t T| {
        let done = doing(thing);
        async move { (thing, done.await) }
    };
    let done: Vec<_> = stream::iter(all).map(one).buffer_unordered(AT_ONCE).collect().await;
    let mut failed = Vec::new();
    for (thing, done) in done {
        match done {
            Err(error) if error.is_gone() => return Err(error),
            Err(error) => failed.push((thing.clone(), reconcile::chain(&error))),
            Ok(()) => {}
        }
    }
    Ok(failed)
}
