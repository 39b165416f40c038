//! What is YAML here, and where things stand.

use proptest::prelude::*;

use super::*;

/// Each text of a file with what was written for `${…}` in it.
fn spots(file: &str) -> Vec<String> {
    fn walk(node: &Node, file: &str, out: &mut Vec<String>) {
        match &node.value {
            Value::Null => {}
            Value::List(items) => items.iter().for_each(|item| walk(item, file, out)),
            Value::Map(entries) => entries.iter().for_each(|entry| walk(&entry.value, file, out)),
            Value::Scalar(scalar) => {
                let mut places = Places::new(file, node.span, scalar.style, &scalar.text);
                let mut from = 0;
                while let Some(start) = scalar.text[from..].find("${").map(|at| at + from) {
                    let end = scalar.text[start..].find('}').map_or(scalar.text.len(), |at| at + start + 1);
                    out.push(file[places.range(&(start..end)).range()].to_owned());
                    from = end;
                }
            }
        }
    }
    let mut out = Vec::new();
    walk(parse(file).root.as_ref().expect("this is YAML"), file, &mut out);
    out
}

#[test]
fn a_placeholder_is_found_however_its_text_is_written() {
    let file = "a: x ${a.b} y\nb: 'it''s ${c.d}'\nc: \"q\\n \\u00e9 ${e.f}\"\nd: |\n  é ${g.h}\n\n    ${i.j | json}\ne: >-\n  \
                fold\n  ${k.l}\n\n  more ${m.n}\nf: plain\n  over ${o.p}\ng: [\"${q.r}\", '${s.t}']\n";
    let expected = ["a.b", "c.d", "e.f", "g.h", "i.j | json", "k.l", "m.n", "o.p", "q.r", "s.t"]
        .map(|p| format!("${{{p}}}"));
    assert_eq!(spots(file), expected);
}

#[test]
fn what_is_refused_says_why() {
    for (text, message) in [
        ("a: &x 1", "anchor"),
        ("a: *x", "alias"),
        ("a: !!str 1", "tag"),
        ("a: 1\n---\nb: 1", "second document"),
        ("? [a]\n: 1", "a key is a text"),
        ("a: [1", "not YAML"),
        ("a: \0", "NUL"),
        ("a: \"\\0\"", "NUL"),
        (&"[".repeat(100_000), "recursion"),
        (&format!("{}{}", "[".repeat(40), "]".repeat(40)), "nested deeper"),
    ] {
        let tree = parse(text);
        assert!(tree.root.is_none(), "{text:.20}");
        let told = &tree.faults[0].message;
        assert!(told.contains(message) || told.contains("unknown anchor"), "{text:.20}: {told}");
    }
}

#[test]
fn a_key_twice_is_told_and_the_rest_is_read() {
    let tree = parse("a: 1\nb: 2\na: 3\n");
    assert_eq!(tree.faults[0].code, Code::DuplicateName);
    assert_eq!(tree.faults[0].span, Span::new(10, 11));
    assert!(tree.root.is_some());
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,200}") {
        let _ = parse(&text);
    }

    #[test]
    fn any_text_of_its_own_signs_is_read_or_refused(text in "[-a\\[\\]{}:,#|>&*!?'\"% \n\t\\\\\u{feff}é$0]{0,60}") {
        let tree = parse(&text);
        for fault in &tree.faults {
            prop_assert!(text.get(fault.span.range()).is_some());
        }
        if let Some(root) = &tree.root {
            prop_assert!(text.get(root.span.range()).is_some());
        }
    }
}
