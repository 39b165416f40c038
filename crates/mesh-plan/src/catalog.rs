//! The modules that ship with mesh, and what they provide.

use mesh_model::name::{ModuleName, ProvisionName};

use crate::decode::{self, Reading};
use crate::description::{Catalog, manifest_path};
use crate::source::Source;
use crate::yaml;

/// The modules of a catalog that provide something.
pub(crate) fn providing<'a>(catalog: &'a Catalog, provision: &ProvisionName) -> Vec<&'a ModuleName> {
    let provides = |name: &ModuleName, bytes: &[u8]| {
        let source = Source::new(manifest_path(name), Some(name.clone()), String::from_utf8_lossy(bytes));
        let Some(root) = yaml::parse(&source.text).root else { return false };
        let manifest = decode::manifest::read(&mut Reading::new(&source), &root, name.clone());
        manifest.provides.contains_key(provision)
    };
    let manifests =
        catalog.modules.iter().filter_map(|(name, files)| Some((name, files.get("module.yaml")?)));
    manifests.filter(|(name, bytes)| provides(name, bytes)).map(|(name, _)| name).collect()
}
