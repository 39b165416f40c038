//! `mesh logs`: what services said, from the state folders of the nodes of this machine.
//!
//! It needs no bus: a log is read where it is written.

use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use mesh_model::name::{ModuleName, NameError, NodeName, ServiceName};
use mesh_node::host::logs::{Follow, tail};
use thiserror::Error;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::exit::{Exit, Failure};
use crate::screen::{Screen, Tone};

mod find;

use find::Log;

/// Whose logs, and how much of them.
#[derive(Debug, Args)]
pub(crate) struct LogsArgs {
    /// A module, or one service of it; left out, all of them
    #[arg(value_name = "MODULE[.SERVICE]")]
    of: Option<Of>,
    /// On this node alone
    #[arg(long)]
    node: Option<NodeName>,
    /// Go on with what is said from now on, until Ctrl-C
    #[arg(long, short)]
    follow: bool,
    /// How many of the last lines of each log
    #[arg(long, short = 'n', value_name = "LINES", default_value_t = 50)]
    lines: usize,
    /// The state folder of what runs here
    #[arg(long, value_name = "FOLDER", default_value = ".mesh", help_heading = "The bus")]
    state: PathBuf,
}

/// Whose logs.
#[derive(Debug, Clone)]
struct Of {
    module: ModuleName,
    service: Option<ServiceName>,
}

impl std::str::FromStr for Of {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let (module, service) = match text.split_once('.') {
            Some((module, service)) => (module, Some(service.parse()?)),
            None => (text, None),
        };
        Ok(Self { module: module.parse()?, service })
    }
}

/// Why there is nothing to read.
#[derive(Debug, Error)]
enum LogsError {
    #[error("no node has run here: there is no {}", folder.display())]
    NoNodes { folder: PathBuf },
    #[error("cannot look through {}", folder.display())]
    Look { folder: PathBuf, source: io::Error },
    #[error("there is no log of {what}")]
    None { what: String },
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
}

/// Prints the last lines, and those that follow.
pub(crate) async fn run(args: LogsArgs, screen: &Screen) -> Result<Exit, Failure> {
    let logs = wanted(&args)?;
    let wide = logs.iter().map(|log| log.name().len()).max().unwrap_or(0);
    let head = |log: &Log| match logs.len() {
        1 => String::new(),
        _ => format!("{} ", screen.on_out(Tone::Quiet, &format!("{:wide$} |", log.name()))),
    };
    // From the end of what is there before it is read: a line may be printed twice, and none is lost.
    let followed = logs.iter().map(|log| follow(&log.path).map(|follow| (head(log), follow)));
    let followed = followed.collect::<Result<Vec<_>, _>>().map_err(Failure::new)?;
    for log in &logs {
        let lines = tail(&log.path, args.lines);
        let lines =
            lines.map_err(|source| Failure::new(LogsError::Read { path: log.path.clone(), source }))?;
        let head = head(log);
        lines.iter().try_for_each(|line| screen.print(format!("{head}{line}\n")))?;
    }
    if args.follow {
        go_on(followed, screen).await?;
    }
    Ok(Exit::Done)
}

fn wanted(args: &LogsArgs) -> Result<Vec<Log>, Failure> {
    let nodes = args.state.join("nodes");
    if !nodes.is_dir() {
        return Err(Failure::new(LogsError::NoNodes { folder: nodes }).hint(
            "`--state FOLDER` names the state folder of what runs here; logs are read on the node itself",
        ));
    }
    let all = find::all(&nodes).map_err(|source| Failure::new(LogsError::Look { folder: nodes, source }))?;
    let is_wanted = |log: &&Log| {
        let of = args.of.as_ref();
        args.node.as_ref().is_none_or(|node| log.node == node.as_str())
            && of.is_none_or(|of| log.module == of.module.as_str())
            && of.and_then(|of| of.service.as_ref()).is_none_or(|service| log.service == service.as_str())
    };
    let logs: Vec<Log> = all.iter().filter(is_wanted).cloned().collect();
    match logs.is_empty() {
        false => Ok(logs),
        true => Err(nothing(args, &all)),
    }
}

fn nothing(args: &LogsArgs, all: &[Log]) -> Failure {
    let mut what = match &args.of {
        Some(Of { module, service: Some(service) }) => format!("{module}.{service}"),
        Some(Of { module, service: None }) => module.to_string(),
        None => "anything".to_owned(),
    };
    if let Some(node) = &args.node {
        what.push_str(&format!(" on {node}"));
    }
    let known: Vec<String> = all.iter().map(Log::name).collect();
    let hint = match known.is_empty() {
        true => "nothing has said anything yet".to_owned(),
        false => format!("there is: {}", known.join(", ")),
    };
    Failure::new(LogsError::None { what }).hint(hint)
}

fn follow(path: &Path) -> Result<Follow, LogsError> {
    Follow::from_end(path).map_err(|source| LogsError::Read { path: path.to_owned(), source })
}

/// Whole lines of all logs as they come, until Ctrl-C.
async fn go_on(followed: Vec<(String, Follow)>, screen: &Screen) -> Result<(), Failure> {
    let (said, mut lines) = mpsc::channel::<String>(64);
    let mut readers = JoinSet::new();
    for (head, follow) in followed {
        readers.spawn(whole_lines(head, follow, said.clone()));
    }
    drop(said);
    loop {
        tokio::select! {
            Some(line) = lines.recv() => screen.print(line)?,
            Some(ended) = readers.join_next() => ended.map_err(Failure::new)?.map_err(Failure::new)?,
            _ = tokio::signal::ctrl_c() => return Ok(()),
        }
    }
}

async fn whole_lines(head: String, mut follow: Follow, said: mpsc::Sender<String>) -> io::Result<()> {
    let mut begun: Vec<u8> = Vec::new();
    loop {
        begun.extend(follow.next().await?);
        while let Some(end) = begun.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = begun.drain(..=end).collect();
            if said.send(format!("{head}{}", String::from_utf8_lossy(&line))).await.is_err() {
                return Ok(());
            }
        }
    }
}
