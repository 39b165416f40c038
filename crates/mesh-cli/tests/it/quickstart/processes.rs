//! What runs on this machine, as `/proc` tells it.

use std::path::{Path, PathBuf};

use rustix::process::{Pid, Signal, kill_process};

/// One process: its number, and when it started, since numbers are used again.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    pub(crate) started: u64,
    pub(crate) words: String,
}

impl Process {
    /// A process that has not ended.
    pub(crate) fn of(pid: i32) -> Option<Self> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let words = String::from_utf8_lossy(&read(pid, "cmdline")).replace('\0', " ");
        (fields[0] != "Z").then(|| Self { pid, started: fields[19].parse().unwrap(), words })
    }

    pub(crate) fn parent(&self) -> Option<i32> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid)).ok()?;
        stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
    }

    /// Whether it still runs.
    pub(crate) fn runs(&self) -> bool {
        Self::of(self.pid).is_some_and(|now| now.started == self.started)
    }

    /// Ends it as a power cut would.
    pub(crate) fn kill(&self) {
        self.signal(Signal::KILL);
    }

    pub(crate) fn signal(&self, signal: Signal) {
        // It may have ended since we looked.
        let _ = kill_process(Pid::from_raw(self.pid).unwrap(), signal);
    }

    /// An entry of the environment that it was started with.
    pub(crate) fn entry(&self, name: &str) -> Option<String> {
        let environ = read(self.pid, "environ");
        let entry =
            environ.split(|byte| *byte == 0).find_map(|e| e.strip_prefix(format!("{name}=").as_bytes()));
        entry.map(|value| String::from_utf8(value.to_vec()).unwrap())
    }

    /// Whose it is.
    pub(crate) fn uid(&self) -> u32 {
        use std::os::unix::fs::MetadataExt;
        std::fs::metadata(format!("/proc/{}", self.pid)).unwrap().uid()
    }
}

/// Everything that runs.
pub(crate) fn all() -> Vec<Process> {
    let numbers = std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    numbers.filter_map(Process::of).collect()
}

/// Everything that has to do with a folder: by its arguments, its environment, or where it stands.
pub(crate) fn of_folder(folder: &Path) -> Vec<Process> {
    let text = folder.to_str().unwrap();
    let concerns = |process: &Process| {
        let stands: Option<PathBuf> = std::fs::read_link(format!("/proc/{}/cwd", process.pid)).ok();
        process.words.contains(text)
            || contains(&read(process.pid, "environ"), text.as_bytes())
            || stands.is_some_and(|stands| stands.starts_with(folder))
    };
    let own = i32::try_from(std::process::id()).unwrap();
    all().into_iter().filter(|process| process.pid != own && concerns(process)).collect()
}

/// What `/proc` has of a process; nothing where it has ended, or is somebody else's.
pub(crate) fn read(pid: i32, what: &str) -> Vec<u8> {
    std::fs::read(format!("/proc/{pid}/{what}")).unwrap_or_default()
}

/// Whether some bytes hold others.
pub(crate) fn contains(bytes: &[u8], sought: &[u8]) -> bool {
    // The search of a text is quick without our own optimization; what is not text cannot be sought.
    String::from_utf8_lossy(bytes).contains(std::str::from_utf8(sought).unwrap())
}
