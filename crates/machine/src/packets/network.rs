//! Conversion of the description of links, switches and interfaces to the parameters ([`Rules`]) of the packet
//! engine.

use super::spec::{Age, NetworkSpec, Switching};
use isthmus_kernel::Cycles;
use isthmus_packet::routes::{LENGTH_MAX, Routes};
use isthmus_packet::{AgeFrom, Interface, Late, Outputs, Rules};
use isthmus_units::{Bandwidth, Bytes, Time};
use thiserror::Error;

/// Reason why a network is invalid.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NetworkError {
    /// The packet engine rejects the parameters.
    #[error(transparent)]
    Engine(#[from] isthmus_packet::Error),
    /// A bandwidth at which a byte does not take a whole number of picoseconds.
    #[error("at {0} a byte takes no whole number of picoseconds")]
    Bandwidth(Bandwidth),
    /// A length that is too large for the engine.
    #[error("{0} is too long; packets have at most 4 GB")]
    TooLong(Bytes),
    /// A link delay that is too large for the engine.
    #[error("a link of {delay} is too long; at {tick} a tick it may take {most} at most")]
    Delay {
        /// Signal delay of the link.
        delay: Time,
        /// Unit of time of the engine.
        tick: Time,
        /// Largest delay for which a simulation is possible with this tick.
        most: Time,
    },
}

/// Parameters of links, switches and interfaces, in the units of time and length of the packet engine.
#[derive(Debug, Clone)]
pub struct Network {
    spec: NetworkSpec,
    /// Unit of time of the engine: the greatest common divisor of all times of the description.
    tick: Time,
    /// Time to transmit one byte over a link.
    byte: Time,
}

impl Network {
    /// Convert the description `spec` of links, switches and interfaces.
    ///
    /// # Errors
    /// If parameters contradict one another, or values are out of the engine's range.
    pub fn new(spec: &NetworkSpec) -> Result<Self, NetworkError> {
        Self::with_delays(spec, &[])
    }

