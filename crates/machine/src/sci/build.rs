//! Construction of an SCI fabric from its description.

use crate::sci::spec::{CutOff, SciSpec};
use isthmus_kernel::Cycles;
use isthmus_sci::Rules;
use isthmus_topology::rings::{Fabric, RingsError, Routes, RoutesError};
use isthmus_units::{Bytes, Clock, Time};
use isthmus_workload::packets::spec::{PacketTraffic, Transaction};
use thiserror::Error;

/// Reason why a fabric cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MachineError {
    /// The rings do not form a fabric.
    #[error(transparent)]
    Rings(#[from] RingsError),
    /// The routing is not possible on this fabric.
    #[error(transparent)]
    Routes(#[from] RoutesError),
    /// The bandwidth or the length of a symbol is zero.
    #[error("{0} a symbol is no clock", .symbol)]
    NoClock {
        /// Length of a symbol.
        symbol: Bytes,
    },
    /// Faults disconnect nodes, and the description does not allow disconnected nodes.
    #[error("these faults cut off {}", listed(.nodes))]
    CutOff {
        /// The nodes without a path to the others.
        nodes: Vec<u32>,
    },
    /// The SCI engine rejects the parameters.
    #[error(transparent)]
    Engine(#[from] isthmus_sci::Error),
}

/// Return the numbers of the first nodes of a list, as text of an error message.
fn listed(nodes: &[u32]) -> String {
    let mut words: Vec<String> = nodes.iter().take(8).map(u32::to_string).collect();
    if nodes.len() > words.len() {
        words.push("...".to_owned());
    }
    let plural = if nodes.len() == 1 { "node" } else { "nodes" };
    format!("{plural} {}", words.join(", "))
}

/// Maximum data of one packet (IEEE 1596).
const PAYLOAD_MAX: Bytes = Bytes::new(256);

/// An SCI fabric with its routes, ready for simulations.
#[derive(Debug)]
pub struct Machine {
    spec: SciSpec,
    clock: Clock,
    fabric: Fabric,
    routes: Routes,
    interfaces: isthmus_sci::Fabric,
}

/// Lengths of the request and response packet of a transaction in symbols, without the idle symbol after
/// each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lengths {
    /// Length of the request packet in symbols.
    pub request: u32,
    /// Length of the response packet in symbols; `None` for a move, which has no response.
    pub response: Option<u32>,
}

impl Machine {
    /// Build the fabric that `spec` describes.
    ///
    /// # Errors
    /// If the rings do not form a fabric or do not allow the routing, or if faults disconnect nodes
    /// and the description does not allow that.
    pub fn new(spec: &SciSpec) -> Result<Self, MachineError> {
        let clock = Clock::new(spec.symbol, spec.bandwidth).ok_or(MachineError::NoClock {
            symbol: spec.symbol,
        })?;
        let fabric = Fabric::new(&spec.shape)?.with_faults(&spec.faults)?;
        if spec.cut_off == CutOff::Refuse && !fabric.cut_off().is_empty() {
            return Err(MachineError::CutOff {
                nodes: fabric.cut_off().to_vec(),
            });
        }
        let routes = Routes::new(&fabric, spec.routing)?;
        let interfaces = isthmus_sci::Fabric::new(fabric.node_count(), fabric.rings())?;
        let machine = Self {
            spec: spec.clone(),
            clock,
            fabric,
            routes,
            interfaces,
        };
        machine.rules(machine.send_symbols(PAYLOAD_MAX)).check()?;
        Ok(machine)
    }

    /// Return the description of the fabric.
    pub fn spec(&self) -> &SciSpec {
        &self.spec
    }

    /// Return the clock, which converts time and length to cycles: a link carries one symbol per cycle.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Return the length of a cycle, rounded to picoseconds. Valid descriptions have whole picoseconds.
    pub fn cycle(&self) -> Time {
        Time::from_ps((self.clock.cycle_us() * 1e6).round() as u64)
    }

    /// Return the rings of the fabric and the nodes on them.
    pub fn fabric(&self) -> &Fabric {
        &self.fabric
    }

    /// Return the routes of packets.
    pub fn routes(&self) -> &Routes {
        &self.routes
    }

    /// Return the interfaces, one for each node and ring, numbered as in the SCI engine.
    pub fn interfaces(&self) -> &isthmus_sci::Fabric {
        &self.interfaces
    }

    /// Return `time` rounded to whole cycles.
    pub fn cycles(&self, time: Time) -> Cycles {
        self.clock.cycles_exact(time).round() as Cycles
    }

    /// Return the length of a send packet with `payload` of data, in symbols, without the idle symbol that
    /// follows.
    pub fn send_symbols(&self, payload: Bytes) -> u32 {
        self.clock
            .flits(Bytes::new(self.spec.overhead.get() + payload.get()))
    }

    /// Return the length of an echo in symbols, without the idle symbol that follows.
    pub fn echo_symbols(&self) -> u32 {
        self.clock.flits(self.spec.echo)
    }

    /// Return the lengths of the request and the response of a transaction of `traffic`.
    pub fn lengths(&self, traffic: &PacketTraffic) -> Lengths {
        let (with_data, without) = (
            self.send_symbols(traffic.payload),
            self.send_symbols(Bytes::new(0)),
        );
        let (request, response) = match traffic.transaction {
            Transaction::Move => (with_data, None),
            Transaction::Read => (without, Some(with_data)),
            Transaction::Write => (with_data, Some(without)),
        };
        Lengths { request, response }
    }

    /// Return the parameters of the SCI engine for packets of up to `symbols_max` symbols.
    pub fn rules(&self, symbols_max: u32) -> Rules {
        let spec = &self.spec;
        Rules {
            hop: self.cycles(spec.hop),
            ring_change: self.cycles(spec.ring_change),
            change_from: spec.ring_change_from,
            symbols_max,
            echo: self.echo_symbols(),
            input_slots: spec.queues.input,
            output_slots: spec.queues.output,
            client_slots: spec.queues.client,
            source: spec.source,
            flow_control: spec.flow_control,
        }
    }
}
