//! Whole runs with devices behind the I/O servers.

use isthmus_experiment::result::{Measure, PointResult, RunResult, State};
use isthmus_experiment::{Experiment, Options};
use isthmus_kinds::KINDS;

fn experiment(device: &str, jobs: &str, rest: &str) -> Experiment {
    let text = format!(
        "version = 1\nname = \"d\"\n[machine]\nkind = \"fat-tree\"\narity = 4\nlevels = 2\n\
         [workload.servers]\nplacement = \"clustered\"\ncount = 8\n\
         [workload.servers.device]\n{device}\n{jobs}\n{rest}\n"
    );
    let scenario = KINDS
        .parse(&text, "d.toml", &[])
        .unwrap_or_else(|error| panic!("{error}"));
    Experiment::new(&KINDS, scenario, Options::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn run(device: &str, jobs: &str, rest: &str) -> RunResult {
    let experiment = experiment(device, jobs, rest);
    experiment.run().unwrap_or_else(|error| panic!("{error}"))
}

fn measure<'r>(point: &'r PointResult, name: &str) -> &'r Measure {
    let mut measures = point.measures.iter();
    measures
        .find(|measure| measure.name == name)
        .unwrap_or_else(|| panic!("no {name}"))
}

/// Four disks of 0.5 MB/s that only transfer, in units of a quarter of a message.
const ARRAY: &str = "kind = \"array\"\ndisks = 4\nstripe_unit = \"800 B\"\n\
    disk = { seek = \"0 s\", rotation = \"0 s\", transfer = \"0.5 MB/s\" }";

/// Eight clients of eight servers with any number of messages under way.
const WRITES: &str = "[workload.jobs.io]\ntraffic = \"io\"\nmessage = \"3200 B\"\nsizes = \"fixed\"\n\
    arrivals = \"open\"\noutstanding = \"unlimited\"";

/// 8 servers of 2 MB/s take 16 MB/s, 2 MB/s for each of as many clients.
#[test]
fn servers_saturate_at_what_their_devices_do() {
    let found = run(
        ARRAY,
        WRITES,
        "[search]\nover = \"workload.load\"\nfrom = \"1 MB/s\"\nto = \"4 MB/s\"\nresolution = \"15%\"\n\
         [stop]\nmessages_first = 1000\nmessages_max = 16000\nreplications = 3",
    );
    let search = &found.searches[0];
    let (low, high) = (
        search.highest_stable.unwrap(),
        search.lowest_saturated.unwrap(),
    );
    println!("{low} to {high} MB/s for each client");
    assert!(
        low < 2.0 && 1.95 < high && high < 2.3 && low > 1.7,
        "{low} {high}"
    );
}

/// At an offered load of twice their rate, devices are the bottleneck and their rate is the accepted load.
#[test]
fn a_backlog_at_devices_is_saturation() {
    let jobs = format!("{WRITES}\nload = \"4 MB/s\"");
    let result = run(
        ARRAY,
        &jobs,
        "[stop]\nrule = \"fixed\"\nmessages = 8000\nwarmup_messages = 1000",
    );
    let point = &result.points[0];
    assert_eq!(point.verdict.verdict, State::Saturated);
    let bottleneck = point.bottleneck.as_ref().unwrap();
    assert_eq!(
        (&*bottleneck.kind, &*bottleneck.holder),
        ("device", "request")
    );
    assert_eq!(bottleneck.server, Some(bottleneck.from));
    let accepted = measure(point, "servers.accepted").mean.unwrap();
    assert!((accepted / 2.0 - 1.0).abs() < 0.02, "{accepted}");
    let of_kind = |kind: &str| {
        let mut uses = point.channels.iter();
        uses.find(|of| of.kind == kind && of.from.is_none())
            .unwrap()
    };
    let (device, server) = (of_kind("device"), of_kind("server"));
    assert!(device.busy > 0.97 && (device.busy - server.busy).abs() < 1e-9);
    // Four disks for 1.6 ms each.
    assert!((device.held_us.unwrap() / 1_600.0 - 1.0).abs() < 1e-6);
    // The network hardly knows.
    assert!(of_kind("interface").busy < 0.05);
}

