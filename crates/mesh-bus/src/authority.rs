//! The keys that everything on the bus hangs from: the operator's, and each account's.
//!
//! Start at [`Authority::open`]: it makes the keys at the first start and keeps them, one file of mode 0600
//! each, in a folder. Tokens are not kept: they follow from the keys and from what is granted, and are signed
//! anew at each start, so that a newer program's grants take effect.
//!
//! What a node's own key is, this never knows: a node makes its user key itself and has its public half
//! signed ([`Authority::admit`]).

use std::path::{Path, PathBuf};

use nkeys::{KeyPair, KeyPairType};
use thiserror::Error;
use time::OffsetDateTime;

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
    /// The list of revoked users cannot be read.
    #[error("{} is not a list of revoked keys", path.display())]
    Revoked {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: serde_json::Error,
    },
}

/// The signer of accounts and users.
pub struct Authority {
    folder: PathBuf,
    clock: Clock,
    operator: KeyPair,
    system: KeyPair,
    bus: KeyPair,
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Authority").field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl Authority {
    /// Opens the keys in a folder, and makes those that are not there. Once anybody has an account, one that is gone is not
    /// made again: all that is on the bus belongs to it.
    ///
    /// # Errors
    /// Where the folder or a file cannot be used, or does not hold a key.
    pub fn open(folder: &Path, clock: Clock) -> Result<Self, AuthorityError> {
        keep::folder(folder)?;
        keep::folder(&folder.join("accounts"))?;
        let in_use = keep::has_any(&folder.join("accounts"))?;
        let key = |name: &str, kind| {
            let path = folder.join(name);
            match in_use && !keep::is_there(&path)? {
                true => Err(AuthorityError::Gone { path }),
                false => open_key(&path, kind),
            }
        };
        Ok(Self {
            operator: key("operator.nk", KeyPairType::Operator)?,
            system: key("system.nk", KeyPairType::Account)?,
            bus: key("bus.nk", KeyPairType::Account)?,
            folder: folder.to_owned(),
            clock,
        })
    }

    fn now(&self) -> i64 {
        (self.clock)().unix_timestamp()
    }

    fn account_key(&self, account: &Account) -> Result<KeyPair, AuthorityError> {
        open_key(&self.folder.join("accounts").join(format!("{account}.nk")), KeyPairType::Account)
    }

    /// The public key of an account, made where there is none yet.
    ///
    /// # Errors
    /// Where its file cannot be used.
    pub fn account(&self, account: &Account) -> Result<String, AuthorityError> {
        Ok(if account.is_apart() { self.account_key(account)?.public_key() } else { self.bus.public_key() })
    }

    /// The token of a user's public key, in the account whose name it is: what lets somebody in.
    ///
    /// # Errors
    /// Where the account's key cannot be used.
    pub fn admit(
        &self,
        account: &Account,
        user: &str,
        until: Option<OffsetDateTime>,
    ) -> Result<String, AuthorityError> {
        let name = account.to_string();
        let until = until.map(OffsetDateTime::unix_timestamp);
        Ok(match account {
            Account::Seat(seat) => jwt::user(&self.bus, user, &name, self.now(), until, &grants::seat(seat)),
            _ => jwt::user(
                &self.account_key(account)?,
                user,
                &name,
                self.now(),
                until,
                &Permissions::default(),
            ),
        })
    }

    /// What a seat of this process connects with: a key made now, that lives as long as the process.
    ///
    /// # Errors
    /// Where the account's key cannot be used.
    pub fn creds(&self, account: &Account) -> Result<Creds, AuthorityError> {
        let key = UserKey::new();
        let token = self.admit(account, &key.public(), None)?;
        Ok(Creds::new(account.clone(), token, key))
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
    pub(crate) fn preloaded(&self) -> Result<[(String, String); 3], AuthorityError> {
        let unlimited = |jetstream| Limits { payload: -1, connections: -1, jetstream };
        let sign = |key: &KeyPair, name, limits, exports| {
            let claims = AccountClaims { limits, exports, imports: &[], from: "", revoked: &[] };
            let public = key.public_key();
            let token = jwt::account(&self.operator, &public, name, self.now(), &claims);
            (public, token)
        };
        let vault = self.account_key(&Account::Store("mesh-vault".parse().expect("it is a name")))?;
        Ok([
            sign(&self.system, "SYS", unlimited(JetStream::None), &[]),
            sign(&self.bus, "BUS", unlimited(JetStream::Own), grants::EXPORTS),
            sign(&vault, "VAULT", unlimited(JetStream::Own), &[]),
        ])
    }

    pub(crate) fn system_account(&self) -> String {
        self.system.public_key()
    }

    /// The token of an account that imports these subjects of `BUS`.
    pub(crate) fn account_token(
        &self,
        account: &Account,
        imports: &[Import],
    ) -> Result<(String, String), AuthorityError> {
        let public = self.account_key(account)?.public_key();
        let revoked = self.revoked(account)?;
        let claims = AccountClaims {
            limits: grants::limits(account),
            exports: &[],
            imports,
            from: &self.bus.public_key(),
            revoked: &revoked,
        };
        let token = jwt::account(&self.operator, &public, &account.to_string(), self.now(), &claims);
        Ok((public, token))
    }

    pub(crate) fn delete_token(&self, account: &str) -> String {
        jwt::delete(&self.operator, &[account], self.now())
    }

    fn revoked_path(&self, account: &Account) -> PathBuf {
        self.folder.join("accounts").join(format!("{account}.revoked.json"))
    }

    fn revoked(&self, account: &Account) -> Result<Vec<Revocation>, AuthorityError> {
        let path = self.revoked_path(account);
        let Some(text) = keep::read(&path)? else { return Ok(Vec::new()) };
        serde_json::from_str(&text).map_err(|source| AuthorityError::Revoked { path, source })
    }

    /// Remembers that a user's tokens, as many as were signed until now, count no more.
    pub(crate) fn note_revoked(&self, account: &Account, user: &str) -> Result<(), AuthorityError> {
        let mut revoked = self.revoked(account)?;
        revoked.retain(|(key, _)| key != user);
        revoked.push((user.to_owned(), self.now()));
        let text = serde_json::to_string(&revoked).expect("texts and numbers are JSON");
        Ok(keep::write(&self.revoked_path(account), &text)?)
    }

    /// Forgets an account's key, so that nothing signed by it can come back.
    pub(crate) fn forget(&self, account: &Account) -> Result<(), AuthorityError> {
        keep::remove(&self.folder.join("accounts").join(format!("{account}.nk")))?;
        Ok(keep::remove(&self.revoked_path(account))?)
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
