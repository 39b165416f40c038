//! Sockets that somebody holds for the proxy: [`hold`] listens, as whoever may, and hands the sockets to the proxy, which
//! may do nothing; [`take`] gets them.
//!
//! Both have the same sockets then. So while the proxy is started anew, or another one beside it, the system goes on taking
//! connections, and whoever comes next finds them waiting. Who is handed them is decided by user, as the system tells it.

use std::ffi::OsString;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use rustix::net::sockopt::socket_peercred;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};
use thiserror::Error;

use crate::listen::{self, ListenError};

/// How many sockets can be handed over.
pub const MOST: usize = 16;

/// How long a port that somebody else holds is waited for: the proxy that has it of the former holder is about to end.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long the holder is waited for.
const HOLDER: Duration = Duration::from_secs(10);

/// Why sockets are not held or handed over.
#[derive(Debug, Error)]
pub enum SocketsError {
    /// Somebody else listens, or we may not.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// Too many for one message.
    #[error("{count} addresses are more than the {MOST} that can be handed over")]
    TooMany {
        /// How many there are.
        count: usize,
    },
    /// The socket over which they are handed over.
    #[error("could not {doing} `{path}`")]
    Path {
        /// What was being done.
        doing: &'static str,
        /// The socket.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: io::Error,
    },
    /// The holder has other ones.
    #[error("whoever holds `{path}` has sockets for {has}, and not for {wanted}")]
    Others {
        /// The socket.
        path: PathBuf,
        /// Of the holder.
        has: String,
        /// Of the one who asks.
        wanted: String,
    },
}

/// Listens on these addresses and hands the sockets to the user of that number, and to nobody else but root and whoever
/// runs this, for ever.
///
/// # Errors
/// Where there is no listening.
pub fn hold(addresses: &[SocketAddr], path: &Path, user: Option<u32>) -> Result<(), SocketsError> {
    if addresses.len() > MOST {
        return Err(SocketsError::TooMany { count: addresses.len() });
    }
    let listeners = bind_all(addresses)?;
    let told = |doing| move |source| SocketsError::Path { doing, path: path.to_owned(), source };
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(told("replace")(error)),
        _ => {}
    }
    let short = Short::of(path).map_err(told("look for the folder of"))?;
    let desk = UnixListener::bind(short.path()).map_err(told("listen on"))?;
    // Whom it is for is looked at at each connection.
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o666)).map_err(told("open"))?;
    let own = rustix::process::geteuid().as_raw();
    let mut handed: Vec<UnixStream> = Vec::new();
    for asking in desk.incoming() {
        let asking = asking.map_err(told("listen on"))?;
        let Ok(who) = socket_peercred(&asking) else { continue };
        let uid = who.uid.as_raw();
        if uid != own && uid != 0 && Some(uid) != user {
            tracing::warn!("user {uid} asks for the sockets, and is not who they are for");
            continue;
        }
        match give(&asking, &listeners) {
            Ok(()) => tracing::info!("handed the sockets to process {}", who.pid.as_raw_nonzero()),
            Err(error) => tracing::warn!("could not hand over the sockets: {error}"),
        }
        // Kept open, so that the other side sees when we are gone.
        handed.retain(is_open);
        handed.push(asking);
    }
    Ok(())
}

/// Gets the sockets for these addresses from whoever holds them there. The second value is readable when the holder has gone.
///
/// # Errors
/// Where nobody holds them, or others.
pub fn take(path: &Path, addresses: &[SocketAddr]) -> Result<(Vec<TcpListener>, UnixStream), SocketsError> {
    let told = |doing| move |source| SocketsError::Path { doing, path: path.to_owned(), source };
    let begun = Instant::now();
    let desk = loop {
        match Short::of(path).and_then(|short| UnixStream::connect(short.path())) {
            Ok(desk) => break desk,
            Err(_) if begun.elapsed() < HOLDER => std::thread::sleep(Duration::from_millis(20)),
            Err(error) => return Err(told("get the sockets from")(error)),
        }
    };
    let listeners = receive(&desk).map_err(told("get the sockets from"))?;
    let has: Vec<SocketAddr> = listeners
        .iter()
        .map(TcpListener::local_addr)
        .collect::<Result<_, _>>()
        .map_err(told("look at the sockets of"))?;
    if has != addresses {
        let list = |addresses: &[SocketAddr]| {
            addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
        };
        return Err(SocketsError::Others { path: path.to_owned(), has: list(&has), wanted: list(addresses) });
    }
    Ok((listeners, desk))
}

/// A path of a socket that is short enough for one, whatever its folder: the system takes 107 bytes.
struct Short {
    folder: OwnedFd,
    name: OsString,
}

impl Short {
    fn of(path: &Path) -> io::Result<Self> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::open(folder, flags, Mode::empty())?;
        Ok(Self { folder, name: path.file_name().unwrap_or_default().to_owned() })
    }

    fn path(&self) -> PathBuf {
        let folder = format!("/proc/self/fd/{}", self.folder.as_raw_fd());
        Path::new(&folder).join(&self.name)
    }
}

fn bind_all(addresses: &[SocketAddr]) -> Result<Vec<TcpListener>, ListenError> {
    let begun = Instant::now();
    let bind = |address: &SocketAddr| loop {
        match listen::bind(*address) {
            Err(error) if error.is_in_use() && begun.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(50));
            }
            bound => return bound,
        }
    };
    addresses.iter().map(bind).collect()
}

fn give(to: &UnixStream, listeners: &[TcpListener]) -> io::Result<()> {
    let fds: Vec<BorrowedFd<'_>> = listeners.iter().map(AsFd::as_fd).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut message = SendAncillaryBuffer::new(&mut space);
    message.push(SendAncillaryMessage::ScmRights(&fds));
    sendmsg(to, &[IoSlice::new(b"s")], &mut message, SendFlags::NOSIGNAL)?;
    Ok(())
}

fn receive(from: &UnixStream) -> io::Result<Vec<TcpListener>> {
    from.set_read_timeout(Some(HOLDER))?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut message = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let received = recvmsg(from, &mut [IoSliceMut::new(&mut byte)], &mut message, RecvFlags::CMSG_CLOEXEC)?;
    if received.bytes == 0 {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it holds them for another user"));
    }
    let fds = message.drain().filter_map(|part| match part {
        RecvAncillaryMessage::ScmRights(fds) => Some(fds.collect::<Vec<OwnedFd>>()),
        _ => None,
    });
    Ok(fds.flatten().map(TcpListener::from).collect())
}

/// Whether the other side is there still: it never sends anything, so there is an end to read or nothing.
fn is_open(stream: &UnixStream) -> bool {
    let mut byte = [0];
    let looked = rustix::net::recv(stream, &mut byte, RecvFlags::DONTWAIT | RecvFlags::PEEK);
    looked == Err(rustix::io::Errno::AGAIN)
}
