//! Any text as one with placeholders: every place is there, and what was read is written and read again as the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mesh_model::placeholder::{Part, Placeholder, Template};

fuzz_target!(|text: &str| {
    let (template, faults) = Template::parse(text);
    let mut behind = 0;
    for placeholder in template.placeholders() {
        let Placeholder { span, reference, filters } = placeholder;
        let written = text.get(span.clone()).expect("a span lies on characters");
        assert!(behind <= span.start && written.starts_with("${") && written.ends_with('}'), "{placeholder:?}");
        behind = span.end;
        let filters: String = filters.iter().map(|filter| format!(" | {filter}")).collect();
        let (again, wrong) = Template::parse(&format!("${{{reference}{filters}}}"));
        assert!(wrong.is_empty(), "{placeholder:?}: {wrong:?}");
        let [Part::Placeholder(again)] = &again.parts[..] else { panic!("{again:?}") };
        assert_eq!((&again.reference, &again.filters), (&placeholder.reference, &placeholder.filters));
    }
    for fault in &faults {
        assert!(text.get(fault.span.clone()).is_some_and(|wrong| !wrong.is_empty()), "{fault:?}");
        assert!(!fault.kind.to_string().is_empty());
    }
    if !text.contains('$') {
        let whole = match text {
            "" => Vec::new(),
            _ => vec![Part::Text(text.to_owned())],
        };
        assert_eq!(template.parts, whole);
    }
});
