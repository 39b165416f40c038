//! Reads a `module.yaml`: one function a section.

mod provides;
mod run;

use std::collections::BTreeMap;
use std::hash::Hash;
use std::str::FromStr;

use mesh_model::name::{FieldName, FilePath, ModuleName, SeatName};
use mesh_model::refusal::Code;
use mesh_model::wire::{Alphabet, OnChange, SecretSpec};
use serde_json::Value as Json;

use super::{Fields, Reading, as_boolean, as_integer, shown};
use crate::manifest::{Content, File, Input, Manifest, Names, Need, Port, Setting, SettingType};
use crate::shape;
use crate::span::Span;
use crate::text::{At, Text};
use crate::yaml::{Entry, Node, Scalar, Style, Value};

/// Reads what the root of a manifest says; `name` is what its folder is called.
pub(crate) fn read(reading: &mut Reading<'_>, root: &Node, name: ModuleName) -> Manifest {
    let mut manifest = Manifest::empty(name);
    let Some(fields) = reading.place(root, &shape::MANIFEST) else {
        return Manifest::unread(manifest.name);
    };
    for entry in fields.entries {
        let known = shape::MANIFEST.keys.iter().find(|key| key.name == entry.key);
        let Some(known) = known else { continue };
        manifest.sections.insert(known.name, entry.span);
        section(reading, &entry.value, known.name, &mut manifest);
        if entry.again || names(&manifest, known.name) < written(&entry.value) {
            manifest.unsure.insert(known.name);
        }
    }
    manifest.unsure.extend(&fields.meant);
    if fields.get("module").is_none() {
        let help = format!("add a first line: `module: {}`", manifest.name);
        reading.missing(&fields, &["module"], Span::BEGINNING, help);
    }
    manifest
}

fn section(reading: &mut Reading<'_>, node: &Node, key: &str, manifest: &mut Manifest) {
    match key {
        "module" => module(reading, node, &manifest.name),
        "summary" => manifest.summary = reading.scalar(node, "`summary`").map(|scalar| scalar.text.clone()),
        "config" => manifest.config = map(reading, node, "`config`", setting),
        "secrets" => manifest.secrets = map(reading, node, "`secrets`", secret),
        "ports" => manifest.ports = map(reading, node, "`ports`", port),
        "dirs" => manifest.dirs = map(reading, node, "`dirs`", dir),
        "needs" => manifest.needs = map(reading, node, "`needs`", need),
        "contributes" => manifest.contributes = map(reading, node, "`contributes`", items),
        "files" => manifest.files = map(reading, node, "`files`", file),
        "run" => manifest.run = run::read(reading, node),
        "provides" => manifest.provides = map(reading, node, "`provides`", provides::provision),
        "images" => manifest.images = images(reading, node),
        "seats" => {
            manifest.seats = seats(reading, node);
        }
        "runs-as" => manifest.runs_as_own = reading.word(node, "`runs-as`", &["own"]).is_some(),
        _ => {}
    }
}

fn seats(reading: &mut Reading<'_>, node: &Node) -> Vec<At<SeatName>> {
    let mut seats: Vec<At<SeatName>> = Vec::new();
    for item in reading.items(node, "`seats`") {
        let Some(seat) = reading.named::<SeatName>(item, "a seat") else { continue };
        if seats.iter().any(|known| known.value == seat.value) {
            let message = format!("`{}` is here twice", seat.value);
            let help = "keep one of the two";
            reading.refuse_name(Code::DuplicateName, seat.span, seat.value.as_str(), message, help);
        } else {
            seats.push(seat);
        }
    }
    seats
}

/// How many names stand in a section.
fn written(node: &Node) -> usize {
    match &node.value {
        Value::Null => 0,
        Value::Scalar(_) => 1,
        Value::List(items) => items.len(),
        Value::Map(entries) => entries.len(),
    }
}

/// How many of them have been read: where it is fewer, one that seems to be missing may be there.
fn names(manifest: &Manifest, key: &str) -> usize {
    match key {
        "config" => manifest.config.len(),
        "secrets" => manifest.secrets.len(),
        "ports" => manifest.ports.len(),
        "dirs" => manifest.dirs.len(),
        "needs" => manifest.needs.len(),
        "contributes" => manifest.contributes.len(),
        "files" => manifest.files.len(),
        "run" => manifest.run.len(),
        "provides" => manifest.provides.len(),
        "images" => manifest.images.len(),
        "seats" => manifest.seats.len(),
        _ => usize::MAX,
    }
}

