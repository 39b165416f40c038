//! What runs on this machine, as `/proc` tells it: who descends from whom, and who carries a mark.
//!
//! A process is known by its number *and* its start: numbers are used again. Nothing here ends anything but
//! [`signal`].

use std::{collections::BTreeMap, fs, io};

use rustix::process::{Pid, Signal};

/// One process at the moment of looking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    pub(crate) parent: i32,
    pub(crate) session: i32,
    /// In clock ticks since the machine started.
    pub(crate) started: u64,
    pub(crate) life: Life,
}

/// Whether a process can still do anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Life {
    Alive,
    /// Ended, and not yet waited for by its parent.
    Zombie,
}

/// Everything that runs.
pub(crate) fn all() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).filter_map(look).collect()
}

/// One process, where it is there.
pub(crate) fn look(pid: i32) -> Option<Process> {
    // A program's name may be in any encoding.
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    parse(pid, &String::from_utf8_lossy(&stat))
}

/// proc(5): `pid (name) state ppid pgrp session … starttime(22) …`; a name may hold spaces and parentheses.
fn parse(pid: i32, stat: &str) -> Option<Process> {
    let (_, after) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = after.split_ascii_whitespace().collect();
    let life = if matches!(*fields.first()?, "Z" | "X") { Life::Zombie } else { Life::Alive };
    Some(Process {
        pid,
        parent: fields.get(1)?.parse().ok()?,
        session: fields.get(3)?.parse().ok()?,
        started: fields.get(19)?.parse().ok()?,
        life,
    })
}

/// Everything of `all` that descends from `ancestor`, which itself is not in it.
pub(crate) fn descendants(all: &[Process], ancestor: i32) -> Vec<Process> {
    let mut children: BTreeMap<i32, Vec<Process>> = BTreeMap::new();
    for process in all {
        children.entry(process.parent).or_default().push(*process);
    }
    let mut found: Vec<Process> = children.remove(&ancestor).unwrap_or_default();
    let mut next = 0;
    while let Some(process) = found.get(next) {
        next += 1;
        let below = children.remove(&process.pid).unwrap_or_default();
        found.extend(below);
    }
    found
}

/// An entry of the environment that a process was started with. Not for all: a program may have written over its
/// own, as PostgreSQL and nginx do to show a title.
pub(crate) fn entry(pid: i32, name: &str) -> Option<String> {
    let environment = zeroize::Zeroizing::new(fs::read(format!("/proc/{pid}/environ")).ok()?);
    let value = |entry: &[u8]| entry.strip_prefix(name.as_bytes())?.strip_prefix(b"=").map(<[u8]>::to_vec);
    environment.split(|byte| *byte == 0).find_map(value).and_then(|value| String::from_utf8(value).ok())
}

/// What tells this run of the machine from the one before: process numbers mean nothing across it.
pub(crate) fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .map_or_else(|_| String::new(), |id| id.trim().to_owned())
}

/// Sends a signal. A process that is gone already is as good as told.
pub(crate) fn signal(pid: i32, signal: Signal) -> io::Result<()> {
    // 0 and 1 and below are never ours: they mean a group, everything, or the first process.
    let Some(target) = Pid::from_raw(pid).filter(|_| pid > 1) else { return Ok(()) };
    match rustix::process::kill_process(target, signal) {
        Err(rustix::io::Errno::SRCH) => Ok(()),
        other => other.map_err(io::Error::from),
    }
}

#[cfg(test)]
mod tests;
