//! Latency of packets between no load and saturation.
//!
//! The output of an interface serves two streams: packets that pass by on the ring, and those that
//! enter it here, its own. A packet is never broken off. Own packets start only when nothing waits
//! in the bypass FIFO, so passing ones go first. For own packets this is the queue with two
//! classes and non-preemptive priority of Cobham (1954; Kleinrock, *Queueing Systems* vol. 2, 1976,
//! section 3.6). With own and passing rates l and p, their lengths X and Y, r and q the shares of
//! time that they take, and the mean work found in service R = (l E\[X^2\] + p E\[Y^2\]) / 2, own
//! packets wait
//!
//! > W = R / ((1 - q) (1 - q - r)).
//!
//! Passing packets come over one link, one after the other, so they never wait for one another, only
//! for own packets and for what these have held up (the dependence that Bux and Schlatter, *An
//! approximate method for the performance analysis of buffer insertion rings*, IEEE Trans. Comm. 31
//! (1983), build their analysis on). An own packet of length X that starts as the bypass is
//! empty delays what passes meanwhile: at time t after its start by X - t + q t; after that the
//! backlog q X drains at the rate 1 - q. Integrated over both, weighted with the passing traffic q
//! and divided by it, passing packets wait
//!
//! > D = l E\[X^2\] / (2 (1 - q)),
//!
//! which is Cobham's wait of the first class without the work that passing packets find of their
//! own kind. The two waits keep the balance of work: r W + l E\[X^2\] / 2 + q D, the work in own
//! packets and in the bypass, is that of a queue M/G/1 of all packets less that of one of the
//! passing packets alone, in which the latter have waited upstream already.
//!
//! Left out: busy echoes and what is sent again because of them; queues of finite length, slots held
//! until the echo has come back and clients that block; go bits; waits in the crossbar of an agent;
//! that packets come from the switch one after another; that trains of passing packets are longer or
//! shorter than the busy times of a queue with Poisson arrivals. So it is a lower estimate near
//! saturation, where these matter.

use super::load::{Class, link_symbols};
use crate::Error;
use crate::error::check_not_negative;

/// Fixed times of a fabric, in cycles.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Timing {
    /// From a node's output to its neighbour's, or to the neighbour's client.
    pub hop: f64,
    /// More than a hop, for a change of ring.
    pub ring_change: f64,
    /// Idle symbols after each packet, which its receiver need not wait for.
    pub idle: f64,
}

impl Timing {
    fn check(&self) -> Result<(), Error> {
        check_not_negative("cycles per link", self.hop)?;
        check_not_negative("cycles per ring change", self.ring_change)?;
        check_not_negative("idle symbols after a packet", self.idle)?;
        Ok(())
    }
}

/// Mean time in cycles from the generation of a packet to the arrival of its tail when it meets no
/// other packet: its length, its links and its changes of ring.
///
/// # Errors
/// Numbers that are negative or not finite.
pub fn light_load_latency(timing: &Timing, class: &Class) -> Result<f64, Error> {
    timing.check()?;
    link_symbols(&[*class])?;
    Ok(unloaded(timing, class))
}

fn unloaded(timing: &Timing, class: &Class) -> f64 {
    (class.send_slot - timing.idle).max(0.0)
        + timing.hop * class.mean_links()
        + timing.ring_change * class.mean_changes().max(0.0)
}

/// Mean waits at one interface, in cycles.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Waits {
    /// Share of time in which its link carries packets and their idles; beyond 1 when more is
    /// offered than it can carry.
    pub utilisation: f64,
    /// Of packets that enter the ring here, until they start; infinite at a utilisation of 1 or more.
    pub output: f64,
    /// Of packets that pass, in the bypass FIFO.
    pub bypass: f64,
}

/// What [`estimate`] finds.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    /// By link.
    pub waits: Vec<Waits>,
    /// Mean latency of each class in cycles, from generation to the arrival of the tail; infinite
    /// when packets of the class enter a ring at a link that is busy all the time.
    pub latencies: Vec<f64>,
}

