//! Journals that were damaged, mixed up or taken from elsewhere: refused with file and reason,
//! never used.

use isthmus_experiment::{Experiment, JournalError, Options, SetupError};
use isthmus_kinds::KINDS;
use std::fs;
use std::path::{Path, PathBuf};

const SMALL: &str = r#"
version = 1
name = "small"
[machine]
kind = "hypercube"
dimension = 2
[workload]
io_probability = "5%"
[sweep]
"machine.lanes.io_link" = [0, 1]
"workload.rate" = ["3 /ms", "4 /ms"]
[stop]
rule = "fixed"
messages = 400
warmup_messages = 50
replications = 2
[search]
over = "workload.rate"
from = "70 /ms"
to = "80 /ms"
resolution = "90%"
[measure]
histograms = false
channels = false
"#;

/// How a run differs from the one whose journal is meddled with.
#[derive(Clone, Copy, Default)]
struct Other {
    seed: Option<u64>,
    quick: bool,
    change: Option<(&'static str, &'static str)>,
}

fn options(journal: &Path, other: Other) -> Options {
    Options {
        seed: other.seed,
        quick: other.quick,
        journal: Some(journal.to_owned()),
        jobs: 1,
        ..Options::default()
    }
}

fn set_up(journal: &Path, other: Other) -> Result<Experiment, SetupError> {
    let text = match other.change {
        Some((old, new)) => {
            assert!(SMALL.contains(old));
            SMALL.replace(old, new)
        }
        None => SMALL.to_owned(),
    };
    let scenario = KINDS
        .parse(&text, "small.toml", &[])
        .expect("a good scenario");
    Experiment::new(&KINDS, scenario, options(journal, other))
}

/// A whole run, its result and its journal; the folder is this test's own.
fn whole(name: &str, other: Other) -> (PathBuf, String) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    let result = set_up(&folder, other).unwrap().run().expect("a whole run");
    let json = serde_json::to_string(&result).expect("results are JSON");
    (folder, json)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

/// The journal is refused, and the message names `path`; returns the message.
fn refused(folder: &Path, path: &Path) -> String {
    let error = match set_up(folder, Other::default()) {
        Ok(_) => panic!("{} was taken", path.display()),
        Err(error) => error,
    };
    assert!(matches!(error, SetupError::Journal(_)), "{error}");
    let message = error.to_string();
    assert!(
        message.starts_with(&path.display().to_string()),
        "{message}"
    );
    message
}

/// Random numbers for choosing bits (Knuth's multiplier, the upper half).
fn next(state: &mut u64) -> usize {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) as usize
}

/// 200 bits of each file; [`isthmus_experiment`]'s own tests flip every bit of a small one.
#[test]
fn every_flipped_bit_is_refused() {
    let (folder, _) = whole("flips", Other::default());
    let (mut state, mut count) = (7, 0);
    for path in files(&folder) {
        let bytes = fs::read(&path).unwrap();
        let bits: Vec<usize> = (0..200)
            .map(|_| next(&mut state) % (8 * bytes.len()))
            .collect();
        for bit in bits {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            fs::write(&path, &flipped).unwrap();
            refused(&folder, &path);
            assert_eq!(fs::read(&path).unwrap(), flipped, "it is left alone");
            count += 1;
        }
        fs::write(&path, bytes).unwrap();
    }
    println!("{count} flipped bits, all refused");
    assert_eq!(count, 200 * files(&folder).len());
    set_up(&folder, Other::default()).expect("as it was, it is taken");
}

#[test]
fn swapped_and_cut_files_are_refused() {
    let (folder, _) = whole("swaps", Other::default());
    let paths = files(&folder);
    let mut count = 0;
    for one in &paths {
        let bytes = fs::read(one).unwrap();
        for other in paths.iter().filter(|other| *other != one) {
            fs::copy(other, one).unwrap();
            let message = refused(&folder, one);
            assert!(message.contains("another point"), "{message}");
            count += 1;
        }
        for cut in [0, 1, bytes.len() / 2, bytes.len() - 1] {
            fs::write(one, &bytes[..cut]).unwrap();
            assert!(refused(&folder, one).contains("damaged"));
            count += 1;
        }
        fs::write(one, bytes).unwrap();
    }
    println!("{count} swapped or cut files, all refused");
    set_up(&folder, Other::default()).expect("as it was, it is taken");
}

