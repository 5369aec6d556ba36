//! The analytic estimate beside a simulated point: clients that keep some messages going, which meet in
//! links, interfaces and servers.

use crate::subject::Overlay;
use isthmus_analytic::Error;
use isthmus_analytic::fattree::loops::{self, Client, Use};
use isthmus_analytic::fattree::{Interface, Link, Rules};
use isthmus_machine::fattree::Machine;
use isthmus_machine::fattree::spec::Switching;
use isthmus_topology::trees::Vertex;
use isthmus_units::{Bytes, Time};
use isthmus_workload::jobs::spec::{Arrivals, Job, JobsTraffic, Sizes, Spread, Traffic};
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
    let rules = rules(machine).checked()?;
    let mut clients = Vec::new();
    let mut job_of = Vec::new();
    let parts = Parts::new(machine, &rules, traffic, layout);
    for (number, job) in traffic.jobs.iter().enumerate() {
        let Some(message) = Message::of(job).filter(|_| job.active) else {
            continue;
        };
        for partners in layout.partners(number, job) {
            if let Some(client) = parts.client(job, &message, &partners) {
                clients.push(client);
                job_of.push(number);
            }
        }
    }
    let paces = loops::solve(&clients)?;
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
            overlay.measures.insert(name, response / 1e3);
        }
        if super::is_io(job) {
            *io.get_or_insert(0.0) += total;
        }
    }
    if let Some(io) = io.filter(|_| !layout.servers.is_empty()) {
        let each = io / layout.servers.len() as f64;
        overlay.measures.insert("servers.accepted".to_owned(), each);
    }
    Ok(overlay)
}

/// The messages of a job whose nodes send on their own.
struct Message {
    sizes: Sizes,
    bytes: f64,
    /// Share of reads.
    reads: f64,
    think_ns: f64,
    /// Per node in GB/s, of those that do not wait for what they get.
    offered: Option<f64>,
}

impl Message {
    fn of(job: &Job) -> Option<Self> {
        let fixed = |mean: Bytes| Sizes {
            mean,
            spread: Spread::Fixed,
        };
        let think = |arrivals: &Arrivals| match arrivals {
            Arrivals::Closed { think } => *think,
            Arrivals::Open { .. } => Time::ZERO,
        };
        let (sizes, reads, think) = match &job.traffic {
            Traffic::Io(io) => (io.sizes, io.read_ratio, think(&io.arrivals)),
            Traffic::Uniform { sizes, arrivals } => (*sizes, 0.0, think(arrivals)),
            Traffic::Checkpoint { message, .. } => (fixed(*message), 0.0, Time::ZERO),
            Traffic::Ping { message, pause, .. } => (fixed(*message), 0.0, *pause),
            Traffic::AllToAll { .. } | Traffic::AllReduce { .. } | Traffic::Neighbours { .. } => {
                return None;
            }
        };
        Some(Self {
            sizes,
            bytes: sizes.mean.get() as f64,
            reads,
            think_ns: ns(think),
            offered: limit(job),
        })
    }

    /// Mean number of packets of so much data each.
    fn packets(&self, payload: f64) -> f64 {
        let ratio = self.bytes / payload;
        match self.sizes.spread {
            Spread::Fixed => ratio.ceil().max(1.0),
            Spread::Exponential => -1.0 / (-1.0 / ratio).exp_m1(),
            Spread::Uniform => {
                // Of a number uniform from 0 to 2 r, rounded up.
                let (most, whole) = (2.0 * ratio, (2.0 * ratio).floor());
                (whole * (whole + 1.0) / 2.0 + (most - whole) * (whole + 1.0)) / most
            }
        }
    }

    /// Mean of its data when each packet is padded to a multiple of a block.
    fn padded(&self, block: f64) -> f64 {
        match self.sizes.spread {
            _ if block <= 1.0 => self.bytes,
            Spread::Fixed => (self.bytes / block).ceil() * block,
            Spread::Exponential | Spread::Uniform => self.packets(block) * block,
        }
    }
}

