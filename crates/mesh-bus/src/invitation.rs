//! An invitation to join, as one text that is handed from a person to a machine or to another person.
//!
//! It holds where the bus is, what the bus and the vault are known by, and a one-time key with an account of its own that
//! may ask one question ([`Invitation::accept`]). So it is a secret for as long as it is good. Made by whoever invites:
//! only the public half of the key is shown to the controller, which signs it.
//!
//! Whether it is used, over or replaced, the controller says; here is what can be seen without asking.

use std::path::Path;
use std::time::Duration;

use data_encoding::BASE64URL_NOPAD;
use mesh_model::name::MeshName;
use mesh_model::wire::{InviteAnswer, Invitee, JoinAnswer, JoinAsk, NodeFacts, Timestamp, V1};
use mesh_seal::{KeyId, VerifyingKey};
use serde::{Deserialize, Serialize};
use thiserror::Error;
use zeroize::Zeroizing;

use crate::account::Account;
use crate::address::Address;
use crate::client::{Bus, ConnectError, FirstTry};
use crate::creds::{Creds, UserKey};
use crate::tls::{self, Fingerprint, LookError};
use crate::verb::{AskError, ask_within};

/// How the text begins.
const PREFIX: &str = "mesh1-";
/// How many bytes of a digest follow what it says, so that one that is mistyped is told from one that is false.
const CHECK: usize = 4;
/// How long the answer may take: an account is handed to the server meanwhile.
const PATIENCE: Duration = Duration::from_secs(10);

/// An invitation.
#[derive(Clone)]
pub struct Invitation {
    /// The mesh.
    pub mesh: MeshName,
    /// Who is invited.
    pub invitee: Invitee,
    /// Where the bus is.
    pub urls: Vec<String>,
    /// What the certificate of the mesh's authority is known by.
    pub ca: Fingerprint,
    /// What the vault's signing key is known by.
    pub signer: KeyId,
    /// Until when it is good, by the controller's clock.
    pub until: Timestamp,
    creds: Creds,
}

impl std::fmt::Debug for Invitation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Invitation")
            .field("mesh", &self.mesh)
            .field("creds", &self.creds)
            .finish_non_exhaustive()
    }
}

/// A text is no invitation.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum InvitationError {
    /// It does not begin as one.
    #[error("this is no token of mesh: one begins with `{PREFIX}`")]
    Other,
    /// It is cut off, or mistyped.
    #[error("the token is not whole: it was cut off, or mistyped")]
    NotWhole,
    /// Its parts do not belong together.
    #[error("the token is forged: {why}")]
    Forged {
        /// What does not fit.
        why: &'static str,
    },
}

/// What it says.
#[derive(Serialize, Deserialize)]
struct Says {
    v: V1,
    mesh: MeshName,
    #[serde(flatten)]
    invitee: Invitee,
    urls: Vec<String>,
    ca: Fingerprint,
    signer: KeyId,
    until: Timestamp,
    seed: Zeroizing<String>,
    token: String,
}

