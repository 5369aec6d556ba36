//! Simulations of network interfaces, as experiments start and measure them.

use super::{Interface, InterfaceSummary, figures};
use isthmus_experiment::capacity::Capacity;
use isthmus_experiment::recorders::Recorders;
use isthmus_experiment::result::{Collapse, NodeUse};
use isthmus_experiment::subject::{
    Counted, Counts, Figure, FlowInfo, Occupancy, Overlay, RateInfo, Simulated, Subject,
};
use isthmus_experiment::uses::Uses;
use isthmus_experiment::{Flaw, Kind};
use isthmus_kernel::Cycles;
use isthmus_stream_sim::spec::{From, Machine, To, Work};
use isthmus_stream_sim::{Error, Simulation, check_work};
use std::borrow::Cow;
use std::sync::Arc;

/// Length of a cycle in microseconds: 1 ns.
const CYCLE_US: f64 = 1e-3;

/// The flow whose backlog shows saturation: application data units (ADUs).
const FLOWS: &[FlowInfo] = &[FlowInfo {
    name: Cow::Borrowed("ADUs"),
    sample_every: 1,
    periodic: false,
}];

impl Kind for Interface {
    /// Torus with its network interface that is ready to be simulated.
    type Built = Machine;
    /// Properties of the torus with its network interface, as the results list them.
    type Summary = InterfaceSummary;

    /// Return a copy of the described machine (a torus and its network interface), which needs no further preparation.
    fn build(machine: &Machine) -> Result<Machine, Flaw> {
        Ok(machine.clone())
    }

    /// Return what experiments simulate: the torus with its network interface, and the data stream `work`. If the two
    /// do not fit, the error names the field that is wrong.
    fn subject(machine: &Machine, work: &Work) -> Result<Arc<dyn Subject>, Flaw> {
        check_work(machine, work).map_err(flaw)?;
        let point = Point {
            machine: machine.clone(),
            work: work.clone(),
        };
        // The build of the simulation finds errors that the check cannot.
        point.simulation().map_err(flaw)?;
        Ok(Arc::new(point))
    }

    /// Return the properties of the torus with its network interface, as the results list them.
    fn summary(machine: &Machine) -> InterfaceSummary {
        figures::summary(machine)
    }

    /// Return the names of the values that are measured in an exact run.
    fn measures(_: &Work) -> Vec<String> {
        let names = [
            "accepted",
            "adu",
            "cycles_per_word",
            "reshuffle",
            "wait",
            "send",
            "idle",
            "packets",
            "per_packet",
        ];
        names.map(str::to_owned).to_vec()
    }
}

/// Convert an error of the simulation to an error in a scenario field, which names the field, the problem and a hint.
fn flaw(error: Error) -> Flaw {
    Flaw {
        field: error.field,
        problem: error.problem,
        hint: error.hint,
        line: None,
    }
}

/// A torus of cells with its network interface, and the stream of data of one point of a sweep.
#[derive(Debug)]
struct Point {
    machine: Machine,
    work: Work,
}

impl Point {
    /// Return a new simulation of the machine and the stream of data of the point.
    fn simulation(&self) -> Result<Simulation, Error> {
        Simulation::new(&self.machine, &self.work)
    }
}

impl Subject for Point {
    /// Start a simulation at tick 0; nothing in it is random.
    fn begin(&self, _seed: u64, _replication: u64) -> Box<dyn Simulated> {
        let simulation = self.simulation();
        let simulation = simulation.unwrap_or_else(|_| unreachable!("it was built before"));
        Box::new(Running {
            simulation,
            offered: 0,
            work: self.work.clone(),
        })
    }

    /// Return the length of a simulated cycle in microseconds.
    fn cycle_us(&self) -> f64 {
        CYCLE_US
    }

    /// Return 0: the stability of an exact run is not judged.
    fn cycles_min(&self) -> Cycles {
        0
    }

    /// Return the number of cells of the torus.
    fn senders(&self) -> u64 {
        u64::from(self.machine.rows) * u64::from(self.machine.columns)
    }

    /// Return an empty list: the simulation records no latencies.
    fn measures(&self) -> &[String] {
        &[]
    }

    /// Return false: the simulation records no latencies.
    fn occurs(&self, _measure: usize) -> bool {
        false
    }

    /// Return the flows of demands whose backlog shows saturation.
    fn flows(&self) -> &[FlowInfo] {
        FLOWS
    }

    /// Return whether the workload is a closed loop, so that no backlog can grow.
    fn limits_itself(&self) -> bool {
        self.work.load_bytes_per_s.is_none()
    }

    /// Return an empty list: an exact run has no rates to estimate.
    fn rates(&self) -> Vec<RateInfo> {
        Vec::new()
    }

    /// Return the number of ADUs (application data units), after which the exact run ends.
    fn exact(&self) -> Option<u64> {
        Some(self.work.adus)
    }

    /// Return the offered load in MB/s; `None` in a closed loop.
    fn load(&self) -> Option<f64> {
        self.work.load_bytes_per_s.map(|load| load as f64 / 1e6)
    }

