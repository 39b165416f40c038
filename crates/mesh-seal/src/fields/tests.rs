//! Fields come back as they were, and are never printed.

use proptest::prelude::*;

use super::*;

fn fields<const N: usize>(pairs: [(&str, &str); N]) -> Fields {
    let mut fields = Fields::new();
    pairs.into_iter().for_each(|(field, text)| fields.insert(field, Secret::from(text.to_owned())));
    fields
}

proptest! {
    #[test]
    fn any_text_comes_back(texts in proptest::collection::btree_map("[a-z][a-z_]{0,8}", any::<String>(), 0..5)) {
        let mut fields = Fields::new();
        texts.iter().for_each(|(field, text)| fields.insert(field, Secret::from(text.clone())));
        let encoded = fields.encode().unwrap();
        let back = Fields::decode(&encoded).unwrap();
        let read: Vec<_> = back.iter().map(|(f, s)| (f.to_owned(), s.expose_text().unwrap().to_owned())).collect();
        prop_assert_eq!(read, texts.into_iter().collect::<Vec<_>>());
    }
}

#[test]
fn encoded_as_plain_json() {
    let encoded = fields([("user", "u"), ("password", "a\"b")]).encode().unwrap();
    assert_eq!(encoded.expose_text().unwrap(), r#"{"password":"a\"b","user":"u"}"#);
}

#[test]
fn neither_debug_nor_errors_tell() {
    assert_eq!(format!("{:?}", fields([("password", "sentinel-9e")])), r#"{"password": Secret(..)}"#);
    for wrong in [r#""sentinel-9e""#, r#"{"a":["sentinel-9e"]}"#, "sentinel-9e", r#"{"a":7}"#] {
        let error = Fields::decode(&Secret::from(wrong.to_owned())).unwrap_err();
        assert_eq!(error, FieldsError::NotFields);
    }
    let mut fields = Fields::new();
    fields.insert("password", Secret::new(vec![0xff]));
    assert_eq!(fields.encode().unwrap_err(), FieldsError::NotText { field: "password".to_owned() });
}

#[test]
fn labelled_in_one_line() {
    let label = serde_json::json!({"node": "cellar", "name": "db"});
    let labelled = fields([("password", "a\n\u{0}b")]).encode_labelled(&label).unwrap();
    let line = "{\"node\":\"cellar\",\"name\":\"db\",\"secrets\":{\"password\":\"a\\n\\u0000b\"}}\n";
    assert_eq!(labelled.expose_text().unwrap(), line);
    let refused = fields([("password", "sentinel-9e")]).encode_labelled(&"no object").unwrap_err();
    assert_eq!(refused, FieldsError::NotLabel);
}
