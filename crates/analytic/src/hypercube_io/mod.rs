//! The queueing model of section 6 of the hypercube paper (Ghosh, Goveas, Draper), for any
//! dimension, number of I/O nodes, lanes and traffic.
//!
//! Every kind of channel is a queue with Poisson arrivals: M/G/1 with one lane, M/M/b (or,
//! approximately, M/G/b) with more. A worm that waits for a channel keeps the channels behind it,
//! so the holding time of a channel is the length of the message plus its later waits (the
//! *adjusted service time*, see [`crate::staged`]).
//!
//! # Order of the recursion
//!
//! Routing is e-cube, highest dimension first. A message that crosses dimension i of the I/O cube
//! afterwards crosses each dimension below i with probability 1/2, then (a reply to a class II PE)
//! one channel D of the PE cube. The waits are therefore found for D first, then for the I/O links
//! of dimension 0, 1, ..., n_IO - 1:
//!
//! - x_adj(0) = x + w W_D,
//! - x_adj(i) = x + w W_D + 1/2 (W(0) + ... + W(i-1)),
//!
//! with x = (32 + 4096)/2 = 2064 cycles in the test case and a weight w that the paper leaves
//! open. The I/O links of the highest dimension, the first that a message meets, saturate first.
//! This order with w = 0 and C^2 = 1 gives 10.28 messages per ms at b = 1 and 29.41 at b = 2, the
//! literal results. [`Reading`] lists the readings that give the paper's 11.3, 23.7 and 26.3.
//! (Adding only the *next* dimension after i, or weights 1/2, 1/4, ... for the next one crossed,
//! does not give those numbers.)
//!
//! # Assumptions of all readings beyond the paper
//!
//! - Writes, forwards and requests are modelled like the other messages: requests and writes enter
//!   the class I router through channels A (with the rate and length of D, but requests instead of
//!   replies).
//! - The control cube (b = 0) is solved as a queueing model, too: its forwards and remote replies
//!   leave the class I router by their first differing dimension, so the D link of the highest
//!   dimension carries most. [`HypercubeIo::saturation_bound`] is rho = 1 there without blocking, the
//!   paper's upper bound.
//! - A link between two class II routers may be part of any path; PE-PE messages meet D, A and
//!   ordinary links as often as these occur.
//!
//! # Which reading to compare with a simulation
//!
//! [`Reading::default`] is [`Reading::counted`], not the literal one. The literal reading neglects
//! waits at m and n lanes, so it cannot show that n = 1 saturates every network (Fig. 13). It
//! neglects blocking inside the PE cube, so links blocked behind D look free. Its path lengths (n/2
//! per cube) are wrong even without contention. Near saturation it lets a worm wait for messages
//! that can only follow it. The counted reading is the same model without these
//! simplifications. Against flit-exact simulation of the 3- to 7-cubes of section 5 at t_a = 156
//! and 78 us, where stable: with an I/O network PE-PE latencies are within 9% and whole reads
//! within 10%, and saturation loads 2 to 8% low (11.0 and 22.9 per ms at b = 1 and 2). Without one,
//! PE-PE latencies are within 12% (the 3-cube: up to 25% high), reads 14 to 40% high (worst in the
//! 3-cube), and the saturation load is 17.6 against 18.9 to 19.6.
//!
//! # Limits
//!
//! All PEs send alike, and I/O nodes are loaded alike (groups of unequal size, hot spots and failed
//! parts are averaged over). If PEs are more than one dimension from their I/O node (clustered or
//! strided placements), the links in between carry the mean, while real links near the I/O node
//! carry more. Waits of different channels are assumed to be independent. Latencies hold below
//! saturation. At or above it the classes that cross the saturated channels have infinite latency,
//! and the latencies of the others are those of a machine that delivers all of its traffic.

mod channel;
pub mod domain;
mod input;
mod limit;
mod reading;
mod routes;
mod serving;
mod solution;

pub use crate::path::MessageClass;
pub use channel::{Channel, ChannelKind};
pub use input::{HypercubeIo, Lanes, Traffic};
pub use reading::{
    Blocking, ClassOneWait, Interface, ManyLanes, PathLength, Reading, Uniform, Variation,
};
pub use serving::Serving;
pub use solution::{ChannelUse, HeaderLatency, Saturation, Solution};
