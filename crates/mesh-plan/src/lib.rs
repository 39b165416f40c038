//! From a mesh description to a plan, or to everything that is wrong with it.
//!
//! Reading order: [`description`] (what is read), [`plan()`] (what comes of it), [`yaml`], [`text`] and [`span`] (texts that know
//! where they stand), [`shape`] (what a description may say, as data; [`schema`] is made from it), [`mesh`] and [`manifest`] (what the two kinds of
//! file say), the rules, one file a subject; then [`diff()`] (what a plan would change), [`report`] (the same for
//! programs) [`document`] (a plan to compare a later one with) and [`graph`] (who needs what from whom).
//!
//! Pure: no IO, no clock, no randomness; the same input gives the same outcome, byte for byte, whatever the order of its
//! maps. Nothing here stops at the first fault.

pub mod description;
pub mod diff;
pub mod document;
pub mod graph;
pub mod manifest;
pub mod mesh;
pub mod plan;
pub mod report;
pub mod schema;
pub mod shape;
pub mod source;
pub mod span;
pub mod text;
pub mod yaml;

mod assignments;
mod beside;
mod catalog;
mod common;
mod decode;
mod meant;
mod model;
mod nearest;
mod ports;
mod rules;
mod runs;
mod scope;
mod shipped;
mod texts;

pub use assignments::LIMIT as ASSIGNMENT_LIMIT;
pub use description::{Catalog, Description, Facts, FileEntry};
pub use diff::{Change, diff};
pub use document::Document;
pub use graph::Graph;
pub use plan::{Content, Outcome, Plan, plan};
pub use shipped::shipped;
