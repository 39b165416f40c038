//! What a description may say, as data: each place with its keys, and what each key holds.
//!
//! One table for everything that asks: the reader refuses a key that is not here, with the nearest that is; and the JSON
//! Schema for editors is made from the same lines. What a value means, and whether a name is declared, is not here.

/// What stands behind a key.
#[derive(Debug, Clone, Copy)]
pub enum Shape {
    /// A text, with or without placeholders.
    Text,
    /// A text, a number, true or false, or a list of them.
    Any,
    /// True or false.
    Boolean,
    /// A whole number.
    Integer(u32, u32),
    /// A port, or one of the words.
    Port,
    /// One of a few words.
    Word(&'static [&'static str]),
    /// A map with the keys of a place.
    Place(&'static Place),
    /// A map whose keys are names.
    Named(&'static Shape),
    /// A list.
    List(&'static Shape),
    /// One, or a list of them.
    OneOrMore(&'static Shape),
}

/// A map with fixed keys.
#[derive(Debug)]
pub struct Place {
    /// What it is called in a message: "a service".
    pub what: &'static str,
    /// Its keys.
    pub keys: &'static [Key],
}

/// A key of a place.
#[derive(Debug)]
pub struct Key {
    /// The word.
    pub name: &'static str,
    /// What stands behind it.
    pub holds: Shape,
    /// What it is for, for editors.
    pub about: &'static str,
}

const fn key(name: &'static str, holds: Shape, about: &'static str) -> Key {
    Key { name, holds, about }
}

use Shape::{Any, Boolean, Integer, List, Named, OneOrMore, Port, Text, Word};

/// `mesh.yaml`.
pub static MESH: Place = Place {
    what: "mesh.yaml",
    keys: &[
        key("mesh", Text, "the name of the mesh"),
        key("nodes", Named(&Shape::Place(&NODE)), "the machines"),
        key(
            "assign",
            Named(&OneOrMore(&Text)),
            "what runs where: a node, or a list of nodes, for each module",
        ),
        key("config", Named(&Named(&Any)), "settings, for `module` on every node or for `module@node`"),
        key(
            "bind",
            Named(&Text),
            "who answers a need, where more than one could: `module.need: module@node`",
        ),
        key("escrow", List(&Text), "age recipients to whom every secret is sealed too"),
    ],
};

/// A node.
pub static NODE: Place = Place {
    what: "a node",
    keys: &[
        key("address", Text, "where the other nodes reach it: an IP address or a host name"),
        key("ports", Text, "the range that `auto` ports are taken from: `20000-20999`"),
    ],
};

/// `module.yaml`.
pub static MANIFEST: Place = Place {
    what: "a manifest",
    keys: &[
        key("module", Text, "the module's name, as its folder is called"),
        key("summary", Text, "what it is, in a line"),
        key("config", Named(&Shape::Place(&SETTING)), "what an operator may set in mesh.yaml"),
        key("secrets", Named(&Shape::Place(&SECRET)), "secrets of its own, one per node"),
        key(
            "ports",
            Named(&Port),
            "the ports that it listens on: a number, `auto`, or a setting that says one of them",
        ),
        key("dirs", Named(&Shape::Place(&DIR)), "its folders"),
        key("needs", Named(&Shape::Place(&NEED)), "the provisions that it needs, by its own names for them"),
        key("contributes", Named(&List(&Text)), "items for collections on its node"),
        key("files", Named(&Shape::Place(&FILE)), "files that are rendered for it, by path"),
        key("run", Named(&Shape::Place(&SERVICE)), "its services, started in this order"),
        key("provides", Named(&Shape::Place(&PROVISION)), "the provisions that it makes for others"),
        key("images", Named(&Shape::Place(&IMAGE)), "the images that its folder builds"),
        key("seats", List(&Text), "seats that it may hold"),
        key("runs-as", Word(&["own"]), "a bus account of its own"),
    ],
};

/// A setting.
pub static SETTING: Place = Place {
    what: "a setting",
    keys: &[
        key("type", Word(SETTING_TYPES), "what it holds"),
        key("default", Any, "its value where nobody sets it"),
        key("required", Boolean, "whether an operator has to set it"),
    ],
};

/// The types of settings.
pub static SETTING_TYPES: &[&str] = &["string", "integer", "boolean", "list"];

/// A secret.
pub static SECRET: Place = Place {
    what: "a secret",
    keys: &[
        key("length", Integer(16, 256), "its length in characters"),
        key("alphabet", Word(ALPHABETS), "what it is made of"),
        key("supplied", Boolean, "not made: `mesh secret set` seals it"),
    ],
};

/// What a secret is made of.
pub static ALPHABETS: &[&str] = &["alphanumeric", "hex", "base64url"];

/// A folder.
pub static DIR: Place =
    Place { what: "a folder", keys: &[key("temporary", Boolean, "emptied at each start of its services")] };

/// A need.
pub static NEED: Place = Place {
    what: "a need",
    keys: &[
        key("provision", Text, "what it needs"),
        key("with", Named(&Any), "what it hands to the provider"),
    ],
};

/// A file.
pub static FILE: Place = Place {
    what: "a file",
    keys: &[
        key("content", Text, "what is in it, with placeholders"),
        key("from", Text, "or the file beside the manifest that it is made from"),
        key("mode", Text, "its mode, as octal digits in quotes; \"0600\" where it is left out"),
        key("on_change", Word(ON_CHANGE), "what happens to the services when it changes"),
        key("verbatim", Boolean, "taken as it is: no placeholders in it"),
    ],
};

/// What happens when a file changes.
pub static ON_CHANGE: &[&str] = &["restart", "reload", "nothing"];

/// A service.
pub static SERVICE: Place = Place {
    what: "a service",
    keys: &[
        key("prepare", List(&Shape::Place(&PREPARE)), "run to the end before the service"),
        key("exec", List(&Text), "the program and its arguments"),
        key("image", Text, "or the image of a container"),
        key("args", List(&Text), "the arguments of the image's entry point"),
        key("mounts", List(&Text), "folders that the container sees, at the same path"),
        key("env", Named(&Text), "its environment"),
        key("user", Text, "whom it runs as when it is started by root"),
        key("health", Shape::Place(&HEALTH), "how to tell that it is well"),
        key("restart", Word(RESTART), "what happens when it ends"),
        key("stop_signal", Word(SIGNALS), "the signal that ends it; SIGTERM where it is left out"),
    ],
};

/// What happens when a service ends.
pub static RESTART: &[&str] = &["always", "on-failure", "never"];

/// The signals that end a service.
pub static SIGNALS: &[&str] =
    &["SIGTERM", "SIGINT", "SIGQUIT", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGWINCH", "SIGKILL"];

/// A command before a service.
pub static PREPARE: Place = Place {
    what: "a step of `prepare`",
    keys: &[
        key("exec", List(&Text), "the program and its arguments"),
        key("creates", Text, "where this exists, the step is skipped"),
    ],
};

/// How to tell that a service is well.
pub static HEALTH: Place = Place {
    what: "`health`",
    keys: &[
        key("http", Text, "a URL that answers with 2xx or 3xx"),
        key("tcp", Text, "a port, or `host:port`, that accepts a connection"),
        key("exec", List(&Text), "a command that ends with 0"),
    ],
};

/// A provision that a module makes for others.
pub static PROVISION: Place = Place {
    what: "a provision",
    keys: &[
        key("answers", Text, "where its provisioner writes its answers"),
        key("takes", Named(&Shape::Place(&TAKE)), "what a consumer hands to it"),
        key("distinct", List(&Text), "what two modules may not contribute the same"),
        key("gives", Named(&Shape::Place(&GIVE)), "what it gives a consumer"),
    ],
};

/// A field of a contribution.
pub static TAKE: Place = Place {
    what: "a field of `takes`",
    keys: &[
        key("default", Any, "its value where a consumer gives none"),
        key("required", Boolean, "whether a consumer has to give it"),
        key("pattern", Text, "a regular expression that fits the whole text"),
    ],
};

/// A field that a provider gives.
pub static GIVE: Place = Place {
    what: "a field of `gives`",
    keys: &[
        key("secret", Boolean, "made by the vault"),
        key("length", Integer(16, 256), "the secret's length in characters"),
        key("alphabet", Word(ALPHABETS), "what the secret is made of"),
        key("from", Text, "put together from other fields"),
    ],
};

/// An image.
pub static IMAGE: Place = Place {
    what: "an image",
    keys: &[key("containerfile", Text, "what it is built from, beside the manifest")],
};
