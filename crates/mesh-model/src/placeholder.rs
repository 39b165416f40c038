//! `${kind.path | filter}` in a text: where placeholders are, and what each refers to.
//!
//! [`Template::parse`] finds them and never stops at the first fault: each is told with its place, so that a plan can
//! refuse all of them at once. `$${` writes `${`, and a `$` before anything else stands for itself. A placeholder does
//! not cross a line. Nothing here knows a value: the plan asks whether a reference can be answered, a node asks for it.

use std::ops::Range;

use thiserror::Error;

use crate::filter::Filter;
use crate::kind::Kind;
use crate::name::{
    CollectionName, DirName, FieldName, FilePath, LocalName, ModuleName, NodeName, PortName, ProvisionName,
    SeatName, SecretName, SettingName,
};

/// A text with placeholders in it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Template {
    /// What it is put together from, in order.
    pub parts: Vec<Part>,
}

/// A piece of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Text that stands for itself.
    Text(String),
    /// Something to be replaced.
    Placeholder(Placeholder),
}

/// One `${…}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placeholder {
    /// What it refers to.
    pub reference: Reference,
    /// How the value is written, in order.
    pub filters: Vec<Filter>,
    /// Where it stands in the text, in bytes, from `$` to `}`.
    pub span: Range<usize>,
}

/// A placeholder that is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// What is wrong.
    pub kind: FaultKind,
    /// The bytes of the text that are wrong.
    pub span: Range<usize>,
}

/// What is wrong with a placeholder.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FaultKind {
    /// There is no `}` on its line.
    #[error("the placeholder is not closed on its line")]
    Unclosed,
    /// It is not `kind.name`.
    #[error("a placeholder is `${{kind.name}}`, with a `| filter` behind where one is wanted")]
    Shape,
    /// A kind that nobody knows.
    #[error("`{0}` is not a kind of placeholder")]
    Kind(String),
    /// A filter that nobody knows.
    #[error("`{0}` is not a filter")]
    Filter(String),
    /// A path that does not fit its kind.
    #[error("a placeholder of this kind is `{expected}`, not `{kind}.{path}`")]
    Path {
        /// The kind.
        kind: Kind,
        /// What was written behind it.
        path: String,
        /// How one of this kind is written.
        expected: &'static str,
    },
}

/// What a placeholder refers to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reference {
    /// `config.title`
    Config(SettingName),
    /// `secret.admin`
    Secret(SecretName),
    /// `bound.db.host`
    Bound(LocalName, FieldName),
    /// `consumers.postgres-database`
    Consumers(ProvisionName),
    /// `contribution.route`
    Contribution(ProvisionName),
    /// `collected.motd`
    Collected(CollectionName),
    /// `shell.zsh:normal`, which is `collected.shell:zsh:normal`: here is the whole name of the collection
    Shell(CollectionName),
    /// `environment.profile`, which is `collected.environment:profile`: likewise
    Environment(CollectionName),
    /// `dir.data`
    Dir(DirName),
    /// `file.app.toml`
    File(FilePath),
    /// `port.http`
    Port(PortName),
    /// `access.notes.http` or `access.notes@attic.http`
    Access(Access),
    /// `seat.mesh-vault`
    Seat(SeatName),
    /// `machine.name`
    MachineName,
    /// `machine.address`
    MachineAddress,
    /// `module.name`
    ModuleName,
    /// `consumer.module`
    ConsumerModule,
    /// `consumer.node`
    ConsumerNode,
    /// `consumer.local`
    ConsumerLocal,
    /// `gives.host`
    Gives(FieldName),
}

/// A port of a module, wherever it runs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Access {
    /// The module.
    pub module: ModuleName,
    /// On which node; where it is left out, the one that it runs on.
    pub node: Option<NodeName>,
    /// The port.
    pub port: PortName,
}

impl std::fmt::Display for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.node {
            Some(node) => write!(f, "{}@{node}.{}", self.module, self.port),
            None => write!(f, "{}.{}", self.module, self.port),
        }
    }
}

impl Template {
    /// Finds the placeholders of a text. What is wrong is left out of the template and told beside it.
    #[must_use]
    pub fn parse(text: &str) -> (Self, Vec<Fault>) {
        if !text.contains('$') {
            let whole = (!text.is_empty()).then(|| Part::Text(text.to_owned()));
            return (Self { parts: Vec::from_iter(whole) }, Vec::new());
        }
        let many = text.matches("${").count();
        let template = Self { parts: Vec::with_capacity(2 * many + 1) };
        let mut reader = Reader { text, at: 0, plain: String::new(), template, faults: Vec::new() };
        reader.run();
        // A plan of many modules holds many templates for long, most of one part.
        reader.template.parts.shrink_to_fit();
        (reader.template, reader.faults)
    }

    /// A text without any placeholder: `verbatim`.
    #[must_use]
    pub fn verbatim(text: &str) -> Self {
        Self { parts: vec![Part::Text(text.to_owned())] }
    }

