//! Checkpoints that end, that fall behind, and that the end of a run cuts off; messages that it cuts off.

use crate::capacity::experiment;
use isthmus_experiment::result::{Measure, PointResult, RunResult, State};

/// A tree of 16 nodes with links of 12.5 GB/s, the last node an I/O server, and a job that writes checkpoints.
fn run(device: &str, ckpt: &str, stop: &str, seed: u64) -> RunResult {
    let job =
        format!("[workload.jobs.ckpt]\ntraffic = \"checkpoint\"\nmessage = \"64 KiB\"\n{ckpt}");
    run_job(device, &job, stop, seed)
}

/// The same machine with this job.
fn run_job(device: &str, job: &str, stop: &str, seed: u64) -> RunResult {
    let text = format!(
        "version = 1\nname = \"f\"\nseed = {seed}\n[machine]\nkind = \"fat-tree\"\narity = 4\nlevels = 2\n\
         switching = \"cut-through\"\nbandwidth = \"12.5 GB/s\"\n\
         nic = {{ payload = \"4 KiB\", dma_period = \"10 ns\", receive_delay = \"0 s\" }}\n\
         [workload.servers]\nplacement = \"clustered\"\ncount = 1\n{device}\n\
         {job}\n\
         [stop]\nrule = \"fixed\"\nreplications = 2\n{stop}\n"
    );
    let experiment = experiment(&text);
    experiment.run().unwrap_or_else(|error| panic!("{error}"))
}

fn phase(point: &PointResult) -> &Measure {
    let mut measures = point.measures.iter();
    let found = measures.find(|measure| measure.name == "ckpt.phase");
    found.expect("a checkpoint has phases")
}

/// 15 nodes write 16 messages of 64 KiB each over one link of 12.5 GB/s: 1.26 ms, and less than a tenth more
/// for headers.
#[test]
fn a_single_checkpoint_completes_or_does_not() {
    let ckpt = "period = \"1 s\"\nvolume = \"1 MiB\"";
    let least_us = 15.0 * f64::from(1 << 20) / 12.5e3;
    let whole = &run("", ckpt, "time = \"3 ms\"", 1).points[0];
    assert_eq!(whole.verdict.verdict, State::Completed);
    assert_eq!(whole.verdict.flow, "ckpt");
    let time = phase(whole);
    let mean = time.mean.expect("it ended");
    assert!((least_us..1.1 * least_us).contains(&mean), "{mean}");
    assert_eq!((time.samples, time.unended), (2, 0));
    assert!(whole.converged);

    let short = &run("", ckpt, "time = \"1 ms\"", 1).points[0];
    assert_eq!(short.verdict.verdict, State::Incomplete);
    let time = phase(short);
    assert_eq!((time.mean, time.high), (None, None));
    assert!((time.low.expect("it is longer than the run") - 1000.0).abs() < 1e-6);
    assert_eq!((time.samples, time.unended), (0, 2));
}

/// A node writes 1 MiB in each 4 ms to a buffer that holds as much and drains at 0.2 GB/s: 5.24 ms for each.
/// Of what is offered 1 - 0.2 / 0.262 is never served, and each phase is 1.24 ms longer than the one before.
#[test]
fn phases_that_grow_are_saturation_however_alike_the_replications() {
    let device = "device = { kind = \"burst-buffer\", capacity = \"1 MiB\", absorb = \"10 GB/s\", drain = \"0.2 GB/s\" }";
    let ckpt = "nodes = [0]\nperiod = \"4 ms\"\nvolume = \"1 MiB\"";
    let needed_ms = f64::from(1 << 20) / 0.2e6;
    let unserved = 1.0 - 4.0 / needed_ms;
    for periods in [20, 50] {
        let stop = format!("time = \"{} ms\"", 4 * periods);
        let point = &run(device, ckpt, &stop, 1).points[0];
        assert_eq!(point.verdict.verdict, State::Saturated, "{periods} periods");
        // A message of 16 more or less is waiting at either end of half of the run.
        let growth = point.verdict.growth;
        let off = 2.0 / f64::from(16 * periods / 2);
        assert!((growth - unserved).abs() < off, "{growth} for {unserved}");
        assert!(!point.converged);
        let time = phase(point);
        assert_eq!(time.high, None, "there is no mean");
        assert_eq!(time.each[0], time.each[1], "nothing is random");
        // One begins with each period, the end of the run included.
        assert_eq!(time.samples + time.unended, 2 * (periods as u64 + 1));
        let ended = (4.0 * f64::from(periods) / needed_ms).floor() as u64;
        assert!(time.samples.abs_diff(2 * ended) <= 2, "{}", time.samples);
        // Phase k is taken once k of those before have drained: it lasts k times what it needs beyond a period.
        let median = &time.percentiles[0];
        let half_us = 1e3 * (needed_ms - 4.0) * f64::from(periods) / 2.0;
        assert_eq!(median.percent, 50.0);
        assert!(median.low.is_none_or(|low| low < 1.05 * half_us));
        assert!(median.high.is_none_or(|high| high > 0.95 * half_us));
        let last = time.percentiles.last().expect("percentiles");
        assert_eq!(last.high, None, "the longest have not ended");
    }
}

