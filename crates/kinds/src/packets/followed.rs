//! Routes of all messages through a network of switches, followed link by link.

use super::Fabric;
use super::credits::Credits;
use super::lengths::{Pace, lengths};
use super::sent::{DATA, KINDS, Links, REQUEST, Routes, Sent};
use crate::jobs::capacity::PredictableJob;
use crate::jobs::ns;
use isthmus_analytic::trains::{Buffer, Class, Hop, Network, Train};
use isthmus_machine::packets::follow_all;
use isthmus_machine::packets::routes::Routes as _;
use isthmus_units::Time;
use isthmus_workload::jobs::Layout;
use isthmus_workload::jobs::spec::Sizes;
use std::collections::BTreeMap;

/// Return the links of a route, with the time for which a circuit occupies each link: from the start of the header
/// until the acknowledgement has returned over the link.
fn hops(
    delay_of: impl Fn(u32) -> Time,
    links: &Links<'_>,
    route: impl DoubleEndedIterator<Item = (u32, u32, u16)>,
) -> Vec<Hop> {
    let link = &links.rules.link;
    let switch = link.switch_ns + link.acknowledgement_switch_ns;
    let mut held = link.acknowledgement_ns - switch;
    let mut hops = Vec::new();
    for (link, beside, channel) in route.rev() {
        held += switch + 2.0 * ns(delay_of(link));
        hops.push(Hop {
            link,
            width: beside,
            channel,
            held,
        });
    }
    hops.reverse();
    hops
}

/// Routes of all jobs with their message rates, by class of messages: the writes, read requests or read data of a
/// job.
pub(super) struct JobRoutes {
    pub network: Network,
    /// Message rates per ns by route, for each class of messages.
    routes: Vec<Routes>,
    /// For each class of messages, and then for each client by its number: message rates per ns by route.
    clients: Vec<BTreeMap<u32, Routes>>,
    /// Packets per ns that a sending node receives, as a mean over the messages of each class.
    received: Vec<f64>,
    /// Messages per ns on each link, by the class of channels and the class of messages.
    channels: BTreeMap<u32, BTreeMap<u16, Vec<f64>>>,
}

