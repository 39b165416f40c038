//! What holds for every description: order does not matter, what was applied stays, a fault is told by its name.

use std::collections::BTreeSet;

use mesh_model::wire::{PlanRecord, Timestamp};
use mesh_plan::yaml::{self, Node, Value};
use mesh_plan::{Catalog, Description, Facts, Outcome, plan, shape};
use proptest::prelude::*;

use crate::case::{Case, describe, shown};

/// A good description with every kind of placeholder in it.
fn good() -> Vec<(String, String)> {
    Case::read(include_str!("../cases/accept-everything.case")).files
}

/// Good descriptions which have, between them, everything that can be said.
fn all_good() -> [Vec<(String, String)>; 2] {
    [good(), Case::read(include_str!("../cases/accept-the-contract.case")).files]
}

fn outcome(files: &[(String, String)], previous: Option<&PlanRecord>) -> Outcome {
    plan(&describe(files), &Catalog::default(), previous, &Facts::default())
}

/// Writes a tree as JSON, which is YAML: maps in another order where `order` says so.
fn written(node: &Node, order: &mut dyn FnMut(usize) -> Vec<usize>, keep: bool) -> String {
    match &node.value {
        Value::Null => "null".to_owned(),
        Value::Scalar(scalar) if scalar.style == yaml::Style::Plain && scalar.text.parse::<i64>().is_ok() => {
            scalar.text.clone()
        }
        Value::Scalar(scalar) if matches!(scalar.text.as_str(), "true" | "false") => scalar.text.clone(),
        Value::Scalar(scalar) => serde_json::to_string(&scalar.text).unwrap(),
        Value::List(items) => {
            let items: Vec<String> = items.iter().map(|item| written(item, order, false)).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Map(entries) => {
            let row = if keep { (0..entries.len()).collect() } else { order(entries.len()) };
            let one = |index: usize| {
                let entry = &entries[index];
                let key = serde_json::to_string(&entry.key).unwrap();
                // Services start in the order written, and so do variables of the environment stand.
                format!(
                    "{key}: {}",
                    written(&entry.value, order, matches!(entry.key.as_str(), "run" | "env"))
                )
            };
            format!("{{{}}}", row.into_iter().map(one).collect::<Vec<_>>().join(", "))
        }
    }
}

proptest! {
    #[test]
    fn the_order_of_maps_does_not_matter(seed in any::<u64>()) {
        let mut state = seed | 1;
        let mut order = |length: usize| {
            let mut row: Vec<usize> = (0..length).collect();
            for index in (1..length).rev() {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                row.swap(index, (state >> 33) as usize % (index + 1));
            }
            row
        };
        let mut same = |length: usize| (0..length).collect();
        let mut texts = Vec::new();
        for order in [&mut same as &mut dyn FnMut(usize) -> Vec<usize>, &mut order] {
            let one = |(path, text): (String, String)| {
                (path, written(&yaml::parse(&text).root.unwrap(), order, false))
            };
            texts.push(good().into_iter().map(one).collect::<Vec<_>>());
        }
        let plans: Vec<_> = texts.iter().map(|files| outcome(files, None)).collect();
        prop_assert!(plans[0].plan.is_some(), "{}", shown(&plans[0].refusals));
        let says = |outcome: &Outcome| {
            let plan = outcome.plan.as_ref().unwrap();
            let mut all: Vec<_> = plan.assignments.values().cloned().collect();
            // The bytes of the manifests differ, and nothing else may.
            for one in &mut all {
                one.manifest = mesh_model::digest::Digest::of(b"");
                one.plan = one.manifest.clone();
                one.digest = one.manifest.clone();
            }
            (all, plan.settings.clone(), plan.placement.clone())
        };
        prop_assert_eq!(says(&plans[0]), says(&plans[1]));
    }

    #[test]
    fn any_bytes_are_planned_or_refused(mesh in prop::collection::vec(any::<u8>(), 0..200), module in "[-a-z\\[\\]{}:,#|>&*!?'\"%${} \n0]{0,120}") {
        let mut description = Description::default();
        description.insert("mesh.yaml", &mesh);
        description.insert("modules/wiki/module.yaml", module.as_bytes());
        let outcome = plan(&description, &Catalog::default(), None, &Facts::default());
        prop_assert!(outcome.plan.is_none() != outcome.refusals.is_empty());
        let told = outcome.refusals.iter().chain(&outcome.warnings);
        prop_assert!(told.clone().all(|refusal| refusal.line > 0 && refusal.column > 0 && !refusal.help.is_empty()));
    }

    #[test]
    fn a_good_description_cut_or_torn_is_planned_or_refused(which in 0usize..3, from in 0usize..2000, length in 0usize..40, insert in "[-${}|:\"' \n]{0,4}") {
        let mut files = good();
        let text = &mut files[which].1;
        let mut from = from % text.len();
        while !text.is_char_boundary(from) { from -= 1; }
        let mut to = (from + length).min(text.len());
        while !text.is_char_boundary(to) { to += 1; }
        text.replace_range(from..to, &insert);
        let outcome = outcome(&files, None);
        prop_assert!(outcome.plan.is_none() != outcome.refusals.is_empty());
    }
}

#[test]
fn planning_what_is_applied_changes_nothing() {
    let first = outcome(&good(), None).plan.unwrap();
    let at = Timestamp::try_from("2026-12-01T09:00:00Z".to_owned()).unwrap();
    let record = first.record("ada", at);
    let second = outcome(&good(), Some(&record)).plan.unwrap();
    assert_eq!(second.assignments, first.assignments);
    assert_eq!(second.follows.as_ref(), Some(&first.id));
}

#[test]
fn adding_a_module_moves_no_port() {
    let mut files = good();
    let first = outcome(&files, None).plan.unwrap();
    let at = Timestamp::try_from("2026-12-01T09:00:00Z".to_owned()).unwrap();
    files[0].1 = files[0].1.replace("wiki: cellar", "wiki: cellar, abc: cellar");
    files.push(("modules/abc/module.yaml".to_owned(), "module: abc\nports: {http: auto}\n".to_owned()));
    let port = |outcome: Outcome, at: &str| outcome.plan.unwrap().placement[at].ports["http"];
    assert_eq!(port(outcome(&files, Some(&first.record("ada", at))), "wiki@cellar"), 20000);
    assert_eq!(port(outcome(&files, Some(&first.record("ada", at))), "abc@cellar"), 20001);
    // Without a plan before, the first by name has the first.
    assert_eq!(port(outcome(&files, None), "abc@cellar"), 20000);
    // A port that was kept is in the way of one that is written down since: that is refused, and nobody moves.
    files.last_mut().unwrap().1 = "module: abc\nports: {http: 20000}\n".to_owned();
    let clash = outcome(&files, Some(&first.record("ada", at)));
    assert_eq!(clash.refusals.len(), 1, "{}", shown(&clash.refusals));
    assert!(clash.refusals[0].message.contains("wiki@cellar"));
}

/// The same text with two letters of a word changed places, or one more where they are the same.
fn misspelt(word: &str) -> String {
    let mut letters: Vec<char> = word.chars().collect();
    match (1..letters.len()).rev().find(|index| letters[*index] != letters[index - 1]) {
        Some(index) => letters.swap(index, index - 1),
        None => letters.push('q'),
    }
    letters.into_iter().collect()
}

/// Each word of a text that begins at one of these marks, with where it stands.
fn words(text: &str, is_one: impl Fn(&str, &str) -> bool) -> Vec<(usize, String)> {
    let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let mut out = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let length = rest.find(|c: char| !part(c)).unwrap_or(rest.len());
        if length == 0 {
            at += rest.chars().next().unwrap().len_utf8();
            continue;
        }
        if is_one(&text[..at], &rest[length..]) && length > 1 {
            out.push((at, rest[..length].to_owned()));
        }
        at += length;
    }
    out
}

