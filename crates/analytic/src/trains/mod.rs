//! Messages as trains of packets, which meet on the links of a network of any form.
//!
//! A node sends its messages one after the other, each as a train of packets. Behind it every link is a queue. Trains
//! that come by one input of a switch follow one another and never meet; those of different inputs do.
//!
//! # The wait for a link
//!
//! With deep buffers a tree of links that lead to one link loses no time: that link works whenever a message for it is
//! anywhere in the tree. So the work in the whole tree is that of one queue M/G/1, M = R / (1 - rho), with
//! R = lambda E\[S^2\] / 2 the work that is left of messages in service (Pollaczek and Khinchine; Kleinrock,
//! *Queueing Systems* vol. 1, 1975, sections 5.6 and 5.7). What waits at the link itself is that less the work in the
//! trees behind its inputs j, each a queue of its own, M_j. While a train of input i comes in, for e from its first
//! header to that of the packet that is looked at, and before that, for M_i, while it waits for the trains before it,
//! the other inputs bring rho - rho_i. A packet that is under way on another input counts as here with its header,
//! which adds r_j, the work that is left of packets in service. Together, for a packet of input i,
//!
//! W_i = M - sum_j M_j + (rho - rho_i) (M_i + e) + sum over j other than i of r_j.
//!
//! This is exact for a tree whose nodes send at the speed of links, all of it to one link, in the order of injection,
//! and where all trains come by one input it is zero. Where trains of an input part, each part is taken to come as if
//! it were a queue of its own. The tests derive W for one packet a message and for two nodes.
//!
//! Trains with gaps, u being the share of the time that a packet is on the link, meet only as far as two of them ask
//! for more than the link: see [`Train`].
//!
//! # Limits
//!
//! Poisson arrivals, buffers that are deep enough, packets in the order of their injection. Packets that wait in an
//! input hold up those behind them on the same lane though these go on over other links. As a queue whose messages take
//! S + W an input has more work than with S alone; the difference, over its lanes, is added to the wait. How many
//! messages come while others wait is known within bounds only, none and all: half of them is taken, and the distance
//! of the bounds is [`Wait::uncertainty`]. [`Load`] says where all that holds.

mod domain;
mod network;
mod train;

pub use domain::Load;
pub use network::{Class, Network, Queues, Wait};
pub use train::{Packets, Train};
