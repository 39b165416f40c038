//! The keys that everything on the bus hangs from: the operator's, and each account's.
//!
//! Start at [`Authority::open`]: it makes three keys at the first start (the operator's, the system account's, that of
//! `BUS`) and keeps them, one file of mode 0600 each, in a folder. The key of any other account follows from the operator's
//! and from how often that account has ended ([`Standing::epoch`]), so that whoever has the three keys can stand in, and
//! nothing that was signed for an account of before comes back. Tokens are not kept: they follow from the keys and from
//! what is granted, and are signed anew at each start, so that a newer program's grants take effect.
//!
//! How accounts stand is told to this ([`Authority::set_standing`]) by whoever keeps it.
//!
//! What a node's own key is, this never knows: a node makes its user key itself and has its public half
//! signed ([`Authority::admit`]).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use nkeys::{KeyPair, KeyPairType};
use thiserror::Error;
use time::OffsetDateTime;
use zeroize::Zeroizing;

use crate::account::Account;
use crate::creds::{Creds, UserKey};
use crate::grants;
use crate::jwt::{self, AccountClaims, Import, JetStream, Limits, Permissions, Revocation};
use crate::keep::{self, KeepError};

/// What time it is: the caller's clock.
pub type Clock = fn() -> OffsetDateTime;

/// Why the keys could not be opened, or somebody not be let in.
#[derive(Debug, Error)]
pub enum AuthorityError {
    /// A file could not be used.
    #[error(transparent)]
    Keep(#[from] KeepError),
    /// A file of the folder does not hold the key that it should.
    #[error("{} does not hold a key of the kind it should", path.display())]
    Key {
        /// The file.
        path: PathBuf,
    },
    /// A key is gone, and what it signed is there.
    #[error("{} is gone, and everybody on the bus hangs from it: put it back", path.display())]
    Gone {
        /// The file.
        path: PathBuf,
    },
}

/// What is said when all keys have been made: from then on none is made again.
const MADE: &str = "made";

/// How an account stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Standing {
    /// How often it has ended. The one of the next epoch is another account, of the same name.
    pub epoch: u64,
    /// Its users whose tokens count no more.
    pub revoked: Vec<Revocation>,
}

/// The signer of accounts and users.
pub struct Authority {
    clock: Clock,
    operator: KeyPair,
    system: KeyPair,
    bus: KeyPair,
    standings: Mutex<BTreeMap<Account, Standing>>,
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Authority").finish_non_exhaustive()
    }
}

impl Authority {
    /// Opens the keys in a folder, and makes them where there are none. One that is gone is not made again: all that is on
    /// the bus belongs to it.
    ///
    /// # Errors
    /// Where the folder or a file cannot be used, or does not hold a key.
    pub fn open(folder: &Path, clock: Clock) -> Result<Self, AuthorityError> {
        keep::folder(folder)?;
        let made = folder.join(MADE);
        let are_made = keep::is_there(&made)?;
        let key = |name: &str, kind| {
            let path = folder.join(name);
            match are_made && !keep::is_there(&path)? {
                true => Err(AuthorityError::Gone { path }),
                false => open_key(&path, kind),
            }
        };
        let operator = key("operator.nk", KeyPairType::Operator)?;
        let system = key("system.nk", KeyPairType::Account)?;
        let bus = key("bus.nk", KeyPairType::Account)?;
        if !are_made {
            keep::write(&made, "The keys beside this file are not made again.\n")?;
        }
        Ok(Self { clock, operator, system, bus, standings: Mutex::default() })
    }

    /// How an account stands.
    #[must_use]
    pub fn standing(&self, account: &Account) -> Standing {
        self.standings
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(account)
            .cloned()
            .unwrap_or_default()
    }

    /// Says how an account stands, as it was kept.
    pub fn set_standing(&self, account: &Account, standing: Standing) {
        self.standings.lock().unwrap_or_else(PoisonError::into_inner).insert(account.clone(), standing);
    }

    fn now(&self) -> i64 {
        (self.clock)().unix_timestamp()
    }

    fn account_key(&self, account: &Account) -> KeyPair {
        let operator =
            Zeroizing::new(self.operator.seed().expect("it was made with its seed, or read from it"));
        let mut seed = Zeroizing::new([0; 32]);
        blake3::Hasher::new_derive_key("mesh-bus 2026-01-01 account key v1")
            .update(operator.as_bytes())
            // No name of an account holds a zero.
            .update(account.to_string().as_bytes())
            .update(&[0])
            .update(&self.standing(account).epoch.to_be_bytes())
            .finalize_xof()
            .fill(&mut *seed);
        KeyPair::new_from_raw(KeyPairType::Account, *seed).expect("any 32 bytes are a seed")
    }

