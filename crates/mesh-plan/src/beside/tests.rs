//! Files beside a manifest that are no text, or more of it than is read.

use mesh_model::refusal::Code;

use crate::description::TEXT_LIMIT;
use crate::{Catalog, Content, Description, Facts, Outcome, plan};

/// A module that makes a file from one beside its manifest.
fn planned(verbatim: bool, content: &[u8]) -> Outcome {
    let manifest = format!("module: web\nfiles:\n  a: {{from: a.bin, verbatim: {verbatim}}}\n");
    let mut description = Description::default();
    description.insert("mesh.yaml", b"mesh: home\nnodes: {attic: {}}\nassign: {web: attic}\n");
    description.insert("modules/web/module.yaml", manifest.as_bytes());
    description.insert("modules/web/a.bin", content);
    for path in description.texts_to_read() {
        description.texts.insert(path, content.to_owned());
    }
    plan(&description, &Catalog::default(), None, &Facts::default())
}

#[test]
fn what_is_no_text_is_taken_as_it_is_or_refused() {
    let long = vec![b'x'; usize::try_from(TEXT_LIMIT).unwrap() + 1];
    for (content, says) in [
        (&b"PNG\xff\x00"[..], "not UTF-8 text from byte 3"),
        (b"one\0two", "NUL at byte 3"),
        (&long, "262145 bytes"),
    ] {
        let refused = planned(false, content).refusals;
        let [refusal] = &refused[..] else { panic!("{refused:?}") };
        assert_eq!((refusal.code, refusal.line, refusal.column), (Code::BadValue, 3, 13));
        assert!(refusal.message.contains(says) && refusal.help.contains("verbatim: true"), "{refusal:?}");
        let plan = planned(true, content).plan.unwrap();
        assert!(plan.contents.values().all(|kept| matches!(kept, Content::File(_))));
    }
}

#[test]
fn a_text_is_kept_as_it_was_written() {
    let text = "title = x\r\n$${config.x} ${machine.name}\n".as_bytes();
    let plan = planned(false, text).plan.unwrap();
    let kept: Vec<_> = plan.contents.values().collect();
    assert_eq!(kept, [&Content::Inline(text.to_owned())]);
}

#[test]
fn a_text_that_was_not_handed_over_is_not_taken_for_an_empty_one() {
    let mut description = Description::default();
    description.insert("mesh.yaml", b"mesh: home\nnodes: {attic: {}}\nassign: {web: attic}\n");
    description.insert("modules/web/module.yaml", b"module: web\nfiles: {a: {from: a.txt}}\n");
    description.insert("modules/web/a.txt", b"text");
    let refused = plan(&description, &Catalog::default(), None, &Facts::default()).refusals;
    assert!(refused.iter().all(|refusal| refusal.code == Code::BadValue) && !refused.is_empty());
}
