//! What networks of switches can carry at most, by counting links: the limits of a dragonfly of 72 nodes
//! (Kim, Dally, Scott and Abts, ISCA 2008: p = 2, a = 4, h = 2), of a ring whose nodes send far, and a fat tree of
//! 64 nodes as a list of edges beside the same as a fat tree.

use isthmus_experiment::result::{Measure, RunResult, State};
use isthmus_experiment::{Experiment, Options};
use isthmus_kinds::KINDS;

/// Cut-through with nothing but links of 1 GB/s: a packet of 99 B and its header takes 100 ns.
const PLAIN: &str = "bandwidth = \"1 GB/s\"\nswitch_latency = \"10 ns\"\nswitching = \"cut-through\"\n\
    virtual_channels = 6\nbuffer = 96\nnic = { payload = \"99 B\", overhead = \"1 B\", padding = \"1 B\", \
    dma_period = \"1 ns\", receive_delay = \"0 s\", software_latency = \"0 s\" }";

const DRAGONFLY: &str =
    "graph = \"dragonfly\"\nnodes = 2\nrouters = 4\ngroups = 9\nglobal_delay = \"100 ns\"";

/// The worst traffic of it: all nodes of a group send to the next.
const WORST: &str = "traffic = \"shift\"\noffset = 8";

fn run(machine: &str, traffic: &str, load: f64, time: &str) -> RunResult {
    let machine = format!("kind = \"graph\"\n{machine}");
    run_kind(&machine, &format!("{traffic}\nload = {load}"), time)
}

fn run_kind(machine: &str, work: &str, time: &str) -> RunResult {
    run_with(machine, PLAIN, &format!("{work}\nmessage = \"99 B\""), time)
}

fn run_with(machine: &str, hardware: &str, work: &str, time: &str) -> RunResult {
    let text = format!(
        "version = 1\nname = \"g\"\n[machine]\n{machine}\n{hardware}\n[workload.jobs.u]\n{work}\n\
         [stop]\nrule = \"fixed\"\ntime = \"{time}\"\nwarmup = \"none\"\n"
    );
    let scenario = KINDS.parse(&text, "g.toml", &[]);
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    let experiment = Experiment::new(&KINDS, scenario, Options::default());
    let experiment = experiment.unwrap_or_else(|error| panic!("{error}"));
    experiment.run().unwrap_or_else(|error| panic!("{error}"))
}

fn measure<'r>(result: &'r RunResult, name: &str) -> &'r Measure {
    let mut measures = result.points[0].measures.iter();
    measures
        .find(|measure| measure.name == name)
        .unwrap_or_else(|| panic!("no {name}"))
}

/// Data of a link that is full, in MB/s.
const FULL: f64 = 990.0;

/// The interval of what a node sends, as a share of a full link.
fn accepted(result: &RunResult) -> (f64, f64) {
    let accepted = measure(result, "u.accepted");
    (accepted.low.unwrap() / FULL, accepted.high.unwrap() / FULL)
}

fn state(result: &RunResult) -> State {
    result.points[0].verdict.verdict
}

/// Runs of so long; `short` as part of every test run, `long` where that is asked for.
fn limits_of_the_dragonfly(time: &str, width: f64) {
    // The a p = 8 nodes of a group share the one link to the next.
    let minimal = run(DRAGONFLY, WORST, 0.5, time);
    let (low, high) = accepted(&minimal);
    println!("worst, minimal: {low:.5} to {high:.5} of a link");
    assert_eq!(state(&minimal), State::Saturated);
    assert!(low <= 0.125 && 0.125 * (1.0 - 2.0 * width) <= low && high - low < 0.125 * width);
    assert!(high < 0.125 * (1.0 + width), "{high}");
    let light = run(DRAGONFLY, WORST, 0.1, time);
    assert_eq!(state(&light), State::Stable);

    // Each packet takes two links between groups: half of what they carry, and no more than
    // 7/16 as the third group is never one of the two.
    let valiant = format!("{DRAGONFLY}\ngroup_routing = \"valiant\"");
    let far = run(&valiant, WORST, 1.0, time);
    let (low, high) = accepted(&far);
    println!("worst, Valiant: {low:.5} to {high:.5} of a link");
    assert_eq!(state(&far), State::Saturated);
    assert!(0.3 < low && high < 7.0 / 16.0, "{low} {high}");

    let uniform = run(DRAGONFLY, "traffic = \"uniform\"", 0.8, time);
    let (low, high) = accepted(&uniform);
    println!("uniform 0.8, minimal: {low:.5} to {high:.5} of a link");
    assert_eq!(state(&uniform), State::Stable);
    assert!(low <= 0.8 && 0.8 * (1.0 - width) <= high, "{low} {high}");
}

#[test]
fn a_dragonfly_carries_what_its_links_between_groups_do() {
    limits_of_the_dragonfly("100 us", 0.02);
}

/// The same for longer: `cargo test --release -p isthmus-kinds --test all graph_limits -- --ignored`.
#[test]
#[ignore = "takes a minute in a release build"]
fn a_dragonfly_carries_what_its_links_between_groups_do_for_long() {
    limits_of_the_dragonfly("20 ms", 0.001);
}

