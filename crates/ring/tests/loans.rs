//! What is lent, beside a model that knows each byte; and what neither side may do.

use isthmus_ring::{Claim, Consumer, Error, Loan, Producer, Stretch, recv_fds, ring};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use rustix::fs::OFlags;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

const CAPACITY: u64 = 4096;
const RINGS: usize = 3;

/// Byte `n` of all that is ever written to a ring.
fn byte(ring: usize, n: u64) -> u8 {
    ((n + 7 * ring as u64) as u32)
        .wrapping_mul(2_654_435_761)
        .to_be_bytes()[0]
}

fn bytes(ring: usize, from: u64, len: u64) -> Vec<u8> {
    (from..from + len).map(|n| byte(ring, n)).collect()
}

#[derive(Debug, Clone)]
enum Call {
    Write(usize, usize),
    Claim(usize, usize),
    /// Lends the oldest so many claims together.
    Lend(usize),
    /// Reads the oldest loan that is not read, in such steps.
    Read(usize),
    /// The lender hears that the oldest loan that was read is.
    Hear,
    Revoke,
    /// A rank leaves, and another comes.
    Anew(usize),
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let call = prop_oneof![
        10 => (0..RINGS, 1..2500_usize).prop_map(|(ring, len)| Call::Write(ring, len)),
        8 => (0..RINGS, 1..900_usize).prop_map(|(ring, len)| Call::Claim(ring, len)),
        6 => (1..4_usize).prop_map(Call::Lend),
        6 => (1..700_usize).prop_map(Call::Read),
        6 => Just(Call::Hear),
        2 => Just(Call::Revoke),
        1 => (0..RINGS).prop_map(Call::Anew),
    ];
    prop::collection::vec(call, 1..150)
}

#[derive(Debug, Default)]
struct Seen {
    good: usize,
    revoked: usize,
    of_several: usize,
    wrapped: usize,
    after_the_rank: usize,
    anew: usize,
}

struct Rank {
    producer: Producer,
    consumer: Consumer,
    number: usize,
    written: u64,
    read: u64,
}

impl Rank {
    fn new(number: usize) -> Self {
        let (producer, consumer) = ring(CAPACITY).unwrap();
        Self {
            producer,
            consumer,
            number,
            written: 0,
            read: 0,
        }
    }
}

struct Out {
    loan: Loan,
    claims: Vec<Claim>,
    right: Vec<u8>,
    /// Whether it was taken back.
    back: bool,
    /// Of ranks that have left since.
    orphaned: bool,
    ranks: Vec<usize>,
}

