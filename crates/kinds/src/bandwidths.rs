//! Conversion between the bandwidths by which scenario files set a load, and numbers in units of `UNIT` bits per
//! second.

use isthmus_scenario::format::{LoadValue, NoLoad, Value};
use isthmus_units::Bandwidth;

/// Number of bits per second in 1 MB/s.
pub(crate) const MB_PER_S: u64 = 8_000_000;
/// Number of bits per second in 1 GB/s.
pub(crate) const GB_PER_S: u64 = 8_000_000_000;

/// Convert a bandwidth, the lower or upper end of a load search, to units of `UNIT` bits per second.
pub(crate) fn read<const UNIT: u64>(_over: &str, value: &Value) -> Result<f64, NoLoad> {
    match value.as_::<Bandwidth>() {
        Some(bandwidth) => Ok(bandwidth.bits_per_s() as f64 / UNIT as f64),
        None => unreachable!("the ends of a search are read as bandwidths"),
    }
}

/// Return the field and the text that set a load of `load` units of `UNIT` bits per second in a scenario file. The
/// text is a bandwidth in whole bits per second.
pub(crate) fn write<const UNIT: u64>(load: f64) -> Result<LoadValue, &'static str> {
    // The cast saturates, so a negative load or NaN becomes 0.
    let bits = (load * UNIT as f64).round() as u64;
    if bits == 0 {
        return Err("give a bandwidth above 0");
    }
    Ok(LoadValue {
        key: "workload.load",
        written: format!("{bits} bit/s"),
    })
}
