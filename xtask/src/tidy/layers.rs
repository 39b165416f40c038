//! Rules about what may depend on what: arrows go one way, and each library of the outside world has its owner.

use super::Breach;
use super::tree::Tree;
use crate::place::Place;
use crate::shell;

/// Which crates of ours a crate may use. One that is not listed may use all.
const ARROWS: [(&str, &[&str]); 12] = [
    ("mesh-model", &[]),
    ("mesh-seal", &[]),
    ("mesh-plan", &["mesh-model"]),
    ("mesh-bus", &["mesh-model", "mesh-seal"]),
    ("mesh-controller", &["mesh-model", "mesh-plan", "mesh-seal", "mesh-bus"]),
    ("mesh-vault", &["mesh-model", "mesh-seal", "mesh-bus"]),
    ("mesh-provisioner", &["mesh-model", "mesh-seal", "mesh-bus"]),
    ("mesh-node", &["mesh-model", "mesh-seal", "mesh-bus"]),
    ("mesh-provider", &["mesh-model", "mesh-seal"]),
    ("mesh-web", &["mesh-model", "mesh-bus"]),
    ("notes", &[]),
    ("xtask", &[]),
];

/// Who alone may use a library, as the beginning of its manifest's path.
const OWNERS: [(&str, &[&str]); 4] = [
    ("async-nats", &["crates/mesh-bus/"]),
    ("nkeys", &["crates/mesh-bus/"]),
    ("clap", &["crates/mesh-cli/", "modules/", "benches/"]),
    ("tokio-postgres", &["modules/", "examples/", "benches/"]),
];

/// Crates that decide and never touch the world, and what must not be under them at any depth.
const PURE: [&str; 3] = ["mesh-model", "mesh-plan", "mesh-seal"];
const IMPURE: [&str; 12] = [
    "async-nats",
    "async-std",
    "hyper",
    "mio",
    "quinn",
    "reqwest",
    "rustls",
    "smol",
    "socket2",
    "tempfile",
    "tokio",
    "ureq",
];

/// Every crate takes the workspace's lints.
pub(super) fn lints(tree: &Tree) -> Vec<Breach> {
    tree.ending("Cargo.toml")
        .filter(|(_, text)| section(text, "package").next().is_some())
        .filter(|(_, text)| !section(text, "lints").any(|line| line.replace(' ', "") == "workspace=true"))
        .map(|(path, _)| Breach::of_file(path, "takes the workspace's lints: `[lints] workspace = true`"))
        .collect()
}

/// Arrows between our crates go one way.
pub(super) fn arrows(tree: &Tree) -> Vec<Breach> {
    let mut breaches = Vec::new();
    for (path, text) in tree.ending("Cargo.toml") {
        let name =
            section(text, "package").find_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'));
        let Some((_, allowed)) = ARROWS.iter().find(|(from, _)| Some(*from) == name) else { continue };
        for used in dependencies(text).filter(|used| used.starts_with("mesh-") && !allowed.contains(used)) {
            breaches.push(Breach::of_file(path, format!("may not depend on {used}")));
        }
    }
    breaches
}

/// A library with an owner is used by nobody else.
pub(super) fn owners(tree: &Tree) -> Vec<Breach> {
    let mut breaches = Vec::new();
    for (path, text) in tree.ending("Cargo.toml") {
        for used in dependencies(text) {
            let Some((_, owners)) = OWNERS.iter().find(|(library, _)| *library == used) else { continue };
            if !owners.iter().any(|owner| path.starts_with(owner)) {
                breaches.push(Breach::of_file(
                    path,
                    format!("may not depend on {used}: {} may", owners.join(", ")),
                ));
            }
        }
    }
    breaches
}

/// Under the pure crates there is no async runtime and no network, at any depth.
pub(super) fn transitive(place: &Place) -> Result<Vec<Breach>, shell::Error> {
    let mut breaches = Vec::new();
    for pure in PURE {
        let mut tree = place.cargo();
        tree.args([
            "tree",
            "--locked",
            "--package",
            pure,
            "--edges",
            "normal",
            "--prefix",
            "none",
            "--format",
            "{p}",
        ]);
        let printed = shell::read(&mut tree)?;
        for impure in impure(&printed) {
            let path = format!("crates/{pure}/Cargo.toml");
            breaches.push(Breach::of_file(
                &path,
                format!("has {impure} under it (cargo tree -p {pure} -i {impure})"),
            ));
        }
    }
    Ok(breaches)
}

/// The impure crates among those that `cargo tree` printed, one `name version` a line.
pub(super) fn impure(printed: &str) -> Vec<&'static str> {
    let has = |name: &str| printed.lines().any(|line| line.split(' ').next() == Some(name));
    IMPURE.into_iter().filter(|name| has(name)).collect()
}

/// The names that a manifest's `[dependencies]` have, for every target; not those of its tests and build scripts.
fn dependencies(manifest: &str) -> impl Iterator<Item = &str> {
    let mut within = false;
    manifest.lines().map(str::trim).filter_map(move |line| {
        if let Some(header) = line.strip_prefix('[') {
            let header = header.trim_end_matches(']');
            within = header == "dependencies"
                || header.starts_with("target.") && header.ends_with(".dependencies");
            return header.strip_prefix("dependencies.");
        }
        let name =
            line.split(['.', '=', ' ']).next().filter(|name| !name.is_empty() && !name.starts_with('#'))?;
        within.then_some(name)
    })
}

/// The lines of one section of a manifest.
fn section<'t>(manifest: &'t str, name: &'t str) -> impl Iterator<Item = &'t str> {
    let mut within = false;
    manifest.lines().map(str::trim).filter(move |line| {
        if let Some(header) = line.strip_prefix('[') {
            within = header.trim_end_matches(']') == name;
            return false;
        }
        within && !line.is_empty()
    })
}
