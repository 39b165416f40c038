//! How a machine joins, and how it does not.

use super::site::Site;

#[test]
fn joining_again_with_a_good_identity_changes_nothing() {
    let site = Site::new(&[]);
    let server = site.serve();
    let token = site.invite("cellar");
    let ran = site.join("cellar", &token);
    assert_eq!(ran.exit, 0, "{ran}");
    assert!(ran.err.contains("this machine is cellar of home now"), "{ran}");
    let identity = || {
        let files = std::fs::read_dir(site.state("cellar").join("identity")).unwrap();
        let read = |path: std::path::PathBuf| (path.clone(), std::fs::read(path).unwrap());
        let mut all: Vec<_> = files.map(|file| read(file.unwrap().path())).collect();
        all.sort();
        all
    };
    let before = identity();
    for token in [token, site.invite("cellar")] {
        let ran = site.join("cellar", &token);
        assert_eq!(ran.exit, 0, "{ran}");
        assert!(ran.err.contains("nothing has changed"), "{ran}");
        assert_eq!(identity(), before);
    }
    server.stop();
}
