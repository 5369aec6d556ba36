//! The shared state of the two sides of a ring: six words and the bytes.
//!
//! # Why the memory orderings suffice
//!
//! **Data.** The producer copies bytes, then stores [`Word::Tail`] with release; the consumer loads
//! it with acquire, then copies. So the copy in happens before the copy out. The same holds for
//! [`Word::Head`] in the other direction: the copy out happens before the next copy in to the same
//! position.
//!
//! **Sleep.** A side that finds too little stores in its *wants* word the position of the other
//! side that it waits for. It then checks that position once more, and sleeps if it is still too
//! low. The other side stores its position, then checks the wants word. With a sequentially
//! consistent fence between store and load on both sides, at least one of them sees the other's
//! store: either the sleeper does not go to sleep, or it is woken. It is woken once: the waking
//! side resets the wants word to [`AWAKE`], and a late wake-up only causes another check. Every
//! writer of this word uses an exchange, which orders a late wake-up and the next sleep.
//!
//! **Close.** A producer stores its last position, then [`Word::WriterClosed`] with release. A
//! consumer loads the flag with acquire and the position after it: if the flag was set, the
//! position is final.
//!
//! Loom runs programs of both sides in all their interleavings (the module `models`).

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU64, Ordering, fence};
#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicU64, Ordering, fence};

/// The value of a wants word (the position for which a side sleeps) while the side does not sleep.
pub const AWAKE: u64 = u64::MAX;

/// The maximum position that a ring may have when an end is created. A ring of 100 GB/s reaches it
/// in a year and a half, and needs three more years until the numbers overflow.
pub const FURTHEST: u64 = 1 << 62;

/// The words in a ring's memory that both sides share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word {
    /// Total number of bytes written to the ring; stored by the producer.
    Tail,
    /// Total number of bytes read from the ring; stored by the consumer.
    Head,
    /// The value of the tail for which the consumer sleeps, or [`AWAKE`].
    ReaderWants,
    /// The value of the head for which the producer sleeps, or [`AWAKE`].
    WriterWants,
    /// 1 once the producer has closed, 0 before.
    WriterClosed,
    /// 1 once the consumer has closed, 0 before.
    ReaderClosed,
}

impl Word {
    /// All shared words, in their order in memory.
    pub const ALL: [Self; 6] = [
        Self::Tail,
        Self::Head,
        Self::ReaderWants,
        Self::WriterWants,
        Self::WriterClosed,
        Self::ReaderClosed,
    ];

    /// Returns the name of the side that writes the word, for messages.
    fn writer(self) -> &'static str {
        match self {
            Self::Tail | Self::ReaderWants | Self::WriterClosed => "producer",
            Self::Head | Self::WriterWants | Self::ReaderClosed => "consumer",
        }
    }
}

/// The memory of a ring, which the other side may change at any time.
pub trait Memory {
    /// Returns the capacity of the ring in bytes, a power of two.
    fn capacity(&self) -> u64;

    /// Returns one of the shared words.
    fn word(&self, word: Word) -> &AtomicU64;

    /// Copies `bytes` into the ring from byte `at` of the ring; the copy must not exceed the end.
    fn copy_in(&self, at: usize, bytes: &[u8]);

    /// Copies from byte `at` of the ring into `bytes`; the copy must not exceed the end.
    fn copy_out(&self, at: usize, bytes: &mut [u8]);
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the {} of a ring wrote {found} where {least} to {most} bytes are possible: it is broken or lies",
    .word.writer()
)]
/// An invalid position that the other side has stored in the memory of the ring.
pub struct Corrupt {
    /// The shared word (a 64-bit integer in the ring's memory) with the invalid position.
    pub word: Word,
    /// The invalid position that the word contains.
    pub found: u64,
    /// The minimum valid position.
    pub least: u64,
    /// The maximum valid position.
    pub most: u64,
}

/// Locates `len` bytes from position `position`, in at most two pieces of the ring. Returns the
/// offset of the first piece in the ring, and its length.
pub(crate) fn split(capacity: u64, position: u64, len: usize) -> (usize, usize) {
    let at = position & (capacity - 1);
    // A ring is mapped, so its capacity fits in `usize`.
    (at as usize, len.min((capacity - at) as usize))
}

/// Returns whether the side that moved to `position` must wake the other side, which waits with the
/// word `wants`. True once per sleep.
pub(crate) fn must_wake(wants: &AtomicU64, position: u64) -> bool {
    // Pairs with the fence of `sleeps`, as described in the module documentation.
    fence(Ordering::SeqCst);
    // Usually the other side is awake: then only the load is done, and no cache line is written.
    position >= wants.load(Ordering::Relaxed) && wants.swap(AWAKE, Ordering::AcqRel) != AWAKE
}

/// Announces in the word `wants` that this side sleeps until the other side is at `position`. The
/// caller must check its condition again after this call.
pub(crate) fn sleeps(wants: &AtomicU64, position: u64) {
    wants.swap(position.min(AWAKE - 1), Ordering::AcqRel);
    fence(Ordering::SeqCst);
}

/// Announces in the word `wants` that this side no longer sleeps.
pub(crate) fn awake(wants: &AtomicU64) {
    wants.swap(AWAKE, Ordering::AcqRel);
}

/// Returns the other side's position in `word`. Fails if it is not from `least` to `most`.
pub(crate) fn within(
    memory: &impl Memory,
    word: Word,
    least: u64,
    most: u64,
) -> Result<u64, Corrupt> {
    let found = memory.word(word).load(Ordering::Acquire);
    if (least..=most).contains(&found) {
        Ok(found)
    } else {
        Err(Corrupt {
            word,
            found,
            least,
            most,
        })
    }
}
