//! Whole runs of fat trees: what counts as a message, and searches that say whether they got there.

use isthmus_experiment::result::{RunResult, SearchResult};
use isthmus_experiment::{Experiment, Options};
use isthmus_kinds::KINDS;

fn run(machine: &str, job: &str, rest: &str, options: Options) -> RunResult {
    let file = format!(
        "version = 1\nname = \"tree\"\n[machine]\nkind = \"fat-tree\"\narity = 4\nlevels = 1\n{machine}\n\
         [workload.jobs.all]\ntraffic = \"uniform\"\n{job}\n[measure]\nchannels = false\n{rest}\n"
    );
    let scenario = KINDS
        .parse(&file, "tree.toml", &[])
        .unwrap_or_else(|e| panic!("{e}"));
    let experiment = Experiment::new(&KINDS, scenario, options).expect("a good experiment");
    experiment.run().expect("a whole run")
}

/// A message of 256 KiB is one of 820 packets: 40 messages are 40 messages.
#[test]
fn messages_are_counted_not_packets() {
    let stop = "[stop]\nrule = \"fixed\"\nmessages = 40\nwarmup = \"none\"\nreplications = 3";
    let result = run("", "message = \"262144 B\"", stop, Options::default());
    let point = &result.points[0];
    // Several may end in the tick in which the last that was asked for does.
    assert!((120..=126).contains(&point.messages), "{}", point.messages);
    let response = point
        .measures
        .iter()
        .find(|m| m.name == "all.response")
        .unwrap();
    // 40 messages of 4 nodes, 820 packets of 955.2 ns each: 7.8 ms and more.
    let packets = 820.0 * 0.9552;
    assert!(response.mean.unwrap() > packets);
}

/// Messages of one packet on one switch: the knee lies below the 0.655 of a switch of 4 with queues at its
/// inputs, plus what excluding oneself gives: 0.70 (see the machine's tests of throughput).
const OPEN: &str = "message = \"320 B\"";

const SWITCH: &str = "switching = \"cut-through\"\nbuffer = 4\nvirtual_channels = 1\nswitch_latency = \"5 ns\"\n\
                      credit = \"5 ns\"\nnic = { overhead = \"2 B\", dma_period = \"800 ns\", receive_delay = \"0 s\", \
                      software_latency = \"0 s\" }";

fn search(range: [u32; 2], stop: &str, options: Options) -> SearchResult {
    let [from, to] = range;
    let rest = format!(
        "[stop]\nreplications = 4\n{stop}\n[search]\nover = \"workload.load\"\nfrom = \"{from} MB/s\"\n\
         to = \"{to} MB/s\"\nresolution = \"4%\"\n"
    );
    let job = format!("{OPEN}\narrivals = \"open\"\nload = \"100 MB/s\"");
    let job = job.replace("load = \"100 MB/s\"", "");
    let result = run(SWITCH, &job, &rest, options);
    result.searches[0].clone()
}

#[test]
fn a_search_spends_what_its_resolution_needs_and_says_whether_that_was_enough() {
    // So short a longest run leaves loads near the knee undecided; in a hurry it stays so.
    let short = "messages_first = 1000\nmessages_max = 20000";
    let quick = Options {
        quick: true,
        ..Options::default()
    };
    let hurried = search([120, 380], short, quick);
    let patient = search([120, 380], short, Options::default());
    let width = |found: &SearchResult| match (found.highest_stable, found.lowest_saturated) {
        (Some(low), Some(high)) => (high - low) / (0.5 * (high + low)),
        _ => f64::INFINITY,
    };
    println!(
        "hurried: {:.3}, {} trials; patient: {:.3}, {} trials, {:?} to {:?}",
        width(&hurried),
        hurried.trials.len(),
        width(&patient),
        patient.trials.len(),
        patient.highest_stable,
        patient.lowest_saturated
    );
    for found in [&hurried, &patient] {
        assert_eq!(found.reached, width(found) <= found.resolution * 1.000_001);
    }
    assert!(!hurried.reached && patient.reached);
    let longest = patient
        .trials
        .iter()
        .map(|trial| trial.messages)
        .max()
        .unwrap();
    assert!(longest > 4 * 20_000, "{longest}");
    // 0.70 of the 397.5 MB/s that a link carries.
    let middle = 0.5 * (patient.highest_stable.unwrap() + patient.lowest_saturated.unwrap());
    assert!((middle / 397.5 - 0.70).abs() < 0.03, "{middle}");
}

/// Where the knee is not within the range there is no bracket to narrow.
#[test]
fn a_knee_outside_of_the_range_is_not_reached() {
    let found = search(
        [20, 60],
        "messages_first = 300\nmessages_max = 3000",
        Options::default(),
    );
    assert_eq!(found.lowest_saturated, None);
    assert!(!found.reached);
}
