//! Which rings a borrower is shown, and how many it keeps.

use isthmus_ring::{Claim, Consumer, Handles, Loan, Producer, RINGS_SHOWN, ring, send_fds};
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

const CAPACITY: u64 = 4096;
/// As no other test has it: its mappings are counted.
const COUNTED: u64 = 1 << 15;

struct Rank {
    _producer: Producer,
    _consumer: Consumer,
    claim: Claim,
}

fn rank_of(capacity: u64, fill: u8) -> Rank {
    let (mut producer, mut consumer) = ring(capacity).unwrap();
    producer.try_write(&[fill; 10]).unwrap();
    let claim = consumer.claim(10).unwrap().unwrap();
    Rank {
        _producer: producer,
        _consumer: consumer,
        claim,
    }
}

fn rank(fill: u8) -> Rank {
    rank_of(CAPACITY, fill)
}

fn read(from: &mut Consumer, loan: &Loan) -> (bool, [u8; 10]) {
    let mut copy = [0; 10];
    let good = from.read_lent(loan, &mut copy, 64, |_, _| ()).unwrap();
    (good, copy)
}

/// Mappings of rings of so many bytes that can be read only.
fn views(capacity: u64) -> usize {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let views = maps
        .lines()
        .filter(|line| line.contains("isthmus-ring") && line.contains(" r--s "));
    let bytes = |line: &str| {
        let (begin, end) = line.split(' ').next().unwrap().split_once('-').unwrap();
        let number = |text| u64::from_str_radix(text, 16).unwrap();
        number(end) - number(begin)
    };
    views.filter(|line| bytes(line) == 4096 + capacity).count()
}

/// What was lent is taken back again and again while the borrower sleeps.
#[test]
fn a_borrower_that_slept_reads_what_is_lent_still() {
    for count in [1, 33, 60, 64, 100] {
        for rounds in 1..8 {
            let (mut out, mut from) = ring(CAPACITY).unwrap();
            from.borrow(CAPACITY);
            let ranks: Vec<_> = (0..count).map(rank).collect();
            let mut loans = Vec::new();
            for _ in 0..rounds {
                out.revoke();
                loans.clear();
                for (fill, rank) in ranks.iter().enumerate() {
                    loans.extend(out.lend([&rank.claim]).map(|loan| (fill as u8, loan)));
                }
                assert_eq!(loans.len(), ranks.len().min(RINGS_SHOWN.into()));
            }
            for (fill, loan) in loans {
                assert_eq!(
                    read(&mut from, &loan),
                    (true, [fill; 10]),
                    "{count}, {rounds}"
                );
            }
        }
    }
}

/// One rank that stays, others that come and go: all are lent from, and the borrower keeps none of
/// those that left.
#[test]
fn one_rank_that_stays_keeps_no_other_from_being_lent_from() {
    let (mut out, mut from) = ring(CAPACITY).unwrap();
    from.borrow(COUNTED);
    let old = rank_of(COUNTED, 1);
    for number in 0..1000_u32 {
        let fill = number as u8;
        let new = rank_of(COUNTED, fill);
        for (rank, fill) in [(&old, 1), (&new, fill)] {
            let loan = out.lend([&rank.claim]).expect("two rings are there");
            assert_eq!(read(&mut from, &loan), (true, [fill; 10]), "{number}");
        }
        assert!(views(COUNTED) <= 2, "{number}");
    }
    let loan = out.lend([&old.claim]).unwrap();
    assert_eq!(read(&mut from, &loan), (true, [1; 10]));
    assert_eq!(views(COUNTED), 1);
}

/// Many ranks leave at once.
#[test]
fn rings_of_ranks_that_left_are_let_go_of_with_the_next_loan() {
    const CAPACITY: u64 = 1 << 18;
    let (mut out, mut from) = ring(4096).unwrap();
    from.borrow(CAPACITY);
    let ranks: Vec<_> = (0..RINGS_SHOWN).map(|n| rank_of(CAPACITY, n)).collect();
    for rank in &ranks {
        let loan = out.lend([&rank.claim]).unwrap();
        assert!(read(&mut from, &loan).0);
    }
    assert_eq!(views(CAPACITY), usize::from(RINGS_SHOWN));
    let stays = ranks.into_iter().nth(7).unwrap();
    let loan = out.lend([&stays.claim]).unwrap();
    assert_eq!(read(&mut from, &loan), (true, [7; 10]));
    assert_eq!(views(CAPACITY), 1);
}

