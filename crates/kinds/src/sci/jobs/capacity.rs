//! What jobs ask of the links of a fabric of rings, and what these can carry.
//!
//! Data of a message takes its blocks of 16 bytes, and for each transaction two headers, the idles behind
//! both packets, and two echoes with theirs. The share of a pair's packets that a link carries, sends and
//! echoes, is that of the routes ([`Routes::averages`]); the fabric is full when the busiest link is.
//!
//! [`Routes::averages`]: isthmus_topology::rings::Routes::averages

use super::workload::can_send;
use crate::jobs::behind::Devices;
use crate::jobs::{Measured, Message};
use isthmus_experiment::capacity::{Capacity, PartKind, bandwidth, number};
use isthmus_machine::sci::Machine;
use isthmus_machine::sci::spec::{BLOCK, Transfer};
use isthmus_workload::jobs::spec::Traffic;

/// Largest fabric whose pairs of nodes are looked at.
const NODES_MAX: u32 = 1024;

/// A GB/s, which is a byte per ns, in MB/s.
const MB: f64 = 1e3;

const UNIT: &str = "MB/s";

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
    let asked = Asked::new(machine, transfer, jobs, alone, walked);
    let part = |name: String, demand: f64, supply: f64, basis: String| PartKind {
        name,
        demand: (demand > 0.0).then_some(demand * MB),
        at_most: asked.closed,
        supply: Some(supply * MB),
        unit: UNIT,
        basis,
    };
    let slot = transfer.payload.get() + spec.overhead.get() + spec.symbol.get();
    if walked {
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
    let busiest = walked.then(|| asked.busiest(machine)).flatten();
    if let Some((at, demand)) = busiest {
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
        let basis = full.basis;
        capacity
            .parts
            .push(part(name, full.demand, full.supply, basis));
        capacity.remarks.extend(full.remark);
    }
    if asked.collective {
        capacity.remarks.push(
            "Collectives and pings are left out: what they ask for follows from what they get."
                .to_owned(),
        );
    }
    capacity
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
    /// Whether closed loops are among those who ask.
    closed: bool,
    /// Whether jobs are left out.
    collective: bool,
}

impl Asked {
    /// Of jobs whose closed loops ask for no more than `alone`, in GB/s; of links only if they are walked.
    fn new(
        machine: &Machine,
        transfer: Transfer,
        jobs: &Measured,
        alone: f64,
        walked: bool,
    ) -> Self {
        let spec = machine.spec();
        let nodes = match walked {
            true => machine.fabric().node_count() as usize,
            false => 0,
        };
        let mut asked = Self {
            nodes,
            sent: vec![0.0; nodes],
            packets: vec![0.0; nodes * nodes],
            echoes: vec![0.0; nodes * nodes],
            closed: false,
            collective: false,
        };
        let payload = transfer.payload.get() as f64;
        let idle = spec.symbol.get() as f64;
        let header = spec.overhead.get() as f64 + idle;
        let echo = spec.echo.get() as f64 + idle;
        let all = jobs.traffic.jobs.iter().enumerate();
        for (number, job) in all.filter(|(_, job)| job.active) {
            let message = match Message::of(job) {
                Some(message) if !matches!(job.traffic, Traffic::Ping { .. }) => message,
                _ => {
                    asked.collective = true;
                    continue;
                }
            };
            asked.closed |= message.offered.is_none();
            if !walked {
                continue;
            }
            let rate = message.offered.unwrap_or(alone);
            let transactions = message.packets(payload) / message.bytes;
            let data = message.padded(BLOCK as f64) / message.bytes + transactions * header;
            let (bare, echoes) = (transactions * header, transactions * echo);
            let reads = message.reads;
            for partners in jobs.layout.partners(number, job) {
                let client = partners.client;
                let others = partners.others.iter().filter(|&&other| other != client);
                let count = others.clone().count();
                for &other in others {
                    let each = rate / count as f64;
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
