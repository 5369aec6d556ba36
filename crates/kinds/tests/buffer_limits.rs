//! What the buffer behind a link lets through: `check` beforehand, the run, and what the run names as its limit.
//!
//! A packet of p ns on the link takes a place for T = p + switch + credit + 2 x delay. The lanes of its class have n
//! places, so that packets of one class fill min(1, n p / T) of a link.

use isthmus_experiment::capacity::{Capacity, PartKind};
use isthmus_experiment::result::{Bottleneck, RunResult};
use isthmus_experiment::{Experiment, Options};
use isthmus_kinds::KINDS;

/// A packet of 256 B and 16 B takes 272 ns.
const PACKET: f64 = 272.0;

/// What a switch takes, and a credit, in ns.
const HOP: f64 = 20.0;

/// The same in the dragonfly.
const LONG_HOP: f64 = 50.0;

/// Cut-through with nothing but links of 1 GB/s, full packets of [`PACKET`] and switches of `hop` ns.
fn scenario(hop: f64, machine: &str, work: &str) -> Experiment {
    let text = format!(
        "version = 1\nname = \"b\"\n[machine]\nkind = \"graph\"\n{machine}\nbandwidth = \"1 GB/s\"\n\
         switch_latency = \"{hop} ns\"\nswitching = \"cut-through\"\nage = \"per-switch\"\n\
         [machine.nic]\npayload = \"256 B\"\noverhead = \"16 B\"\npadding = \"1 B\"\ndma_period = \"1 ns\"\n\
         receive_delay = \"0 s\"\nsoftware_latency = \"0 s\"\n{work}\n[stop]\nrule = \"fixed\"\ntime = \"400 us\"\nwarmup = \"none\"\nreplications = 2\n"
    );
    let scenario = KINDS.parse(&text, "b.toml", &[]);
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    let experiment = Experiment::new(&KINDS, scenario, Options::default());
    experiment.unwrap_or_else(|error| panic!("{error}"))
}

/// n p / T with n places, each for the packet and so many ns.
fn filled(places: f64, way: f64) -> f64 {
    (places * PACKET / (PACKET + way)).min(1.0)
}

/// The share of the time that `check` leaves a kind of link.
fn said(capacity: &Capacity, name: &str) -> f64 {
    let full = 1e3 * 256.0 / PACKET;
    part(capacity, name).supply.expect("a supply") / full
}

fn part<'c>(capacity: &'c Capacity, name: &str) -> &'c PartKind {
    let mut parts = capacity.parts.iter();
    let part = parts.find(|part| part.name == name);
    part.unwrap_or_else(|| panic!("no {name}"))
}

fn run(experiment: &Experiment) -> RunResult {
    experiment.run().unwrap_or_else(|error| panic!("{error}"))
}

fn warned(capacity: &Capacity) -> Option<&String> {
    let mut remarks = capacity.remarks.iter();
    remarks.find(|remark| remark.ends_with("raise machine.buffer."))
}

/// The utilisation of the busiest link of a kind.
fn carried(result: &RunResult, kind: &str) -> f64 {
    let mut rows = result.points[0].channels.iter();
    let row = rows.find(|row| row.kind == kind && row.from.is_none());
    row.and_then(|row| row.highest).expect("a kind of link")
}

fn bottleneck(result: &RunResult) -> &Bottleneck {
    result.points[0].bottleneck.as_ref().expect("a part")
}

/// `check`, the run and the part that the run names agree with the share that is expected.
fn agree(experiment: &Experiment, name: &str, kind: &str, expected: f64) {
    let capacity = &experiment.capacity()[0];
    let said = said(capacity, name);
    assert!((said - expected).abs() < 1e-9, "{said} for {expected}");
    assert_eq!(warned(capacity).is_some(), expected < 1.0, "{expected}");
    let result = run(experiment);
    let carried = carried(&result, kind);
    println!("{name}: {expected:.4} expected, {carried:.4} simulated");
    // Where the buffer is hardly the limit packets wait for one another at links within the groups, too.
    let slack = if expected > 0.9 { 0.05 } else { 0.01 };
    assert!(
        expected - slack < carried && carried < expected + 1e-3,
        "{carried} for {expected}"
    );
    let limit = bottleneck(&result);
    assert_eq!(limit.let_through.is_some(), expected < 1.0, "{limit:?}");
    if let Some(share) = limit.let_through {
        assert_eq!(limit.kind, kind);
        assert!((share - expected).abs() < 0.01, "{share} for {expected}");
        assert!(limit.busy > 0.97, "{limit:?}");
    }
}

/// Packets to the next switch are of one class, whose lane has 2 of the 4 places: 2 x 272 / 1312.
#[test]
fn a_ring_waits_for_the_places_of_one_layer() {
    let ring =
        "graph = \"ring\"\nswitches = 8\nvirtual_channels = 2\nbuffer = 4\ndelay = \"500 ns\"";
    let work =
        "[workload.jobs.u]\ntraffic = \"shift\"\noffset = 1\nload = 0.95\nmessage = \"256 B\"";
    let experiment = scenario(HOP, ring, work);
    let expected = filled(2.0, 2.0 * HOP + 1000.0);
    agree(
        &experiment,
        "link between switches, busiest",
        "switch_link",
        expected,
    );
    assert_eq!(
        warned(&experiment.capacity()[0]).expect("a remark"),
        "A link of 500 ns carries at most 41.5% of its bandwidth with packets of one layer: buffers hold 2 of these \
         where 5 fit into its round trip of 1.312 us; raise machine.buffer."
    );
}

