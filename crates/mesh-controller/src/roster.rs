//! Who has joined: nodes and operators, what nodes tell of their machines, and what each account may do at the moment.
//!
//! Start at [`Roster::open`]. Kept in the controller's folder, one file each. An account must exist before anybody can sign in to it,
//! so the first [`Roster::admit_node`] hands it to the server, with the grants of a node that runs nothing. After that the
//! mirror alone gives grants: at a start the server has those of before, and letting in again takes nothing away.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use mesh_bus::Account;
use mesh_bus::accounts::{Accounts, AccountsError};
use mesh_bus::authority::{Authority, AuthorityError, Clock};
use mesh_bus::grants::{Grants, NodeReach, OperatorReach, Right};
use mesh_model::name::{NodeName, OperatorName};
use mesh_model::wire::{NodeFacts, Timestamp, V1};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use time::OffsetDateTime;
use tokio::sync::{Mutex, watch};

use crate::keep;

/// Why somebody could not be let in, or is not known.
#[derive(Debug, Error)]
pub enum RosterError {
    /// A file could not be used.
    #[error("cannot {doing} {}", path.display())]
    Keep {
        /// What was being done.
        doing: &'static str,
        /// To which path.
        path: PathBuf,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// A file does not say what it should.
    #[error("{} is not what the controller wrote", path.display())]
    Shape {
        /// The file.
        path: PathBuf,
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
    /// The token could not be signed.
    #[error(transparent)]
    Authority(#[from] AuthorityError),
    /// The server does not take the account.
    #[error(transparent)]
    Accounts(#[from] AccountsError),
}

/// A node that has joined, or that has told of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    v: V1,
    /// The public half of its bus key (`U…`); absent where it was let in by somebody else, and told its facts.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub user: Option<String>,
    /// What it told of its machine.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub facts: Option<NodeFacts>,
    /// When it last did.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub seen: Option<Timestamp>,
}

/// An operator who was let in. By which keys is not kept: each is signed by itself, with its own end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Operator {
    v: V1,
}

#[derive(Debug, Default)]
struct State {
    nodes: BTreeMap<NodeName, Node>,
    operators: BTreeMap<OperatorName, Operator>,
    granted: BTreeMap<Account, Vec<Right>>,
}

/// Who has joined.
#[derive(Debug)]
pub struct Roster {
    folder: PathBuf,
    authority: Arc<Authority>,
    accounts: Accounts,
    clock: Clock,
    state: Mutex<State>,
    changes: watch::Sender<u64>,
}

impl Roster {
    /// Reads who has joined from a folder, which is made where it is not there.
    ///
    /// # Errors
    /// Where the folder or a file of it cannot be used.
    pub fn open(
        folder: &Path,
        authority: Arc<Authority>,
        accounts: Accounts,
        clock: Clock,
    ) -> Result<Self, RosterError> {
        let state = State {
            nodes: read_all(&folder.join("nodes"))?,
            operators: read_all(&folder.join("operators"))?,
            granted: BTreeMap::new(),
        };
        let (folder, state, changes) = (folder.to_owned(), Mutex::new(state), watch::channel(0).0);
        Ok(Self { folder, authority, accounts, clock, state, changes })
    }

    /// Lets a node in by its key; returns the token of the key. Again with the same key changes nothing.
    ///
    /// # Errors
    /// [`RosterError::OtherKey`] where it has joined with another one; or where it cannot be kept, signed or handed over.
    pub async fn admit_node(&self, name: &NodeName, user: &str) -> Result<String, RosterError> {
        let mut state = self.state.lock().await;
        let account = Account::Node(name.clone());
        let known = state.nodes.get(name).cloned();
        match known.as_ref().and_then(|node| node.user.as_deref()) {
            Some(has) if has == user => {}
            Some(_) => return Err(RosterError::OtherKey { account: account.to_string() }),
            None => {
                let node = known.unwrap_or(Node { v: V1, user: None, facts: None, seen: None });
                let node = Node { user: Some(user.to_owned()), ..node };
                self.write("nodes", name.as_str(), &node)?;
                if !state.granted.contains_key(&account) {
                    self.stand(&mut state, Grants::of_node(name, &NodeReach::default())).await?;
                }
                state.nodes.insert(name.clone(), node);
                self.changes.send_modify(|changes| *changes += 1);
            }
        }
        Ok(self.authority.admit(&account, user, None)?)
    }

    /// Takes a node off: its account ends at once, with all that was signed for it, and it may join anew.
    ///
    /// # Errors
    /// Where the server cannot be asked, or a file cannot be removed.
    pub async fn remove_node(&self, name: &NodeName) -> Result<(), RosterError> {
        let mut state = self.state.lock().await;
        let account = Account::Node(name.clone());
        self.accounts.remove(&account).await?;
        state.granted.remove(&account);
        let path = self.path("nodes", name.as_str());
        match fs::remove_file(&path) {
            Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                return Err(RosterError::Keep { doing: "remove", path, source });
            }
            _ => drop(state.nodes.remove(name)),
        }
        self.changes.send_modify(|changes| *changes += 1);
        Ok(())
    }

    /// Lets an operator in by a key of theirs, until a moment; returns the token of the key.
    ///
    /// # Errors
    /// Where it cannot be kept, signed or handed over.
    pub async fn admit_operator(
        &self,
        name: &OperatorName,
        user: &str,
        until: Option<OffsetDateTime>,
    ) -> Result<String, RosterError> {
        let mut state = self.state.lock().await;
        if !state.operators.contains_key(name) {
            let operator = Operator { v: V1 };
            self.write("operators", name.as_str(), &operator)?;
            self.stand(&mut state, Grants::of_operator(name, &OperatorReach::default())).await?;
            state.operators.insert(name.clone(), operator);
            self.changes.send_modify(|changes| *changes += 1);
        }
        Ok(self.authority.admit(&Account::Operator(name.clone()), user, until)?)
    }

    /// Keeps what a node tells of its machine. When it told it is kept in memory alone.
    ///
    /// # Errors
    /// Where it cannot be kept.
    pub async fn note_facts(&self, name: &NodeName, facts: NodeFacts) -> Result<(), RosterError> {
        let mut state = self.state.lock().await;
        let joins = !state.nodes.contains_key(name);
        let nobody = Node { v: V1, user: None, facts: None, seen: None };
        let node = state.nodes.entry(name.clone()).or_insert(nobody);
        node.seen = Some(Timestamp::new((self.clock)()));
        if node.facts.as_ref() != Some(&facts) {
            node.facts = Some(facts);
            let node = node.clone();
            self.write("nodes", name.as_str(), &node)?;
        }
        if joins {
            self.changes.send_modify(|changes| *changes += 1);
        }
        Ok(())
    }

    /// The nodes that have joined.
    pub async fn nodes(&self) -> BTreeMap<NodeName, Node> {
        self.state.lock().await.nodes.clone()
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

    /// Changes when somebody joins.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Hands a new account to the server.
    async fn stand(&self, state: &mut State, least: Grants) -> Result<(), RosterError> {
        self.accounts.push(&least).await?;
        state.granted.insert(least.account, least.rights);
        Ok(())
    }

    fn path(&self, folder: &str, name: &str) -> PathBuf {
        self.folder.join(folder).join(format!("{name}.json"))
    }

    fn write<T: Serialize>(&self, folder: &str, name: &str, value: &T) -> Result<(), RosterError> {
        let path = self.path(folder, name);
        let text = serde_json::to_vec(value).expect("plain data serializes");
        keep::write(&path, &text).map_err(|source| RosterError::Keep { doing: "write", path, source })
    }
}

/// Every `<name>.json` of a folder.
fn read_all<K: FromStr + Ord, T: DeserializeOwned>(folder: &Path) -> Result<BTreeMap<K, T>, RosterError> {
    let failed = |doing, path: &Path| {
        let path = path.to_owned();
        move |source| RosterError::Keep { doing, path, source }
    };
    keep::folder(folder).map_err(failed("make the folder", folder))?;
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).map_err(failed("read", folder))? {
        let path = entry.map_err(failed("read", folder))?.path();
        let name = path.extension().filter(|extension| *extension == "json").and_then(|_| path.file_stem());
        let Some(name) = name.and_then(|name| name.to_str()?.parse().ok()) else { continue };
        let text = fs::read(&path).map_err(failed("read", &path))?;
        let value = serde_json::from_slice(&text).map_err(|source| RosterError::Shape { path, source })?;
        all.insert(name, value);
    }
    Ok(all)
}
