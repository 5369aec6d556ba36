//! Simulations of hypercubes with I/O nodes, as experiments start and measure them.

use super::measures::{self, NAMES};
use super::{Built, Hypercube, HypercubeSummary, analysis, capacity, figures};
use isthmus_experiment::capacity::Capacity;
use isthmus_experiment::recorders::Recorders;
use isthmus_experiment::result::{Collapse, NodeUse};
use isthmus_experiment::subject::{
    Counted, Counts, Fate, FlowInfo, Occupancy, Overlay, RateInfo, Simulated, Subject,
};
use isthmus_experiment::uses::Uses;
use isthmus_experiment::{Flaw, Kind};
use isthmus_kernel::Cycles;
use isthmus_machine::hypercube::spec::HypercubeSpec;
use isthmus_machine::hypercube::{
    Class, Completed, Flow, Leg, Machine, MachineError, Observer, Simulation,
};
use isthmus_topology::PlacementError;
use isthmus_units::Bytes;
use isthmus_workload::spec::{Arrival, TrafficSpec};
use std::borrow::Cow;
use std::sync::Arc;

/// Minimum length of a run whose stability is judged, in zero-load round trips. The test compares the two halves of a
/// run, so initial filling must end well within the first half.
const ROUND_TRIPS_MIN: u64 = 5;

/// Flows whose backlog shows saturation: messages between PEs, and I/O demands.
const FLOWS: &[FlowInfo] = &[
    FlowInfo {
        name: Cow::Borrowed("messages"),
        sample_every: 64,
        periodic: false,
    },
    FlowInfo {
        name: Cow::Borrowed("io"),
        sample_every: 8,
        periodic: false,
    },
];

impl Kind for Hypercube {
    /// Hypercube that is ready to be simulated.
    type Built = Built;
    /// Properties of the hypercube, as the results list them.
    type Summary = HypercubeSummary;

    /// Build the hypercube that a scenario describes.
    fn build(spec: &HypercubeSpec) -> Result<Built, Flaw> {
        Ok(Built {
            spec: Arc::new(spec.clone()),
            machine: Arc::new(Machine::new(spec).map_err(flaw)?),
            limits: analysis::Limits::default(),
        })
    }

    /// Return what experiments simulate: the hypercube with its traffic. If the two do not fit, the error names the
    /// field that is wrong.
    fn subject(built: &Built, traffic: &TrafficSpec) -> Result<Arc<dyn Subject>, Flaw> {
        let io_nodes = built.machine.placement().io_node_count();
        if let Some(spot) = traffic.hot_io_node
            && spot.target >= io_nodes
        {
            return Err(Flaw {
                field: "workload.hot_io_node.target",
                problem: format!("I/O node {} does not exist", spot.target),
                hint: format!("the I/O nodes are 0 to {}", io_nodes - 1),
                line: None,
            });
        }
        Ok(Arc::new(Point {
            built: built.clone(),
            traffic: traffic.clone(),
        }))
    }

    /// Return the properties of the hypercube, as the results list them.
    fn summary(built: &Built) -> HypercubeSummary {
        figures::summary(&built.spec, &built.machine)
    }

    /// Return the names of all latencies that are measured under this workload.
    fn measures(_: &TrafficSpec) -> Vec<String> {
        NAMES.clone()
    }
}

/// Convert an error in the construction of the hypercube to an error of the scenario field that causes it.
fn flaw(error: MachineError) -> Flaw {
    let (field, hint) = match &error {
        MachineError::Dimension(_) => ("machine.dimension", "give 1 to 20"),
        MachineError::Fault(_) | MachineError::Placement(PlacementError::MissingIoNode { .. }) => {
            ("machine.faults", "name parts that the machine has")
        }
        MachineError::Placement(_) => ("machine.placement", "choose other PEs for the I/O nodes"),
        MachineError::NoClock { .. } => ("machine.bandwidth", "give both more than zero"),
        MachineError::NoLanes { .. } => ("machine.lanes", "give 1 or more"),
        MachineError::Disconnected { .. } => ("machine.faults", "leave every working pair a path"),
        MachineError::NobodyLeft => ("machine.faults", "leave two PEs or more working"),
        MachineError::NoIoNodeLeft => ("machine.faults", "leave one I/O node working"),
    };
    Flaw {
        field,
        problem: error.to_string(),
        hint: hint.to_owned(),
        line: None,
    }
}

