//! Every text of a manifest that may hold placeholders, each with what kind of place it stands in.

use mesh_model::kind::Kind;

use crate::manifest::{Content, Gives, Health, Input, Manifest, Service};
use crate::text::Text;

/// A kind of place in which a text stands: it decides what a placeholder there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spot {
    /// The content of a file.
    File,
    /// A port.
    Port,
    /// A variable of a service.
    Env,
    /// Anything else of a service, by its key.
    Service(&'static str),
    /// What a consumer hands over.
    With,
    /// An item of a collection.
    Contributes,
    /// A default of `takes`.
    Takes,
    /// A field that is put together from others.
    Gives,
    /// Where a provisioner writes.
    Answers,
}

use Kind::{Access, Config, Consumer, Dir, Machine, Module, Port};

impl Spot {
    /// What the place is called in a message.
    pub(crate) fn what(self) -> &'static str {
        match self {
            Self::File => "a file",
            Self::Port => "`ports`",
            Self::Env => "`env`",
            Self::Service(key) => key,
            Self::With => "`with`",
            Self::Contributes => "`contributes`",
            Self::Takes => "`takes`",
            Self::Gives => "`gives`",
            Self::Answers => "`answers`",
        }
    }

    /// Whether a secret may stand here.
    pub(crate) fn hides(self) -> bool {
        matches!(self, Self::File | Self::Env)
    }

    /// Whether a module waits for what is used here before it starts.
    pub(crate) fn waits(self) -> bool {
        matches!(self, Self::File | Self::Env | Self::Service(_))
    }

    /// Whether every placeholder of what is written here is of a kind that is known here.
    pub(crate) fn allows(self, input: &Input) -> bool {
        let mut used = of_input(input).into_iter().flat_map(|text| text.placeholders());
        used.all(|(placeholder, _)| self.knows(placeholder.reference.kind()))
    }

    /// Whether a kind is known here.
    pub(crate) fn knows(self, kind: Kind) -> bool {
        match self {
            Self::File | Self::Env | Self::Service(_) => !matches!(kind, Module | Consumer | Kind::Gives),
            Self::Port => kind == Config,
            Self::With | Self::Contributes => matches!(kind, Config | Port | Dir | Access | Machine | Module),
            Self::Takes => matches!(kind, Consumer | Module | Config | Port | Machine),
            Self::Gives => matches!(kind, Kind::Gives | Consumer),
            Self::Answers => matches!(kind, Dir | Config | Port | Machine | Module),
        }
    }

    /// The kinds that are known here.
    pub(crate) fn kinds(self) -> impl Iterator<Item = Kind> {
        Kind::ALL.into_iter().filter(move |kind| self.knows(*kind))
    }
}

/// Every text of a manifest, in no order that matters.
pub(crate) fn texts(manifest: &Manifest) -> impl Iterator<Item = (Spot, &Text)> {
    let files = manifest.files.values().filter_map(|file| match &file.value.content {
        Some(Content::Inline(text)) => Some((Spot::File, text)),
        _ => None,
    });
    let services = manifest.run.values().flat_map(|service| of_service(&service.value));
    let with = manifest.needs.values().flat_map(|need| need.value.with.values());
    let with = with.filter_map(|input| Some((Spot::With, of_input(&input.value)?)));
    let contributes = manifest.contributes.values().flat_map(|items| &items.value);
    let contributes = contributes.map(|text| (Spot::Contributes, text));
    let provides = manifest.provides.values().flat_map(|provision| {
        let provision = &provision.value;
        let takes =
            provision.takes.values().filter_map(|take| take.value.default.as_ref().and_then(of_input));
        let gives = provision.gives.values().filter_map(|give| match &give.value {
            Gives::From(text) => Some((Spot::Gives, text)),
            _ => None,
        });
        let answers = provision.answers.iter().map(|text| (Spot::Answers, text));
        takes.map(|text| (Spot::Takes, text)).chain(gives).chain(answers)
    });
    let ports = manifest.ports.values().filter_map(|port| match &port.value {
        crate::manifest::Port::Set(text) => Some((Spot::Port, &**text)),
        _ => None,
    });
    files.chain(ports).chain(services).chain(with).chain(contributes).chain(provides)
}

fn of_input(input: &Input) -> Option<&Text> {
    match input {
        Input::Text(text) => Some(text),
        Input::Plain(_) => None,
    }
}

fn of_service(service: &Service) -> impl Iterator<Item = (Spot, &Text)> {
    let at = |what: &'static str| move |text| (Spot::Service(what), text);
    let prepare = service.prepare.iter().flat_map(move |step| {
        step.exec.iter().map(at("`exec`")).chain(step.creates.iter().map(at("`creates`")))
    });
    let health: Vec<(Spot, &Text)> = match &service.health {
        None => Vec::new(),
        Some(Health::Http(text) | Health::Tcp(text)) => vec![(Spot::Service("`health`"), text)],
        Some(Health::Exec(texts)) => texts.iter().map(at("`exec`")).collect(),
    };
    let own = service.exec.iter().map(at("`exec`"));
    let own =
        own.chain(service.args.iter().map(at("`args`"))).chain(service.mounts.iter().map(at("`mounts`")));
    let own = own.chain(service.image.iter().map(at("`image`"))).chain(service.user.iter().map(at("`user`")));
    let env = service.env.values().map(|text| (Spot::Env, text));
    prepare.chain(own).chain(env).chain(health)
}
