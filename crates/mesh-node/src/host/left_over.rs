//! Ends what an earlier run has left: services whose keeper still ends them, and those whose keeper was killed.
//!
//! As a rule there is nothing: a killed node's keepers end their services. A process is taken for ours by any of three
//! signs: it is the keeper that a record names, it is in the session that a record names, or it carries the mark.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::process::Signal;
use tokio::time::{Instant, sleep, timeout_at};

use super::layout::{Layout, RUNNING};
use crate::{
    processes::{self, Life, Process},
    shim::{Known, MARK, Record},
};

const LOOK: Duration = Duration::from_millis(20);
/// Beyond the service's own deadline: for what its keeper does after it.
const KEEPER: Duration = Duration::from_secs(15);
/// What has no keeper any more gets this long before it is killed.
const ASKED: Duration = Duration::from_secs(2);
const KILLED: Duration = Duration::from_secs(10);
/// What is dead gets this long to be waited for.
const BURIED: Duration = Duration::from_secs(5);

/// Ends everything that any record of this host names, or that carries a mark which ends so.
pub(super) async fn end_all(layout: &Layout, mark_end: String) {
    let records: Vec<(PathBuf, Record)> = records(&layout.all_records());
    let mut keepers = tokio::task::JoinSet::new();
    for (path, record) in records.clone() {
        tracing::warn!(record = %path.display(), "ending what an earlier run has left");
        keepers.spawn(async move { end_keeper(&record).await });
    }
    keepers.join_all().await;
    let named: Vec<Record> = records.iter().map(|(_, record)| record.clone()).collect();
    end_found(|| found(&named, |mark| mark.ends_with(&mark_end))).await;
    waited_for(&named).await;
    for (path, _) in records {
        forget(&path);
    }
}

/// Ends what is left of one service after its keeper was killed.
pub(super) async fn end_one(record: &Path, mark: &str) {
    let named: Vec<Record> = read(record).into_iter().collect();
    end_found(|| found(&named, |carried| carried == mark)).await;
    waited_for(&named).await;
    forget(record);
}

/// All records of this run of the machine; those of an earlier one name nobody, and are removed.
fn records(folder: &Path) -> Vec<(PathBuf, Record)> {
    let list = |folder: &Path| {
        std::fs::read_dir(folder)
            .map(|entries| entries.flatten().map(|entry| entry.path()).collect::<Vec<_>>())
    };
    let modules = list(folder).unwrap_or_default();
    let files = modules.iter().flat_map(|module| list(module).unwrap_or_default());
    let mut found = Vec::new();
    for path in files.filter(|path| path.extension().is_some_and(|extension| extension == RUNNING)) {
        match read(&path) {
            Some(record) => found.push((path, record)),
            None => forget(&path),
        }
    }
    found
}

fn read(path: &Path) -> Option<Record> {
    let record: Record = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
    (record.boot == processes::boot()).then_some(record)
}

fn forget(path: &Path) {
    // Its keeper may have been quicker.
    let _ = std::fs::remove_file(path);
}

/// A keeper that was told already, by our death, only goes on.
async fn end_keeper(record: &Record) {
    if !is_alive(record.keeper) {
        return;
    }
    let _ = processes::signal(record.keeper.pid, Signal::TERM);
    let until = Instant::now() + Duration::from_millis(record.stop_deadline) + KEEPER;
    let gone = async {
        while is_alive(record.keeper) {
            sleep(LOOK).await;
        }
    };
    if timeout_at(until, gone).await.is_err() {
        let _ = processes::signal(record.keeper.pid, Signal::KILL);
    }
}

fn is_alive(known: Known) -> bool {
    processes::look(known.pid)
        .is_some_and(|process| process.started == known.started && process.life == Life::Alive)
}

/// Asked first, then killed, until nobody is found or it has taken too long.
async fn end_found(find: impl Fn() -> Vec<Process>) {
    let begun = Instant::now();
    loop {
        let left = find();
        if left.is_empty() || begun.elapsed() > ASKED + KILLED {
            return;
        }
        let what = if begun.elapsed() < ASKED { Signal::TERM } else { Signal::KILL };
        for process in left {
            let _ = processes::signal(process.pid, what);
        }
        sleep(LOOK).await;
    }
}

/// Until somebody has waited for the dead, too: a server that finds its predecessor's number in a file, and a process of
/// that number, takes it to be running (PostgreSQL does), and some first processes are slow at it.
async fn waited_for(records: &[Record]) {
    let is_there = |record: &Record| {
        let Known { pid, started } = record.service;
        processes::look(pid).is_some_and(|process| process.started == started)
    };
    let until = Instant::now() + BURIED;
    while records.iter().any(is_there) && Instant::now() < until {
        sleep(LOOK).await;
    }
}

fn found(records: &[Record], is_ours: impl Fn(&str) -> bool) -> Vec<Process> {
    let in_session = |process: &Process| {
        records
            .iter()
            .any(|record| process.session == record.service.pid && process.started >= record.service.started)
    };
    let mut all = processes::all();
    all.retain(|process| {
        process.life == Life::Alive
            && (in_session(process) || processes::entry(process.pid, MARK).is_some_and(|mark| is_ours(&mark)))
    });
    all
}
