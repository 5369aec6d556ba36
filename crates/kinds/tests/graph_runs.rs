//! Jobs on networks of switches of any form.

use isthmus_experiment::result::{Measure, RunResult, State};
use isthmus_experiment::{Experiment, Options, SetupError};
use isthmus_kinds::KINDS;
use isthmus_topology::switches::{Form, Shortest};

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
        let [packet, network, response] = ["p.packet", "p.network", "p.response"]
            .map(|name| measure(&result, name).mean.unwrap());
        // A message is complete when its last byte is there, however long the way back is.
        for time in [network, response] {
            assert!((time / packet - 1.0).abs() < 1e-9, "{hot}: {time} {packet}");
        }
        let expected = 0.1 + f64::from(links + 1) * 0.01 + f64::from(links) * 0.05;
        assert!(
            (packet / expected - 1.0).abs() < 1e-9,
            "{hot}: {packet} {expected}"
        );
    }
}

/// Ten packets one behind the other, the header of the first through two switches: bytes over the bandwidth and
/// the latency of a header. A message that shares the last link comes right behind.
#[test]
fn listed_messages_take_what_their_links_take() {
    let machine = format!("graph = \"ring\"\nswitches = 8\ndelay = \"50 ns\"\n{PLAIN}");
    let phase = |messages: &str| {
        let work = format!(
            "[workload.jobs.p]\ntraffic = \"listed\"\nnodes = [0, 1, 2]\nmessages = {messages}\n\
             pause = \"1 us\"\n[stop]\nrule = \"fixed\"\nmessages = 50\nwarmup = \"none\"\nreplications = 2"
        );
        let result = run(&machine, &work);
        let phase = measure(&result, "p.phase");
        // Each round starts on an empty machine.
        let (low, high) = (phase.low.unwrap(), phase.high.unwrap());
        let mean = phase.mean.unwrap();
        assert!((high - low).abs() < 1e-9 * mean, "{low} {high}");
        mean
    };
    let header = 2.0 * 0.01 + 0.05;
    let one = phase("[[0, 1, \"960 B\"]]");
    assert!((one / (1.0 + header) - 1.0).abs() < 1e-9, "{one}");
    let two = phase("[[0, 1, \"960 B\"], [2, 1, \"480 B\", 2]]");
    assert!((two / (2.0 + header) - 1.0).abs() < 0.02, "{two}");
}

/// What cannot be sent is refused at its line.
#[test]
fn listed_messages_that_are_none() {
    let error = |messages: &str| {
        let work = format!(
            "[workload.jobs.p]\ntraffic = \"listed\"\nnodes = [0, 1, 2]\nmessages = {messages}"
        );
        let error = experiment("graph = \"ring\"\nswitches = 8", &work).unwrap_err();
        let error = error.to_string();
        let place = "g.toml:11: workload.jobs.p.messages: ";
        let problem = error.strip_prefix(place).map(str::to_owned);
        problem.unwrap_or(error)
    };
    let row = "write [from, to, \"64 KiB\"], or [from, to, \"64 KiB\", times]";
    for (messages, expected) in [
        ("[]", "no message at all; list one or more".to_owned()),
        (
            "\"all\"",
            "the text \"all\" where a list of messages is expected; write [[0, 1, \"64 KiB\"]]".to_owned(),
        ),
        ("[[0, 1]]", format!("a message of 2 values; {row}")),
        ("[3]", format!("the number 3 where a message is expected; {row}")),
        (
            "[[0, 1, 64]]",
            "the unit of 64 is missing; write an amount of data with its unit, for example \"64 B\""
                .to_owned(),
        ),
        (
            "[[0, 1, \"0 B\"]]",
            "zero is no data; give 1 B to 1099511627776 B".to_owned(),
        ),
        (
            "[[0, 1, \"1 B\", 0]]",
            "0 is out of range; give 1 to 16777216".to_owned(),
        ),
        (
            "[[0, 1, \"1 B\", 16777216], [0, 1, \"1 B\"]]",
            "more than 2^24 messages; list fewer, or longer ones".to_owned(),
        ),
        (
            "[[0, \"node 1\", \"1 B\"]]",
            "\"node 1\" is no receiver; write the rank of a node, 1, or \"server 0\"".to_owned(),
        ),
        (
            "[[0, 1, \"1 B\"], [0, \"server 0\", \"1 B\"]]",
            "some messages go to nodes of the job and some to I/O servers; list one sort, and the other in \
             a job of its own"
                .to_owned(),
        ),
        (
            "[[0, 3, \"1 B\"]]",
            "there is no rank 3; the job has 3 nodes; give ranks 0 to 2, or the job more nodes".to_owned(),
        ),
        (
            "[[0, \"server 0\", \"1 B\"]]",
            "there is no server 0; there are 0 I/O servers; set workload.servers.placement and \
             workload.servers.count"
                .to_owned(),
        ),
        (
            "[[2, 2, \"1 B\"]]",
            "a message of rank 2 goes to its own node; leave out what stays where it is".to_owned(),
        ),
    ] {
        assert_eq!(error(messages), expected, "{messages}");
    }
}

