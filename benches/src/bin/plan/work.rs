//! What is measured, one at a time: planning, parsing alone, and what one changed setting comes to.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use mesh_cli::description::load;
use mesh_model::wire::Timestamp;
use mesh_plan::{Description, Facts, diff, plan, shipped, yaml};

/// Something that is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    /// From the files on the disk to the plan.
    Plan,
    /// The same files, read and parsed by the same YAML parser.
    Parse,
    /// What the plan of the same description with one setting changed differs in.
    Diff,
}

impl Work {
    pub(crate) const ALL: [Self; 3] = [Self::Plan, Self::Parse, Self::Diff];
}

/// What it cost.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cost {
    /// Of one core, whoever else the machine works for: nothing here waits for anything, and the files are in memory.
    pub(crate) seconds: f64,
    /// The most memory that the process ever had.
    pub(crate) megabytes: f64,
}

pub(crate) fn run(work: Work, folder: &Path) -> Cost {
    let seconds = match work {
        Work::Plan => planned(folder),
        Work::Parse => parsed(folder),
        Work::Diff => compared(folder),
    };
    let usage = std::fs::read_to_string("/proc/self/status").unwrap();
    let most = usage.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let kilobytes: f64 = most.trim().trim_end_matches(" kB").parse().unwrap();
    Cost { seconds, megabytes: kilobytes / 1024.0 }
}

/// How many seconds this process has had a core so far.
fn worked() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap();
    text.split(' ').next().unwrap().parse::<f64>().unwrap() / 1e9
}

fn planned(folder: &Path) -> f64 {
    let begun = worked();
    let catalog = shipped();
    let description = load(folder, &catalog).unwrap();
    let outcome = plan(&description, &catalog, None, &Facts::default());
    let seconds = worked() - begun;
    let plan = outcome.plan.unwrap_or_else(|| panic!("{:#?}", outcome.refusals.first()));
    let needs: usize = plan.assignments.values().map(|assignment| assignment.needs.len()).sum();
    assert_eq!(needs, plan.nodes.len() * 60, "as many needs as it says");
    seconds
}

/// Every event of every file is asked for and dropped: nothing is kept, nothing is looked at.
fn parsed(folder: &Path) -> f64 {
    let begun = worked();
    let mut events = 0;
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => events += yaml::events(&std::fs::read_to_string(path).unwrap()),
            }
        }
    }
    assert!(events > 0);
    worked() - begun
}

fn compared(folder: &Path) -> f64 {
    let catalog = shipped();
    let mut description = load(folder, &catalog).unwrap();
    let at = Timestamp::try_from("2026-12-01T09:00:00Z".to_owned()).unwrap();
    let before = plan(&description, &catalog, None, &Facts::default()).plan.unwrap();
    set(&mut description);
    let record = before.record("ada", at);
    let after = plan(&description, &catalog, Some(&record), &Facts::default()).plan.unwrap();
    let begun = worked();
    let changes = diff(&before.assignments, &before.settings, &after);
    let seconds = worked() - begun;
    let changed = changes.iter().filter(|change| change.change != mesh_plan::diff::Kind::None).count();
    assert_eq!(changed, 1, "one setting of one module on one node");
    seconds
}

/// Sets what the title of one module on one node is.
fn set(description: &mut Description) {
    let text = String::from_utf8(description.texts["mesh.yaml"].clone()).unwrap();
    let other = text.replace("{title: One}", "{title: Another}");
    assert_ne!(text, other);
    description.insert("mesh.yaml", other.as_bytes());
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plan => "plan",
            Self::Parse => "parse",
            Self::Diff => "diff",
        })
    }
}

impl FromStr for Work {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|work| work.to_string() == text).ok_or_else(|| text.to_owned())
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.seconds, self.megabytes)
    }
}

impl FromStr for Cost {
    type Err = std::num::ParseFloatError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (seconds, megabytes) = text.split_once(' ').unwrap_or((text, ""));
        Ok(Self { seconds: seconds.parse()?, megabytes: megabytes.parse()? })
    }
}
