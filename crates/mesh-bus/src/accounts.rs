//! Accounts as the server has them: handed over, taken away, a user revoked.
//!
//! Start at [`Accounts::push`]. The server answers 200 even to a token that it will not use, so each is read
//! back. It writes them down without a sync: whoever signs pushes all of them again when it starts.

use std::collections::BTreeMap;
use std::sync::Arc;

use thiserror::Error;
use tokio::sync::Mutex;

use crate::account::Account;
use crate::address::{Address, AddressError};
use crate::authority::Authority;
use crate::client;
use crate::grants::Grants;
use crate::jwt::Import;

/// Why an account is not as it should be.
#[derive(Debug, Error)]
pub enum AccountsError {
    /// The system account cannot connect.
    #[error("cannot connect to the bus at {at} as the system account")]
    Connect {
        /// Where.
        at: String,
        /// Why not.
        #[source]
        source: async_nats::ConnectError,
    },
    /// The address is none.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The server did not answer.
    #[error("cannot {doing} the account `{account}`")]
    Ask {
        /// What was being done: `push`, `read back`, `delete`.
        doing: &'static str,
        /// Whose.
        account: String,
        /// Why not.
        #[source]
        source: async_nats::RequestError,
    },
    /// The server answered, and does not have it.
    #[error("the server did not {doing} the account `{account}`: {said}")]
    Refused {
        /// What was being done.
        doing: &'static str,
        /// Whose.
        account: String,
        /// Its answer.
        said: String,
    },
}

/// What a push came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pushed {
    /// The server has it now.
    Changed,
    /// It had been pushed so before.
    Same,
}

/// The accounts of the server, by its system account.
#[derive(Debug)]
pub struct Accounts {
    client: async_nats::Client,
    authority: Arc<Authority>,
    pushed: Mutex<BTreeMap<Account, Vec<Import>>>,
}

impl Accounts {
    /// Connects as the system account.
    ///
    /// # Errors
    /// Where the server cannot be reached.
    pub async fn connect(at: impl Into<Address>, authority: Arc<Authority>) -> Result<Self, AccountsError> {
        let at = at.into();
        let (token, key) = authority.system_login();
        let client = client::options(&at, &token, &key, "system")
            .connect(at.servers()?)
            .await
            .map_err(|source| AccountsError::Connect { at: at.to_string(), source })?;
        Ok(Self { client, authority, pushed: Mutex::default() })
    }

    /// Gives an account exactly these grants; those that it had beside them end.
    ///
    /// # Errors
    /// Where its key cannot be used, or the server does not take it.
    pub async fn push(&self, grants: &Grants) -> Result<Pushed, AccountsError> {
        let imports = grants.imports();
        let mut pushed = self.pushed.lock().await;
        if pushed.get(&grants.account) == Some(&imports) {
            return Ok(Pushed::Same);
        }
        self.hand_over(&grants.account, &imports).await?;
        pushed.insert(grants.account.clone(), imports);
        Ok(Pushed::Changed)
    }

    /// Hands an account to the server where that does not have it yet; what it has stays as it is.
    ///
    /// # Errors
    /// Where the server cannot be asked, or does not take it.
    pub async fn stand(&self, grants: &Grants) -> Result<Pushed, AccountsError> {
        let public = self.authority.account(&grants.account);
        let has = self.ask("read back", &grants.account, &lookup(&public), String::new()).await?;
        if has.is_empty() { self.push(grants).await } else { Ok(Pushed::Same) }
    }

    async fn hand_over(&self, account: &Account, imports: &[Import]) -> Result<(), AccountsError> {
        let (public, token) = self.authority.account_token(account, imports);
        let said = self.ask("push", account, "$SYS.REQ.CLAIMS.UPDATE", token.clone()).await?;
        let has = self.ask("read back", account, &lookup(&public), String::new()).await?;
        if has == token.as_bytes() { Ok(()) } else { Err(refused("push", account, &said)) }
    }

    /// Ends an account at once: its connections are closed, and nobody may sign in to it again. The next of its name is
    /// another one, of the next epoch: whoever keeps how accounts stand has to have kept that before.
    ///
    /// # Errors
    /// Where the server cannot be asked, or refuses.
    pub async fn remove(&self, account: &Account) -> Result<(), AccountsError> {
        let mut pushed = self.pushed.lock().await;
        let public = self.authority.account(account);
        let token = self.authority.delete_token(&public);
        let said = self.ask("delete", account, "$SYS.REQ.CLAIMS.DELETE", token).await?;
        if client::api_error(&said).is_some() {
            return Err(refused("delete", account, &said));
        }
        pushed.remove(account);
        self.authority.end(account);
        Ok(())
    }

    /// Ends what was signed for one user of an account until now, and leaves the account as it is. Whoever keeps how accounts
    /// stand has to keep it too.
    ///
    /// # Errors
    /// Where the server does not take it.
    pub async fn revoke(&self, grants: &Grants, user: &str) -> Result<(), AccountsError> {
        self.authority.revoke(&grants.account, user);
        let imports = grants.imports();
        self.hand_over(&grants.account, &imports).await?;
        self.pushed.lock().await.insert(grants.account.clone(), imports);
        Ok(())
    }

    /// Forgets what was pushed, so that the next pushes reach the server whatever it has.
    pub async fn forget_pushed(&self) {
        self.pushed.lock().await.clear();
    }

    async fn ask(
        &self,
        doing: &'static str,
        account: &Account,
        subject: &str,
        payload: String,
    ) -> Result<bytes::Bytes, AccountsError> {
        let answer = self.client.request(subject.to_owned(), payload.into()).await;
        let answer =
            answer.map_err(|source| AccountsError::Ask { doing, account: account.to_string(), source })?;
        Ok(answer.payload)
    }
}

fn lookup(public: &str) -> String {
    format!("$SYS.REQ.ACCOUNT.{public}.CLAIMS.LOOKUP")
}

fn refused(doing: &'static str, account: &Account, said: &[u8]) -> AccountsError {
    let said = String::from_utf8_lossy(said).into_owned();
    AccountsError::Refused { doing, account: account.to_string(), said }
}
