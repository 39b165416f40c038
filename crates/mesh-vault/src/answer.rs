//! The answers to the vault's verbs, as functions of the vault and the question.
//!
//! Who asks is an argument of its own, read from the subject by whoever calls. A node is answered
//! with what is sealed to it and nothing else; an operator never with anything sealed.

use std::collections::BTreeSet;
use std::ops::Bound;

use mesh_bus::verb::VerbError;
use mesh_model::key::{CredentialKey, Entry};
use mesh_model::name::{ModuleName, NodeName};
use mesh_model::wire::{
    ConsumerCredentials, ConsumersAnswer, ConsumersAsk, CredentialVersion, Delivered, ListAnswer, ListAsk,
    PinAnswer, PinAsk, Provider, PutAnswer, PutAsk, RecipientsAnswer, RecipientsAsk, RotateAnswer, RotateAsk,
    RotateOrder, SecretAnswer, SecretAsk, V1, VaultEntry, VaultOrigin, VaultState,
};
use mesh_seal::{Ciphertext, Recipient, Sealed, VerifyingKey};

use crate::apply::Supplied;
use crate::credential::{Credential, Origin};
use crate::rotation::{Offer, RotationName, Terms};
use crate::rules::What;
use crate::store::{Live, Pinned};
use crate::vault::{NotRotated, PutError, Seen, Vault};

pub(crate) mod escrow;

/// A page ends behind the entry with which it comes to so many bytes, sealed values counted.
const PAGE: usize = 256 * 1024;
/// What an entry costs beside what is sealed in it, roughly.
const ENTRY: usize = 512;
/// A page of the list has so many entries.
const LISTED: usize = 250;
/// The longest supplied secret, sealed.
const LONGEST: usize = 32 * 1024;

/// `mesh-vault.pin.<node>`: the first key that a node shows is its key.
pub fn pin(
    vault: &Vault,
    node: &NodeName,
    ask: &PinAsk<Recipient>,
) -> Result<PinAnswer<Recipient, VerifyingKey>, VerbError> {
    let recipient = ask.recipient.clone();
    match vault.pin(node, &recipient).map_err(|error| broken(&error))? {
        Pinned::First | Pinned::Same => {
            Ok(PinAnswer { v: V1, node: node.clone(), recipient, verifying: vault.verifying() })
        }
        Pinned::Another(known) => Err(VerbError::new(
            "another-key",
            format!("the sealing key of {node} is {known}, and {recipient} is another"),
        )
        .help(format!(
            "if {node} still has its old key, run `mesh node rekey` there; if it is lost, remove {node} and join it anew"
        ))),
    }
}

/// `mesh-vault.secret.<node>`: every live credential of one name of a module on the node that asks.
pub fn secret(vault: &Vault, node: &NodeName, ask: SecretAsk) -> Result<SecretAnswer<Sealed>, VerbError> {
    let entry: Entry = ask.name.parse().map_err(|error| VerbError::new("bad-request", format!("{error}")))?;
    let key = CredentialKey { node: node.clone(), module: ask.module, entry };
    let seen = vault.seen();
    if !seen.wanted.entries.contains_key(&key) {
        let why = format!("the vault does not know yet that {} on {node} uses {}", key.module, key.entry);
        return Ok(SecretAnswer { v: V1, credentials: vec![], turn: None, why: Some(why) });
    }
    let live = vault.store().live(&key).map_err(|error| broken(&error))?;
    let turn = live.turn.as_ref().map(|turn| turn.number);
    let credentials = delivered(offered(live), node);
    let why = if credentials.is_empty() { Some(why(&seen, &key)) } else { None };
    Ok(SecretAnswer { v: V1, credentials, turn, why })
}

