//! Simulations of SCI fabrics, with the traits through which experiments start and measure them.

use super::analysis::{self, Patterns};
use super::{Sci, SciSummary, capacity, figures};
use isthmus_experiment::capacity::Capacity;
use isthmus_experiment::recorders::Recorders;
use isthmus_experiment::result::{Collapse, NodeUse, Standstill};
use isthmus_experiment::subject::{
    Counted, Counts, Fate, FlowInfo, Overlay, RateInfo, Simulated, Subject,
};
use isthmus_experiment::uses::Uses;
use isthmus_experiment::{Flaw, Kind};
use isthmus_kernel::Cycles;
use isthmus_machine::sci::spec::{SciSpec, Source};
use isthmus_machine::sci::{
    Arrival, Machine, MachineError, Observer, Simulation, Stall, StallKind,
};
use isthmus_topology::rings::RoutesError;
use isthmus_workload::packets::spec::{PacketTraffic, Transaction};
use std::borrow::Cow;
use std::sync::{Arc, LazyLock, OnceLock};

/// Names of all latencies. `latency` of a request starts at its generation, `network` when it first leaves its
/// source. `response` is the latency of a transaction with a response.
pub(crate) static NAMES: LazyLock<Vec<String>> = LazyLock::new(|| {
    ["latency", "network", "response"]
        .map(str::to_owned)
        .to_vec()
});

/// Index in [`NAMES`] of the latency of requests.
const LATENCY: usize = 0;
/// Index of the network latency of requests in [`NAMES`].
const NETWORK: usize = 1;
/// Index of the latency of transactions with a response in [`NAMES`].
const RESPONSE: usize = 2;

/// The flow of demands whose backlog shows saturation: the transactions of all nodes together.
const FLOWS: &[FlowInfo] = &[FlowInfo {
    name: Cow::Borrowed("packets"),
    sample_every: 16,
    periodic: false,
}];

/// Minimum length of a run whose stability is judged, as a multiple of the time that a packet takes across the fabric
/// without load.
const CROSSINGS_MIN: u64 = 50;

/// An SCI fabric that is ready to be simulated, with a cache of the load of each link.
#[derive(Debug, Clone)]
pub struct Built {
    machine: Arc<Machine>,
    patterns: Patterns,
}

impl Kind for Sci {
    /// An SCI fabric and its routes, from which simulations are started.
    type Built = Built;
    /// Properties of the SCI fabric that results contain.
    type Summary = SciSummary;

    /// Build the SCI fabric that a scenario describes.
    fn build(spec: &SciSpec) -> Result<Built, Flaw> {
        built(spec)
    }

    /// Return a point of a sweep, which experiments simulate and measure: this SCI fabric with this traffic.
    fn subject(built: &Built, traffic: &PacketTraffic) -> Result<Arc<dyn Subject>, Flaw> {
        let live = built.machine.fabric().live_nodes();
        let is_live = |node: &u32| live.binary_search(node).is_ok();
        if !traffic.senders.is_empty() && !traffic.senders.iter().any(is_live) {
            return Err(Flaw {
                field: "workload.senders",
                problem: "the faults leave none of the senders in service".to_owned(),
                hint: "name a sender that still reaches others".to_owned(),
                line: None,
            });
        }
        Ok(Arc::new(Point {
            machine: Arc::clone(&built.machine),
            traffic: traffic.clone(),
            patterns: built.patterns.clone(),
            overlay: OnceLock::new(),
        }))
    }

    /// Return the properties of the SCI fabric that results contain.
    fn summary(built: &Built) -> SciSummary {
        figures::summary(&built.machine)
    }

    /// Return the names of all latencies that are measured under this workload.
    fn measures(_: &PacketTraffic) -> Vec<String> {
        NAMES.clone()
    }
}

/// Build the SCI fabric and its routes from a specification; workloads with and without jobs use it.
pub(super) fn built(spec: &SciSpec) -> Result<Built, Flaw> {
    Ok(Built {
        machine: Arc::new(Machine::new(spec).map_err(flaw)?),
        patterns: Patterns::default(),
    })
}

impl Built {
    /// Return a reference to the fabric, which several simulations share.
    pub(super) fn shared(&self) -> Arc<Machine> {
        Arc::clone(&self.machine)
    }

    /// Return the fabric, including the routes between its nodes.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }
}

/// Convert an error in the construction of the fabric to an error of the scenario field that causes it.
fn flaw(error: MachineError) -> Flaw {
    let (field, hint) = match &error {
        MachineError::Rings(error) => rings_cause(error),
        MachineError::Routes(RoutesError::TooManyNodes { .. }) => (
            "machine.size",
            "take a smaller fabric, or rings and tori without faults under dimension order",
        ),
        MachineError::Routes(_) => ("machine.routing", "choose another routing"),
        MachineError::NoClock { .. } => ("machine.bandwidth", "give both more than zero"),
        MachineError::CutOff { .. } => (
            "machine.faults",
            "name fewer, or set machine.faults.cut_off = \"leave-out\"",
        ),
        MachineError::Engine(_) => ("machine.size", "take shorter rings, or fewer to a node"),
    };
    Flaw {
        field,
        problem: error.to_string(),
        hint: hint.to_owned(),
        line: None,
    }
}

