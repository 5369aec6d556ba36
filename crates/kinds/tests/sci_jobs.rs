//! Jobs on SCI fabrics: files, what is asked of links, and whole runs.

use crate::bounds::bound_and_accepted;
use isthmus_experiment::capacity::Capacity;
use isthmus_experiment::result::{RunResult, State};
use isthmus_experiment::{Experiment, Options};
use isthmus_kinds::KINDS;
use isthmus_machine::sci::spec::{JobsOnRings, Transfer};
use isthmus_scenario::Scenario;
use isthmus_units::{Bandwidth, Bytes, Time};
use isthmus_workload::Outstanding;
use isthmus_workload::jobs::spec::{Arrivals, Io, Servers, Traffic};

const RING: &str = "version = 1\nname = \"rings\"\n[machine]\nkind = \"sci\"\nfabric = \"ring\"\n\
                    size = 8\n[workload.servers]\nplacement = \"list\"\nnodes = [4]\n";

fn parsed(text: &str) -> Scenario {
    let scenario = KINDS
        .parse(text, "good", &[])
        .unwrap_or_else(|e| panic!("{e}"));
    let again = KINDS
        .parse(&scenario.canonical(), "canonical", &[])
        .unwrap_or_else(|e| panic!("{e}\n{}", scenario.canonical()));
    assert_eq!(scenario, again, "{}", scenario.canonical());
    assert_eq!(scenario.digest(), again.digest());
    scenario
}

fn experiment(text: &str) -> Experiment {
    Experiment::new(&KINDS, parsed(text), Options::default()).expect("a good experiment")
}

fn run(text: &str) -> RunResult {
    experiment(text).run().expect("a whole run")
}

fn capacity(jobs: &str) -> Capacity {
    experiment(&format!("{RING}{jobs}")).capacity()[0].clone()
}

#[test]
fn a_file_with_jobs_is_what_it_says() {
    let scenario = parsed(&format!(
        "{RING}[workload]\npayload = \"256 B\"\nturnaround = \"40 ns\"\ntransactions = 3\n\
         load = 0.5\n[workload.jobs.io]\ntraffic = \"io\"\narrivals = \"open\"\nnodes = [0, 3]\n\
         [workload.jobs.pi]\ntraffic = \"ping\"\nnodes = [1, 2]\n"
    ));
    assert_eq!((scenario.kind(), scenario.form()), ("sci", "sci-jobs"));
    let work: &JobsOnRings = scenario.workload.expect();
    assert_eq!(
        work.transfer,
        Transfer {
            payload: Bytes::new(256),
            turnaround: Time::from_ns(40),
            transactions: 3,
        }
    );
    assert_eq!(work.jobs.servers, Servers::Listed(vec![4]));
    let [io, ping] = &work.jobs.jobs[..] else {
        panic!("two jobs");
    };
    // Half of what a link carries: 256 of 274 B with header and idle.
    let share: f64 = 256.0 / 274.0;
    let Traffic::Io(Io {
        arrivals: Arrivals::Open { load, .. },
        ..
    }) = &io.traffic
    else {
        panic!("an open loop");
    };
    let expected = Bandwidth::from_bits_per_s((8e9 * share).round() as u64);
    assert_eq!(
        load.bits_per_s(),
        (expected.bits_per_s() as f64 * 0.5).round() as u64
    );
    assert_eq!(io.outstanding, Outstanding::Unlimited);
    assert_eq!(ping.outstanding, Outstanding::ONE);
}

