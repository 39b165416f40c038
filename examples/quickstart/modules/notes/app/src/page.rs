//! How it looks: one page, its style in it, no script.
//!
//! Everything that somebody wrote goes through [`escape`]; the policy sent with the page lets nothing run in any case.

use std::fmt::Write;

use crate::form::LONGEST;
use crate::store::Note;

/// The content security policy: no script, no picture, nothing from elsewhere.
pub(crate) const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

const STYLE: &str = include_str!("page.css");

/// What one page shows.
pub(crate) struct Page<'a> {
    pub(crate) title: &'a str,
    pub(crate) notes: &'a [Note],
    /// Where the next page starts, if there is one.
    pub(crate) older: Option<i64>,
    pub(crate) token: &'a str,
    /// What was being written and could not be kept.
    pub(crate) draft: &'a str,
    pub(crate) problem: Option<&'a str>,
}

impl Page<'_> {
    /// The whole document.
    pub(crate) fn html(&self) -> String {
        let title = escape(self.title);
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n<style>{STYLE}</style>\n\
             </head>\n<body>\n<main>\n<h1>{title}</h1>\n{}{}{}</main>\n</body>\n</html>\n",
            self.form(),
            self.list(),
            self.more(),
        )
    }

    fn form(&self) -> String {
        let problem =
            self.problem.map(|text| format!("<p class=\"problem\" role=\"alert\">{}</p>\n", escape(text)));
        // The line break after the tag is the one that HTML drops there: a draft may begin with its own.
        format!(
            "<form method=\"post\" action=\"/\">\n{}<label for=\"body\">A new note</label>\n\
             <textarea id=\"body\" name=\"body\" rows=\"4\" maxlength=\"{LONGEST}\" required \
             placeholder=\"What should not be forgotten?\">\n{}</textarea>\n\
             <input type=\"hidden\" name=\"token\" value=\"{}\">\n<button>Keep</button>\n</form>\n",
            problem.unwrap_or_default(),
            escape(self.draft),
            escape(self.token),
        )
    }

    fn list(&self) -> String {
        if self.notes.is_empty() {
            let empty = "<p class=\"empty\">No notes here yet. The first one is yours to write.</p>\n";
            return if self.problem.is_some() { String::new() } else { empty.to_owned() };
        }
        let mut list = String::from("<ol>\n");
        for note in self.notes {
            let shown = note.written.replace('T', " ").replace('Z', " UTC");
            write!(
                list,
                "<li>\n<p>{}</p>\n<time datetime=\"{}\">{}</time>\n</li>\n",
                escape(&note.body),
                escape(&note.written),
                escape(&shown)
            )
            .expect("a String takes whatever is written to it");
        }
        list.push_str("</ol>\n");
        list
    }

    fn more(&self) -> String {
        self.older
            .map(|id| format!("<nav><a href=\"/?before={id}\">Older notes</a></nav>\n"))
            .unwrap_or_default()
    }
}

/// Text as HTML shows it, within an element or a quoted attribute.
fn escape(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            c => html.push(c),
        }
    }
    html
}

#[cfg(test)]
mod tests;
