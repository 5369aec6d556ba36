//! Analytic estimates for a simulated point of a hypercube.

use super::Built;
use super::figures::DISK;
use super::routes::{Limit, Routes};
use isthmus_analytic::disk::{self, Disks, Requests};
use isthmus_analytic::hypercube_io::{
    ChannelKind, HypercubeIo, Reading, Serving, Solution, Traffic, domain,
};
use isthmus_analytic::moments::Moments;
use isthmus_analytic::{Error, path::MessageClass};
use isthmus_experiment::subject::Overlay;
use isthmus_machine::hypercube::Machine;
use isthmus_machine::hypercube::spec::{FaultSpec, HypercubeSpec};
use isthmus_workload::Outstanding;
use isthmus_workload::spec::{Arrival, FileLayout, TrafficSpec};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Index of read requests in [`Queueing::disks`].
const READS: usize = 0;
/// Index of write requests in [`Queueing::disks`].
const WRITES: usize = 1;

/// Parameters of the analytic model for one point of a sweep.
#[derive(Debug, Clone, PartialEq)]
pub struct Queueing {
    /// Machine and traffic of the point, as the analytic model describes them.
    pub model: HypercubeIo,
    /// Disks behind the caches, with the rates of read and write requests; `None` if requests do not queue at disks.
    pub disks: Option<Disks>,
    /// Message rate of each PE, per cycle.
    pub rate: f64,
    /// Length of a cycle in microseconds.
    pub cycle_us: f64,
}

impl Queueing {
    /// Return the parameters for `traffic` on `machine`, which was built from `spec`. Return `None` if the model does
    /// not cover the point: closed loops, arrivals that are not Poisson, hot spots, collective demands, files that are
    /// split, or faults.
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
            disks: disks(machine, spec, traffic).ok()?,
            rate: 1.0 / machine.clock().cycles_exact(mean),
            cycle_us: machine.clock().cycle_us(),
        })
    }
}

/// Cache of the saturation limits of a machine by traffic, because all loads of a sweep have the same limit.
#[derive(Debug, Clone, Default)]
pub(super) struct Limits(Arc<Mutex<Vec<(HypercubeIo, Limit)>>>);

impl Limits {
    /// Return the cached saturation limit of `model`, or add the result of `find` to the cache and return it.
    fn get(
        &self,
        model: &HypercubeIo,
        find: impl FnOnce() -> Result<Limit, Error>,
    ) -> Result<Limit, Error> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, limit)) = known.iter().find(|(other, _)| other == model) {
            return Ok(limit.clone());
        }
        let limit = find()?;
        known.push((model.clone(), limit.clone()));
        Ok(limit)
    }
}

/// Return the estimates of the queueing model for `traffic` on a machine; empty if the model does not cover the
/// point. The model works channel by channel if all routes can be followed. Otherwise it is the model of section 6
/// of the hypercube paper, in the interpretation that fits simulations best.
pub(super) fn overlay(built: &Built, traffic: &TrafficSpec) -> Overlay {
    let mut overlay = Queueing::new(&built.machine, &built.spec, traffic)
        .and_then(|queueing| solve(built, &queueing).ok())
        .unwrap_or_default();
    if traffic.outstanding != Outstanding::Unlimited {
        // Drop the latencies: the model ignores the limit on demands in flight, which changes them. The channel
        // loads stay valid.
        overlay.measures.clear();
        (overlay.saturation, overlay.bottleneck) = (None, None);
    }
    overlay
}

/// Mean header latencies of a message class, in cycles.
#[derive(Debug, Clone, Copy, Default)]
struct Header {
    /// Message rate of the class, per cycle.
    rate: f64,
    /// Cycles from the generation of a message to the arrival of its header at the destination.
    generation: f64,
    /// Cycles from the grant of the injection lane to a message until the arrival of its header at the destination.
    router: f64,
}

