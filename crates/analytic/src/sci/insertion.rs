//! The output of one interface of a register-insertion ring as a queue.
//!
//! Two streams leave through the output: passing packets, which stay on the ring, and own packets,
//! which enter the ring here. No packet is interrupted. An own packet starts at the end of any
//! packet if the bypass FIFO is empty, even between two adjacent packets. Packets that pass
//! meanwhile wait in the bypass FIFO. No further own packet starts until the FIFO is empty again.
//!
//! Passing packets arrive over one link, so they never wait for one another. Measured in free
//! symbols of the incoming link, they arrive in *trains*: trains begin at random (Poisson), and
//! another packet follows directly after the previous one with probability c, the coupling. (Scott,
//! Goodman and Vernon, *Performance of the SCI ring*, ISCA 1992, describe the traffic of a ring by
//! trains with such a coupling.) With this assumption the queue is solved without further
//! approximation:
//!
//! - An own packet of length X delays passing packets by X symbols minus the free symbols that have
//!   arrived since. The bypass is empty again after its completion time C, in which X free symbols
//!   arrive. Let q be the share of time with passing packets. Trains begin at the rate v per free
//!   symbol and last T. Then E\[C\] = X / (1 - q), var C = X v E\[T^2\].
//! - An own packet that finds no other own packet finds a passing packet with probability z (an
//!   alternating process, free at its beginning, after an exponential time) and waits for its end.
//!   The rest of the train follows, which lengthens the completion time by c / (1 - c) packets on
//!   average.
//! - So own packets form an M/G/1 queue with the service time C, except for the first of each busy
//!   period (Welch, *On a generalized M/G/1 queuing process*, Oper. Res. 12 (1964)).
//! - A passing packet is delayed by every own packet in whose completion time it arrives: by X / 2
//!   on average if it arrives at random, by X if it belongs to the train that the own packet
//!   interrupted.
//!
//! For c, the rest of a train that an own packet finds is assumed to be as long as the rest of a
//! busy period of an M/D/1 queue with utilisation q, whose output would be that train: c = (1 -
//! u^2) / (1 + u^2), u = 1 - q.

/// A stream of packets of one length: their rate and length.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stream {
    /// Packets of the stream per cycle.
    pub rate: f64,
    /// Length of a packet in symbols, including its idle symbols.
    pub symbols: f64,
}

/// Mean waits of packets at one interface, in cycles.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Waits {
    /// Share of time in which the link carries packets and their idles. It exceeds 1 if the offered
    /// load exceeds the capacity.
    pub utilisation: f64,
    /// Wait of packets that enter the ring at this interface, until they start. It is infinite at a
    /// utilisation of 1 or more.
    pub output: f64,
    /// Wait of passing packets in the bypass FIFO of this interface.
    pub bypass: f64,
}

/// Sums over streams of the rate times a power of the packet length.
#[derive(Debug, Clone, Copy, Default)]
struct RateSums {
    rate: f64,
    first: f64,
    second: f64,
}

impl RateSums {
    /// Return, for these streams, the sums of the rate times the length to the power of 0, 1 and 2.
    fn new(streams: &[Stream]) -> Self {
        let sum = |power| -> f64 {
            let terms = streams.iter().map(|s| s.rate * s.symbols.powi(power));
            terms.sum()
        };
        Self {
            rate: sum(0),
            first: sum(1),
            second: sum(2),
        }
    }
}

