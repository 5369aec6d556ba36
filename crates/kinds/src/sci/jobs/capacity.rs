//! Demand of jobs on the links of an SCI fabric, and the supply of the links.
//!
//! The data of a message occupies whole blocks of 16 bytes. Each transaction adds two headers and two echoes, each
//! followed by idle symbols. The routes determine the share of a pair's sends and echoes that a link carries
//! ([`Routes::averages`]). The fabric is full when the busiest link is.
//!
//! [`Routes::averages`]: isthmus_topology::rings::Routes::averages

use super::workload::can_send;
use crate::jobs::behind::Devices;
use crate::jobs::capacity::{
    MB, NODES_MAX, PredictableJob, device, foretold, held_back, left_out, part,
};
use crate::jobs::{Measured, ns, stores};
use isthmus_experiment::capacity::{Capacity, bandwidth, number};
use isthmus_machine::sci::Machine;
use isthmus_machine::sci::spec::{BLOCK, Transfer};
use isthmus_workload::jobs::Pair;

/// Return the demand of the jobs on each part of the machine, and the maximum rate of the part.
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
    let pair_demand = walked.then(|| PairDemand::new(machine, transfer, jobs, alone));
    if let Some(pair_demand) = &pair_demand {
        capacity.parts.push(part(
            "link of a node".to_owned(),
            pair_demand.sent.iter().copied().fold(0.0, f64::max),
            alone,
            format!(
                "{} of data in packets of {} B, on one ring alone",
                transfer.payload,
                number(slot as f64)
            ),
        ));
    }
    let link = spec.bandwidth.bits_per_s() as f64 / 8e9;
    if let Some((at, demand)) = pair_demand.and_then(|pair_demand| pair_demand.busiest(machine)) {
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

/// Return a lower bound, in ns, of the mean time of a message that is alone on the fabric. It is the time of the
/// message's transactions in rounds of `transfer.transactions`, plus the time of the device.
pub(super) fn alone_ns(
    machine: &Machine,
    transfer: Transfer,
    jobs: &Measured,
    asks: &PredictableJob<'_>,
    devices: Option<&Devices>,
) -> f64 {
    let (spec, message) = (machine.spec(), &asks.message);
    let transactions = message.packets(transfer.payload.get() as f64);
    let rounds = (transactions / f64::from(transfer.transactions)).max(1.0);
    let data = message.padded(BLOCK as f64) / transactions;
    let symbols = data + 2.0 * spec.overhead.get() as f64;
    let flight = hops(machine, jobs, asks) * ns(spec.hop);
    let link = spec.bandwidth.bits_per_s() as f64 / 8e9;
    let network = rounds * (symbols / link + flight + ns(transfer.turnaround));
    let device = devices.map_or(0.0, |devices| devices.least_ns(message, |_, _| 0.0));
    network + device
}

/// Return the mean number of links on the route of a request and on the route of its response together; on large
/// fabrics, return the minimum, 2.
fn hops(machine: &Machine, jobs: &Measured, asks: &PredictableJob<'_>) -> f64 {
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

/// Data that jobs send from each node, and packets that they send between each pair of nodes.
struct PairDemand {
    nodes: usize,
    /// Rate at which each node sends data, in GB/s.
    sent: Vec<f64>,
    /// Rate of packets, with their idle symbols, for each pair of nodes, in bytes per ns. The index is sender * nodes +
    /// receiver.
    packets: Vec<f64>,
    /// Echoes of the packets of each pair with their idle symbols, in bytes per ns.
    echoes: Vec<f64>,
}

impl PairDemand {
    /// Return the data that jobs send between nodes, for jobs with a predictable demand. A client of a closed loop
    /// sends at most `alone` GB/s.
    fn new(machine: &Machine, transfer: Transfer, jobs: &Measured, alone: f64) -> Self {
        let spec = machine.spec();
        let nodes = machine.fabric().node_count() as usize;
        let mut pair_demand = Self {
            nodes,
            sent: vec![0.0; nodes],
            packets: vec![0.0; nodes * nodes],
            echoes: vec![0.0; nodes * nodes],
        };
        let payload = transfer.payload.get() as f64;
        let idle = spec.symbol.get() as f64;
        let header = spec.overhead.get() as f64 + idle;
        let echo = spec.echo.get() as f64 + idle;
        for PredictableJob {
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
                pair_demand.sent[client as usize] += written;
                pair_demand.sent[other as usize] += read;
                pair_demand.packets[there] += written * data + read * bare;
                pair_demand.packets[back] += written * bare + read * data;
                pair_demand.echoes[there] += each * echoes;
                pair_demand.echoes[back] += each * echoes;
            }
        }
        pair_demand
    }

    /// Return the link with the highest demand, and its demand in GB/s; `None` if no link has a demand.
    fn busiest(&self, machine: &Machine) -> Option<(usize, f64)> {
        let averages = |rates: &[f64]| {
            let total: f64 = rates.iter().sum();
            let weight = |from, to| rates[from as usize * self.nodes + to as usize];
            (total, machine.routes().averages(weight).links)
        };
        let ((packets, sends), (echoes, answers)) =
            (averages(&self.packets), averages(&self.echoes));
        let loads = sends.iter().zip(&answers).map(|(send, answer)| {
            // Add up the load of a link by packets and by echoes. The shares are per packet of a pair of nodes, and
            // each packet has one echo.
            packets * send.sends + echoes * answer.echoes
        });
        // The first of several equally busy links is chosen.
        let busiest = loads
            .enumerate()
            .rev()
            .max_by(|(_, a), (_, b)| a.total_cmp(b));
        busiest.filter(|&(_, load)| load > 0.0)
    }
}
