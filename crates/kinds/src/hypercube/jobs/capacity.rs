//! What jobs ask of the channels and the I/O nodes of a hypercube, and what these can carry.
//!
//! Every pair of a PE and whom it writes to or reads from is walked: a channel is asked for the data of the
//! worms that cross it and for the requests among them. Channels with several lanes carry as much together.

use super::super::Built;
use crate::jobs::behind::{Access, Devices};
use crate::jobs::{Measured, Message, stores};
use crate::outstanding::Sender;
use isthmus_experiment::capacity::{Capacity, PartKind, bandwidth};
use isthmus_machine::hypercube::spec::Transfer;
use isthmus_machine::hypercube::{ChannelKind, ChannelName, Machine};
use isthmus_units::Bytes;
use isthmus_workload::jobs::spec::{Job, Traffic};

/// Largest machine whose pairs are walked, in PEs.
const PES_MAX: u32 = 1024;

/// A byte per ns in MB/s.
const MB: f64 = 1e3;

const UNIT: &str = "MB/s";

/// Demand against supply.
pub(super) fn capacity(
    built: &Built,
    transfer: Transfer,
    jobs: &Measured,
    devices: Option<&Devices>,
) -> Capacity {
    let machine = &*built.machine;
    let mut capacity = Capacity::default();
    let walked = machine.cube().node_count() <= PES_MAX;
    if !walked {
        capacity.remarks.push(format!(
            "What is asked of channels is left out on machines of more than {PES_MAX} PEs."
        ));
    }
    let lane = built.spec.bandwidth.bits_per_s() as f64 / 8e9;
    let alone = f64::from(built.spec.lanes.pe) * lane;
    let asked = Asked::new(machine, transfer, jobs, alone, walked);
    let layout = machine.layout();
    for kind in ChannelKind::ALL {
        // Of those alike the first.
        let busiest = (layout.of_kind(kind))
            .map(|channel| (channel, asked.channels[channel as usize]))
            .rev()
            .max_by(|(_, a), (_, b)| a.total_cmp(b));
        let Some((channel, demand)) = busiest.filter(|&(_, demand)| demand > 0.0) else {
            continue;
        };
        let Some(name) = layout.name(channel, machine.placement().io_nodes()) else {
            continue;
        };
        let lanes = layout.lanes(kind);
        capacity.parts.push(PartKind {
            name: called(name),
            demand: Some(demand * MB),
            at_most: asked.closed,
            supply: Some(f64::from(lanes) * lane * MB),
            unit: UNIT,
            basis: match lanes {
                1 => format!("1 lane of {}", bandwidth(lane * MB)),
                lanes => format!("{lanes} lanes of {} each", bandwidth(lane * MB)),
            },
        });
    }
    let (pes, io_nodes) = (
        machine.cube().node_count(),
        machine.placement().io_node_count(),
    );
    let at = |server: u32| machine.attends(server - pes) as usize;
    if let Some(full) = devices
        .and_then(|devices| devices.fullest(&jobs.traffic, &jobs.layout, alone, io_nodes, at))
    {
        capacity.parts.push(PartKind {
            name: format!("device of I/O node {}", full.place),
            demand: Some(full.demand * MB),
            at_most: asked.closed,
            supply: Some(full.supply * MB),
            unit: UNIT,
            basis: full.basis,
        });
        capacity.remarks.extend(full.remark);
    }
    if asked.collective {
        capacity.remarks.push(
            "Collectives and pings are left out: what they ask for follows from what they get."
                .to_owned(),
        );
    }
    if walked {
        capacity.remarks.push(
            "Worms hold the channels behind them while they wait: channels fill long before 100%."
                .to_owned(),
        );
    }
    capacity
        .remarks
        .extend(limits(built, transfer, jobs, devices, alone));
    capacity
}

/// The busiest channel of a kind.
fn called(ChannelName { kind, from, to }: ChannelName) -> String {
    match kind {
        ChannelKind::PeInject => format!("PE {from} to its router"),
        ChannelKind::PeEject => format!("router to its PE {to}"),
        ChannelKind::Link => format!("busiest link between PEs, {from} to {to}"),
        ChannelKind::IoNodeIn => format!("router to I/O node {to}"),
        ChannelKind::IoNodeOut => format!("I/O node {from} to router"),
        ChannelKind::IoInject => format!("I/O node {from} to I/O router"),
        ChannelKind::IoEject => format!("I/O router to I/O node {to}"),
        ChannelKind::IoLink => format!("busiest link between I/O nodes, {from} to {to}"),
        ChannelKind::IoToPe => format!("I/O router to the router of PE {to}"),
    }
}

/// The messages of a job whose nodes send on their own, of which something can be said beforehand.
fn message(job: &Job) -> Option<Message> {
    match job.traffic {
        Traffic::Ping { .. } => None,
        _ => Message::of(job),
    }
}

/// What is asked for, in GB/s.
struct Asked {
    /// Of each channel.
    channels: Vec<f64>,
    /// Whether closed loops are among those who ask.
    closed: bool,
    /// Whether jobs are left out.
    collective: bool,
}

