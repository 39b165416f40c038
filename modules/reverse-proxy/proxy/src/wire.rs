//! What is asked of TCP: no waiting to fill a packet, and to find out that the other side is gone.

use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::net::TcpStream;

/// Sets what every connection has. What the system does not know of it works without.
pub(crate) fn tune(stream: &TcpStream) {
    let _ = stream.set_nodelay(true);
    let keepalive = TcpKeepalive::new()
        .with_time(Duration::from_secs(30))
        .with_interval(Duration::from_secs(10))
        .with_retries(3);
    let _ = SockRef::from(stream).set_tcp_keepalive(&keepalive);
}
