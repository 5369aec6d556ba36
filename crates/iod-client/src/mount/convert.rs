//! Attributes, flags and errors of the protocol as the kernel has them, and the other way round.

use fuser::{Errno as KernelError, FileAttr, FileType, INodeNo};
use isthmus_forward::Errno;
use isthmus_forward::message::{Attributes, Change};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The bits of `st_mode` with the type of a file.
const TYPE: u32 = 0o170_000;

/// Convert an error.
pub(super) fn error(Errno(errno): Errno) -> KernelError {
    KernelError::from_i32(i32::try_from(errno).unwrap_or(5))
}

/// Return a time of the protocol.
fn time(seconds: u64, nanoseconds: u64) -> SystemTime {
    // The protocol has unsigned seconds; times before 1970 are negative ones.
    let nanoseconds = Duration::from_nanos(nanoseconds.min(999_999_999));
    let since = match i64::try_from(seconds) {
        Ok(_) => UNIX_EPOCH.checked_add(Duration::from_secs(seconds)),
        Err(_) => UNIX_EPOCH.checked_sub(Duration::from_secs(seconds.wrapping_neg())),
    };
    since.map_or(UNIX_EPOCH, |since| since + nanoseconds)
}

/// Correct a time before 1970 as `fuser` 0.18 has it: its nanoseconds count towards the past.
pub(super) fn time_of_kernel(time: SystemTime) -> SystemTime {
    UNIX_EPOCH.duration_since(time).map_or(time, |before| {
        time + Duration::from_nanos(before.subsec_nanos().into()) * 2
    })
}

/// Return seconds and nanoseconds of a time, as the protocol has them.
pub(super) fn since_epoch(time: SystemTime) -> (u64, u64) {
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => (after.as_secs(), after.subsec_nanos().into()),
        Err(before) => {
            let before = before.duration();
            let is_whole = before.subsec_nanos() == 0;
            let seconds = before.as_secs() + u64::from(!is_whole);
            let nanoseconds = (1_000_000_000 - before.subsec_nanos()) % 1_000_000_000;
            (seconds.wrapping_neg(), nanoseconds.into())
        }
    }
}

/// Return the type of a file from its mode.
fn kind(mode: u32) -> FileType {
    match (mode & TYPE) >> 12 {
        1 => FileType::NamedPipe,
        2 => FileType::CharDevice,
        4 => FileType::Directory,
        6 => FileType::BlockDevice,
        10 => FileType::Symlink,
        12 => FileType::Socket,
        _ => FileType::RegularFile,
    }
}

/// Return the type of an entry of a directory from its `d_type`, which is the type in a mode.
pub(super) fn entry_kind(kind_of_entry: u8) -> FileType {
    kind(u32::from(kind_of_entry) << 12)
}

/// Convert attributes of the file that the kernel knows by `number`.
pub(super) fn attributes(of: &Attributes, number: u64) -> FileAttr {
    FileAttr {
        ino: INodeNo(number),
        size: of.size,
        blocks: of.blocks,
        atime: time(of.accessed_s, of.accessed_ns),
        mtime: time(of.modified_s, of.modified_ns),
        ctime: time(of.changed_s, of.changed_ns),
        crtime: time(of.created_s, of.created_ns),
        kind: kind(of.mode),
        perm: u16::try_from(of.mode & 0o7777).unwrap_or(0),
        nlink: u32::try_from(of.links).unwrap_or(u32::MAX),
        uid: of.uid,
        gid: of.gid,
        rdev: u32::try_from(of.device).unwrap_or(0),
        blksize: u32::try_from(of.block_bytes).unwrap_or(4096),
        flags: 0,
    }
}

/// Return the change that the kernel asks for. A time is `None` for now.
pub(super) fn change(
    (mode, uid, gid, size): (Option<u32>, Option<u32>, Option<u32>, Option<u64>),
    accessed: Option<Option<SystemTime>>,
    modified: Option<Option<SystemTime>>,
) -> Change {
    let mut change = Change::default();
    let mut set = |is_set: bool, bit: u32| change.valid |= if is_set { bit } else { 0 };
    set(mode.is_some(), Change::MODE);
    set(uid.is_some(), Change::UID);
    set(gid.is_some(), Change::GID);
    set(size.is_some(), Change::SIZE);
    set(accessed.is_some(), Change::ACCESSED);
    set(modified.is_some(), Change::MODIFIED);
    set(accessed.flatten().is_some(), Change::ACCESSED_TO);
    set(modified.flatten().is_some(), Change::MODIFIED_TO);
    let (accessed_s, accessed_ns) = accessed.flatten().map_or((0, 0), since_epoch);
    let (modified_s, modified_ns) = modified.flatten().map_or((0, 0), since_epoch);
    Change {
        mode: mode.unwrap_or(0),
        uid: uid.unwrap_or(0),
        gid: gid.unwrap_or(0),
        size: size.unwrap_or(0),
        accessed_s,
        accessed_ns,
        modified_s,
        modified_ns,
        ..change
    }
}
