//! I/O servers that work on one request at a time, on the switch of `devices`.

use crate::devices::{ANSWER, NS, THERE, io, responses, run, transfer, work};
use isthmus_kernel::Cycles;
use isthmus_units::{Bytes, Time};
use isthmus_workload::Outstanding;
use isthmus_workload::jobs::spec::{
    Arrivals, Destinations, Io, JobsTraffic, Serve, Sizes, Spread, Targets, Traffic,
};
use isthmus_workload::storage::StorageSpec;

/// A write of 320 B alone, with its acknowledgement, and a read, whose data come 980 ns behind the
/// turnaround (`devices`).
const WRITE: Cycles = THERE + 85 * NS;
const READ: Cycles = ANSWER + (300 + 980) * NS;

fn one(traffic: JobsTraffic) -> JobsTraffic {
    let serve = Serve::One;
    JobsTraffic { serve, ..traffic }
}

/// Three clients at one server: the first is served at once, the others behind it, and from then on
/// each waits for the other two.
#[test]
fn a_server_works_on_one_request_from_its_first_to_its_last_byte() {
    let disk = StorageSpec::Disk(transfer(10));
    let behind_disk = THERE + 32_000 * NS + ANSWER;
    for (storage, reads, alone) in [
        (StorageSpec::None, 0.0, WRITE),
        (StorageSpec::None, 1.0, READ),
        (disk, 0.0, behind_disk),
        (disk, 1.0, READ + 32_000 * NS),
    ] {
        let traffic = work(storage, 3, io(reads), Outstanding::ONE);
        let times = responses(&run(&one(traffic.clone()), 9));
        let turns = [1, 2, 3, 3, 3, 3, 3, 3, 3];
        assert_eq!(
            times,
            turns.map(|turns| turns * alone),
            "{storage:?} {reads}"
        );
        // Where it works on all, the second and third are done sooner.
        let all = responses(&run(&traffic, 9));
        assert!(all[1] < 2 * alone && all[2] < 3 * alone, "{all:?}");
    }
}

/// Each of two clients has two requests before the server, which is never without one: four in all.
#[test]
fn requests_of_one_client_wait_like_those_of_several() {
    let most = Outstanding::AtMost(2);
    let times = responses(&run(&one(work(StorageSpec::None, 2, io(0.0), most)), 40));
    assert_eq!(times[..4], [1, 2, 3, 4].map(|turns| turns * WRITE));
    assert!(
        times[4..].iter().all(|&time| time == 4 * WRITE),
        "{times:?}"
    );
}

/// Reads and writes share the server: whatever the mix, one is complete so long after another.
#[test]
fn reads_and_writes_take_turns() {
    let log = run(
        &one(work(StorageSpec::None, 3, io(0.5), Outstanding::ONE)),
        400,
    );
    // The clients are served in a circle, so that a response is that of the last three requests.
    let of_three = |reads: Cycles| reads * READ + (3 - reads) * WRITE;
    let mut seen = [0; 4];
    for response in &responses(&log)[3..] {
        let reads = (0..4).find(|&reads| of_three(reads) == *response);
        seen[reads.unwrap_or_else(|| panic!("{response}")) as usize] += 1;
    }
    // 397 of a binomial distribution of three: 50, 149, 149, 50 on average.
    assert!(seen.iter().all(|&seen| seen > 25), "{seen:?}");
}

/// Clients that pause, at a server that takes requests of exponential length in order: a closed network
/// of queues in product form, in which only the mean of the pauses counts. By mean value analysis
/// (Reiser and Lavenberg, 1980) an arrival finds what the queue holds on average with one client less.
#[test]
fn pauses_and_turns_are_a_network_of_queues() {
    let (clients, packets) = (3, 100.0);
    // A message of n packets: software, the way of the first, the rest 955.2 ns after one another, and
    // the acknowledgement.
    let service = (WRITE as f64 + (packets - 1.0) * 9_552.0) / 1e4;
    let pause = Time::from_us(3 * service.round() as u64);
    let (mut waiting, mut rate) = (0.0, 0.0);
    for asking in 1..=clients {
        let response = service * (1.0 + waiting);
        rate = f64::from(asking) / (pause.us() + response);
        waiting = rate * response;
    }
    for spread in [Spread::Fixed, Spread::Exponential, Spread::Uniform] {
        let messages = 4_000;
        let traffic = Traffic::Io(Io {
            targets: Targets::Servers(Destinations::Random),
            read_ratio: 0.0,
            sizes: Sizes {
                mean: Bytes::new(320 * packets as u64),
                spread: Spread::Exponential,
            },
            arrivals: Arrivals::Closed {
                think: pause,
                spread,
            },
        });
        let clients = clients as u32;
        let seen = run(
            &one(work(StorageSpec::None, clients, traffic, Outstanding::ONE)),
            messages,
        );
        let responses = responses(&seen);
        let mean = responses.iter().sum::<Cycles>() as f64 / messages as f64 / 1e4;
        // What a client takes for a message on average, by Little's law.
        let found = f64::from(clients) / (mean + pause.us());
        assert!(
            (found / rate - 1.0).abs() < 0.02,
            "{spread:?}: {found} {rate}"
        );
    }
}
