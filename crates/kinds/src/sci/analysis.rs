//! Analytic estimates for a simulated point of an SCI fabric: link loads, and queueing at every interface.

use isthmus_analytic::Error;
use isthmus_analytic::sci::{
    Class, Timing, Waits, bottleneck, domain, estimate, light_load_latency,
};
use isthmus_experiment::subject::Overlay;
use isthmus_machine::sci::Machine;
use isthmus_machine::sci::spec::FlowControl;
use isthmus_topology::rings::{Averages, LinkUse};
use isthmus_workload::Outstanding;
use isthmus_workload::packets::spec::{HotNode, PacketTraffic, Spacing};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Number of idle symbols behind every packet.
const IDLE: f64 = 1.0;

/// Traffic pattern: senders and destinations, independent of load and packet lengths.
#[derive(Debug, Clone, PartialEq)]
struct Pattern {
    senders: Vec<u32>,
    hot_node: Option<HotNode>,
}

impl Pattern {
    /// Return whether all nodes send uniformly to all others.
    fn is_uniform(&self) -> bool {
        self.senders.is_empty() && self.hot_node.is_none()
    }
}

/// Maximum number of nodes for which visiting all pairs takes at most about two seconds.
const PAIRS_MAX: u32 = 1_024;

/// Return whether [`overlay`] is fast enough for an interactive check.
pub(super) fn is_quick(machine: &Machine, traffic: &PacketTraffic) -> bool {
    let uniform = traffic.senders.is_empty() && traffic.hot_node.is_none();
    let alike = uniform && machine.routes().all_nodes_are_alike();
    alike || machine.fabric().node_count() <= PAIRS_MAX
}

/// Average number of times that packets of a traffic pattern cross each link, for requests and for responses.
#[derive(Debug)]
struct PatternLoads {
    requests: Averages,
    responses: Averages,
}

/// Cache of the link loads of patterns on one machine: averages over all pairs are slow to compute, and do not
/// depend on the load.
#[derive(Debug, Clone, Default)]
pub(super) struct Patterns(Arc<Mutex<Known>>);

/// Traffic patterns with their link loads, as a list.
type Known = Vec<(Pattern, Arc<PatternLoads>)>;

impl Patterns {
    /// Return the link loads of the traffic's pattern, from the cache if they are known.
    fn pattern_loads(&self, machine: &Machine, traffic: &PacketTraffic) -> Arc<PatternLoads> {
        let pattern = Pattern {
            senders: traffic.senders.clone(),
            hot_node: traffic.hot_node,
        };
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, pattern_loads)) = known.iter().find(|(other, _)| *other == pattern) {
            return Arc::clone(pattern_loads);
        }
        let weight = |from, to| weight(&pattern, machine.fabric().live_nodes(), from, to);
        let pattern_loads = Arc::new(if pattern.is_uniform() {
            // Under uniform traffic, responses load the links like requests.
            let averages = machine.routes().uniform_averages();
            PatternLoads {
                requests: averages.clone(),
                responses: averages,
            }
        } else {
            PatternLoads {
                requests: machine.routes().averages(weight),
                responses: machine.routes().averages(|from, to| weight(to, from)),
            }
        });
        known.push((pattern, Arc::clone(&pattern_loads)));
        pattern_loads
    }
}

/// Return the share of the packets of node `from` that go to node `to`; 0 if `from` does not send.
fn weight(pattern: &Pattern, live: &[u32], from: u32, to: u32) -> f64 {
    if !pattern.senders.is_empty() && !pattern.senders.contains(&from) {
        return 0.0;
    }
    let is_live = |hot: &HotNode| live.binary_search(&hot.node).is_ok();
    let others = (live.len() - 1) as f64;
    match pattern.hot_node.filter(is_live) {
        Some(hot) if hot.node != from => {
            let favour = if hot.node == to { hot.probability } else { 0.0 };
            favour + (1.0 - hot.probability) / others
        }
        _ => 1.0 / others,
    }
}

/// Return the estimates of the analytic model for `traffic` on `machine`: the load at which the first link saturates,
/// and mean latencies. The model does not cover flow control with go bits.
pub(super) fn overlay(
    machine: &Machine,
    traffic: &PacketTraffic,
    patterns: &Patterns,
    gb_per_s: f64,
) -> Overlay {
    if machine.spec().flow_control == FlowControl::GoBits {
        return Overlay::default();
    }
    let pattern_loads = patterns.pattern_loads(machine, traffic);
    let mut overlay = solve(machine, traffic, &pattern_loads, gb_per_s).unwrap_or_default();
    if traffic.outstanding != Outstanding::Unlimited {
        // Remove the estimates of latencies and saturation: a limit on transactions in flight changes them. The link
        // loads stay valid.
        overlay.measures.clear();
        (overlay.saturation, overlay.bottleneck) = (None, None);
    }
    overlay
}

/// Return the mean time of a transaction with a response on an idle fabric, in microseconds.
pub(super) fn alone_us(
    machine: &Machine,
    traffic: &PacketTraffic,
    patterns: &Patterns,
) -> Option<f64> {
    let (lengths, clock) = (machine.lengths(traffic), machine.clock());
    let pattern_loads = patterns.pattern_loads(machine, traffic);
    let class = |symbols: u32, links| Class {
        per_transaction: 1.0,
        send_slot: f64::from(symbols) + IDLE,
        echo_slot: f64::from(machine.echo_symbols()) + IDLE,
        links,
    };
    let timing = timing(machine);
    let there = light_load_latency(
        &timing,
        &class(lengths.request, &pattern_loads.requests.links),
    )
    .ok()?;
    let back = light_load_latency(
        &timing,
        &class(lengths.response?, &pattern_loads.responses.links),
    )
    .ok()?;
    let turnaround = clock.cycles_exact(traffic.turnaround);
    Some((there + turnaround + back) * clock.cycle_us())
}