/// Estimates latencies at a rate of transactions per cycle (by all nodes together), with Poisson
/// arrivals at all nodes; the text above says what is taken into account. It saturates where
/// [`bottleneck`](super::bottleneck) says.
///
/// # Errors
/// Numbers that are negative or not finite, or classes over different numbers of links.
pub fn estimate(timing: &Timing, classes: &[Class], rate: f64) -> Result<Estimate, Error> {
    timing.check()?;
    check_not_negative("transactions per cycle", rate)?;
    let links = link_symbols(classes)?.len();
    let waits: Vec<Waits> = (0..links)
        .map(|link| interface(classes, rate, link))
        .collect();
    let latency = |class: &Class| {
        let waited = class.links.iter().zip(&waits).map(|(load, waits)| {
            let passes = (load.sends - load.starts).max(0.0);
            times(load.starts, waits.output) + times(passes, waits.bypass)
        });
        unloaded(timing, class) + waited.sum::<f64>()
    };
    Ok(Estimate {
        latencies: classes.iter().map(latency).collect(),
        waits,
    })
}

/// A wait that nobody has counts nothing, infinite or not.
fn times(packets: f64, wait: f64) -> f64 {
    if packets > 0.0 { packets * wait } else { 0.0 }
}

fn interface(classes: &[Class], rate: f64, link: usize) -> Waits {
    let (mut own, mut own_work) = (0.0, 0.0);
    let (mut passing, mut passing_work) = (0.0, 0.0);
    for class in classes {
        let load = class.links[link];
        let rate = rate * class.per_transaction;
        let (send, echo) = (class.send_slot, class.echo_slot);
        let passes = (load.sends - load.starts).max(0.0);
        own += rate * load.starts * send;
        own_work += rate * load.starts * send * send / 2.0;
        passing += rate * (passes * send + load.echoes * echo);
        passing_work += rate * (passes * send * send + load.echoes * echo * echo) / 2.0;
    }
    let utilisation = own + passing;
    let wait = |work: f64, left: f64| match work {
        0.0 => 0.0,
        _ if left <= 0.0 => f64::INFINITY,
        _ => work / left,
    };
    let left = match utilisation < 1.0 {
        true => (1.0 - passing) * (1.0 - utilisation),
        false => 0.0,
    };
    Waits {
        utilisation,
        output: wait(own_work + passing_work, left),
        bypass: wait(own_work, 1.0 - passing),
    }
}

#[cfg(test)]
mod tests {
    use super::super::load::{LinkLoad, bottleneck};
    use super::*;
    use crate::queue::{md1_wait, mg1_wait};
    use proptest::prelude::*;

    /// 17 cycles a hop and 33 a ring change: the residuals of the paper's light-load latencies.
    const TIMING: Timing = Timing {
        hop: 17.0,
        ring_change: 33.0,
        idle: 1.0,
    };

