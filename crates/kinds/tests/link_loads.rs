//! What `check` says of the busiest link of each kind, against routes that are walked link by link, and against runs.

use isthmus_experiment::capacity::Capacity;
use isthmus_experiment::result::RunResult;
use isthmus_experiment::{Experiment, Options};
use isthmus_kinds::KINDS;
use isthmus_machine::fattree;
use isthmus_machine::graph;
use isthmus_machine::packets::routes::{Header, Routes, Run};
use isthmus_scenario::Scenario;
use isthmus_workload::jobs::Layout;
use isthmus_workload::jobs::spec::JobsTraffic;
use proptest::prelude::*;
use proptest::sample::select;
use std::collections::BTreeMap;

/// What each node asks for in MB/s.
const ASKED: f64 = 12.0;

/// Lots at equal distances: chance among 1, 2, 3, 4, 5 or 6 links falls on as many of them each.
const LOTS: u64 = 60;

/// The load of each link: a packet of a run of several links is on each of them as often, and of links that are drawn it
/// takes each as often as lots fall on it.
fn walked(routes: &impl Routes, traffic: &JobsTraffic, layout: &Layout) -> Vec<f64> {
    let mut loads = vec![0.0; routes.link_count() as usize];
    for (number, job) in traffic.jobs.iter().enumerate() {
        for pair in layout.pairs(number, job) {
            let header = Header {
                from: pair.client,
                to: pair.other,
                links: 0,
                state: routes.initial_state(pair.client, pair.other),
                class: 0,
            };
            let rate = ASKED / pair.of as f64;
            walk(routes, header, None, rate, &mut loads);
        }
    }
    loads
}

fn walk(routes: &impl Routes, header: Header, over: Option<u32>, rate: f64, loads: &mut [f64]) {
    let mut found: BTreeMap<(u32, u32), (Header, f64)> = BTreeMap::new();
    for lot in 0..LOTS {
        let lot = || (u64::MAX / LOTS) * lot + u64::MAX / LOTS / 2;
        let mut header = header;
        let Run { first, links } = match over {
            None => routes.first_links(&mut header, lot),
            Some(link) => routes.next_links(&mut header, routes.end(link), lot),
        };
        let each = found.entry((first, links)).or_insert((header, 0.0));
        each.1 += rate / LOTS as f64;
    }
    for ((first, links), (mut header, rate)) in found {
        header.links += 1;
        for link in first..first + links {
            let rate = rate / f64::from(links);
            loads[link as usize] += rate;
            if routes.end(link).vertex != header.to {
                walk(routes, header, Some(link), rate, loads);
            }
        }
    }
}

/// `None` where the machine has too few nodes for the job, or as many as its offset.
fn scenario(machine: &str, job: &str) -> Option<Scenario> {
    let text = format!(
        "version = 1\nname = \"x\"\n[machine]\n{machine}\n[workload.servers]\nplacement = \"distributed\"\n\
         count = 2\n[workload.jobs.j]\n{job}\nload = \"{ASKED} MB/s\"\n"
    );
    match KINDS.parse(&text, "s.toml", &[]) {
        Ok(scenario) => Some(scenario),
        Err(error) if error.field.starts_with("workload.jobs.j") => None,
        Err(error) => panic!("{error}\n{text}"),
    }
}

fn capacity(scenario: Scenario) -> Capacity {
    let experiment = Experiment::new(&KINDS, scenario, Options::default());
    let experiment = experiment.unwrap_or_else(|error| panic!("{error}"));
    experiment.capacity()[0].clone()
}

