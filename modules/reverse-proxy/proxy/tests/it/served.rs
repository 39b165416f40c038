//! What is served, and what is not: as the consumers file says, at once, and never something older.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::stage::{Stage, consumer};
use crate::target::{Target, says};
use crate::until;

#[test]
fn a_name_is_served_and_its_consumer_is_told() {
    let (stage, notes) = (Stage::new(), Target::named("notes"));
    let answers = stage.serve(&[consumer("notes@cellar", "Notes.example.org", notes.port)]);
    assert_eq!(
        answers[0]["values"],
        serde_json::json!({"name": "notes.example.org", "url": "http://notes.example.org:8080/"})
    );
    for host in ["notes.example.org", "NOTES.example.org:8080", "notes.example.org."] {
        let answer = stage.get(host, "/");
        assert_eq!((answer.status, answer.text()), (200, "notes"), "{host}");
    }
}

#[test]
fn a_name_that_is_not_served_is_refused_with_those_that_are() {
    let (stage, notes) = (Stage::new(), Target::named("notes"));
    let nothing = stage.get("a.example.org", "/");
    assert_eq!(nothing.status, 421);
    assert!(
        nothing.text().contains("`a.example.org` is not served here.\nNothing is."),
        "{}",
        nothing.text()
    );
    stage.serve(&[
        consumer("wiki@cellar", "wiki.example.org", notes.port),
        consumer("notes@cellar", "notes.example.org", notes.port),
    ]);
    let answer = stage.get("a.example.org", "/");
    let id = answer.field("x-request-id").unwrap();
    let page = format!(
        "421 Misdirected Request\n\n`a.example.org` is not served here.\nThese names are:\n\n  notes.example.org\n  wiki.example.org\n\nnode gate, request {id}\n"
    );
    assert_eq!((answer.status, answer.text()), (421, page.as_str()));
    assert_ne!(stage.get("a.example.org", "/").field("x-request-id"), Some(id));
    assert!(notes.asked().is_empty());
}

#[test]
fn names_are_kept_to_ourselves_where_that_is_asked_for() {
    let stage = Stage::with(|config| config.disclose = mesh_reverse_proxy::Disclose::Nothing);
    let notes = Target::named("notes");
    stage.serve(&[consumer("notes@cellar", "notes.example.org/api", notes.port)]);
    let other = stage.get("a.example.org", "/");
    assert!(other.status == 421 && !other.text().contains("notes"), "{}", other.text());
    let path = stage.get("notes.example.org", "/");
    assert!(path.status == 404 && !path.text().contains("/api"), "{}", path.text());
}

#[test]
fn ten_thousand_names_are_not_all_listed() {
    let (stage, notes) = (Stage::new(), Target::named("notes"));
    let names: Vec<(String, String)> =
        (0..10_000).map(|n| (format!("m{n}@cellar"), format!("n{n:05}.example.org"))).collect();
    let all: Vec<_> = names.iter().map(|(who, name)| consumer(who, name, notes.port)).collect();
    stage.serve(&all);
    let answer = stage.get("a.example.org", "/");
    assert!(answer.text().contains("  n00199.example.org\n  and 9800 more\n"), "{}", answer.text());
    assert_eq!(stage.get("n09999.example.org", "/").text(), "notes");
}

/// Life 43.
#[test]
fn a_withdrawn_name_is_refused_within_a_second_and_another_may_have_it_at_once() {
    let (stage, notes, wiki) = (Stage::new(), Target::named("notes"), Target::named("wiki"));
    let blog = consumer("blog@cellar", "b.example.org", notes.port);
    stage.serve(&[consumer("notes@cellar", "n.example.org", notes.port), blog]);
    // Over one connection, which has been used before.
    let mut client = stage.client();
    assert_eq!(client.get("n.example.org", "/").text(), "notes");

    stage.write(&[consumer("blog@cellar", "b.example.org", notes.port)]);
    let written = Instant::now();
    let refused = until("it is refused", || {
        let answer = client.get("n.example.org", "/");
        (answer.status == 421).then_some(answer)
    });
    assert!(written.elapsed() < Duration::from_secs(1), "{:?}", written.elapsed());
    assert!(refused.text().contains("These names are:\n\n  b.example.org\n"), "{}", refused.text());
    assert_eq!(stage.answers().len(), 1);

    let asked = notes.asked().len();
    stage.write(&[consumer("wiki@cellar", "n.example.org", wiki.port)]);
    let answer = until("it is served again", || {
        let answer = client.get("n.example.org", "/");
        (answer.status != 421).then_some(answer)
    });
    assert_eq!((answer.status, answer.text()), (200, "wiki"));
    assert_eq!(notes.asked().len(), asked);
}

