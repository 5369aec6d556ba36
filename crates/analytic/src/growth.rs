//! A limit of validity: the growth of a latency with the load.

/// Relative difference of the load between the two solutions.
pub const STEP: f64 = 0.1;

/// Return why a latency is outside the domain, or `None` if it is inside. `value` is the latency at the load of the
/// machine. `more` is that at a load larger by [`STEP`], `None` if the machine is saturated there.
pub fn reason_outside(limit: f64, value: f64, more: Option<f64>) -> Option<String> {
    let inside = more.is_some_and(|more| more <= (1.0 + limit) * value);
    (!inside).then(|| {
        let (step, limit) = (100.0 * STEP, 100.0 * limit);
        format!("{step:.0}% more load lengthens it by more than {limit:.0}%")
    })
}