/// Return the mean message rate of one PE per millisecond; `None` in a closed loop.
fn per_ms(traffic: &TrafficSpec) -> Option<f64> {
    let gap = match traffic.arrival {
        Arrival::Exponential { mean } | Arrival::Bursty { mean, .. } => mean,
        Arrival::Deterministic { gap } => gap,
        Arrival::Closed { .. } => return None,
    };
    Some(1e-3 / gap.seconds())
}

/// A hypercube with the traffic of one point of a sweep.
#[derive(Debug)]
struct Point {
    built: Built,
    traffic: TrafficSpec,
}

impl Subject for Point {
    /// Start a simulation at cycle 0; `seed` and `replication` determine its random numbers.
    fn begin(&self, seed: u64, replication: u64) -> Box<dyn Simulated> {
        let machine = Arc::clone(&self.built.machine);
        Box::new(Running {
            simulation: Simulation::new(machine, &self.traffic, seed, replication),
        })
    }

    /// Return the length of a simulated cycle in microseconds.
    fn cycle_us(&self) -> f64 {
        self.built.machine.clock().cycle_us()
    }

    /// Return the minimum number of cycles of a run whose stability is judged.
    fn cycles_min(&self) -> Cycles {
        let machine = &self.built.machine;
        let times = machine.times();
        let traffic = &self.traffic;
        let blocks = traffic.file_blocks_max.min(traffic.file_blocks_split);
        let data = Bytes::new(traffic.block.get() * u64::from(blocks));
        let disk = if times.hit.is_certain() {
            0.0
        } else {
            times.disk.mean_access(data.get())
        };
        // A round trip is request, forward and reply, each with a start-up and the flits of the largest data.
        let flits = u64::from(machine.clock().flits(data));
        let round_trip = 3 * (machine.startup() + flits) + times.access + disk as Cycles;
        ROUND_TRIPS_MIN * round_trip
    }

    /// Return the number of PEs that send messages.
    fn senders(&self) -> u64 {
        self.built.machine.working_pes().into()
    }

    /// Return the number of demands that can be within software and device delays at once. Messages between PEs enter
    /// the network immediately, so this number is 0 for them. I/O demands wait in software and devices after their
    /// request, and each lane of an I/O node admits one flit per cycle.
    fn held_by_delays(&self, flow: usize) -> u64 {
        if flow == Flow::Messages as usize {
            return 0;
        }
        let machine = &self.built.machine;
        let flits = u64::from(machine.clock().flits(self.traffic.request)).max(1);
        let io_nodes = u64::from(machine.placement().io_node_count());
        let lanes = u64::from(self.built.spec.lanes.io_node.max(1));
        let each = self.cycles_min() / ROUND_TRIPS_MIN / flits;
        io_nodes.saturating_mul(lanes).saturating_mul(each)
    }

    /// Return the names of all latencies, in the order of the recorders.
    fn measures(&self) -> &[String] {
        &NAMES
    }

    /// Return whether this workload has messages whose latency is measure number `measure`.
    fn occurs(&self, measure: usize) -> bool {
        measures::occurs(measure, &self.built.machine, &self.traffic)
    }

    /// Return the flows of demands whose backlog shows saturation.
    fn flows(&self) -> &[FlowInfo] {
        FLOWS
    }

    /// Return the rates per working PE and millisecond: of all demands, and of I/O demands only.
    fn rates(&self) -> Vec<RateInfo> {
        let machine = &self.built.machine;
        let scale = 1e3 / self.cycle_us() / f64::from(machine.working_pes());
        let rate = |name, fate, flows: &[usize]| RateInfo {
            name: Cow::Borrowed(name),
            unit: "1/ms",
            fate,
            flows: flows.to_vec(),
            scale,
        };
        vec![
            rate("offered", Fate::Offered, &[0, 1]),
            rate("accepted", Fate::Done, &[0, 1]),
            rate("io.offered", Fate::Offered, &[1]),
            rate("io.accepted", Fate::Done, &[1]),
        ]
    }

