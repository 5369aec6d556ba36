//! Devices behind the I/O servers: the jobs that use them, their capacity and their utilisation.

use super::{Message, is_io, stores};
use crate::devices::{self, DEVICE as DEVICE_TABLE};
use isthmus_experiment::capacity::number;
use isthmus_experiment::subject::{Counted, Counts, Occupancy, occupancy};
use isthmus_experiment::uses::{Part, find_bottleneck};
use isthmus_kernel::Cycles;
use isthmus_machine::storage::{Model, StationCount, model};
use isthmus_scenario::format::{Reason, Watch};
use isthmus_units::Bytes;
use isthmus_workload::jobs::spec::{Job, JobsTraffic, Sizes, Spread};
use isthmus_workload::jobs::{Layout, Pair};
use isthmus_workload::storage::StorageSpec;
use std::collections::BTreeMap;

pub(crate) use isthmus_machine::storage::Access;

/// Word by which results name the devices behind I/O servers.
pub(crate) const DEVICE: &str = "device";

/// Minimum length of a run whose stability is judged, in multiples of the time that a message needs at an idle
/// (otherwise unused) device. The judgement compares the two halves of a run, so initial filling must end well within
/// the first half.
const ALONE_MIN: f64 = 5.0;

/// Recommended length of a run with burst buffers, in multiples of the time in which a burst buffer fills.
const FILLS_MIN: f64 = 3.0;

/// Relative difference below which two rates are treated as equal, because of rounding.
const ROUNDING: f64 = 1e-9;

/// Number of equally likely message sizes that represent a distribution of sizes.
const SIZE_SAMPLES: u32 = 512;

/// Return the active jobs that use devices, each with its index among all jobs and its messages.
fn device_jobs<'t>(
    traffic: &'t JobsTraffic,
    layout: &'t Layout,
) -> impl Iterator<Item = (usize, &'t Job, Message)> {
    let jobs = traffic.jobs.iter().enumerate();
    let active = jobs.filter(move |(_, job)| job.active && stores(traffic, layout, job));
    active.filter_map(|(number, job)| Some((number, job, Message::of(job)?)))
}

/// Time in ns for which the messages of one job use a device.
#[derive(Debug, Clone, Copy, Default)]
struct DeviceTime {
    /// Time in ns per byte for which each kind of station of a device, such as cache or disk, is busy.
    per_byte: [f64; 4],
    /// Time of all requests of a message in ns, if they are served one after another.
    sequential: f64,
}

/// The device with the highest ratio of demand to supply.
pub(crate) struct BusiestDevice {
    /// Index of the device among the devices of all servers.
    pub place: usize,
    /// Bandwidth that jobs demand of the device, in GB/s.
    pub demand: f64,
    /// Bandwidth that the device can supply, in GB/s.
    pub supply: f64,
    /// Explanation of the supply in words.
    pub basis: String,
    /// Note for the reader on the first part of a run, in which the bandwidth of the device does not limit the jobs
    /// yet, for example while a burst buffer fills.
    pub remark: Option<String>,
}

/// Devices behind the I/O servers of a machine.
pub(crate) struct Devices {
    model: Model,
    spec: StorageSpec,
    tick_ns: f64,
    /// Maximum number of bytes of one request; a longer message is split into several requests.
    request: u64,
    /// Maximum number of requests of one message in flight at a time.
    at_once: u32,
}

impl Devices {
    /// Return the devices that `spec` describes, or `None` if there are none. A tick lasts `tick_us` microseconds.
    pub(crate) fn of(tick_us: f64, spec: &StorageSpec) -> Option<Self> {
        Some(Self {
            model: model(spec, tick_us)?,
            spec: *spec,
            tick_ns: tick_us * 1e3,
            request: u64::MAX,
            at_once: 1,
        })
    }

    /// Return the same devices for messages that are split: a message longer than `request` arrives as several
    /// requests, of which at most `at_once` are in flight.
    pub(crate) fn split_requests(self, request: Bytes, at_once: u32) -> Self {
        Self {
            request: request.get(),
            at_once,
            ..self
        }
    }

