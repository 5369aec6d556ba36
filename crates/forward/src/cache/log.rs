//! The log of a cache: the records from which a daemon that starts again learns what a former one has left.
//!
//! A record is a CRC-32C and a message (size, type, 16 unused bits, fields), little-endian as in
//! [`crate::message`]. The first record of a log is [`Record::Begin`].
//!
//! | failure | what is left |
//! |---|---|
//! | the daemon is killed | all records |
//! | the host fails | the records that were synced, perhaps some of the others |
//!
//! After a failure of the host, [`Left::synced`] says which bytes of a file were synced as well.

use super::FileId;
use crate::buffer::Buffer;
use crate::message::{Malformed, messages};
use crc_fast::{CrcAlgorithm, checksum};
use rangemap::RangeMap;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Range;

/// The version of the format.
pub const VERSION: u32 = 1;

/// Size in bytes of the checksum of a record.
const CHECKSUM: usize = 4;

/// Size in bytes of the smallest message.
const SMALLEST: usize = 7;

/// Maximum size in bytes of a record: two paths and some numbers.
const LARGEST: usize = 16 << 10;

messages! {
    /// A record of the log. Files have the numbers of the cache; offsets and sizes are in bytes, `end` is
    /// exclusive. Paths are relative to the export.
    Record {
        /// The log begins, of this version, on a host that was started as `boot`.
        1 Begin { version: u32, boot: &'a [u8] },
        /// The export with this number is this directory.
        2 Export { export: u32, path: &'a [u8] },
        /// A file is in the cache: its path in the store, its inode, and when that was created.
        3 Add { file: u64, export: u32, inode: u64, born_s: u64, born_ns: u32, path: &'a [u8] },
        /// These bytes of the file in the cache are unstored.
        4 Wrote { file: u64, start: u64, end: u64 },
        /// These bytes are stored.
        5 Stored { file: u64, start: u64, end: u64 },
        /// What the first `records` records of this log say of the file is synced in the cache.
        6 Synced { file: u64, records: u64 },
        /// The client has set the time of the last change. The store gets it with the last bytes.
        7 Modified { file: u64, s: u64, ns: u32 },
        /// The file is left out from now on: all is stored, or dropped on request.
        8 Forget { file: u64 },
        /// An operation on the store begins: the file ends at this size.
        9 Cut { operation: u64, file: u64, size: u64 },
        /// An operation on the store begins: a file or directory gets another path.
        10 Rename { operation: u64, export: u32, from: &'a [u8], to: &'a [u8] },
        /// An operation on the store begins: the last name of a file is removed.
        11 Remove { operation: u64, file: u64 },
        /// The operation with this number has ended.
        12 Done { operation: u64, is_done: u8 },
        /// The unstored bytes of the file belong to this version of an object.
        13 Base { file: u64, version: &'a [u8] },
        /// The file is being stored as an object with this mark.
        14 Upload { file: u64, mark: &'a [u8] },
        /// A sync of the file in the cache has failed: no later one makes its unstored bytes safe.
        15 SyncFailed { file: u64 },
    }
}

impl Record<'_> {
    /// Append the record.
    pub fn append(&self, out: &mut Buffer) {
        let start = out.len();
        out.put(&[0; CHECKSUM]);
        self.write(0, out);
        complete(start, out);
    }
}

/// Write the checksum of the record that starts at `start` with 4 bytes for it, and ends at the end of `out`.
pub fn complete(start: usize, out: &mut Buffer) {
    let sum = crc(&out.bytes()[start + CHECKSUM..]);
    out[start..start + CHECKSUM].copy_from_slice(&sum.to_le_bytes());
}

/// Return the CRC-32C of some bytes.
fn crc(bytes: &[u8]) -> u32 {
    // The upper half is zero.
    checksum(CrcAlgorithm::Crc32Iscsi, bytes) as u32
}

/// Why a log ends before its last byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    /// The last record is cut off: the daemon was killed, or the host has failed, before it was
    /// acknowledged.
    #[error("a record that is cut off")]
    Short,
    /// The checksum of a record is wrong.
    #[error("a damaged record")]
    Record,
    /// The record has a correct checksum, and is none of this version.
    #[error("a record of another version: {0}")]
    Unknown(Malformed),
    /// The records do not fit together.
    #[error("a record that does not fit those before it")]
    Order,
}

/// Take the next record off the bytes of a log. `None` at the end.
///
/// # Errors
/// The bytes are no record.
pub fn take<'a>(bytes: &mut &'a [u8]) -> Result<Option<Record<'a>>, Damage> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let (sum, rest) = bytes.split_first_chunk::<CHECKSUM>().ok_or(Damage::Short)?;
    let size = rest.first_chunk::<4>().ok_or(Damage::Short)?;
    let size = usize::try_from(u32::from_le_bytes(*size)).map_err(|_| Damage::Record)?;
    if !(SMALLEST..=LARGEST).contains(&size) {
        return Err(Damage::Record);
    }
    let (message, rest) = rest.split_at_checked(size).ok_or(Damage::Short)?;
    if crc(message) != u32::from_le_bytes(*sum) {
        return Err(Damage::Record);
    }
    let record = Record::read(message[4], &message[SMALLEST..]).map_err(Damage::Unknown)?;
    *bytes = rest;
    Ok(Some(record))
}

/// A file that a former daemon has left with unstored bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// The number of the export.
    pub export: u32,
    /// The paths that the file may have in the store: more than one if it was being renamed.
    pub paths: Vec<Vec<u8>>,
    /// The inode in the store.
    pub inode: u64,
    /// When the inode was created, s and ns since 1970.
    pub born: (u64, u32),
    /// The unstored bytes, each with the number of the record that says so.
    unstored: RangeMap<u64, u64>,
    /// The number of records of which all is synced.
    synced_records: u64,
    /// The time of the last change that the client has set, s and ns since 1970.
    pub modified: Option<(u64, u32)>,
    /// The size to which the store may have cut the file.
    pub cut: Option<u64>,
    /// Whether the last name of the file may be removed.
    pub is_removed: bool,
    /// The version of the object to which the unstored bytes belong.
    pub base: Option<Vec<u8>>,
    /// The mark of an upload since, which may have replaced that version.
    pub mark: Option<Vec<u8>>,
    /// Whether a sync of the unstored bytes in the cache has failed.
    pub has_sync_failed: bool,
}

