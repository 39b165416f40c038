//! Images of ours, whose names begin `mesh-`, are built by a module; whose they are otherwise is not ours to check.

use std::collections::BTreeSet;

use mesh_model::name::{FilePath, ModuleName};
use mesh_model::refusal::{Code, Refusal};

use crate::model::{Model, Module};
use crate::nearest::{advice, nearest, or};
use crate::scope::Scope;
use crate::text::{At, Text};

/// The name of an image without its tag or digest, where it is one of ours: it has no registry before it.
fn ours(image: &str) -> Option<&str> {
    let name = image.split(['@', ':']).next().unwrap_or_default();
    (name.starts_with("mesh-") && !name.contains('/')).then_some(name)
}

/// `image-not-built`: no module's `images` has it.
pub(crate) fn not_built(model: &Model<'_>, out: &mut Vec<Refusal>) {
    let built: BTreeSet<&str> =
        model.modules.iter().flat_map(|module| module.manifest.images.keys()).map(String::as_str).collect();
    if !model.modules.iter().all(|module| module.manifest.sure("images")) {
        return;
    }
    for module in model.modules.iter() {
        let name = module.name();
        for service in module.manifest.run.values() {
            let Some(image) = &service.value.image else { continue };
            let wanted = images(model, name, image);
            let wanted = wanted.iter().filter_map(|image| ours(image)).filter(|ours| !built.contains(ours));
            for wanted in wanted {
                let message = format!("no module builds the image `{wanted}`");
                let declare =
                    format!("declare it where it is built: `images: {{{wanted}: {{containerfile: …}}}}`");
                let help = match built.is_empty() {
                    true => declare,
                    false => or(&advice(wanted, "image", built.iter().copied()), &declare),
                };
                let mut refusal = module.source.refuse(Code::ImageNotBuilt, image.span, message, help);
                refusal.name = Some(wanted.to_owned());
                out.push(refusal);
            }
        }
    }
}

/// The images that a text comes to, wherever its module runs; none where the plan does not know.
fn images(model: &Model<'_>, name: &ModuleName, image: &Text) -> BTreeSet<String> {
    if let Some(image) = image.literal() {
        return [image.to_owned()].into();
    }
    model.runs_of(name).filter_map(|run| Scope::of(model, run).text(image).ok()).collect()
}

/// The Containerfiles in a module's folder, by their paths in it.
fn containerfiles<'m>(model: &'m Model<'_>, name: &ModuleName) -> Vec<&'m str> {
    let folder = format!("modules/{name}/");
    let inside = model.description.files.range(folder.clone()..).map(|(path, _)| path.as_str());
    let inside = inside.take_while(|path| path.starts_with(&folder)).map(|path| &path[folder.len()..]);
    inside.filter(|path| path.rsplit('/').next() == Some("Containerfile")).collect()
}

/// The containerfiles that a module's images name and that are not there.
fn gone<'m>(
    model: &Model<'_>,
    name: &ModuleName,
    module: &'m Module<'_>,
) -> Vec<(&'m str, &'m At<FilePath>)> {
    let named = module.manifest.images.iter();
    let named = named.filter_map(|(image, from)| Some((image.as_str(), from.value.as_ref()?)));
    let there = |path: &FilePath| model.description.files.contains_key(&format!("modules/{name}/{path}"));
    named.filter(|(_, file)| !there(&file.value)).collect()
}

/// The one of these files that is surely meant. What they are all called says nothing: only the folder before it does.
fn meant<'m>(file: &At<FilePath>, left: &[&'m str]) -> Option<&'m str> {
    let folder = |path: &'m str| path.strip_suffix("/Containerfile").unwrap_or(path);
    let wanted = file.value.as_str();
    let wanted = wanted.strip_suffix("/Containerfile").unwrap_or(wanted);
    let near = nearest(wanted, left.iter().copied().map(folder))?;
    left.iter().copied().find(|path| folder(path) == near)
}

/// `image-not-built`: what an image is built from is not there.
pub(crate) fn from_nothing(model: &Model<'_>, out: &mut Vec<Refusal>) {
    for module in model.modules.iter() {
        let name = module.name();
        for (image, file) in gone(model, name, module) {
            let message = format!("the image `{image}` is built from `{}`, which is not there", file.value);
            let near = meant(file, &containerfiles(model, name));
            let near = near.map(|near| format!("did you mean `{near}`? Or ")).unwrap_or_default();
            let help = format!("{near}make the file modules/{name}/{}, or name the right one", file.value);
            let mut refusal = module.source.refuse(Code::ImageNotBuilt, file.span, message, help);
            refusal.name = Some(image.to_owned());
            out.push(refusal);
        }
    }
}

/// `image-without-target`: a Containerfile that no image is built from.
pub(crate) fn without_target(model: &Model<'_>, out: &mut Vec<Refusal>) {
    for module in model.modules.iter() {
        let name = module.name();
        let images = &module.manifest.images;
        // A containerfile that has been refused may be the one that is left.
        if !module.manifest.sure("images") || images.values().any(|image| image.value.is_none()) {
            continue;
        }
        let left = containerfiles(model, name);
        let gone = gone(model, name, module);
        let meant: Vec<&str> = gone.iter().filter_map(|(_, file)| meant(file, &left)).collect();
        let named = images.values().filter_map(|image| Some(image.value.as_ref()?.value.as_str()));
        let named: BTreeSet<&str> = named.chain(meant).collect();
        for inside in left.into_iter().filter(|inside| !named.contains(inside)) {
            let message = format!("`{inside}` is a Containerfile, and no image of `images` is built from it");
            let help = format!("add to the manifest: `images: {{mesh-{name}: {{containerfile: {inside}}}}}`");
            let sections = &module.manifest.sections;
            let span = sections.get("images").or_else(|| sections.get("module")).cloned().unwrap_or_default();
            let mut refusal = module.source.refuse(Code::ImageWithoutTarget, span, message, help);
            refusal.name = Some(inside.to_owned());
            out.push(refusal);
        }
    }
}
