//! What the vault has, and how its rotations stand: all pages of its answer.

use mesh_bus::Bus;
use mesh_bus::verb::{AskError, ask};
use mesh_model::wire::{ListAnswer, ListAsk, RotationTold, VaultEntry};
use mesh_seal::Recipient;

/// All that the vault has, and its rotations.
pub(crate) async fn all(bus: &Bus) -> Result<(Vec<VaultEntry<Recipient>>, Vec<RotationTold>), AskError> {
    let (mut entries, mut rotations) = (Vec::new(), Vec::new());
    let mut question = ListAsk::default();
    loop {
        let page: ListAnswer<Recipient> = ask(bus, "mesh-vault.list", &question).await?;
        entries.extend(page.entries);
        rotations.extend(page.rotations);
        match page.next {
            Some(next) if question.after.as_ref() != Some(&next) => question.after = Some(next),
            _ => return Ok((entries, rotations)),
        }
    }
}
