//! Installs what is missing, by package name, saying what and why. What is there already is used as it is.
//!
//! Three programs are needed beside Rust: a nats-server (the bus), and the servers of two providers, PostgreSQL and
//! SeaweedFS. On Debian as root all are installed, and what tests of several machines need; elsewhere the error says what
//! to install oneself, all of it at once.

mod age;
mod debian;
mod iproute;
mod nats;
mod pip;
mod postgres;
mod seaweed;

use std::path::PathBuf;

use crate::place::Place;
use crate::shell::{self, say};

/// What the set-up found or put there.
pub(crate) struct Tools {
    pub(crate) nats_server: PathBuf,
    pub(crate) weed: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("please install what is missing, then run this again:\n{}", .steps.join("\n"))]
    Yourself { steps: Vec<String> },
    #[error(transparent)]
    Debian(#[from] debian::Error),
    #[error("cannot install the Python package {package}")]
    Package { package: &'static str, source: shell::Error },
    #[error("the {program} that was just installed is not in {}, or does not run", folder.display())]
    NotThere { program: &'static str, folder: PathBuf },
    #[error("PostgreSQL was just installed and is not there")]
    NoPostgres,
}

/// Looks for each thing, installs those that are missing, and says so.
pub(crate) fn run(place: &Place) -> Result<Tools, Error> {
    let machine = debian::Machine::look(place.root_user);
    let nats = nats::find(place);
    let postgres = postgres::find(place);
    let seaweed = seaweed::find(place);
    let pip = pip::find();

    let mut packages = Vec::new();
    let mut steps = Vec::new();
    if postgres.is_none() {
        match machine.postgres_package() {
            Some(package) => packages.push((package, postgres::WHY)),
            None => steps.push(format!("  PostgreSQL {} or newer: {}", postgres::OLDEST, postgres::WHY)),
        }
    }
    if (nats.is_none() || seaweed.is_none()) && pip.is_none() {
        match machine {
            debian::Machine::Debian { .. } => packages.push((pip::PACKAGE, pip::WHY)),
            debian::Machine::Other => steps.push(nats::by_hand()),
        }
    }
    if machine.may_install() && !iproute::is_there() {
        packages.push((iproute::PACKAGE, iproute::WHY));
    }
    if machine.may_install() && !age::is_there(place) {
        packages.push((age::PACKAGE, age::WHY));
    }
    if !packages.is_empty() && !machine.may_install() {
        let names: Vec<&str> = packages.iter().map(|(name, _)| *name).collect();
        steps.push(format!("  as root: apt-get install --no-install-recommends {}", names.join(" ")));
    }
    if !steps.is_empty() {
        return Err(Error::Yourself { steps });
    }

    if !packages.is_empty() {
        debian::install(&packages)?;
    }
    match postgres.or_else(|| postgres::find(place)) {
        Some(found) => say(&format!("PostgreSQL: {}", found.display())),
        None => return Err(Error::NoPostgres),
    }
    let nats_server = match nats {
        Some(found) => found,
        None => nats::install(place)?,
    };
    say(&format!("nats-server: {}", nats_server.display()));
    let weed = match seaweed {
        Some(found) => found,
        None => seaweed::install(place)?,
    };
    say(&format!("SeaweedFS: {}", weed.display()));
    Ok(Tools { nats_server, weed })
}

#[cfg(test)]
mod tests;