/// The same with a drain that is fast enough: every period is over before the next.
#[test]
fn phases_that_end_in_time_are_stable() {
    let device = "device = { kind = \"burst-buffer\", capacity = \"1 MiB\", absorb = \"10 GB/s\", drain = \"0.4 GB/s\" }";
    let ckpt = "nodes = [0]\nperiod = \"4 ms\"\nvolume = \"1 MiB\"";
    let point = &run(device, ckpt, "time = \"80 ms\"", 1).points[0];
    assert_eq!(point.verdict.verdict, State::Stable);
    let time = phase(point);
    assert_eq!(time.mean, time.high, "nothing is random, and nothing grows");
}

/// 15 clients keep one message of 64 KiB each under way at a server with a link of 12.5 GB/s: by Little's law each takes
/// 15 x 64 KiB / 12.5 GB/s = 78.6 us and less than a tenth more for headers. A run of 0.4 ms sees some five of each and
/// cuts off the sixth, which the upper end allows for.
#[test]
fn messages_that_the_end_cuts_off_count() {
    let job = "[workload.jobs.io]\ntraffic = \"io\"\nmessage = \"64 KiB\"\nsizes = \"exponential\"";
    let of = |time: &str, name: &str| {
        let result = run_job("", job, &format!("time = \"{time}\""), 1);
        let mut measures = result.points[0].measures.iter();
        let found = measures.find(|measure| measure.name == name);
        found.expect("clients have messages").clone()
    };
    for name in ["io.response", "io.network"] {
        let least = 15.0 * f64::from(1 << 16) / 12.5e3;
        let short = of("0.4 ms", name);
        assert_eq!(short.unended, 2 * 15, "{name}");
        assert!(short.high.is_none_or(|high| high > least), "{name}");
        let long = of("20 ms", name);
        let (low, high) = (long.low.expect("known"), long.high.expect("known"));
        assert!(low < 1.1 * least && least < high, "{name}: {low} to {high}");
        assert_eq!(long.unended, 0, "fewer than one in a hundred");
    }
}

/// Checks that the number of messages in a checkpoint interval stays at its maximum on overflow: 2^50 messages from
/// each of 2^14 nodes exceed 64 bits. The warning on runs with a fixed number of messages states it.
#[test]
fn the_number_of_messages_of_a_period_saturates() {
    let text = "version = 1\nname = \"x\"\n[machine]\nkind = \"fat-tree\"\narity = 4\nlevels = 7\n\
        [workload]\nmapping = \"shared\"\nservers = { placement = \"clustered\", count = 2 }\n\
        [workload.jobs.save]\ntraffic = \"checkpoint\"\nperiod = \"1 s\"\n\
        volume = \"1125899906842624 B\"\nmessage = \"1 B\"\n[stop]\nrule = \"fixed\"\nmessages = 100000\n";
    let warnings = experiment(text).warnings();
    let expected = format!("100000 are less than a checkpoint has, {}:", u64::MAX);
    assert!(
        matches!(&warnings[..], [warning] if warning.contains(&expected)),
        "{warnings:?}"
    );
}