    /// Return the offered load in demands per ms and PE; `None` in a closed loop.
    fn load(&self) -> Option<f64> {
        per_ms(&self.traffic)
    }

    /// Return the values that the analytic model estimates for this point. Results show them beside the simulation.
    fn overlay(&self) -> Overlay {
        analysis::overlay(&self.built, &self.traffic)
    }

    /// Return, for each part of the hypercube, the demand on it and the throughput that it can supply.
    fn capacity(&self) -> Capacity {
        capacity::capacity(&self.built, &self.traffic, per_ms(&self.traffic))
    }

    /// Return the utilisation of the parts of the hypercube, and the bottleneck among them.
    fn uses(&self, counted: &[Counted], overlay: &Overlay) -> Uses {
        figures::uses(counted, &self.built.machine, overlay)
    }

    /// Return an empty list: the simulation does not count the load of each node.
    fn nodes(&self, _counted: &[Counted]) -> Vec<NodeUse> {
        Vec::new()
    }
}

/// A running simulation of a hypercube.
struct Running {
    simulation: Simulation,
}

impl Simulated for Running {
    /// Continue the simulation until the recorders stop it or the cycle `until` has passed. Return false if no event is
    /// left.
    fn run(&mut self, recorders: &mut Recorders, until: Cycles) -> bool {
        let ran = self.simulation.run_until(&mut Recording(recorders), until);
        ran.goes_on() || recorders.finished()
    }

    /// Return the simulated time in cycles.
    fn now(&self) -> Cycles {
        self.simulation.now()
    }

    /// Return the number of messages in flight.
    fn under_way(&self) -> u64 {
        self.simulation.under_way()
    }

    /// Start to count the use of channels and other parts, at the end of the warm-up.
    fn start_counting_channels(&mut self) {
        self.simulation.count();
    }

    /// Return the counts of the use of the parts of the machine.
    fn counts(&self) -> Counts {
        let (carried, held) = (self.simulation.carried(), self.simulation.held());
        let disks = held.disks.into_iter();
        Counts {
            channels: carried.iter().map(|carried| carried.flits).collect(),
            held: figures::held(
                &held.channels,
                carried.iter().map(|carried| carried.messages),
            ),
            devices: disks
                .map(|disk| Occupancy {
                    cycles: disk.cycles,
                    times: disk.requests,
                    asked: disk.asked,
                })
                .collect(),
            held_cycles: Some(held.cycles),
            nodes: Vec::new(),
        }
    }

    /// Return `None`, because the build of a machine proves that its routes are free of deadlock.
    fn collapse(&self) -> Option<Collapse> {
        None
    }
}

/// Observer that passes the events of a simulation on to the recorders.
struct Recording<'r>(&'r mut Recorders);

impl Observer for Recording<'_> {
    /// Record that a PE has generated a demand.
    #[inline]
    fn offered(&mut self, flow: Flow, _time: Cycles) {
        self.0.offer(flow as usize);
    }

    /// Record the latencies of a message whose head has arrived.
    #[inline]
    fn arrived(&mut self, leg: &Leg) {
        self.0.delivered += 1;
        let at = measures::of_class(leg.class);
        self.0.latencies[at].push(leg.header_latency());
        self.0.latencies[at + 1].push(leg.router_latency());
        if leg.class == Class::PePe {
            self.0.flows[Flow::Messages as usize].complete();
        }
    }

    /// Record the latencies of an I/O demand that is complete.
    #[inline]
    fn completed(&mut self, completed: &Completed) {
        let at = measures::of_operation(completed.operation);
        self.0.latencies[at].push(completed.network);
        self.0.latencies[at + 1].push(completed.response);
        self.0.flows[Flow::Io as usize].complete();
    }

    /// Return whether the recorders have stopped the run.
    #[inline]
    fn finished(&self) -> bool {
        self.0.finished()
    }
}
