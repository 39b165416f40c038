//! Takes the environment's values out of what a service said, before it is told to anybody.
//!
//! A child that fails may print what it was given: the address of a database with the password in it. Its log is
//! the node's alone; why it failed goes on the bus.

use mesh_seal::Secret;

/// Shorter values are words like `true` and `8080`, which would take the meaning out of every sentence.
const SHORTEST: usize = 6;
/// Shorter pieces of a value are words like `postgres`.
const SHORTEST_PIECE: usize = 12;

/// `text` with each value, and each long piece of one, replaced.
pub(super) fn redact(text: &str, env: &[(String, Secret)]) -> String {
    let mut found: Vec<&str> = Vec::new();
    for value in env.iter().filter_map(|(_, value)| value.expose_text()) {
        found.extend(value.lines().filter(|line| line.len() >= SHORTEST));
        let pieces = value.split(|c: char| !c.is_alphanumeric() && c != '-' && c != '_');
        found.extend(pieces.filter(|piece| piece.len() >= SHORTEST_PIECE));
    }
    // The longest first: a piece of a value must not hide the rest of it.
    found.sort_unstable_by_key(|one| std::cmp::Reverse(one.len()));
    found.into_iter().fold(text.to_owned(), |text, one| text.replace(one, "***"))
}

#[cfg(test)]
mod tests {
    //! What is taken out, and what is left in.

    use super::*;

    fn redacted(text: &str, values: &[&str]) -> String {
        let env: Vec<_> =
            values.iter().map(|value| ("X".to_owned(), Secret::from((*value).to_owned()))).collect();
        redact(text, &env)
    }

    #[test]
    fn values_and_their_long_pieces_are_taken_out() {
        let url = "postgres://notes:Zq3vX9sentinel@127.0.0.1:5432/notes";
        assert_eq!(redacted(&format!("no {url}!"), &[url]), "no ***!");
        assert_eq!(redacted("password Zq3vX9sentinel is wrong", &[url]), "password *** is wrong");
        assert_eq!(redacted("port 8080 is true", &["8080", "true"]), "port 8080 is true");
        assert_eq!(redacted("first-line and more", &["first-line\nsecond"]), "*** and more");
    }
}
