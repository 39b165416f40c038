//! One request: found in the table, sent to a target, answered.
//!
//! It is sent to another target only where the first cannot have begun to work on it, or where doing it twice is the same as
//! doing it once and there is no body that is gone already.

use std::sync::Arc;

use http::header::{CONNECTION, HOST, UPGRADE};
use http::request::Parts;
use http::{HeaderValue, Method, Request, Response, StatusCode, Uri, Version};
use hyper::body::Incoming;
use hyper::upgrade::OnUpgrade;
use mesh_routes::{Authority, Scheme};

use crate::body::Body;
use crate::conn::Conn;
use crate::connect::connect;
use crate::failure::{Failure, From};
use crate::fields::{self, Said};
use crate::gate::{Upgrade, head};
use crate::route::Route;
use crate::spare::Spare;
use crate::table::{Missing, Table};
use crate::target::{Reached, Target};
use crate::ticket::Ticket;
use crate::tunnel;
use crate::upload::{Fate, Upload};
use crate::worker::Worker;

/// How often a request is sent at most, whatever comes back.
const MOST_TRIES: usize = 8;

/// Answers a request.
pub(crate) async fn forward(
    worker: Arc<Worker>,
    conn: Arc<Conn>,
    request: Request<Incoming>,
) -> Response<Body> {
    let mut ticket = Box::new(Ticket::new(worker.clone(), conn.clone()));
    let id = worker.id();
    let version = request.version();
    let table = worker.shared.table.load();
    let mut response = match answer(&mut ticket, &table, &id, request).await {
        Ok(Answer::Passing(response)) => response,
        Ok(Answer::Tunnel(response, both)) => {
            worker.tasks.spawn(tunnel::run(both, ticket));
            return response;
        }
        Err(failure) => {
            let node = worker.shared.node.load();
            failure.page(&From { node: &node, id: &id, table: &table, disclose: worker.shared.disclose })
        }
    };
    if version < Version::HTTP_2 && worker.drain.is_stopping() {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    if version == Version::HTTP_2 {
        response.headers_mut().remove(CONNECTION);
    }
    response.map(|body| body.carrying(ticket))
}

/// What a request comes to.
enum Answer {
    Passing(Response<Body>),
    /// From here on the two speak something else.
    Tunnel(Response<Body>, tunnel::Both),
}

async fn answer(
    ticket: &mut Ticket,
    table: &Table,
    id: &HeaderValue,
    mut request: Request<Incoming>,
) -> Result<Answer, Failure> {
    let conn = ticket.conn().clone();
    let wish = Wish::of(&conn, &mut request);
    if let Some(refusal) = conn.refused()
        && ticket.worker().shared.mark.is_on(request.headers())
    {
        return Err(Failure::Refused(refusal));
    }
    if matches!(*request.method(), Method::CONNECT | Method::TRACE) {
        return Err(Failure::Method);
    }
    let authority = authority(&request)?;
    let route = route(table, &authority, request.uri())?;
    ticket.goes_by(route.clone());
    let (parts, incoming) = request.into_parts();
    let said =
        Said { conn: &conn, authority: &authority, id, upgrade: wish.as_ref().map(|wish| &wish.protocol) };
    let (upload, fate) = Upload::of(incoming, ticket.worker().shared.limits.stall);
    let sending = Sending { route: &route, parts: &parts, said: &said, fate };
    let mut response = sending.send(ticket, upload).await?;
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        let Some(wish) = wish else { return Err(Failure::Unasked(route)) };
        return Ok(wish.granted(response));
    }
    fields::for_client(response.headers_mut());
    *response.version_mut() = Version::HTTP_11;
    Ok(Answer::Passing(response.map(Body::targets)))
}

/// The one host that a request is for, as it was written.
fn authority(request: &Request<Incoming>) -> Result<HeaderValue, Failure> {
    let mut hosts = request.headers().get_all(HOST).iter();
    let (host, more) = (hosts.next(), hosts.next());
    if more.is_some() {
        return Err(Failure::Authority("it has more than one Host"));
    }
    let Some(authority) = request.uri().authority() else {
        return host.cloned().ok_or(Failure::Authority("it has no Host"));
    };
    let text = authority.as_str();
    // Whoever looks at the one and whoever looks at the other would see two requests.
    if host.is_some_and(|host| !host.as_bytes().eq_ignore_ascii_case(text.as_bytes())) {
        return Err(Failure::Authority("its Host is another one than that of its target"));
    }
    HeaderValue::from_str(text).map_err(|_| Failure::Authority("it has a character that no host has"))
}

