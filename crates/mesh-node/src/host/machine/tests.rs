//! The machine alone: what happens, second by second, and what it says to do.

use insta::assert_snapshot;

use super::*;

mod converges;

/// Drives a machine and writes down what it says.
struct Stage {
    machine: Machine,
    at: Duration,
}

fn wanted(text: &str) -> Vec<Wanted> {
    // `name:digest:reload:policy`, the last three optional.
    text.split_whitespace()
        .map(|one| {
            let mut parts = one.split(':');
            let mut next = || parts.next().unwrap_or_default().to_owned();
            let (name, digest, reload_digest) = (next(), next(), next());
            let restart = match next().as_str() {
                "never" => Restart::Never,
                "on-failure" => Restart::OnFailure,
                _ => Restart::Always,
            };
            Wanted { name, digest, reload_digest, restart }
        })
        .collect()
}

impl Stage {
    fn new(text: &str) -> (Self, String) {
        let mut stage = Self { machine: Machine::default(), at: Duration::ZERO };
        let said = stage.desire(text);
        (stage, said)
    }

    fn desire(&mut self, text: &str) -> String {
        self.event(Event::Desired(wanted(text)))
    }

    fn event(&mut self, event: Event) -> String {
        let actions = self.machine.step(Moment { at: self.at, chance: 0.0 }, event);
        let words: Vec<String> = actions.iter().map(words).collect();
        words.join(", ")
    }

    fn run(&self, name: &str) -> Run {
        Run { service: name.to_owned(), number: self.machine.services[name].run }
    }

    fn healthy(&mut self, name: &str) -> String {
        let run = self.run(name);
        let started = self.event(Event::Started { run: run.clone() });
        assert_eq!(started, "");
        self.event(Event::Healthy { run })
    }

    fn ended(&mut self, name: &str, ending: Ending) -> String {
        let run = self.run(name);
        self.event(Event::Ended { run, ending, why: "ended with 1".into() })
    }

    fn later(&mut self, seconds: u64) -> String {
        self.at += Duration::from_secs(seconds);
        self.event(Event::Tick)
    }

    fn state(&self) -> String {
        let services = self.machine.state().services;
        let word = |(name, service): (&String, &ServiceState)| {
            let why = service.why.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
            format!("{name} {}{why}", service.state.word())
        };
        services.iter().map(word).collect::<Vec<_>>().join(", ")
    }
}

fn words(action: &Action) -> String {
    match action {
        Action::Start { run, folders } => format!("start {}#{} {folders:?}", run.service, run.number),
        Action::Stop { run } => format!("stop {}#{}", run.service, run.number),
        Action::Reload { run } => format!("reload {}#{}", run.service, run.number),
    }
}

#[test]
fn services_start_in_order_each_when_the_one_before_is_healthy() {
    let (mut stage, said) = Stage::new("a b c");
    assert_snapshot!(said, @"start a#1 Empty");
    assert_snapshot!(stage.state(), @"a starting, b starting (waits for `a` to be healthy), c starting (waits for `a` to be healthy)");
    assert_snapshot!(stage.healthy("a"), @"start b#2 Keep");
    assert_snapshot!(stage.healthy("b"), @"start c#3 Keep");
    assert_snapshot!(stage.healthy("c"), @"");
    assert_snapshot!(stage.state(), @"a running, b running, c running");
}

#[test]
fn a_changed_digest_restarts_that_service_alone() {
    let (mut stage, _) = Stage::new("a:1 b:1");
    stage.healthy("a");
    stage.healthy("b");
    assert_snapshot!(stage.desire("a:2 b:1"), @"stop a#1");
    assert_snapshot!(stage.state(), @"a stopped, b running");
    assert_snapshot!(stage.ended("a", Ending::Clean), @"start a#3 Keep");
    assert_snapshot!(stage.desire("a:2 b:1"), @"");
}

#[test]
fn a_changed_reload_digest_reloads_once_and_only_what_is_up() {
    let (mut stage, _) = Stage::new("a:1:1");
    assert_snapshot!(stage.desire("a:1:2"), @"");
    assert_snapshot!(stage.healthy("a"), @"reload a#1");
    assert_snapshot!(stage.desire("a:1:2"), @"");
    assert_snapshot!(stage.desire("a:1:3"), @"reload a#1");
    let settled = stage.machine.state().services["a"].is_settled("1", "3");
    assert!(settled);
}

#[test]
fn what_is_removed_stops_in_reverse_each_when_the_one_after_is_gone() {
    let (mut stage, _) = Stage::new("a b c");
    for name in ["a", "b", "c"] {
        stage.healthy(name);
    }
    assert_snapshot!(stage.desire(""), @"stop c#3");
    assert_snapshot!(stage.ended("c", Ending::Failed), @"stop b#2");
    assert_snapshot!(stage.ended("b", Ending::Clean), @"stop a#1");
    assert!(!stage.machine.is_empty());
    assert_snapshot!(stage.ended("a", Ending::Clean), @"");
    assert!(stage.machine.is_empty());
}

