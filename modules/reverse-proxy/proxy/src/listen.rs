//! The sockets that clients connect to.

use std::io;
use std::net::{SocketAddr, TcpListener};

use socket2::{Domain, Protocol, Socket, Type};
use thiserror::Error;

/// How many connections may wait to be taken.
const BACKLOG: i32 = 4096;

/// Why there is no listening.
#[derive(Debug, Error)]
#[error("could not listen on {address}")]
pub struct ListenError {
    /// Where.
    address: SocketAddr,
    /// What the system says.
    #[source]
    source: io::Error,
}

impl ListenError {
    /// Whether somebody else has it.
    pub(crate) fn is_in_use(&self) -> bool {
        self.source.kind() == io::ErrorKind::AddrInUse
    }
}

/// Listens on an address.
///
/// # Errors
/// Where somebody else does, or we may not.
pub(crate) fn bind(address: SocketAddr) -> Result<TcpListener, ListenError> {
    let bound = || {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
        if address.is_ipv6() {
            // `[::]` is everybody, and nobody has to write two.
            socket.set_only_v6(false)?;
        }
        socket.set_reuse_address(true)?;
        socket.bind(&address.into())?;
        socket.listen(BACKLOG)?;
        Ok(socket.into())
    };
    bound().map_err(|source| ListenError { address, source })
}
