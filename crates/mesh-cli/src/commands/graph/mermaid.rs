//! As Mermaid reads it, which many places draw that show Markdown.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use mesh_model::key::ModuleKey;
use mesh_plan::Graph;

pub(super) fn drawn(graph: &Graph) -> String {
    let mut out = String::new();
    write(&mut out, graph).expect("a text takes everything");
    out
}

fn write(out: &mut String, graph: &Graph) -> fmt::Result {
    // A name may be a word of Mermaid's own: a number never is.
    let ids: BTreeMap<&ModuleKey, usize> = graph.modules.keys().zip(0..).collect();
    writeln!(out, "flowchart LR")?;
    for (index, (node, address)) in graph.nodes.iter().enumerate() {
        let address = address.as_deref().map(|address| format!("<br>{address}")).unwrap_or_default();
        writeln!(out, "  subgraph n{index}[\"{node}{address}\"]")?;
        for (key, id) in ids.iter().filter(|(key, _)| key.node == *node) {
            writeln!(out, "    m{id}[\"{}\"]", key.module)?;
        }
        writeln!(out, "  end")?;
    }
    let mut refused = Vec::new();
    let needs = graph.modules.iter().flat_map(|(key, needs)| needs.iter().map(move |need| (key, need)));
    for (index, (key, need)) in needs.enumerate() {
        let from =
            need.from.as_ref().map(|from| ModuleKey { node: from.node.clone(), module: from.module.clone() });
        let to = from.and_then(|from| ids.get(&from).map(|id| format!("m{id}")));
        let code = need.refused.map_or("refused", |code| code.as_str());
        let id = ids[key];
        match to {
            Some(to) if need.refused.is_none() => writeln!(out, "  m{id} -- \"{}\" --> {to}", need.local)?,
            Some(to) => writeln!(out, "  m{id} -. \"{}: {code}\" .-> {to}", need.local)?,
            None => {
                writeln!(
                    out,
                    "  m{id} -. \"{}: {code}\" .-> r{index}[\"{}\"]:::refused",
                    need.local, need.provision
                )?;
            }
        }
        if need.refused.is_some() || need.from.is_none() {
            refused.push(index.to_string());
        }
    }
    writeln!(out, "  classDef refused stroke:#c00,color:#c00,stroke-dasharray:4")?;
    match refused.is_empty() {
        true => Ok(()),
        false => writeln!(out, "  linkStyle {} stroke:#c00,color:#c00", refused.join(",")),
    }
}
