//! The controller's verbs: what each does with a question.

use std::sync::Arc;

use bytes::Bytes;
use data_encoding::BASE64;
use mesh_bus::Account;
use mesh_bus::creds::is_user;
use mesh_bus::seat::Tenure;
use mesh_bus::tls::Fingerprint;
use mesh_bus::verb::{Ask, MAX_ANSWER, MAX_QUESTION, ServeError, Service, VerbError};
use mesh_model::name::{NodeName, SeatName};
use mesh_model::wire::{
    ApplyAnswer, EnrollAnswer, EnrollAsk, FactsAnswer, InviteAnswer, InviteAsk, Invitee, JoinAnswer,
    NodeFacts, NodeTold, PlanTold, StatusAnswer, UploadAnswer, UploadAsk, V1,
};
use mesh_seal::{KeyId, VerifyingKey};
use tokio::sync::watch;

use crate::contents::{Contents, ContentsError};
use crate::mirror::State;
use crate::planning::{Planning, with_causes};
use crate::roster::{Entrance, JoinError, Roster, RosterError};

/// The longest hand-over: a listing of some thousand files, or a part of a file in base64.
const LONG: usize = MAX_ANSWER;

/// What the verbs work with.
#[derive(Debug)]
pub(crate) struct Office {
    pub(crate) contents: Arc<Contents>,
    pub(crate) planning: Arc<Planning>,
    pub(crate) roster: Arc<Roster>,
    pub(crate) entrance: Option<Entrance>,
    pub(crate) state: watch::Receiver<State>,
}

/// Answers every verb from now on.
pub(crate) async fn offer(
    tenure: &Tenure,
    seat: &SeatName,
    office: &Arc<Office>,
) -> Result<Service, ServeError> {
    let summary = "What runs where, and how that takes effect";
    let service = Service::of_seat(tenure, seat, env!("CARGO_PKG_VERSION"), summary).await?;
    macro_rules! answer {
        ($verb:literal, $longest:expr, $function:ident) => {
            let desk = Arc::clone(office);
            let handler = move |ask: Ask| {
                let desk = Arc::clone(&desk);
                async move { desk.$function(&ask).await }
            };
            service.answer(concat!("mesh-controller.", $verb), $longest, handler).await?;
        };
    }
    answer!("upload", LONG, upload);
    answer!("plan", LONG, plan);
    answer!("apply", LONG, apply);
    answer!("status", MAX_QUESTION, status);
    answer!("enroll.*", MAX_QUESTION, enroll);
    answer!("facts.*", MAX_QUESTION, facts);
    answer!("invite", MAX_QUESTION, invite);
    answer!("join.invited=*", MAX_QUESTION, join);
    Ok(service)
}

impl Office {
    async fn upload(&self, ask: &Ask) -> Result<UploadAnswer, VerbError> {
        let missing = match ask.read()? {
            UploadAsk::Have { have } => self.contents.missing(&have).await.map_err(not_kept)?,
            UploadAsk::Part { digest, part, parts, data } => {
                let data = BASE64.decode(data.as_bytes());
                let data = data.map_err(|error| VerbError::new("bad-request", format!("`data`: {error}")))?;
                let whole = self.contents.take_part(&digest, part, parts, Bytes::from(data)).await;
                let whole = whole.map_err(not_kept)?;
                Some(digest).filter(|_| !whole).into_iter().collect()
            }
        };
        Ok(UploadAnswer { v: V1, missing: missing.into_iter().collect() })
    }

    async fn plan(&self, ask: &Ask) -> Result<ApplyAnswer, VerbError> {
        self.planning.plan(&ask.read()?).await
    }

    async fn apply(&self, ask: &Ask) -> Result<ApplyAnswer, VerbError> {
        self.planning.apply(&ask.by, &ask.read()?).await
    }

    async fn status(&self, _: &Ask) -> Result<StatusAnswer, VerbError> {
        let target = self.planning.targets().borrow().clone();
        let state = self.state.borrow().clone();
        let planned = self.planning.planned_nodes();
        let joined = self.roster.nodes().await;
        let told = |node: &NodeName| {
            let known = joined.get(node);
            let root = known.and_then(|known| known.facts.as_ref()).map(|facts| facts.root.clone());
            let seen = known.and_then(|known| known.seen);
            NodeTold {
                planned: planned.contains(node),
                joined: known.is_some(),
                root,
                seen,
                node: node.clone(),
            }
        };
        let mut names: Vec<&NodeName> = planned.iter().chain(joined.keys()).collect();
        names.sort();
        names.dedup();
        let in_step = state.why.is_none() && state.mirrored == target.record.as_ref().map(|r| r.id.clone());
        let plan = target.record.map(|record| PlanTold {
            id: record.id,
            description: record.description,
            by: record.by,
            at: record.at,
        });
        Ok(StatusAnswer {
            v: V1,
            plan,
            in_step,
            why: state.why,
            nodes: names.into_iter().map(told).collect(),
        })
    }

