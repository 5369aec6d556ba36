//! Analytic estimate of closed loops: clients that keep a number of messages in flight and share links, interfaces and
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
use isthmus_machine::packets::routes::Routes as _;
use isthmus_machine::packets::spec::Switching;
use isthmus_workload::jobs::spec::{Job, JobsTraffic};
use isthmus_workload::jobs::{Layout, Partners};
use std::collections::BTreeMap;

/// Group of topologies, which selects the range of loads in which the estimates are reliable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TopologyGroup {
    /// All fat trees: the estimates are reliable in the range of loads that is valid for them.
    FatTrees,
    /// All networks of switches in other topologies: the estimates are reliable in the range of loads that is valid for
    /// these.
    Others,
}

/// Return the estimates of the model of closed loops for the jobs of `traffic` on the nodes of `layout`.
pub(crate) fn paces(
    fabric: &impl Fabric,
    traffic: &JobsTraffic,
    layout: &Layout,
    group: TopologyGroup,
) -> Overlay {
    if let Some(reason) = reason_absent(fabric, traffic) {
        return Overlay::absent(reason);
    }
    solve(fabric, traffic, layout, group).unwrap_or_else(|error| Overlay::absent(error.to_string()))
}

/// Return the reason why the model of closed loops does not cover the jobs, or `None` if it does.
fn reason_absent(fabric: &impl Fabric, traffic: &JobsTraffic) -> Option<String> {
    if fabric.node_count() > NODES_MAX {
        return Some(format!("there are more than {NODES_MAX} nodes"));
    }
    if !fabric.is_followed() {
        return Some(format!(
            "there are more than {RANDOM_ROUTES_MAX} random routes"
        ));
    }
    // Networks whose nodes have several links are outside of the model: it limits an interface to the rate of one link.
    if node_links(fabric) > 1.0 {
        return Some("nodes have several links".to_owned());
    }
    // Jobs whose nodes wait for messages from each other are outside of the model.
    let mut active = traffic.jobs.iter().filter(|job| job.active);
    (active.any(|job| Message::of(job).is_none()))
        .then(|| "jobs run collective operations, listed messages or pings".to_owned())
}

