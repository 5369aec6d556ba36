//! SCI rings joined by switch nodes, symbol by symbol.
//!
//! Two engines follow the same rules and give the same results, packet by packet. [`event`] moves
//! headers and computes the rest. [`symbol`] moves every symbol on every link in every cycle. The
//! tests run both. The rules reproduce the figures of the SCI paper: M. Sarwar, A. D. George,
//! *Simulative Performance Analysis of Distributed Switching Fabrics for SCI-based Systems*,
//! University of Florida (2000), on rings after IEEE 1596-1992.
//!
//! # Parts
//! A node has one interface on each of its rings and a client. An interface has an input link and
//! an output link, a bypass FIFO between them, an input queue, and output queues: one for each
//! other interface of the node, filled by the crossbar behind that interface's input queue, and
//! one for the client. Requests and responses have input, output and client queues of their own,
//! so that a response never waits for a request. A packet between two rings goes through an agent:
//! the input queue of one interface, its crossbar, an output queue of another.
//!
//! # The ring
//! 1. A link carries one symbol per cycle. What leaves an interface in cycle t is decoded at the
//!    next in t + `hop`.
//! 2. A send of s symbols takes s + 1 cycles of a link with the idle that follows it, an echo of e
//!    symbols e + 1. Free idles fill the rest; they are absorbed wherever something waits.
//! 3. An interface finishes each packet that it has started. At a boundary between packets, the
//!    bypass FIFO goes first. If it is empty an own packet may start, even in the very cycle in
//!    which a header comes in, which then waits in the bypass FIFO. While an own packet leaves,
//!    incoming symbols are stored: at most the length of that packet and its idle, since nothing
//!    more is sent before the FIFO is drained. So the FIFO holds one packet of the maximum length
//!    with its idle.
//! 4. The target strips a send. In its place go s - e free idles, then the echo in the last e
//!    symbols, then the idle; the echo goes on around the ring to the interface that sent, which
//!    turns it into free idles.
//!
//! # Acceptance
//! 5. The target decides at the header: it accepts if the input queue of the packet's class has a
//!    free slot, and refuses otherwise; the echo is good or busy. A packet that ends here is
//!    delivered: the client takes it out as fast as it comes in, so its slot is free again when the
//!    tail has come (before any other header can), whatever else waits in the queue. It is not
//!    refused more readily, nor less, than one that goes on.
//! 6. The sender holds the packet's slot of the output queue until the good echo comes. Several
//!    packets of a queue may be on their way at once. A busy echo makes the packet ready again at
//!    once, in its old place.
//! 7. An interface whose output may start an own packet looks at its output queues in turn, from
//!    the one after that served last: each class's queues in the order of the node's interfaces,
//!    the client's in the place of the interface itself, requests before responses. It takes the
//!    first queue that has a ready packet, and of it the oldest ready one.
//!
//! # Agents and clients
//! 8. A packet that goes on waits in the input queue, first come first served within its class. The
//!    crossbar takes the first if the output queue has a free slot, which the packet takes at once;
//!    it is busy for as many cycles as the packet has symbols, and then the input slot is free. The
//!    first response goes before the first request. With [`ChangeFrom::Header`] the crossbar takes
//!    a packet no sooner than `ring_change` cycles after its header has come, and the packet may
//!    start to leave at once; with [`ChangeFrom::Transfer`] it may start to leave `ring_change`
//!    cycles after the transfer has started. If all is free the header leaves that long after it has
//!    come, in both and before the tail has come; but with the first the packet keeps its input slot
//!    for longer, and one that waits for the crossbar is decided on meanwhile.
//! 9. With [`Source::Unbounded`] the client's packets wait in a FIFO without bound for each class;
//!    the first moves on as soon as the output queue of its interface has a free client slot, and
//!    those behind it wait even if their own has one. With [`Source::Bounded`] a packet without a free slot
//!    when it is generated is dropped.
//! 10. A packet is delivered when its tail has come: the header's cycle plus its length.
//!
//! # Go bits
//! With [`FlowControl::GoBits`] (IEEE 1596 for one priority, after Scott, Goodman and Vernon,
//! "Performance of the SCI ring", 1992) every idle carries a go bit, that behind a packet too.
//! 11. An own packet may start only if the symbol that left the cycle before was a go idle.
//! 12. While an own packet leaves and until the bypass FIFO is empty again (recovery), the go bits
//!     that come in are kept back, and all idles that leave are stop idles. With the idle after
//!     which nothing waits, which may be that of the own packet, leaves a go bit if one was kept
//!     back.
//! 13. A decoder extends go bits: free idles behind a go idle become go idles, up to the next
//!     packet, and so do the idles in place of what it strips. The idle behind a stripped packet
//!     keeps its own bit.
//!
//! So go bits are merged and multiplied but the last one is never lost. All links begin with go
//! idles.
//!
//! # Within a cycle
//! First completed crossbars release their input slots. Then all interfaces handle incoming sends,
//! good echoes and busy echoes. Then clients generate their packets, in the order in which they
//! were offered, and move up. Reminders of handlers ([`Offers::remind`]) take their turn among
//! them. Then crossbars start transfers. Last, outputs choose the next symbols. Each phase can use
//! resources freed by earlier phases of the same cycle.
//!
//! The engines are deterministic: all randomness is in the offered packets and their routes. The
//! crate has no devices, workloads or files, and never decides when to stop.

mod counters;
mod error;
pub mod event;
mod fabric;
mod limits;
mod rules;
mod stall;
pub mod symbol;
mod traffic;

pub use counters::Counters;
pub use error::Error;
pub use fabric::{Fabric, Interface, InterfaceId};
pub use limits::{RING_NODES_MAX, RINGS_MAX, SYMBOLS_LIMIT};
pub use rules::{ChangeFrom, FlowControl, Rules, Source};
pub use stall::{Stall, StallKind};
pub use traffic::{Class, Delivery, Dropped, Handler, Offers, Packet};

use isthmus_kernel::Cycles;

/// The functions of both engines beyond the contract of all engines. Packets that refuse one
/// another for ever are still going; [`RingEngine::stalled`] detects them.
pub trait RingEngine<T: Copy>:
    Sized + for<'a> isthmus_kernel::Engine<Message<'a> = Packet<'a, T>>
{
    /// Creates an idle engine at cycle 0.
    ///
    /// # Errors
    /// The rules are invalid, or this engine does not support the flow control.
    fn new(fabric: &Fabric, rules: Rules) -> Result<Self, Error>;

    /// Returns the counters. It visits everything.
    fn counters(&self) -> Counters;

    /// Resets the counters.
    fn reset_counters(&mut self);

    /// Whether packets are under way and nothing has been delivered for `limit` cycles. It visits
    /// everything, so call it between runs, not after every cycle.
    fn stalled(&self, limit: Cycles) -> Option<Stall>;

    /// Returns the nodes whose full queues wait for one another in a circle and can never move
    /// again, in ascending order. It visits everything.
    fn wedged(&self) -> Vec<u32>;
}
