//! Opens the folder of the cache, with what a former daemon has left in it.

use super::file::{self, File, born, key, state as state_of};
use super::folder::{DATA, Folder, refuse};
use super::foreground::Foreground;
use super::log::{LOG, Log};
use super::progress::{FIRST_LOST, Lost, Stored};
use super::state::{Cache, Entry, State, describe, path_of};
use crate::config::CacheConfig;
use crate::export::Export;
use crate::objects::{Objects, make_again, new_mark};
use isthmus_daemon::Gate;
use isthmus_forward::Errno;
use isthmus_forward::cache::journal::{Header, Journal};
use isthmus_forward::cache::log::{Damage, Left, Replay};
use isthmus_forward::cache::{Cache as Machine, FileId};
use isthmus_wire::Result;
use rustix::fs::{AtFlags, Dir, Mode, OFlags, Timespec, ftruncate, openat, unlinkat};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsString;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// Return the identifier of this start of the host.
pub(super) fn boot() -> Vec<u8> {
    let read = std::fs::read("/proc/sys/kernel/random/boot_id");
    read.unwrap_or_default().trim_ascii().to_vec()
}

/// A file that a former daemon has left, found again.
struct Found {
    entry: Entry,
    size: u64,
    unstored: Vec<Range<u64>>,
    /// Those of the unstored bytes that are synced in the cache, and whether a sync of others has failed.
    synced: Vec<Range<u64>>,
    has_sync_failed: bool,
}

impl Cache {
    /// Open the cache in a folder for these exports.
    ///
    /// # Errors
    /// The folder has data of another export or of another version.
    pub fn open_in(
        config: CacheConfig,
        Folder { folder, data, lock }: Folder,
        store_timeout: Duration,
        exports: &[Arc<Export>],
        gate: Arc<Gate>,
    ) -> Result<Self> {
        let replay = read(&config, &folder)?;
        let is_same_boot = replay.boot == boot();
        let mut machine = Machine::new(config.settings);
        let (mut entries, mut by_key) = (BTreeMap::new(), HashMap::new());
        let (mut lost, mut logged) = (Vec::new(), Vec::new());
        for (id, left) in &replay.files {
            let id = FileId(*id);
            let found = find(
                &config,
                exports,
                &replay,
                &data,
                (id, left, is_same_boot),
                &gate,
                &mut lost,
            )?;
            let Some(found) = found else {
                continue;
            };
            machine.recover(Duration::ZERO, id, found.size, &found.unstored);
            if found.entry.file.objects().is_some() {
                machine.store_whole(id);
            }
            found.entry.file.key.map(|key| by_key.insert(key, id));
            entries.insert(id, found.entry);
            logged.push((id, found.synced, found.has_sync_failed));
        }
        // A full folder needs room for the new log. The old one says the same of these files once more.
        clear(&data, &entries).map_err(|error| refuse(&config, &error.to_string()))?;
        let header = Header {
            boot: boot(),
            exports: exports.iter().map(|each| path_of(each).to_vec()).collect(),
        };
        let describe = |id| {
            (
                describe(&entries[&id], exports),
                machine.unstored_ranges(id),
            )
        };
        let journal = Journal::start(&header, logged, describe, |records| {
            Log::create(folder, records)
        });
        let journal = journal.map_err(|error| refuse(&config, &error.to_string()))?;
        let state = State {
            machine,
            journal,
            entries,
            by_key,
            forgotten: Vec::new(),
            stored: Stored::default(),
            threads: 0,
            is_ending: false,
            is_closed: false,
        };
        Ok(Self {
            config,
            store_timeout,
            gate,
            exports: exports.to_vec(),
            header,
            data,
            has_name_sync_failed: Mutex::new(false),
            lock,
            state: Mutex::new(state),
            paths: Mutex::default(),
            lost: Mutex::new(lost),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
            changed: Condvar::new(),
            work: Condvar::new(),
            foreground: Foreground::default(),
            origin: Instant::now(),
        })
    }
}