/// `mesh-vault.consumers.<node>`: what is sealed to the node that asks as the provider of others.
///
/// Who its consumers are stands in the provider's own assignment. What is missing here is taken back there, so this says
/// all that there is, and nothing at all before it is known.
pub fn consumers(
    vault: &Vault,
    node: &NodeName,
    ask: &ConsumersAsk,
) -> Result<ConsumersAnswer<Sealed>, VerbError> {
    let seen = vault.seen();
    if !seen.has_looked {
        return Err(VerbError::new("not-ready", "the vault has not looked at what is wanted yet")
            .help("ask again in a moment"));
    }
    let asker = Provider { node: node.clone(), module: ask.module.clone() };
    let none = BTreeSet::new();
    let made = seen.made_for.get(&(asker, ask.provision.clone())).unwrap_or(&none);
    let mut page = ConsumersAnswer { v: V1, entries: vec![], next: None };
    let mut size = 0;
    for key in made.range(behind(ask.after.as_deref())?) {
        let Entry::Need(local) = &key.entry else { continue };
        let live = vault.store().live(key).map_err(|error| broken(&error))?;
        let credentials = delivered(in_order(live), node);
        if credentials.is_empty() {
            continue;
        }
        size += ENTRY
            + credentials.iter().map(|one| ENTRY + 2 * one.sealed.ciphertext.as_bytes().len()).sum::<usize>();
        let (node, module, local) = (key.node.clone(), key.module.clone(), local.clone());
        page.entries.push(ConsumerCredentials { node, module, local, credentials });
        if size >= PAGE {
            page.next = Some(key.to_string());
            break;
        }
    }
    Ok(page)
}

/// `mesh-vault.list`: what there is and what is waited for; nothing that is sealed.
pub fn list(vault: &Vault, ask: &ListAsk) -> Result<ListAnswer<Recipient>, VerbError> {
    let seen = vault.seen();
    if ask.rotations_only {
        return Ok(ListAnswer { v: V1, entries: vec![], rotations: vault.rotations(), next: None });
    }
    let kept = vault.store().kept().map_err(|error| broken(&error))?;
    let keys: BTreeSet<_> = seen.wanted.entries.keys().chain(kept.keys()).collect();
    let after = behind(ask.after.as_deref())?;
    let rotations = if ask.after.is_none() { vault.rotations() } else { vec![] };
    let mut page = ListAnswer { v: V1, entries: vec![], rotations, next: None };
    for key in keys.range::<CredentialKey, _>((after.0.as_ref(), after.1.as_ref())) {
        if page.entries.len() == LISTED {
            page.next = page.entries.last().map(entry_key);
            break;
        }
        let live = kept.get(*key).map(Vec::as_slice).unwrap_or_default();
        page.entries.extend(listed(&seen, key, live));
    }
    Ok(page)
}

/// `mesh-vault.recipients`: what a supplied secret must be sealed to.
pub fn recipients(vault: &Vault, ask: &RecipientsAsk) -> Result<RecipientsAnswer<Recipient>, VerbError> {
    let seen = vault.seen();
    let pins = vault.store().pins().map_err(|error| broken(&error))?;
    let mut answer = RecipientsAnswer {
        v: V1,
        recipients: Default::default(),
        without_key: vec![],
        mesh: vault.mesh().clone(),
        escrow: seen.escrow.sealed.iter().cloned().collect(),
    };
    let entry = Entry::Own(ask.name.clone());
    for (key, what) in &seen.wanted.entries {
        let is_asked = ask.node.as_ref().is_none_or(|node| *node == key.node);
        if key.module != ask.module || key.entry != entry || !is_asked {
            continue;
        }
        must_be_supplied(key, Some(what))?;
        match pins.get(&key.node) {
            Some(recipient) => drop(answer.recipients.insert(key.node.clone(), recipient.clone())),
            None => answer.without_key.push(key.node.clone()),
        }
    }
    match answer.recipients.is_empty() && answer.without_key.is_empty() {
        true => Err(unknown_secret(&format!("{}.{}", ask.module, ask.name))),
        false => Ok(answer),
    }
}

/// `mesh-vault.put`: keeps a supplied secret that an operator sealed; it is signed unopened.
pub fn put(vault: &Vault, ask: PutAsk<Recipient, Ciphertext>) -> Result<PutAnswer, VerbError> {
    let PutAsk { node, module, name, recipient, ciphertext, id, escrow } = ask;
    let key = CredentialKey { node, module, entry: Entry::Own(name) };
    must_be_supplied(&key, vault.seen().wanted.entries.get(&key))?;
    is_short_enough([&ciphertext].into_iter().chain(escrow.values()))?;
    escrow::is_an_id(vault, &key, id.as_deref())?;
    escrow::are_all(&vault.seen().escrow, escrow.keys())?;
    let pins = vault.store().pins().map_err(|error| broken(&error))?;
    match pins.get(&key.node) {
        Some(known) if *known == recipient => {}
        Some(known) => {
            let message = format!("it is sealed to {recipient}, and the key of {} is {known}", key.node);
            return Err(
                VerbError::new("another-key", message).help("ask for the key again, and seal it to that")
            );
        }
        None => {
            let message =
                format!("node {} has not joined: the vault does not know its sealing key", key.node);
            return Err(VerbError::new("no-key", message));
        }
    }
    match vault.put(&key, Supplied { id, recipient, ciphertext, escrow }) {
        Ok(credential) => Ok(PutAnswer { v: V1, id: credential.id, version: credential.version }),
        Err(PutError::Store(error)) => Err(broken(&error)),
        Err(PutError::Make(error)) => Err(broken(&error)),
    }
}

