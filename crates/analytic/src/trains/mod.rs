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
//! # Short buffers
//!
//! A packet holds its place in the buffer behind a link for the round trip T, and for a wait x: that for the next link
//! times the share of packets that go on to other links, since packets for the same link lose no time by each other. Of a
//! buffer that holds the time R of packets, p each, a packet takes max(p, p (T + x) / R) of the link. Let x be
//! exponential where a packet meets others. With the mean w of those and W of all packets a link is slower by the factor
//!
//! max(1, T / R) + (W / R) exp(-max(0, R - T) / w).
//!
//! The waits for links above hold with this factor on all times. Trains meet as far as they ask for more than the slower
//! link. The work that a slow link finds behind its inputs is that of trains which the link before, or the pace of their
//! node, has put apart. A fixed number of rounds over all links gives factors and waits.
//!
//! # Circuits
//!
//! A circuit holds a channel of a link for H: the time of its packet, of its trip to the end and back, and its later
//! waits. A message of K packets that has n of them under way holds n channels for K H / n. Of m channels it is one of
//! c = m / n customers, and with the utilisation rho of the channels it waits
//!
//! D = (K H / n) (1 - n / (2 K)) C(c, rho) / (c (1 - rho)),
//!
//! C being Erlang's formula: processor sharing where it has many rounds of n packets, one queue where it has one or each
//! packet takes a route of its own. Only the part of rho that comes by other links counts. Each packet waits n D / K,
//! which lengthens H on the links before; a fixed number of rounds over all links gives all waits.
//!
//! # Limits
//!
//! Poisson arrivals, packets in the order of their injection. Packets that wait in an input hold up those behind them on
//! the same lane though these go on over other links. As a queue whose messages take
//! S + W an input has more work than with S alone. A packet goes to the emptiest of L lanes, so that it is held up only
//! if L others wait. Two trains that meet share the link, so that a train that waits W has W / (2 p) packets there. With
//! exponential waits of mean w the work beyond L - 1 of these is the part exp(-2 (L - 1) p / w). It is an upper bound:
//! the link for which a packet is bound may work on others meanwhile. Half of it is taken. [`outside`] says where all that
//! holds.

mod circuits;
mod domain;
mod held;
mod network;
mod queues;
mod train;

pub use domain::{STEP, outside};
pub use network::{Buffer, Channels, Class, Hop, Network};
pub use queues::{Queues, Wait};
pub use train::{Packets, Train};
