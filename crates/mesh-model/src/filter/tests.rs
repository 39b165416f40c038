//! Each filter, through its own reader: the value that went in comes back.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![Just("a$b${x}#'\"\\ é\n`!%".to_owned()), "[^\0]{0,40}", "\\PC{0,40}"]
}

proptest! {
    #[test]
    fn json_reads_back(text in any_text()) {
        let written = Filter::Json.apply(&json!(text)).unwrap();
        prop_assert_eq!(serde_json::from_str::<String>(&written).unwrap(), text);
    }

    #[test]
    fn toml_reads_back(text in any_text()) {
        let written = Filter::Toml.apply(&json!(text)).unwrap();
        let table: toml::Table = toml::from_str(&format!("x = {written}")).unwrap();
        prop_assert_eq!(table["x"].as_str().unwrap(), text);
    }

    #[test]
    fn env_reads_back(text in any_text().prop_filter("a dotenv file has no bare CR", |t| !t.contains('\r'))) {
        let written = Filter::Env.apply(&json!(text)).unwrap();
        let file = format!("X={written}\n");
        let read: Vec<(String, String)> =
            dotenvy::from_read_iter(file.as_bytes()).collect::<Result<_, _>>().unwrap();
        prop_assert_eq!(&read[0].1, &text);
    }

    #[test]
    fn url_holds_only_what_is_unreserved(text in any_text()) {
        let written = Filter::Url.apply(&json!(text)).unwrap();
        prop_assert!(written.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._~%".contains(&b)));
        let read = percent_encoding::percent_decode_str(&written).decode_utf8().unwrap();
        prop_assert_eq!(read, text);
    }
}

#[test]
fn a_shell_reads_it_back() {
    for text in ["", "plain", "a$b${x}#'\"\\ é\n`!%", "''", "-n", "*", "~"] {
        let written = Filter::Sh.apply(&json!(text)).unwrap();
        let out =
            std::process::Command::new("sh").args(["-c", &format!("printf %s {written}")]).output().unwrap();
        assert_eq!(String::from_utf8(out.stdout).unwrap(), text);
    }
}

#[test]
fn a_password_in_a_url_parses_back() {
    let written = Filter::Url.apply(&json!("p@s/s:w?#%")).unwrap();
    assert_eq!(written, "p%40s%2Fs%3Aw%3F%23%25");
}

#[test]
fn values_that_are_not_text() {
    assert_eq!(Filter::Toml.apply(&json!(5)).unwrap(), "5");
    assert_eq!(Filter::Toml.apply(&json!(["a", 1, true])).unwrap(), r#"["a", 1, true]"#);
    assert_eq!(Filter::Lines.apply(&json!(["a", "b"])).unwrap(), "a\nb");
    assert_eq!(Filter::Lines.apply(&json!(["a", "b\nc"])), Err(FilterError::LineBreak(2)));
    assert_eq!(Filter::Lines.apply(&json!("a")), Err(FilterError::NotAList));
    assert_eq!(Filter::Url.apply(&json!(["a"])), Err(FilterError::NotText(Filter::Url)));
    assert_eq!(Filter::Base64.apply(&json!("é")).unwrap(), "w6k=");
}