/// A ring of 8 switches, a node at each, each sending to the third next: ways of three links in one direction, so
/// that every link of that direction carries three nodes.
#[test]
fn nodes_of_a_ring_that_send_far_share_its_links() {
    let ring = "graph = \"ring\"\nswitches = 8";
    let full = run(ring, "traffic = \"shift\"\noffset = 3", 0.9, "400 us");
    let (low, high) = accepted(&full);
    assert_eq!(state(&full), State::Saturated);
    assert!(
        low <= 1.0 / 3.0 && 0.32 < high && high < 0.335,
        "{low} {high}"
    );
    let next = run(ring, "traffic = \"shift\"\noffset = 1", 0.95, "400 us");
    assert_eq!(state(&next), State::Stable);
    let (low, high) = accepted(&next);
    assert!(low <= 0.95 && 0.94 < high, "{low} {high}");
}

/// The same with packets that wait for longer than the 78 us after which ages on the QsNET are alike: 4 us each, and up to 96 of
/// them in a buffer. The limit has switches serve their inputs in turn, so that a link gives its own node a half, and what
/// passes through two more links a quarter; nodes get less than a third.
#[test]
fn packets_of_a_full_ring_have_no_limit_of_age() {
    let long = PLAIN
        .replace("99 B", "3960 B")
        .replace("overhead = \"1 B\"", "overhead = \"40 B\"");
    let share = |age: &str| {
        let machine = format!("kind = \"graph\"\ngraph = \"ring\"\nswitches = 8\n{age}");
        let work = "traffic = \"shift\"\noffset = 3\nload = 0.9\nmessage = \"3960 B\"";
        accepted(&run_with(&machine, &long, work, "20 ms"))
    };
    let (low, high) = share("");
    assert!(
        low <= 1.0 / 3.0 && 0.32 < low && high < 0.335,
        "{low} {high}"
    );
    let (_, high) = share("age = \"saturating\"\nage_limit = \"78 us\"");
    assert!(high < 0.25, "{high}");
}

/// A mesh with one switch along a dimension is a line: between its halves of two nodes each there is a link each way, on which
/// the two that send two further share its data.
#[test]
fn a_mesh_of_one_row_is_a_line() {
    let line = "graph = \"mesh\"\nsize = \"1x4\"";
    let full = run(line, "traffic = \"shift\"\noffset = 2", 0.9, "400 us");
    let (low, high) = accepted(&full);
    assert!(low <= 0.5 && 0.48 < low && high < 0.51, "{low} {high}");
}

/// A tree of 4 x 4 x 4 nodes as edges: leaf switches, those above them, those at the top, and nodes, each level
/// joined as in a fat tree of arity 4.
fn tree() -> String {
    let mut edges = String::new();
    for node in 0..64 {
        edges += &format!("n{node} leaf{}\n", node / 4);
    }
    for leaf in 0..16 {
        for port in 0..4 {
            edges += &format!("leaf{leaf} middle{}\n", leaf / 4 * 4 + port);
        }
    }
    for middle in 0..16 {
        for port in 0..4 {
            edges += &format!("middle{middle} top{}\n", middle % 4 * 4 + port);
        }
    }
    format!("graph = \"edges\"\nleaves = \"nodes\"\nedges = \"\"\"\n{edges}\"\"\"")
}

/// Ways have the same lengths, so that pings take the same time, and uniform traffic finds the same room. The
/// switch at the end of a way decides over it, not the node: of the 15 others 4 share a link out of a leaf, not
/// 3.75, and no way down belongs to one node alone as that of d-mod-k does. So packets wait longer than with
/// the ascent that the destination gives, and not as long as with one that is drawn.
#[test]
fn a_tree_as_a_graph_has_the_numbers_of_the_tree() {
    let graph = format!("kind = \"graph\"\n{}", tree());
    let fat_tree =
        |ascent: &str| format!("kind = \"fat-tree\"\narity = 4\nlevels = 3\nascent = \"{ascent}\"");
    let [given, drawn] = ["destination", "random"].map(fat_tree);
    for pair in ["[0, 3]", "[0, 7]", "[1, 60]", "[37, 22]"] {
        let ping = format!("traffic = \"ping\"\nnodes = {pair}");
        let times = [&graph, &given].map(|machine| {
            let result = run_kind(machine, &ping, "20 us");
            ["u.packet", "u.response"].map(|name| measure(&result, name).mean.unwrap())
        });
        assert_eq!(times[0], times[1], "{pair}");
    }
    let uniform = |machine: &str, load: f64| {
        let work = format!("traffic = \"uniform\"\nload = {load}");
        run_kind(machine, &work, "100 us")
    };
    for load in [0.3, 0.6] {
        let all = [&graph, &given, &drawn].map(|machine| uniform(machine, load));
        let [(low, high), (other_low, other_high), _] = all.each_ref().map(accepted);
        println!("uniform {load}: {low:.4} to {high:.4} and {other_low:.4} to {other_high:.4}");
        assert!(low <= other_high && other_low <= high);
        assert!(all.iter().all(|result| state(result) == State::Stable));
        let [own, given, drawn] = all.map(|result| measure(&result, "u.packet").mean.unwrap());
        println!("a packet takes {own:.4} us, {given:.4} and {drawn:.4} in the fat tree");
        assert!(given < own && own < drawn, "{own} {given} {drawn}");
    }
    let full = uniform(&graph, 1.0);
    assert_eq!(state(&full), State::Saturated);
    let ((_, high), (low, _)) = (accepted(&full), accepted(&uniform(&given, 1.0)));
    println!("saturated: at most {high:.4}, and at least {low:.4} in the fat tree");
    // 16/60 of the packets of 4 nodes share a link; in the fat tree 15/60.
    assert!(high < 60.0 / 64.0 && high < low);
}
