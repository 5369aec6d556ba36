//! Intervals of whole runs: never of what is impossible, and of what was not counted as well.

use isthmus_experiment::result::{MachineSummary, Measure, RunResult};
use isthmus_experiment::{Experiment, Options};
use isthmus_kinds::KINDS;

/// Two short replications of each kind of machine, light and beyond what it carries, so that the
/// means of the two differ widely.
const ROUGH: [&str; 3] = [
    "machine.kind=\"hypercube\"\nmachine.dimension=3\nmachine.lanes.io_link=1\nworkload.io_probability=\"5%\"\n\
     [sweep]\n\"workload.rate\"=[\"0.5 /ms\",\"40 /ms\",\"400 /ms\"]\n",
    "machine.kind=\"sci\"\nmachine.fabric=\"ring\"\nmachine.size=\"8\"\n\
     [sweep]\n\"workload.load\"=[\"0.01 GB/s\",\"0.8 GB/s\",\"3 GB/s\"]\n",
    "machine.kind=\"fat-tree\"\nmachine.arity=2\nmachine.levels=2\n\
     workload.jobs.only.traffic=\"uniform\"\nworkload.jobs.only.message=\"64 kB\"\n\
     workload.jobs.only.arrivals=\"open\"\n\
     [sweep]\n\"workload.jobs.only.load\"=[\"1%\",\"50%\",\"100%\"]\n",
];

/// Length of one cycle.
fn cycle_us(machine: &MachineSummary) -> f64 {
    let summary: serde_json::Value = serde_json::from_str(machine.json()).unwrap();
    summary["cycle_us"].as_f64().unwrap()
}

fn run(text: &str, messages: u32, replications: u32) -> RunResult {
    let text = format!(
        "version=1\nname=\"rough\"\n{text}[stop]\nrule=\"fixed\"\nmessages={messages}\n\
         warmup=\"none\"\nreplications={replications}\n"
    );
    let scenario = KINDS
        .parse(&text, "rough.toml", &[])
        .expect("a good scenario");
    let experiment =
        Experiment::new(&KINDS, scenario, Options::default()).expect("a good experiment");
    experiment.run().expect("a whole run")
}

fn measure<'a>(result: &'a RunResult, point: usize, name: &str) -> &'a Measure {
    let measures = &result.points[point].measures;
    let found = measures.iter().find(|measure| measure.name == name);
    found.unwrap_or_else(|| panic!("{name} is not among the measures"))
}

/// With two replications the t quantile is 12.7: equal arms reached far below zero, loads to -17.
#[test]
fn no_interval_holds_what_is_impossible() {
    let (mut intervals, mut open) = (0, 0);
    for text in ROUGH {
        for messages in [40, 400, 4000] {
            let result = run(text, messages, 2);
            for measure in result.points.iter().flat_map(|point| &point.measures) {
                let name = &measure.name;
                let mut all = vec![(measure.mean.unwrap(), measure.low, measure.high)];
                let percentiles = measure.percentiles.iter();
                all.extend(percentiles.map(|each| (each.value, each.low, each.high)));
                for (value, low, high) in all {
                    let low = low.expect("nothing is below zero");
                    assert!(0.0 <= low && low <= value, "{name}: {value} from {low}");
                    assert!(
                        high.is_none_or(|high| value <= high),
                        "{name}: {value} to {high:?}"
                    );
                    intervals += 1;
                    open += u32::from(high.is_none());
                }
            }
            for point in &result.points {
                assert!(
                    point.verdict.growth_high <= 1.0,
                    "more is left than was offered"
                );
            }
        }
    }
    println!("{intervals} intervals, {open} without an upper end");
    assert!(intervals > 500 && open > 20 && 4 * open < 3 * intervals);
}

/// A ring at a thousandth of what it carries: none of some 20,000 packets is sent again. That was
/// `0 [0, 0]`; in fact there may be up to 3.7 in as long a time as all replications took.
#[test]
fn none_counted_is_not_none_at_all() {
    let result = run(ROUGH[1], 2000, 10);
    let retries = measure(&result, 0, "retries");
    assert_eq!((retries.mean, retries.low), (Some(0.0), Some(0.0)));
    let high = retries.high.unwrap();
    let expected = 3.689 / (result.points[0].simulated_ms * 1e3);
    assert!((high / expected - 1.0).abs() < 1e-3, "{high} {expected}");
}

/// Packets of a nearly idle ring take one of few times. The median lies on that lattice of cycles
/// and its interval is of these values; no percentile is above the largest time seen.
#[test]
fn percentiles_lie_where_values_do() {
    let result = run(ROUGH[1], 2000, 10);
    let cycle_us = cycle_us(&result.machines[result.points[0].machine]);
    let latency = measure(&result, 0, "latency");
    let bins = &result.points[0].histograms.iter();
    let bins = bins.clone().find(|each| each.measure == "latency").unwrap();
    let highest = *bins.bins.upper.last().unwrap() as f64 * bins.step;
    for each in &latency.percentiles {
        assert!(each.value <= highest && each.high.is_none_or(|high| high <= highest));
        let cycles = each.value / cycle_us;
        assert!(
            (cycles - cycles.round()).abs() < 1e-6,
            "p{}: {cycles} cycles",
            each.percent
        );
    }
}