    /// The placeholders, in order.
    pub fn placeholders(&self) -> impl Iterator<Item = &Placeholder> {
        self.parts.iter().filter_map(|part| match part {
            Part::Placeholder(placeholder) => Some(placeholder),
            Part::Text(_) => None,
        })
    }
}

/// Goes through a text once, from left to right.
struct Reader<'a> {
    text: &'a str,
    at: usize,
    plain: String,
    template: Template,
    faults: Vec<Fault>,
}

impl Reader<'_> {
    fn run(&mut self) {
        while let Some(found) = self.text[self.at..].find('$') {
            self.plain.push_str(&self.text[self.at..self.at + found]);
            self.at += found;
            let rest = &self.text[self.at..];
            if rest.starts_with("$${") {
                self.plain.push_str("${");
                self.at += 3;
            } else if rest.starts_with("${") {
                self.placeholder();
            } else {
                self.plain.push('$');
                self.at += 1;
            }
        }
        self.plain.push_str(&self.text[self.at..]);
        self.flush();
    }

    fn flush(&mut self) {
        if !self.plain.is_empty() {
            self.template.parts.push(Part::Text(std::mem::take(&mut self.plain)));
        }
    }

    /// Reads the placeholder that begins here, and goes behind it.
    fn placeholder(&mut self) {
        let start = self.at;
        // As far as the first of the two, so that many placeholders on one long line cost no more than its length.
        let rest = &self.text[start..];
        let end = rest.find(['}', '\n', '\r']).unwrap_or(rest.len());
        let Some(length) = rest[end..].starts_with('}').then_some(end) else {
            let line = &rest[..end];
            self.faults.push(Fault { kind: FaultKind::Unclosed, span: start..start + line.trim_end().len() });
            self.at = start + line.len();
            return;
        };
        self.at = start + length + 1;
        match read(&self.text[start + 2..start + length], start + 2) {
            Ok((reference, filters)) => {
                self.flush();
                let span = start..self.at;
                self.template.parts.push(Part::Placeholder(Placeholder { reference, filters, span }));
            }
            Err(fault) => {
                self.faults.push(Fault { span: fault.span.unwrap_or(start..self.at), kind: fault.kind })
            }
        }
    }
}

/// A fault whose place may be the whole placeholder.
struct Inner {
    kind: FaultKind,
    span: Option<Range<usize>>,
}

/// Reads what stands between the braces, which begins at byte `offset` of the whole text.
fn read(inner: &str, offset: usize) -> Result<(Reference, Vec<Filter>), Inner> {
    let mut pieces = Vec::new();
    let mut start = offset;
    for piece in inner.split('|') {
        let lead = piece.len() - piece.trim_start().len();
        let trimmed = piece.trim();
        pieces.push((trimmed, start + lead..start + lead + trimmed.len()));
        start += piece.len() + 1;
    }
    let (path, span) = pieces.remove(0);
    let reference = reference(path, &span)?;
    let filters = pieces
        .into_iter()
        .map(|(word, span)| {
            word.parse().map_err(|_| match word {
                "" => Inner { kind: FaultKind::Shape, span: None },
                _ => Inner { kind: FaultKind::Filter(word.to_owned()), span: Some(span) },
            })
        })
        .collect::<Result<_, _>>()?;
    Ok((reference, filters))
}

fn reference(text: &str, span: &Range<usize>) -> Result<Reference, Inner> {
    let shape = || Inner { kind: FaultKind::Shape, span: None };
    let (word, path) = text.split_once('.').ok_or_else(shape)?;
    if word.is_empty() || path.is_empty() || text.contains(['$', '{']) {
        return Err(shape());
    }
    let kind: Kind = word.parse().map_err(|_| Inner {
        kind: FaultKind::Kind(word.to_owned()),
        span: Some(span.start..span.start + word.len()),
    })?;
    Reference::read(kind, path).ok_or_else(|| Inner {
        kind: FaultKind::Path { kind, path: path.to_owned(), expected: expected(kind) },
        span: Some(span.clone()),
    })
}

/// How a placeholder of a kind is written.
fn expected(kind: Kind) -> &'static str {
    match kind {
        Kind::Config => "config.<setting>",
        Kind::Secret => "secret.<name>",
        Kind::Bound => "bound.<need>.<field>",
        Kind::Consumers => "consumers.<provision>",
        Kind::Collected => "collected.<collection>",
        Kind::Shell => "shell.<name>",
        Kind::Environment => "environment.<name>",
        Kind::Contribution => "contribution.<provision>",
        Kind::Dir => "dir.<folder>",
        Kind::Access => "access.<module>[@<node>].<port>",
        Kind::Port => "port.<name>",
        Kind::Seat => "seat.<seat>",
        Kind::Machine => "machine.name or machine.address",
        Kind::File => "file.<path>",
        Kind::Module => "module.name",
        Kind::Consumer => "consumer.module, consumer.node or consumer.local",
        Kind::Gives => "gives.<field>",
    }
}

