//! What jobs ask of the links of a fabric of rings, and what these can carry.
//!
//! Data of a message takes its blocks of 16 bytes. Each transaction adds two headers and two echoes, each with the
//! idles behind its packet. The share of a pair's packets that a link carries, sends and
//! echoes, is that of the routes ([`Routes::averages`]); the fabric is full when the busiest link is.
//!
//! [`Routes::averages`]: isthmus_topology::rings::Routes::averages

use super::workload::can_send;
use crate::jobs::behind::Devices;
use crate::jobs::capacity::{Foretold, MB, NODES_MAX, device, foretold, held_back, left_out, part};
use crate::jobs::{Measured, ns, stores};
use isthmus_experiment::capacity::{Capacity, bandwidth, number};
use isthmus_machine::sci::Machine;
use isthmus_machine::sci::spec::{BLOCK, Transfer};
use isthmus_workload::jobs::Pair;

/// Demand against supply.
pub(super) fn capacity(
    machine: &Machine,
    transfer: Transfer,
    jobs: &Measured,
    devices: Option<&Devices>,
) -> Capacity {
    let spec = machine.spec();
    let mut capacity = Capacity::default();
    let walked = machine.fabric().node_count() <= NODES_MAX;
    if !walked {
        capacity.remarks.push(format!(
            "What is asked of links is left out in fabrics of more than {NODES_MAX} nodes."
        ));
    }
    let alone = can_send(spec, transfer.payload).bits_per_s() as f64 / 8e9;
    let part = |name: String, demand: f64, supply: f64, basis: String| {
        part(&jobs.traffic, name, demand, supply, basis)
    };
    let slot = transfer.payload.get() + spec.overhead.get() + spec.symbol.get();
    let asked = walked.then(|| Asked::new(machine, transfer, jobs, alone));
    if let Some(asked) = &asked {
        capacity.parts.push(part(
            "link of a node".to_owned(),
            asked.sent.iter().copied().fold(0.0, f64::max),
            alone,
            format!(
                "{} of data in packets of {} B, on one ring alone",
                transfer.payload,
                number(slot as f64)
            ),
        ));
    }
    let link = spec.bandwidth.bits_per_s() as f64 / 8e9;
    if let Some((at, demand)) = asked.and_then(|asked| asked.busiest(machine)) {
        let busiest = machine.fabric().links()[at];
        capacity.parts.push(part(
            format!(
                "busiest link, {}-{} of ring {}",
                busiest.from, busiest.to, busiest.ring
            ),
            demand,
            link,
            format!(
                "packets, echoes and idles of both ways, {} in all",
                bandwidth(link * MB)
            ),
        ));
    }
    let at = |node: u32| node as usize;
    let nodes = machine.fabric().node_count();
    if let Some(full) =
        devices.and_then(|devices| devices.fullest(&jobs.traffic, &jobs.layout, alone, nodes, at))
    {
        let name = format!("device of I/O server {}", full.place);
        device(&mut capacity, &jobs.traffic, name, full);
    }
    capacity.remarks.extend(left_out(&jobs.traffic));
    let limits = foretold(&jobs.traffic).filter_map(|asks| {
        let devices = devices.filter(|_| stores(&jobs.traffic, &jobs.layout, asks.job));
        let alone_us = alone_ns(machine, transfer, jobs, &asks, devices) / 1e3;
        held_back(&asks, "a node", alone_us, alone)
    });
    capacity.remarks.extend(limits);
    capacity
}

/// The least that a message takes on average with nothing else about: the requests and responses of its
/// transactions and their way, one round of them after another, then the device.
pub(super) fn alone_ns(
    machine: &Machine,
    transfer: Transfer,
    jobs: &Measured,
    asks: &Foretold<'_>,
    devices: Option<&Devices>,
) -> f64 {
    let (spec, message) = (machine.spec(), &asks.message);
    let transactions = message.packets(transfer.payload.get() as f64);
    let rounds = (transactions / f64::from(transfer.transactions)).max(1.0);
    let data = message.padded(BLOCK as f64) / transactions;
    let symbols = data + 2.0 * spec.overhead.get() as f64;
    let way = hops(machine, jobs, asks) * ns(spec.hop);
    let link = spec.bandwidth.bits_per_s() as f64 / 8e9;
    let network = rounds * (symbols / link + way + ns(transfer.turnaround));
    let device = devices.map_or(0.0, |devices| devices.least_ns(message, |_, _| 0.0));
    network + device
}

