//! Whole runs: the same bytes on any number of threads, resuming, damaged journals, stopping.

use isthmus_experiment::result::{MachineSummary, Measure, PointResult, RunResult, State};
use isthmus_experiment::{Experiment, JournalError, Options, RunError, SetupError};
use isthmus_kinds::KINDS;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

const SMALL: &str = r#"
version = 1
name = "small"
[machine]
kind = "hypercube"
dimension = 4
[workload]
io_probability = "5%"
[sweep]
"machine.lanes.io_link" = [0, 2]
"workload.rate" = ["3 /ms", "9 /ms"]
[stop]
rule = "precision"
precision = "10%"
messages_first = 4000
messages_max = 40000
"#;

/// What the searches of some tests add.
const SEARCH: &str = r#"
[search]
over = "workload.rate"
from = "5 /ms"
to = "80 /ms"
resolution = "60%"
"#;

/// Length of one cycle.
fn cycle_us(machine: &MachineSummary) -> f64 {
    let summary: serde_json::Value = serde_json::from_str(machine.json()).unwrap();
    summary["cycle_us"].as_f64().unwrap()
}

fn run(options: Options, overrides: &[&str]) -> RunResult {
    let overrides: Vec<String> = overrides.iter().map(|&text| text.to_owned()).collect();
    let scenario = KINDS
        .parse(SMALL, "small.toml", &overrides)
        .expect("a good scenario");
    let experiment = Experiment::new(&KINDS, scenario, options).expect("a good experiment");
    experiment.run().expect("a whole run")
}

/// Points and searches.
fn whole(options: Options) -> Experiment {
    let file = format!("{SMALL}{SEARCH}");
    let scenario = KINDS
        .parse(&file, "small.toml", &[])
        .expect("a good scenario");
    Experiment::new(&KINDS, scenario, options).expect("a good experiment")
}

fn run_whole(options: Options) -> RunResult {
    whole(options).run().expect("a whole run")
}

/// The JSON of the points and searches of a run without a journal.
static WHOLE: LazyLock<String> = LazyLock::new(|| json(&run_whole(Options::default())));

fn json(result: &RunResult) -> String {
    serde_json::to_string(result).expect("results are JSON")
}

/// A folder of this test's own, empty.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    folder
}

fn measure<'a>(point: &'a PointResult, name: &str) -> &'a Measure {
    let found = point.measures.iter().find(|measure| measure.name == name);
    found.unwrap_or_else(|| panic!("{name} is not among the measures"))
}

#[test]
fn the_number_of_threads_does_not_matter() {
    for jobs in [1, 5] {
        let found = run_whole(Options {
            jobs,
            ..Options::default()
        });
        assert!(
            json(&found) == *WHOLE,
            "{jobs} threads differ from the default"
        );
        assert_eq!(found.points.len(), 4);
        assert_eq!(found.searches.len(), 2);
    }
}

#[test]
fn another_seed_gives_other_numbers() {
    let first = run(Options::default(), &[]);
    let second = run(
        Options {
            seed: Some(2),
            ..Options::default()
        },
        &[],
    );
    for (a, b) in first.points.iter().zip(&second.points) {
        let (a, b) = (measure(a, "pe_pe.header"), measure(b, "pe_pe.header"));
        assert_ne!(a.mean, b.mean);
    }
}

/// The mean of one seed lies inside the 95% interval of another in P(|Z| < 1.96 / sqrt(2)) = 83.4%
/// of cases, since the difference of two means has the standard deviation sqrt(2) s. Of 60
/// independent pairs 50.0 +- 2.9: four standard deviations are 38.5 to 60. Intervals half as wide
/// would give 30.7 +- 3.9, twice as wide 59.7.
#[test]
fn other_seeds_lie_inside_the_intervals_at_the_stated_rate() {
    let rules = [
        "sweep.machine.lanes.io_link=[2]",
        "sweep.workload.rate=[\"3 /ms\"]",
        "stop.rule=fixed",
        "stop.messages=2000",
        "stop.warmup_messages=400",
    ];
    let estimates: Vec<Measure> = (1..=120u64)
        .map(|seed| {
            let options = Options {
                seed: Some(seed),
                ..Options::default()
            };
            let result = run(options, &rules);
            measure(&result.points[0], "pe_pe.header").clone()
        })
        .collect();
    let inside = estimates
        .chunks_exact(2)
        .filter(|pair| {
            let mean = pair[0].mean.unwrap();
            pair[1].low.unwrap() <= mean && mean <= pair[1].high.unwrap()
        })
        .count();
    println!("{inside} of 60 means lie inside another seed's 95% interval, 50 expected");
    assert!((39..60).contains(&inside), "{inside} of 60");
}

