//! Latency of packets at any load, from no load to saturation.

use super::insertion::{self, Stream, Waits};
use super::load::{Class, link_symbols};
use crate::Error;
use crate::error::check_not_negative;

/// Fixed times of packets in a fabric, in cycles.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Timing {
    /// Time in cycles from a node's output to the output of its neighbour, or to the neighbour's client.
    pub hop: f64,
    /// Additional time in cycles for each change of a packet from one ring to another.
    pub ring_change: f64,
    /// Number of idle symbols after each packet. The receiver need not wait for them.
    pub idle: f64,
}

impl Timing {
    /// Check that all times are finite and not negative.
    fn check(&self) -> Result<(), Error> {
        check_not_negative("cycles per link", self.hop)?;
        check_not_negative("cycles per ring change", self.ring_change)?;
        check_not_negative("idle symbols after a packet", self.idle)?;
        Ok(())
    }
}

/// Return the mean time in cycles from the generation of a packet to the arrival of its last symbol, if there are no
/// other packets. It depends on the packet's length, links and changes of ring.
///
/// # Errors
/// A number is negative or not finite.
pub fn light_load_latency(timing: &Timing, class: &Class) -> Result<f64, Error> {
    timing.check()?;
    link_symbols(&[*class])?;
    Ok(unloaded_latency(timing, class))
}

/// Return the mean latency without other packets, for valid inputs.
fn unloaded_latency(timing: &Timing, class: &Class) -> f64 {
    (class.send_slot - timing.idle).max(0.0)
        + timing.hop * class.mean_links()
        + timing.ring_change * class.mean_changes().max(0.0)
}

/// Result of [`estimate`]: waits of packets and latencies of classes.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    /// Waits at each link: in the interface from which the link leaves.
    pub waits: Vec<Waits>,
    /// Mean latency of each class in cycles, from generation to the arrival of the tail. It is
    /// infinite if packets of the class enter a ring at a link that is always busy.
    pub latencies: Vec<f64>,
}

/// Estimate latencies at a rate of transactions per cycle (of all nodes together), with Poisson
/// arrivals at all nodes. The estimate saturates at the load of [`bottleneck`](super::bottleneck).
///
/// The latency of a packet is its length, a time per link and a time per change of ring, plus its
/// waits: at every interface where it enters a ring, and in every bypass FIFO that it passes. The
/// mean waits come from the queue of one interface ([`insertion`](super::insertion)), with packets
/// that enter at random times.
///
/// The estimate neglects: busy echoes and retries; finite queues, slots that are occupied until the
/// echo returns, and clients that block; go bits; waits in the crossbar of an agent; the order of
/// packets from a switch; the dependence between the waits of neighbours. Clients and switches that
/// block make the true latency grow without bound before a link is full, so the estimate is too low
/// near saturation. On long single rings without blocking, it is somewhat too high near saturation.
///
/// # Errors
/// A number is negative or not finite, or classes have different numbers of links.
pub fn estimate(timing: &Timing, classes: &[Class], rate: f64) -> Result<Estimate, Error> {
    timing.check()?;
    check_not_negative("transactions per cycle", rate)?;
    let links = link_symbols(classes)?.len();
    let waits: Vec<Waits> = (0..links)
        .map(|link| interface_waits(classes, rate, link))
        .collect();
    let latency = |class: &Class| {
        let waited = class.links.iter().zip(&waits).map(|(load, waits)| {
            let passes = (load.sends - load.starts).max(0.0);
            weighted_wait(load.starts, waits.output) + weighted_wait(passes, waits.bypass)
        });
        unloaded_latency(timing, class) + waited.sum::<f64>()
    };
    Ok(Estimate {
        latencies: classes.iter().map(latency).collect(),
        waits,
    })
}

/// Return the product of a number of packets and their wait; zero without packets, even if the wait
/// is infinite.
fn weighted_wait(packets: f64, wait: f64) -> f64 {
    if packets > 0.0 { packets * wait } else { 0.0 }
}

/// Return the waits in cycles at the interface from which link number `link` leaves, at `rate` transactions per cycle.
fn interface_waits(classes: &[Class], rate: f64, link: usize) -> Waits {
    let (mut own, mut passing) = (Vec::new(), Vec::new());
    for class in classes {
        let load = class.links[link];
        let rate = rate * class.per_transaction;
        let stream = |packets: f64, symbols| Stream {
            rate: rate * packets,
            symbols,
        };
        own.push(stream(load.starts, class.send_slot));
        passing.push(stream((load.sends - load.starts).max(0.0), class.send_slot));
        passing.push(stream(load.echoes, class.echo_slot));
    }
    insertion::solve(&own, &passing)
}

#[cfg(test)]
mod tests {
    use super::super::load::bottleneck;
    use super::*;
    use isthmus_topology::rings::LinkUse;
    use proptest::prelude::*;