fn route(table: &Table, authority: &HeaderValue, uri: &Uri) -> Result<Arc<Route>, Failure> {
    let text = authority.to_str().map_err(|_| Failure::Authority("it is no plain text"))?;
    let read =
        Authority::parse(text).map_err(|_| Failure::Authority("it is not a host and perhaps a port"))?;
    table.find(&read.host, uri.path()).cloned().map_err(|missing| match missing {
        Missing::Table => Failure::Table,
        Missing::Name => Failure::Name(read.host.into_owned()),
        Missing::Path => Failure::Path(read.host.into_owned()),
        Missing::Ambiguous => Failure::Ambiguous,
    })
}

/// A request on its way to one of its route's targets.
struct Sending<'r> {
    route: &'r Arc<Route>,
    parts: &'r Parts,
    said: &'r Said<'r>,
    fate: Fate,
}

/// What became of sending it to one target.
enum Sent {
    Answered(Response<Incoming>),
    /// Not, and it may be tried elsewhere, with what is left of its body.
    Again(Upload, Failure),
    Failed(Failure),
}

impl Sending<'_> {
    async fn send(&self, ticket: &mut Ticket, mut upload: Upload) -> Result<Response<Incoming>, Failure> {
        let worker = ticket.worker().clone();
        let mut tried = Vec::new();
        let mut last = None;
        for _ in 0..MOST_TRIES {
            let Some(at) = self.route.pick(&tried) else { break };
            let target = &self.route.targets[at];
            ticket.goes_to(target.clone());
            let (spare, is_new) = match target.take_spare(worker.index) {
                Some(spare) => (spare, false),
                None => match self.connect(&worker, target).await {
                    Ok(spare) => (spare, true),
                    Err(failure) => {
                        tried.push(at);
                        last = Some(failure);
                        continue;
                    }
                },
            };
            match self.send_over(spare, target, upload, ticket).await {
                Sent::Answered(response) => return Ok(response),
                Sent::Failed(failure) => return Err(failure),
                Sent::Again(left, failure) => {
                    // One that waited may have been closed by the target meanwhile; that says nothing of the target.
                    if is_new {
                        tried.push(at);
                    }
                    upload = left;
                    last = Some(failure);
                }
            }
        }
        Err(last.unwrap_or_else(|| Failure::BrokeOff(self.route.clone())))
    }

    async fn connect(&self, worker: &Arc<Worker>, target: &Target) -> Result<Spare, Failure> {
        match connect(worker, target).await {
            Ok(spare) => {
                if target.reached(Reached::Yes) {
                    tracing::info!("{}: {} is up", self.route, target.spec());
                }
                Ok(spare)
            }
            Err(unreached) => {
                if target.reached(Reached::No) {
                    tracing::warn!("{}: {} is down: {}", self.route, target.spec(), unreached.text());
                }
                Err(Failure::Unreachable(self.route.clone(), unreached))
            }
        }
    }

    async fn send_over(
        &self,
        mut spare: Spare,
        target: &Target,
        upload: Upload,
        ticket: &mut Ticket,
    ) -> Sent {
        let limit = ticket.worker().shared.limits.answer;
        let is_bare = upload.is_empty();
        let may_repeat = is_bare && self.parts.method.is_idempotent();
        let sending = spare.send(self.request(upload, target));
        let sent = tokio::select! {
            biased;
            sent = tokio::time::timeout(limit, sending) => sent,
            // Its machine may be gone without a word, and then there never is one.
            () = target.went_down(), if may_repeat && self.route.targets.len() > 1 => {
                return Sent::Again(Upload::Empty, Failure::BrokeOff(self.route.clone()));
            }
        };
        match sent {
            Ok(Ok(response)) => {
                // What a target makes of a body that it did not expect is not to be taken for its next answer.
                if is_bare || has_body(&self.parts.method) {
                    ticket.comes_over(spare);
                }
                Sent::Answered(response)
            }
            Ok(Err(mut error)) => match (error.take_message(), self.fate.broken()) {
                (_, Some(broken)) => Sent::Failed(Failure::Body(broken)),
                (Some(unsent), None) => {
                    Sent::Again(unsent.into_body(), Failure::BrokeOff(self.route.clone()))
                }
                (None, None) if may_repeat => {
                    Sent::Again(Upload::Empty, Failure::BrokeOff(self.route.clone()))
                }
                (None, None) => Sent::Failed(Failure::BrokeOff(self.route.clone())),
            },
            Err(_) => Sent::Failed(Failure::Late(self.route.clone(), limit)),
        }
    }

    /// The request as the target gets it.
    fn request(&self, upload: Upload, target: &Target) -> Request<Upload> {
        let mut request = Request::new(upload);
        *request.method_mut() = self.parts.method.clone();
        *request.uri_mut() = origin(&self.parts.uri);
        *request.headers_mut() = fields::for_target(&self.parts.headers, self.parts.version, self.said);
        if target.spec().scheme == Scheme::H2c {
            self.as_http2(&mut request);
        }
        request
    }

    /// There the host is part of the target, and nothing else can be asked to be spoken.
    fn as_http2(&self, request: &mut Request<Upload>) {
        *request.version_mut() = Version::HTTP_2;
        let mut parts = std::mem::take(request.uri_mut()).into_parts();
        parts.scheme = Some(http::uri::Scheme::HTTP);
        parts.authority = http::uri::Authority::try_from(self.said.authority.as_bytes()).ok();
        if parts.path_and_query.as_ref().is_none_or(|path| !path.as_str().starts_with('/')) {
            parts.path_and_query = Some(http::uri::PathAndQuery::from_static("/"));
        }
        *request.uri_mut() = Uri::from_parts(parts).unwrap_or_default();
        for name in [HOST, CONNECTION, UPGRADE] {
            request.headers_mut().remove(name);
        }
    }
}

