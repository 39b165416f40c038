//! Hands the files of a description over to the controller: those that manifests name and whose content it does not have,
//! in parts.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use data_encoding::BASE64;
use mesh_bus::Bus;
use mesh_bus::verb::ask_within;
use mesh_cli::description;
use mesh_model::digest::Digest;
use mesh_model::wire::{Listed, Listing, PART, UploadAnswer, UploadAsk};
use mesh_plan::Content;

use crate::exit::Failure;
use crate::planning::Read;
use crate::progress::Progress;
use crate::screen::Screen;

/// How long the controller may take to keep a part.
const PATIENCE: Duration = Duration::from_secs(10);
/// How many contents are asked about at once, so that the question is not too long.
const AT_ONCE: usize = 400;

/// Hands over what is missing, and returns the listing.
pub(crate) async fn upload(bus: &Bus, read: &Read, screen: &Screen) -> Result<Listing, Failure> {
    let files: BTreeMap<String, Listed> = read
        .description
        .files
        .iter()
        .map(|(path, file)| (path.clone(), Listed { digest: file.digest.clone(), size: file.size }))
        .collect();
    // The rest of the folder is listed, and stays where it is.
    let wanted = read.description.files_to_hand_over();
    let wanted = || files.iter().filter(|(path, _)| wanted.contains(*path));
    let missing = missing(bus, wanted().map(|(_, file)| file)).await?;
    let mut progress = Progress::new(*screen);
    let mut sent = BTreeSet::new();
    for (path, file) in wanted().filter(|(_, file)| missing.contains(&file.digest)) {
        if sent.insert(&file.digest) {
            progress.show(vec![format!("handing over {path}")]);
            send(bus, read, path, file).await?;
        }
    }
    Ok(Listing { files, shipped: read.description.shipped.clone() })
}

async fn missing(bus: &Bus, files: impl Iterator<Item = &Listed>) -> Result<BTreeSet<Digest>, Failure> {
    let contents: Vec<Listed> = files.cloned().collect::<BTreeSet<_>>().into_iter().collect();
    let mut missing = BTreeSet::new();
    for have in contents.chunks(AT_ONCE) {
        missing.extend(tell(bus, &UploadAsk::Have { have: have.to_vec() }).await?.missing);
    }
    Ok(missing)
}

async fn send(bus: &Bus, read: &Read, path: &str, file: &Listed) -> Result<(), Failure> {
    let place = Content::File(path.to_owned());
    let content = description::content(&read.folder, &read.catalog, &file.digest, &place)?;
    for part in 0..file.parts() {
        let begin = usize::try_from(part).unwrap_or(usize::MAX).saturating_mul(PART).min(content.len());
        let bytes = &content[begin..content.len().min(begin.saturating_add(PART))];
        let (digest, parts, data) = (file.digest.clone(), file.parts(), BASE64.encode(bytes));
        tell(bus, &UploadAsk::Part { digest, part, parts, data }).await?;
    }
    Ok(())
}

async fn tell(bus: &Bus, question: &UploadAsk) -> Result<UploadAnswer, Failure> {
    Ok(ask_within(bus, PATIENCE, "mesh-controller.upload", question).await?)
}
