//! What the server keeps of a password: a SCRAM-SHA-256 verifier (RFC 5802, RFC 7677), computed here.
//!
//! So no password reaches the server's log, its statistics or its memory. The salt is a keyed MAC of the role's name,
//! which makes the verifier a pure function of role and password: whether the server has the delivered password is
//! then a comparison of strings. The salt's key is the superuser's password, stretched as a verifier is: there is
//! nothing more to keep or to lose, and since whoever begins a login is shown the salt, it must not be easier to guess
//! that password from it than from a verifier.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use data_encoding::BASE64;
use hmac::{Hmac, Mac};
use mesh_seal::{DigestKey, KeyedDigest, Secret, SystemRandom};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::name::RoleName;

/// PostgreSQL's own number. A delivered password is random, so more would cost every login and win nothing.
const ITERATIONS: u32 = 4096;

/// A verifier as `pg_authid.rolpassword` holds it. Whoever has it can guess passwords at their leisure, so it is
/// treated as a secret.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Verifier(Zeroizing<String>);

impl Verifier {
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Verifier(..)")
    }
}

/// Makes verifiers, and remembers by keyed digest which one belongs to which password: 4,096 iterations for each of a
/// thousand roles are a second, and a pass that changes nothing should not pay it.
#[derive(Debug)]
pub(crate) struct Verifiers {
    salts: Zeroizing<[u8; 32]>,
    digests: DigestKey,
    known: BTreeMap<RoleName, Known>,
}

#[derive(Debug)]
struct Known {
    password: KeyedDigest,
    verifier: KeyedDigest,
}

impl Verifiers {
    /// # Panics
    /// Where the system gives no randomness.
    pub(crate) fn new(superuser: &Secret) -> Self {
        let salts = Zeroizing::new(stretch(superuser.expose(), b"mesh-postgres-provisioner salts v1"));
        let digests = DigestKey::generate(&mut SystemRandom).expect("the system gives randomness");
        Self { salts, digests, known: BTreeMap::new() }
    }

    /// The verifier of a role's password.
    pub(crate) fn verifier(&mut self, role: &RoleName, password: &Secret) -> Verifier {
        let salt = blake3::keyed_hash(&self.salts, role.as_str().as_bytes());
        let verifier = verifier(password.expose(), &salt.as_bytes()[..16]);
        let known = Known {
            password: self.digests.digest(password.expose()),
            verifier: self.digests.digest(verifier.expose().as_bytes()),
        };
        self.known.insert(role.clone(), known);
        verifier
    }

    /// The verifier, but only where the server has another one.
    pub(crate) fn unless_there(
        &mut self,
        role: &RoleName,
        password: &Secret,
        there: Option<KeyedDigest>,
    ) -> Option<Verifier> {
        let delivered = self.digests.digest(password.expose());
        let known = self.known.get(role).filter(|known| known.password == delivered);
        if known.is_some_and(|known| Some(known.verifier) == there) {
            return None;
        }
        let verifier = self.verifier(role, password);
        (Some(self.digest(verifier.expose())) != there).then_some(verifier)
    }

    /// What stands for a verifier that was read from the server.
    pub(crate) fn digest(&self, verifier: &str) -> KeyedDigest {
        self.digests.digest(verifier.as_bytes())
    }

    /// What stands for a login as a whole: what it was proved with.
    pub(crate) fn token(&self, password: &Secret, database: &str, group: &str) -> KeyedDigest {
        self.digests.digest_all([password.expose(), database.as_bytes(), group.as_bytes()])
    }

    /// Forgets every role that is not among these.
    pub(crate) fn keep(&mut self, roles: &BTreeSet<&RoleName>) {
        self.known.retain(|role, _| roles.contains(role));
    }
}

fn verifier(password: &[u8], salt: &[u8]) -> Verifier {
    let salted = Zeroizing::new(stretch(&prepared(password), salt));
    let client_key = Zeroizing::new(mac(&*salted, b"Client Key"));
    let stored_key = Sha256::digest(*client_key);
    let server_key = mac(&*salted, b"Server Key");
    Verifier(Zeroizing::new(format!(
        "SCRAM-SHA-256${ITERATIONS}:{}${}:{}",
        BASE64.encode(salt),
        BASE64.encode(&stored_key),
        BASE64.encode(&server_key)
    )))
}

/// As libpq and the server do: SASLprep (RFC 4013) where the password allows it, else the bytes as they are. For ASCII
/// it changes nothing; `é` as one character or as two becomes the same.
fn prepared(password: &[u8]) -> Zeroizing<Vec<u8>> {
    let text = std::str::from_utf8(password).ok();
    let prepared = text.and_then(|text| stringprep::saslprep(text).ok());
    Zeroizing::new(prepared.map_or_else(|| password.to_vec(), |text| text.into_owned().into_bytes()))
}

/// `Hi` of RFC 5802: PBKDF2 with one block.
fn stretch(password: &[u8], salt: &[u8]) -> [u8; 32] {
    let keyed = keyed(password);
    let mut first = keyed.clone();
    first.update(salt);
    first.update(&1_u32.to_be_bytes());
    let mut last = first.finalize().into_bytes();
    let mut all = last;
    for _ in 1..ITERATIONS {
        let mut next = keyed.clone();
        next.update(&last);
        last = next.finalize().into_bytes();
        all.iter_mut().zip(&last).for_each(|(all, last)| *all ^= last);
    }
    all.into()
}

fn mac(key: &[u8], text: &[u8]) -> [u8; 32] {
    let mut mac = keyed(key);
    mac.update(text);
    mac.finalize().into_bytes().into()
}

fn keyed(key: &[u8]) -> Hmac<Sha256> {
    Hmac::new_from_slice(key).expect("HMAC takes a key of any length")
}

#[cfg(test)]
mod tests;
