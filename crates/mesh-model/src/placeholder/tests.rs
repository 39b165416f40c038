//! Placeholders: found where they are, and told where they are wrong.

use proptest::prelude::*;

use super::*;

/// The template as text again: `[…]` around what would be replaced.
fn shown(text: &str) -> String {
    let (template, faults) = Template::parse(text);
    assert_eq!(faults, [], "in {text:?}");
    let part = |part: &Part| match part {
        Part::Text(text) => text.clone(),
        Part::Placeholder(p) => {
            let filters: String = p.filters.iter().map(|f| format!("|{f}")).collect();
            format!("[{}{filters}]", p.reference)
        }
    };
    template.parts.iter().map(part).collect()
}

fn faults(text: &str) -> Vec<(FaultKind, &str)> {
    Template::parse(text).1.into_iter().map(|fault| (fault.kind, &text[fault.span])).collect()
}

#[test]
fn every_kind_is_read() {
    for (text, want) in [
        ("a ${config.title} b", "a [config.title] b"),
        ("${secret.admin|url}", "[secret.admin|url]"),
        ("${ bound.db.url | json | base64 }", "[bound.db.url|json|base64]"),
        ("${consumers.postgres-database | json}", "[consumers.postgres-database|json]"),
        ("${collected.shell:zsh:normal | lines}", "[collected.shell:zsh:normal|lines]"),
        ("${shell.zsh:normal | lines}", "[shell.zsh:normal|lines]"),
        ("${environment.profile | lines}", "[environment.profile|lines]"),
        ("${file.conf.d/app.toml}${dir.data}", "[file.conf.d/app.toml][dir.data]"),
        ("${access.notes.http} ${access.notes@attic.http}", "[access.notes.http] [access.notes@attic.http]"),
        (
            "${machine.name}${machine.address}${seat.mesh-vault}",
            "[machine.name][machine.address][seat.mesh-vault]",
        ),
        ("${module.name}${consumer.node}${gives.host}", "[module.name][consumer.node][gives.host]"),
    ] {
        assert_eq!(shown(text), want);
    }
}

#[test]
fn a_dollar_stands_for_itself() {
    assert_eq!(shown("$host $5 $$ $"), "$host $5 $$ $");
    assert_eq!(shown("$${HOME} costs $5"), "${HOME} costs $5");
    assert_eq!(shown("$$${port.http}"), "$${port.http}");
}

#[test]
fn each_fault_has_its_place() {
    assert_eq!(faults("x ${config.title\ny"), [(FaultKind::Unclosed, "${config.title")]);
    assert_eq!(faults("${}"), [(FaultKind::Shape, "${}")]);
    assert_eq!(faults("${config}"), [(FaultKind::Shape, "${config}")]);
    assert_eq!(faults("${config.}"), [(FaultKind::Shape, "${config.}")]);
    assert_eq!(faults("${config.a |}"), [(FaultKind::Shape, "${config.a |}")]);
    assert_eq!(faults("é ${confg.title}"), [(FaultKind::Kind("confg".into()), "confg")]);
    assert_eq!(faults("${config.a | urlencode}"), [(FaultKind::Filter("urlencode".into()), "urlencode")]);
    assert!(matches!(&faults("${bound.db}")[..], [(FaultKind::Path { kind: Kind::Bound, .. }, "bound.db")]));
    assert!(matches!(
        &faults("${machine.nmae}")[..],
        [(FaultKind::Path { kind: Kind::Machine, .. }, "machine.nmae")]
    ));
    assert_eq!(faults("${a.b}\n${c.d}").len(), 2, "all of them, not the first");
}

proptest! {
    #[test]
    fn it_never_panics_and_spans_are_right(text in "(\\$|\\{|\\}|\\||\\.|config|bound|secret|json| |\n|é|🙂|a){0,40}") {
        let (template, faults) = Template::parse(&text);
        for placeholder in template.placeholders() {
            let written = &text[placeholder.span.clone()];
            let whole = written.starts_with("${") && written.ends_with('}') && !written.contains('\n');
            prop_assert!(whole, "{}", written);
        }
        for fault in faults {
            prop_assert!(text.get(fault.span).is_some());
        }
    }

    #[test]
    fn text_without_a_brace_is_kept(text in "[^{]{0,60}") {
        let (template, faults) = Template::parse(&text);
        prop_assert!(faults.is_empty());
        prop_assert_eq!(template.placeholders().count(), 0);
        prop_assert_eq!(shown(&text), text);
    }
}
