//! What could never work: one small function a subject, each on its own.
//!
//! A rule reads the model and tells what it finds. None relies on another having found something; what could not be read,
//! or could not be decided, is passed over here, because it has been refused where it stands. To add one: a function in
//! the file of its subject, a line in [`RULES`], a page under `docs/refusals/`, a case under `tests/cases/`.

pub(crate) mod addresses;
pub(crate) mod assign;
pub(crate) mod circles;
pub(crate) mod contributions;
pub(crate) mod fields;
pub(crate) mod images;
pub(crate) mod lines;
pub(crate) mod paths;
pub(crate) mod placeholders;
pub(crate) mod providers;
pub(crate) mod seats;
pub(crate) mod settings;
pub(crate) mod unused;

use mesh_model::refusal::Refusal;

use crate::model::Model;

/// A rule: it tells what it finds.
type Rule = fn(&Model<'_>, &mut Vec<Refusal>);

/// Every rule that needs nothing but the model. What decides something as it looks (who answers, which port) is called
/// by the plan itself: [`providers`], [`settings`], [`crate::ports`], [`contributions`].
pub(crate) const RULES: &[Rule] = &[
    assign::unknown_modules,
    assign::unknown_nodes,
    settings::unknown_targets,
    placeholders::check,
    fields::circles,
    addresses::check,
    circles::check,
    seats::check,
    paths::check,
    paths::files_that_are_not_there,
    images::not_built,
    images::from_nothing,
    images::without_target,
    lines::settings,
    lines::collected,
];

/// What works, but is surely not meant.
pub(crate) const WARNINGS: &[Rule] =
    &[unused::modules, unused::secrets, unused::settings, unused::settings_of_nobody];
