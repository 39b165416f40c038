//! Which nodes of a description are this machine.

use std::net::{ToSocketAddrs, UdpSocket};

/// Whether an address is one of this machine's: whether a socket can be bound to it. No packet is sent.
pub(crate) fn is_here(address: &str) -> bool {
    let Ok(mut found) = (address, 0).to_socket_addrs() else { return false };
    found.any(|address| UdpSocket::bind(address).is_ok())
}

#[cfg(test)]
mod tests {
    //! Loopback is here; an address of a documentation network is nowhere.

    use super::is_here;

    #[test]
    fn an_address_is_here_or_it_is_not() {
        assert!(is_here("127.0.0.1"));
        assert!(is_here("localhost"));
        assert!(!is_here("192.0.2.1"));
        assert!(!is_here("no such host"));
    }
}
