//! What a path covers, and which ones are refused.

use super::*;

#[test]
fn a_path_covers_itself_and_what_is_below() {
    let api: PathPrefix = "/api".parse().unwrap();
    for (path, covered) in
        [("/api", true), ("/api/", true), ("/api/x", true), ("/apis", false), ("/", false), ("/API", false)]
    {
        assert_eq!(api.covers(path), covered, "{path}");
        assert!(PathPrefix::root().covers(path));
    }
    assert_eq!("/api/".parse::<PathPrefix>().unwrap(), api);
    assert!("/".parse::<PathPrefix>().unwrap().is_root());
}

#[test]
fn what_is_no_path_of_a_route() {
    let cases = [
        ("", PathError::Relative),
        ("api", PathError::Relative),
        ("//", PathError::Segment),
        ("/a//b", PathError::Segment),
        ("/a/../b", PathError::Segment),
        ("/.", PathError::Segment),
        ("/a?b", PathError::Character),
        ("/a#b", PathError::Character),
        ("/a%2fb", PathError::Character),
        ("/a b", PathError::Character),
        ("/é", PathError::Character),
    ];
    for (text, error) in cases {
        assert_eq!(text.parse::<PathPrefix>(), Err(error), "{text}");
    }
    assert_eq!(format!("/{}", "a".repeat(1024)).parse::<PathPrefix>(), Err(PathError::TooLong));
}

#[test]
fn what_could_be_read_in_two_ways() {
    let ambiguous = [
        "/a/../b",
        "/a/..",
        "/./a",
        "/a/%2e%2e/b",
        "/a/.%2E/b",
        "/a%2fb",
        "/a%5Cb",
        "/a\\b",
        "//a",
        "/a/..;x/b",
        "/a/..%3bx/b",
    ];
    for path in ambiguous {
        assert!(is_ambiguous(path), "{path}");
    }
    for path in ["/", "/a", "/a/b.html", "/.well-known/x", "/a..b/c", "/...", "/a%20b", "/a/"] {
        assert!(!is_ambiguous(path), "{path}");
    }
}
