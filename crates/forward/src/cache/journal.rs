//! The journal of a cache: the records in its log, and the order of syncs.
//!
//! The caller provides the [`Log`], syncs it and the data, and reports the results. It keeps these rules:
//!
//! | before | what is done |
//! |---|---|
//! | a write is acknowledged | its data is in the cache, then [`Journal::record`] |
//! | data is acknowledged as synced in the cache | [`Journal::begin_sync`], the data is synced, [`Journal::end_sync`], the log is synced |
//! | data is acknowledged as stored, or is given up | the log is synced, if [`Journal::must_sync`] |
//! | the space of data is used again | the log is synced, if [`Journal::has_synced`]; not while [`Journal::is_late`] |
//! | the store cuts, renames or removes a file | [`Journal::begin`], the log is synced, if [`Journal::must_sync`] |
//! | a cut is acknowledged | [`Journal::end`], the log is synced, if the cut has a number |
//! | the next record, if [`Journal::needs_rewrite`] | [`Journal::rewrite`] |

use super::FileId;
use super::log::{Operation, Record, VERSION};
use crate::buffer::Buffer;
use crate::files::{Errno, Result};
use rangemap::RangeSet;
use std::collections::BTreeMap;
use std::ops::Range;

/// Minimum size in bytes of a log that is rewritten because most of it is out of date.
const LONG: u64 = 1 << 20;

/// Where a log is kept.
pub trait Log {
    /// Append records. If that fails, none of them is in the log.
    ///
    /// # Errors
    /// There is no room, for example.
    fn append(&mut self, records: &[u8]) -> Result<()>;

    /// Replace the log by one with these records, after it was synced.
    ///
    /// # Errors
    /// The old log stays.
    fn replace(&mut self, records: &[u8]) -> Result<()>;

    /// Return whether a sync of the log has failed: what was appended before it may be lost whatever later ones report.
    fn has_failed(&self) -> bool;
}

/// What the log says of a file beside its unstored bytes.
#[derive(Clone, Debug, Default)]
pub struct Description {
    /// The number of the export.
    pub export: u32,
    /// The path in the export.
    pub path: Vec<u8>,
    /// The inode in the store.
    pub inode: u64,
    /// When the inode was created, s and ns since 1970.
    pub born: (u64, u32),
    /// The version of the object that the unstored bytes belong to, in a bucket.
    pub base: Option<Vec<u8>>,
    /// The mark of its last upload.
    pub mark: Option<Vec<u8>>,
    /// The time of the last change, s and ns since 1970, if a client has set it.
    pub modified: Option<(u64, u32)>,
}

/// The first records of a log.
#[derive(Clone, Debug, Default)]
pub struct Header {
    /// The identity of this boot of the host.
    pub boot: Vec<u8>,
    /// The paths of the exports, by number.
    pub exports: Vec<Vec<u8>>,
}

/// A sync of the data of a file in the cache that is under way.
#[derive(Clone, Copy, Debug)]
pub struct CacheSync {
    file: FileId,
    /// The number of records of the log when it began, and how often the log had been rewritten.
    records: u64,
    rewrites: u64,
}

/// What is known of a file.
#[derive(Debug, Default)]
struct State {
    /// Whether the log has it.
    is_logged: bool,
    /// Whether its last name was removed: the log does not have it any more.
    is_removed: bool,
    /// Whether the log says of stored bytes that they are unstored.
    is_late: bool,
    /// The unstored bytes that are synced in the cache, and those that are being synced.
    synced: RangeSet<u64>,
    syncing: RangeSet<u64>,
    /// Whether a sync of its unstored bytes in the cache has failed. The system reports that once, and the next sync
    /// succeeds without the bytes.
    has_sync_failed: bool,
}

/// What the log says, and what has to be synced.
#[derive(Debug)]
pub struct Journal<L> {
    log: L,
    files: BTreeMap<FileId, State>,
    /// The operations on the store that have not ended.
    operations: BTreeMap<u64, Operation>,
    next_operation: u64,
    /// The number of records of the log, and how often it was rewritten.
    records: u64,
    rewrites: u64,
    /// Size in bytes of the log, and that when it was rewritten last.
    bytes: u64,
    first_bytes: u64,
    /// Whether a record that must be in the log is not.
    is_incomplete: bool,
    /// Whether some data was synced in the cache: after a failure of the host, the next daemon stores it.
    has_synced: bool,
}

