//! A secret behind a passphrase: what a person carries, so that a copy of the file alone is worth nothing.
//!
//! The format is age's (age-encryption.org/v1, scrypt), so that plain `age -d` asks for the passphrase too.

use std::io::{Read, Write};

use age::scrypt;
use age::secrecy::SecretString;
use zeroize::Zeroizing;

use crate::Secret;

/// How dear a guess is: scrypt with N = 2^17, which takes 128 MiB and some tenths of a second.
const WORK: u8 = 17;
/// More than this is not done for any file: 1 GiB.
const MOST_WORK: u8 = 20;
/// How a file that is behind a passphrase, or sealed otherwise, begins.
const BEGIN: &[u8] = b"age-encryption.org/v1\n";

/// Something could not be put behind a passphrase.
#[derive(Debug, thiserror::Error)]
#[error("encrypting with a passphrase failed")]
pub struct LockError {
    /// What age said.
    #[from]
    pub source: age::EncryptError,
}

/// Something behind a passphrase could not be read.
#[derive(Debug, thiserror::Error)]
pub enum UnlockError {
    /// It does not open.
    #[error("the passphrase is not the right one")]
    Wrong,
    /// It is no such file, or damaged.
    #[error("this is not what a passphrase opens, or it is damaged")]
    Damaged {
        /// What age said.
        #[source]
        source: age::DecryptError,
    },
    /// The passphrase is no text.
    #[error("the passphrase is not text in UTF-8")]
    NotText,
}

/// Whether a file is behind a passphrase.
#[must_use]
pub fn is_locked(bytes: &[u8]) -> bool {
    bytes.starts_with(BEGIN)
}

/// Puts a secret behind a passphrase.
///
/// # Errors
/// Where it cannot be encrypted.
pub fn lock(plain: &Secret, passphrase: &Secret) -> Result<Vec<u8>, LockError> {
    let mut recipient = scrypt::Recipient::new(text(passphrase).unwrap_or_default());
    recipient.set_work_factor(WORK);
    let encryptor = age::Encryptor::with_recipients(std::iter::once(&recipient as _))?;
    let write = || -> std::io::Result<Vec<u8>> {
        let mut out = Vec::with_capacity(plain.len() + 512);
        let mut writer = encryptor.wrap_output(&mut out)?;
        writer.write_all(plain.expose())?;
        writer.finish()?;
        Ok(out)
    };
    write().map_err(|error| LockError { source: age::EncryptError::Io(error) })
}

/// Takes out what [`lock`] put away.
///
/// # Errors
/// Where the passphrase is another, or the file is damaged.
pub fn unlock(locked: &[u8], passphrase: &Secret) -> Result<Secret, UnlockError> {
    let damaged = |source| UnlockError::Damaged { source };
    let mut identity = scrypt::Identity::new(text(passphrase).ok_or(UnlockError::NotText)?);
    identity.set_max_work_factor(MOST_WORK);
    let decryptor = age::Decryptor::new_buffered(locked).map_err(damaged)?;
    let mut reader = match decryptor.decrypt(std::iter::once(&identity as _)) {
        Err(age::DecryptError::DecryptionFailed | age::DecryptError::KeyDecryptionFailed) => {
            return Err(UnlockError::Wrong);
        }
        read => read.map_err(damaged)?,
    };
    // As large as the ciphertext, so that it never grows and leaves an unwiped copy behind.
    let mut plain = Zeroizing::new(Vec::with_capacity(locked.len()));
    reader.read_to_end(&mut plain).map_err(|error| damaged(error.into()))?;
    Ok(Secret::from_wiped(plain))
}

fn text(passphrase: &Secret) -> Option<SecretString> {
    passphrase.expose_text().map(|text| SecretString::from(text.to_owned()))
}

#[cfg(test)]
mod tests;
