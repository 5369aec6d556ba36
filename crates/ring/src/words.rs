//! What the two sides of a ring share: six words and the bytes.
//!
//! # Why the orders of memory suffice
//!
//! **Data.** The producer copies bytes, then stores [`Word::Tail`] with release; the consumer loads
//! it with acquire, then copies. So the copy in happens before the copy out. The way back is the
//! same with [`Word::Head`]: the copy out happens before the next copy in to the same place.
//!
//! **Sleep.** A side that finds too little stores in its *wants* word the position of the other
//! that it waits for, then looks at that position once more, and sleeps if it still is too low. The
//! other side stores its position, then looks at the wants word. With a sequentially consistent
//! fence between store and load on both sides, at least one of them sees the other's store: either
//! the sleeper does not go to sleep, or it is woken. It is woken once: whoever wakes it takes the
//! wants word back to [`AWAKE`], and a wake that comes late finds somebody who looks again. All
//! who write this word exchange it, which orders a late wake and the next sleep.
//!
//! **Close.** A producer stores its last position, then [`Word::WriterClosed`] with release. A
//! consumer loads the flag with acquire and the position after it: if the flag was set the position
//! is the last.
//!
//! Programs of both sides are run in all their interleavings by loom (the module `models`).

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU64, Ordering, fence};
#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicU64, Ordering, fence};

/// The value of a wants word whose side does not sleep.
pub const AWAKE: u64 = u64::MAX;

/// The largest position at which an end may begin. A ring of 100 GB/s gets there in a year and a
/// half, and needs three more years for numbers to end.
pub const FURTHEST: u64 = 1 << 62;

/// The words that both sides see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word {
    /// Bytes ever written; stored by the producer.
    Tail,
    /// Bytes ever read; stored by the consumer.
    Head,
    /// The tail for which the consumer sleeps.
    ReaderWants,
    /// The head for which the producer sleeps.
    WriterWants,
    /// Not 0 once the producer will write no more.
    WriterClosed,
    /// Not 0 once the consumer will read no more.
    ReaderClosed,
}

impl Word {
    /// All, in the order in which they lie in memory.
    pub const ALL: [Self; 6] = [
        Self::Tail,
        Self::Head,
        Self::ReaderWants,
        Self::WriterWants,
        Self::WriterClosed,
        Self::ReaderClosed,
    ];
}

/// Memory that holds a ring, and that the other side may change at any time.
pub trait Memory {
    /// Bytes of the ring: a power of two.
    fn capacity(&self) -> u64;

    /// One of the words.
    fn word(&self, word: Word) -> &AtomicU64;

    /// Copies `bytes` into the ring from its byte `at` on; they end within it.
    fn copy_in(&self, at: usize, bytes: &[u8]);

    /// Copies from byte `at` of the ring on into `bytes`; they end within it.
    fn copy_out(&self, at: usize, bytes: &mut [u8]);
}

/// What the other side did that no side of a ring does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Corrupt {
    /// The word that it wrote.
    pub word: Word,
    /// What it says.
    pub found: u64,
    /// The least that it may say.
    pub least: u64,
    /// The most that it may say.
    pub most: u64,
}

/// `len` bytes from position `position` on, as at most two stretches of a ring: where the first
/// begins, and how many bytes are in it.
pub(crate) fn split(capacity: u64, position: u64, len: usize) -> (usize, usize) {
    let at = position & (capacity - 1);
    // A ring is mapped, so that its capacity is one of `usize`.
    (at as usize, len.min((capacity - at) as usize))
}

/// Whether who stored the word that `wants` waits for must wake the other side, now that it is at
/// `position`. Says so once for each time that it sleeps.
pub(crate) fn must_wake(wants: &AtomicU64, position: u64) -> bool {
    // Pairs with the fence of `sleeps`; see above.
    fence(Ordering::SeqCst);
    // In most cases a load of a line that nobody writes.
    position >= wants.load(Ordering::Relaxed) && wants.swap(AWAKE, Ordering::AcqRel) != AWAKE
}

/// Says that this side sleeps until the other is at `position`. What it waits for is to be looked
/// at after this.
pub(crate) fn sleeps(wants: &AtomicU64, position: u64) {
    wants.swap(position.min(AWAKE - 1), Ordering::AcqRel);
    fence(Ordering::SeqCst);
}

/// Says that this side does not sleep any more.
pub(crate) fn awake(wants: &AtomicU64) {
    wants.swap(AWAKE, Ordering::AcqRel);
}

/// What the other side says in `word`, if it is from `least` to `most`.
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