impl Left {
    /// Return the bytes that are unstored.
    #[must_use]
    pub fn unstored(&self) -> Vec<Range<u64>> {
        self.unstored
            .iter()
            .map(|(range, _)| range.clone())
            .collect()
    }

    /// Record that the store ends the file at this size.
    pub fn truncate(&mut self, size: u64) {
        if size < u64::MAX {
            self.unstored.remove(size..u64::MAX);
        }
    }

    /// Record that a client has written bytes. Those that were unstored before keep the number of their
    /// record: once synced, a failure of the host leaves what was synced or what was written over it.
    fn wrote(&mut self, range: Range<u64>, number: u64) {
        let older = self.unstored.overlapping(&range);
        let older = older.map(|(part, number)| {
            let clipped = part.start.max(range.start)..part.end.min(range.end);
            (clipped, *number)
        });
        let older: Vec<_> = older.collect();
        self.unstored.insert(range, number);
        for (part, number) in older {
            self.unstored.insert(part, number);
        }
    }

    /// Return those of the unstored bytes that were synced in the cache.
    #[must_use]
    pub fn synced(&self) -> Vec<Range<u64>> {
        let synced = self.unstored.iter();
        let synced = synced.filter(|(_, record)| **record < self.synced_records);
        synced.map(|(range, _)| range.clone()).collect()
    }
}

