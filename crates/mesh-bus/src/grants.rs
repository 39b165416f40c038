//! Who may do what on the bus: the table, and what it comes to on the wire.
//!
//! Start at [`node`], [`operator`] and [`seat`]: each is one account's rows of the table, in the words of
//! [`Right`]. A row becomes the few subjects that it takes, as imports of an account of its own or as
//! permissions of a user of `BUS`. What is not in the table is not imported, and is answered `no responders`.
//!
//! Never in it, whatever the row: reading without the key or the filter in the subject, a consumer's name
//! with a wildcard, the API of streams. Each of them opens a whole bucket. And a row opens every key that
//! fits its filter: whoever asks for a key with a wildcard in it gets the newest that fits. So files are
//! granted by digest, not to whoever knows one.

use std::collections::BTreeSet;

use mesh_model::digest::Digest;
use mesh_model::key::{BoundKey, encode_token};
use mesh_model::name::{ModuleName, NodeName, OperatorName, ProvisionName, SeatName};

use crate::account::{Account, Usage};
use crate::bucket::{Bucket, MAX_VALUE};
use crate::client::{IMPORTED_API, OWN_API, inbox};
use crate::jwt::{Answers, Export, Import, JetStream, Limits, Permissions};

/// What `BUS` offers. It is wide, and limits nobody: the imports do.
pub(crate) const EXPORTS: &[Export] = &[
    Export { subject: "$KV.>", answers: Answers::One },
    Export { subject: "$JS.API.DIRECT.GET.*", answers: Answers::Many },
    Export { subject: "$JS.API.DIRECT.GET.*.>", answers: Answers::One },
    Export { subject: "$JS.API.CONSUMER.CREATE.>", answers: Answers::One },
    Export { subject: "$JS.API.CONSUMER.DELETE.>", answers: Answers::One },
    Export { subject: "$JS.API.CONSUMER.MSG.NEXT.>", answers: Answers::Many },
    Export { subject: "$SRV.>", answers: Answers::Many },
    Export { subject: "mesh-controller.>", answers: Answers::One },
    Export { subject: "mesh-vault.>", answers: Answers::One },
    Export { subject: "mesh-provisioner.>", answers: Answers::One },
];

/// Verbs of nodes: each asks `<verb>.<node>`, under its own name alone.
const NODE_VERBS: &[&str] = &[
    "mesh-controller.enroll",
    "mesh-controller.facts",
    "mesh-vault.consumers",
    "mesh-vault.pin",
    "mesh-vault.secret",
];

/// Verbs of operators: each asks `<verb>`, and the bus adds who asks. One that is not here is answered to no operator.
const OPERATOR_VERBS: &[&str] = &[
    "mesh-controller.apply",
    "mesh-controller.plan",
    "mesh-controller.status",
    "mesh-controller.upload",
    "mesh-provisioner.provisioning",
    "mesh-vault.list",
    "mesh-vault.put",
    "mesh-vault.recipients",
];

/// One thing that an account may do.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Right {
    /// Put and delete the keys that fit a filter.
    Write(Bucket, String),
    /// Get one key that fits a filter, knowing which.
    Get(Bucket, String),
    /// Read all that is in a bucket, leaving nothing on the server.
    Whole(Bucket),
    /// Watch all keys that fit a filter, by one consumer of a known name.
    Watch(Bucket, String, Usage),
    /// Ask a verb, under one's own name.
    Ask(String),
    /// Ask for all who answer.
    AskAll(String),
}

/// What a node's modules reach beyond the node, as the plan has it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NodeReach {
    /// Modules that provide what the node's modules need.
    pub providers: BTreeSet<ModuleName>,
    /// What the node's modules provide.
    pub provides: Vec<Provides>,
    /// The contents of the files that its assignments name.
    pub files: BTreeSet<Digest>,
}

/// A provider on a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provides {
    /// The module.
    pub module: ModuleName,
    /// What it provides.
    pub provisions: BTreeSet<ProvisionName>,
    /// Whom it answers.
    pub answers: Answered,
}

/// The keys of a provider's bucket that a node may write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answered {
    /// All: the provider runs on this node alone.
    Everybody,
    /// The consumers that the plan gives to the provider on this node.
    Only(BTreeSet<BoundKey>),
}

/// What the modules of a mesh are, as far as operators' grants follow from it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OperatorReach {
    /// Modules that have a `<provider>_bound` bucket.
    pub providers: BTreeSet<ModuleName>,
}