/// `mesh-vault.rotate`: begins a rotation, goes on with one, or gives it up.
pub fn rotate(vault: &Vault, ask: RotateAsk) -> Result<RotateAnswer, VerbError> {
    let RotateAsk { module, name, order } = ask;
    let seen = vault.seen();
    let entry = named(vault, &seen, &module, &name)?;
    let name = RotationName { module, entry };
    let done = match order {
        RotateOrder::Start { id, node, at_once, patience, deadline } => {
            must_be_made(&seen, &name, node.as_ref())?;
            vault.rotate(&name, node.as_ref(), &id, Terms { at_once, patience, deadline })
        }
        RotateOrder::Resume => vault.resume(&name),
        RotateOrder::Abandon => vault.abandon(&name),
    };
    match done {
        Ok(rotation) => Ok(RotateAnswer { v: V1, rotation }),
        Err(NotRotated::Store(error)) => Err(broken(&error)),
        Err(error) => Err(not_rotated(&name, &error)),
    }
}

fn not_rotated(name: &RotationName, error: &NotRotated) -> VerbError {
    let RotationName { module, entry } = name;
    let message = format!("{module}.{entry}: {error}");
    match error {
        NotRotated::UnderWay(_) => VerbError::new("under-way", message).help(format!(
            "`mesh secret list` says how far it is; `mesh secret rotate {module}.{entry} --resume` goes on with one that has \
             stopped, `--abandon` gives it up"
        )),
        NotRotated::None => VerbError::new("no-rotation", message)
            .help(format!("`mesh secret rotate {module}.{entry}` begins one")),
        NotRotated::Nothing | NotRotated::Store(_) => {
            VerbError::new("nothing-to-rotate", message).help("`mesh secret list` says what is waited for")
        }
    }
}

fn is_short_enough<'a>(sealed: impl Iterator<Item = &'a Ciphertext>) -> Result<(), VerbError> {
    match sealed.map(|one| one.as_bytes().len()).find(|size| *size > LONGEST) {
        None => Ok(()),
        Some(size) => {
            Err(VerbError::new("too-large", format!("it has {size} bytes, and may have {LONGEST}")))
        }
    }
}

/// What a name means: a need of the module, or a secret of its own.
fn named(vault: &Vault, seen: &Seen, module: &ModuleName, name: &str) -> Result<Entry, VerbError> {
    let unknown = || unknown_secret(&format!("{module}.{name}"));
    let rotations = vault.rotations();
    let is_there = |entry: &Entry| {
        seen.wanted.entries.keys().any(|key| key.module == *module && key.entry == *entry)
            || rotations.iter().any(|told| told.module == *module && told.name == *entry)
    };
    let spelled = name.parse::<Entry>().ok().filter(is_there);
    let own = || name.parse().ok().map(Entry::Own).filter(is_there);
    spelled.or_else(own).ok_or_else(unknown)
}

/// What an operator supplies is not made here.
fn must_be_made(seen: &Seen, name: &RotationName, node: Option<&NodeName>) -> Result<(), VerbError> {
    let RotationName { module, entry } = name;
    let of_it = seen.wanted.entries.iter().filter(|(key, _)| {
        key.module == *module && key.entry == *entry && node.is_none_or(|node| *node == key.node)
    });
    let all: Vec<&What> = of_it.map(|(_, what)| what).collect();
    match (all.first(), entry) {
        (None, _) => {
            let place = node.map(|node| format!(" on {node}")).unwrap_or_default();
            Err(unknown_secret(&format!("{module}.{entry}{place}")))
        }
        (Some(What::Supplied), Entry::Own(own)) => {
            let message = format!("{module}.{own} is supplied by an operator, and not made");
            Err(VerbError::new("supplied", message)
                .help(format!("`mesh secret set {module}.{own}` replaces it, and restarts what uses it")))
        }
        _ => Ok(()),
    }
}

