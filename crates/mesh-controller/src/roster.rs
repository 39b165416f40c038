//! Who has joined: nodes and operators, what nodes tell of their machines, and what each account may do at the moment.
//!
//! Start at [`Roster::open`]; how somebody comes to be in it is in `roster/join.rs`. Kept in a bucket that is the
//! controller's alone, an entry each, written by compare-and-set: whoever takes the seat reads it anew ([`Roster::load`]).
//! An account must exist before anybody can sign in to it, so whoever is let in is handed to the server with the least that
//! one of them may, where the server does not have the account yet. After that the mirror alone gives grants.
//!
//! An account that ends leaves an entry that says how often it has: so nothing that was signed before ever counts again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mesh_bus::accounts::{Accounts, AccountsError};
use mesh_bus::authority::{Authority, Clock, Standing};
use mesh_bus::grants::{Grants, NodeReach, OperatorReach, Right};
use mesh_bus::kv::KvError;
use mesh_bus::mirror::MirrorError;
use mesh_bus::seat::Tenure;
use mesh_bus::{Account, Bus};
use mesh_model::name::{NodeName, OperatorName};
use mesh_model::wire::{Invitee, NodeFacts, Timestamp};
use thiserror::Error;
use time::OffsetDateTime;
use tokio::sync::{Mutex, watch};

mod join;
mod record;
mod shelf;

pub use join::{Entrance, JoinError};
pub use record::Node;

use record::{Invited, Operator};
use shelf::{Key, Shelf};

