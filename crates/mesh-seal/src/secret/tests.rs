//! A secret is not printed.

use super::*;

#[test]
fn debug_tells_nothing_not_even_the_length() {
    let secret = Secret::from("sentinel-7c1".to_owned());
    assert_eq!(format!("{secret:?}"), "Secret(..)");
    assert_eq!(format!("{:#?}", Some(&secret)), "Some(\n    Secret(..),\n)");
}

#[test]
fn text_and_bytes() {
    assert_eq!(Secret::from("é".to_owned()).expose(), [0xc3, 0xa9]);
    assert_eq!(Secret::new(vec![0xff]).expose_text(), None);
}
