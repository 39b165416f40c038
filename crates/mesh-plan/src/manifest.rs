//! What a `module.yaml` says. Read by [`crate::decode`]; whether it can work is for [`crate::rules`].
//!
//! These types are here and not with the nouns of `mesh-model`, because everything in them knows where it stands in its
//! file, which nobody but the plan asks for: what travels further is an assignment.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;
use mesh_model::name::{
    CollectionName, DirName, FieldName, FilePath, LocalName, ModuleName, PortName, ProvisionName, SeatName,
    SecretName, ServiceName, SettingName,
};
use mesh_model::wire::{Alphabet, OnChange, Restart, SecretSpec};
use serde_json::Value;

use crate::span::Span;
use crate::text::{At, Text};

/// What is named in a manifest, sorted by name: the order in which it was written says nothing. A list, since most have few
/// names and each much to say: a tree would hold room for eleven of each.
pub type Names<K, V> = IndexMap<K, V>;

/// What a manifest says.
#[derive(Debug, Clone)]
pub struct Manifest {
    /// The module, as its folder is called.
    pub name: ModuleName,
    /// What it is, in a line.
    pub summary: Option<String>,
    /// Its settings.
    pub config: Names<SettingName, At<Setting>>,
    /// Its secrets.
    pub secrets: Names<SecretName, At<SecretSpec>>,
    /// Its ports.
    pub ports: Names<PortName, At<Port>>,
    /// Its folders, and whether each is emptied at each start.
    pub dirs: Names<DirName, At<bool>>,
    /// What it needs.
    pub needs: Names<LocalName, At<Need>>,
    /// What it adds to collections.
    pub contributes: Names<CollectionName, At<Vec<Text>>>,
    /// Its files.
    pub files: Names<FilePath, At<File>>,
    /// Its services, in their order.
    pub run: IndexMap<ServiceName, At<Service>>,
    /// What it provides.
    pub provides: Names<ProvisionName, At<Provision>>,
    /// The images that its folder builds, each with what it is built from.
    pub images: BTreeMap<String, At<Option<At<FilePath>>>>,
    /// The seats that it may hold.
    pub seats: Vec<At<SeatName>>,
    /// Whether it has a bus account of its own.
    pub runs_as_own: bool,
    /// The sections in which a name could not be read: what is missing there may be because of that.
    pub unsure: BTreeSet<&'static str>,
    /// Where each section begins.
    pub sections: BTreeMap<&'static str, Span>,
}

/// The type of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingType {
    /// A text.
    String,
    /// A whole number.
    Integer,
    /// True or false.
    Boolean,
    /// A list of texts.
    List,
}

impl SettingType {
    /// How it is called in a message.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::String => "a string",
            Self::Integer => "an integer",
            Self::Boolean => "a boolean",
            Self::List => "a list",
        }
    }
}

/// A setting.
#[derive(Debug, Clone)]
pub struct Setting {
    /// What it holds.
    pub kind: SettingType,
    /// Its value where nobody sets it.
    pub default: Option<Value>,
    /// Whether somebody has to.
    pub required: bool,
    /// Whether its default has been refused.
    pub unsure: bool,
}

/// A port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Port {
    /// The plan picks one, and keeps it.
    Auto,
    /// This one.
    Fixed(u16),
    /// What a setting says: a number, or `auto`.
    Set(Box<Text>),
}

/// A need.
#[derive(Debug, Clone)]
pub struct Need {
    /// What is needed; none where what is written there has been refused.
    pub provision: Option<At<ProvisionName>>,
    /// What is handed to the provider.
    pub with: Names<FieldName, At<Input>>,
    /// Whether something in `with` has been refused.
    pub unsure: bool,
}

/// A field of a contribution as it was written.
#[derive(Debug, Clone)]
pub enum Input {
    /// A number, true or false.
    Plain(Value),
    /// A text with placeholders.
    Text(Text),
}

/// A file.
#[derive(Debug, Clone)]
pub struct File {
    /// What it is made from; none where that has been refused.
    pub content: Option<Content>,
    /// Its mode, as octal digits.
    pub mode: String,
    /// What happens when it changes.
    pub on_change: OnChange,
    /// Whether it is written as it is.
    pub verbatim: bool,
}

