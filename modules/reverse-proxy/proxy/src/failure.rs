//! Why a request is not answered by a target, and the page that says so.
//!
//! Plain text: what happened, what the way out is where there is one, which node answered, and the request's id, by which it
//! is found in the logs. It never tells where a target is.

use std::fmt::Write;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use http::header::{ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Response, StatusCode};
use mesh_routes::HostName;

use crate::body::Body;
use crate::fields::X_REQUEST_ID;
use crate::gate::Refusal;
use crate::route::Route;
use crate::table::Table;
use crate::upload::Broken;

/// How many names a page lists at most.
const MOST_NAMES: usize = 200;

/// Whether whoever asks for a name that is not served is told which are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disclose {
    /// They are listed.
    Names,
    /// Only that it is not.
    Nothing,
}

/// Why a request is not answered by a target.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It cannot be read in one way.
    Refused(Refusal),
    /// `CONNECT` or `TRACE`.
    Method,
    /// Its host is none, or it names two.
    Authority(&'static str),
    /// It is not known yet what is served.
    Table,
    /// The name is not served.
    Name(String),
    /// The name is, and not this path.
    Path(String),
    /// The path may be one of two routes'.
    Ambiguous,
    /// The client's body did not come.
    Body(Broken),
    /// No target could be reached.
    Unreachable(Arc<Route>, Unreached),
    /// The target went away before it answered.
    BrokeOff(Arc<Route>),
    /// The target did not answer in time.
    Late(Arc<Route>, Duration),
    /// The target answered with what was not asked for.
    Unasked(Arc<Route>),
}

/// Why a target could not be reached.
#[derive(Debug)]
pub(crate) enum Unreached {
    Refused(io::Error),
    Silent(Duration),
    Speaks,
}

/// Where a page comes from.
pub(crate) struct From<'r> {
    pub(crate) node: &'r str,
    pub(crate) id: &'r HeaderValue,
    pub(crate) table: &'r Table,
    pub(crate) disclose: Disclose,
}

impl Failure {
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::Refused(refusal) => refusal.status(),
            Self::Method => StatusCode::METHOD_NOT_ALLOWED,
            Self::Authority(_) | Self::Ambiguous | Self::Body(Broken::Unreadable) => StatusCode::BAD_REQUEST,
            Self::Table => StatusCode::SERVICE_UNAVAILABLE,
            Self::Name(_) => StatusCode::MISDIRECTED_REQUEST,
            Self::Path(_) => StatusCode::NOT_FOUND,
            Self::Body(Broken::TooSlow) => StatusCode::REQUEST_TIMEOUT,
            Self::Unreachable(..) | Self::BrokeOff(_) | Self::Unasked(_) => StatusCode::BAD_GATEWAY,
            Self::Late(..) => StatusCode::GATEWAY_TIMEOUT,
        }
    }

    /// The page that says so.
    pub(crate) fn page(&self, from: &From<'_>) -> Response<Body> {
        let status = self.status();
        let mut text = format!("{} {}\n\n", status.as_u16(), status.canonical_reason().unwrap_or_default());
        self.say(&mut text, from);
        let id = from.id.to_str().unwrap_or_default();
        let by = if from.node.is_empty() { String::new() } else { format!("node {}, ", from.node) };
        writeln!(text, "\n{by}request {id}").expect("a text can be written to");
        let mut response = Response::new(Body::text(text));
        *response.status_mut() = status;
        let fields = response.headers_mut();
        fields.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        fields.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        fields.insert(X_REQUEST_ID, from.id.clone());
        match self {
            Self::Method => drop(
                fields
                    .insert(ALLOW, HeaderValue::from_static("GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS")),
            ),
            Self::Unreachable(..) => drop(fields.insert(RETRY_AFTER, HeaderValue::from_static("2"))),
            Self::Refused(_) | Self::Body(_) => {
                drop(fields.insert(CONNECTION, HeaderValue::from_static("close")))
            }
            _ => {}
        }
        response
    }

    fn say(&self, text: &mut String, from: &From<'_>) {
        let said = match self {
            Self::Refused(refusal) => writeln!(text, "The request is not read: {refusal}."),
            Self::Method => writeln!(text, "This method is not passed on."),
            Self::Authority(why) => writeln!(text, "The request's host cannot be known: {why}."),
            Self::Table => writeln!(text, "It is not known here yet which names are served."),
            Self::Name(host) => {
                return not_served(text, host, from);
            }
            Self::Path(host) => {
                return not_covered(text, host, from);
            }
            Self::Ambiguous => writeln!(
                text,
                "The path can be read in two ways: it has `.`, `..`, an escaped or a doubled separator."
            ),
            Self::Body(broken) => writeln!(text, "The request is given up: {broken}."),
            Self::Unreachable(route, why) => {
                writeln!(text, "The target of `{route}` cannot be reached: {}.", why.text())
            }
            Self::BrokeOff(route) => {
                writeln!(text, "The target of `{route}` broke off before it answered.")
            }
            Self::Late(route, limit) => {
                writeln!(text, "The target of `{route}` did not answer within {} s.", limit.as_secs())
            }
            Self::Unasked(route) => {
                writeln!(text, "The target of `{route}` answered in another protocol than was asked for.")
            }
        };
        said.expect("a text can be written to");
    }
}

impl Unreached {
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Refused(error) => match error.kind() {
                io::ErrorKind::ConnectionRefused => "it refuses connections".to_owned(),
                io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => {
                    "there is no way to its machine".to_owned()
                }
                kind => kind.to_string(),
            },
            Self::Silent(limit) => format!("no connection within {} s", limit.as_secs_f32()),
            Self::Speaks => "it does not speak the protocol that its route says".to_owned(),
        }
    }
}

fn not_served(text: &mut String, host: &str, from: &From<'_>) {
    let mut line = |said: String| {
        text.push_str(&said);
        text.push('\n');
    };
    line(format!("`{host}` is not served here."));
    if from.disclose == Disclose::Nothing {
        return;
    }
    let (names, all) = (from.table.names(MOST_NAMES), from.table.len());
    if names.is_empty() {
        return line("Nothing is.".to_owned());
    }
    line("These names are:\n".to_owned());
    names.iter().for_each(|name: &&HostName| line(format!("  {name}")));
    if all > names.len() {
        line(format!("  and {} more", all - names.len()));
    }
}

fn not_covered(text: &mut String, host: &str, from: &From<'_>) {
    let mut line = |said: String| {
        text.push_str(&said);
        text.push('\n');
    };
    line(format!("`{host}` is served here, and not this path of it."));
    if from.disclose == Disclose::Names {
        line("These paths are:\n".to_owned());
        from.table.site(host).iter().for_each(|route| line(format!("  {}", route.path)));
    }
}
