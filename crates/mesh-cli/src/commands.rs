//! The commands: a file each, with its arguments and what it does.

pub(crate) mod apply;
pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod explain;
pub(crate) mod graph;
pub(crate) mod hand_over;
pub(crate) mod logs;
pub(crate) mod modules;
pub(crate) mod new;
pub(crate) mod node;
pub(crate) mod plan;
pub(crate) mod provisioning;
pub(crate) mod schema;
pub(crate) mod secret;
pub(crate) mod server;
pub(crate) mod status;