/// Return the mean waits at an interface for the packets `own`, which enter the ring there, and the
/// packets `passing`, echoes included. Rates and lengths must be finite and not negative.
pub(super) fn solve(own: &[Stream], passing: &[Stream]) -> Waits {
    let (o, p) = (RateSums::new(own), RateSums::new(passing));
    let utilisation = o.first + p.first;
    if utilisation >= 1.0 {
        // In an overloaded output the node always has a packet to insert, and inserts one whenever
        // the bypass FIFO is empty. Compute the wait of passing packets from this.
        let bypass = match o.first > 0.0 {
            false => 0.0,
            true if p.first < 1.0 => o.second / (2.0 * o.first),
            true => f64::INFINITY,
        };
        return Waits {
            utilisation,
            output: f64::INFINITY,
            bypass,
        };
    }
    let trains = Trains::new(&p);
    let found = PassingPacket::new(&trains, o.rate, passing);

    // Moments of the completion time (from the start of an own packet until the bypass FIFO is empty
    // again), averaged over own packets.
    let per_own = |value: f64| if o.rate > 0.0 { value / o.rate } else { 0.0 };
    let (length, square) = (per_own(o.first), per_own(o.second));
    let free = 1.0 - p.first;
    let mean = length / free;
    let second = square / (free * free) + length * trains.starts * trains.second;
    // The first own packet of a busy period may find a passing packet. It then also waits for this
    // packet and for the rest of its train.
    let longer = mean + trains.rest;
    let longer_second = second + 2.0 * mean * trains.rest + trains.rest_second;
    let first = (1.0 - found.probability) * mean + found.wait + found.probability * longer;
    let first_second = (1.0 - found.probability) * second
        + found.wait_second
        + 2.0 * found.wait * longer
        + found.probability * longer_second;
    let idle = 1.0 - o.rate * mean;
    let firsts = idle / (idle + o.rate * first);
    let output = o.rate * second / (2.0 * idle)
        + o.rate * (first_second - second) / (2.0 * (idle + o.rate * first))
        + firsts * found.wait;

    let at_random = o.second / (2.0 * free);
    let in_broken_trains = match p.rate > 0.0 {
        true => firsts * found.probability * trains.rest_packets * o.first / p.rate,
        false => 0.0,
    };
    Waits {
        utilisation,
        output,
        bypass: at_random + in_broken_trains,
    }
}

/// Lengths and rates of trains: sequences of passing packets without a gap.
struct Trains {
    coupling: f64,
    /// Mean number of trains of passing packets that start per free symbol on the link.
    starts: f64,
    /// Second moment E\[T^2\] of the train length T.
    second: f64,
    /// Mean number of further packets behind a packet in the same train (packets without a gap).
    rest_packets: f64,
    rest: f64,
    rest_second: f64,
}

impl Trains {
    /// Compute the trains that passing packets form, from the sums of their rates and lengths.
    fn new(passing: &RateSums) -> Self {
        let &RateSums {
            rate,
            first,
            second,
        } = passing;
        if rate == 0.0 {
            return Self {
                coupling: 0.0,
                starts: 0.0,
                second: 0.0,
                rest_packets: 0.0,
                rest: 0.0,
                rest_second: 0.0,
            };
        }
        let free = 1.0 - first;
        let coupling = (1.0 - free * free) / (1.0 + free * free);
        let more = coupling / (1.0 - coupling);
        let (mean, square) = (first / rate, second / rate);
        // Second moment of the length of a train, whose number of packets is geometric with the
        // mean 1 / (1 - c).
        let train_second = square * (1.0 + more) + 2.0 * more * (1.0 + more) * mean * mean;
        Self {
            coupling,
            starts: rate * (1.0 - coupling) / free,
            second: train_second,
            rest_packets: more,
            rest: more * mean,
            rest_second: coupling * train_second,
        }
    }
}

/// The packet on the ring that may delay the first packet that the node inserts in a busy period.
struct PassingPacket {
    /// Probability that the node's first packet finds a passing packet on the ring.
    probability: f64,
    /// Mean time until the end of the passing packet, 0 if there is none.
    wait: f64,
    wait_second: f64,
}

impl PassingPacket {
    /// Compute the probability that a passing packet delays the node's own packet, and the wait for
    /// its end. The first own packet of a busy period arrives at an exponential time with rate
    /// `rate` after the bypass FIFO became empty.
    fn new(trains: &Trains, rate: f64, passing: &[Stream]) -> Self {
        let packets: f64 = passing.iter().map(|s| s.rate).sum();
        if packets == 0.0 {
            return Self {
                probability: 0.0,
                wait: 0.0,
                wait_second: 0.0,
            };
        }
        // Computes E[(1 - exp(-rate Y)) / rate] with `power` 0, where Y is the length of the
        // passing packet during which the node's own packet arrives. Other powers give its expected
        // rest and squared rest, divided by the rate.
        let mean = |power: i32, factor: f64| -> f64 {
            let term = |s: &Stream| {
                s.rate
                    * s.symbols.powi(power)
                    * factor
                    * exp_series_tail(power as u32, rate * s.symbols)
            };
            passing.iter().map(term).sum::<f64>() / packets
        };
        let within = mean(1, 1.0);
        // This is E[(1 - exp(-rate Y)) / rate], where Y is the length of a whole train of packets.
        let in_train = within / (1.0 - trains.coupling * (1.0 - rate * within));
        let probability = trains.starts * in_train / (1.0 + trains.starts * in_train);
        Self {
            probability,
            wait: probability / within * mean(2, 1.0),
            wait_second: probability / within * mean(3, 2.0),
        }
    }
}

