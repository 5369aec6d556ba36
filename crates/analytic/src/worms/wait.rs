//! The wait of worms (messages) for one channel, separately for each input over which they arrive.

use super::inflow::{Inflow, LANES_MAX, utilisation};
use super::one_lane::one_lane;
use super::several_lanes::several_lanes;
use super::shared_waits::SharedWaits;
use super::sources::mgm;
use crate::moments::Moments;
use crate::queue;

/// Return, for each input of a channel, the moments of the wait of its worms (messages).
pub(super) fn waits(inflows: &[Inflow], lanes: u32, shared_waits: &SharedWaits) -> Vec<Moments> {
    let rho = utilisation(inflows, lanes);
    if rho.is_nan() || rho >= 1.0 {
        return vec![Moments::NEVER; inflows.len()];
    }
    let rate: f64 = inflows.iter().map(|inflow| inflow.rate).sum();
    if rate <= 0.0 {
        return vec![Moments::ZERO; inflows.len()];
    }
    let services = inflows.iter().map(|inflow| (inflow.rate, inflow.service));
    let service = Moments::weighted(services, rate);
    let open = || {
        let together: f64 = inflows.iter().map(|inflow| inflow.together).sum();
        let service = Moments {
            second: service.second + together / rate,
            ..service
        };
        let mean = mgm(
            inflows,
            rate,
            &service,
            lanes,
            shared_waits.serial_probability,
        );
        let alone = queue::wait_moments(rate, &service, lanes, mean);
        if lanes == 1 || lanes > LANES_MAX {
            return alone;
        }
        if let Some((wait, all)) = shared_waits.only
            && mean > 0.0
        {
            // All worms wait as in one queue for the single lane of the next channel. Their wait here is that of M/G/1
            // minus their wait there.
            return alone.scaled((all - wait).max(0.0) / mean);
        }
        mixture_of_waits(alone, shared_waits.wait(rate, lanes, rho).1)
    };
    if inflows.iter().all(|inflow| inflow.lanes.is_none()) || lanes > LANES_MAX {
        return vec![open(); inflows.len()];
    }
    if lanes == 1 {
        one_lane(inflows, rho)
    } else {
        several_lanes(inflows, (rate, &service), (lanes, rho), shared_waits)
    }
}

