//! Messages as trains of packets that meet on the links of any network.
//!
//! A node sends its messages one after the other, each as a train of packets. Every link behind the node is a queue.
//! Trains that arrive over one input of a switch follow one another and never meet; those of different inputs do.
//!
//! # The wait for a link
//!
//! Deep buffers keep a tree of links that lead to one link busy: the link works whenever a message for it is anywhere
//! in the tree. So the work in the whole tree is that of one M/G/1 queue, M = R / (1 - rho). R = lambda E\[S^2\] / 2 is
//! the residual work of messages in service (Pollaczek and Khinchine; Kleinrock, *Queueing Systems* vol. 1, 1975,
//! sections 5.6 and 5.7). The work that waits at the link itself is M minus the work in the trees behind its inputs j,
//! each a queue of its own, M_j.
//!
//! A train of input i waits for M_i for the trains before it and then arrives; e is the time from its first header to
//! the header of the packet under consideration. During both times the other inputs bring rho - rho_i. A packet in
//! transit on another input counts as present from its header on, which adds r_j, the residual work of its packets in
//! service. Together, for a packet of input i,
//!
//! W_i = M - sum_j M_j + (rho - rho_i) (M_i + e) + sum over j other than i of r_j.
//!
//! This is exact for a tree whose nodes send at link speed, all of it to one link, in the order of injection. It is
//! zero if all trains arrive over one input. If trains of an input take different links, each part is assumed to arrive
//! as if it were a queue of its own. The tests derive W for one packet per message and for two nodes.
//!
//! Let u be the share of a train's time for which its packets use the link. Trains with gaps meet only if two of them
//! need more than the link: see [`Train`].
//!
//! # Short buffers
//!
//! A packet holds its slot in the buffer behind a link for the round trip T and for a wait x: the wait for the next
//! link times the share of packets that go on to other links, since packets for the same link lose no time by each
//! other. Let R be the transmission time of a full buffer, and p that of a packet. A packet then takes max(p, p (T + x)
//! / R) of the link. Let x be exponential for packets that meet others. With their mean w and the mean W over all
//! packets, the link is slower by the factor
//!
//! max(1, T / R) + (W / R) exp(-max(0, R - T) / w).
//!
//! The waits for links above hold with all times multiplied by this factor. Trains meet only if they need more than the
//! slower link. The work that a slow link finds behind its inputs is that of trains which the previous link, or the
//! pace of their node, has spread. The factors and waits result from a fixed number of rounds over all links.
//!
//! # Circuits
//!
//! A circuit holds a channel of a link for H: the time of its packet, of its round trip to the end, and of its later
//! waits. A message of K packets with n of them in flight holds n channels for K H / n. Of m channels it is one of c =
//! m / n customers. With the utilisation rho of the channels it waits
//!
//! D = (K H / n) (1 - n / (2 K)) C(c, rho) / (c (1 - rho)),
//!
//! C is Erlang's formula. It is processor sharing if the message has many rounds of n packets. It is one queue if the
//! message has one round, or if each packet takes a route of its own. Only the part of rho that arrives over other
//! links counts. Each packet waits n D / K, which lengthens H on the previous links. A fixed number of rounds over all
//! links gives all waits.
//!
//! # Limits
//!
//! Arrivals are Poisson, and packets keep the order of their injection. Packets that wait in an input block those
//! behind them on the same lane, even if these go on over other links. An input whose messages take S + W has more work
//! than with S alone. A packet goes to the emptiest of L lanes, so it is blocked only if L others wait. Two trains that
//! meet share the link, so a train that waits W has W / (2 p) packets there. With exponential waits of mean w, the work
//! beyond L - 1 of these is the part exp(-2 (L - 1) p / w). This is an upper bound: the next link of a packet may work
//! on others meanwhile. The model takes half of it. [`reason_outside`] says where the model is valid.

mod circuits;
mod domain;
mod inputs;
mod network;
mod queues;
mod train;

pub use domain::{STEP, reason_outside};
pub use network::{Buffer, Channels, Class, Hop, Network};
pub use queues::{Queues, Wait};
pub use train::{Packets, Train};
