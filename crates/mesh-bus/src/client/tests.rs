//! Tests of what the server says.

use super::*;

#[test]
fn the_refused_subject_is_found() {
    let cases = [
        (r#"Permissions Violation for Publish to "$KV.b.k""#, Some("$KV.b.k")),
        (r#"permissions Violation for Subscription to "a.>" using queue "q""#, Some("a.>")),
        ("User Authentication Expired", None),
    ];
    for (text, subject) in cases {
        assert_eq!(refused_subject(text), subject);
    }
}

#[test]
fn the_pause_between_attempts_is_bounded() {
    for attempts in [0, 1, 5, 6, 100, usize::MAX] {
        assert!(reconnect_delay(attempts) <= RECONNECT_DELAY);
        assert!(reconnect_delay(attempts) >= Duration::from_millis(5));
    }
}

#[test]
fn an_error_of_the_api_is_found() {
    assert_eq!(api_error(br#"{"stream":"KV_b"}"#), None);
    let error = br#"{"error":{"code":400,"err_code":10058,"description":"stream name already in use"}}"#;
    assert_eq!(api_error(error), Some((10058, "stream name already in use".to_owned())));
    assert!(api_error(b"nonsense").is_some());
}