/// Each file of a run with another seed, form, machine or workload replaces a file of this run.
#[test]
fn files_of_other_runs_are_refused() {
    let others = [
        (
            "seed",
            Other {
                seed: Some(2),
                ..Other::default()
            },
            "the seed differs",
        ),
        (
            "quick",
            Other {
                quick: true,
                ..Other::default()
            },
            "--quick differs",
        ),
        (
            "machine",
            Other {
                change: Some(("dimension = 2", "dimension = 3")),
                ..Other::default()
            },
            "the scenario differs",
        ),
        (
            "workload",
            Other {
                change: Some(("\"5%\"", "\"6%\"")),
                ..Other::default()
            },
            "the scenario differs",
        ),
    ];
    let (folder, _) = whole("own", Other::default());
    let mut count = 0;
    for (name, other, what) in others {
        let (foreign, _) = whole(&format!("foreign-{name}"), other);
        for other in files(&foreign) {
            let own = folder.join(other.file_name().unwrap());
            let bytes = fs::read(&own).unwrap();
            fs::copy(&other, &own).unwrap();
            let message = refused(&folder, &own);
            assert!(message.contains(what), "{message}");
            fs::write(&own, bytes).unwrap();
            count += 1;
        }
    }
    println!("{count} foreign files, all refused");
    assert!(count >= 4 * 6);
}

/// A user who follows the message gets the bytes of an uninterrupted run.
#[test]
fn a_damaged_file_is_computed_again_once_it_is_deleted() {
    let (folder, result) = whole("deleted", Other::default());
    for path in files(&folder) {
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, &bytes[1..]).unwrap();
        refused(&folder, &path);
        fs::remove_file(&path).unwrap();
        let again = set_up(&folder, Other::default()).unwrap().run().unwrap();
        assert!(serde_json::to_string(&again).unwrap() == result);
        assert_eq!(fs::read(&path).unwrap(), bytes, "{}", path.display());
    }
}

#[cfg(unix)]
#[test]
fn nothing_is_read_or_written_through_a_link() {
    use std::os::unix::fs::symlink;
    let (folder, _) = whole("linked", Other::default());
    let elsewhere = folder.with_extension("elsewhere");
    let _ = fs::remove_dir_all(&elsewhere);
    fs::rename(&folder, &elsewhere).unwrap();
    symlink(&elsewhere, &folder).unwrap();
    let message = refused(&folder, &folder);
    assert!(message.contains("links are not followed"), "{message}");

    fs::remove_file(&folder).unwrap();
    fs::rename(&elsewhere, &folder).unwrap();
    let path = folder.join("point-00001.json");
    let moved = folder.with_extension("moved");
    fs::rename(&path, &moved).unwrap();
    symlink(&moved, &path).unwrap();
    let message = refused(&folder, &path);
    assert!(message.contains("links are not followed"), "{message}");
    fs::remove_file(&path).unwrap();

    // A name in the way of what is written is no longer one that can be known beforehand.
    let target = folder.with_extension("target");
    fs::write(&target, "of another program").unwrap();
    symlink(&target, folder.join(".point-00001.partial")).unwrap();
    set_up(&folder, Other::default()).unwrap().run().unwrap();
    assert_eq!(fs::read(&path).unwrap(), fs::read(&moved).unwrap());
    assert_eq!(fs::read_to_string(&target).unwrap(), "of another program");
}

/// Two runs on one journal at once: neither gets in the way of the other's files.
#[test]
fn two_runs_at_once_leave_what_one_leaves() {
    let (single, result) = whole("single", Other::default());
    for round in 0..20 {
        let folder = single.with_file_name("double");
        let _ = fs::remove_dir_all(&folder);
        let run = || {
            let experiment = set_up(&folder, Other::default()).expect("a journal for both");
            serde_json::to_string(&experiment.run().expect("a whole run")).unwrap()
        };
        std::thread::scope(|scope| {
            let other = scope.spawn(run);
            assert!(run() == result, "round {round}");
            assert!(other.join().expect("no panic") == result, "round {round}");
        });
        let (one, two) = (files(&single), files(&folder));
        assert_eq!(one.len(), two.len(), "nothing is left over");
        for (one, two) in one.iter().zip(&two) {
            assert_eq!(fs::read(one).unwrap(), fs::read(two).unwrap());
        }
    }
}

#[test]
fn errors_of_the_disk_name_the_file() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("a-file");
    fs::write(&folder, "").unwrap();
    let error = set_up(&folder.join("points"), Other::default()).unwrap_err();
    assert!(matches!(
        error,
        SetupError::Journal(JournalError::Io { .. })
    ));
    assert!(error.to_string().contains("a-file"), "{error}");
}
