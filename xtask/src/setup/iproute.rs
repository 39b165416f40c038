//! Debian's iproute2: `ip` makes the hosts that tests and `cargo xtask demo hosts` run meshes on.
//!
//! Only as root is there anything to make. Elsewhere it is not asked for: the tests that want hosts say what they did not try.

use std::path::Path;

pub(super) const PACKAGE: &str = "iproute2";
pub(super) const WHY: &str = "tests of several machines make them as network namespaces";

/// Whether the program is where administrators keep theirs.
pub(super) fn is_there() -> bool {
    ["/usr/sbin/ip", "/sbin/ip", "/usr/bin/ip"].iter().any(|place| Path::new(place).is_file())
}
