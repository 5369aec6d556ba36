//! Demand (data rate) of jobs on the nodes and links of a network of packets.

use super::{Bundle, Fabric};
use crate::jobs::capacity::{NODES_MAX, PredictableJob, foretold};
use crate::jobs::is_io;
use isthmus_machine::packets::follow_all;
use isthmus_machine::packets::routes::Routes;
use isthmus_workload::jobs::Layout;
use isthmus_workload::jobs::spec::JobsTraffic;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// If there are at most this many random routes between all pairs of nodes, each of them is followed.
pub(super) const RANDOM_ROUTES_MAX: u64 = 1 << 20;

/// A bundle of links that packets cross, and the class of channels that they use there.
#[derive(Debug, Clone, Copy)]
pub struct Crossed {
    /// Number of the bundle: see [`Fabric::bundle`].
    pub bundle: u32,
    /// Number of the bundle of parallel links that the packets crossed before this one, if packets from it delay each
    /// other; otherwise `None`.
    pub before: Option<u32>,
    /// Class of channels that the packets use on the bundle of parallel links.
    pub class: u16,
    /// Share of the packets that come to this bundle of parallel links from the bundle `before` and use channels of
    /// this class.
    pub share: f64,
}

/// Return the sets of parallel links that packets from `from` to the nodes `to` cross, by the routes of the engine. All
/// destinations are equally likely, and so are all random choices; `choices` holds their numbers. The first link of a
/// set identifies it.
pub(crate) fn routed(
    routes: &impl Routes,
    from: u32,
    to: &[u32],
    choices: [u32; 2],
) -> Vec<Crossed> {
    let others = || to.iter().copied().filter(|&other| other != from);
    let routes_per_pair = f64::from(choices[0]) * f64::from(choices[1]);
    let each = 1.0 / (others().count().max(1) as f64 * routes_per_pair);
    let mut shares = BTreeMap::new();
    for other in others() {
        for route in follow_all(routes, from, other, choices) {
            let mut before = None;
            for (run, class) in route {
                *shares.entry((run.first, before, class)).or_insert(0.0) += each;
                before = Some(run.first);
            }
        }
    }
    let crossed = shares.into_iter();
    crossed
        .map(|((bundle, before, class), share)| Crossed {
            bundle,
            before,
            class,
            share,
        })
        .collect()
}

/// Data that jobs demand to move through nodes and links, in GB/s.
pub(super) struct NodeDemand {
    /// Rate at which each node sends data, in GB/s.
    pub sent: Vec<f64>,
    /// Rate at which clients write to each node, in GB/s.
    pub written: Vec<f64>,
    /// Rate at which clients read from each node, in GB/s.
    pub read: Vec<f64>,
    /// Load in GB/s by bundle (the parallel links between two switches, named by their first link) and then by class of
    /// channels. Empty in networks of more than [`NODES_MAX`] nodes.
    bundles: BTreeMap<u32, BTreeMap<u16, f64>>,
}

/// A bundle of parallel links, with the load of each of its links.
pub(super) struct LinkLoad {
    pub bundle: Bundle,
    /// Demand on each link, in GB/s.
    pub demand: f64,
    /// Demand on the link, divided by the demand on its most used class of channels.
    pub spread: f64,
}

impl NodeDemand {
    /// Return the demand on nodes and links of those jobs of `traffic` whose demand is predictable. A client of a
    /// closed loop demands at most `alone` GB/s.
    pub fn new(fabric: &impl Fabric, traffic: &JobsTraffic, layout: &Layout, alone: f64) -> Self {
        let nodes = fabric.node_count() as usize;
        let with_links = fabric.node_count() <= NODES_MAX;
        let mut asked = Self {
            sent: vec![0.0; nodes],
            written: vec![0.0; nodes],
            read: vec![0.0; nodes],
            bundles: BTreeMap::new(),
        };
        for PredictableJob {
            number,
            job,
            message,
        } in foretold(traffic)
        {
            let rate = message.offered.unwrap_or(alone);
            let reads = message.reads;
            // Store the last list of partners with the set of its nodes, because several clients may share a list.
            let mut last_partners: (Arc<[u32]>, BTreeSet<u32>) = (Arc::default(), BTreeSet::new());
            for partners in layout.partners(number, job) {
                let client = partners.client;
                let others = || {
                    let all = partners.others.iter().copied();
                    all.filter(|&other| other != client)
                };
                if !Arc::ptr_eq(&last_partners.0, &partners.others) {
                    let nodes = partners.others.iter().copied().collect();
                    last_partners = (Arc::clone(&partners.others), nodes);
                }
                let count = partners.others.len() - usize::from(last_partners.1.contains(&client));
                if count == 0 {
                    continue;
                }
                asked.sent[client as usize] += rate * (1.0 - reads);
                let each = rate / count as f64;
                // Only I/O servers, and hot nodes (those to which many clients send) that clients read from, receive
                // requests.
                if is_io(layout, job) || reads > 0.0 {
                    for other in others() {
                        asked.sent[other as usize] += each * reads;
                        asked.written[other as usize] += each * (1.0 - reads);
                        asked.read[other as usize] += each * reads;
                    }
                }
                if !with_links {
                    continue;
                }
                if reads < 1.0 {
                    let shares = fabric.crossed_bundles(client, &partners.others);
                    asked.add(shares, rate * (1.0 - reads));
                }
                if reads > 0.0 {
                    for other in others() {
                        asked.add(fabric.crossed_bundles(other, &[client]), each * reads);
                    }
                }
            }
        }
        asked
    }

    /// Add the packets of a demand of `rate` GB/s to the load of the bundles that they cross.
    fn add(&mut self, crossed: Vec<Crossed>, rate: f64) {
        for Crossed {
            bundle,
            class,
            share,
            ..
        } in crossed
        {
            let classes = self.bundles.entry(bundle).or_default();
            *classes.entry(class).or_default() += rate * share;
        }
    }

    /// Return, for each bundle of parallel links that carries any demand, the load of its links.
    pub fn links(&self, fabric: &impl Fabric) -> impl Iterator<Item = LinkLoad> {
        self.bundles.iter().map(|(&bundle, classes)| {
            let demand: f64 = classes.values().sum();
            let most = classes.values().copied().fold(0.0, f64::max);
            let bundle = fabric.bundle(bundle);
            LinkLoad {
                demand: demand / bundle.links.len().max(1) as f64,
                spread: demand / most,
                bundle,
            }
        })
    }
}
