//! The handler that drives the engine.

use crate::engine::Engine;
use crate::transfer::Delivered;

/// Drives the engine and receives its reports. Calls come in order of time, and within a tick by
/// rule 7.
pub trait Handler {
    /// The type of the data that the caller attaches to transfers.
    type Tag: Copy;

    /// Handles a timer set by [`Engine::schedule`]. Does nothing by default.
    #[inline]
    fn timer(&mut self, _engine: &mut Engine<Self::Tag>, _timer: u32) {}

    /// Handles the begin of an offered transfer, which gets this number. Does nothing by default.
    #[inline]
    fn generated(&mut self, _engine: &mut Engine<Self::Tag>, _number: u64, _tag: Self::Tag) {}

    /// Handles the end of a transfer.
    fn delivered(&mut self, engine: &mut Engine<Self::Tag>, delivered: &Delivered<Self::Tag>);

    /// Returns whether the run may end. Called after every event. False by default.
    #[inline]
    fn finished(&self) -> bool {
        false
    }
}