/// A lender that hands its end over takes back what it lent, and the next is believed no less.
#[test]
fn a_lender_may_be_handed_over() {
    let (mut out, mut from) = ring(CAPACITY).unwrap();
    from.borrow(CAPACITY);
    let [a, b] = [b'a', b'b'].map(rank);
    let before = out.lend([&a.claim]).unwrap();
    assert_eq!(read(&mut from, &before), (true, [b'a'; 10]));
    let mut out = Producer::attach(out.into_handles(), CAPACITY).unwrap();
    assert!(!read(&mut from, &before).0);
    for (rank, fill) in [(&b, b'b'), (&a, b'a'), (&b, b'b')] {
        let loan = out.lend([&rank.claim]).unwrap();
        assert_eq!(read(&mut from, &loan), (true, [fill; 10]));
    }
}

/// The next borrower of an end that was handed over has seen no ring.
#[test]
fn a_borrower_may_be_handed_over() {
    let (mut out, mut from) = ring(CAPACITY).unwrap();
    from.borrow(CAPACITY);
    let [a, b] = [b'a', b'b'].map(rank);
    for rank in [&a, &b] {
        let loan = out.lend([&rank.claim]).unwrap();
        assert!(read(&mut from, &loan).0);
    }
    let mut from = Consumer::attach(from.into_handles(), CAPACITY).unwrap();
    assert!(!out.can_lend() && out.lend([&a.claim]).is_none());
    from.borrow(CAPACITY);
    for (rank, fill) in [(&b, b'b'), (&a, b'a')] {
        let loan = out.lend([&rank.claim]).unwrap();
        assert_eq!(read(&mut from, &loan), (true, [fill; 10]));
    }
}

/// Said again, it says how large rings may be, and forgets none.
#[test]
fn a_borrower_may_say_so_again() {
    let (mut out, mut from) = ring(CAPACITY).unwrap();
    from.borrow(CAPACITY);
    let [small, large] = [rank(b's'), rank_of(2 * CAPACITY, b'l')];
    let loan = out.lend([&small.claim]).unwrap();
    assert_eq!(read(&mut from, &loan), (true, [b's'; 10]));
    from.borrow(2 * CAPACITY);
    assert_eq!(read(&mut from, &loan), (true, [b's'; 10]));
    let loan = out.lend([&large.claim]).unwrap();
    assert_eq!(read(&mut from, &loan), (true, [b'l'; 10]));
}

/// The end of a lender that lies, as its memory and its line.
fn liar(out: Producer) -> (OwnedFd, OwnedFd) {
    out.into_handles().into_descriptors()
}

/// Descriptors to read rings by, as a lender has them.
fn shown(rank: &Rank) -> OwnedFd {
    let (mut out, mut from) = ring(CAPACITY).unwrap();
    from.borrow(CAPACITY);
    out.lend([&rank.claim]).unwrap();
    let (_, line) = from.into_handles().into_descriptors();
    let received = isthmus_ring::recv_fds(&line, &mut [0; 8], 1, soon()).unwrap();
    received.descriptors.into_iter().next().unwrap()
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(10)
}

