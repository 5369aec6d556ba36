//! Domain of validity of the model of the hypercube with I/O nodes.
//!
//! The model is wrong where waits grow fast with the load, because it assumes that the waits of different channels are
//! independent. The growth of a measure is computed from the model's own solutions at two loads. The limits were set on
//! random machines of `bench/model.py` and tested on machines of another seed; the guide has the table.

use crate::growth;
pub use crate::growth::STEP;

/// Largest relative increase of the latency of PE-PE messages and requests for which the model is valid, if the load
/// increases by the share [`STEP`] of itself.
pub const GROWTH_MAX: f64 = 0.26;

/// Largest relative increase of the latency of whole reads and writes, forwarded requests and replies for which the
/// model is valid, if the load increases by the share [`STEP`] of itself.
pub const IO_GROWTH_MAX: f64 = 0.30;

/// Prefixes of the names of latencies of short messages that start at PEs.
const SHORT: [&str; 2] = ["pe_pe.", "request."];

/// Return a text that says why the model is not valid for a latency, or `None` if it is valid. `measure` is the name of
/// the latency, `value` the latency at the load of the machine, `more` that at a load larger by [`STEP`]; `None` if the
/// machine is saturated there.
pub fn reason_outside(measure: &str, value: f64, more: Option<f64>) -> Option<String> {
    let limit = if SHORT.iter().any(|class| measure.starts_with(class)) {
        GROWTH_MAX
    } else {
        IO_GROWTH_MAX
    };
    growth::reason_outside(limit, value, more)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that a single queue leaves the domain of validity at one load and stays outside beyond it. The test uses
    /// an M/M/1 queue: W = rho / (1 - rho) grows by 1.1 (1 - rho) / (1 - 1.1 rho) - 1, which is g at rho = (g - 0.1) /
    /// (1.1 g).
    #[test]
    fn the_domain_of_a_queue_ends_once() {
        let wait = |rho: f64| (rho < 1.0).then(|| rho / (1.0 - rho));
        for (measure, growth) in [
            ("pe_pe.header", GROWTH_MAX),
            ("write.network", IO_GROWTH_MAX),
            ("read.network", IO_GROWTH_MAX),
        ] {
            let at = |rho: f64| reason_outside(measure, wait(rho).unwrap(), wait(1.1 * rho));
            let end = (growth - STEP) / ((1.0 + STEP) * growth);
            assert_eq!(at(end - 1e-6), None);
            for rho in [end + 1e-6, 0.7, 0.95] {
                let reason = format!("{:.0}%", 100.0 * growth);
                assert!(at(rho).unwrap().contains(&reason));
            }
        }
    }
}