/// Return the estimates of the queueing model for a point that the model covers.
fn solve(built: &Built, queueing: &Queueing) -> Result<Overlay, Error> {
    let (machine, spec): (&Machine, &HypercubeSpec) = (&built.machine, &built.spec);
    let reading = Reading::default();
    let (rate, cycles_per_ms) = (queueing.rate, 1e3 / queueing.cycle_us);
    let solution = queueing.model.solve(rate, &reading)?;
    let routes = Routes::new(machine, &queueing.model)?;
    let headers: Vec<Header> = match &routes {
        Some(routes) => header_latencies(routes, rate),
        None => (solution.latencies.iter())
            .map(|found| Header {
                rate: found.rate,
                generation: found.generation,
                router: found.router,
            })
            .collect(),
    };
    let limit = built.limits.get(&queueing.model, || {
        if let Some(limit) = routes.as_ref().and_then(Routes::limit) {
            return Ok(limit);
        }
        let found = queueing.model.limit(&reading)?;
        Ok(Limit {
            load: found.rate,
            part: found.channel.to_string(),
        })
    })?;
    let mut utilisation = utilisation(machine, &solution);
    let mut saturation = limit.load * cycles_per_ms;
    let mut bottleneck = limit.part;
    if let Some(disks) = &queueing.disks {
        let each = disks.utilisation(rate);
        let mean = each.iter().map(|share| share.min(1.0)).sum::<f64>() / each.len() as f64;
        utilisation.insert(DISK.to_owned(), mean);
        if let Some(full) = disks.first_saturated()
            && full.load * cycles_per_ms < saturation
        {
            saturation = full.load * cycles_per_ms;
            bottleneck = match full.all {
                true => "disks of the I/O nodes".to_owned(),
                false => format!("disk of I/O node {}", full.disk),
            };
        }
    }
    let mut overlay = Overlay {
        measures: measures(machine, spec, queueing, &headers),
        utilisation,
        saturation: Some(saturation),
        bottleneck: Some(bottleneck),
        ..Overlay::default()
    };
    let traffic = &queueing.model.traffic;
    let path = f64::from(spec.dimension + 2);
    match &routes {
        None => overlay.bound(
            "the machine is too large to solve channel by channel",
            |_| true,
        ),
        Some(_) if traffic.message.mean.min(traffic.request.mean) < path => {
            overlay.bound("messages are shorter than their paths", |_| true);
        }
        Some(routes) => {
            let more = Queueing {
                rate: (1.0 + domain::STEP) * rate,
                ..queueing.clone()
            };
            let more = measures(machine, spec, &more, &header_latencies(routes, more.rate));
            for (name, &value) in &overlay.measures {
                let more = more.get(name).copied();
                if let Some(reason) = domain::reason_outside(name, value, more) {
                    overlay.outside.insert(name.clone(), reason);
                }
            }
        }
    }
    Ok(overlay)
}

/// Walk along the routes of a machine, and return the mean header latencies of each message class, if a PE sends `rate`
/// messages per cycle.
fn header_latencies(routes: &Routes, rate: f64) -> Vec<Header> {
    let each = routes.headers(rate).into_iter();
    each.map(|found| Header {
        rate: found.rate,
        generation: found.channels + found.waits + found.source,
        router: found.channels - 1.0 + found.waits,
    })
    .collect()
}

/// Return the disks of the I/O nodes with the requests that miss the cache, or `None` if misses do not queue. A read
/// goes to the PE's own I/O node with the probability of the locality, and otherwise to any other I/O node with
/// equal probability. A write goes to the PE's own I/O node.
fn disks(
    machine: &Machine,
    spec: &HypercubeSpec,
    traffic: &TrafficSpec,
) -> Result<Option<Disks>, Error> {
    let misses = 1.0 - spec.device.cache_hit_rate;
    if !machine.times().queued || misses <= 0.0 {
        return Ok(None);
    }
    let served = machine.placement().coverage().served();
    let (pes, io_nodes) = (f64::from(machine.cube().node_count()), served.len() as f64);
    let locality = if served.len() == 1 {
        1.0
    } else {
        traffic.locality
    };
    let blocks = file_parts(traffic)?;
    let declustered = traffic.layout == FileLayout::Declustered;
    let io = traffic.io_probability * misses;
    let pieces = if declustered { blocks.mean } else { 1.0 };
    let reads = served.iter().map(|&own| {
        let own = f64::from(own);
        let elsewhere = if locality < 1.0 {
            (1.0 - locality) * (pes - own) / (io_nodes - 1.0)
        } else {
            0.0
        };
        io * traffic.read_ratio * pieces * (locality * own + elsewhere)
    });
    let writes = served
        .iter()
        .map(|&own| io * (1.0 - traffic.read_ratio) * f64::from(own));
    let disk = machine.times().disk;
    let transfer = disk.per_byte * traffic.block.get() as f64;
    let read_blocks = if declustered {
        Moments::fixed(1.0)
    } else {
        blocks
    };
    let service = |blocks| disk::service(disk.seek, disk.rotation, &scaled(blocks, transfer));
    Disks::new(vec![
        Requests {
            rates: reads.collect(),
            service: service(&read_blocks)?,
        },
        Requests {
            rates: writes.collect(),
            service: service(&blocks)?,
        },
    ])
    .map(Some)
}