/// Return the sum of (-x)^k / (k + n)! over k >= 0. This is the series of exp(-x) from its n-th
/// term on, divided by (-x)^n.
fn exp_series_tail(n: u32, x: f64) -> f64 {
    let factorial = |n: u32| (1..=n).map(f64::from).product::<f64>();
    if x < 1.0 {
        let mut term = 1.0 / factorial(n);
        let mut sum = 0.0;
        for k in 1..24 {
            sum += term;
            term *= -x / f64::from(k + n);
        }
        return sum;
    }
    (0..n).fold((-x).exp(), |tail, n| (1.0 / factorial(n) - tail) / x)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::mg1_wait;

    /// Return a stream of packets of this rate (per cycle) and length (in symbols).
    fn stream(rate: f64, symbols: f64) -> Stream {
        Stream { rate, symbols }
    }

    /// Checks that without passing packets, the output queue of a node has the waits of M/G/1.
    #[test]
    fn without_passing_packets_the_output_is_an_mg1_queue() {
        for rate in [0.0, 1e-9, 0.01, 0.0243] {
            let found = solve(&[stream(rate, 41.0)], &[stream(0.0, 5.0)]);
            let expected = mg1_wait(rate, 41.0, 0.0).unwrap();
            assert!((found.output - expected).abs() <= 1e-9 * expected);
        }
        // Packets of two lengths enter the ring.
        let found = solve(&[stream(0.01, 41.0), stream(0.02, 9.0)], &[]);
        let (mean, second) = (59.0 / 3.0, (1681.0 + 162.0) / 3.0);
        let expected = mg1_wait(0.03, mean, second / (mean * mean) - 1.0).unwrap();
        assert!((found.output - expected).abs() < 1e-9 * expected);
    }

    /// Checks that a packet that enters the ring at an otherwise idle node waits only for the end
    /// of a passing packet.
    #[test]
    fn a_lone_packet_waits_for_the_end_of_the_one_that_passes() {
        let passing = [stream(0.01, 41.0), stream(0.02, 5.0)];
        let found = solve(&[stream(0.0, 41.0)], &passing);
        assert!((found.output - (0.01 * 1681.0 + 0.02 * 25.0) / 2.0).abs() < 1e-12);
        assert_eq!(found.bypass, 0.0);
        let rare = solve(&[stream(1e-12, 41.0)], &passing);
        assert!((rare.output - found.output).abs() < 1e-6);
    }

    /// Checks that a rare passing packet is delayed by half of each packet that the node inserts.
    #[test]
    fn rare_packets_are_delayed_by_half_of_each_entering_packet() {
        // The expected mean delay of the passing packet is 0.01 * 41^2 / 2 cycles.
        let found = solve(&[stream(0.01, 41.0)], &[stream(1e-12, 41.0)]);
        assert!((found.bypass - 0.01 * 1681.0 / 2.0).abs() < 1e-6);
    }

    /// Checks that the wait is infinite for a queue whose load exceeds the capacity of the link.
    #[test]
    fn an_overloaded_output_has_infinite_waits() {
        let found = solve(&[stream(0.02, 41.0)], &[stream(0.01, 41.0)]);
        assert!((found.utilisation - 1.23).abs() < 1e-12);
        assert_eq!(found.output, f64::INFINITY);
        assert!(found.bypass.is_finite());
        let full = solve(&[stream(0.01, 41.0)], &[stream(0.03, 41.0)]);
        assert_eq!(full.bypass, f64::INFINITY);
    }

    /// Checks that the tails of the exponential series equal their closed forms, also near 0.
    #[test]
    fn series_tails_equal_those_of_the_exponential() {
        for x in [1e-12, 0.3, 0.999, 1.0, 1.5, 40.0_f64] {
            let close = |n, expected: f64| {
                assert!((exp_series_tail(n, x) - expected).abs() < 1e-9, "{n}, {x}");
            };
            close(0, (-x).exp());
            close(1, -(-x).exp_m1() / x);
            if x > 0.1 {
                close(2, (x - 1.0 + (-x).exp()) / (x * x));
                close(3, (1.0 - x + x * x / 2.0 - (-x).exp()) / (x * x * x));
            }
        }
        assert!(
            (exp_series_tail(2, 0.0) - 0.5).abs() < 1e-15
                && (exp_series_tail(3, 0.0) - 1.0 / 6.0).abs() < 1e-15
        );
    }
}
