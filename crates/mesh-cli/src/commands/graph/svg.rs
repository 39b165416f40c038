//! As a picture, laid out and drawn by `layout-rs`: a box a module, with its node below its name.

use std::collections::BTreeMap;

use layout::backends::svg::SVGWriter;
use layout::core::base::Orientation;
use layout::core::color::Color;
use layout::core::geometry::Point;
use layout::core::style::{LineStyleKind, StyleAttr};
use layout::std_shapes::shapes::{Arrow, Element, LineEndKind, ShapeKind};
use layout::topo::layout::VisualGraph;
use mesh_model::key::ModuleKey;
use mesh_plan::Graph;

/// Red, green and blue, and how they let through.
const BLACK: u32 = 0x0000_00ff;
const WHITE: u32 = 0xffff_ffff;
const RED: u32 = 0xcc00_00ff;
/// In pixels.
const FONT: usize = 15;

pub(super) fn drawn(graph: &Graph) -> String {
    let mut picture = VisualGraph::new(Orientation::LeftToRight);
    let mut handles = BTreeMap::new();
    for key in graph.modules.keys() {
        let label = format!("{}\n{}", key.module, key.node);
        handles.insert(key.clone(), picture.add_node(block(&label, BLACK)));
    }
    for (key, needs) in &graph.modules {
        for need in needs {
            let from = need.from.as_ref();
            let from = from.map(|from| ModuleKey { node: from.node.clone(), module: from.module.clone() });
            let to = from.and_then(|from| handles.get(&from).copied());
            let refused = need.refused.is_some() || to.is_none();
            let code = need.refused.map_or("refused", |code| code.as_str());
            let label = if refused { format!("{}: {code}", need.local) } else { need.local.to_string() };
            let to = to.unwrap_or_else(|| picture.add_node(block(need.provision.as_str(), RED)));
            picture.add_edge(arrow(&label, if refused { RED } else { BLACK }), handles[key], to);
        }
    }
    let mut writer = SVGWriter::new();
    if !handles.is_empty() {
        picture.do_it(false, false, false, &mut writer);
    }
    writer.finalize() + "\n"
}

fn look(line: u32) -> StyleAttr {
    StyleAttr::new(Color::new(line), 2, Some(Color::new(WHITE)), 4, FONT)
}

fn block(label: &str, line: u32) -> Element {
    let lines = label.lines().count().max(1);
    let widest = label.lines().map(|line| line.chars().count()).max().unwrap_or(1);
    #[expect(clippy::cast_precision_loss, reason = "names are short")]
    let size = Point::new((widest * FONT) as f64, (lines * FONT * 2) as f64);
    Element::create(ShapeKind::new_box(label), look(line), Orientation::LeftToRight, size)
}

fn arrow(label: &str, line: u32) -> Arrow {
    let kind = if line == RED { LineStyleKind::Dashed } else { LineStyleKind::Normal };
    Arrow::new(LineEndKind::None, LineEndKind::Arrow, kind, label, &look(line), &None, &None)
}
