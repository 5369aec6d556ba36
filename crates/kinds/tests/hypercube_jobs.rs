//! Jobs on hypercubes: files, what is asked of channels and devices, and whole runs.

use crate::bounds::bound_and_accepted;
use isthmus_experiment::capacity::{Capacity, PartKind};
use isthmus_experiment::result::{RunResult, State};
use isthmus_experiment::{Experiment, Kind, Options};
use isthmus_kinds::KINDS;
use isthmus_kinds::hypercube::HypercubeJobs;
use isthmus_machine::hypercube::spec::{JobsOnCube, Transfer};
use isthmus_scenario::Scenario;
use isthmus_units::{Bandwidth, Bytes};
use isthmus_workload::jobs::spec::{Arrivals, Io, Servers, Traffic};
use isthmus_workload::storage::StorageSpec;

/// Eight PEs, of which 0 and 7 have the two I/O nodes.
const CUBE: &str = "version = 1\nname = \"cube\"\n[machine]\nkind = \"hypercube\"\ndimension = 3\n\
                    lanes.io_link = 1\n";

fn parsed(text: &str) -> Scenario {
    let scenario = KINDS
        .parse(text, "good", &[])
        .unwrap_or_else(|e| panic!("{e}"));
    let again = KINDS
        .parse(&scenario.canonical(), "canonical", &[])
        .unwrap_or_else(|e| panic!("{e}\n{}", scenario.canonical()));
    assert_eq!(scenario, again, "{}", scenario.canonical());
    scenario
}

fn experiment(text: &str) -> Experiment {
    Experiment::new(&KINDS, parsed(text), Options::default()).expect("a good experiment")
}

fn run(text: &str) -> RunResult {
    experiment(text).run().expect("a whole run")
}

fn capacity(text: &str) -> Capacity {
    experiment(&format!("{CUBE}{text}")).capacity()[0].clone()
}

#[test]
fn a_file_with_jobs_is_what_it_says() {
    let scenario = parsed(&format!(
        "{CUBE}[workload]\ntransfer_unit = \"1 KiB\"\nworms = 3\nrequest = \"16 B\"\n\
         [workload.jobs.io]\ntraffic = \"io\"\nload = 0.5\n"
    ));
    assert_eq!(
        (scenario.kind(), scenario.form()),
        ("hypercube", "hypercube-jobs")
    );
    let work: &JobsOnCube = scenario.workload.expect();
    assert_eq!(
        work.transfer,
        Transfer {
            unit: Bytes::new(1024),
            worms: 3,
            request: Bytes::new(16),
        }
    );
    assert_eq!(work.jobs.servers, Servers::Apart { count: 2 });
    // The cache and the disk of the I/O nodes are the machine's.
    assert_eq!(work.jobs.storage, StorageSpec::None);
    // Half of k = d + 2 lanes.
    let Traffic::Io(Io {
        arrivals: Arrivals::Open { load, .. },
        ..
    }) = work.jobs.jobs[0].traffic
    else {
        panic!("an open loop");
    };
    assert_eq!(load, Bandwidth::from_mb_per_s(50));
}

/// Parts of a vector that are one worm each, and open loops that begin with one message of a PE each.
#[test]
fn what_begins_with_few_worms_is_taken() {
    for (dimension, rest) in [
        (
            15,
            "worms = 1024\n[workload.jobs.all]\ntraffic = \"all-reduce\"\nmessage = \"64 B\"\n",
        ),
        (
            10,
            "[workload.jobs.all]\ntraffic = \"uniform\"\nload = 0.1\nmessage = \"1 MB\"\n\
             outstanding = 65536\n",
        ),
    ] {
        parsed(&format!(
            "version = 1\nname = \"cube\"\n[machine]\nkind = \"hypercube\"\ndimension = {dimension}\n\
             lanes.io_link = 1\n[workload]\n{rest}"
        ));
    }
}

