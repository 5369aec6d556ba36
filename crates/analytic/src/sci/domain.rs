//! Domain of validity of the latency estimate for fabrics of SCI rings, [`estimate`](super::estimate).
//!
//! The estimate ignores that queues are finite. A packet keeps its slot of the client's queue until its echo is back.
//! If few slots are free, packets wait for one, and the estimate is too low. It is also too low near the bound of the
//! busiest link. Both limits were set on 600 random fabrics (`bench/estimates.py sci`, seed 3) and tested on other
//! ones; the guide has the table.

use super::{Class, Timing, Waits};

/// Largest load for which the latency estimate is valid, relative to the load that fills the busiest link.
pub const LINK_SHARE_MAX: f64 = 0.7;

/// Largest mean share of a client's queue slots at one interface that packets occupy, for which the latency estimate is
/// valid.
pub const SLOTS_SHARE_MAX: f64 = 0.35;

/// Return the mean number of queue slots that the packets of a client occupy at one ring interface. The packets of
/// class `class` arrive at `rate` per cycle and wait for `output` cycles. Then each packet or its echo goes round the
/// whole ring, past interfaces with the waits `ring`.
pub fn slots_taken(timing: &Timing, class: &Class, rate: f64, output: f64, ring: &[Waits]) -> f64 {
    let passed: f64 = ring.iter().map(|waits| timing.hop + waits.bypass).sum();
    rate * (output + class.send_slot + passed + class.echo_slot)
}

/// Return a text that says why a fabric is outside the domain of validity, or `None` if it is inside. `load` is
/// relative to the load that fills the busiest link, `slots` is the largest share of occupied slots.
pub fn reason_outside(load: f64, slots: f64) -> Option<String> {
    if load > LINK_SHARE_MAX {
        let limit = 100.0 * LINK_SHARE_MAX;
        return Some(format!("load above {limit:.0}% of the link bound"));
    }
    (slots > SLOTS_SHARE_MAX).then(|| {
        let limit = 100.0 * SLOTS_SHARE_MAX;
        format!("packets and their echoes hold more than {limit:.0}% of a client's slots")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the mean number of queue slots that packets occupy until their echoes return. By Little's law, a packet
    /// of 41 symbols that never waits, on a ring of 4 with 17 cycles per hop, occupies a slot for 41 + 4 x 17 + 5
    /// cycles.
    #[test]
    fn slots_are_occupied_until_the_echo_returns() {
        let timing = Timing {
            hop: 17.0,
            ring_change: 33.0,
            idle: 1.0,
        };
        let class = Class {
            per_transaction: 1.0,
            send_slot: 41.0,
            echo_slot: 5.0,
            links: &[],
        };
        let mut ring = [Waits {
            utilisation: 0.0,
            output: 0.0,
            bypass: 0.0,
        }; 4];
        let taken = |output, ring: &[Waits]| slots_taken(&timing, &class, 0.01, output, ring);
        assert!((taken(0.0, &ring) - 1.14).abs() < 1e-12);
        ring[2].bypass = 6.0;
        assert!((taken(10.0, &ring) - 1.3).abs() < 1e-12);
    }

    /// Checks that the estimate is valid at both limits, and outside its domain just above each of them.
    #[test]
    fn the_domain_ends_once() {
        assert_eq!(reason_outside(LINK_SHARE_MAX, SLOTS_SHARE_MAX), None);
        assert!(
            reason_outside(0.71, 0.0)
                .unwrap()
                .contains("70% of the link bound")
        );
        assert!(
            reason_outside(0.0, 0.36)
                .unwrap()
                .contains("35% of a client's slots")
        );
    }
}
