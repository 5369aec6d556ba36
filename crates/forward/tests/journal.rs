//! The journal of a cache: a rewritten log says the same as the one before.

use isthmus_forward::cache::FileId;
use isthmus_forward::cache::journal::{CacheSync, Description, Header, Journal, Log};
use isthmus_forward::cache::log::{Operation, Record, Replay};
use isthmus_forward::{Errno, Result};
use proptest::prelude::*;
use rangemap::RangeSet;
use std::cell::Cell;
use std::ops::Range;
use std::rc::Rc;

/// The number of files.
const FILES: usize = 3;

/// A log in memory.
#[derive(Debug, Default)]
struct Bytes {
    records: Vec<u8>,
    /// Whether there is no room, and whether a sync has failed: shared with the test.
    is_full: Rc<Cell<bool>>,
    has_failed: Rc<Cell<bool>>,
}

impl Log for Bytes {
    fn append(&mut self, records: &[u8]) -> Result<()> {
        if self.is_full.get() {
            return Err(Errno::NOSPC);
        }
        self.records.extend_from_slice(records);
        Ok(())
    }

    fn replace(&mut self, records: &[u8]) -> Result<()> {
        if self.is_full.get() {
            return Err(Errno::NOSPC);
        }
        self.records = records.to_vec();
        self.has_failed.set(false);
        Ok(())
    }

    fn has_failed(&self) -> bool {
        self.has_failed.get()
    }
}

/// Returns a journal without files, and its header.
fn empty() -> (Journal<Bytes>, Header) {
    let header = Header {
        boot: b"boot".to_vec(),
        exports: vec![b"/export".to_vec()],
    };
    let create = |records: &[u8]| {
        Ok(Bytes {
            records: records.to_vec(),
            ..Bytes::default()
        })
    };
    let journal = Journal::start(&header, [], none, create);
    (journal.expect("there is room"), header)
}

/// Describes a file of a journal without files.
fn none(_: FileId) -> (Description, Vec<Range<u64>>) {
    unreachable!("no file is in the log")
}

/// Something that happens to a file.
#[derive(Clone, Debug)]
enum Step {
    Write(Range<u64>),
    Store(Range<u64>),
    BeginSync,
    EndSync { is_ok: bool },
    Begin(Change),
    End { is_done: bool },
    Rewrite,
}

/// An operation on the store.
#[derive(Clone, Copy, Debug)]
enum Change {
    Cut(u64),
    Rename,
    Remove,
}

/// Returns an arbitrary step.
fn steps() -> impl Strategy<Value = Step> {
    let range = (0..20u64, 1..8u64).prop_map(|(start, count)| start..start + count);
    let change = prop_oneof![
        3 => (0..20u64).prop_map(Change::Cut),
        2 => Just(Change::Rename),
        1 => Just(Change::Remove),
    ];
    prop_oneof![
        6 => range.clone().prop_map(Step::Write),
        3 => range.prop_map(Step::Store),
        3 => Just(Step::BeginSync),
        3 => prop::bool::weighted(0.8).prop_map(|is_ok| Step::EndSync { is_ok }),
        2 => change.prop_map(Step::Begin),
        2 => any::<bool>().prop_map(|is_done| Step::End { is_done }),
        1 => Just(Step::Rewrite),
    ]
}

/// A file in the cache.
#[derive(Debug, Default)]
struct File {
    unstored: RangeSet<u64>,
    renames: u32,
    sync: Option<CacheSync>,
    change: Option<(Change, Option<u64>)>,
    is_removed: bool,
}

/// Returns the path of a file after this number of renames.
fn path(file: usize, renames: u32) -> Vec<u8> {
    format!("file {file}, {renames}").into_bytes()
}

/// Returns a file, as the log has it, and its unstored bytes.
fn describe(files: &[File], FileId(id): FileId) -> (Description, Vec<Range<u64>>) {
    let at = usize::try_from(id).unwrap();
    let description = Description {
        path: path(at, files[at].renames),
        inode: id,
        base: (id == 1).then(|| b"version".to_vec()),
        mark: (id == 1).then(|| b"mark".to_vec()),
        ..Description::default()
    };
    (description, files[at].unstored.iter().cloned().collect())
}

/// Carries out a step.
fn step(
    journal: &mut Journal<Bytes>,
    header: &Header,
    files: &mut [File],
    at: usize,
    step: &Step,
) -> Result<()> {
    let id = FileId(at as u64);
    if files[at].is_removed {
        return Ok(());
    }
    match step {
        // No client writes meanwhile.
        Step::Write(_) if matches!(files[at].change, Some((Change::Cut(_), _))) => {}
        Step::Write(range) => {
            let Range { start, end } = range.clone();
            files[at].unstored.insert(range.clone());
            let wrote = Record::Wrote {
                file: id.0,
                start,
                end,
            };
            journal.record(id, || describe(files, id).0, &[wrote])?;
        }
        Step::Store(range) => {
            files[at].unstored.remove(range.clone());
            journal.stored(id, std::slice::from_ref(range));
        }
        Step::BeginSync => {
            let unstored = describe(files, id).1;
            // Fails after a sync that has failed.
            files[at].sync = journal.begin_sync(id, unstored).ok();
        }
        Step::EndSync { is_ok } => match (files[at].sync.take(), is_ok) {
            (Some(sync), true) => drop(journal.end_sync(sync)?),
            (Some(_), false) => journal.sync_failed(Some(id)),
            (None, _) => {}
        },
        Step::Begin(change) if files[at].change.is_none() => {
            let operation = match *change {
                Change::Cut(size) => Operation::Cut { file: id, size },
                Change::Rename => Operation::Rename {
                    export: 0,
                    from: path(at, files[at].renames),
                    to: path(at, files[at].renames + 1),
                },
                Change::Remove => Operation::Remove { file: id },
            };
            files[at].change = Some((*change, journal.begin(operation)?));
        }
        Step::Begin(_) => {}
        Step::End { is_done } => {
            let Some((change, operation)) = files[at].change.take() else {
                return Ok(());
            };
            journal.end(operation, *is_done);
            match change {
                _ if !is_done => {}
                Change::Cut(size) => files[at].unstored.remove(size..u64::MAX),
                Change::Rename => files[at].renames += 1,
                Change::Remove => {
                    journal.removed(id, operation);
                    files[at].is_removed = true;
                }
            }
        }
        Step::Rewrite => journal.rewrite(header, |id| describe(files, id))?,
    }
    if files[at].unstored.is_empty() {
        journal.leave_out(id);
    }
    Ok(())
}

