//! What the buffer behind a link lets through.
//!
//! A place of that buffer is known to be free a round trip after a packet took it: the flight along the link, the
//! switch, the packet's time on its next link, and the credit's way back. A packet of one class waits for places of
//! the lanes of its class only, however many others are free. So packets of one class fill at most n p / T of a
//! link, n being the places of the class, p the time of a packet on the link, and T the round trip.

use super::loads::Asked;
use super::rules::sending;
use super::{Fabric, Link, rules};
use crate::jobs::capacity::left_out;
use isthmus_machine::packets::routes::Routes as _;
use isthmus_machine::packets::spec::Switching;
use isthmus_units::Time;
use isthmus_workload::jobs::Layout;
use isthmus_workload::jobs::spec::JobsTraffic;
use std::collections::BTreeMap;

/// By how much the packets of a lane may miss a whole number: a mean length has the packets at the ends of a
/// count in it.
const WHOLE: f64 = 0.1;

/// The buffer behind a link and the way of its credits. Times are in picoseconds.
pub(super) struct Credits {
    /// Lanes of a class.
    lanes: u32,
    /// What a lane holds, in time on the link.
    lane_ps: f64,
    /// The round trip without the time of the packet.
    way_ps: f64,
}

impl Credits {
    /// Of links on which a signal takes `delay`, into nodes or into switches, where a full packet takes `full_ps`.
    /// `None` where links are held by circuits.
    pub fn of(fabric: &impl Fabric, full_ps: f64, delay: Time, into_node: bool) -> Option<Self> {
        let spec = fabric.network().spec();
        let Switching::CutThrough { buffer, credit, .. } = spec.switching else {
            return None;
        };
        let channels = spec.virtual_channels.max(1);
        // A node takes a packet in as its link brings it.
        let switch_ps = match into_node {
            true => 0,
            false => spec.switch_latency.ps(),
        };
        Some(Self {
            lanes: channels / fabric.routes().classes().max(1),
            lane_ps: f64::from(buffer / channels) * full_ps,
            way_ps: (switch_ps + credit.ps()) as f64 + 2.0 * delay.ps() as f64,
        })
    }

    /// Packets of one class that there is room for, each of which takes `packet_ps` on the link.
    pub fn places(&self, packet_ps: f64) -> f64 {
        let each = (self.lane_ps / packet_ps + WHOLE).floor().max(1.0);
        each * f64::from(self.lanes)
    }

    /// From a packet's start on the link to its place being known to be free again.
    pub fn round_ps(&self, packet_ps: f64) -> f64 {
        packet_ps + self.way_ps
    }

    /// Share of the link's bandwidth that such packets can fill, at most 1. `spread` is their number over the number of
    /// those of the commonest class: 1 if all are of one class.
    pub fn share(&self, packet_ps: f64, spread: f64) -> f64 {
        let filled = self.places(packet_ps) * packet_ps / self.round_ps(packet_ps);
        (filled * spread).min(1.0)
    }
}

/// How the packets of a run are spread over the classes of channels of each link.
pub(super) struct Spread {
    /// What [`Credits::share`] calls so of the links that the routes are known to lead over.
    of_links: BTreeMap<u32, f64>,
    /// What a full packet takes on a link.
    full_ps: f64,
}

impl Spread {
    /// As the routes of the jobs that send on their own have it. Nothing is known where these are not all jobs, and
    /// where a network is too large for its routes to be followed.
    pub fn of(fabric: &impl Fabric, traffic: &JobsTraffic, layout: &Layout) -> Self {
        let classes = fabric.routes().classes();
        let rules = rules(fabric.network().spec(), classes);
        let full_ps = rules.packet_ns(rules.interface.payload) * 1e3;
        let mut of_links = BTreeMap::new();
        let is_short = Credits::of(fabric, full_ps, fabric.longest_delay(), false)
            .is_some_and(|credits| credits.share(full_ps, 1.0) < 1.0);
        if classes > 1 && is_short && left_out(traffic).is_none() {
            let asked = Asked::new(fabric, traffic, layout, sending(fabric, rules, 1).rate);
            for load in asked.links(fabric) {
                let links = load.bundle.links.into_iter();
                of_links.extend(links.map(|link| (link, load.spread)));
            }
        }
        Self { of_links, full_ps }
    }

    /// Share of its bandwidth that the buffer behind a link lets through, where that is not all of it. Packets take
    /// `packet_ps` on the link, 0 if there were none. Of a link of which nothing is known packets are spread evenly
    /// over all classes that they may take: then it carries most.
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
        let spread = self.of_links.get(&number).copied();
        let share = credits.share(packet_ps, spread.unwrap_or(f64::from(link.classes)));
        (share < 1.0).then_some(share)
    }
}