impl<L: Log> Journal<L> {
    /// Start a log with the files that a former daemon has left, each with its unstored bytes that are synced in the cache
    /// and whether a sync of them has failed. `create` returns a log with some records, after it was synced. For `describe`
    /// see [`Journal::rewrite`].
    ///
    /// # Errors
    /// That of `create`.
    pub fn start(
        header: &Header,
        files: impl IntoIterator<Item = (FileId, Vec<Range<u64>>, bool)>,
        describe: impl Fn(FileId) -> (Description, Vec<Range<u64>>),
        create: impl FnOnce(&[u8]) -> Result<L>,
    ) -> Result<Self> {
        let files = files.into_iter().map(|(file, synced, has_sync_failed)| {
            let state = State {
                is_logged: true,
                synced: set(synced),
                has_sync_failed,
                ..State::default()
            };
            (file, state)
        });
        let files: BTreeMap<_, _> = files.collect();
        let records = snapshot(header, &files, &BTreeMap::new(), describe);
        let bytes = records.out.len() as u64;
        Ok(Self {
            log: create(records.out.bytes())?,
            has_synced: files.values().any(|state| !state.synced.is_empty()),
            files,
            operations: BTreeMap::new(),
            next_operation: 0,
            records: records.count,
            rewrites: 0,
            bytes,
            first_bytes: bytes,
            is_incomplete: false,
        })
    }

    /// Return the log.
    pub fn log(&self) -> &L {
        &self.log
    }

    /// Return whether some data was synced in the cache, so that a failure of the host leaves data.
    pub fn has_synced(&self) -> bool {
        self.has_synced
    }

    /// Return whether the log must be synced before something is acknowledged that the next daemon could undo: some data
    /// was synced in the cache, or a record is missing in the log.
    pub fn must_sync(&self) -> bool {
        self.has_synced || self.is_unsafe()
    }

    /// Return whether the log has a file.
    pub fn is_logged(&self, file: FileId) -> bool {
        self.files.get(&file).is_some_and(|state| state.is_logged)
    }

    /// Return whether the last name of a file was removed.
    pub fn is_removed(&self, file: FileId) -> bool {
        self.files.get(&file).is_some_and(|state| state.is_removed)
    }

    /// Return whether the log says of stored bytes of a file that they are unstored: they must stay in the cache.
    pub fn is_late(&self, file: FileId) -> bool {
        self.files.get(&file).is_some_and(|state| state.is_late)
    }

    /// Return what is known of a file.
    fn state(&mut self, file: FileId) -> &mut State {
        self.files.entry(file).or_default()
    }

    /// Add a file, which the log does not have yet.
    pub fn add(&mut self, file: FileId) {
        self.files.insert(file, State::default());
    }

    /// Append records.
    fn append(&mut self, records: Records) -> Result<()> {
        self.log.append(records.out.bytes())?;
        self.records += records.count;
        self.bytes += records.out.len() as u64;
        Ok(())
    }

