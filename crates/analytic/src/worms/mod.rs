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
//! 2. At a channel of *one lane* worms are served in the order of their arrival, and of each lane that leads there at most
//!    one is there. Little's law gives how many of each input wait: the rate times W. A worm finds one of two states:
//!    - its lane was *free*. It finds the others as they are while this is so: the time left of the worm in service,
//!      E\[S^2\] / 2 E\[S\] (Kleinrock, *Queueing Systems* vol. 1, 1975, section 5.2), and those that wait;
//!    - it *follows* directly on a worm of its lane, which was there when it came to the lane. As that worm ends, those that
//!      have gathered behind it go first. Their number at the end is twice its mean n over the service, since it grows
//!      from 0; it is less where n nears the number m of lanes: n (2 - n / m).
//!
//!    The probability to follow is that with which all lanes of the input have a worm. With one lane this is the load plus
//!    the rate times W. With m lanes, k of them have a worm that waits with the probability q^k while another input is
//!    served, and k of the other m - 1 while one of their own is; q follows from the mean number. A worm that follows also
//!    finds all m - 1 other lanes before it. With many lanes none follows, and the rule is that of M/G/1. Worms
//!    of equal length from sources that all go to one lane wait 0% to 2% more or less than in M/D/1, summed over their routes,
//!    up to a load of 0.35 (one lane each; 5% with two). Nothing is fitted.
//! 3. At a channel of *m lanes* a worm waits if m of the other lanes that lead there have one that
//!    holds or wants the channel. The worms on the k lanes of one input are Poisson, and at most k: two
//!    lanes of an input with the load a are both held with the probability a^2 / 2 in light traffic.
//!    Holding times that are left are uniform up to twice their mean, as those of fixed length are, and
//!    the first of those held to end lets the first that waits go on. Where all of them are bound for one
//!    lane further on, only one of them moves on at a time: its time left counts, not the least of m.
//!    What waits behind what waits lengthens this by 1 / (1 - rho'); rho' is the load of
//!    those that may come while all lanes are held, which worms of an input whose lanes are all among
//!    these cannot. For worms that start at the channel the same sum is too high, by the ratio of rule 1 to it; all
//!    waits are reduced by this ratio. Worms that follow directly on others of their input wait for those that
//!    have gathered, as in rule 2: each of these leaves a lane after E\[S\] / m. The probability to follow is that of M/M/k. Where
//!    no more lanes lead to a channel than it has itself, no worm waits.
//! 4. Worms on the lanes of one channel that are bound for the same busy place wait there for the same
//!    reason: they hold their lanes at the same time more often than by chance. Let a share s of the rate lambda be bound for a
//!    place that is busy for B, with the probability p. A worm finds two others that came since, and waits for the rest
//!    of B, (lambda s)^2 p B^3 / 24 in the mean. This is (lambda s)^2 E\[W^3\] / 6 for the waits W = B - t of worms that come at
//!    random times, and the same follows where B varies. With m lanes it is less by (lambda s r)^(m - 2), with
//!    the time left r = E\[W^3\] / 3 E\[W^2\]; divided by (1 + lambda s r')^m with r' = E\[W^2\] / 2 E\[W\] it stays below p, as the probability of m arrivals in an
//!    exponential time does; what waits behind lengthens it by 1 / (1 - rho). Only the part of W for worms of other
//!    channels counts: those of their own are among the worms counted. Where the place is one lane, W has
//!    the later waits of the first worm, which holds the lane for the others; else two have a later wait in common with the
//!    probability that both go on to it.
//!    Where all worms of a source go on to one lane that nothing else crosses, they wait as in one queue before that lane: at
//!    the source for as long as in M/G/1 less their wait for the lane.
//! 5. Worms that ask and wait for the same channel go on one after the other, so that their answers come in batches. A worm
//!    finds a mean residual time R = W (1 - rho) of the worm that holds the channel, and gathers with those that come within
//!    R before and R after it. Hence c, the mean number of other answers in the batch of an answer, is 2 R times the rate of
//!    answers. At a source of one lane the wait is that of M/G/1 with batch arrivals: E\[S^2\] grows by c E\[S\]^2, and an
//!    answer also waits for half of the others in its batch, c E\[S\] / 2. At a later channel of one lane only answers that
//!    come by other lanes count, and those of a batch that wait are among the worms that wait in rule 2. Nothing is
//!    fitted. At channels of several lanes, answers are taken as independent.
//!
//! A channel counts with no more lanes than what leads to it can hold at once: two lanes behind a source
//! of one are one.
//!
//! # Limits
//!
//! Worms longer than their paths; Poisson arrivals; waits of different channels are independent.
//! Near saturation the model may be far off, to either side.

mod ahead;
mod headers;
mod inflow;
mod lanes;
mod network;
mod one_lane;
mod saturation;
mod several_lanes;
mod solve;
mod sources;
mod together;
mod wait;

pub use headers::Uses;
pub use network::{Network, Role, Start, Step};
pub use solve::Solved;
