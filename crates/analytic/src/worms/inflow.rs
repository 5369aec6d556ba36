//! The worms that come to a channel by one input, and how long they hold its lanes.

use crate::moments::Moments;

/// Kinds of lengths that are distinguished where several lanes are held.
pub(super) const LENGTHS: usize = 4;

/// Lanes above which a channel is taken as M/G/m whatever leads there.
pub(super) const LANES_MAX: u32 = 24;

/// What comes to a channel by one other, or from sources.
#[derive(Debug, Clone, Copy)]
pub(super) struct Inflow {
    /// Lanes of the channel by which it comes; none if it starts here.
    pub lanes: Option<u32>,
    /// Worms per cycle.
    pub rate: f64,
    /// What batches of answers add to the rate times E\[S^2\]; 0 at channels of several lanes.
    pub together: f64,
    /// For how long one holds a lane of this channel.
    pub service: Moments,
    /// By kind of length: the share of time for which one holds a lane, and the mean time left.
    pub kinds: [(f64, f64); LENGTHS],
}

impl Inflow {
    pub(super) fn load(&self) -> f64 {
        self.rate * self.service.mean
    }

    /// Lanes that can all be held; none where worms start, and above [`LANES_MAX`].
    pub(super) fn few_lanes(&self) -> Option<u32> {
        self.lanes.filter(|&lanes| lanes <= LANES_MAX)
    }

    /// Of the load `rho` of a channel of one lane, what a worm of this input may have to wait for.
    pub(super) fn others(&self, rho: f64) -> f64 {
        let lane = self.lanes.map_or(0.0, |lanes| 1.0 / f64::from(lanes));
        (rho - lane * self.load()).max(f64::MIN_POSITIVE)
    }
}

/// Share of time for which the lanes of a channel are held.
pub(super) fn utilisation(inflows: &[Inflow], lanes: u32) -> f64 {
    inflows.iter().map(Inflow::load).sum::<f64>() / f64::from(lanes)
}

#[cfg(test)]
pub(super) mod examples {
    use super::*;

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
