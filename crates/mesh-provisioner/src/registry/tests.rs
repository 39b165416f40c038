//! The table covers what a client may ask for, and a bucket that is right is left alone.

use super::*;

fn bucket() -> BTreeMap<String, Vec<u8>> {
    table().into_iter().map(|r| (r.kind.to_string(), serde_json::to_vec(&r).unwrap())).collect()
}

fn what_to_do(bucket: &BTreeMap<String, Vec<u8>>) -> Vec<Step> {
    steps(&table(), bucket.iter().map(|(key, value)| (key.as_str(), value.as_slice())))
}

#[test]
fn every_kind_is_answered_but_those_that_the_plan_answers() {
    let missing: Vec<Kind> =
        Kind::ALL.into_iter().filter(|kind| table().iter().all(|r| r.kind != *kind)).collect();
    assert_eq!(missing, [Kind::Module, Kind::Consumer, Kind::Gives]);
    assert_eq!(bucket().len(), table().len(), "each kind once");
}

#[test]
fn an_entry_is_written_as_the_contract_says() {
    let bound = String::from_utf8(bucket()["bound"].clone()).unwrap();
    assert_eq!(
        bound,
        r#"{"v":1,"kind":"bound","owner":"<provider>","bucket":"<provider-module>_bound","key":"<node>.<module>.<provision>[.<local>]","field":"values"}"#
    );
    let secret = String::from_utf8(bucket()["secret"].clone()).unwrap();
    assert_eq!(secret, r#"{"v":1,"kind":"secret","owner":"mesh-vault","verb":"mesh-vault.secret"}"#);
}

#[test]
fn a_bucket_that_is_right_is_left_alone() {
    assert_eq!(what_to_do(&bucket()), []);
}

#[test]
fn an_empty_bucket_is_filled() {
    assert_eq!(what_to_do(&BTreeMap::new()).len(), table().len());
}

#[test]
fn what_somebody_broke_heals_and_what_nobody_answers_goes() {
    let mut broken = bucket();
    broken.insert("secret".to_owned(), br#"{"v":1,"kind":"secret","owner":"me","verb":"mine"}"#.to_vec());
    broken.insert("port".to_owned(), b"half a val".to_vec());
    broken.insert("weather".to_owned(), b"{}".to_vec());
    broken.remove("dir");
    let of = |kind| Step::Write(table().into_iter().find(|r| r.kind == kind).unwrap());
    let want = [of(Kind::Port), of(Kind::Secret), Step::Delete("weather".to_owned()), of(Kind::Dir)];
    assert_eq!(what_to_do(&broken), want);
}
