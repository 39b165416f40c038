//! Every placeholder of every manifest: of a known kind, of a declared name, with filters that fit, and no secret where
//! others can read it.

use std::collections::BTreeSet;

use mesh_model::filter::Filter;
use mesh_model::kind::Kind;
use mesh_model::placeholder::{FaultKind, Placeholder, Reference};
use mesh_model::refusal::{Code, Refusal};

use super::fields;
use crate::manifest::SettingType;
use crate::model::{Model, Module};
use crate::nearest::{advice, listed, nearest, or};
use crate::source::Source;
use crate::span::Span;
use crate::text::Text;
use crate::texts::Spot;

mod names;

/// `bad-placeholder`, `unknown-kind`, `unknown-placeholder`, `unknown-field`, `missing-secret`, `unknown-filter`,
/// `needs-filter`, `secret-exposed`.
pub(crate) fn check(model: &Model<'_>, out: &mut Vec<Refusal>) {
    let seats = names::seats(model);
    let seats = seats.as_ref();
    for module in model.modules.iter() {
        for (spot, text, source) in module.texts() {
            let check = Check { model, module, source, spot, seats };
            check.text(text, out);
            if out.len() > MOST {
                out.push(too_many(model));
                return;
            }
        }
    }
}

/// So many refusals are told, which nobody will read to the end: a file of a few bytes for each of them is no reason to
/// hold more.
const MOST: usize = 100_000;

fn too_many(model: &Model<'_>) -> Refusal {
    let message =
        format!("more than {MOST} things are wrong with placeholders, and the rest of them is not told");
    let help = "a file that is none of ours, and full of `${`, says `verbatim: true`".to_owned();
    model.source.refuse(Code::TooLarge, Span::BEGINNING, message, help)
}

/// One text of one manifest.
struct Check<'a, 'm> {
    model: &'a Model<'m>,
    module: &'a Module<'m>,
    /// The file that the text stands in.
    source: &'a Source<'m>,
    spot: Spot,
    /// Every seat; none where some could not be read.
    seats: Option<&'a BTreeSet<&'a str>>,
}

/// What is wrong with a placeholder.
struct Wrong {
    code: Code,
    name: String,
    message: String,
    help: String,
}

fn wrong(code: Code, name: impl Into<String>, message: impl Into<String>, help: impl Into<String>) -> Wrong {
    Wrong { code, name: name.into(), message: message.into(), help: help.into() }
}

impl Check<'_, '_> {
    fn text(&self, text: &Text, out: &mut Vec<Refusal>) {
        for (fault, place) in text.faults() {
            out.extend(self.fault(fault).map(|wrong| self.refusal(wrong, *place)));
        }
        for (placeholder, place) in text.placeholders() {
            out.extend(self.placeholder(placeholder).map(|wrong| self.refusal(wrong, place)));
        }
    }

    fn refusal(&self, wrong: Wrong, place: Span) -> Refusal {
        let mut refusal = self.source.refuse(wrong.code, place, wrong.message, wrong.help);
        refusal.name = Some(wrong.name);
        refusal
    }

    /// What is wrong with a text that is no placeholder.
    fn fault(&self, fault: &FaultKind) -> Option<Wrong> {
        let message = fault.to_string();
        Some(match fault {
            FaultKind::Unclosed => {
                let help =
                    "close it with `}` on the same line; a `${` that stands for itself is written `$${`";
                wrong(Code::BadPlaceholder, "${", message, help)
            }
            FaultKind::Shape => {
                let help = "a `${` that stands for itself is written `$${`; in a file that is none of ours, say \
                            `verbatim: true`";
                wrong(Code::BadPlaceholder, "${", message, help)
            }
            FaultKind::Kind(word) => {
                let help = advice(word, "kind", self.spot.kinds().map(Kind::as_str));
                wrong(
                    Code::UnknownKind,
                    word,
                    message,
                    or(&help, "write `$${` for a `${` that stands for itself"),
                )
            }
            FaultKind::Filter(word) => {
                let help = advice(word, "filter", Filter::ALL.iter().map(|filter| filter.as_str()));
                wrong(Code::UnknownFilter, word, message, help)
            }
            FaultKind::Path { kind, path, expected } => {
                if !self.spot.knows(*kind) {
                    return Some(self.elsewhere(*kind, &format!("{kind}.{path}")));
                }
                return self.unreadable(*kind, path, expected);
            }
        })
    }

    fn placeholder(&self, placeholder: &Placeholder) -> Option<Wrong> {
        let reference = &placeholder.reference;
        let known = self.spot.knows(reference.kind());
        let exposed = !self.spot.hides() && self.spot != Spot::Gives && self.is_secret(reference);
        if !known && !exposed {
            return Some(self.elsewhere(reference.kind(), &reference.to_string()));
        }
        if let Some(undeclared) = self.undeclared(reference) {
            return Some(undeclared);
        }
        if exposed {
            return Some(self.exposed(reference));
        }
        self.filters(placeholder)
    }

