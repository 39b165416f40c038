//! What rights come to on the wire: imports of an account of its own, or permissions of a user of `BUS`.
//!
//! Never among them, whatever the right: reading without the key or the filter in the subject (but for operators, who
//! may read the whole bucket), a consumer's name with a wildcard, the API of streams. Each of them opens a whole
//! bucket. And a right opens every key that fits its filter: whoever asks for a key with a wildcard in it gets the
//! newest that fits.

use mesh_model::name::SeatName;

use super::rights::{self, Right};
use crate::account::Account;
use crate::bucket::{Bucket, MAX_VALUE};
use crate::client::{IMPORTED_API, OWN_API, inbox};
use crate::jwt::{Answers, Export, Import, JetStream, Limits, Permissions, Subjects};

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

/// The longest message that an account may send, headers and all, in bytes: the longest value and some room, since
/// what the plan let through must not fail when it is written.
pub(crate) fn longest_message(account: &Account) -> usize {
    match account {
        Account::Node(_) | Account::Module(_) => MAX_VALUE + 16 * 1024,
        Account::Operator(_) | Account::Seat(_) | Account::Store(_) => 1024 * 1024,
        Account::Invited(_) => 16 * 1024,
    }
}

/// What an account may use of the server.
pub(crate) fn limits(account: &Account) -> Limits {
    let connections = match account {
        Account::Node(_) | Account::Invited(_) => 4,
        Account::Module(_) => 16,
        Account::Operator(_) | Account::Seat(_) | Account::Store(_) => 64,
    };
    let payload = i64::try_from(longest_message(account)).expect("a megabyte at most");
    Limits { payload, connections, jetstream: JetStream::None }
}

/// The imports that an account's rights come to.
pub(super) fn imports(account: &Account, rights: &[Right]) -> Vec<Import> {
    let api = |subject: String| {
        let local = subject.replacen(OWN_API, IMPORTED_API, 1);
        Import { subject, local: Some(local) }
    };
    let plain = |subject: String| Import { subject, local: None };
    let one = |right: &Right| match right {
        Right::Watch(bucket, filter, usage) => {
            // A seat's consumers are of one process each: who holds it and who stands by read the same.
            let seat = matches!(account, Account::Seat(_));
            let name = if seat { "*".to_owned() } else { account.consumer(usage) };
            watch_subjects(&name, bucket, filter).map(api).to_vec()
        }
        Right::Write(bucket, filter) => vec![plain(bucket.subject(filter))],
        Right::Get(bucket, filter) => vec![plain(get_subject(bucket, filter))],
        Right::Whole(bucket) => vec![plain(whole_subject(bucket))],
        Right::Ask(verb) => vec![ask_as(account, verb)],
        Right::AskAll(subject) => vec![plain(subject.clone())],
        // What it answers, others import of it.
        Right::Answer(_) => Vec::new(),
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

/// What the leader of the stream answers. It opens the whole bucket, and is for seats alone.
pub(crate) fn latest_subject(bucket: &Bucket) -> String {
    format!("{OWN_API}.STREAM.MSG.GET.{}", bucket.stream())
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

/// What the user of a seat may publish and subscribe to.
///
/// It keeps a fault from going far; it does not confine somebody who means harm, since the server answers to any reply
/// subject.
pub(crate) fn seat(seat: &SeatName) -> Permissions {
    if seat.as_str() == "mesh-controller" {
        return controller(seat);
    }
    let account = Account::Seat(seat.clone());
    let mut publish = vec!["_INBOX.>".to_owned(), "_R_.>".to_owned()];
    let rights = rights::seat(seat);
    publish.extend(imports(&account, &rights).into_iter().map(|import| import.subject));
    for right in &rights {
        match right {
            Right::Write(bucket, filter) if filter == ">" => publish.push(bucket.fence(">")),
            Right::Watch(bucket, ..) => publish.push(latest_subject(bucket)),
            _ => {}
        }
    }
    let subscribe = vec![format!("{}.>", inbox(&account)), "$SRV.>".to_owned(), format!("{seat}.>")];
    Permissions { publish: Subjects::only(publish), subscribe: Subjects::only(subscribe) }
}

/// The controller's are said by what it may not: it makes the buckets of providers, whatever they are called, and deletes
/// in them and in what nodes tell. The bus tells a put from a delete by a header, which no permission sees: so it could
/// put there too.
fn controller(seat: &SeatName) -> Permissions {
    let others: Vec<SeatName> = SEATS
        .iter()
        .filter(|other| **other != seat.as_str())
        .map(|other| other.parse().expect("a name"))
        .collect();
    let mut publish = Vec::new();
    for bucket in [Bucket::registry(), Bucket::credentials()] {
        publish.extend([bucket.subject(">"), bucket.fence(">")]);
        publish.push(format!("{OWN_API}.STREAM.PURGE.{}", bucket.stream()));
    }
    publish.push(format!("{OWN_API}.STREAM.PURGE.{}", Bucket::seats().stream()));
    publish.extend(others.iter().map(|other| Bucket::seats().subject(other.as_str())));
    publish.extend(["DELETE.*", "MSG.DELETE.*"].map(|what| format!("{OWN_API}.STREAM.{what}")));
    let hears = |other: &SeatName| {
        let account = Account::Seat(other.clone());
        [format!("{other}.>"), format!("{}.>", inbox(&account))]
    };
    let subscribe = others.iter().flat_map(hears).collect();
    Permissions { publish: Subjects::all_but(publish), subscribe: Subjects::all_but(subscribe) }
}

/// The seats of the mesh itself.
const SEATS: &[&str] = &["mesh-controller", "mesh-vault", "mesh-provisioner"];
