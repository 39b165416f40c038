//! Reads the services of a manifest.

use indexmap::IndexMap;
use mesh_model::name::ServiceName;
use mesh_model::refusal::Code;
use mesh_model::wire::Restart;

use super::super::{Fields, Reading};
use crate::manifest::{Health, Prepare, Service};
use crate::shape;
use crate::text::{At, Text};
use crate::yaml::{Entry, Node};

/// Reads `run`.
pub(super) fn read(reading: &mut Reading<'_>, node: &Node) -> IndexMap<ServiceName, At<Service>> {
    let mut out = IndexMap::new();
    for entry in reading.entries(node, "`run`").unwrap_or_default() {
        let name = reading.name::<ServiceName>(&entry.key, entry.span);
        let service = service(reading, entry);
        if let (Some(name), Some(service)) = (name, service) {
            out.insert(name, At::new(service, entry.span));
        }
    }
    out
}

fn service(reading: &mut Reading<'_>, entry: &Entry) -> Option<Service> {
    let fields = reading.place(&entry.value, &shape::SERVICE)?;
    let texts = |reading: &mut Reading<'_>, key: &str| {
        fields.get(key).map(|node| reading.texts(node, &format!("`{key}`"))).unwrap_or_default()
    };
    let (exec, args) = (texts(reading, "exec"), texts(reading, "args"));
    let mounts = fields.get("mounts").map(|node| mounts(reading, node)).unwrap_or_default();
    let image = fields.get("image").and_then(|node| reading.text(node, "`image`"));
    program(reading, &fields, entry);
    let prepare = fields.get("prepare").map(|node| prepare(reading, node)).unwrap_or_default();
    let env = fields.get("env").map(|node| env(reading, node)).unwrap_or_default();
    let user = fields.get("user").and_then(|node| reading.text(node, "`user`"));
    let health = fields.get("health").and_then(|node| health(reading, node));
    let restart = fields.get("restart").and_then(|node| reading.word(node, "`restart`", shape::RESTART));
    let restart = match restart {
        None | Some(0) => Restart::Always,
        Some(1) => Restart::OnFailure,
        Some(_) => Restart::Never,
    };
    let signal =
        fields.get("stop_signal").and_then(|node| reading.word(node, "`stop_signal`", shape::SIGNALS));
    let stop_signal = signal.map(|index| shape::SIGNALS[index].to_owned());
    Some(Service { prepare, exec, image, args, mounts, env, user, health, restart, stop_signal })
}

/// A service is a program or an image, one of the two.
fn program(reading: &mut Reading<'_>, fields: &Fields<'_>, entry: &Entry) {
    match (fields.get("exec"), fields.get("image")) {
        (None, None) => {
            let help = "say what is run: `exec: [program, argument]`, or `image: name`".to_owned();
            reading.missing(fields, &["exec", "image"], entry.span, help);
        }
        (Some(_), Some(_)) => {
            let message = format!("the service `{}` has both `exec` and `image`", entry.key);
            let help = "keep one of the two; what the image is to run goes into `args`";
            reading.refuse_name(Code::BadValue, fields.span("image"), &entry.key, message, help);
        }
        (Some(exec), None) => {
            empty(reading, exec);
            of_an_image(reading, fields, entry);
        }
        (None, Some(_)) => {}
    }
}

/// What only an image has is not dropped where there is none.
fn of_an_image(reading: &mut Reading<'_>, fields: &Fields<'_>, entry: &Entry) {
    let lost = ["args", "mounts"].into_iter().filter(|key| fields.get(key).is_some());
    for key in lost.filter(|_| !fields.unsure("image")) {
        let message =
            format!("the service `{}` has `{key}`, which is for an `image`, and has none", entry.key);
        let help = match key {
            "args" => "put the arguments behind the program in `exec`",
            _ => "take it out: a program sees the machine's own folders",
        };
        reading.refuse_name(Code::BadValue, fields.span(key), &entry.key, message, help);
    }
}

/// A list of nothing is no command.
fn empty(reading: &mut Reading<'_>, node: &Node) {
    if matches!(&node.value, crate::yaml::Value::List(items) if items.is_empty()) {
        reading.bad_value(node, "`exec`", "a program with its arguments");
    }
}

