//! `mesh secret escrow`: all that is sealed to the recipients of escrow, as one archive, each secret an age file of its own.
//!
//! Nothing is opened here, and nothing can be. Whoever has a recipient's key needs `tar` and `age` to read it, and no mesh.

use std::collections::BTreeSet;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

use clap::Args;
use mesh_bus::Bus;
use mesh_bus::verb::{AskError, ask};
use mesh_model::name::MeshName;
use mesh_model::wire::{EscrowAnswer, EscrowState, Escrowed, EscrowedAnswer, EscrowedAsk};
use mesh_seal::{Ciphertext, Recipient};
use serde_json::json;
use thiserror::Error;
use time::OffsetDateTime;

use crate::escrow::{anew, confirm, unreadable};
use crate::exit::{Exit, Failure};
use crate::reach::BusArgs;
use crate::screen::Screen;
use crate::vault;

/// What is handed over.
#[derive(Debug, Args)]
pub(super) struct EscrowArgs {
    #[command(flatten)]
    bus: BusArgs,
}

/// Why nothing was handed over.
#[derive(Debug, Error)]
enum EscrowError {
    #[error("no recipient of escrow is confirmed: nothing is sealed to anybody but the nodes")]
    Nobody { waiting: Option<Recipient> },
    #[error("an archive is not for a terminal")]
    Terminal,
    #[error("cannot write the archive")]
    Write(#[source] io::Error),
}

impl From<EscrowError> for Failure {
    fn from(error: EscrowError) -> Self {
        let hint = match &error {
            EscrowError::Nobody { waiting: Some(recipient) } => {
                format!("on the server's machine: {}", confirm(&recipient.to_string()))
            }
            EscrowError::Nobody { waiting: None } => {
                "name one in `escrow` of mesh.yaml, apply it, and confirm it on the server's machine"
                    .to_owned()
            }
            EscrowError::Terminal => "write it into a file: mesh secret escrow > escrow.tar".to_owned(),
            EscrowError::Write(_) => String::new(),
        };
        let exit = if matches!(error, EscrowError::Terminal) { Exit::WrongUsage } else { Exit::Failed };
        Self::new(error).exit(exit).hint(hint)
    }
}

pub(super) async fn run(args: EscrowArgs, screen: &Screen) -> Result<Exit, Failure> {
    if io::stdout().is_terminal() {
        return Err(EscrowError::Terminal.into());
    }
    let bus = args.bus.connect(Path::new("")).await?;
    let known: EscrowAnswer<Recipient> = ask(&bus, "mesh-vault.escrow", &json!({})).await?;
    let who = |wanted| {
        let them = known.recipients.iter().filter(move |(_, state)| **state == wanted);
        them.map(|(recipient, _)| recipient.clone())
    };
    let to: BTreeSet<Recipient> = who(EscrowState::Sealed).collect();
    if to.is_empty() {
        return Err(EscrowError::Nobody { waiting: who(EscrowState::Waiting).next() }.into());
    }
    let all = all(&bus).await?;
    let archive = Archive { mesh: &known.mesh, to: &to, at: OffsetDateTime::now_utc() };
    let bytes = archive.of(&all).map_err(EscrowError::Write)?;
    io::stdout().lock().write_all(&bytes).map_err(EscrowError::Write)?;
    say(&to, &all, &bus, screen).await?;
    Ok(Exit::Done)
}

type Entry = Escrowed<Recipient, Ciphertext>;

/// Every page.
async fn all(bus: &Bus) -> Result<Vec<Entry>, AskError> {
    let mut entries = Vec::new();
    let mut question = EscrowedAsk::default();
    loop {
        let page: EscrowedAnswer<Recipient, Ciphertext> = ask(bus, "mesh-vault.escrowed", &question).await?;
        entries.extend(page.entries);
        match page.next {
            Some(next) if question.after.as_ref() != Some(&next) => question.after = Some(next),
            _ => return Ok(entries),
        }
    }
}

/// Says what each recipient can open, and what not.
async fn say(to: &BTreeSet<Recipient>, all: &[Entry], bus: &Bus, screen: &Screen) -> Result<(), Failure> {
    let (known, _) = vault::all(bus).await?;
    for recipient in to {
        let many = all.iter().filter(|entry| entry.copies.contains_key(recipient)).count();
        screen.say(format!("{recipient}: {many} of {} secrets", all.len()));
        let missing = unreadable(&recipient.to_string(), &known);
        if !missing.is_empty() {
            screen.warn("it cannot open what was made before it was confirmed, until it is made anew:");
            anew(&missing).iter().for_each(|line| screen.say(line));
        }
    }
    Ok(())
}

/// An archive of them: `<mesh>-escrow/<recipient>/<node>/<module>/<name>.v<version>.age`, and how to read it.
struct Archive<'a> {
    mesh: &'a MeshName,
    to: &'a BTreeSet<Recipient>,
    at: OffsetDateTime,
}

impl Archive<'_> {
    fn of(&self, all: &[Entry]) -> io::Result<Vec<u8>> {
        let mut tar = tar::Builder::new(Vec::new());
        self.put(&mut tar, "README", self.readme().as_bytes())?;
        for recipient in self.to {
            for entry in all {
                let Some(copy) = entry.copies.get(recipient) else { continue };
                let Escrowed { node, module, name, version, .. } = entry;
                let path = format!("{recipient}/{node}/{module}/{name}.v{version}.age");
                self.put(&mut tar, &path, copy.as_bytes())?;
            }
        }
        tar.into_inner()
    }

    fn put(&self, tar: &mut tar::Builder<Vec<u8>>, path: &str, bytes: &[u8]) -> io::Result<()> {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o600);
        header.set_mtime(u64::try_from(self.at.unix_timestamp()).unwrap_or_default());
        tar.append_data(&mut header, format!("{}-escrow/{path}", self.mesh), bytes)
    }

    fn readme(&self) -> String {
        let Self { mesh, at, .. } = self;
        let date = at.date();
        format!(
            "The secrets of the mesh `{mesh}` as they were on {date}, sealed with age (age-encryption.org).\n\
             A folder for each key that can open them: the key whose public half is the folder's name.\n\n\
             To read one:   age -d -i key.txt PUBLIC-KEY/NODE/MODULE/NAME.age\n\n\
             Each is a line of JSON that says what it is; what is secret stands under `secrets`.\n\
             NAME is the name of a need (a credential for it), or secret.NAME (the module's own).\n"
        )
    }
}

#[cfg(test)]
mod tests;