    async fn enroll(&self, ask: &Ask) -> Result<EnrollAnswer, VerbError> {
        let node = ask.node()?;
        let EnrollAsk { user } = ask.read()?;
        let token = self.roster.admit_node(node, &user).await.map_err(not_let_in)?;
        Ok(EnrollAnswer { v: V1, node: node.clone(), token })
    }

    async fn facts(&self, ask: &Ask) -> Result<FactsAnswer, VerbError> {
        let node = ask.node()?;
        let facts: NodeFacts = ask.read()?;
        if !facts.root.starts_with('/') {
            let message = format!("the folder `{}` is no absolute path", facts.root);
            return Err(VerbError::new("bad-request", message));
        }
        self.roster.note_facts(node, facts).await.map_err(not_let_in)?;
        self.planning.note_machines().await?;
        Ok(FactsAnswer { v: V1 })
    }

    fn entrance(&self) -> Result<&Entrance, VerbError> {
        self.entrance.as_ref().ok_or_else(|| {
            VerbError::new(
                "loopback-only",
                "this mesh's bus is on the loopback of one machine, and nobody can join it",
            )
            .help("`mesh server` runs the control plane for several machines")
        })
    }

    async fn invite(&self, ask: &Ask) -> Result<InviteAnswer<Fingerprint, KeyId>, VerbError> {
        let question: InviteAsk = ask.read()?;
        if !is_user(&question.user) {
            let message = format!("`{}` is not the public half of a key", question.user);
            return Err(VerbError::new("bad-request", message));
        }
        tracing::info!(by = %ask.by, invitee = %Account::of(&question.invitee), "somebody is invited");
        self.roster.invite(&question, self.entrance()?).await.map_err(not_let_in)
    }

    async fn join(&self, ask: &Ask) -> Result<JoinAnswer<VerifyingKey>, VerbError> {
        let Account::Invited(invitee) = &ask.by else {
            return Err(VerbError::new("bad-request", format!("`{}` is not invited", ask.by)));
        };
        let joined = self.roster.join(invitee, &ask.read()?, self.entrance()?).await;
        match &joined {
            Ok(_) => tracing::info!(invitee = %Account::of(invitee), "somebody has joined"),
            Err(error) => tracing::warn!(invitee = %Account::of(invitee), %error, "somebody is not let in"),
        }
        let joined = joined.map_err(|error| not_joined(invitee, error))?;
        if let Err(error) = self.planning.note_machines().await {
            // It tells of itself again when it starts.
            tracing::warn!(error = error.message, "the plan in effect does not know the machine yet");
        }
        Ok(joined)
    }
}

fn not_kept(error: ContentsError) -> VerbError {
    match error {
        ContentsError::Kv(error) => VerbError::new("unavailable", with_causes(&error)).help("try again"),
        ContentsError::Part { .. } => VerbError::new("bad-request", error.to_string()),
        ContentsError::Mismatch { .. } => VerbError::new("digest-mismatch", error.to_string())
            .help("the file changed while it was read: list the folder again"),
    }
}

fn not_joined(invitee: &Invitee, error: JoinError) -> VerbError {
    let again = match invitee {
        Invitee::Node(node) => format!("`mesh node invite {node}` gives another"),
        Invitee::Operator(name) => format!("`mesh operator invite {name}` gives another"),
    };
    let code = match &error {
        JoinError::NotInvited(_) => "not-invited",
        JoinError::Replaced(_) => "token-replaced",
        JoinError::Forged => "token-forged",
        JoinError::Expired { .. } => "token-expired",
        JoinError::Used => "token-used",
        JoinError::Roster(_) => "",
    };
    match error {
        JoinError::Roster(error) => not_let_in(error),
        error => VerbError::new(code, error.to_string()).help(again),
    }
}

fn not_let_in(error: RosterError) -> VerbError {
    match error {
        RosterError::OtherKey { .. } => VerbError::new("already-joined", error.to_string())
            .help("take the node off the mesh, then let it join anew"),
        error => VerbError::new("unavailable", with_causes(&error)).help("try again"),
    }
}
