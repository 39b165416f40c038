//! The mesh around a rotation: what each part keeps, what it knows, and what it may do next.
//!
//! A part reads what another keeps in one action and acts on it in a later one, so that everything may have changed in
//! between. What is on a disk outlives a crash; what is only known does not.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use mesh_model::name::NodeName;
use mesh_vault::rotation::plan::next;
use mesh_vault::rotation::told::{Health, Told};
use mesh_vault::rotation::{
    Cause, Direction, Fresh, Offer, Rotation, RotationName, Situation, State, Step, Stopped, Terms,
};

use super::Without;

/// How many consumers there are.
const MANY: usize = 2;

static NODES: LazyLock<[NodeName; MANY]> = LazyLock::new(|| ["a", "b"].map(|name| name.parse().unwrap()));

/// A credential: the first, or the second.
type Id = u8;

fn text(id: Id) -> String {
    format!("c{id}")
}

fn id(text: &str) -> Id {
    text[1..].parse().unwrap()
}

/// Everything.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct World {
    rotation: Rotation,
    consumers: [Consumer; MANY],
    provider: Provider,
    number: u64,
    faults: u8,
    orders: u8,
    /// A step that was taken although something said that it was too early.
    pub(super) early: Option<&'static str>,
}

/// One consumer, with its slice of the vault and of the bus.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Consumer {
    /// In the vault.
    live: BTreeSet<Id>,
    /// On the bus: what the consumer's node says.
    applied: Told,
    /// On its disk.
    kept: Used,
    /// What its node has seen of the provider's answers, and has sent: what was sent before may arrive later.
    seen: Id,
    sent: [Option<Told>; 2],
    /// What its node has come to, unless it has crashed; none where what it should use is not there.
    progress: Option<Option<Used>>,
    desired: Option<Id>,
    running: Option<Id>,
    sick: bool,
    was_well_with: Id,
}

/// What a consumer was rendered with, and of which offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Used {
    id: Id,
    turn: Option<u64>,
}

/// The provider: for each consumer, the newest last.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Provider {
    /// On the node's disk: what it would start with without the bus, and the consumers file.
    kept: [Vec<Id>; MANY],
    file: [Vec<Id>; MANY],
    /// In the server.
    accepts: [BTreeSet<Id>; MANY],
    /// In the answers file.
    answers: [Id; MANY],
}

/// What may happen next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Act {
    Vault,
    /// Somebody has taken too long.
    Overdue,
    Resume,
    Abandon,
    ProviderAsks,
    ProviderKeeps,
    ProviderBoots,
    ServerAccepts,
    Answer(usize),
    /// The newest cannot be proved, this once.
    AnswerTheOther(usize),
    See(usize),
    Look(usize),
    Keep(usize),
    Start(usize),
    Tell(usize),
    /// What was said before is still on its way.
    TellAhead(usize),
    Arrive(usize),
    ArriveLate(usize),
    Sicken(usize),
    Heal(usize),
    Crash(usize),
    Boot(usize),
}

impl Act {
    pub(super) fn all() -> impl Iterator<Item = Self> {
        use Act::*;
        let once =
            [Vault, Overdue, Resume, Abandon, ProviderAsks, ProviderKeeps, ProviderBoots, ServerAccepts];
        let each = [
            Answer,
            AnswerTheOther,
            See,
            Look,
            Keep,
            Start,
            Tell,
            TellAhead,
            Arrive,
            ArriveLate,
            Sicken,
            Heal,
            Crash,
            Boot,
        ];
        once.into_iter().chain(each.into_iter().flat_map(|act| (0..MANY).map(act)))
    }
}