/// Return the parameters of the analytic model for a machine and its traffic.
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
    Ok(HypercubeIo {
        dimension: spec.dimension,
        io_nodes: placement.io_node_count(),
        serving: Serving::from_table(spec.dimension, &own)?,
        lanes: spec.lanes,
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

/// Return the moments of the number of blocks of the file that one request reads or writes. Return an error for files
/// that are split into several requests, which the model does not cover.
fn file_parts(traffic: &TrafficSpec) -> Result<Moments, Error> {
    if traffic.file_blocks_max > traffic.file_blocks_split {
        return Err(Error::Contradiction("files that are broken up"));
    }
    Moments::uniform_count(traffic.file_blocks_min, traffic.file_blocks_max, 1.0)
}

/// Return the moments of the length of a message from the moments of its number of blocks, each `unit` long.
fn scaled(blocks: &Moments, unit: f64) -> Moments {
    Moments {
        mean: blocks.mean * unit,
        second: blocks.second * unit.powi(2),
        third: blocks.third * unit.powi(3),
    }
}

/// Return the mean of each latency that results report, in microseconds.
fn measures(
    machine: &Machine,
    spec: &HypercubeSpec,
    queueing: &Queueing,
    headers: &[Header],
) -> BTreeMap<String, f64> {
    let cycle_us = machine.clock().cycle_us();
    let mut measures = BTreeMap::new();
    let mut put = |name: String, cycles: f64| {
        if cycles.is_finite() {
            measures.insert(name, cycles * cycle_us);
        }
    };
    for class in MessageClass::ALL {
        let latency = headers[class as usize];
        if latency.rate > 0.0 {
            put(format!("{}.header", class.name()), latency.generation);
            put(format!("{}.router", class.name()), latency.router);
        }
    }
    // Add the response times. They exceed the header latencies by the times of the software, of the devices, and
    // of the flits behind the header.
    let startup = machine.startup() as f64;
    let misses = 1.0 - spec.device.cache_hit_rate;
    let traffic = &queueing.model.traffic;
    // Time in cycles to read or write data: the cache access and, for misses, the disk access.
    let device = |kind: usize, flits: f64| {
        let at_disk = match &queueing.disks {
            Some(disks) => disks.response(kind, queueing.rate).unwrap_or(0.0),
            None => {
                let bytes = flits * spec.flit.get() as f64;
                machine.times().disk.mean_access(bytes as u64)
            }
        };
        let at_disk = if misses > 0.0 { misses * at_disk } else { 0.0 };
        machine.times().access as f64 + at_disk
    };
    if traffic.io_probability * traffic.read_ratio > 0.0 && traffic.replies_per_read == 1.0 {
        let latency = |class: MessageClass| headers[class as usize].generation;
        let remote = 1.0 - traffic.locality;
        let mut network = latency(MessageClass::Request);
        if remote < 1.0 {
            network += traffic.locality * latency(MessageClass::ReplyLocal);
        }
        if remote > 0.0 {
            network +=
                remote * (latency(MessageClass::Forward) + latency(MessageClass::ReplyRemote));
        }
        put("read.network".to_owned(), network);
        let tails = (1.0 + remote) * (traffic.request.mean - 1.0) + traffic.reply.mean - 1.0;
        let software = (2.0 + remote) * startup;
        put(
            "read.response".to_owned(),
            network + tails + device(READS, traffic.reply.mean) + software,
        );
    }
    if traffic.io_probability * (1.0 - traffic.read_ratio) > 0.0 {
        let network = headers[MessageClass::Write as usize].generation;
        put("write.network".to_owned(), network);
        let data = traffic.write.mean - traffic.request.mean;
        let tail = traffic.write.mean - 1.0;
        put(
            "write.response".to_owned(),
            network + tail + device(WRITES, data) + startup,
        );
    }
    measures
}

/// Return the mean utilisation of the channels of each kind: the share of time in which flits move.
pub(super) fn utilisation(machine: &Machine, solution: &Solution) -> BTreeMap<String, f64> {
    use isthmus_machine::hypercube::ChannelKind as Kind;
    let (pes, io_nodes) = (
        f64::from(machine.cube().node_count()),
        f64::from(machine.placement().io_node_count()),
    );
    let mut sums: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for used in &solution.channels {
        // Determine the kind of the channel in results, and the number of such channels; of links, the number in each
        // dimension. A class I PE (one with an I/O node) has one link out and one in per dimension.
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
