//! The real one, over tokio-postgres.
//!
//! One connection is kept from pass to pass, so that it is seen at once when the server goes away; the second, and
//! those that prove a login, last for as long as they are used.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mesh_provider::Secret;
use tokio::sync::OnceCell;
use tokio::task::JoinSet;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Config, NoTls, Row};
use zeroize::Zeroizing;

use super::{Lane, Said, World, WorldError};
use crate::marker::{Maker, Marker};
use crate::name::{DatabaseName, RoleName};
use crate::plan::{Database, Observed, Role};
use crate::scram::Verifiers;
use crate::sql;

/// What the superuser's sessions are told before their first statement. A verifier is in some of these statements, so
/// none is logged, not even one that fails, and none is shown or counted; and no setting of a consumer's database
/// gets in the way.
const OPTIONS: &[&str] = &[
    "log_statement=none",
    "log_min_error_statement=panic",
    "log_min_duration_statement=-1",
    "log_min_duration_sample=-1",
    "log_transaction_sample_rate=0",
    "debug_print_parse=off",
    "debug_print_rewritten=off",
    "debug_print_plan=off",
    "track_activities=off",
    "pg_stat_statements.track=none",
    "pg_stat_statements.track_utility=off",
    "default_transaction_read_only=off",
    "idle_session_timeout=0",
    "idle_in_transaction_session_timeout=0",
    "statement_timeout=0",
    LOCK_TIMEOUT,
    "client_min_messages=error",
];

const CONNECT: Duration = Duration::from_secs(5);
const ANSWER: Duration = Duration::from_secs(60);
const LOG_IN: Duration = Duration::from_secs(10);
/// A database is made of some thousand files, and a busy disk may take its time.
const STATEMENTS: Duration = Duration::from_secs(600);
const END_SESSIONS: Duration = Duration::from_secs(2);

/// A consumer may hold a lock on its own role or database for as long as it likes (`BEGIN; ALTER ROLE …`). It then holds
/// up itself for as long as this, and nobody else.
const LOCK_TIMEOUT: &str = "lock_timeout=3000";

/// One for each lane, because a statement goes on in the server when whoever sent it was killed: `CREATE DATABASE` by
/// a former run would collide with ours. The first part is ours alone.
const LOCKS: [&str; 2] = ["1835365224, 1", "1835365224, 2"];

const ROLES: &str = "
    SELECT r.rolname::text, r.rolcanlogin, r.rolpassword, shobj_description(r.oid, 'pg_authid'), s.setconfig,
           NOT (r.rolsuper OR r.rolcreatedb OR r.rolcreaterole OR r.rolreplication OR r.rolbypassrls)
           AND r.rolinherit AND (r.rolvaliduntil IS NULL OR r.rolvaliduntil = 'infinity')
    FROM pg_authid r LEFT JOIN pg_db_role_setting s ON s.setrole = r.oid AND s.setdatabase = 0";

const MEMBERSHIPS: &str = "
    SELECT pg_get_userbyid(member)::text, pg_get_userbyid(roleid)::text FROM pg_auth_members";

const DATABASES: &str = "
    SELECT d.datname::text, pg_get_userbyid(d.datdba)::text, shobj_description(d.oid, 'pg_database'),
           has_database_privilege('public', d.oid, 'CONNECT')
    FROM pg_database d";

/// Where the server is reached from here.
#[derive(Debug, Clone)]
pub(crate) struct Address {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) superuser: String,
    pub(crate) password_file: PathBuf,
}

/// One PostgreSQL.
pub(crate) struct Postgres {
    address: Address,
    first: Connection,
    second: OnceCell<Connection>,
}

/// A client and the task that drives it, which ends with it.
struct Connection {
    client: Client,
    _driver: JoinSet<()>,
}

