//! Peaks and light-load latencies of the fabrics of the SCI paper, and what a run costs.
//!
//! `cargo run --release -p isthmus-sci --example saturation -- [what] [hop] [change]`, where what is
//! peaks, latency, go-bits, collapse, speed, large, once or once-by-symbol,
//! with the cycles (2 ns) of a hop and a ring change, 17 and 33 by default.

mod load;

use isthmus_kernel::{Engine as _, RunUntil};
use isthmus_sci::{FlowControl, RingEngine, Rules, Source, event, symbol};
use isthmus_topology::rings::{Routing, Shape};
use load::{Load, Network, rules};

/// Seeds of each point.
const SEEDS: u64 = 8;
/// Runs that are timed.
const RUNS: u32 = 50;
/// 200 us.
const LENGTH: u64 = 100_000;

/// Name, shape, routing, and the offered loads under source rules A and B, in GB/s.
type Row = (String, Shape, Routing, [f64; 2]);

fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for nodes in [4, 6, 8, 10] {
        let shape = Shape::Ring { nodes };
        rows.push((format!("ring-{nodes}"), shape, Routing::Random, [2.25, 2.0]));
    }
    for nodes in [4, 6, 8, 10] {
        let shape = Shape::CounterRotating { nodes };
        rows.push((format!("CRR-{nodes}"), shape, Routing::Random, [5.5, 4.5]));
    }
    for k in [3, 4, 5, 6] {
        let shape = Shape::Torus { sizes: vec![k, k] };
        let name = format!("UT-{}", k * k);
        rows.push((name, shape, Routing::DimensionOrder, [12.0, 10.0]));
    }
    for k in [3, 4, 5, 6] {
        let shape = Shape::BidirectionalTorus { sizes: vec![k, k] };
        let name = format!("BT-{}", k * k);
        rows.push((name, shape, Routing::DimensionOrder, [34.0, 30.0]));
    }
    for k in [3, 4, 5, 6] {
        let shape = Shape::UniformRingTorus { sizes: [k, k] };
        let name = format!("URT-{}", k * k);
        rows.push((name, shape, Routing::FewestChanges, [34.0, 30.0]));
    }
    rows
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let values: Vec<f64> = values.collect();
    values.iter().sum::<f64>() / values.len() as f64
}

fn peaks(hop: u64, change: u64) {
    println!("GB/s accepted, {SEEDS} seeds, hop {hop}, ring change {change} cycles");
    println!("{:8} {:>8} {:>8}", "", "A", "B");
    for (name, shape, routing, loads) in rows() {
        let network = Network::new(&shape, routing);
        let columns = [Source::Unbounded, Source::Bounded].map(|source| {
            let load = loads[source as usize];
            let mut engine =
                event::Engine::new(&network.fabric, rules(hop, change, source)).expect("rules");
            mean((0..SEEDS).map(|seed| {
                engine.clear();
                let mut run = Load::new(&network, load, LENGTH, seed);
                run.run(&mut engine);
                run.throughput()
            }))
        });
        println!("{name:8} {:8.3} {:8.3}", columns[0], columns[1]);
    }
}

fn latency(hop: u64, change: u64) {
    println!("ns from generation to tail at 0.6 GB/s, {SEEDS} seeds, hop {hop}, change {change}");
    for (name, shape, routing, _) in rows() {
        let network = Network::new(&shape, routing);
        let rules = rules(hop, change, Source::Unbounded);
        let mut engine = event::Engine::new(&network.fabric, rules).expect("rules");
        let value = mean((0..SEEDS).map(|seed| {
            engine.clear();
            let mut run = Load::new(&network, 0.6, LENGTH, seed);
            run.run(&mut engine);
            run.latency_ns()
        }));
        println!("{name:8} {value:8.1}");
    }
}

/// Seconds of processor time that this process has had, or of wall time where the system does not
/// say.
fn seconds() -> f64 {
    static BEGIN: std::sync::LazyLock<std::time::Instant> =
        std::sync::LazyLock::new(std::time::Instant::now);
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let nanoseconds = text
        .split(' ')
        .next()
        .and_then(|first| first.parse::<f64>().ok());
    nanoseconds.map_or_else(
        || BEGIN.elapsed().as_secs_f64(),
        |nanoseconds| nanoseconds * 1e-9,
    )
}

fn speed(hop: u64, change: u64) {
    let shape = Shape::BidirectionalTorus { sizes: vec![6, 6] };
    let network = Network::new(&shape, Routing::DimensionOrder);
    let rules = rules(hop, change, Source::Unbounded);
    let mut engine = event::Engine::new(&network.fabric, rules).expect("rules");
    for load in [34.0, 12.0, 0.6] {
        let mut run = Load::new(&network, load, LENGTH, 0);
        let begin = seconds();
        for _ in 0..RUNS {
            engine.clear();
            run = Load::new(&network, load, LENGTH, 0);
            run.run(&mut engine);
        }
        let taken = (seconds() - begin) / f64::from(RUNS);
        println!(
            "event-driven, 6x6 bidirectional torus at {load} GB/s, 200 us: {:.2} ms, {} packets \
             generated, {} delivered, {:.0} ns per delivery",
            taken * 1e3,
            run.generated,
            run.delivered,
            taken * 1e9 / run.delivered as f64
        );
    }
    let begin = seconds();
    let mut drawn = 0;
    for _ in 0..RUNS {
        drawn = Load::new(&network, 34.0, LENGTH, 0).draw_only();
    }
    println!(
        "of which drawing {drawn} packets and their routes: {:.2} ms",
        (seconds() - begin) * 1e3 / f64::from(RUNS)
    );
    let mut engine = symbol::Engine::new(&network.fabric, rules).expect("rules");
    let mut run = Load::new(&network, 34.0, LENGTH, 0);
    let begin = seconds();
    for _ in 0..4 {
        engine.clear();
        run = Load::new(&network, 34.0, LENGTH, 0);
        run.run(&mut engine);
    }
    let taken = (seconds() - begin) / 4.0;
    let symbols = LENGTH as f64 * network.fabric.interfaces().values().len() as f64;
    println!(
        "symbol by symbol, the same at 34 GB/s: {:.3} s, {:.1} million symbol-links per second, {} \
         delivered",
        taken,
        symbols / taken / 1e6,
        run.delivered
    );
}