/// PE 1 writes 100 kB/s in blocks of 4,096 B, each with a request of 32 B, to the I/O node at PE 0, one link
/// away. Half of them miss, 20 ms each: one block in 10 ms.
#[test]
fn what_is_asked_by_hand() {
    let found = capacity(
        "[machine.device]\ncache_hit_rate = 0.5\nservice = \"queue\"\n[workload.jobs.io]\n\
         traffic = \"io\"\nnodes = [1]\nload = \"100 kB/s\"\nmessage = \"4096 B\"\nsizes = \"fixed\"\n\
         destinations = \"interleaved\"\n",
    );
    let part = |name: &str| -> &PartKind {
        let mut parts = found.parts.iter();
        parts
            .find(|part| part.name == name)
            .unwrap_or_else(|| panic!("{name}: {found:?}"))
    };
    let close = |value: Option<f64>, expected: f64| {
        let value = value.unwrap();
        assert!((value / expected - 1.0).abs() < 1e-9, "{value}, {expected}");
    };
    let with_requests = 0.1 * (4_096.0 + 32.0) / 4_096.0;
    for name in [
        "PE 1 to its router",
        "busiest link between PEs, 1 to 0",
        "router to I/O node 0",
    ] {
        close(part(name).demand, with_requests);
    }
    close(part("PE 1 to its router").supply, 100.0);
    close(part("busiest link between PEs, 1 to 0").supply, 20.0);
    close(part("device of I/O node 0").demand, 0.1);
    close(part("device of I/O node 0").supply, 0.4096);
    assert_eq!(found.load, Some(0.1));
    assert!(
        found
            .parts
            .iter()
            .all(|part| !part.name.contains("I/O router"))
    );
}

/// A message of two and a half transfer units is three accesses of 20 ms each, of which half miss.
#[test]
fn each_unit_is_an_access() {
    let found = capacity(
        "[machine.device]\ncache_hit_rate = 0.5\nservice = \"queue\"\n[workload]\n\
         transfer_unit = \"4096 B\"\n[workload.jobs.io]\ntraffic = \"io\"\nnodes = [1]\n\
         load = \"100 kB/s\"\nmessage = \"10240 B\"\nsizes = \"fixed\"\n\
         destinations = \"interleaved\"\n",
    );
    let mut parts = found.parts.iter();
    let device = parts.find(|part| part.name == "device of I/O node 0");
    let supply = device.and_then(|device| device.supply).unwrap();
    assert!((supply / (10_240.0 / 30e3) - 1.0).abs() < 1e-9, "{supply}");
}

/// Channels are left out on large machines, and nothing else is.
#[test]
fn devices_of_large_cubes_are_listed() {
    let text = "version = 1\nname = \"cube\"\n[machine]\nkind = \"hypercube\"\ndimension = 11\n\
        lanes.io_link = 1\n[workload.servers.device]\nkind = \"disk\"\n[workload.jobs.io]\ntraffic = \"io\"\n\
        [workload.jobs.late]\ntraffic = \"ping\"\nnodes = [0, 1]\n[workload]\nmapping = \"shared\"\n";
    let found = experiment(text).capacity()[0].clone();
    let names: Vec<&str> = found.parts.iter().map(|part| &*part.name).collect();
    assert!(
        matches!(names[..], [name] if name.starts_with("device of I/O node ")),
        "{names:?}"
    );
    for start in [
        "What is asked of channels is left out on machines of more than 1024 PEs.",
        "Collectives, listed messages and pings are left out",
        "With 1 message of 1000000 B under way at a time",
    ] {
        let is_remarked = found.remarks.iter().any(|remark| remark.starts_with(start));
        assert!(is_remarked, "{start}: {:?}", found.remarks);
    }
}

/// Checks the time of a read on an idle machine against a calculation by hand: a run whose stability is judged takes
/// at least five reads. A start-up of 200 us is 4,000 cycles, 1,024 B are 1,024 flits, and the cache behind an I/O node
/// takes 400 us, 8,000 cycles. A read needs three worms (messages): a request, a forward and a reply. A fourth worm is
/// needed if the PE of a failed I/O node forwards the request.
#[test]
fn the_time_of_a_read_is_as_calculated_by_hand() {
    let least = |faults: &str| {
        let scenario = parsed(&format!(
            "{CUBE}{faults}[workload.jobs.io]\ntraffic = \"io\"\nread_ratio = 1.0\nload = \"1 kB/s\"\n\
             message = \"1 KiB\"\nsizes = \"fixed\"\n"
        ));
        let built = HypercubeJobs::build(scenario.machine.expect()).expect("a machine");
        let subject = HypercubeJobs::subject(&built, scenario.workload.expect());
        subject.expect("they fit").cycles_min()
    };
    assert_eq!(least(""), 5 * (3 * 5_024 + 8_000));
    let failed = "faults.io_nodes = [0]\n";
    assert_eq!(least(failed), 5 * (4 * 5_024 + 8_000));
}