fn drive(calls: &[Call], seen: &mut Seen) {
    let (mut out, mut from) = ring(CAPACITY).unwrap();
    assert!(!out.can_lend());
    from.borrow(CAPACITY);
    assert!(out.can_lend());
    let mut next_number = RINGS;
    let mut ranks: Vec<_> = (0..RINGS).map(Rank::new).collect();
    let mut claims: VecDeque<(usize, Claim, Vec<u8>)> = VecDeque::new();
    let (mut loans, mut read) = (VecDeque::<Out>::new(), VecDeque::<Out>::new());
    for call in calls {
        match call {
            Call::Write(at, len) => {
                let rank = &mut ranks[*at];
                let data = bytes(rank.number, rank.written, *len as u64);
                rank.written += rank.producer.try_write(&data).unwrap() as u64;
            }
            Call::Claim(at, len) => {
                let rank = &mut ranks[*at];
                let claim = match rank.consumer.claim(*len) {
                    Ok(Some(claim)) => claim,
                    Ok(None) | Err(Error::TooMuch { .. }) => continue,
                    Err(error) => panic!("{error}"),
                };
                let right = bytes(rank.number, rank.read, *len as u64);
                seen.wrapped += usize::from(rank.read % CAPACITY + *len as u64 > CAPACITY);
                rank.read += *len as u64;
                claims.push_back((*at, claim, right));
            }
            Call::Lend(count) => {
                let some: Vec<_> = claims.drain(..claims.len().min(*count)).collect();
                if some.is_empty() {
                    continue;
                }
                let Some(loan) = out.lend(some.iter().map(|(_, claim, _)| claim)) else {
                    panic!("few rings are shown");
                };
                let ranks: Vec<_> = some.iter().map(|(at, ..)| *at).collect();
                seen.of_several += usize::from(ranks.iter().any(|at| *at != ranks[0]));
                let right = some.iter().flat_map(|(.., right)| right.clone()).collect();
                let claims = some.into_iter().map(|(_, claim, _)| claim).collect();
                loans.push_back(Out {
                    loan,
                    claims,
                    right,
                    back: false,
                    orphaned: false,
                    ranks,
                });
            }
            Call::Read(step) => {
                let Some(one) = loans.pop_front() else {
                    continue;
                };
                let mut copy = vec![0; one.right.len()];
                let mut pieces = Vec::new();
                let seeing = |at: usize, piece: &mut [u8]| {
                    assert_eq!(at, pieces.len());
                    assert!(piece.len() <= *step);
                    pieces.extend_from_slice(piece);
                };
                let good = from.read_lent(&one.loan, &mut copy, *step, seeing).unwrap();
                assert_eq!(good, !one.back);
                if good {
                    assert!(copy == one.right && pieces == one.right);
                    seen.good += 1;
                    seen.after_the_rank += usize::from(one.orphaned);
                    read.push_back(one);
                } else {
                    seen.revoked += 1;
                }
            }
            Call::Hear => drop(read.pop_front()),
            Call::Revoke => {
                out.revoke();
                for one in &mut loans {
                    one.back = true;
                    one.claims.clear();
                }
            }
            Call::Anew(at) => {
                ranks[*at] = Rank::new(next_number);
                next_number += 1;
                seen.anew += 1;
                for one in &mut loans {
                    one.orphaned |= one.ranks.contains(at);
                }
            }
        }
    }
}

#[test]
fn what_is_lent_is_what_a_model_says() {
    let seen = RefCell::new(Seen::default());
    let config = Config {
        cases: 1200,
        failure_persistence: None,
        ..Default::default()
    };
    let outcome = TestRunner::new(config).run(&calls(), |calls| {
        drive(&calls, &mut seen.borrow_mut());
        Ok(())
    });
    outcome.unwrap();
    let seen = seen.into_inner();
    println!("{seen:?}");
    for count in [
        seen.good,
        seen.revoked,
        seen.of_several,
        seen.wrapped,
        seen.after_the_rank,
        seen.anew,
    ] {
        assert!(count >= 50, "{seen:?}");
    }
}

/// What a lender does with a loan.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Then {
    /// Waits until it is read.
    Waits,
    /// Takes it back at any moment.
    Revokes,
    /// Takes it back while it is copied, for sure.
    RevokesInTheMidst,
}