/// Returns what a log says.
fn replay(journal: &Journal<Bytes>) -> String {
    let (replay, damage) = Replay::read(&journal.log().records);
    assert_eq!(damage, None);
    let files = replay.files.iter().map(|(id, left)| {
        // Of ranges that are next to each other, a record may say the same as two.
        let set = |ranges: Vec<Range<u64>>| ranges.into_iter().collect::<RangeSet<_>>();
        let (synced, unstored) = (set(left.synced()), set(left.unstored()));
        let state = (left.cut, left.is_removed, left.has_sync_failed);
        let of = (left.inode, &left.paths, &left.base, &left.mark);
        format!("{id}: {of:?} {unstored:?} synced {synced:?} {state:?}\n")
    });
    files.collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever was written, stored, synced and changed in the store: a log that is rewritten leaves the same to the next
    /// daemon.
    #[test]
    fn a_rewritten_log_says_the_same(all in prop::collection::vec((0..FILES, steps()), 0..60)) {
        let (mut journal, header) = empty();
        let mut files: Vec<_> = (0..FILES).map(|_| File::default()).collect();
        (0..FILES).for_each(|at| journal.add(FileId(at as u64)));
        for (at, each) in &all {
            step(&mut journal, &header, &mut files, *at, each)?;
        }
        let before = replay(&journal);
        journal.rewrite(&header, |id| describe(&files, id))?;
        prop_assert_eq!(before, replay(&journal));
    }
}

/// A sync during which the log was rewritten says nothing: the records of the new log have other numbers.
#[test]
fn a_sync_is_repeated_if_the_log_was_rewritten() -> Result<()> {
    let (mut journal, header) = empty();
    let file = FileId(0);
    journal.add(file);
    let sync = journal.begin_sync(file, Vec::new())?;
    assert_eq!(journal.end_sync(sync), Ok(true));
    let sync = journal.begin_sync(file, Vec::new())?;
    journal.rewrite(&header, none)?;
    assert_eq!(journal.end_sync(sync), Ok(false));
    Ok(())
}

/// A log whose sync has failed is rewritten before anything is acknowledged.
#[test]
fn a_log_that_was_not_synced_is_rewritten() -> Result<()> {
    let (mut journal, header) = empty();
    let (is_full, has_failed) = (
        Rc::clone(&journal.log().is_full),
        Rc::clone(&journal.log().has_failed),
    );
    assert!(!journal.needs_rewrite() && !journal.must_sync());
    has_failed.set(true);
    assert!(journal.needs_rewrite() && journal.must_sync());
    is_full.set(true);
    assert_eq!(journal.rewrite(&header, none), Err(Errno::NOSPC));
    is_full.set(false);
    journal.rewrite(&header, none)?;
    assert!(!journal.needs_rewrite() && !journal.must_sync());
    Ok(())
}

/// A log without the end of an operation is rewritten before anything is acknowledged.
#[test]
fn a_log_without_the_end_of_an_operation_is_rewritten() -> Result<()> {
    let (mut journal, header) = empty();
    let is_full = Rc::clone(&journal.log().is_full);
    let operation = journal.begin(Operation::Rename {
        export: 0,
        from: b"a".to_vec(),
        to: b"b".to_vec(),
    })?;
    is_full.set(true);
    journal.end(operation, true);
    assert!(journal.needs_rewrite() && journal.must_sync());
    is_full.set(false);
    journal.rewrite(&header, none)?;
    assert!(!journal.needs_rewrite() && !journal.must_sync());
    Ok(())
}

/// A log that says of stored or removed data that it is unstored is rewritten before anything is acknowledged.
#[test]
fn a_log_without_what_was_stored_or_removed_is_rewritten() -> Result<()> {
    let (mut journal, header) = empty();
    let is_full = Rc::clone(&journal.log().is_full);
    let (stored, removed) = (FileId(0), FileId(1));
    for id in [stored, removed] {
        let (file, start, end) = (id.0, 0, 1);
        journal.record(
            id,
            Description::default,
            &[Record::Wrote { file, start, end }],
        )?;
    }
    is_full.set(true);
    journal.stored(stored, std::slice::from_ref(&(0..1)));
    assert!(journal.is_late(stored) && journal.needs_rewrite() && journal.must_sync());
    assert!(journal.removed(removed, None) && journal.is_logged(removed));
    is_full.set(false);
    journal.rewrite(&header, |_| Default::default())?;
    assert!(!journal.is_late(stored) && !journal.is_logged(removed) && !journal.must_sync());
    assert_eq!(replay(&journal), "");
    Ok(())
}
