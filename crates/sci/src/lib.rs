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
//! 1. A link carries one symbol per cycle. A symbol that leaves an interface in cycle t is decoded
//!    at the next one in t + `hop`.
//! 2. A send of s symbols takes s + 1 cycles of a link with the idle that follows it, an echo of e
//!    symbols e + 1. Free idles fill the rest; they are absorbed wherever a packet waits.
//! 3. An interface finishes each packet that it has started. At a boundary between packets, the
//!    bypass FIFO goes first. If it is empty an own packet may start. It may start even in the cycle
//!    in which a header comes in; that header then waits in the bypass FIFO. While an own packet
//!    leaves, incoming symbols are stored: at most the length of that packet and its idle, since
//!    the interface sends nothing more before the FIFO is drained. So the FIFO has room for one
//!    packet of the maximum length with its idle.
//! 4. The target strips a send. It replaces the send by s - e free idles, then the echo in the last
//!    e symbols, then the idle. The echo goes on around the ring to the sender, which turns it into
//!    free idles.
//!
//! # Acceptance
//! 5. The target decides at the header. It accepts if the input queue of the packet's class has a
//!    free slot, and refuses otherwise; the echo is good or busy. At its destination a packet is
//!    delivered: the client removes it as fast as it comes in. So its slot is free again when the
//!    tail has come, before any other header can come, even if other packets wait in the queue. Packets
//!    that end here and packets that go on are accepted by the same rule.
//! 6. The packet keeps its slot of the sender's output queue until the good echo comes. Several
//!    packets of a queue may be in flight at once. A busy echo makes the packet ready again at once,
//!    in its old position.
//! 7. An interface that may start an own packet searches its output queues in round-robin order,
//!    from the one after that served last. The order is requests before responses, and within a
//!    class the order of the node's interfaces; the client's queue has the position of the interface
//!    itself. The interface takes the oldest ready packet of the first queue that has one.
//!
//! # Agents and clients
//! 8. A packet that goes on waits in the input queue, first come first served within its class. The
//!    crossbar takes the first packet if the output queue has a free slot, which the packet takes at
//!    once. The crossbar is busy for one cycle per symbol of the packet; then the input slot is free.
//!    The first response goes before the first request. With [`ChangeFrom::Header`] the crossbar
//!    takes a packet at least `ring_change` cycles after its header has come, and the packet may
//!    start to leave at once. With [`ChangeFrom::Transfer`] it may start to leave `ring_change` cycles
//!    after the transfer has started. If everything is free, both let the header leave `ring_change`
//!    cycles after it has come, before the tail has come. But with the first the packet keeps its
//!    input slot for longer, and the delay overlaps with waiting for the crossbar.
//! 9. With [`Source::Unbounded`] the client's packets wait in an unbounded FIFO for each class. The
//!    first moves on as soon as the output queue of its interface has a free client slot. Packets
//!    behind it wait even if their own queues have free slots. With [`Source::Bounded`] a packet that
//!    finds no free slot when it is generated is dropped.
//! 10. A packet is delivered when its tail has come: the header's cycle plus its length.
//!
//! # Go bits
//! With [`FlowControl::GoBits`] (IEEE 1596 for one priority, after Scott, Goodman and Vernon,
//! "Performance of the SCI ring", 1992) every idle carries a go bit, also the idle behind a packet.
//! 11. An own packet may start only if the symbol that left the cycle before was a go idle.
//! 12. While an own packet leaves and until the bypass FIFO is empty again (recovery), the interface
//!     saves incoming go bits, and all idles that leave are stop idles. A saved go bit leaves with
//!     the idle after which nothing waits, which may be the idle of the own packet.
//! 13. A decoder extends go bits: free idles behind a go idle become go idles, up to the next
//!     packet. So do the idles that replace a stripped packet. The idle behind a stripped packet
//!     keeps its own bit.
//!
//! So go bits are merged and multiplied, but the last one is never lost. All links start with go
//! idles.
//!
//! # Within a cycle
//! First completed crossbars release their input slots. Then all interfaces handle incoming sends,
//! good echoes and busy echoes. Then clients generate their packets, in the order in which they
//! were offered, and move waiting packets to free slots. Reminders of handlers
//! ([`Offers::remind`]) are in the same order. Then crossbars start transfers. Last, outputs choose the
//! next symbols. Each phase can use resources freed by earlier phases of the same cycle.
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

/// Functions that both SCI engines have in addition to the engine trait of `isthmus-kernel`. A
/// livelock still counts as work in progress; [`RingEngine::stalled`] detects it.
pub trait RingEngine<T: Copy>:
    Sized + for<'a> isthmus_kernel::Engine<Message<'a> = Packet<'a, T>>
{
    /// Creates an idle engine at cycle 0.
    ///
    /// # Errors
    /// The rules are invalid, or this engine does not support the flow control.
    fn new(fabric: &Fabric, rules: Rules) -> Result<Self, Error>;

    /// Returns the counters of all links, interfaces and nodes. The call reads the whole fabric.
    fn counters(&self) -> Counters;

    /// Sets all counters to 0.
    fn reset_counters(&mut self);

    /// Returns a description of the stall if packets are in the fabric and none has been delivered for
    /// `limit` cycles; otherwise `None`. The call reads the state of the whole fabric, so use it between
    /// runs, not after every cycle.
    fn stalled(&self, limit: Cycles) -> Option<Stall>;

    /// Returns the nodes whose full queues wait for one another cyclically and can never move
    /// again, in ascending order. The call reads the state of the whole fabric.
    fn wedged(&self) -> Vec<u32>;
}
