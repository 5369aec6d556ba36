//! Are the verdicts right as often as stated, and does the knee search find rho = 1?
//!
//! The growth of an M/G/1 backlog per offered demand is max(0, 1 - 1/rho): below the threshold of
//! 0.005 for rho < 1.005. At an error rate of alpha the number of wrong verdicts among n is at
//! most Binomial(n, alpha); a test passes if the count does not exceed what that variable exceeds
//! with probability 0.001.

mod queue;

use isthmus_statistics::{Backlog, Judgement, KneeSearch, SaturationTest, Verdict};
use queue::{Queue, Service, WatchedQueue, binomial_band};

const TAIL: f64 = 0.001;

/// Judges ever longer runs until the verdict falls or the looks are used up; returns the last
/// judgement and the customers per replication spent.
fn decide(
    test: SaturationTest,
    service: Service,
    rho: f64,
    replications: u64,
    first_length: u64,
    seed: u64,
) -> (Judgement, u64) {
    let mut queues: Vec<WatchedQueue> = (0..replications)
        .map(|i| WatchedQueue::new(Queue::new(service, rho, seed * 64 + i)))
        .collect();
    let mut length = first_length;
    for look in 1.. {
        let backlogs: Vec<Backlog> = queues
            .iter_mut()
            .map(|q| q.run_to(length).clone())
            .collect();
        let judgement = test.judge(&backlogs).unwrap();
        if judgement.verdict != Verdict::Undecided || look == test.looks {
            return (judgement, length);
        }
        length = (length as f64 * judgement.lengthen) as u64;
    }
    unreachable!("the last look returns")
}

struct Case {
    service: Service,
    rho: f64,
    replications: u64,
    runs: u32,
    right: Verdict,
    /// Share of the runs that must be decided at all.
    decided: f64,
}

fn verdicts(cases: &[Case]) {
    let test = SaturationTest {
        looks: 6,
        ..SaturationTest::default()
    };
    for (index, case) in cases.iter().enumerate() {
        let (mut right, mut wrong, mut spent) = (0, 0, 0);
        for run in 0..case.runs {
            let seed = 10_000 * (index as u64 + 1) + u64::from(run);
            let (judgement, length) =
                decide(test, case.service, case.rho, case.replications, 2000, seed);
            spent += length / u64::from(case.runs);
            match judgement.verdict {
                Verdict::Undecided => {}
                verdict if verdict == case.right => right += 1,
                _ => wrong += 1,
            }
        }
        println!(
            "{:?} at {}, {} replications: {right} of {} {:?}, {wrong} wrong, {spent} demands each",
            case.service, case.rho, case.replications, case.runs, case.right
        );
        let allowed = *binomial_band(case.runs, test.alpha, TAIL).end();
        assert!(wrong <= allowed, "{wrong} wrong, {allowed} allowed");
        assert!(
            f64::from(right) >= case.decided * f64::from(case.runs),
            "{right} decided"
        );
    }
}

fn case(service: Service, rho: f64, replications: u64, runs: u32, decided: f64) -> Case {
    let right = if rho < 1.0 {
        Verdict::Stable
    } else {
        Verdict::Saturated
    };
    Case {
        service,
        rho,
        replications,
        runs,
        right,
        decided,
    }
}

#[test]
fn five_replications() {
    verdicts(&[
        case(Service::Exponential, 0.7, 5, 200, 0.99),
        case(Service::Exponential, 0.9, 5, 200, 0.95),
        case(Service::Exponential, 0.98, 5, 60, 0.9),
        case(Service::Exponential, 1.02, 5, 60, 0.9),
        case(Service::Exponential, 1.1, 5, 200, 0.95),
    ]);
}

#[test]
fn ten_replications_and_one() {
    verdicts(&[
        case(Service::Deterministic, 0.9, 10, 100, 0.99),
        case(Service::Deterministic, 1.1, 10, 100, 0.99),
        case(Service::Hyperexponential(4.0), 0.9, 10, 60, 0.9),
        case(Service::Exponential, 0.9, 1, 100, 0.9),
        case(Service::Exponential, 1.1, 1, 100, 0.9),
    ]);
}

