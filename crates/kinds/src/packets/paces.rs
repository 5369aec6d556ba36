//! The analytic estimate of closed loops: clients that keep some messages going, which meet in links, interfaces and
//! servers.

use super::credits::Credits;
use super::loads::RANDOM_ROUTES_MAX;
use super::rules::node_links;
use super::{Crossed, Fabric, OUT_OF_NODE, Route, Times, rules};
use crate::jobs::capacity::{MB, NODES_MAX};
use crate::jobs::{Message, is_io, ns};
use isthmus_analytic::Error;
use isthmus_analytic::packets::Rules;
use isthmus_analytic::packets::domain::{Load, SHARED};
use isthmus_analytic::packets::loops::{self, Client, Use};
use isthmus_experiment::capacity::bandwidth;
use isthmus_experiment::subject::Overlay;
use isthmus_machine::packets::spec::Switching;
use isthmus_machine::packets::ways::Ways as _;
use isthmus_workload::jobs::spec::{Job, JobsTraffic};
use isthmus_workload::jobs::{Layout, Partners};
use std::collections::BTreeMap;

/// Which limits of the domain count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Limits {
    FatTrees,
    Others,
}

/// What the model says of the jobs of `traffic`, laid out by `layout`.
pub(crate) fn paces(
    fabric: &impl Fabric,
    traffic: &JobsTraffic,
    layout: &Layout,
    limits: Limits,
) -> Overlay {
    if let Some(reason) = reason_absent(fabric, traffic) {
        return Overlay::absent(reason);
    }
    solve(fabric, traffic, layout, limits)
        .unwrap_or_else(|error| Overlay::absent(error.to_string()))
}

/// Why there is no model.
fn reason_absent(fabric: &impl Fabric, traffic: &JobsTraffic) -> Option<String> {
    if fabric.node_count() > NODES_MAX {
        return Some(format!("there are more than {NODES_MAX} nodes"));
    }
    if !fabric.is_followed() {
        return Some(format!(
            "there are more than {RANDOM_ROUTES_MAX} random routes"
        ));
    }
    // The bounds of an interface are those of one link.
    if node_links(fabric) > 1.0 {
        return Some("nodes have several links".to_owned());
    }
    // These take part of the links that closed loops know nothing of.
    let mut active = traffic.jobs.iter().filter(|job| job.active);
    (active.any(|job| Message::of(job).is_none()))
        .then(|| "jobs run collective operations, listed messages or pings".to_owned())
}

fn solve(
    fabric: &impl Fabric,
    traffic: &JobsTraffic,
    layout: &Layout,
    limits: Limits,
) -> Result<Overlay, Error> {
    let rules = rules(fabric.network().spec(), fabric.ways().classes()).checked()?;
    let mut parts = Parts::new(fabric, &rules, traffic, layout);
    let (clients, job_of) = parts.clients(traffic, layout);
    let mut nodes = BTreeMap::new();
    let is_shared = (clients.iter().zip(&job_of))
        .any(|((node, _), job)| *nodes.entry(*node).or_insert(*job) != *job);
    let clients: Vec<Client> = clients.into_iter().map(|(_, client)| client).collect();
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
            if let Some(reason) = load.reason_short_outside(response, pause, is_equal) {
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
    let switching = fabric.network().spec().switching;
    let cut_through = matches!(switching, Switching::CutThrough { .. });
    let outside = match limits {
        Limits::FatTrees => load.reason_outside(cut_through),
        Limits::Others => load.reason_graph_outside(cut_through.then(|| parts.let_through())),
    };
    if let Some(reason) = outside {
        overlay.bound(&reason, |_| true);
    }
    Ok(overlay)
}

/// Most pairs of nodes for which fair shares are found.
const PAIRS_MAX: usize = 1 << 18;

/// A sentence for each job in a closed loop whose nodes get less than they would alone, by max-min fair shares.
pub(super) fn fair_shares(
    fabric: &impl Fabric,
    rules: &Rules,
    traffic: &JobsTraffic,
    layout: &Layout,
) -> Vec<String> {
    let jobs = traffic.jobs.iter().enumerate();
    let active = jobs.filter(|(_, job)| job.active);
    let pairs = |(number, job): (usize, &Job)| layout.pairs(number, job).count();
    let is_known = active.clone().all(|(_, job)| Message::of(job).is_some());
    let is_loop = |job: &Job| Message::of(job).is_some_and(|of| of.offered.is_none());
    let has_loops = active.clone().any(|(_, job)| is_loop(job));
    if !is_known || !has_loops || node_links(fabric) > 1.0 || fabric.node_count() > NODES_MAX {
        return Vec::new();
    }
    if active.clone().map(pairs).sum::<usize>() > PAIRS_MAX {
        return Vec::new();
    }
    let mut parts = Parts::new(fabric, rules, traffic, layout);
    let (clients, job_of) = parts.clients(traffic, layout);
    let clients: Vec<Client> = clients.into_iter().map(|(_, client)| client).collect();
    let Ok(rates) = loops::fair_shares(&clients) else {
        return Vec::new();
    };
    let sum = |number: usize, of: &dyn Fn(usize) -> f64| -> f64 {
        let own = (0..clients.len()).filter(|&client| job_of[client] == number);
        own.map(of).sum()
    };
    let mut remarks = Vec::new();
    for (number, job) in active.filter(|(_, job)| is_loop(job)) {
        let bytes = Message::of(job).map_or(0.0, |message| message.bytes);
        let nodes = layout.jobs[number].len().max(1) as f64;
        let rate = sum(number, &|client| rates[client]);
        if rate < 0.99 * sum(number, &|client| clients[client].alone()) {
            remarks.push(format!(
                "Max-min fair shares of links and interfaces give {} {} per node on average.",
                job.name,
                bandwidth(rate * bytes / nodes * MB)
            ));
        }
    }
    remarks
}

/// Number of the part that is the DMA engine of node 0; bundles of links have lower numbers.
const ENGINES: u32 = 1 << 30;
/// Number of the first stream; see [`Use::is_stream`].
const STREAMS: u32 = 1 << 31;

/// What clients share: bundles of links, then the DMA engine of each node.
struct Parts<'a, F> {
    fabric: &'a F,
    rules: &'a Rules,
    /// Nodes that send data, whose engines are delayed by what they receive.
    sends: Vec<bool>,
    bundles: BTreeMap<u32, Links>,
    /// Numbers of the streams, by the part before and the bundle that they come to.
    streams: BTreeMap<(u32, u32), u32>,
}

