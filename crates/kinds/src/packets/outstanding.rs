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

#[cfg(test)]
mod tests {
    use isthmus_experiment::{Experiment, Options};

    /// Return the remarks on a scenario whose only job is described by the text `job`.
    fn remarks(job: &str) -> Vec<String> {
        let text = format!(
            "version = 1\nname = \"x\"\n[machine]\nkind = \"fat-tree\"\narity = 4\nlevels = 1\n\
             [workload.jobs.io]\ntraffic = \"hot-spot\"\nhot_node = 0\nsizes = \"fixed\"\n{job}"
        );
        let scenario = crate::KINDS
            .parse(&text, "s.toml", &[])
            .unwrap_or_else(|e| panic!("{e}"));
        let experiment = Experiment::new(&crate::KINDS, scenario, Options::default()).unwrap();
        experiment.capacity()[0].remarks.clone()
    }

    /// Checks the remark on a limit against a calculation by hand. Over one switch of the QsNET, 320 B take 1880 ns
    /// in software, 945 ns on the wire, 35 ns in the switch and 35 + 50 ns for the acknowledgement. That is 2945 ns,
    /// or 108.7 MB/s of the 335 MB/s that the interface can send.
    #[test]
    fn the_send_rate_under_a_limit_is_as_calculated_by_hand() {
        let said = "With 1 message of 320 B under way at a time, 2.945 us alone, a node of io sends at most \
                    109 MB/s, less than the 200 MB/s that it asks for: raise workload.jobs.io.outstanding.";
        let one = "message = \"320 B\"\nload = \"200 MB/s\"\n";
        assert!(
            remarks(one).contains(&said.to_owned()),
            "{:?}",
            remarks(one)
        );
        let closed = remarks("message = \"320 B\"\noutstanding = 2\n");
        assert!(
            closed.iter().any(|remark| remark.starts_with(
                "With 2 messages of 320 B under way at a time, 2.945 us alone, a node of io sends \
                              at most 217 MB/s, where it could send 335 MB/s"
            )),
            "{closed:?}"
        );
    }

    /// Checks that there is no remark on a limit on messages in flight that does not slow the sender.
    #[test]
    fn a_limit_that_does_not_slow_the_sender_causes_no_remark() {
        for job in [
            "message = \"320 B\"\nload = \"200 MB/s\"\noutstanding = 2\n",
            "message = \"320 B\"\noutstanding = 4\n",
            "message = \"320 B\"\nthink = \"1 us\"\n",
            "message = \"1 MB\"\n",
        ] {
            let found = remarks(job);
            assert!(
                !found.iter().any(|remark| remark.contains("under way")),
                "{job}: {found:?}"
            );
        }
    }
}
