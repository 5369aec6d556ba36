//! Waits of worms, channel by channel, on their actual routes.
//!
//! As in [`crate::staged`] a blocked worm keeps the channels behind its head, so it holds a channel for its length plus
//! its later waits: S = L + sum W (Ghosh, Goveas and Draper, section 6). Here channels are not averaged: each is a queue
//! of its own. The wait of a worm depends on the channel and on the previous channel. One pass against the direction of
//! travel computes all waits, without iteration over the network.
//!
//! # The wait at a channel
//!
//! 1. *Starting worms* arrive at random times, independently of the state: M/G/1 (Pollaczek and Khinchine). With several
//!    lanes the wait is that of M/M/m times a ratio between two limits. In heavy traffic the ratio is (1 + C^2) / 2 (Lee
//!    and Longton, [`crate::queue`]). In light traffic it is the mean time until the first of m worms in service ends,
//!    relative to that of exponential ones (Burman and Smith, 1983). The weight of the second limit is
//!    (1 - rho)^(1 + 4 / m), which is within 3% of M/D/m for 2 to 8 lanes.
//! 2. A channel of *one lane* serves worms in the order of their arrival. At most one worm is there from each lane that
//!    leads to the channel. By Little's law, the mean number of waiting worms of an input is the rate times W. A worm
//!    finds one of two states:
//!    - its lane was *free*. It finds the others in their mean state under this condition: the remaining time of the worm
//!      in service, E\[S^2\] / 2 E\[S\] (Kleinrock, *Queueing Systems* vol. 1, 1975, section 5.2), and the waiting worms;
//!    - it *follows* directly on a worm of its lane, which was there when it came to the lane. When that worm ends, the
//!      worms that have gathered behind it go first. Their number at that time is twice its mean n over the service, since
//!      it grows from 0. It is less if n is near the number m of lanes: n (2 - n / m).
//!
//!    A worm follows if all lanes of the input have a worm. With one lane this probability is the load plus the rate
//!    times W. With m lanes, k of them have a waiting worm with the probability q^k while another input is served, and k
//!    of the other m - 1 while a worm of the same input is served; q results from the mean number. A worm that follows
//!    also finds all m - 1 other lanes before it. With many lanes no worm follows, and the rule is that of M/G/1. Worms
//!    of equal length from sources that all go to one lane wait 0% to 2% more or less than in M/D/1, summed over their
//!    routes, up to a load of 0.35 (one lane each; 5% with two). Nothing is fitted.
//! 3. At a channel of *m lanes* a worm waits if m of the other lanes that lead there have a worm that holds the channel
//!    or waits for it. The number of worms on the k lanes of one input is Poisson, cut at k: two lanes of an input with
//!    the load a are both held with the probability a^2 / 2 in light traffic. Remaining holding times are uniform up to
//!    twice their mean, like those of worms of fixed length. The first holder that ends lets the first waiting worm go
//!    on. If all holders go to one lane further on, only one of them moves on at a time: its remaining time counts, not
//!    the minimum of m. Worms that wait behind others lengthen this by 1 / (1 - rho'). The load rho' counts worms that may
//!    arrive while all lanes are held, so not those of an input whose lanes are all among the held ones. For worms that
//!    start at the channel the same sum is too high by a ratio that rule 1 gives; all waits are reduced by this ratio.
//!    Worms that follow directly on others of their input wait for the gathered worms, as in rule 2: each of these leaves
//!    a lane after E\[S\] / m. The probability to follow is that of M/M/k. If no more lanes lead to a channel than it has
//!    itself, no worm waits.
//! 4. Worms on the lanes of one channel that go to the same busy channel wait there for the same reason. So they hold
//!    their lanes at the same time more often than by chance. Let a share s of the rate lambda go to a channel that is
//!    busy for B, with the probability p. A worm finds two others that arrived in the meantime, and waits for the rest of
//!    B, (lambda s)^2 p B^3 / 24 on average. This is (lambda s)^2 E\[W^3\] / 6 for the waits W = B - t of worms that arrive
//!    at random times, and also holds if B varies. With m lanes the wait is less by the factor (lambda s r)^(m - 2), with
//!    the remaining time r = E\[W^3\] / 3 E\[W^2\]. The divisor (1 + lambda s r')^m with r' = E\[W^2\] / 2 E\[W\] keeps it below
//!    p, like the probability of m arrivals in an exponential time. Worms that wait behind others lengthen it by
//!    1 / (1 - rho). Only the part of W for worms of other channels counts, since those of their own are among the worms
//!    already counted. If the busy channel has one lane, W includes the later waits of the first worm, which holds the
//!    lane for the others. Otherwise two worms share a later wait with the probability that both go on to it.
//!
//!    If all worms of a source go on to one lane that no other worms cross, they wait as in one queue before that lane.
//!    Their wait at the source is then that of M/G/1 minus their wait for the lane.
//! 5. Requests that wait for the same channel go on one after the other, so their answers arrive in batches. A request
//!    finds a mean residual time R = W (1 - rho) of the worm that holds the channel, and gathers with the requests that
//!    arrive within R before and R after it. Hence c, the mean number of other answers in the batch of an answer, is 2 R
//!    times the rate of answers. At a source of one lane the wait is that of M/G/1 with batch arrivals: E\[S^2\] grows by
//!    c E\[S\]^2, and an answer also waits for half of the others in its batch, c E\[S\] / 2. At a later channel of one lane
//!    only answers that arrive over other lanes count, and the waiting answers of a batch are among the waiting worms of
//!    rule 2. Nothing is fitted. At channels of several lanes, answers are assumed to be independent.
//!
//! The number of lanes of a channel counts only up to the number that its inputs can hold at the same time: two lanes
//! behind a source of one lane count as one.
//!
//! # Limits
//!
//! Worms longer than their paths; Poisson arrivals; waits of different channels are independent. Near saturation the
//! model may be far off, in either direction.

mod headers;
mod inflow;
mod lanes;
mod network;
mod one_lane;
mod saturation;
mod several_lanes;
mod shared_waits;
mod solve;
mod sources;
mod together;
mod wait;

pub use headers::HeaderLatency;
pub use network::{Network, Role, Start, Step};
pub use solve::Solved;
