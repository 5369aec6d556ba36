//! Demand of jobs on the channels and I/O nodes of a hypercube, and the supply of these parts.
//!
//! The estimate follows the routes of every pair of a PE and a partner. The demand on a channel is the data and the
//! requests of all worms that cross it. The supply of a channel is the sum over its lanes.

use super::super::Built;
use crate::jobs::behind::{Access, Devices};
use crate::jobs::capacity::{
    MB, NODES_MAX, PredictableJob, device, foretold, held_back, left_out, part,
};
use crate::jobs::{Measured, stores};
use isthmus_experiment::capacity::{Capacity, bandwidth};
use isthmus_machine::hypercube::spec::Transfer;
use isthmus_machine::hypercube::{ChannelKind, ChannelName, Machine};
use isthmus_workload::jobs::Pair;

/// Return the demand of the jobs on each kind of channel and device, and the supply of these parts.
pub(super) fn capacity(
    built: &Built,
    transfer: Transfer,
    jobs: &Measured,
    devices: Option<&Devices>,
) -> Capacity {
    let machine = &*built.machine;
    let mut capacity = Capacity::default();
    let walked = machine.cube().node_count() <= NODES_MAX;
    if !walked {
        capacity.remarks.push(format!(
            "What is asked of channels is left out on machines of more than {NODES_MAX} PEs."
        ));
    }
    let lane = built.spec.bandwidth.bits_per_s() as f64 / 8e9;
    let alone = f64::from(built.spec.lanes.pe) * lane;
    let channel_demands = match walked {
        true => channel_demands(machine, transfer, jobs, alone),
        false => Vec::new(),
    };
    let layout = machine.layout();
    for kind in ChannelKind::ALL {
        // Choose the first of several equally busy channels.
        let busiest = (layout.of_kind(kind))
            .filter_map(|channel| Some((channel, *channel_demands.get(channel as usize)?)))
            .rev()
            .max_by(|(_, a), (_, b)| a.total_cmp(b));
        let Some((channel, demand)) = busiest.filter(|&(_, demand)| demand > 0.0) else {
            continue;
        };
        let Some(name) = layout.name(channel, machine.placement().io_nodes()) else {
            continue;
        };
        let lanes = layout.lanes(kind);
        let basis = match lanes {
            1 => format!("1 lane of {}", bandwidth(lane * MB)),
            lanes => format!("{lanes} lanes of {} each", bandwidth(lane * MB)),
        };
        let supply = f64::from(lanes) * lane;
        let busiest = part(&jobs.traffic, busiest_channel(name), demand, supply, basis);
        capacity.parts.push(busiest);
    }
    let (pes, io_nodes) = (
        machine.cube().node_count(),
        machine.placement().io_node_count(),
    );
    let at = |server: u32| machine.serving_io_node(server - pes) as usize;
    if let Some(full) = devices
        .and_then(|devices| devices.fullest(&jobs.traffic, &jobs.layout, alone, io_nodes, at))
    {
        let name = format!("device of I/O node {}", full.place);
        device(&mut capacity, &jobs.traffic, name, full);
    }
    capacity.remarks.extend(left_out(&jobs.traffic));
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

/// Return a text that names the busiest channel of its kind, such as `router to I/O node 3`.
fn busiest_channel(ChannelName { kind, from, to }: ChannelName) -> String {
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

/// Return the demand of jobs on each channel, in GB/s. A client of a closed loop demands at most `alone` GB/s.
fn channel_demands(machine: &Machine, transfer: Transfer, jobs: &Measured, alone: f64) -> Vec<f64> {
    let layout = machine.layout();
    let channels = ChannelKind::ALL.map(|kind| layout.of_kind(kind).end);
    let last = channels.into_iter().max().unwrap_or(0);
    let mut channel_demands = vec![0.0; last as usize];
    for PredictableJob {
        number,
        job,
        message,
    } in foretold(&jobs.traffic)
    {
        let rate = message.offered.unwrap_or(alone);
        let units = message.packets(transfer.unit.get() as f64);
        let shares = Shares {
            read: message.reads,
            request: units * transfer.request.get() as f64 / message.bytes,
        };
        for Pair { client, other, of } in jobs.layout.pairs(number, job) {
            let each = rate / of as f64;
            add(&mut channel_demands, machine, (client, other), each, shares);
        }
    }
    channel_demands
}

/// Add the demand of a PE on the channels of its routes. The PE moves `rate` GB/s of data to and from another PE or
/// an I/O node.
fn add(
    channel_demands: &mut [f64],
    machine: &Machine,
    (pe, other): (u32, u32),
    rate: f64,
    shares: Shares,
) {
    let mut path = Vec::new();
    let mut cross = |rate: f64, walk: &dyn Fn(&mut Vec<u32>)| {
        path.clear();
        walk(&mut path);
        for &channel in &path {
            channel_demands[channel as usize] += rate;
        }
    };
    let (read, written) = (shares.read * rate, (1.0 - shares.read) * rate);
    let Some(server) = other.checked_sub(machine.cube().node_count()) else {
        let outbound = written + read * shares.request;
        cross(outbound, &|path| machine.path_pe_pe(pe, other, path));
        return cross(read, &|path| machine.path_pe_pe(other, pe, path));
    };
    // A write sends its data and a request to the I/O node; a read sends only a request.
    let outbound = written + rate * shares.request;
    let (nearest, holder) = (machine.io_node_of_pe(pe), machine.serving_io_node(server));
    let forwarder = machine.serving_io_node(nearest);
    cross(outbound, &|path| machine.path_ask(pe, nearest, path));
    if forwarder != nearest {
        cross(outbound, &|path| {
            machine.path_ask(machine.pe_of(nearest), forwarder, path);
        });
    }
    if holder != forwarder {
        let forwarded = written + read * shares.request;
        cross(forwarded, &|path| {
            machine.path_forward(forwarder, holder, path);
        });
    }
    cross(read, &|path| {
        machine.path_reply(holder, forwarder, pe, path);
    });
}

/// The share of reads in the data that a PE moves, and the bytes of requests per byte of data.
#[derive(Debug, Clone, Copy)]
struct Shares {
    /// Share of reads; the rest are writes.
    read: f64,
    /// Bytes of requests per byte of data.
    request: f64,
}

/// Return a remark for each job whose limit on messages in flight slows its PEs. The time of a message is at least that
/// of its start-ups, its flits and the device at the nearest I/O node.
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
    let limit = |asks: PredictableJob<'_>| {
        let message = &asks.message;
        let units = message.packets(transfer.unit.get() as f64);
        let rounds = (units / f64::from(transfer.worms)).max(1.0);
        let worm = startup + flits(message.bytes / units);
        let stored = devices.filter(|_| stores(&jobs.traffic, &jobs.layout, asks.job));
        let alone_us = match stored {
            Some(devices) => {
                let ns = devices.least_ns(message, |access, bytes| match access {
                    Access::Read => 2.0 * startup + flits(bytes as f64),
                    Access::Write => startup + flits(bytes as f64),
                });
                ns / 1e3
            }
            None => rounds * (worm + message.reads * startup) * clock.cycle_us(),
        };
        held_back(&asks, "a PE", alone_us, alone)
    };
    foretold(&jobs.traffic).filter_map(limit).collect()
}
