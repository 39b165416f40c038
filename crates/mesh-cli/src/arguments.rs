//! The arguments of the program: which commands there are. What each takes stands beside what it does.

use clap::{Parser, Subcommand, ValueEnum};

use crate::commands::{
    apply, check, completions, explain, graph, logs, modules, new, node, plan, provisioning, schema, secret,
    server, status,
};
use crate::up;

/// Runs what you describe on the machines that you own
///
/// A folder of YAML says which module runs where, what it needs from others, and what it gives to them.
#[derive(Debug, Parser)]
#[command(name = "mesh", version, max_term_width = 80, arg_required_else_help = true)]
#[command(after_help = "Exit: 0 done, 1 refused or failed, 2 wrong usage, 3 the bus or a seat could not \
                        be reached, 4 --wait ran out.")]
pub(crate) struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Up(up::UpArgs),
    Down(up::DownArgs),
    /// Say whether a description could work, and everything that could not
    Check(check::CheckArgs),
    /// Show what a description would change; nothing is touched
    Plan(plan::PlanArgs),
    /// Let a description take effect: plan, show, ask, hand it over
    Apply(apply::ApplyArgs),
    /// Draw who needs what from whom
    Graph(graph::GraphArgs),
    /// Show nodes, modules and services, what waits for what, and why
    Status(status::StatusArgs),
    /// Ask who answers what, who needs what, what came of it
    Provisioning(provisioning::ProvisioningArgs),
    /// Show what modules need, and whether it is met
    Needs(provisioning::Narrowed),
    /// Show what nodes have rendered and started
    Applied(provisioning::Narrowed),
    /// Show what modules add to collections
    Collect(provisioning::Narrowed),
    /// Show which domain answers which kind of placeholder
    Registry(provisioning::Narrowed),
    Server(server::ServerArgs),
    Node(node::NodeArgs),
    /// List, supply or reveal secrets
    Secret(secret::SecretArgs),
    /// Show what services said
    Logs(logs::LogsArgs),
    /// List the modules that ship with mesh, or print one to start from
    Modules(modules::ModulesArgs),
    /// Write the manifest of a new module, to start from
    New(new::NewArgs),
    /// Print the JSON Schema of a manifest or of mesh.yaml, for editors
    Schema(schema::SchemaArgs),
    /// Explain a refusal, with a right and a wrong example
    Explain(explain::ExplainArgs),
    /// Print what a shell needs to complete these commands
    Completions(completions::CompletionsArgs),
}

/// How data is printed: for people, or as one document on standard output and nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Format {
    // What stands here as a comment for documents would make the help of every command longer.
    #[default]
    Text,
    Json,
}
