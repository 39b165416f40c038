//! Any bytes as `mesh.yaml`, as a manifest, or as a file beside one: planned to the end, the same twice, and every refusal
//! has a place that is there.
//!
//! The first byte says which file the rest is: `m` for `mesh.yaml`, `b` for the file beside, anything else for the manifest.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mesh_model::refusal::Refusal;
use mesh_plan::{Description, Facts, plan, shipped};

const MESH: &str = "mesh: home\nnodes: {attic: {address: 192.0.2.1}, cellar: {address: 192.0.2.2}}\n\
                    assign: {postgres: attic, notes: [attic, cellar]}\nconfig: {notes: {title: t}}\n";
const MANIFEST: &str = "module: notes\nconfig: {title: {}}\nneeds: {db: {provision: postgres-database}}\n\
                        files: {a: {content: \"${config.title} ${bound.db.url}\"}, b: {from: beside}}\n";

fuzz_target!(|data: &[u8]| {
    let Some((which, bytes)) = data.split_first() else { return };
    let catalog = shipped();
    let mut description = Description::default();
    let (mesh, manifest, beside) = match which {
        b'm' => (bytes, MANIFEST.as_bytes(), &b"${config.title}"[..]),
        b'b' => (MESH.as_bytes(), MANIFEST.as_bytes(), bytes),
        _ => (MESH.as_bytes(), bytes, &b"${config.title}"[..]),
    };
    description.insert("mesh.yaml", mesh);
    description.insert("modules/notes/module.yaml", manifest);
    description.insert("modules/notes/beside", beside);
    description.add_shipped(&catalog);
    for path in description.texts_to_read() {
        // Only one file lies beside a manifest.
        description.texts.insert(path, beside.to_owned());
    }
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
