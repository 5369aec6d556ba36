//! The length of a run that `--quick` shortens.

use isthmus_units::Time;

/// Minimum number of periods of a periodic process in runs that `--quick` has shortened and in runs without a
/// fixed length.
pub(crate) const PERIODS_MIN: u64 = 5;

/// Return the length of a run for `--quick` instead of `time`: a tenth, rounded to whole periods, of at least
/// [`PERIODS_MIN`] periods and at most `time`.
pub(crate) fn shortened(time: Time, period: Time) -> Time {
    let tenth = (time.ps() / 10).max(1);
    if period == Time::ZERO {
        return Time::from_ps(tenth);
    }
    let periods = tenth.div_ceil(period.ps()).max(PERIODS_MIN);
    Time::from_ps(period.ps().saturating_mul(periods).min(time.ps()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that a run that `--quick` shortens keeps five periods of the workload, or its whole time if that is less.
    #[test]
    fn a_shortened_run_has_five_periods_or_all_if_there_are_fewer() {
        let ms = |ms: u64| Time::from_us(1_000 * ms);
        assert_eq!(shortened(ms(100), Time::ZERO), ms(10));
        // A tenth of 100 ms has only one period of 10 ms. The result is the minimum of five periods.
        assert_eq!(shortened(ms(100), ms(10)), ms(50));
        assert_eq!(shortened(ms(2_510), ms(10)), ms(260));
        assert_eq!(shortened(ms(30), ms(10)), ms(30));
        assert_eq!(shortened(ms(5), ms(10)), ms(5));
    }
}
