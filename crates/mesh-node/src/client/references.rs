//! What an assignment asks for: every placeholder in its services and files, and every provision that it needs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mesh_model::name::FilePath;
use mesh_model::placeholder::{Reference, Template};
use mesh_model::wire::{Assignment, Health, Run};

/// What the files of an assignment are made from, by path.
pub type Templates = BTreeMap<FilePath, Body>;

/// What a file is made from.
pub enum Body {
    /// A text with placeholders in it.
    Template(Template),
    /// These very bytes, which need not be text.
    Verbatim(Arc<Vec<u8>>),
}

/// Every reference in the services and files of an assignment.
#[must_use]
pub fn of(assignment: &Assignment, files: &Templates) -> BTreeSet<Reference> {
    let mut found = BTreeSet::new();
    for run in assignment.run.values() {
        for text in texts(run) {
            note(&Template::parse(text).0, &mut found);
        }
    }
    for body in files.values() {
        match body {
            Body::Template(template) => note(template, &mut found),
            Body::Verbatim(_) => {}
        }
    }
    found
}

fn note(template: &Template, found: &mut BTreeSet<Reference>) {
    found.extend(template.placeholders().map(|placeholder| placeholder.reference.clone()));
}

/// Every text of a service that may hold placeholders.
pub fn texts(run: &Run) -> impl Iterator<Item = &String> {
    let prepare = run.prepare.iter().flat_map(|step| step.exec.iter().chain(&step.creates));
    let image = run.image.iter().flat_map(|image| image.args.iter().chain(&image.mounts));
    let health = run.health.iter().flat_map(|health| match health {
        Health::Http(text) | Health::Tcp(text) => std::slice::from_ref(text).iter(),
        Health::Exec(command) => command.iter(),
    });
    prepare.chain(&run.exec).chain(image).chain(run.env.values()).chain(health)
}
