//! Run all kept inputs of the fuzzers again: none panics, and each ends in time.

use isthmus_fuzz_bodies::TARGETS;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus")
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut entries: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    entries
}

#[test]
fn kept_inputs_do_no_harm() {
    for (name, run) in TARGETS {
        let inputs = entries(&corpus().join(name));
        assert!(!inputs.is_empty(), "{name} has no inputs");
        for input in inputs {
            // Shown only on failure: the last name is the input that failed.
            println!("{}", input.display());
            run(&fs::read(&input).unwrap());
        }
    }
}

#[test]
fn every_target_has_its_fuzzer_and_every_folder_its_target() {
    let names: BTreeSet<String> = TARGETS.iter().map(|(name, _)| (*name).into()).collect();
    let last = |path: PathBuf| path.file_stem().unwrap().to_string_lossy().into_owned();
    let folders: BTreeSet<String> = entries(&corpus()).into_iter().map(last).collect();
    assert_eq!(folders, names, "folders of fuzz/corpus");
    let programs = corpus().join("../fuzz_targets");
    let programs: BTreeSet<String> = entries(&programs).into_iter().map(last).collect();
    assert_eq!(programs, names, "programs of fuzz/fuzz_targets");
}

#[test]
fn the_kept_inputs_are_few() {
    let all = TARGETS
        .iter()
        .flat_map(|(name, _)| entries(&corpus().join(name)));
    let bytes: u64 = all.map(|path| fs::metadata(path).unwrap().len()).sum();
    assert!(bytes < 1 << 20, "{bytes} bytes of inputs: keep below 1 MiB");
}
