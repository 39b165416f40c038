//! A seat: held once for the mesh, by whoever took its lease last, and written for behind its fence.
//!
//! Start at [`hold`]: every service of a seat is what is done while it is held. The lease ([`lease`]) decides who; the fence
//! ([`fence`]) sees to it that nobody who held it before writes after the next has begun. Who stands by waits in [`hold`] too.
//!
//! How long each waits for the other is a share of [`Terms::lease`], so that a seat whose holder is killed is answered
//! again before that has passed.

use std::future::Future;
use std::time::Duration;

use mesh_model::name::{NodeName, SeatName};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::authority::Clock;
use crate::bucket::Bucket;
use crate::client::Bus;
use crate::kv::Kv;

mod fence;
mod lease;
#[cfg(test)]
mod model;

pub use fence::{Fence, FenceError};
use lease::{Chair, Lost, Seated};

/// Who wants a seat, and for how long at a time.
#[derive(Debug, Clone)]
pub struct Terms {
    /// The seat.
    pub seat: SeatName,
    /// The node that takes it.
    pub node: NodeName,
    /// How long it takes at most until a seat whose holder was killed has another.
    pub lease: Duration,
    /// What time it is, to say since when.
    pub clock: Clock,
}

/// What the lease says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    v: u32,
    /// The node that holds the seat.
    pub node: NodeName,
    /// Which of its processes, so that a holder knows its own writing.
    pub instance: String,
    /// Since when (RFC 3339).
    pub since: String,
    /// How often the seat has changed hands.
    #[serde(default)]
    pub term: u64,
    /// Given up: whoever wants it need not wait.
    #[serde(default, skip_serializing_if = "is_false")]
    pub vacant: bool,
}

fn is_false(is: &bool) -> bool {
    !is
}

/// A seat that is held. Clones are of the same term.
#[derive(Debug, Clone)]
pub struct Tenure {
    bus: Bus,
    fence: Fence,
    until: watch::Receiver<Instant>,
    over: CancellationToken,
}

impl Tenure {
    /// The connection.
    #[must_use]
    pub fn bus(&self) -> &Bus {
        &self.bus
    }

    /// A bucket, to write for the seat: refused by the server once another holds it.
    #[must_use]
    pub fn kv(&self, bucket: Bucket) -> Kv {
        Kv::fenced(&self.bus, bucket, &self.fence)
    }

    /// Has nobody who held the seat before write into a bucket any more. Those that [`hold`] was given are.
    ///
    /// # Errors
    /// Where another holds it by now, or the bucket cannot be asked.
    pub async fn raise(&self, bucket: &Bucket) -> Result<(), FenceError> {
        self.fence.raise(bucket).await
    }

    /// Whether the seat is held at this moment, by our own clock: not while renewing fails for long. Whoever answers in its
    /// name asks this first.
    #[must_use]
    pub fn is_held(&self) -> bool {
        !self.over.is_cancelled()
            && !self.fence.fallen().is_cancelled()
            && Instant::now() < *self.until.borrow()
    }

    /// Ends this term: who finds that it cannot go on begins anew, or another does.
    pub fn give_up(&self) {
        self.over.cancel();
    }

    /// How often the seat has changed hands.
    #[must_use]
    pub fn term(&self) -> u64 {
        self.fence.term()
    }

    /// Cancelled when this term is over: another has the seat, or we are told to stop.
    #[must_use]
    pub fn over(&self) -> &CancellationToken {
        &self.over
    }
}