/// What `check` says that a closed loop sends at most is no less than what it gets, whatever of a message goes
/// at a time and however many of its units a device takes side by side.
#[test]
fn no_closed_loop_gets_more_than_it_can_send_at_most() {
    let disk = "disk = { seek = \"1 ms\", rotation = \"0 s\", transfer = \"10 MB/s\" }";
    let behind = |device: &str| format!("[workload.servers.device]\n{device}\n");
    for (machine, work, job) in [
        (String::new(), "", ""),
        (String::new(), "worms = 3", "read_ratio = 1.0"),
        (
            format!("[machine.device]\ncache_hit_rate = 0.5\n{disk}\n"),
            "worms = 2",
            "outstanding = 3",
        ),
        (
            format!("[machine.device]\ncache_hit_rate = 0.5\nservice = \"queue\"\n{disk}\n"),
            "",
            "read_ratio = 0.5",
        ),
        (behind(&format!("kind = \"disk\"\n{disk}")), "", ""),
        (
            behind(&format!(
                "kind = \"array\"\ndisks = 4\nstripe_unit = \"256 B\"\n{disk}"
            )),
            "worms = 4",
            "outstanding = 2",
        ),
        (
            behind(
                "kind = \"burst-buffer\"\ncapacity = \"1 GB\"\nabsorb = \"3 MB/s\"\ndrain = \"2 MB/s\"",
            ),
            "",
            "",
        ),
    ] {
        let text = format!(
            "{CUBE}{machine}[workload]\ntransfer_unit = \"1 KiB\"\n{work}\n[workload.jobs.io]\n\
             traffic = \"io\"\nnodes = [1]\nmessage = \"8 KiB\"\nsizes = \"fixed\"\n\
             destinations = \"interleaved\"\n{job}\n\
             [stop]\nrule = \"fixed\"\nmessages = 2000\nwarmup = \"none\"\nreplications = 2\n"
        );
        let (most, accepted) = bound_and_accepted(experiment(&text));
        println!("{accepted} of {most} MB/s: {machine} {work} {job}");
        // Three digits are shown, and accesses are random.
        assert!(accepted < 1.02 * most, "{accepted} of {most}: {text}");
        assert!(accepted > 0.4 * most, "{accepted} of {most}: {text}");
    }
}

/// Reads from any I/O node come back over the I/O network half of the time.
#[test]
fn an_open_loop_gets_what_it_asks_for() {
    let result = run(&format!(
        "{CUBE}[workload.jobs.io]\ntraffic = \"io\"\nload = \"200 kB/s\"\nread_ratio = 1.0\n\
         message = \"1 KiB\"\n[workload.jobs.io2]\ntraffic = \"ping\"\nnodes = [6, 7]\n\
         [workload]\nmapping = \"shared\"\nactive = [\"io\"]\n[stop]\nrule = \"precision\"\n\
         of = [\"io.response\"]\nprecision = \"5%\"\n"
    ));
    let [point] = &result.points[..] else {
        panic!("one point");
    };
    assert_eq!(point.verdict.verdict, State::Stable, "{:?}", point.verdict);
    let measure = |name: &str| {
        let mut measures = point.measures.iter();
        measures
            .find(|measure| measure.name == name)
            .and_then(|measure| measure.mean)
            .unwrap_or_else(|| panic!("{name}"))
    };
    let accepted = measure("io.accepted");
    assert!((accepted - 0.2).abs() < 0.02, "{accepted}");
    // Each of two servers gives what four PEs read.
    assert!((measure("servers.accepted") - 0.8).abs() < 0.08);
    // Two or three start-ups and the access, 1,000 us to 1,200 us, and some 50 us of data.
    let response = measure("io.response");
    assert!((800.0..1_150.0).contains(&response), "{response}");
    assert_eq!(point.servers, [0, 7]);
}

#[test]
fn failures_of_the_pes_of_jobs_are_refused() {
    let text = format!(
        "{CUBE}[workload.jobs.all]\ntraffic = \"uniform\"\n[sweep]\n\"machine.faults\" = \"pes\"\n"
    );
    let error = KINDS.parse(&text, "s.toml", &[]).unwrap_err().to_string();
    assert!(
        error.contains("(at fault = PE 0); jobs need all of their nodes: list nodes that"),
        "{error}"
    );
    // I/O nodes may fail: another one stands in.
    let text = text.replace("\"pes\"", "\"io-nodes\"");
    assert_eq!(parsed_axis(&text), 3);
}

/// Points of a file with an axis over failures.
fn parsed_axis(text: &str) -> usize {
    KINDS
        .parse(text, "s.toml", &[])
        .unwrap_or_else(|e| panic!("{e}"))
        .points()
        .len()
}