impl JobRoutes {
    /// Return the routes of all messages of these jobs, found by following each route link by link.
    pub fn of(
        fabric: &impl Fabric,
        delay_of: impl Fn(u32) -> Time,
        layout: &Layout,
        asks: &[PredictableJob<'_>],
        links: &Links<'_>,
        choices: [u32; 2],
    ) -> Self {
        let payload = fabric.network().spec().nic.payload.get() as f64;
        let each = f64::from(choices[0]) * f64::from(choices[1]);
        let count = KINDS * asks.len();
        let mut network = Network::new(count);
        let mut routes = vec![Routes::new(); count];
        let mut clients = vec![BTreeMap::<u32, Routes>::new(); count];
        let mut channels: BTreeMap<u32, BTreeMap<u16, Vec<f64>>> = BTreeMap::new();
        let mut packets = vec![0.0; fabric.node_count() as usize];
        for (job, asks) in asks.iter().enumerate() {
            let message = &asks.message;
            let rate = message.offered.unwrap_or_default() / message.bytes;
            let shares = [1.0 - message.reads, message.reads, message.reads];
            for pair in layout.pairs(asks.number, asks.job) {
                for (kind, share) in shares.into_iter().enumerate() {
                    let rate = rate * share / pair.of as f64;
                    if rate == 0.0 {
                        continue;
                    }
                    let (from, to) = match kind {
                        DATA => (pair.other, pair.client),
                        _ => (pair.client, pair.other),
                    };
                    packets[to as usize] += rate
                        * match kind {
                            REQUEST => 1.0,
                            _ => message.packets(payload),
                        };
                    for route in follow_all(&**fabric.routes(), from, to, choices) {
                        let runs = route
                            .iter()
                            .map(|&(run, channel)| (run.first, run.links, channel));
                        let hops = hops(&delay_of, links, runs);
                        let ps = route.iter().map(|(run, _)| delay_of(run.first).ps());
                        let over = (route.len() as u32 - 1, ps.sum());
                        let class = KINDS * job + kind;
                        *routes[class].entry(over).or_default() += rate / each;
                        let of_client = clients[class].entry(pair.client).or_default();
                        *of_client.entry(over).or_default() += rate / each;
                        for &(run, channel) in &route {
                            let rates = channels.entry(run.first).or_default();
                            let rates = rates.entry(channel).or_default();
                            rates.resize(count, 0.0);
                            rates[class] += rate / each / f64::from(run.links);
                        }
                        network.add(class, rate / each, from, &hops);
                    }
                }
            }
        }
        let mut received = vec![0.0; routes.len()];
        for (node, class, rate) in network.sources() {
            received[class] += rate * packets[node as usize];
        }
        for (received, routes) in received.iter_mut().zip(&routes) {
            *received /= routes.values().sum::<f64>().max(f64::MIN_POSITIVE);
        }
        Self {
            network,
            routes,
            clients,
            received,
            channels,
        }
    }

    /// Multiply all message rates by the factor `by`.
    pub fn scale(&mut self, by: f64) {
        self.network.scale(by);
        let clients = self.clients.iter_mut().flat_map(BTreeMap::values_mut);
        for routes in self.routes.iter_mut().chain(clients) {
            routes.values_mut().for_each(|rate| *rate *= by);
        }
        self.received.iter_mut().for_each(|rate| *rate *= by);
        let channels = self.channels.values_mut().flat_map(BTreeMap::values_mut);
        for rates in channels {
            rates.iter_mut().for_each(|rate| *rate *= by);
        }
    }

    /// Add to the queueing model the buffers into which the links send. Return the largest ratio, over all links, of
    /// the load of a link to the load that its buffer sustains.
    pub fn buffers(
        &mut self,
        fabric: &impl Fabric,
        delay_of: impl Fn(u32) -> Time,
        links: &Links<'_>,
        classes: &[Class],
    ) -> f64 {
        let full_ps = links.rules.packet_ns(links.rules.interface.payload) * 1e3;
        let mut busiest = 0.0_f64;
        let nodes = fabric.node_count();
        for (&link, channels) in &self.channels {
            let load = |rates: &Vec<f64>| -> (f64, f64) {
                let all = rates.iter().zip(classes);
                all.fold((0.0, 0.0), |(work, packets), (rate, class)| {
                    let Train {
                        work: own,
                        packets: count,
                        ..
                    } = class.train;
                    (work + rate * own, packets + rate * count)
                })
            };
            let each: Vec<(f64, f64)> = channels.values().map(load).collect();
            let (work, packets) =
                (each.iter()).fold((0.0, 0.0), |sum, load| (sum.0 + load.0, sum.1 + load.1));
            let most = each.iter().map(|load| load.0).fold(0.0, f64::max);
            let into_node = fabric.routes().end(link).vertex < nodes;
            let ps = work / packets * 1e3;
            let delay = delay_of(link);
            let Some(credits) = Credits::of(fabric, full_ps, delay, into_node) else {
                continue;
            };
            let spread = work / most;
            busiest = busiest.max(work / credits.share(ps, spread));
            let buffer = Buffer {
                room: credits.places(ps) * spread * ps / 1e3,
                round: credits.round_ps(ps) / 1e3,
            };
            self.network.buffer(link, buffer);
        }
        busiest
    }

    /// Predict the rate, routes and packets of each class of messages that these jobs send.
    pub fn predict_sent(&self, links: &Links<'_>, jobs: &[PredictableJob<'_>]) -> Vec<Sent> {
        let all = self.routes.iter().zip(&self.received).enumerate();
        all.map(|(class, (routes, received))| {
            let sizes = match class % KINDS {
                REQUEST => Sizes::fixed(links.spec.nic.request),
                _ => jobs[class / KINDS].message.sizes,
            };
            let mut sent = Sent {
                rate: routes.values().sum(),
                routes: routes.clone(),
                clients: self.clients[class].clone(),
                lengths: Vec::new(),
            };
            let receiving = received * links.rules.interface.receive_ns;
            sent.lengths = lengths(
                sizes,
                Pace {
                    spec: links.spec,
                    rules: &links.rules,
                    slower: 1.0 / (1.0 - receiving).max(f64::MIN_POSITIVE),
                },
            );
            sent
        })
        .collect()
    }
}