/// Minimal routes take one of 3 channels between groups: a third of the buffer.
#[test]
fn a_dragonfly_waits_for_the_places_of_one_layer() {
    let work =
        "[workload.jobs.u]\ntraffic = \"shift\"\noffset = 8\nload = 0.2\nmessage = \"256 B\"";
    for (buffer, delay) in [(3, 100), (3, 400), (6, 100), (6, 400), (9, 100), (9, 400)] {
        let dragonfly = format!(
            "graph = \"dragonfly\"\nnodes = 2\nrouters = 4\ngroups = 9\nvirtual_channels = 3\n\
             buffer = {buffer}\nglobal_delay = \"{delay} ns\""
        );
        let expected = filled(f64::from(buffer / 3), 2.0 * (LONG_HOP + f64::from(delay)));
        let experiment = scenario(LONG_HOP, &dragonfly, work);
        agree(&experiment, "global link, busiest", "global_link", expected);
    }
}

/// Where packets of two classes share a link each has places of its own: a link that carries D in all and d of the
/// class with most lets D / d times as much through. Packets from a to c are in layer 0, those to d in layer 1; both
/// cross the cable from a to b.
fn two_layers(loads: [f64; 2]) -> Experiment {
    let machine = "graph = \"edges\"\nedges = \"\"\"\na b\nb c\nb d\n\"\"\"\nnodes_per_switch = 2\nrouting = \"table\"\n\
        routes = \"\"\"\na c b\na d b layer=1\na b b\nb a a\nb c c\nb d d\nc * b\nd * b\n\"\"\"\n\
        virtual_channels = 2\nbuffer = 4\ndelay = \"500 ns\"";
    // Nodes 0 and 1 are at a, 4 at c and 6 at d.
    let job = |name: &str, [from, to]: [u32; 2], load: f64| {
        format!(
            "[workload.jobs.{name}]\nnodes = [{from}]\ntraffic = \"hot-spot\"\nhot_node = {to}\nload = {load}\n\
             message = \"256 B\"\n"
        )
    };
    let [near, far] = loads;
    let jobs = job("c", [0, 4], near) + &job("d", [1, 6], far);
    scenario(HOP, machine, &jobs)
}

#[test]
fn classes_that_share_a_link_have_places_of_their_own() {
    // Of the links on the way of the class with most, whichever is named.
    let capacity = two_layers([0.6, 0.2]).capacity()[0].clone();
    let part = part(&capacity, "link between switches, busiest");
    let (share, expected) = (
        part.share().expect("a share"),
        0.6 / filled(2.0, 2.0 * HOP + 1000.0),
    );
    assert!((share - expected).abs() < 1e-9, "{share} for {expected}");
    // At the same load each class fills its own places.
    let result = run(&two_layers([0.45, 0.45]));
    let (carried, expected) = (
        carried(&result, "switch_link"),
        2.0 * filled(2.0, 2.0 * HOP + 1000.0),
    );
    println!("{expected:.4} expected, {carried:.4} simulated");
    assert!(
        (carried - expected).abs() < 0.02,
        "{carried} for {expected}"
    );
    let limit = bottleneck(&result);
    assert!(
        (limit.let_through.expect("a share") - expected).abs() < 0.01,
        "{limit:?}"
    );
}

/// Packets that are shorter than full ones: as many more fit.
#[test]
fn short_packets_have_more_places() {
    let ring =
        "graph = \"ring\"\nswitches = 8\nvirtual_channels = 2\nbuffer = 4\ndelay = \"500 ns\"";
    // 64 B and 16 B: 80 ns, of which a lane of 544 B has 6.
    let work = "[workload.jobs.u]\ntraffic = \"shift\"\noffset = 1\nload = 0.5\nmessage = \"64 B\"";
    let result = run(&scenario(HOP, ring, work));
    let expected = 6.0 * 80.0 / (80.0 + 2.0 * HOP + 1000.0);
    let carried = carried(&result, "switch_link");
    println!("{expected:.4} expected, {carried:.4} simulated");
    assert!(expected - 0.01 < carried && carried < expected + 1e-3);
    let limit = bottleneck(&result);
    assert!(
        (limit.let_through.expect("a share") - expected).abs() < 0.01,
        "{limit:?}"
    );
}

/// One place without any delay: the link rests for switch and credit, into a node for the credit alone.
#[test]
fn one_place_leaves_a_short_link_idle() {
    let ring = "graph = \"ring\"\nswitches = 8\nvirtual_channels = 2\nbuffer = 2";
    let work =
        "[workload.jobs.u]\ntraffic = \"shift\"\noffset = 1\nload = 0.97\nmessage = \"256 B\"";
    let experiment = scenario(HOP, ring, work);
    let capacity = &experiment.capacity()[0];
    let expected = filled(1.0, 2.0 * HOP);
    for name in ["link of a node", "link between switches, busiest"] {
        assert!((said(capacity, name) - expected).abs() < 1e-9, "{name}");
    }
    let into_node = filled(1.0, HOP);
    assert!((said(capacity, "link into a node, busiest") - into_node).abs() < 1e-9);
    let result = run(&experiment);
    let carried = carried(&result, "switch_link");
    println!("{expected:.4} expected, {carried:.4} simulated");
    assert!(expected - 0.01 < carried && carried < expected + 1e-3);
    assert!(bottleneck(&result).let_through.is_some());
}
