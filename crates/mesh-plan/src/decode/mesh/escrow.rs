//! Reads `escrow`: the public keys of age to which every secret is sealed too.
//!
//! What is wrong with one is found here, checksum included: a key that nobody has would only be missed on the day on which
//! it is needed.

use bech32::Bech32;
use bech32::primitives::decode::CheckedHrpstring;
use mesh_model::refusal::Code;

use crate::decode::Reading;
use crate::yaml::Node;

/// What it has to be.
const RECIPIENT: &str = "the public key of age that `age-keygen` prints: `age1` and 58 letters and digits";

pub(super) fn read(reading: &mut Reading<'_>, node: &Node) -> Vec<String> {
    let mut read: Vec<String> = Vec::new();
    for item in reading.items(node, "`escrow`") {
        let Some(text) = recipient(reading, item) else { continue };
        if read.contains(&text) {
            let message = format!("`{text}` is named twice");
            reading.refuse_name(Code::DuplicateName, item.span, &text, message, "take one of the two out");
        } else {
            read.push(text);
        }
    }
    read
}

fn recipient(reading: &mut Reading<'_>, item: &Node) -> Option<String> {
    let text = &reading.scalar(item, "a recipient")?.text;
    if is_recipient(text) {
        return Some(text.clone());
    }
    if text.to_uppercase().contains("AGE-SECRET-KEY-") {
        // It is not repeated in what is printed.
        let message =
            "a recipient is a private key: whoever reads this file can open every secret".to_owned();
        let help = "take it out; make another with `age-keygen -o key.txt`, keep that file elsewhere, and write the \
                    public key here, which begins with `age1`";
        reading.refuse(Code::BadValue, item.span, message, help.to_owned());
        return None;
    }
    if text.len() > 62 && text.starts_with("age1") || text.starts_with("ssh-") {
        let message = format!("a recipient cannot be `{}…`, a key of another kind", first(text));
        reading.refuse_name(Code::BadValue, item.span, text, message, RECIPIENT);
        return None;
    }
    if text.len() == 62 && text.starts_with("age1") {
        let message = format!("`{text}` is misspelt: its checksum is wrong");
        let help = "copy it again: `age-keygen -y key.txt` prints the public key of a private one";
        reading.refuse_name(Code::BadValue, item.span, text, message, help);
        return None;
    }
    reading.bad_value(item, "a recipient", RECIPIENT);
    None
}

/// The kind of key, as far as a text begins with it.
fn first(text: &str) -> &str {
    let end = match text.strip_prefix("age1") {
        Some(rest) => rest.find('1').map(|end| end + 5),
        None => text.find(' '),
    };
    end.and_then(|end| text.get(..end)).unwrap_or_else(|| text.get(..8).unwrap_or(text))
}

/// Bech32 in lower case, of 32 bytes.
fn is_recipient(text: &str) -> bool {
    let checked = CheckedHrpstring::new::<Bech32>(text);
    text.len() == 62
        && !text.bytes().any(|byte| byte.is_ascii_uppercase())
        && checked.is_ok_and(|key| key.hrp().as_str() == "age" && key.byte_iter().len() == 32)
}
