//! Wait of worms at the channel where they start: rule 1 of the description of the module `worms`.

use super::inflow::{Inflow, LANES_MAX, LENGTHS};
use super::lanes::time_to_first;
use crate::moments::Moments;
use crate::queue;

/// Return the mean wait at a source, by rule 1 of the description of the module `worms`: that of M/M/m times a ratio
/// between its limits in light and in heavy traffic. In light traffic a worm waits for the first of m worms in service
/// (Burman and Smith, *Bell System Technical Journal* 62, 1983); in heavy traffic the ratio is (1 + C^2) / 2 (Lee and
/// Longton). The result is within 3% of M/D/m for 2 to 8 lanes.
pub(super) fn mgm(
    inflows: &[Inflow],
    rate: f64,
    service: &Moments,
    lanes: u32,
    serial: f64,
) -> f64 {
    let heavy = queue::mgm(rate, service.mean, service.scv(), lanes);
    if lanes == 1 || lanes > LANES_MAX {
        return heavy;
    }
    let m = f64::from(lanes);
    let first = (1.0 - serial) * time_to_first(inflows, lanes) + serial * time_to_first(inflows, 1);
    let light = queue::mmm(rate, service.mean, lanes) * m * first / service.mean;
    let weight = (1.0 - queue::rho(rate, service.mean, lanes)).powf(1.0 + 4.0 / m);
    heavy + weight * (light - heavy)
}

/// Merge the inputs of a channel into one, as if all their worms started at the channel.
pub(super) fn as_source(inflows: &[Inflow]) -> Inflow {
    let mut all = Inflow {
        lanes: None,
        kinds: [(0.0, 0.0); LENGTHS],
        ..inflows[0]
    };
    for (length, kind) in inflows
        .iter()
        .flat_map(|inflow| inflow.kinds.into_iter().enumerate())
    {
        let (load, left) = &mut all.kinds[length];
        *load += kind.0;
        *left += kind.0 * kind.1;
    }
    for (load, left) in all.kinds.iter_mut().filter(|(load, _)| *load > 0.0) {
        *left /= *load;
    }
    all
}
