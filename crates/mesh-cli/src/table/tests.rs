//! Tables as they stand in eighty columns.

use super::*;

fn plain(table: &Table) -> String {
    table.laid_out(|_, text| text.to_owned())
}

#[test]
fn the_last_column_is_wrapped_and_a_note_is_indented() {
    let mut table = Table::new(["NODE", "MODULE", "WHY"]);
    table.row(["attic".into(), "postgres".into(), "".into()]);
    let why = "waiting for db of postgres@attic, which has not accepted the credential that was made for it";
    table.row(["cellar".into(), "notes".into(), why.into()]);
    table.note("since 2026-01-01 00:00:00");
    insta::assert_snapshot!(plain(&table), @r"
    NODE    MODULE    WHY
    attic   postgres
    cellar  notes     waiting for db of postgres@attic, which has not accepted the
                      credential that was made for it
        since 2026-01-01 00:00:00
    ");
}

#[test]
fn colour_does_not_count_as_width() {
    let mut table = Table::new(["A", "B"]);
    table.row([Cell::toned("x", Tone::Good), "y".into()]);
    let text = table.laid_out(|_, text| format!("<{text}>"));
    insta::assert_snapshot!(text, @r"
    <A>  <B>
    <x>  y
    ");
}

#[test]
fn a_word_is_never_broken() {
    assert_eq!(wrapped("a bb ccc", 4), ["a bb", "ccc"]);
    assert_eq!(wrapped("abcdefgh i", 4), ["abcdefgh", "i"]);
    assert_eq!(wrapped("a\nb", 4), ["a", "b"]);
    assert_eq!(wrapped("", 4), [""]);
}
