//! What somebody wrote is shown, and never taken for HTML.

use super::*;

fn page<'a>(notes: &'a [Note], draft: &'a str, problem: Option<&'a str>) -> String {
    Page { title: "A & B", notes, older: None, token: "nonce.mac", draft, problem }.html()
}

#[test]
fn what_was_written_is_escaped_everywhere() {
    let hostile = "</textarea><script>alert('x')</script>\"&";
    let note = Note { id: 1, body: hostile.to_owned(), written: "2026-12-01T09:30Z".to_owned() };
    let html = page(&[note], hostile, Some(hostile));
    assert!(!html.contains("<script"));
    assert_eq!(
        html.matches("&lt;/textarea&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&quot;&amp;").count(),
        3
    );
    assert!(html.contains("<title>A &amp; B</title>"));
    assert!(html.contains("<time datetime=\"2026-12-01T09:30Z\">2026-12-01 09:30 UTC</time>"));
}

#[test]
fn an_empty_notebook_says_so() {
    assert!(page(&[], "", None).contains("No notes here yet"));
    assert!(!page(&[], "", Some("away")).contains("No notes here yet"), "it may not be empty");
}
