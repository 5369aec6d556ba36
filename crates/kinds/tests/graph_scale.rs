//! How large a network of switches may be, and how fast its packets are.

use isthmus_experiment::{Experiment, Options};
use isthmus_kinds::KINDS;
use std::collections::BTreeSet;
use std::time::Instant;

/// Return the processor time of this process in seconds, with a resolution of 10 ms. Return the elapsed time where the
/// system has no `/proc`.
fn seconds(start: Instant) -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // User and system time, behind the name in brackets.
    let behind = stat.rsplit(") ").next().unwrap_or_default();
    let ticks = behind.split(' ').skip(11).take(2).map(str::parse::<f64>);
    let ticks: Vec<f64> = ticks.flatten().collect();
    match ticks.len() {
        2 => (ticks[0] + ticks[1]) / 100.0,
        _ => start.elapsed().as_secs_f64(),
    }
}

/// Draws numbers below a bound, the same for the same seed (xorshift; Marsaglia, J. Stat. Softw. 8, 2003).
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }
}

/// Each switch with as many others as `degree` says: half as many circles through all switches, in random order.
fn random(switches: usize, degree: usize) -> Vec<(usize, usize)> {
    let mut draw = Draw(1);
    let mut found = BTreeSet::new();
    for _ in 0..degree / 2 {
        let mut order: Vec<usize> = (0..switches).collect();
        for place in (1..switches).rev() {
            order.swap(place, draw.below(place + 1));
        }
        let around = order.iter().zip(order.iter().cycle().skip(1));
        found.extend(around.map(|(&a, &b)| (a.min(b), a.max(b))));
    }
    found.into_iter().collect()
}

/// A tree of random parents, and so many cables more.
fn connected(switches: usize, more: usize) -> Vec<(usize, usize)> {
    let mut draw = Draw(2);
    let mut found: BTreeSet<_> = (1..switches)
        .map(|switch| (draw.below(switch), switch))
        .collect();
    while found.len() < switches - 1 + more {
        let (a, b) = (draw.below(switches), draw.below(switches));
        if a != b {
            found.insert((a.min(b), a.max(b)));
        }
    }
    found.into_iter().collect()
}

fn cables(pairs: impl IntoIterator<Item = (usize, usize)>) -> String {
    let pairs = pairs.into_iter().map(|(a, b)| format!("[{a}, {b}]"));
    format!(
        "graph = \"cables\"\ncables = [{}]",
        pairs.collect::<Vec<_>>().join(", ")
    )
}

/// 100,000 nodes at 4,000 switches, whose routes are all made, on grids put in layers, and followed:
/// `cargo test --release -p isthmus-kinds --test all graph_scale -- --ignored --nocapture --test-threads=1`.
#[test]
#[ignore = "takes seconds in a release build"]
fn a_hundred_thousand_nodes_are_checked_in_seconds() {
    let torus = "graph = \"torus\"\nsize = \"20x20x10\"";
    let mesh = "graph = \"mesh\"\nsize = \"80x50\"";
    // Each switch with three others behind it.
    let three = cables((0..4000).flat_map(|at| [1, 61, 1801].map(|step| (at, (at + step) % 4000))));
    let [regular, dense] = [8, 16].map(|degree| cables(random(4000, degree)));
    let sparse = cables(connected(4000, 2000));
    for (name, form) in [
        ("torus", torus.to_owned()),
        ("mesh", mesh.to_owned()),
        ("torus, up-down", format!("{torus}\nrouting = \"up-down\"")),
        ("cables", three.clone()),
        ("cables, up-down", format!("{three}\nrouting = \"up-down\"")),
        ("random of degree 8", regular),
        ("random of degree 16", dense),
        ("a random tree with half as many cables more", sparse),
    ] {
        let text = format!(
            "version = 1\nname = \"g\"\n[machine]\nkind = \"graph\"\n{form}\nnodes_per_switch = 25\nvirtual_channels = 16\n\
             [workload.jobs.u]\ntraffic = \"uniform\"\n"
        );
        let clock = Instant::now();
        let start = seconds(clock);
        let scenario = KINDS.parse(&text, "g.toml", &[]);
        let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
        let experiment = Experiment::new(&KINDS, scenario, Options::default());
        let experiment = experiment.unwrap_or_else(|error| panic!("{name}: {error}"));
        let built = seconds(clock) - start;
        assert!(!experiment.capacity().is_empty());
        let checked = seconds(clock) - start;
        println!("{name}: built in {built:.2} s, checked by {checked:.2} s");
        assert!(
            checked < 5.0 || form.contains("up-down"),
            "{name}: {checked} s"
        );
    }
}

/// Kim, Dally, Scott and Abts: 1,056 nodes, p = 4, a = 8, h = 4; packets of 160 ns with global links of 100 ns. How
/// fast the engine itself is the row `dragonfly` of the benchmarks says.
#[test]
#[ignore = "takes seconds in a release build"]
fn a_dragonfly_of_1056_nodes_carries_what_it_is_offered() {
    let text = "version = 1\nname = \"g\"\n[machine]\nkind = \"graph\"\ngraph = \"dragonfly\"\nnodes = 4\n\
        routers = 8\ngroups = 33\ndelay = \"10 ns\"\nglobal_delay = \"100 ns\"\nbandwidth = \"1 GB/s\"\n\
        switch_latency = \"1 ns\"\nswitching = \"cut-through\"\nvirtual_channels = 6\nbuffer = 24\n\
        nic = { payload = \"159 B\", overhead = \"1 B\", padding = \"1 B\", dma_period = \"1 ns\", \
        receive_delay = \"0 s\", software_latency = \"0 s\" }\n[workload.jobs.u]\ntraffic = \"uniform\"\n\
        load = 0.6\nmessage = \"159 B\"\n[stop]\nrule = \"fixed\"\ntime = \"200 us\"\nwarmup = \"none\"\n\
        replications = 2\n";
    let clock = Instant::now();
    let scenario = KINDS.parse(text, "g.toml", &[]);
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    let experiment = Experiment::new(&KINDS, scenario, Options::default());
    let experiment = experiment.unwrap_or_else(|error| panic!("{error}"));
    let start = seconds(clock);
    let result = experiment.run().unwrap_or_else(|error| panic!("{error}"));
    let took = seconds(clock) - start;
    let mut measures = result.points[0].measures.iter();
    let accepted = measures.find(|measure| measure.name == "u.accepted");
    let accepted = accepted.and_then(|measure| measure.mean).unwrap();
    // MB/s are bytes per us.
    let packets = 2.0 * 1056.0 * 200.0 * accepted / 159.0;
    let rate = packets / took;
    println!("{packets:.0} packets in {took:.2} s: {rate:.0} packets per second of processor time");
    assert!(
        (accepted / (0.6 * 1e3 * 159.0 / 160.0) - 1.0).abs() < 0.01,
        "{accepted}"
    );
}
