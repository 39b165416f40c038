//! A pass, and what is answered while it is at work.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex};

use super::*;

#[derive(Debug, thiserror::Error)]
#[error("not up yet")]
struct NotUp;

/// A server that writes down who was wanted, and is not up for as many passes as it is told.
#[derive(Default, Clone)]
struct Scripted {
    down: usize,
    passes: Arc<Mutex<Vec<Vec<String>>>>,
}

impl Server for Scripted {
    type Error = NotUp;

    async fn accept(&mut self, wanted: &Consumers, replies: &Replies) -> Result<(), NotUp> {
        if self.down > 0 {
            self.down -= 1;
            return Err(NotUp);
        }
        self.passes.lock().unwrap().push(wanted.consumers.iter().map(|c| c.id.to_string()).collect());
        for consumer in wanted.consumers.iter().filter(|c| c.id.module.as_str() != "silent") {
            let values = BTreeMap::new();
            let outcome = Outcome::Accepted { credential: None, values, why: None };
            let (consumer, revision) = (consumer.id.clone(), consumer.revision.clone());
            replies.give(Answer { consumer, revision, outcome });
        }
        Ok(())
    }
}

fn file(modules: &[&str]) -> String {
    let consumers: Vec<_> = modules
        .iter()
        .map(|module| {
            serde_json::json!({"node":"attic","module":module,"local":"db","machine":{"name":"attic"},
                               "contribution":{},"revision":"1"})
        })
        .collect();
    let provider = serde_json::json!({"node":"attic","module":"postgres"});
    serde_json::json!({"v":1,"provision":"thing","provider":provider,"consumers":consumers}).to_string()
}

fn put(path: &Path, text: &str) {
    let new = path.with_extension("new");
    std::fs::File::create(&new).unwrap().write_all(text.as_bytes()).unwrap();
    std::fs::rename(new, path).unwrap();
}

fn job(folder: &Path) -> Job {
    let mut job = Job::new(folder.join("consumers.json"), folder.join("answers.json"));
    job.look = Duration::from_millis(5);
    job
}

#[tokio::test]
async fn once_waits_for_the_server_and_counts_how_it_went() {
    let folder = tempfile::tempdir().unwrap();
    let job = job(folder.path());
    let mut server = Scripted { down: 2, ..Scripted::default() };
    put(&job.consumers, &file(&["notes", "silent"]));
    assert_eq!(once(&mut server, &job).await.unwrap(), Verdict { accepted: 1, failed: 1 });
    let written = std::fs::read_to_string(&job.answers).unwrap();
    assert!(written.contains("the provisioner gave no answer"), "{written}");
}

#[tokio::test]
async fn once_gives_up_on_a_server_that_does_not_come_up_and_on_a_file_that_is_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let mut job = job(folder.path());
    job.patience = Duration::ZERO;
    let mut server = Scripted { down: 1, ..Scripted::default() };
    assert!(matches!(once(&mut server, &job).await, Err(PassError::Consumers(_))));
    put(&job.consumers, &file(&["notes"]));
    assert!(matches!(once(&mut server, &job).await, Err(PassError::Server(NotUp))));
}

#[tokio::test]
async fn watching_passes_once_for_each_change_and_a_bad_file_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let job = job(folder.path());
    let mut server = Scripted { down: 1, ..Scripted::default() };
    let passes = server.passes.clone();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let reached = |count: usize| {
        let passes = passes.clone();
        async move {
            while passes.lock().unwrap().len() < count {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
    };
    let story = async {
        put(&job.consumers, &file(&["notes"]));
        reached(1).await;
        for bad in ["", "{\"v\":1", "[]"] {
            put(&job.consumers, bad);
            tokio::time::sleep(job.look * 10).await;
        }
        std::fs::remove_file(&job.consumers).unwrap();
        tokio::time::sleep(job.look * 10).await;
        assert!(std::fs::read_to_string(&job.answers).unwrap().contains("notes"));
        put(&job.consumers, &file(&["wiki"]));
        reached(2).await;
        while std::fs::read_to_string(&job.answers).unwrap().contains("notes") {
            tokio::time::sleep(job.look).await;
        }
        tokio::time::sleep(job.look * 10).await;
        stop.send(()).unwrap();
    };
    let watching = watch(&mut server, &job, async { drop(stopped.await) });
    tokio::join!(watching, story);
    assert_eq!(*passes.lock().unwrap(), [["db of notes@attic"], ["db of wiki@attic"]]);
}

#[test]
fn says_a_chain_of_causes_once_each() {
    let error = PassError::Server(NotUp);
    assert_eq!(chain(&error), "the server is not ready: not up yet");
}
