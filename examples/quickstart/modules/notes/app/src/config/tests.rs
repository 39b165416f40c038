//! What is accepted, and that no refusal repeats a secret.

use super::*;

const URL: &str = "postgres://notes:pa55word@127.0.0.1:5432/notes";

fn read(arguments: &[&str], url: Option<&str>, secret: Option<&str>) -> Result<Config, Error> {
    Config::read(arguments.iter().map(|a| a.to_string()), |name| {
        match name {
            "DATABASE_URL" => url,
            "NOTES_SECRET" => secret,
            _ => None,
        }
        .map(str::to_owned)
    })
}

#[test]
fn it_listens_on_loopback_unless_told() {
    let config = read(&[], Some(URL), Some("0123456789abcdef")).unwrap();
    assert_eq!(config.listen.to_string(), "127.0.0.1:8080");
    assert_eq!(config.title, "Notes");
}

#[test]
fn the_title_comes_from_the_settings() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("notes.toml");
    #[expect(clippy::disallowed_methods, reason = "a file of this test, read after it is written")]
    std::fs::write(&file, "title = \"Our \\\"notes\\\" é\"\n").unwrap();
    let config = read(&["--config", file.to_str().unwrap()], Some(URL), Some("0123456789abcdef")).unwrap();
    assert_eq!(config.title, "Our \"notes\" é");
}

#[test]
fn what_is_missing_or_wrong_is_named() {
    type Case = (&'static [&'static str], Option<&'static str>, Option<&'static str>, &'static str);
    let cases: [Case; 8] = [
        (&[], None, Some("0123456789abcdef"), "no DATABASE_URL"),
        (&[], Some(URL), None, "no NOTES_SECRET"),
        (&[], Some(URL), Some("short"), "NOTES_SECRET is shorter"),
        (&[], Some("postgres://notes:pa55word@h:port/x"), Some("0123456789abcdef"), "DATABASE_URL is not"),
        (&["--listen"], Some(URL), Some("0123456789abcdef"), "`--listen` needs"),
        (&["--listen", "here"], Some(URL), Some("0123456789abcdef"), "`--listen here` is not"),
        (&["--config", "/nowhere/notes.toml"], Some(URL), Some("0123456789abcdef"), "/nowhere/notes.toml"),
        (&["--verbose"], Some(URL), Some("0123456789abcdef"), "unknown argument `--verbose`"),
    ];
    for (arguments, url, secret, says) in cases {
        let Err(error) = read(arguments, url, secret) else { panic!("accepted, instead of: {says}") };
        let text = crate::store::chain(&error);
        assert!(text.contains(says), "{text}");
        assert!(!text.contains("pa55word") && !text.contains("short "), "a secret in: {text}");
    }
}