#[test]
fn a_name_that_changes_hands_is_never_answered_by_the_former() {
    let (stage, notes, wiki) = (Stage::new(), Target::named("notes"), Target::named("wiki"));
    let served = |to: &str| match to {
        "notes" => stage.serve(&[consumer("notes@cellar", "n.example.org", notes.port)]),
        _ => stage.serve(&[consumer("wiki@cellar", "n.example.org", wiki.port)]),
    };
    let mut clients: Vec<_> = (0..8).map(|_| stage.client()).collect();
    for turn in 0..6 {
        let (to, target) = [("notes", &notes), ("wiki", &wiki)][turn % 2];
        // It is answered for, so it is in force: from here on everybody gets the new one.
        served(to);
        let before = target.asked().len();
        for client in &mut clients {
            assert_eq!(client.get("n.example.org", "/").text(), to);
        }
        assert_eq!(target.asked().len(), before + clients.len());
    }
}

/// The port of a module that has gone is another module's now, and the connections that were kept are still open.
#[test]
fn a_target_of_another_module_is_never_reached_over_a_kept_connection() {
    let stage = Stage::new();
    let target = Target::named("shared");
    stage.serve(&[consumer("notes@cellar", "n.example.org", target.port)]);
    stage.get("n.example.org", "/");
    stage.get("n.example.org", "/");
    let before = target.connections();
    stage.serve(&[consumer("wiki@cellar", "n.example.org", target.port)]);
    stage.get("n.example.org", "/");
    assert_eq!(target.connections(), before + 1);
}

#[test]
fn no_request_is_lost_while_the_table_is_replaced() {
    static STOP: AtomicBool = AtomicBool::new(false);
    let (stage, notes) = (Stage::new(), Target::named("notes"));
    let names: Vec<(String, String)> =
        (0..500).map(|n| (format!("m{n}@cellar"), format!("n{n}.example.org"))).collect();
    let all: Vec<_> = names.iter().map(|(who, name)| consumer(who, name, notes.port)).collect();
    stage.serve(&all);
    let address = stage.address;
    let load: Vec<_> = (0..4)
        .map(|thread| {
            std::thread::spawn(move || {
                let mut client = crate::client::Client::connect(address);
                let mut count = 0_u32;
                while !STOP.load(Ordering::Relaxed) || count == 0 {
                    // The first name is in every table.
                    let answer =
                        client.get(if thread % 2 == 0 { "n0.example.org" } else { "n1.example.org" }, "/");
                    assert_eq!((answer.status, answer.text()), (200, "notes"));
                    count += 1;
                }
                count
            })
        })
        .collect();
    for turn in 0..10 {
        stage.serve(&all[..2 + (turn * 37) % 498]);
    }
    STOP.store(true, Ordering::Relaxed);
    let answered: u32 = load.into_iter().map(|thread| thread.join().unwrap()).sum();
    assert!(answered > 0);
}

