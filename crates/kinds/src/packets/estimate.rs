//! The analytic estimate of jobs on a network of switches: messages of open loops are trains of packets, closed loops have
//! [paces].

use super::credits::Credits;
use super::lengths::{Pace, lengths};
use super::switches::{Switches, delay_of};
use super::{Fabric, Limits, Route, paces, rules};
use crate::jobs::capacity::{Foretold, foretold, left_out};
use crate::jobs::{is_io, ns};
use isthmus_analytic::Error;
use isthmus_analytic::packets::Rules;
use isthmus_analytic::queue::mg1_wait;
use isthmus_analytic::trains::{
    Buffer, Channels, Class, Hop, Network, Packets, STEP, Train, Wait, outside,
};
use isthmus_experiment::subject::Overlay;
use isthmus_machine::packets::follow_all;
use isthmus_machine::packets::spec::NetworkSpec;
use isthmus_machine::packets::ways::Ways as _;
use isthmus_units::Time;
use isthmus_workload::jobs::Layout;
use isthmus_workload::jobs::spec::{JobsTraffic, Sizes};
use std::collections::{BTreeMap, BTreeSet};

/// Largest number of routes to follow.
const ROUTES_MAX: u64 = 1 << 19;

/// Writes, requests for reads, and the data that these bring.
const KINDS: usize = 3;
const REQUEST: usize = 1;
const DATA: usize = 2;

/// What the model says of the jobs of `traffic`, laid out by `layout`.
pub(super) fn overlay(switches: &impl Switches, traffic: &JobsTraffic, layout: &Layout) -> Overlay {
    let Some(choices) = switches.choices() else {
        return Overlay::absent("routes depend on the queues");
    };
    let asks: Vec<Foretold<'_>> = foretold(traffic).collect();
    let each = u64::from(choices[0]) * u64::from(choices[1]);
    let pairs = |asks: &Foretold<'_>| layout.pairs(asks.number, asks.job).count() as u64;
    if asks.iter().map(pairs).sum::<u64>() * each > ROUTES_MAX {
        return Overlay::absent(format!("there are more than {ROUTES_MAX} routes"));
    }
    // Trains know nothing of jobs that go on when they get something, and of arrivals in bursts or at equal gaps.
    let is_known = asks.iter().all(|asks| asks.message.is_poisson);
    if !is_known || left_out(traffic).is_some() {
        return paces(switches, traffic, layout, Limits::Others);
    }
    solve(switches, layout, &asks, choices)
        .unwrap_or_else(|error| Overlay::absent(error.to_string()))
}

/// How many messages go over so many switches and such delays in ps.
type Routes = BTreeMap<(u32, u64), f64>;

/// Messages of one kind of a job.
#[derive(Default)]
struct Sent {
    /// Messages per ns of all nodes.
    rate: f64,
    /// Where they go.
    ways: Routes,
    /// The same of each client.
    clients: BTreeMap<u32, Routes>,
    lengths: Vec<Packets>,
}

/// Mean and mean square of a time, in ns and ns^2.
#[derive(Debug, Clone, Copy, Default)]
struct Moments {
    mean: f64,
    square: f64,
}

impl Moments {
    /// Of a time that is one of `each` at these rates.
    fn over(rates: &Routes, each: &BTreeMap<(u32, u64), Self>) -> Self {
        let all = rates.values().sum::<f64>().max(f64::MIN_POSITIVE);
        rates.iter().fold(Self::default(), |sum, (over, rate)| {
            let of = each[over];
            Self {
                mean: sum.mean + rate / all * of.mean,
                square: sum.square + rate / all * of.square,
            }
        })
    }

    fn variance(self) -> f64 {
        self.square - self.mean * self.mean
    }
}

/// What is known of links and interfaces.
struct Links<'a> {
    spec: &'a NetworkSpec,
    rules: Rules,
    /// Of buffers behind links without length and behind the longest.
    credits: Option<[Credits; 2]>,
}

