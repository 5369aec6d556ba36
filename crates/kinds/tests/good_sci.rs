//! Files of SCI fabrics that are right, and what they mean.

use isthmus_kinds::KINDS;
use isthmus_machine::sci::spec::{ChangeFrom, CutOff, FlowControl, Queues, SciSpec, Source};
use isthmus_scenario::{Described, Scenario, StopRule, Warmup};
use isthmus_topology::rings::{Faults, Routing, Shape};
use isthmus_units::{Bandwidth, Bytes, Time};
use isthmus_workload::Outstanding;
use isthmus_workload::packets::spec::{HotNode, PacketTraffic, Spacing, Transaction};

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

fn fabric(machine: &Described) -> &SciSpec {
    machine.as_::<SciSpec>().expect("a fabric was described")
}

fn packets(workload: &Described) -> &PacketTraffic {
    workload
        .as_::<PacketTraffic>()
        .expect("packets were described")
}

const SMALLEST: &str = "version = 1\nname = \"s\"\n[machine]\nkind = \"sci\"\n\
                        fabric = \"bidirectional-torus\"\nsize = \"6x6\"\n\
                        [workload]\nload = \"34 GB/s\"\n";

/// The rules of the paper (Table 1 and section 4.1) and what its latencies show.
#[test]
fn the_paper_fabric_is_what_the_defaults_describe() {
    let scenario = parsed(SMALLEST, &[]);
    let paper = SciSpec {
        shape: Shape::BidirectionalTorus { sizes: vec![6, 6] },
        routing: Routing::DimensionOrder,
        faults: Faults::default(),
        cut_off: CutOff::Refuse,
        bandwidth: Bandwidth::from_mb_per_s(1_000),
        symbol: Bytes::new(2),
        hop: Time::from_ns(34),
        ring_change: Time::from_ns(66),
        ring_change_from: ChangeFrom::Header,
        overhead: Bytes::new(16),
        echo: Bytes::new(8),
        queues: Queues {
            input: 5,
            output: 5,
            client: 5,
        },
        source: Source::Unbounded,
        flow_control: FlowControl::None,
        patience: Time::from_us(20),
    };
    assert_eq!(scenario.machine, Described::new(paper));
    assert_eq!(scenario.kind(), "sci");
    assert_eq!(fabric(&scenario.machine).shape.node_count(), 36);
    let uniform = PacketTraffic {
        load: Bandwidth::from_mb_per_s(34_000),
        spacing: Spacing::Exponential,
        phases: 1.0,
        transaction: Transaction::Move,
        payload: Bytes::new(64),
        senders: Vec::new(),
        hot_node: None,
        turnaround: Time::ZERO,
        outstanding: Outstanding::Unlimited,
    };
    assert_eq!(scenario.workload, Described::new(uniform));
    let StopRule::Precision { of, .. } = &scenario.stop.rule else {
        panic!("another rule")
    };
    assert_eq!(of, &["latency"]);
    assert_eq!(scenario.stop.warmup, Warmup::Mser5);
    assert!(scenario.is_load("workload.load") && !scenario.is_load("workload.rate"));
}