    /// Append records of a file; before them that it is in the cache, as `describe` returns it, if the log does not say so.
    /// There is nothing to record of a file whose last name was removed.
    ///
    /// # Errors
    /// That of the log; it has none of the records.
    pub fn record(
        &mut self,
        file: FileId,
        describe: impl FnOnce() -> Description,
        added: &[Record<'_>],
    ) -> Result<()> {
        let state = self.state(file);
        if state.is_removed {
            return Ok(());
        }
        let mut records = Records::default();
        if !state.is_logged {
            records.describe(file, &describe());
            if state.has_sync_failed {
                records.add(&Record::SyncFailed { file: file.0 });
            }
        }
        added.iter().for_each(|record| records.add(record));
        self.append(records)?;
        let state = self.state(file);
        if !std::mem::replace(&mut state.is_logged, true) {
            // A sync under way began before the log had the file.
            state.syncing.clear();
        }
        Ok(())
    }

    /// Append a record of a file without which the next daemon cannot store it, if the log has the file. If that fails, the log is rewritten
    /// before the next record.
    pub fn amend(&mut self, file: FileId, record: &Record<'_>) {
        if self.is_logged(file) {
            let added = self.append(Records::of(record));
            self.is_incomplete |= added.is_err();
        }
    }

    /// Leave a file out of the log from now on: nothing of it is unstored. If that cannot be written,
    /// [`Journal::is_logged`] stays true.
    pub fn leave_out(&mut self, file: FileId) {
        let forget = Records::of(&Record::Forget { file: file.0 });
        if self.is_logged(file) && self.append(forget).is_ok() {
            self.drop_state(file);
        }
    }

    /// Record that the log does not have a file any more.
    fn drop_state(&mut self, file: FileId) {
        if let Some(state) = self.files.get_mut(&file) {
            let is_removed = state.is_removed;
            *state = State::default();
            state.is_removed = is_removed;
        }
    }

    /// Forget a file that the log does not have.
    pub fn forget(&mut self, file: FileId) {
        self.files.remove(&file);
    }

    /// Return whether the log has an operation: one on a name, or on a file that it has.
    pub fn is_recorded(&self, operation: &Operation) -> bool {
        match operation {
            Operation::Rename { .. } => true,
            Operation::Cut { file, .. } | Operation::Remove { file } => self.is_logged(*file),
        }
    }

    /// Begin an operation on the store. Return its number; `None` if the log does not have the file, so that nothing has
    /// to be recorded.
    ///
    /// # Errors
    /// That of the log; the operation does not begin.
    pub fn begin(&mut self, operation: Operation) -> Result<Option<u64>> {
        if !self.is_recorded(&operation) {
            return Ok(None);
        }
        let number = self.next_operation;
        self.append(Records::of(&operation.record(number)))?;
        self.next_operation += 1;
        self.operations.insert(number, operation);
        Ok(Some(number))
    }

    /// End an operation: the store has carried it out, or not.
    pub fn end(&mut self, operation: Option<u64>, is_done: bool) {
        let Some(number) = operation else {
            return;
        };
        if let Some(Operation::Cut { file, size }) = self.operations.remove(&number)
            && is_done
        {
            self.cut(file, size);
        }
        let (operation, is_done) = (number, u8::from(is_done));
        let ended = self.append(Records::of(&Record::Done { operation, is_done }));
        self.is_incomplete |= ended.is_err();
    }

    /// Record that a file ends at a size. [`Journal::end`] does that for [`Operation::Cut`].
    pub fn cut(&mut self, file: FileId, size: u64) {
        if let Some(state) = self.files.get_mut(&file) {
            mark_unsynced(state, size..u64::MAX);
        }
    }

    /// Record that the last name of a file was removed, after the operation with this number, if it was logged. Return
    /// whether the log must be synced before this is acknowledged: clients have written to the file meanwhile.
    pub fn removed(&mut self, file: FileId, operation: Option<u64>) -> bool {
        let is_logged = self.is_logged(file);
        let mut must_sync = false;
        match operation {
            // The operation says the same.
            Some(_) => self.drop_state(file),
            None => {
                must_sync = is_logged;
                self.leave_out(file);
                // A rewritten log does not have the file.
                self.is_incomplete |= self.is_logged(file);
            }
        }
        self.state(file).is_removed = true;
        must_sync
    }

    /// Record that bytes of a file are stored.
    pub fn stored(&mut self, file: FileId, ranges: &[Range<u64>]) {
        let Some(state) = self.files.get_mut(&file).filter(|state| state.is_logged) else {
            return;
        };
        let mut records = Records::default();
        for range in ranges {
            mark_unsynced(state, range.clone());
            let (file, Range { start, end }) = (file.0, range.clone());
            records.add(&Record::Stored { file, start, end });
        }
        if records.count > 0 && self.append(records).is_err() {
            self.state(file).is_late = true;
            // With another daemon at the store, or after a failure of the host, they would be stored again.
            self.is_incomplete = true;
        }
    }

    /// Begin to sync the data of a file in the cache, with these unstored bytes.
    ///
    /// # Errors
    /// [`Errno::IO`] after a sync that has failed, until all is stored.
    pub fn begin_sync(&mut self, file: FileId, unstored: Vec<Range<u64>>) -> Result<CacheSync> {
        let (records, rewrites) = (self.records, self.rewrites);
        if let Some(state) = self.files.get_mut(&file) {
            state.has_sync_failed &= !unstored.is_empty();
            if state.has_sync_failed {
                return Err(Errno::IO);
            }
            state.syncing = set(unstored);
        }
        Ok(CacheSync {
            file,
            records,
            rewrites,
        })
    }

    /// Record that the data of a file is synced in the cache: what was written before [`Journal::begin_sync`] is safe once
    /// the log is synced. Return `false` if the sync has to be repeated, since the log was rewritten meanwhile.
    ///
    /// # Errors
    /// That of the log.
    pub fn end_sync(&mut self, sync: CacheSync) -> Result<bool> {
        let CacheSync {
            file,
            records,
            rewrites,
        } = sync;
        if rewrites != self.rewrites {
            return Ok(false);
        }
        if self.is_logged(file) {
            let file = file.0;
            self.append(Records::of(&Record::Synced { file, records }))?;
            self.has_synced = true;
            let state = self.state(sync.file);
            state.synced = std::mem::take(&mut state.syncing);
        }
        Ok(true)
    }

    /// Record that a sync in the cache has failed: that of the data of a file, or that of the names of all data.
    pub fn sync_failed(&mut self, failed: Option<FileId>) {
        let mut records = Records::default();
        for (file, state) in &mut self.files {
            if failed.is_none_or(|failed| failed == *file) && !state.has_sync_failed {
                state.has_sync_failed = true;
                if state.is_logged {
                    records.add(&Record::SyncFailed { file: file.0 });
                }
            }
        }
        if records.count > 0 {
            let added = self.append(records);
            self.is_incomplete |= added.is_err();
        }
    }

    /// Return whether the log has to be rewritten before the next record: something is missing in it or was not synced, or
    /// most of it is out of date.
    pub fn needs_rewrite(&self) -> bool {
        self.is_unsafe() || self.bytes > LONG.max(4 * self.first_bytes)
    }

    /// Return whether something is missing in the log, or was not synced.
    fn is_unsafe(&self) -> bool {
        self.is_incomplete || self.log.has_failed()
    }

    /// Rewrite the log with what it says of files and operations. `describe` returns a file and its unstored bytes.
    ///
    /// # Errors
    /// That of the log, if something is missing in it or was not synced; else it stays in use.
    pub fn rewrite(
        &mut self,
        header: &Header,
        describe: impl Fn(FileId) -> (Description, Vec<Range<u64>>),
    ) -> Result<()> {
        let records = snapshot(header, &self.files, &self.operations, describe);
        if let Err(error) = self.log.replace(records.out.bytes()) {
            return if self.is_unsafe() { Err(error) } else { Ok(()) };
        }
        self.records = records.count;
        self.rewrites += 1;
        self.bytes = records.out.len() as u64;
        self.first_bytes = self.bytes;
        self.is_incomplete = self.log.has_failed();
        for state in self.files.values_mut() {
            state.is_late = false;
            state.is_logged &= !state.is_removed;
        }
        Ok(())
    }
}

/// Records in the form of the log.
#[derive(Default)]
struct Records {
    out: Buffer,
    count: u64,
}

impl Records {
    /// Return one record.
    fn of(record: &Record<'_>) -> Self {
        let mut records = Self::default();
        records.add(record);
        records
    }