    /// Return the requests of a message of `size` bytes, as pairs: a number of requests, and the bytes of each of
    /// them.
    fn requests(&self, size: u64) -> impl Iterator<Item = (u64, u64)> {
        let (whole, rest) = (size / self.request, size % self.request);
        let requests = [(whole, self.request), (u64::from(rest > 0), rest)];
        requests.into_iter().filter(|&(times, _)| times > 0)
    }

    /// Return the device time of the messages of a job, weighted by its shares of reads and writes. The result is a
    /// mean over equally likely sizes, so it is valid for any dependence of the device time on the size.
    fn served(&self, message: &Message) -> DeviceTime {
        let sizes = sizes(message.sizes);
        let bytes: f64 = sizes.iter().map(|&bytes| bytes as f64).sum();
        let mut served = DeviceTime::default();
        for (access, part) in [
            (Access::Read, message.reads),
            (Access::Write, 1.0 - message.reads),
        ] {
            for (times, size) in sizes.iter().flat_map(|&size| self.requests(size)) {
                let (times, work) = (times as f64, self.model.work(access, size));
                for (sum, each) in served.per_byte.iter_mut().zip(work.each) {
                    *sum += part * times * each * self.tick_ns / bytes;
                }
                served.sequential += part * times * work.alone * self.tick_ns / sizes.len() as f64;
            }
        }
        served
    }

    /// Return the busy time of each kind of station per byte that a job moves, in ns.
    fn per_byte(&self, message: &Message) -> [f64; 4] {
        self.served(message).per_byte
    }

    /// Return a lower bound of the mean time of a message on an idle machine, in ns. `network` returns the ticks
    /// that a request of a number of bytes spends outside its device. At most `at_once` requests are in flight, and
    /// a station serves one request at a time.
    pub(crate) fn least_ns(&self, message: &Message, network: impl Fn(Access, u64) -> f64) -> f64 {
        let sizes = sizes(message.sizes);
        let mut least = 0.0;
        for (access, part) in [
            (Access::Read, message.reads),
            (Access::Write, 1.0 - message.reads),
        ] {
            for &size in &sizes {
                let ticks = self.least_ticks(access, size, &network);
                least += part * ticks * self.tick_ns / sizes.len() as f64;
            }
        }
        least
    }

    /// Return a lower bound of the time of one message of `size` bytes on an idle machine, in ticks.
    fn least_ticks(&self, access: Access, size: u64, network: impl Fn(Access, u64) -> f64) -> f64 {
        let (mut total, mut longest) = (0.0, 0.0_f64);
        let (mut station, mut least_network) = (0.0, f64::INFINITY);
        for (times, bytes) in self.requests(size) {
            let (times, work) = (times as f64, self.model.work(access, bytes));
            let network_ticks = network(access, bytes);
            let alone = network_ticks + work.alone;
            total += times * alone;
            longest = longest.max(alone);
            station += times * work.held;
            least_network = least_network.min(network_ticks);
        }
        (total / f64::from(self.at_once))
            .max(longest)
            .max(least_network + station)
    }

    /// Explain in words how the supply of a device follows from its description, for the messages of the first job.
    pub(crate) fn basis(&self, traffic: &JobsTraffic, layout: &Layout) -> String {
        let Some((.., message)) = device_jobs(traffic, layout).next() else {
            return String::new();
        };
        let ms = number(self.served(&message).sequential / 1e6);
        let size = message.sizes.mean;
        match self.spec {
            StorageSpec::None => String::new(),
            StorageSpec::Disk(_) => format!("{ms} ms for a message of {size}"),
            StorageSpec::Cache { hit_rate, .. } => format!(
                "{ms} ms for a message of {size}, of which {}% end in the cache",
                number(hit_rate * 100.0)
            ),
            StorageSpec::Array { disks, .. } => {
                format!("{disks} disks, {ms} ms each for its part of a message of {size}")
            }
            StorageSpec::BurstBuffer { drain, .. } => format!("a drain of {drain}"),
        }
    }

