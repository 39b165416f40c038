//! HTTP/2, towards clients and towards targets.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, Version};
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::client::conn::http2::SendRequest;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;

use crate::stage::{Consumer, Stage, consumer};
use crate::target::{Target, says};

type Body = http_body_util::combinators::BoxBody<Bytes, Infallible>;

/// A client that speaks HTTP/2 on one connection.
struct Client {
    runtime: Runtime,
    sender: SendRequest<Body>,
}

fn text(text: &'static str) -> Body {
    Full::new(Bytes::from_static(text.as_bytes())).boxed()
}

impl Client {
    fn connect(address: SocketAddr) -> Self {
        let runtime = Runtime::new().unwrap();
        let sender = runtime.block_on(async {
            let stream = TokioIo::new(TcpStream::connect(address).await.unwrap());
            let (sender, connection) =
                hyper::client::conn::http2::handshake(TokioExecutor::new(), stream).await.unwrap();
            tokio::runtime::Handle::current().spawn(async move { drop(connection.await) });
            sender
        });
        Self { runtime, sender }
    }

    fn send(&mut self, request: Request<Body>) -> Response<Bytes> {
        let sending = self.sender.send_request(request);
        self.runtime.block_on(async {
            let (parts, body) = sending.await.unwrap().into_parts();
            Response::from_parts(parts, body.collect().await.unwrap().to_bytes())
        })
    }

    fn get(&mut self, url: &str) -> Response<Bytes> {
        self.send(Request::get(url).body(text("")).unwrap())
    }
}

/// A target that speaks HTTP/2 alone, and says what it was asked.
struct Target2 {
    port: u16,
    asked: Arc<Mutex<Vec<String>>>,
    connections: Arc<Mutex<usize>>,
    _runtime: Runtime,
}

impl Target2 {
    fn new() -> Self {
        let runtime = Runtime::new().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let port = listener.local_addr().unwrap().port();
        let (asked, connections) = <(Arc<Mutex<Vec<String>>>, Arc<Mutex<usize>>)>::default();
        let (notes, count) = (asked.clone(), connections.clone());
        runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                *count.lock().unwrap() += 1;
                let notes = notes.clone();
                let service = hyper::service::service_fn(move |request: Request<Incoming>| {
                    let notes = notes.clone();
                    async move { Ok::<_, Infallible>(echo(&notes, request).await) }
                });
                let http = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                let connection = http.serve_connection(TokioIo::new(stream), service);
                tokio::runtime::Handle::current().spawn(async move { drop(connection.await) });
            }
        });
        Self { port, asked, connections, _runtime: runtime }
    }
}

async fn echo(notes: &Mutex<Vec<String>>, request: Request<Incoming>) -> Response<Body> {
    assert_eq!(request.version(), Version::HTTP_2);
    let (parts, body) = request.into_parts();
    let host = parts.headers.get("x-forwarded-host").unwrap().to_str().unwrap();
    let said = format!("{} {} {host} {:?}", parts.method, parts.uri, parts.headers.get("te"));
    notes.lock().unwrap().push(said);
    let (body, trailers) = {
        let collected = body.collect().await.unwrap();
        let trailers = collected.trailers().cloned();
        (collected.to_bytes(), trailers)
    };
    let mut frames = vec![Ok::<_, Infallible>(Frame::data(body))];
    frames.extend(trailers.map(|trailers| Ok(Frame::trailers(trailers))));
    Response::new(StreamBody::new(futures_util::stream::iter(frames)).boxed())
}

fn h2c(target: &Target2) -> Consumer<'static> {
    Consumer { scheme: "h2c", ..consumer("grpc@cellar", "g.example.org", target.port) }
}

#[test]
fn a_client_may_speak_it_and_the_target_not() {
    let notes = Target::new(|asked, stream| match asked.path() {
        "/echo" => {
            let body = asked.body.clone();
            says(stream, std::str::from_utf8(&body).unwrap())
        }
        _ => says(stream, "notes"),
    });
    let stage = Stage::new();
    stage.serve(&[consumer("notes@cellar", "n.example.org", notes.port)]);
    let mut client = Client::connect(stage.address);
    let request = Request::get("http://n.example.org:8080/x?y")
        .header("cookie", "a=1")
        .header("cookie", "b=2")
        .header("x-forwarded-for", "1.2.3.4");
    let response = client.send(request.body(text("")).unwrap());
    assert_eq!((response.status(), &response.body()[..]), (StatusCode::OK, &b"notes"[..]));
    let asked = notes.asked().remove(0);
    assert_eq!(asked.line, "GET /x?y HTTP/1.1");
    assert_eq!(asked.all("host"), ["n.example.org:8080"]);
    assert_eq!(asked.all("cookie"), ["a=1; b=2"]);
    assert_eq!(asked.all("x-forwarded-for"), ["127.0.0.1"]);
    assert_eq!(asked.all("content-length"), [""; 0]);

    let response = client.send(Request::post("http://n.example.org/echo").body(text("hello")).unwrap());
    assert_eq!(&response.body()[..], b"hello");
    // Where nobody knows how long a body is.
    let frames =
        ["one ", "two"].map(|piece| Ok::<_, Infallible>(Frame::data(Bytes::from_static(piece.as_bytes()))));
    let body = StreamBody::new(futures_util::stream::iter(frames)).boxed();
    let response = client.send(Request::post("http://n.example.org/echo").body(body).unwrap());
    assert_eq!(&response.body()[..], b"one two");
    assert_eq!(notes.asked()[2].all("transfer-encoding"), ["chunked"]);
}