/// The engine of rings has no moment at which all nodes begin.
#[test]
fn listed_messages_are_refused_on_rings() {
    let text = "version = 1\nname = \"r\"\n[machine]\nkind = \"sci\"\nfabric = \"ring\"\nsize = 3\n\
        [workload.jobs.p]\ntraffic = \"listed\"\nmessages = [[0, 1, \"1 KiB\"]]\n";
    let error = KINDS.parse(text, "r.toml", &[]).unwrap_err().to_string();
    assert_eq!(
        error,
        "r.toml:8: workload.jobs.p.traffic: listed messages, whose rounds begin at all nodes at once, are not \
         simulated on SCI fabrics; set another kind of traffic, or another kind of machine"
    );
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
        "g.toml:7: machine.virtual_channels: routes take 2 layers of virtual channels and links have 1, so \
         that packets could wait for one another in a circle, in a single layer at switches 0, 7, 6, 5, 4, \
         3, 2, 1; give 2 or more, or set machine.routing = \"up-down\""
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

/// Routes are followed when the machine is built: errors point to their line of the text all the same.
#[test]
fn a_table_that_leads_astray_has_its_line() {
    let job = "[workload.jobs.u]\ntraffic = \"uniform\"";
    let error = |routes: &str, more: &str| {
        let machine = format!(
            "graph = \"edges\"\nedges = \"a b\\nb c\\nc a\\nc d\"\nrouting = \"table\"\n{more}\
             routes = \"\"\"\n# all by c\n{routes}\"\"\""
        );
        experiment(&machine, job)
            .map(|_| ())
            .map_err(|error| error.to_string())
    };
    let good = "a * c\nb * c\nc a a\nc b b\nc d d\nd * c\n";
    assert_eq!(error(good, ""), Ok(()));
    let wrong = |routes: &str| error(routes, "").unwrap_err();
    assert_eq!(
        wrong("a * c\nb * c\nc a a\nc b b\nd * c\n"),
        "g.toml:10: machine.routes: switch \"c\" has no route to \"d\": nobody reaches that from \"a\"; add a \
         line: c, d or *, and the next switch"
    );
    assert_eq!(
        wrong("b * c\nc a a\nc b b\nc d d\nd * c\n"),
        "g.toml:8: machine.routes: switch \"a\" has no route to \"b\": nobody reaches that from \"a\"; add a \
         line: a, b or *, and the next switch"
    );
    assert_eq!(
        wrong("a * c\nb d a\nb * c\nc d b\nc a a\nc b b\nd * c\n"),
        "g.toml:10: machine.routes: the routes to \"d\" lead around in a circle, at switches a, c, b; let one of \
         them go on towards \"d\""
    );
    let around = "a * b\nb * c\nc d d\nc * a\nd * c\n";
    assert_eq!(
        wrong(around),
        "g.toml:11: machine.routes: packets could wait for one another in a circle, at switches b, c, a; put some \
         of these routes into another layer, or set machine.routing = \"up-down\""
    );
    // As long as a packet has yet to leave c for a it is in layer 1.
    let in_layers = "a * b\nb a c 1\nb * c\nc d d\nc * a 1\nd * c\n";
    assert_eq!(error(in_layers, ""), Ok(()));
    let one = error(in_layers, "virtual_channels = 1\n").unwrap_err();
    assert_eq!(
        one,
        "g.toml:8: machine.virtual_channels: routes take 2 layers of virtual channels and links have 1, so that \
         packets could wait for one another in a circle; give 2 or more, or set machine.routing = \"up-down\""
    );
}

/// Links of a dragonfly that are too long are refused at the field of their delay.
#[test]
fn a_delay_that_cannot_be_counted_is_at_its_field() {
    let job = "[workload.jobs.u]\ntraffic = \"uniform\"";
    let error = |delays: &str| {
        let machine = format!(
            "graph = \"dragonfly\"\nnodes = 2\nrouters = 4\ngroups = 9\nvirtual_channels = 3\n{delays}"
        );
        let error = experiment(&machine, job).map(|_| ()).unwrap_err();
        error.to_string()
    };
    for (delays, key) in [
        (
            "delay = \"5 ns\"\nglobal_delay = \"1000 s\"",
            "11: machine.global_delay",
        ),
        (
            "delay = \"1000 s\"\nglobal_delay = \"5 ns\"",
            "10: machine.delay",
        ),
    ] {
        let found = error(delays);
        let start = format!("g.toml:{key}: a link of 1000 s is too long; ");
        assert!(found.starts_with(&start), "{found}");
        assert!(found.ends_with("; give shorter links"), "{found}");
    }
}

/// A mesh's routes written down give what the rule gives, to the byte of every measure.
#[test]
fn a_table_of_the_rule_s_routes_runs_as_the_rule() {
    let form = Form::Mesh { sizes: vec![3, 3] };
    let ways = Shortest::new(&form, &form.wiring(1)).unwrap();
    let pairs = (0..9).flat_map(|at| (0..9).map(move |to| (at, to)));
    let lines = pairs.filter_map(|(at, to)| Some(format!("{at} {to} {}", ways.next(at, to)?)));
    let routes = lines.collect::<Vec<_>>().join("\n");
    let work = "load = \"200 MB/s\"\n[workload.jobs.u]\ntraffic = \"uniform\"\nmessage = \"2 kB\"\n\
         arrivals = \"open\"\n[stop]\nrule = \"fixed\"\ntime = \"200 us\"\nwarmup = \"none\"";
    let measures = |more: &str| {
        let machine = format!("graph = \"mesh\"\nsize = \"3x3\"\n{PLAIN}\n{more}");
        serde_json::to_string(&run(&machine, work).points[0].measures).unwrap()
    };
    let table = measures(&format!(
        "routing = \"table\"\nroutes = \"\"\"\n{routes}\"\"\""
    ));
    assert_eq!(table, measures("routing = \"minimal\""));
}

/// A list of cables and a ring, each with a table of its own on an axis.
#[test]
fn tables_may_differ_from_point_to_point() {
    let text = include_str!("good/graph_table.toml");
    let scenario = KINDS.parse(text, "g.toml", &[]);
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    let experiment = Experiment::new(&KINDS, scenario, Options::default());
    assert_eq!(
        experiment
            .map(|experiment| experiment.capacity().len())
            .ok(),
        Some(2)
    );
}

/// Errors that only the engine finds are reported when the machine is built, not in the middle of a run.
#[test]
fn errors_of_the_engine_are_reported_before_it_runs() {
    let job = "[workload.jobs.u]\ntraffic = \"uniform\"";
    let error = |machine: &str| experiment(machine, job).unwrap_err().to_string();
    assert_eq!(
        error(
            "graph = \"ring\"\nswitches = 8\nswitching = \"cut-through\"\noutput_buffer = 8\n\
             virtual_channels = 2"
        ),
        "g.toml:8: machine.output_buffer: packets of 2 classes of channels would share output buffers, and \
         could wait for one another for ever; leave the buffers out; leave it out, or choose routes of \
         one layer"
    );
    assert_eq!(
        error("graph = \"ring\"\nswitches = 3\ndelay = \"10 h\""),
        "g.toml:7: machine.delay: a link of 36000 s is too long; at 100 ps a tick it may take \
         109.9511627776 s at most; give shorter links"
    );
}

/// A node has the circuits of one layer: one of two channels in two layers. 320 B of payload each 945 ns on
/// the wire, 35 ns to the switch and back, 50 ns: 300 MB/s, where the engine could send 335.
#[test]
fn a_node_has_the_circuits_of_one_layer() {
    let experiment = experiment(
        "graph = \"ring\"\nswitches = 8",
        "[workload.jobs.u]\ntraffic = \"uniform\"",
    );
    let capacity = experiment.unwrap().capacity();
    let interface = capacity[0].parts[0].supply.unwrap();
    assert!((interface - 320.0 / 1.065).abs() < 0.1, "{interface}");
    let three = "graph = \"ring\"\nswitches = 8\nvirtual_channels = 3";
    let experiment = self::experiment(three, "[workload.jobs.u]\ntraffic = \"uniform\"");
    let remarks = &experiment.unwrap().capacity()[0].remarks;
    let said = "Of 3 virtual channels 1 stays unused: the routes are in 2 layers.";
    assert!(remarks.contains(&said.to_owned()), "{remarks:?}");
}

/// Circuits and cut-through, minimal ways and those up and down, by a third group: everything that is asked
/// for at light load arrives.
#[test]
fn every_form_and_routing_carries_light_traffic() {
    let cut = "switching = \"cut-through\"\nbuffer = 32";
    let forms = [
        "graph = \"mesh\"\nsize = \"3x3\"",
        "graph = \"torus\"\nsize = \"5x4\"\nnodes_per_switch = 2",
        "graph = \"torus\"\nsize = \"4x4\"\nrouting = \"up-down\"",
        "graph = \"cables\"\ncables = [[0, 1], [1, 2], [2, 0], [2, 3], [3, 4], [4, 0]]\ndelay = \"100 ns\"",
        "graph = \"dragonfly\"\nnodes = 1\nrouters = 2\ngroups = 4\ngroup_routing = \"valiant\"",
        "graph = \"dragonfly\"\nnodes = 2\nrouters = 2\ngroups = 5\ngroup_routing = \"ugal\"",
        "graph = \"dragonfly\"\nnodes = 2\nrouters = 3\ngroups = 1",
    ];
    for form in forms {
        for switching in ["", cut] {
            let machine = format!("{form}\nvirtual_channels = 6\n{switching}");
            let work = "load = \"20 MB/s\"\n[workload.jobs.u]\ntraffic = \"uniform\"\nmessage = \"2 kB\"\n\
                 arrivals = \"open\"\n[stop]\nrule = \"fixed\"\ntime = \"4 ms\"\nwarmup = \"none\"";
            let result = run(&machine, work);
            let accepted = measure(&result, "u.accepted");
            let (low, high) = (accepted.low.unwrap(), accepted.high.unwrap());
            assert!(
                low < 20.0 && 20.0 < high * 1.02,
                "{form} {switching}: {low} {high}"
            );
        }
    }
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
    let links = |buffer: u32| {
        let work = "[workload.jobs.u]\ntraffic = \"uniform\"\nload = \"100 MB/s\"";
        let experiment = experiment(&machine(buffer), work).unwrap();
        let parts = experiment.capacity()[0].parts.clone();
        let at = parts
            .iter()
            .find(|part| part.name.starts_with("link between"));
        let part = at.unwrap();
        (part.supply.unwrap(), part.basis.clone())
    };
    // 96 B of 100 B of 1 GB/s, and 8 packets of 100 ns in a round trip of 2.12 us.
    let (whole, short) = (links(24), links(8));
    assert!((whole.0 - 960.0).abs() < 1e-6, "{whole:?}");
    assert!((short.0 / whole.0 - 0.8 / 2.12).abs() < 1e-9, "{short:?}");
    assert_eq!(short.1, format!("{}, 37.7% of the time", whole.1));
    let said = "A link of 1 us carries at most 37.7% of its bandwidth: buffers hold 8 packets where 22 fit into \
                its round trip of 2.12 us; raise machine.buffer.";
    assert!(remarks(8).contains(&said.to_owned()), "{:?}", remarks(8));
    assert!(
        !remarks(24)
            .iter()
            .any(|remark| remark.contains("round trip"))
    );
}
