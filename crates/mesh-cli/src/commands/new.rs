//! `mesh new`: a manifest to start from, and where there is no description yet, one that runs it on this machine.
//!
//! The first line of what is written points editors at the schema, which is written beside it in `.schema`: what begins
//! with a dot is no part of a description.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use mesh_model::name::{MeshName, ModuleName};
use thiserror::Error;

use super::schema::File;
use crate::exit::{Exit, Failure};
use crate::screen::Screen;

/// What is written.
const MODULE: &str = include_str!("new/module.yaml");
const MESH: &str = include_str!("new/mesh.yaml");
/// What a mesh is called where its folder's name is none.
const NAME: &str = "home";

/// Which module, where.
#[derive(Debug, Args)]
pub(crate) struct NewArgs {
    /// What it is called, as its folder will be
    module: ModuleName,
    /// The description's folder
    #[arg(default_value = ".")]
    dir: PathBuf,
}

/// Why it was not written.
#[derive(Debug, Error)]
enum NewError {
    #[error("{} is there already", path.display())]
    There { path: PathBuf },
    #[error("cannot write {}", path.display())]
    Write { path: PathBuf, source: io::Error },
}

/// Writes it, and says what to do with it.
pub(crate) fn run(args: &NewArgs, screen: &Screen) -> Result<Exit, Failure> {
    let NewArgs { module, dir } = args;
    // What is said begins with the folder that was named, and with none where that is this one.
    let dir = if dir.as_os_str() == "." { Path::new("") } else { dir };
    let manifest = dir.join(format!("modules/{module}/module.yaml"));
    write_new(&manifest, &MODULE.replace("NAME", module.as_str()))?;
    for (name, file) in [("module", File::Module), ("mesh", File::Mesh)] {
        let path = dir.join(format!(".schema/{name}.json"));
        let text = serde_json::to_string_pretty(&file.schema()).map_err(Failure::new)?;
        write_again(&path, &text)?;
    }
    screen.say(format!("wrote {}", manifest.display()));
    let mesh = dir.join("mesh.yaml");
    if mesh.exists() {
        screen.say(format!("add to `assign` in mesh.yaml: `{module}: NODE`"));
    } else {
        write_new(
            &mesh,
            &MESH.replace("MESH", mesh_name(&args.dir).as_str()).replace("NAME", module.as_str()),
        )?;
        screen.say(format!("wrote {}, which runs it on this machine", mesh.display()));
    }
    Ok(Exit::Done)
}

/// A mesh is called as its folder is, where that is a name.
fn mesh_name(dir: &Path) -> MeshName {
    let whole = dir.canonicalize().ok();
    let name = whole.as_deref().and_then(Path::file_name).and_then(|name| name.to_str());
    let name = name.and_then(|name| name.parse().ok());
    name.unwrap_or_else(|| NAME.parse().expect("a name"))
}

/// Writes a file that is not there yet.
fn write_new(path: &Path, text: &str) -> Result<(), Failure> {
    make_folder(path)?;
    let file = std::fs::OpenOptions::new().write(true).create_new(true).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|source| {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::AlreadyExists => Failure::new(NewError::There { path })
                .hint("nothing was written: choose another name, or take that away first"),
            _ => Failure::new(NewError::Write { path, source }),
        }
    })
}

/// Writes a file that is only ever generated.
#[expect(clippy::disallowed_methods, reason = "an editor that reads half of it reads it again")]
fn write_again(path: &Path, text: &str) -> Result<(), Failure> {
    make_folder(path)?;
    std::fs::write(path, text)
        .map_err(|source| Failure::new(NewError::Write { path: path.to_owned(), source }))
}

fn make_folder(path: &Path) -> Result<(), Failure> {
    let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) else { return Ok(()) };
    std::fs::create_dir_all(folder)
        .map_err(|source| Failure::new(NewError::Write { path: folder.to_owned(), source }))
}