/// Links there and back on average; on large fabrics the fewest that there are.
fn hops(machine: &Machine, jobs: &Measured, asks: &Foretold<'_>) -> f64 {
    if machine.fabric().node_count() > NODES_MAX {
        return 2.0;
    }
    let distance = |from: u32, to: u32| f64::from(machine.routes().distance(from, to));
    let (mut all, mut clients) = (0.0, 0.0);
    for Pair { client, other, of } in jobs.layout.pairs(asks.number, asks.job) {
        all += (distance(client, other) + distance(other, client)) / of as f64;
        clients += 1.0 / of as f64;
    }
    all / clients
}

/// What is asked for.
struct Asked {
    nodes: usize,
    /// Data that each node sends, in GB/s.
    sent: Vec<f64>,
    /// Of each pair, by sender and then receiver, the length of its packets and their idles in bytes per
    /// ns; the same of the echoes that they cause.
    packets: Vec<f64>,
    echoes: Vec<f64>,
}

impl Asked {
    /// Of jobs whose closed loops ask for no more than `alone`, in GB/s.
    fn new(machine: &Machine, transfer: Transfer, jobs: &Measured, alone: f64) -> Self {
        let spec = machine.spec();
        let nodes = machine.fabric().node_count() as usize;
        let mut asked = Self {
            nodes,
            sent: vec![0.0; nodes],
            packets: vec![0.0; nodes * nodes],
            echoes: vec![0.0; nodes * nodes],
        };
        let payload = transfer.payload.get() as f64;
        let idle = spec.symbol.get() as f64;
        let header = spec.overhead.get() as f64 + idle;
        let echo = spec.echo.get() as f64 + idle;
        for Foretold {
            number,
            job,
            message,
        } in foretold(&jobs.traffic)
        {
            let rate = message.offered.unwrap_or(alone);
            let transactions = message.packets(payload) / message.bytes;
            let data = message.padded(BLOCK as f64) / message.bytes + transactions * header;
            let (bare, echoes) = (transactions * header, transactions * echo);
            let reads = message.reads;
            for Pair { client, other, of } in jobs.layout.pairs(number, job) {
                let each = rate / of as f64;
                let (read, written) = (each * reads, each * (1.0 - reads));
                let [there, back] = [(client, other), (other, client)]
                    .map(|(from, to)| from as usize * nodes + to as usize);
                asked.sent[client as usize] += written;
                asked.sent[other as usize] += read;
                asked.packets[there] += written * data + read * bare;
                asked.packets[back] += written * bare + read * data;
                asked.echoes[there] += each * echoes;
                asked.echoes[back] += each * echoes;
            }
        }
        asked
    }

    /// The link that most is asked of, and how much, in GB/s.
    fn busiest(&self, machine: &Machine) -> Option<(usize, f64)> {
        let of = |rates: &[f64]| {
            let total: f64 = rates.iter().sum();
            let weight = |from, to| rates[from as usize * self.nodes + to as usize];
            (total, machine.routes().averages(weight).links)
        };
        let ((packets, sends), (echoes, answers)) = (of(&self.packets), of(&self.echoes));
        let loads = sends.iter().zip(&answers).map(|(send, answer)| {
            // What is in proportion to the packets of a pair, each with an echo of its own.
            packets * send.sends + echoes * answer.echoes
        });
        // Of those alike the first.
        let busiest = loads
            .enumerate()
            .rev()
            .max_by(|(_, a), (_, b)| a.total_cmp(b));
        busiest.filter(|&(_, load)| load > 0.0)
    }
}
