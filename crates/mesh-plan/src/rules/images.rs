//! Images of ours, whose names begin `mesh-`, are built by a module; whose they are otherwise is not ours to check.

use std::collections::BTreeSet;

use mesh_model::refusal::{Code, Refusal};

use crate::model::Model;
use crate::nearest::{advice, or};

/// The name of an image without its tag or digest, where it is one of ours: it has no registry before it.
fn ours(image: &str) -> Option<&str> {
    let name = image.split(['@', ':']).next().unwrap_or_default();
    (name.starts_with("mesh-") && !name.contains('/')).then_some(name)
}

/// `image-not-built`: no module's `images` has it, or what it is built from is not there.
pub(crate) fn not_built(model: &Model<'_>, out: &mut Vec<Refusal>) {
    let built: BTreeSet<&str> =
        model.modules.values().flat_map(|module| module.manifest.images.keys()).map(String::as_str).collect();
    let sure = model.modules.values().all(|module| module.manifest.sure("images"));
    for (name, module) in &model.modules {
        for service in module.manifest.run.values() {
            let Some(image) = &service.value.image else { continue };
            let Some(wanted) = ours(&image.text).filter(|wanted| sure && !built.contains(wanted)) else {
                continue;
            };
            let message = format!("no module builds the image `{wanted}`");
            let declare =
                format!("declare it where it is built: `images: {{{wanted}: {{containerfile: …}}}}`");
            let help = match built.is_empty() {
                true => declare,
                false => or(&advice(wanted, "image", built.iter().copied()), &declare),
            };
            let mut refusal = module.source.refuse(Code::ImageNotBuilt, &image.span, message, help);
            refusal.name = Some(wanted.to_owned());
            out.push(refusal);
        }
        for (image, from) in &module.manifest.images {
            let Some(file) = &from.value else { continue };
            if !model.description.files.contains_key(&format!("modules/{name}/{}", file.value)) {
                let message =
                    format!("the image `{image}` is built from `{}`, which is not there", file.value);
                let help = format!("make the file modules/{name}/{}, or name the right one", file.value);
                let mut refusal = module.source.refuse(Code::ImageNotBuilt, &file.span, message, help);
                refusal.name = Some(image.clone());
                out.push(refusal);
            }
        }
    }
}

/// `image-without-target`: a Containerfile that no image is built from.
pub(crate) fn without_target(model: &Model<'_>, out: &mut Vec<Refusal>) {
    for (name, module) in &model.modules {
        if !module.manifest.sure("images") {
            continue;
        }
        let named = module.manifest.images.values().filter_map(|image| image.value.as_ref());
        let named: BTreeSet<&str> = named.map(|file| file.value.as_str()).collect();
        let folder = format!("modules/{name}/");
        for (path, _) in
            model.description.files.range(folder.clone()..).take_while(|(path, _)| path.starts_with(&folder))
        {
            let inside = &path[folder.len()..];
            let file = inside.rsplit('/').next().unwrap_or_default();
            if file != "Containerfile" || named.contains(inside) {
                continue;
            }
            let message = format!("`{inside}` is a Containerfile, and no image of `images` is built from it");
            let help = format!("add to the manifest: `images: {{mesh-{name}: {{containerfile: {inside}}}}}`");
            let sections = &module.manifest.sections;
            let span = sections.get("images").or_else(|| sections.get("module")).cloned().unwrap_or(0..0);
            let mut refusal = module.source.refuse(Code::ImageWithoutTarget, &span, message, help);
            refusal.name = Some(inside.to_owned());
            out.push(refusal);
        }
    }
}
