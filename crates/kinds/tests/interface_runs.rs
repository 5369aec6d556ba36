//! Network interfaces, from the file to the result.

use isthmus_experiment::result::{Measure, PointResult, RunResult, State};
use isthmus_experiment::{Experiment, Options};
use isthmus_kinds::KINDS;
use isthmus_stream_sim::spec::*;

fn run(workload: &str, rest: &str) -> RunResult {
    let text = format!(
        "version = 1\nname = \"i\"\n[machine]\nkind = \"interface\"\n[workload]\n{workload}\n{rest}\n"
    );
    let scenario = KINDS.parse(&text, "i.toml", &[]);
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    let experiment = Experiment::new(&KINDS, scenario, Options::default());
    let experiment = experiment.unwrap_or_else(|error| panic!("{error}"));
    experiment.run().unwrap_or_else(|error| panic!("{error}"))
}

fn measure<'p>(point: &'p PointResult, name: &str) -> &'p Measure {
    let mut measures = point.measures.iter();
    let found = measures.find(|measure| measure.name == name);
    found.unwrap_or_else(|| panic!("no {name} in {:?}", point.measures))
}

/// One run, whose numbers are what they are: intervals without width, and no more than the bound.
#[test]
fn runs_are_exact() {
    let result = run(
        "sink = \"interface\"",
        "[sweep]\nworkload.stripes = [1, 2, 4]",
    );
    for (point, links) in result.points.iter().zip([1.0, 2.0, 4.0]) {
        assert_eq!((point.replications, point.messages), (1, 8));
        assert_eq!(point.verdict.verdict, State::Stable);
        assert!(point.converged && point.ended_by.is_none());
        let throughput = measure(point, "accepted");
        let mean = throughput.mean;
        assert_eq!((throughput.low, throughput.high), (mean, mean));
        assert_eq!(throughput.unit, "MB/s");
        let (mean, bound) = (mean.unwrap(), throughput.analytic.unwrap());
        assert_eq!(bound, 40.0 * links);
        assert!(mean < bound && mean > 0.8 * bound, "{mean} of {bound}");
        // 512 KiB per ADU.
        let adu = measure(point, "adu").mean.unwrap();
        assert!((mean * adu / 524_288.0 - 1.0).abs() < 1e-9);
        let link = point
            .channels
            .iter()
            .find(|channel| channel.kind == "interface_link");
        assert!((link.unwrap().utilisation * 40.0 * links / mean - 1.0).abs() < 1e-3);
        assert_eq!(point.bottleneck.as_ref().unwrap().kind, "interface_link");
    }
}

/// What is asked for is carried up to the packet rate, 3,000 packets of 8 KiB, and no further.
#[test]
fn loads_saturate_where_the_slowest_part_does() {
    let limit = 3_000.0 * 8_192.0 / 1e6;
    for (load, expected) in [(20.0, State::Stable), (30.0, State::Saturated)] {
        let work = format!("packet = \"8 KiB\"\nadus = 300\nload = \"{load} MB/s\"");
        let point = &run(&work, "").points[0];
        assert_eq!(point.load, Some(load));
        assert_eq!(point.verdict.verdict, expected);
        let throughput = measure(point, "accepted").mean.unwrap();
        assert!(
            (throughput / f64::min(load, limit) - 1.0).abs() < 0.02,
            "{throughput}"
        );
    }
}

/// The knee is where the microcode is: found by searching.
#[test]
fn the_knee_is_the_packet_rate() {
    let search = "[search]\nover = \"workload.load\"\nfrom = \"10 MB/s\"\nto = \"60 MB/s\"";
    let result = run("packet = \"8 KiB\"\nadus = 300", search);
    let found = &result.searches[0];
    let (low, high) = (
        found.highest_stable.unwrap(),
        found.lowest_saturated.unwrap(),
    );
    // Loads just above are undecided: the backlog of 300 ADUs grows by too few.
    assert!(low < 24.8 && high > 24.5 && high < 31.0, "{low} to {high}");
    assert_eq!(found.analytic, Some(24.576));
}

/// Of what stays in the cells there is no time of the interface, and of what lies there none of the
/// cells.
#[test]
fn only_parts_in_use_have_measures() {
    let names = |work: &str| -> Vec<String> {
        let measures = run(work, "").points[0].measures.clone();
        measures.into_iter().map(|measure| measure.name).collect()
    };
    let cells = names("sink = \"cells\"");
    assert_eq!(cells, ["accepted", "adu", "cycles_per_word", "reshuffle"]);
    let inside = names("origin = \"interface\"");
    let expected = [
        "accepted",
        "adu",
        "cycles_per_word",
        "idle",
        "packets",
        "per_packet",
    ];
    assert_eq!(inside, expected);
}

/// Every field there is, none at its default, and the same again from its canonical form.
#[test]
fn everything_is_read() {
    let path = format!(
        "{}/tests/good/interface_everything.toml",
        env!("CARGO_MANIFEST_DIR")
    );
    let text = std::fs::read_to_string(path).expect("the file is part of this crate");
    let scenario = KINDS
        .parse(&text, "e.toml", &[])
        .unwrap_or_else(|e| panic!("{e}"));
    let canonical = scenario.canonical();
    let again = KINDS.parse(&canonical, "canonical", &[]);
    assert_eq!(
        scenario,
        again.unwrap_or_else(|e| panic!("{e}\n{canonical}"))
    );
    let machine: &Machine = scenario.machine.expect();
    let work: &Work = scenario.workload.expect();
    assert_eq!((machine.rows, machine.columns, machine.links), (4, 8, 2));
    assert_eq!(machine.link_bytes_per_s, 50_000_000);
    assert_eq!(machine.routing, Routing::RowFirst);
    let cell = Cell {
        cycle_ns: 25,
        word_bytes: 8,
        copy_bytes_per_s: 30_000_000,
        message_ns: 1_000,
    };
    assert_eq!(machine.cell, cell);
    let interface = Interface {
        processors: 1,
        bus_bytes_per_s: 200_000_000,
        crossings: 2,
        staging_bytes: 65_536,
        memory_bytes: 1_048_576,
        engines: 4,
        message_ns: 3_000,
        place_ns: 3_000,
        store_bytes_per_s: 120_000_000,
        packet_ns: 50_000,
        udp_ns: 60_000,
        packets_per_s: 5_000,
        network_bytes_per_s: 160_000_000,
    };
    assert_eq!(machine.interface, interface);
    let expected = Work {
        from: From::Cells,
        to: To::Network,
        reshuffle: Reshuffle::Slow,
        block_bytes: 256,
        adu_bytes: 65_536,
        tu_bytes: 16_384,
        packet_bytes: 8_192,
        links: 1,
        adus: 3,
        load_bytes_per_s: Some(20_000_000),
        protocol: Protocol::Udp,
        reservation_bytes_per_s: Some(5_000_000),
    };
    assert_eq!(work, &expected);
}
