//! One run of one service: its folders, its preparations, its process, its health, and how it ended.
//!
//! The task tells the module's task what happens; it decides nothing.

use std::{
    collections::hash_map::RandomState,
    hash::{BuildHasher, Hasher},
    io,
    os::unix::fs::MetadataExt,
    path::PathBuf,
    sync::Arc,
};

use mesh_model::causes::in_a_line as words;
use tokio::sync::mpsc;

use super::{
    DesiredModule, HostConfig, Layout, ServiceSpec, health, left_over, logs,
    machine::{Ending, Event, Folders, Run},
    ports,
    redact::redact,
    spawner::Spawner,
};
use crate::{files, users};

mod environment;
mod process;

pub(super) use process::{Exit, Process, Said};

/// What all services of a host share.
#[derive(Debug)]
pub(super) struct World {
    pub(super) layout: Layout,
    node: String,
    spawner: Spawner,
    programs: PathBuf,
    timezone: Option<String>,
    /// The state folder, as no other folder of this machine is called.
    folder_id: String,
}

impl World {
    pub(super) fn new(config: &HostConfig, layout: Layout) -> io::Result<Self> {
        let metadata = layout.state().metadata()?;
        Ok(Self {
            node: config.node.clone(),
            spawner: Spawner::new(config.program.clone())?,
            programs: config.program.path.parent().map(PathBuf::from).unwrap_or_default(),
            timezone: config.timezone.clone(),
            folder_id: format!("{:x}-{:x}", metadata.dev(), metadata.ino()),
            layout,
        })
    }

    /// What every service's mark of this host ends with.
    pub(super) fn mark_of_all(&self) -> String {
        format!("@{}", self.folder_id)
    }

    fn mark(&self, module: &str, service: &str) -> String {
        format!("{}.{module}.{service}@{}", self.node, self.folder_id)
    }

    /// From 0 to 1; good enough for not doing things at the same time.
    pub(super) fn chance(&self) -> f64 {
        f64::from(u32::try_from(RandomState::new().build_hasher().finish() >> 32).unwrap_or(0))
            / f64::from(u32::MAX)
    }
}

/// What a run is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Control {
    Stop,
    Reload,
}

/// One run, and whom to tell of it.
pub(super) struct Job {
    pub(super) world: Arc<World>,
    pub(super) module: Arc<DesiredModule>,
    pub(super) run: Run,
    pub(super) folders: Folders,
    pub(super) events: mpsc::UnboundedSender<Event>,
}

/// How a run ended, for the machine.
struct End {
    ending: Ending,
    why: String,
}

impl End {
    fn not_started(why: impl Into<String>) -> Self {
        Self { ending: Ending::NotStarted, why: why.into() }
    }
}

/// From the preparations to the end. Returns the run itself, so that it can be forgotten.
pub(super) async fn run(job: Job, mut controls: mpsc::UnboundedReceiver<Control>) -> Run {
    let run = job.run.clone();
    let spec = job.module.services.iter().find(|service| service.name == run.service);
    let end = match spec {
        Some(spec) => Attempt { job: &job, spec }.make(&mut controls).await,
        None => End::not_started("it is not among the module's services"),
    };
    tracing::info!(module = job.module.module, service = run.service, why = end.why, "service ended");
    // Nobody listens where the host is gone.
    let _ = job.events.send(Event::Ended { run: run.clone(), ending: end.ending, why: end.why });
    run
}

/// One run's job, with the service that it is about.
pub(super) struct Attempt<'a> {
    pub(super) job: &'a Job,
    pub(super) spec: &'a ServiceSpec,
}

