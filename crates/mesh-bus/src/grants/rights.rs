//! What the table's lines come to for one account: its rights.

use std::collections::BTreeSet;

use mesh_model::key::encode_token;
use mesh_model::name::{NodeName, ProvisionName, SeatName};

use super::reach::{Answered, ModuleReach, NodeReach, OperatorReach, Provides};
use super::table::{self, Keys, Line};
use crate::account::Usage;
use crate::bucket::Bucket;

/// One thing that an account may do.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Right {
    /// Put and delete the keys that fit a filter.
    Write(Bucket, String),
    /// Get one key that fits a filter, knowing which.
    Get(Bucket, String),
    /// Read all that is in a bucket, leaving nothing on the server.
    Whole(Bucket),
    /// Watch all keys that fit a filter, by one consumer of a known name.
    Watch(Bucket, String, Usage),
    /// Ask a verb, under one's own name.
    Ask(String),
    /// Ask for all who answer.
    AskAll(String),
    /// Answer the verbs of a seat, while holding it.
    Answer(SeatName),
}

/// What an account's lines speak of.
enum Whose<'a> {
    Node(&'a NodeName, &'a NodeReach),
    Module(&'a ModuleReach),
    Operator(&'a OperatorReach),
    Seat(&'a SeatName),
    Invited,
}

pub(super) fn node(node: &NodeName, reach: &NodeReach) -> Vec<Right> {
    Whose::Node(node, reach).rights(table::NODE)
}

pub(super) fn module(reach: &ModuleReach) -> Vec<Right> {
    Whose::Module(reach).rights(table::MODULE)
}

pub(super) fn operator(reach: &OperatorReach) -> Vec<Right> {
    let mut rights = Whose::Operator(reach).rights(table::OPERATOR);
    rights.extend(reach.seats.iter().map(|seat| Right::Ask(format!("{seat}.*"))));
    rights
}

pub(super) fn invited() -> Vec<Right> {
    Whose::Invited.rights(table::INVITED)
}

pub(super) fn seat(seat: &SeatName) -> Vec<Right> {
    Whose::Seat(seat).rights(table::seat(seat))
}

/// Some keys of a bucket, and what they are watched for.
struct Slice {
    bucket: Bucket,
    filter: String,
    usage: Usage,
}

impl Slice {
    fn of(bucket: Bucket, filter: impl Into<String>) -> Self {
        Self { bucket, filter: filter.into(), usage: Usage::read() }
    }
}

impl Whose<'_> {
    /// Sorted, and each once: two modules of a node may need one provider.
    fn rights(&self, lines: &[Line]) -> Vec<Right> {
        let all: BTreeSet<Right> = lines.iter().flat_map(|line| self.line(line)).collect();
        all.into_iter().collect()
    }

    fn line(&self, line: &Line) -> Vec<Right> {
        let each = |keys: &Keys, right: &dyn Fn(Slice) -> Vec<Right>| {
            self.slices(keys).into_iter().flat_map(right).collect()
        };
        match line {
            Line::Write(keys) => each(keys, &|slice| vec![Right::Write(slice.bucket, slice.filter)]),
            Line::Get(keys) => each(keys, &|slice| vec![Right::Get(slice.bucket, slice.filter)]),
            Line::Read(keys) => each(keys, &|Slice { bucket, filter, usage }| {
                vec![Right::Get(bucket.clone(), filter.clone()), Right::Watch(bucket, filter, usage)]
            }),
            Line::Whole(keys) => each(keys, &|slice| vec![Right::Whole(slice.bucket)]),
            Line::Ask(verbs) => verbs.iter().map(|verb| Right::Ask((*verb).to_owned())).collect(),
            Line::AskAll => vec![Right::AskAll("$SRV.>".to_owned())],
            Line::Answer => self.seats().into_iter().map(Right::Answer).collect(),
        }
    }

    fn slices(&self, keys: &Keys) -> Vec<Slice> {
        match keys {
            Keys::All(bucket) => vec![Slice::of(bucket(), ">")],
            Keys::One(bucket, key) => vec![Slice::of(bucket(), *key)],
            Keys::Own(bucket) => self.here(bucket()).into_iter().collect(),
            Keys::Everywhere => self.everywhere(),
            Keys::Answers => self.provides().iter().flat_map(answers).collect(),
            Keys::AnswersHere => match self {
                Self::Node(_, reach) => {
                    reach.providers.iter().filter_map(|provider| self.here(Bucket::bound(provider))).collect()
                }
                _ => Vec::new(),
            },
            Keys::Contributions => {
                let provisions = self.provides().iter().flat_map(|provides| &provides.provisions);
                provisions.map(contributions).collect()
            }
            Keys::Files => match self {
                Self::Node(_, reach) => reach
                    .files
                    .iter()
                    .map(|digest| Slice::of(Bucket::files(), format!("{digest}.*")))
                    .collect(),
                _ => Vec::new(),
            },
            Keys::NeedsOfConsumers => match self {
                Self::Module(reach) => {
                    reach.needs.iter().map(|key| Slice::of(Bucket::needs(), key.to_string())).collect()
                }
                _ => Vec::new(),
            },
            Keys::Leases => {
                self.seats().into_iter().map(|seat| Slice::of(Bucket::seats(), seat.to_string())).collect()
            }
        }
    }

    fn here(&self, bucket: Bucket) -> Option<Slice> {
        match self {
            Self::Node(node, _) => Some(Slice::of(bucket, format!("{node}.>"))),
            _ => None,
        }
    }

    fn everywhere(&self) -> Vec<Slice> {
        let Self::Operator(reach) = self else { return Vec::new() };
        let hidden: Vec<Bucket> = table::NOT_FOR_OPERATORS.iter().map(|bucket| bucket()).collect();
        let fixed = Bucket::fixed().into_iter().filter(|bucket| !hidden.contains(bucket));
        fixed.chain(reach.providers.iter().map(Bucket::bound)).map(|bucket| Slice::of(bucket, ">")).collect()
    }

    fn provides(&self) -> &[Provides] {
        match self {
            Self::Node(_, reach) => &reach.provides,
            Self::Module(reach) => reach.provides.as_slice(),
            Self::Operator(_) | Self::Seat(_) | Self::Invited => &[],
        }
    }

    fn seats(&self) -> Vec<SeatName> {
        match self {
            Self::Module(reach) => reach.seats.iter().cloned().collect(),
            Self::Seat(seat) => vec![(*seat).clone()],
            Self::Node(..) | Self::Operator(_) | Self::Invited => Vec::new(),
        }
    }
}

fn answers(provides: &Provides) -> Vec<Slice> {
    let bound = Bucket::bound(&provides.module);
    match &provides.answers {
        Answered::Everybody => vec![Slice::of(bound, ">")],
        Answered::Only(keys) => keys.iter().map(|key| Slice::of(bound.clone(), key.to_string())).collect(),
    }
}

fn contributions(provision: &ProvisionName) -> Slice {
    Slice {
        bucket: Bucket::collect(),
        filter: consumers_filter(provision),
        usage: Usage::consumers(provision),
    }
}

/// The keys of the collect bucket that are contributions to a provision.
#[must_use]
pub fn consumers_filter(provision: &ProvisionName) -> String {
    format!("*.{}.*", encode_token(&format!("contribution:{provision}")))
}