#[test]
fn what_was_begun_ends_as_it_began() {
    let go = std::sync::Arc::new(AtomicBool::new(false));
    let gate = go.clone();
    let notes = Target::new(move |_, stream| {
        until("it may answer", || gate.load(Ordering::SeqCst).then_some(()));
        says(stream, "notes")
    });
    let stage = Stage::new();
    stage.serve(&[consumer("notes@cellar", "n.example.org", notes.port)]);
    let mut client = stage.client();
    client.send("GET / HTTP/1.1\r\nHost: n.example.org\r\n\r\n");
    until("it is asked", || (notes.asked().len() == 1).then_some(()));
    stage.serve(&[]);
    go.store(true, Ordering::SeqCst);
    let answer = client.answer();
    assert_eq!((answer.status, answer.text()), (200, "notes"));
    until("it is refused", || (client.get("n.example.org", "/").status == 421).then_some(()));
}

#[test]
fn a_file_that_cannot_be_read_changes_nothing() {
    let (stage, notes) = (Stage::new(), Target::named("notes"));
    let served = [consumer("notes@cellar", "n.example.org", notes.port)];
    stage.serve(&served);
    let answers = stage.answers();
    let whole = crate::stage::file(&[]).to_string();
    let twice = crate::stage::file(&[
        consumer("notes@cellar", "x.example.org", notes.port),
        consumer("notes@cellar", "y.example.org", notes.port),
    ]);
    for text in ["", "{", &whole[..whole.len() - 1], "[]", "{\"v\": 2}", &twice.to_string()] {
        stage.write_text(text);
        // Longer than it takes to be looked at.
        let written = Instant::now();
        while written.elapsed() < Duration::from_millis(400) {
            assert_eq!(stage.get("n.example.org", "/").status, 200, "{text}");
        }
        assert_eq!(stage.answers(), answers);
    }
    stage.serve(&[consumer("wiki@cellar", "w.example.org", notes.port)]);
    assert_eq!(stage.get("n.example.org", "/").status, 421);
}

/// Life 42, where the planner did not see it.
#[test]
fn a_name_that_is_taken_is_an_error_for_whoever_comes_later() {
    let (stage, notes, wiki) = (Stage::new(), Target::named("notes"), Target::named("wiki"));
    stage.serve(&[consumer("wiki@cellar", "n.example.org", wiki.port)]);
    let answers = stage.serve(&[
        consumer("notes@cellar", "n.example.org", notes.port),
        consumer("wiki@cellar", "n.example.org", wiki.port),
        consumer("blog@cellar", "b.example.org", notes.port),
        consumer("bad@cellar", "b example.org", notes.port),
    ]);
    let of = |module: &str| answers.iter().find(|answer| answer["module"] == module).unwrap();
    let why =
        "the name `n.example.org` is taken by `wiki`: give one of the two another name, or another path";
    assert_eq!(of("notes")["error"], why);
    assert_eq!(of("wiki")["values"]["name"], "n.example.org");
    assert_eq!(of("blog")["values"]["name"], "b.example.org");
    assert!(of("bad")["error"].as_str().unwrap().contains("no host name"));
    assert_eq!(stage.get("n.example.org", "/").text(), "wiki");
}

#[test]
fn paths_of_a_name_may_be_of_several_modules() {
    let (stage, site, api) = (Stage::new(), Target::named("site"), Target::named("api"));
    stage.serve(&[
        consumer("site@cellar", "n.example.org", site.port),
        consumer("api@cellar", "n.example.org/api", api.port),
        consumer("only@cellar", "o.example.org/x", api.port),
    ]);
    for (path, who) in [("/", "site"), ("/api", "api"), ("/api/x?y", "api"), ("/apis", "site")] {
        assert_eq!(stage.get("n.example.org", path).text(), who, "{path}");
    }
    assert_eq!(api.asked()[1].path(), "/api/x?y", "the path is passed on whole");
    // What leads elsewhere once it is read as the target reads it.
    for path in ["/api/../x", "/api/%2e%2E/x", "/x/..%2fapi", "//api", "/./api"] {
        assert_eq!(stage.get("n.example.org", path).status, 400, "{path}");
    }
    let other = stage.get("o.example.org", "/y");
    assert_eq!(other.status, 404);
    assert!(other.text().contains("These paths are:\n\n  /x\n"), "{}", other.text());
}