/// As far as they are sealed to one node.
fn delivered(live: Vec<Credential>, to: &NodeName) -> Vec<Delivered<Sealed>> {
    let for_them = live.into_iter().filter_map(|mut one| {
        let sealed = one.sealed.remove(to)?;
        Some(Delivered { id: one.id, version: one.version, sealed })
    });
    for_them.collect()
}

/// What a consumer is offered: all that are live, or, once it has taken up one of them, that alone.
fn offered(live: Live) -> Vec<Credential> {
    let alone = live.turn.as_ref().filter(|turn| turn.offer == Offer::One).map(|turn| turn.to.clone());
    let mut all = in_order(live);
    all.retain(|one| alone.as_ref().is_none_or(|alone| one.id == *alone));
    all
}

/// The newest last; of two that a consumer is between, the one that it is to take up.
fn in_order(Live { mut credentials, turn }: Live) -> Vec<Credential> {
    credentials.sort_by_key(|one| turn.as_ref().is_some_and(|turn| turn.to == one.id));
    credentials
}

fn why(seen: &Seen, key: &CredentialKey) -> String {
    seen.waits.get(key).cloned().unwrap_or_else(|| "the vault has not made it yet".to_owned())
}

fn listed(seen: &Seen, key: &CredentialKey, live: &[Credential]) -> Option<VaultEntry<Recipient>> {
    let wanted = seen.wanted.entries.get(key);
    let newest = live.last();
    let origin = wanted.map(What::origin).or_else(|| newest.map(|one| one.origin.clone()))?;
    let (origin, provider) = match origin {
        Origin::Own => (VaultOrigin::Own, None),
        Origin::Supplied => (VaultOrigin::Supplied, None),
        Origin::Credential { provider, .. } => (VaultOrigin::Credential, Some(provider)),
    };
    let state = match (wanted, newest) {
        (None, _) => VaultState::Unwanted,
        (Some(_), Some(_)) => VaultState::Live,
        (Some(_), None) => VaultState::Waiting,
    };
    let sealed = newest.into_iter().flat_map(|one| &one.sealed);
    Some(VaultEntry {
        node: key.node.clone(),
        module: key.module.clone(),
        name: key.entry.to_string(),
        origin,
        provider,
        state,
        why: if state == VaultState::Waiting { Some(why(seen, key)) } else { None },
        versions: live
            .iter()
            .map(|one| CredentialVersion { id: one.id.clone(), version: one.version })
            .collect(),
        recipients: sealed.map(|(node, sealed)| (node.clone(), sealed.recipient.clone())).collect(),
        escrow: newest.into_iter().flat_map(|one| one.escrow.keys().cloned()).collect(),
    })
}

fn entry_key(entry: &VaultEntry<Recipient>) -> String {
    let entry_name = entry.name.parse().expect("it was written from an entry");
    CredentialKey { node: entry.node.clone(), module: entry.module.clone(), entry: entry_name }.to_string()
}

fn behind(cursor: Option<&str>) -> Result<(Bound<CredentialKey>, Bound<CredentialKey>), VerbError> {
    let Some(cursor) = cursor else { return Ok((Bound::Unbounded, Bound::Unbounded)) };
    let key = cursor.parse().map_err(|error| {
        VerbError::new("bad-request", format!("`after` is not the `next` of an answer: {error}"))
    })?;
    Ok((Bound::Excluded(key), Bound::Unbounded))
}

fn must_be_supplied(key: &CredentialKey, what: Option<&What>) -> Result<(), VerbError> {
    match what {
        Some(What::Supplied) => Ok(()),
        Some(What::Own(_) | What::Credential { .. }) => {
            let message =
                format!("{} of {} on {} is made by the vault, not supplied", key.entry, key.module, key.node);
            Err(VerbError::new("not-supplied", message)
                .help("write `supplied: true` in its manifest, under `secrets`, to set it yourself"))
        }
        None => Err(unknown_secret(&format!("{} of {} on {}", key.entry, key.module, key.node))),
    }
}

fn unknown_secret(name: &str) -> VerbError {
    VerbError::new("unknown-secret", format!("nothing that is assigned declares {name}"))
        .help("`mesh secret list` says what there is; what was just written has to be applied first")
}

/// The chain goes to our own log; whoever asks can do nothing about it.
fn broken(error: &(dyn std::error::Error + 'static)) -> VerbError {
    tracing::error!(error, "the vault failed");
    VerbError::new("internal", "the vault could not read or write what it keeps: its log says more")
}

#[cfg(test)]
mod tests;