/// Return the parameters of the fabric that are times, in cycles, as the analytic model needs them.
fn timing(machine: &Machine) -> Timing {
    let clock = machine.clock();
    Timing {
        hop: clock.cycles_exact(machine.spec().hop),
        ring_change: clock.cycles_exact(machine.spec().ring_change),
        idle: IDLE,
    }
}

/// Return the estimates of the analytic model from the link loads of the traffic's pattern.
fn solve(
    machine: &Machine,
    traffic: &PacketTraffic,
    pattern_loads: &PatternLoads,
    gb_per_s: f64,
) -> Result<Overlay, Error> {
    let (lengths, clock) = (machine.lengths(traffic), machine.clock());
    let class = |symbols: u32, links| Class {
        per_transaction: 1.0,
        send_slot: f64::from(symbols) + IDLE,
        echo_slot: f64::from(machine.echo_symbols()) + IDLE,
        links,
    };
    let mut classes = vec![class(lengths.request, &pattern_loads.requests.links)];
    let responses = &pattern_loads.responses.links;
    classes.extend(lengths.response.map(|symbols| class(symbols, responses)));
    let timing = timing(machine);
    let load = traffic.load.bits_per_s() as f64 / 8e9;
    let rate = load / gb_per_s;
    let full = bottleneck(&classes)?;
    let found = estimate(&timing, &classes, rate)?;
    let turnaround = clock.cycles_exact(traffic.turnaround);
    let mut overlay = Overlay {
        saturation: Some(full.saturation_rate() * gb_per_s),
        bottleneck: {
            let link = machine.fabric().links()[full.link];
            Some(format!(
                "link {}-{} of ring {}",
                link.from, link.to, link.ring
            ))
        },
        ..Overlay::default()
    };
    let mut put = |name: &str, cycles: f64| {
        if cycles.is_finite() {
            let us = cycles * clock.cycle_us();
            overlay.measures.insert(name.to_owned(), us);
        }
    };
    let accepted = load.min(full.saturation_rate() * gb_per_s);
    let entries = pattern_loads.requests.links.iter().zip(&found.waits);
    let at_source: f64 = entries
        .filter(|(link, _)| link.entries > 0.0)
        .map(|(link, waits)| link.entries * waits.output)
        .sum();
    // The model of waiting times is valid for Poisson arrivals only.
    if traffic.spacing == Spacing::Exponential {
        put("latency", found.latencies[0]);
        put("network", found.latencies[0] - at_source);
        if let [request, response] = found.latencies[..] {
            put("response", request + turnaround + response);
        }
    }
    let averages = [&pattern_loads.requests, &pattern_loads.responses];
    let each = classes.iter().zip(averages);
    let slots = each.map(|(class, averages)| {
        slots_taken(machine, &timing, class, averages, &found.waits, rate)
    });
    let share = rate / full.saturation_rate();
    if let Some(reason) = domain::reason_outside(share, slots.fold(0.0, f64::max)) {
        overlay.bound(&reason, |_| true);
    }
    // The accepted load is a bound that is valid at every load, also outside the domain of the model.
    overlay.measures.insert("accepted".to_owned(), accepted);
    if rate < full.saturation_rate() {
        overlay.utilisation = utilisation(machine, &classes, rate);
    }
    Ok(overlay)
}

/// Return the largest mean share of an interface's client slots that packets of a class occupy, over all interfaces.
fn slots_taken(
    machine: &Machine,
    timing: &Timing,
    class: &Class,
    averages: &Averages,
    waits: &[Waits],
    rate: f64,
) -> f64 {
    let links = machine.fabric().links();
    let mut rings: BTreeMap<u32, Vec<Waits>> = BTreeMap::new();
    for (link, waits) in links.iter().zip(waits) {
        rings.entry(link.ring).or_default().push(*waits);
    }
    let each = links.iter().zip(&averages.links).zip(waits);
    let taken = each.map(|((link, average), waits)| {
        let rate = rate * class.per_transaction * average.entries;
        match rate > 0.0 {
            true => domain::slots_taken(timing, class, rate, waits.output, &rings[&link.ring]),
            false => 0.0,
        }
    });
    taken.fold(0.0, f64::max) / f64::from(machine.spec().queues.client)
}

/// Return the mean utilisation of the links without faults, by name: by send packets, by echo packets and in total.
fn utilisation(machine: &Machine, classes: &[Class], rate: f64) -> BTreeMap<String, f64> {
    let fabric = machine.fabric();
    let links = fabric.links().iter();
    let live = links.filter(|link| fabric.is_in_service(link.ring)).count();
    let mean = |pick: fn(&Class, &LinkUse) -> f64| -> f64 {
        let all = classes.iter().flat_map(|class| {
            let links = class.links.iter();
            links.map(move |link| class.per_transaction * pick(class, link))
        });
        all.sum::<f64>() * rate / live.max(1) as f64
    };
    let sends = mean(|class, link| class.send_slot * link.sends);
    let echoes = mean(|class, link| class.echo_slot * link.echoes);
    [("link", sends + echoes), ("send", sends), ("echo", echoes)]
        .map(|(kind, used)| (kind.to_owned(), used))
        .into()
}
