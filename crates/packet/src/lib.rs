//! Networks of nodes and switches, packet by packet.
//!
//! Nodes send messages to one another over links and switches. Their interfaces cut messages into
//! packets; switches pass these on by the links that [`Routes`] says, of which there may be several.
//! Two ways of holding links are known: circuits with virtual channels, as in QsNET (Coll, Petrini,
//! Frachtenberg and Hoisie, the QsNET paper of the topology crate; sections 2.1 and 2.2), and
//! cut-through with credits and finite buffers, as in InfiniBand and Ethernet fabrics.
//!
//! The engine is event-driven. The tests drive a naive reference beside it, which looks at
//! everything in every tick; both tell the same of every packet.
//!
//! # Time and length
//! Time is an integer number of ticks; the caller says how long a tick is (100 ps makes all times
//! of the QsNET paper whole). A packet of p bytes of payload has p, padded to whole blocks, plus
//! the overhead on a link, and takes the transmitter of the link for that many bytes. A message has
//! as many full packets as it fills and one for the rest; one of 0 bytes is a packet without
//! payload.
//!
//! # Links and switches
//! 1. A link carries one packet at a time, and has virtual channels, in one class or more. One
//!    virtual channel of one link is a lane. A header that starts on a link asks for an output of
//!    the switch behind it `hop` ticks later, and the ticks of the link's length after that. At the
//!    last link's end is the node: the tail arrives when the packet has been on that link for its
//!    ticks and the tail has come along it.
//! 2. *Ways.* Where several links lead on and the network lets packets choose late, as a fat tree
//!    does with adaptive ascent, a header waits for all of them and takes the best when it is
//!    served; otherwise it waits for one, which is fixed when it starts on the link before. It may
//!    take the lanes of one class there. What a network decides by what its links hold it decides
//!    when the packet is injected. Random choice, and random choice among equals, is by [`tie`].
//!    What follows says which link is best by [`LinkLoad::Room`]; by [`LinkLoad::Idle`] it is, of
//!    those that the packet could have, that whose transmitter is free, or free first. [`LinkTie`]
//!    decides among equals. Lanes are those of the packet's class.
//! 3. *Circuits.* A header is served when a lane of a link that it waits for is free. It takes the
//!    lane, the first free one of the link, and keeps it. The best link is that with most free
//!    lanes, of those that whose transmitter is free first. The packet starts when the transmitter
//!    is free of those that were served before; from then it takes the transmitter for its ticks,
//!    even if its header is blocked further on: a lane's FIFO holds what has been sent. A header
//!    that waits keeps the lanes that it has.
//! 4. When the tail has arrived, the acknowledgement starts `acknowledge` ticks later. It frees the
//!    lane of the last link when it has come along that, and those before it `acknowledge_hop` ticks
//!    and their own length after one another; with the first lane the packet is no longer in
//!    flight.
//! 5. *Cut-through.* Behind each lane is a buffer, first in, first out. Its first packet asks once
//!    the one before has left altogether. It is served when, of a link that it waits for, the
//!    transmitter is free and a lane has credits for all of the packet; it starts at once. The best
//!    link is that with most credits over all its lanes, the best lane that with most, the first of
//!    those. Credits come back `credit` ticks, and the link's length, after the tail has left the
//!    buffer; a node takes packets out as they come. Acknowledgements (rule 4) only tell the sender;
//!    they hold nothing.
//!    With [`Outputs`] each link out of a switch has a buffer at its begin, and a way into it that is
//!    `speedup` times as fast as the link. The first packet of an input buffer is served when, of a
//!    link that it waits for, that way is free and the output buffer has room for all of it. The best
//!    link is that whose output buffer has most room, of those that with most credits over all its
//!    lanes. The packet takes the way for its ticks on a link divided by `speedup`, rounded up, and has
//!    left the input buffer after that, but not before its own tail has come in, which is its ticks
//!    after its header has asked. The first packet of an output buffer starts on the link when the
//!    transmitter is free and a lane has credits for all of it, on the best lane; its room is free again
//!    when its tail has left.
//! 6. *Arbitration.* Among those waiting for the same links that can be served, the oldest goes
//!    first. [`AgeFrom`] says from when ages count; they saturate. Of equally old ones [`AgeTie`]
//!    decides: going around, the first goes that waits at the input after the one served last;
//!    inputs are the lanes into the switch, by port and channel.
//! 7. With the option [`Late`] a packet whose last link starts too long after its injection takes
//!    that link for longer. Empirical.
//!
//! # Interfaces
//! 8. A message is generated in the queue of its node for which it was offered. Its DMA starts when
//!    the message before it in the queue has sent all its packets, and no sooner than `start`
//!    ticks after its generation. DMAs of different queues, and the replies to reads, take turns:
//!    `slice` packets each. One that starts is the last in turn.
//! 9. The DMA engine is ready for the next packet `packet` ticks after the one before, and
//!    `packet_block` for each block of its payload in addition. Every packet that arrives at a node
//!    while its engine is not ready delays it by `receive`.
//! 10. A packet is injected when the engine is ready and a link of the node can be had by the rules
//!     of the switches; with circuits, if fewer than `in_flight` packets of the node hold lanes of
//!     its links. It is injected when it starts on the link.
//! 11. A read is a packet, the request, to the other node; there, `turnaround` ticks after the data are
//!     to be had, the DMA of the data starts. They are when the request arrives, unless the handler says
//!     later ([`Handler::requested`]). Of those that start in one tick that goes first whose request came
//!     first.
//! 12. A message is delivered when the last of its data has arrived. Its sender knows when the last
//!     acknowledgement is back; a reader knows at once.
//!
//! # Within a tick
//! First lanes and transmitters come free. Then tails arrive, in the order of their last links; then
//! handlers are reminded, by node, of what they asked for first; then messages are generated, by node;
//! then DMAs start, by node and queue, replies last. Then headers ask and are served, then packets
//! start from output buffers, and last nodes inject.
//!
//! Knows nothing of devices, workloads and files, and never decides when to stop.
//!
//! [`Routes`]: routes::Routes

mod counters;
mod engine;
mod error;
mod limits;
mod readings;
mod rules;
mod traffic;
pub mod routes;

pub use counters::Counters;
pub use engine::Engine;
pub use error::Error;
pub use limits::CHANNELS_MAX;
pub use readings::{Adaptive, Age, AgeFrom, AgeTie, LinkLoad, LinkTie, lot};
pub use rules::{Interface, Late, Outputs, QUEUES_MAX, Rules, Switching, tie};
pub use traffic::{Delivery, Handler, Kind, Lane, Message, Offers, PacketSeen};
