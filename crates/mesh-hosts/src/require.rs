//! For tests: hosts where they may be made; elsewhere a loud word, or a failure where somebody relies on them.

use std::io::Write;

use crate::ip::Error;
use crate::network::Network;

/// Set to 1 where tests have to have hosts, such as by `.ci/run`.
const MARK: &str = "MESH_REQUIRE_HOSTS";

/// A network, or nothing where this machine does not let us make one, which is said.
///
/// # Panics
/// Where `MESH_REQUIRE_HOSTS` is 1 and there is none.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "a mark for tests, read at their edge")]
pub fn require() -> Option<Network> {
    match Network::new() {
        Ok(network) => Some(network),
        Err(error) if std::env::var(MARK).is_ok_and(|set| set == "1") => panic!("{MARK} is set: {error}"),
        Err(error) => {
            say(&error);
            None
        }
    }
}

/// Past what captures the output of tests.
fn say(error: &Error) {
    let line = "!".repeat(78);
    let text = format!(
        "\n{line}\nNOT TRIED, for want of separate hosts: {error}\n\
         They are network namespaces: run this as root, where they may be made. {MARK}=1 fails instead.\n{line}\n"
    );
    // Nobody can be told where there is nobody to read.
    let _ = std::io::stderr().write_all(text.as_bytes());
}