    /// Return the device with the highest ratio of demand to supply among `places` devices, or `None` if no job uses
    /// a device. A client of a closed loop demands at most `alone` GB/s. `place` maps a server to the index of its
    /// device.
    pub(crate) fn fullest(
        &self,
        traffic: &JobsTraffic,
        layout: &Layout,
        alone: f64,
        places: u32,
        place: impl Fn(u32) -> usize,
    ) -> Option<BusiestDevice> {
        let mut demands = vec![(0.0, [0.0; 4]); places as usize];
        for (number, job, message) in device_jobs(traffic, layout) {
            let per_byte = self.per_byte(&message);
            let rate = message.offered.unwrap_or(alone);
            for Pair { other, of, .. } in layout.pairs(number, job) {
                let each = rate / of as f64;
                let (data, busy) = &mut demands[place(other)];
                *data += each;
                for (busy, ns) in busy.iter_mut().zip(per_byte) {
                    *busy += each * ns;
                }
            }
        }
        let most = |busy: [f64; 4]| busy.into_iter().fold(0.0, f64::max);
        let all = demands.into_iter().map(|(data, busy)| (data, most(busy)));
        // The first of several equally busy devices is chosen.
        let (place, (demand, busy)) = (all.enumerate().rev())
            .max_by(|(_, (_, a)), (_, (_, b))| a.total_cmp(b))
            .filter(|&(_, (_, busy))| busy > 0.0)?;
        Some(BusiestDevice {
            place,
            demand,
            supply: demand / busy,
            basis: self.basis(traffic, layout),
            remark: self.remark(traffic, layout),
        })
    }

    /// Return a remark on how long a burst buffer accepts writes faster than it drains.
    pub(crate) fn remark(&self, traffic: &JobsTraffic, layout: &Layout) -> Option<String> {
        let written = written(traffic, layout);
        let StorageSpec::BurstBuffer {
            capacity,
            absorb,
            drain,
        } = self.spec
        else {
            return None;
        };
        let surplus =
            written.min(absorb.bits_per_s() as f64 / 8e9) - drain.bits_per_s() as f64 / 8e9;
        let fills = fill_ns(&self.spec, written)?;
        Some(format!(
            "A burst buffer of {capacity} is full after {} s of {} MB/s more than it drains; then writes go \
             at {drain}.",
            number(fills / 1e9),
            number(surplus * 1e3),
        ))
    }

    /// Return the minimum number of ticks of a run whose stability is judged.
    pub(crate) fn ticks_min(&self, traffic: &JobsTraffic, layout: &Layout) -> Cycles {
        let alone =
            device_jobs(traffic, layout).map(|(.., message)| self.least_ns(&message, |_, _| 0.0));
        (ALONE_MIN * alone.fold(0.0, f64::max) / self.tick_ns).ceil() as Cycles
    }

    /// Return the recommended number of ticks of a run. It is long enough to fill a burst buffer, which accepts any
    /// load until it is full.
    pub(crate) fn ticks_wanted(&self, traffic: &JobsTraffic, layout: &Layout) -> Cycles {
        let fills = fill_ns(&self.spec, written(traffic, layout)).unwrap_or(0.0);
        (FILLS_MIN * fills / self.tick_ns).ceil() as Cycles
    }
}

/// Return the time in which writes of `written` bytes per ns fill a burst buffer, in ns; `None` if it never fills.
fn fill_ns(spec: &StorageSpec, written: f64) -> Option<f64> {
    let &StorageSpec::BurstBuffer {
        capacity,
        absorb,
        drain,
    } = spec
    else {
        return None;
    };
    let [absorb, drain] = [absorb, drain].map(|rate| rate.bits_per_s() as f64 / 8e9);
    let surplus = written.min(absorb) - drain;
    (surplus > ROUNDING * drain).then(|| capacity.get() as f64 / surplus)
}

/// Return equally likely message sizes, in bytes, that represent the distribution `sizes`.
fn sizes(sizes: Sizes) -> Vec<u64> {
    let mean = sizes.mean.get() as f64;
    let whole = |bytes: f64| (bytes.round() as u64).max(1);
    let at = |n: u32| (f64::from(n) + 0.5) / f64::from(SIZE_SAMPLES);
    match sizes.spread {
        Spread::Fixed => vec![sizes.mean.max(Bytes::new(1)).get()],
        Spread::Exponential => (0..SIZE_SAMPLES)
            .map(|n| whole(-mean * (-at(n)).ln_1p()))
            .collect(),
        Spread::Uniform => (0..SIZE_SAMPLES)
            .map(|n| whole(2.0 * mean * at(n)))
            .collect(),
    }
}

