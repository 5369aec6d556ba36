//! The tree of names, against a list of references with whole paths.

use isthmus_forward::{Errno, Name, Names};
use proptest::collection::vec;
use proptest::prelude::*;

/// A step: numbers choose among the references that exist and among few names.
#[derive(Clone, Debug)]
enum Step {
    Child(usize, u8),
    Parent(usize),
    Retain(usize),
    Release(usize),
    Remove(usize, u8),
    Rename(usize, u8, usize, u8),
}

/// Returns any step.
fn steps() -> impl Strategy<Value = Step> {
    let at = 0..1000_usize;
    let name = b'a'..=b'c';
    prop_oneof![
        4 => (at.clone(), name.clone()).prop_map(|(at, name)| Step::Child(at, name)),
        1 => at.clone().prop_map(Step::Parent),
        1 => at.clone().prop_map(Step::Retain),
        2 => at.clone().prop_map(Step::Release),
        1 => (at.clone(), name.clone()).prop_map(|(at, name)| Step::Remove(at, name)),
        2 => (at.clone(), name.clone(), at, name)
            .prop_map(|(from, old, to, new)| Step::Rename(from, old, to, new)),
    ]
}

/// A reference, with what the naive reference knows: its path, or that it is gone.
#[derive(Clone, Debug)]
struct Held {
    name: Name,
    path: Vec<u8>,
    is_gone: bool,
}

/// Returns whether a path is another, or beneath it.
fn is_beneath(path: &[u8], other: &[u8]) -> bool {
    path.starts_with(other)
}

proptest! {
    /// Checks that each reference has the path that it has in the reference after every step, and
    /// that nothing remains at the end.
    #[test]
    fn references_follow_renames(steps in vec(steps(), 1..80)) {
        let mut names = Names::default();
        let mut all = vec![Held { name: Names::ROOT, path: Vec::new(), is_gone: false }];
        for step in steps {
            apply(step, &mut names, &mut all);
            for held in &all {
                let found = names.path(held.name).map(|mut path| {
                    path.retain(|byte| *byte != b'/');
                    path
                });
                let expected = match held.is_gone {
                    true => Err(Errno::STALE),
                    false => Ok(held.path.clone()),
                };
                prop_assert_eq!(found, expected);
            }
        }
        for held in all.drain(..) {
            names.release(held.name);
        }
        prop_assert_eq!(names.count(), 1);
    }
}

/// Carries out a step in both.
fn apply(step: Step, names: &mut Names, all: &mut Vec<Held>) {
    let pick = |at: usize, all: &[Held]| all[at % all.len()].clone();
    // In the store, nothing beneath a removed directory can be changed.
    let live = |at: usize, all: &[Held]| Some(pick(at, all)).filter(|held| !held.is_gone);
    match step {
        Step::Child(at, name) => {
            let Some(Held {
                name: directory,
                mut path,
                ..
            }) = live(at, all)
            else {
                return;
            };
            path.push(name);
            let name = names.child(directory, &[name]);
            all.push(Held {
                name,
                path,
                is_gone: false,
            });
        }
        Step::Parent(at) => {
            let Some(held) = live(at, all) else { return };
            let mut path = held.path;
            path.pop();
            let name = names.parent(held.name);
            all.push(Held {
                name,
                path,
                is_gone: false,
            });
        }
        Step::Retain(at) => {
            let held = pick(at, all);
            names.retain(held.name);
            all.push(held);
        }
        Step::Release(at) => {
            let at = at % all.len();
            if at > 0 {
                names.release(all.swap_remove(at).name);
            }
        }
        Step::Remove(at, name) => {
            let Some(directory) = live(at, all) else {
                return;
            };
            names.remove(directory.name, &[name]);
            let gone = [&*directory.path, &[name]].concat();
            mark_gone(all, &gone);
        }
        Step::Rename(from, old, to, new) => {
            let (Some(from), Some(to)) = (live(from, all), live(to, all)) else {
                return;
            };
            let source = [&*from.path, &[old]].concat();
            let target = [&*to.path, &[new]].concat();
            // The store refuses to move a directory beneath itself, or onto one that is above it.
            if is_beneath(&target, &source) || is_beneath(&source, &target) {
                return;
            }
            names.rename(from.name, &[old], to.name, &[new]);
            mark_gone(all, &target);
            for held in all.iter_mut().filter(|held| !held.is_gone) {
                if is_beneath(&held.path, &source) {
                    held.path = [&*target, &held.path[source.len()..]].concat();
                }
            }
        }
    }
}

/// Records in the reference that what is at or beneath a path is gone.
fn mark_gone(all: &mut [Held], path: &[u8]) {
    for held in all {
        if !held.is_gone && is_beneath(&held.path, path) {
            held.is_gone = true;
        }
    }
}

/// Checks that a directory that lies too deep after renames is refused, however deep it is.
#[test]
fn a_path_has_a_maximum_length() {
    let mut names = Names::default();
    let mut deep = Names::ROOT;
    for _ in 0..200_000 {
        deep = names.child(deep, b"d");
    }
    assert_eq!(names.path(deep), Err(Errno::NAMETOOLONG));
    names.remove(Names::ROOT, b"d");
    assert_eq!(names.path(deep), Err(Errno::NAMETOOLONG));
    let top = names.child(Names::ROOT, b"d");
    assert_eq!(names.path(top), Ok(b"d".to_vec()));
}