/// Return the moments of the total wait if a worm (message) experiences at most one of two waits.
fn mixture_of_waits(one: Moments, other: Moments) -> Moments {
    Moments::weighted([(1.0, one), (1.0, other)], 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worms::inflow::examples::inflow;

    /// Return the wait of M/D/m by Crommelin: after the time L, the only worms left are those that found no server, and
    /// a Poisson number of new ones. Little's law gives the wait from the number of waiting worms.
    fn crommelin(offered: f64, servers: usize, length: f64) -> f64 {
        let mut new = vec![(-offered).exp()];
        for count in 1..120 {
            new.push(new[count - 1] * offered / count as f64);
        }
        let mut there = new.clone();
        for _ in 0..400 {
            let mut next = vec![0.0; new.len()];
            for (count, share) in there.iter().enumerate() {
                let left = count.saturating_sub(servers);
                for (more, chance) in new.iter().enumerate().take(next.len() - left) {
                    next[left + more] += share * chance;
                }
            }
            there = next;
        }
        let waiting = |(count, share): (usize, &f64)| count.saturating_sub(servers) as f64 * share;
        there.iter().enumerate().map(waiting).sum::<f64>() * length / offered
    }

    /// Checks that the wait at a source is that of M/D/1 with one lane, and within 3% of M/D/m with several lanes.
    #[test]
    fn sources_are_mg1_and_nearly_mdm_queues() {
        let source = inflow(None, 0.006, 100.0);
        let expected = queue::mg1_wait(0.006, 100.0, 0.0).unwrap();
        assert!((waits(&[source], 1, &SharedWaits::default())[0].mean - expected).abs() < 1e-12);
        for lanes in [2, 3, 4, 8] {
            for rho in [0.1, 0.3, 0.5, 0.8] {
                let offered = rho * f64::from(lanes);
                let exact = crommelin(offered, lanes as usize, 100.0);
                let found = waits(
                    &[inflow(None, offered / 100.0, 100.0)],
                    lanes,
                    &SharedWaits::default(),
                );
                let off = found[0].mean / exact - 1.0;
                assert!(off.abs() < 0.03, "{lanes} lanes at {rho}: {off}");
            }
        }
        assert_eq!(
            waits(&[inflow(None, 0.01, 100.0)], 1, &SharedWaits::default())[0].mean,
            f64::INFINITY
        );
    }

    /// Checks the wait at a source of two lanes in light and in heavy traffic. In light traffic both lanes are held
    /// with the probability a^2 / 2, and the first is free after L / 3. In heavy traffic the wait is (1 + C^2) / 2
    /// times that of M/M/m.
    #[test]
    fn sources_with_two_lanes_have_both_limits() {
        let (length, lanes) = (100.0, 2);
        let wait = |offered: f64| {
            let source = inflow(None, offered / length, length);
            waits(&[source], lanes, &SharedWaits::default())[0].mean
        };
        let offered = 1e-3;
        let light = offered * offered / 2.0 * length / 3.0;
        assert!((wait(offered) / light - 1.0).abs() < 0.01);
        let offered = 2.0 * 0.999;
        let heavy = queue::mmm(offered / length, length, lanes) / 2.0;
        assert!((wait(offered) / heavy - 1.0).abs() < 1e-6);
    }

    /// Checks that worms that all arrive over the same single lane never wait for each other.
    #[test]
    fn worms_that_follow_on_one_lane_never_wait() {
        assert_eq!(
            waits(&[inflow(Some(1), 0.006, 100.0)], 1, &SharedWaits::default())[0],
            Moments::ZERO
        );
    }

    /// Checks that worms do not wait at a channel with more lanes than its inputs have.
    #[test]
    fn enough_lanes_cause_no_wait() {
        let inflows = [inflow(Some(1), 0.006, 100.0), inflow(Some(2), 0.01, 100.0)];
        assert!(
            waits(&inflows, 3, &SharedWaits::default())
                .iter()
                .all(|wait| wait.mean == 0.0)
        );
        assert!(
            waits(&inflows, 2, &SharedWaits::default())
                .iter()
                .all(|wait| wait.mean > 0.0)
        );
    }

    /// Checks that in light traffic a worm waits for half of the service time of another worm. At light load the other
    /// input is busy with probability lambda L, for a further L / 2.
    #[test]
    fn lightly_loaded_inputs_wait_half_a_length() {
        let rate = 1e-7;
        let inflows = [
            inflow(Some(1), rate, 100.0),
            inflow(Some(1), 3.0 * rate, 40.0),
        ];
        let found = waits(&inflows, 1, &SharedWaits::default());
        let expected = [3.0 * rate * 40.0 * 20.0, rate * 100.0 * 50.0];
        for (found, expected) in found.iter().zip(expected) {
            assert!((found.mean / expected - 1.0).abs() < 1e-3);
            // The next check uses that E[X^2] = p (2 r)^2 / 3 for uniform remaining times with the
            // mean p r.
        }
        assert!((found[1].second / (rate * 100.0 * 100.0 * 100.0 / 3.0) - 1.0).abs() < 1e-3);
        // A worm from an input with several lanes may also wait for worms from the same input.
        let wide = [inflow(Some(4), rate, 100.0)];
        let expected = rate * 100.0 * 50.0;
        assert!((waits(&wide, 1, &SharedWaits::default())[0].mean / expected - 1.0).abs() < 1e-3);
    }

    /// Checks the wait for a channel of two lanes in light traffic. At light load both lanes are held with probability
    /// p_1 p_2, and the first of two uniform times up to L ends after L / 3.
    #[test]
    fn two_lanes_are_free_when_the_first_of_two_ends() {
        let (rate, length) = (1e-5, 100.0);
        let inflows = [1e-9, rate, rate].map(|rate| inflow(Some(1), rate, length));
        let found = waits(&inflows, 2, &SharedWaits::default())[0];
        let expected = (rate * length).powi(2) * length / 3.0;
        assert!(
            (found.mean / expected - 1.0).abs() < 0.02,
            "{}",
            found.mean / expected
        );
    }

    /// Checks that the wait of worms from an input with many lanes approaches that of M/D/1. An input with very many
    /// lanes brings worms at random times, as in M/D/1, whose wait has the second moment 2 W^2 + lambda L^3 / (3 (1 -
    /// rho)).
    #[test]
    fn many_lanes_lead_to_one_as_in_md1() {
        let length = 100.0;
        for rho in [0.05, 0.2, 0.35] {
            let rate = rho / length;
            let found = waits(
                &[inflow(Some(1000), rate, length)],
                1,
                &SharedWaits::default(),
            )[0];
            let mean = queue::mg1_wait(rate, length, 0.0).unwrap();
            assert!((found.mean / mean - 1.0).abs() < 1e-5);
            let second = 2.0 * mean * mean + rate * length.powi(3) / (3.0 * (1.0 - rho));
            assert!((found.second / second - 1.0).abs() < 0.1);
        }
    }

    /// Checks the wait for a channel of one lane with two equal inputs of one lane against the
    /// equation of rule 2. With r = lambda L and w = lambda W, a worm waits for the other input
    /// with the probability q = w / r while that is served. With probability r - w its lane is free
    /// and the other served, for L / 2. With probability r + w it follows; then one worm has
    /// gathered with the probability q (2 - q), and takes L.
    #[test]
    fn a_following_worm_finds_the_gathered_worms() {
        let (rate, length) = (0.003, 100.0);
        let found = waits(
            &[inflow(Some(1), rate, length); 2],
            1,
            &SharedWaits::default(),
        )[0];
        let (r, w) = (rate * length, rate * found.mean);
        let q = w / r;
        let expected = (r - w) * length / 2.0 + (r + w) * q * (2.0 - q) * length;
        assert!((found.mean / expected - 1.0).abs() < 1e-6);
    }

    /// Checks that the wait for several lanes behind many lanes is near that of M/D/m. With 16 lanes before it, a
    /// channel has nearly random arrivals.
    #[test]
    fn many_lanes_lead_to_several_as_in_mdm() {
        for lanes in [2, 4] {
            for rho in [0.1, 0.3, 0.5] {
                let offered = rho * f64::from(lanes);
                let exact = crommelin(offered, lanes as usize, 100.0);
                let input = inflow(Some(16), offered / 100.0, 100.0);
                let found = waits(&[input], lanes, &SharedWaits::default())[0].mean;
                let off = found / exact - 1.0;
                assert!(off.abs() < 0.05, "{lanes} lanes at {rho}: {off}");
            }
        }
    }
}