/// Return an entry of the results for the device of each server: the utilisation of its busiest station, such as its
/// disk. `first` is the index of the first of these devices among the counted devices.
pub(crate) fn parts(
    counted: &[Counted],
    first: usize,
    servers: &[u32],
    tick_us: f64,
    spec: &StorageSpec,
) -> Vec<Part> {
    let Some(model) = model(spec, tick_us) else {
        return Vec::new();
    };
    let (lanes, kinds) = model.stations();
    let of_server = |(number, &server): (usize, &u32)| {
        let stations: Vec<Part> = (0..kinds)
            .map(|kind| {
                let at = first + number * kinds + kind;
                let station = |counts: &Counts| counts.devices[at];
                let (busy, by) = occupancy(counted, tick_us, lanes as u32, station);
                Part {
                    kind: DEVICE.to_owned(),
                    from: server,
                    to: None,
                    utilisation: busy,
                    busy,
                    held: Some(by),
                    let_through: None,
                }
            })
            .collect();
        find_bottleneck(&stations).or(stations.first()).cloned()
    };
    servers.iter().enumerate().filter_map(of_server).collect()
}

/// Convert the counts of the stations (parts of devices, such as caches and disks) of a simulation to occupancies,
/// which say for how long each was busy.
pub(crate) fn counts(counted: Vec<StationCount>) -> Vec<Occupancy> {
    let stations = counted.into_iter();
    stations
        .map(|station| Occupancy {
            cycles: station.cycles,
            times: station.times,
            asked: station.asked,
        })
        .collect()
}

/// Return the highest write load that open-loop jobs offer to one server, in bytes per ns.
fn written(traffic: &JobsTraffic, layout: &Layout) -> f64 {
    let mut written = BTreeMap::<u32, f64>::new();
    for (number, job, message) in device_jobs(traffic, layout) {
        let Some(rate) = message.offered else {
            continue;
        };
        for Pair { other, of, .. } in layout.pairs(number, job) {
            *written.entry(other).or_default() += rate * (1.0 - message.reads) / of as f64;
        }
    }
    written.into_values().fold(0.0, f64::max)
}

/// Return whether any active job reads from I/O servers or writes to them, on a machine of `nodes` nodes.
pub(crate) fn is_used(traffic: &JobsTraffic, nodes: u32) -> bool {
    // Report nothing here: the check of the jobs has already reported a wrong layout.
    let Ok(layout) = Layout::new(traffic, nodes) else {
        return false;
    };
    let mut jobs = traffic.jobs.iter();
    jobs.any(|job| job.active && is_io(&layout, job))
}

/// Return the keys of the scenario fields that decide whether jobs use I/O servers. A message that a field has no
/// effect, because no job uses them, lists these fields as possible causes.
pub(crate) fn causes(watch: &Watch<'_>) -> Vec<String> {
    let names = watch.settings().names().iter();
    let of_jobs = names.flat_map(|name| {
        ["traffic", "read_ratio", "hot_node"].map(|field| format!("workload.jobs.{name}.{field}"))
    });
    let of_all = [
        "active",
        "servers.placement",
        "servers.count",
        "servers.stride",
        "servers.offset",
        "servers.nodes",
    ]
    .map(|field| format!("workload.{field}"));
    of_jobs.chain(of_all).collect()
}

/// Report to `watch` the fields of devices behind I/O servers that have no effect on a machine of `nodes` nodes.
pub(crate) fn watch(watch: &mut Watch<'_>, traffic: &JobsTraffic, nodes: u32) {
    devices::watch(watch, &traffic.storage, DEVICE_TABLE);
    let causes = causes(watch);
    let causes: Vec<&str> = causes.iter().map(String::as_str).collect();
    watch.field(
        &format!("{DEVICE_TABLE}.kind"),
        (!is_used(traffic, nodes)).then(|| Reason {
            problem: "it has no effect: no job reads from or writes to an I/O server".to_owned(),
            hint: "remove it, or add a job with traffic = \"io\" or \"checkpoint\"".to_owned(),
            causes: &causes,
        }),
    );
}
