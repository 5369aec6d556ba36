//! Where the model channel by channel holds: its domain.
//!
//! The model is off where waits grow fast with the load, because it takes waits of different channels as
//! independent. How fast a measure grows is computed from the model itself, from its solutions at two loads. The
//! limits were set on random machines of `bench/model.py` and tested on machines of another seed; the guide has the table.

use crate::growth;
pub use crate::growth::STEP;

/// Largest growth of a latency of PE-PE messages and requests.
pub const GROWTH_MAX: f64 = 0.26;

/// Largest growth of a latency of whole reads, writes, forwards and replies.
pub const IO_GROWTH_MAX: f64 = 0.30;

/// The latencies of messages that are short and start at PEs.
const SHORT: [&str; 2] = ["pe_pe.", "request."];

/// Say why a latency is outside the domain: `value` at the load of the machine, `more` at a load larger by [`STEP`],
/// none if the machine is saturated there. None inside.
pub fn outside(measure: &str, value: f64, more: Option<f64>) -> Option<String> {
    let limit = if SHORT.iter().any(|class| measure.starts_with(class)) {
        GROWTH_MAX
    } else {
        IO_GROWTH_MAX
    };
    growth::outside(limit, value, more)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An M/M/1 queue: W = rho / (1 - rho) grows by 1.1 (1 - rho) / (1 - 1.1 rho) - 1, which is g at
    /// rho = (g - 0.1) / (1.1 g).
    #[test]
    fn the_domain_of_a_queue_ends_once() {
        let wait = |rho: f64| (rho < 1.0).then(|| rho / (1.0 - rho));
        for (measure, growth) in [
            ("pe_pe.header", GROWTH_MAX),
            ("write.network", IO_GROWTH_MAX),
            ("read.network", IO_GROWTH_MAX),
        ] {
            let at = |rho: f64| outside(measure, wait(rho).unwrap(), wait(1.1 * rho));
            let end = (growth - STEP) / ((1.0 + STEP) * growth);
            assert_eq!(at(end - 1e-6), None);
            for rho in [end + 1e-6, 0.7, 0.95] {
                let reason = format!("{:.0}%", 100.0 * growth);
                assert!(at(rho).unwrap().contains(&reason));
            }
        }
    }
}