impl World {
    pub(super) fn new(faults: u8, orders: u8) -> Self {
        let told = Told { turn: None, credential: Some(text(0)), health: Health::Well, refused: None };
        let used = Used { id: 0, turn: None };
        let consumer = || Consumer {
            live: BTreeSet::from([0]),
            applied: told.clone(),
            kept: used,
            seen: 0,
            sent: [None, None],
            progress: Some(Some(used)),
            desired: Some(0),
            running: Some(0),
            sick: false,
            was_well_with: 0,
        };
        let first = || std::array::from_fn(|_| vec![0]);
        Self {
            rotation: Rotation {
                id: "r".into(),
                name: RotationName { module: "notes".parse().unwrap(), entry: "db".parse().unwrap() },
                cause: Cause::Asked,
                terms: Terms { at_once: 1, patience: 1, deadline: 1 },
                direction: Direction::Forward,
                state: State::Running,
                remaining: NODES.iter().cloned().collect(),
                between: BTreeMap::new(),
                done: BTreeSet::new(),
            },
            consumers: std::array::from_fn(|_| consumer()),
            provider: Provider {
                kept: first(),
                file: first(),
                accepts: std::array::from_fn(|_| BTreeSet::from([0])),
                answers: [0; MANY],
            },
            number: 1,
            faults,
            orders,
            early: None,
        }
    }

    /// Who runs with what its provider refuses.
    pub(super) fn refused(&self) -> Option<usize> {
        (0..MANY)
            .find(|&i| self.consumers[i].running.is_some_and(|id| !self.provider.accepts[i].contains(&id)))
    }

    pub(super) fn has_some(&self) -> bool {
        self.consumers.iter().all(|consumer| !consumer.live.is_empty())
    }

    /// How many are between two credentials.
    pub(super) fn between(&self) -> usize {
        self.consumers.iter().filter(|consumer| consumer.live.len() > 1).count()
    }

    pub(super) fn is_done(&self) -> bool {
        self.rotation.is_over() && self.consumers.iter().all(|one| one.live == BTreeSet::from([1]))
    }

    pub(super) fn is_given_up(&self) -> bool {
        self.rotation.is_over() && self.rotation.direction == Direction::Back && self.between() == 0
    }

    /// Whether, with nothing more going wrong, it comes to its end, or waits for an operator.
    pub(super) fn comes_to_an_end(&self) -> bool {
        let mut world = self.clone();
        for _ in 0..64 {
            if world.rotation.is_over() || matches!(world.rotation.state, State::Stopped(_)) {
                return true;
            }
            use Act::*;
            for act in [Vault, ProviderAsks, ServerAccepts] {
                world.act(act, Without::Nothing);
            }
            for i in 0..MANY {
                for act in [Boot, Answer, See, Look, Start, Heal, Tell, Arrive].map(|act| act(i)) {
                    if world.may(act) {
                        world.act(act, Without::Nothing);
                    }
                }
            }
        }
        false
    }

    pub(super) fn may(&self, act: Act) -> bool {
        let is_up = |i: usize| self.consumers[i].progress.is_some();
        match act {
            Act::Overdue => {
                self.orders > 0 && self.rotation.state == State::Running && !self.rotation.between.is_empty()
            }
            Act::Resume => matches!(self.rotation.state, State::Stopped(_)),
            Act::Abandon => {
                !self.rotation.is_over() && self.orders > 0 && self.rotation.direction == Direction::Forward
            }
            Act::ProviderBoots | Act::TellAhead(_) | Act::Sicken(_) if self.faults == 0 => false,
            Act::ProviderBoots => self.provider.kept != self.provider.file,
            Act::TellAhead(i) => is_up(i) && self.consumers[i].sent[0].is_some(),
            Act::AnswerTheOther(i) => self.faults > 0 && self.provider.file[i].len() > 1,
            Act::Sicken(i) => !self.consumers[i].sick && self.consumers[i].running == Some(1),
            Act::Heal(i) => self.consumers[i].sick,
            Act::Crash(i) => self.faults > 0 && is_up(i),
            Act::Boot(i) => !is_up(i),
            Act::See(i) | Act::Look(i) | Act::Keep(i) | Act::Start(i) | Act::Tell(i) => is_up(i),
            _ => true,
        }
    }

