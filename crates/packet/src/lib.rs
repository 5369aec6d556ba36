//! Simulation of networks of nodes and switches, packet by packet.
//!
//! Nodes send messages to one another over links and switches. Their interfaces cut messages into
//! packets. Switches forward packets over the links that [`Routes`] returns, of which there may be
//! several. The engine knows two switching methods: circuits with virtual channels, as in QsNET
//! (Coll, Petrini, Frachtenberg and Hoisie, the QsNET paper of the topology crate; sections 2.1 and
//! 2.2), and cut-through with credits and finite buffers, as in InfiniBand and Ethernet fabrics.
//!
//! The engine is event-driven. The tests also run a naive reference, which reads the state of
//! all parts in every tick. Both report the same times for every packet.
//!
//! # Time and length
//! Time is an integer number of ticks. The caller chooses the length of a tick (100 ps makes all
//! times of the QsNET paper whole). On a link, a packet has its payload, padded to whole blocks,
//! plus the overhead, and occupies the transmitter for that many bytes. A message consists of full
//! packets and one packet for the rest. A message of 0 bytes is one packet without payload.
//!
//! # Links and switches
//! 1. A link carries one packet at a time, and has virtual channels in one or more classes. One
//!    virtual channel of one link is a lane. A header that starts on a link requests an output of
//!    the switch behind it after `hop` ticks plus the ticks of the link's length. At the end of the
//!    last link is the node. The tail arrives there after the packet's ticks on that link plus the
//!    ticks of the link's length.
//! 2. *Routes.* Some networks let packets choose late where several links lead on, as a fat tree
//!    does with adaptive ascent. There a header waits for all of these links and takes the best when
//!    it is served. Elsewhere it waits for one link, which is fixed when it starts on the link
//!    before. On that link it may take the lanes of one class. A network makes decisions that depend
//!    on the load of its links when it injects a packet. Random choices, and random choices among
//!    equals, follow [`tie`]. The rules below say which link is best by [`LinkLoad::Room`]. By
//!    [`LinkLoad::Idle`], the best of the possible links is the one whose transmitter is free, or
//!    is free first. [`LinkTie`] decides among equals. Lanes are those of the packet's class.
//! 3. *Circuits.* A header is served when a lane of a link that it waits for is free. It takes the
//!    first free lane of the link and keeps it. The best link has the most free lanes; among equals
//!    it is the link whose transmitter is free first. The packet starts when the transmitter is free
//!    of the packets served before. From then on it occupies the transmitter for its ticks, even if
//!    its header is blocked further on: the FIFO of a lane stores the sent bytes. A waiting header
//!    keeps its lanes.
//! 4. The acknowledgement starts `acknowledge` ticks after the tail has arrived. It frees the lane of
//!    the last link after that link's length. It frees each earlier lane after `acknowledge_hop`
//!    ticks and that link's length more. With the first lane, the packet is no longer in flight.
//! 5. *Cut-through.* Behind each lane is a FIFO buffer. Its first packet requests an output once the
//!    packet before it has left completely. It is served when, of a link that it waits for, the
//!    transmitter is free and a lane has credits for all of it; it starts at once. The best link has
//!    the most credits over all its lanes. The best lane has the most credits, and is the first of
//!    equals. Credits return `credit` ticks, plus the link's length, after the tail has left the
//!    buffer. A node removes packets as they arrive. Acknowledgements (rule 4) only inform the
//!    sender; they occupy no resources.
//!    With [`Outputs`] each link out of a switch has a buffer at its start, and a path into it that
//!    is `speedup` times as fast as the link. The first packet of an input buffer is served when, of
//!    a link that it waits for, that path is free and the output buffer has room for all of it. The
//!    best link has the most room in its output buffer, then the most credits over all its lanes.
//!    The packet occupies the path for its ticks on a link divided by `speedup`, rounded up. Then it
//!    has left the input buffer, but not before its own tail has come in, its ticks after its header.
//!    The first packet of an output buffer starts on the link when the transmitter is free and a
//!    lane has credits for all of it. It takes the best lane. Its room is free again when its tail
//!    has left.
//! 6. *Arbitration.* Of the packets that wait for the same links and can be served, the oldest goes
//!    first. [`AgeFrom`] gives the time from which age counts; ages saturate. [`AgeTie`] decides
//!    among equally old packets. Round robin starts with the input after the one served last.
//!    Inputs are the lanes into the switch, by port and channel.
//! 7. With the option [`Late`], a packet whose last link starts too long after its injection occupies
//!    that link for longer. This rule is empirical.
//!
//! # Interfaces
//! 8. A message is generated in the queue of its node at the time for which it was offered. Its DMA
//!    starts when the message before it in the queue has sent all its packets, and at least `start`
//!    ticks after its generation. DMAs of different queues, and the replies to reads, take turns of
//!    `slice` packets each. A DMA that starts gets the last turn.
//! 9. The DMA engine is ready for the next packet `packet` ticks after the one before, plus
//!    `packet_block` for each block of its payload. Every packet that arrives at a node
//!    while its engine is not ready delays it by `receive`.
//! 10. A packet is injected when the engine is ready and a link of the node is available by the rules
//!     of the switches. With circuits, moreover, fewer than `in_flight` packets of the node may hold
//!     lanes of its links. A packet's injection is its start on the link.
//! 11. A read is one packet, the request, to the other node. There the DMA of the data starts
//!     `turnaround` ticks after the data is ready. The data is ready when the request arrives, unless
//!     the handler returns a later time ([`Handler::read_requested`]). Of several that start in one tick,
//!     the one whose request came first goes first.
//! 12. A message is delivered when the last of its data has arrived. The sender of a write
//!     knows this when the last acknowledgement is back; the sender of a read knows it at once.
//!
//! # Within a tick
//! First lanes and transmitters become free. Then tails arrive, in the order of their last links.
//! Then handlers receive reminders, by node and in the order of the requests for them. Then messages
//! are generated, by node. Then DMAs start, by node and queue, replies last. Then headers request
//! outputs and are served, and packets start from output buffers. Last, nodes inject.
//!
//! The crate has no devices, workloads or files, and never decides when a run stops.
//!
//! [`Routes`]: routes::Routes

mod counters;
mod engine;
mod error;
mod limits;
mod readings;
pub mod routes;
mod rules;
mod traffic;

pub use counters::Counters;
pub use engine::Engine;
pub use error::Error;
pub use limits::CHANNELS_MAX;
pub use readings::{Adaptive, Age, AgeFrom, AgeTie, LinkLoad, LinkTie, random_rank};
pub use rules::{Interface, Late, Outputs, QUEUES_MAX, Rules, Switching, tie};
pub use traffic::{Delivery, Handler, Kind, Lane, Message, Offers, PacketSeen};
