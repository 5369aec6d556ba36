//! The analytic estimate beside a simulated point: clients that keep some messages going, which meet in
//! links, interfaces and servers.

use crate::jobs::{Message, is_io};
use crate::packets::{Crossed, Fabric, Times, rules};
use isthmus_analytic::Error;
use isthmus_analytic::fattree::Rules;
use isthmus_analytic::fattree::domain::{Load, SHARED};
use isthmus_analytic::fattree::loops::{self, Client, Use};
use isthmus_experiment::subject::Overlay;
use isthmus_machine::fattree::Machine;
use isthmus_machine::packets::spec::Switching;
use isthmus_topology::trees::Vertex;
use isthmus_workload::jobs::spec::{Job, JobsTraffic};
use isthmus_workload::jobs::{Layout, Partners};
use std::collections::BTreeMap;

/// Largest machine for which shares are computed.
const NODES_MAX: u32 = 1024;

/// What the model says of the jobs of `traffic`, laid out by `layout`.
pub(super) fn overlay(machine: &Machine, traffic: &JobsTraffic, layout: &Layout) -> Overlay {
    // The bounds of an interface are those of one link.
    let several_links = machine.tree().ascents(Vertex::Node(0)).len() > 1;
    if machine.tree().node_count() > NODES_MAX || several_links {
        return Overlay::default();
    }
    // Collective operations take part of the links that closed loops know nothing of.
    let active = || traffic.jobs.iter().filter(|job| job.active);
    if active().any(|job| Message::of(job).is_none()) {
        return Overlay::default();
    }
    // Where the paces do not settle nothing is said.
    solve(machine, traffic, layout).unwrap_or_default()
}

fn solve(machine: &Machine, traffic: &JobsTraffic, layout: &Layout) -> Result<Overlay, Error> {
    let rules = rules(machine.network().spec(), 1).checked()?;
    let (mut clients, mut writes) = (Vec::new(), false);
    let mut job_of = Vec::new();
    let (mut nodes, mut is_shared) = (BTreeMap::new(), false);
    let parts = Parts::new(machine, &rules, traffic, layout);
    for (number, job) in traffic.jobs.iter().enumerate() {
        let Some(message) = Message::of(job).filter(|_| job.active) else {
            continue;
        };
        for partners in layout.partners(number, job) {
            if let Some(client) = parts.client(job, &message, &partners) {
                clients.push(client);
                job_of.push(number);
                writes |= message.reads < 1.0;
                is_shared |= *nodes.entry(partners.client).or_insert(number) != number;
            }
        }
    }
    let paces = loops::solve(&clients)?;
    let load = Load::new(&clients, &paces, |part| parts.is_between(part));
    let mut overlay = Overlay::default();
    let mut io = None;
    for (number, job) in traffic.jobs.iter().enumerate() {
        let own = || (clients.iter().zip(&paces).zip(&job_of)).filter(|(_, of)| **of == number);
        let Some(message) = Message::of(job).filter(|_| job.active && own().count() > 0) else {
            continue;
        };
        let messages: f64 = own().map(|((_, pace), _)| pace.throughput).sum();
        // Bytes per nanosecond are GB/s.
        let total = messages * message.bytes * 1e3;
        let nodes = layout.jobs[number].len().max(1) as f64;
        let name = format!("{}.accepted", job.name);
        overlay.measures.insert(name, total / nodes);
        if message.offered.is_none() {
            // By Little's law; nanoseconds.
            let under_way: f64 = own()
                .map(|((client, _), _)| f64::from(client.under_way))
                .sum();
            let response = under_way / messages - message.think_ns;
            let name = format!("{}.response", job.name);
            overlay.measures.insert(name.clone(), response / 1e3);
            let (pause, is_equal) = (message.think_ns, message.think_is_fixed);
            if let Some(reason) = load.outside_short(response, pause, is_equal) {
                overlay.bound(reason, |measure| measure == name);
            }
        }
        if is_io(layout, job) {
            *io.get_or_insert(0.0) += total;
        }
    }
    if let Some(io) = io.filter(|_| !layout.servers.is_empty()) {
        let each = io / layout.servers.len() as f64;
        overlay.measures.insert("servers.accepted".to_owned(), each);
    }
    if is_shared {
        overlay.bound(SHARED, |_| true);
    }
    let switching = machine.network().spec().switching;
    let cut_through = matches!(switching, Switching::CutThrough { .. });
    if let Some(reason) = load.outside(cut_through, writes) {
        overlay.bound(&reason, |_| true);
    }
    Ok(overlay)
}

