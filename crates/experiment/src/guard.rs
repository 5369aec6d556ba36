//! Conversion of panics to errors, so that a panic does not end a thread silently.

use std::any::Any;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::{Mutex, Once, PoisonError};

/// Message and source location of a panic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Panicked {
    /// Message of the panic, in one line.
    pub message: String,
    /// Source file and line of the panic; empty if unknown.
    pub place: String,
}

impl std::fmt::Display for Panicked {
    /// Write the message of the panic, and its source location in parentheses if it is known.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { message, place } = self;
        write!(f, "{message}")?;
        if !place.is_empty() {
            write!(f, " ({place})")?;
        }
        Ok(())
    }
}

thread_local! {
    /// Number of calls of [`catch`] that cover this thread: those on this thread, and those that wait for it.
    static GUARDED: Cell<u32> = const { Cell::new(0) };
}

/// Messages and source locations of panics that [`catch`] has not returned yet. All threads share them, because a panic
/// of a pool's thread is rethrown on another thread.
static RECORDED: Mutex<Vec<Panicked>> = Mutex::new(Vec::new());

/// Run `work` and catch a panic on this thread or on a pool's thread for which `work` waits. The panic is not
/// printed; the caller must report it.
///
/// # Errors
/// Message and location of the panic.
pub fn catch<T>(work: impl FnOnce() -> T) -> Result<T, Panicked> {
    install_hook();
    GUARDED.set(GUARDED.get() + 1);
    let result = panic::catch_unwind(AssertUnwindSafe(work));
    GUARDED.set(GUARDED.get() - 1);
    result.map_err(|payload| panicked(payload.as_ref()))
}

/// Mark this thread as covered by a call of [`catch`] on another thread, so that its panics are recorded and
/// not printed. Each thread of a pool must call this if a call of [`catch`] waits for the pool.
pub fn cover_thread() {
    GUARDED.set(GUARDED.get() + 1);
}

/// Install, once, a panic hook that records the panics of guarded threads instead of printing them.
fn install_hook() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if GUARDED.get() > 0 {
                record_panic(info);
            } else {
                before(info);
            }
        }));
    });
}

/// Store message and location of a panic until [`catch`] returns them.
fn record_panic(info: &PanicHookInfo<'_>) {
    let place = info.location().map_or_else(String::new, |location| {
        format!("{}:{}", location.file(), location.line())
    });
    let mut recorded = RECORDED.lock().unwrap_or_else(PoisonError::into_inner);
    recorded.push(Panicked {
        message: payload_message(info.payload()),
        place,
    });
}

/// Remove and return the recorded panic with the message in `payload`. Without a recorded one, return the message with
/// an empty location.
fn panicked(payload: &(dyn Any + Send)) -> Panicked {
    let message = payload_message(payload);
    let mut recorded = RECORDED.lock().unwrap_or_else(PoisonError::into_inner);
    let known = recorded.iter().rposition(|place| place.message == message);
    known.map_or_else(
        || Panicked {
            message,
            place: String::new(),
        },
        |at| recorded.swap_remove(at),
    )
}

/// Return the message of the panic with this payload, in one line.
fn payload_message(payload: &(dyn Any + Send)) -> String {
    let text = (payload.downcast_ref::<&str>().copied())
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    let words: Vec<&str> = (text.unwrap_or("no reason given").split_whitespace()).collect();
    words.join(" ")
}
