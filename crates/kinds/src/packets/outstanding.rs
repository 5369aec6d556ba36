//! Effect of a limit on messages in flight: how fast nodes can send under it, and remarks for the user.

use super::rules::sending;
use super::{Fabric, Route};
use crate::jobs::behind::Devices;
use crate::jobs::capacity::{NODES_MAX, PredictableJob, foretold, held_back};
use crate::jobs::{Message, stores};
use isthmus_analytic::packets::Rules;
use isthmus_units::Time;
use isthmus_workload::jobs::spec::JobsTraffic;
use isthmus_workload::jobs::{Layout, Pair};
use std::collections::BTreeMap;

/// Return a remark, as text, for each job whose nodes are slowed by the limit on messages in flight.
pub(super) fn remarks(
    fabric: &impl Fabric,
    rules: &Rules,
    traffic: &JobsTraffic,
    layout: &Layout,
    devices: Option<&Devices>,
) -> Vec<String> {
    // Return no remarks if links have a delay or routes are random: the time of a route is known only otherwise.
    if fabric.choices() != Some([1, 1]) || fabric.longest_delay() > Time::ZERO {
        return Vec::new();
    }
    let remark = |asks: PredictableJob<'_>| {
        let devices = devices.filter(|_| stores(traffic, layout, asks.job));
        let ns = mean_ns(fabric, rules, layout, &asks, devices)?;
        held_back(&asks, "a node", ns / 1e3, sending(fabric, *rules, 1).rate)
    };
    foretold(traffic).filter_map(remark).collect()
}

/// Return the mean time in ns of a message of a job on an otherwise idle network; `None` if the model has no such time.
fn mean_ns(
    fabric: &impl Fabric,
    rules: &Rules,
    layout: &Layout,
    asks: &PredictableJob<'_>,
    devices: Option<&Devices>,
) -> Option<f64> {
    let message = &asks.message;
    let distances = distances(fabric, layout, asks);
    let pairs: f64 = distances.values().sum();
    let mut ns = 0.0;
    for (&switches, share) in &distances {
        let network = alone_ns(fabric, rules, message, switches)?;
        let device = devices.map_or(0.0, |devices| {
            devices.least_ns(message, |_, _| 0.0) + answer_ns(fabric, rules, message, switches)
        });
        ns += share / pairs * (network + device);
    }
    Some(ns)
}

/// Return the mean additional time in ns of a message that is completed by the server's answer instead of an
/// acknowledgement, over `switches` switches. It counts writes only; reads have no additional time.
fn answer_ns(fabric: &impl Fabric, rules: &Rules, message: &Message, switches: u32) -> f64 {
    let (link, switches) = (&rules.link, f64::from(switches));
    let back = switches * link.acknowledgement_switch_ns + link.acknowledgement_ns;
    let request = fabric.network().spec().nic.request.get();
    let packet = rules.packet_ns(request as f64);
    let answer = rules.interface.software_ns + packet + switches * link.switch_ns;
    (1.0 - message.reads) * (answer - back)
}

/// Return a histogram of distances: for each number of switches between a client and its partner, the number of such
/// clients. A client with several partners counts as a fraction for each of them.
fn distances(
    fabric: &impl Fabric,
    layout: &Layout,
    asks: &PredictableJob<'_>,
) -> BTreeMap<u32, f64> {
    let mut distances = BTreeMap::new();
    // Take the largest distance for all pairs of nodes in a large network, as it has too many pairs.
    if fabric.node_count() > NODES_MAX {
        distances.insert(fabric.switches_at_most(), 1.0);
        return distances;
    }
    for Pair { client, other, of } in layout.pairs(asks.number, asks.job) {
        let switches = fabric.switches_between(client, other);
        *distances.entry(switches).or_default() += 1.0 / of as f64;
    }
    distances
}

/// Return the time in ns from the handover of a message until its sender knows that it is complete, if the network is
/// otherwise idle. `None` if the model has no such time.
fn alone_ns(fabric: &impl Fabric, rules: &Rules, message: &Message, switches: u32) -> Option<f64> {
    let one_way = rules.message_ns(message.bytes, switches).ok()?;
    let head = rules.interface.software_ns + f64::from(switches) * rules.link.switch_ns;
    let route = Route {
        switches: f64::from(switches),
        delay: 0.0,
    };
    Some(one_way - head + message.turn_ns(fabric.network().spec(), rules, route))
}
