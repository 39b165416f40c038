//! What the program is given: where to listen, its settings file, the address of its database, its secret.
//!
//! Everything is read once, here. What holds a secret (`DATABASE_URL`, `NOTES_SECRET`) comes from the environment and
//! is never repeated in an error.

use std::net::SocketAddr;
use std::path::PathBuf;

use serde::Deserialize;

use crate::form::Key;

/// Fewer characters than this can be guessed.
const SHORTEST_SECRET: usize = 16;

/// Everything that `notes` is told when it starts.
pub(crate) struct Config {
    pub(crate) listen: SocketAddr,
    pub(crate) title: String,
    pub(crate) database: tokio_postgres::Config,
    pub(crate) key: Key,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("unknown argument `{argument}`; usage: notes [--listen ADDRESS:PORT] [--config FILE]")]
    Argument { argument: String },
    #[error("`{argument}` needs a value")]
    Value { argument: String },
    #[error("`--listen {value}` is not an address and a port, such as 127.0.0.1:8080")]
    Listen { value: String, source: std::net::AddrParseError },
    #[error("the environment has no {variable}, {what}")]
    Variable { variable: &'static str, what: &'static str },
    // Without its cause, which may quote the address, and so the password.
    #[error(
        "DATABASE_URL is not the address of a PostgreSQL database (postgres://user:password@host:port/database)"
    )]
    Database,
    #[error("NOTES_SECRET is shorter than {SHORTEST_SECRET} characters")]
    Secret,
    #[error("cannot read the settings {}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("the settings {} are not as expected", path.display())]
    Parse { path: PathBuf, source: Box<toml::de::Error> },
}

/// The settings file, `notes.toml`.
#[derive(Debug, Deserialize, PartialEq)]
#[serde(default, deny_unknown_fields)]
struct Settings {
    title: String,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { title: "Notes".to_owned() }
    }
}

impl Config {
    /// Reads the arguments, the variables that `environment` knows, and the settings file.
    pub(crate) fn read(
        arguments: impl Iterator<Item = String>,
        environment: impl Fn(&str) -> Option<String>,
    ) -> Result<Config, Error> {
        let (listen, file) = read_arguments(arguments)?;
        let settings = file.map(read_settings).transpose()?.unwrap_or_default();
        let url = environment("DATABASE_URL").ok_or(Error::Variable {
            variable: "DATABASE_URL",
            what: "the address of its PostgreSQL database",
        })?;
        let secret = environment("NOTES_SECRET").ok_or(Error::Variable {
            variable: "NOTES_SECRET",
            what: "the secret that its cookies are signed with",
        })?;
        if secret.chars().count() < SHORTEST_SECRET {
            return Err(Error::Secret);
        }
        let database: tokio_postgres::Config = url.parse().map_err(|_| Error::Database)?;
        Ok(Config { listen, title: settings.title, database, key: Key::from_secret(&secret) })
    }
}

fn read_arguments(
    mut arguments: impl Iterator<Item = String>,
) -> Result<(SocketAddr, Option<PathBuf>), Error> {
    let mut listen = SocketAddr::from(([127, 0, 0, 1], 8080));
    let mut file = None;
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| Error::Value { argument: argument.clone() });
        match argument.as_str() {
            "--listen" => {
                let value = value()?;
                listen = value.parse().map_err(|source| Error::Listen { value, source })?;
            }
            "--config" => file = Some(PathBuf::from(value()?)),
            _ => return Err(Error::Argument { argument }),
        }
    }
    Ok((listen, file))
}

fn read_settings(path: PathBuf) -> Result<Settings, Error> {
    match std::fs::read_to_string(&path) {
        Ok(text) => toml::from_str(&text).map_err(|source| Error::Parse { path, source: Box::new(source) }),
        Err(source) => Err(Error::Read { path, source }),
    }
}

#[cfg(test)]
mod tests;