fn mounts(reading: &mut Reading<'_>, node: &Node) -> Vec<Text> {
    let items = reading.items(node, "`mounts`");
    items.iter().filter_map(|item| reading.place_on_the_machine(item, "a folder of `mounts`")).collect()
}

fn prepare(reading: &mut Reading<'_>, node: &Node) -> Vec<Prepare> {
    let mut out = Vec::new();
    for item in reading.items(node, "`prepare`") {
        let Some(fields) = reading.place(item, &shape::PREPARE) else { continue };
        let exec = match fields.get("exec") {
            Some(node) => {
                empty(reading, node);
                reading.texts(node, "`exec`")
            }
            None => {
                let help = "say what is run: `exec: [program, argument]`".to_owned();
                reading.missing(&fields, &["exec"], fields.span("exec"), help);
                continue;
            }
        };
        let creates = fields.get("creates").and_then(|node| reading.place_on_the_machine(node, "`creates`"));
        out.push(Prepare { exec, creates });
    }
    out
}

fn env(reading: &mut Reading<'_>, node: &Node) -> IndexMap<String, Text> {
    let mut out = IndexMap::new();
    for entry in reading.entries(node, "`env`").unwrap_or_default() {
        if entry.key.is_empty() || entry.key.contains('=') || entry.key.chars().any(char::is_control) {
            let message = format!("`{}` is not the name of a variable", entry.key.escape_debug());
            let help = "the name of a variable is not empty and has no `=` in it";
            reading.refuse_name(Code::BadName, entry.span, &entry.key, message, help);
            continue;
        }
        if let Some(text) = reading.text(&entry.value, "a variable") {
            out.insert(entry.key.clone(), text);
        }
    }
    out
}

fn health(reading: &mut Reading<'_>, node: &Node) -> Option<Health> {
    let fields = reading.place(node, &shape::HEALTH)?;
    match (fields.get("http"), fields.get("tcp"), fields.get("exec")) {
        (Some(node), None, None) => {
            let url = reading.text(node, "`http`")?;
            if !url.faults().is_empty() || may_be_asked(&url) {
                return Some(Health::Http(url));
            }
            reading.bad_value(node, "`http`", "a URL with its port, like `http://127.0.0.1:${port.NAME}/`");
            None
        }
        (None, Some(node), None) => {
            let address = reading.text(node, "`tcp`")?;
            if !address.faults().is_empty() || may_be_connected(&address) {
                return Some(Health::Tcp(address));
            }
            reading.bad_value(node, "`tcp`", "a port or `host:port`, like `${port.NAME}`");
            None
        }
        (None, None, Some(node)) => {
            empty(reading, node);
            Some(Health::Exec(reading.texts(node, "`exec`")))
        }
        (None, None, None) => {
            let help = "say how: `http: URL`, `tcp: PORT` or `exec: [program]`".to_owned();
            reading.missing(&fields, &["http", "tcp", "exec"], fields.span("http"), help);
            None
        }
        _ => {
            let message = "`health` says more than one of `http`, `tcp` and `exec`".to_owned();
            reading.refuse(Code::BadValue, fields.span("exec"), message, "keep one of them");
            None
        }
    }
}

/// Whether a node can ask it how it is: by HTTP, as far as that is written out.
fn may_be_asked(url: &Text) -> bool {
    const START: &str = "http://";
    match (url.literal(), url.begins()) {
        (Some(whole), _) => whole.strip_prefix(START).is_some_and(|rest| {
            let host = rest.split('/').next().unwrap_or_default();
            is_host_and_port(host)
        }),
        (None, Some(begins)) => begins.starts_with(START) || START.starts_with(begins),
        (None, None) => true,
    }
}

/// Whether it can be a port of this machine, or a host with a port.
fn may_be_connected(address: &Text) -> bool {
    match (address.literal(), address.begins()) {
        (Some(whole), _) => is_port(whole) || is_host_and_port(whole),
        (None, begins) => !begins.is_some_and(|begins| begins.contains('/')),
    }
}

fn is_host_and_port(text: &str) -> bool {
    text.rsplit_once(':').is_some_and(|(host, port)| !host.is_empty() && !host.contains('/') && is_port(port))
}

fn is_port(text: &str) -> bool {
    text.parse::<u16>().is_ok_and(|port| port > 0)
}