/// An operation on the store, which the log has when it begins and when it has ended.
#[derive(Clone, Debug)]
pub enum Operation {
    /// A file ends at a size.
    Cut {
        /// The file.
        file: FileId,
        /// Size in bytes.
        size: u64,
    },
    /// A file or directory gets another path.
    Rename {
        /// The number of the export.
        export: u32,
        /// The path before.
        from: Vec<u8>,
        /// The path after.
        to: Vec<u8>,
    },
    /// The last name of a file is removed.
    Remove {
        /// The file.
        file: FileId,
    },
}

impl Operation {
    /// Return the record that the operation with this number begins.
    pub fn record(&self, operation: u64) -> Record<'_> {
        match self {
            Self::Cut { file, size } => Record::Cut {
                operation,
                file: file.0,
                size: *size,
            },
            Self::Rename { export, from, to } => Record::Rename {
                operation,
                export: *export,
                from,
                to,
            },
            Self::Remove { file } => Record::Remove {
                operation,
                file: file.0,
            },
        }
    }
}

/// What the records of a log say so far.
#[derive(Clone, Debug, Default)]
pub struct Replay {
    /// The identity of the host's boot (`boot_id`) in which the log was created.
    pub boot: Vec<u8>,
    /// The paths of the exports.
    pub exports: BTreeMap<u32, Vec<u8>>,
    /// The files with unstored bytes, by number.
    pub files: BTreeMap<u64, Left>,
    operations: BTreeMap<u64, Operation>,
    /// The number of records.
    pub records: u64,
}

impl Replay {
    /// Read the records of a log. Return what they say, and why the log ends early, if it does, with the
    /// number of bytes read.
    #[must_use]
    pub fn read(bytes: &[u8]) -> (Self, Option<(Damage, usize)>) {
        let mut replay = Self::default();
        let mut unread = bytes;
        let damage = loop {
            let at = bytes.len() - unread.len();
            match take(&mut unread) {
                Ok(None) => break None,
                Ok(Some(record)) => {
                    if let Err(damage) = replay.apply(&record) {
                        break Some((damage, at));
                    }
                }
                Err(damage) => break Some((damage, at)),
            }
        };
        replay.end();
        (replay, damage)
    }

    /// Apply a record. One that makes no sense changes nothing.
    fn apply(&mut self, record: &Record<'_>) -> Result<(), Damage> {
        let is_begin = matches!(record, Record::Begin { .. });
        if is_begin != (self.records == 0) {
            return Err(Damage::Order);
        }
        let number = self.records;
        self.records += 1;
        match *record {
            Record::Begin { version, boot } => {
                if version != VERSION {
                    return Err(Damage::Unknown(Malformed::Type(1)));
                }
                self.boot = boot.to_vec();
            }
            Record::Export { export, path } => {
                self.exports.insert(export, path.to_vec());
            }
            Record::Add {
                file,
                export,
                inode,
                born_s,
                born_ns,
                path,
            } => {
                if !self.exports.contains_key(&export) || self.files.contains_key(&file) {
                    return Err(Damage::Order);
                }
                let left = Left {
                    export,
                    paths: vec![path.to_vec()],
                    inode,
                    born: (born_s, born_ns),
                    unstored: RangeMap::new(),
                    synced_records: 0,
                    modified: None,
                    cut: None,
                    is_removed: false,
                    base: None,
                    mark: None,
                    has_sync_failed: false,
                };
                self.files.insert(file, left);
            }
            Record::Wrote { file, start, end } => {
                let range = range(start, end)?;
                let left = self.file(file)?;
                left.wrote(range, number);
                // The write was the last change.
                left.modified = None;
            }
            Record::Stored { file, start, end } => {
                let range = range(start, end)?;
                self.file(file)?.unstored.remove(range);
            }
            Record::Synced { file, records } => {
                let left = self.file(file)?;
                left.synced_records = left.synced_records.max(records.min(number));
            }
            Record::Base { file, version } => {
                let left = self.file(file)?;
                (left.base, left.mark) = (Some(version.to_vec()), None);
            }
            Record::Upload { file, mark } => self.file(file)?.mark = Some(mark.to_vec()),
            Record::SyncFailed { file } => self.file(file)?.has_sync_failed = true,
            Record::Modified { file, s, ns } => self.file(file)?.modified = Some((s, ns)),
            Record::Forget { file } => {
                self.file(file)?;
                self.files.remove(&file);
            }
            Record::Cut {
                operation,
                file,
                size,
            } => {
                // As for `truncate`.
                if i64::try_from(size).is_err() {
                    return Err(Damage::Order);
                }
                let file = FileId(file);
                self.begin(operation, Operation::Cut { file, size })?;
            }
            Record::Rename {
                operation,
                export,
                from,
                to,
            } => {
                let (from, to) = (from.to_vec(), to.to_vec());
                self.begin(operation, Operation::Rename { export, from, to })?;
            }
            Record::Remove { operation, file } => {
                let file = FileId(file);
                self.begin(operation, Operation::Remove { file })?;
            }
            Record::Done { operation, is_done } => {
                let started = self.operations.remove(&operation).ok_or(Damage::Order)?;
                if is_done != 0 {
                    self.done(started);
                }
            }
        }
        Ok(())
    }

