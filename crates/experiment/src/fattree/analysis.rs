//! The analytic estimate beside a simulated point: who gets what share of the links.
//!
//! The max-min fair shares of all clients (each client one flow, split over its partners), and for
//! clients that choose anew for each message the part of the destinations that are busy at a time.

use crate::subject::Overlay;
use isthmus_analytic::Error;
use isthmus_analytic::fattree::{Flow, Interface, Link, Rules, closed, max_min};
use isthmus_machine::fattree::Machine;
use isthmus_machine::fattree::spec::Switching;
use isthmus_topology::trees::Vertex;
use isthmus_workload::jobs::Layout;
use isthmus_workload::jobs::spec::{Arrivals, Destinations, Job, JobsTraffic, Targets, Traffic};
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
    solve(machine, traffic, layout).unwrap_or_default()
}

/// The job of a client, what it can send at most, and what it asks of each bundle of links.
type ClientFlow = (usize, f64, Vec<(u32, f64)>);

fn solve(machine: &Machine, traffic: &JobsTraffic, layout: &Layout) -> Result<Overlay, Error> {
    let tree = machine.tree();
    let rules = rules(machine).checked()?;
    let alone = rules.one_way(1).rate;
    let capacities: Vec<f64> = (0..tree.bundle_count())
        .map(|bundle| f64::from(tree.bundle_width(bundle)) * rules.wire_rate())
        .collect();
    let mut flows: Vec<ClientFlow> = Vec::new();
    for (number, job) in traffic.jobs.iter().enumerate() {
        if !job.active {
            continue;
        }
        let reads = read_share(job);
        // Reads and writes at once meet in the interfaces of the servers, which is not covered.
        if reads > 0.0 && reads < 1.0 {
            return Ok(Overlay::default());
        }
        let limit = limit(job)
            .unwrap_or_else(|| closed_loop(job, &rules))
            .min(alone);
        for partners in layout.partners(number, job) {
            let mut uses: BTreeMap<u32, f64> = BTreeMap::new();
            let mut add = |shares: Vec<(u32, f64)>, part: f64| {
                for (bundle, share) in shares {
                    *uses.entry(bundle).or_default() += part * share;
                }
            };
            let (client, others) = (partners.client, &partners.others);
            if reads < 1.0 {
                add(tree.bundle_shares(client, others), 1.0 - reads);
            }
            if reads > 0.0 {
                let count = others.iter().filter(|&&other| other != client).count();
                for &other in others.iter().filter(|&&other| other != client) {
                    add(tree.bundle_shares(other, &[client]), reads / count as f64);
                }
            }
            if !uses.is_empty() {
                flows.push((number, limit, uses.into_iter().collect()));
            }
        }
    }
    let asked: Vec<Flow> = flows
        .iter()
        .map(|(_, limit, uses)| Flow {
            limit: *limit,
            uses,
        })
        .collect();
    let shares = max_min(&capacities, &asked)?;
    let mut overlay = Overlay::default();
    let mut io = 0.0;
    let (mut has_io, mut has_collective) = (false, false);
    for (number, job) in traffic.jobs.iter().enumerate() {
        let own = || (flows.iter().zip(&shares)).filter(|((of, ..), _)| *of == number);
        if !job.active {
            continue;
        }
        if own().next().is_none() {
            has_collective = true;
            continue;
        }
        let sum: f64 = own().map(|(_, share)| share).sum();
        // GB/s are bytes per nanosecond.
        let total = sum.min(busy(job, layout, number) * alone) * 1e3;
        let nodes = layout.jobs[number].len().max(1) as f64;
        let name = format!("{}.accepted", job.name);
        overlay.measures.insert(name, total / nodes);
        if super::is_io(job) {
            has_io = true;
            io += total;
        }
    }
    // Collective operations take part of the links that the shares know nothing of.
    if has_collective {
        return Ok(Overlay::default());
    }
    if has_io && !layout.servers.is_empty() {
        let each = io / layout.servers.len() as f64;
        overlay.measures.insert("servers.accepted".to_owned(), each);
    }
    Ok(overlay)
}

/// How many destinations are busy at a time, at most, when clients choose them at random one
/// message after the other.
fn busy(job: &Job, layout: &Layout, number: usize) -> f64 {
    let clients = layout.jobs[number].len() as u32;
    // Messages that have a destination at a time: of an interface without limit those of its first
    // packets, the others wait behind them.
    let each = job.outstanding.limit().unwrap_or(1);
    let going = clients.saturating_mul(each);
    let random = |servers: u32| f64::from(servers) * closed::balanced(going, servers);
    match &job.traffic {
        // With one other node there is no choice.
        Traffic::Uniform { .. } if clients <= 2 => f64::INFINITY,
        Traffic::Uniform { .. } => random(clients),
        Traffic::Io(io) => match io.targets {
            Targets::Servers(Destinations::Random) => random(layout.servers.len() as u32),
            Targets::Servers(_) | Targets::HotNode(_) => f64::INFINITY,
        },
        Traffic::Checkpoint {
            destinations: Destinations::Random,
            ..
        } => random(layout.servers.len() as u32),
        _ => f64::INFINITY,
    }
}

fn read_share(job: &Job) -> f64 {
    match &job.traffic {
        Traffic::Io(io) => io.read_ratio,
        _ => 0.0,
    }
}

/// What a client can send that keeps a number of messages going, in GB/s.
fn closed_loop(job: &Job, rules: &Rules) -> f64 {
    let bytes = match &job.traffic {
        Traffic::Io(io) => io.sizes.mean.get(),
        Traffic::Uniform { sizes, .. } => sizes.mean.get(),
        Traffic::Checkpoint { message, .. } | Traffic::Ping { message, .. } => message.get(),
        _ => return f64::INFINITY,
    } as f64;
    let each = f64::from(job.outstanding.limit().unwrap_or(1));
    each * bytes / (bytes / rules.one_way(1).rate + rules.turn_ns(1))
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
    let ns = |time: isthmus_units::Time| time.ps() as f64 / 1e3;
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