/// Return the exports of which a daemon has left data in the folder of its cache that is not stored; none if there is no
/// such data.
///
/// # Errors
/// The folder does not exist or is none of a cache, another daemon uses it, or its log cannot be read.
pub fn cached_exports(folder: &Path) -> Result<Vec<OsString>> {
    let config = CacheConfig::new(folder.to_owned());
    if !folder.is_dir() {
        return Err(refuse(&config, "the folder does not exist"));
    }
    if !folder.join(LOG).is_file() {
        return Err(refuse(
            &config,
            "no daemon has used this folder as its cache",
        ));
    }
    let opened = Folder::open(&config, &[])?;
    let replay = read(&config, &opened.folder)?;
    let ids = replay.files.values().map(|left| left.export);
    let ids: BTreeSet<_> = ids.collect();
    let paths = ids.iter().map(|id| &replay.exports[id]);
    Ok(paths.map(|path| OsString::from_vec(path.clone())).collect())
}

/// Read the log in the folder of a cache; there is none in a new one.
fn read(config: &CacheConfig, folder: &OwnedFd) -> Result<Replay> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let opened = match openat(folder, LOG, flags, Mode::empty()) {
        Ok(opened) => opened,
        Err(rustix::io::Errno::NOENT) => return Ok(Replay::default()),
        Err(error) => return Err(refuse(config, &format!("{LOG}: {error}"))),
    };
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut std::fs::File::from(opened), &mut bytes)
        .map_err(|error| refuse(config, &format!("{LOG}: {error}")))?;
    let (replay, damage) = Replay::read(&bytes);
    match damage {
        // What the host was writing when it failed may be cut off.
        Some((damage, at)) if at == 0 || (damage != Damage::Short && replay.boot == boot()) => {
            let text = format!(
                "{LOG}: {damage}, at byte {at}: give the daemon that wrote it, or remove the folder \
                 to drop what is not stored"
            );
            Err(refuse(config, &text))
        }
        _ => Ok(replay),
    }
}

