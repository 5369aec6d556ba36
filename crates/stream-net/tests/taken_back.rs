//! Data in rings of ranks while a sink blocks: it is copied when it blocks a rank, and when its
//! rank has left.

use crate::in_rings::{driver, run};
use crate::rig::ranks::soon;
use crate::rig::sinks::{ADU, KB, LARGE, close, format, rank, right, sink, submit, until};
use isthmus_ring::ring;
use isthmus_stream::checksum::Checksum;
use isthmus_stream::{End, Limits, LinkId};
use isthmus_stream_net::rank::{Pipe, Sender};
use isthmus_stream_net::sink::Action;
use isthmus_stream_net::{Driver, Ends};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Returns a flag and a callback that blocks a sink until the flag is set.
fn gate() -> (Arc<AtomicBool>, impl FnMut(u64) -> Action + Send + 'static) {
    let goes_on = Arc::new(AtomicBool::new(false));
    let go = Arc::clone(&goes_on);
    let before = move |_| {
        while !go.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(1));
        }
        Action::Take
    };
    (goes_on, before)
}

fn turn_for(driver: &mut Driver, ms: u64) {
    let end = Instant::now() + Duration::from_millis(ms);
    while Instant::now() < end {
        let moment = Instant::now() + Duration::from_millis(2);
        driver.turn(Some(moment)).unwrap();
        while driver.poll_event().is_some() {}
    }
}

/// A packet lies in the rings of 40 ranks, and packets of another rank wait behind it.
#[test]
fn a_sink_that_slept_reads_the_data_of_many_ranks() {
    const LINKS: u16 = 40;
    const NARROW: u64 = 40;
    let mut driver = Driver::new(Driver::config()).unwrap();
    let app = driver.add_application(Limits::NONE);
    let (goes_on, before) = gate();
    let (connection, thread) = sink((&mut driver, app), "a", before);
    let links: Vec<u16> = (1..=LINKS).collect();
    let wide = format(u64::from(LINKS) * 8 * KB, &links);
    let narrow = format(ADU, &[50]);
    let first = submit((&mut driver, app), connection, &wide, 1);
    let second = submit((&mut driver, app), connection, &narrow, NARROW);
    let mut ranks: Vec<_> = links
        .iter()
        .map(|link| rank(&mut driver, LinkId(*link), &[(first, wide.clone(), 1)]))
        .collect();
    let of_second = [(second, narrow.clone(), NARROW)];
    ranks.push(rank(&mut driver, LinkId(50), &of_second));
    turn_for(&mut driver, 400);
    let figures = driver.figures();
    assert!(figures.spilled_bytes >= ADU, "{figures:?}");
    goes_on.store(true, Ordering::Relaxed);
    let ends = run(&mut driver, &[first, second]);
    assert_eq!(
        (ends[&first].clone(), ends[&second].clone()),
        (End::Done, End::Done)
    );
    ranks
        .into_iter()
        .for_each(|rank| drop(rank.join().unwrap()));
    let (counts, all) = close(&mut driver, connection, thread);
    let wide = right(first, 1, u64::from(LINKS) * 8 * KB);
    assert!(
        all == [wide, right(second, NARROW, ADU)].concat(),
        "{counts:?}"
    );
}

/// Returns the number of rings of this size that are mapped in this process, by either side.
fn mapped(capacity: u64) -> usize {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let rings = maps.lines().filter(|line| line.contains("isthmus-ring"));
    let bytes = |line: &&str| {
        let (begin, end) = line.split(' ').next().unwrap().split_once('-').unwrap();
        let number = |text| u64::from_str_radix(text, 16).unwrap();
        number(end) - number(begin) == 4096 + capacity
    };
    rings.filter(bytes).count()
}

/// Ranks attach, write a little and leave while the sink blocks: their rings are returned to the
/// system, and their data is in the manager's memory.
#[test]
fn rings_of_ranks_that_left_are_given_back_while_a_sink_stands_still() {
    const RANKS: u64 = 8;
    for capacity in [16 << 20, 32 << 20] {
        let (mut driver, app) = driver();
        let (goes_on, before) = gate();
        let (connection, thread) = sink((&mut driver, app), "a", before);
        let format = format(ADU, &[1]);
        let mut streams = Vec::new();
        for _ in 0..RANKS {
            let stream = submit((&mut driver, app), connection, &format, 1);
            streams.push(stream);
            let (producer, consumer) = ring(capacity).unwrap();
            driver
                .attach(LinkId(1), Ends::rings(Some(consumer), None))
                .unwrap();
            let pipe = Pipe::Producer(producer);
            let mut sender = Sender::new(LinkId(1), pipe).summing(Checksum::Crc32c);
            let data = right(stream, 1, ADU);
            sender
                .send_adu(stream, &format, (0, &data), (0, 0), soon())
                .unwrap();
            turn_for(&mut driver, 5);
            drop(sender);
            until(&mut driver, "the rank leaves", |driver| {
                !driver.is_attached(LinkId(1))
            });
        }
        turn_for(&mut driver, 100);
        assert_eq!(mapped(capacity), 0);
        let figures = driver.figures();
        assert!(figures.memory_bytes > 0, "{figures:?}");
        goes_on.store(true, Ordering::Relaxed);
        let ends = run(&mut driver, &streams);
        assert!(ends.values().all(|end| *end == End::Done), "{ends:?}");
        let (counts, all) = close(&mut driver, connection, thread);
        let right: Vec<_> = streams.iter().flat_map(|id| right(*id, 1, ADU)).collect();
        assert!(all == right, "{counts:?}");
    }
}

/// Sinks block at times, for less than a ring is kept and for more: all data comes once, in order.
#[test]
fn reclaimed_rings_deliver_all_data_once() {
    let (mut left, mut spilled) = (0, 0);
    for seed in 0..12_u64 {
        let (mut driver, app) = driver();
        let mut draw = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut next = move || {
            draw ^= draw << 13;
            draw ^= draw >> 7;
            draw ^= draw << 17;
            draw
        };
        let adu = 40 * KB + next() % (200 * KB);
        let adus = 6 * LARGE / adu;
        let links: &[u16] = [&[1][..], &[1, 2]][seed as usize % 2];
        let (connection, thread) = sink((&mut driver, app), "a", move |_| {
            let ms = if next() % 10 == 0 { next() % 50 } else { 0 };
            std::thread::sleep(Duration::from_millis(ms));
            Action::Take
        });
        let format = format(adu, links);
        let stream = submit((&mut driver, app), connection, &format, adus);
        let of_stream = [(stream, format, adus)];
        let ranks = links.iter().map(|link| LinkId(*link));
        let ranks: Vec<_> = ranks
            .map(|link| rank(&mut driver, link, &of_stream))
            .collect();
        let ends = run(&mut driver, &[stream]);
        assert_eq!(ends[&stream], End::Done, "seed {seed}");
        ranks
            .into_iter()
            .for_each(|rank| drop(rank.join().unwrap()));
        let figures = driver.figures();
        let (counts, all) = close(&mut driver, connection, thread);
        assert!(all == right(stream, adus, adu), "seed {seed}: {counts:?}");
        assert_eq!((counts.adus, counts.corrupted), (adus, 0), "seed {seed}");
        left += figures.left_in_rings;
        spilled += figures.spilled_bytes;
    }
    println!("{left} packets left in rings, {spilled} bytes copied out of them");
    assert!(left >= 30 && spilled >= LARGE, "{left}, {spilled}");
}
