//! The interface of the caller's handler, which receives an engine's reports and offers transfers.

use crate::engine::Engine;
use crate::transfer::Delivered;

/// Receives the reports of an engine, and may offer it transfers. Calls come in order of time, and
/// within a tick in the order of rule 7 of the crate.
pub trait Handler {
    /// The type of the data that the caller attaches to transfers.
    type Tag: Copy;

    /// Handles a timer set by [`Engine::schedule`]. Does nothing by default.
    #[inline]
    fn timer(&mut self, _engine: &mut Engine<Self::Tag>, _timer: u32) {}

    /// Handles the begin of an offered transfer, which gets the number `_number`. Does nothing by
    /// default.
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
