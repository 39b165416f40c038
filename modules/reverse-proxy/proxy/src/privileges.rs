//! What the proxy may do once it listens: read its consumers file, write its answers, and nothing else of importance.

use nix::unistd::{Gid, Uid, User, setgid, setgroups, setuid};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use thiserror::Error;

/// Why privileges were not given up.
#[derive(Debug, Error)]
pub enum PrivilegesError {
    /// Nobody of that name.
    #[error("there is no user `{name}` on this machine; make one: useradd --system {name}")]
    Unknown {
        /// Who was looked for.
        name: String,
    },
    /// The list of users, or the step itself.
    #[error("could not {doing}")]
    System {
        /// What was being done.
        doing: &'static str,
        /// What the system says.
        #[source]
        source: nix::Error,
    },
}

/// The number of a user.
///
/// # Errors
/// Where nobody has that name.
pub fn user(name: &str) -> Result<User, PrivilegesError> {
    let found = User::from_name(name);
    let found = found.map_err(|source| PrivilegesError::System { doing: "look up the user", source })?;
    found.ok_or_else(|| PrivilegesError::Unknown { name: name.to_owned() })
}

/// Becomes that user for good, where we are root; where we are not, there is nothing to give up. Called before there is a
/// second thread.
///
/// # Errors
/// Where the system does not do it: then the program must not go on.
pub fn become_user(name: &str) -> Result<(), PrivilegesError> {
    if !Uid::effective().is_root() {
        return Ok(());
    }
    let user = user(name)?;
    let told = |doing| move |source| PrivilegesError::System { doing, source };
    setgroups(&[user.gid]).map_err(told("leave the groups of root"))?;
    setgid(user.gid).map_err(told("leave the group of root"))?;
    setuid(user.uid).map_err(told("become another user than root"))?;
    let is_back = setuid(Uid::from_raw(0)).is_ok() || setgid(Gid::from_raw(0)).is_ok();
    if is_back && !user.uid.is_root() {
        let source = nix::Error::EPERM;
        return Err(PrivilegesError::System { doing: "stay another user than root", source });
    }
    Ok(())
}

/// No program that is started from here on may more than this one, and nobody of the same user may look into it or find its
/// memory in a core dump: it will hold keys.
///
/// # Errors
/// Where the system does not do it.
pub fn lock_down() -> Result<(), PrivilegesError> {
    let told = |doing| move |source| PrivilegesError::System { doing, source };
    nix::sys::prctl::set_no_new_privs().map_err(told("give up new privileges"))?;
    nix::sys::prctl::set_dumpable(false).map_err(told("keep others from looking into the memory"))
}

/// Has as many files open as the system lets us, and returns how many that are.
#[must_use]
pub fn open_many_files() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.unwrap_or(1 << 20);
    let raised = Rlimit { current: Some(most), maximum: limit.maximum };
    match setrlimit(Resource::Nofile, raised) {
        Ok(()) => most,
        Err(_) => limit.current.unwrap_or(1024),
    }
}
