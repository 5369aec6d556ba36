//! What jobs ask of nodes and links.

use super::{Bundle, Fabric};
use crate::jobs::capacity::{Foretold, NODES_MAX, foretold};
use crate::jobs::is_io;
use isthmus_machine::packets::follow_all;
use isthmus_machine::packets::routes::Routes;
use isthmus_workload::jobs::Layout;
use isthmus_workload::jobs::spec::JobsTraffic;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Largest number of random routes between all pairs of nodes that are followed.
pub(super) const RANDOM_ROUTES_MAX: u64 = 1 << 20;

/// A bundle of links that packets take, and the class of the channels on which they do.
#[derive(Debug, Clone, Copy)]
pub struct Crossed {
    /// The bundle: see [`Fabric::bundle`].
    pub bundle: u32,
    /// The bundle that they come from, if that makes them wait for each other.
    pub before: Option<u32>,
    /// The class of channels.
    pub class: u16,
    /// Share of the packets.
    pub share: f64,
}

/// The runs of links that packets of `from` to any of `to` take by the engine's own routes, each destination as likely as
/// the others, among so many `choices`. Its first link identifies a run.
pub(crate) fn routed(
    routes: &impl Routes,
    from: u32,
    to: &[u32],
    choices: [u32; 2],
) -> Vec<Crossed> {
    let others = || to.iter().copied().filter(|&other| other != from);
    let ways_of_each = f64::from(choices[0]) * f64::from(choices[1]);
    let each = 1.0 / (others().count().max(1) as f64 * ways_of_each);
    let mut shares = BTreeMap::new();
    for other in others() {
        for route in follow_all(routes, from, other, choices) {
            let mut before = None;
            for (run, class) in way {
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

/// What is asked for, in GB/s.
pub(super) struct Asked {
    /// Of each node to send.
    pub sent: Vec<f64>,
    /// Of each node to take in for I/O.
    pub written: Vec<f64>,
    /// Of each node to give for I/O.
    pub read: Vec<f64>,
    /// Of each bundle of links, by the class of channels. Empty in networks of more than [`NODES_MAX`] nodes.
    bundles: BTreeMap<u32, BTreeMap<u16, f64>>,
}

/// What is asked of each link of a bundle.
pub(super) struct LinkLoad {
    pub bundle: Bundle,
    /// In GB/s.
    pub demand: f64,
    /// The demand over that of the class of channels of which most is asked.
    pub spread: f64,
}

impl Asked {
    /// What the jobs of `traffic` that send on their own ask for; a closed loop asks for `alone`.
    pub fn new(fabric: &impl Fabric, traffic: &JobsTraffic, layout: &Layout, alone: f64) -> Self {
        let nodes = fabric.node_count() as usize;
        let with_links = fabric.node_count() <= NODES_MAX;
        let mut asked = Self {
            sent: vec![0.0; nodes],
            written: vec![0.0; nodes],
            read: vec![0.0; nodes],
            bundles: BTreeMap::new(),
        };
        for Foretold {
            number,
            job,
            message,
        } in foretold(traffic)
        {
            let rate = message.offered.unwrap_or(alone);
            let reads = message.reads;
            // Of those that clients have in common, whether each node is one.
            let mut among: (Arc<[u32]>, BTreeSet<u32>) = (Arc::default(), BTreeSet::new());
            for partners in layout.partners(number, job) {
                let client = partners.client;
                let others = || {
                    let all = partners.others.iter().copied();
                    all.filter(|&other| other != client)
                };
                if !Arc::ptr_eq(&among.0, &partners.others) {
                    let nodes = partners.others.iter().copied().collect();
                    among = (Arc::clone(&partners.others), nodes);
                }
                let count = partners.others.len() - usize::from(among.1.contains(&client));
                if count == 0 {
                    continue;
                }
                asked.sent[client as usize] += rate * (1.0 - reads);
                let each = rate / count as f64;
                // Only servers are asked for anything, and hot nodes that are read from.
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
                    let shares = fabric.shares(client, &partners.others);
                    asked.add(shares, rate * (1.0 - reads));
                }
                if reads > 0.0 {
                    for other in others() {
                        asked.add(fabric.shares(other, &[client]), each * reads);
                    }
                }
            }
        }
        asked
    }

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

    /// What is asked of the links of each bundle of which anything is.
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
