//! The table: who may do what, a line each.
//!
//! Nobody may do anything that is not here. What a line comes to for one account stands in [`super::rights`], and
//! what that comes to on the wire in [`super::wire`].

use mesh_model::name::SeatName;

use crate::bucket::Bucket;

/// One line of the table.
pub(super) enum Line {
    /// Put and delete these keys.
    Write(Keys),
    /// Get and watch these keys.
    Read(Keys),
    /// Get any of these keys by its name.
    Get(Keys),
    /// Read these buckets whole.
    Whole(Keys),
    /// Ask these verbs, under one's own name.
    Ask(&'static [&'static str]),
    /// Ask all who answer who they are.
    AskAll,
    /// Answer the verbs of the module's seats.
    Answer,
}

/// Which keys of which bucket.
pub(super) enum Keys {
    /// All of a bucket.
    All(fn() -> Bucket),
    /// One key of a bucket.
    One(fn() -> Bucket, &'static str),
    /// Those of a bucket that begin with the node's name.
    Own(fn() -> Bucket),
    /// All of every bucket that operators read.
    Everywhere,
    /// The answers of the providers that run here: all of `<provider>_bound` where the provider runs nowhere else,
    /// else those to the consumers that the plan gives it here.
    Answers,
    /// The answers to the node: those of `<provider>_bound` that begin with its name, of each provider that its
    /// modules need.
    AnswersHere,
    /// What is handed to the providers that run here.
    Contributions,
    /// The contents of the files that the node's assignments name.
    Files,
    /// What the consumers that the plan gives the module here tell of their needs.
    NeedsOfConsumers,
    /// The leases of the account's own seats.
    Leases,
}

use Keys::{All, Answers, AnswersHere, Contributions, Everywhere, Files, Leases, NeedsOfConsumers, One, Own};
use Line::{Answer, Ask, AskAll, Get, Read, Whole, Write};

/// A node.
pub(super) const NODE: &[Line] = &[
    Write(Own(Bucket::needs)),
    Write(Own(Bucket::applied)),
    Write(Own(Bucket::collect)),
    Write(Answers),
    Read(All(Bucket::registry)),
    Read(Own(Bucket::needs)),
    Read(Own(Bucket::applied)),
    Read(Own(Bucket::collect)),
    Read(Own(Bucket::assignments)),
    Read(Own(Bucket::config)),
    Read(Own(Bucket::credentials)),
    Read(AnswersHere),
    Read(Contributions),
    Get(Files),
    Read(All(Bucket::seats)),
    // Each as `<verb>.<node>`.
    Ask(&[
        "mesh-controller.enroll",
        "mesh-controller.facts",
        "mesh-vault.consumers",
        "mesh-vault.pin",
        "mesh-vault.secret",
    ]),
];

/// A module on a node, with `runs-as: own`.
pub(super) const MODULE: &[Line] =
    &[Write(Answers), Write(Leases), Get(Leases), Get(NeedsOfConsumers), Answer];

/// An operator.
pub(super) const OPERATOR: &[Line] = &[
    Get(Everywhere),
    Whole(Everywhere),
    AskAll,
    // The bus adds who asks. A verb that is not here is answered to no operator.
    Ask(&[
        "mesh-controller.apply",
        "mesh-controller.invite",
        "mesh-controller.plan",
        "mesh-controller.status",
        "mesh-controller.upload",
        "mesh-provisioner.provisioning",
        "mesh-vault.escrow",
        "mesh-vault.escrowed",
        "mesh-vault.list",
        "mesh-vault.put",
        "mesh-vault.recipients",
        "mesh-vault.rotate",
    ]),
];

/// Somebody who is invited, and has not joined: under the name of the invitation.
pub(super) const INVITED: &[Line] = &[Ask(&["mesh-controller.join"])];

/// Buckets that no operator reads: the contents of files may say what is for one node alone, and by what is kept of
/// invitations somebody could ask to be let in.
pub(super) const NOT_FOR_OPERATORS: &[fn() -> Bucket] = &[Bucket::files, Bucket::roster];

const VAULT: &[Line] = &[
    Write(All(Bucket::credentials)),
    Write(Leases),
    Read(All(Bucket::assignments)),
    Read(All(Bucket::applied)),
    Read(All(Bucket::credentials)),
    // Which escrow recipients it names.
    Read(One(Bucket::plan, "current")),
    Read(All(Bucket::seats)),
];

const PROVISIONER: &[Line] = &[
    Write(All(Bucket::registry)),
    Write(Leases),
    Read(All(Bucket::needs)),
    Read(All(Bucket::applied)),
    Read(All(Bucket::collect)),
    Read(All(Bucket::registry)),
    Read(All(Bucket::seats)),
];

/// The name, among the users of `BUS`, of who has the keys of the server's folder in hand. Nobody holds it as a seat.
pub const SERVER: &str = "mesh-server";
/// What that one alone may ask: an operator who may apply must not be able to have secrets sealed to somebody new.
pub const CONFIRM_ESCROW: &str = "mesh-vault.confirm-escrow";

/// On the server's machine, at its keys.
const AT_THE_SERVER: &[Line] = &[Ask(&[CONFIRM_ESCROW])];

/// A seat of the mesh's own, but the controller, which [`super::wire::controller`] is about.
pub(super) fn seat(seat: &SeatName) -> &'static [Line] {
    match seat.as_str() {
        "mesh-vault" => VAULT,
        "mesh-provisioner" => PROVISIONER,
        SERVER => AT_THE_SERVER,
        _ => &[],
    }
}
