//! Waits of worms, channel by channel, on the routes that they take.
//!
//! As in [`crate::staged`] a blocked worm keeps the channels behind its head, so that it holds a
//! channel for its length plus its later waits: S = L + sum W (Ghosh, Goveas and Draper, section 6).
//! Here nothing is averaged over channels of a kind: each is a queue of its own, and each worm has
//! the waits of the channels that it crosses, by the channel by which it comes. One pass against the
//! direction of travel gives all of them; nothing is iterated over the network.
//!
//! # The wait at a channel
//!
//! 1. Where worms *start*, they come at random times whatever is under way: M/G/1 (Pollaczek and
//!    Khinchine). With several lanes it is M/M/m times a ratio between two limits: in heavy traffic
//!    (1 + C^2) / 2 (Lee and Longton, [`crate::queue`]), in light traffic the mean time until the first of
//!    m worms in service ends, over that of exponential ones (Burman and Smith, 1983). The weight of the
//!    second is (1 - rho)^(1 + 4 / m), which is within 3% of M/D/m for 2 to 8 lanes.
//! 2. By a channel of *one lane* worms come one after another: the head of one is never in a queue
//!    with worms that follow it. Two formulas say what is left of the wait at a channel of one lane.
//!    Draper and Ghosh (*J. Parallel and Distributed Computing* 23, 1994, 202-214) take the wait of
//!    M/G/1 under all that cross the channel, less the share of the worm's own input in the work;
//!    this lets any number of worms queue. The other takes each input as one customer that is absent,
//!    waits or is served (the machine-repair model, Kleinrock, *Queueing Systems* vol. 1, 1975,
//!    section 3.8, with the residual life E\[S^2\] / 2 E\[S\] of section 5.2 for what is in service):
//!    an arrival finds the others as they are while its own input is absent; this forgets what comes
//!    together behind a long worm. The first is too high and the second too low; the mean with the
//!    weight [`DRAPER_GHOSH`] is taken, which was fitted to simulations (see `bench/model.py`).
//! 3. At a channel of *m lanes* a worm waits if m of the other lanes that lead there have one that
//!    holds or wants the channel. The worms on the k lanes of one input are Poisson, and at most k: two
//!    lanes of an input with the load a are both held with the probability a^2 / 2 in light traffic.
//!    Holding times that are left are uniform up to twice their mean, as those of fixed length are, and
//!    the first of those held to end lets the first that waits go on. Where all of them are bound for one
//!    lane further on, only one of them moves on at a time: its time left counts, not the least of m.
//!    What waits behind what waits lengthens this by 1 / (1 - rho'), as in rule 1; rho' is the load of
//!    those that may come while all lanes are held, which worms of an input whose lanes are all among
//!    these cannot. Where no more lanes lead to a channel than it has itself, no worm waits.
//!
//! 4. Worms on the lanes of one channel that are bound for the same busy place wait there for the same
//!    reason: they hold their lanes at the same time more often than by chance. Where waits W that any
//!    two of them have in common last longer than worms, the number of lanes held is Poisson with a mean
//!    that varies as W does: its second factorial moment is 1 + c times that of a Poisson
//!    distribution, with c = Var W / E\[S\]^2, and its m-th, if W is a gamma variable,
//!    (1 + c) (1 + 2c) ... (1 + (m - 1) c) times (a negative binomial distribution). By so much the odds
//!    grow that all m lanes are held. Two worms have the wait for a next channel in common with the
//!    probability that both go on to it, and so on from there. Of that wait only the part for worms of
//!    other channels counts: those of their own are among the worms counted.
//!
//! 5. Worms that ask and wait for the same channel go on one after the other, so that their answers come in batches. A worm
//!    finds a mean residual time R = W (1 - rho) of the worm that holds the channel, and gathers with those that come within
//!    R before and R after it. Hence c, the mean number of other answers in the batch of an answer, is 2 R times the rate of
//!    answers. At a source of one lane the wait is that of M/G/1 with batch arrivals: E\[S^2\] grows by c E\[S\]^2, and an
//!    answer also waits for half of the others in its batch, c E\[S\] / 2. At a later channel of one lane only answers that
//!    come by other lanes count. Nothing is fitted. At channels of several lanes, answers are taken as independent.
//!
//! A channel counts with no more lanes than what leads to it can hold at once: two lanes behind a source
//! of one are one.
//!
//! Worms that come by a channel of several lanes may find others of the same channel before them:
//! rules 2 and 3 then leave out nothing of it but, in 3, the worm's own lane.
//!
//! # Limits
//!
//! Worms longer than their paths; Poisson arrivals; waits of different channels are independent.
//! Near saturation the model may be far off, to either side.

mod lanes;
mod network;
mod solve;
mod together;
mod wait;

pub use network::{Network, Role, Start, Step};
pub use solve::{Solved, Uses};
pub use wait::DRAPER_GHOSH;
