//! Search for the bottleneck: the kind of channel that limits the throughput of the machine.
//!
//! At saturation the sources overflow: worms that wait for a full channel hold the channels behind
//! them, back to the injection lanes. So the first channel whose lanes are always busy need not be
//! the bottleneck. The bottleneck is the kind of channel for which twice as many lanes raise the
//! saturation load most.

use super::channel::ChannelKind;
use super::input::{HypercubeIo, Lanes};
use super::reading::Reading;
use super::solution::Saturation;
use crate::Error;

/// A parameter for the number of lanes in Fig. 2 of the hypercube paper: a function that doubles it, and the kinds of
/// channels to which it applies.
type LaneParameter = (fn(&mut Lanes), &'static [ChannelKind]);

/// The numbers of lanes that [`HypercubeIo::limit`] doubles one by one, to find the bottleneck.
const WIDTHS: [LaneParameter; 6] = [
    (
        |lanes| lanes.pe *= 2,
        &[ChannelKind::PeInject, ChannelKind::PeEject],
    ),
    (
        |lanes| lanes.link *= 2,
        &[
            ChannelKind::LinkFromClassOne,
            ChannelKind::LinkToClassOne,
            ChannelKind::Link,
        ],
    ),
    (
        |lanes| lanes.io_node *= 2,
        &[ChannelKind::FromIoNode, ChannelKind::ToIoNode],
    ),
    (
        |lanes| lanes.io_source *= 2,
        &[ChannelKind::IoInject, ChannelKind::IoEject],
    ),
    (|lanes| lanes.io_link *= 2, &[ChannelKind::IoLink]),
    (|lanes| lanes.io_to_pe *= 2, &[ChannelKind::IoToPe]),
];

/// Load, relative to the saturation load, at which [`HypercubeIo::limit`] compares the utilisations of channels.
const COMPARED_LOAD: f64 = 0.999;

impl HypercubeIo {
    /// Return the saturation load and the channel that limits it. This channel is of the kind for which twice as many
    /// lanes would raise the saturation load most. If no kind would raise it, the channel is the one that
    /// [`HypercubeIo::saturation`] finds full.
    ///
    /// # Errors
    /// The errors of [`HypercubeIo::validate`].
    pub fn limit(&self, reading: &Reading) -> Result<Saturation, Error> {
        let base = self.saturation(reading)?;
        let solution = self.solve(COMPARED_LOAD * base.rate, reading)?;
        let (mut limit, mut most) = (base, 1.0);
        for (double, kinds) in WIDTHS {
            let of_kind = solution
                .channels
                .iter()
                .filter(|used| kinds.contains(&used.channel.kind));
            let most_held = of_kind.max_by(|a, b| a.utilisation.total_cmp(&b.utilisation));
            let Some(used) = most_held else {
                continue;
            };
            let mut wider = self.clone();
            double(&mut wider.lanes);
            let gain = wider.saturation(reading)?.rate / base.rate;
            if gain > most {
                (limit.channel, most) = (used.channel, gain);
            }
        }
        Ok(limit)
    }
}
