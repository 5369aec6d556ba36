//! The queue at the output of an interface of a ring against a simulation of its rules: packets that
//! enter and pass in trains as the model has them, packet by packet.

use isthmus_analytic::sci::{Class, Timing, Waits, estimate};
use isthmus_topology::rings::LinkUse;

/// A generator of its own for the tests; multiplier of Knuth's MMIX.
struct Draws(u64);

impl Draws {
    /// Above 0, up to 1.
    fn unit(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * self.unit().ln()
    }
}

/// Mean waits of own and of passing packets.
///
/// The incoming link is followed gap by gap and packet by packet; `lag` is by how much what comes
/// out is behind it, that is, what the bypass FIFO has stored.
fn simulate(own_rate: f64, send: f64, passing: [(f64, f64); 2], trains: u32) -> (f64, f64) {
    let rate: f64 = passing.iter().map(|stream| stream.0).sum();
    let share: f64 = passing.iter().map(|stream| stream.0 * stream.1).sum();
    let free: f64 = 1.0 - share;
    let coupling = (1.0 - free * free) / (1.0 + free * free);
    let gap_mean = free / (rate * (1.0 - coupling));
    let mut draws = Draws(20);
    let (mut time, mut lag) = (0.0, 0.0); // of the output
    let mut arrival = draws.exponential(1.0 / own_rate);
    let (mut own, mut own_wait) = (0u64, 0.0);
    let (mut passed, mut passing_wait) = (0u64, 0.0);
    // Starts an own packet that has come, if one has.
    let mut start = |time: f64, arrival: &mut f64, draws: &mut Draws| {
        let comes = *arrival <= time;
        if comes {
            own += 1;
            own_wait += time - *arrival;
            *arrival += draws.exponential(1.0 / own_rate);
        }
        comes
    };
    for _ in 0..trains {
        let mut gap = draws.exponential(gap_mean);
        loop {
            // Free symbols first make up for the lag, during which the output is busy.
            if lag > 0.0 {
                let made_up = gap.min(lag);
                lag -= made_up;
                gap -= made_up;
                if lag > 0.0 {
                    break;
                }
            }
            if start(time, &mut arrival, &mut draws) {
                (time, lag) = (time + send, send);
            } else if arrival < time + gap {
                gap -= arrival - time;
                time = arrival;
            } else {
                time += gap;
                break;
            }
        }
        loop {
            passed += 1;
            passing_wait += lag;
            let first = draws.unit() * rate <= passing[0].0;
            time += if first { passing[0].1 } else { passing[1].1 };
            if lag == 0.0 && start(time, &mut arrival, &mut draws) {
                (time, lag) = (time + send, send);
            }
            if draws.unit() > coupling {
                break;
            }
        }
    }
    (own_wait / own as f64, passing_wait / passed as f64)
}

/// The model at a link with these rates per cycle.
fn model(own: f64, sends: f64, echoes: f64) -> Waits {
    let timing = Timing {
        hop: 17.0,
        ring_change: 33.0,
        idle: 1.0,
    };
    let links = [LinkUse {
        sends: own + sends,
        echoes,
        starts: own,
        ..LinkUse::default()
    }];
    let class = Class {
        per_transaction: 1.0,
        send_slot: 41.0,
        echo_slot: 5.0,
        links: &links,
    };
    estimate(&timing, &[class], 1.0).unwrap().waits[0]
}

#[test]
fn waits_are_those_of_the_rules() {
    // Own packets, passing sends, echoes: shares of the time of the link.
    let cases = [
        (0.05, 0.05, 0.01),
        (0.3, 0.1, 0.05),
        (0.2, 0.4, 0.05),
        (0.4, 0.3, 0.05),
        (0.1, 0.6, 0.1),
        (0.45, 0.4, 0.05),
        (0.02, 0.8, 0.08),
    ];
    for (own, sends, echoes) in cases {
        let (own, sends, echoes) = (own / 41.0, sends / 41.0, echoes / 5.0);
        let (output, bypass) = simulate(own, 41.0, [(sends, 41.0), (echoes, 5.0)], 3_000_000);
        let found = model(own, sends, echoes);
        let near = |found: f64, simulated: f64| (found / simulated - 1.0).abs() < 0.01;
        assert!(
            near(found.output, output) && near(found.bypass, bypass),
            "{own} {sends} {echoes}: {found:?}, simulated {output} and {bypass}"
        );
    }
}
