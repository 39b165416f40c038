//! Reads a mesh description from a folder: its listing, each file by digest, and the text of those that planning reads.
//!
//! What is in the files is not looked at here: that is for the plan, which refuses what is wrong with all of it at once.
//! What stops here is what cannot be listed at all. Files and folders whose names begin with a dot are not part of a
//! description (`.git`, `.mesh`). A link may point to whatever is inside the folder; where one leads out of it, the
//! description would be more than its folder, so that is an error.

use std::fs::{self, File, FileType};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use mesh_model::digest::Digest;
use mesh_plan::description::limit;
use mesh_plan::{Catalog, Content, Description, FileEntry};
use thiserror::Error;

/// The most files that a description has.
const FILES: usize = 100_000;

/// How deep its folders are nested.
const DEPTH: usize = 32;

/// The largest file that is handed over, in bytes.
const CONTENT: u64 = 64 << 20;

/// Why a folder could not be read as a description.
#[derive(Debug, Error)]
pub enum LoadError {
    /// There is no `mesh.yaml`.
    #[error("{path} is no mesh description: there is no mesh.yaml in it")]
    NoMesh {
        /// The folder.
        path: PathBuf,
    },
    /// Something could not be read.
    #[error("could not read {path}")]
    Read {
        /// What.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A link leads out of the folder.
    #[error("{path} is a link that leads out of the description's folder, to {target}")]
    Escapes {
        /// The link.
        path: PathBuf,
        /// Where it leads.
        target: PathBuf,
    },
    /// A link leads to a folder that it is in.
    #[error("{path} is a link to a folder that it lies in")]
    Circle {
        /// The link.
        path: PathBuf,
    },
    /// A name that is not UTF-8.
    #[error("the name of {path} is not UTF-8")]
    Name {
        /// The file.
        path: PathBuf,
    },
    /// More files than a description has.
    #[error("{path} holds more than {FILES} files: it is not a mesh description alone")]
    TooMany {
        /// The folder.
        path: PathBuf,
    },
    /// Folders nested too deep.
    #[error("{path} lies deeper than {DEPTH} folders")]
    TooDeep {
        /// The folder.
        path: PathBuf,
    },
    /// A file that is too large to be handed over.
    #[error("{path} has {size} bytes, and {CONTENT} are the most that a module's file has")]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size.
        size: u64,
    },
    /// A file that is not what it was when the folder was listed.
    #[error("{path} has changed since it was listed")]
    Changed {
        /// The file.
        path: PathBuf,
    },
}

/// Reads the description in a folder, with the shipped modules that it assigns.
///
/// # Errors
/// Where the folder cannot be listed, is none, or a link leads out of it.
pub fn load(folder: &Path, catalog: &Catalog) -> Result<Description, LoadError> {
    let root = fs::canonicalize(folder).map_err(|source| read_error(folder, source))?;
    let mut walk = Walk { root: root.clone(), description: Description::default() };
    if !root.join("mesh.yaml").exists() {
        return Err(LoadError::NoMesh { path: folder.to_owned() });
    }
    walk.folder(&root, "", 0)?;
    let mut description = walk.description;
    description.add_shipped(catalog);
    for path in description.texts_to_read() {
        let file = &description.files[&path];
        let text = content(&root, catalog, &file.digest, &Content::File(path.clone()))?;
        description.texts.insert(path, text);
    }
    Ok(description)
}

/// Reads the content of a file of a plan: what is handed to the controller.
///
/// # Errors
/// Where the file cannot be read, or is no longer what was planned.
pub fn content(
    folder: &Path,
    catalog: &Catalog,
    digest: &Digest,
    content: &Content,
) -> Result<Vec<u8>, LoadError> {
    let path = match content {
        Content::Inline(bytes) => return Ok(bytes.clone()),
        Content::File(path) => path,
    };
    let place = folder.join(path);
    let bytes = match shipped(catalog, path) {
        Some(bytes) if !place.exists() => bytes.to_owned(),
        _ => read_whole(&place)?,
    };
    if Digest::of(&bytes) == *digest { Ok(bytes) } else { Err(LoadError::Changed { path: place }) }
}

fn shipped<'a>(catalog: &'a Catalog, path: &str) -> Option<&'a [u8]> {
    let (module, inside) = path.strip_prefix("modules/")?.split_once('/')?;
    Some(catalog.modules.get(module)?.get(inside)?)
}

