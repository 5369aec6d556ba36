//! Waits for the other side of a ring: polls for a short time, then sleeps.

use crate::error::Error;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread::{available_parallelism, yield_now};
use std::time::Instant;

/// Number of checks of a condition before the thread yields its processor.
const LOOKS: u32 = 200;
/// Number of times that a waiting thread offers its processor to other threads (yields) before it
/// sleeps.
const OFFERS: u32 = 8;

/// Returns whether the machine has only one processor. The answer is stored without a lock: a
/// process that is forked while another thread holds a lock would find it locked forever.
fn alone() -> bool {
    /// The stored answer: 0 before the number of processors is known.
    static KNOWN: AtomicU8 = AtomicU8::new(0);
    match KNOWN.load(Ordering::Relaxed) {
        0 => {
            let alone = available_parallelism().is_ok_and(|cores| cores.get() == 1);
            KNOWN.store(1 + u8::from(alone), Ordering::Relaxed);
            alone
        }
        known => known == 2,
    }
}

/// Calls `ready` until it returns true, for some microseconds: long enough for another processor to
/// copy a chunk. With only one processor, yields it between the calls instead. Returns the last
/// result.
pub(crate) fn spin<E>(mut ready: impl FnMut() -> Result<bool, E>) -> Result<bool, E> {
    if !alone() {
        for _ in 0..LOOKS {
            if ready()? {
                return Ok(true);
            }
            std::hint::spin_loop();
        }
    }
    for _ in 0..OFFERS {
        if ready()? {
            return Ok(true);
        }
        yield_now();
    }
    ready()
}

/// Waits until a descriptor has `events` or has hung up, or until `deadline`.
///
/// # Returns
/// Whether the deadline had not passed. A signal also ends the wait.
pub(crate) fn ready(
    descriptor: BorrowedFd<'_>,
    events: PollFlags,
    deadline: Instant,
) -> Result<bool, Error> {
    let left = deadline.saturating_duration_since(Instant::now());
    // The maximum replaces a time that is longer than the system supports.
    let timeout = Timespec::try_from(left).unwrap_or(Timespec {
        tv_sec: i64::MAX,
        tv_nsec: 0,
    });
    let mut descriptors = [PollFd::from_borrowed_fd(descriptor, events)];
    match poll(&mut descriptors, Some(&timeout)) {
        Ok(_) | Err(Errno::INTR) => Ok(!left.is_zero()),
        Err(error) => Err(Error::system("waiting for a descriptor", error)),
    }
}
