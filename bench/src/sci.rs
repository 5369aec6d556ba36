//! Runs of a bidirectional torus of SCI rings.

use crate::clock::{Spread, timed};
use isthmus_machine::sci::spec::SciSpec;
use isthmus_machine::sci::{Arrival, Machine, Observer, Simulation};
use isthmus_topology::rings::Shape;
use isthmus_units::{Bandwidth, Bytes, Time};
use isthmus_workload::Outstanding;
use isthmus_workload::packets::spec::{PacketTraffic, Spacing, Transaction};
use serde::Serialize;
use std::sync::Arc;

values! {
    /// What to run.
    #[derive(Debug, Clone, Copy)]
    Load {
        /// Nodes along each side.
        side: u32 = 6,
        /// Offered load of all nodes together, in GB/s.
        load: f64 = 34.0,
        /// Simulated time of one run, in microseconds.
        time_us: u64 = 200,
        /// Runs, each with streams of its own.
        runs: u64 = 20,
        /// 1 to move every symbol.
        symbols: u8 = 0,
    }
}

/// What it took.
#[derive(Debug, Serialize)]
pub struct Report {
    nodes: u32,
    links: usize,
    /// Packets accepted in all runs.
    packets: u64,
    /// Payload accepted, in GB/s.
    accepted_gb_per_s: f64,
    /// CPU seconds of one run, set-up of fabric and routes not included.
    run_s: Spread,
    /// CPU seconds to build fabric and routes.
    setup_s: f64,
    ns_per_packet: f64,
    /// Links times cycles, each carrying a symbol, for each CPU second.
    symbol_links_per_s: f64,
}

/// The fabric of the SCI paper's Table 1 with `side` by `side` nodes.
pub fn torus(side: u32) -> SciSpec {
    SciSpec::of_paper(Shape::BidirectionalTorus {
        sizes: vec![side, side],
    })
}

fn moves(gb_per_s: f64) -> PacketTraffic {
    PacketTraffic {
        load: Bandwidth::from_bits_per_s((gb_per_s * 8e9).round() as u64),
        spacing: Spacing::Exponential,
        phases: 1.0,
        transaction: Transaction::Move,
        payload: Bytes::new(64),
        senders: Vec::new(),
        hot_node: None,
        turnaround: Time::ZERO,
        outstanding: Outstanding::Unlimited,
    }
}

#[derive(Default)]
struct Count {
    packets: u64,
}

impl Observer for Count {
    fn offered(&mut self, _node: u32) {}

    fn arrived(&mut self, _arrival: &Arrival) {
        self.packets += 1;
    }

    fn completed(&mut self, _node: u32, _response: Option<u64>) {}

    fn dropped(&mut self, _node: u32) {}

    fn finished(&self) -> bool {
        false
    }
}

/// Runs them one after another.
pub fn run(load: Load) -> Report {
    let traffic = moves(load.load);
    let (machine, setup_s) = timed(|| {
        let machine = Machine::new(&torus(load.side)).expect("the paper's fabrics can be built");
        Arc::new(machine)
    });
    let until = machine.cycles(Time::from_us(load.time_us));
    let mut count = Count::default();
    let mut times = Vec::new();
    for replication in 0..load.runs {
        let ((), run_s) = timed(|| {
            let begin = if load.symbols != 0 {
                Simulation::by_symbol
            } else {
                Simulation::new
            };
            let mut simulation = begin(Arc::clone(&machine), &traffic, 1, replication);
            simulation.run_until(&mut count, until);
        });
        times.push(run_s);
    }
    let (cpu_s, links) = (times.iter().sum::<f64>(), machine.fabric().links().len());
    let simulated_ns = load.runs as f64 * load.time_us as f64 * 1e3;
    Report {
        nodes: machine.fabric().node_count(),
        links,
        packets: count.packets,
        accepted_gb_per_s: count.packets as f64 * 64.0 / simulated_ns,
        run_s: Spread::of(times),
        setup_s,
        ns_per_packet: cpu_s * 1e9 / count.packets as f64,
        symbol_links_per_s: links as f64 * until as f64 * load.runs as f64 / cpu_s,
    }
}
