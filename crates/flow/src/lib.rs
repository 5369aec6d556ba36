//! Transfers that share the links which they cross, max-min fair.
//!
//! A network is directed links with capacities. A transfer crosses some of them at a rate, the same
//! on all of them at any time, and there is nothing smaller: no packets, no buffers. Links are
//! shared evenly by what crosses them, as those of iWarp are by its connections (P. Steenkiste, *A
//! High-Speed Network Interface for Distributed-Memory Systems: Architecture and Applications*,
//! 1996, section 6.3), and what one transfer cannot use, because another link holds it back, is for
//! the others: max-min fairness (D. Bertsekas, R. Gallager, *Data Networks*, section 6.5.2).
//!
//! # Rates
//! 1. Rates are whole steps of 2^-24 bytes per tick ([`Rate`]), work is whole steps of 2^-24 bytes,
//!    so that nothing is rounded but a share.
//! 2. A transfer that moves has its reserved rate, and on all of its links the same share of what
//!    reservations leave. A bound on its rate is one on the sum.
//! 3. Shares are found by filling, level by level. The share of a link is what is left of it
//!    divided by the transfers on it that have none yet, rounded down. The lowest of these shares,
//!    and of the bounds of transfers that have none yet, is the level. All links that were at the
//!    level as it began, and all transfers with that bound, are through at once: their transfers
//!    get the level. Then the next. Each level is above the one before, and what comes out does not
//!    depend on any order.
//! 4. What rounding leaves over goes to nobody: on a link that holds anyone back less than a step
//!    for each of the transfers that got its level. With 40 MB/s and a tick of 1 ns a link has
//!    671,088 steps, and 64 transfers together lose less than one part in 10,000 of it.
//!
//! # Time
//! 5. A transfer begins at the time for which it is offered and moves from `latency` ticks later
//!    on. It ends in the first tick by which all of its bytes have moved: less than a tick late.
//!    One without bytes, or without links and bound, ends as soon as it would move.
//! 6. Rates are those of the present tick from its end to the end of the next tick in which any
//!    transfer begins to move or ends. Ten transfers that end at once and ten that follow them are
//!    one change.
//! 7. Within a tick ends are told first, in order of the transfers' numbers; then timers, in the
//!    order in which they were set; then transfers begin, in the order in which they were offered,
//!    which numbers them; then those whose latency is over move. An end that comes up meanwhile (of
//!    a transfer of no bytes) is told next.
//!
//! # Reservations
//! 8. A reservation is booked on all links of the path from when the transfer is offered until it
//!    has ended, and kept for it from when it moves. No link is booked beyond its capacity: an
//!    offer that would do so is refused ([`Engine::check`]), so that whoever was let in has what it
//!    was promised when it comes. What is booked and not yet moving is shared meanwhile.
//! 9. Transfers to which reservations, or more transfers than a link has steps, leave nothing wait
//!    at rate 0. If nothing else is left that could happen, the engine is stalled.
//!
//! [`Engine`] changes only what a beginning or an end can reach. The reference of the tests
//! fills everything anew each time; both give the same, to the tick.
//!
//! Knows nothing of devices, workloads and files. It never decides when to stop: a [`Handler`] is
//! told what begins and ends and says when it has seen enough. Nothing is drawn at random.

mod counters;
mod ends;
mod engine;
mod error;
mod rate;
mod sharing;
mod transfer;

pub use counters::Counters;
pub use engine::Engine;
pub use error::Error;
pub use rate::Rate;
pub use transfer::{BYTES_MAX, Delivered, Handler, Moving, Transfer};
