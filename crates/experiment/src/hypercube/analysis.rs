//! The analytic model beside a simulated point.

use crate::subject::Overlay;
use isthmus_analytic::hypercube_io::{
    ChannelKind, HypercubeIo, Lanes, Reading, Serving, Solution, Traffic,
};
use isthmus_analytic::moments::Moments;
use isthmus_analytic::{Error, path::MessageClass};
use isthmus_machine::hypercube::Machine;
use isthmus_machine::hypercube::spec::{FaultSpec, HypercubeSpec};
use isthmus_workload::Outstanding;
use isthmus_workload::spec::{Arrival, FileLayout, TrafficSpec};
use std::collections::BTreeMap;

/// A point in the model's numbers, for any reading of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Queueing {
    /// The machine and its traffic.
    pub model: HypercubeIo,
    /// Messages per cycle that each PE generates.
    pub rate: f64,
    /// Microseconds in one cycle.
    pub cycle_us: f64,
}

impl Queueing {
    /// `traffic` on `machine`, which was built from `spec`; `None` for what the model does not
    /// cover: closed loops and arrivals that are not Poisson, hot spots, collective demands,
    /// files that are broken up, faults.
    pub(super) fn new(
        machine: &Machine,
        spec: &HypercubeSpec,
        traffic: &TrafficSpec,
    ) -> Option<Self> {
        let Arrival::Exponential { mean } = traffic.arrival else {
            return None;
        };
        let collectives = traffic.collectives;
        let covered = traffic.hot_pe.is_none()
            && traffic.hot_io_node.is_none()
            && collectives.broadcast + collectives.scatter + collectives.gather == 0.0
            && spec.faults == FaultSpec::default();
        if !covered {
            return None;
        }
        Some(Self {
            model: model(machine, spec, traffic).ok()?,
            rate: 1.0 / machine.clock().cycles_exact(mean),
            cycle_us: machine.clock().cycle_us(),
        })
    }
}

/// What section 6's model, in the reading that serves best beside a simulation, says of `traffic`
/// on `machine`, which was built from `spec`. Empty for what the model does not cover.
pub(super) fn overlay(machine: &Machine, spec: &HypercubeSpec, traffic: &TrafficSpec) -> Overlay {
    let mut overlay = Queueing::new(machine, spec, traffic)
        .and_then(|queueing| solve(machine, spec, &queueing).ok())
        .unwrap_or_default();
    if traffic.outstanding != Outstanding::Unlimited {
        // Channels fill as without a limit; latencies are others.
        overlay.measures.clear();
    }
    overlay
}

fn solve(machine: &Machine, spec: &HypercubeSpec, queueing: &Queueing) -> Result<Overlay, Error> {
    let Queueing {
        model,
        rate,
        cycle_us,
    } = queueing;
    let reading = Reading::default();
    let solution = model.solve(*rate, &reading)?;
    let saturation = model.saturation(&reading)?;
    Ok(Overlay {
        measures: measures(machine, spec, model, &solution),
        utilisation: utilisation(machine, &solution),
        saturation: Some(saturation.per_ms(1e3 / cycle_us)),
        bottleneck: Some(saturation.channel.to_string()),
    })
}

/// The machine and its traffic in the model's numbers.
fn model(
    machine: &Machine,
    spec: &HypercubeSpec,
    traffic: &TrafficSpec,
) -> Result<HypercubeIo, Error> {
    let placement = machine.placement();
    let own: Vec<u32> = (0..placement.pe_count())
        .map(|pe| placement.server_pe(pe))
        .collect();
    let flits = |size| f64::from(machine.clock().flits(size));
    let (request, block) = (flits(traffic.request), flits(traffic.block));
    let blocks = file_parts(traffic)?;
    let data = scaled(&blocks, block);
    let declustered = traffic.layout == FileLayout::Declustered;
    let lanes = spec.lanes;
    Ok(HypercubeIo {
        dimension: spec.dimension,
        io_nodes: placement.io_node_count(),
        serving: Serving::from_table(spec.dimension, &own)?,
        lanes: Lanes {
            pe: lanes.pe,
            link: lanes.link,
            io_node: lanes.io_node,
            io_source: lanes.io_source,
            io_link: lanes.io_link,
            io_to_pe: lanes.io_to_pe,
        },
        traffic: Traffic {
            io_probability: traffic.io_probability,
            read_ratio: traffic.read_ratio,
            // With one I/O node every block is local.
            locality: if placement.io_node_count() == 1 {
                1.0
            } else {
                traffic.locality
            },
            message: Moments::fixed(flits(traffic.message)),
            request: Moments::fixed(request),
            reply: if declustered {
                Moments::fixed(block)
            } else {
                data
            },
            write: data.plus(&Moments::fixed(request)),
            replies_per_read: if declustered { blocks.mean } else { 1.0 },
        },
    })
}

