//! Debian's packages, by apt-get, as root.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::shell::{self, say};

/// While this file is there, Debian's PostgreSQL packages do not make a cluster of their own: only their programs are
/// wanted, and a server that nobody asked for would hold port 5432.
const NO_CLUSTER: &str = "/etc/postgresql-common/createcluster.d/mesh-setup.conf";

/// What kind of machine this is, as far as installing goes.
#[derive(Debug, PartialEq)]
pub(super) enum Machine {
    /// Debian itself.
    Debian { version: u32, root: bool },
    /// Anything else: here one installs oneself.
    Other,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("cannot keep Debian from making a PostgreSQL cluster, by {}", path.display())]
    Prevent { path: PathBuf, source: std::io::Error },
    #[error("cannot remove {}, which was there for the installation only", path.display())]
    Allow { path: PathBuf, source: std::io::Error },
    #[error("cannot install {packages}")]
    Install { packages: String, source: shell::Error },
}

impl Machine {
    /// This machine.
    pub(super) fn look(root: bool) -> Machine {
        let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
        Machine::from_release(&release, root)
    }

    pub(super) fn from_release(release: &str, root: bool) -> Machine {
        let field = |name: &str| {
            let value = release.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
            value.map(|value| value.trim_matches('"'))
        };
        match (field("ID"), field("VERSION_ID").and_then(|version| version.parse().ok())) {
            (Some("debian"), Some(version)) => Machine::Debian { version, root },
            _ => Machine::Other,
        }
    }

    pub(super) fn may_install(&self) -> bool {
        matches!(self, Machine::Debian { root: true, .. })
    }

    /// The package with PostgreSQL's server in this version of Debian.
    pub(super) fn postgres_package(&self) -> Option<&'static str> {
        match self {
            Machine::Debian { version: 12, .. } => Some("postgresql-15"),
            Machine::Debian { version: 13, .. } => Some("postgresql-17"),
            _ => None,
        }
    }
}

/// Installs packages, each with its reason.
pub(super) fn install(packages: &[(&str, &str)]) -> Result<(), Error> {
    for (name, why) in packages {
        say(&format!("{name} is missing, and installed now from Debian: {why}"));
    }
    let names: Vec<&str> = packages.iter().map(|(name, _)| *name).collect();
    let prevented = Prevented::cluster(Path::new(NO_CLUSTER))?;
    let done = apt_get(&["update", "-q"]).and_then(|()| {
        apt_get(&[&["install", "-q", "-y", "--no-install-recommends"], names.as_slice()].concat())
    });
    prevented.end()?;
    done.map_err(|source| Error::Install { packages: names.join(" "), source })
}

fn apt_get(arguments: &[&str]) -> Result<(), shell::Error> {
    shell::run(Command::new("apt-get").args(arguments).env("DEBIAN_FRONTEND", "noninteractive"))
}

/// The file that keeps Debian from making a cluster, for as long as packages are installed.
struct Prevented<'p> {
    path: &'p Path,
}

impl Prevented<'_> {
    fn cluster(path: &Path) -> Result<Prevented<'_>, Error> {
        let folder = path.parent().expect("a file in a folder");
        fs::create_dir_all(folder)
            .and_then(|()| File::create(path))
            .and_then(|mut file| file.write_all(b"create_main_cluster = false\n"))
            .map_err(|source| Error::Prevent { path: path.to_owned(), source })?;
        Ok(Prevented { path })
    }

    fn end(self) -> Result<(), Error> {
        fs::remove_file(self.path).map_err(|source| Error::Allow { path: self.path.to_owned(), source })
    }
}
