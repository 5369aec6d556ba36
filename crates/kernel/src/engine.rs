//! The contract of engines.

use crate::Cycles;

/// An engine, or its reference implementation. It accepts messages for future times and runs up to
/// a limit.
///
/// All engines keep one contract, which the test suite `isthmus-conformance` checks:
///
/// - An offer for `now()` or later is accepted, between runs and from the handler.
/// - A run ([`RunUntil`]) serves the events that are due *before* its limit, and no others. It
///   reports each event once. A limit in the past has no effect.
/// - After a run `now()` is the limit, also when no events are left; it never decreases. With the
///   limit [`Cycles::MAX`], which means no limit, it is the time of the last event.
/// - The handler may stop the run at any time. The engine then finishes the reports of the current
///   event, stops, and can continue later without a difference in the results.
/// - A run in pieces equals the run in one piece: the same reports and the same counters.
///
/// Offers cannot be withdrawn, as in the modelled machines. An engine cannot be reset: each run takes
/// a new one.
pub trait Engine {
    /// The type of an offer: a message or a packet.
    type Message<'a>;

    /// Returns the current time. Between runs, all earlier events have been served.
    fn now(&self) -> Cycles;

    /// Offers a message for `time`, at which it is generated. Messages of one node for the same
    /// time are generated in the order of offering.
    ///
    /// # Panics
    /// The time is in the past, or the network cannot carry the message.
    fn offer(&mut self, time: Cycles, message: Self::Message<'_>);

    /// Returns the number of generated messages that have neither arrived nor been given up.
    fn under_way(&self) -> u64;
}

/// Runs an engine with a handler `H`, which receives reports and may offer more.
pub trait RunUntil<H>: Engine {
    /// Serves events before `limit`, or until the handler has finished: see [`Engine`].
    ///
    /// # Panics
    /// The handler makes an offer that [`Engine::offer`] refuses.
    fn run_until(&mut self, limit: Cycles, handler: &mut H) -> Ran;
}

/// The outcome of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ran {
    /// The limit was reached; more events are due later.
    Going,
    /// The handler has finished.
    Finished,
    /// The limit was reached; no events are left and nothing is under way.
    Idle,
    /// The limit was reached and no events are left, but messages are under way: a deadlock.
    Stalled,
}

impl Ran {
    /// Returns the outcome for an engine that has reached its limit.
    #[inline]
    pub fn at_limit(anything_due: bool, under_way: u64) -> Self {
        match (anything_due, under_way) {
            (true, _) => Self::Going,
            (false, 0) => Self::Idle,
            (false, _) => Self::Stalled,
        }
    }

    /// Return whether anything may still happen without a new offer.
    #[inline]
    pub fn goes_on(self) -> bool {
        matches!(self, Self::Going | Self::Finished)
    }
}