/// Node 0 writes 100 MB/s in messages of 64 B to node 4, half way round. Links there carry packets of 64 + 16 B,
/// idles of 2 B behind them and the echoes of the responses, 8 + 2 B: 92 B for 64. Those back carry
/// responses, 18 B, and echoes of the packets, 10 B. Read, it is the other way round.
#[test]
fn what_links_are_asked_for_by_hand() {
    for (reads, busiest) in [
        (0, "busiest link, 0-1 of ring 0"),
        (1, "busiest link, 4-5 of ring 0"),
    ] {
        let found = capacity(&format!(
            "[workload.jobs.io]\ntraffic = \"io\"\nnodes = [0]\nmessage = \"64 B\"\nsizes = \"fixed\"\n\
             load = \"100 MB/s\"\nread_ratio = {reads}\n"
        ));
        let [node, link] = &found.parts[..] else {
            panic!("{found:?}");
        };
        assert_eq!(node.demand, Some(100.0));
        assert!((node.supply.unwrap() - 1e3 * 64.0 / 82.0).abs() < 1e-6);
        // All links of one way are asked for the same, but for rounding.
        assert_eq!(&link.name[..17], &busiest[..17]);
        let asked = link.demand.unwrap();
        assert!(
            (asked - 100.0 * 92.0 / 64.0).abs() < 1e-9 * asked,
            "{asked}"
        );
        assert_eq!(link.supply, Some(1e3));
    }
    let closed = capacity("[workload.jobs.io]\ntraffic = \"io\"\nmessage = \"64 B\"\n");
    assert!(closed.parts.iter().all(|part| part.at_most));
    let collective = capacity("[workload.jobs.all]\ntraffic = \"all-to-all\"\n");
    assert!(collective.parts[0].demand.is_none());
    assert!(
        collective.remarks[0].starts_with("Collectives, listed messages and pings are left out")
    );
}

fn mean(result: &RunResult, point: usize, name: &str) -> f64 {
    let measures = &result.points[point].measures;
    let found = measures.iter().find(|measure| measure.name == name);
    let found = found.unwrap_or_else(|| panic!("{name} is not among the measures"));
    found.mean.unwrap_or_else(|| panic!("{name} has no mean"))
}

/// Seven nodes write to one, whose link takes in 64 of 82 B at most, 111 MB/s each.
#[test]
fn open_loops_are_judged_by_their_backlog() {
    let result = run(&format!(
        "{RING}[workload.jobs.io]\ntraffic = \"io\"\nmessage = \"2 kB\"\narrivals = \"open\"\n\
         [sweep]\nworkload.load = [\"20 MB/s\", \"200 MB/s\"]\n\
         [stop]\nrule = \"fixed\"\nmessages = 4000\nwarmup_messages = 500\nreplications = 2\n"
    ));
    let [low, high] = &result.points[..] else {
        panic!("two points");
    };
    assert_eq!(low.verdict.verdict, State::Stable);
    assert_eq!(high.verdict.verdict, State::Saturated);
    let accepted = mean(&result, 0, "io.accepted");
    assert!((accepted - 20.0).abs() < 2.0, "{accepted}");
    let most = mean(&result, 1, "io.accepted");
    assert!(most > 60.0 && most < 1e3 * 64.0 / 82.0 / 7.0, "{most}");
    assert!((mean(&result, 1, "servers.accepted") - 7.0 * most).abs() < 1e-6 * most);
    // Nobody waits at its process: as many messages as asked for may be under way.
    assert_eq!(
        mean(&result, 0, "io.response"),
        mean(&result, 0, "io.network")
    );
    assert!(mean(&result, 0, "io.packet") < mean(&result, 0, "io.network"));
    assert_eq!(low.jobs.len(), 1);
    assert!(low.bottleneck.is_some());
}

