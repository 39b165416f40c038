//! Any bytes as `mesh.yaml` or as a manifest: planned to the end, the same twice, and every refusal has a place that is
//! there.
//!
//! The first byte says which of the two files the rest is: `m` for `mesh.yaml`, anything else for the manifest.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mesh_model::refusal::Refusal;
use mesh_plan::{Description, Facts, plan, shipped};

const MESH: &str = "mesh: home\nnodes: {attic: {address: 192.0.2.1}, cellar: {address: 192.0.2.2}}\n\
                    assign: {postgres: attic, notes: [attic, cellar]}\nconfig: {notes: {title: t}}\n";
const MANIFEST: &str = "module: notes\nconfig: {title: {}}\nneeds: {db: {provision: postgres-database}}\n\
                        files: {a: {content: \"${config.title} ${bound.db.url}\"}}\n";

fuzz_target!(|data: &[u8]| {
    let Some((which, bytes)) = data.split_first() else { return };
    let catalog = shipped();
    let mut description = Description::default();
    let (mesh, manifest) = match which {
        b'm' => (bytes, MANIFEST.as_bytes()),
        _ => (MESH.as_bytes(), bytes),
    };
    description.insert("mesh.yaml", mesh);
    description.insert("modules/notes/module.yaml", manifest);
    description.add_shipped(&catalog);
    let outcome = plan(&description, &catalog, None, &Facts::default());
    assert_eq!(outcome.plan.is_some(), outcome.refusals.is_empty());
    for refusal in outcome.refusals.iter().chain(&outcome.warnings) {
        placed(refusal, &description);
    }
    let again = plan(&description, &catalog, None, &Facts::default());
    assert_eq!((outcome.refusals, outcome.plan), (again.refusals, again.plan));
});

fn placed(refusal: &Refusal, description: &Description) {
    assert!(refusal.line > 0 && refusal.column > 0, "{refusal:?}");
    assert!(!refusal.message.is_empty() && !refusal.help.is_empty(), "{refusal:?}");
    let bytes = description.texts.get(&refusal.file).map(Vec::as_slice).unwrap_or_default();
    if let Ok(text) = std::str::from_utf8(bytes) {
        assert!(text.get(refusal.span.clone()).is_some(), "{refusal:?}");
    }
}
