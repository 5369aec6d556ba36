//! Attributes and flags of Linux, as the protocol has them.

use isthmus_forward::message::{Attributes, Change, FileSystem, Qid};
use isthmus_forward::{Errno, Result};
use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, StatFs, Statx, StatxFlags, Timespec, Timestamps, UTIME_NOW,
    UTIME_OMIT, statx,
};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// The attributes that the daemon asks the system for.
pub(crate) const WANTED: StatxFlags = StatxFlags::BASIC_STATS.union(StatxFlags::BTIME);

/// The flags of the protocol for opening a file, which are those of Linux on x86, and those of this
/// machine.
const FLAGS: &[(u32, OFlags)] = &[
    (0o1, OFlags::WRONLY),
    (0o2, OFlags::RDWR),
    (0o200, OFlags::EXCL),
    (0o1000, OFlags::TRUNC),
    (0o2000, OFlags::APPEND),
    (0o10_000, OFlags::DSYNC),
    (0o200_000, OFlags::DIRECTORY),
    (0o1_000_000, OFlags::NOATIME),
    (0o4_000_000, OFlags::SYNC),
];

/// The flags that change a file or need write permission.
const WRITES: OFlags = OFlags::WRONLY.union(OFlags::RDWR).union(OFlags::TRUNC);

/// Convert an error of the system.
pub(crate) fn errno(error: rustix::io::Errno) -> Errno {
    Errno(u32::try_from(error.raw_os_error()).unwrap_or(Errno::IO.0))
}

/// Convert the flags of a request to open a file. Those that mean nothing over a network, such as
/// `O_DIRECT`, are left out. Special files do not block, and are refused after they are opened.
pub(crate) fn open_flags(flags: u32) -> OFlags {
    let known = FLAGS.iter().filter(|(bits, _)| flags & bits == *bits);
    let given = known.fold(OFlags::empty(), |all, (_, flag)| all | *flag);
    given | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC
}

/// Return whether a file opened with these flags may be changed.
pub(crate) fn is_for_writing(flags: OFlags) -> bool {
    flags.intersects(WRITES)
}

/// Return the permissions in the mode of a request. Clients cannot make programs that run with the
/// rights of the daemon's user: the bits set-user-ID and set-group-ID are left out.
pub(crate) fn permissions(mode: u32) -> Mode {
    Mode::from_raw_mode(mode & 0o1777)
}

/// Return the number of a device, as the system and the protocol have it.
pub(crate) fn device(major: u32, minor: u32) -> u64 {
    rustix::fs::makedev(major, minor)
}

