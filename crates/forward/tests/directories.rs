//! Which files of a directory are read ahead.

use isthmus_forward::cache::{Ahead, Directories};
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::HashSet;

/// Returns the names of files in an order that is not that of the names.
fn names(count: usize) -> Vec<Vec<u8>> {
    let name = |number: usize| format!("file-{}", (number * 7919) % 10_007).into_bytes();
    (0..count).map(name).collect()
}

/// Reads files one after another, and returns those that were read ahead before they were needed.
fn read_all(directories: &mut Directories, order: &[Vec<u8>], listed: &[Vec<u8>]) -> usize {
    let (mut ahead, mut hits) = (HashSet::new(), 0);
    for name in order {
        hits += usize::from(ahead.contains(name));
        match directories.read(b"folder", name) {
            Ahead::Nothing => {}
            Ahead::List => directories.list(b"folder", listed.to_vec()),
            Ahead::Read(names) => {
                for each in names {
                    assert!(ahead.insert(each), "a file is read ahead once");
                }
            }
        }
    }
    hits
}

#[test]
fn files_are_read_ahead_in_the_order_of_the_store_and_by_name() {
    let listed = names(1000);
    let mut sorted = listed.clone();
    sorted.sort_unstable();
    for order in [&listed, &sorted] {
        let mut directories = Directories::default();
        assert!(read_all(&mut directories, order, &listed) >= 990);
    }
}

#[test]
fn at_most_64_files_are_ahead() {
    let listed = names(1000);
    let (mut directories, mut ahead) = (Directories::default(), 0);
    for (at, name) in listed.iter().enumerate() {
        match directories.read(b"folder", name) {
            Ahead::Nothing => {}
            Ahead::List => directories.list(b"folder", listed.clone()),
            Ahead::Read(names) => {
                ahead = ahead.max(at + 1) + names.len();
                assert!(ahead - at - 1 <= 64);
                // Not one by one.
                assert!(names.len() >= 4 || ahead == listed.len(), "{}", names.len());
            }
        }
    }
}

#[test]
fn a_file_that_is_read_again_and_a_new_file_change_nothing() {
    let listed = names(100);
    let mut directories = Directories::default();
    for name in &listed[..2] {
        for _ in 0..5 {
            assert_eq!(directories.read(b"folder", name), Ahead::Nothing);
        }
    }
    assert_eq!(directories.read(b"folder", &listed[2]), Ahead::List);
    directories.list(b"folder", listed.clone());
    assert_eq!(directories.read(b"folder", b"new"), Ahead::Nothing);
    // The directory is listed again after some reads.
    assert_eq!(directories.read(b"folder", &listed[3]), Ahead::Nothing);
    assert_eq!(directories.read(b"folder", &listed[4]), Ahead::Nothing);
    assert_eq!(directories.read(b"folder", &listed[5]), Ahead::List);
}

proptest! {
    /// Checks that what is read ahead is in the directory, comes after the file that was read, and is little if
    /// files are read at random.
    #[test]
    fn random_reads_read_little_ahead(order in vec(0..500_usize, 1..300), other in vec(0..40_u8, 1..300)) {
        let listed = names(500);
        let mut directories = Directories::default();
        let mut count = 0;
        for (at, other) in order.iter().zip(other) {
            // Reads in other directories, more than are observed.
            directories.read(&[b'd', other], b"file");
            match directories.read(b"folder", &listed[*at]) {
                Ahead::Nothing => {}
                Ahead::List => directories.list(b"folder", listed.clone()),
                Ahead::Read(names) => {
                    prop_assert!(names.iter().all(|name| listed.contains(name)));
                    prop_assert!(!names.contains(&listed[*at]));
                    count += names.len();
                }
            }
        }
        prop_assert!(count <= order.len());
    }
}
