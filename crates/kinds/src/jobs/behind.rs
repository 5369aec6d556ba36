//! Devices behind the I/O servers: which jobs use them, what they can do, and how busy they were.

use super::{Message, is_io, stores};
use crate::devices::{self, DEVICE as DEVICE_TABLE};
use isthmus_experiment::capacity::number;
use isthmus_experiment::subject::{Counted, Counts, Taken, taken};
use isthmus_experiment::uses::{Part, fullest};
use isthmus_kernel::Cycles;
use isthmus_machine::storage::{Model, StationCount, model};
use isthmus_scenario::format::{Reason, Watch};
use isthmus_units::Bytes;
use isthmus_workload::jobs::spec::{Job, JobsTraffic, Sizes, Spread};
use isthmus_workload::jobs::{Layout, Pair};
use isthmus_workload::storage::StorageSpec;
use std::collections::BTreeMap;

pub(crate) use isthmus_machine::storage::Access;

/// The kind of their parts, as results name it.
pub(crate) const DEVICE: &str = "device";

/// Times that a message takes alone at its device which a run must last before it is judged. The test
/// compares the two halves of a run, so that what fills at first must be full well within the first.
const ALONE_MIN: f64 = 5.0;

/// The same of the time in which a burst buffer fills.
const FILLS_MIN: f64 = 3.0;

/// Rates that differ by less than this share are the same.
const ROUNDING: f64 = 1e-9;

/// Points at which a distribution of sizes is looked at.
const SIZES: u32 = 512;

/// The active jobs that do, by their places among all, and their messages.
fn jobs<'t>(
    traffic: &'t JobsTraffic,
    layout: &'t Layout,
) -> impl Iterator<Item = (usize, &'t Job, Message)> {
    let jobs = traffic.jobs.iter().enumerate();
    let active = jobs.filter(move |(_, job)| job.active && stores(traffic, layout, job));
    active.filter_map(|(number, job)| Some((number, job, Message::of(job)?)))
}

/// What devices do for the messages of one job, in ns.
#[derive(Debug, Clone, Copy, Default)]
struct Served {
    /// For how long a byte takes a station of each kind.
    per_byte: [f64; 4],
    /// The requests of a message, one after another.
    in_turn: f64,
}

/// The device that most is asked of.
pub(crate) struct Fullest {
    pub place: usize,
    /// What it is asked to move and what it can, in GB/s.
    pub demand: f64,
    pub supply: f64,
    pub basis: String,
    /// What it does before it does that.
    pub remark: Option<String>,
}

/// The devices of a machine.
pub(crate) struct Devices {
    model: Model,
    spec: StorageSpec,
    tick_ns: f64,
    /// Most data of one request; a longer message is several.
    request: u64,
    /// Requests of a message that are under way at a time.
    at_once: u32,
}

impl Devices {
    /// Those behind the servers of a machine whose ticks have this length, if anything is.
    pub(crate) fn of(tick_us: f64, spec: &StorageSpec) -> Option<Self> {
        Some(Self {
            model: model(spec, tick_us)?,
            spec: *spec,
            tick_ns: tick_us * 1e3,
            request: u64::MAX,
            at_once: 1,
        })
    }

    /// The same where messages longer than this come in several requests, so many of them at a time.
    pub(crate) fn asked_in(self, request: Bytes, at_once: u32) -> Self {
        Self {
            request: request.get(),
            at_once,
            ..self
        }
    }

    /// The requests of a message of so many bytes: how many, and how long they are.
    fn requests(&self, size: u64) -> impl Iterator<Item = (u64, u64)> {
        let (whole, rest) = (size / self.request, size % self.request);
        let requests = [(whole, self.request), (u64::from(rest > 0), rest)];
        requests.into_iter().filter(|&(times, _)| times > 0)
    }

    /// What they do for messages of these sizes, of which such a share are reads: means over sizes that
    /// are equally likely, so that nothing depends on how a device's time follows from the size.
    fn served(&self, message: &Message) -> Served {
        let sizes = sizes(message.sizes);
        let bytes: f64 = sizes.iter().map(|&bytes| bytes as f64).sum();
        let mut served = Served::default();
        for (access, part) in [
            (Access::Read, message.reads),
            (Access::Write, 1.0 - message.reads),
        ] {
            for (times, size) in sizes.iter().flat_map(|&size| self.requests(size)) {
                let (times, work) = (times as f64, self.model.work(access, size));
                for (of, each) in served.per_byte.iter_mut().zip(work.each) {
                    *of += part * times * each * self.tick_ns / bytes;
                }
                served.in_turn += part * times * work.alone * self.tick_ns / sizes.len() as f64;
            }
        }
        served
    }

    /// For how long a byte of a job takes a station of each kind, in ns.
    fn per_byte(&self, message: &Message) -> [f64; 4] {
        self.served(message).per_byte
    }

    /// The least that a message takes on average with nothing else about, in ns, where a request of so many
    /// bytes takes the ticks that `network` says beside its device: only so many requests go at a time, and a
    /// station serves one after another.
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

    fn least_ticks(&self, access: Access, size: u64, network: impl Fn(Access, u64) -> f64) -> f64 {
        let (mut all, mut longest) = (0.0, 0.0_f64);
        let (mut held, mut way) = (0.0, f64::INFINITY);
        for (times, bytes) in self.requests(size) {
            let (times, work) = (times as f64, self.model.work(access, bytes));
            let beside = network(access, bytes);
            let alone = beside + work.alone;
            all += times * alone;
            longest = longest.max(alone);
            held += times * work.held;
            way = way.min(beside);
        }
        (all / f64::from(self.at_once)).max(longest).max(way + held)
    }