    /// Add a record.
    fn add(&mut self, record: &Record<'_>) {
        record.append(&mut self.out);
        self.count += 1;
    }

    /// Add that a file is in the cache.
    fn describe(&mut self, FileId(file): FileId, of: &Description) {
        let (born_s, born_ns) = of.born;
        self.add(&Record::Add {
            file,
            export: of.export,
            inode: of.inode,
            born_s,
            born_ns,
            path: &of.path,
        });
        if let Some(version) = &of.base {
            self.add(&Record::Base { file, version });
        }
        if let Some(mark) = &of.mark {
            self.add(&Record::Upload { file, mark });
        }
    }

    /// Add that bytes of a file are unstored.
    fn wrote(&mut self, FileId(file): FileId, ranges: impl Iterator<Item = Range<u64>>) {
        for Range { start, end } in ranges {
            self.add(&Record::Wrote { file, start, end });
        }
    }
}

/// Return the records of a new log.
fn snapshot(
    header: &Header,
    files: &BTreeMap<FileId, State>,
    operations: &BTreeMap<u64, Operation>,
    describe: impl Fn(FileId) -> (Description, Vec<Range<u64>>),
) -> Records {
    let mut records = Records::default();
    let (version, boot) = (VERSION, header.boot.as_slice());
    records.add(&Record::Begin { version, boot });
    for (export, path) in (0..).zip(&header.exports) {
        records.add(&Record::Export { export, path });
    }
    let logged = files.iter();
    let logged = logged.filter(|(_, state)| state.is_logged && !state.is_removed);
    for (id, state) in logged {
        let (description, unstored) = describe(*id);
        let (file, unstored) = (id.0, set(unstored));
        records.describe(*id, &description);
        // First what is synced, so that one record says so.
        let mut synced = state.synced.intersection(&unstored).peekable();
        if synced.peek().is_some() {
            records.wrote(*id, synced);
            let records_so_far = records.count;
            records.add(&Record::Synced {
                file,
                records: records_so_far,
            });
        }
        // Of these, bytes that are synced keep the number of their first record.
        records.wrote(*id, unstored.into_iter());
        if let Some((s, ns)) = description.modified {
            records.add(&Record::Modified { file, s, ns });
        }
        if state.has_sync_failed {
            records.add(&Record::SyncFailed { file });
        }
    }
    for (number, operation) in operations {
        records.add(&operation.record(*number));
    }
    records
}

/// Return ranges as a set.
fn set(ranges: Vec<Range<u64>>) -> RangeSet<u64> {
    ranges.into_iter().collect()
}

/// Record that bytes are stored or dropped: if they are written again, that is not synced.
fn mark_unsynced(state: &mut State, range: Range<u64>) {
    if !range.is_empty() {
        state.synced.remove(range.clone());
        state.syncing.remove(range);
    }
}