#[test]
fn an_interrupted_run_goes_on_where_it_was() {
    let journal = folder("resume");
    let options = Options {
        journal: Some(journal.clone()),
        ..Options::default()
    };
    assert!(
        json(&run_whole(options.clone())) == *WHOLE,
        "a journal changes nothing"
    );
    // As if the run had been killed before these were finished.
    fs::remove_file(journal.join("point-00002.json")).unwrap();
    fs::remove_file(journal.join("search-00001.json")).unwrap();
    fs::write(journal.join(".point-00002.partial"), "{\"index\":").unwrap();
    let kept = fs::metadata(journal.join("point-00001.json"))
        .unwrap()
        .modified()
        .unwrap();
    assert!(
        json(&run_whole(options)) == *WHOLE,
        "resuming changes nothing"
    );
    let after = fs::metadata(journal.join("point-00001.json"))
        .unwrap()
        .modified()
        .unwrap();
    assert_eq!(kept, after, "finished points are not computed again");
}

/// A result that is put together from entries has the bytes of one that was computed.
#[test]
fn what_is_finished_is_the_bytes_that_were_written() {
    let computed = whole(Options::default()).run_to_json().unwrap();
    assert!(computed == WHOLE.as_bytes());
    let options = Options {
        journal: Some(folder("collected")),
        ..Options::default()
    };
    for time in ["not there", "there"] {
        let experiment = whole(options.clone());
        assert!(experiment.run_to_json().unwrap() == computed, "{time}");
        assert_eq!(experiment.progress().jobs(), (6, 6), "{time}");
    }
    let options = Options {
        journal: Some(folder("collected-points")),
        ..Options::default()
    };
    let computed = json(&run(options.clone(), &[])).into_bytes();
    let scenario = KINDS.parse(SMALL, "small.toml", &[]).unwrap();
    let experiment = Experiment::new(&KINDS, scenario, options).unwrap();
    assert!(
        experiment.run_to_json().unwrap() == computed,
        "without searches"
    );
}

#[test]
fn a_damaged_journal_is_refused_and_left_alone() {
    let journal = folder("damaged");
    let options = Options {
        journal: Some(journal.clone()),
        ..Options::default()
    };
    run(options.clone(), &[]);
    let path = journal.join("point-00003.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, &text[..text.len() / 2]).unwrap();
    let scenario = KINDS.parse(SMALL, "small.toml", &[]).unwrap();
    let error = Experiment::new(&KINDS, scenario, options).unwrap_err();
    let message = error.to_string();
    assert!(matches!(
        error,
        SetupError::Journal(JournalError::Damaged { .. })
    ));
    assert!(
        message.contains("point-00003.json:1: the finished result is damaged"),
        "{message}"
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), text[..text.len() / 2]);
}

#[test]
fn a_result_of_another_point_is_refused() {
    let journal = folder("swapped");
    let options = Options {
        journal: Some(journal.clone()),
        ..Options::default()
    };
    run(options.clone(), &[]);
    fs::copy(
        journal.join("point-00002.json"),
        journal.join("point-00001.json"),
    )
    .unwrap();
    let scenario = KINDS.parse(SMALL, "small.toml", &[]).unwrap();
    let message = Experiment::new(&KINDS, scenario, options)
        .unwrap_err()
        .to_string();
    assert!(
        message.contains("point-00001.json:1") && message.contains("another point"),
        "{message}"
    );
}

#[test]
fn a_foreign_journal_is_refused() {
    let journal = folder("foreign");
    let options = Options {
        journal: Some(journal),
        ..Options::default()
    };
    run(options.clone(), &[]);
    let refused = |options: Options, overrides: &[String], what: &str| {
        let scenario = KINDS.parse(SMALL, "small.toml", overrides).unwrap();
        let message = Experiment::new(&KINDS, scenario, options)
            .unwrap_err()
            .to_string();
        assert!(message.contains(what), "{message}");
    };
    let seed = Options {
        seed: Some(9),
        ..options.clone()
    };
    refused(seed, &[], "(the seed differs)");
    let quick = Options {
        quick: true,
        ..options.clone()
    };
    refused(quick, &[], "(--quick differs)");
    refused(
        options,
        &["machine.dimension=5".to_owned()],
        "(the scenario differs)",
    );
}

