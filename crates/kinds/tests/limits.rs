//! Backlogs, memory and simulated time have limits, and a cancelled run stops soon.

use isthmus_experiment::result::{EndedBy, PointResult, RunResult, State};
use isthmus_experiment::{Experiment, Options, RunError};
use isthmus_kinds::KINDS;
use isthmus_units::Bytes;
use std::thread;
use std::time::{Duration, Instant};

/// A hypercube of 16 PEs which a thousand times its bandwidth is asked of.
const HOPELESS: &str = r#"
version = 1
name = "hopeless"
[machine]
kind = "hypercube"
dimension = 4
[machine.lanes]
io_link = 1
[workload]
io_probability = "5%"
rate = "10000 /us"
[stop]
rule = "precision"
precision = "10%"
replications = 4
"#;

/// 400,000 messages, each of which takes the tree hours to ask for.
const SLOW: &str = r#"
version = 1
name = "slow"
[machine]
kind = "fat-tree"
arity = 4
levels = 2
[workload.jobs.only]
traffic = "uniform"
message = "4 kB"
load = "1 bit/s"
[stop]
rule = "fixed"
messages = 400000
warmup = "none"
replications = 2
"#;

/// A machine of any kind that is asked for far more messages than anybody waits for.
const ENDLESS: [&str; 3] = [
    "machine.kind=\"hypercube\"\nmachine.dimension=4\nmachine.lanes.io_link=1\n\
     workload.rate=\"5 /ms\"",
    "machine.kind=\"sci\"\nmachine.fabric=\"ring\"\nmachine.size=\"8\"\n\
     machine.flow_control=\"go-bits\"\nworkload.load=\"0.1 GB/s\"",
    "machine.kind=\"fat-tree\"\nmachine.arity=4\nmachine.levels=2\n\
     workload.jobs.only.traffic=\"uniform\"\nworkload.jobs.only.message=\"64 kB\"\n\
     workload.jobs.only.think=\"1 us\"",
];

fn experiment(text: &str, options: Options) -> Experiment {
    let scenario = KINDS
        .parse(text, "limits.toml", &[])
        .expect("a good scenario");
    Experiment::new(&KINDS, scenario, options).expect("a good experiment")
}

fn run(text: &str, options: Options) -> Result<RunResult, RunError> {
    experiment(text, options).run()
}

fn only(result: &RunResult) -> &PointResult {
    &result.points[0]
}

fn options(jobs: usize, memory: u64) -> Options {
    Options {
        jobs,
        memory: Some(Bytes::new(memory)),
        ..Options::default()
    }
}

/// Before the run had a bound, it filled 24 GB with demands without delivering what the first look
/// asks for.
#[test]
fn a_hopeless_point_ends_by_its_backlog() {
    let result = run(HOPELESS, options(2, 8_000_000_000)).unwrap();
    let point = only(&result);
    assert_eq!(point.verdict.verdict, State::Saturated);
    assert_eq!(point.ended_by, Some(EndedBy::Backlog));
    // 160,000 messages per microsecond, of which a tree of 16 PEs takes a few.
    assert!(point.verdict.growth_low > 0.9, "{}", point.verdict.growth);
    assert!(!point.converged);
    let again = run(HOPELESS, options(5, 8_000_000_000)).unwrap();
    assert_eq!(result, again, "threads decide");
}

/// Half of 200 MB for four replications and 256 B each are 97,656 demands, fewer than 500,000; a
/// verdict rests on far fewer.
#[test]
fn a_point_that_would_pass_the_memory_is_saturated_and_says_so() {
    let result = run(HOPELESS, options(2, 200_000_000)).unwrap();
    let point = only(&result);
    assert_eq!(point.verdict.verdict, State::Saturated);
    assert_eq!(point.ended_by, Some(EndedBy::Memory));
    let again = run(HOPELESS, options(1, 200_000_000)).unwrap();
    assert_eq!(result, again, "threads decide");
}

/// A machine that is too large by itself has no backlog to be judged by: 4,096 PEs take 8 KiB each,
/// 34 MB for each replication.
#[test]
fn a_machine_too_large_for_the_memory_is_an_error_that_names_it() {
    let text = HOPELESS
        .replace("10000 /us", "1 /ms")
        .replace("= 4\n[", "= 12\n[");
    let error = run(&text, options(2, 20_000_000)).unwrap_err();
    assert!(matches!(error, RunError::Memory { .. }), "{error:?}");
    let message = error.to_string();
    assert!(
        message.contains("20 MB") && message.contains("--memory"),
        "{message}"
    );
}

/// What fits alone is not refused for want of room beside others: each point of two replications
/// holds 2 x 4,096 PEs x 8 KiB = 67 MB, and two of them at once more than 100 MB.
#[test]
fn points_that_do_not_fit_together_are_run_one_by_one() {
    let text = HOPELESS
        .replace("rate = \"10000 /us\"\n", "")
        .replace("dimension = 4", "dimension = 12")
        .replace(
            "replications = 4",
            "replications = 2\nmessages_first = 2000\nmessages_max = 2000",
        )
        + "[sweep]\n\"workload.rate\" = [\"1 /ms\", \"2 /ms\", \"3 /ms\"]\n";
    let tight = run(&text, options(3, 100_000_000)).unwrap();
    let roomy = run(&text, options(3, 8_000_000_000)).unwrap();
    assert_eq!(tight.points.len(), 3);
    assert_eq!(tight, roomy);
}

/// Link merits packed into 64 bits made this wait for ever past 2^58 ticks.
#[test]
fn a_run_past_the_longest_time_is_an_error_that_names_it() {
    let error = run(SLOW, options(1, 1_000_000_000)).unwrap_err();
    assert!(matches!(error, RunError::TooLong { .. }), "{error:?}");
    let message = error.to_string();
    assert!(message.contains("hours of simulated time"), "{message}");
}

/// Return the time from a cancellation to the end of the run: the shortest of some tries, because the threads of a busy
/// machine may have to wait.
fn time_to_stop(text: &str) -> Duration {
    let tries = (0..4).map(|_| {
        let experiment = experiment(text, options(2, 4_000_000_000));
        let progress = experiment.progress();
        let running = thread::spawn(move || experiment.run());
        thread::sleep(Duration::from_millis(500));
        let asked = Instant::now();
        progress.cancel();
        let end = running.join().expect("no panic");
        assert!(matches!(end, Err(RunError::Cancelled)), "{end:?}");
        asked.elapsed()
    });
    tries.min().expect("there are tries")
}

/// Hardly anything is delivered while millions of demands pile up, and deliveries were when the run
/// used to look up.
#[test]
fn a_cancelled_run_stops_while_nothing_arrives() {
    let took = time_to_stop(&HOPELESS.replace("dimension = 4", "dimension = 13"));
    assert!(took < Duration::from_secs(1), "{took:?}");
}

#[test]
fn a_cancelled_run_of_any_kind_stops() {
    for fields in ENDLESS {
        let text = format!(
            "version = 1\nname = \"endless\"\n{fields}\nstop.rule = \"fixed\"\n\
             stop.messages = 1000000000\nstop.warmup = \"none\"\nstop.replications = 2\n"
        );
        let took = time_to_stop(&text);
        assert!(took < Duration::from_secs(1), "{took:?} for {fields}");
    }
}
