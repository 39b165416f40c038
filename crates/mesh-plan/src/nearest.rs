//! The nearest known word: what somebody surely meant.

/// The word most like `word`, if any is like it at all.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = word.to_lowercase();
    let near = |candidate: &&str| {
        let distance = strsim::osa_distance(&lower, &candidate.to_lowercase());
        let allowed = (word.chars().count().max(candidate.chars().count()) / 3).max(1);
        (distance <= allowed || is_abbreviation(&lower, candidate)).then_some(distance)
    };
    known.into_iter().filter_map(|candidate| Some((near(&candidate)?, candidate))).min().map(|(_, word)| word)
}

/// `hostname` for `name` and the like: one is the beginning or the end of the other.
fn is_abbreviation(word: &str, candidate: &str) -> bool {
    let (short, long) = if word.len() < candidate.len() { (word, candidate) } else { (candidate, word) };
    short.len() >= 3 && (long.starts_with(short) || long.ends_with(short))
}

/// The way out where a word is not known: the nearest one, and all there are.
pub(crate) fn advice<'a>(word: &str, what: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let near = nearest(word, known.iter().copied());
    match (near, known.len()) {
        (_, 0) => format!("there is no {what}"),
        (Some(near), 1) => format!("did you mean `{near}`?"),
        (Some(near), _) => format!("did you mean `{near}`? There is: {}", listed(&known)),
        (None, _) => format!("there is: {}", listed(&known)),
    }
}

/// One more way out.
pub(crate) fn or(help: &str, more: &str) -> String {
    if help.ends_with('?') { format!("{help} Or {more}") } else { format!("{help}; or {more}") }
}

/// Words in a row, not all of them where they are many.
pub(crate) fn listed<T: AsRef<str>>(words: &[T]) -> String {
    const MOST: usize = 20;
    let mut row: Vec<String> = words.iter().take(MOST).map(|word| format!("`{}`", word.as_ref())).collect();
    if words.len() > MOST {
        row.push(format!("and {} more", words.len() - MOST));
    }
    row.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_is_near() {
        assert_eq!(nearest("titel", ["title", "pages"]), Some("title"));
        assert_eq!(nearest("need", ["needs", "seats"]), Some("needs"));
        assert_eq!(nearest("urlencode", ["url", "json"]), Some("url"));
        assert_eq!(nearest("hostname", ["name", "port"]), Some("name"));
        assert_eq!(nearest("foo", ["needs", "seats"]), None);
    }
}
