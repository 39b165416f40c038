//! Rotation with everybody crashing: every order of things for two consumers and their provider, by `stateright`.
//!
//! What decides is the vault's own step function, `mesh_vault::rotation::plan::next`; the rest of the mesh is modelled in
//! [`world`] as what it keeps and what it knows. Nothing that is sent arrives at once, in order, or at all.
//!
//! And each guard is shown to be needed: without it, the model finds how somebody is refused, or worse. A guard of the
//! step function is taken out by showing it a situation in which the guard has nothing to say.

mod world;

use stateright::{Checker, HasDiscoveries, Model, Property};

use world::{Act, World};

/// A guard that is taken out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Without {
    /// None is.
    Nothing,
    /// What a consumer says counts whichever offer it answers to.
    Numbers,
    /// A consumer counts as well whatever it says.
    Health,
    /// A consumer counts as running with the new one whatever it says.
    Credential,
    /// The first is retired without the second having been offered alone.
    Narrowing,
    /// Any number of consumers may be between two.
    Room,
    /// The next is begun whether or not the last is well.
    TheLastIsWell,
    /// A rotation that has stopped goes on.
    Stopping,
    /// The second is made in the place of the first.
    Both,
    /// The provider answers for what it was given, before its server accepts it.
    Proof,
    /// A consumer uses the newest that it was offered, whether or not the provider has answered for it.
    Answer,
    /// A consumer's node tells of what it has not kept.
    Keeping,
    /// The provider's node writes what it has not kept.
    KeepingFirst,
}

/// Two consumers, one at once.
struct Rotating {
    without: Without,
    /// How often something may go wrong that somebody has to bear: a crash, a proof that fails for once.
    faults: u8,
    /// How often an operator may give up, or go on.
    orders: u8,
}

impl Model for Rotating {
    type State = World;
    type Action = Act;

    fn init_states(&self) -> Vec<World> {
        vec![World::new(self.faults, self.orders)]
    }

    fn actions(&self, world: &World, acts: &mut Vec<Act>) {
        let is_of_it = |act: &Act| match act {
            Act::Keep(_) => self.without == Without::Keeping,
            Act::ProviderKeeps => self.without == Without::KeepingFirst,
            _ => true,
        };
        acts.extend(Act::all().filter(|act| is_of_it(act) && world.may(*act)));
    }

    fn next_state(&self, world: &World, act: Act) -> Option<World> {
        let mut next = world.clone();
        next.act(act, self.without);
        (next != *world).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("whoever runs is let in", |_, world: &World| world.refused().is_none()),
            Property::always("at no moment is there none", |_, world: &World| world.has_some()),
            Property::always("no more between two than may be", |_, world: &World| world.between() <= 1),
            Property::always("no step is taken too early", |_, world: &World| world.early.is_none()),
            Property::always("left in peace, it comes to an end", |model, world: &World| {
                model.without != Without::Nothing || world.comes_to_an_end()
            }),
            Property::sometimes("everybody has the new one", |_, world: &World| world.is_done()),
            Property::sometimes("it is given up", |model, world: &World| {
                model.orders == 0 || world.is_given_up()
            }),
        ]
    }
}

impl Rotating {
    /// The properties that are found not to hold, first of all.
    fn broken(self) -> Vec<&'static str> {
        let checker = self.checker().threads(2).finish_when(HasDiscoveries::AnyFailures).spawn_bfs().join();
        let always = |name: &&&str| !matches!(**name, "everybody has the new one" | "it is given up");
        let discoveries = checker.discoveries();
        discoveries.keys().filter(always).copied().collect()
    }
}

#[test]
fn nobody_is_refused_whatever_crashes_and_it_comes_to_an_end() {
    let checker =
        Rotating { without: Without::Nothing, faults: 1, orders: 0 }.checker().threads(2).spawn_bfs().join();
    checker.assert_properties();
    assert!(checker.unique_state_count() > 10_000, "hardly anything was looked at");
}

#[test]
fn nor_when_it_is_stopped_resumed_and_given_up() {
    let checker =
        Rotating { without: Without::Nothing, faults: 0, orders: 1 }.checker().threads(2).spawn_bfs().join();
    checker.assert_properties();
    assert!(checker.unique_state_count() > 10_000, "hardly anything was looked at");
}

#[test]
fn each_guard_is_needed() {
    for (without, faults, orders, expected) in [
        (Without::Numbers, 1, 0, "whoever runs is let in"),
        (Without::Health, 1, 0, "no step is taken too early"),
        (Without::Credential, 0, 0, "no step is taken too early"),
        (Without::Narrowing, 1, 0, "whoever runs is let in"),
        (Without::Room, 0, 0, "no more between two than may be"),
        (Without::TheLastIsWell, 1, 0, "no step is taken too early"),
        (Without::Stopping, 0, 1, "no step is taken too early"),
        (Without::Both, 0, 0, "whoever runs is let in"),
        (Without::Proof, 0, 0, "whoever runs is let in"),
        (Without::Answer, 0, 0, "whoever runs is let in"),
        (Without::Keeping, 1, 0, "whoever runs is let in"),
        (Without::KeepingFirst, 1, 0, "whoever runs is let in"),
    ] {
        let broken = Rotating { without, faults, orders }.broken();
        assert!(broken.contains(&expected), "without {without:?} nothing of it breaks: {broken:?}");
    }
}
