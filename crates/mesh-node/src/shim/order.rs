//! What a shim is told: which program, as whom, with which environment, and how to stop it.
//!
//! On the wire: the length of a JSON head (4 bytes, little-endian), the head, then `NAME=value` each ended by NUL. The
//! environment is not in the head because it holds secrets, which no serializer should copy about.

use std::{io, path::PathBuf, time::Duration};

use mesh_seal::Secret;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

/// One program to run.
#[derive(Debug)]
pub struct Order {
    /// All but the environment.
    pub head: Head,
    /// The whole environment: nothing is inherited.
    pub env: Vec<(String, Secret)>,
}

/// What of an order is no secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The program, looked up in the environment's PATH, and its arguments.
    pub exec: Vec<String>,
    /// Where it runs.
    pub folder: PathBuf,
    /// As whom; as the keeper itself where absent.
    pub run_as: Option<RunAs>,
    /// What it is sent to stop.
    pub stop_signal: StopSignal,
    /// How long it may take over stopping before it is killed.
    pub stop_deadline: Duration,
    /// Where its output goes; nowhere where absent.
    pub log: Option<PathBuf>,
    /// Where the keeper notes who it keeps, for whoever has to clear up after a killed keeper.
    pub record: Option<PathBuf>,
    /// Marks the keeper and the service: the value of [`super::MARK`].
    pub mark: String,
}

/// A user by numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunAs {
    /// The user.
    pub uid: u32,
    /// The first group.
    pub gid: u32,
    /// All groups.
    pub groups: Vec<u32>,
}

/// The signal that asks a program to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StopSignal {
    /// SIGTERM, which most programs take well.
    #[default]
    Term,
    /// SIGINT: PostgreSQL's fast shutdown.
    Int,
    /// SIGQUIT: nginx's graceful one.
    Quit,
}

impl StopSignal {
    pub(super) fn signal(self) -> rustix::process::Signal {
        match self {
            Self::Term => rustix::process::Signal::TERM,
            Self::Int => rustix::process::Signal::INT,
            Self::Quit => rustix::process::Signal::QUIT,
        }
    }
}

impl Order {
    /// The bytes for a shim's standard input, wiped when dropped.
    ///
    /// # Errors
    /// An environment entry that no process can be given: a NUL in it, or a name that is empty or has a `=`.
    pub fn encode(&self) -> io::Result<Zeroizing<Vec<u8>>> {
        let head = serde_json::to_vec(&self.head)?;
        let environment: usize = self.env.iter().map(|(name, value)| name.len() + value.len() + 2).sum();
        // All at once: growing would leave copies behind.
        let mut bytes = Zeroizing::new(Vec::with_capacity(4 + head.len() + environment));
        let length = u32::try_from(head.len()).map_err(io::Error::other)?;
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(&head);
        for (name, value) in &self.env {
            if name.is_empty() || name.contains(['=', '\0']) || value.expose().contains(&0) {
                let why = format!(
                    "the environment entry `{}` cannot be handed to a process",
                    name.escape_default()
                );
                return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
            }
            bytes.extend_from_slice(name.as_bytes());
            bytes.push(b'=');
            bytes.extend_from_slice(value.expose());
            bytes.push(0);
        }
        Ok(bytes)
    }

    /// Reads what [`Order::encode`] wrote; `None` where it is cut short or something else.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let (length, rest) = bytes.split_first_chunk::<4>()?;
        let (head, environment) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        let head: Head = serde_json::from_slice(head).ok()?;
        let mut env = Vec::new();
        for entry in environment.split_inclusive(|byte| *byte == 0) {
            let entry = entry.strip_suffix(&[0])?;
            let equals = entry.iter().position(|byte| *byte == b'=')?;
            let name = std::str::from_utf8(&entry[..equals]).ok()?;
            env.push((name.to_owned(), Secret::new(entry[equals + 1..].to_vec())));
        }
        Some(Self { head, env })
    }
}

#[cfg(test)]
mod tests;