    pub(super) fn act(&mut self, act: Act, without: Without) {
        match act {
            Act::Vault => self.vault(without, None),
            Act::Overdue => {
                self.orders -= 1;
                let at = NODES[0].clone();
                self.vault(without, Some(Stopped { at, why: String::new() }));
            }
            Act::Resume => self.rotation = self.rotation.resumed(),
            Act::Abandon => {
                self.orders -= 1;
                self.number += 1;
                let number = self.number;
                self.rotation = self.rotation.abandoned(|_| number);
            }
            // Kept first, and then written: a start in between writes what was kept, as would have been done anyway.
            Act::ProviderAsks => {
                self.provider.file = self.delivered();
                if without != Without::KeepingFirst {
                    self.provider.kept = self.provider.file.clone();
                }
            }
            Act::ProviderKeeps => self.provider.kept = self.provider.file.clone(),
            Act::ProviderBoots => {
                self.faults -= 1;
                self.provider.file = self.provider.kept.clone();
            }
            Act::ServerAccepts => {
                for i in 0..MANY {
                    self.provider.accepts[i] = self.provider.file[i].iter().copied().collect();
                }
            }
            Act::Answer(i) => self.answer(i, self.provider.file[i].last().copied(), without),
            Act::AnswerTheOther(i) => {
                self.faults -= 1;
                self.answer(i, self.provider.file[i].first().copied(), without);
            }
            Act::See(i) => self.consumers[i].seen = self.provider.answers[i],
            Act::Look(i) => self.look(i, without),
            Act::Keep(i) => {
                if let Some(Some(used)) = self.consumers[i].progress {
                    self.consumers[i].kept = used;
                }
            }
            Act::Start(i) => self.consumers[i].running = self.consumers[i].desired,
            Act::Tell(i) => {
                let late = self.consumers[i].sent[1].take();
                self.consumers[i].tell();
                self.consumers[i].sent[1] = late;
            }
            Act::TellAhead(i) => {
                self.faults -= 1;
                self.consumers[i].tell();
            }
            Act::Arrive(i) => self.consumers[i].arrive(0),
            Act::ArriveLate(i) => self.consumers[i].arrive(1),
            Act::Sicken(i) => {
                self.faults -= 1;
                self.consumers[i].sick = true;
            }
            Act::Heal(i) => self.consumers[i].sick = false,
            Act::Crash(i) => {
                self.faults -= 1;
                let consumer = &mut self.consumers[i];
                (consumer.progress, consumer.desired, consumer.running) = (None, None, None);
            }
            Act::Boot(i) => {
                let consumer = &mut self.consumers[i];
                consumer.progress = Some(Some(consumer.kept));
                consumer.desired = Some(consumer.kept.id);
            }
        }
    }

    /// What the provider's node is given: all that is live, what is to be taken up last.
    fn delivered(&self) -> [Vec<Id>; MANY] {
        std::array::from_fn(|i| self.in_order(i))
    }

    fn in_order(&self, i: usize) -> Vec<Id> {
        let to = self.rotation.between.get(&NODES[i]).map(|turn| id(&turn.to));
        let mut all: Vec<Id> = self.consumers[i].live.iter().copied().collect();
        all.sort_by_key(|id| to == Some(*id));
        all
    }

    /// What a consumer's node is offered, and under which number.
    fn offered(&self, i: usize) -> (Vec<Id>, Option<u64>) {
        match self.rotation.between.get(&NODES[i]) {
            Some(turn) if turn.offer == Offer::One => (vec![id(&turn.to)], Some(turn.number)),
            turn => (self.in_order(i), turn.map(|turn| turn.number)),
        }
    }

    fn answer(&mut self, i: usize, id: Option<Id>, without: Without) {
        if let Some(id) = id
            && (self.provider.accepts[i].contains(&id) || without == Without::Proof)
        {
            self.provider.answers[i] = id;
        }
    }

    fn look(&mut self, i: usize, without: Without) {
        let (offered, turn) = self.offered(i);
        let consumer = &mut self.consumers[i];
        let id = match without {
            Without::Answer => offered.last().copied(),
            _ => offered.contains(&consumer.seen).then_some(consumer.seen),
        };
        consumer.progress = Some(id.map(|id| Used { id, turn }));
        if let Some(id) = id {
            if without != Without::Keeping {
                consumer.kept = Used { id, turn };
            }
            consumer.desired = Some(id);
        }
    }

