//! Worms that arrive at a channel over one input, and the times for which they hold its lanes.

use crate::moments::Moments;

/// Number of classes into which the model divides worms by length, at channels with several lanes.
pub(super) const LENGTHS: usize = 4;

/// Number of lanes above which a channel is treated as M/G/m, whatever its inputs.
pub(super) const LANES_MAX: u32 = 24;

/// Load of a channel by the worms that arrive over one other channel, or that start at this
/// channel.
#[derive(Debug, Clone, Copy)]
pub(super) struct Inflow {
    /// Number of lanes of the channel from which the worms come; `None` if the worms start at this channel.
    pub lanes: Option<u32>,
    /// Worms per cycle that arrive over this input.
    pub rate: f64,
    /// Term that is added to the product of rate and E\[S^2\], because answers arrive in batches; 0 at channels of
    /// several lanes.
    pub together: f64,
    /// Time for which a worm holds a lane of this channel.
    pub service: Moments,
    /// For each class of worm lengths: the load by its worms, which is the mean number of lanes that
    /// they hold, and their mean remaining time.
    pub kinds: [(f64, f64); LENGTHS],
}

impl Inflow {
    /// Return the load by these worms: their rate times the mean time for which they hold a lane.
    pub(super) fn load(&self) -> f64 {
        self.rate * self.service.mean
    }

    /// Return the number of lanes of the input channel if it is at most [`LANES_MAX`]; `None` if it is
    /// larger or if the worms start at this channel.
    pub(super) fn lanes_if_few(&self) -> Option<u32> {
        self.lanes.filter(|&lanes| lanes <= LANES_MAX)
    }

    /// Return the part of the load `rho` of a channel of one lane that may block a worm of this
    /// input.
    pub(super) fn load_of_others(&self, rho: f64) -> f64 {
        let lane = self.lanes.map_or(0.0, |lanes| 1.0 / f64::from(lanes));
        (rho - lane * self.load()).max(f64::MIN_POSITIVE)
    }
}

/// Return the share of time for which the lanes of a channel are held.
pub(super) fn utilisation(inflows: &[Inflow], lanes: u32) -> f64 {
    inflows.iter().map(Inflow::load).sum::<f64>() / f64::from(lanes)
}

#[cfg(test)]
pub(super) mod examples {
    use super::*;

    /// Return an inflow for tests: all worms have `length` flits and are never blocked.
    pub(in crate::worms) fn inflow(lanes: Option<u32>, rate: f64, length: f64) -> Inflow {
        let mut kinds = [(0.0, 0.0); LENGTHS];
        kinds[0] = (rate * length, length / 2.0);
        Inflow {
            lanes,
            rate,
            together: 0.0,
            service: Moments::fixed(length),
            kinds,
        }
    }
}