impl Attempt<'_> {
    async fn make(&self, controls: &mut mpsc::UnboundedReceiver<Control>) -> End {
        let user = match self.user() {
            Ok(user) => user,
            Err(error) => return End::not_started(words(&error)),
        };
        if let Err(why) = self.folders(user.clone()).await {
            return End::not_started(why);
        }
        for step in &self.spec.prepare {
            if step.creates.as_ref().is_some_and(|path| path.exists()) {
                continue;
            }
            if let Err(end) = self.prepare(&step.exec, user.as_ref(), controls).await {
                return end;
            }
        }
        self.serve(user.as_ref(), controls).await
    }

    /// Only root may become somebody else.
    fn user(&self) -> Result<Option<users::User>, users::Error> {
        match &self.spec.user {
            Some(name) if rustix::process::geteuid().is_root() => users::find(name).map(Some),
            _ => Ok(None),
        }
    }

    async fn folders(&self, user: Option<users::User>) -> Result<(), String> {
        let (world, module, folders) =
            (Arc::clone(&self.job.world), Arc::clone(&self.job.module), self.job.folders);
        let made = tokio::task::spawn_blocking(move || {
            world.layout.make(&module.module).map_err(|error| words(&error))?;
            for dir in &module.dirs {
                files::make(dir).map_err(|error| words(&error))?;
                if folders == Folders::Empty && dir.lasting == files::Lasting::Temporary {
                    files::empty(dir).map_err(|error| words(&error))?;
                }
            }
            match user {
                Some(user) => files::reachable_by(&world.layout.module(&module.module), &user)
                    .map_err(|error| error.to_string()),
                None => Ok(()),
            }
        });
        made.await.unwrap_or_else(|error| Err(error.to_string()))
    }

    async fn prepare(
        &self,
        exec: &[String],
        user: Option<&users::User>,
        controls: &mut mpsc::UnboundedReceiver<Control>,
    ) -> Result<(), End> {
        let doing = format!("preparing with `{}`", exec.first().map_or("", String::as_str));
        let said_before = self.log_length();
        let mut process = Process::start(self, exec, user)
            .await
            .map_err(|error| End::not_started(format!("{doing}: {}", words(&error))))?;
        let exit = loop {
            tokio::select! {
                exit = process.wait() => break exit,
                control = controls.recv() => if control != Some(Control::Reload) { process.stop() },
            }
        };
        match exit {
            Exit::Code(0) => Ok(()),
            exit => Err(End::not_started(format!("{doing} {exit}{}", self.last_words(said_before).await))),
        }
    }

    async fn serve(
        &self,
        user: Option<&users::User>,
        controls: &mut mpsc::UnboundedReceiver<Control>,
    ) -> End {
        // Told to stop between two steps: not to start is the quickest way.
        if matches!(controls.try_recv(), Ok(Control::Stop) | Err(mpsc::error::TryRecvError::Disconnected)) {
            return End::not_started("stopped before it started");
        }
        let said_before = self.log_length();
        let mut process = match Process::start(self, &self.spec.exec, user).await {
            Ok(process) => process,
            Err(error) => return End::not_started(words(&error)),
        };
        let _ = self.job.events.send(Event::Started { run: self.job.run.clone() });
        let watching = health::watch(self, user);
        tokio::pin!(watching);
        let exit = loop {
            tokio::select! {
                exit = process.wait() => break exit,
                () = &mut watching => {}
                control = controls.recv() => match control {
                    Some(Control::Reload) => process.reload(),
                    Some(Control::Stop) | None => process.stop(),
                },
            }
        };
        self.ended(exit, said_before).await
    }

    async fn ended(&self, exit: Exit, said_before: u64) -> End {
        if exit == Exit::KeeperKilled {
            let record = self.job.world.layout.record(&self.job.module.module, &self.spec.name);
            left_over::end_one(&record, &self.mark()).await;
        }
        if exit == Exit::Code(0) {
            return End { ending: Ending::Clean, why: exit.to_string() };
        }
        let mut why = format!("{exit}{}", self.last_words(said_before).await);
        let wanted = self.spec.ports.clone();
        if let Ok(Some(holder)) = tokio::task::spawn_blocking(move || ports::outsider(&wanted)).await {
            why = format!("{holder}; {why}");
        }
        End { ending: Ending::Failed, why }
    }

    fn mark(&self) -> String {
        self.job.world.mark(&self.job.module.module, &self.spec.name)
    }

    fn log(&self) -> PathBuf {
        self.job.world.layout.log(&self.job.module.module, &self.spec.name)
    }

    fn log_length(&self) -> u64 {
        self.log().metadata().map_or(0, |metadata| metadata.len())
    }

    /// The last lines that it said in this run, as `: one | two`, without anything of its environment.
    async fn last_words(&self, since: u64) -> String {
        let log = self.log();
        let said = tokio::task::spawn_blocking(move || logs::since(&log, since)).await;
        let Ok(Ok(said)) = said else { return String::new() };
        let said = redact(&said, &self.spec.env);
        let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let last: Vec<String> = lines[lines.len().saturating_sub(3)..]
            .iter()
            .map(|line| line.chars().take(200).collect())
            .collect();
        if last.is_empty() { String::new() } else { format!(": {}", last.join(" | ")) }
    }
}