/// Find a file that a former daemon has left again, in the cache and in the store. `None` if nothing of it
/// is to be stored.
fn find(
    config: &CacheConfig,
    exports: &[Arc<Export>],
    replay: &Replay,
    data: &OwnedFd,
    (id, left, is_same_boot): (FileId, &Left, bool),
    gate: &Gate,
    all_lost: &mut Vec<Lost>,
) -> Result<Option<Found>> {
    let shown = String::from_utf8_lossy(&left.paths[0]).into_owned();
    let wanted = &replay.exports[&left.export];
    let Some(export) = exports.iter().find(|export| path_of(export) == wanted) else {
        let wanted = String::from_utf8_lossy(wanted);
        let text =
            format!("has data of {shown:?} that is not stored: start with --export {wanted}");
        return Err(refuse(config, &text));
    };
    let kept_of = |left: &Left| match is_same_boot {
        true => left.unstored(),
        false => left.synced(),
    };
    let mut left = left.clone();
    let bytes = |ranges: &[Range<u64>]| ranges.iter().map(|range| range.end - range.start).sum();
    let (all, kept): (u64, u64) = (bytes(&left.unstored()), bytes(&kept_of(&left)));
    if kept < all {
        let lost = format!(
            "{} bytes were lost when the host failed: not synced",
            all - kept
        );
        gate.log()
            .record("cache", &format!("recover {shown:?}"), &lost);
        lose(all_lost, all - kept, wanted, &left.paths[0]);
    }
    if let Some(objects) = &export.objects {
        let text = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).into_owned();
        let (base, mark) = (left.base.as_ref().map(text), left.mark.as_ref().map(text));
        objects.restore(left.inode, base, mark);
    }
    // In the store the file has one of these names, unless somebody else has removed it.
    let places = left.paths.iter().map(|path| Export::place(export, path));
    let mut found = None;
    for place in places {
        match place.status() {
            Ok(status) if (status.stx_ino, born(&status)) == (left.inode, left.born) => {
                found = Some((place, status));
                break;
            }
            Ok(_) | Err(Errno::NOENT | Errno::NOTDIR | Errno::STALE) => {}
            Err(error) => return Err(refuse(config, &format!("{shown:?} in the store: {error}"))),
        }
    }
    if let (Some(objects), None, false) = (&export.objects, &found, left.is_removed) {
        // The tree that shows the objects is on this host, which may have lost the name.
        let made = make_again(export, &left.paths[0]);
        let status = made.map_err(|error| refuse(config, &format!("{shown:?}: {error}")))?;
        let base = objects.of(left.inode).unwrap_or_default();
        objects.restore(status.stx_ino, base.version, base.mark);
        found = Some((Export::place(export, &left.paths[0]), status));
    }
    if let (Some(size), Some((place, _))) = (left.cut, &found) {
        let failed = |error| refuse(config, &format!("{shown:?} in the store: {error}"));
        let is_cut = match &export.objects {
            Some(objects) => empty_again(
                (export, objects),
                &place.path().unwrap_or_default(),
                left.inode,
            ),
            None => Ok(true),
        };
        if is_cut.map_err(failed)? {
            // The store may have cut the file or not: now it has.
            let cut = place.open(OFlags::WRONLY | OFlags::CLOEXEC);
            let cut = cut.and_then(|file| ftruncate(file, size).map_err(crate::status::errno));
            cut.map_err(failed)?;
            left.truncate(size);
        }
    }
    let mut unstored = kept_of(&left);
    if unstored.is_empty() || (found.is_none() && left.is_removed) {
        return Ok(None);
    }
    let end = unstored.last().map_or(0, |last| last.end);
    let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let opened = openat(data, file::name(id), flags, Mode::empty());
    let cached = opened.ok().and_then(|opened| state_of(&opened).ok());
    let cached_size = cached.map_or(0, |status| status.stx_size);
    if cached_size < end && is_same_boot {
        let name = file::name(id);
        let text = format!(
            "{DATA}/{name}, with data of {shown:?} that is not stored, is missing or cut off: put it \
             back, or remove the folder to drop what is not stored"
        );
        return Err(refuse(config, &text));
    }
    if cached_size < end {
        let wanted_bytes = bytes(&unstored);
        unstored.retain(|range| range.start < cached_size);
        if let Some(last) = unstored.last_mut() {
            last.end = last.end.min(cached_size);
        }
        let missing = wanted_bytes - bytes(&unstored);
        let lost = format!("{missing} bytes were lost when the host failed");
        gate.log()
            .record("cache", &format!("recover {shown:?}"), &lost);
        lose(all_lost, missing, wanted, &left.paths[0]);
        if unstored.is_empty() {
            return Ok(None);
        }
    }
    let end = end.min(cached_size);
    let (place, status) = match found {
        Some((place, status)) => (place, Some(status)),
        None => (Export::place(export, &left.paths[0]), None),
    };
    let size = status
        .as_ref()
        .map_or(end, |status| status.stx_size.max(end));
    let (inode, born) = match &status {
        Some(status) => (status.stx_ino, born(status)),
        None => (left.inode, left.born),
    };
    let file = File::new(id, status.as_ref().map(key), inode, born, place);
    let mut entry = Entry::new(Arc::new(file), None);
    if let Some((s, ns)) = left.modified {
        let tv_sec = i64::try_from(s).unwrap_or(i64::MAX);
        let tv_nsec = ns.into();
        entry.modified = Some(Timespec { tv_sec, tv_nsec });
        entry.is_modified_set = true;
    }
    Ok(Some(Found {
        entry,
        size,
        unstored,
        synced: left.synced(),
        // After a failure of the host, what is left is what was synced.
        has_sync_failed: left.has_sync_failed && is_same_boot,
    }))
}

/// Empty an object again that a former daemon may have emptied. Return `false` if another program has changed it: a conflict.
fn empty_again(
    (export, objects): (&Export, &Objects),
    path: &[u8],
    inode: u64,
) -> isthmus_forward::Result<bool> {
    let mark = match objects.of(inode).and_then(|known| known.mark) {
        Some(mark) => mark,
        None => new_mark()?,
    };
    match objects.base(export, path, inode) {
        Ok(base) => objects
            .store_empty(path, inode, &base, &mark)
            .map(|()| true),
        Err(Errno::STALE) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Add a file of an export to those of which data was lost.
fn lose(lost: &mut Vec<Lost>, bytes: u64, export: &[u8], path: &[u8]) {
    let number = FIRST_LOST + lost.len() as u64;
    let path = [export, path].join(&b'/');
    lost.push(Lost {
        number,
        bytes,
        path,
    });
}

/// Remove the data of files that are not in the cache.
fn clear(data: &OwnedFd, entries: &BTreeMap<FileId, Entry>) -> rustix::io::Result<()> {
    for found in Dir::read_from(data)? {
        let found = found?;
        let name = found.file_name();
        if file::id(name.to_bytes()).is_some_and(|id| !entries.contains_key(&id)) {
            unlinkat(data, name, AtFlags::empty())?;
        }
    }
    Ok(())
}