/// A lender that shows rings without end fills slots, and there are no others.
#[test]
fn a_borrower_bounds_what_it_is_shown_by_itself() {
    const CAPACITY: u64 = 1 << 19;
    let (mut out, mut from) = ring(4096).unwrap();
    from.borrow(CAPACITY);
    let first = rank_of(CAPACITY, 0);
    let mut loan = out.lend([&first.claim]).unwrap();
    let whole = read(&mut from, &loan);
    assert!(whole.0);
    let (memory, line) = liar(out);
    // Handing over has taken it back; a liar says that it has not.
    loan.epoch += 1;
    for number in 0..300_u32 {
        let rank = rank_of(CAPACITY, number as u8);
        let file = shown(&rank);
        let slot = [(number % u32::from(RINGS_SHOWN)) as u8];
        send_fds(&line, &slot, &[file.as_fd()], soon()).unwrap();
        loan.told += 1;
        loan.stretches[0].ring = rustix::fs::fstat(&file).unwrap().st_ino as u32;
        assert_eq!(read(&mut from, &loan), (true, [number as u8; 10]));
        assert!(views(CAPACITY) <= usize::from(RINGS_SHOWN));
    }
    let file = shown(&first);
    send_fds(&line, &[RINGS_SHOWN], &[file.as_fd()], soon()).unwrap();
    loan.told += 1;
    let error = from.read_lent(&loan, &mut [0; 10], 64, |_, _| ());
    let error = error.unwrap_err().to_string();
    assert!(error.contains("more than 64 rings are shown"), "{error}");
    drop(memory);
}

/// A borrower without room for a descriptor asks for bytes from then on.
#[test]
fn a_descriptor_that_is_lost_ends_what_is_lent() {
    let (out, mut from) = ring(CAPACITY).unwrap();
    from.borrow(CAPACITY);
    let [a, b] = [b'a', b'b'].map(rank);
    let (memory, line) = liar(out);
    // Two where one is expected: the system takes the message for too long, as it does where a
    // process may open no more files.
    let [file, again] = [shown(&a), shown(&a)];
    send_fds(&line, &[0], &[file.as_fd(), again.as_fd()], soon()).unwrap();
    let handles = Handles::new(memory, line);
    let mut out = Producer::attach(handles, CAPACITY).unwrap();
    let known = out.lend([&b.claim]).unwrap();
    let mut lost = known.clone();
    lost.stretches[0].ring = rustix::fs::fstat(&file).unwrap().st_ino as u32;
    assert!(out.can_lend());
    assert!(!read(&mut from, &lost).0);
    assert!(!out.can_lend() && out.lend([&b.claim]).is_none());
    // Also what it could read: what it finds good comes first.
    assert!(!read(&mut from, &known).0);
    from.borrow(CAPACITY);
    let loan = out.lend([&a.claim]).unwrap();
    assert_eq!(read(&mut from, &loan), (true, [b'a'; 10]));
}

/// What wakes, what is shown and what is withdrawn come through one socket, in order.
#[test]
fn what_wakes_and_what_is_shown_are_told_apart() {
    let (out, mut from) = ring(CAPACITY).unwrap();
    from.borrow(CAPACITY);
    let ranks = [b'a', b'b', b'c'].map(rank);
    let files = ranks.each_ref().map(shown);
    let (_memory, line) = liar(out);
    let bytes = |bytes: &[u8]| send_fds(&line, bytes, &[], soon()).unwrap();
    let show = |slot, at: usize| send_fds(&line, &[slot], &[files[at].as_fd()], soon()).unwrap();
    bytes(&[1; 63]);
    show(1, 0);
    bytes(&[1, 1]);
    show(5, 1);
    bytes(&[0x81, 1]);
    show(1, 2);
    bytes(&[1, 0x80 | 5]);
    let mut loan = |at: usize| {
        let ring = rustix::fs::fstat(&files[at]).unwrap().st_ino as u32;
        let stretch = isthmus_ring::Stretch {
            ring,
            position: 0,
            len: 10,
        };
        let loan = Loan {
            epoch: 1,
            told: 7,
            stretches: vec![stretch],
        };
        let mut copy = [0; 10];
        let good = from.read_lent(&loan, &mut copy, 64, |_, _| ());
        good.map(|good| (good, copy))
            .map_err(|error| error.to_string())
    };
    assert_eq!(loan(2), Ok((true, [b'c'; 10])));
    for at in [0, 1] {
        assert!(loan(at).unwrap_err().contains("not shown"));
    }
}