/// What a file is made from.
#[derive(Debug, Clone)]
pub enum Content {
    /// A text in the manifest.
    Inline(Text),
    /// A file beside the manifest.
    From(At<FilePath>),
}

/// A service.
#[derive(Debug, Clone, Default)]
pub struct Service {
    /// What is run to the end before it.
    pub prepare: Vec<Prepare>,
    /// The program and its arguments.
    pub exec: Vec<Text>,
    /// Or an image.
    pub image: Option<Text>,
    /// The arguments of the image's entry point.
    pub args: Vec<Text>,
    /// Folders that the container sees.
    pub mounts: Vec<Text>,
    /// Its environment.
    pub env: IndexMap<String, Text>,
    /// Whom it runs as.
    pub user: Option<Text>,
    /// How to tell that it is well.
    pub health: Option<Health>,
    /// What happens when it ends.
    pub restart: Restart,
    /// The signal that ends it.
    pub stop_signal: Option<String>,
}

/// A command before a service.
#[derive(Debug, Clone)]
pub struct Prepare {
    /// The program and its arguments.
    pub exec: Vec<Text>,
    /// Where this exists, it is skipped.
    pub creates: Option<Text>,
}

/// How to tell that a service is well.
#[derive(Debug, Clone)]
pub enum Health {
    /// A URL.
    Http(Text),
    /// A port, or `host:port`.
    Tcp(Text),
    /// A command.
    Exec(Vec<Text>),
}

/// A provision that a module makes for others.
#[derive(Debug, Clone)]
pub struct Provision {
    /// Where its provisioner writes its answers; none where that has been refused.
    pub answers: Option<Text>,
    /// What a consumer hands to it.
    pub takes: Names<FieldName, At<Take>>,
    /// What two modules may not contribute the same.
    pub distinct: Vec<FieldName>,
    /// What it gives.
    pub gives: Names<FieldName, At<Gives>>,
    /// The fields of these that are secret: those that the vault makes, and those that are put together from one, directly
    /// or not.
    pub secret: BTreeSet<FieldName>,
    /// Whether something in here has been refused.
    pub unsure: bool,
}

/// A field of a contribution.
#[derive(Debug, Clone)]
pub struct Take {
    /// Its value where a consumer gives none.
    pub default: Option<Input>,
    /// Whether a consumer has to give it.
    pub required: bool,
    /// What its whole text has to fit.
    pub pattern: Option<Pattern>,
}

/// A regular expression that fits a whole text.
#[derive(Debug, Clone)]
pub struct Pattern {
    /// As it was written.
    pub text: String,
    /// Anchored at both ends.
    pub regex: regex::Regex,
}

/// A field that is given.
#[derive(Debug, Clone)]
pub enum Gives {
    /// The provider answers it.
    Value,
    /// The vault makes it.
    Secret {
        /// Its length in characters.
        length: u16,
        /// What it is made of.
        alphabet: Alphabet,
    },
    /// It is put together from others.
    From(Text),
}

impl Manifest {
    /// A manifest that says nothing.
    #[must_use]
    pub fn empty(name: ModuleName) -> Self {
        Self {
            name,
            summary: None,
            config: Names::new(),
            secrets: Names::new(),
            ports: Names::new(),
            dirs: Names::new(),
            needs: Names::new(),
            contributes: Names::new(),
            files: Names::new(),
            run: IndexMap::new(),
            provides: Names::new(),
            images: BTreeMap::new(),
            seats: Vec::new(),
            runs_as_own: false,
            unsure: BTreeSet::new(),
            sections: BTreeMap::new(),
        }
    }

    /// One that could not be read: whatever is missing in it may be there.
    #[must_use]
    pub fn unread(name: ModuleName) -> Self {
        let unsure = crate::shape::MANIFEST.keys.iter().map(|key| key.name).collect();
        Self { unsure, ..Self::empty(name) }
    }

    /// Whether every name of a section could be read.
    #[must_use]
    pub fn sure(&self, section: &str) -> bool {
        !self.unsure.contains(section)
    }
}
