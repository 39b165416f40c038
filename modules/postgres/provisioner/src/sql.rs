//! The statement of each step. The only place that writes SQL which changes something.

use zeroize::Zeroizing;

use crate::plan::Step;

/// What a login of ours may: log in, and nothing beyond what any role may.
const LOGIN: &str =
    "LOGIN INHERIT NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS VALID UNTIL 'infinity'";

/// What a group may: own.
const GROUP: &str = "NOLOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS PASSWORD NULL";

/// The statements of one step, each ended by `;`. May hold a verifier.
pub(crate) fn statements(step: &Step) -> Zeroizing<String> {
    Zeroizing::new(match step {
        Step::Lock { role } => format!("ALTER ROLE {} NOLOGIN;", name(role.as_str())),
        Step::MakeGroup { role, comment } => {
            let role = name(role.as_str());
            format!("CREATE ROLE {role} {GROUP}; COMMENT ON ROLE {role} IS {};", text(comment))
        }
        Step::SettleGroup { role } => format!("ALTER ROLE {} {GROUP};", name(role.as_str())),
        Step::MakeLogin { role, group, verifier, comment } => {
            let (role, group) = (name(role.as_str()), name(group.as_str()));
            let (verifier, comment) = (Zeroizing::new(text(verifier.expose())), text(comment));
            format!(
                "CREATE ROLE {role} {LOGIN} PASSWORD {} IN ROLE {group}; COMMENT ON ROLE {role} IS {comment};",
                *verifier
            )
        }
        Step::SettleLogin { role, verifier } => {
            let password = verifier.as_ref().map(|verifier| format!(" PASSWORD {}", text(verifier.expose())));
            let password = Zeroizing::new(password.unwrap_or_default());
            format!("ALTER ROLE {} {LOGIN}{};", name(role.as_str()), *password)
        }
        Step::Join { role, group } => format!("GRANT {} TO {};", name(group.as_str()), name(role.as_str())),
        Step::Leave { role, group } => {
            format!("REVOKE {} FROM {};", name(group.as_str()), name(role.as_str()))
        }
        Step::ActAs { role, group } => {
            format!("ALTER ROLE {} SET role = {};", name(role.as_str()), text(group.as_str()))
        }
        // From template0: nobody can be connected to it, which would make this fail, and nothing was put into it.
        Step::MakeDatabase { database, group } => format!(
            "CREATE DATABASE {} OWNER {} TEMPLATE template0 ALLOW_CONNECTIONS false;",
            name(database.as_str()),
            name(group.as_str())
        ),
        Step::FinishDatabase { database, comment } => {
            let (database, comment) = (name(database.as_str()), text(comment));
            format!(
                "REVOKE CONNECT, TEMPORARY ON DATABASE {database} FROM PUBLIC; \
                 COMMENT ON DATABASE {database} IS {comment}; ALTER DATABASE {database} ALLOW_CONNECTIONS true;"
            )
        }
        Step::CloseDatabase { database } => {
            format!("REVOKE CONNECT ON DATABASE {} FROM PUBLIC;", name(database.as_str()))
        }
    })
}

/// A name in double quotes.
pub(crate) fn name(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A text in single quotes, whatever `standard_conforming_strings` says.
pub(crate) fn text(text: &str) -> String {
    let quoted = text.replace('\'', "''");
    if quoted.contains('\\') { format!("E'{}'", quoted.replace('\\', "\\\\")) } else { format!("'{quoted}'") }
}