#[test]
fn a_cancelled_run_ends_and_keeps_what_is_finished() {
    let journal = folder("cancelled");
    let options = Options {
        journal: Some(journal.clone()),
        jobs: 1,
        ..Options::default()
    };
    let stopped = whole(options.clone());
    let progress = stopped.progress();
    let watcher = std::thread::spawn(move || {
        while progress.jobs().0 == 0 {
            std::thread::yield_now();
        }
        progress.cancel();
    });
    assert!(matches!(stopped.run(), Err(RunError::Cancelled)));
    watcher.join().unwrap();
    let names = fs::read_dir(&journal)
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
    names.retain(|name| name.starts_with("point-") || name.starts_with("search-"));
    assert!(!names.is_empty() && names.len() < 6, "{names:?}");
    assert!(
        json(&run_whole(options)) == *WHOLE,
        "resuming changes nothing"
    );
}

#[test]
fn impossible_parts_found_late_are_refused_with_their_field() {
    let refused = |overrides: &[&str], wanted: &str| {
        let overrides: Vec<String> = overrides.iter().map(|&text| text.to_owned()).collect();
        let scenario = KINDS
            .parse(SMALL, "small.toml", &overrides)
            .expect("good so far");
        let message = Experiment::new(&KINDS, scenario, Options::default())
            .unwrap_err()
            .to_string();
        assert!(message.contains(wanted), "{message}");
    };
    let dominating = "machine.placement.kind=dominating";
    refused(
        &[
            dominating,
            "workload.hot_io_node={target=1000, probability=0.5}",
        ],
        "workload.hot_io_node",
    );
    refused(&["verdict.error_rate=0.6"], "give less than 0.5");
    let alone = "machine.faults.pes=[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]";
    refused(&[alone], "machine.faults");
}

/// A measure that has not occurred yet is waited for; one that cannot occur is not.
#[test]
fn rare_measures_are_waited_for() {
    let rare = [
        "workload.read_ratio=0.999",
        "stop.of=[\"write.network\"]",
        "sweep.machine.lanes.io_link=[2]",
        "sweep.workload.rate=[\"3 /ms\"]",
    ];
    let result = run(Options::default(), &rare);
    assert!(
        !result.points[0].converged,
        "a few dozen writes are not enough"
    );
    // One that can never come is refused.
    let never = [&["workload.read_ratio=1.0"], &rare[1..]].concat();
    let never: Vec<String> = never.iter().map(|&text| text.to_owned()).collect();
    let scenario = KINDS
        .parse(SMALL, "small.toml", &never)
        .expect("all values are possible");
    let error = Experiment::new(&KINDS, scenario, Options::default())
        .unwrap_err()
        .to_string();
    assert!(error.contains("\"write.network\" has no effect"), "{error}");
}

#[test]
fn machines_that_cannot_be_are_refused_with_line_and_field() {
    let file = format!("{SMALL}\n[machine.faults]\npes = [1, 2, 4, 8]\n");
    let scenario = KINDS
        .parse(&file, "cut.toml", &[])
        .expect("faults are in range");
    let error = Experiment::new(&KINDS, scenario, Options::default()).unwrap_err();
    let message = error.to_string();
    assert!(message.starts_with("cut.toml:"), "{message}");
    assert!(
        message.contains("machine.faults") && message.contains("cut"),
        "{message}"
    );
}

#[test]
fn unknown_measures_are_refused() {
    let overrides = ["stop.of=[\"pe_pe.heder\"]".to_owned()];
    let scenario = KINDS.parse(SMALL, "small.toml", &overrides).unwrap();
    let error = Experiment::new(&KINDS, scenario, Options::default())
        .unwrap_err()
        .to_string();
    assert!(error.contains("did you mean \"pe_pe.header\"?"), "{error}");
}

