//! The analytic estimate of jobs on a network of switches: messages of open loops are trains of packets, closed loops have
//! [paces].

use super::credits::Credits;
use super::lengths::{Pace, lengths};
use super::paces::BY_QUEUES;
use super::switches::{Switches, delay_of};
use super::{Fabric, Limits, paces, rules};
use crate::jobs::capacity::{Foretold, foretold, left_out};
use crate::jobs::{is_io, ns};
use isthmus_analytic::Error;
use isthmus_analytic::fattree::Rules;
use isthmus_analytic::queue::mg1_wait;
use isthmus_analytic::trains::{Channels, Class, Hop, Load, Network, Packets, Train, Wait};
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
    // What jobs ask for that go on when they get something is not known beforehand.
    let open = foretold(traffic).all(|asks| asks.message.offered.is_some());
    if !open || left_out(traffic).is_some() {
        return paces(switches, traffic, layout, Limits::Others);
    }
    solve(switches, traffic, layout).unwrap_or_default()
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
        let (link, switches) = (&self.rules.link, f64::from(switches));
        let delay = ps as f64 / 1e3;
        let back = match link.circuits.is_finite() {
            true => link.acknowledgement_ns + switches * link.acknowledgement_switch_ns + delay,
            false => 0.0,
        };
        (switches * link.switch_ns + delay, back)
    }

    /// So many packets of a node may be on a way, and its next one starts when the first is known to be through, so long
    /// after its start, in ns: circuits end with the acknowledgement, the places of a buffer are free when the packet
    /// has left it. `None` where nothing limits them.
    fn window(&self, over: (u32, u64)) -> (f64, f64) {
        let full = self.rules.packet_ns(self.rules.interface.payload);
        let (way, back) = self.way(over);
        match &self.credits {
            None => {
                let circuits = self.rules.link.circuits;
                let most = self.rules.interface.in_flight.min(circuits);
                (most, full + way + back)
            }
            // The link of the node has no length, those between switches have.
            Some([near, far]) => {
                let credits = if over.1 > 0 { far } else { near };
                let ps = full * 1e3;
                (credits.places(ps), credits.round_ps(ps) / 1e3)
            }
        }
    }

    /// From the first packet of a message to the last, with nothing in the way.
    fn spread(&self, packets: &Packets, over: (u32, u64)) -> f64 {
        let (full, pace) = (packets.full, packets.full_pace_ns);
        let (most, turn) = self.window(over);
        (full / most).floor() * turn.max(most * pace) + full % most * pace
    }
}

impl Sent {
    /// Its messages at the pace that is left to many packets.
    fn paced(&self, links: &Links<'_>) -> impl Iterator<Item = Packets> {
        let least = match self.rate > 0.0 {
            true => self.mean(|over| {
                let (most, turn) = links.window(over);
                turn / most
            }),
            false => 0.0,
        };
        self.lengths.iter().map(move |packets| Packets {
            full_pace_ns: packets.full_pace_ns.max(least),
            last_pace_ns: packets
                .last_pace_ns
                .max(least * packets.last_ns / packets.full_ns),
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
    traffic: &JobsTraffic,
    layout: &Layout,
) -> Result<Overlay, Error> {
    let Some(choices) = switches.choices() else {
        return Ok(Overlay::absent(BY_QUEUES));
    };
    let asks: Vec<Foretold<'_>> = foretold(traffic).collect();
    let each = u64::from(choices[0]) * u64::from(choices[1]);
    let pairs = |asks: &Foretold<'_>| layout.pairs(asks.number, asks.job).count() as u64;
    if asks.iter().map(pairs).sum::<u64>() * each > ROUTES_MAX {
        let reason = format!("there are more than {ROUTES_MAX} routes");
        return Ok(Overlay::absent(reason));
    }
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
    let ways = Followed::of(switches, layout, &asks, &links, choices);
    let sent = ways.sent(&links, &asks);
    let classes = (sent.iter().enumerate()).map(|(class, sent)| {
        let train = Train::new(sent.paced(&links))?;
        let train = match choices {
            [1, _] => train,
            _ => train.apart(),
        };
        let by_turns = class % KINDS == DATA;
        Ok(Class {
            train,
            by_turns,
            asked_one_by_one: by_turns && asks[class / KINDS].job.outstanding.limit() == Some(1),
        })
    });
    let classes = classes.collect::<Result<Vec<Class>, Error>>()?;
    let lanes = f64::from(spec.virtual_channels / switches.ways().classes().max(1));
    let channels = match links.rules.link.circuits.is_finite() {
        true => Channels::Circuits {
            channels: lanes,
            in_flight: links.rules.interface.in_flight.min(lanes),
        },
        false => Channels::Buffers(lanes),
    };
    let queues = ways.network.queues(&classes, channels);
    let waits = queues.waits();
    let mut overlay = Overlay::default();
    let mut io = None;
    let mut turns = 0.0_f64;
    let (mut uncertainty, mut held) = (0.0_f64, 0.0_f64);
    for (job, asks) in asks.iter().enumerate() {
        let of = KINDS * job..KINDS * (job + 1);
        let job = Job {
            asks,
            links: &links,
            sent: &sent[of.clone()],
            waits: &waits[of],
        };
        let name = &asks.job.name;
        let found = job.latencies()?;
        turns = found.busiest_alone.max(turns);
        let known = [("response", found.response), ("network", found.network)];
        uncertainty = uncertainty.max(job.uncertainty() / found.response);
        held = held.max(job.waits.iter().map(|wait| wait.last).sum::<f64>() / found.response);
        for (quantity, value) in known.into_iter().filter(|(_, value)| value.is_finite()) {
            (overlay.measures).insert(format!("{name}.{quantity}"), value / 1e3);
        }
        // Bytes per nanosecond are GB/s.
        let total = job.rate() * asks.message.bytes * 1e3;
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
    let busiest = queues.busiest();
    let (buffered, let_through) = ways.buffers(switches, &classes, full_ps);
    let places = links.credits.as_ref();
    let most = classes.iter().map(|class| class.train.packets);
    let load = Load {
        busiest: busiest.max(turns),
        uncertainty,
        circuits: rules.link.circuits.is_finite().then_some(held),
        buffered,
        let_through,
        messages: places.map_or(0.0, |[near, _]| {
            most.fold(0.0, f64::max) / near.places(full_ps)
        }),
    };
    if let Some(reason) = load.outside() {
        overlay.bound(reason, |_| true);
    }
    // The share of its time that the part with most to do is asked for is proportional to the load.
    if let [asks] = &asks[..]
        && let Some(offered) = asks.message.offered
    {
        overlay.saturation = Some(offered * 1e3 / busiest.max(turns).max(buffered));
    }
    Ok(overlay)
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

    /// The share of its time that the busiest link is asked for, of what the buffer behind it lets through; and the
    /// least that one lets through of packets of one class of channels.
    fn buffers(&self, switches: &impl Switches, classes: &[Class], full_ps: f64) -> (f64, f64) {
        let (mut busiest, mut least) = (0.0_f64, 1.0_f64);
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
            let Some(credits) = Credits::of(switches, full_ps, delay_of(switches, link), into_node)
            else {
                continue;
            };
            busiest = busiest.max(work / credits.share(ps, work / most));
            least = least.min(credits.share(ps, 1.0));
        }
        (busiest, least)
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

    /// Return the uncertainty of all its waits, in ns.
    fn uncertainty(&self) -> f64 {
        self.waits.iter().map(|wait| wait.uncertainty).sum()
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