impl Reference {
    /// What `kind.path` refers to; none where the path does not fit the kind.
    #[must_use]
    pub fn read(kind: Kind, path: &str) -> Option<Self> {
        Some(match kind {
            Kind::Config => Self::Config(path.parse().ok()?),
            Kind::Secret => Self::Secret(path.parse().ok()?),
            Kind::Bound => {
                let (local, field) = path.split_once('.')?;
                Self::Bound(local.parse().ok()?, field.parse().ok()?)
            }
            Kind::Consumers => Self::Consumers(path.parse().ok()?),
            Kind::Contribution => Self::Contribution(path.parse().ok()?),
            Kind::Collected => Self::Collected(path.parse().ok()?),
            Kind::Shell => Self::Shell(format!("shell:{path}").parse().ok()?),
            Kind::Environment => Self::Environment(format!("environment:{path}").parse().ok()?),
            Kind::Dir => Self::Dir(path.parse().ok()?),
            Kind::File => Self::File(path.parse().ok()?),
            Kind::Port => Self::Port(path.parse().ok()?),
            Kind::Access => Self::Access(read_access(path)?),
            Kind::Seat => Self::Seat(path.parse().ok()?),
            Kind::Machine | Kind::Module | Kind::Consumer => return Self::read_fixed(kind, path),
            Kind::Gives => Self::Gives(path.parse().ok()?),
        })
    }

    /// Those whose path is one of a few words.
    fn read_fixed(kind: Kind, path: &str) -> Option<Self> {
        match (kind, path) {
            (Kind::Machine, "name") => Some(Self::MachineName),
            (Kind::Machine, "address") => Some(Self::MachineAddress),
            (Kind::Module, "name") => Some(Self::ModuleName),
            (Kind::Consumer, "module") => Some(Self::ConsumerModule),
            (Kind::Consumer, "node") => Some(Self::ConsumerNode),
            (Kind::Consumer, "local") => Some(Self::ConsumerLocal),
            _ => None,
        }
    }

    /// Its kind.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::Config(_) => Kind::Config,
            Self::Secret(_) => Kind::Secret,
            Self::Bound(..) => Kind::Bound,
            Self::Consumers(_) => Kind::Consumers,
            Self::Contribution(_) => Kind::Contribution,
            Self::Collected(_) => Kind::Collected,
            Self::Shell(_) => Kind::Shell,
            Self::Environment(_) => Kind::Environment,
            Self::Dir(_) => Kind::Dir,
            Self::File(_) => Kind::File,
            Self::Port(_) => Kind::Port,
            Self::Access(_) => Kind::Access,
            Self::Seat(_) => Kind::Seat,
            Self::MachineName | Self::MachineAddress => Kind::Machine,
            Self::ModuleName => Kind::Module,
            Self::ConsumerModule | Self::ConsumerNode | Self::ConsumerLocal => Kind::Consumer,
            Self::Gives(_) => Kind::Gives,
        }
    }

    /// What it is called as a need: the name behind its kind, without the field.
    #[must_use]
    pub fn need_name(&self) -> String {
        match self {
            Self::Config(name) => name.to_string(),
            Self::Secret(name) => name.to_string(),
            Self::Bound(local, _) => local.to_string(),
            Self::Consumers(provision) | Self::Contribution(provision) => provision.to_string(),
            Self::Collected(name) => name.to_string(),
            Self::Shell(name) => name.as_str()["shell:".len()..].to_owned(),
            Self::Environment(name) => name.as_str()["environment:".len()..].to_owned(),
            Self::Dir(name) => name.to_string(),
            Self::File(path) => path.to_string(),
            Self::Port(name) => name.to_string(),
            Self::Access(access) => access.to_string(),
            Self::Seat(seat) => seat.to_string(),
            Self::MachineName | Self::ModuleName => "name".to_owned(),
            Self::MachineAddress => "address".to_owned(),
            Self::ConsumerModule => "module".to_owned(),
            Self::ConsumerNode => "node".to_owned(),
            Self::ConsumerLocal => "local".to_owned(),
            Self::Gives(field) => field.to_string(),
        }
    }

    /// Whether its value is a list or an object, which must end in `json` or `lines`.
    #[must_use]
    pub fn is_compound(&self) -> bool {
        matches!(
            self,
            Self::Consumers(_)
                | Self::Contribution(_)
                | Self::Collected(_)
                | Self::Shell(_)
                | Self::Environment(_)
        )
    }
}

impl std::fmt::Display for Reference {
    /// As it is written between the braces.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.kind(), self.need_name())?;
        match self {
            Self::Bound(_, field) => write!(f, ".{field}"),
            _ => Ok(()),
        }
    }
}

fn read_access(path: &str) -> Option<Access> {
    let (place, port) = path.split_once('.')?;
    let (module, node) = match place.split_once('@') {
        Some((module, node)) => (module, Some(node.parse().ok()?)),
        None => (place, None),
    };
    Some(Access { module: module.parse().ok()?, node, port: port.parse().ok()? })
}

#[cfg(test)]
mod tests;