/// Why nobody was let in by it.
#[derive(Debug, Error)]
pub enum AcceptError {
    /// The bus is not there, or is not the mesh's.
    #[error(transparent)]
    Look(#[from] LookError),
    /// The authority's certificate could not be kept.
    #[error("cannot keep the certificate of the mesh's authority")]
    Keep(#[from] crate::keep::KeepError),
    /// The bus is there, and does not know the token.
    #[error("the bus of `{mesh}` does not know the token: it is forged, or was taken back")]
    Unknown {
        /// The mesh.
        mesh: MeshName,
        /// What the bus said.
        #[source]
        source: ConnectError,
    },
    /// The bus cannot be connected to.
    #[error("cannot join")]
    Connect(#[source] ConnectError),
    /// The controller is not there, or refuses.
    #[error(transparent)]
    Ask(#[from] AskError),
    /// The vault is not the one that the token names.
    #[error("the vault's signing key is {shown}, and the token names {}", named)]
    Signer {
        /// What was shown.
        shown: KeyId,
        /// What the token says.
        named: KeyId,
    },
}

impl Invitation {
    /// Puts together what the controller answered, and the key that was made before.
    #[must_use]
    pub fn new(invitee: Invitee, answer: InviteAnswer<Fingerprint, KeyId>, key: UserKey) -> Self {
        let InviteAnswer { mesh, urls, ca, signer, token, until, .. } = answer;
        let creds = Creds::new(Account::Invited(invitee.clone()), token, key);
        Self { mesh, invitee, urls, ca, signer, until, creds }
    }

    /// The text. It is a secret for as long as it is good.
    #[must_use]
    pub fn to_text(&self) -> Zeroizing<String> {
        let says = Says {
            v: V1,
            mesh: self.mesh.clone(),
            invitee: self.invitee.clone(),
            urls: self.urls.clone(),
            ca: self.ca.clone(),
            signer: self.signer.clone(),
            until: self.until,
            seed: Zeroizing::new(self.creds.key().seed().to_owned()),
            token: self.creds.token().to_owned(),
        };
        let mut bytes = Zeroizing::new(serde_json::to_vec(&says).expect("plain data serializes"));
        let check = check(&bytes);
        bytes.extend(check);
        Zeroizing::new(format!("{PREFIX}{}", *Zeroizing::new(BASE64URL_NOPAD.encode(&bytes))))
    }

    /// Reads the text; white space in it is passed over, so that a line that a terminal broke does no harm.
    ///
    /// # Errors
    /// Where it is none, is not whole, or its parts do not belong together.
    pub fn from_text(text: &str) -> Result<Self, InvitationError> {
        let text: Zeroizing<String> = Zeroizing::new(text.split_whitespace().collect());
        let base64 = text.strip_prefix(PREFIX).ok_or(InvitationError::Other)?;
        let bytes = BASE64URL_NOPAD.decode(base64.as_bytes()).map(Zeroizing::new);
        let bytes = bytes.map_err(|_| InvitationError::NotWhole)?;
        let (says, checked) =
            bytes.len().checked_sub(CHECK).map(|end| bytes.split_at(end)).ok_or(InvitationError::NotWhole)?;
        if check(says) != *checked {
            return Err(InvitationError::NotWhole);
        }
        let forged = |why| InvitationError::Forged { why };
        let says: Says = serde_json::from_slice(says).map_err(|_| forged("it cannot be read"))?;
        let key = UserKey::from_seed(&says.seed).map_err(|_| forged("its key is none"))?;
        let Says { mesh, invitee, urls, ca, signer, until, token, .. } = says;
        let creds = Creds::new(Account::Invited(invitee.clone()), token, key);
        if creds.says_who().as_ref() != Some(creds.account()) {
            return Err(forged("it was signed for somebody else than it says"));
        }
        Ok(Self { mesh, invitee, urls, ca, signer, until, creds })
    }

    /// Asks to be let in by the key of this public half; a machine tells of itself. The certificate of the mesh's authority is kept in a file first.
    /// Asking again by the same key is answered the same.
    ///
    /// # Errors
    /// Where the bus cannot be reached or is not the mesh's, or the controller refuses.
    pub async fn accept(
        &self,
        user: &str,
        facts: Option<NodeFacts>,
        ca: &Path,
    ) -> Result<JoinAnswer<VerifyingKey>, AcceptError> {
        let at = Address { urls: self.urls.clone(), ca: Some(ca.to_owned()) };
        let pem = tls::look(&at, &self.ca).await?;
        if let Some(folder) = ca.parent() {
            crate::keep::folder(folder)?;
        }
        crate::keep::write(ca, &pem)?;
        let bus = Bus::connect(&at, &self.creds, FirstTry::Fails).await;
        let bus = bus.map_err(|error| match error.is_refused() {
            true => AcceptError::Unknown { mesh: self.mesh.clone(), source: error },
            false => AcceptError::Connect(error),
        })?;
        let proof = self.creds.key().prove(&claim(&self.invitee, user));
        let ask = JoinAsk { invitation: self.creds.key().public(), user: user.to_owned(), proof, facts };
        let answer = ask_within(&bus, PATIENCE, "mesh-controller.join", &ask).await;
        bus.close().await;
        let answer: JoinAnswer<VerifyingKey> = answer?;
        let shown = answer.signer.id();
        if shown != self.signer {
            return Err(AcceptError::Signer { shown, named: self.signer.clone() });
        }
        Ok(answer)
    }
}

/// What the one-time key signs: who is to be let in, by which key.
#[must_use]
pub fn claim(invitee: &Invitee, user: &str) -> String {
    format!("mesh join v1 {} {user}", Account::of(invitee))
}

fn check(says: &[u8]) -> [u8; CHECK] {
    let mut check = [0; CHECK];
    blake3::Hasher::new_derive_key("mesh-bus 2026-01-01 invitation check v1")
        .update(says)
        .finalize_xof()
        .fill(&mut check);
    check
}

#[cfg(test)]
mod tests;