impl Asked {
    /// Of jobs whose closed loops ask for no more than `alone`, in GB/s; of channels only if they are walked.
    fn new(
        machine: &Machine,
        transfer: Transfer,
        jobs: &Measured,
        alone: f64,
        walked: bool,
    ) -> Self {
        let layout = machine.layout();
        let channels = ChannelKind::ALL.map(|kind| layout.of_kind(kind).end);
        let last = channels.into_iter().max().unwrap_or(0);
        let mut asked = Self {
            channels: vec![0.0; last as usize],
            closed: false,
            collective: false,
        };
        let all = jobs.traffic.jobs.iter().enumerate();
        for (number, job) in all.filter(|(_, job)| job.active) {
            let Some(message) = message(job) else {
                asked.collective = true;
                continue;
            };
            asked.closed |= message.offered.is_none();
            if !walked {
                continue;
            }
            let rate = message.offered.unwrap_or(alone);
            let units = message.packets(transfer.unit.get() as f64);
            let shares = Shares {
                read: message.reads,
                request: units * transfer.request.get() as f64 / message.bytes,
            };
            for partners in jobs.layout.partners(number, job) {
                let client = partners.client;
                let others = partners.others.iter().filter(|&&other| other != client);
                let each = rate / others.clone().count() as f64;
                for &other in others {
                    asked.add(machine, client, other, each, shares);
                }
            }
        }
        asked
    }

    /// What a PE moves to and from another or an I/O node, at such a rate.
    fn add(&mut self, machine: &Machine, pe: u32, other: u32, rate: f64, shares: Shares) {
        let mut path = Vec::new();
        let mut cross = |rate: f64, walk: &dyn Fn(&mut Vec<u32>)| {
            path.clear();
            walk(&mut path);
            for &channel in &path {
                self.channels[channel as usize] += rate;
            }
        };
        let (read, written) = (shares.read * rate, (1.0 - shares.read) * rate);
        let Some(server) = other.checked_sub(machine.cube().node_count()) else {
            let there = written + read * shares.request;
            cross(there, &|path| machine.path_pe_pe(pe, other, path));
            return cross(read, &|path| machine.path_pe_pe(other, pe, path));
        };
        // A request goes with what is written.
        let there = written + rate * shares.request;
        let (asked, holder) = (machine.asks(pe), machine.attends(server));
        let by = machine.attends(asked);
        cross(there, &|path| machine.path_ask(pe, asked, path));
        if by != asked {
            cross(there, &|path| {
                machine.path_ask(machine.pe_of(asked), by, path);
            });
        }
        if holder != by {
            let on = written + read * shares.request;
            cross(on, &|path| machine.path_forward(by, holder, path));
        }
        cross(read, &|path| machine.path_reply(holder, by, pe, path));
    }
}

/// Parts of what a PE moves.
#[derive(Debug, Clone, Copy)]
struct Shares {
    /// What is read; the rest is written.
    read: f64,
    /// Bytes of requests for each byte of data.
    request: f64,
}

/// A sentence for each job whose limit of messages under way holds its PEs back: a message takes at least
/// the start-ups and the flits of its units, one round of them after another, with the device at the nearest
/// I/O node.
fn limits(
    built: &Built,
    transfer: Transfer,
    jobs: &Measured,
    devices: Option<&Devices>,
    alone: f64,
) -> Vec<String> {
    let machine = &*built.machine;
    let clock = machine.clock();
    let startup = machine.startup() as f64;
    let flits = |bytes: f64| bytes / built.spec.flit.get() as f64;
    let limit = |job: &Job| -> Option<String> {
        let message = message(job)?;
        let units = message.packets(transfer.unit.get() as f64);
        let rounds = (units / f64::from(transfer.worms)).max(1.0);
        let worm = startup + flits(message.bytes / units);
        let stored = devices.filter(|_| stores(&jobs.traffic, &jobs.layout, job));
        let alone_us = match stored {
            Some(devices) => {
                let ns = devices.least_ns(&message, |access, bytes| match access {
                    Access::Read => 2.0 * startup + flits(bytes as f64),
                    Access::Write => startup + flits(bytes as f64),
                });
                ns / 1e3
            }
            None => rounds * (worm + message.reads * startup) * clock.cycle_us(),
        };
        let bytes = Bytes::new(message.bytes as u64);
        Sender {
            field: &format!("workload.jobs.{}.outstanding", job.name),
            who: &format!("a PE of {}", job.name),
            what: &match job.outstanding.limit()? {
                1 => format!("message of {bytes}"),
                _ => format!("messages of {bytes}"),
            },
            outstanding: job.outstanding,
            alone_us,
            each: message.bytes,
            asked: message.offered.map(|rate| rate * MB),
            most: (message.think_ns == 0.0).then_some(alone * MB),
        }
        .remark(bandwidth)
    };
    let active = jobs.traffic.jobs.iter().filter(|job| job.active);
    active.filter_map(limit).collect()
}
