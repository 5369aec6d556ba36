//! Transfers that share the links that they cross, with max-min fairness.
//!
//! A network consists of directed links with capacities. A transfer crosses some of them at a rate,
//! which is the same on all of them at any time. There are no packets and no buffers. The transfers
//! on a link share it equally, as connections share the links of iWarp (P. Steenkiste, *A
//! High-Speed Network Interface for Distributed-Memory Systems: Architecture and Applications*,
//! 1996, section 6.3). Capacity that a transfer cannot use, because another link limits it, goes to
//! the others: max-min fairness (D. Bertsekas, R. Gallager, *Data Networks*, section 6.5.2).
//!
//! 1. Rates are whole steps of 2^-24 bytes per tick ([`Rate`]), and work is whole steps of 2^-24
//!    bytes. So only shares are rounded.
//! 2. A moving transfer has its reserved rate, plus the same share of the unreserved capacity on
//!    all of its links. A bound on its rate applies to the sum.
//! 3. Shares are found by filling, level by level. The share of a link is its remaining capacity
//!    divided by the number of its transfers without a share, rounded down. The level is the
//!    minimum of these shares and of the bounds of transfers without a share. All links with this
//!    share, and all transfers with this bound, are settled together: their transfers get the level
//!    as their share. Then the next level follows. Each level is above the previous one, and the
//!    result does not depend on any order.
//! 4. The remainder of rounding is unused. On a link that limits any transfer it is less than one
//!    step for each transfer at its level. With 40 MB/s and a tick of 1 ns a link has 671,088 steps
//!    per tick. Of these, 64 transfers together lose less than one part in 10,000.
//!
//! # Time
//! 5. A transfer begins at the time for which it is offered and moves from `latency` ticks later
//!    on. It ends in the first tick by which all of its bytes have moved, so at most one tick late.
//!    A transfer without bytes, or without links and bound, ends as soon as it would move.
//! 6. The rates hold from the end of the present tick to the end of the next tick in which a
//!    transfer begins to move or ends. All begins and ends of one tick are one change.
//! 7. Within a tick ends are reported first, in order of the transfers' numbers. Timers follow, in
//!    the order in which they were set. Then transfers begin, in the order in which they were
//!    offered, which numbers them. Then transfers whose latency is over begin to move. An end that
//!    arises meanwhile (of a transfer of no bytes) is reported next.
//!
//! # Reservations
//! 8. A reservation is booked on all links of the path from the offer until the transfer has ended,
//!    and it applies while the transfer moves. No link is booked beyond its capacity: an offer that
//!    would do so is refused ([`Engine::check`]), so that accepted transfers always get their
//!    reservation. Booked capacity that does not move yet is shared meanwhile.
//! 9. A transfer waits at rate 0 if reservations, or more transfers than a link has steps, use the
//!    whole capacity. If no other event remains, the engine is stalled.
//!
//! [`Engine`] updates only shares that a begin or an end can affect. The reference of the tests
//! computes everything again each time. Both give the same result, to the tick.
//!
//! The crate has no devices, workloads or files. It never decides when to stop: a [`Handler`]
//! receives the begins and ends, and returns whether it has finished. Nothing is random.

mod counters;
mod ends;
mod engine;
mod error;
mod handler;
mod rate;
mod sharing;
mod transfer;

pub use counters::Counters;
pub use engine::Engine;
pub use error::Error;
pub use handler::Handler;
pub use rate::{BYTES_MAX, Rate};
pub use transfer::{Delivered, Moving, Transfer};
