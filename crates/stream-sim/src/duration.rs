//! Time to move a number of bytes at a given rate.

/// Number of ticks, which are nanoseconds, in a second.
pub(crate) const SECOND_NS: u64 = 1_000_000_000;

/// Return the time in nanoseconds to move this number of bytes at this rate, rounded up.
pub(crate) fn duration_ns(bytes: u64, bytes_per_s: u64) -> u64 {
    let ns = u128::from(bytes) * u128::from(SECOND_NS);
    u64::try_from(ns.div_ceil(u128::from(bytes_per_s.max(1)))).unwrap_or(u64::MAX)
}
