//! What a machine has not.

const GIB: f64 = (1 << 30) as f64;

/// These bytes and what this machine has, in GiB, if they are so many `times` more than its memory.
#[must_use]
pub fn lacking(bytes: u64, times: u32) -> Option<(f64, f64)> {
    let found = rustix::system::sysinfo();
    let has = u128::from(found.totalram) * u128::from(found.mem_unit);
    let more = u128::from(times) * u128::from(bytes) > has;
    more.then(|| (bytes as f64 / GIB, has as f64 / GIB))
}
