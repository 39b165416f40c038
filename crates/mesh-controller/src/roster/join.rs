//! How somebody comes to be in the roster: they are invited by an operator, and ask to be let in by the one-time key that
//! this made. Nodes and operators go one way.
//!
//! An invitation is used by one key. That key may ask again until the invitation is over, since the answer may have been
//! lost; another is refused. Why somebody is refused is said by name, which is why the one-time key's own token outlives the
//! invitation: whoever comes late can still be told.

use mesh_bus::Account;
use mesh_bus::creds::{has_proved, is_user};
use mesh_bus::grants::Grants;
use mesh_bus::invitation::claim;
use mesh_bus::tls::Fingerprint;
use mesh_model::name::MeshName;
use mesh_model::wire::{InviteAnswer, InviteAsk, Invitee, JoinAnswer, JoinAsk, Timestamp, V1};
use mesh_seal::{KeyId, VerifyingKey};
use thiserror::Error;
use time::Duration;

use super::record::Invited;
use super::shelf::Key;
use super::{Roster, RosterError, State};

/// How long an invitation is good.
const GOOD: Duration = Duration::hours(1);
/// How much longer the bus knows its key, so that it can be said that it is over. Clocks may differ by as much.
const KNOWN: Duration = Duration::hours(23);

/// What somebody who joins has to know of the mesh, and what it is known by to them before.
#[derive(Debug, Clone)]
pub struct Entrance {
    /// The mesh.
    pub mesh: MeshName,
    /// Where others reach the bus.
    pub urls: Vec<String>,
    /// What the certificate of the mesh's authority is known by.
    pub ca: Fingerprint,
    /// The key that the vault signs with.
    pub signer: VerifyingKey,
}

/// Why somebody is not let in.
#[derive(Debug, Error)]
pub enum JoinError {
    /// There is no invitation for them.
    #[error("`{0}` is not invited")]
    NotInvited(String),
    /// There is a newer one.
    #[error("the token is not the last that was given for `{0}`")]
    Replaced(String),
    /// Whoever asks does not have its key.
    #[error("the token is forged: whoever asks does not have its key")]
    Forged,
    /// It is over.
    #[error("the token was good until {until}, and it is {now} here")]
    Expired {
        /// Until when it was good.
        until: Timestamp,
        /// What time it is.
        now: Timestamp,
    },
    /// Another key was let in by it.
    #[error("the token has been used, by another key")]
    Used,
    /// They could not be let in.
    #[error(transparent)]
    Roster(#[from] RosterError),
}

impl Roster {
    /// Invites somebody: lets the one-time key of this public half ask to join. The invitation of before is replaced.
    ///
    /// # Errors
    /// Where it cannot be kept or handed over.
    pub async fn invite(
        &self,
        ask: &InviteAsk,
        entrance: &Entrance,
    ) -> Result<InviteAnswer<Fingerprint, KeyId>, RosterError> {
        let InviteAsk { invitee, user } = ask;
        let mut state = self.state.lock().await;
        let until = Timestamp::new((self.clock)() + GOOD);
        let invited = Invited { v: V1, user: user.clone(), until, used: None };
        self.shelf.write(&Key::Invited(invitee.clone()), &invited).await?;
        state.invited.insert(invitee.clone(), invited);
        self.accounts.stand(&Grants::of_invited(invitee)).await?;
        let token =
            self.authority.admit(&Account::Invited(invitee.clone()), user, Some(until.moment() + KNOWN));
        Ok(InviteAnswer {
            v: V1,
            mesh: entrance.mesh.clone(),
            urls: entrance.urls.clone(),
            ca: entrance.ca.clone(),
            signer: entrance.signer.id(),
            token,
            until,
            joined: state.has_joined(invitee),
        })
    }

    /// Lets somebody in who was invited, by the key that they made.
    ///
    /// # Errors
    /// Where the invitation is not good for that, or they cannot be let in.
    pub async fn join(
        &self,
        invitee: &Invitee,
        ask: &JoinAsk,
        entrance: &Entrance,
    ) -> Result<JoinAnswer<VerifyingKey>, JoinError> {
        let mut state = self.state.lock().await;
        let name = Account::of(invitee).to_string();
        let Some(invited) = state.invited.get(invitee).cloned() else {
            return Err(JoinError::NotInvited(name));
        };
        if invited.user != ask.invitation {
            return Err(JoinError::Replaced(name));
        }
        if !is_user(&ask.user) || !has_proved(&invited.user, &claim(invitee, &ask.user), &ask.proof) {
            return Err(JoinError::Forged);
        }
        if invited.used.as_ref().is_some_and(|used| *used != ask.user) {
            return Err(JoinError::Used);
        }
        let (until, now) = (invited.until, Timestamp::new((self.clock)()));
        if now > until {
            return Err(JoinError::Expired { until, now });
        }
        if invited.used.is_none() {
            let used = Invited { used: Some(ask.user.clone()), ..invited };
            self.shelf.write(&Key::Invited(invitee.clone()), &used).await.map_err(RosterError::from)?;
            state.invited.insert(invitee.clone(), used);
        }
        let token = match invitee {
            Invitee::Node(node) => {
                let token = self.let_node_in(&mut state, node, &ask.user).await?;
                if let Some(facts) = ask.facts.clone().filter(|facts| facts.root.starts_with('/')) {
                    self.note(&mut state, node, facts).await?;
                }
                token
            }
            Invitee::Operator(name) => self.let_operator_in(&mut state, name, &ask.user, None).await?,
        };
        let Entrance { mesh, urls, signer, .. } = entrance.clone();
        Ok(JoinAnswer { v: V1, mesh, token, urls, signer })
    }
}

impl State {
    fn has_joined(&self, invitee: &Invitee) -> bool {
        match invitee {
            Invitee::Node(node) => self.nodes.get(node).is_some_and(|node| node.user.is_some()),
            Invitee::Operator(name) => self.operators.contains_key(name),
        }
    }
}