    /// A known kind where it makes no sense.
    fn elsewhere(&self, kind: Kind, written: &str) -> Wrong {
        let what = self.spot.what();
        let known: Vec<&str> = self.spot.kinds().map(Kind::as_str).collect();
        let message = format!("`${{{written}}}` cannot stand in {what}: `{kind}` is not known there");
        let home = match kind {
            Kind::Module => "`module` is known in `with`, `takes` and `contributes`; ",
            Kind::Consumer => "`consumer` is known in `takes` and `gives`; ",
            Kind::Gives => "`gives` is known in `gives` itself; ",
            _ => "",
        };
        wrong(Code::BadPlaceholder, written, message, format!("{home}{what} may use {}", listed(&known)))
    }

    fn is_secret(&self, reference: &Reference) -> bool {
        match reference {
            Reference::Secret(_) | Reference::Consumers(_) => true,
            Reference::Bound(local, field) => {
                let Some(provision) = self.needed(local) else { return false };
                let manifests = fields::answering(self.model, &self.module.manifest.name, local, provision);
                manifests.iter().any(|provision| provision.secret.contains(field))
            }
            _ => false,
        }
    }

    fn exposed(&self, reference: &Reference) -> Wrong {
        let what = self.spot.what();
        let (message, help) = match self.spot {
            Spot::With | Spot::Contributes | Spot::Takes => (
                format!(
                    "`${{{reference}}}` is a secret, and {what} is written to a bucket, where others read it"
                ),
                "a secret stays with the one it was made for: hand over its name or place, and let the other side have \
                 a credential of its own",
            ),
            _ => (
                format!(
                    "`${{{reference}}}` is a secret, and {what} is where everybody on the machine can read it"
                ),
                "put it into `env`, or into a file that the program is given the path of: `${file.name}`",
            ),
        };
        wrong(Code::SecretExposed, reference.to_string(), message, help)
    }

    /// A list or an object is written by the first filter; the others take text.
    fn filters(&self, placeholder: &Placeholder) -> Option<Wrong> {
        let reference = &placeholder.reference;
        let list = match reference {
            Reference::Config(name) => {
                let setting = &self.module.manifest.config.get(name)?.value;
                if setting.unsure {
                    return None;
                }
                setting.kind == SettingType::List
            }
            Reference::Collected(_) | Reference::Shell(_) | Reference::Environment(_) => true,
            _ => false,
        };
        let object = reference.is_compound() && !list;
        let message = |what: &str| format!("`${{{reference}}}` is {what}");
        match placeholder.filters.first() {
            None if list => Some(wrong(
                Code::NeedsFilter,
                reference.to_string(),
                message("a list"),
                format!("say how it is written: `${{{reference} | lines}}` or `${{{reference} | json}}`"),
            )),
            Some(first) if list && !first.writes_compound() && *first != Filter::Toml => Some(wrong(
                Code::NeedsFilter,
                reference.to_string(),
                format!("{}, which `{first}` cannot write", message("a list")),
                "begin with `lines` or `json`",
            )),
            first if object && first != Some(&Filter::Json) => Some(wrong(
                Code::NeedsFilter,
                reference.to_string(),
                message("an object"),
                format!("write it as JSON: `${{{reference} | json}}`"),
            )),
            _ => self.lines(placeholder, list),
        }
    }

    /// `lines` writes a list, and stands first.
    fn lines(&self, placeholder: &Placeholder, list: bool) -> Option<Wrong> {
        let reference = &placeholder.reference;
        let skipped = usize::from(list);
        let found = placeholder.filters.iter().skip(skipped).any(|filter| *filter == Filter::Lines);
        found.then(|| {
            let message =
                format!("`lines` writes a list, and what it is handed of `${{{reference}}}` is a text");
            wrong(Code::BadPlaceholder, reference.to_string(), message, "take `lines` out")
        })
    }

    fn needed(&self, local: &mesh_model::name::LocalName) -> Option<&mesh_model::name::ProvisionName> {
        Some(&self.module.manifest.needs.get(local)?.value.provision.as_ref()?.value)
    }

    /// A name that is not declared.
    fn unknown<'k>(
        &self,
        kind: Kind,
        name: &str,
        what: &str,
        known: impl IntoIterator<Item = &'k str>,
    ) -> Wrong {
        let code = if kind == Kind::Secret { Code::MissingSecret } else { Code::UnknownPlaceholder };
        let known: BTreeSet<&str> = known.into_iter().collect();
        let field = if kind == Kind::Bound { ".…" } else { "" };
        let message = format!("`${{{kind}.{name}{field}}}`: there is no {what} `{name}`");
        let mut help = advice(name, what, known.iter().copied());
        if nearest(name, known.iter().copied()).is_none()
            && let Some(line) = declaration(kind, name)
        {
            help = or(&help, &format!("declare it: `{line}`"));
        }
        wrong(code, name, message, help)
    }
}

/// The line that declares a name of a module's own.
fn declaration(kind: Kind, name: &str) -> Option<String> {
    Some(match kind {
        Kind::Config => format!("config: {{{name}: {{default: …}}}}"),
        Kind::Secret => format!("secrets: {{{name}: {{}}}}"),
        Kind::Port => format!("ports: {{{name}: auto}}"),
        Kind::Dir => format!("dirs: {{{name}: {{}}}}"),
        Kind::File => format!("files: {{{name}: {{content: …}}}}"),
        Kind::Bound => format!("needs: {{{name}: {{provision: …}}}}"),
        _ => return None,
    })
}