/// Links over which packets are spread evenly.
#[derive(Debug, Clone, Copy)]
struct Links {
    count: f64,
    /// Share of its bandwidth that the buffer behind each lets through, of full packets in one class of channels.
    let_through: f64,
    /// Packets that the buffer behind each holds, and from one's start to its place being known to be free, in ns.
    window: Option<(f64, f64)>,
    /// What a signal takes along each, in ns.
    delay: f64,
    out_of_node: bool,
    into_node: bool,
}

impl Links {
    /// For how long a message keeps it busy, in ns.
    fn busy(self, times: &Times) -> f64 {
        let [first, between, last] = times.links;
        let each = match (self.out_of_node, self.into_node) {
            (true, _) => first,
            (_, true) => last,
            _ => between,
        };
        each / (self.count * self.let_through)
    }
}

impl<'a, F: Fabric> Parts<'a, F> {
    fn new(fabric: &'a F, rules: &'a Rules, traffic: &JobsTraffic, layout: &Layout) -> Self {
        let mut sends = vec![false; fabric.node_count() as usize];
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
            fabric,
            rules,
            sends,
            bundles: BTreeMap::new(),
            streams: BTreeMap::new(),
        }
    }

    /// The clients of all jobs with their nodes, and the number of the job of each.
    fn clients(
        &mut self,
        traffic: &JobsTraffic,
        layout: &Layout,
    ) -> (Vec<(u32, Client)>, Vec<usize>) {
        let (mut clients, mut job_of) = (Vec::new(), Vec::new());
        for (number, job) in traffic.jobs.iter().enumerate() {
            let Some(message) = Message::of(job).filter(|_| job.active) else {
                continue;
            };
            for partners in layout.partners(number, job) {
                if let Some(client) = self.client(job, &message, &partners) {
                    clients.push((partners.client, client));
                    job_of.push(number);
                }
            }
        }
        (clients, job_of)
    }

    fn links(&mut self, bundle: u32) -> Links {
        let (fabric, rules) = (self.fabric, self.rules);
        *self.bundles.entry(bundle).or_insert_with(|| {
            let of = fabric.bundle(bundle);
            let full_ps = rules.packet_ns(rules.interface.payload) * 1e3;
            let credits = Credits::of(fabric, full_ps, of.delay, of.into_node);
            let window = credits.as_ref().map(|credits| {
                let round_ns = credits.round_ps(full_ps) / 1e3;
                (credits.places(full_ps), round_ns)
            });
            Links {
                count: of.links.len() as f64,
                let_through: credits.map_or(1.0, |credits| credits.share(full_ps, 1.0)),
                window,
                delay: ns(of.delay),
                out_of_node: of.order == OUT_OF_NODE,
                into_node: of.into_node,
            }
        })
    }

    /// Whether a part is a link between switches.
    fn is_between(&self, part: u32) -> bool {
        (self.bundles.get(&part)).is_some_and(|links| !links.out_of_node && !links.into_node)
    }

    /// The least that the buffers behind links let through.
    fn let_through(&self) -> f64 {
        let all = self.bundles.values().map(|links| links.let_through);
        all.fold(1.0, f64::min)
    }

    /// A client of a job; nothing when it has no partner.
    fn client(&mut self, job: &Job, message: &Message, partners: &Partners) -> Option<Client> {
        let (mut links, mut delay) = (0.0, 0.0);
        let written = self.fabric.shares(partners.client, &partners.others);
        for &Crossed { bundle, share, .. } in &written {
            links += share;
            delay += share * self.links(bundle).delay;
        }
        if links == 0.0 {
            return None;
        }
        let route = Route {
            switches: links - 1.0,
            delay,
        };
        let times = message.times(self.fabric.network().spec(), self.rules, route);
        // An interface without limit hands one message over after the other and waits for none.
        let (under_way, turn) = match job.outstanding.limit() {
            Some(limit) => (limit, times.turn),
            None => (1, 0.0),
        };
        // It sends in order: a write keeps from moving what comes behind it, a request for a read does not.
        let at_once = f64::from(under_way).min(1.0 / (1.0 - message.reads));
        let uses = self.uses(message.reads, &times, partners, written);
        // Short buffers let long messages through more slowly. What fits into them takes no longer by itself.
        let transfer = uses
            .iter()
            .fold(times.transfer, |most, of| most.max(of.busy));
        let alone = self.alone(message, &times, &uses);
        let turn = (turn - (transfer - alone)).max(0.0);
        Some(Client {
            under_way,
            at_once,
            pause: message.think_ns + turn,
            transfer,
            offered: message
                .offered
                .map_or(f64::INFINITY, |rate| rate / message.bytes),
            uses,
        })
    }

    /// The time of a message between its first byte and its last where its packets wait for places of buffers only, in ns.
    fn alone(&self, message: &Message, times: &Times, uses: &[Use]) -> f64 {
        let packets = message.packets(self.rules.interface.payload);
        let pace = times.transfer / packets;
        let windows = uses
            .iter()
            .filter_map(|of| self.bundles.get(&of.part)?.window);
        windows.fold(times.transfer, |most: f64, (places, round_ns)| {
            let rounds = ((packets - 1.0) / places).floor();
            let others = packets - rounds * places;
            most.max(rounds * round_ns.max(places * pace) + others * pace)
        })
    }

    /// The parts that the messages of a client use, of which such a share are reads.
    fn uses(
        &mut self,
        reads: f64,
        times: &Times,
        partners: &Partners,
        written: Vec<Crossed>,
    ) -> Vec<Use> {
        let (node, writes) = (partners.client, 1.0 - reads);
        let mut asked = Asked::default();
        let others = || (partners.others.iter().copied()).filter(|&other| other != node);
        let each = 1.0 / others().count() as f64;
        if writes > 0.0 {
            self.cross(node, written, writes, times, &mut asked);
            asked.add(ENGINES + node, writes, times.engine);
        }
        if reads > 0.0 && self.sends[node as usize] {
            asked.add(ENGINES + node, reads, times.received);
        }
        for other in others() {
            if reads > 0.0 {
                let read = self.fabric.shares(other, &[node]);
                self.cross(other, read, reads * each, times, &mut asked);
                asked.add(ENGINES + other, reads * each, times.engine);
            }
            if writes > 0.0 && self.sends[other as usize] {
                asked.add(ENGINES + other, writes * each, times.received);
            }
        }
        asked.uses()
    }

    /// The links that messages of such a probability cross.
    fn cross(
        &mut self,
        from: u32,
        links: Vec<Crossed>,
        probability: f64,
        times: &Times,
        asked: &mut Asked,
    ) {
        for crossed in links {
            let (bundle, share) = (crossed.bundle, probability * crossed.share);
            let links = self.links(bundle);
            let busy = links.busy(times);
            asked.add(bundle, share, busy);
            let before = match crossed.before {
                Some(before) => (before, self.links(before).busy(times)),
                None if links.out_of_node => (ENGINES + from, times.engine),
                None => continue,
            };
            let number = STREAMS + self.streams.len() as u32;
            let stream = *self.streams.entry((before.0, bundle)).or_insert(number);
            asked.add(stream, share, busy.min(before.1));
        }
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
                is_stream: part >= STREAMS,
            })
            .collect()
    }
}
