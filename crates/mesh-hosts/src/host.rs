//! One host: a network namespace with an address, a folder, and whatever runs in it.

use std::fmt;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::ip::{Error, ip};
use crate::left_over;
use crate::network::Switch;
use crate::process::{self, Process};

/// A host. Its power is cut when it is dropped, and nothing of it is left but its folder, which is the network's.
#[derive(Debug)]
pub struct Host {
    name: String,
    address: String,
    space: String,
    switch: Arc<Switch>,
    port: String,
    folder: PathBuf,
    /// What was started from here: looked after, so that it does not stay as a zombie.
    children: Mutex<Vec<Child>>,
}

/// What a program that ran to its end came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// How it ended: -1 where a signal did it.
    pub exit: i32,
    /// What it printed.
    pub out: String,
    /// What it said beside that.
    pub err: String,
}

impl fmt::Display for Ran {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.out)?;
        for line in self.err.lines() {
            writeln!(f, "2> {line}")?;
        }
        writeln!(f, "exit {}", self.exit)
    }
}

impl Host {
    pub(crate) fn plug_in(
        name: &str,
        number: usize,
        space: String,
        switch: Arc<Switch>,
        folder: PathBuf,
    ) -> Result<Self, Error> {
        fs::create_dir_all(&folder).map_err(|source| Error::Folder { path: folder.clone(), source })?;
        let (address, port) = (format!("10.77.0.{number}"), format!("host{number}"));
        ip(&format!("netns add {space}"))?;
        let children = Mutex::new(Vec::new());
        let host = Self { name: name.to_owned(), address, space, switch, port, folder, children };
        let Self { space, port, address, .. } = &host;
        let switch = &host.switch.space;
        ip(&format!("-n {space} link set lo up"))?;
        ip(&format!("link add uplink netns {space} type veth peer name {port} netns {switch}"))?;
        ip(&format!("-n {space} address add {address}/16 dev uplink"))?;
        ip(&format!("-n {space} link set uplink up"))?;
        ip(&format!("-n {switch} link set {port} master bridge up"))?;
        Ok(host)
    }

    /// What it is called.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where the others reach it.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// What is its own.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The name of its namespace.
    #[must_use]
    pub fn space(&self) -> &str {
        &self.space
    }

    /// Pulls its cable.
    ///
    /// # Panics
    /// Where that cannot be done.
    pub fn cut(&self) {
        let done = ip(&format!("-n {} link set {} down", self.switch.space, self.port));
        done.expect("a link that is there can be set down");
    }

    /// Plugs it in again.
    ///
    /// # Panics
    /// Where that cannot be done.
    pub fn restore(&self) {
        let done = ip(&format!("-n {} link set {} up", self.switch.space, self.port));
        done.expect("a link that is there can be set up");
    }

    /// Starts a program that stays. What it says goes to `<name>.log` in the host's folder.
    ///
    /// # Panics
    /// Where it cannot be started.
    pub fn start(&self, name: &str, command: Command) -> Process {
        let log = self.log_file(name);
        let opened = File::options().append(true).create(true).open(&log);
        let log = opened.unwrap_or_else(|error| panic!("cannot write {}: {error}", log.display()));
        self.start_with(log, command)
    }

    fn start_with(&self, log: File, mut command: Command) -> Process {
        let again = log.try_clone().expect("an open file can be opened twice");
        command.stdin(Stdio::null()).stdout(log).stderr(again);
        let child = self.within(|| command.spawn());
        let child = child.unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
        let pid = i32::try_from(child.id()).expect("a process's number is positive");
        // One that has ended already is told as it was.
        let process = Process::of(pid);
        self.children.lock().unwrap_or_else(PoisonError::into_inner).push(child);
        process.unwrap_or(Process { pid, began: 0, words: format!("{command:?}") })
    }

    /// The file that a program's words go to.
    #[must_use]
    pub fn log_file(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.log"))
    }

    /// What a program has said.
    #[must_use]
    pub fn log(&self, name: &str) -> String {
        String::from_utf8_lossy(&fs::read(self.log_file(name)).unwrap_or_default()).into_owned()
    }

    /// Runs a program to its end, with something to read.
    ///
    /// # Panics
    /// Where it cannot be started.
    pub fn run(&self, mut command: Command, input: &str) -> Ran {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = self.within(|| command.spawn());
        let mut child = child.unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
        let mut writer = child.stdin.take().expect("it is piped");
        // A program that needs no input may have ended before it is written.
        let _ = writer.write_all(input.as_bytes());
        drop(writer);
        let output = child.wait_with_output().expect("it was started");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ran { exit: output.status.code().unwrap_or(-1), out: text(&output.stdout), err: text(&output.stderr) }
    }

    /// Does something on this host: in a thread of its own that has moved there, as have the threads that it starts.
    ///
    /// # Panics
    /// Where what is done panics.
    pub fn within<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        let done = thread::scope(|scope| {
            let moved = scope.spawn(|| {
                self.enter().expect("the namespace is there as long as its host");
                work()
            });
            moved.join()
        });
        done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    fn enter(&self) -> Result<(), Error> {
        let path = left_over::file(&self.space);
        let fail = |source| Error::Enter { path: path.clone(), source };
        let space = File::open(&path).map_err(fail)?;
        use std::os::fd::AsFd;
        move_into_link_name_space(space.as_fd(), Some(LinkNameSpaceType::Network))
            .map_err(|error| fail(error.into()))
    }

    /// What runs here.
    #[must_use]
    pub fn processes(&self) -> Vec<Process> {
        self.look_after_children();
        process::within(&left_over::file(&self.space))
    }

    /// Stops everything here where it is.
    pub fn pause(&self) {
        self.processes().iter().for_each(Process::pause);
    }

    /// Lets everything here go on.
    pub fn go_on(&self) {
        self.processes().iter().for_each(Process::go_on);
    }

    /// Ends everything here at once, with no chance to do anything about it.
    pub fn power_cut(&self) {
        process::end_all(&left_over::file(&self.space));
        self.look_after_children();
    }

    fn look_after_children(&self) {
        let mut children = self.children.lock().unwrap_or_else(PoisonError::into_inner);
        children.retain_mut(|child| child.try_wait().is_ok_and(|ended| ended.is_none()));
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.power_cut();
        // Where it cannot be removed, the next run tries again.
        let _ = ip(&format!("netns delete {}", self.space));
    }
}