/// Does `work` whenever the seat is held, until told to stop. Waits for the seat for as long as that takes, through a bus that
/// is away too. `work` ends soon after [`Tenure::over`]; where it fails, so does this.
///
/// Before `work` begins, nobody who held the seat before writes into any of these buckets any more: so what it reads of them stays as it
/// is until it writes itself.
///
/// # Errors
/// Those of `work`.
pub async fn hold<R, E>(
    bus: &Bus,
    terms: Terms,
    buckets: &[Bucket],
    shutdown: &CancellationToken,
    mut work: impl FnMut(Tenure) -> R,
) -> Result<(), E>
where
    R: Future<Output = Result<(), E>>,
{
    let seat = terms.seat.clone();
    let mut chair = Chair::new(bus, terms);
    while !shutdown.is_cancelled() {
        let taken = tokio::select! {
            taken = take(bus, &mut chair, buckets) => taken,
            () = shutdown.cancelled() => return Ok(()),
        };
        let (seated, fence) = match taken {
            Ok(taken) => taken,
            Err(Lost) => continue,
        };
        tracing::info!(%seat, term = seated.term, "the seat is held");
        let (tell, until) = watch::channel(seated.until);
        let tenure = Tenure { bus: bus.clone(), fence, until, over: CancellationToken::new() };
        // On a task of its own, so that work that takes a while does not cost the seat; it ends with us.
        let (stop, mut keeping) = (CancellationToken::new(), JoinSet::new());
        keeping.spawn(keep(chair, seated, tenure.clone(), tell, stop.clone()));
        let told = async {
            tokio::select! {
                () = shutdown.cancelled() => tenure.over.cancel(),
                () = tenure.over.cancelled() => {}
            }
        };
        let worked = async {
            let worked = work(tenure.clone()).await;
            tenure.over.cancel();
            worked
        };
        let (worked, ()) = tokio::join!(worked, told);
        stop.cancel();
        let kept = keeping.join_next().await.expect("it was spawned");
        chair = kept.expect("renewing a lease does not panic");
        worked?;
        if !shutdown.is_cancelled() {
            tracing::warn!(%seat, "the seat is not held any more");
        }
    }
    Ok(())
}

/// Takes the seat, and raises its fence; `Lost` where it went to another meanwhile.
async fn take(bus: &Bus, chair: &mut Chair, buckets: &[Bucket]) -> Result<(Seated, Fence), Lost> {
    let mut seated = chair.sit().await;
    loop {
        let fence = Fence::new(bus, seated.term);
        let raise = async {
            for bucket in buckets {
                fence.raise(bucket).await?;
            }
            Ok::<_, FenceError>(())
        };
        match tokio::time::timeout(chair.renewal(), raise).await {
            Ok(Ok(())) => return Ok((seated, fence)),
            // Of a lease that is lost, with all that it counted: ours counts on from there, if it is ours.
            Ok(Err(FenceError::Later { term, .. })) => seated = chair.renew(&seated, term + 1).await?,
            Ok(Err(error)) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "the seat cannot be fenced yet");
                tokio::time::sleep(chair.renewal()).await;
                seated = chair.renew(&seated, seated.term).await?;
            }
            Err(_) => seated = chair.renew(&seated, seated.term).await?,
        }
    }
}

/// Renews until the term is over, then gives the seat up where it is still ours.
async fn keep(
    mut chair: Chair,
    mut seated: Seated,
    tenure: Tenure,
    tell: watch::Sender<Instant>,
    stop: CancellationToken,
) -> Chair {
    let mut renew_at = Instant::now() + chair.renewal();
    loop {
        tokio::select! {
            () = stop.cancelled() => break,
            () = tenure.fence.fallen().cancelled(), if !tenure.over.is_cancelled() => tenure.over.cancel(),
            () = tokio::time::sleep_until(renew_at) => {
                renew_at = Instant::now() + chair.renewal();
                match chair.try_to_renew(&seated, seated.term).await {
                    Ok(Ok(renewed)) => {
                        seated = renewed;
                        tell.send_replace(seated.until);
                    }
                    Ok(Err(Lost)) => {
                        tenure.over.cancel();
                        stop.cancelled().await;
                        return chair;
                    }
                    Err(error) => chair.complain(&error),
                }
            }
        }
    }
    if !tenure.fence.fallen().is_cancelled() {
        chair.rise(&seated).await;
    }
    chair
}
