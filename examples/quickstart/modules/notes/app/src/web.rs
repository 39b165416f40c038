//! What the application answers: the page, a new note, and whether it is well.

use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Form, RawQuery, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, LOCATION, REFERRER_POLICY, SET_COOKIE};
use axum::http::header::{CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde::Deserialize;

use crate::config::Config;
use crate::form::{self, Key, Session};
use crate::page::{self, Page};
use crate::store::{self, Note, Store};

/// A note of the longest kind, every character of it written as `%XX` four times, and the token.
const LARGEST_FORM: usize = form::LONGEST * 12 + 1024;

const AWAY: &str =
    "The notebook cannot reach its database just now. It keeps trying: please try again in a moment.";
const NOT_OURS: &str =
    "This page had been open for too long. Your note is still here: please press Keep once more.";

struct App {
    title: String,
    key: Key,
    store: Store,
}

/// What the page's form sends.
#[derive(Deserialize)]
struct NewNote {
    #[serde(default)]
    body: String,
    #[serde(default)]
    token: String,
}

/// Every address that the application answers.
pub(crate) fn routes(config: Config) -> Router {
    let app = App { title: config.title, key: config.key, store: Store::new(config.database) };
    Router::new()
        .route("/", get(read).post(write))
        .route("/health", get(health))
        .layer(DefaultBodyLimit::max(LARGEST_FORM))
        .with_state(Arc::new(app))
}

async fn health(State(app): State<Arc<App>>) -> (StatusCode, &'static str) {
    match app.store.answers().await {
        Ok(()) => (StatusCode::OK, "well\n"),
        Err(error) => {
            tracing::warn!("not well: {}", store::chain(&error));
            (StatusCode::SERVICE_UNAVAILABLE, "the database does not answer\n")
        }
    }
}

async fn read(State(app): State<Arc<App>>, RawQuery(query): RawQuery, headers: HeaderMap) -> Response {
    let before = query.as_deref().and_then(|query| query.strip_prefix("before=")?.parse().ok());
    app.page(&headers, before, "", None).await
}

async fn write(State(app): State<Arc<App>>, headers: HeaderMap, Form(new): Form<NewNote>) -> Response {
    let session = app.key.session(&headers);
    let Some(nonce) = session.as_ref().and_then(|session| app.key.nonce(session, &new.token)) else {
        return app.page(&headers, None, &new.body, Some((StatusCode::FORBIDDEN, NOT_OURS.to_owned()))).await;
    };
    let body = match form::fit(&new.body) {
        Ok(body) => body,
        Err(unfit) => {
            let problem = Some((StatusCode::UNPROCESSABLE_ENTITY, unfit.to_string()));
            return app.page(&headers, None, &new.body, problem).await;
        }
    };
    match app.store.write(&body, nonce).await {
        Ok(()) => (StatusCode::SEE_OTHER, [(LOCATION, "/")]).into_response(),
        Err(error) => {
            tracing::warn!("a note was not kept: {}", store::chain(&error));
            let problem = Some((StatusCode::SERVICE_UNAVAILABLE, AWAY.to_owned()));
            app.show(&headers, &[], None, &new.body, problem)
        }
    }
}

type Problem = Option<(StatusCode, String)>;

impl App {
    /// The page with the notes before a note (or the newest), what somebody was writing, and what is wrong with it.
    async fn page(
        &self,
        headers: &HeaderMap,
        before: Option<i64>,
        draft: &str,
        problem: Problem,
    ) -> Response {
        match self.store.latest(before).await {
            Ok(mut notes) => {
                let more = notes.len() > store::PAGE;
                notes.truncate(store::PAGE);
                let older = notes.last().map(|note| note.id).filter(|_| more);
                self.show(headers, &notes, older, draft, problem)
            }
            Err(error) => {
                tracing::warn!("the page has no notes: {}", store::chain(&error));
                let problem = Some((StatusCode::SERVICE_UNAVAILABLE, AWAY.to_owned()));
                self.show(headers, &[], None, draft, problem)
            }
        }
    }

    fn show(
        &self,
        headers: &HeaderMap,
        notes: &[Note],
        older: Option<i64>,
        draft: &str,
        problem: Problem,
    ) -> Response {
        let known = self.key.session(headers);
        let fresh = known.is_none().then(|| self.key.new_session());
        let session: &Session = known.as_ref().or(fresh.as_ref()).expect("one of the two was just made");
        let (status, problem) = problem.map_or((StatusCode::OK, None), |(status, text)| (status, Some(text)));
        let token = self.key.token(session);
        let page =
            Page { title: &self.title, notes, older, token: &token, draft, problem: problem.as_deref() };
        let headers = [
            (CONTENT_TYPE, "text/html; charset=utf-8"),
            (CACHE_CONTROL, "no-store"),
            (CONTENT_SECURITY_POLICY, page::POLICY),
            (X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (REFERRER_POLICY, "same-origin"),
        ];
        let mut response = (status, headers, page.html()).into_response();
        if let Some(session) = fresh {
            let cookie = self.key.cookie(&session).parse().expect("hexadecimal digits fit a header");
            response.headers_mut().insert(SET_COOKIE, cookie);
        }
        response
    }
}
