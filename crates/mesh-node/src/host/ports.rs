//! Who listens on which port of this machine: for placing a port, and for saying why a service could not have its own.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

use crate::{processes, users};

/// Who holds a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// Where it listens.
    pub address: IpAddr,
    /// Whose it is.
    pub uid: u32,
    /// Which process, where this program may look.
    pub process: Option<HolderProcess>,
}

/// The process that holds a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HolderProcess {
    /// Its number.
    pub pid: i32,
    /// Its program's name.
    pub program: String,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.process {
            Some(process) => write!(f, "`{}` (pid {})", process.program, process.pid),
            None => match users::by_number(self.uid) {
                Some(user) => write!(f, "a process of user `{}`", user.name),
                None => write!(f, "a process of user {}", self.uid),
            },
        }
    }
}

/// Every TCP port of this machine that somebody listens on; one holder each, where several share one.
pub fn held() -> BTreeMap<u16, Holder> {
    let sockets = listening();
    let wanted = sockets.iter().map(|socket| socket.inode).collect();
    let processes = holders(&wanted);
    let holder = |socket: &Socket| Holder {
        address: socket.address,
        uid: socket.uid,
        process: processes.get(&socket.inode).cloned(),
    };
    sockets.iter().map(|socket| (socket.port, holder(socket))).collect()
}

/// Who holds one of `ports` and does not descend from this program, in words; `None` where nobody does.
pub(super) fn outsider(ports: &[(String, u16)]) -> Option<String> {
    let sockets: Vec<Socket> =
        listening().into_iter().filter(|socket| ports.iter().any(|(_, port)| *port == socket.port)).collect();
    let processes = holders(&sockets.iter().map(|socket| socket.inode).collect());
    let own = i32::try_from(std::process::id()).ok()?;
    let ours = processes::descendants(&processes::all(), own);
    for socket in sockets {
        let process = processes.get(&socket.inode).cloned();
        let is_ours = process.as_ref().is_some_and(|holder| ours.iter().any(|one| one.pid == holder.pid));
        let Some((name, _)) = ports.iter().find(|(_, port)| *port == socket.port) else { continue };
        if !is_ours {
            let address = socket.address;
            let holder = Holder { address, uid: socket.uid, process };
            let port = socket.port;
            return Some(format!(
                "port {port} (`{name}`) is held by {holder}, which is not the mesh's, on {address}"
            ));
        }
    }
    None
}

#[derive(Debug, PartialEq, Eq)]
struct Socket {
    address: IpAddr,
    port: u16,
    uid: u32,
    inode: u64,
}

fn listening() -> Vec<Socket> {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    let tables = [read("/proc/net/tcp"), read("/proc/net/tcp6")];
    tables.iter().flat_map(|table| table.lines()).filter_map(parse).collect()
}

/// proc(5): `sl local_address rem_address st tx:rx tr:when retrnsmt uid timeout inode`; 0A is LISTEN.
fn parse(line: &str) -> Option<Socket> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let (address, port) = fields.get(1)?.split_once(':')?;
    if *fields.get(3)? != "0A" {
        return None;
    }
    Some(Socket {
        address: parse_address(address)?,
        port: u16::from_str_radix(port, 16).ok()?,
        uid: fields.get(7)?.parse().ok()?,
        inode: fields.get(9)?.parse().ok()?,
    })
}

/// Each 32 bits as this machine has them in memory.
fn parse_address(text: &str) -> Option<IpAddr> {
    let mut bytes = Vec::with_capacity(16);
    for word in text.as_bytes().chunks(8) {
        let word = u32::from_str_radix(std::str::from_utf8(word).ok()?, 16).ok()?;
        bytes.extend_from_slice(&word.to_ne_bytes());
    }
    match bytes.len() {
        4 => Some(Ipv4Addr::from(<[u8; 4]>::try_from(bytes).ok()?).into()),
        16 => Some(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?).to_canonical()),
        _ => None,
    }
}

/// The processes that have one of these sockets open, as far as this program may look.
fn holders(wanted: &BTreeSet<u64>) -> BTreeMap<u64, HolderProcess> {
    let mut found = BTreeMap::new();
    if wanted.is_empty() {
        return found;
    }
    for process in processes::all() {
        let Ok(open) = std::fs::read_dir(format!("/proc/{}/fd", process.pid)) else { continue };
        for file in open.flatten() {
            let Some(inode) = socket_of(&file.path()).filter(|inode| wanted.contains(inode)) else {
                continue;
            };
            // The first is kept: the parent of those that inherited it has, as a rule, the lowest number.
            found
                .entry(inode)
                .or_insert_with(|| HolderProcess { pid: process.pid, program: name(process.pid) });
        }
    }
    found
}

fn socket_of(file: &std::path::Path) -> Option<u64> {
    let target = std::fs::read_link(file).ok()?;
    target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}

fn name(pid: i32) -> String {
    std::fs::read(format!("/proc/{pid}/comm"))
        .map_or_else(|_| "?".to_owned(), |name| String::from_utf8_lossy(&name).trim().to_owned())
}

#[cfg(test)]
mod tests {
    //! Lines of the kernel's tables, and a port of our own.

    use super::*;

    #[test]
    fn a_listening_line_is_read_and_another_is_not() {
        let line = "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000   101        0 4242 1";
        let socket = parse(line).unwrap();
        assert_eq!((socket.port, socket.uid, socket.inode), (8080, 101, 4242));
        assert_eq!(socket.address, IpAddr::from([127, 0, 0, 1]));
        assert_eq!(parse(&line.replace(" 0A ", " 01 ")), None);
        assert_eq!(parse("  sl  local_address rem_address   st"), None);
    }

    #[test]
    fn a_port_that_this_test_holds_is_told_with_its_program() {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let holder = held().remove(&port).unwrap();
        assert_eq!(holder.process.unwrap().pid, i32::try_from(std::process::id()).unwrap());
        let said = outsider(&[("http".into(), port)]).unwrap();
        assert!(said.contains(&format!("port {port} (`http`) is held by `")), "{said}");
    }
}