/// A map whose keys are names, each with where it stands.
fn map<K, V>(
    reading: &mut Reading<'_>,
    node: &Node,
    what: &str,
    read: impl Fn(&mut Reading<'_>, &Entry) -> Option<V>,
) -> Names<K, At<V>>
where
    K: FromStr<Err: std::fmt::Display> + Ord + Hash,
{
    let mut out = Names::new();
    for entry in reading.entries(node, what).unwrap_or_default() {
        let name = reading.name::<K>(&entry.key, entry.span);
        let value = read(reading, entry);
        if let (Some(name), Some(value)) = (name, value) {
            out.insert(name, At::new(value, entry.span));
        }
    }
    sorted(out)
}

fn sorted<K: Ord + Hash, V>(mut names: Names<K, V>) -> Names<K, V> {
    names.sort_unstable_keys();
    names.shrink_to_fit();
    names
}

fn module(reading: &mut Reading<'_>, node: &Node, folder: &ModuleName) {
    let Some(name) = reading.named::<ModuleName>(node, "`module`") else { return };
    if name.value != *folder {
        let message = format!("the module is called `{}`, and its folder `{folder}`", name.value);
        let help =
            format!("a module is called as its folder is: write `module: {folder}`, or rename the folder");
        reading.refuse_name(Code::BadName, node.span, name.value.as_str(), message, help);
    }
}

fn setting(reading: &mut Reading<'_>, entry: &Entry) -> Option<Setting> {
    let before = reading.refusals.len();
    let fields = reading.place(&entry.value, &shape::SETTING)?;
    let kind = match fields.get("type") {
        None => SettingType::String,
        Some(node) => match reading.word(node, "`type`", shape::SETTING_TYPES)? {
            0 => SettingType::String,
            1 => SettingType::Integer,
            2 => SettingType::Boolean,
            _ => SettingType::List,
        },
    };
    let default = match fields.get("default") {
        // Which type it is to have cannot be told.
        _ if fields.unsure("type") => None,
        None => None,
        Some(node) => match setting_value(node, kind) {
            Some(value) => Some(value),
            None => {
                let message =
                    format!("the setting `{}` is {}, not {}", entry.key, kind.as_str(), shown(node));
                let help = format!("write a default that is {}, or another `type`", kind.as_str());
                reading.refuse_name(Code::BadSetting, node.span, &entry.key, message, help);
                None
            }
        },
    };
    let required = fields.get("required").is_some_and(|node| reading.boolean(node, "`required`"));
    let unsure = entry.again || reading.refusals.len() > before;
    Some(Setting { kind, default, required, unsure })
}

/// What a node says as a setting of a type; none where it is of another.
pub(crate) fn setting_value(node: &Node, kind: SettingType) -> Option<Json> {
    match (kind, &node.value) {
        (SettingType::String, Value::Scalar(scalar)) => Some(Json::String(scalar.text.clone())),
        (SettingType::Integer, _) => as_integer(node).map(Json::from),
        (SettingType::Boolean, _) => as_boolean(node).map(Json::from),
        (SettingType::List, Value::List(items)) => {
            let text = |item: &Node| match &item.value {
                Value::Scalar(scalar) => Some(Json::String(scalar.text.clone())),
                _ => None,
            };
            items.iter().map(text).collect()
        }
        _ => None,
    }
}

fn secret(reading: &mut Reading<'_>, entry: &Entry) -> Option<SecretSpec> {
    let fields = reading.place(&entry.value, &shape::SECRET)?;
    let (length, alphabet) = make(reading, &fields);
    let supplied = fields.get("supplied").is_some_and(|node| reading.boolean(node, "`supplied`"));
    Some(SecretSpec { length, alphabet, supplied })
}

/// The length and the alphabet of something that the vault makes.
fn make(reading: &mut Reading<'_>, fields: &Fields<'_>) -> (u16, Alphabet) {
    const LENGTH: u16 = 32;
    let length = fields.get("length").and_then(|node| reading.number(node, "`length`", 16, 256));
    let word = fields.get("alphabet").and_then(|node| reading.word(node, "`alphabet`", shape::ALPHABETS));
    let alphabet = match word {
        None | Some(0) => Alphabet::Alphanumeric,
        Some(1) => Alphabet::Hex,
        Some(_) => Alphabet::Base64url,
    };
    (length.unwrap_or(LENGTH), alphabet)
}

fn port(reading: &mut Reading<'_>, entry: &Entry) -> Option<Port> {
    match &entry.value.value {
        Value::Scalar(scalar) if scalar.text == "auto" => Some(Port::Auto),
        Value::Scalar(scalar) if scalar.text.contains("${") => {
            reading.text(&entry.value, "a port").map(|text| Port::Set(Box::new(text)))
        }
        _ => match as_integer(&entry.value).and_then(|number| u16::try_from(number).ok()) {
            Some(number) if number > 0 => Some(Port::Fixed(number)),
            _ => {
                reading.bad_value(
                    &entry.value,
                    "a port",
                    "a number from 1 to 65535, `auto`, or `${config.NAME}`",
                );
                None
            }
        },
    }
}

fn dir(reading: &mut Reading<'_>, entry: &Entry) -> Option<bool> {
    let fields = reading.place(&entry.value, &shape::DIR)?;
    Some(fields.get("temporary").is_some_and(|node| reading.boolean(node, "`temporary`")))
}

fn need(reading: &mut Reading<'_>, entry: &Entry) -> Option<Need> {
    let before = reading.refusals.len();
    let fields = reading.place(&entry.value, &shape::NEED)?;
    let provision = match fields.get("provision") {
        Some(node) => reading.named(node, "`provision`"),
        None => {
            let help = format!("say what it needs: `{}: {{provision: postgres-database}}`", entry.key);
            reading.missing(&fields, &["provision"], entry.span, help);
            None
        }
    };
    let mut with = Names::new();
    if let Some(node) = fields.get("with") {
        for entry in reading.entries(node, "`with`").unwrap_or_default() {
            let name = reading.name::<FieldName>(&entry.key, entry.span);
            let value = input(reading, &entry.value, "a contribution");
            if let (Some(name), Some(value)) = (name, value) {
                with.insert(name, At::new(value, entry.value.span));
            }
        }
    }
    let unsure = entry.again || reading.refusals.len() > before;
    Some(Need { provision, with: sorted(with), unsure })
}

/// A field of a contribution: numbers and truth values stay what they are.
fn input(reading: &mut Reading<'_>, node: &Node, what: &str) -> Option<Input> {
    let scalar = reading.scalar(node, what)?;
    Some(match plain(scalar) {
        Some(value) => Input::Plain(value),
        None => Input::Text(Text::new(&reading.source.text, scalar, node.span)),
    })
}

fn plain(scalar: &Scalar) -> Option<Json> {
    if scalar.style != Style::Plain {
        return None;
    }
    match scalar.text.as_str() {
        "true" => Some(Json::Bool(true)),
        "false" => Some(Json::Bool(false)),
        // A number that JSON writes in the same way: `0x10` and `007` stay the texts that they are.
        text => text.parse::<i64>().ok().filter(|n| n.to_string() == text).map(Json::from),
    }
}

fn items(reading: &mut Reading<'_>, entry: &Entry) -> Option<Vec<Text>> {
    Some(reading.texts(&entry.value, "an item of a collection"))
}

fn file(reading: &mut Reading<'_>, entry: &Entry) -> Option<File> {
    let fields = reading.place(&entry.value, &shape::FILE)?;
    let verbatim = fields.get("verbatim").is_some_and(|node| {
        reading.boolean(node, "`verbatim`");
        as_boolean(node) != Some(false)
    });
    // Where that cannot be read, nothing in the file is refused for want of it.
    let verbatim = verbatim || fields.unsure("verbatim");
    let content = content(reading, &fields, entry, verbatim);
    let mode = fields.get("mode").and_then(|node| mode(reading, node));
    let word = fields.get("on_change").and_then(|node| reading.word(node, "`on_change`", shape::ON_CHANGE));
    let on_change = match word {
        None | Some(0) => OnChange::Restart,
        Some(1) => OnChange::Reload,
        Some(_) => OnChange::Nothing,
    };
    Some(File { content, mode: mode.unwrap_or_else(|| "0600".to_owned()), on_change, verbatim })
}

fn content(reading: &mut Reading<'_>, fields: &Fields<'_>, entry: &Entry, verbatim: bool) -> Option<Content> {
    match (fields.get("content"), fields.get("from")) {
        (Some(node), None) => {
            let scalar = reading.scalar(node, "`content`")?;
            let text = match verbatim {
                true => Text::verbatim(scalar, node.span),
                false => Text::new(&reading.source.text, scalar, node.span),
            };
            Some(Content::Inline(text))
        }
        (None, Some(node)) => reading.named(node, "`from`").map(Content::From),
        (None, None) => {
            let help =
                "say what is in it with `content`, or which file it is made from with `from`".to_owned();
            reading.missing(fields, &["content", "from"], entry.span, help);
            None
        }
        (Some(_), Some(_)) => {
            let message = format!("`{}` has both `content` and `from`", entry.key);
            reading.refuse_name(
                Code::BadValue,
                fields.span("from"),
                &entry.key,
                message,
                "keep one of the two",
            );
            None
        }
    }
}

fn mode(reading: &mut Reading<'_>, node: &Node) -> Option<String> {
    let text = &reading.scalar(node, "`mode`")?.text;
    let octal = text.strip_prefix('0').unwrap_or(text);
    let good = octal.len() == 3 && octal.bytes().all(|b| (b'0'..=b'7').contains(&b));
    if !good {
        reading.bad_value(node, "`mode`", "three octal digits in quotes, like \"0640\"");
    }
    good.then(|| format!("0{octal}"))
}

fn images(reading: &mut Reading<'_>, node: &Node) -> BTreeMap<String, At<Option<At<FilePath>>>> {
    let mut out = BTreeMap::new();
    for entry in reading.entries(node, "`images`").unwrap_or_default() {
        let Some(fields) = reading.place(&entry.value, &shape::IMAGE) else { continue };
        let file = match fields.get("containerfile") {
            Some(node) => reading.named(node, "`containerfile`"),
            None => {
                let help = "say what it is built from: `{containerfile: Containerfile}`".to_owned();
                reading.missing(&fields, &["containerfile"], entry.span, help);
                None
            }
        };
        let good = !entry.key.is_empty()
            && entry
                .key
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'_' | b'.'));
        if good {
            out.insert(entry.key.clone(), At::new(file, entry.span));
        } else {
            let message = format!("`{}` is not the name of an image", entry.key);
            let help = "a name without registry, tag and digest, like `mesh-notes`";
            reading.refuse_name(Code::BadName, entry.span, &entry.key, message, help);
        }
    }
    out
}
