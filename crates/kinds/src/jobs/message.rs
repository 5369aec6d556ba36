//! The messages of jobs whose nodes send on their own: how long and how often.

use isthmus_units::Time;
use isthmus_workload::jobs::spec::{Arrivals, Job, Sizes, Spread, Traffic};

/// The messages of a job whose nodes send on their own.
pub(crate) struct Message {
    pub sizes: Sizes,
    /// Their mean length.
    pub bytes: f64,
    /// Share of reads.
    pub reads: f64,
    /// Between the end of one and the next being asked for.
    pub think_ns: f64,
    /// Whether that time is always the same.
    pub think_is_fixed: bool,
    /// Per node in GB/s, of those that do not wait for what they get.
    pub offered: Option<f64>,
    /// Whether these are offered at random times: by gaps that are exponential.
    pub is_poisson: bool,
}

impl Message {
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
            offered: limit(job),
            is_poisson: is_poisson(job),
        })
    }

    /// Mean number of packets of so much data each.
    pub fn packets(&self, payload: f64) -> f64 {
        packets(self.sizes, payload)
    }

    /// Mean of its data when each packet is padded to a multiple of a block.
    pub fn padded(&self, block: f64) -> f64 {
        match self.sizes.spread {
            _ if block <= 1.0 => self.bytes,
            Spread::Fixed => (self.bytes / block).ceil() * block,
            Spread::Exponential | Spread::Uniform => self.packets(block) * block,
        }
    }
}

/// Mean number of packets of so much data each that messages of these sizes are.
pub(super) fn packets(sizes: Sizes, payload: f64) -> f64 {
    let ratio = sizes.mean.get() as f64 / payload;
    match sizes.spread {
        Spread::Fixed => ratio.ceil().max(1.0),
        Spread::Exponential => -1.0 / (-1.0 / ratio).exp_m1(),
        Spread::Uniform => {
            // Of a number uniform from 0 to 2 r, rounded up.
            let (most, whole) = (2.0 * ratio, (2.0 * ratio).floor());
            (whole * (whole + 1.0) / 2.0 + (most - whole) * (whole + 1.0)) / most
        }
    }
}

/// What each client asks for in GB/s, where that does not follow what it gets.
fn limit(job: &Job) -> Option<f64> {
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

pub(crate) fn ns(time: Time) -> f64 {
    time.ps() as f64 / 1e3
}