/// Whether a target expects a body.
fn has_body(method: &Method) -> bool {
    !matches!(*method, Method::GET | Method::HEAD | Method::DELETE | Method::OPTIONS)
}

/// The target without its host.
fn origin(uri: &Uri) -> Uri {
    if uri.authority().is_none() {
        return uri.clone();
    }
    uri.path_and_query().map_or_else(|| Uri::from_static("/"), |path| path.clone().into())
}

/// A client's wish to speak another protocol; unless it is granted, it is refused when this is dropped.
struct Wish<'c> {
    conn: &'c Conn,
    protocol: HeaderValue,
    client: Option<OnUpgrade>,
}

impl<'c> Wish<'c> {
    /// Exactly where the gate waits for a decision.
    fn of(conn: &'c Conn, request: &mut Request<Incoming>) -> Option<Self> {
        let fields = request.headers();
        let mut protocols = fields.get_all(UPGRADE).iter();
        let protocol = protocols.next()?.clone();
        let is_one = protocols.next().is_none();
        let names = |value: &HeaderValue| head::names_upgrade(value.as_bytes());
        let is_meant = fields.get_all(CONNECTION).iter().any(names);
        let is_bare = http_body::Body::is_end_stream(request.body());
        let is_it = request.version() == Version::HTTP_11
            && is_one
            && is_meant
            && is_bare
            && head::is_granted(protocol.as_bytes());
        is_it.then(|| Self { conn, protocol, client: Some(hyper::upgrade::on(request)) })
    }

    fn granted(mut self, mut response: Response<Incoming>) -> Answer {
        let target = hyper::upgrade::on(&mut response);
        let client = self.client.take().expect("it is granted once");
        self.conn.decide(Upgrade::Granted);
        let protocol = response.headers().get(UPGRADE).unwrap_or(&self.protocol).clone();
        let mut told = response.map(|_| Body::empty());
        fields::for_client(told.headers_mut());
        told.headers_mut().insert(CONNECTION, HeaderValue::from_static("upgrade"));
        told.headers_mut().insert(UPGRADE, protocol);
        Answer::Tunnel(told, tunnel::Both { client, target })
    }
}

impl Drop for Wish<'_> {
    fn drop(&mut self) {
        if self.client.is_some() {
            self.conn.decide(Upgrade::Refused);
        }
    }
}