/// By kind of link, as `check` calls it, the load of the busiest.
fn oracle(scenario: &Scenario) -> BTreeMap<String, f64> {
    let traffic: &JobsTraffic = scenario.workload.expect();
    let mut busiest = BTreeMap::new();
    let mut add = |kind: String, load: f64| {
        let most: &mut f64 = busiest.entry(kind).or_default();
        *most = most.max(load);
    };
    let name = |kind: &str| match kind {
        "inject" => "link of a node".to_owned(),
        "eject" => "link into a node, busiest".to_owned(),
        kind => format!("link {kind}, busiest"),
    };
    if let Some(spec) = scenario.machine.as_() {
        let machine = fattree::Machine::new(spec).expect("a tree");
        let tree = machine.tree();
        let layout = Layout::new(traffic, tree.node_count()).expect("a layout");
        let loads = walked(&**machine.routes(), traffic, &layout);
        for (link, load) in (0..).zip(loads) {
            add(name(&tree.link(link).to_string()), load);
        }
        return busiest;
    }
    let built = graph::Built::new(scenario.machine.expect()).expect("a network");
    let (wiring, loads) = match &built {
        graph::Built::Switches(machine) => {
            let nodes = machine.wiring().node_count();
            let layout = Layout::new(traffic, nodes).expect("a layout");
            (
                machine.wiring(),
                walked(&**machine.routes(), traffic, &layout),
            )
        }
        graph::Built::Dragonfly(machine) => {
            let nodes = machine.wiring().node_count();
            let layout = Layout::new(traffic, nodes).expect("a layout");
            (
                machine.wiring(),
                walked(&**machine.routes(), traffic, &layout),
            )
        }
    };
    let nodes = wiring.node_count();
    for (link, load) in (0..).zip(loads) {
        let ends = [wiring.target(wiring.reverse(link)), wiring.target(link)];
        let kind = match ends.map(|end| end.checked_sub(nodes)) {
            [None, _] => name("inject"),
            [_, None] => name("eject"),
            [Some(from), Some(to)] => match &built {
                graph::Built::Switches(_) => name("between switches"),
                // Of the dragonflies below a group has 3 routers.
                graph::Built::Dragonfly(_) if from / 3 == to / 3 => {
                    "local link, busiest".to_owned()
                }
                graph::Built::Dragonfly(_) => "global link, busiest".to_owned(),
            },
        };
        add(kind, load);
    }
    busiest
}

/// The loads of links of the oracle are those that `check` states.
fn agree(machine: &str, job: &str) -> Result<(), TestCaseError> {
    let Some(scenario) = scenario(machine, job) else {
        return Err(TestCaseError::reject(
            "a job that does not lie on the machine",
        ));
    };
    let expected = oracle(&scenario);
    let parts = capacity(scenario).parts;
    for (kind, load) in expected {
        let said = parts.iter().find(|part| part.name == kind);
        let said = said.and_then(|part| part.demand).unwrap_or(0.0);
        prop_assert!(
            (said - load).abs() < 1e-9 * ASKED.max(load),
            "{}: {} said, {} walked on\n{}\n{}",
            kind,
            said,
            load,
            machine,
            job
        );
    }
    Ok(())
}

fn job() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("traffic = \"uniform\"".to_owned()),
        (1u32..6).prop_map(|offset| format!("traffic = \"shift\"\noffset = {offset}")),
        Just("traffic = \"io\"".to_owned()),
        Just("traffic = \"io\"\ndestinations = \"interleaved\"".to_owned()),
    ]
}

fn tree() -> impl Strategy<Value = String> {
    let ascent = select(vec!["destination", "source", "random", "adaptive"]);
    let numbers = |most| prop::collection::vec(1u32..most, 3);
    let levels = (prop::collection::vec(2u32..4, 3), numbers(4), numbers(3));
    (ascent, levels, 2usize..4).prop_map(|(ascent, (down, up, parallel), levels)| {
        let [down, up, parallel] = [&down, &up, &parallel].map(|of| &of[..levels]);
        format!(
            "kind = \"fat-tree\"\ntree = \"generalised\"\ndown = {down:?}\nup = {up:?}\nparallel = {parallel:?}\n\
             ascent = \"{ascent}\""
        )
    })
}

