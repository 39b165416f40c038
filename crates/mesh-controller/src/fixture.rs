//! Plans for the tests of the pure parts: a provider and consumers of it, wherever a test wants them.

use std::collections::BTreeMap;

use mesh_plan::{Catalog, Description, Facts, Plan};

const STORE: &str = "\
module: store
dirs: {answers: {}}
provides:
  database:
    answers: \"${dir.answers}/database.json\"
    gives: {host: {}, password: {secret: true}}
files:
  consumers.json: {content: \"${consumers.database | json}\"}
";

const NOTES: &str = "\
module: notes
config: {title: {default: Notes}}
needs: {db: {provision: database}}
files:
  app.conf: {content: \"${config.title | env} ${bound.db.host}\"}
";

/// The plan of a mesh of `attic`, `cellar` and `shed` with this rest of its `mesh.yaml`.
pub(crate) fn plan(rest: &str) -> Plan {
    let mesh = format!(
        "mesh: home\nnodes:\n  attic: {{address: 10.0.0.1}}\n  cellar: {{address: 10.0.0.2}}\n  shed: {{address: 10.0.0.3}}\n{rest}"
    );
    let mut description = Description::default();
    for (path, text) in [
        ("mesh.yaml", mesh.as_str()),
        ("modules/store/module.yaml", STORE),
        ("modules/notes/module.yaml", NOTES),
    ] {
        description.insert(path, text.as_bytes());
    }
    let facts = Facts { roots: BTreeMap::new(), ..Facts::default() };
    let outcome = mesh_plan::plan(&description, &Catalog::default(), None, &facts);
    outcome.plan.unwrap_or_else(|| panic!("{:#?}", outcome.refusals))
}