/// A rank that writes all the time over what it gets back, a lender that takes back what it lent at
/// any moment, and a borrower that copies meanwhile: what it finds good is right.
#[test]
fn a_copy_that_is_good_is_right_whatever_happens_meanwhile() {
    const LARGE: u64 = 1 << 16;
    const TURNS: u32 = 3000;
    let (mut producer, mut consumer) = ring(LARGE).unwrap();
    let (mut out, mut from) = ring(CAPACITY).unwrap();
    from.borrow(LARGE);
    let over = AtomicBool::new(false);
    let (lend, lent) = mpsc::channel::<(Loan, u64, Then)>();
    let (tell, heard) = mpsc::channel::<()>();
    let (go, goes_on) = mpsc::channel::<()>();
    let (out, consumer, stop) = (&mut out, &mut consumer, &over);
    let [good, by_chance, for_sure] = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut written = 0;
            let begun = Instant::now();
            // Nobody may be left to say that it is over.
            while !over.load(Ordering::Relaxed) && begun.elapsed() < Duration::from_secs(60) {
                let data = bytes(0, written, 1024);
                let wrote = producer.try_write(&data).unwrap();
                written += wrote as u64;
                if wrote == 0 {
                    std::thread::yield_now();
                }
            }
        });
        scope.spawn(move || {
            let (mut position, mut draw) = (0, 1_u32);
            for _ in 0..TURNS {
                let claim = loop {
                    match consumer.claim(LARGE as usize / 4).unwrap() {
                        Some(claim) => break claim,
                        None => std::thread::yield_now(),
                    }
                };
                draw = draw.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
                let then = match draw >> 29 {
                    0 => Then::RevokesInTheMidst,
                    1..4 => Then::Revokes,
                    _ => Then::Waits,
                };
                let loan = out.lend([&claim]).unwrap();
                lend.send((loan, position, then)).unwrap();
                position += claim.len() as u64;
                match then {
                    Then::Revokes => (0..draw >> 17 & 0xfff).for_each(|_| std::hint::spin_loop()),
                    // That it is read, or that some of it is.
                    _ => heard.recv().unwrap(),
                }
                if then != Then::Waits {
                    out.revoke();
                }
                drop(claim);
                let _ = consumer.held();
                if then == Then::RevokesInTheMidst {
                    go.send(()).unwrap();
                }
            }
            stop.store(true, Ordering::Relaxed);
        });
        let (mut good, mut by_chance, mut for_sure) = (0, 0, 0);
        let mut copy = vec![0; LARGE as usize / 4];
        for (loan, position, then) in lent {
            let mut begun = false;
            let seen = |_: usize, _: &mut [u8]| {
                if !std::mem::replace(&mut begun, true) && then == Then::RevokesInTheMidst {
                    tell.send(()).unwrap();
                    goes_on.recv().unwrap();
                }
            };
            if from.read_lent(&loan, &mut copy, 512, seen).unwrap() {
                let right = bytes(0, position, copy.len() as u64);
                assert!(copy == right, "byte {position}");
                assert_ne!(then, Then::RevokesInTheMidst);
                good += 1;
            } else {
                assert_ne!(then, Then::Waits);
                by_chance += u32::from(then == Then::Revokes);
                for_sure += u32::from(then == Then::RevokesInTheMidst && begun);
            }
            if then == Then::Waits {
                tell.send(()).unwrap();
            }
        }
        [good, by_chance, for_sure]
    });
    println!("{good} good, {by_chance} taken back, {for_sure} while they were copied");
    assert!(
        good >= TURNS / 3 && for_sure >= TURNS / 10,
        "{good}, {for_sure}"
    );
}

/// A lender that has closed its end lends nothing any more.
#[test]
fn a_lender_that_closes_takes_all_back() {
    let (mut producer, mut consumer) = ring(CAPACITY).unwrap();
    let (mut out, mut from) = ring(CAPACITY).unwrap();
    from.borrow(CAPACITY);
    producer.try_write(&bytes(0, 0, 100)).unwrap();
    let claim = consumer.claim(100).unwrap().unwrap();
    let loan = out.lend([&claim]).unwrap();
    let mut copy = [0; 100];
    assert!(from.read_lent(&loan, &mut copy, 64, |_, _| ()).unwrap());
    out.close();
    assert!(!from.read_lent(&loan, &mut copy, 64, |_, _| ()).unwrap());
}

/// More ranks than a borrower has rings at a time come and go: they are shown in turn.
#[test]
fn ranks_that_come_and_go_are_all_lent_from() {
    let (mut out, mut from) = ring(CAPACITY).unwrap();
    from.borrow(CAPACITY);
    let mut copy = [0; 10];
    for number in 0..200 {
        let (mut producer, mut consumer) = ring(CAPACITY).unwrap();
        producer.try_write(&bytes(number, 0, 10)).unwrap();
        let claim = consumer.claim(10).unwrap().unwrap();
        let loan = out.lend([&claim]).expect("those of before are gone");
        assert!(from.read_lent(&loan, &mut copy, 64, |_, _| ()).unwrap());
        assert_eq!(copy[..], bytes(number, 0, 10));
    }
    // With all of them there it is refused, until what is lent is taken back.
    let mut all = Vec::new();
    for number in 0..70 {
        let (mut producer, mut consumer) = ring(CAPACITY).unwrap();
        producer.try_write(&bytes(number, 0, 10)).unwrap();
        let claim = consumer.claim(10).unwrap().unwrap();
        let lent = out.lend([&claim]).is_some();
        assert_eq!(lent, number < 64, "{number}");
        all.push((producer, consumer, claim));
    }
    assert!(out.lend([&all[69].2]).is_none());
    out.revoke();
    let loan = out.lend([&all[69].2]).unwrap();
    assert!(from.read_lent(&loan, &mut copy, 64, |_, _| ()).unwrap());
    assert_eq!(copy[..], bytes(69, 0, 10));
}