/// Rings, tori and lists of cables, among them several between the same switches, dragonflies, and routes by a list.
fn network() -> impl Strategy<Value = String> {
    let grid = prop_oneof![
        (4u32..8).prop_map(|switches| format!("graph = \"ring\"\nswitches = {switches}")),
        (2u32..4, 3u32..5).prop_map(|(a, b)| format!("graph = \"torus\"\nsize = \"{a}x{b}\"")),
        prop::collection::vec((0u32..6, 1u32..4), 6).prop_map(|of| {
            let tree = (1u32..).zip(&of);
            let cables = tree.map(|(at, &(to, width))| format!("s{at} s{} width={width}", to % at));
            let cables: Vec<String> = cables.collect();
            format!(
                "graph = \"edges\"\nedges = \"\"\"\n{}\n\"\"\"",
                cables.join("\n")
            )
        }),
    ];
    let routing = select(vec!["minimal", "up-down"]);
    let switches = (grid, routing, 1u32..3).prop_map(|(grid, routing, nodes)| {
        format!("kind = \"graph\"\n{grid}\nnodes_per_switch = {nodes}\nrouting = \"{routing}\"\nvirtual_channels = 8")
    });
    let dragonfly = (1u32..3, 3u32..6, 1u32..4).prop_map(|(nodes, groups, links)| {
        format!(
            "kind = \"graph\"\ngraph = \"dragonfly\"\nnodes = {nodes}\nrouters = 3\ngroups = {groups}\n\
             global_links = {links}\nvirtual_channels = 8"
        )
    });
    // By a list: all around a ring one way, in another layer before the end of the ring than behind it.
    let listed = (3u32..6).prop_map(|count| {
        let pairs = (0..count).flat_map(|at| (0..count).map(move |to| (at, to)));
        let routes: String = pairs
            .filter(|(at, to)| at != to)
            .map(|(at, to)| {
                let (next, layer) = ((at + 1) % count, u32::from(at > to));
                format!("{at} {to} {next} layer={layer}\n")
            })
            .collect();
        format!(
            "kind = \"graph\"\ngraph = \"ring\"\nswitches = {count}\nrouting = \"table\"\n\
             routes = \"\"\"\n{routes}\"\"\"\nvirtual_channels = 8"
        )
    });
    prop_oneof![3 => switches, 1 => dragonfly, 1 => listed]
}

