//! The contract of engines.

use crate::Cycles;

/// An engine, or a reference beside one: it takes messages for a time, and runs to a limit.
///
/// All engines keep to one contract, which the suite in `isthmus-conformance` holds them to:
///
/// - What is offered for `now()` or later is accepted, between runs and from the handler.
/// - A run ([`RunUntil`]) serves what is due *before* its limit, and nothing else; nothing is told
///   twice. A limit that has passed already does nothing.
/// - `now()` is the limit afterwards, also when nothing is left; it never goes back. With a limit of
///   [`Cycles::MAX`], which is none, it is where the last event was.
/// - The handler may finish at any moment. The engine then stops soon, having served all that belongs
///   to what it told, and goes on later as if nothing had been.
/// - A run in pieces is the run at once, and an engine that was cleared is a new one: what is told
///   and what is counted is the same.
///
/// Nothing that was offered can be taken back: nothing in the machines that engines stand for does
/// that.
pub trait Engine {
    /// What is offered: a message or a packet.
    type Message<'a>;

    /// Goes back to an idle engine at time 0. Keeps the memory.
    fn clear(&mut self);

    /// The present time. Between runs, what was due before it has been served.
    fn now(&self) -> Cycles;

    /// Offers a message for `time`, in which it is generated. Those that a node is offered for the same
    /// time are generated in the order in which they are offered.
    ///
    /// # Panics
    /// If the time has passed, or the message is none that the network can carry.
    fn offer(&mut self, time: Cycles, message: Self::Message<'_>);

    /// Messages generated that have neither arrived nor been given up.
    fn under_way(&self) -> u64;
}

/// What drives an engine: `H` learns what happens, and may offer more.
pub trait RunUntil<H>: Engine {
    /// Serves what is due before `limit`, or until the handler has finished: see [`Engine`].
    ///
    /// # Panics
    /// If the handler offers what [`Engine::offer`] would not take.
    fn run_until(&mut self, limit: Cycles, handler: &mut H) -> Ran;
}

/// What a run to a limit has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ran {
    /// To the limit; more is due later.
    Going,
    /// Until the handler had seen enough.
    Finished,
    /// To the limit, and nothing is left that could happen, nor under way.
    Idle,
    /// To the limit, and nothing is left that could happen: those under way block one another for
    /// ever.
    Stalled,
}

impl Ran {
    /// How an engine that has come to its limit stands.
    #[inline]
    pub fn at_limit(anything_due: bool, under_way: u64) -> Self {
        match (anything_due, under_way) {
            (true, _) => Self::Going,
            (false, 0) => Self::Idle,
            (false, _) => Self::Stalled,
        }
    }

    /// Whether anything may still happen without something new.
    #[inline]
    pub fn goes_on(self) -> bool {
        matches!(self, Self::Going | Self::Finished)
    }
}