/// What clients share: the links between each subtree and the rest, as one part if ascents are spread over them and else
/// one by one; then the DMA engine of each node.
struct Parts<'a> {
    machine: &'a Machine,
    rules: &'a Rules,
    /// Nodes that send data, whose engines are delayed by what they receive.
    sends: Vec<bool>,
    /// Number of the part that is the engine of node 0; links, or bundles of links, have lower numbers.
    engines: u32,
}

impl<'a> Parts<'a> {
    fn new(machine: &'a Machine, rules: &'a Rules, traffic: &JobsTraffic, layout: &Layout) -> Self {
        let mut sends = vec![false; machine.tree().node_count() as usize];
        for (number, job) in traffic.jobs.iter().enumerate() {
            let Some(message) = Message::of(job).filter(|_| job.active) else {
                continue;
            };
            for partners in layout.partners(number, job) {
                sends[partners.client as usize] |= message.reads < 1.0;
                for &other in partners.others.iter().filter(|_| message.reads > 0.0) {
                    sends[other as usize] = true;
                }
            }
        }
        let tree = machine.tree();
        Self {
            machine,
            rules,
            sends,
            engines: tree.bundle_count().max(tree.link_count()),
        }
    }

    /// Number of links in a part: all of a bundle if ascents are spread over them, else one.
    fn width(&self, bundle: u32) -> f64 {
        match self.machine.spec().ascent.is_spread() {
            true => f64::from(self.machine.tree().bundle_width(bundle)),
            false => 1.0,
        }
    }

    /// Whether a part is a link between switches.
    fn is_between(&self, part: u32) -> bool {
        let tree = self.machine.tree();
        match self.machine.spec().ascent.is_spread() {
            true => (2 * tree.node_count()..tree.bundle_count()).contains(&part),
            false => part < tree.link_count() && tree.link(part).level > 0,
        }
    }

    /// A client of a job; nothing when it has no partner.
    fn client(&self, job: &Job, message: &Message, partners: &Partners) -> Option<Client> {
        let links: f64 = (self.machine.tree())
            .bundle_shares(partners.client, &partners.others)
            .iter()
            .map(|(_, share)| share)
            .sum();
        if links == 0.0 {
            return None;
        }
        let times = message.times(self.machine.network().spec(), self.rules, links - 1.0);
        // An interface without limit hands one message over after the other and waits for none.
        let (under_way, turn) = match job.outstanding.limit() {
            Some(limit) => (limit, times.turn),
            None => (1, 0.0),
        };
        // It sends in order: a write keeps from moving what comes behind it, a request for a read does not.
        let at_once = f64::from(under_way).min(1.0 / (1.0 - message.reads));
        Some(Client {
            under_way,
            at_once,
            pause: message.think_ns + turn,
            transfer: times.transfer,
            offered: message
                .offered
                .map_or(f64::INFINITY, |rate| rate / message.bytes),
            uses: self.uses(message.reads, &times, partners),
        })
    }

    /// The parts that the messages of a client use, of which such a share are reads.
    fn uses(&self, reads: f64, times: &Times, partners: &Partners) -> Vec<Use> {
        let (node, writes) = (partners.client, 1.0 - reads);
        let mut asked = Asked::default();
        let cross = |from: u32, to: &[u32], part: f64, asked: &mut Asked| {
            for Crossed { bundle, share, .. } in self.machine.shares(from, to) {
                asked.add(bundle, part * share, times.wire / self.width(bundle));
            }
        };
        let engine = |node: u32| self.engines + node;
        let others = || (partners.others.iter().copied()).filter(|&other| other != node);
        let each = 1.0 / others().count() as f64;
        if writes > 0.0 {
            cross(node, &partners.others, writes, &mut asked);
            asked.add(engine(node), writes, times.engine);
        }
        if reads > 0.0 && self.sends[node as usize] {
            asked.add(engine(node), reads, times.received);
        }
        for other in others() {
            if reads > 0.0 {
                cross(other, &[node], reads * each, &mut asked);
                asked.add(engine(other), reads * each, times.engine);
            }
            if writes > 0.0 && self.sends[other as usize] {
                asked.add(engine(other), writes * each, times.received);
            }
        }
        asked.uses()
    }
}

/// What is asked of parts: the probability of a use, and that times the time for which it is busy.
#[derive(Default)]
struct Asked(BTreeMap<u32, (f64, f64)>);

impl Asked {
    fn add(&mut self, part: u32, probability: f64, busy: f64) {
        let of = self.0.entry(part).or_default();
        *of = (of.0 + probability, of.1 + probability * busy);
    }

    fn uses(self) -> Vec<Use> {
        let parts = self.0.into_iter();
        parts
            .map(|(part, (probability, busy))| Use {
                part,
                probability: probability.min(1.0),
                busy: busy / probability,
            })
            .collect()
    }
}