/// Blocks of one request. Files above the split size would be several requests at once, which
/// the model does not know.
fn file_parts(traffic: &TrafficSpec) -> Result<Moments, Error> {
    if traffic.file_blocks_max > traffic.file_blocks_split {
        return Err(Error::Contradiction("files that are broken up"));
    }
    Moments::uniform_count(traffic.file_blocks_min, traffic.file_blocks_max, 1.0)
}

fn scaled(blocks: &Moments, unit: f64) -> Moments {
    Moments {
        mean: blocks.mean * unit,
        second: blocks.second * unit.powi(2),
        third: blocks.third * unit.powi(3),
    }
}

fn measures(
    machine: &Machine,
    spec: &HypercubeSpec,
    model: &HypercubeIo,
    solution: &Solution,
) -> BTreeMap<String, f64> {
    let cycle_us = machine.clock().cycle_us();
    let mut measures = BTreeMap::new();
    let mut put = |name: String, cycles: f64| {
        if cycles.is_finite() {
            measures.insert(name, cycles * cycle_us);
        }
    };
    for class in MessageClass::ALL {
        let latency = solution.latency(class);
        if latency.rate > 0.0 {
            put(format!("{}.header", class.name()), latency.generation);
            put(format!("{}.router", class.name()), latency.router);
        }
    }
    // Response times add software, devices and the tails behind the heads.
    let startup = machine.startup() as f64;
    let misses = 1.0 - spec.device.cache_hit_rate;
    let queued = machine.times().queued && misses > 0.0;
    let traffic = &model.traffic;
    if traffic.io_probability * traffic.read_ratio > 0.0 && traffic.replies_per_read == 1.0 {
        let network = solution.read_generation();
        put("read.network".to_owned(), network);
        if !queued {
            let remote = 1.0 - traffic.locality;
            let tails = (1.0 + remote) * (traffic.request.mean - 1.0) + traffic.reply.mean - 1.0;
            let device = device(machine, misses, traffic.reply.mean, spec);
            let software = (2.0 + remote) * startup;
            put(
                "read.response".to_owned(),
                network + tails + device + software,
            );
        }
    }
    if traffic.io_probability * (1.0 - traffic.read_ratio) > 0.0 {
        let network = solution.latency(MessageClass::Write).generation;
        put("write.network".to_owned(), network);
        if !queued {
            let data = traffic.write.mean - traffic.request.mean;
            let device = device(machine, misses, data, spec);
            let tail = traffic.write.mean - 1.0;
            put(
                "write.response".to_owned(),
                network + tail + device + startup,
            );
        }
    }
    measures
}

/// Mean time in cycles to get `flits` of data ready: the cache's access time, and the disk's for
/// misses.
fn device(machine: &Machine, misses: f64, flits: f64, spec: &HypercubeSpec) -> f64 {
    let times = machine.times();
    let bytes = flits * spec.flit.get() as f64;
    times.access as f64 + misses * times.disk.mean_access(bytes as u64)
}

/// Share of the time in which flits move, as the mean over the channels of each kind.
pub(super) fn utilisation(machine: &Machine, solution: &Solution) -> BTreeMap<String, f64> {
    use isthmus_machine::hypercube::ChannelKind as Kind;
    let (pes, io_nodes) = (
        f64::from(machine.cube().node_count()),
        f64::from(machine.placement().io_node_count()),
    );
    let mut sums: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for used in &solution.channels {
        // Each dimension of the PE cube has one link out of, and one into, each class I router.
        let (kind, count) = match used.channel.kind {
            ChannelKind::PeInject => (Kind::PeInject, pes),
            ChannelKind::PeEject => (Kind::PeEject, pes),
            ChannelKind::LinkFromClassOne | ChannelKind::LinkToClassOne => (Kind::Link, io_nodes),
            ChannelKind::Link => (Kind::Link, (pes - 2.0 * io_nodes).max(0.0)),
            ChannelKind::ToIoNode => (Kind::IoNodeIn, io_nodes),
            ChannelKind::FromIoNode => (Kind::IoNodeOut, io_nodes),
            ChannelKind::IoInject => (Kind::IoInject, io_nodes),
            ChannelKind::IoEject => (Kind::IoEject, io_nodes),
            ChannelKind::IoLink => (Kind::IoLink, io_nodes),
            ChannelKind::IoToPe => (Kind::IoToPe, io_nodes),
        };
        let (sum, total) = sums.entry(kind.name()).or_default();
        *sum += used.carried * count;
        *total += count;
    }
    sums.into_iter()
        .filter(|(_, (_, total))| *total > 0.0)
        .map(|(kind, (sum, total))| (kind.to_owned(), sum / total))
        .collect()
}
