//! The texts of a checkout, by path.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::Error;

/// What holds nothing of ours: folders, and the file that a checkout beside another has for `.git`.
const SKIPPED: [&str; 6] = [".git", ".mesh", "target", "node_modules", "corpus", "artifacts"];

/// Every text file, by its path from the root with `/` between its parts.
#[derive(Default)]
pub(super) struct Tree {
    pub(super) files: BTreeMap<String, String>,
}

impl Tree {
    pub(super) fn read(root: &Path) -> Result<Tree, Error> {
        let mut tree = Tree::default();
        tree.add(root, "")?;
        Ok(tree)
    }

    fn add(&mut self, folder: &Path, prefix: &str) -> Result<(), Error> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| Error::Read { path, source }
        };
        for entry in fs::read_dir(folder).map_err(failed(folder))? {
            let entry = entry.map_err(failed(folder))?;
            let (name, path) = (entry.file_name().to_string_lossy().into_owned(), entry.path());
            let kind = entry.file_type().map_err(failed(&path))?;
            if kind.is_dir() && !SKIPPED.contains(&name.as_str()) {
                self.add(&path, &format!("{prefix}{name}/"))?;
            } else if kind.is_file() && !SKIPPED.contains(&name.as_str()) {
                // What is not UTF-8 is no text.
                if let Ok(text) = String::from_utf8(fs::read(&path).map_err(failed(&path))?) {
                    self.files.insert(format!("{prefix}{name}"), text);
                }
            }
        }
        Ok(())
    }

    /// The files whose path ends so.
    pub(super) fn ending<'t>(&'t self, end: &'t str) -> impl Iterator<Item = (&'t str, &'t str)> {
        self.files
            .iter()
            .filter(move |(path, _)| path.ends_with(end))
            .map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// The files of one folder, and not of those in it, by name.
    pub(super) fn folder<'t>(&'t self, folder: &'t str) -> impl Iterator<Item = (&'t str, &'t str)> {
        self.files
            .iter()
            .filter_map(move |(path, text)| {
                Some((path.strip_prefix(folder)?.strip_prefix('/')?, text.as_str()))
            })
            .filter(|(name, _)| !name.contains('/'))
    }
}

#[cfg(test)]
impl Tree {
    pub(super) fn of(files: &[(&str, &str)]) -> Tree {
        Tree { files: files.iter().map(|(path, text)| (path.to_string(), text.to_string())).collect() }
    }
}
