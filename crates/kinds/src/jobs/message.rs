//! Lengths and rates of messages, for jobs whose nodes send independently.

use isthmus_units::Time;
use isthmus_workload::jobs::spec::{Arrivals, Job, Sizes, Spread, Traffic};

/// Lengths and rates of the messages of a job whose nodes send independently of each other.
pub(crate) struct Message {
    pub sizes: Sizes,
    /// Mean length of a message in bytes.
    pub bytes: f64,
    /// Share of messages that are reads.
    pub reads: f64,
    /// Mean think time: from the end of a message until its client requests the next, in ns.
    pub think_ns: f64,
    /// Whether the think time is constant.
    pub think_is_fixed: bool,
    /// Offered load per node in GB/s; `None` for a closed loop.
    pub offered: Option<f64>,
    /// Whether messages arrive as a Poisson process, with exponential gaps.
    pub is_poisson: bool,
}

impl Message {
    /// Return the lengths and rates of the messages of a job, or `None` if its nodes wait for messages from each other.
    pub fn of(job: &Job) -> Option<Self> {
        let fixed = |think| (think, Spread::Fixed);
        let think = |arrivals: &Arrivals| match arrivals {
            Arrivals::Closed { think, spread } => (*think, *spread),
            Arrivals::Open { .. } => fixed(Time::ZERO),
        };
        let (sizes, reads, (think, spread)) = match &job.traffic {
            Traffic::Io(io) => (io.sizes, io.read_ratio, think(&io.arrivals)),
            Traffic::Uniform { sizes, arrivals }
            | Traffic::Shift {
                sizes, arrivals, ..
            } => (*sizes, 0.0, think(arrivals)),
            Traffic::Checkpoint { message, .. } => (Sizes::fixed(*message), 0.0, fixed(Time::ZERO)),
            Traffic::Ping { message, pause, .. } => (Sizes::fixed(*message), 0.0, fixed(*pause)),
            Traffic::AllToAll { .. }
            | Traffic::AllReduce { .. }
            | Traffic::Neighbours { .. }
            | Traffic::Listed { .. } => return None,
        };
        Some(Self {
            sizes,
            bytes: sizes.mean.get() as f64,
            reads,
            think_ns: ns(think),
            think_is_fixed: spread == Spread::Fixed,
            offered: offered(job),
            is_poisson: is_poisson(job),
        })
    }

    /// Return the mean number of packets of a message, each with up to `payload` bytes.
    pub fn packets(&self, payload: f64) -> f64 {
        packets(self.sizes, payload)
    }

    /// Return the mean bytes of a message if the data of its packets is padded to a multiple of `block` bytes.
    pub fn padded(&self, block: f64) -> f64 {
        match self.sizes.spread {
            _ if block <= 1.0 => self.bytes,
            Spread::Fixed => (self.bytes / block).ceil() * block,
            Spread::Exponential | Spread::Uniform => self.packets(block) * block,
        }
    }
}

/// Return the mean number of packets of a message for this distribution of sizes, each packet with up to `payload`
/// bytes.
pub(super) fn packets(sizes: Sizes, payload: f64) -> f64 {
    let ratio = sizes.mean.get() as f64 / payload;
    match sizes.spread {
        Spread::Fixed => ratio.ceil().max(1.0),
        Spread::Exponential => -1.0 / (-1.0 / ratio).exp_m1(),
        Spread::Uniform => {
            // Return the mean of a number that is uniform from 0 to 2 `ratio` and rounded up.
            let (most, whole) = (2.0 * ratio, (2.0 * ratio).floor());
            (whole * (whole + 1.0) / 2.0 + (most - whole) * (whole + 1.0)) / most
        }
    }
}

/// Return the offered load of each client in GB/s, or `None` for a closed loop.
fn offered(job: &Job) -> Option<f64> {
    let open = |arrivals: &Arrivals| match arrivals {
        Arrivals::Open { load, .. } => Some(load.bits_per_s() as f64 / 8e9),
        Arrivals::Closed { .. } => None,
    };
    match &job.traffic {
        Traffic::Io(io) => open(&io.arrivals),
        Traffic::Uniform { arrivals, .. } | Traffic::Shift { arrivals, .. } => open(arrivals),
        Traffic::Checkpoint { period, volume, .. } => {
            Some(volume.get() as f64 / (period.seconds() * 1e9))
        }
        _ => None,
    }
}

/// Return whether a job is an open loop with exponential gaps between messages.
fn is_poisson(job: &Job) -> bool {
    let arrivals = match &job.traffic {
        Traffic::Io(io) => &io.arrivals,
        Traffic::Uniform { arrivals, .. } | Traffic::Shift { arrivals, .. } => arrivals,
        _ => return false,
    };
    matches!(
        arrivals,
        Arrivals::Open {
            gaps: Spread::Exponential,
            ..
        }
    )
}

/// Convert a time to ns.
pub(crate) fn ns(time: Time) -> f64 {
    time.ps() as f64 / 1e3
}