/// The descriptor that a borrower is given is to read by, and writing is refused.
#[test]
fn a_borrower_writes_nothing() {
    let (mut producer, mut consumer) = ring(CAPACITY).unwrap();
    let (mut out, mut from) = ring(CAPACITY).unwrap();
    from.borrow(CAPACITY);
    producer.try_write(&bytes(0, 0, 10)).unwrap();
    let claim = consumer.claim(10).unwrap().unwrap();
    out.lend([&claim]).unwrap();
    let (_, line) = from.into_handles().into_descriptors();
    let soon = Instant::now() + Duration::from_secs(10);
    let came = recv_fds(&line, &mut [0; 8], 1, soon).unwrap().descriptors;
    let [file] = &came[..] else {
        panic!("{came:?}");
    };
    let flags = rustix::fs::fcntl_getfl(file).unwrap();
    assert_eq!(flags & OFlags::RWMODE, OFlags::RDONLY);
    assert!(rustix::io::write(file, b"x").is_err());
    // Who does not own the ring opens it no other way.
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    assert_eq!(rustix::fs::stat(path).unwrap().st_mode & 0o777, 0o600);
}

/// What a lender tells may be anything.
#[test]
fn loans_that_are_none_are_refused() {
    let (mut out, mut from) = ring(CAPACITY).unwrap();
    let one = |ring, position, len| Loan {
        epoch: 0,
        told: 0,
        stretches: vec![Stretch {
            ring,
            position,
            len,
        }],
    };
    let mut copy = [0; 10];
    let mut read = |from: &mut Consumer, loan: &Loan| {
        let error = from.read_lent(loan, &mut copy, 64, |_, _| ()).unwrap_err();
        error.to_string()
    };
    assert!(read(&mut from, &one(0, 0, 10)).contains("nothing was asked for"));
    from.borrow(CAPACITY);
    assert!(read(&mut from, &one(0, 0, 10)).contains("not shown"));
    assert!(read(&mut from, &one(0, 0, 11)).contains("other bytes"));
    let (mut producer, mut consumer) = ring(CAPACITY).unwrap();
    producer.try_write(&bytes(0, 0, 20)).unwrap();
    let claim = consumer.claim(10).unwrap().unwrap();
    let loan = out.lend([&claim]).unwrap();
    assert!(from.read_lent(&loan, &mut [0; 10], 64, |_, _| ()).unwrap());
    let other = one(loan.stretches[0].ring.wrapping_add(1), 0, 10);
    assert!(read(&mut from, &other).contains("not shown"));
    // A ring that is larger than what may be mapped here.
    let (mut producer, mut consumer) = ring(2 * CAPACITY).unwrap();
    producer.try_write(&bytes(0, 0, 20)).unwrap();
    let claim = consumer.claim(10).unwrap().unwrap();
    let large = out.lend([&claim]).unwrap();
    assert!(read(&mut from, &large).contains("more than the 4096 wanted"));
}

/// Positions are anything: they lie in the ring.
#[test]
fn any_position_lies_in_its_ring() {
    let (mut out, mut from) = ring(CAPACITY).unwrap();
    from.borrow(CAPACITY);
    let (mut producer, mut consumer) = ring(CAPACITY).unwrap();
    let data = bytes(0, 0, CAPACITY);
    producer.try_write(&data).unwrap();
    let claim = consumer.claim(10).unwrap().unwrap();
    let mut loan = out.lend([&claim]).unwrap();
    for position in [0, 5000, u64::MAX - 3, 1 << 63] {
        loan.stretches[0].position = position;
        loan.stretches[0].len = 9000;
        let mut copy = vec![0; 9000];
        assert!(from.read_lent(&loan, &mut copy, 64, |_, _| ()).unwrap());
        let from = position % CAPACITY;
        let right = (0..9000).map(|n| data[((from + n) % CAPACITY) as usize]);
        assert!(right.eq(copy), "position {position}");
    }
}