    /// Convert the description `spec` for a network whose links have these signal delays.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_delays(spec: &NetworkSpec, delays: &[Time]) -> Result<Self, NetworkError> {
        let bits_per_s = spec.bandwidth.bits_per_s();
        let byte = Time::from_ps(8_000_000_000_000u64.checked_div(bits_per_s).unwrap_or(0));
        if byte.ps() == 0 || byte.ps() * bits_per_s != 8_000_000_000_000 {
            return Err(NetworkError::Bandwidth(spec.bandwidth));
        }
        let network = Self {
            spec: *spec,
            tick: Time::from_ps(
                (times(spec).chain(delays.iter().map(|time| time.ps()))).fold(byte.ps(), gcd),
            ),
            byte,
        };
        for length in [spec.nic.payload, spec.nic.overhead, spec.nic.padding] {
            if u32::try_from(length.get()).is_err() {
                return Err(NetworkError::TooLong(length));
            }
        }
        let most = Time::from_ps(network.tick.ps().saturating_mul(LENGTH_MAX));
        if let Some(&delay) = delays.iter().find(|&&delay| delay > most) {
            let tick = network.tick;
            return Err(NetworkError::Delay { delay, tick, most });
        }
        network.rules(1, 1).check()?;
        Ok(network)
    }

    /// Return the description of the network.
    pub fn spec(&self) -> &NetworkSpec {
        &self.spec
    }

    /// Return the length of a tick, the unit of time of the engine.
    pub fn tick(&self) -> Time {
        self.tick
    }

    /// Return the length of a tick in microseconds.
    pub fn tick_us(&self) -> f64 {
        self.tick.us()
    }

    /// Return `time` rounded to whole ticks.
    pub fn ticks(&self, time: Time) -> Cycles {
        (time.ps() as f64 / self.tick.ps() as f64).round() as Cycles
    }

    /// Check that the packet engine supports these routes on this network.
    ///
    /// # Errors
    /// If the engine refuses the routes.
    pub fn check_on(&self, routes: &impl Routes) -> Result<(), NetworkError> {
        Ok(self.rules(1, routes.classes()).check_on(routes)?)
    }

    /// Return the parameters of the packet engine, for `queues` processes per node and virtual channels that are
    /// divided among `classes` classes.
    pub(crate) fn rules(&self, queues: u32, classes: u32) -> Rules {
        let spec = &self.spec;
        let (nic, ticks) = (&spec.nic, |time| self.ticks(time));
        // Convert a length; it fits, since lengths were checked when the machine was built.
        let bytes = |length: Bytes| u32::try_from(length.get()).unwrap_or(u32::MAX);
        let mut rules = Rules {
            byte: ticks(self.byte),
            hop: ticks(spec.switch_latency),
            acknowledge: 0,
            acknowledge_hop: 0,
            channels: spec.virtual_channels / classes.max(1),
            switching: isthmus_packet::Switching::Circuit {
                in_flight: nic.packets_in_flight,
            },
            adaptive: spec.readings.adaptive,
            age: isthmus_packet::Age {
                from: match spec.age {
                    Age::PerSwitch => AgeFrom::Request,
                    Age::Saturating { .. } | Age::Unlimited => spec.readings.age_from,
                },
                saturates: match spec.age {
                    Age::Saturating { limit } => Some(ticks(limit)),
                    Age::PerSwitch | Age::Unlimited => None,
                },
                tie: spec.readings.age_tie,
            },
            late: spec.late.map(|late| Late {
                older_than: ticks(late.after),
                extra: ticks(late.cost),
            }),
            payload: bytes(nic.payload),
            overhead: bytes(nic.overhead),
            block: bytes(nic.padding),
            interface: Interface {
                queues,
                start: ticks(nic.software_latency),
                packet: ticks(nic.dma_period),
                packet_block: ticks(nic.dma_block),
                receive: ticks(nic.receive_delay),
                slice: nic.dma_slice,
                request: bytes(nic.request),
                turnaround: ticks(nic.read_turnaround),
            },
        };
        match spec.switching {
            Switching::Circuit {
                acknowledgement,
                acknowledgement_hop,
            } => {
                rules.acknowledge = ticks(acknowledgement);
                rules.acknowledge_hop = ticks(acknowledgement_hop);
            }
            Switching::CutThrough {
                buffer,
                credit,
                output_buffer,
                speedup,
            } => {
                let packet = rules.wire_bytes(nic.payload.get());
                let bytes_of = |slots: u32| {
                    let bytes = u64::from(slots) * packet;
                    u32::try_from(bytes).unwrap_or(u32::MAX)
                };
                rules.switching = isthmus_packet::Switching::CutThrough {
                    buffer: bytes_of(buffer / spec.virtual_channels.max(1)),
                    credit: ticks(credit),
                    outputs: (output_buffer > 0).then(|| Outputs {
                        buffer: bytes_of(output_buffer),
                        speedup,
                    }),
                };
            }
        }
        rules
    }
}

/// Return all times that occur in the description of a network, in picoseconds.
fn times(spec: &NetworkSpec) -> impl Iterator<Item = u64> {
    let nic = &spec.nic;
    let mut times = vec![
        spec.switch_latency,
        nic.dma_period,
        nic.dma_block,
        nic.receive_delay,
        nic.software_latency,
        nic.read_turnaround,
    ];
    match spec.switching {
        Switching::Circuit {
            acknowledgement,
            acknowledgement_hop,
        } => times.extend([acknowledgement, acknowledgement_hop]),
        Switching::CutThrough { credit, .. } => times.push(credit),
    }
    if let Age::Saturating { limit } = spec.age {
        times.push(limit);
    }
    if let Some(late) = spec.late {
        times.extend([late.after, late.cost]);
    }
    times.into_iter().map(Time::ps)
}

/// Return the greatest common divisor of two numbers.
fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
