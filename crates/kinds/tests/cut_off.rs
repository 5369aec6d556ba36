//! Runs that are cut off in the middle of a point go on from its finished replications, those of a
//! search from its finished trials, and end with the bytes of a run that never was.

use isthmus_experiment::{Experiment, JournalError, Options, RunError, SetupError};
use isthmus_kinds::KINDS;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

const HYPERCUBE: &str = r#"
version = 1
name = "cut"
[machine]
kind = "hypercube"
dimension = 3
lanes.io_link = 1
[workload]
io_probability = "5%"
rate = "3 /ms"
[stop]
rule = "fixed"
messages = 8000
warmup_messages = 500
replications = 6
"#;

const SEARCH: &str = r#"
[search]
over = "workload.rate"
from = "1 /ms"
to = "300 /ms"
resolution = "30%"
"#;

const SCI: &str = r#"
version = 1
name = "cut"
[machine]
kind = "sci"
size = "4x4"
fabric = "torus"
[workload]
load = "1 GB/s"
[stop]
rule = "fixed"
time = "2 ms"
replications = 6
"#;

const FAT_TREE: &str = r#"
version = 1
name = "cut"
[machine]
kind = "fat-tree"
arity = 4
levels = 2
[workload]
load = "60 MB/s"
[workload.jobs.shuffle]
traffic = "uniform"
arrivals = "open"
[stop]
rule = "fixed"
time = "10 ms"
replications = 6
"#;

/// The same point by many looks, the first one at so many messages.
fn sequential(text: &str, first: u32) -> String {
    let before = text.split("[stop]").next().expect("a text has a beginning");
    let max = 12 * first;
    format!(
        "{before}[stop]\nrule = \"precision\"\nprecision = \"1%\"\nreplications = 4\n\
         messages_first = {first}\nmessages_max = {max}\n"
    )
}

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    folder
}

fn experiment(text: &str, journal: Option<&Path>, keep_after: Duration) -> Experiment {
    try_experiment(text, journal, keep_after).expect("it can be set up")
}

fn try_experiment(
    text: &str,
    journal: Option<&Path>,
    keep_after: Duration,
) -> Result<Experiment, SetupError> {
    let scenario = KINDS.parse(text, "cut.toml", &[]).expect("a good scenario");
    let options = Options {
        journal: journal.map(Into::into),
        keep_after: Some(keep_after),
        jobs: 2,
        ..Options::default()
    };
    Experiment::new(&KINDS, scenario, options)
}

/// Runs until it ends, or is cancelled once so many messages were delivered.
fn cut_after(experiment: &Experiment, messages: u64) -> Result<String, RunError> {
    let progress = experiment.progress();
    thread::scope(|scope| {
        let watched = Arc::clone(&progress);
        let run = scope.spawn(|| experiment.run());
        let deadline = Instant::now() + Duration::from_secs(60);
        while !run.is_finished() && watched.messages() < messages {
            assert!(Instant::now() < deadline, "it goes on for ever");
            thread::sleep(Duration::from_micros(200));
        }
        watched.cancel();
        let result = run.join().expect("no panic")?;
        Ok(serde_json::to_string(&result).expect("results are JSON"))
    })
}

/// Cuts a run off again and again at each share of its messages, and leaves it to end at last.
fn cut_again_and_again(name: &str, text: &str, shares: &[f64]) {
    let whole = experiment(text, None, Duration::ZERO);
    let wanted = serde_json::to_string(&whole.run().unwrap()).unwrap();
    for share in shares {
        let at = (whole.progress().messages() as f64 * share) as u64;
        let folder = folder(&format!("cut-{name}-{share}"));
        let (mut cuts, mut kept) = (0, 0);
        let found = loop {
            let cut = experiment(text, Some(&folder), Duration::ZERO);
            match cut_after(&cut, if cuts < 6 { at } else { u64::MAX }) {
                Ok(found) => break found,
                Err(RunError::Cancelled) => kept += kept_files(&folder).len(),
                Err(error) => panic!("{error}"),
            }
            cuts += 1;
        };
        assert_eq!(found, wanted, "{name}, cut at {share}");
        assert_eq!(kept_files(&folder), Vec::<PathBuf>::new());
        assert!(cuts == 0 || kept > 0, "{name}: nothing was ever kept");
    }
}

fn kept_files(folder: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path());
    paths
        .filter(|path| path.to_string_lossy().ends_with(".kept.json"))
        .collect()
}

