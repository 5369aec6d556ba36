//! The contract of engines.

/// What a run of an engine to a limit has come to.
///
/// All engines, and the references beside them, have `run_until(limit, handler) -> Ran` and keep to
/// one contract, which the suite in `isthmus-conformance` holds them to:
///
/// - What is due *before* `limit` is served, and nothing else; nothing is told twice. A limit that
///   has passed already does nothing.
/// - `now()` is `limit` afterwards, also when nothing is left; it never goes back. With a limit of
///   [`Cycles::MAX`](crate::Cycles), which is none, it is where the last event was.
/// - The handler may finish at any moment. The engine then stops soon, having served all that belongs
///   to what it told, and goes on later as if nothing had been.
/// - A run in pieces is the run at once, and an engine that was cleared is a new one.
/// - What is offered for `now()` or later is accepted, between runs and from the handler.
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
