//! A changed setting: from the controller's acceptance to the file on disk.
//!
//! The quickstart is up; its title is changed and applied again and again, by the command as anybody would. The beginning is
//! the moment that the plan says it took effect (to the millisecond, taken before it is written); the end is when somebody
//! who reads the file in a loop sees the new title. `change [CHANGES]`, 200 where it is left out.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a program that measures, prints, and fails where it cannot"
)]

use std::path::PathBuf;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use mesh_benches::{quantile, quickstart};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

fn main() {
    let changes = std::env::args().nth(1).map_or(200, |text| text.parse().expect("a number"));
    let quickstart = quickstart();
    quickstart.mesh(&["up", "--detach"]);
    let file = quickstart.path().join(".mesh/nodes/cellar/modules/notes/files/notes.toml");
    let mut took: Vec<f64> = (0..changes)
        .map(|change| {
            let title = format!("Title {change}");
            quickstart.set_title(&title);
            let seen = see(file.clone(), title);
            quickstart.mesh(&["apply", "--yes"]);
            let seen = seen.recv().unwrap();
            let at = quickstart.status()["plan"]["at"].as_str().unwrap().to_owned();
            let accepted = OffsetDateTime::parse(&at, &Rfc3339).unwrap();
            quickstart.mesh(&["status", "--wait", "--timeout", "60"]);
            (seen - accepted).as_seconds_f64() * 1000.0
        })
        .collect();
    println!("a changed setting, accepted to on disk, {changes} times");
    println!("  median {:>7.1} ms (goal: under 10)", quantile(&mut took, 0.5));
    println!("  p99    {:>7.1} ms", quantile(&mut took, 0.99));
}

/// Reads the file in a loop; sends the moment at which it holds the text.
fn see(file: PathBuf, text: String) -> mpsc::Receiver<OffsetDateTime> {
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        while !std::fs::read_to_string(&file).is_ok_and(|read| read.contains(&text)) {
            thread::sleep(Duration::from_micros(200));
        }
        tell.send(OffsetDateTime::now_utc()).unwrap();
    });
    told
}
