//! The answers about escrow: who the recipients are, what is sealed to them, and, on the server's machine, that one of
//! them is meant.

use std::collections::BTreeSet;

use mesh_bus::verb::VerbError;
use mesh_model::key::CredentialKey;
use mesh_model::wire::{
    ConfirmEscrowAnswer, ConfirmEscrowAsk, EscrowAnswer, Escrowed, EscrowedAnswer, EscrowedAsk, V1,
};
use mesh_seal::{Ciphertext, Recipient};

use super::{ENTRY, PAGE, behind, broken};
use crate::credential::Credential;
use crate::escrow::{Escrow, unreadable};
use crate::vault::Vault;

/// `mesh-vault.escrow`: how each recipient stands.
pub(crate) fn recipients(vault: &Vault) -> EscrowAnswer<Recipient> {
    EscrowAnswer { v: V1, mesh: vault.mesh().clone(), recipients: vault.seen().escrow.told() }
}

/// `mesh-vault.escrowed`: what is sealed to the recipients of now; a credential that none of them can open is told all the
/// same, without a copy.
pub(crate) fn copies(
    vault: &Vault,
    ask: &EscrowedAsk,
) -> Result<EscrowedAnswer<Recipient, Ciphertext>, VerbError> {
    let to = &vault.seen().escrow.sealed;
    let kept = vault.store().kept().map_err(|error| broken(&error))?;
    let mut page = EscrowedAnswer { v: V1, entries: vec![], next: None };
    let mut size = 0;
    for (key, live) in kept.range(behind(ask.after.as_deref())?) {
        if size >= PAGE {
            page.next = page.entries.last().map(last_key);
            break;
        }
        for one in live {
            let entry = escrowed(key, one, to);
            // Base64 has four characters for three bytes.
            size += ENTRY + entry.copies.values().map(|copy| copy.as_bytes().len() * 4 / 3).sum::<usize>();
            page.entries.push(entry);
        }
    }
    Ok(page)
}

fn escrowed(
    key: &CredentialKey,
    one: &Credential,
    to: &BTreeSet<Recipient>,
) -> Escrowed<Recipient, Ciphertext> {
    let copies = one.escrow.iter().filter(|(recipient, _)| to.contains(recipient));
    Escrowed {
        node: key.node.clone(),
        module: key.module.clone(),
        name: key.entry.to_string(),
        id: one.id.clone(),
        version: one.version,
        copies: copies.map(|(recipient, copy)| (recipient.clone(), copy.clone())).collect(),
    }
}

fn last_key(entry: &Escrowed<Recipient, Ciphertext>) -> String {
    let name = entry.name.parse().expect("it was written from an entry");
    CredentialKey { node: entry.node.clone(), module: entry.module.clone(), entry: name }.to_string()
}

/// `mesh-vault.confirm-escrow`: whoever asks is on the server's machine; no operator's account reaches this.
pub(crate) fn confirm(
    vault: &Vault,
    ask: &ConfirmEscrowAsk<Recipient>,
) -> Result<ConfirmEscrowAnswer, VerbError> {
    let state = vault.confirm(&ask.recipient).map_err(|error| broken(&error))?;
    tracing::info!(recipient = %ask.recipient, "an escrow recipient was confirmed");
    let kept = vault.store().kept().map_err(|error| broken(&error))?;
    let unreadable = unreadable(&ask.recipient, &kept);
    let told = |key: &CredentialKey| format!("{}.{}.{}", key.node, key.module, key.entry);
    Ok(ConfirmEscrowAnswer { v: V1, state, unreadable: unreadable.into_iter().map(told).collect() })
}

/// Whether an id that somebody chose is one, and was not used under this name.
pub(super) fn is_an_id(vault: &Vault, key: &CredentialKey, id: Option<&str>) -> Result<(), VerbError> {
    let Some(id) = id else { return Ok(()) };
    if id.len() != 16 || !id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
        return Err(VerbError::new("bad-request", "`id` is not 16 lower-case hexadecimal characters"));
    }
    let live = vault.store().kept_of(key).map_err(|error| broken(&error))?;
    match live.iter().any(|one| one.id == id) {
        true => Err(VerbError::new("bad-request", "`id` is that of the one before")),
        false => Ok(()),
    }
}

/// Whether something is sealed to exactly the escrow recipients of now.
pub(super) fn are_all<'a>(
    escrow: &Escrow,
    sealed_to: impl Iterator<Item = &'a Recipient>,
) -> Result<(), VerbError> {
    let sealed_to: BTreeSet<_> = sealed_to.cloned().collect();
    match sealed_to == escrow.sealed {
        true => Ok(()),
        false => Err(VerbError::new(
            "escrow-changed",
            "it is not sealed to the escrow recipients that this mesh has now",
        )
        .help("do it again: it is sealed to those of now then")),
    }
}

#[cfg(test)]
mod tests;
