//! What is told to whoever drives the engine.

use crate::engine::Engine;
use crate::transfer::Delivered;

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
