//! A model of a seat: two processes that want it, a server that compares, time that passes, answers that get lost.
//!
//! Start at [`Guards`]: each is one thing that the real code does, and that the model can leave out. With all of them, no state
//! that can be reached breaks a promise; without any one of them, one does (`tests`). What the model knows of time is
//! how the shares of a lease stand to each other: how long a renewal holds, how long a silence is, and that clocks differ in
//! their pace by less than the difference.
//!
//! The steps are those of [`super::lease`] and [`super::fence`], with one bucket and one lane.

use stateright::{Model, Property};

/// For how many ticks of the holder's clock a renewal holds.
const HOLDS: u8 = 2;
/// How many ticks a silence takes: longer by a tick of one clock against the other, and one of looking.
const SILENCE: u8 = 4;
/// How far the model goes: terms, and writes to the lease.
const TERMS: u8 = 2;
const REVISIONS: u8 = 4;

/// What the real code does; each can be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Guards {
    /// Each write names the fence.
    pub(super) fence: bool,
    /// A fence is never raised over that of a later term.
    pub(super) raise_by_term: bool,
    /// The lease is taken where it is as it was seen.
    pub(super) take_by_revision: bool,
    /// The lease is renewed where it is as it was left.
    pub(super) renew_by_revision: bool,
    /// Who stands by waits for a silence that is longer than a renewal holds.
    pub(super) whole_wait: bool,
    /// The holder counts from when it sent the renewal, not from when it heard of it.
    pub(super) count_from_sending: bool,
}

impl Guards {
    pub(super) const ALL: Self = Self {
        fence: true,
        raise_by_term: true,
        take_by_revision: true,
        renew_by_revision: true,
        whole_wait: true,
        count_from_sending: true,
    };
}

/// A request for the lease or the fence, with what it expects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Request {
    Take { revision: u8, term: u8 },
    Renew { revision: u8, term: u8 },
    Raise { seen: u8, term: u8 },
}

/// What the server says of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Answer {
    Taken { revision: u8, term: u8 },
    Renewed { revision: u8 },
    Raised,
    Refused,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Stage {
    /// Stands by.
    Out,
    /// Has the lease, and has not raised its fence.
    Seated,
    /// Holds the seat.
    In,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Process {
    stage: Stage,
    term: u8,
    revision: u8,
    /// How long it still counts the seat as its own.
    left: u8,
    /// How long the request that is on its way will have bought, counted from when it was sent.
    bought: u8,
    /// The revision that it listens to, and how long that has been silent.
    heard: u8,
    silence: u8,
    /// Whether its clock has run ahead once since the silence began.
    ran_ahead: bool,
    request: Option<Request>,
    answer: Option<Answer>,
    /// It has decided to write, and sleeps, or what it sent is on its way: the term of the fence that it names. For the
    /// server the two are the same.
    write: Option<u8>,
}

/// Everything, at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct State {
    processes: [Process; 2],
    /// The lease: who, in which term, at which revision.
    lease: Option<(u8, u8)>,
    revision: u8,
    /// The term that the fence was last raised in.
    fence: u8,
    /// The newest term that anything was written in, and by whom.
    written: Option<(u8, u8)>,
    /// A write of an earlier term landed after one of a later.
    late: bool,
    /// Two wrote in one term.
    two_in_a_term: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Tick,
    RunAhead(usize),
    Look(usize),
    Take(usize),
    Raise(usize),
    Renew(usize),
    Serve(usize),
    Hear(usize),
    LoseAnswer(usize),
    Write(usize),
    Land(usize),
}

