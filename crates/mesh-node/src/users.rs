//! Who a service runs as: a name of `/etc/passwd`, as numbers.
//!
//! Reads the two files and nothing else: a static binary has no name service switch, and a service's
//! user is a local one. Start at [`find`].

use std::{
    io,
    path::{Path, PathBuf},
};

/// A user of this machine, with the groups that it is a member of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// The name it was looked up by.
    pub name: String,
    /// Its number.
    pub uid: u32,
    /// Its first group.
    pub gid: u32,
    /// Every group it is a member of, the first one too.
    pub groups: Vec<u32>,
    /// Its home folder.
    pub home: PathBuf,
}

/// Why a user is not known.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nobody of that name.
    #[error("there is no user `{name}` on this machine; make one: useradd --system {name}")]
    Unknown {
        /// The name that was looked up.
        name: String,
    },
    /// The list of users could not be read.
    #[error("could not read {}", path.display())]
    Read {
        /// The list.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// Looks a user up by name.
///
/// # Errors
/// Where nobody has that name, or the lists cannot be read.
pub fn find(name: &str) -> Result<User, Error> {
    let users = read(Path::new("/etc/passwd"))?;
    let groups = read(Path::new("/etc/group"))?;
    find_in(&users, &groups, |user| user.name == name).ok_or_else(|| Error::Unknown { name: name.to_owned() })
}

/// The user of that number, where it has a name.
pub(crate) fn by_number(uid: u32) -> Option<User> {
    let users = read(Path::new("/etc/passwd")).ok()?;
    find_in(&users, "", |user| user.uid == uid)
}

fn read(path: &Path) -> Result<String, Error> {
    // A name in another encoding must not make everybody unknown.
    std::fs::read(path)
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .map_err(|source| Error::Read { path: path.to_owned(), source })
}

fn find_in(users: &str, groups: &str, wanted: impl Fn(&User) -> bool) -> Option<User> {
    let mut user = users.lines().filter_map(user_line).find(wanted)?;
    for line in groups.lines() {
        if let Some((gid, members)) = group_line(line)
            && members.split(',').any(|member| member == user.name)
            && !user.groups.contains(&gid)
        {
            user.groups.push(gid);
        }
    }
    Some(user)
}

/// `name:password:uid:gid:gecos:home:shell`, passwd(5).
fn user_line(line: &str) -> Option<User> {
    let fields: Vec<&str> = line.split(':').collect();
    let [name, _, uid, gid, _, home, ..] = fields.as_slice() else { return None };
    let gid = gid.parse().ok()?;
    Some(User { name: (*name).to_owned(), uid: uid.parse().ok()?, gid, groups: vec![gid], home: home.into() })
}

/// `name:password:gid:member,member`, group(5).
fn group_line(line: &str) -> Option<(u32, &str)> {
    let mut fields = line.split(':');
    let gid = fields.nth(2)?.parse().ok()?;
    Some((gid, fields.next()?))
}

#[cfg(test)]
mod tests;
