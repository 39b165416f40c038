//! The loop of every provisioner: look at the file, have the server accept exactly it, answer.
//!
//! Start at [`watch`] or [`once`]; what a provisioner brings is one [`Server`]. Each pass reads the file anew and lets
//! go of it, so no secret is held between passes. A file that cannot be read changes nothing that was applied
//! before. A server that is not there is waited for, and one that comes back is looked at again at once: it may
//! have come back from a backup.

pub use mesh_model::causes::in_a_line as chain;
use std::collections::BTreeSet;
use std::future::Future;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use thiserror::Error;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::answers::{Answers, AnswersError};
use crate::backoff::Backoff;
use crate::consumers::ConsumersError;
use crate::watch::{Look, Watch};
use crate::{Answer, ConsumerId, Consumers, Outcome};

/// What a provisioner brings: one server, to be made to accept exactly what the file says.
pub trait Server {
    /// The server as a whole could not be worked with; nothing that was answered before is touched for it.
    type Error: std::error::Error + Send + Sync + 'static;

    /// Makes the server accept exactly `wanted`: takes back what is no longer in it, serves each consumer that is,
    /// and replies for each as soon as it is proved or known to fail. One that fails holds up no other.
    /// Being dropped at any point must leave what the next pass can go on from.
    fn accept(
        &mut self,
        wanted: &Consumers,
        replies: &Replies,
    ) -> impl Future<Output = Result<(), Self::Error>>;

    /// Whether the server has gone away since the last pass, where that can be told without asking it.
    fn lost(&self) -> bool {
        false
    }
}

/// Where a server's answers go while it works.
#[derive(Debug, Clone)]
pub struct Replies(mpsc::UnboundedSender<Answer>);

impl Replies {
    /// Gives one answer.
    pub fn give(&self, answer: Answer) {
        // The other end is gone only when the pass is being dropped, and then nobody asks any more.
        let _ = self.0.send(answer);
    }
}

/// The two files, and how often to look.
#[derive(Debug, Clone)]
pub struct Job {
    /// The consumers file.
    pub consumers: PathBuf,
    /// The answers file.
    pub answers: PathBuf,
    /// How often to look at the file's size and time.
    pub look: Duration,
    /// How often to look at the server although the file is the same.
    pub recheck: Duration,
    /// How long [`once`] waits for a server that is not up yet.
    pub patience: Duration,
}

impl Job {
    /// The two files, at the contract's pace.
    #[must_use]
    pub fn new(consumers: PathBuf, answers: PathBuf) -> Self {
        Self {
            consumers,
            answers,
            look: Duration::from_millis(100),
            recheck: Duration::from_secs(60),
            patience: Duration::from_secs(30),
        }
    }
}

/// How a pass went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict {
    /// Consumers that the server accepts.
    pub accepted: usize,
    /// Consumers that it does not, or not with their newest credential.
    pub failed: usize,
}

/// Why a pass did not come about.
#[derive(Debug, Error)]
pub enum PassError<E: std::error::Error + 'static> {
    /// The consumers file was not read.
    #[error("nothing is changed")]
    Consumers(#[source] ConsumersError),
    /// The answers file was not written.
    #[error("the answers are not told")]
    Answers(#[source] AnswersError),
    /// The server could not be worked with.
    #[error("the server is not ready")]
    Server(#[source] E),
}

/// How often, at most, answers are written while a pass is still at work.
const WRITE_EVERY: Duration = Duration::from_secs(1);

/// One pass, waiting up to the job's patience for a server that is not up yet.
///
/// # Errors
/// Where a file could not be read or written, or the server did not come up in time.
pub async fn once<S: Server>(server: &mut S, job: &Job) -> Result<Verdict, PassError<S::Error>> {
    let started = Instant::now();
    let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(2));
    let mut answers = Answers::open(&job.answers);
    loop {
        match pass(server, job, &mut answers).await {
            Err(PassError::Server(error)) if started.elapsed() < job.patience => {
                tracing::warn!("waiting for the server: {}", chain(&error));
                tokio::time::sleep(backoff.wait()).await;
            }
            done => return done,
        }
    }
}

/// Passes for ever: now, whenever the file changes, when the server comes back, and at a slow re-check.
pub async fn watch<S: Server>(server: &mut S, job: &Job, shutdown: impl Future<Output = ()>) {
    tokio::select! {
        () = shutdown => {}
        () = keep_watching(server, job) => {}
    }
}

async fn keep_watching<S: Server>(server: &mut S, job: &Job) {
    let mut watch = Watch::new(&job.consumers);
    let mut answers = Answers::open(&job.answers);
    let mut pace = Pace::new(job.recheck);
    loop {
        let changed = watch.look(Instant::now()) == Look::Changed;
        if changed {
            pace.file_changed();
        }
        if changed || pace.due() || (server.lost() && !pace.waiting) {
            let went = pass(server, job, &mut answers).await;
            pace.went(&went);
        }
        tokio::time::sleep(job.look).await;
    }
}

/// When the next pass is due although the file is the same, and what was last complained of.
struct Pace {
    recheck: Duration,
    next: Instant,
    /// The last try came to nothing: that the server is gone is no news.
    waiting: bool,
    server: Backoff,
    failed: Backoff,
    complaint: String,
}

impl Pace {
    fn new(recheck: Duration) -> Self {
        Self {
            recheck,
            next: Instant::now(),
            waiting: false,
            server: Backoff::new(Duration::from_millis(100), Duration::from_secs(5)),
            failed: Backoff::new(Duration::from_secs(1), recheck),
            complaint: String::new(),
        }
    }

    fn due(&self) -> bool {
        Instant::now() >= self.next
    }

    fn file_changed(&mut self) {
        self.failed.reset();
        self.complaint.clear();
    }

    fn went<E: std::error::Error + 'static>(&mut self, went: &Result<Verdict, PassError<E>>) {
        self.waiting = went.is_err();
        let wait = match went {
            Ok(Verdict { failed: 0, .. }) => {
                self.failed.reset();
                self.recheck
            }
            Ok(_) => self.failed.wait(),
            Err(PassError::Server(_)) => self.server.wait(),
            Err(_) => self.failed.wait(),
        };
        self.next = Instant::now() + wait;
        match went {
            Ok(_) => {
                self.server.reset();
                self.complaint.clear();
            }
            Err(error) => self.complain(chain(error)),
        }
    }

    /// Says what is wrong once, not at each try.
    fn complain(&mut self, complaint: String) {
        if self.complaint != complaint {
            tracing::warn!("{complaint}");
            self.complaint = complaint;
        }
    }
}

