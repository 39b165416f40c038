//! What travels on the bus: the value of each bucket, as JSON with `"v": 1`.
//!
//! A reader ignores fields that it does not know, and refuses a version that it does not know, so that it keeps the last
//! good value. What a module on a node is to do is an [`Assignment`]; the rest tells what came of it.

mod applied;
mod assignment;
mod bound;
mod collect;
mod config;
mod control;
mod credential;
mod delivery;
mod escrow;
mod join;
mod need;
mod plan;
mod provisioning;
mod registry;
mod rotation;
mod timestamp;
mod vault;

pub use applied::{Applied, AppliedState, Service, ServiceState, WaitingFor};
pub use assignment::{
    Alphabet, Assignment, Consumer, Dir, File, Give, Health, Image, Machine, Need, OnChange, Prepare,
    Provided, Provider, Restart, Run, SecretSpec, revision,
};
pub use bound::Bound;
pub use collect::{Collect, Contribution};
pub use config::Config;
pub use control::{
    ApplyAnswer, ApplyAsk, Change, ChangeKind, Effect, EnrollAnswer, EnrollAsk, FactsAnswer, Listed, Listing,
    NodeFacts, NodeTold, PART, PlanTold, StatusAnswer, UploadAnswer, UploadAsk,
};
pub use credential::{ConsumersRecord, CredentialRecord, CredentialVersion};
pub use delivery::{ConsumerCredentials, ConsumersAnswer, ConsumersAsk, Delivered, SecretAnswer, SecretAsk};
pub use escrow::{
    ConfirmEscrowAnswer, ConfirmEscrowAsk, EscrowAnswer, EscrowLabel, EscrowState, Escrowed, EscrowedAnswer,
    EscrowedAsk,
};
pub use join::{InviteAnswer, InviteAsk, Invitee, JoinAnswer, JoinAsk};
pub use need::{NeedRecord, NeedState};
pub use plan::{Placement, PlanRecord};
pub use provisioning::{Misshapen, NotAWhat, ProvisioningAnswer, ProvisioningAsk, What};
pub use registry::{Registration, Source};
pub use rotation::{BetweenTold, RotateAnswer, RotateAsk, RotateOrder, RotationState, RotationTold};
pub use timestamp::Timestamp;
pub use vault::{
    ListAnswer, ListAsk, PinAnswer, PinAsk, PutAnswer, PutAsk, RecipientsAnswer, RecipientsAsk, VaultEntry,
    VaultOrigin, VaultState,
};

use serde::{Deserialize, Serialize};

/// The version of a value's shape: one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct V1;

impl TryFrom<u32> for V1 {
    type Error = String;

    fn try_from(version: u32) -> Result<Self, String> {
        match version {
            1 => Ok(Self),
            other => Err(format!("this value is of version {other}, and this program reads version 1")),
        }
    }
}

impl From<V1> for u32 {
    fn from(_: V1) -> u32 {
        1
    }
}

#[cfg(test)]
mod tests;
