//! Somebody who logs in all the time, with what each running service uses.
//!
//! What a service uses stands in its environment. A refusal counts while the process runs that has it; one that has ended
//! uses nothing any more, and a PostgreSQL that is not there refuses nobody.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;

use serde_json::Value;

use crate::quickstart::database::{Session, config};
use crate::quickstart::home::Home;
use crate::quickstart::processes::Process;

/// One thread that logs in as each consumer in turn.
pub(crate) struct Watcher {
    stop: Arc<AtomicBool>,
    logins: Arc<AtomicUsize>,
    thread: Option<JoinHandle<Vec<String>>>,
}

impl Watcher {
    /// Begins to watch `notes` on these nodes.
    pub(crate) fn new(home: &Home, nodes: &[&str]) -> Self {
        let (stop, logins) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let records: Vec<PathBuf> = nodes
            .iter()
            .map(|node| home.state().join(format!("nodes/{node}/records/notes/server.running")))
            .collect();
        let (told, counted) = (Arc::clone(&stop), Arc::clone(&logins));
        let thread = std::thread::spawn(move || {
            let mut refused = Vec::new();
            while !told.load(Ordering::Relaxed) {
                for record in &records {
                    match log_in(record) {
                        Some(Ok(())) => drop(counted.fetch_add(1, Ordering::Relaxed)),
                        Some(Err(why)) => refused.push(why),
                        None => {}
                    }
                }
            }
            refused
        });
        Self { stop, logins, thread: Some(thread) }
    }

    /// Ends, and sees that nobody was ever refused; says how often somebody logged in.
    pub(crate) fn never_refused(mut self, home: &Home) -> usize {
        self.stop.store(true, Ordering::Relaxed);
        let refused = self.thread.take().unwrap().join().unwrap();
        assert!(refused.is_empty(), "refused: {refused:#?}\n{}", home.log());
        let logins = self.logins.load(Ordering::Relaxed);
        assert!(logins > 10, "it looked {logins} times only");
        logins
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().map(JoinHandle::join);
    }
}

/// Whether the service of this record is let in; none where it does not run, or PostgreSQL does not.
fn log_in(record: &Path) -> Option<Result<(), String>> {
    let told: Value = serde_json::from_slice(&std::fs::read(record).ok()?).ok()?;
    let process = Process::of(i32::try_from(told["service"]["pid"].as_i64()?).ok()?)?;
    let url = process.entry("DATABASE_URL")?;
    match Session::enter(&config(&url)) {
        Ok(session) => Some(session.ask("SELECT current_user::text").map(drop).or(Ok(()))),
        Err(error) => {
            let code = error.code()?.code().to_owned();
            let is_refusal = code.starts_with("28") && process.runs();
            let user = config(&url).get_user().unwrap_or_default().to_owned();
            is_refusal.then(|| {
                Err(format!(
                    "{}: {user}: {code}",
                    mesh_model::wire::Timestamp::new(time::OffsetDateTime::now_utc())
                ))
            })
        }
    }
}