impl Model for Guards {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let process = Process {
            stage: Stage::Out,
            term: 0,
            revision: 0,
            left: 0,
            bought: 0,
            heard: 0,
            silence: 0,
            ran_ahead: false,
            request: None,
            answer: None,
            write: None,
        };
        vec![State {
            processes: [process.clone(), process],
            lease: None,
            revision: 0,
            fence: 0,
            written: None,
            late: false,
            two_in_a_term: false,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        actions.push(Action::Tick);
        for (at, process) in state.processes.iter().enumerate() {
            let idle = process.request.is_none() && process.answer.is_none();
            match process.stage {
                Stage::Out => {
                    actions.extend((process.heard != state.revision).then_some(Action::Look(at)));
                    actions
                        .extend((!process.ran_ahead && process.silence > 0).then_some(Action::RunAhead(at)));
                    let enough = if self.whole_wait { SILENCE } else { 1 };
                    let free = process.heard == 0 || process.silence >= enough;
                    actions.extend((idle && free).then_some(Action::Take(at)));
                }
                Stage::Seated => actions.extend(idle.then_some(Action::Raise(at))),
                Stage::In => {
                    actions.extend(idle.then_some(Action::Renew(at)));
                    // Whether it still counts the seat as its own is asked by whoever answers, not before each write.
                    actions.extend(process.write.is_none().then_some(Action::Write(at)));
                }
            }
            actions.extend(process.request.map(|_| Action::Serve(at)));
            actions.extend(process.answer.map(|_| Action::Hear(at)));
            actions.extend(process.answer.map(|_| Action::LoseAnswer(at)));
            actions.extend(process.write.map(|_| Action::Land(at)));
        }
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = last.clone();
        match action {
            Action::Tick => {
                for process in &mut state.processes {
                    process.left = process.left.saturating_sub(1);
                    process.bought = process.bought.saturating_sub(1);
                    if process.stage == Stage::Out && process.heard != 0 {
                        process.silence = (process.silence + 1).min(SILENCE);
                    }
                }
            }
            Action::RunAhead(at) => {
                let process = &mut state.processes[at];
                process.ran_ahead = true;
                process.silence = (process.silence + 1).min(SILENCE);
            }
            Action::Look(at) => {
                let process = &mut state.processes[at];
                (process.heard, process.silence, process.ran_ahead) = (state.revision, 0, false);
            }
            Action::Take(at) => {
                let term = last.lease.map_or(0, |(_, term)| term) + 1;
                self.send(
                    &mut state.processes[at],
                    Request::Take { revision: last.processes[at].heard, term },
                );
            }
            Action::Renew(at) => {
                let Process { revision, term, .. } = last.processes[at];
                self.send(&mut state.processes[at], Request::Renew { revision, term });
            }
            Action::Raise(at) => {
                let term = last.processes[at].term;
                if self.raise_by_term && last.fence > term {
                    state.processes[at].fall();
                } else {
                    state.processes[at].request = Some(Request::Raise { seen: last.fence, term });
                }
            }
            Action::Serve(at) => {
                let request = state.processes[at].request.take()?;
                let answer = self.serve(&mut state, at, request);
                state.processes[at].answer = Some(answer);
            }
            Action::Hear(at) => {
                let answer = state.processes[at].answer.take()?;
                self.hear(&mut state.processes[at], answer);
            }
            Action::LoseAnswer(at) => self.lose(&mut state, at),
            Action::Write(at) => state.processes[at].write = Some(last.processes[at].term),
            Action::Land(at) => {
                let term = state.processes[at].write.take()?;
                self.land(&mut state, at, term);
            }
        }
        Some(state)
    }

    fn within_boundary(&self, state: &State) -> bool {
        state.revision <= REVISIONS && state.lease.is_none_or(|(_, term)| term <= TERMS)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("no write of a former holder after one of the next", |_, state: &State| {
                !state.late
            }),
            Property::always("one holder a term", |_, state: &State| !state.two_in_a_term),
            Property::always("never two that count the seat as theirs", |_, state: &State| {
                state.processes.iter().filter(|one| one.stage == Stage::In && one.left > 0).count() < 2
            }),
            Property::sometimes("the seat is taken over, and written for", |_, state: &State| {
                state.written.is_some_and(|(term, _)| term > 1)
            }),
            Property::sometimes("a former holder sleeps over a write", |_, state: &State| {
                state.processes.iter().any(|one| one.write.is_some_and(|term| term < state.fence))
            }),
        ]
    }
}

impl Guards {
    fn send(&self, process: &mut Process, request: Request) {
        process.request = Some(request);
        process.bought = HOLDS;
    }

    /// What the server does: it compares, and writes.
    fn serve(&self, state: &mut State, at: usize, request: Request) -> Answer {
        let holder = u8::try_from(at).expect("one of two");
        match request {
            Request::Take { revision, term } if revision == state.revision || !self.take_by_revision => {
                state.revision += 1;
                state.lease = Some((holder, term));
                Answer::Taken { revision: state.revision, term }
            }
            Request::Renew { revision, term } if revision == state.revision || !self.renew_by_revision => {
                state.revision += 1;
                state.lease = Some((holder, term));
                Answer::Renewed { revision: state.revision }
            }
            Request::Raise { seen, term } if seen == state.fence || !self.raise_by_term => {
                state.fence = term;
                Answer::Raised
            }
            _ => Answer::Refused,
        }
    }

    fn hear(&self, process: &mut Process, answer: Answer) {
        let bought = if self.count_from_sending { process.bought } else { HOLDS };
        process.bought = 0;
        match answer {
            Answer::Taken { revision, term } => {
                process.sit(term, revision);
                process.left = bought;
            }
            Answer::Renewed { revision } => (process.revision, process.left) = (revision, bought),
            Answer::Raised => process.stage = Stage::In,
            Answer::Refused if process.stage == Stage::Seated => {}
            Answer::Refused => process.fall(),
        }
    }

    /// The answer does not arrive. Whoever asked reads what is so: that the lease is theirs, and since which revision, with nothing
    /// bought; or that it is another's.
    fn lose(&self, state: &mut State, at: usize) {
        let (lease, revision) = (state.lease, state.revision);
        let process = &mut state.processes[at];
        let lost = process.answer.take();
        process.bought = 0;
        let ours = lease.filter(|(holder, _)| usize::from(*holder) == at);
        match (lost, ours) {
            (Some(Answer::Raised), _) => {}
            (_, Some((_, term))) if process.stage == Stage::Out => {
                process.sit(term, revision);
            }
            (_, Some(_)) => process.revision = revision,
            (_, None) => process.fall(),
        }
    }

    /// A write arrives.
    fn land(&self, state: &mut State, at: usize, term: u8) {
        let writer = u8::try_from(at).expect("one of two");
        if self.fence && state.fence != term {
            state.processes[at].fall();
            return;
        }
        match state.written {
            Some((newest, _)) if newest > term => state.late = true,
            Some((newest, by)) if newest == term && by != writer => state.two_in_a_term = true,
            _ => {}
        }
        if state.written.is_none_or(|(newest, _)| newest <= term) {
            state.written = Some((term, writer));
        }
    }
}

impl Process {
    fn sit(&mut self, term: u8, revision: u8) {
        self.stage = Stage::Seated;
        (self.term, self.revision) = (term, revision);
        (self.heard, self.silence, self.ran_ahead) = (0, 0, false);
    }

    /// It stands by again, and listens anew. What it was about to write, and what is on its way, it cannot take back: it may be asleep.
    fn fall(&mut self) {
        self.stage = Stage::Out;
        (self.term, self.revision, self.left) = (0, 0, 0);
        (self.heard, self.silence, self.ran_ahead) = (0, 0, false);
    }
}

#[cfg(test)]
mod tests;
