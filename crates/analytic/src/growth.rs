//! Test of the validity of a model: the computed latency must not increase too fast with the load.

/// Relative difference between the two loads at which a model is solved, to find how fast its latency increases.
pub const STEP: f64 = 0.1;

/// Return a text that says why a model is not valid for a latency, or `None` if it is valid. `value` is the latency at
/// the load of the machine, `more` the latency at a load larger by [`STEP`]; `None` if the machine is saturated there.
/// `limit` is the largest relative increase from `value` to `more` for which the model is valid.
pub fn reason_outside(limit: f64, value: f64, more: Option<f64>) -> Option<String> {
    let inside = more.is_some_and(|more| more <= (1.0 + limit) * value);
    (!inside).then(|| {
        let (step, limit) = (100.0 * STEP, 100.0 * limit);
        format!("{step:.0}% more load lengthens it by more than {limit:.0}%")
    })
}