/// What clients share: the links between each subtree and the rest, taken together, then the DMA engine
/// of each node.
struct Parts<'a> {
    machine: &'a Machine,
    rules: &'a Rules,
    /// Nodes that send data, whose engines are delayed by what they receive.
    sends: Vec<bool>,
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
        Self {
            machine,
            rules,
            sends,
        }
    }

    /// A client of a job; nothing when it has no partner.
    fn client(&self, job: &Job, message: &Message, partners: &Partners) -> Option<Client> {
        let tree = self.machine.tree();
        let Rules { link, interface } = self.rules;
        let (node, others) = (partners.client, &partners.others);
        let shares = tree.bundle_shares(node, others);
        let links: f64 = shares.iter().map(|(_, share)| share).sum();
        if links == 0.0 {
            return None;
        }
        let switches = links - 1.0;
        let packets = message.packets(interface.payload);
        let nic = &self.machine.spec().nic;
        let data = message.padded(interface.padding);
        let wire = (data + packets * interface.overhead) / link.bandwidth;
        let blocks = data / interface.padding.max(1.0);
        let engine = packets * ns(nic.dma_period) + blocks * ns(nic.dma_block);
        let back =
            switches * (link.switch_ns + link.acknowledgement_switch_ns) + link.acknowledgement_ns;
        let circuits = interface.in_flight.min(link.circuits);
        let transfer = wire.max(engine).max((wire + packets * back) / circuits);
        let (writes, reads) = (1.0 - message.reads, message.reads);
        // What a message needs beside its transfer: to be handed over, the way of its head, and that of
        // the last acknowledgement or of the request.
        let way = switches * link.switch_ns;
        let request =
            self.rules.packet_ns(nic.request.get() as f64) + way + ns(nic.read_turnaround);
        let turn = interface.software_ns + way + writes * (back - way) + reads * request;
        let received = packets * interface.receive_ns;
        let bundles = tree.bundle_count();
        let mut asked: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
        let mut ask = |part: u32, probability: f64, busy: f64| {
            let of = asked.entry(part).or_default();
            *of = (of.0 + probability, of.1 + probability * busy);
        };
        let cross = |shares: &[(u32, f64)], part: f64, ask: &mut dyn FnMut(u32, f64, f64)| {
            for &(bundle, share) in shares {
                ask(
                    bundle,
                    part * share,
                    wire / f64::from(tree.bundle_width(bundle)),
                );
            }
        };
        let partners: Vec<u32> = others
            .iter()
            .copied()
            .filter(|&other| other != node)
            .collect();
        let each = 1.0 / partners.len() as f64;
        if writes > 0.0 {
            cross(&shares, writes, &mut ask);
            ask(bundles + node, writes, engine);
        }
        if reads > 0.0 && self.sends[node as usize] {
            ask(bundles + node, reads, received.min(transfer));
        }
        for other in partners {
            if reads > 0.0 {
                cross(&tree.bundle_shares(other, &[node]), reads * each, &mut ask);
                ask(bundles + other, reads * each, engine);
            }
            if writes > 0.0 && self.sends[other as usize] {
                ask(bundles + other, writes * each, received.min(transfer));
            }
        }
        let uses = asked.into_iter().map(|(part, (probability, busy))| Use {
            part,
            probability: probability.min(1.0),
            busy: busy / probability,
        });
        let uses: Vec<Use> = uses.collect();
        // An interface without limit hands one message over after the other and waits for none.
        let (under_way, turn) = match job.outstanding.limit() {
            Some(limit) => (limit, turn),
            None => (1, 0.0),
        };
        Some(Client {
            under_way,
            pause: message.think_ns + turn,
            transfer,
            offered: message
                .offered
                .map_or(f64::INFINITY, |rate| rate / message.bytes),
            uses,
        })
    }
}

/// What each client asks for in GB/s, where that does not follow what it gets.
pub(super) fn limit(job: &Job) -> Option<f64> {
    let open = |arrivals: &Arrivals| match arrivals {
        Arrivals::Open { load, .. } => Some(load.bits_per_s() as f64 / 8e9),
        Arrivals::Closed { .. } => None,
    };
    match &job.traffic {
        Traffic::Io(io) => open(&io.arrivals),
        Traffic::Uniform { arrivals, .. } => open(arrivals),
        Traffic::Checkpoint { period, volume, .. } => {
            Some(volume.get() as f64 / (period.seconds() * 1e9))
        }
        _ => None,
    }
}

pub(super) fn rules(machine: &Machine) -> Rules {
    let spec = machine.spec();
    let nic = &spec.nic;
    let (acknowledgement_ns, acknowledgement_switch_ns, circuits, in_flight) = match spec.switching
    {
        Switching::Circuit {
            acknowledgement,
            acknowledgement_hop,
        } => (
            ns(acknowledgement),
            ns(acknowledgement_hop),
            f64::from(spec.virtual_channels),
            f64::from(nic.packets_in_flight),
        ),
        Switching::CutThrough { .. } => (0.0, 0.0, f64::INFINITY, f64::INFINITY),
    };
    Rules {
        link: Link {
            bandwidth: spec.bandwidth.bits_per_s() as f64 / 8e9,
            switch_ns: ns(spec.switch_latency),
            acknowledgement_ns,
            acknowledgement_switch_ns,
            circuits,
        },
        interface: Interface {
            payload: nic.payload.get() as f64,
            overhead: nic.overhead.get() as f64,
            padding: nic.padding.get() as f64,
            in_flight,
            dma_ns: ns(nic.dma_period)
                + ns(nic.dma_block) * (nic.payload.get().div_ceil(nic.padding.get().max(1))) as f64,
            receive_ns: ns(nic.receive_delay),
            software_ns: ns(nic.software_latency),
        },
    }
}

fn ns(time: Time) -> f64 {
    time.ps() as f64 / 1e3
}