#[test]
fn each_fabric_has_its_shape_and_its_usual_routing() {
    let described = |fabric: &str, size: &str| {
        let fabric = format!("machine.fabric={fabric}");
        let size = format!("machine.size={size}");
        let scenario = parsed(SMALLEST, &[&fabric, &size]);
        let spec = self::fabric(&scenario.machine).clone();
        (spec.shape, spec.routing)
    };
    let (nodes, sizes) = (8, vec![4, 2, 4]);
    let dimensions = Routing::DimensionOrder;
    let changes = Routing::FewestChanges;
    for (fabric, size, shape, routing) in [
        ("ring", "8", Shape::Ring { nodes }, dimensions),
        ("ring", "\"8\"", Shape::Ring { nodes }, dimensions),
        (
            "counter-rotating",
            "8",
            Shape::CounterRotating { nodes },
            dimensions,
        ),
        (
            "torus",
            "4x2x4",
            Shape::Torus {
                sizes: sizes.clone(),
            },
            dimensions,
        ),
        (
            "bidirectional-torus",
            "4 x 2 x 4",
            Shape::BidirectionalTorus { sizes },
            dimensions,
        ),
        (
            "uniform-ring-torus",
            "5x3",
            Shape::UniformRingTorus { sizes: [5, 3] },
            changes,
        ),
        (
            "manhattan",
            "4x6",
            Shape::Manhattan { sizes: [4, 6] },
            changes,
        ),
    ] {
        assert_eq!(described(fabric, size), (shape, routing), "{fabric} {size}");
    }
    let collapsing = parsed(
        SMALLEST,
        &[
            "machine.fabric=uniform-ring-torus",
            "machine.routing=dimension-order",
        ],
    );
    assert_eq!(fabric(&collapsing.machine).routing, dimensions);
}

#[test]
fn everything_is_read() {
    let scenario = good("sci_everything");
    let spec = fabric(&scenario.machine);
    let rings = vec![
        vec![0, 1, 2, 3],
        vec![3, 2, 1, 0],
        vec![2, 4, 5],
        vec![4, 6],
    ];
    assert_eq!(spec.shape, Shape::Rings(rings));
    assert_eq!(fabric(&scenario.machine).shape.node_count(), 7);
    assert_eq!(spec.routing, Routing::Fixed);
    assert_eq!(
        spec.faults,
        Faults {
            nodes: vec![6],
            links: vec![(1, 0)],
        }
    );
    assert_eq!(spec.cut_off, CutOff::LeaveOut);
    assert_eq!(spec.queues.input, 1);
    assert_eq!((spec.queues.output, spec.queues.client), (2, 3));
    assert_eq!(spec.source, Source::Bounded);
    assert_eq!(spec.flow_control, FlowControl::GoBits);
    assert_eq!(
        (spec.hop, spec.ring_change),
        (Time::from_ns(20), Time::ZERO)
    );
    assert_eq!((spec.overhead.get(), spec.echo.get()), (24, 10));
    assert_eq!(spec.patience, Time::from_us(1_000));
    let traffic = packets(&scenario.workload);
    assert_eq!(traffic.spacing, Spacing::Deterministic);
    assert_eq!(traffic.phases, 0.5);
    assert_eq!(traffic.transaction, Transaction::Write);
    assert_eq!(traffic.senders, [0, 5]);
    assert_eq!(traffic.payload, Bytes::new(256));
    assert_eq!(traffic.turnaround, Time::from_ns(50));
    assert_eq!(
        traffic.hot_node,
        Some(HotNode {
            node: 2,
            probability: 0.2,
        })
    );
    assert_eq!(scenario.stop.warmup, Warmup::None);
}

#[test]
fn a_run_may_last_a_time() {
    let time = Time::from_us(200);
    let scenario = good("sci_torus");
    assert_eq!(scenario.stop.rule, StopRule::FixedTime { time });
    assert_eq!(scenario.stop.warmup, Warmup::None);
    // Messages take the place of time, and the other way round.
    let scenario = with_overrides("sci_torus", &["stop.messages=60000"]);
    assert_eq!(scenario.stop.rule, StopRule::Fixed { messages: 60_000 });
    assert_eq!(scenario.stop.warmup, Warmup::Fixed { messages: 50_000 });
    let scenario = parsed(SMALLEST, &["stop.rule=fixed", "stop.time=200 us"]);
    assert_eq!(scenario.stop.rule, StopRule::FixedTime { time });
    let scenario = with_overrides("sci_torus", &["stop.rule=precision"]);
    assert!(matches!(scenario.stop.rule, StopRule::Precision { .. }));
    assert_eq!(scenario.stop.warmup, Warmup::Mser5);
    let scenario = with_overrides(
        "sci_torus",
        &["stop.warmup=fixed", "stop.warmup_messages=100"],
    );
    assert_eq!(scenario.stop.warmup, Warmup::Fixed { messages: 100 });
}