/// Each with the messages of a first look.
const MACHINES: [(&str, &str, u32); 3] = [
    ("cube", HYPERCUBE, 1000),
    ("sci", SCI, 1000),
    ("tree", FAT_TREE, 50),
];

#[test]
fn replications_of_a_point_are_not_lost() {
    for (name, text, _) in MACHINES {
        cut_again_and_again(name, text, &[0.45, 0.6, 0.9]);
    }
}

#[test]
fn looks_at_a_point_are_not_lost() {
    for (name, text, first) in MACHINES {
        let text = sequential(text, first);
        cut_again_and_again(&format!("looks-{name}"), &text, &[0.45, 0.6, 0.9]);
    }
}

#[test]
fn trials_of_a_search_are_not_lost() {
    let short = HYPERCUBE.replace("8000", "2000");
    for (rule, text) in [("fixed", &short), ("looks", &sequential(HYPERCUBE, 1000))] {
        let text = format!("{text}{SEARCH}");
        cut_again_and_again(&format!("trials-{rule}"), &text, &[0.3, 0.9]);
    }
}

/// A run that was cut at nine tenths costs less when it starts again. It keeps the work under way, of a fixed length or
/// up to the last look.
#[test]
fn what_is_kept_is_not_simulated_again() {
    for (name, text, bound) in [
        ("fixed", HYPERCUBE, 0.5),
        ("looks", &*sequential(HYPERCUBE, 1000), 0.8),
    ] {
        let whole = experiment(text, None, Duration::ZERO);
        whole.run().unwrap();
        let messages = whole.progress().messages();
        // A run that ends before the cut shows nothing.
        let folder = (0..50)
            .map(|_| folder(&format!("cut-share-{name}")))
            .find(|folder| {
                let cut = experiment(text, Some(folder), Duration::ZERO);
                cut_after(&cut, messages * 9 / 10).is_err()
            })
            .expect("a cut before the end");
        let again = experiment(text, Some(&folder), Duration::ZERO);
        again.run().unwrap();
        let share = again.progress().messages() as f64 / messages as f64;
        println!("{name}, cut at 90%: {:.0}% again", 100.0 * share);
        assert!(share < bound, "{name}: {share} of the work was done again");
    }
}

/// A stop keeps even work that is otherwise too little for a file.
#[test]
fn what_is_finished_is_kept_at_a_stop() {
    let folder = folder("cut-stop");
    let after = Duration::from_millis(200);
    let cut = experiment(&HYPERCUBE.replace("8000", "40000"), Some(&folder), after);
    let error = cut_after(&cut, 150_000).expect_err("it is cut before its end");
    assert!(matches!(error, RunError::Cancelled), "{error}");
    assert_eq!(kept_files(&folder).len(), 1);
}

#[test]
fn short_work_leaves_no_file() {
    let folder = folder("cut-short");
    let cut = experiment(HYPERCUBE, Some(&folder), Duration::from_secs(3600));
    let _ = cut_after(&cut, 20_000);
    assert_eq!(kept_files(&folder), Vec::<PathBuf>::new());
}

#[test]
fn what_was_kept_and_is_damaged_is_refused() {
    let folder = folder("cut-damaged");
    let cut = experiment(HYPERCUBE, Some(&folder), Duration::ZERO);
    let error = cut_after(&cut, 30_000).expect_err("it is cut before its end");
    assert!(matches!(error, RunError::Cancelled), "{error}");
    let path = kept_files(&folder).pop().expect("something is kept");
    let mut bytes = fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&path, bytes).unwrap();
    match try_experiment(HYPERCUBE, Some(&folder), Duration::ZERO) {
        Err(SetupError::Journal(JournalError::Damaged { path: named, .. })) => {
            assert_eq!(named, path);
        }
        other => panic!("{other:?}"),
    }
    fs::remove_file(&path).unwrap();
    (experiment(HYPERCUBE, Some(&folder), Duration::ZERO).run()).expect("it is computed again");
}

/// The folder of the journal goes away in the middle.
#[test]
fn a_disk_that_fails_ends_the_run_with_its_reason() {
    let folder = folder("cut-disk");
    let cut = experiment(HYPERCUBE, Some(&folder), Duration::ZERO);
    fs::remove_dir_all(&folder).unwrap();
    match cut.run() {
        Err(RunError::Journal(JournalError::Io { path, .. })) => {
            assert_eq!(path, folder.join("point-00000.kept.json"));
        }
        other => panic!("{other:?}"),
    }
}