    /// How that follows from the description, for the messages of the first of the jobs.
    pub(crate) fn basis(&self, traffic: &JobsTraffic, layout: &Layout) -> String {
        let Some((.., message)) = jobs(traffic, layout).next() else {
            return String::new();
        };
        let ms = number(self.served(&message).in_turn / 1e6);
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

    /// The device that jobs ask most of, whose closed loops ask for no more than `alone` in GB/s, among so
    /// many; that behind a server is at a place.
    pub(crate) fn fullest(
        &self,
        traffic: &JobsTraffic,
        layout: &Layout,
        alone: f64,
        places: u32,
        place: impl Fn(u32) -> usize,
    ) -> Option<Fullest> {
        let mut asked = vec![(0.0, [0.0; 4]); places as usize];
        for (number, job, message) in jobs(traffic, layout) {
            let per_byte = self.per_byte(&message);
            let rate = message.offered.unwrap_or(alone);
            for Pair { other, of, .. } in layout.pairs(number, job) {
                let each = rate / of as f64;
                let (data, busy) = &mut asked[place(other)];
                *data += each;
                for (busy, ns) in busy.iter_mut().zip(per_byte) {
                    *busy += each * ns;
                }
            }
        }
        let most = |busy: [f64; 4]| busy.into_iter().fold(0.0, f64::max);
        let all = asked.into_iter().map(|(data, busy)| (data, most(busy)));
        // Of those alike the first.
        let (place, (demand, busy)) = (all.enumerate().rev())
            .max_by(|(_, (_, a)), (_, (_, b))| a.total_cmp(b))
            .filter(|&(_, (_, busy))| busy > 0.0)?;
        Some(Fullest {
            place,
            demand,
            supply: demand / busy,
            basis: self.basis(traffic, layout),
            remark: self.remark(traffic, layout),
        })
    }

    /// A sentence on what devices do before they do what their capacity says.
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

    /// Ticks that a run must last before it is judged.
    pub(crate) fn ticks_min(&self, traffic: &JobsTraffic, layout: &Layout) -> Cycles {
        let alone = jobs(traffic, layout).map(|(.., message)| self.least_ns(&message, |_, _| 0.0));
        (ALONE_MIN * alone.fold(0.0, f64::max) / self.tick_ns).ceil() as Cycles
    }

    /// Ticks that it should last: a burst buffer takes anything until it is full.
    pub(crate) fn ticks_wanted(&self, traffic: &JobsTraffic, layout: &Layout) -> Cycles {
        let fills = fill_ns(&self.spec, written(traffic, layout)).unwrap_or(0.0);
        (FILLS_MIN * fills / self.tick_ns).ceil() as Cycles
    }
}

/// The ns after which a burst buffer is full that is written to at so many bytes per ns; `None` if it
/// never is.
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

/// Sizes of messages that are equally likely.
fn sizes(sizes: Sizes) -> Vec<u64> {
    let mean = sizes.mean.get() as f64;
    let whole = |bytes: f64| (bytes.round() as u64).max(1);
    let at = |n: u32| (f64::from(n) + 0.5) / f64::from(SIZES);
    match sizes.spread {
        Spread::Fixed => vec![sizes.mean.max(Bytes::new(1)).get()],
        Spread::Exponential => (0..SIZES)
            .map(|n| whole(-mean * (-at(n)).ln_1p()))
            .collect(),
        Spread::Uniform => (0..SIZES).map(|n| whole(2.0 * mean * at(n))).collect(),
    }
}

/// How busy the devices were, one part each: that of its stations that was fullest. What they did
/// begins at `first` of the devices that were counted; each server has its number.
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
                let of = |counts: &Counts| counts.devices[at];
                let (busy, by) = taken(counted, tick_us, lanes as u32, of);
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
        fullest(&stations).or(stations.first()).cloned()
    };
    servers.iter().enumerate().filter_map(of_server).collect()
}

/// What was counted of the devices of a simulation.
pub(crate) fn counts(counted: Vec<StationCount>) -> Vec<Taken> {
    let stations = counted.into_iter();
    stations
        .map(|station| Taken {
            cycles: station.cycles,
            times: station.times,
            asked: station.asked,
        })
        .collect()
}

/// The most that a server is asked to take in by jobs whose load does not follow what they get, in bytes
/// per ns.
fn written(traffic: &JobsTraffic, layout: &Layout) -> f64 {
    let mut written = BTreeMap::<u32, f64>::new();
    for (number, job, message) in jobs(traffic, layout) {
        let Some(rate) = message.offered else {
            continue;
        };
        for Pair { other, of, .. } in layout.pairs(number, job) {
            *written.entry(other).or_default() += rate * (1.0 - message.reads) / of as f64;
        }
    }
    written.into_values().fold(0.0, f64::max)
}

/// Whether any job that runs reads from I/O servers or writes to them, on a machine of so many nodes.
pub(crate) fn is_used(traffic: &JobsTraffic, nodes: u32) -> bool {
    // The jobs have been laid out before.
    let Ok(layout) = Layout::new(traffic, nodes) else {
        return false;
    };
    let mut jobs = traffic.jobs.iter();
    jobs.any(|job| job.active && is_io(&layout, job))
}

/// The fields that say what jobs move, and where.
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

/// Report to `watch` the fields of devices that have no effect on a machine of so many nodes.
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
