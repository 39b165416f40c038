//! Files and folders of a module do not stand in each other's place.

use mesh_model::refusal::{Code, Refusal};

use crate::manifest::Content;
use crate::model::Model;
use crate::nearest::advice;

/// `path-taken`: a file below what is a file itself.
pub(crate) fn check(model: &Model<'_>, out: &mut Vec<Refusal>) {
    for module in model.modules.iter() {
        let files = &module.manifest.files;
        for (path, file) in files {
            let mut above = path.as_str();
            while let Some((folder, _)) = above.rsplit_once('/') {
                above = folder;
                if files.contains_key(above) {
                    let message = format!("`{above}` is a file, and `{path}` wants it to be a folder");
                    let help = "give one of the two another path".to_owned();
                    let mut refusal = module.source.refuse(Code::PathTaken, file.span, message, help);
                    refusal.name = Some(path.to_string());
                    out.push(refusal);
                    break;
                }
            }
        }
    }
}

/// `bad-value`: `from` names a file that does not lie beside the manifest.
pub(crate) fn files_that_are_not_there(model: &Model<'_>, out: &mut Vec<Refusal>) {
    for module in model.modules.iter() {
        let name = module.name();
        let folder = format!("modules/{name}/");
        for file in module.manifest.files.values() {
            let Some(Content::From(from)) = &file.value.content else { continue };
            if model.description.files.contains_key(&format!("{folder}{}", from.value)) {
                continue;
            }
            let beside = model.description.files.range(folder.clone()..).map(|(path, _)| path.as_str());
            let beside =
                beside.take_while(|path| path.starts_with(&folder)).map(|path| &path[folder.len()..]);
            let message = format!("there is no file `{}` beside the manifest", from.value);
            let help = advice(from.value.as_str(), "file in the module's folder", beside);
            let mut refusal = module.source.refuse(Code::BadValue, from.span, message, help);
            refusal.name = Some(from.value.to_string());
            out.push(refusal);
        }
    }
}