/// Return the scenario field that causes an error in the construction of the rings, and advice on how to correct the
/// field.
fn rings_cause(error: &isthmus_topology::rings::RingsError) -> (&'static str, &'static str) {
    use isthmus_topology::rings::RingsError as Error;
    match error {
        Error::MissingNode { .. } => ("machine.faults.nodes", "name nodes that the fabric has"),
        Error::MissingLink { .. } => ("machine.faults.links", "name links that the fabric has"),
        Error::Unreachable { .. } => ("machine.rings", "give the rings nodes in common"),
        Error::NodeOnNoRing { .. } => ("machine.rings", "put it on a ring"),
        Error::RepeatedNode { .. } | Error::NoRings => (
            "machine.rings",
            "list two or more different nodes for each ring",
        ),
        _ => ("machine.size", "give other sizes"),
    }
}

/// An SCI fabric with the traffic of one point of a sweep.
#[derive(Debug)]
struct Point {
    machine: Arc<Machine>,
    traffic: PacketTraffic,
    patterns: Patterns,
    /// Estimates of the analytic model for this point, computed when they are first used.
    overlay: OnceLock<Overlay>,
}

impl Point {
    /// Return the data bandwidth, in GB/s, of one transaction per cycle: the factor that converts rates to GB/s.
    fn gb_per_s(&self) -> f64 {
        self.traffic.payload.get() as f64 / (self.machine.clock().cycle_us() * 1e3)
    }

    /// Return the load of the traffic in GB/s.
    fn load_gb_per_s(&self) -> f64 {
        self.traffic.load.bits_per_s() as f64 / 8e9
    }
}

impl Subject for Point {
    /// Start a simulation at cycle 0; `seed` and `replication` determine its random numbers.
    fn begin(&self, seed: u64, replication: u64) -> Box<dyn Simulated> {
        let machine = Arc::clone(&self.machine);
        Box::new(Running {
            simulation: Simulation::new(machine, &self.traffic, seed, replication),
            cycle_us: self.cycle_us(),
        })
    }

    /// Return the length of a simulated cycle in microseconds.
    fn cycle_us(&self) -> f64 {
        self.machine.clock().cycle_us()
    }

    /// Return the minimum number of cycles of a run whose verdict on saturation counts.
    fn cycles_min(&self) -> Cycles {
        let spec = self.machine.spec();
        let lengths = self.machine.lengths(&self.traffic);
        let longest = self.machine.fabric().rings().iter().map(Vec::len).max();
        let around = self.machine.cycles(spec.hop);
        let around = around.saturating_mul(longest.unwrap_or(1) as u64);
        let symbols = u64::from(lengths.request + lengths.response.unwrap_or(0));
        let turnaround = self.machine.cycles(self.traffic.turnaround);
        let crossing = around.saturating_add(symbols).saturating_add(turnaround);
        crossing.saturating_mul(CROSSINGS_MIN)
    }

    /// Return the number of nodes that may send packets: all live nodes.
    fn senders(&self) -> u64 {
        self.machine.fabric().live_nodes().len() as u64
    }

    /// Return the number of packets that can be under way on the links of the whole fabric at once because of their
    /// delays: a link carries one symbol per cycle.
    fn held_by_delays(&self, _flow: usize) -> u64 {
        let symbols = u64::from(self.machine.lengths(&self.traffic).request).max(1);
        let links = self.machine.fabric().links().len() as u64;
        let each = self.cycles_min() / CROSSINGS_MIN / symbols;
        links.saturating_mul(each)
    }

    /// Return the names of all latencies, in the order in which the recorders number them.
    fn measures(&self) -> &[String] {
        &NAMES
    }

    /// Return whether messages of this workload can produce the latency with index `measure`.
    fn occurs(&self, measure: usize) -> bool {
        measure != RESPONSE || self.traffic.transaction != Transaction::Move
    }

    /// Return the flows of transactions for which the growth of the backlog shows saturation.
    fn flows(&self) -> &[FlowInfo] {
        FLOWS
    }

    /// Return the rates that results report: payload rates of all nodes together, and the rate of retries.
    fn rates(&self) -> Vec<RateInfo> {
        let rate = |name, fate| RateInfo {
            name: Cow::Borrowed(name),
            unit: "GB/s",
            fate,
            flows: vec![0],
            scale: self.gb_per_s(),
        };
        let mut rates = vec![rate("offered", Fate::Offered), rate("accepted", Fate::Done)];
        if self.machine.spec().source == Source::Bounded {
            rates.push(rate("dropped", Fate::Dropped));
        }
        rates.push(RateInfo {
            unit: "1/us",
            scale: 1.0 / self.cycle_us(),
            ..rate("retries", Fate::Retried)
        });
        rates
    }