/// Peaks with the go bits of IEEE 1596 and without.
fn go_bits(hop: u64, change: u64) {
    println!("GB/s accepted, 2 seeds, source rule A, without and with go bits");
    for (name, shape, routing, loads) in rows() {
        let network = Network::new(&shape, routing);
        let [without, with] = [FlowControl::None, FlowControl::GoBits].map(|flow_control| {
            let rules = Rules {
                flow_control,
                ..rules(hop, change, Source::Unbounded)
            };
            let mut engine = symbol::Engine::new(&network.fabric, rules).expect("rules");
            mean((0..2).map(|seed| {
                engine.clear();
                let mut run = Load::new(&network, loads[0], LENGTH, seed);
                run.run(&mut engine);
                run.throughput()
            }))
        });
        println!("{name:8} {without:8.3} {with:8.3}");
    }
}

/// The uniform-ring torus over 2,000 us at 34 GB/s, by routing rule: does it stay live?
fn collapse(hop: u64, change: u64) {
    for k in [4, 5, 6] {
        for routing in [
            Routing::FewestChanges,
            Routing::Random,
            Routing::DimensionOrder,
        ] {
            let shape = Shape::UniformRingTorus { sizes: [k, k] };
            let network = Network::new(&shape, routing);
            let rules = rules(hop, change, Source::Unbounded);
            let mut engine = event::Engine::new(&network.fabric, rules).expect("rules");
            let mut run = Load::new(&network, 34.0, 10 * LENGTH, 0);
            run.start(&mut engine);
            let mut wedged = None;
            let mut stall = None;
            for time in (1..=10 * LENGTH / 10_000).map(|part| part * 10_000) {
                engine.run_until(time, &mut run);
                if wedged.is_none() && !engine.wedged().is_empty() {
                    wedged = Some((time, engine.wedged()));
                }
                stall = engine.stalled(10_000);
                if stall.is_some() {
                    break;
                }
            }
            println!(
                "URT-{} {routing:?}: {:.2} GB/s over 2,000 us; first circle seen: {wedged:?}; \
                 {stall:?}",
                k * k,
                run.throughput()
            );
        }
    }
}

/// A bidirectional torus of 1,024 nodes.
fn large(hop: u64, change: u64) {
    let shape = Shape::BidirectionalTorus {
        sizes: vec![32, 32],
    };
    let network = Network::new(&shape, Routing::DimensionOrder);
    let rules = rules(hop, change, Source::Unbounded);
    for load in [20.0, 40.0, 60.0, 80.0, 160.0] {
        let begin = seconds();
        let mut engine = event::Engine::new(&network.fabric, rules).expect("rules");
        let mut run = Load::new(&network, load, LENGTH, 0);
        run.run(&mut engine);
        println!(
            "32x32 bidirectional torus at {load} GB/s, 200 us: {:.2} s, {:.2} GB/s, {:.0} ns",
            seconds() - begin,
            run.throughput(),
            run.latency_ns()
        );
    }
}

/// One run, for a profiler.
fn once<E: RingEngine<()> + for<'a> RunUntil<Load<'a>>>(hop: u64, change: u64) {
    let shape = Shape::BidirectionalTorus { sizes: vec![6, 6] };
    let network = Network::new(&shape, Routing::DimensionOrder);
    let rules = rules(hop, change, Source::Unbounded);
    let mut engine = E::new(&network.fabric, rules).expect("rules");
    let mut run = Load::new(&network, 34.0, LENGTH, 0);
    run.run(&mut engine);
    let counters = engine.counters();
    let sum = |counts: &[u64]| counts.iter().sum::<u64>();
    println!(
        "{} delivered; links crossed by {} sends and {} echoes; {} own sends, {} of them retries",
        run.delivered,
        sum(&counters.send_symbols) / 41,
        sum(&counters.echo_symbols) / 5,
        sum(&counters.sends),
        sum(&counters.retries),
    );
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |place: usize, default: u64| match arguments.get(place) {
        Some(text) => text.parse().expect("a number of cycles"),
        None => default,
    };
    let (hop, change) = (number(1, 17), number(2, 33));
    match arguments.first().map(String::as_str) {
        Some("latency") => latency(hop, change),
        Some("speed") => speed(hop, change),
        Some("large") => large(hop, change),
        Some("once") => once::<event::Engine<()>>(hop, change),
        Some("once-by-symbol") => once::<symbol::Engine<()>>(hop, change),
        Some("go-bits") => go_bits(hop, change),
        Some("collapse") => collapse(hop, change),
        _ => peaks(hop, change),
    }
}
