//! Locks that processes hold, and the requests for them.

use isthmus_forward::message::Request;

/// The mode of a request that unlocks.
pub(super) const UNLOCK: u8 = 2;

/// A lock that a process holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HeldLock {
    /// The file.
    pub node: u64,
    /// The fid with which it was open when it was locked.
    pub fid: u32,
    /// The process, as the kernel names it.
    pub owner: u64,
    /// Whether others may share it.
    pub is_shared: bool,
    /// The first byte.
    pub start: u64,
    /// The last byte.
    pub end: u64,
}

/// Return a lock's mode as the protocol has it.
pub(super) fn lock_mode(lock: &HeldLock) -> u8 {
    u8::from(!lock.is_shared)
}

/// The name of the owner of a lock, by which the daemon distinguishes the processes of a mount.
pub(super) struct Owner([u8; 8]);

impl Owner {
    /// Return the name of the owner of a lock.
    pub fn of(lock: &HeldLock) -> Self {
        Self(lock.owner.to_le_bytes())
    }

    /// Return the request for the lock, or to unlock in mode [`UNLOCK`].
    pub fn request(&self, lock: &HeldLock, mode: u8) -> Request<'_> {
        Request::Lock {
            fid: lock.fid,
            mode,
            flags: 0,
            start: lock.start,
            length: length(lock),
            process: 0,
            client: &self.0,
        }
    }

    /// Return the request for a lock that is in the way of this one.
    pub fn conflict(&self, lock: &HeldLock) -> Request<'_> {
        Request::GetLock {
            fid: lock.fid,
            mode: lock_mode(lock),
            start: lock.start,
            length: length(lock),
            process: 0,
            client: &self.0,
        }
    }
}

/// Return the length of a lock: 0 is to the end.
fn length(lock: &HeldLock) -> u64 {
    match lock.end {
        end if end >= i64::MAX as u64 => 0,
        end => end - lock.start + 1,
    }
}