/// Return a number by which the inodes of a device are changed, so that files of several file systems
/// in one export have different numbers. It is 0 for the device `home` of the export.
pub(crate) fn spread(status: &Statx, home: (u32, u32)) -> u64 {
    let at = (status.stx_dev_major, status.stx_dev_minor);
    if at == home {
        return 0;
    }
    // The multiplier is the golden ratio, as in Fibonacci hashing.
    device(at.0, at.1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1 << 63
}

/// Return type, version and number of a file. `home` is the device of the export.
pub(crate) fn qid(status: &Statx, home: (u32, u32)) -> Qid {
    let kind = match FileType::from_raw_mode(status.stx_mode.into()) {
        FileType::Directory => Qid::DIRECTORY,
        FileType::Symlink => Qid::SYMLINK,
        _ => Qid::FILE,
    };
    let changed = status.stx_ctime;
    let version = (changed.tv_sec as u32).rotate_left(20) ^ changed.tv_nsec;
    let version = version ^ (status.stx_size as u32).rotate_left(8);
    let path = status.stx_ino ^ spread(status, home);
    Qid {
        kind,
        version,
        path,
    }
}

/// Return the attributes of a file.
pub(crate) fn attributes(status: &Statx, home: (u32, u32)) -> Attributes {
    // Times before 1970 are negative in both, as on Linux.
    let seconds = i64::cast_unsigned;
    let [accessed, modified, changed] = [status.stx_atime, status.stx_mtime, status.stx_ctime];
    let created = status.stx_btime;
    let is_created = StatxFlags::from_bits_retain(status.stx_mask).contains(StatxFlags::BTIME);
    Attributes {
        valid: Attributes::BASIC | if is_created { Attributes::CREATED } else { 0 },
        qid: qid(status, home),
        mode: status.stx_mode.into(),
        uid: status.stx_uid,
        gid: status.stx_gid,
        links: status.stx_nlink.into(),
        device: device(status.stx_rdev_major, status.stx_rdev_minor),
        size: status.stx_size,
        block_bytes: status.stx_blksize.into(),
        blocks: status.stx_blocks,
        accessed_s: seconds(accessed.tv_sec),
        accessed_ns: accessed.tv_nsec.into(),
        modified_s: seconds(modified.tv_sec),
        modified_ns: modified.tv_nsec.into(),
        changed_s: seconds(changed.tv_sec),
        changed_ns: changed.tv_nsec.into(),
        created_s: seconds(created.tv_sec),
        created_ns: created.tv_nsec.into(),
        ..Attributes::default()
    }
}

/// Return the times that a change sets; `None` if it sets none.
pub(crate) fn times(change: &Change) -> Result<Option<Timestamps>> {
    if !change.has(Change::ACCESSED | Change::MODIFIED) {
        return Ok(None);
    }
    let time = |bit, to, (s, ns): (u64, u64)| {
        let (tv_sec, tv_nsec) = match (change.has(bit), change.has(to)) {
            (false, _) => (0, UTIME_OMIT),
            (true, false) => (0, UTIME_NOW),
            (true, true) => (
                s.cast_signed(),
                i64::try_from(ns).map_err(|_| Errno::INVAL)?,
            ),
        };
        Ok(Timespec { tv_sec, tv_nsec })
    };
    let accessed = (change.accessed_s, change.accessed_ns);
    let modified = (change.modified_s, change.modified_ns);
    Ok(Some(Timestamps {
        last_access: time(Change::ACCESSED, Change::ACCESSED_TO, accessed)?,
        last_modification: time(Change::MODIFIED, Change::MODIFIED_TO, modified)?,
    }))
}

/// Return the state of a file system.
pub(crate) fn file_system(state: &StatFs) -> FileSystem {
    FileSystem {
        kind: state.f_type as u32,
        block_bytes: u32::try_from(state.f_bsize).unwrap_or(4096),
        blocks: state.f_blocks,
        free: state.f_bfree,
        available: state.f_bavail,
        files: state.f_files,
        free_files: state.f_ffree,
        id: 0,
        name_bytes: u32::try_from(state.f_namelen).unwrap_or(255),
    }
}

/// Return the path by which the system reaches an open descriptor, for calls that take no path handle.
pub(crate) fn path_of(place: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", place.as_raw_fd())
}

/// Return the state of an open file or a path handle.
pub(crate) fn status_of(file: impl AsFd) -> Result<Statx> {
    statx(file, c"", AtFlags::EMPTY_PATH, WANTED).map_err(errno)
}

/// Return the state of an entry of a directory.
pub(crate) fn status_at(directory: impl AsFd, name: &[u8]) -> Result<Statx> {
    statx(directory, name, AtFlags::SYMLINK_NOFOLLOW, WANTED).map_err(errno)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that flags of the protocol become those of this machine, alone and together, and that
    /// those without a meaning over a network are left out.
    #[test]
    fn flags_are_those_of_the_machine() {
        let always = open_flags(0);
        for (bits, flag) in FLAGS {
            assert_eq!(open_flags(*bits) - always, *flag - always, "{bits:o}");
        }
        // What Linux sends for `O_SYNC`, `O_DIRECT` and `O_CREAT`.
        assert_eq!(
            open_flags(0o4_010_002),
            always | OFlags::RDWR | OFlags::SYNC
        );
        assert_eq!(open_flags(0o40_000 | 0o100), always);
        assert!(is_for_writing(open_flags(0o1)) && is_for_writing(open_flags(0o1000)));
        assert!(!is_for_writing(always));
    }

    /// Checks that no mode of a client makes a program run with the rights of the daemon's user.
    #[test]
    fn permissions_have_no_set_id_bits() {
        assert_eq!(permissions(0o106_755).as_raw_mode(), 0o755);
        assert_eq!(permissions(0o101_644).as_raw_mode(), 0o1644);
    }
}