impl Links<'_> {
    /// The way of a header, and from the end of a packet to its sender's knowing it, in ns.
    fn way(&self, (switches, ps): (u32, u64)) -> (f64, f64) {
        let route = Route {
            switches: f64::from(switches),
            delay: ps as f64 / 1e3,
        };
        route.header_and_acknowledgement(&self.rules)
    }

    /// So many packets of a node may be on a way, and its next one starts when the first is known to be through, so long
    /// after its start, in ns: circuits end with the acknowledgement, the places of a buffer are free when the packet
    /// has left it. `None` where nothing limits them.
    fn window(&self, over: (u32, u64), packet: f64) -> (f64, f64) {
        let (way, back) = self.way(over);
        match &self.credits {
            None => {
                let circuits = self.rules.link.circuits;
                let most = self.rules.interface.in_flight.min(circuits);
                (most, packet + way + back)
            }
            // The link of the node has no length, those between switches have.
            Some([near, far]) => {
                let credits = if over.1 > 0 { far } else { near };
                let ps = packet * 1e3;
                (credits.places(ps), credits.round_ps(ps) / 1e3)
            }
        }
    }

    /// From the first packet of a message to the last, with nothing in the way.
    fn spread(&self, packets: &Packets, over: (u32, u64)) -> f64 {
        let (full, pace) = (packets.full, packets.full_pace_ns);
        let (most, turn) = self.window(over, packets.full_ns);
        (full / most).floor() * turn.max(most * pace) + full % most * pace
    }
}

impl Sent {
    /// Its messages at the pace that is left to many packets.
    fn paced(&self, links: &Links<'_>) -> impl Iterator<Item = Packets> {
        let least = |packet: f64| match self.rate > 0.0 {
            true => self.mean(|over| {
                let (most, turn) = links.window(over, packet);
                turn / most
            }),
            false => 0.0,
        };
        self.lengths.iter().map(move |packets| Packets {
            full_pace_ns: packets.full_pace_ns.max(least(packets.full_ns)),
            last_pace_ns: packets.last_pace_ns.max(least(packets.last_ns)),
            ..*packets
        })
    }

    /// Of a message with nothing in its way, from its first packet to the last byte or its acknowledgement: the mean
    /// and the mean square by its route, in ns.
    fn alone(&self, links: &Links<'_>, acknowledged: bool) -> BTreeMap<(u32, u64), Moments> {
        let moments = self.ways.keys().map(|&over| {
            let (way, back) = links.way(over);
            let way = way + if acknowledged { back } else { 0.0 };
            let mut sum = Moments::default();
            for packets in &self.lengths {
                let time = links.spread(packets, over) + packets.last_ns + way;
                sum.mean += packets.probability * time;
                sum.square += packets.probability * time * time;
            }
            (over, sum)
        });
        moments.collect()
    }

    /// Mean of what a way gives.
    fn mean(&self, of: impl Fn((u32, u64)) -> f64) -> f64 {
        let all = self.ways.iter();
        let sum: f64 = all.map(|(&over, rate)| rate * of(over)).sum();
        sum / self.rate
    }
}

