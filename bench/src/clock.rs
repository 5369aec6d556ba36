//! Time that the process spent on a processor.

use cpu_time::ProcessTime;

/// What `work` returns, and the CPU seconds it took, user and system together. Other processes on
/// the machine change them only through the caches that they share.
pub fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let begin = ProcessTime::now();
    let value = work();
    (value, begin.elapsed().as_secs_f64())
}

/// Least, middle and greatest of some measurements.
#[derive(Debug, Clone, Copy, serde::Serialize)]
pub struct Spread {
    /// The least.
    pub min: f64,
    /// The middle one (of an even number, the upper of the two).
    pub median: f64,
    /// The greatest.
    pub max: f64,
}

impl Spread {
    /// The spread of `values`.
    ///
    /// # Panics
    /// If there are none.
    pub fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        Self {
            min: values[0],
            median: values[values.len() / 2],
            max: values[values.len() - 1],
        }
    }
}
