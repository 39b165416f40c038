//! How the application knows that a form is its own: a signed cookie, and a token in the page that belongs to it.
//!
//! Nothing is kept on the server. A cookie is `<id>.<mac of id>`; a token is `<nonce>.<mac of id and nonce>`. Another
//! site can have a browser send a form, but cannot know a token that fits the browser's cookie. The nonce is stored
//! with the note, so that a form sent twice makes one note.

use axum::http::HeaderMap;
use axum::http::header::COOKIE;
use data_encoding::HEXLOWER;

/// The longest note, in characters.
pub(crate) const LONGEST: usize = 4000;

/// What cookies and tokens are signed with; made from the application's secret, which is not kept.
pub(crate) struct Key {
    mac: [u8; 32],
    cookie: String,
}

/// One browser.
#[derive(Debug, PartialEq)]
pub(crate) struct Session(String);

/// What is wrong with a note that somebody wants to keep.
#[derive(Debug, PartialEq, thiserror::Error)]
pub(crate) enum Unfit {
    #[error("There is nothing in this note yet.")]
    Empty,
    #[error("This note has {length} characters; {LONGEST} is the most that fit.")]
    Long { length: usize },
    #[error("This note holds a character that cannot be kept.")]
    Nul,
}

impl Key {
    /// The key that belongs to a secret.
    pub(crate) fn from_secret(secret: &str) -> Key {
        let mac = blake3::derive_key("notes 2026 cookies and tokens", secret.as_bytes());
        // Browsers share cookies between the ports of one host: two of this application must not share a name.
        let name = blake3::derive_key("notes 2026 name of the cookie", secret.as_bytes());
        Key { mac, cookie: format!("notes-{}", HEXLOWER.encode(&name[..4])) }
    }

    /// The session that the request's cookie proves, if it has one.
    pub(crate) fn session(&self, headers: &HeaderMap) -> Option<Session> {
        let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        cookies
            .flat_map(|line| line.split(';'))
            .filter_map(|pair| pair.trim().strip_prefix(&self.cookie)?.strip_prefix('='))
            .find_map(|value| self.checked(value, &["session"]))
            .map(|id| Session(id.to_owned()))
    }

    /// A session for a browser that has none.
    pub(crate) fn new_session(&self) -> Session {
        Session(random())
    }

    /// The `Set-Cookie` that gives a browser its session.
    pub(crate) fn cookie(&self, session: &Session) -> String {
        let value = self.signed(&session.0, &["session"]);
        format!("{}={value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=31536000", self.cookie)
    }

    /// A token for a form in a page of this session.
    pub(crate) fn token(&self, session: &Session) -> String {
        self.signed(&random(), &["form", &session.0])
    }

    /// The nonce of a token, if this session was given it.
    pub(crate) fn nonce<'t>(&self, session: &Session, token: &'t str) -> Option<&'t str> {
        self.checked(token, &["form", &session.0])
    }

    fn signed(&self, text: &str, purpose: &[&str]) -> String {
        format!("{text}.{}", self.mac(text, purpose).to_hex())
    }

    fn checked<'t>(&self, signed: &'t str, purpose: &[&str]) -> Option<&'t str> {
        let (text, mac) = signed.split_once('.')?;
        // blake3 compares its hashes in constant time.
        (blake3::Hash::from_hex(mac).ok()? == self.mac(text, purpose)).then_some(text)
    }

    fn mac(&self, text: &str, purpose: &[&str]) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new_keyed(&self.mac);
        for part in purpose.iter().chain([&text]) {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        hasher.finalize()
    }
}

/// A note as it is kept: line breaks of one kind, nothing around it.
pub(crate) fn fit(body: &str) -> Result<String, Unfit> {
    let body = body.replace("\r\n", "\n");
    let body = body.trim();
    let length = body.chars().count();
    match length {
        0 => Err(Unfit::Empty),
        // PostgreSQL keeps every character in a text but this one.
        _ if body.contains('\0') => Err(Unfit::Nul),
        _ if length > LONGEST => Err(Unfit::Long { length }),
        _ => Ok(body.to_owned()),
    }
}

fn random() -> String {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).expect("the kernel has random bytes once it has booted");
    HEXLOWER.encode(&bytes)
}

#[cfg(test)]
mod tests;