#[test]
fn sizes_and_loads_are_swept() {
    let scenario = good("sci_torus");
    let points = scenario.points();
    assert_eq!(points.len(), 2 * 4 * 5);
    assert_eq!(scenario.axes[1].label, "size");
    assert_eq!(scenario.axes[1].values[3].text, "6x6");
    assert_eq!(scenario.axes[1].values[3].number, None);
    assert_eq!(scenario.axes[2].unit.as_deref(), Some("GB/s"));
    let numbers: Vec<_> = scenario.axes[2].values.iter().map(|v| v.number).collect();
    assert_eq!(numbers, [2.0, 10.0, 18.0, 26.0, 34.0].map(Some));
    let last = &points[39];
    let shape = Shape::BidirectionalTorus { sizes: vec![6, 6] };
    assert_eq!(fabric(&last.machine).shape, shape);
    assert_eq!(
        packets(&last.workload).load,
        Bandwidth::from_mb_per_s(34_000)
    );
}

#[test]
fn a_search_tries_loads_of_all_nodes_together() {
    let scenario = good("sci_torus");
    let search = scenario.search.as_ref().expect("the file has one");
    assert_eq!(search.over, "workload.load");
    assert_eq!((search.low, search.high), (2.0, 20.0));
    assert_eq!(
        (scenario.loads().key, search.unit),
        ("workload.load", "GB/s")
    );
    let lines = scenario.search_lines();
    assert_eq!(lines.len(), 8);
    let (machine, workload) = lines[7].at(12.5).expect("12.5 GB/s is possible");
    let shape = Shape::BidirectionalTorus { sizes: vec![6, 6] };
    assert_eq!(fabric(&machine).shape, shape);
    assert_eq!(packets(&workload).load, Bandwidth::from_mb_per_s(12_500));
    for amount in [0.0, -1.0, f64::NAN] {
        let error = lines[0].at(amount);
        assert_eq!(
            error.expect_err("no load at all").to_string(),
            format!(
                "good:24: search.over: a load of {amount} GB/s is impossible; give a bandwidth above 0"
            )
        );
    }
}

#[test]
fn without_a_load_there_is_only_the_search() {
    let scenario = good("sci_knee");
    assert!(scenario.points().is_empty());
    let numbers: Vec<_> = scenario.axes[0].values.iter().map(|v| v.number).collect();
    assert_eq!(numbers, [4.0, 6.0, 8.0, 10.0].map(Some));
    assert_eq!(scenario.search_lines().len(), 4);
    let every = with_overrides("sci_knee", &["sweep.machine.size={from=4, to=10}"]);
    assert_eq!(every.search_lines().len(), 7);
}

/// A packet must have the time to go round, however long the ring.
#[test]
fn patience_grows_with_the_longest_ring() {
    let patience = |fabric: &str, size: &str| {
        let fabric = format!("machine.fabric={fabric}");
        let size = format!("machine.size={size}");
        self::fabric(&parsed(SMALLEST, &[&fabric, &size]).machine).patience
    };
    assert_eq!(patience("ring", "100"), Time::from_us(20));
    // 4 * (1000 * 34 ns + 66 ns).
    assert_eq!(patience("ring", "1000"), Time::from_ns(136_264));
    assert_eq!(patience("torus", "32x32"), Time::from_us(20));
}

#[test]
fn overrides_change_the_kind_of_traffic() {
    let scenario = with_overrides(
        "sci_everything",
        &["workload.transaction=move", "machine.faults.nodes=[]"],
    );
    // The turnaround of a read means nothing any more.
    assert_eq!(packets(&scenario.workload).turnaround, Time::ZERO);
    assert_eq!(scenario.axes.len(), 0);
    assert!(fabric(&scenario.machine).faults.nodes.is_empty());
    let scenario = with_overrides("sci_torus", &["workload.load=1 GB/s"]);
    assert_eq!(scenario.axes.len(), 2);
}
