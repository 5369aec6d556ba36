//! The interface of simulation engines, and the rules that every engine must follow.

use crate::Cycles;

/// A simulation engine, or its reference implementation. It accepts messages for future times and simulates the network
/// up to a time limit.
///
/// All engines satisfy one contract, which the test suite `isthmus-conformance` checks:
///
/// - An offer of a message for `now()` or later is accepted, between runs and from the handler.
/// - A run ([`RunUntil`]) serves the events that are due *before* its limit, and no others. It
///   reports each event once. A limit in the past has no effect.
/// - After a run `now()` is the limit, also when no events are left; it never decreases. With the limit
///   [`Cycles::MAX`], which means no limit, `now()` is the time of the last event.
/// - The handler may stop the run at any time. The engine then finishes the reports of the current event and stops. It
///   can continue later without a difference in the results.
/// - A run in several pieces gives the same reports and the same counters as one uninterrupted run.
///
/// Offers cannot be withdrawn, since the modelled machines cannot withdraw messages. An engine cannot be reset: each
/// run needs a new engine.
pub trait Engine {
    /// The type of an offered message or packet.
    type Message<'a>;

    /// Returns the current simulation time. Between runs, the engine has handled all events before it.
    fn now(&self) -> Cycles;

    /// Offers a message, which a node generates at `time`. Messages of one node for the same time are generated in the
    /// order of the calls.
    ///
    /// # Panics
    /// The time is in the past, or the network cannot carry the message.
    fn offer(&mut self, time: Cycles, message: Self::Message<'_>);

    /// Returns the number of generated messages that have neither arrived nor been abandoned.
    fn under_way(&self) -> u64;
}

/// An engine that can run with a handler `H`. The handler receives reports and may offer more messages.
pub trait RunUntil<H>: Engine {
    /// Serves events before `limit`, or until the handler stops the run: see [`Engine`].
    ///
    /// # Panics
    /// The handler makes an offer that [`Engine::offer`] refuses.
    fn run_until(&mut self, limit: Cycles, handler: &mut H) -> Ran;
}

/// The outcome of a run of an engine: the reason why it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ran {
    /// The run reached its time limit, and more events are due later.
    Going,
    /// The handler stopped the run.
    Finished,
    /// The run reached its time limit; no events are left and no messages are under way.
    Idle,
    /// The run reached its time limit and no events are left, but messages are under way: a deadlock.
    Stalled,
}

impl Ran {
    /// Returns the outcome of a run that has reached its time limit. `anything_due` is whether events are left.
    #[inline]
    pub fn at_limit(anything_due: bool, under_way: u64) -> Self {
        match (anything_due, under_way) {
            (true, _) => Self::Going,
            (false, 0) => Self::Idle,
            (false, _) => Self::Stalled,
        }
    }

    /// Return whether the engine may have further events even if no message is offered any more.
    #[inline]
    pub fn goes_on(self) -> bool {
        matches!(self, Self::Going | Self::Finished)
    }
}
