//! Jobs on networks of switches of any form.

use isthmus_experiment::result::{Measure, RunResult, State};
use isthmus_experiment::{Experiment, Options, SetupError};
use isthmus_kinds::KINDS;

fn experiment(machine: &str, work: &str) -> Result<Experiment, SetupError> {
    let text = format!(
        "version = 1\nname = \"g\"\n[machine]\nkind = \"graph\"\n{machine}\n[workload]\n{work}\n"
    );
    let scenario = KINDS.parse(&text, "g.toml", &[])?;
    Experiment::new(&KINDS, scenario, Options::default())
}

fn run(machine: &str, work: &str) -> RunResult {
    let experiment = experiment(machine, work).unwrap_or_else(|error| panic!("{error}"));
    experiment.run().unwrap_or_else(|error| panic!("{error}"))
}

fn measure<'r>(result: &'r RunResult, name: &str) -> &'r Measure {
    let mut measures = result.points[0].measures.iter();
    measures
        .find(|measure| measure.name == name)
        .unwrap_or_else(|| panic!("no {name}"))
}

/// Cut-through with nothing but links: a packet of 100 B takes 100 ns.
const PLAIN: &str = "bandwidth = \"1 GB/s\"\nswitch_latency = \"10 ns\"\nswitching = \"cut-through\"\n\
    virtual_channels = 4\nbuffer = 64\nnic = { payload = \"96 B\", overhead = \"4 B\", padding = \"1 B\", \
    dma_period = \"1 ns\", receive_delay = \"0 s\", software_latency = \"0 s\" }";

/// A ping in a ring of eight: injection, the links between, ejection, a switch before each of them, and the
/// packet.
#[test]
fn a_ping_takes_its_way() {
    for (hot, links) in [(1, 1), (2, 2), (4, 4), (7, 1)] {
        let machine = format!("graph = \"ring\"\nswitches = 8\ndelay = \"50 ns\"\n{PLAIN}");
        let work = format!(
            "[workload.jobs.p]\ntraffic = \"ping\"\nnodes = [0, {hot}]\nmessage = \"96 B\"\n\
             [stop]\nrule = \"fixed\"\nmessages = 100\nwarmup = \"none\""
        );
        let result = run(&machine, &work);
        let packet = measure(&result, "p.packet").mean.unwrap();
        let expected = 0.1 + f64::from(links + 1) * 0.01 + f64::from(links) * 0.05;
        assert!(
            (packet / expected - 1.0).abs() < 1e-9,
            "{hot}: {packet} {expected}"
        );
    }
}

/// Of uniform traffic on a ring of n switches with a node each, n/8 links per packet for every one that
/// a direction has: all links are full at 8/n of a link's bandwidth, more than a node can send for
/// n = 8 but for its own link.
#[test]
fn a_ring_carries_light_traffic_and_not_more_than_its_links() {
    let machine = format!("graph = \"ring\"\nswitches = 16\n{PLAIN}");
    let work = |load: &str| {
        format!(
            "load = \"{load}\"\n[workload.jobs.u]\ntraffic = \"uniform\"\nmessage = \"96 B\"\n\
             sizes = \"fixed\"\narrivals = \"open\"\n\
             [stop]\nrule = \"fixed\"\ntime = \"400 us\"\nwarmup = \"none\""
        )
    };
    let light = run(&machine, &work("100 MB/s"));
    assert_eq!(light.points[0].verdict.verdict, State::Stable);
    // Mean links of other nodes: 64 / 15; each link of 32 carries 1 / 32 of all.
    let uses = light.points[0].channels.iter();
    let links = uses
        .clone()
        .find(|used| used.kind == "switch_link" && used.from.is_none());
    let expected = 16.0 * 0.1 * (100.0 / 96.0) * (64.0 / 15.0) / 32.0;
    let found = links.unwrap().utilisation;
    assert!((found / expected - 1.0).abs() < 0.05, "{found} {expected}");
    let heavy = run(&machine, &work("700 MB/s"));
    assert_eq!(heavy.points[0].verdict.verdict, State::Saturated);
    let accepted = measure(&heavy, "u.accepted").mean.unwrap();
    // All 32 links full: 32 / (64 / 15) / 16 of a link for each node.
    assert!(accepted < 960.0 * 32.0 / (64.0 / 15.0) / 16.0, "{accepted}");
}

/// Kim, Dally, Scott and Abts: 72 nodes, p = 2, a = 4, h = 2.
#[test]
fn a_dragonfly_carries_uniform_traffic() {
    let machine = format!(
        "graph = \"dragonfly\"\nnodes = 2\nrouters = 4\ngroups = 9\nglobal_delay = \"100 ns\"\n{PLAIN}"
    );
    let work = "load = \"768 MB/s\"\n[workload.jobs.u]\ntraffic = \"uniform\"\nmessage = \"96 B\"\n\
         sizes = \"fixed\"\narrivals = \"open\"\n\
         [stop]\nrule = \"fixed\"\ntime = \"300 us\"\nwarmup = \"none\"";
    let result = run(&machine, work);
    let accepted = measure(&result, "u.accepted").mean.unwrap();
    assert!((accepted / 768.0 - 1.0).abs() < 0.02, "{accepted}");
}

#[test]
fn what_cannot_be_built_is_one_line() {
    let job = "[workload.jobs.u]\ntraffic = \"uniform\"";
    let error = |machine: &str| experiment(machine, job).unwrap_err().to_string();
    assert_eq!(
        error("graph = \"ring\"\nswitches = 8\nvirtual_channels = 1"),
        "g.toml:7: machine.virtual_channels: 1 virtual channels for routes that need 2 layers: in fewer, \
         packets could wait for one another in a circle, at switches 1, 0, 7, 6, 5, 4, 3, 2; give 2 or \
         more, or set machine.routing = \"up-down\""
    );
    assert_eq!(
        error("graph = \"cables\"\ncables = [[0, 1], [2, 3]]"),
        "g.toml:6: machine.cables: no way leads from switch 2 to switch 0; join all switches"
    );
    assert!(
        experiment(
            "graph = \"ring\"\nswitches = 8\nvirtual_channels = 1\nrouting = \"up-down\"",
            job
        )
        .is_ok()
    );
}

#[test]
fn a_buffer_that_is_too_small_for_its_link_is_warned_of() {
    let machine = |buffer: u32| {
        format!(
            "graph = \"ring\"\nswitches = 3\ndelay = \"1 us\"\n{}",
            PLAIN.replace("buffer = 64", &format!("buffer = {buffer}"))
        )
    };
    let remarks = |buffer: u32| {
        let experiment = experiment(&machine(buffer), "[workload.jobs.u]\ntraffic = \"uniform\"");
        experiment.unwrap().capacity()[0].remarks.clone()
    };
    let said = "A link of 1 us carries at most 37.7% of its bandwidth: buffers hold 8 packets where 22 fit into \
                its round trip of 2.12 us; raise machine.buffer.";
    assert!(remarks(8).contains(&said.to_owned()), "{:?}", remarks(8));
    assert!(
        !remarks(24)
            .iter()
            .any(|remark| remark.contains("round trip"))
    );
}
