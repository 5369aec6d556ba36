//! How large a network of switches may be.

use isthmus_experiment::{Experiment, Options};
use isthmus_kinds::KINDS;
use std::time::Instant;

/// Seconds of processor time, or of any where the system does not tell them.
fn seconds(start: Instant) -> f64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat");
    let ns = told
        .ok()
        .and_then(|told| told.split(' ').next()?.parse::<f64>().ok());
    ns.map_or(start.elapsed().as_secs_f64(), |ns| ns / 1e9)
}

/// 100,000 nodes at 4,000 switches, whose routes are all made, put in layers and followed:
/// `cargo test --release -p isthmus-kinds --test graph_scale -- --ignored --nocapture`.
#[test]
#[ignore = "takes seconds in a release build"]
fn a_hundred_thousand_nodes_are_checked_in_seconds() {
    let torus = "graph = \"torus\"\nsize = \"20x20x10\"";
    let mesh = "graph = \"mesh\"\nsize = \"80x50\"";
    let up_down = "graph = \"torus\"\nsize = \"20x20x10\"\nrouting = \"up-down\"";
    // Each switch with three others behind it.
    let cables: Vec<String> = (0..4000)
        .flat_map(|at| [1, 61, 1801].map(|step| format!("[{at}, {}]", (at + step) % 4000)))
        .collect();
    let random = format!(
        "graph = \"cables\"\ncables = [{}]\nvirtual_channels = 16",
        cables.join(", ")
    );
    let mut longest: f64 = 0.0;
    for (name, form) in [
        ("torus", torus),
        ("mesh", mesh),
        ("up-down", up_down),
        ("cables", &random),
    ] {
        let channels = if form.contains("channels") {
            ""
        } else {
            "virtual_channels = 8"
        };
        let text = format!(
            "version = 1\nname = \"g\"\n[machine]\nkind = \"graph\"\n{form}\nnodes_per_switch = 25\n{channels}\n\
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
        longest = checked.max(longest);
    }
    assert!(longest < 5.0, "{longest} s");
}