    /// Return the offered load in GB/s, `None` if the workload defines no load.
    fn load(&self) -> Option<f64> {
        Some(self.load_gb_per_s())
    }

    /// Return the results of the analytic model for this point of a sweep.
    fn overlay(&self) -> Overlay {
        let (machine, traffic, patterns) = (&self.machine, &self.traffic, &self.patterns);
        self.overlay
            .get_or_init(|| analysis::overlay(machine, traffic, patterns, self.gb_per_s()))
            .clone()
    }

    /// Return the demand of the traffic on each part of the SCI fabric, and the capacity of the part.
    fn capacity(&self) -> Capacity {
        // Compute the estimates of the model only for small fabrics: visiting all pairs of nodes of a large one is too
        // slow for a check.
        let quick = analysis::is_quick(&self.machine, &self.traffic);
        let overlay = if quick {
            self.overlay()
        } else {
            Overlay::default()
        };
        let mut capacity = capacity::capacity(&self.machine, &self.traffic, &overlay);
        if quick {
            let (machine, traffic) = (&self.machine, &self.traffic);
            capacity
                .remarks
                .extend(capacity::limited(machine, traffic, &self.patterns));
        }
        capacity
    }

    /// Return the utilisation of the parts of the SCI fabric, and the bottleneck among them.
    fn uses(&self, counted: &[Counted], overlay: &Overlay) -> Uses {
        let lengths = self.machine.lengths(&self.traffic);
        figures::uses(counted, &self.machine, Some(lengths), Vec::new(), overlay)
    }

    /// Return the offered and accepted load of each node.
    fn nodes(&self, counted: &[Counted]) -> Vec<NodeUse> {
        figures::nodes(counted, self.gb_per_s())
    }
}

/// A replication of the simulation of an SCI fabric, while it runs.
struct Running {
    simulation: Simulation,
    cycle_us: f64,
}

impl Simulated for Running {
    /// Continue the simulation until the recorders stop it or the cycle `until` has passed. Return false if no event is
    /// left, so that nothing more can happen.
    fn run(&mut self, recorders: &mut Recorders, until: Cycles) -> bool {
        self.simulation.advance(&mut Recording(recorders), until);
        true
    }

    /// Return the simulated time in cycles.
    fn now(&self) -> Cycles {
        self.simulation.now()
    }

    /// Return the number of messages in flight.
    fn under_way(&self) -> u64 {
        self.simulation.under_way()
    }

    /// Reset the counters of links and nodes at the end of the warm-up.
    fn start_counting_channels(&mut self) {
        self.simulation.restart_counts();
    }

    /// Return the counters of all links, and the offered and completed amounts of all nodes.
    fn counts(&self) -> Counts {
        let links = self.simulation.links();
        let nodes = self.simulation.nodes().iter();
        Counts {
            channels: links.flat_map(|link| [link.send, link.echo]).collect(),
            nodes: nodes.map(|node| (node.offered, node.completed)).collect(),
            ..Counts::default()
        }
    }

    /// Return how packets have stopped moving (livelock or deadlock); `None` if they have not.
    fn collapse(&self) -> Option<Collapse> {
        Some(collapse(self.simulation.stall()?, self.cycle_us))
    }
}

/// Convert a stall of the simulation to the collapse that results report.
pub(super) fn collapse(stall: &Stall, cycle_us: f64) -> Collapse {
    Collapse {
        kind: match stall.kind {
            StallKind::Livelock => Standstill::Livelock,
            StallKind::Deadlock => Standstill::Deadlock,
        },
        since_us: stall.since as f64 * cycle_us,
        waiting: stall.under_way,
        nodes: stall.nodes.clone(),
        replications: 1,
    }
}

/// Observer of a simulation that records its events in the recorders.
struct Recording<'r>(&'r mut Recorders);

impl Observer for Recording<'_> {
    /// Count a transaction that a node has generated.
    #[inline]
    fn offered(&mut self, _node: u32) {
        self.0.offer(0);
    }

    /// Record the latencies of a request that has arrived, and the number of its retries.
    #[inline]
    fn arrived(&mut self, arrival: &Arrival) {
        self.0.delivered += 1;
        self.0.latencies[LATENCY].push(arrival.latency);
        self.0.latencies[NETWORK].push(arrival.network);
        self.0.flows[0].retry(arrival.retries.into());
    }

    /// Record that a transaction is complete. `response` is the latency of its response, if it has one.
    #[inline]
    fn completed(&mut self, _node: u32, response: Option<Cycles>) {
        if let Some(response) = response {
            self.0.latencies[RESPONSE].push(response);
        }
        self.0.flows[0].complete();
    }

    /// Count a transaction that a node has dropped because it had no free slot.
    #[inline]
    fn dropped(&mut self, _node: u32) {
        self.0.flows[0].drop_one();
    }

    /// Return whether the recorders have stopped the run, because they have recorded enough.
    #[inline]
    fn finished(&self) -> bool {
        self.0.finished()
    }
}
