//! What is told of a module, and when it is not told again.

use serde_json::json;

use super::super::fixture::notes;
use super::*;
use crate::host::ServiceState as HostService;

fn moment(second: u32) -> Timestamp {
    Timestamp::try_from(format!("2026-12-01T00:00:{second:02}Z")).unwrap()
}

fn written() -> Progress {
    Progress::Written {
        rendered: "r1".into(),
        used: Used { credentials: BTreeMap::from([("db".parse().unwrap(), "c1".into())]), ..Used::default() },
        services: BTreeMap::from([("server".into(), ("d1".into(), "l1".into()))]),
        faults: vec![],
        left: BTreeMap::new(),
    }
}

/// The host's word on `server`, which runs what has this digest.
fn host(state: RunState, digest: &str) -> ModuleState {
    let (digest, reload_digest) = (Some(digest.to_owned()), Some("l1".to_owned()));
    let why = (state == RunState::Failed).then(|| "it ended with 1".to_owned());
    let service = HostService { state, restarts: 0, why, digest, reload_digest };
    ModuleState { services: BTreeMap::from([("server".to_owned(), service)]) }
}

fn state(progress: &Progress, host: Option<&ModuleState>) -> (AppliedState, Option<String>) {
    let record = applied(&notes(json!({}), json!({})), progress, host, None, moment(0));
    (record.state, record.why)
}

#[test]
fn applied_is_what_really_runs() {
    let progress = written();
    assert_eq!(state(&progress, Some(&host(RunState::Running, "d1"))).0, AppliedState::Applied);
    assert_eq!(state(&progress, Some(&host(RunState::Stopped, "d1"))).0, AppliedState::Applied);
    assert_eq!(
        state(&progress, Some(&host(RunState::Running, "d0"))).0,
        AppliedState::Waiting,
        "the old one runs"
    );
    assert_eq!(state(&progress, Some(&host(RunState::Starting, "d1"))).0, AppliedState::Waiting);
    assert_eq!(state(&progress, None).0, AppliedState::Waiting);
    assert_eq!(state(&progress, Some(&host(RunState::Unhealthy, "d1"))).0, AppliedState::Failed);
    let (failed, why) = state(&progress, Some(&host(RunState::Failed, "d1")));
    assert_eq!(
        (failed, why.as_deref()),
        (AppliedState::Failed, Some("the service `server` is failed: it ended with 1"))
    );
}

#[test]
fn a_provider_is_applied_once_who_left_is_taken_back() {
    let mut progress = written();
    if let Progress::Written { left, .. } = &mut progress {
        left.insert("database".parse().unwrap(), ["cellar.notes".parse().unwrap()].into());
    }
    let runs = host(RunState::Running, "d1");
    let record = applied(&notes(json!({}), json!({})), &progress, Some(&runs), None, moment(0));
    assert_eq!(record.state, AppliedState::Waiting);
    let [why] = &record.waiting_for[..] else { panic!("{record:?}") };
    assert_eq!((why.kind.as_str(), why.name.as_str()), ("consumers", "database"));
    assert_eq!(why.why, "the provisioner has not taken back notes@cellar yet");
    assert!(record.credentials.is_empty());
    // What is worse is told first.
    let (failed, _) = state(&progress, Some(&host(RunState::Failed, "d1")));
    assert_eq!(failed, AppliedState::Failed);
}

#[test]
fn what_its_provisioner_gets_wrong_is_the_modules_failure() {
    let mut progress = written();
    if let Progress::Written { faults, .. } = &mut progress {
        faults.push("the answer lacks `host`".into());
    }
    assert_eq!(state(&progress, Some(&host(RunState::Running, "d1"))).0, AppliedState::Failed);
}

#[test]
fn what_has_not_changed_keeps_its_moment() {
    let assignment = notes(json!({}), json!({}));
    let running = host(RunState::Running, "d1");
    let first = applied(&assignment, &written(), Some(&running), None, moment(1));
    let second = applied(&assignment, &written(), Some(&running), Some(&first), moment(2));
    assert_eq!(first, second);
    let third = applied(&assignment, &Progress::Waiting(vec![]), Some(&running), Some(&first), moment(3));
    assert_eq!(third.at, moment(3));
}

#[test]
fn the_credential_that_runs_is_told_only_once_it_runs() {
    let assignment = notes(json!({}), json!({}));
    let before = applied(&assignment, &written(), Some(&host(RunState::Running, "d1")), None, moment(1));
    let mut rotated = written();
    if let Progress::Written { used, services, .. } = &mut rotated {
        used.credentials.insert("db".parse().unwrap(), "c2".into());
        services.insert("server".into(), ("d2".into(), "l1".into()));
    }
    let during =
        applied(&assignment, &rotated, Some(&host(RunState::Running, "d1")), Some(&before), moment(2));
    assert_eq!(during.credentials.values().next().unwrap(), "c1");
    let after =
        applied(&assignment, &rotated, Some(&host(RunState::Running, "d2")), Some(&during), moment(3));
    assert_eq!(after.credentials.values().next().unwrap(), "c2");
}

#[test]
fn a_contribution_carries_its_machine() {
    let records = collect(&notes(json!({}), json!({})));
    let keys: Vec<String> = records.keys().map(ToString::to_string).collect();
    assert_eq!(keys, ["cellar.contribution=3Apostgres-database.notes", "cellar.motd.notes"]);
    let item = &records.values().next().unwrap().items[0];
    assert_eq!(
        (&item["machine"]["address"], &item["contribution"]["name"]),
        (&json!("10.0.0.2"), &json!("notes"))
    );
}

#[test]
fn a_need_keeps_since_when_it_waits() {
    let assignment = notes(json!({}), json!({}));
    let status = |why: &str| NeedStatus {
        kind: mesh_model::kind::Kind::Bound,
        name: "db".into(),
        state: NeedState::Waiting,
        why: Some(why.into()),
        owner: "postgres".into(),
        from: None,
        holds_up: true,
    };
    let first = needs(&assignment, &[status("a")], &BTreeMap::new(), moment(1));
    let before = first.into_iter().map(|(key, record)| (key.to_string(), record)).collect();
    let second = needs(&assignment, &[status("b")], &before, moment(2));
    assert_eq!(second.values().next().unwrap().since, moment(1));
}