    fn moves(links: &[LinkLoad]) -> Class<'_> {
        Class {
            per_transaction: 1.0,
            send_slot: 41.0,
            echo_slot: 5.0,
            links,
        }
    }

    #[test]
    fn without_load_nothing_waits() {
        // A path of two links, a change of ring and one link, no echoes counted.
        let link = |starts| LinkLoad {
            sends: 1.0,
            echoes: 0.0,
            starts,
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

    #[test]
    fn without_passing_packets_the_output_is_a_queue_of_its_own() {
        let links = [LinkLoad {
            sends: 1.0,
            echoes: 0.0,
            starts: 1.0,
        }];
        for rate in [0.001, 0.01, 0.02, 0.0243] {
            let found = estimate(&TIMING, &[moves(&links)], rate).unwrap();
            let expected = md1_wait(rate, 41.0).unwrap();
            assert!((found.waits[0].output - expected).abs() < 1e-9 * expected);
        }
        let found = estimate(&TIMING, &[moves(&links)], 0.025).unwrap();
        assert_eq!(
            (found.waits[0].output, found.latencies[0]),
            (f64::INFINITY, f64::INFINITY)
        );
    }

    #[test]
    fn a_lone_packet_waits_for_the_train_that_passes() {
        // The busy time of a queue M/D/1 of 41 symbols at q = 1/2 that is found under way: with
        // probability q, and its rest is E[B^2] / (2 E[B]) = Y / (2 (1 - q)^2), so q Y / (2 (1 - q)^2).
        let links = [
            LinkLoad {
                sends: 1.0,
                echoes: 0.0,
                starts: 0.0,
            },
            LinkLoad {
                sends: 1.0,
                echoes: 0.0,
                starts: 1.0,
            },
        ];
        let found = estimate(&TIMING, &[moves(&links)], 0.5 / 41.0).unwrap();
        assert!((found.waits[0].output - 41.0).abs() < 1e-9);
        // And a passing one waits for nothing where no packet enters.
        assert_eq!(found.waits[0].bypass, 0.0);
    }

    #[test]
    fn bad_numbers_are_refused() {
        let links = [LinkLoad::default()];
        assert!(estimate(&TIMING, &[moves(&links)], -1.0).is_err());
        assert!(estimate(&TIMING, &[], 0.1).is_err());
        let timing = Timing {
            hop: f64::NAN,
            ..TIMING
        };
        assert!(light_load_latency(&timing, &moves(&links)).is_err());
    }

    fn loads() -> impl Strategy<Value = Vec<LinkLoad>> {
        let load = (0.0..1.0, 0.0..1.0, 0.01..1.0).prop_map(|(sends, echoes, share)| LinkLoad {
            sends,
            echoes,
            starts: sends * share,
        });
        prop::collection::vec(load, 1..8)
    }

    proptest! {
        #[test]
        fn work_is_kept(links in loads(), share in 0.01..0.99) {
            let class = moves(&links);
            let rate = share * bottleneck(&[class]).unwrap().saturation_rate();
            let found = estimate(&TIMING, &[class], rate).unwrap();
            for (load, waits) in links.iter().zip(&found.waits) {
                let passes = load.sends - load.starts;
                let own = rate * load.starts;
                // Mean work of a queue M/G/1 is its mean wait.
                let work = |sends: f64| {
                    let mean = (sends * 41.0 + load.echoes * 5.0) / (sends + load.echoes);
                    let second = (sends * 1681.0 + load.echoes * 25.0) / (sends + load.echoes);
                    let scv = (second / (mean * mean) - 1.0).max(0.0);
                    mg1_wait(rate * (sends + load.echoes), mean, scv).unwrap()
                };
                let passing = rate * (passes * 41.0 + load.echoes * 5.0);
                let kept = own * 41.0 * waits.output + own * 1681.0 / 2.0 + passing * waits.bypass;
                let expected = work(load.sends) - work(passes);
                prop_assert!((kept - expected).abs() < 1e-9 * expected.max(1e-6));
            }
        }

        #[test]
        fn more_load_never_means_less_waiting(links in loads(), low in 0.0..1.2f64, high in 0.0..1.2f64) {
            let class = moves(&links);
            let full = bottleneck(&[class]).unwrap().saturation_rate();
            let at = |share: f64| estimate(&TIMING, &[class], share * full).unwrap();
            let (low, high) = (at(low.min(high)), at(low.max(high)));
            for (low, high) in low.waits.iter().zip(&high.waits) {
                prop_assert!(low.output <= high.output && low.bypass <= high.bypass);
                prop_assert!(low.utilisation <= high.utilisation);
            }
            prop_assert!(low.latencies[0] <= high.latencies[0] && !high.latencies[0].is_nan());
        }

        #[test]
        fn it_saturates_at_the_bottleneck(links in loads()) {
            let class = moves(&links);
            let found = bottleneck(&[class]).unwrap();
            let at = |share: f64| estimate(&TIMING, &[class], share * found.saturation_rate()).unwrap();
            prop_assert!(at(1.0 - 1e-6).latencies[0].is_finite());
            prop_assert_eq!(at(1.0 + 1e-6).waits[found.link].output, f64::INFINITY);
        }
    }
}