/// A buffer of 100 kB that is asked to take 0.5 MB/s more than it drains is full after 0.2 s. No run is judged
/// before three times of that, and then it is saturated; a larger load than the drain is carried until then.
#[test]
fn a_burst_buffer_is_judged_when_it_is_full() {
    let buffer = "kind = \"burst-buffer\"\ncapacity = \"100 kB\"\nabsorb = \"10 MB/s\"\n\
                  drain = \"0.5 MB/s\"";
    let jobs = format!("{WRITES}\ndestinations = \"interleaved\"");
    let run = |load: &str, stop: &str| {
        let jobs = format!("{jobs}\nload = \"{load}\"");
        run(buffer, &jobs, &format!("[stop]\nreplications = 3\n{stop}"))
    };
    let result = run("1 MB/s", "messages_first = 200\nmessages_max = 6000");
    let point = &result.points[0];
    assert!(point.simulated_ms >= 600.0, "{}", point.simulated_ms);
    assert_eq!(point.verdict.verdict, State::Saturated);
    assert_eq!(point.bottleneck.as_ref().unwrap().kind, "device");
    let short = run(
        "1 MB/s",
        "rule = \"fixed\"\nmessages = 300\nwarmup = \"none\"",
    );
    assert_eq!(short.points[0].verdict.verdict, State::Undecided);
    let light = run("0.4 MB/s", "messages_first = 1000\nmessages_max = 6000");
    assert_eq!(light.points[0].verdict.verdict, State::Stable);
}

/// Poisson writes to a single disk each, 3.2 ms, at half of what it does: M/D/1 waits for half of that
/// (rho s / 2 (1 - rho)), beside the way there and back.
#[test]
fn a_disk_waits_as_queueing_theory_says() {
    let disk =
        "kind = \"disk\"\ndisk = { seek = \"0 s\", rotation = \"0 s\", transfer = \"1 MB/s\" }";
    let jobs = format!("{WRITES}\nload = \"0.5 MB/s\"\ndestinations = \"interleaved\"");
    let result = run(
        disk,
        &jobs,
        "[stop]\nmessages_max = 40000\nprecision = \"3%\"",
    );
    let response = measure(&result.points[0], "io.response");
    let (s, rho) = (3_200.0, 0.5);
    // Ten packets, one every 955.2 ns, the software twice, the answer.
    let network = 1.88 + 0.105 + 9.0 * 0.9552 + 0.945 + 1.88 + 0.105 + 0.305;
    let expected = s + rho * s / (2.0 * (1.0 - rho)) + network;
    let mean = response.mean.unwrap();
    println!("{mean} us for {expected}");
    assert!(
        (mean / expected - 1.0).abs() < 0.03,
        "{mean} for {expected}"
    );
}

