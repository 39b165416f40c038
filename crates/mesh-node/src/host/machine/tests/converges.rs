//! Whatever happens in whatever order, each service runs once at most, and when things calm down exactly what is wanted
//! runs, with what it was last asked to run with.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone)]
enum Step {
    Desire(&'static str),
    /// Something happens to the run of that place among those that are alive.
    Happens(usize, Happening),
    Later(u64),
}

#[derive(Debug, Clone, Copy)]
enum Happening {
    Starts,
    Healthy,
    Unhealthy,
    Ends(Ending),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let desired =
        prop::sample::select(vec!["", "a:1", "a:2 b:1", "a:1:2 b:1:3 c:1", "c:2 a:1", "b:1:1 c:2:2 a:3"]);
    let happening = prop::sample::select(vec![
        Happening::Starts,
        Happening::Healthy,
        Happening::Unhealthy,
        Happening::Ends(Ending::Clean),
        Happening::Ends(Ending::Failed),
        Happening::Ends(Ending::NotStarted),
    ]);
    let step = prop_oneof![
        1 => desired.prop_map(Step::Desire),
        5 => (0..4_usize, happening).prop_map(|(place, happening)| Step::Happens(place, happening)),
        1 => (0..40_u64).prop_map(Step::Later),
    ];
    prop::collection::vec(step, 0..60)
}

/// The runs that are alive out there, and which were asked to stop.
#[derive(Default)]
struct World {
    stage: Option<Stage>,
    alive: Vec<Run>,
    stopping: BTreeSet<Run>,
}

impl World {
    fn event(&mut self, event: Event) {
        let stage = self.stage.get_or_insert_with(|| Stage::new("").0);
        for action in stage.machine.step(Moment { at: stage.at, chance: 0.5 }, event) {
            match action {
                Action::Start { run, .. } => {
                    assert!(self.alive.iter().all(|other| other.service != run.service), "two of {run:?}");
                    self.alive.push(run);
                }
                Action::Stop { run } => {
                    assert!(self.alive.contains(&run) && self.stopping.insert(run));
                }
                Action::Reload { run } => assert!(self.alive.contains(&run)),
            }
        }
    }

    fn happens(&mut self, run: Run, happening: Happening) {
        let event = match happening {
            Happening::Starts => Event::Started { run },
            Happening::Healthy => Event::Healthy { run },
            Happening::Unhealthy => Event::Unhealthy { run, why: "bad".into() },
            Happening::Ends(ending) => {
                self.alive.retain(|other| *other != run);
                Event::Ended { run, ending, why: "ended".into() }
            }
        };
        self.event(event);
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Desire(text) => self.event(Event::Desired(wanted(text))),
            Step::Happens(place, happening) => {
                if let Some(run) = self.alive.get(place).cloned() {
                    self.happens(run, happening);
                }
            }
            Step::Later(seconds) => {
                self.event(Event::Tick);
                if let Some(stage) = &mut self.stage {
                    stage.at += Duration::from_secs(seconds);
                }
                self.event(Event::Tick);
            }
        }
    }

    /// Everything does as it is asked, for long enough.
    fn calm(&mut self) {
        for _ in 0..20 {
            for run in self.alive.clone() {
                if self.stopping.contains(&run) {
                    self.happens(run, Happening::Ends(Ending::Clean));
                } else {
                    self.happens(run.clone(), Happening::Starts);
                    self.happens(run, Happening::Healthy);
                }
            }
            self.take(Step::Later(40));
        }
    }
}

proptest! {
    #[test]
    fn to_what_is_wanted(steps in steps(), last in prop::sample::select(vec!["", "a:1:1", "c:2 a:1 b:9:9"])) {
        let mut world = World::default();
        for step in steps {
            world.take(step);
        }
        world.take(Step::Desire(last));
        world.calm();
        let mut alive: Vec<&str> = world.alive.iter().map(|run| run.service.as_str()).collect();
        alive.sort_unstable();
        let mut names: Vec<String> = wanted(last).into_iter().map(|one| one.name).collect();
        names.sort_unstable();
        prop_assert_eq!(alive, names);
        let state = world.stage.unwrap().machine.state();
        for one in wanted(last) {
            prop_assert!(state.services[&one.name].is_settled(&one.digest, &one.reload_digest));
        }
    }
}
