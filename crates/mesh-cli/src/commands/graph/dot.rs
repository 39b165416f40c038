//! As Graphviz reads it: a box a node, and in it its modules.
//!
//! Names are DNS labels and addresses have neither quotes nor backslashes, so nothing has to be escaped.

use std::fmt::{self, Write as _};

use mesh_model::key::ModuleKey;
use mesh_plan::Graph;
use mesh_plan::graph::Need;

pub(super) fn drawn(graph: &Graph) -> String {
    let mut out = String::new();
    write(&mut out, graph).expect("a text takes everything");
    out
}

fn write(out: &mut String, graph: &Graph) -> fmt::Result {
    let name = graph.mesh.as_ref().map_or("mesh", |mesh| mesh.as_str());
    writeln!(out, "digraph \"{name}\" {{\n  rankdir=LR\n  node [shape=box]")?;
    for (node, address) in &graph.nodes {
        let address = address.as_deref().map(|address| format!("\\n{address}")).unwrap_or_default();
        writeln!(out, "  subgraph \"cluster_{node}\" {{\n    label=\"{node}{address}\"")?;
        for key in graph.modules.keys().filter(|key| key.node == *node) {
            writeln!(out, "    \"{}\" [label=\"{}\"]", key.at(), key.module)?;
        }
        writeln!(out, "  }}")?;
    }
    for (key, needs) in &graph.modules {
        needs.iter().try_for_each(|need| edge(out, key, need))?;
    }
    writeln!(out, "}}")
}

fn edge(out: &mut String, key: &ModuleKey, need: &Need) -> fmt::Result {
    let Need { local, provision, from, refused } = need;
    let at = key.at();
    let code = refused.map_or("refused", |code| code.as_str());
    match (from, refused) {
        (Some(from), None) => {
            writeln!(out, "  \"{at}\" -> \"{}@{}\" [label=\"{local}\"]", from.module, from.node)
        }
        (Some(from), Some(_)) => writeln!(
            out,
            "  \"{at}\" -> \"{}@{}\" [label=\"{local}\\n{code}\", color=red, fontcolor=red]",
            from.module, from.node
        ),
        (None, _) => {
            writeln!(
                out,
                "  \"{at}.{local}\" [label=\"{provision}\", style=dashed, color=red, fontcolor=red]"
            )?;
            writeln!(
                out,
                "  \"{at}\" -> \"{at}.{local}\" [label=\"{local}\\n{code}\", style=dashed, color=red, fontcolor=red]"
            )
        }
    }
}