    /// Times derived from the paper's light-load latencies: 17 cycles per hop and 33 per change of
    /// ring.
    const TIMING: Timing = Timing {
        hop: 17.0,
        ring_change: 33.0,
        idle: 1.0,
    };

    /// Return a class of SCI move packets, one per transaction, that load the links in this way.
    fn moves(links: &[LinkUse]) -> Class<'_> {
        Class {
            per_transaction: 1.0,
            send_slot: 41.0,
            echo_slot: 5.0,
            links,
        }
    }

    /// Checks that without load, all waits are 0 and the latency is the sum of the delays of the
    /// path.
    #[test]
    fn without_load_nothing_waits() {
        // A path of three links: two on the first ring and one on the second. It has no echoes.
        let link = |starts| LinkUse {
            sends: 1.0,
            echoes: 0.0,
            starts,
            ..LinkUse::default()
        };
        let links = [link(1.0), link(0.0), link(1.0)];
        let class = moves(&links);
        let light = light_load_latency(&TIMING, &class).unwrap();
        assert_eq!(light, 40.0 + 3.0 * 17.0 + 33.0);
        let found = estimate(&TIMING, &[class], 0.0).unwrap();
        assert_eq!(found.latencies, [light]);
        let nothing = Waits {
            utilisation: 0.0,
            output: 0.0,
            bypass: 0.0,
        };
        assert_eq!(found.waits, [nothing; 3]);
    }

    /// Checks that two half classes give the same estimate as one whole class, and longer packets
    /// in one of them increase the latency.
    #[test]
    fn a_class_may_be_split_in_two() {
        let load = LinkUse {
            sends: 0.5,
            echoes: 0.5,
            starts: 0.25,
            ..LinkUse::default()
        };
        let links = [load; 4];
        let half = Class {
            per_transaction: 0.5,
            ..moves(&links)
        };
        let one = estimate(&TIMING, &[moves(&links)], 0.03).unwrap();
        let two = estimate(&TIMING, &[half, half], 0.03).unwrap();
        assert!((one.latencies[0] / two.latencies[0] - 1.0).abs() < 1e-12);
        assert_eq!(two.latencies[0], two.latencies[1]);
        // Longer packets of one class delay the packets of both classes.
        let long = Class {
            send_slot: 137.0,
            ..half
        };
        let mixed = estimate(&TIMING, &[half, long], 0.01).unwrap();
        let alone = estimate(&TIMING, &[half], 0.01).unwrap();
        assert!(mixed.latencies[0] > alone.latencies[0]);
        assert!(mixed.latencies[1] > mixed.latencies[0] + 95.9);
    }

    /// Checks that negative rates, an empty list of classes and NaN are refused.
    #[test]
    fn bad_numbers_are_refused() {
        let links = [LinkUse::default()];
        assert!(estimate(&TIMING, &[moves(&links)], -1.0).is_err());
        assert!(estimate(&TIMING, &[], 0.1).is_err());
        let timing = Timing {
            hop: f64::NAN,
            ..TIMING
        };
        assert!(light_load_latency(&timing, &moves(&links)).is_err());
    }

    /// Return a proptest strategy for random loads of the links of a ring.
    fn loads() -> impl Strategy<Value = Vec<LinkUse>> {
        let load = (0.0..1.0, 0.0..1.0, 0.01..1.0).prop_map(|(sends, echoes, share)| LinkUse {
            sends,
            echoes,
            starts: sends * share,
            ..LinkUse::default()
        });
        prop::collection::vec(load, 1..8)
    }

    proptest! {
        /// Checks that all output waits and utilisations increase with the load.
        #[test]
        fn more_load_means_longer_queues(links in loads(), low in 0.0..1.2f64, high in 0.0..1.2f64) {
            let class = moves(&links);
            let full = bottleneck(&[class]).unwrap().saturation_rate();
            let at = |share: f64| estimate(&TIMING, &[class], share * full).unwrap();
            let (low, high) = (at(low.min(high)), at(low.max(high)));
            for (low, high) in low.waits.iter().zip(&high.waits) {
                prop_assert!(low.output <= high.output && !high.bypass.is_nan());
                prop_assert!(low.utilisation <= high.utilisation);
            }
            prop_assert!(!high.latencies[0].is_nan());
        }

        /// Checks that the latency is finite just below the saturation rate, and the output wait of
        /// the bottleneck is infinite just above it.
        #[test]
        fn estimates_saturate_at_the_bottleneck(links in loads()) {
            let class = moves(&links);
            let found = bottleneck(&[class]).unwrap();
            let at = |share: f64| estimate(&TIMING, &[class], share * found.saturation_rate()).unwrap();
            prop_assert!(at(1.0 - 1e-6).latencies[0].is_finite());
            prop_assert_eq!(at(1.0 + 1e-6).waits[found.link].output, f64::INFINITY);
        }
    }
}
