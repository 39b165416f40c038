//! Processes as `/proc` tells of them: which there are, in which namespace, and signals to them.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// How long a process that was killed may take to be gone.
const PATIENCE: Duration = Duration::from_secs(20);

/// One process: its number, and when it began, since numbers are used again.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Process {
    /// Its number.
    pub pid: i32,
    /// When it began, in ticks since the machine did.
    pub began: u64,
    /// The words that it was started with.
    pub words: String,
}

impl Process {
    /// A process that has not ended.
    #[must_use]
    pub fn of(pid: i32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let words = String::from_utf8_lossy(&words).replace('\0', " ").trim().to_owned();
        // A zombie has ended: nobody has looked yet.
        (fields.first() != Some(&"Z")).then_some(())?;
        Some(Self { pid, began: fields.get(19)?.parse().ok()?, words })
    }

    /// This one.
    pub(crate) fn own() -> Self {
        let pid = i32::try_from(std::process::id()).expect("a process's number is positive");
        Self::of(pid).expect("whoever asks has not ended")
    }

    /// Whether it runs still.
    #[must_use]
    pub fn runs(&self) -> bool {
        Self::of(self.pid).is_some_and(|now| now.began == self.began)
    }

    /// The process that started it, or took it over.
    #[must_use]
    pub fn parent(&self) -> Option<i32> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid)).ok()?;
        stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
    }

    /// Ends it as a power cut would.
    pub fn kill(&self) {
        self.signal(Signal::KILL);
    }

    /// Stops it where it is.
    pub fn pause(&self) {
        self.signal(Signal::STOP);
    }

    /// Lets it go on.
    pub fn go_on(&self) {
        self.signal(Signal::CONT);
    }

    /// Asks it to end.
    pub fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    fn signal(&self, signal: Signal) {
        if let Some(pid) = Pid::from_raw(self.pid).filter(|_| self.runs()) {
            // It may have ended since we looked.
            let _ = kill_process(pid, signal);
        }
    }
}

/// Everything that runs in a network namespace, by the file that names it.
pub(crate) fn within(namespace: &Path) -> Vec<Process> {
    use std::os::unix::fs::MetadataExt;
    let Ok(namespace) = fs::metadata(namespace).map(|found| (found.dev(), found.ino())) else {
        return Vec::new();
    };
    let is_in = |pid: &i32| {
        let of = fs::metadata(PathBuf::from(format!("/proc/{pid}/ns/net")));
        of.is_ok_and(|of| (of.dev(), of.ino()) == namespace)
    };
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    numbers.filter(is_in).filter_map(Process::of).collect()
}

/// Ends everything in a namespace at once. Stopped first, so that nothing answers another's end.
pub(crate) fn end_all(namespace: &Path) {
    within(namespace).iter().for_each(Process::pause);
    let begun = Instant::now();
    loop {
        let left = within(namespace);
        if left.is_empty() {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "these do not end: {left:?}");
        left.iter().for_each(Process::kill);
        std::thread::sleep(Duration::from_millis(2));
    }
}
