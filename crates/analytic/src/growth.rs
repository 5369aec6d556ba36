//! A limit of domains: by how much a latency grows with the load.

/// By how much the load grows between the two solutions, as a share of it.
pub const STEP: f64 = 0.1;

/// Say why a latency is outside the domain: `value` at the load of the machine, `more` at a load larger by [`STEP`],
/// none if the machine is saturated there. None inside.
pub fn outside(limit: f64, value: f64, more: Option<f64>) -> Option<String> {
    let inside = more.is_some_and(|more| more <= (1.0 + limit) * value);
    (!inside).then(|| {
        let (step, limit) = (100.0 * STEP, 100.0 * limit);
        format!("{step:.0}% more load lengthens it by more than {limit:.0}%")
    })
}