/// Every key that the tables know, misspelt, one at a time: that alone is told, and nothing that comes of it.
#[test]
fn every_key_misspelt_is_refused_by_its_name() {
    let places = [
        &shape::MESH,
        &shape::NODE,
        &shape::MANIFEST,
        &shape::SETTING,
        &shape::SECRET,
        &shape::DIR,
        &shape::NEED,
        &shape::FILE,
        &shape::SERVICE,
        &shape::PREPARE,
        &shape::HEALTH,
        &shape::PROVISION,
        &shape::TAKE,
        &shape::GIVE,
        &shape::IMAGE,
    ];
    let keys: BTreeSet<&str> = places.iter().flat_map(|place| place.keys).map(|key| key.name).collect();
    // What the good description calls a port of its own.
    let is_key = |word: &str| keys.contains(word) && word != "http";
    let goods = all_good();
    let mut tried = 0;
    for (good, index) in goods.iter().flat_map(|good| (0..good.len()).map(move |index| (good, index))) {
        let (path, text) = &good[index];
        for (at, word) in
            words(text, |_, after| after.starts_with(':')).into_iter().filter(|(_, word)| is_key(word))
        {
            let mut files = good.clone();
            files[index].1.replace_range(at..at + word.len(), &misspelt(&word));
            let outcome = outcome(&files, None);
            let named = outcome.refusals.iter().any(|refusal| {
                refusal.file == *path
                    && (refusal.help.contains(&format!("`{word}`"))
                        || refusal.message.contains(&format!("`{word}`")))
            });
            let alone = outcome.refusals.len() == 1;
            assert!(named && alone, "{path}: `{word}` as `{}`:{}", misspelt(&word), shown(&outcome.refusals));
            tried += 1;
        }
    }
    assert!(tried > 90, "{tried}");
}