#[test]
fn phases_and_searches_run() {
    let reduce = run(&format!(
        "{RING}[workload.jobs.sum]\ntraffic = \"all-reduce\"\nmessage = \"4 kB\"\n\
         [stop]\nrule = \"fixed\"\nmessages = 4000\nwarmup_messages = 500\nreplications = 2\n"
    ));
    // 7 nodes, 12 steps of 572 B: each some transactions one after another at least.
    let phase = mean(&reduce, 0, "sum.phase");
    assert!(
        phase > 12.0 * mean(&reduce, 0, "sum.response") * 0.99,
        "{phase}"
    );
    let found = run(&format!(
        "{RING}[workload.jobs.io]\ntraffic = \"io\"\nmessage = \"2 kB\"\narrivals = \"open\"\n\
         [search]\nover = \"workload.load\"\nfrom = \"10 MB/s\"\nto = \"400 MB/s\"\nresolution = 0.2\n\
         [stop]\nrule = \"fixed\"\nmessages = 3000\nwarmup_messages = 300\nreplications = 2\n"
    ));
    let search = &found.searches[0];
    let (stable, saturated) = (search.highest_stable, search.lowest_saturated);
    assert!(stable.is_some_and(|load| load >= 10.0), "{search:?}");
    // The server's link takes in 111 MB/s of each of seven; short runs leave some loads undecided.
    let most = 1e3 * 64.0 / 82.0 / 7.0;
    assert!(stable.is_some_and(|load| load < most), "{search:?}");
    assert!(
        saturated.is_some_and(|load| load < 3.0 * most),
        "{search:?}"
    );
    assert_eq!(
        parsed(&format!("{RING}[workload.jobs.io]\ntraffic = \"io\"\n"))
            .loads()
            .unit,
        "MB/s"
    );
}

/// Links are left out on large fabrics, and nothing else is.
#[test]
fn devices_of_large_fabrics_are_listed() {
    let text = "version = 1\nname = \"torus\"\n[machine]\nkind = \"sci\"\nfabric = \"torus\"\n\
        size = \"33x32\"\n[workload.servers]\nplacement = \"clustered\"\ncount = 2\n\
        device = { kind = \"burst-buffer\", capacity = \"1 GB\", absorb = \"100 MB/s\", drain = \"10 MB/s\" }\n\
        [workload.jobs.io]\ntraffic = \"io\"\nload = \"1 MB/s\"\n";
    let found = experiment(text).capacity()[0].clone();
    let names: Vec<&str> = found.parts.iter().map(|part| &*part.name).collect();
    assert_eq!(names, ["device of I/O server 1054"]);
    for start in [
        "What is asked of links is left out in fabrics of more than 1024 nodes.",
        "A burst buffer of 1000000000 B is full after ",
    ] {
        let is_remarked = found.remarks.iter().any(|remark| remark.starts_with(start));
        assert!(is_remarked, "{start}: {:?}", found.remarks);
    }
}

/// What `check` says that a closed loop sends at most is no less than what it gets.
#[test]
fn no_closed_loop_gets_more_than_it_can_send_at_most() {
    let disk = "device = { kind = \"disk\", disk = { seek = \"10 us\", rotation = \"0 s\" } }";
    for (servers, work, job) in [
        ("", "transactions = 1", ""),
        (
            "",
            "transactions = 2\nturnaround = \"1 us\"",
            "outstanding = 2",
        ),
        (
            "",
            "transactions = 1",
            "read_ratio = 1.0\nmessage = \"40 B\"",
        ),
        (disk, "", ""),
        (
            disk,
            "transactions = 3",
            "read_ratio = 0.5\noutstanding = 3",
        ),
    ] {
        let message = match job.contains("message") {
            true => "",
            false => "message = \"1 KiB\"",
        };
        let text = format!(
            "version = 1\nname = \"ring\"\n[machine]\nkind = \"sci\"\nfabric = \"ring\"\nsize = 8\n\
             [workload.servers]\nplacement = \"list\"\nnodes = [0]\n{servers}\n\
             [workload]\n{work}\n[workload.jobs.io]\ntraffic = \"io\"\nnodes = [3]\n{message}\n\
             sizes = \"fixed\"\n{job}\n\
             [stop]\nrule = \"fixed\"\nmessages = 1000\nwarmup = \"none\"\nreplications = 2\n"
        );
        let (most, accepted) = bound_and_accepted(experiment(&text));
        println!("{accepted} of {most} MB/s: {servers} {work} {job}");
        // Three digits are shown, accesses are random, and three messages share one disk.
        assert!(accepted < 1.02 * most, "{accepted} of {most}: {text}");
        assert!(accepted > 0.35 * most, "{accepted} of {most}: {text}");
    }
}