    /// The public key of an account.
    #[must_use]
    pub fn account(&self, account: &Account) -> String {
        if account.is_apart() { self.account_key(account).public_key() } else { self.bus.public_key() }
    }

    /// The token of a user's public key, in the account whose name it is: what lets somebody in.
    #[must_use]
    pub fn admit(&self, account: &Account, user: &str, until: Option<OffsetDateTime>) -> String {
        let name = account.to_string();
        let until = until.map(OffsetDateTime::unix_timestamp);
        match account {
            Account::Seat(seat) => jwt::user(&self.bus, user, &name, self.now(), until, &grants::seat(seat)),
            _ => {
                let key = self.account_key(account);
                jwt::user(&key, user, &name, self.now(), until, &Permissions::default())
            }
        }
    }

    /// What a seat of this process connects with: a key made now, that lives as long as the process.
    #[must_use]
    pub fn creds(&self, account: &Account) -> Creds {
        let key = UserKey::new();
        let token = self.admit(account, &key.public(), None);
        Creds::new(account.clone(), token, key)
    }

    /// What a test connects with that sees and sets all that there is.
    #[cfg(feature = "testing")]
    #[must_use]
    pub fn creds_for_all(&self) -> Creds {
        let key = UserKey::new();
        let account = Account::Seat("test".parse().expect("it is a name"));
        let permissions = Permissions::default();
        let token = jwt::user(&self.bus, &key.public(), &account.to_string(), self.now(), None, &permissions);
        Creds::new(account, token, key)
    }

    /// What signs in as the system account, to hand accounts to the server.
    pub(crate) fn system_login(&self) -> (String, UserKey) {
        let key = UserKey::new();
        let token =
            jwt::user(&self.system, &key.public(), "system", self.now(), None, &Permissions::default());
        (token, key)
    }

    pub(crate) fn operator_token(&self) -> String {
        jwt::operator(&self.operator, "mesh", &self.system.public_key(), self.now())
    }

    /// The system account, `BUS` and the vault's, each as its public key and its token.
    pub(crate) fn preloaded(&self) -> [(String, String); 3] {
        let unlimited = |jetstream| Limits { payload: -1, connections: -1, jetstream };
        let sign = |key: &KeyPair, name, limits, exports| {
            let claims = AccountClaims { limits, exports, imports: &[], from: "", revoked: &[] };
            let public = key.public_key();
            let token = jwt::account(&self.operator, &public, name, self.now(), &claims);
            (public, token)
        };
        let vault = self.account_key(&Account::Store("mesh-vault".parse().expect("it is a name")));
        [
            sign(&self.system, "SYS", unlimited(JetStream::None), &[]),
            sign(&self.bus, "BUS", unlimited(JetStream::Own), grants::EXPORTS),
            sign(&vault, "VAULT", unlimited(JetStream::Own), &[]),
        ]
    }

    pub(crate) fn system_account(&self) -> String {
        self.system.public_key()
    }

    /// The token of an account that imports these subjects of `BUS`.
    pub(crate) fn account_token(&self, account: &Account, imports: &[Import]) -> (String, String) {
        let public = self.account_key(account).public_key();
        let Standing { revoked, .. } = self.standing(account);
        let claims = AccountClaims {
            limits: grants::limits(account),
            exports: &[],
            imports,
            from: &self.bus.public_key(),
            revoked: &revoked,
        };
        let token = jwt::account(&self.operator, &public, &account.to_string(), self.now(), &claims);
        (public, token)
    }

    pub(crate) fn delete_token(&self, account: &str) -> String {
        jwt::delete(&self.operator, &[account], self.now())
    }

    /// From now on, what was signed for a user until now counts no more.
    pub(crate) fn revoke(&self, account: &Account, user: &str) {
        let mut standing = self.standing(account);
        standing.revoked.retain(|(key, _)| key != user);
        standing.revoked.push((user.to_owned(), self.now()));
        self.set_standing(account, standing);
    }

    /// The account has ended; the next one of its name is another.
    pub(crate) fn end(&self, account: &Account) {
        let epoch = self.standing(account).epoch + 1;
        self.set_standing(account, Standing { epoch, revoked: Vec::new() });
    }
}

fn open_key(path: &Path, kind: KeyPairType) -> Result<KeyPair, AuthorityError> {
    let wrong = || AuthorityError::Key { path: path.to_owned() };
    if let Some(seed) = keep::read(path)? {
        let key = KeyPair::from_seed(seed.trim()).map_err(|_| wrong())?;
        return if key.key_pair_type() == kind { Ok(key) } else { Err(wrong()) };
    }
    let key = KeyPair::new(kind);
    let seed = zeroize::Zeroizing::new(key.seed().map_err(|_| wrong())?);
    keep::write(path, &seed)?;
    Ok(key)
}

#[cfg(test)]
mod tests;
