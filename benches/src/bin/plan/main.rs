//! From the files of a large description to its plan, against parsing the same files and nothing else.
//!
//! 1,000 nodes run 20 modules each: 20,000 assignments with 60,000 needs and 300,000 placeholders, in two shapes. *Alike*:
//! the same 20 modules on every node. *Different*: 20,000 modules, each on a node of its own, so that there is as much to
//! read as can be. Then the same with one setting changed, against the former plan; and a tenth of it, and ten times.
//!
//! By turns, each in a process of its own that is held to one core: [`work`] says what each does, [`made`] what is read.
//! `plan [ROUNDS]`, 5 where it is left out. `plan --one WORK FOLDER` does one and prints what it cost; `plan --make FOLDER
//! NODES alike|different` writes a description to look at, or to profile.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a program that measures, prints, and fails where it cannot"
)]

mod made;
mod work;

use std::path::Path;
use std::process::Command;

use made::Shape;
use mesh_benches::quantile;
use work::{Cost, Work};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["--one", work, folder] => println!("{}", work::run(work.parse().unwrap(), Path::new(folder))),
        ["--make", folder, nodes, shape] => {
            made::write(Path::new(folder), nodes.parse().unwrap(), shape.parse().unwrap());
        }
        [] => compare(5),
        [rounds] => compare(rounds.parse().expect("a number of rounds")),
        _ => panic!("plan [ROUNDS], plan --one WORK FOLDER, or plan --make FOLDER NODES alike|different"),
    }
}

fn compare(rounds: usize) {
    for shape in [Shape::Alike, Shape::Different] {
        let [tenth, whole] = [100, 1000].map(|nodes| measure(shape, nodes, rounds, &Work::ALL));
        println!("\n{shape}, 1,000 nodes");
        println!(
            "  from files to plan    {:>7.3} s, {:>5.0} MB (goal: 1 s, 500 MB)",
            whole.plan, whole.memory
        );
        println!("  the same files parsed {:>7.3} s", whole.parse);
        println!("  plan to parse         {:>7.2}   (goal: at most 2)", whole.plan / whole.parse);
        println!("  one setting changed   {:>7.3} s (goal: 0.3 s)", whole.diff);
        println!("  100 to 1,000 nodes    {:>7.1} × the time (goal: at most 12)", whole.plan / tenth.plan);
        // Ten times as many files as the different ones have are more than a description may hold.
        if shape == Shape::Alike {
            let tenfold = measure(shape, 10_000, 1, &[Work::Plan]);
            println!(
                "  1,000 to 10,000 nodes {:>7.1} ×, {:.0} MB",
                tenfold.plan / whole.plan,
                tenfold.memory
            );
        }
    }
}

/// The medians of a size.
struct Medians {
    plan: f64,
    parse: f64,
    diff: f64,
    memory: f64,
}

fn measure(shape: Shape, nodes: usize, rounds: usize, works: &[Work]) -> Medians {
    let folder = tempfile::tempdir().unwrap();
    made::write(folder.path(), nodes, shape);
    let mut costs: Vec<Vec<Cost>> = vec![Vec::new(); works.len()];
    for round in 0..rounds {
        // By turns, and not always in the same order.
        for turn in 0..works.len() {
            let index = (turn + round) % works.len();
            costs[index].push(apart(works[index], folder.path()));
        }
    }
    let of = |work: Work, what: fn(&Cost) -> f64| {
        let index = works.iter().position(|known| *known == work);
        index.map_or(f64::NAN, |index| quantile(&mut costs[index].iter().map(what).collect::<Vec<_>>(), 0.5))
    };
    Medians {
        plan: of(Work::Plan, |cost| cost.seconds),
        parse: of(Work::Parse, |cost| cost.seconds),
        diff: of(Work::Diff, |cost| cost.seconds),
        memory: of(Work::Plan, |cost| cost.megabytes),
    }
}

/// In a process of its own, on one core: what another has left in memory is no part of it.
fn apart(work: Work, folder: &Path) -> Cost {
    let mut command = Command::new("taskset");
    command.args(["--cpu-list", "0"]).arg(std::env::current_exe().unwrap());
    let output = command.args(["--one", &work.to_string()]).arg(folder).output().expect("taskset is there");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().parse().unwrap()
}