/// Demand and supply of the devices, by hand.
#[test]
fn capacity_knows_the_devices() {
    let jobs = format!("{WRITES}\nload = \"1 MB/s\"");
    let capacity = |device: &str, jobs: &str| experiment(device, jobs, "").capacity()[0].clone();
    let part = |device: &str, jobs: &str| {
        let found = capacity(device, jobs);
        let mut parts = found.parts.iter();
        let part = parts.find(|part| part.name == "device of an I/O server");
        let part = part.unwrap_or_else(|| panic!("{found:?}"));
        (
            part.demand.unwrap(),
            part.supply.unwrap(),
            part.basis.clone(),
        )
    };
    let close = |found: f64, expected: f64| {
        assert!(
            (found / expected - 1.0).abs() < 1e-3,
            "{found} for {expected}"
        );
    };
    let (demand, supply, basis) = part(ARRAY, &jobs);
    close(demand, 1.0);
    close(supply, 2.0);
    assert_eq!(
        basis,
        "4 disks, 1.6 ms each for its part of a message of 3200 B"
    );
    let said = capacity(ARRAY, &jobs).remarks;
    let expected = "8 I/O servers together move at most 16 MB/s: their devices, not the network, are the \
                    limit.";
    assert!(said.iter().any(|remark| remark == expected), "{said:?}");

    // 20 ms and 0.32 ms at 10 MB/s for each 3,200 B; a tenth of that where 90% end in the cache.
    let disk = "disk = { transfer = \"10 MB/s\" }";
    let one = 0.003_2 / 0.020_32;
    close(part(&format!("kind = \"disk\"\n{disk}"), &jobs).1, one);
    let cache = format!("kind = \"cache\"\ncache_hit_rate = 0.9\n{disk}");
    close(part(&cache, &jobs).1, 10.0 * one);

    // One unit of parity to three of data.
    let parity = format!("{ARRAY}\nparity = 1");
    let three = jobs.replace("3200 B", "2400 B");
    close(part(&parity, &three).1, 1.5);

    // Of exponential lengths of one unit on average more than k units with e^-k: of four disks
    // 1 + e^-1 + e^-2 + e^-3 seek for 10 ms.
    let seeks = "kind = \"array\"\ndisks = 4\nstripe_unit = \"3200 B\"\n\
                 disk = { seek = \"10 ms\", rotation = \"0 s\" }";
    let exponential = jobs.replace("\"fixed\"", "\"exponential\"");
    let touched: f64 = (0..4).map(|k| (-f64::from(k)).exp()).sum();
    let supply = part(seeks, &exponential).1;
    let expected = 0.003_2 / (touched * 0.010 / 4.0);
    assert!(
        (supply / expected - 1.0).abs() < 3e-3,
        "{supply} for {expected}"
    );

    let buffer =
        "kind = \"burst-buffer\"\ncapacity = \"6 MB\"\nabsorb = \"100 MB/s\"\ndrain = \"0.4 MB/s\"";
    let (_, supply, basis) = part(buffer, &jobs);
    close(supply, 0.4);
    assert_eq!(basis, "a drain of 0.4 MB/s");
    let said = capacity(buffer, &jobs).remarks;
    let expected = "A burst buffer of 6000000 B is full after 10 s of 0.6 MB/s more than it drains; then writes \
                    go at 0.4 MB/s.";
    assert!(said.iter().any(|remark| remark == expected), "{said:?}");
}

/// A buffer that would take minutes to fill: the run ends where messages do, and says that it does not know.
#[test]
fn a_run_does_not_wait_for_a_buffer_that_is_never_full() {
    let text = "version = 1\nname = \"d\"\n[machine]\nkind = \"fat-tree\"\narity = 4\nlevels = 2\n\
        [workload]\nload = \"30 MB/s\"\n\
        servers = { placement = \"clustered\", count = 1, device = { kind = \"burst-buffer\", \
        capacity = \"64 GB\", absorb = \"350 MB/s\", drain = \"200 MB/s\" } }\n\
        [workload.jobs.io]\ntraffic = \"io\"\nnodes = [\"0-9\"]\nmessage = \"10 kB\"\narrivals = \"open\"\n\
        [stop]\nprecision = \"20%\"\nmessages_first = 200\nmessages_max = 2000\nreplications = 3\n";
    let scenario = KINDS.parse(text, "d.toml", &[]);
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    let experiment = Experiment::new(&KINDS, scenario, Options::default());
    let result = experiment.unwrap_or_else(|error| panic!("{error}")).run();
    let result = result.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(result.points[0].verdict.verdict, State::Undecided);
}

/// A hot node is an I/O server only if it is one: else its jobs move nothing to or from servers.
#[test]
fn a_hot_node_is_no_server_by_itself() {
    let run = |hot: u32| {
        let jobs = format!(
            "[workload.jobs.hot]\ntraffic = \"hot-spot\"\nhot_node = {hot}\nmessage = \"3200 B\"\n\
             load = \"1 MB/s\""
        );
        let stop = "[stop]\nrule = \"fixed\"\nmessages = 500\nwarmup = \"none\"";
        let result = run("", &jobs, stop);
        let point = &result.points[0];
        let accepted = measure(point, "servers.accepted").mean;
        (point.jobs[0].io, accepted.unwrap_or(0.0))
    };
    assert_eq!(run(0), (false, 0.0));
    // Eight clients of 1 MB/s write to one of eight servers.
    let (io, accepted) = run(8);
    assert!(io && (accepted - 1.0).abs() < 0.2, "{accepted}");
}