/// Every name that a placeholder refers to, misspelt, one at a time: that alone is told.
#[test]
fn every_reference_broken_is_refused_by_its_name() {
    let goods = all_good();
    let mut tried = 0;
    for (good, index) in goods.iter().flat_map(|good| (0..good.len()).map(move |index| (good, index))) {
        let (path, text) = &good[index];
        if path.ends_with(".svg") {
            // Taken as it is.
            continue;
        }
        let inside = |before: &str, _: &str| {
            before
                .rfind("${")
                .is_some_and(|open| !before[open..].contains('}') && !before[..open].ends_with('$'))
        };
        for (at, word) in words(text, inside) {
            // Collections are declared nowhere: any name is one.
            let open = text[..at].rfind("${").unwrap();
            let kind = text[open + 2..].split('.').next().unwrap();
            if at > open + 2
                && matches!(kind, "collected" | "shell" | "environment")
                && !text[open..at].contains('|')
            {
                continue;
            }
            let mut files = good.clone();
            files[index].1.replace_range(at..at + word.len(), &misspelt(&word));
            let outcome = outcome(&files, None);
            let named = outcome.refusals.iter().any(|refusal| {
                refusal.file == *path && format!("{} {}", refusal.message, refusal.help).contains(&word)
            });
            let alone = outcome.refusals.len() == 1;
            let fault = misspelt(&word);
            assert!(named && alone, "{path}: `{word}` as `{fault}` at {at}:{}", shown(&outcome.refusals));
            tried += 1;
        }
    }
    assert!(tried > 130, "{tried}");
}

/// A file of nothing but faults costs what its length does: this took minutes when each looked at the whole line.
#[test]
fn fifty_thousand_faults_on_one_line_are_all_told() {
    for (fault, bytes) in [("${a} ", 5), ("${é.b} ", 8)] {
        let many = 250_000 / bytes;
        let manifest = format!("module: wiki\nfiles: {{f: {{content: \"{}\"}}}}\n", fault.repeat(many));
        let mesh = "mesh: home\nnodes: {attic: {}}\nassign: {wiki: attic}\n".to_owned();
        let files = [("mesh.yaml".to_owned(), mesh), ("modules/wiki/module.yaml".to_owned(), manifest)];
        assert_eq!(outcome(&files, None).refusals.len(), many);
    }
}