/// The rows of a node.
#[must_use]
pub fn node(node: &NodeName, reach: &NodeReach) -> Vec<Right> {
    let own = format!("{node}.>");
    let mut rights = Vec::new();
    for bucket in [Bucket::needs(), Bucket::applied(), Bucket::collect()] {
        rights.push(Right::Write(bucket.clone(), own.clone()));
        rights.extend(reads(bucket, &own));
    }
    for bucket in [Bucket::assignments(), Bucket::config(), Bucket::credentials()] {
        rights.extend(reads(bucket, &own));
    }
    for bucket in [Bucket::registry(), Bucket::seats()] {
        rights.extend(reads(bucket, ">"));
    }
    rights.extend(reach.files.iter().map(|digest| Right::Get(Bucket::files(), format!("{digest}.*"))));
    for provider in &reach.providers {
        rights.extend(reads(Bucket::bound(provider), &own));
    }
    reach.provides.iter().for_each(|provides| rights.extend(provider(provides)));
    rights.extend(NODE_VERBS.iter().map(|verb| Right::Ask((*verb).to_owned())));
    once(rights)
}

fn provider(provides: &Provides) -> Vec<Right> {
    let bound = Bucket::bound(&provides.module);
    let mut rights: Vec<Right> = match &provides.answers {
        Answered::Everybody => vec![Right::Write(bound, ">".to_owned())],
        Answered::Only(keys) => keys.iter().map(|k| Right::Write(bound.clone(), k.to_string())).collect(),
    };
    for provision in &provides.provisions {
        let filter = consumers_filter(provision);
        rights.push(Right::Get(Bucket::collect(), filter.clone()));
        rights.push(Right::Watch(Bucket::collect(), filter, Usage::consumers(provision)));
    }
    rights
}

/// The keys of the collect bucket that are contributions to a provision.
#[must_use]
pub fn consumers_filter(provision: &ProvisionName) -> String {
    format!("*.{}.*", encode_token(&format!("contribution:{provision}")))
}

/// The rows of an operator.
#[must_use]
pub fn operator(reach: &OperatorReach) -> Vec<Right> {
    let bound = reach.providers.iter().map(Bucket::bound);
    let buckets = Bucket::fixed().into_iter().filter(|bucket| *bucket != Bucket::files()).chain(bound);
    let reads_all = |bucket: Bucket| [Right::Get(bucket.clone(), ">".to_owned()), Right::Whole(bucket)];
    let mut rights: Vec<Right> = buckets.flat_map(reads_all).collect();
    rights.extend(OPERATOR_VERBS.iter().map(|verb| Right::Ask((*verb).to_owned())));
    rights.push(Right::AskAll("$SRV.>".to_owned()));
    rights
}

/// To get and to watch.
fn reads(bucket: Bucket, filter: &str) -> [Right; 2] {
    [Right::Get(bucket.clone(), filter.to_owned()), Right::Watch(bucket, filter.to_owned(), Usage::read())]
}

/// Two modules of a node may need one provider: a subject is imported once.
fn once(rights: Vec<Right>) -> Vec<Right> {
    rights.into_iter().collect::<BTreeSet<_>>().into_iter().collect()
}

/// The longest message that an account may send, headers and all, in bytes: for a node the longest value and
/// some room, since what the plan let through must not fail when it is written.
pub(crate) fn longest_message(account: &Account) -> usize {
    match account {
        Account::Node(_) => MAX_VALUE + 16 * 1024,
        Account::Operator(_) | Account::Seat(_) => 1024 * 1024,
    }
}

/// What an account may use of the server.
pub(crate) fn limits(account: &Account) -> Limits {
    let connections = match account {
        Account::Node(_) => 4,
        Account::Operator(_) | Account::Seat(_) => 64,
    };
    let payload = i64::try_from(longest_message(account)).expect("a megabyte at most");
    Limits { payload, connections, jetstream: JetStream::None }
}

