//! `mesh up` with the quickstart while nothing happens: its memory, and its processor time over a minute.
//!
//! `idle [SECONDS]`, 60 where it is left out, after ten seconds of settling.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a program that measures, prints, and fails where it cannot"
)]

use std::fs;
use std::thread;
use std::time::Duration;

use mesh_benches::quickstart;

fn main() {
    let seconds: u32 = std::env::args().nth(1).map_or(60, |text| text.parse().expect("a number"));
    let quickstart = quickstart();
    quickstart.mesh(&["up", "--detach"]);
    thread::sleep(Duration::from_secs(10));
    let process = quickstart.process();
    let before = processor_time(process);
    thread::sleep(Duration::from_secs(seconds.into()));
    let share = (processor_time(process) - before) / f64::from(seconds) * 100.0;
    println!("mesh up, idle with the quickstart, over {seconds} s");
    println!("  memory of the mesh process  {:>6.1} MB (goal: at most 40)", resident(process));
    println!("  its processor time          {share:>6.2} % of a core (goal: at most 0.5)");
}

/// Seconds of a process, in user and system mode, all its threads.
fn processor_time(process: u32) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks: f64 = fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap();
    // USER_HZ is 100 on every Linux that this runs on.
    ticks / 100.0
}

/// Megabytes that are in memory.
fn resident(process: u32) -> f64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() / 1024.0
}
