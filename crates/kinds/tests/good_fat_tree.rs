//! Files of fat trees that are right, and what they mean.

use isthmus_kinds::KINDS;
use isthmus_machine::fattree::spec::{Ascent, FatTreeSpec, Shape};
use isthmus_machine::packets::spec::{
    Adaptive, Age, AgeFrom, AgeTie, LatePackets, LinkLoad, LinkTie, Nic, Switching,
};
use isthmus_scenario::{Described, Scenario, StopRule, Warmup};
use isthmus_units::{Bandwidth, Bytes, Time};
use isthmus_workload::Outstanding;
use isthmus_workload::jobs::Layout;
use isthmus_workload::jobs::spec::{
    AllReduce, Arrivals, Destinations, Io, Job, JobNodes, JobsTraffic, Mapping, Serve, Servers,
    Sizes, Spread, Targets, Traffic,
};
use isthmus_workload::storage::StorageSpec;

fn good(name: &str) -> Scenario {
    with_overrides(name, &[])
}

fn with_overrides(name: &str, overrides: &[&str]) -> Scenario {
    let path = format!("{}/tests/good/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).expect("the file is part of this crate");
    parsed(&text, overrides)
}

fn parsed(text: &str, overrides: &[&str]) -> Scenario {
    let overrides: Vec<String> = overrides.iter().map(|&text| text.to_owned()).collect();
    let scenario = KINDS
        .parse(text, "good", &overrides)
        .unwrap_or_else(|e| panic!("{e}"));
    let again = KINDS
        .parse(&scenario.canonical(), "canonical", &[])
        .unwrap_or_else(|e| panic!("{e}\n{}", scenario.canonical()));
    assert_eq!(scenario, again, "{}", scenario.canonical());
    assert_eq!(scenario.digest(), again.digest());
    scenario
}

fn tree(machine: &Described) -> &FatTreeSpec {
    machine.as_::<FatTreeSpec>().expect("a tree was described")
}

fn jobs(workload: &Described) -> &JobsTraffic {
    workload.as_::<JobsTraffic>().expect("jobs were described")
}

const SMALLEST: &str = "version = 1\nname = \"s\"\n[machine]\nkind = \"fat-tree\"\narity = 4\n\
                        levels = 3\n[workload.jobs.compute]\ntraffic = \"uniform\"\n";

/// Sections 2.2, 4.1 and 4.2 of the paper, and what the reading of it adds.
fn paper() -> FatTreeSpec {
    FatTreeSpec::qsnet(3)
}

#[test]
fn the_paper_network_is_what_the_defaults_describe() {
    let scenario = parsed(SMALLEST, &[]);
    assert_eq!(scenario.machine, Described::new(paper()));
    assert_eq!(scenario.kind(), "fat-tree");
    let compute = Job {
        name: "compute".to_owned(),
        nodes: JobNodes::All,
        traffic: Traffic::Uniform {
            sizes: Sizes {
                mean: Bytes::new(262_144),
                spread: Spread::Fixed,
            },
            arrivals: Arrivals::equal_pauses(Time::ZERO),
        },
        active: true,
        outstanding: Outstanding::ONE,
    };
    let traffic = JobsTraffic {
        serve: Serve::All,
        servers: Servers::None,
        storage: StorageSpec::None,
        mapping: Mapping::Dedicated,
        jobs: vec![compute],
    };
    assert_eq!(scenario.workload, Described::new(traffic));
    let StopRule::Precision { of, .. } = &scenario.stop.rule else {
        panic!("another rule")
    };
    assert_eq!(of, &["compute.response"]);
    assert_eq!(scenario.stop.warmup, Warmup::Mser5);
    assert!(scenario.is_load("workload.load"));
    assert!(!scenario.is_load("workload.jobs.compute.load"));
}

#[test]
fn readings_are_fields() {
    let of = |overrides: &[&str]| tree(&parsed(SMALLEST, overrides).machine).network.readings;
    for (word, from) in [
        ("injection", AgeFrom::Injection),
        ("message", AgeFrom::Message),
        ("arrival", AgeFrom::Arrival),
        ("request", AgeFrom::Request),
    ] {
        assert_eq!(of(&[&format!("machine.age_from={word}")]).age_from, from);
    }
    for (word, tie) in [
        ("round-robin", AgeTie::RoundRobin),
        ("random", AgeTie::Random),
        ("lowest", AgeTie::Lowest),
    ] {
        let both = ["machine.age=per-switch", &format!("machine.age_tie={word}")];
        assert_eq!(of(&both).age_tie, tie);
    }
    for (load_word, load) in [("room", LinkLoad::Room), ("idle", LinkLoad::Idle)] {
        for (tie_word, tie) in [
            ("random", LinkTie::Random),
            ("longest-idle", LinkTie::LongestIdle),
            ("lowest", LinkTie::Lowest),
        ] {
            let found = of(&[
                &format!("machine.ascent_load={load_word}"),
                &format!("machine.ascent_tie={tie_word}"),
            ]);
            assert_eq!(found.adaptive, Adaptive { load, tie });
        }
    }
}

#[test]
fn the_kind_of_memory_presets_the_interface() {
    let of = |overrides: &[&str]| tree(&parsed(SMALLEST, overrides).machine).network.nic;
    let main = of(&["machine.memory=main"]);
    let times = (main.dma_period, main.receive_delay);
    assert_eq!(times, (Time::from_ns(1_600), Time::from_ns(2_400)));
    let mixed = of(&["machine.memory=main", "machine.nic.receive_delay=1 us"]);
    let times = (mixed.dma_period, mixed.receive_delay);
    assert_eq!(times, (Time::from_ns(1_600), Time::from_us(1)));
}

/// Section 4.1: 320 B each 955.2 ns; where the engine is faster, 320 B with 58 B at 400 MB/s; in
/// main memory 320 B each 1.6 us.
#[test]
fn a_node_can_send_what_its_engine_and_its_link_can() {
    let mb_per_s = |overrides: &[&str]| {
        let scenario = parsed(SMALLEST, overrides);
        tree(&scenario.machine)
            .network
            .injection_bandwidth()
            .bits_per_s() as f64
            / 8e6
    };
    assert!((mb_per_s(&[]) - 320.0 / 0.9552).abs() < 1e-3);
    let wire = mb_per_s(&["machine.nic.dma_period=1 ns"]);
    assert!((wire - 400.0 * 320.0 / 378.0).abs() < 1e-3);
    assert!((mb_per_s(&["machine.memory=main"]) - 200.0).abs() < 1e-3);
}

#[test]
fn trees_are_described_in_three_ways() {
    let shape = |overrides: &[&str]| {
        let scenario = parsed(SMALLEST, overrides);
        let shape = tree(&scenario.machine).shape.clone();
        (shape.to_string(), shape.node_count().unwrap())
    };
    let name = |text: &str| text.to_owned();
    assert_eq!(shape(&["machine.levels=5"]), (name("4-ary 5-tree"), 1024));
    let tapered = shape(&["machine.taper=2"]);
    assert_eq!(tapered, (name("XGFT(3; 4,4,4; 1,2,4)"), 64));
    assert_eq!(
        tree(&good("fat_tree_knee").machine).shape.node_count(),
        Ok(96)
    );
    // Four leaf switches of 24 nodes with 12 links up to switches of 8: two to each.
    let knee = tree(&good("fat_tree_knee").machine).shape.to_string();
    assert_eq!(knee, "PGFT(2; 24,4; 1,6; 1,2)");
    let listed = Shape::Generalised {
        down: vec![8, 4, 2],
        up: vec![1, 4, 2],
        parallel: vec![1, 1, 2],
    };
    assert_eq!(tree(&good("fat_tree_everything").machine).shape, listed);
}

#[test]
fn everything_of_the_machine_is_read() {
    let scenario = good("fat_tree_everything");
    let spec = tree(&scenario.machine);
    assert_eq!(spec.ascent, Ascent::Destination);
    assert_eq!(spec.network.bandwidth, Bandwidth::from_mb_per_s(25_000));
    assert_eq!(spec.network.switch_latency, Time::from_ns(90));
    assert_eq!(spec.network.virtual_channels, 4);
    let switching = Switching::CutThrough {
        buffer: 12,
        credit: Time::from_ns(100),
        output_buffer: 0,
        speedup: 1,
    };
    assert_eq!(spec.network.switching, switching);
    assert_eq!(spec.network.age, Age::PerSwitch);
    let late = LatePackets {
        after: Time::from_us(10),
        cost: Time::from_ns(5),
    };
    assert_eq!(spec.network.late, Some(late));
    let nic = Nic {
        payload: Bytes::new(4096),
        overhead: Bytes::new(30),
        padding: Bytes::new(16),
        request: Bytes::new(0),
        packets_in_flight: 2,
        dma_period: Time::from_ns(160),
        dma_block: Time::from_ps(10),
        receive_delay: Time::ZERO,
        software_latency: Time::from_us(1),
        read_turnaround: Time::from_us(2),
        dma_slice: 4,
    };
    assert_eq!(spec.network.nic, nic);
    assert_eq!(scenario.stop.warmup, Warmup::None);
}

#[test]
fn everything_of_the_jobs_is_read() {
    let scenario = good("fat_tree_everything");
    let can_send = tree(&scenario.machine).network.injection_bandwidth();
    let traffic = jobs(&scenario.workload);
    let servers = Servers::Distributed {
        count: 4,
        stride: Some(3),
        offset: 50,
    };
    assert_eq!(
        (&traffic.servers, traffic.serve, traffic.mapping),
        (&servers, Serve::One, Mapping::Shared)
    );
    let layout = Layout::new(traffic, 64).expect("the scenario has been checked");
    assert_eq!(layout.servers, [50, 53, 56, 59]);
    assert_eq!(layout.jobs[0], (0..32).collect::<Vec<_>>());
    assert_eq!(layout.jobs[1], [0, 1, 8, 9, 10, 11]);
    assert_eq!(layout.jobs[2], (32..48).collect::<Vec<_>>());
    let described: Vec<(&str, &Traffic)> = traffic
        .jobs
        .iter()
        .map(|job| (job.name.as_str(), &job.traffic))
        .collect();
    let sizes = |mean: u64, spread| Sizes {
        mean: Bytes::new(mean),
        spread,
    };
    let quarter = Bandwidth::from_bits_per_s((can_send.bits_per_s() as f64 * 0.25).round() as u64);
    let expected = [
        (
            "compute",
            Traffic::Uniform {
                sizes: sizes(65_536, Spread::Uniform),
                arrivals: Arrivals::Closed {
                    think: Time::from_us(3),
                    spread: Spread::Exponential,
                },
            },
        ),
        (
            "transpose",
            Traffic::AllToAll {
                message: Bytes::new(262_144),
                pause: Time::from_us(1),
            },
        ),
        (
            "reduce",
            Traffic::AllReduce {
                vector: Bytes::new(8),
                algorithm: AllReduce::RecursiveDoubling,
                pause: Time::ZERO,
            },
        ),
        (
            "stencil",
            Traffic::Neighbours {
                grid: vec![4, 3, 2],
                wrap: false,
                message: Bytes::new(262_144),
                pause: Time::ZERO,
            },
        ),
        (
            "dump",
            Traffic::Checkpoint {
                period: Time::from_us(10_000),
                volume: Bytes::new(5_000_000),
                message: Bytes::new(2_000_000),
                destinations: Destinations::Blocked,
            },
        ),
        (
            "io",
            Traffic::Io(Io {
                targets: Targets::Servers(Destinations::Interleaved),
                read_ratio: 0.5,
                sizes: sizes(100_000, Spread::Fixed),
                arrivals: Arrivals::Open {
                    load: quarter,
                    gaps: Spread::Uniform,
                },
            }),
        ),
        (
            "hot",
            Traffic::Io(Io {
                targets: Targets::HotNode(7),
                read_ratio: 1.0,
                sizes: sizes(1_000_000, Spread::Fixed),
                arrivals: Arrivals::Open {
                    load: Bandwidth::from_mb_per_s(2),
                    gaps: Spread::Exponential,
                },
            }),
        ),
        (
            "echo",
            Traffic::Ping {
                message: Bytes::new(0),
                both_ways: true,
                pause: Time::from_ns(500),
            },
        ),
    ];
    for (described, (name, traffic)) in described.iter().zip(&expected) {
        assert_eq!(*described, (*name, traffic));
    }
    assert_eq!(described.len(), expected.len());
}

#[test]
fn jobs_run_alone_in_pairs_and_together() {
    let sets = |names: &[&str], word: &str| {
        let tables: Vec<String> = names
            .iter()
            .map(|name| format!("[workload.jobs.{name}]\ntraffic = \"all-to-all\"\n"))
            .collect();
        let text = format!(
            "version = 1\nname = \"s\"\n[machine]\nkind = \"fat-tree\"\narity = 4\nlevels = 2\n\
             [workload]\nmapping = \"shared\"\n{}[sweep]\nworkload.active = \"{word}\"\n",
            tables.concat()
        );
        let scenario = parsed(&text, &[]);
        let points = scenario.points().into_iter().map(|point| {
            let active = jobs(&point.workload).jobs.iter().filter(|job| job.active);
            let active: Vec<&str> = active.map(|job| job.name.as_str()).collect();
            assert_eq!(active.join(" + "), point.values[0].text);
            active.join(" + ")
        });
        points.collect::<Vec<_>>()
    };
    assert_eq!(sets(&["a"], "pairs"), ["a"]);
    assert_eq!(sets(&["b", "a"], "alone"), ["b", "a", "b + a"]);
    assert_eq!(sets(&["b", "a"], "pairs"), ["b", "a", "b + a"]);
    assert_eq!(
        sets(&["a", "b", "c"], "alone"),
        ["a", "b", "c", "a + b + c"]
    );
    assert_eq!(
        sets(&["a", "b", "c"], "pairs"),
        ["a", "b", "c", "a + b", "a + c", "b + c", "a + b + c"]
    );
}

#[test]
fn sweeps_reach_into_jobs() {
    let scenario = good("fat_tree_interference");
    let points = scenario.points();
    assert_eq!(points.len(), 2 * 3 * 3 * 2);
    let axis = &scenario.axes[2];
    assert_eq!(axis.key, "workload.jobs.io.load");
    assert_eq!(axis.label, "offered load of io");
    let numbers: Vec<_> = axis.values.iter().map(|value| value.number).collect();
    assert_eq!(numbers, [0.1, 0.3, 0.5].map(Some));
    let last = jobs(&points[35].workload);
    assert_eq!((last.mapping, last.jobs[1].active), (Mapping::Shared, true));
    assert!(matches!(
        last.servers,
        Servers::Distributed {
            count: 8,
            stride: None,
            offset: 0
        }
    ));
    let Traffic::Io(io) = &last.jobs[1].traffic else {
        panic!("another kind of traffic")
    };
    let Arrivals::Open { load, .. } = io.arrivals else {
        panic!("a closed loop")
    };
    // Half of 320 B / 955.2 ns.
    assert!((load.bits_per_s() as f64 / 8e6 - 167.504).abs() < 0.001);
    // The axes of the compute job alone do not mind the load of the other.
    let alone = &points[0];
    assert!(!jobs(&alone.workload).jobs[1].active);
    let one = with_overrides("fat_tree_interference", &["workload.jobs.io.load=30 MB/s"]);
    assert_eq!(one.axes.len(), 3);
    let kinds = with_overrides(
        "fat_tree_interference",
        &["sweep.workload.jobs.compute.traffic=[\"uniform\", \"neighbours\"]"],
    );
    assert_eq!(kinds.points().len(), 72);
}

#[test]
fn a_search_tries_loads_of_each_node() {
    let scenario = good("fat_tree_knee");
    assert!(scenario.points().is_empty());
    let search = scenario.search.as_ref().expect("the file has one");
    assert_eq!((search.low, search.high), (5.0, 80.0));
    assert_eq!(
        (scenario.loads().key, search.unit),
        ("workload.load", "MB/s")
    );
    let lines = scenario.search_lines();
    let (_, workload) = lines[0].at(12.5).expect("12.5 MB/s is possible");
    let Traffic::Io(io) = &jobs(&workload).jobs[0].traffic else {
        panic!("another kind of traffic")
    };
    let load = Bandwidth::from_bits_per_s(100_000_000);
    let gaps = Spread::Exponential;
    assert_eq!(io.arrivals, Arrivals::Open { load, gaps });
    assert!(lines[0].at(0.0).is_err());
    // With a load in the file there are points as well.
    let both = with_overrides("fat_tree_knee", &["workload.load=10%"]);
    assert_eq!(both.points().len(), 1);
}

#[test]
fn grids_that_are_left_open_are_nearly_square() {
    let grid = |nodes: &str| {
        let nodes = format!("workload.jobs.compute.nodes={nodes}");
        let traffic = "workload.jobs.compute.traffic=neighbours";
        let scenario = parsed(SMALLEST, &[traffic, &nodes]);
        match &jobs(&scenario.workload).jobs[0].traffic {
            Traffic::Neighbours { grid, .. } => grid.clone(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(grid("all"), [8, 8]);
    assert_eq!(grid("part 1 of 2"), [8, 4]);
    assert_eq!(grid("[\"0-6\"]"), [7, 1]);
    assert_eq!(grid("[\"0-55\"]"), [8, 7]);
}

#[test]
fn overrides_change_what_a_job_does() {
    // What meant something to the old kind of traffic is dropped.
    let scenario = with_overrides("fat_tree_interference", &["workload.jobs.io.traffic=ping"]);
    assert_eq!(scenario.axes.len(), 3);
    let ping = Traffic::Ping {
        message: Bytes::new(1_000_000),
        both_ways: false,
        pause: Time::ZERO,
    };
    assert_eq!(jobs(&scenario.workload).jobs[1].traffic, ping);
    let closed = with_overrides(
        "fat_tree_interference",
        &[
            "workload.jobs.io.arrivals=closed",
            "workload.active=[\"io\"]",
        ],
    );
    assert_eq!(closed.axes.len(), 2);
    assert!(!jobs(&closed.workload).jobs[0].active);
    let switched = with_overrides("fat_tree_everything", &["machine.switching=circuit"]);
    assert!(matches!(
        tree(&switched.machine).network.switching,
        Switching::Circuit { acknowledgement_hop, .. } if acknowledgement_hop == Time::from_ns(90)
    ));
}

/// What may be under way where the file does not say: whatever an open source gives to a network with
/// cut-through, one message after another with circuits and in closed loops, a round of a stencil at once.
#[test]
fn messages_under_way_follow_from_arrivals_and_switching() {
    let outstanding = |job: &str, switching: &str| {
        let text = format!(
            "version = 1\nname = \"x\"\n[machine]\nkind = \"fat-tree\"\narity = 4\nlevels = 2\n\
             switching = \"{switching}\"\n[workload.servers]\nplacement = \"clustered\"\ncount = 2\n\
             [workload.jobs.job]\n{job}\n"
        );
        let scenario = parsed(&text, &[]);
        scenario.workload.as_::<JobsTraffic>().unwrap().jobs[0].outstanding
    };
    let checkpoint = "traffic = \"checkpoint\"\nperiod = \"1 ms\"\nvolume = \"1 MB\"";
    for (job, circuits, cut_through) in [
        ("traffic = \"uniform\"", Some(1), Some(1)),
        ("traffic = \"uniform\"\nload = 0.5", Some(1), None),
        ("traffic = \"io\"\nload = 0.5", Some(1), None),
        (
            "traffic = \"io\"\nload = 0.5\noutstanding = 16",
            Some(16),
            Some(16),
        ),
        (
            "traffic = \"io\"\nload = 0.5\noutstanding = \"unlimited\"",
            None,
            None,
        ),
        (
            "traffic = \"all-to-all\"\noutstanding = 3",
            Some(3),
            Some(3),
        ),
        ("traffic = \"all-reduce\"", Some(1), Some(1)),
        ("traffic = \"neighbours\"", None, None),
        (checkpoint, Some(1), Some(1)),
    ] {
        for (switching, expected) in [("circuit", circuits), ("cut-through", cut_through)] {
            let expected = expected.map_or(Outstanding::Unlimited, Outstanding::AtMost);
            assert_eq!(
                outstanding(job, switching),
                expected,
                "{job} with {switching}"
            );
        }
    }
}

#[test]
fn output_buffers_and_speed_up_are_read() {
    let change = ["machine.output_buffer=8", "machine.speedup=2"];
    let scenario = with_overrides("fat_tree_everything", &change);
    let switching = Switching::CutThrough {
        buffer: 12,
        credit: Time::from_ns(100),
        output_buffer: 8,
        speedup: 2,
    };
    assert_eq!(tree(&scenario.machine).network.switching, switching);
}