/// Why somebody could not be let in, or is not known.
#[derive(Debug, Error)]
pub enum RosterError {
    /// The roster could not be read.
    #[error("cannot read who has joined")]
    Read(#[from] MirrorError),
    /// An entry could not be written.
    #[error("cannot keep who has joined")]
    Write(#[from] KvError),
    /// An entry does not say what it should.
    #[error("{key} of the roster is not what the controller wrote")]
    Shape {
        /// The entry.
        key: String,
        /// Why not.
        #[source]
        source: serde_json::Error,
    },
    /// It has joined with another key.
    #[error("`{account}` has joined with another key")]
    OtherKey {
        /// Who.
        account: String,
    },
    /// The server does not take the account.
    #[error(transparent)]
    Accounts(#[from] AccountsError),
}

#[derive(Debug, Default)]
struct State {
    nodes: BTreeMap<NodeName, Node>,
    operators: BTreeMap<OperatorName, Operator>,
    invited: BTreeMap<Invitee, Invited>,
    granted: BTreeMap<Account, Vec<Right>>,
}

/// Who has joined.
#[derive(Debug)]
pub struct Roster {
    shelf: Shelf,
    authority: Arc<Authority>,
    accounts: Accounts,
    clock: Clock,
    state: Mutex<State>,
    changes: watch::Sender<u64>,
}

impl Roster {
    /// Reads who has joined. The connection is that of the controller.
    ///
    /// # Errors
    /// Where the bucket cannot be read, or an entry of it is not ours.
    pub async fn open(
        bus: &Bus,
        authority: Arc<Authority>,
        accounts: Accounts,
        clock: Clock,
    ) -> Result<Self, RosterError> {
        let (state, changes) = (Mutex::default(), watch::channel(0).0);
        let roster = Self { shelf: Shelf::new(bus), authority, accounts, clock, state, changes };
        roster.load().await?;
        Ok(roster)
    }

    /// The seat is held: from now on the roster is written behind its fence. Before that, whoever has the keys may let
    /// somebody in by compare-and-set alone.
    pub(crate) fn take(&self, tenure: &Tenure) {
        self.shelf.take(tenure);
    }

    /// Reads it anew: somebody else may have held the seat meanwhile. What was begun and not finished is finished.
    ///
    /// # Errors
    /// Where the bucket cannot be read, an entry of it is not ours, or something cannot be finished.
    pub async fn load(&self) -> Result<(), RosterError> {
        let mut state = self.state.lock().await;
        let granted = std::mem::take(&mut state.granted);
        *state = State { granted, ..State::default() };
        for (key, value) in self.shelf.all().await? {
            match key {
                Key::Node(name) => drop(state.nodes.insert(name, shelf::read(&value)?)),
                Key::Operator(name) => drop(state.operators.insert(name, shelf::read(&value)?)),
                Key::Invited(invitee) => drop(state.invited.insert(invitee, shelf::read(&value)?)),
            }
        }
        for (name, node) in &state.nodes {
            let standing = Standing { epoch: node.epoch, revoked: Vec::new() };
            self.authority.set_standing(&Account::Node(name.clone()), standing);
        }
        let ending: Vec<NodeName> =
            state.nodes.iter().filter(|(_, node)| node.ending).map(|(name, _)| name.clone()).collect();
        for name in ending {
            self.end_node(&mut state, &name).await?;
        }
        self.changes.send_modify(|changes| *changes += 1);
        Ok(())
    }

    /// Lets a node in by its key; returns the token of the key. Again with the same key changes nothing.
    ///
    /// # Errors
    /// [`RosterError::OtherKey`] where it has joined with another one; or where it cannot be kept or handed over.
    pub async fn admit_node(&self, name: &NodeName, user: &str) -> Result<String, RosterError> {
        let mut state = self.state.lock().await;
        self.let_node_in(&mut state, name, user).await
    }

    async fn let_node_in(
        &self,
        state: &mut State,
        name: &NodeName,
        user: &str,
    ) -> Result<String, RosterError> {
        let account = Account::Node(name.clone());
        let known = state.nodes.get(name).cloned();
        match known.as_ref().and_then(|node| node.user.as_deref()) {
            Some(has) if has == user => {}
            Some(_) => return Err(RosterError::OtherKey { account: account.to_string() }),
            None => {
                let node = Node { user: Some(user.to_owned()), ..known.unwrap_or_default() };
                self.shelf.write(&Key::Node(name.clone()), &node).await?;
                state.nodes.insert(name.clone(), node);
                self.changes.send_modify(|changes| *changes += 1);
            }
        }
        self.stand(state, Grants::of_node(name, &NodeReach::default())).await?;
        Ok(self.authority.admit(&account, user, None))
    }

    /// Takes a node off: its account ends at once, with all that was signed for it, and it may join anew. One that never
    /// joined is taken off as well.
    ///
    /// # Errors
    /// Where it cannot be kept, or the server cannot be asked: asking again, or the next start, finishes it.
    pub async fn remove_node(&self, name: &NodeName) -> Result<(), RosterError> {
        let mut state = self.state.lock().await;
        let epoch = self.authority.standing(&Account::Node(name.clone())).epoch;
        let node = Node { epoch, ending: true, ..Node::default() };
        self.shelf.write(&Key::Node(name.clone()), &node).await?;
        state.nodes.insert(name.clone(), node);
        self.end_node(&mut state, name).await
    }

    /// Ends an account whose entry says that it is to end.
    async fn end_node(&self, state: &mut State, name: &NodeName) -> Result<(), RosterError> {
        let account = Account::Node(name.clone());
        self.accounts.remove(&account).await?;
        state.granted.remove(&account);
        let Standing { epoch, .. } = self.authority.standing(&account);
        let node = Node { epoch, ..Node::default() };
        self.shelf.write(&Key::Node(name.clone()), &node).await?;
        state.nodes.insert(name.clone(), node);
        self.changes.send_modify(|changes| *changes += 1);
        Ok(())
    }

    /// Lets an operator in by a key of theirs, until a moment; returns the token of the key.
    ///
    /// # Errors
    /// Where it cannot be kept or handed over.
    pub async fn admit_operator(
        &self,
        name: &OperatorName,
        user: &str,
        until: Option<OffsetDateTime>,
    ) -> Result<String, RosterError> {
        let mut state = self.state.lock().await;
        self.let_operator_in(&mut state, name, user, until).await
    }

    async fn let_operator_in(
        &self,
        state: &mut State,
        name: &OperatorName,
        user: &str,
        until: Option<OffsetDateTime>,
    ) -> Result<String, RosterError> {
        if !state.operators.contains_key(name) {
            let operator = Operator::default();
            self.shelf.write(&Key::Operator(name.clone()), &operator).await?;
            state.operators.insert(name.clone(), operator);
            self.changes.send_modify(|changes| *changes += 1);
        }
        self.stand(state, Grants::of_operator(name, &OperatorReach::default())).await?;
        Ok(self.authority.admit(&Account::Operator(name.clone()), user, until))
    }

    /// Keeps what a node tells of its machine. When it told it is kept in memory alone.
    ///
    /// # Errors
    /// Where it cannot be kept.
    pub async fn note_facts(&self, name: &NodeName, facts: NodeFacts) -> Result<(), RosterError> {
        let mut state = self.state.lock().await;
        self.note(&mut state, name, facts).await
    }

    async fn note(&self, state: &mut State, name: &NodeName, facts: NodeFacts) -> Result<(), RosterError> {
        let joins = !state.nodes.get(name).is_some_and(Node::is_there);
        let mut node = state.nodes.get(name).cloned().unwrap_or_default();
        if node.epoch > 0 && node.user.is_none() {
            // Asked before it was taken off, and answered after: it has to join anew.
            return Ok(());
        }
        node.seen = Some(Timestamp::new((self.clock)()));
        if node.facts.as_ref() != Some(&facts) {
            node.facts = Some(facts);
            self.shelf.write(&Key::Node(name.clone()), &node).await?;
        }
        state.nodes.insert(name.clone(), node);
        if joins {
            self.changes.send_modify(|changes| *changes += 1);
        }
        Ok(())
    }

    /// The nodes that have joined.
    pub async fn nodes(&self) -> BTreeMap<NodeName, Node> {
        let state = self.state.lock().await;
        let there = state.nodes.iter().filter(|(_, node)| node.is_there());
        there.map(|(name, node)| (name.clone(), node.clone())).collect()
    }

    /// The names of the operators who were let in.
    pub async fn operators(&self) -> BTreeSet<OperatorName> {
        self.state.lock().await.operators.keys().cloned().collect()
    }

    /// Gives an account exactly these grants.
    ///
    /// # Errors
    /// Where the server does not take them.
    pub async fn grant(&self, grants: &Grants) -> Result<(), RosterError> {
        let mut state = self.state.lock().await;
        self.accounts.push(grants).await?;
        state.granted.insert(grants.account.clone(), grants.rights.clone());
        Ok(())
    }

    /// What was granted since this program started.
    pub async fn granted(&self) -> BTreeMap<Account, Vec<Right>> {
        self.state.lock().await.granted.clone()
    }

    /// Forgets what was granted, so that each account is handed over again: the server may have lost it.
    pub async fn forget_granted(&self) {
        let mut state = self.state.lock().await;
        state.granted.clear();
        self.accounts.forget_pushed().await;
    }

    /// Changes when somebody joins, or ends.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Hands an account that the server does not have to it.
    async fn stand(&self, state: &mut State, least: Grants) -> Result<(), RosterError> {
        if !state.granted.contains_key(&least.account)
            && self.accounts.stand(&least).await? == mesh_bus::accounts::Pushed::Changed
        {
            state.granted.insert(least.account, least.rights);
        }
        Ok(())
    }
}
