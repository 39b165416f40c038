//! A seat is held by one module, on one node or standing by on several.

use std::collections::BTreeMap;

use mesh_model::refusal::{Code, Refusal};

use crate::model::Model;

/// `seat-taken`: by two modules that run, or by one where it is the mesh's own.
pub(crate) fn check(model: &Model<'_>, out: &mut Vec<Refusal>) {
    let mut holders = BTreeMap::new();
    for module in model.modules.iter().filter(|module| model.runs_of(module.name()).len() > 0) {
        let name = module.name();
        for seat in &module.manifest.seats {
            let held = seat.value.as_str();
            let other = match held.starts_with("mesh-") {
                true => Some("the mesh itself".to_owned()),
                false => match holders.insert(held, name) {
                    Some(other) if other != name => Some(format!("`{other}`")),
                    _ => None,
                },
            };
            if let Some(other) = other {
                let message =
                    format!("the seat `{held}` is for `{name}` and for {other}: one module holds a seat");
                let help = "give one of them a seat of another name, or assign one of them alone; one module on two nodes \
                            stands by";
                let mut refusal = module.source.refuse(Code::SeatTaken, seat.span, message, help.to_owned());
                refusal.name = Some(held.to_owned());
                out.push(refusal);
            }
        }
    }
}