#[test]
fn refusals_are_pages_there_too() {
    let (stage, notes) = (Stage::new(), Target::named("notes"));
    stage.serve(&[consumer("notes@cellar", "n.example.org", notes.port)]);
    let mut client = Client::connect(stage.address);
    let response = client.get("http://x.example.org/");
    assert_eq!(response.status(), StatusCode::MISDIRECTED_REQUEST);
    assert!(std::str::from_utf8(response.body()).unwrap().contains("  n.example.org\n"));
    // Whoever looks at one of the two, and whoever looks at the other.
    let two = Request::get("http://n.example.org/").header("host", "x.example.org").body(text("")).unwrap();
    assert_eq!(client.send(two).status(), StatusCode::BAD_REQUEST);
    let trace = Request::builder().method(Method::TRACE).uri("http://n.example.org/").body(text("")).unwrap();
    assert_eq!(client.send(trace).status(), StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(notes.asked(), []);
    assert_eq!(client.get("http://n.example.org/").status(), StatusCode::OK);
}

#[test]
fn a_target_may_speak_it_and_the_client_not() {
    let (stage, target) = (Stage::with(|config| config.workers = 1), Target2::new());
    stage.serve(&[h2c(&target)]);
    let mut client = stage.client();
    assert_eq!(client.get("g.example.org", "/x?y").status, 200);
    client.send("POST /p HTTP/1.1\r\nHost: g.example.org:1\r\nContent-Length: 5\r\n\r\nhello");
    assert_eq!(client.answer().text(), "hello");
    assert_eq!(
        *target.asked.lock().unwrap(),
        [
            "GET http://g.example.org/x?y g.example.org None",
            "POST http://g.example.org:1/p g.example.org:1 None"
        ]
    );
    assert_eq!(*target.connections.lock().unwrap(), 1);
}

#[test]
fn both_may_speak_it_with_trailers_as_grpc_has_them() {
    let (stage, target) = (Stage::new(), Target2::new());
    stage.serve(&[h2c(&target)]);
    let mut client = Client::connect(stage.address);
    let trailers = [("grpc-status".parse().unwrap(), "0".parse().unwrap())].into_iter().collect();
    let frames =
        [Ok::<_, Infallible>(Frame::data(Bytes::from_static(b"call"))), Ok(Frame::trailers(trailers))];
    let body = StreamBody::new(futures_util::stream::iter(frames)).boxed();
    let request = Request::post("http://g.example.org/call").header("te", "trailers").body(body).unwrap();
    let sending = client.sender.send_request(request);
    client.runtime.block_on(async {
        let collected = sending.await.unwrap().into_body().collect().await.unwrap();
        assert_eq!(collected.trailers().unwrap()["grpc-status"], "0");
        assert_eq!(&collected.to_bytes()[..], b"call");
    });
    assert_eq!(
        *target.asked.lock().unwrap(),
        ["POST http://g.example.org/call g.example.org Some(\"trailers\")"]
    );
}

#[test]
fn many_at_once_share_a_connection() {
    let (stage, target) = (Stage::with(|config| config.workers = 1), Target2::new());
    stage.serve(&[h2c(&target)]);
    let client = Client::connect(stage.address);
    client.runtime.block_on(async {
        let sends = (0..100).map(|n| {
            let mut sender = client.sender.clone();
            async move {
                let request = Request::post(format!("http://g.example.org/{n}")).body(text("x")).unwrap();
                let response = sender.send_request(request).await.unwrap();
                assert_eq!(response.status(), StatusCode::OK);
                response.into_body().collect().await.unwrap();
            }
        });
        futures_util::future::join_all(sends).await;
    });
    assert_eq!(target.asked.lock().unwrap().len(), 100);
    assert!(*target.connections.lock().unwrap() <= 100);
    let before = *target.connections.lock().unwrap();
    assert_eq!(stage.get("g.example.org", "/").status, 200);
    assert_eq!(*target.connections.lock().unwrap(), before, "one that is there is used");
}
