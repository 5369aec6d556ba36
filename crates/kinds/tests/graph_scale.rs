//! How large a network of switches may be.

use isthmus_experiment::{Experiment, Options};
use isthmus_kinds::KINDS;
use std::time::Instant;

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
        let start = Instant::now();
        let scenario = KINDS
            .parse(&text, "g.toml", &[])
            .unwrap_or_else(|error| panic!("{error}"));
        let read = start.elapsed();
        let experiment = Experiment::new(&KINDS, scenario, Options::default());
        let experiment = experiment.unwrap_or_else(|error| panic!("{name}: {error}"));
        let built = start.elapsed();
        assert!(!experiment.capacity().is_empty());
        let checked = start.elapsed();
        println!("{name}: read in {read:?}, built by {built:?}, checked by {checked:?}");
        assert!(checked.as_secs_f64() < 5.0, "{name}: {checked:?}");
    }
}