fn cases(count: u32) -> ProptestConfig {
    ProptestConfig {
        cases: count,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn loads_of_links_of_trees_are_those_of_their_routes(machine in tree(), job in job()) {
        agree(&machine, &job)?;
    }

    #[test]
    fn loads_of_links_of_networks_are_those_of_their_routes(machine in network(), job in job()) {
        agree(&machine, &job)?;
    }
}

/// The first dragonfly below in a closed loop: 128/71 of what a node gets crosses a global link, which carries 338.6 MB/s of
/// payload, 320 of 378 bytes at 400 MB/s. All nodes are alike.
#[test]
fn closed_loops_get_fair_shares() {
    let text = "version = 1\nname = \"x\"\n[machine]\nkind = \"graph\"\ngraph = \"dragonfly\"\nnodes = 2\nrouters = 4\n\
        groups = 9\ngroup_routing = \"valiant\"\nvirtual_channels = 12\n[workload.jobs.j]\ntraffic = \"uniform\"\n\
        message = \"32 KiB\"\noutstanding = 16\n";
    let scenario = KINDS.parse(text, "s.toml", &[]).expect("a scenario");
    let remarks = capacity(scenario).remarks;
    let share = 320.0 / 378.0 * 400.0 / (128.0 / 71.0);
    let expected = format!("interfaces give j {share:.0} MB/s per node");
    assert!(
        remarks.iter().any(|said| said.contains(&expected)),
        "{remarks:?} {expected}"
    );
}

/// 72 nodes ask for 71 MB/s each, 64/71 of it beyond their group of 8 nodes and 8 global links. By a third group all of that
/// crosses two of these. Queues may lead it over any of them, but not over fewer than one out and one in.
#[test]
fn dragonflies_that_choose_by_hand() {
    let demands = |routing: &str| -> BTreeMap<String, f64> {
        let text = format!(
            "version = 1\nname = \"x\"\n[machine]\nkind = \"graph\"\ngraph = \"dragonfly\"\nnodes = 2\nrouters = 4\n\
             groups = 9\ngroup_routing = \"{routing}\"\nvirtual_channels = 3\n[workload.jobs.j]\n\
             traffic = \"uniform\"\nload = \"71 MB/s\"\n"
        );
        let scenario = KINDS.parse(&text, "s.toml", &[]).expect("a scenario");
        let parts = capacity(scenario).parts.into_iter();
        parts
            .map(|part| (part.name, part.demand.expect("a demand")))
            .collect()
    };
    let valiant = demands("valiant");
    assert!((valiant["global link, busiest"] - 128.0).abs() < 1e-9);
    let ugal = demands("ugal");
    for way in ["out of", "into"] {
        let links = &ugal[&format!("global links {way} a group, at least")];
        assert!((links - 64.0).abs() < 1e-9, "{links}");
    }
    assert!(!ugal.keys().any(|name| name.starts_with("local")));
}

/// The share of the busiest link of a kind, as `check` has it and as a run has it.
fn shares(text: &str, name: &str, kind: &str) -> (f64, f64) {
    let scenario = || {
        KINDS
            .parse(text, "s.toml", &[])
            .unwrap_or_else(|error| panic!("{error}"))
    };
    let parts = capacity(scenario()).parts;
    let part = parts.iter().find(|part| part.name == name);
    let said = part.and_then(|part| part.share());
    let run = |scenario| -> RunResult {
        let experiment = Experiment::new(&KINDS, scenario, Options::default()).expect("a machine");
        experiment.run().unwrap_or_else(|error| panic!("{error}"))
    };
    let result = run(scenario());
    let mut rows = result.points[0].channels.iter();
    let row = rows.find(|row| row.kind == kind && row.from.is_none());
    let highest = row.and_then(|row| row.highest);
    (said.expect("a share"), highest.expect("a kind of link"))
}

/// Eight servers at every eighth node have the same number modulo the links out of a switch of level 2, so that all that
/// is written leaves it over the same of them. In each period 48 or more of its nodes' 4 MiB pass; 2 ms.
#[test]
fn servers_at_equal_distances_share_few_links_up() {
    let text = "version = 1\nname = \"x\"\n[machine]\nkind = \"fat-tree\"\npreset = \"infiniband-ndr\"\n\
        arity = 4\nlevels = 3\ntaper = 2\nascent = \"destination\"\n[workload.servers]\n\
        placement = \"distributed\"\ncount = 8\n[workload.jobs.c]\ntraffic = \"checkpoint\"\n\
        destinations = \"interleaved\"\nperiod = \"2 ms\"\nvolume = \"4 MiB\"\n[stop]\nrule = \"fixed\"\ntime = \"20 ms\"\nwarmup = \"none\"\n\
        replications = 2\n";
    for (name, kind) in [
        ("link up 2, busiest", "up 2"),
        ("link down 2, busiest", "down 2"),
        ("link up 1, busiest", "up 1"),
    ] {
        let (said, simulated) = shares(text, name, kind);
        println!("{name}: {said:.4} said, {simulated:.4} simulated");
        assert!((said / simulated - 1.0).abs() < 0.02, "{name}");
    }
}

/// At low load all that is asked for passes: the busiest link carries its share, with its interval of chance.
#[test]
fn a_dragonfly_at_low_load_is_as_busy_as_said() {
    let text = "version = 1\nname = \"x\"\n[machine]\nkind = \"graph\"\ngraph = \"dragonfly\"\nnodes = 2\n\
        routers = 4\ngroups = 9\nvirtual_channels = 4\nbandwidth = \"1 GB/s\"\nswitching = \"cut-through\"\n\
        [machine.nic]\ndma_period = \"1 ns\"\n[workload.jobs.u]\ntraffic = \"shift\"\noffset = 8\n\
        load = 0.08\nmessage = \"2 kB\"\n[stop]\nrule = \"fixed\"\ntime = \"4 ms\"\nwarmup = \"none\"\n\
        replications = 2\n";
    for (name, kind) in [
        ("global link, busiest", "global_link"),
        ("local link, busiest", "local_link"),
    ] {
        let (said, simulated) = shares(text, name, kind);
        println!("{name}: {said:.4} said, {simulated:.4} simulated");
        assert!((said / simulated - 1.0).abs() < 0.1, "{name}");
    }
}
