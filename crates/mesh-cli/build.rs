//! Lists the pages of `docs/refusals/`, for `mesh explain` to have them built in.

#![expect(
    clippy::disallowed_methods,
    reason = "cargo speaks by the environment, and reads what is written when we have ended"
)]

use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let manifest = env::var("CARGO_MANIFEST_DIR").expect("cargo says where the manifest is");
    let out = env::var("OUT_DIR").expect("cargo says where to write");
    let folder = Path::new(&manifest).join("../../docs/refusals");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut pages = Vec::new();
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries.collect(),
        // Before the first page is written.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let path = entry?.path();
        let code = path.file_stem().and_then(|stem| stem.to_str()).map(str::to_owned);
        if let Some(code) =
            code.filter(|code| path.extension().is_some_and(|ext| ext == "md") && code != "README")
        {
            pages.push((code, path));
        }
    }
    pages.sort();
    let lines: Vec<String> = pages
        .iter()
        .map(|(code, path)| format!("    ({code:?}, include_str!({:?})),\n", path.to_string_lossy()))
        .collect();
    fs::write(Path::new(&out).join("pages.rs"), format!("&[\n{}]\n", lines.concat()))
}
