//! The modules that ship with mesh, as text: built in here, so that whoever plans (the command, the controller) has the
//! same ones, and refuses with the same words.

use crate::description::Catalog;

/// Each module with its files, by their path in its folder.
const MODULES: &[(&str, &[(&str, &str)])] = &[
    ("object-store", &[("module.yaml", include_str!("../../../modules/object-store/module.yaml"))]),
    ("postgres", &[("module.yaml", include_str!("../../../modules/postgres/module.yaml"))]),
    ("reverse-proxy", &[("module.yaml", include_str!("../../../modules/reverse-proxy/module.yaml"))]),
];

/// The modules that ship with mesh.
///
/// # Panics
/// Where one of them has no name, which a test would have told.
#[must_use]
pub fn shipped() -> Catalog {
    let owned = |files: &[(&str, &str)]| {
        files.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_owned())).collect()
    };
    let module = |(name, files): &(&str, &[(&str, &str)])| (name.parse().expect("a name"), owned(files));
    Catalog { modules: MODULES.iter().map(module).collect() }
}