fn read_whole(path: &Path) -> Result<Vec<u8>, LoadError> {
    let file = File::open(path).map_err(|source| read_error(path, source))?;
    let mut bytes = Vec::new();
    file.take(CONTENT + 1).read_to_end(&mut bytes).map_err(|source| read_error(path, source))?;
    match bytes.len() as u64 {
        size if size > CONTENT => Err(LoadError::TooLarge { path: path.to_owned(), size }),
        _ => Ok(bytes),
    }
}

fn read_error(path: &Path, source: io::Error) -> LoadError {
    LoadError::Read { path: path.to_owned(), source }
}

struct Walk {
    root: PathBuf,
    description: Description,
}

impl Walk {
    /// Lists a folder; `prefix` is its path in the description, with a `/` at its end unless it is the whole.
    fn folder(&mut self, folder: &Path, prefix: &str, depth: usize) -> Result<(), LoadError> {
        if depth > DEPTH {
            return Err(LoadError::TooDeep { path: folder.to_owned() });
        }
        for entry in fs::read_dir(folder).map_err(|source| read_error(folder, source))? {
            let entry = entry.map_err(|source| read_error(folder, source))?;
            let path = entry.path();
            let name = path.file_name().and_then(|name| name.to_str());
            let Some(name) = name else { return Err(LoadError::Name { path }) };
            if !name.starts_with('.') {
                let kind = entry.file_type().map_err(|source| read_error(&path, source))?;
                self.entry(&path, &format!("{prefix}{name}"), kind, depth)?;
            }
        }
        Ok(())
    }

    fn entry(&mut self, path: &Path, name: &str, kind: FileType, depth: usize) -> Result<(), LoadError> {
        let mut kind = kind;
        if kind.is_symlink() {
            self.check_link(path)?;
            kind = fs::metadata(path).map_err(|source| read_error(path, source))?.file_type();
        }
        if kind.is_dir() {
            self.folder(path, &format!("{name}/"), depth + 1)
        } else if kind.is_file() {
            self.file(path, name)
        } else {
            // A socket or a pipe says nothing that could be listed.
            Ok(())
        }
    }

    fn check_link(&self, path: &Path) -> Result<(), LoadError> {
        let target = fs::canonicalize(path).map_err(|source| read_error(path, source))?;
        if !target.starts_with(&self.root) {
            return Err(LoadError::Escapes { path: path.to_owned(), target });
        }
        let parent = path.parent().unwrap_or(path);
        let parent = fs::canonicalize(parent).map_err(|source| read_error(parent, source))?;
        if parent.starts_with(&target) {
            return Err(LoadError::Circle { path: path.to_owned() });
        }
        Ok(())
    }

    fn file(&mut self, path: &Path, name: &str) -> Result<(), LoadError> {
        if self.description.files.len() == FILES {
            return Err(LoadError::TooMany { path: self.root.clone() });
        }
        let mut file = File::open(path).map_err(|source| read_error(path, source))?;
        let mut start = Vec::new();
        if let Some(limit) = limit(name) {
            let size = file.metadata().map_err(|source| read_error(path, source))?.len();
            // One more, so that its end is seen without room for more being made.
            start.reserve_exact(usize::try_from(size.min(limit) + 1).unwrap_or_default());
            let read = (&mut file).take(limit + 1).read_to_end(&mut start);
            read.map_err(|source| read_error(path, source))?;
            if start.len() as u64 <= limit {
                self.description.put(name, start);
                return Ok(());
            }
        }
        let entry = digest(&start, &mut file).map_err(|source| read_error(path, source))?;
        self.description.files.insert(name.to_owned(), entry);
        Ok(())
    }
}

/// The entry of a file of which `start` has been read: in pieces, so that one of any size costs no memory.
fn digest(start: &[u8], file: &mut File) -> io::Result<FileEntry> {
    let mut hasher = blake3::Hasher::new();
    hasher.update(start);
    hasher.update_reader(file)?;
    let digest = Digest::try_from(hasher.finalize().to_hex().to_string()).map_err(io::Error::other)?;
    Ok(FileEntry { digest, size: hasher.count() })
}

#[cfg(test)]
mod tests;