fn solve(
    switches: &impl Switches,
    layout: &Layout,
    asks: &[Foretold<'_>],
    choices: [u32; 2],
) -> Result<Overlay, Error> {
    let spec = switches.network().spec();
    let rules = rules(spec, switches.ways().classes()).checked()?;
    let full_ps = rules.packet_ns(rules.interface.payload) * 1e3;
    let credits = |delay| Credits::of(switches, full_ps, delay, false);
    // Packets whose ways are drawn share no link but that of the node.
    let longest = match choices {
        [1, 1] => switches.longest_delay(),
        _ => Time::ZERO,
    };
    let links = Links {
        spec,
        rules,
        credits: credits(Time::ZERO)
            .zip(credits(longest))
            .map(<[Credits; 2]>::from),
    };
    let mut ways = Followed::of(switches, layout, asks, &links, choices);
    let packets_apart = choices[0] > 1;
    let found = ways.solution(switches, &links, asks, packets_apart)?;
    ways.scale(1.0 + STEP);
    let more = ways.solution(switches, &links, asks, packets_apart)?;
    let mut overlay = Overlay::default();
    let mut io = None;
    for (number, asks) in asks.iter().enumerate() {
        let name = &asks.job.name;
        let (latencies, rate) = &found.jobs[number];
        let known = [
            ("response", latencies.response),
            ("network", latencies.network),
        ];
        for (quantity, value) in known.into_iter().filter(|(_, value)| value.is_finite()) {
            (overlay.measures).insert(format!("{name}.{quantity}"), value / 1e3);
        }
        // Bytes per nanosecond are GB/s.
        let total = rate * asks.message.bytes * 1e3;
        let nodes = layout.jobs[asks.number].len().max(1) as f64;
        let accepted = format!("{name}.accepted");
        overlay.measures.insert(accepted, total / nodes);
        if is_io(layout, asks.job) {
            *io.get_or_insert(0.0) += total;
        }
    }
    if let Some(io) = io.filter(|_| !layout.servers.is_empty()) {
        let each = io / layout.servers.len() as f64;
        overlay.measures.insert("servers.accepted".to_owned(), each);
    }
    let mut jobs = found.jobs.iter().zip(&more.jobs);
    let mixed = links.credits.as_ref().filter(|_| choices != [1, 1]);
    let mixed = mixed.map_or(0.0, |[near, _]| found.longest / near.places(full_ps));
    let reason = match ways.network.has_wide_links() {
        true => Some("several cables join the same switches".to_owned()),
        false => jobs.find_map(|((at, _), (more, _))| outside(at.response, more.response, mixed)),
    };
    if let Some(reason) = reason {
        overlay.bound(&reason, |_| true);
    }
    // The share of its time that the part with most to do is asked for is proportional to the load.
    if let [asks] = asks
        && let Some(offered) = asks.message.offered
    {
        overlay.saturation = Some(offered * 1e3 / found.busiest);
    }
    Ok(overlay)
}

/// What the model says at one load.
struct Solution {
    /// Of each job, and its messages per ns.
    jobs: Vec<(Latencies, f64)>,
    /// The share of its time that the busiest node, link, buffer or client is asked for.
    busiest: f64,
    /// Packets of the longest messages, as their kind's mean.
    longest: f64,
}

/// The links of a route, and for how long a circuit holds each of them: from the header's start until the
/// acknowledgement has come back along it.
fn hops(
    switches: &impl Switches,
    links: &Links<'_>,
    way: impl DoubleEndedIterator<Item = (u32, u32, u16)>,
) -> Vec<Hop> {
    let link = &links.rules.link;
    let switch = link.switch_ns + link.acknowledgement_switch_ns;
    let mut held = link.acknowledgement_ns - switch;
    let mut hops = Vec::new();
    for (link, beside, channel) in way.rev() {
        held += switch + 2.0 * ns(delay_of(switches, link));
        hops.push(Hop {
            link,
            beside,
            channel,
            held,
        });
    }
    hops.reverse();
    hops
}

/// All ways of all jobs.
struct Followed {
    network: Network,
    ways: Vec<Routes>,
    /// The same by client.
    clients: Vec<BTreeMap<u32, Routes>>,
    /// Packets per ns that come in at a node, seen by what it sends of each class.
    received: Vec<f64>,
    /// Messages per ns of each class on a link, by the class of channels.
    channels: BTreeMap<u32, BTreeMap<u16, Vec<f64>>>,
}

impl Followed {
    fn of(
        switches: &impl Switches,
        layout: &Layout,
        asks: &[Foretold<'_>],
        links: &Links<'_>,
        choices: [u32; 2],
    ) -> Self {
        let payload = switches.network().spec().nic.payload.get() as f64;
        let each = f64::from(choices[0]) * f64::from(choices[1]);
        let count = KINDS * asks.len();
        let mut network = Network::new(count);
        let mut ways = vec![Routes::new(); count];
        let mut clients = vec![BTreeMap::<u32, Routes>::new(); count];
        let mut channels: BTreeMap<u32, BTreeMap<u16, Vec<f64>>> = BTreeMap::new();
        let mut packets = vec![0.0; switches.node_count() as usize];
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
                    for way in follow_all(&**switches.ways(), from, to, choices) {
                        let runs = way
                            .iter()
                            .map(|&(run, channel)| (run.first, run.links, channel));
                        let hops = hops(switches, links, runs);
                        let ps = way
                            .iter()
                            .map(|(run, _)| delay_of(switches, run.first).ps());
                        let over = (way.len() as u32 - 1, ps.sum());
                        let class = KINDS * job + kind;
                        *ways[class].entry(over).or_default() += rate / each;
                        let of_client = clients[class].entry(pair.client).or_default();
                        *of_client.entry(over).or_default() += rate / each;
                        for &(run, channel) in &way {
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
        let mut received = vec![0.0; ways.len()];
        for (node, class, rate) in network.sources() {
            received[class] += rate * packets[node as usize];
        }
        for (received, ways) in received.iter_mut().zip(&ways) {
            *received /= ways.values().sum::<f64>().max(f64::MIN_POSITIVE);
        }
        Self {
            network,
            ways,
            clients,
            received,
            channels,
        }
    }

    /// Multiply all rates.
    fn scale(&mut self, by: f64) {
        self.network.scale(by);
        let clients = self.clients.iter_mut().flat_map(BTreeMap::values_mut);
        for routes in self.ways.iter_mut().chain(clients) {
            routes.values_mut().for_each(|rate| *rate *= by);
        }
        self.received.iter_mut().for_each(|rate| *rate *= by);
        let channels = self.channels.values_mut().flat_map(BTreeMap::values_mut);
        for rates in channels {
            rates.iter_mut().for_each(|rate| *rate *= by);
        }
    }

    /// Solve the model at these rates.
    fn solution(
        &mut self,
        switches: &impl Switches,
        links: &Links<'_>,
        asks: &[Foretold<'_>],
        packets_apart: bool,
    ) -> Result<Solution, Error> {
        let sent = self.sent(links, asks);
        let classes = (sent.iter().enumerate()).map(|(class, sent)| {
            let train = Train::new(sent.paced(links))?;
            let by_turns = class % KINDS == DATA;
            Ok(Class {
                train: match packets_apart {
                    true => train.apart(),
                    false => train,
                },
                by_turns,
                asked_one_by_one: by_turns
                    && asks[class / KINDS].job.outstanding.limit() == Some(1),
            })
        });
        let classes = classes.collect::<Result<Vec<Class>, Error>>()?;
        let channels = links.spec.virtual_channels / switches.ways().classes().max(1);
        let lanes = f64::from(channels);
        let channels = match links.rules.link.circuits.is_finite() {
            true => Channels::Circuits {
                channels: lanes,
                in_flight: links.rules.interface.in_flight.min(lanes),
            },
            false => Channels::Buffers(lanes),
        };
        let mut busiest = self.buffers(switches, links, &classes);
        let queues = self.network.queues(&classes, channels);
        busiest = busiest.max(queues.busiest());
        let waits = queues.waits();
        let mut jobs = Vec::new();
        for (number, asks) in asks.iter().enumerate() {
            let of = KINDS * number..KINDS * (number + 1);
            let job = Job {
                asks,
                links,
                sent: &sent[of.clone()],
                waits: &waits[of],
            };
            let latencies = job.latencies()?;
            busiest = busiest.max(latencies.busiest_alone);
            jobs.push((latencies, job.rate()));
        }
        let packets = classes.iter().map(|class| class.train.packets);
        Ok(Solution {
            jobs,
            busiest,
            longest: packets.fold(0.0, f64::max),
        })
    }

    /// Put buffers behind the links. Return the largest share that the busiest link is asked for of what its buffer lets
    /// through.
    fn buffers(&mut self, switches: &impl Switches, links: &Links<'_>, classes: &[Class]) -> f64 {
        let full_ps = links.rules.packet_ns(links.rules.interface.payload) * 1e3;
        let mut busiest = 0.0_f64;
        let nodes = switches.node_count();
        for (&link, channels) in &self.channels {
            let asked = |rates: &Vec<f64>| -> (f64, f64) {
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
            let each: Vec<(f64, f64)> = channels.values().map(asked).collect();
            let (work, packets) =
                (each.iter()).fold((0.0, 0.0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
            let most = each.iter().map(|of| of.0).fold(0.0, f64::max);
            let into_node = switches.ways().end(link).vertex < nodes;
            let ps = work / packets * 1e3;
            let delay = delay_of(switches, link);
            let Some(credits) = Credits::of(switches, full_ps, delay, into_node) else {
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

    fn sent(&self, links: &Links<'_>, asks: &[Foretold<'_>]) -> Vec<Sent> {
        let all = self.ways.iter().zip(&self.received).enumerate();
        all.map(|(class, (ways, received))| {
            let sizes = match class % KINDS {
                REQUEST => Sizes::fixed(links.spec.nic.request),
                _ => asks[class / KINDS].message.sizes,
            };
            let mut sent = Sent {
                rate: ways.values().sum(),
                ways: ways.clone(),
                clients: self.clients[class].clone(),
                lengths: Vec::new(),
            };
            let taken = received * links.rules.interface.receive_ns;
            sent.lengths = lengths(
                sizes,
                Pace {
                    spec: links.spec,
                    rules: &links.rules,
                    slower: 1.0 / (1.0 - taken).max(f64::MIN_POSITIVE),
                },
            );
            sent
        })
        .collect()
    }
}

/// Whether a client waits for a message to be complete before it hands over the next.
fn is_one_by_one(asks: &Foretold<'_>) -> bool {
    asks.job.outstanding.limit().is_some()
}

/// A job with what the queues say of its messages.
struct Job<'a> {
    asks: &'a Foretold<'a>,
    links: &'a Links<'a>,
    sent: &'a [Sent],
    waits: &'a [Wait],
}

impl Job<'_> {
    /// Messages per ns of all its clients.
    fn rate(&self) -> f64 {
        self.sent[0].rate + self.sent[REQUEST].rate
    }

    /// Where messages go and how long they take.
    fn latencies(&self) -> Result<Latencies, Error> {
        let kinds = self.sent.iter().enumerate();
        let alone: Vec<_> = kinds
            .map(|(kind, sent)| sent.alone(self.links, kind == 0))
            .collect();
        let one_by_one = is_one_by_one(self.asks);
        let clients: BTreeSet<u32> = (self.sent.iter())
            .flat_map(|sent| sent.clients.keys().copied())
            .collect();
        let mut all = Latencies::default();
        for client in clients {
            let rate = |kind: usize| -> f64 {
                let routes = self.sent[kind].clients.get(&client);
                routes.map_or(0.0, |routes| routes.values().sum())
            };
            let rate = rate(0) + rate(REQUEST);
            let (time, busy) = self.of_client(client, &alone, one_by_one);
            let mut response = time.mean;
            if one_by_one {
                let share = rate * time.mean;
                all.busiest_alone = all.busiest_alone.max(rate * busy);
                response = match share < 1.0 {
                    true => {
                        let scv = (time.square / (time.mean * time.mean) - 1.0).max(0.0);
                        response + mg1_wait(rate, time.mean, scv)?
                    }
                    false => f64::INFINITY,
                };
            }
            all.network += rate * time.mean;
            all.response += rate * response;
        }
        all.network /= self.rate();
        all.response /= self.rate();
        Ok(all)
    }

    /// What a message of a client takes since it was handed over, and its mean with nothing in the way.
    fn of_client(
        &self,
        client: u32,
        alone: &[BTreeMap<(u32, u64), Moments>],
        one_by_one: bool,
    ) -> (Moments, f64) {
        let reads = self.asks.message.reads;
        let turnaround = ns(self.links.spec.nic.read_turnaround);
        let none = Routes::new();
        let (mut sum, mut busy) = (Moments::default(), 0.0);
        let mut add = |share: f64, kinds: &[usize], more: f64| {
            if share == 0.0 {
                return;
            }
            let mut time = self.links.rules.interface.software_ns + more;
            let mut variance = 0.0;
            busy += share * time;
            for &kind in kinds {
                let (sent, wait) = (&self.sent[kind], &self.waits[kind]);
                let own = Moments::over(sent.clients.get(&client).unwrap_or(&none), &alone[kind]);
                let node = match one_by_one && kind != DATA {
                    true => 0.0,
                    false => wait.node,
                };
                time += own.mean + node + wait.last;
                busy += share * own.mean;
                // Waits grow with the packets of a message.
                let longer = (own.mean + wait.last) / own.mean.max(f64::MIN_POSITIVE);
                variance += own.variance() * longer * longer + wait.last * wait.last;
            }
            sum.mean += share * time;
            sum.square += share * (time * time + variance);
        };
        add(1.0 - reads, &[0], 0.0);
        add(reads, &[REQUEST, DATA], turnaround);
        (sum, busy)
    }
}

/// Means in ns, and how busy clients are that wait for a message to be complete before they hand over the next.
#[derive(Debug, Clone, Copy, Default)]
struct Latencies {
    /// Of a message since it was asked for.
    response: f64,
    /// Since it was handed over.
    network: f64,
    /// The share of its time for which the busiest client waits for its messages, with nothing in their way.
    busiest_alone: f64,
}
