//! The recipients of escrow: how each stands with a plan, what it cannot open, and how that is told.

use std::collections::BTreeMap;

use mesh_bus::Bus;
use mesh_bus::verb::{AskError, ask};
use mesh_model::causes::in_a_line;
use mesh_model::wire::{EscrowAnswer, EscrowState, VaultEntry, VaultOrigin, VaultState};
use mesh_plan::report::{Recipient as Told, Standing, Unreadable};
use mesh_seal::Recipient;
use serde_json::json;

use crate::planning::Read;
use crate::screen::Screen;
use crate::vault;

/// How many secrets are named, each with what makes it anew.
const NAMED: usize = 10;

/// How the recipients stand that a description names, or that the plan in effect names.
pub(crate) async fn of(read: &Read, bus: Option<&Bus>, screen: &Screen) -> Vec<Told> {
    let Some(plan) = &read.outcome.plan else { return Vec::new() };
    let unknown = || plan.escrow.iter().map(|recipient| told(recipient, Standing::Waiting, &[])).collect();
    let Some(bus) = bus else { return unknown() };
    with_plan(bus, &plan.escrow, &read.escrow_before).await.unwrap_or_else(|error| {
        screen.warn(format!("the vault was not asked about the recipients of escrow: {}", in_a_line(&error)));
        unknown()
    })
}

async fn with_plan(bus: &Bus, planned: &[String], before: &[String]) -> Result<Vec<Told>, AskError> {
    if planned.is_empty() && before.is_empty() {
        return Ok(Vec::new());
    }
    let known: EscrowAnswer<Recipient> = ask(bus, "mesh-vault.escrow", &json!({})).await?;
    let known: BTreeMap<String, EscrowState> =
        known.recipients.into_iter().map(|(recipient, state)| (recipient.to_string(), state)).collect();
    let (entries, _) = vault::all(bus).await?;
    let named = planned.iter().map(|recipient| {
        let state = match known.get(recipient) {
            Some(EscrowState::Sealed | EscrowState::Ahead) => Standing::Sealed,
            Some(EscrowState::Waiting) | None => Standing::Waiting,
        };
        told(recipient, state, &entries)
    });
    let left = before.iter().filter(|recipient| !planned.contains(recipient));
    let left = left.map(|recipient| told(recipient, Standing::LeftOut, &entries));
    Ok(named.chain(left).collect())
}

fn told(recipient: &str, state: Standing, entries: &[VaultEntry<Recipient>]) -> Told {
    let unreadable = match state {
        Standing::LeftOut => Vec::new(),
        Standing::Sealed | Standing::Waiting => unreadable(recipient, entries),
    };
    Told { recipient: recipient.to_owned(), state, unreadable }
}

/// What a recipient cannot open of what is live.
pub(crate) fn unreadable(recipient: &str, entries: &[VaultEntry<Recipient>]) -> Vec<Unreadable> {
    let lacks = |entry: &&VaultEntry<Recipient>| {
        entry.state == VaultState::Live && !entry.escrow.iter().any(|known| known.to_string() == recipient)
    };
    let named = |entry: &VaultEntry<Recipient>| Unreadable {
        node: entry.node.clone(),
        module: entry.module.clone(),
        name: entry.name.clone(),
        supplied: entry.origin == VaultOrigin::Supplied,
    };
    entries.iter().filter(lacks).map(named).collect()
}

/// How they stand, in lines for people; nothing where there is nothing to say.
pub(crate) fn lines(all: &[Told]) -> Vec<String> {
    all.iter().flat_map(lines_of).collect()
}

fn lines_of(told: &Told) -> Vec<String> {
    let Told { recipient, state, unreadable } = told;
    let head = match (state, unreadable.is_empty()) {
        (Standing::Sealed, true) => return Vec::new(),
        (Standing::Sealed, false) => {
            format!(
                "escrow: {recipient}\n  cannot open what was made before it was confirmed. Made anew, it can:"
            )
        }
        (Standing::Waiting, _) => {
            return vec![
                format!(
                    "escrow: {recipient}\n  waits: nothing is sealed to it until, on the server's machine,"
                ),
                format!("    {}", confirm(recipient)),
            ];
        }
        (Standing::LeftOut, _) => {
            return vec![format!(
                "escrow: {recipient}\n  is left out: nothing more is sealed to it; what it could open, it can open still"
            )];
        }
    };
    std::iter::once(head).chain(anew(unreadable)).collect()
}

/// What confirms a recipient.
pub(crate) fn confirm(recipient: &str) -> String {
    format!("mesh secret confirm-escrow {recipient}")
}

/// What makes each of these anew, a line each.
pub(crate) fn anew(unreadable: &[Unreadable]) -> Vec<String> {
    let mut lines: Vec<String> = unreadable.iter().take(NAMED).map(one_anew).collect();
    if let more @ 1.. = unreadable.len().saturating_sub(NAMED) {
        lines.push(format!("    … and {more} more"));
    }
    lines
}

fn one_anew(one: &Unreadable) -> String {
    let verb = if one.supplied { "set" } else { "rotate" };
    let name = one.name.strip_prefix("secret.").unwrap_or(&one.name);
    format!("    mesh secret {verb} {}.{name} --node {}", one.module, one.node)
}

#[cfg(test)]
mod tests;