/// Return the estimates of the model of closed loops for jobs that the model covers.
fn solve(
    fabric: &impl Fabric,
    traffic: &JobsTraffic,
    layout: &Layout,
    group: TopologyGroup,
) -> Result<Overlay, Error> {
    let rules = rules(fabric.network().spec(), fabric.routes().classes()).checked()?;
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
        let own = || (clients.iter().zip(&paces).zip(&job_of)).filter(|(_, job)| **job == number);
        let Some(message) = Message::of(job).filter(|_| job.active && own().count() > 0) else {
            continue;
        };
        let messages: f64 = own().map(|((_, pace), _)| pace.throughput).sum();
        // Convert bytes per nanosecond, which are GB/s, to MB/s.
        let total = messages * message.bytes * 1e3;
        let nodes = layout.jobs[number].len().max(1) as f64;
        let name = format!("{}.accepted", job.name);
        overlay.measures.insert(name, total / nodes);
        if message.offered.is_none() {
            // Compute the mean response time by Little's law, from the number of messages in flight; times are in ns.
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
    let outside = match group {
        TopologyGroup::FatTrees => load.reason_outside(cut_through),
        TopologyGroup::Others => {
            load.reason_graph_outside(cut_through.then(|| parts.let_through()))
        }
    };
    if let Some(reason) = outside {
        overlay.bound(&reason, |_| true);
    }
    Ok(overlay)
}

/// Maximum number of pairs of nodes for which fair shares are computed.
const PAIRS_MAX: usize = 1 << 18;

/// Return a remark for each closed-loop job whose nodes send less than on an idle network. Their rates are max-min
/// fair shares.
pub(super) fn fair_share_remarks(
    fabric: &impl Fabric,
    rules: &Rules,
    traffic: &JobsTraffic,
    layout: &Layout,
) -> Vec<String> {
    let jobs = traffic.jobs.iter().enumerate();
    let active = jobs.filter(|(_, job)| job.active);
    let pairs = |(number, job): (usize, &Job)| layout.pairs(number, job).count();
    let is_known = active.clone().all(|(_, job)| Message::of(job).is_some());
    let is_loop = |job: &Job| Message::of(job).is_some_and(|message| message.offered.is_none());
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
    let sum = |number: usize, value: &dyn Fn(usize) -> f64| -> f64 {
        let own = (0..clients.len()).filter(|&client| job_of[client] == number);
        own.map(value).sum()
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

/// Part number of the DMA engine of node 0; bundles of links have lower numbers.
const ENGINES: u32 = 1 << 30;
/// Part number of the first stream of packets between two parts; see [`Use::is_stream`].
const STREAMS: u32 = 1 << 31;

/// Parts that clients share, by number: bundles of links, and the DMA engine of each node; also the streams of
/// packets between two parts.
struct Parts<'a, F> {
    fabric: &'a F,
    rules: &'a Rules,
    /// Whether each node sends data. If a node sends, the packets that it receives delay its engine.
    sends: Vec<bool>,
    bundles: BTreeMap<u32, Links>,
    /// Part number of each stream of packets, by the part that it leaves and the bundle of links that it enters.
    streams: BTreeMap<(u32, u32), u32>,
}

/// Bundle of links over which packets are spread evenly.
#[derive(Debug, Clone, Copy)]
struct Links {
    count: f64,
    /// Share of each link's bandwidth that the buffer behind the link sustains, for full packets in one class of
    /// channels.
    let_through: f64,
    /// Number of packets in the buffer behind each link, and the time until the sender knows that a slot is free, in
    /// ns.
    window: Option<(f64, f64)>,
    /// Signal delay of each link, in ns.
    delay: f64,
    out_of_node: bool,
    into_node: bool,
}

impl Links {
    /// Return the mean time for which a message occupies each of the links, in ns.
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
    /// Return the parts of the network (links, interfaces, servers) that clients share, before any client uses them.
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

    /// Return the clients of all jobs with their nodes, and the job number of each client.
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

    /// Return the model of the links in `bundle`, a number of equivalent links of the network. The first call for a
    /// bundle computes the model, later calls read it.
    fn links(&mut self, bundle: u32) -> Links {
        let (fabric, rules) = (self.fabric, self.rules);
        *self.bundles.entry(bundle).or_insert_with(|| {
            let found = fabric.bundle(bundle);
            let full_ps = rules.packet_ns(rules.interface.payload) * 1e3;
            let credits = Credits::of(fabric, full_ps, found.delay, found.into_node);
            let window = credits.as_ref().map(|credits| {
                let round_ns = credits.round_ps(full_ps) / 1e3;
                (credits.places(full_ps), round_ns)
            });
            Links {
                count: found.links.len() as f64,
                let_through: credits.map_or(1.0, |credits| credits.share(full_ps, 1.0)),
                window,
                delay: ns(found.delay),
                out_of_node: found.order == OUT_OF_NODE,
                into_node: found.into_node,
            }
        })
    }

    /// Return whether a part is a bundle of links between switches.
    fn is_between(&self, part: u32) -> bool {
        (self.bundles.get(&part)).is_some_and(|links| !links.out_of_node && !links.into_node)
    }

    /// Return the smallest share of a link's bandwidth that the buffer behind the link sustains, over all links.
    fn let_through(&self) -> f64 {
        let all = self.bundles.values().map(|links| links.let_through);
        all.fold(1.0, f64::min)
    }

    /// Return a client of a job, or `None` if the client has no partner.
    fn client(&mut self, job: &Job, message: &Message, partners: &Partners) -> Option<Client> {
        let (mut links, mut delay) = (0.0, 0.0);
        let written = self
            .fabric
            .crossed_bundles(partners.client, &partners.others);
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
        // Without a limit on outstanding messages, an interface hands over one message after another and never waits.
        let (under_way, turn) = match job.outstanding.limit() {
            Some(limit) => (limit, times.turn),
            None => (1, 0.0),
        };
        // An interface sends in order: a write blocks the messages behind it, a read request does not. So at most 1 /
        // (1 - reads) messages move at once on average.
        let at_once = f64::from(under_way).min(1.0 / (1.0 - message.reads));
        let uses = self.uses(message.reads, &times, partners, written);
        // Short receive buffers slow down a long message: it takes as long as it occupies the slowest part. On an idle
        // network, a message that fits into the buffers takes `alone`.
        let transfer = uses
            .iter()
            .fold(times.transfer, |most, part| most.max(part.busy));
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

    /// Return the time from the first to the last byte of a message whose packets wait only for buffer slots, in ns.
    fn alone(&self, message: &Message, times: &Times, uses: &[Use]) -> f64 {
        let packets = message.packets(self.rules.interface.payload);
        let pace = times.transfer / packets;
        let windows = uses
            .iter()
            .filter_map(|part| self.bundles.get(&part.part)?.window);
        windows.fold(times.transfer, |most: f64, (slots, round_ns)| {
            let rounds = ((packets - 1.0) / slots).floor();
            let others = packets - rounds * slots;
            most.max(rounds * round_ns.max(slots * pace) + others * pace)
        })
    }

    /// Return the parts that the messages of a client use; the share `reads` of the messages are reads.
    fn uses(
        &mut self,
        reads: f64,
        times: &Times,
        partners: &Partners,
        written: Vec<Crossed>,
    ) -> Vec<Use> {
        let (node, writes) = (partners.client, 1.0 - reads);
        let mut part_uses = PartUses::default();
        let others = || (partners.others.iter().copied()).filter(|&other| other != node);
        let each = 1.0 / others().count() as f64;
        if writes > 0.0 {
            self.cross(node, written, writes, times, &mut part_uses);
            part_uses.add(ENGINES + node, writes, times.engine);
        }
        if reads > 0.0 && self.sends[node as usize] {
            part_uses.add(ENGINES + node, reads, times.received);
        }
        for other in others() {
            if reads > 0.0 {
                let read = self.fabric.crossed_bundles(other, &[node]);
                self.cross(other, read, reads * each, times, &mut part_uses);
                part_uses.add(ENGINES + other, reads * each, times.engine);
            }
            if writes > 0.0 && self.sends[other as usize] {
                part_uses.add(ENGINES + other, writes * each, times.received);
            }
        }
        part_uses.uses()
    }

    /// Add the uses of the links that messages from the node `from` cross; a message is sent with this probability.
    fn cross(
        &mut self,
        from: u32,
        links: Vec<Crossed>,
        probability: f64,
        times: &Times,
        part_uses: &mut PartUses,
    ) {
        for crossed in links {
            let (bundle, share) = (crossed.bundle, probability * crossed.share);
            let links = self.links(bundle);
            let busy = links.busy(times);
            part_uses.add(bundle, share, busy);
            let before = match crossed.before {
                Some(before) => (before, self.links(before).busy(times)),
                None if links.out_of_node => (ENGINES + from, times.engine),
                None => continue,
            };
            let number = STREAMS + self.streams.len() as u32;
            let stream = *self.streams.entry((before.0, bundle)).or_insert(number);
            part_uses.add(stream, share, busy.min(before.1));
        }
    }
}

/// Use of each part by a client's messages: the probability that a message uses the part, and the mean busy time of
/// the part per message, in ns.
#[derive(Default)]
struct PartUses(BTreeMap<u32, (f64, f64)>);

impl PartUses {
    /// Add a use of a part by a message: the probability of the use, and the busy time that results, in ns.
    fn add(&mut self, part: u32, probability: f64, busy: f64) {
        let sums = self.0.entry(part).or_default();
        *sums = (sums.0 + probability, sums.1 + probability * busy);
    }

    /// Return the uses as a list, as the model of closed loops requires.
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