/// The superuser's password, as its file holds it but for the end of the line.
pub(crate) fn read_password(path: &Path) -> Result<Secret, WorldError> {
    let unreadable = |source| WorldError::Password { path: path.to_owned(), source };
    let text = Zeroizing::new(std::fs::read(path).map_err(unreadable)?);
    let password = text.strip_suffix(b"\n").unwrap_or(&text);
    Ok(Secret::new(password.to_vec()))
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

impl Address {
    async fn connect(
        &self,
        user: &str,
        password: &Secret,
        database: &str,
        options: &[&str],
    ) -> Result<Connection, WorldError> {
        let mut config = Config::new();
        config.host(&self.host).port(self.port).user(user).password(password.expose()).dbname(database);
        config.connect_timeout(CONNECT).application_name("mesh-postgres-provisioner");
        if !options.is_empty() {
            config.options(options.iter().map(|option| format!("-c {option} ")).collect::<String>());
        }
        let told = |source| WorldError::Connect {
            address: self.to_string(),
            user: user.to_owned(),
            source: Said(source),
        };
        let connecting = config.connect(NoTls);
        let connected = tokio::time::timeout(LOG_IN, connecting).await;
        let (client, connection) = connected
            .map_err(|_| WorldError::Late { doing: "connect to PostgreSQL", within: LOG_IN })?
            .map_err(told)?;
        let mut driver = JoinSet::new();
        // How the connection ends is told to whoever asks it something.
        driver.spawn(async move { drop(connection.await) });
        Ok(Connection { client, _driver: driver })
    }

    async fn superuser(&self, database: &str) -> Result<Connection, WorldError> {
        let password = read_password(&self.password_file)?;
        self.connect(&self.superuser, &password, database, OPTIONS).await
    }
}

impl Postgres {
    pub(crate) async fn connect(address: Address) -> Result<Self, WorldError> {
        let first = address.superuser("postgres").await?;
        Ok(Self { address, first, second: OnceCell::new() })
    }

    /// Whether the server has gone away.
    pub(crate) fn is_gone(&self) -> bool {
        self.first.client.is_closed()
    }

    async fn second(&self) -> Result<Connection, WorldError> {
        let second = self.address.superuser("postgres").await?;
        let lock = format!("SELECT pg_advisory_lock({})", LOCKS[1]);
        asked("wait for another provisioner", ANSWER, second.client.batch_execute(&lock)).await?;
        Ok(second)
    }

    async fn rows(&self, doing: &'static str, query: &str) -> Result<Vec<Row>, WorldError> {
        asked(doing, ANSWER, self.first.client.query(query, &[])).await
    }

    /// The databases in which something depends on the role, with their owners.
    async fn depends(&self, role: &RoleName) -> Result<Vec<(String, String)>, WorldError> {
        let query = "SELECT DISTINCT d.datname::text, pg_get_userbyid(d.datdba)::text FROM pg_shdepend s \
                     JOIN pg_database d ON d.oid = s.dbid JOIN pg_authid r ON r.oid = s.refobjid \
                     WHERE s.refclassid = 'pg_authid'::regclass AND r.rolname = $1";
        let role = role.as_str();
        let rows = asked("see what a role owns", ANSWER, self.first.client.query(query, &[&role])).await?;
        Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
    }

    async fn drop_role(&self, role: &RoleName) -> Result<(), WorldError> {
        let statement = format!("DROP ROLE IF EXISTS {}", sql::name(role.as_str()));
        asked("drop a role", ANSWER, self.first.client.batch_execute(&statement)).await
    }
}

impl World for Postgres {
    async fn begin(&self) -> Result<(), WorldError> {
        let [first, second] = LOCKS;
        let locks = format!(
            "SELECT pg_advisory_lock({first}); SELECT pg_advisory_lock({second}); SELECT pg_advisory_unlock({second})"
        );
        asked("wait for another provisioner", ANSWER, self.first.client.batch_execute(&locks)).await
    }

    async fn end(&mut self) -> Result<(), WorldError> {
        self.second.take();
        let unlock = "SELECT pg_advisory_unlock_all()";
        asked("let others at the server", ANSWER, self.first.client.batch_execute(unlock)).await
    }

    async fn observe(&mut self, maker: &Maker, verifiers: &Verifiers) -> Result<Observed, WorldError> {
        let mut observed = Observed::default();
        for row in self.rows("read the roles", ROLES).await? {
            let (name, role) = role(&row, maker, verifiers);
            observed.roles.insert(name, role);
        }
        let mut memberships = BTreeMap::<_, BTreeSet<_>>::new();
        for row in self.rows("read the memberships", MEMBERSHIPS).await? {
            let member = RoleName::observed(row.get(0));
            memberships.entry(member).or_default().insert(RoleName::observed(row.get(1)));
        }
        observed.memberships = memberships;
        for row in self.rows("read the databases", DATABASES).await? {
            let owner = RoleName::observed(row.get(1));
            let database = Database { owner, marker: maker.read(row.get(2)), open: row.get(3) };
            observed.databases.insert(DatabaseName::observed(row.get(0)), database);
        }
        Ok(observed)
    }

    async fn execute(&self, lane: Lane, statements: &str) -> Result<(), WorldError> {
        let connection = match lane {
            Lane::First => &self.first,
            Lane::Second => self.second.get_or_try_init(|| self.second()).await?,
        };
        asked("change it", STATEMENTS, connection.client.batch_execute(statements)).await
    }

    async fn end_sessions(&self, roles: &[RoleName]) -> Result<(), WorldError> {
        let names: Vec<&str> = roles.iter().map(RoleName::as_str).collect();
        let query = "SELECT min(usename::text), count(pg_terminate_backend(pid)) FROM pg_stat_activity \
                     WHERE usename::text = ANY($1)";
        let started = tokio::time::Instant::now();
        loop {
            let row = asked("end sessions", ANSWER, self.first.client.query_one(query, &[&names])).await?;
            let count: i64 = row.get(1);
            if count == 0 {
                return Ok(());
            }
            if started.elapsed() > END_SESSIONS {
                return Err(WorldError::Sessions { role: row.get(0), count });
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    async fn log_in(
        &self,
        role: &RoleName,
        password: &Secret,
        database: &DatabaseName,
    ) -> Result<RoleName, WorldError> {
        let session = self.address.connect(role.as_str(), password, database.as_str(), &[]).await?;
        // A simple query: one round trip, where preparing it would be two.
        let asking = session.client.simple_query("SELECT current_user");
        let messages = asked("ask a session who it is", LOG_IN, asking).await?;
        let user = messages.iter().find_map(|message| match message {
            tokio_postgres::SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
            _ => None,
        });
        Ok(RoleName::observed(user.unwrap_or_default()))
    }

    async fn drop_login(&self, role: &RoleName) -> Result<(), WorldError> {
        match self.drop_role(role).await {
            Err(WorldError::Ask { source, .. }) if source.is(&SqlState::DEPENDENT_OBJECTS_STILL_EXIST) => {}
            done => return done,
        }
        for (database, owner) in self.depends(role).await? {
            let connection = self.address.superuser(&database).await?;
            let (login, owner) = (sql::name(role.as_str()), sql::name(&owner));
            let statements = format!("REASSIGN OWNED BY {login} TO {owner}; DROP OWNED BY {login};");
            let handing = connection.client.batch_execute(&statements);
            asked("hand over what a role owns", ANSWER, handing).await?;
        }
        self.drop_role(role).await
    }
}

async fn asked<T>(
    doing: &'static str,
    within: Duration,
    asking: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<T, WorldError> {
    match tokio::time::timeout(within, asking).await {
        Err(_) => Err(WorldError::Late { doing, within }),
        Ok(answer) => answer.map_err(|source| WorldError::Ask { doing, source: Said(source) }),
    }
}

fn role(row: &Row, maker: &Maker, verifiers: &Verifiers) -> (RoleName, Role) {
    let settings: Option<Vec<String>> = row.get(4);
    let acts_as =
        settings.unwrap_or_default().iter().find_map(|s| s.strip_prefix("role=").map(str::to_owned));
    let marker: Option<Marker> = maker.read(row.get(3));
    // Only of roles that are ours; the superuser's stays where it is.
    let verifier: Option<&str> = row.get(2);
    let verifier = verifier.filter(|_| marker.is_some()).map(|verifier| verifiers.digest(verifier));
    let role = Role { can_log_in: row.get(1), ordinary: row.get(5), verifier, marker, acts_as };
    (RoleName::observed(row.get(0)), role)
}
