//! For how long something has been wrong with a consumer that a rotation waits for.
//!
//! Kept in memory, on a clock that nobody sets: a vault that starts again gives everybody their time again. What fails
//! counts from its first failure until it is well, so that a service that is started again and again runs out of time.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use mesh_model::name::NodeName;

use super::told::{Health, Told, waits_for};
use super::{Rotation, Situation, State, Stopped};

/// Since when each consumer that is waited for has been so.
#[derive(Debug, Default)]
pub struct Watch(BTreeMap<Waited, Since>);

/// One consumer at one step of one rotation.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Waited {
    rotation: String,
    node: NodeName,
    /// None for one that has the new one already.
    turn: Option<u64>,
}

#[derive(Debug, Clone, Copy)]
struct Since {
    begun: Instant,
    failing: Option<Instant>,
}

impl Watch {
    /// Looks at a rotation now; says what has been wrong for too long.
    pub fn look(&mut self, rotation: &Rotation, situation: &Situation, now: Instant) -> Option<Stopped> {
        if rotation.state != State::Running {
            self.forget(&rotation.id);
            return None;
        }
        let mut overdue = None;
        let mut waited = BTreeMap::new();
        for (node, turn, fault) in faults(rotation, situation) {
            let key = Waited { rotation: rotation.id.clone(), node: node.clone(), turn };
            let before = self.0.get(&key).copied().unwrap_or(Since { begun: now, failing: None });
            let failing = match fault.kind {
                Kind::Fails => Some(before.failing.unwrap_or(now)),
                Kind::Slow => before.failing,
                Kind::Well => None,
            };
            waited.insert(key, Since { failing, ..before });
            let spent = |since: Instant, limit: u32| {
                now.saturating_duration_since(since) >= Duration::from_secs(limit.into())
            };
            let is_over = failing.is_some_and(|since| spent(since, rotation.terms.patience))
                || spent(before.begun, rotation.terms.deadline);
            if is_over {
                overdue.get_or_insert(Stopped { at: node.clone(), why: fault.why });
            }
        }
        self.forget(&rotation.id);
        self.0.append(&mut waited);
        overdue
    }

    /// Forgets how long anything of a rotation has taken.
    pub fn forget(&mut self, rotation: &str) {
        self.0.retain(|waited, _| waited.rotation != rotation);
    }
}

struct Fault {
    why: String,
    kind: Kind,
}

/// How bad it is.
enum Kind {
    /// Something is wrong.
    Fails,
    /// It is on its way, or starts again after it has failed.
    Slow,
    /// It is well with the one that it has.
    Well,
}

/// Everybody that is waited for, and why.
fn faults<'a>(
    rotation: &'a Rotation,
    situation: &'a Situation,
) -> impl Iterator<Item = (&'a NodeName, Option<u64>, Fault)> {
    let between = rotation.between.iter().map(|(node, turn)| {
        let told = situation.told.get(node);
        let is_refused = told.is_some_and(|told| told.turn == Some(turn.number) && told.refused.is_some());
        let kind = if is_refused { Kind::Fails } else { told.map_or(Kind::Slow, kind) };
        (node, Some(turn.number), Fault { why: waits_for(turn, told), kind })
    });
    let unwell = rotation.done.iter().filter(|_| !rotation.remaining.is_empty()).filter_map(|node| {
        let told = situation.told.get(node)?;
        let why = format!("it has the new one and is not well: {}", told.health.why());
        (told.health != Health::Well).then(|| (node, None, Fault { why, kind: kind(told) }))
    });
    between.chain(unwell)
}

fn kind(told: &Told) -> Kind {
    match told.health {
        Health::Failed(_) => Kind::Fails,
        Health::Waiting(_) => Kind::Slow,
        Health::Well => Kind::Well,
    }
}

#[cfg(test)]
mod tests;
