//! A description of any size, as people would write it: three providers on so many nodes that none has more consumers
//! than an assignment holds, and 20 consumers on each node, each with 3 needs and 15 placeholders.

use std::fmt::{self, Write as _};
use std::path::Path;
use std::str::FromStr;

/// How many modules each node runs, beside providers.
const MODULES: usize = 20;
/// How many nodes a module runs on at most, and how many consumers a provider has: an assignment holds no more.
const MOST: usize = 1000;

/// How alike the modules are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// The same on every node; of each thousand, where there are more.
    Alike,
    /// Each on a node of its own.
    Different,
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Self::Alike { "alike" } else { "different" })
    }
}

impl FromStr for Shape {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "alike" => Ok(Self::Alike),
            "different" => Ok(Self::Different),
            other => Err(other.to_owned()),
        }
    }
}

/// What consumers need: the name of the need, the provision, its provider, and what is handed over.
const NEEDS: [(&str, &str, &str); 3] =
    [("db", "postgres-database", "database"), ("web", "route", "proxy"), ("files", "s3-bucket", "store")];

/// Writes a description of so many nodes.
///
/// # Panics
/// Where it cannot be written.
pub(crate) fn write(folder: &Path, nodes: usize, shape: Shape) {
    let runs = match shape {
        Shape::Alike => nodes.min(MOST),
        Shape::Different => 1,
    };
    for index in 0..MODULES * nodes / runs {
        file(folder, &format!("modules/{}/module.yaml", module(index)), &consumer(index));
    }
    for (_, provision, provider) in NEEDS {
        file(folder, &format!("modules/{provider}/module.yaml"), &provides(provider, provision));
    }
    file(folder, "mesh.yaml", &mesh(nodes, runs));
}

#[expect(clippy::disallowed_methods, reason = "nobody reads it meanwhile")]
fn file(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn node(index: usize) -> String {
    format!("node-{index:05}")
}

fn module(index: usize) -> String {
    format!("app-{index:06}")
}

fn mesh(nodes: usize, runs: usize) -> String {
    let mut out = String::from("mesh: large\nnodes:\n");
    for index in 0..nodes {
        let [a, b] = [index / 250, index % 250 + 1];
        writeln!(out, "  {}: {{address: 10.20.{a}.{b}}}", node(index)).unwrap();
    }
    let modules = MODULES * nodes / runs;
    // A provider for each thousand consumers, spread over the nodes.
    let providers = (modules * runs).div_ceil(MOST);
    let provider_at = |index: usize| index * nodes / providers;
    out.push_str("assign:\n");
    for (_, _, provider) in NEEDS {
        writeln!(out, "  {provider}: [{}]", list((0..providers).map(provider_at))).unwrap();
    }
    for index in 0..modules {
        let first = index / MODULES * runs;
        writeln!(out, "  {}: [{}]", module(index), list(first..first + runs)).unwrap();
    }
    out.push_str(
        "config:\n  app-000000: {title: Everywhere}\n  app-000000@node-00000: {title: One}\nbind:\n",
    );
    for index in 0..modules {
        for (local, _, provider) in NEEDS {
            let at = node(provider_at(index * runs / MOST));
            writeln!(out, "  {}.{local}: {provider}@{at}", module(index)).unwrap();
        }
    }
    out
}

fn list(nodes: impl Iterator<Item = usize>) -> String {
    nodes.map(node).collect::<Vec<_>>().join(", ")
}

fn consumer(index: usize) -> String {
    let name = module(index);
    format!(
        r#"module: {name}
summary: One application of many

config:
  title: {{default: An application}}
  greeting: {{default: "Hello, and welcome"}}

secrets:
  admin: {{length: 32}}

ports: {{http: auto}}
dirs: {{data: {{}}}}

needs:
  db: {{provision: postgres-database, with: {{name: "${{module.name}}"}}}}
  web: {{provision: route, with: {{name: "{name}.${{machine.name}}.example.org", port: "${{port.http}}"}}}}
  files: {{provision: s3-bucket, with: {{name: {name}}}}}

files:
  app.toml:
    content: |
      # What the application reads when it starts.
      title = ${{config.title | toml}}
      greeting = ${{config.greeting | toml}}
      admin = ${{secret.admin | toml}}

      [database]
      url = ${{bound.db.url | toml}}

      [files]
      endpoint = ${{bound.files.endpoint | toml}}
      bucket = ${{bound.files.bucket | toml}}
    on_change: reload

run:
  server:
    exec: [{name}, serve, --config, "${{file.app.toml}}", --data, "${{dir.data}}", --port, "${{port.http}}"]
    env:
      NODE: ${{machine.name}}
      PUBLIC_URL: ${{bound.web.url}}
    user: apps
    health: {{http: "http://127.0.0.1:${{port.http}}/health"}}
"#
    )
}

fn provides(name: &str, provision: &str) -> String {
    let (takes, gives) = match provision {
        "postgres-database" => (
            r#"{name: {default: "${consumer.module}", pattern: "[a-z_][a-z0-9_-]{0,62}"}}"#,
            r#"{host: {}, port: {}, user: {}, password: {secret: true}, url: {from: "postgres://${gives.user | url}:${gives.password | url}@${gives.host}:${gives.port}"}}"#,
        ),
        "route" => (
            "{name: {required: true, pattern: '[a-z0-9.-]+'}, port: {required: true}}",
            r#"{host: {}, url: {from: "https://${gives.host}/"}}"#,
        ),
        _ => (
            "{name: {required: true}}",
            "{endpoint: {}, bucket: {}, access_key: {}, secret_key: {secret: true}}",
        ),
    };
    format!(
        "module: {name}\nports: {{listen: auto}}\ndirs: {{answers: {{}}}}\nfiles:\n  consumers.json: {{content: \
         \"${{consumers.{provision} | json}}\"}}\nrun:\n  provisioner: {{exec: [{name}-provisioner, --watch, \
         \"${{file.consumers.json}}\"]}}\nprovides:\n  {provision}:\n    answers: \"${{dir.answers}}/answers.json\"\n    \
         takes: {takes}\n    gives: {gives}\n"
    )
}
