//! What is behind a passphrase opens with that alone.

use super::*;

fn secret(text: &str) -> Secret {
    Secret::from(text.to_owned())
}

#[test]
fn opens_with_its_passphrase_alone() {
    let locked = lock(&secret("sentinel-3f"), &secret("correct horse")).unwrap();
    assert!(is_locked(&locked) && !is_locked(b"-----BEGIN NATS USER JWT-----"));
    assert!(!locked.windows(8).any(|bytes| bytes == b"sentinel"));
    assert_eq!(unlock(&locked, &secret("correct horse")).unwrap().expose(), b"sentinel-3f");
    for wrong in ["", "correct horse ", "Correct horse"] {
        assert!(matches!(unlock(&locked, &secret(wrong)), Err(UnlockError::Wrong)), "{wrong}");
    }
    assert!(matches!(unlock(&locked, &Secret::new(vec![0xff])), Err(UnlockError::NotText)));
}

#[test]
fn what_is_damaged_is_said() {
    let mut locked = lock(&secret("x"), &secret("p")).unwrap();
    *locked.last_mut().unwrap() ^= 1;
    assert!(matches!(unlock(&locked, &secret("p")), Err(UnlockError::Damaged { .. })));
    for wrong in [&b""[..], b"age-encryption.org/v1\n", b"-----BEGIN"] {
        assert!(matches!(unlock(wrong, &secret("p")), Err(UnlockError::Damaged { .. })));
    }
}

#[test]
fn a_file_that_asks_for_too_much_work_is_refused() {
    let mut recipient = scrypt::Recipient::new("p".to_owned().into());
    recipient.set_work_factor(1);
    let encryptor = age::Encryptor::with_recipients(std::iter::once(&recipient as _)).unwrap();
    let mut out = Vec::new();
    encryptor.wrap_output(&mut out).unwrap().finish().unwrap();
    let dear = String::from_utf8_lossy(&out).into_owned();
    let line = dear.lines().find(|line| line.starts_with("-> scrypt")).unwrap().to_owned();
    let header = line.trim_end_matches('1').to_owned() + "21";
    let at = out.windows(line.len()).position(|bytes| bytes == line.as_bytes()).unwrap();
    out.splice(at..at + line.len(), header.bytes());
    let refused = unlock(&out, &secret("p")).unwrap_err();
    let UnlockError::Damaged { source } = refused else { panic!("{refused}") };
    assert!(matches!(source, age::DecryptError::ExcessiveWork { required: 21, .. }), "{source:?}");
}