#[test]
fn a_crash_loop_waits_longer_each_time_and_is_told() {
    let (mut stage, _) = Stage::new("a");
    let mut waits = Vec::new();
    for _ in 0..7 {
        stage.ended("a", Ending::Failed);
        let until = stage.machine.wake().unwrap();
        waits.push((until - stage.at).as_secs());
        stage.at = until;
        assert!(stage.event(Event::Tick).starts_with("start a#"));
    }
    assert_eq!(waits, [1, 2, 4, 8, 16, 30, 30]);
    assert_snapshot!(stage.state(), @"a starting (ended with 1 (7 times in a row))");
    assert_eq!(stage.machine.state().services["a"].restarts, 7);
}

#[test]
fn a_minute_of_health_forgets_the_failures() {
    let (mut stage, _) = Stage::new("a");
    stage.ended("a", Ending::Failed);
    stage.later(1);
    stage.healthy("a");
    stage.later(60);
    stage.ended("a", Ending::Failed);
    assert_eq!(stage.machine.wake(), Some(stage.at + Duration::from_secs(1)));
}

#[test]
fn a_change_ends_the_wait_of_a_crash_loop() {
    let (mut stage, _) = Stage::new("a:1");
    stage.ended("a", Ending::Failed);
    assert_snapshot!(stage.desire("a:1"), @"");
    assert_snapshot!(stage.desire("a:2"), @"start a#2 Empty");
}

#[test]
fn policies() {
    let (mut stage, _) = Stage::new("once:::never job:::on-failure");
    assert_snapshot!(stage.ended("once", Ending::Clean), @"start job#2 Empty");
    assert_snapshot!(stage.ended("job", Ending::Failed), @"");
    assert_snapshot!(stage.state(), @"job failed (ended with 1), once stopped");
    assert_snapshot!(stage.later(1), @"start job#3 Empty");
    assert_snapshot!(stage.ended("job", Ending::Clean), @"");
    assert_snapshot!(stage.state(), @"job stopped, once stopped");
    assert_eq!(stage.machine.wake(), None);
}

#[test]
fn one_that_may_not_start_again_and_failed_holds_up_those_after_it() {
    let (mut stage, _) = Stage::new("once:::never b");
    assert_snapshot!(stage.ended("once", Ending::Failed), @"");
    assert_snapshot!(stage.state(), @"b starting (waits for `once` to be healthy), once failed (ended with 1)");
}

#[test]
fn a_preparation_that_failed_is_tried_again_whatever_the_policy() {
    let (mut stage, _) = Stage::new("once:::never");
    stage.ended("once", Ending::NotStarted);
    assert_snapshot!(stage.later(1), @"start once#2 Empty");
}

#[test]
fn three_bad_answers_make_a_healthy_service_unhealthy_and_one_good_heals_it() {
    let (mut stage, _) = Stage::new("a");
    stage.healthy("a");
    let run = stage.run("a");
    for expected in ["a running", "a running", "a unhealthy (refused)"] {
        stage.event(Event::Unhealthy { run: run.clone(), why: "refused".into() });
        assert_eq!(stage.state(), expected);
    }
    stage.event(Event::Healthy { run });
    assert_snapshot!(stage.state(), @"a running");
}

#[test]
fn what_is_heard_of_a_run_that_is_over_changes_nothing() {
    let (mut stage, _) = Stage::new("a");
    let old = stage.run("a");
    stage.ended("a", Ending::Failed);
    stage.later(1);
    stage.event(Event::Healthy { run: old.clone() });
    stage.event(Event::Ended { run: old, ending: Ending::Failed, why: "late".into() });
    assert_snapshot!(stage.state(), @"a starting (ended with 1)");
}

#[test]
fn a_service_that_is_wanted_again_while_it_stops_is_started_when_it_is_gone() {
    let (mut stage, _) = Stage::new("a");
    stage.healthy("a");
    stage.desire("");
    assert_snapshot!(stage.desire("a"), @"");
    assert_snapshot!(stage.ended("a", Ending::Clean), @"start a#2 Empty");
}

#[test]
fn one_that_crashes_later_leaves_those_after_it_alone() {
    let (mut stage, _) = Stage::new("a b");
    stage.healthy("a");
    stage.healthy("b");
    assert_snapshot!(stage.ended("a", Ending::Failed), @"");
    assert_snapshot!(stage.later(1), @"start a#3 Keep");
    assert_snapshot!(stage.state(), @"a starting (ended with 1), b running");
}
