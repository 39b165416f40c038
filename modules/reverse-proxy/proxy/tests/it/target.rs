//! A target of a few lines: it reads requests as a lenient server would, notes them, and answers what it is told to.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// A request, as the target got it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) line: String,
    pub(crate) fields: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Asked {
    /// The values of a field.
    pub(crate) fn all(&self, name: &str) -> Vec<&str> {
        self.fields.iter().filter(|(known, _)| known == name).map(|(_, value)| value.as_str()).collect()
    }

    pub(crate) fn path(&self) -> &str {
        self.line.split(' ').nth(1).unwrap()
    }
}

/// The connection that a request came over: what comes after it can be read, and an answer be written.
pub(crate) struct Link {
    reader: BufReader<TcpStream>,
    stream: TcpStream,
}

impl Link {
    /// The next line, without its end.
    pub(crate) fn line(&mut self) -> Option<String> {
        line(&mut self.reader)
    }
}

impl Read for Link {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        self.reader.read(bytes)
    }
}

impl Write for Link {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.stream.flush()
    }
}

/// What a target does with a request: it writes what it likes, and says whether the connection goes on.
pub(crate) type Does = dyn Fn(&Asked, &mut Link) -> bool + Send + Sync;

/// A target that runs until it is dropped.
pub(crate) struct Target {
    pub(crate) port: u16,
    asked: Arc<Mutex<Vec<Asked>>>,
    streams: Arc<Mutex<Vec<TcpStream>>>,
    stopped: Arc<AtomicBool>,
    taking: Option<JoinHandle<()>>,
}

impl Target {
    /// One that answers every request with its name.
    pub(crate) fn named(name: &'static str) -> Self {
        Self::new(move |_, stream| says(stream, name))
    }

    /// One that does as told.
    pub(crate) fn new(does: impl Fn(&Asked, &mut Link) -> bool + Send + Sync + 'static) -> Self {
        Self::at(0, does)
    }

    /// One at a port.
    pub(crate) fn at(port: u16, does: impl Fn(&Asked, &mut Link) -> bool + Send + Sync + 'static) -> Self {
        let listener = crate::until("the port is free", || TcpListener::bind(("127.0.0.1", port)).ok());
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let streams = Arc::new(Mutex::new(Vec::new()));
        let stopped = Arc::new(AtomicBool::new(false));
        let (notes, open, stop) = (asked.clone(), streams.clone(), stopped.clone());
        let does: Arc<Does> = Arc::new(does);
        let taking = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stop.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                open.lock().unwrap().push(stream.try_clone().unwrap());
                let (notes, does) = (notes.clone(), does.clone());
                std::thread::spawn(move || serve(stream, &notes, &*does));
            }
        });
        Self { port, asked, streams, stopped, taking: Some(taking) }
    }

    /// What it was asked so far.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// How many connections it was made, those that are gone included.
    pub(crate) fn connections(&self) -> usize {
        self.streams.lock().unwrap().len()
    }

    /// Ends like a process that is killed: its port refuses, and its connections end.
    pub(crate) fn kill(&mut self) {
        self.stopped.store(true, Ordering::SeqCst);
        let Some(taking) = self.taking.take() else { return };
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        taking.join().unwrap();
        for stream in self.streams.lock().unwrap().iter() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Answers with a text.
pub(crate) fn says(stream: &mut Link, text: &str) -> bool {
    let length = text.len();
    write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{text}").is_ok()
}

fn serve(stream: TcpStream, notes: &Mutex<Vec<Asked>>, does: &Does) {
    stream.set_nodelay(true).unwrap();
    let mut link = Link { reader: BufReader::new(stream.try_clone().unwrap()), stream };
    while let Some(asked) = read(&mut link.reader) {
        notes.lock().unwrap().push(asked.clone());
        if !does(&asked, &mut link) {
            break;
        }
    }
    let _ = link.stream.shutdown(Shutdown::Both);
}

/// Reads a request and its body.
fn read(reader: &mut BufReader<TcpStream>) -> Option<Asked> {
    let line = self::line(reader)?;
    let mut fields = Vec::new();
    loop {
        let line = self::line(reader)?;
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':')?;
        fields.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
    }
    let mut asked = Asked { line, fields, body: Vec::new() };
    // Whether the body is read here is the test's to say.
    if asked.path().starts_with("/unread") {
        return Some(asked);
    }
    if asked.all("transfer-encoding").iter().any(|value| value.contains("chunked")) {
        loop {
            let size = usize::from_str_radix(self::line(reader)?.split(';').next()?, 16).ok()?;
            let mut chunk = vec![0; size];
            reader.read_exact(&mut chunk).ok()?;
            asked.body.extend(chunk);
            if size == 0 {
                loop {
                    let line = self::line(reader)?;
                    if line.is_empty() {
                        break;
                    }
                    let (name, value) = line.split_once(':')?;
                    asked.fields.push((format!("trailer {name}"), value.trim().to_owned()));
                }
                break;
            }
            self::line(reader)?;
        }
    } else if let Some(length) = asked.all("content-length").first() {
        asked.body.resize(length.parse().ok()?, 0);
        reader.read_exact(&mut asked.body).ok()?;
    }
    Some(asked)
}

fn line(reader: &mut BufReader<TcpStream>) -> Option<String> {
    let mut line = Vec::new();
    reader.read_until(b'\n', &mut line).ok()?;
    let line = line.strip_suffix(b"\n")?;
    Some(String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line)).into_owned())
}
