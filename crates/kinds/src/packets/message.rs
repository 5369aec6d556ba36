//! The messages of jobs whose nodes send on their own: how long, how often, and what one takes alone.

use isthmus_analytic::fattree::Rules;
use isthmus_machine::packets::spec::NetworkSpec;
use isthmus_units::{Bytes, Time};
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
    /// Per node in GB/s, of those that do not wait for what they get.
    pub offered: Option<f64>,
}

impl Message {
    pub fn of(job: &Job) -> Option<Self> {
        let fixed = |mean: Bytes| Sizes {
            mean,
            spread: Spread::Fixed,
        };
        let think = |arrivals: &Arrivals| match arrivals {
            Arrivals::Closed { think } => *think,
            Arrivals::Open { .. } => Time::ZERO,
        };
        let (sizes, reads, think) = match &job.traffic {
            Traffic::Io(io) => (io.sizes, io.read_ratio, think(&io.arrivals)),
            Traffic::Uniform { sizes, arrivals }
            | Traffic::Shift {
                sizes, arrivals, ..
            } => (*sizes, 0.0, think(arrivals)),
            Traffic::Checkpoint { message, .. } => (fixed(*message), 0.0, Time::ZERO),
            Traffic::Ping { message, pause, .. } => (fixed(*message), 0.0, *pause),
            Traffic::AllToAll { .. } | Traffic::AllReduce { .. } | Traffic::Neighbours { .. } => {
                return None;
            }
        };
        Some(Self {
            sizes,
            bytes: sizes.mean.get() as f64,
            reads,
            think_ns: ns(think),
            offered: limit(job),
        })
    }

    /// Mean number of packets of so much data each.
    pub fn packets(&self, payload: f64) -> f64 {
        let ratio = self.bytes / payload;
        match self.sizes.spread {
            Spread::Fixed => ratio.ceil().max(1.0),
            Spread::Exponential => -1.0 / (-1.0 / ratio).exp_m1(),
            Spread::Uniform => {
                // Of a number uniform from 0 to 2 r, rounded up.
                let (most, whole) = (2.0 * ratio, (2.0 * ratio).floor());
                (whole * (whole + 1.0) / 2.0 + (most - whole) * (whole + 1.0)) / most
            }
        }
    }

    /// Mean of its data when each packet is padded to a multiple of a block.
    pub fn padded(&self, block: f64) -> f64 {
        match self.sizes.spread {
            _ if block <= 1.0 => self.bytes,
            Spread::Fixed => (self.bytes / block).ceil() * block,
            Spread::Exponential | Spread::Uniform => self.packets(block) * block,
        }
    }

    /// What one takes over so many switches, with nothing in its way.
    pub fn times(&self, network: &NetworkSpec, rules: &Rules, switches: f64) -> Times {
        let Rules { link, interface } = rules;
        let nic = &network.nic;
        let packets = self.packets(interface.payload);
        let data = self.padded(interface.padding);
        let wire = (data + packets * interface.overhead) / link.bandwidth;
        let blocks = data / interface.padding.max(1.0);
        let engine = packets * ns(nic.dma_period) + blocks * ns(nic.dma_block);
        // A circuit is held for its packet, its way and the acknowledgement.
        let way = switches * link.switch_ns;
        let back = switches * link.acknowledgement_switch_ns + link.acknowledgement_ns;
        let circuits = interface.in_flight.min(link.circuits);
        let transfer = wire
            .max(engine)
            .max((wire + packets * (way + back)) / circuits);
        Times {
            wire,
            engine,
            received: (packets * interface.receive_ns).min(transfer),
            transfer,
            // The last packet is on its way as soon as it is out, when the engine or the circuit is not yet free.
            turn: if transfer > wire {
                let last = self.last_ns(rules, wire / packets);
                (self.turn_ns(network, rules, switches) - (transfer / packets - last)).max(0.0)
            } else {
                self.turn_ns(network, rules, switches)
            },
        }
    }

    /// The last packet on a link: what the others have left over; the `mean` of all where lengths vary.
    fn last_ns(&self, rules: &Rules, mean: f64) -> f64 {
        let Rules { link, interface } = rules;
        if !matches!(self.sizes.spread, Spread::Fixed) {
            return mean;
        }
        let others = self.packets(interface.payload) - 1.0;
        let left = self.padded(interface.padding) - others * interface.payload;
        (left + interface.overhead) / link.bandwidth
    }

    /// What one needs beside its transfer: to be handed over, the way of its head, and that of the last
    /// acknowledgement, or of the request of a read and its turnaround.
    pub fn turn_ns(&self, network: &NetworkSpec, rules: &Rules, switches: f64) -> f64 {
        let link = &rules.link;
        let nic = &network.nic;
        let way = switches * link.switch_ns;
        let back = switches * link.acknowledgement_switch_ns + link.acknowledgement_ns;
        let request = rules.packet_ns(nic.request.get() as f64) + way + ns(nic.read_turnaround);
        rules.interface.software_ns + way + (1.0 - self.reads) * back + self.reads * request
    }
}

/// Times of a message, in ns.
pub(crate) struct Times {
    /// Its packets on a link.
    pub wire: f64,
    /// Its packets in the DMA engine that sends them.
    pub engine: f64,
    /// By which it delays the engine that receives it, if that is busy.
    pub received: f64,
    /// From its first byte to its last at one place.
    pub transfer: f64,
    /// What is left of [`Message::turn_ns`] when the interface is free for the next.
    pub turn: f64,
}

/// What each client asks for in GB/s, where that does not follow what it gets.
pub(crate) fn limit(job: &Job) -> Option<f64> {
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

pub(crate) fn ns(time: Time) -> f64 {
    time.ps() as f64 / 1e3
}
