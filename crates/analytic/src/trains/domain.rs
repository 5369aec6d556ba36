//! Conditions under which the computed waits of trains of packets (packets sent one after another)
//! are valid.

use crate::growth;
pub use crate::growth::STEP;

/// Largest relative increase of a response time for which the model is valid, if the load increases by [`STEP`].
///
/// The limit was set on 1200 random networks (`bench/estimates.py graph`, seeds 2, 41, 1616, 1717, 1818 and 1919) and
/// tested on others.
const GROWTH_MAX: f64 = 0.14;

/// Return a text that says why a response time is outside the domain of validity, or `None` if it is inside. `value` is
/// the response time at the load of the network, `more` the response time at a load larger by [`STEP`]. `mixed` is the
/// number of packets of a message that take random routes, relative to the number that fits into a buffer. Above 1,
/// packets of one message block one another.
pub fn reason_outside(value: f64, more: f64, mixed: f64) -> Option<String> {
    if mixed > 1.0 {
        return Some(
            "packets take random routes and buffers are shorter than a message".to_owned(),
        );
    }
    growth::reason_outside(GROWTH_MAX, value, more.is_finite().then_some(more))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that the domain ends where the response time grows 14% faster than the load.
    #[test]
    fn responses_may_grow_a_little_faster_than_the_load() {
        assert_eq!(reason_outside(1.0, 1.139, 1.0), None);
        for more in [1.141, f64::INFINITY, f64::NAN] {
            assert!(reason_outside(1.0, more, 0.0).unwrap().contains("14%"));
        }
        assert!(reason_outside(f64::NAN, 1.0, 0.0).is_some());
        assert!(
            reason_outside(1.0, 1.1, 1.1)
                .unwrap()
                .contains("random routes")
        );
    }
}
