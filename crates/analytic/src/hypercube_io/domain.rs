//! Where the model channel by channel holds: its domain.
//!
//! The model is off where waits grow fast with the load, because it takes waits of different channels as
//! independent. How fast a measure grows is computed from the model itself, from its solutions at two loads. The
//! limits were set on the 200 random machines of `bench/model.py` with seed 11 and tested on fresh ones with
//! another seed; the guide has the table.

/// By how much the load grows between the two solutions, as a share of it.
pub const STEP: f64 = 0.1;

/// Largest growth of a latency of PE-PE messages, requests and writes, which start at PEs.
pub const GROWTH_MAX: f64 = 0.25;

/// Largest growth of a latency of whole reads, forwards and replies.
pub const READ_GROWTH_MAX: f64 = 0.33;

/// The same where links of the I/O network have one lane: requests that wait for it together are answered
/// together, and the model takes replies as independent.
pub const READ_ONE_LANE_GROWTH_MAX: f64 = 0.22;

/// The latencies that start at PEs.
const OF_PES: [&str; 3] = ["pe_pe.", "request.", "write."];

/// Say why a latency is outside the domain: `value` at the load of the machine, `more` at a load larger by [`STEP`],
/// none if the machine is saturated there, with `io_link` lanes for each link of the I/O network. None inside.
pub fn outside(measure: &str, value: f64, more: Option<f64>, io_link: u32) -> Option<String> {
    let limit = if OF_PES.iter().any(|class| measure.starts_with(class)) {
        GROWTH_MAX
    } else if io_link == 1 {
        READ_ONE_LANE_GROWTH_MAX
    } else {
        READ_GROWTH_MAX
    };
    let inside = more.is_some_and(|more| more <= (1.0 + limit) * value);
    (!inside).then(|| {
        let (step, limit) = (100.0 * STEP, 100.0 * limit);
        format!("{step:.0}% more load lengthens it by more than {limit:.0}%")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An M/M/1 queue: W = rho / (1 - rho) grows by 1.1 (1 - rho) / (1 - 1.1 rho) - 1, which is 0.25 at rho = 3/5.5.
    #[test]
    fn the_domain_of_a_queue_ends_once() {
        let wait = |rho: f64| (rho < 1.0).then(|| rho / (1.0 - rho));
        let at = |rho: f64| outside("pe_pe.header", wait(rho).unwrap(), wait(1.1 * rho), 2);
        assert_eq!(at(3.0 / 5.5 - 1e-6), None);
        for rho in [3.0 / 5.5 + 1e-6, 0.7, 0.95] {
            assert!(at(rho).unwrap().contains("25%"));
        }
    }

    #[test]
    fn reads_by_an_io_network_of_one_lane_have_a_limit_of_their_own() {
        assert_eq!(outside("read.network", 1.0, Some(1.3), 2), None);
        let reason = outside("read.network", 1.0, Some(1.3), 1).unwrap();
        assert_eq!(reason, "10% more load lengthens it by more than 22%");
        assert!(outside("write.network", 1.0, Some(1.3), 2).is_some());
    }
}
