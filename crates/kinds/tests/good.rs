//! Files that are right, and what they mean.

use isthmus_kinds::KINDS;
use isthmus_machine::hypercube::spec::{HypercubeSpec, PlacementSpec, Service};
use isthmus_scenario::{Described, Intervals, Scenario, StopRule, Warmup};
use isthmus_units::{Bytes, Time};
use isthmus_workload::spec::{Arrival, FileLayout, TrafficSpec};

fn good(name: &str) -> Scenario {
    with_overrides(name, &[])
}

/// The traffic of a hypercube.
fn traffic(workload: &Described) -> &TrafficSpec {
    workload
        .as_::<TrafficSpec>()
        .expect("a hypercube was described")
}

fn with_overrides(name: &str, overrides: &[&str]) -> Scenario {
    let path = format!("{}/tests/good/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).expect("the file is part of this crate");
    let overrides: Vec<String> = overrides.iter().map(|&text| text.to_owned()).collect();
    let scenario = KINDS
        .parse(&text, name, &overrides)
        .unwrap_or_else(|e| panic!("{e}"));
    let again = KINDS
        .parse(&scenario.canonical(), "canonical", &[])
        .unwrap_or_else(|e| panic!("{e}\n{}", scenario.canonical()));
    assert_eq!(scenario, again, "{}", scenario.canonical());
    assert_eq!(scenario.digest(), again.digest());
    scenario
}

#[test]
fn the_paper_machine_is_what_the_defaults_describe() {
    let text = "version = 1\nname = \"d\"\n[machine]\nkind = \"hypercube\"\ndimension = 7\n\
                lanes.io_link = 2\n[workload]\ninterarrival = \"0.156 ms\"";
    let scenario = KINDS
        .parse(text, "d", &[])
        .expect("it is minimal and right");
    assert_eq!(scenario.machine, Described::new(HypercubeSpec::paper(7, 2)));
    assert_eq!(traffic(&scenario.workload), &TrafficSpec::default());
    assert_eq!(scenario.title, "d");
    assert_eq!(scenario.points().len(), 1);
    assert!(scenario.search_lines().is_empty());
    assert_eq!(scenario.stop.warmup, Warmup::Mser5);
}

#[test]
fn the_first_axis_is_the_slowest() {
    let scenario = good("hypercube_128");
    let points = scenario.points();
    assert_eq!(points.len(), 16);
    assert_eq!(scenario.axes[0].label, "I/O link lanes b");
    assert_eq!(scenario.axes[0].unit, None);
    assert_eq!(scenario.axes[1].unit.as_deref(), Some("ms"));
    let numbers: Vec<_> = scenario.axes[1].values.iter().map(|v| v.number).collect();
    assert_eq!(numbers, [Some(1.25), Some(0.625), Some(0.312), Some(0.156)]);
    assert_eq!(scenario.axes[1].values[2].text, "312 us");
    for (index, point) in points.iter().enumerate() {
        assert_eq!(point.index, index);
        let cube: &HypercubeSpec = point.machine.expect();
        let b = u32::try_from(index / 4).expect("small");
        // r and n follow b; k was given.
        assert_eq!((cube.lanes.io_link, cube.lanes.io_source), (b, 4 * b));
        assert_eq!((cube.lanes.io_to_pe, cube.lanes.pe), (4 * b, 9));
        let mean = Time::from_us([1250, 625, 312, 156][index % 4]);
        assert_eq!(
            traffic(&point.workload).arrival,
            Arrival::Exponential { mean }
        );
    }
    assert_eq!(points[0].machine, scenario.machine);
}

#[test]
fn everything_is_read() {
    let scenario = good("everything");
    let cube: &HypercubeSpec = scenario.machine.expect();
    assert_eq!(cube.placement, PlacementSpec::List(vec![0, 7, 9, 14, 31]));
    assert_eq!(cube.device.service, Service::Queue);
    assert_eq!(cube.device.cache_hit_rate, 0.7);
    assert_eq!(cube.faults.links, [(0, 1), (2, 6)]);
    let work = traffic(&scenario.workload);
    assert_eq!(work.block, Bytes::new(4096));
    assert_eq!((work.file_blocks_min, work.file_blocks_max), (1, 40));
    assert_eq!(work.layout, FileLayout::Declustered);
    assert_eq!(work.hot_pe.map(|hot| hot.probability), Some(0.0));
    assert_eq!(work.collectives.group, 8);
    let Arrival::Bursty {
        mean,
        burst_messages,
        burst_gap,
    } = work.arrival
    else {
        panic!("another arrival")
    };
    // 1/3 ms, to the picosecond.
    assert_eq!(mean, Time::from_ps(333_333_333));
    assert_eq!((burst_messages, burst_gap), (8.0, Time::from_us(1)));
    let texts = |axis: usize| -> Vec<String> {
        scenario.axes[axis]
            .values
            .iter()
            .map(|value| value.text.clone())
            .collect()
    };
    assert_eq!(texts(0), ["0", "0.5", "1"]);
    assert_eq!(texts(1), ["1 us", "10 us", "100 us"]);
    assert_eq!(texts(2), ["3", "4"]);
    assert_eq!(scenario.axes[2].values[1].number, Some(4.0));
    assert_eq!(scenario.points().len(), 18);
    assert_eq!(scenario.stop.rule, StopRule::Fixed { messages: 100_000 });
    assert_eq!(scenario.stop.warmup, Warmup::Fixed { messages: 10_000 });
    assert_eq!(scenario.stop.intervals, Intervals::BatchMeans);
    assert_eq!(scenario.verdict.error_rate, 0.05);
}

#[test]
fn a_closed_loop_needs_no_load() {
    let scenario = good("closed");
    assert_eq!(scenario.points().len(), 8);
    let last = &scenario.points()[7];
    let closed = Arrival::Closed {
        think: Time::from_us(50),
        outstanding: 4,
    };
    assert_eq!(traffic(&last.workload).arrival, closed);
    assert_eq!(
        last.machine.expect::<HypercubeSpec>().io_node_count(),
        Some(2)
    );
}

#[test]
fn a_search_replaces_the_load_axes() {
    let scenario = good("hypercube_128");
    let lines = scenario.search_lines();
    assert_eq!(lines.len(), 4);
    assert_eq!(scenario.search_axes().len(), 1);
    assert_eq!(lines[3].values[0].text, "3");
    let (_, workload) = lines[3].at(8.0).expect("8 per ms is possible");
    assert_eq!(
        traffic(&workload).arrival,
        Arrival::Exponential {
            mean: Time::from_us(125)
        }
    );
    let problem = lines[3].at(0.0).expect_err("no load at all");
    assert_eq!(
        problem.to_string(),
        "hypercube_128:54: search.over: a load of 0 /ms is impossible; keep between one in 24 h \
         and one in 1 ps"
    );
}

#[test]
fn without_a_load_there_is_only_the_search() {
    let scenario = good("knee");
    assert!(scenario.points().is_empty());
    let keys: Vec<_> = scenario.axes.iter().map(|axis| axis.key.as_str()).collect();
    assert_eq!(keys, ["network", "machine.placement"]);
    assert_eq!(scenario.search_lines().len(), 4);
    let search = scenario.search.as_ref().expect("the file has one");
    assert_eq!(search.over, "workload.interarrival");
    assert_eq!((search.low, search.high), (1.0, 40.0));
    assert_eq!(
        (scenario.loads().key, search.unit),
        ("workload.rate", "/ms")
    );
}

#[test]
fn overrides_change_the_file() {
    let dimension = |scenario: &Scenario| scenario.machine.expect::<HypercubeSpec>().dimension;
    let scenario = with_overrides(
        "hypercube_128",
        &[
            "machine.dimension=4",
            "machine.lanes.io_link = 1",
            "title=Smaller",
            "seed=7",
        ],
    );
    assert_eq!((dimension(&scenario), scenario.seed), (4, 7));
    assert_eq!(scenario.title, "Smaller");
    assert_eq!(scenario.axes.len(), 1, "the axis over b became one value");

    let scenario = with_overrides("hypercube_128", &["workload.rate=6.4 /ms"]);
    assert_eq!(
        scenario.axes.len(),
        1,
        "a rate replaces the axis over the interarrival time"
    );
    let mean = Time::from_ps(156_250_000);
    assert_eq!(
        traffic(&scenario.workload).arrival,
        Arrival::Exponential { mean }
    );

    let scenario = with_overrides(
        "hypercube_128",
        &[
            "sweep.machine.dimension=[3, 4]",
            "sweep.workload.rate=[\"1 /ms\"]",
        ],
    );
    let keys: Vec<_> = scenario.axes.iter().map(|axis| axis.key.as_str()).collect();
    assert_eq!(
        keys,
        [
            "machine.lanes.io_link",
            "workload.rate",
            "machine.dimension"
        ]
    );

    let scenario = with_overrides(
        "everything",
        &["workload.arrival=exponential", "stop.rule=precision"],
    );
    assert!(matches!(
        traffic(&scenario.workload).arrival,
        Arrival::Exponential { .. }
    ));
    assert!(matches!(scenario.stop.rule, StopRule::Precision { .. }));
    assert_eq!(scenario.stop.warmup, Warmup::Mser5);

    let scenario = with_overrides("everything", &["stop.time=10 ms"]);
    let time = Time::from_us(10_000);
    assert_eq!(scenario.stop.rule, StopRule::FixedTime { time });
    assert_eq!(scenario.stop.warmup, Warmup::None);

    let scenario = with_overrides(
        "everything",
        &["workload.file_blocks=2", "machine.lanes.pe=3"],
    );
    assert_eq!(traffic(&scenario.workload).file_blocks_max, 2);
    assert_eq!(
        scenario.axes.len(),
        3,
        "the variants still differ in the hot spot"
    );
    let scenario = with_overrides(
        "everything",
        &["workload.hot_pe.probability=1", "machine.lanes.pe=3"],
    );
    assert_eq!(scenario.axes.len(), 2);
}

#[test]
fn only_what_is_done_enters_the_digest() {
    let digest = |overrides: &[&str]| with_overrides("hypercube_128", overrides).digest();
    assert_eq!(digest(&[]).len(), 64);
    assert_eq!(
        digest(&[]),
        digest(&["title=Another", "description=Other words"])
    );
    assert_ne!(digest(&[]), digest(&["seed=2"]));
    assert_ne!(
        digest(&[]),
        digest(&["sweep.machine.lanes.io_link=[0, 1, 2]"])
    );
}

#[test]
fn the_largest_sweep_is_read_whole() {
    let axes = [
        "sweep.machine.lanes.pe={from = 1, to = 100}",
        "sweep.machine.lanes.io_node={from = 1, to = 25}",
        "machine.placement=dominating",
        "workload.interarrival=1 ms",
    ];
    let scenario = with_overrides("hypercube_128", &axes);
    assert_eq!(scenario.points().len(), isthmus_scenario::POINTS_MAX);
    assert_eq!(scenario.points()[9_999].values[2].text, "25");
}

/// Open arrivals are not held back unless the file says so; a closed loop has one demand under way.
#[test]
fn demands_under_way_follow_from_the_arrivals() {
    let outstanding = |workload: &str| {
        let text = format!(
            "version = 1\nname = \"x\"\n[machine]\nkind = \"hypercube\"\ndimension = 3\n\
             lanes.io_link = 1\n[workload]\n{workload}\n"
        );
        let scenario = KINDS.parse(&text, "s.toml", &[]).unwrap();
        let traffic = traffic(&scenario.workload);
        match traffic.arrival {
            Arrival::Closed { outstanding, .. } => Some(outstanding),
            _ => traffic.outstanding.limit(),
        }
    };
    assert_eq!(outstanding("rate = \"1 /ms\""), None);
    assert_eq!(
        outstanding("rate = \"1 /ms\"\noutstanding = \"unlimited\""),
        None
    );
    assert_eq!(outstanding("rate = \"1 /ms\"\noutstanding = 2"), Some(2));
    assert_eq!(
        outstanding("arrival = \"closed\"\nthink = \"1 us\""),
        Some(1)
    );
    let closed = "arrival = \"closed\"\nthink = \"1 us\"\noutstanding";
    assert_eq!(outstanding(&format!("{closed} = 5")), Some(5));
}
