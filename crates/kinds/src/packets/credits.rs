//! Throughput that the buffer behind a link sustains.
//!
//! The sender knows that a buffer slot is free one round trip after a packet took it: the flight along the link, the
//! switch, the packet's time on its next link, and the return of the credit. A packet can use only slots in the lanes
//! of its class, even if other slots are free. So packets of one class fill at most n p / T of a link. Here n is the
//! number of slots of the class, p the time of a packet on the link, and T the round trip.

use super::loads::NodeDemand;
use super::rules::sending;
use super::{Fabric, Link, rules};
use crate::jobs::capacity::left_out;
use isthmus_machine::packets::routes::Routes as _;
use isthmus_machine::packets::spec::Switching;
use isthmus_units::Time;
use isthmus_workload::jobs::Layout;
use isthmus_workload::jobs::spec::JobsTraffic;
use std::collections::BTreeMap;

/// Tolerance for the rounding of the number of packets in a lane. A measured mean length is slightly off, because
/// packets overlap the ends of the measurement.
const ROUNDING_TOLERANCE: f64 = 0.1;

/// Buffer behind a link, and the round trip of its credits. Times are in picoseconds.
pub(super) struct Credits {
    /// Number of lanes (virtual channels) of a channel class.
    lanes: u32,
    /// Capacity of a lane, as the time in ps to transmit its contents on the link.
    lane_ps: f64,
    /// Round trip of a credit without the transmission time of the packet.
    latency_ps: f64,
}

impl Credits {
    /// Return the credits of a link into a node or into a switch. A full packet takes `full_ps` on the link, and a
    /// signal takes `delay`. Return `None` if the network switches circuits, which need no credits.
    pub fn of(fabric: &impl Fabric, full_ps: f64, delay: Time, into_node: bool) -> Option<Self> {
        let spec = fabric.network().spec();
        let Switching::CutThrough { buffer, credit, .. } = spec.switching else {
            return None;
        };
        let channels = spec.virtual_channels.max(1);
        // There is no switch delay into a node, which consumes a packet as fast as its link delivers it.
        let switch_ps = match into_node {
            true => 0,
            false => spec.switch_latency.ps(),
        };
        Some(Self {
            lanes: channels / fabric.routes().classes().max(1),
            lane_ps: f64::from(buffer / channels) * full_ps,
            latency_ps: (switch_ps + credit.ps()) as f64 + 2.0 * delay.ps() as f64,
        })
    }

    /// Return the number of buffer slots for packets of one class that take `packet_ps` each on the link.
    pub fn places(&self, packet_ps: f64) -> f64 {
        let each = (self.lane_ps / packet_ps + ROUNDING_TOLERANCE)
            .floor()
            .max(1.0);
        each * f64::from(self.lanes)
    }

    /// Return the time from a packet's start on the link until the sender knows that the packet's slot is free
    /// again.
    pub fn round_ps(&self, packet_ps: f64) -> f64 {
        packet_ps + self.latency_ps
    }

    /// Return the share of the link's bandwidth that packets can fill, at most 1. `spread` is the number of all
    /// packets, divided by the number of packets in the most used class: 1 if all packets are of one class.
    pub fn share(&self, packet_ps: f64, spread: f64) -> f64 {
        let filled = self.places(packet_ps) * packet_ps / self.round_ps(packet_ps);
        (filled * spread).min(1.0)
    }
}

/// Distribution of the packets of a run over the channel classes, for each link.
pub(super) struct Spread {
    /// For each link on a known route: the argument `spread` of [`Credits::share`], which says how evenly packets use
    /// the channel classes.
    by_link: BTreeMap<u32, f64>,
    /// Time of a full packet on a link, in picoseconds.
    full_ps: f64,
}

impl Spread {
    /// Return the distribution of packets over channel classes that follows from the routes of all jobs. It is empty if
    /// some jobs have no predictable demand, if the network is too large to follow its routes, or if buffers limit no
    /// link.
    pub fn of(fabric: &impl Fabric, traffic: &JobsTraffic, layout: &Layout) -> Self {
        let classes = fabric.routes().classes();
        let rules = rules(fabric.network().spec(), classes);
        let full_ps = rules.packet_ns(rules.interface.payload) * 1e3;
        let mut by_link = BTreeMap::new();
        let is_short = Credits::of(fabric, full_ps, fabric.longest_delay(), false)
            .is_some_and(|credits| credits.share(full_ps, 1.0) < 1.0);
        if classes > 1 && is_short && left_out(traffic).is_none() {
            let asked = NodeDemand::new(fabric, traffic, layout, sending(fabric, rules, 1).rate);
            for load in asked.links(fabric) {
                let links = load.bundle.links.into_iter();
                by_link.extend(links.map(|link| (link, load.spread)));
            }
        }
        Self { by_link, full_ps }
    }

    /// Return the share of a link's bandwidth that the buffer behind the link sustains, or `None` if the buffer is
    /// no limit. Packets take `packet_ps` on the link; 0 means that there were none. Without known routes, packets
    /// are assumed to spread evenly over all classes of the link, which gives the largest share.
    pub fn let_through(
        &self,
        fabric: &impl Fabric,
        link: &Link,
        number: u32,
        packet_ps: f64,
    ) -> Option<f64> {
        if packet_ps == 0.0 {
            return None;
        }
        let into_node = link.to < fabric.node_count();
        let credits = Credits::of(fabric, self.full_ps, link.delay, into_node)?;
        let spread = self.by_link.get(&number).copied();
        let share = credits.share(packet_ps, spread.unwrap_or(f64::from(link.classes)));
        (share < 1.0).then_some(share)
    }
}
