//! A check that a requested amount of memory does not exceed the memory of the machine.

/// Number of bytes of a GiB.
const GIB: f64 = (1 << 30) as f64;

/// Returns an error message if `times` times `bytes` exceeds the memory of this machine, `None`
/// otherwise.
#[must_use]
pub fn memory_shortfall(bytes: u64, times: u32) -> Option<String> {
    let found = rustix::system::sysinfo();
    let has = u128::from(found.totalram) * u128::from(found.mem_unit);
    let lacks = u128::from(times) * u128::from(bytes) > has;
    lacks.then(|| {
        let (asked, has) = (bytes as f64 / GIB, has as f64 / GIB);
        let times = if times > 1 {
            format!("{times} times ")
        } else {
            String::new()
        };
        format!("{times}{asked:.1} GiB, and this machine has {has:.1} GiB of memory: give less")
    })
}
