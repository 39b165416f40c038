//! As lines: a node, its modules below it, their needs below them.

use std::fmt::Write as _;

use mesh_plan::Graph;
use mesh_plan::graph::Need;

use crate::screen::{Screen, Tone};

pub(super) fn drawn(graph: &Graph, screen: &Screen) -> String {
    let mut out = String::new();
    for (node, address) in &graph.nodes {
        let address = address.as_deref().map(|address| format!(" ({address})")).unwrap_or_default();
        line(&mut out, &format!("{}{address}", screen.on_out(Tone::Strong, node.as_str())));
        for (key, needs) in graph.modules.iter().filter(|(key, _)| key.node == *node) {
            line(&mut out, &format!("  {}", key.module));
            needs.iter().for_each(|need| line(&mut out, &format!("    {}", said(need, screen))));
        }
    }
    out
}

fn said(need: &Need, screen: &Screen) -> String {
    let Need { local, provision, from, refused } = need;
    let from = from.as_ref().map(|from| format!(" from {}@{}", from.module, from.node)).unwrap_or_default();
    let refused = match (refused, from.is_empty()) {
        (Some(code), _) => format!("  {}", screen.on_out(Tone::Bad, &format!("refused: {code}"))),
        (None, true) => format!("  {}", screen.on_out(Tone::Bad, "refused")),
        (None, false) => String::new(),
    };
    format!("{local}: {provision}{from}{refused}")
}

fn line(out: &mut String, text: &str) {
    writeln!(out, "{text}").expect("a text takes everything");
}