/// Runs that begin as short as the I/O demands of a first look: 750 customers, a sample after every
/// eighth. A queue that is little used is known to be stable at once, since the trend rests on all
/// samples; and one above the threshold, which looks like a steady one for a while, is called stable
/// no more often than stated.
#[test]
fn few_demands_are_enough_where_little_waits() {
    let test = SaturationTest {
        looks: 8,
        ..SaturationTest::default()
    };
    for (rho, runs, right, at_once) in [
        (0.1, 200u32, Verdict::Stable, 0.95),
        (0.3, 200, Verdict::Stable, 0.8),
        (1.03, 60, Verdict::Saturated, 0.0),
        (1.1, 100, Verdict::Saturated, 0.0),
    ] {
        let (mut wrong, mut first) = (0, 0);
        for run in 0..runs {
            let seed = 5_000_000 + (rho * 1e6) as u64 + 10 * u64::from(run);
            let mut queues: Vec<WatchedQueue> = (0..10)
                .map(|i| {
                    let queue = Queue::new(Service::Exponential, rho, seed + i);
                    WatchedQueue::new(queue).sampled_every(8)
                })
                .collect();
            let mut length = 750;
            for look in 0..test.looks {
                let backlogs: Vec<Backlog> = queues
                    .iter_mut()
                    .map(|q| q.run_to(length).clone())
                    .collect();
                let judgement = test.judge(&backlogs).unwrap();
                if judgement.verdict != Verdict::Undecided {
                    wrong += u32::from(judgement.verdict != right);
                    first += u32::from(look == 0);
                    break;
                }
                length = (length as f64 * judgement.lengthen) as u64;
            }
        }
        println!("M/M/1 at {rho}: {wrong} of {runs} wrong, {first} known at the first look");
        let allowed = *binomial_band(runs, test.alpha, TAIL).end();
        assert!(wrong <= allowed, "{wrong} wrong, {allowed} allowed");
        assert!(
            f64::from(first) >= at_once * f64::from(runs),
            "{first} of {runs}"
        );
    }
}

/// Exactly at the knee the backlog rises like a square root for ever: not saturated, however
/// many replications average out the noise.
#[test]
fn a_transient_is_not_saturation() {
    let test = SaturationTest {
        looks: 1,
        ..SaturationTest::default()
    };
    let (runs, mut wrong, mut growing) = (60, 0, 0);
    for run in 0..runs {
        let (judgement, _) = decide(test, Service::Exponential, 1.0, 60, 2000, 900_000 + run);
        wrong += u32::from(judgement.verdict == Verdict::Saturated);
        growing += u32::from(judgement.growth.low > test.threshold);
    }
    println!("M/M/1 at 1.0: {growing} of {runs} seem to grow, {wrong} called saturated");
    assert!(growing > 20, "the growth alone would mislead");
    assert!(wrong <= *binomial_band(runs as u32, test.alpha, TAIL).end());
}

/// The search brackets rho = 1 (1.005 by the threshold) to 0.04.
#[test]
fn the_knee_of_a_queue() {
    let alpha = 0.05;
    let (runs, mut wrong, mut tests, mut undecided) = (20, 0, 0, 0);
    for run in 0..runs {
        let mut search = KneeSearch::new(0.5, 1.5, 0.04, alpha).unwrap();
        let test = search.test(6);
        let mut tested = 0;
        while let Some(load) = search.next() {
            let seed = 2_000_000 + run * 100 + tested;
            tested += 1;
            let (judgement, _) = decide(test, Service::Exponential, load, 5, 2000, seed);
            search
                .report(load, judgement.verdict, judgement.growth.mean)
                .unwrap();
        }
        let found = search.bracket();
        tests += tested;
        undecided += u32::from(found.undecided.is_some());
        let (stable, saturated) = (found.stable.unwrap(), found.saturated.unwrap());
        wrong += u32::from(stable > 1.005 || saturated < 1.0);
        if found.undecided.is_none() {
            assert!(found.width().unwrap() <= 0.04 * (1.0 + 1e-9));
        }
    }
    println!(
        "knee: {wrong} of {runs} brackets wrong, {:.1} tests each, {undecided} with an undecided zone",
        tests as f64 / runs as f64
    );
    assert!(wrong <= *binomial_band(runs as u32, alpha, TAIL).end());
}