async fn pass<S: Server>(
    server: &mut S,
    job: &Job,
    answers: &mut Answers,
) -> Result<Verdict, PassError<S::Error>> {
    let wanted = Consumers::read(&job.consumers).map_err(PassError::Consumers)?;
    let ids: BTreeSet<&ConsumerId> = wanted.consumers.iter().map(|consumer| &consumer.id).collect();
    for gone in answers.keep(|consumer| ids.contains(consumer)) {
        tracing::info!("{gone}: withdrawn");
    }
    answers.write().map_err(PassError::Answers)?;
    let mut tally = Tally::new(&wanted);
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let accepting = async {
        let replies = Replies(sender);
        server.accept(&wanted, &replies).await
    };
    tokio::pin!(accepting);
    let mut writing = Writing::new();
    let done = loop {
        tokio::select! {
            biased;
            Some(answer) = receiver.recv() => {
                tally.take(answers, answer);
                writing.write(answers).await.map_err(PassError::Answers)?;
            }
            done = &mut accepting => break done,
        }
    };
    writing.finish().await.map_err(PassError::Answers)?;
    while let Ok(answer) = receiver.try_recv() {
        tally.take(answers, answer);
    }
    if done.is_ok() {
        tally.miss_none(answers);
    }
    answers.write().map_err(PassError::Answers)?;
    done.map(|()| tally.verdict()).map_err(PassError::Server)
}

/// Writes answers while a pass is at work, on another thread: the server is not to wait for our disk.
struct Writing {
    begun: Instant,
    task: Option<JoinHandle<Result<(), AnswersError>>>,
}

impl Writing {
    fn new() -> Self {
        Self { begun: Instant::now(), task: None }
    }

    /// Begins to write what there is, unless the last time is not long ago or not done yet.
    async fn write(&mut self, answers: &Answers) -> Result<(), AnswersError> {
        let busy = self.task.as_ref().is_some_and(|task| !task.is_finished());
        if busy || self.begun.elapsed() < WRITE_EVERY {
            return Ok(());
        }
        self.finish().await?;
        let state = answers.state();
        self.begun = Instant::now();
        self.task = Some(tokio::task::spawn_blocking(move || state.write()));
        Ok(())
    }

    /// Waits for what is being written, so that nothing older comes after what is written next.
    async fn finish(&mut self) -> Result<(), AnswersError> {
        match self.task.take() {
            Some(task) => task.await.expect("writing a file does not panic"),
            None => Ok(()),
        }
    }
}

/// Who is still to be answered for in one pass, and how it went for the others.
struct Tally {
    open: std::collections::BTreeMap<ConsumerId, String>,
    accepted: usize,
    failed: usize,
}

impl Tally {
    fn new(wanted: &Consumers) -> Self {
        let open = wanted.consumers.iter().map(|c| (c.id.clone(), c.revision.clone())).collect();
        Self { open, accepted: 0, failed: 0 }
    }

    /// Takes up one answer, and says it where it is news.
    fn take(&mut self, answers: &mut Answers, answer: Answer) {
        if self.open.remove(&answer.consumer).is_none() {
            tracing::warn!("{}: answered for, but not asked", answer.consumer);
            return;
        }
        match &answer.outcome {
            Outcome::Accepted { why: None, .. } => self.accepted += 1,
            _ => self.failed += 1,
        }
        if answers.get(&answer.consumer) != Some(&answer) {
            say(&answer);
            answers.put(answer);
        }
    }

    /// A consumer that the server passed over is told, not left to wait.
    fn miss_none(&mut self, answers: &mut Answers) {
        for (consumer, revision) in self.open.clone() {
            let error = "the provisioner gave no answer".to_owned();
            self.take(answers, Answer { consumer, revision, outcome: Outcome::Failed { error } });
        }
    }

    fn verdict(&self) -> Verdict {
        Verdict { accepted: self.accepted, failed: self.failed }
    }
}

fn say(answer: &Answer) {
    let consumer = &answer.consumer;
    match &answer.outcome {
        Outcome::Accepted { credential: Some(id), why: None, .. } => {
            tracing::info!("{consumer}: accepted with credential {id}");
        }
        Outcome::Accepted { why: None, .. } => tracing::info!("{consumer}: accepted"),
        Outcome::Accepted { why: Some(why), .. } => tracing::warn!("{consumer}: stays as it was: {why}"),
        Outcome::Failed { error } => tracing::warn!("{consumer}: failed: {error}"),
    }
}

#[cfg(test)]
mod tests;