#[test]
fn precision_is_reached_where_it_is_said_to_be() {
    let result = run(Options::default(), &[]);
    for point in result.points.iter().filter(|point| point.converged) {
        assert_eq!(point.verdict.verdict, State::Stable);
        for name in ["pe_pe.header", "read.network"] {
            let known = measure(point, name);
            let half_width = (known.high.unwrap() - known.low.unwrap()) / 2.0;
            assert!(half_width <= 0.1 * known.mean.unwrap() * 1.000001, "{name}");
            assert_eq!(known.target, Some(0.1));
        }
    }
    assert!(result.points.iter().any(|point| point.converged));
}

/// A narrower target takes more messages, and no run goes on long after its target is met: under the
/// law of the square root, half of the half-width asked for is four times the work.
#[test]
fn the_target_decides_the_length() {
    let mut before = None;
    for precision in ["10%", "4%", "2%"] {
        let rules = [
            "sweep.machine.lanes.io_link=[2]".to_owned(),
            "sweep.workload.rate=[\"3 /ms\"]".to_owned(),
            "stop.of=[\"pe_pe.header\"]".to_owned(),
            "stop.messages_max=1000000".to_owned(),
            format!("stop.precision=\"{precision}\""),
        ];
        let rules: Vec<&str> = rules.iter().map(String::as_str).collect();
        let point = run(Options::default(), &rules).points[0].clone();
        assert!(point.converged, "{precision}: {point:?}");
        let known = measure(&point, "pe_pe.header");
        let reached = (known.high.unwrap() - known.low.unwrap()) / 2.0 / known.mean.unwrap();
        println!(
            "{precision}: {reached:.4} after {} messages",
            point.messages
        );
        // The verdict decides the length of the widest.
        if let Some(before) = before {
            assert!(point.messages > before, "{precision}");
            assert!(
                reached > known.target.unwrap() / 2.0,
                "{precision}: {reached}"
            );
        }
        before = Some(point.messages);
    }
}

/// Without contention a header needs as many cycles as its path has channels. The mean e-cube
/// distance between two different nodes of a d-cube is d 2^(d-1) / (2^d - 1).
#[test]
fn light_load_latencies_are_the_path_lengths() {
    let rules = [
        "sweep.machine.lanes.io_link=[2]",
        "sweep.workload.rate=[\"0.001 /ms\"]",
        "stop.precision=\"1%\"",
        "workload.locality=1.0",
    ];
    let result = run(Options::default(), &rules);
    let cycle_us = cycle_us(&result.machines[0]);
    let distance = 4.0 * 8.0 / 15.0;
    let expected = (distance + 2.0) * cycle_us;
    let pe_pe = measure(&result.points[0], "pe_pe.header");
    assert!(
        (pe_pe.mean.unwrap() / expected - 1.0).abs() < 0.02,
        "{pe_pe:?}"
    );
    // Request k, m and reply m, k; 3 of 4 PEs are one link away from their I/O node.
    let read = measure(&result.points[0], "read.network");
    let expected = (2.0 * (2.0 + 0.75)) * cycle_us;
    assert!(
        (read.mean.unwrap() / expected - 1.0).abs() < 0.02,
        "{read:?}"
    );
    let analytic = read.analytic.expect("the model covers this");
    assert!(
        (analytic / expected - 1.0).abs() < 0.02,
        "{analytic} {expected}"
    );
}

#[test]
fn closed_loops_and_batch_means_run() {
    let rules = [
        "workload.arrival=closed",
        "workload.think=\"100 us\"",
        "sweep.machine.lanes.io_link=[2]",
    ];
    let file = SMALL.replace(
        "\"workload.rate\" = [\"3 /ms\", \"9 /ms\"]",
        "\"workload.outstanding\" = [1, 4]",
    );
    let overrides: Vec<String> = rules
        .iter()
        .chain(&[
            "stop.replications=1",
            "stop.intervals=batch-means",
            "stop.messages_max=400000",
        ])
        .map(|&text| text.to_owned())
        .collect();
    let scenario = KINDS.parse(&file, "closed.toml", &overrides).unwrap();
    let result = Experiment::new(&KINDS, scenario, Options::default())
        .unwrap()
        .run()
        .unwrap();
    let accepted: Vec<f64> = result
        .points
        .iter()
        .map(|point| measure(point, "accepted").mean.unwrap())
        .collect();
    assert_eq!(result.points[0].load, None);
    assert_eq!(result.points[0].verdict.verdict, State::Stable);
    assert!(accepted[1] > 2.0 * accepted[0], "{accepted:?}");
}