    /// Return a file that was added.
    fn file(&mut self, file: u64) -> Result<&mut Left, Damage> {
        self.files.get_mut(&file).ok_or(Damage::Order)
    }

    /// Record that an operation on the store begins.
    fn begin(&mut self, number: u64, operation: Operation) -> Result<(), Damage> {
        match self.operations.entry(number) {
            Entry::Vacant(entry) => {
                entry.insert(operation);
                Ok(())
            }
            Entry::Occupied(_) => Err(Damage::Order),
        }
    }

    /// Apply an operation that the store has carried out. All of a file may have been stored meanwhile.
    fn done(&mut self, operation: Operation) {
        match operation {
            Operation::Cut { file, size } => {
                if let Some(left) = self.files.get_mut(&file.0) {
                    left.truncate(size);
                }
            }
            Operation::Rename { export, from, to } => {
                let files = self.files.values_mut();
                for left in files.filter(|left| left.export == export) {
                    for path in &mut left.paths {
                        if let Some(renamed) = renamed(path, &from, &to) {
                            *path = renamed;
                        }
                    }
                }
            }
            Operation::Remove { file } => {
                self.files.remove(&file.0);
            }
        }
    }

    /// Take account of the operations that had not ended when the log did: the store may have carried
    /// them out or not. Files without unstored bytes are left out.
    fn end(&mut self) {
        for operation in std::mem::take(&mut self.operations).into_values() {
            match operation {
                Operation::Cut { file, size } => {
                    if let Some(left) = self.files.get_mut(&file.0) {
                        left.cut = Some(size);
                    }
                }
                Operation::Rename { export, from, to } => {
                    let files = self.files.values_mut();
                    for left in files.filter(|left| left.export == export) {
                        let paths = left.paths.iter();
                        let others = paths.filter_map(|path| renamed(path, &from, &to));
                        let others: Vec<_> = others.collect();
                        left.paths.extend(others);
                    }
                }
                Operation::Remove { file } => {
                    if let Some(left) = self.files.get_mut(&file.0) {
                        left.is_removed = true;
                    }
                }
            }
        }
        self.files
            .retain(|_, left| !left.unstored.is_empty() || left.cut.is_some());
    }
}

/// Return the range of a record.
fn range(start: u64, end: u64) -> Result<Range<u64>, Damage> {
    match start < end {
        true => Ok(start..end),
        false => Err(Damage::Order),
    }
}

/// Return the path of a file after `from` has become `to`, if it has another one.
fn renamed(path: &[u8], from: &[u8], to: &[u8]) -> Option<Vec<u8>> {
    let rest = path.strip_prefix(from)?;
    let is_beneath = rest.is_empty() || rest.starts_with(b"/");
    is_beneath.then(|| [to, rest].concat())
}
