//! What goes in and what comes out.

use crate::{Engine, Rate};
use isthmus_kernel::Cycles;

/// Bytes of a transfer at most: 512 GiB less one.
pub const BYTES_MAX: u64 = (1 << 39) - 1;

/// Bytes to be moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer<'a, T> {
    /// How many, at most [`BYTES_MAX`].
    pub bytes: u64,
    /// The links that they cross, in any order, none twice. There may be none: then nothing but
    /// the bound holds them back.
    pub path: &'a [u32],
    /// Ticks from its beginning until bytes move.
    pub latency: Cycles,
    /// The rate that it never exceeds, if there is one.
    pub rate_max: Option<Rate>,
    /// The rate that is its own on all links of the path (rule 8), if there is one.
    pub reserved: Option<Rate>,
    /// What the handler wants to know again.
    pub tag: T,
}

/// A transfer that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivered<T> {
    /// Its number, in order of beginning.
    pub number: u64,
    /// What was attached.
    pub tag: T,
    /// Its bytes.
    pub bytes: u64,
    /// The time for which it was offered.
    pub generated: Cycles,
    /// When it began to move: its latency later.
    pub moved: Cycles,
    /// The tick by which all of it had moved: the time in which this is told.
    pub arrived: Cycles,
}

/// A transfer that moves, and how fast.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moving<'e, T> {
    /// Its number, in order of beginning.
    pub number: u64,
    /// What was attached.
    pub tag: T,
    /// Its rate, with what is reserved; none if nothing is left for it.
    pub rate: Option<Rate>,
    /// The links that it crosses.
    pub path: &'e [u32],
}

/// What drives the engine and learns from it. Calls come in order of time, and within a tick by
/// rule 7.
pub trait Handler {
    /// What is attached to a transfer.
    type Tag: Copy;

    /// A timer set by [`Engine::schedule`] is due. Does nothing by default.
    #[inline]
    fn timer(&mut self, _engine: &mut Engine<Self::Tag>, _timer: u32) {}

    /// The time of an offered transfer has come, which has this number now. Does nothing by
    /// default.
    #[inline]
    fn generated(&mut self, _engine: &mut Engine<Self::Tag>, _number: u64, _tag: Self::Tag) {}

    /// A transfer has ended.
    fn delivered(&mut self, engine: &mut Engine<Self::Tag>, delivered: &Delivered<Self::Tag>);

    /// Whether the run may end. Asked after every event. No by default.
    #[inline]
    fn finished(&self) -> bool {
        false
    }
}