/// The imports that an account's rows come to.
#[must_use]
pub fn imports(account: &Account, rights: &[Right]) -> Vec<Import> {
    let api = |subject: String| {
        let local = subject.replacen(OWN_API, IMPORTED_API, 1);
        Import { subject, local: Some(local) }
    };
    let plain = |subject: String| Import { subject, local: None };
    let one = |right: &Right| match right {
        Right::Watch(bucket, filter, usage) => {
            watch_subjects(&account.consumer(usage), bucket, filter).map(api).to_vec()
        }
        Right::Write(bucket, filter) => vec![plain(bucket.subject(filter))],
        Right::Get(bucket, filter) => vec![plain(get_subject(bucket, filter))],
        Right::Whole(bucket) => vec![plain(whole_subject(bucket))],
        Right::Ask(verb) => vec![ask_as(account, verb)],
        Right::AskAll(subject) => vec![plain(subject.clone())],
    };
    rights.iter().flat_map(one).collect()
}

/// A verb, with who asks as the last word of its subject. An operator need not say it, and can say nothing else: the bus
/// adds it.
fn ask_as(account: &Account, verb: &str) -> Import {
    let local = matches!(account, Account::Operator(_)).then(|| verb.to_owned());
    Import { subject: format!("{verb}.{account}"), local }
}

pub(crate) fn get_subject(bucket: &Bucket, key: &str) -> String {
    format!("{OWN_API}.DIRECT.GET.{}.{}", bucket.stream(), bucket.subject(key))
}

/// Without a key in it, it opens the whole bucket.
pub(crate) fn whole_subject(bucket: &Bucket) -> String {
    format!("{OWN_API}.DIRECT.GET.{}", bucket.stream())
}

/// To make a consumer, to fetch by it, to take it away.
fn watch_subjects(consumer: &str, bucket: &Bucket, filter: &str) -> [String; 3] {
    let stream = bucket.stream();
    [
        format!("{OWN_API}.CONSUMER.CREATE.{stream}.{consumer}.{}", bucket.subject(filter)),
        format!("{OWN_API}.CONSUMER.MSG.NEXT.{stream}.{consumer}"),
        format!("{OWN_API}.CONSUMER.DELETE.{stream}.{consumer}"),
    ]
}

/// The rows of a seat, beside answering its verbs.
#[must_use]
pub fn seat_rights(seat: &SeatName) -> Vec<Right> {
    let lease = Right::Write(Bucket::seats(), seat.to_string());
    let all = |bucket: Bucket| Right::Write(bucket, ">".to_owned());
    let mut rights = vec![lease];
    match seat.as_str() {
        "mesh-vault" => {
            rights.push(all(Bucket::credentials()));
            for bucket in [Bucket::assignments(), Bucket::applied(), Bucket::credentials(), Bucket::seats()] {
                rights.extend(reads(bucket, ">"));
            }
        }
        "mesh-provisioner" => {
            rights.push(all(Bucket::registry()));
            for bucket in
                [Bucket::needs(), Bucket::applied(), Bucket::collect(), Bucket::registry(), Bucket::seats()]
            {
                rights.extend(reads(bucket, ">"));
            }
        }
        _ => rights.extend(reads(Bucket::seats(), ">")),
    }
    rights
}

/// What the user of a seat may publish and subscribe to.
///
/// The controller is left open: it makes buckets, prunes all of them, and signs everybody else's grants
/// anyway. For the other two this keeps a fault from going far; it does not confine somebody who means harm,
/// since the server answers to any reply subject.
#[must_use]
pub fn seat(seat: &SeatName) -> Permissions {
    if seat.as_str() == "mesh-controller" {
        return Permissions::default();
    }
    let account = Account::Seat(seat.clone());
    let mut publish = vec!["_INBOX.>".to_owned(), "_R_.>".to_owned()];
    publish.extend(imports(&account, &seat_rights(seat)).into_iter().map(|import| import.subject));
    let subscribe = vec![format!("{}.>", inbox(&account)), "$SRV.>".to_owned(), format!("{seat}.>")];
    Permissions { publish, subscribe }
}

/// The rows of an account, for whoever signs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grants {
    /// Whose they are.
    pub account: Account,
    /// What it may do.
    pub rights: Vec<Right>,
}

impl Grants {
    /// Those of a node.
    #[must_use]
    pub fn of_node(name: &NodeName, reach: &NodeReach) -> Self {
        Self { account: Account::Node(name.clone()), rights: node(name, reach) }
    }

    /// Those of an operator.
    #[must_use]
    pub fn of_operator(name: &OperatorName, reach: &OperatorReach) -> Self {
        Self { account: Account::Operator(name.clone()), rights: operator(reach) }
    }

    /// What they come to on the wire.
    #[must_use]
    pub fn imports(&self) -> Vec<Import> {
        imports(&self.account, &self.rights)
    }
}

#[cfg(test)]
mod tests;