    /// Return the values that the analytic model estimates for this point. Results show them beside the simulation.
    fn overlay(&self) -> Overlay {
        let Some((most, which)) = figures::bound(&self.machine, &self.work) else {
            return Overlay::default();
        };
        let mut overlay = Overlay {
            saturation: Some(most),
            bottleneck: Some(which.to_owned()),
            ..Overlay::default()
        };
        let carried = self.load().map_or(most, |load| load.min(most));
        overlay.measures.insert("accepted".to_owned(), carried);
        overlay
    }

    /// Return, for each part of the torus and its network interface, the demand on it and the throughput that it can
    /// supply.
    fn capacity(&self) -> Capacity {
        figures::capacity(&self.machine, &self.work, self.load())
    }

    /// Return the utilisation of the parts of the torus with its network interface, and the bottleneck among them.
    fn uses(&self, counted: &[Counted], overlay: &Overlay) -> Uses {
        figures::uses(&self.machine, counted, overlay)
    }

    /// Return an empty list: the simulation does not count the load of each node.
    fn nodes(&self, _counted: &[Counted]) -> Vec<NodeUse> {
        Vec::new()
    }
}

/// A running simulation of a network interface.
struct Running {
    simulation: Simulation,
    /// Number of application data units (ADUs) that were reported to the recorders.
    offered: u64,
    work: Work,
}

impl Running {
    /// Return the tick at which the application generates the next application data unit (ADU) that is not reported
    /// yet.
    fn next_offer(&self) -> Cycles {
        let gap = self.work.gap_ns().filter(|_| self.offered < self.work.adus);
        gap.map_or(Cycles::MAX, |gap| gap.saturating_mul(self.offered))
    }

    /// Report to the recorders the application data units (ADUs) that are generated until now. In a closed loop the
    /// offered load is the accepted load, so nothing is reported.
    fn offer(&mut self, recorders: &mut Recorders) {
        while self.next_offer() <= self.simulation.now() {
            recorders.offer(0);
            self.offered += 1;
        }
    }
}

impl Simulated for Running {
    /// Continue the simulation until the recorders stop it or the cycle `until` has passed. Return false if no event is
    /// left.
    fn run(&mut self, recorders: &mut Recorders, until: Cycles) -> bool {
        while !recorders.finished() && self.simulation.now() < until {
            self.offer(recorders);
            let before = self.simulation.adus();
            let limit = until.min(self.next_offer());
            let goes_on = self.simulation.run(before + 1, limit);
            for _ in before..self.simulation.adus() {
                recorders.flows[0].complete();
                recorders.delivered += 1;
            }
            if !goes_on && self.simulation.adus() < self.work.adus {
                return false;
            }
        }
        true
    }

    /// Return the simulated time in cycles.
    fn now(&self) -> Cycles {
        self.simulation.now()
    }

    /// Return the number of ADUs (application data units) in flight.
    fn under_way(&self) -> u64 {
        self.offered - self.simulation.adus().min(self.offered)
    }

    /// Do nothing, because the simulation counts the use of its parts from its start.
    fn start_counting_channels(&mut self) {}

    /// Return the counts of the use of the parts of the machine.
    fn counts(&self) -> Counts {
        let elapsed = self.simulation.now() as f64;
        let ticks = |share: f64| (share * elapsed).round() as u64;
        let uses = self.simulation.uses();
        Counts {
            channels: uses.iter().map(|part| ticks(part.utilisation)).collect(),
            held: uses
                .iter()
                .map(|part| Occupancy {
                    cycles: ticks(part.utilisation),
                    ..Occupancy::default()
                })
                .collect(),
            ..Counts::default()
        }
    }

    /// Return `None`: this machine cannot collapse.
    fn collapse(&self) -> Option<Collapse> {
        None
    }

    /// Return the measured values of the exact run; empty before its end.
    fn figures(&self) -> Vec<Figure> {
        let Some(found) = self.simulation.figures() else {
            return Vec::new();
        };
        let figure = |name, unit, value| Figure { name, unit, value };
        let mut figures = vec![
            figure("accepted", "MB/s", found.mb_per_s),
            figure(
                "adu",
                "us",
                found.elapsed_ns as f64 / found.adus as f64 / 1e3,
            ),
            figure("cycles_per_word", "cycles", found.cycles_per_word),
        ];
        if self.work.from == From::Cells {
            figures.push(figure("reshuffle", "us", found.last_row.reshuffle_ns / 1e3));
            if self.work.to != To::Cells {
                figures.push(figure("wait", "us", found.last_row.wait_ns / 1e3));
                figures.push(figure("send", "us", found.last_row.send_ns / 1e3));
            }
        }
        if self.work.to != To::Cells {
            figures.push(figure("idle", "%", 100.0 * found.idle));
        }
        if self.work.to == To::Network {
            figures.push(figure("packets", "1/s", found.packets_per_s));
            figures.push(figure("per_packet", "us", found.per_packet_ns / 1e3));
        }
        figures
    }
}
