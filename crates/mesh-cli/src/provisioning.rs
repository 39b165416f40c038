//! `mesh-provisioner.provisioning`, asked to its last page.

use mesh_bus::Bus;
use mesh_bus::verb::{AskError, ask};
use mesh_model::wire::{ProvisioningAnswer, ProvisioningAsk};

const VERB: &str = "mesh-provisioner.provisioning";

/// Asks page after page, and puts them together.
pub(crate) async fn whole(bus: &Bus, question: ProvisioningAsk) -> Result<ProvisioningAnswer, AskError> {
    let mut whole = ProvisioningAnswer { what: question.what, ..ProvisioningAnswer::default() };
    let mut question = question;
    loop {
        let page: ProvisioningAnswer = ask(bus, VERB, &question).await?;
        whole.entries.extend(page.entries);
        whole.misshapen.extend(page.misshapen);
        match page.next {
            Some(next) if question.after.as_ref() != Some(&next) => question.after = Some(next),
            _ => return Ok(whole),
        }
    }
}