    fn vault(&mut self, without: Without, overdue: Option<Stopped>) {
        let (rotation, situation) = self.shown(without, overdue);
        let Some(step) = next(&rotation, &situation) else { return };
        self.is_early(&step);
        let step = match step {
            Step::Narrow { node } if without == Without::Narrowing => {
                let id = self.rotation.between[&node].from.clone();
                Step::Retire { node, id }
            }
            step => step,
        };
        self.number += 1;
        let fresh = Fresh { number: self.number, id: text(1) };
        self.rotation = self.rotation.after(&step, &fresh);
        let consumer = |node: &NodeName| NODES.iter().position(|one| one == node).unwrap();
        match &step {
            Step::Begin { node, .. } => {
                let live = &mut self.consumers[consumer(node)].live;
                if without == Without::Both {
                    live.clear();
                }
                live.insert(1);
            }
            Step::Retire { node, id: retired } => {
                self.consumers[consumer(node)].live.retain(|one| *one != id(retired));
            }
            _ => {}
        }
    }

    /// What the step function is shown: what there is, or, without one of its guards, something that the guard lets pass.
    fn shown(&self, without: Without, overdue: Option<Stopped>) -> (Rotation, Situation) {
        let (mut rotation, mut situation) = (self.rotation.clone(), Situation::default());
        for (node, consumer) in NODES.iter().zip(&self.consumers) {
            let mut told = consumer.applied.clone();
            let turn = rotation.between.get(node);
            match (without, turn) {
                (Without::Numbers, Some(turn)) => told.turn = Some(turn.number),
                (Without::Credential, Some(turn)) => told.credential = Some(turn.to.clone()),
                (Without::Health, Some(_)) | (Without::TheLastIsWell, None) => told.health = Health::Well,
                _ => {}
            }
            situation.told.insert(node.clone(), told);
            situation.wanted.insert(node.clone());
            situation.live.insert(node.clone(), consumer.live.iter().copied().map(text).collect());
        }
        situation.overdue = overdue;
        match without {
            Without::Room => rotation.terms.at_once = u16::MAX,
            Without::Stopping => rotation.state = State::Running,
            _ => {}
        }
        (rotation, situation)
    }

    /// Sees whether a step is taken that something speaks against.
    fn is_early(&mut self, step: &Step) {
        let of = |node: &NodeName| &self.consumers[NODES.iter().position(|one| one == node).unwrap()];
        let is_unwell = |node: &NodeName| of(node).applied.health != Health::Well;
        let says_another =
            |node: &NodeName| of(node).applied.credential.as_ref() != Some(&self.rotation.between[node].to);
        let is_stopped = matches!(self.rotation.state, State::Stopped(_));
        let early = match step {
            Step::Begin { .. } if self.rotation.done.iter().any(is_unwell) => {
                Some("begun while the last is not well")
            }
            Step::Begin { .. } | Step::Narrow { .. } | Step::Retire { .. } if is_stopped => {
                Some("gone on after it stopped")
            }
            Step::Narrow { node } if says_another(node) => {
                Some("narrowed while it says that it uses the old one")
            }
            Step::Narrow { node } | Step::Retire { node, .. } if is_unwell(node) => {
                Some("left while it is not well")
            }
            _ => None,
        };
        self.early = self.early.or(early);
    }
}

impl Consumer {
    /// Says how it is; what was said before and has not arrived yet may arrive later.
    fn tell(&mut self) {
        let Some(progress) = self.progress else { return };
        let is_settled = progress.is_some_and(|used| self.running == Some(used.id));
        let health = match (is_settled, self.sick) {
            (true, false) => Health::Well,
            (true, true) => Health::Failed(String::new()),
            (false, _) => Health::Waiting(String::new()),
        };
        if health == Health::Well {
            self.was_well_with = progress.map_or(self.was_well_with, |used| used.id);
        }
        let turn = progress.and_then(|used| used.turn);
        let told = Told { turn, credential: Some(text(self.was_well_with)), health, refused: None };
        if self.sent[0].as_ref() != Some(&told) {
            self.sent = [Some(told), self.sent[0].take()];
        }
    }

    fn arrive(&mut self, which: usize) {
        if let Some(told) = self.sent[which].take() {
            self.applied = told;
        }
    }
}
