//! Loans that are taken back many times, rings of ranks that have left, and what a sink makes of
//! packets that come again.

use crate::in_rings::{driver, run};
use crate::lent::{ADU, KB, OUT, WINDOW, close, format, open, rank, right, sink, submit, until};
use crate::rig::ranks::{LARGE, soon};
use isthmus_ring::{Claim, Consumer, Producer, ring};
use isthmus_stream::checksum::{Checksum, crc32c};
use isthmus_stream::wire::{Header, Kind};
use isthmus_stream::{End, Limits, LinkId};
use isthmus_stream_net::rank::{Pipe, Sender};
use isthmus_stream_net::sink::{Action, Counts, Rings, Sink};
use isthmus_stream_net::{Driver, Ends, loan};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What keeps a sink asleep until it is told to go on.
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

/// More links than half of the rings that may be shown, and a sink that sleeps while what it was
/// lent is taken back and lent anew.
#[test]
fn a_sink_that_slept_reads_what_many_ranks_lend() {
    const LINKS: u16 = 40;
    const NARROW: u64 = 40;
    let mut driver = Driver::new(Driver::config()).unwrap();
    let app = driver.add_application(Limits::NONE);
    let (goes_on, before) = gate();
    let (connection, thread) = sink((&mut driver, app), "a", true, before);
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
    assert!(figures.revoked >= 4, "{figures:?}");
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

/// Rings of so many bytes that are mapped in this process, by either side.
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

/// Ranks come, write a little and leave, while the sink stands still: their rings go back to the
/// system, and what was in them is in the manager's memory.
#[test]
fn rings_of_ranks_that_left_are_given_back_while_a_sink_stands_still() {
    const RANKS: u64 = 8;
    for (borrows, capacity) in [(false, 16 << 20), (true, 32 << 20)] {
        let (mut driver, app) = driver();
        let (goes_on, before) = gate();
        let (connection, thread) = sink((&mut driver, app), "a", borrows, before);
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
        // None of the driver's. The sink lets go of what it has mapped with the next loan.
        let most = usize::from(borrows);
        assert!(mapped(capacity) <= most, "{}", mapped(capacity));
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

/// A sender of packets that are written by hand: its ends, what it lends from, and a sink's.
struct Sending {
    out: Producer,
    _told: Consumer,
    lent: Consumer,
    rank: Producer,
    rings: Rings,
}

fn sending() -> Sending {
    let ((out, from), (to, told)) = (ring(1 << 20).unwrap(), ring(1 << 16).unwrap());
    let patience = Duration::from_secs(10);
    let rings = Rings { from, to, patience }.borrowing(LARGE);
    let (rank, lent) = ring(LARGE).unwrap();
    Sending {
        out,
        _told: told,
        lent,
        rank,
        rings,
    }
}

impl Sending {
    fn claim(&mut self, data: &[u8]) -> Claim {
        self.rank.write_all(data, soon()).unwrap();
        self.lent.claim(data.len()).unwrap().unwrap()
    }

    fn lend(&mut self, header: &Header, claim: &Claim) {
        let loan = self.out.lend([claim]).unwrap();
        self.out.write_all(&loan::encode(&loan), soon()).unwrap();
        self.out.write_all(&header.encode(), soon()).unwrap();
    }

    fn send(&mut self, header: &Header, data: &[u8]) {
        self.out.write_all(&header.encode(), soon()).unwrap();
        self.out.write_all(data, soon()).unwrap();
    }
}

fn header(sequence: u64, adu: u64, data: &[u8]) -> Header {
    let mut header = Header::new(Kind::Data, 0);
    (header.bytes, header.adu_bytes) = (data.len() as u32, data.len() as u64);
    (header.sequence, header.adu, header.sum) = (sequence, adu, crc32c(data));
    header
}

/// Packets that were all taken back at once are asked for once each, and their answers kept.
#[test]
fn what_is_done_with_a_packet_is_asked_once() {
    const PACKETS: u64 = 5;
    let mut sending = sending();
    let data = [7; 100];
    let claims: Vec<_> = (0..PACKETS).map(|_| sending.claim(&data)).collect();
    for (n, claim) in (0..).zip(&claims) {
        sending.lend(&header(n, n, &data), claim);
    }
    sending.out.revoke();
    for n in (0..PACKETS).chain([2]) {
        sending.send(&header(n, n, &data), &data);
    }
    let Sending { out, mut rings, .. } = sending;
    out.close();
    let mut asked = Vec::new();
    let before = |n| {
        asked.push(n);
        if n == 2 {
            Action::Flip(3)
        } else {
            Action::Take
        }
    };
    let sink = Sink {
        repair: true,
        ..Sink::new(WINDOW)
    };
    let counts = sink.serve(&mut rings, before, |_, _| ()).unwrap();
    // The last is one that comes again as it was corrupted: that is asked for.
    assert_eq!(asked, [0, 1, 2, 3, 4, 5]);
    let expected = (PACKETS, PACKETS, 1);
    assert_eq!((counts.revoked, counts.packets, counts.corrupted), expected);
}

/// A sender that takes back for ever is told, and not remembered for ever.
#[test]
fn a_sender_that_takes_back_without_end_is_refused() {
    let mut sending = sending();
    let data = [7; 100];
    let claim = sending.claim(&data);
    for n in 0..50 {
        sending.lend(&header(n, n, &data), &claim);
    }
    sending.out.revoke();
    let window = 40 * Header::BYTES as u64;
    let told = Sink::new(window).serve(&mut sending.rings, |_| Action::Take, |_, _| ());
    let told = told.unwrap_err().to_string();
    assert!(
        told.contains("to come again than there is room for"),
        "{told}"
    );
}

/// What was lent is confirmed every 128 KiB, whatever was sent between.
#[test]
fn only_what_was_lent_counts_for_what_is_confirmed_of_it() {
    const ADU_BYTES: u64 = 1 << 20;
    // What is sent, and the bytes of that which are lent.
    let confirmed = |packets: &[(usize, bool)]| {
        let mut sending = sending();
        let (mut offset, mut claims) = (0, Vec::new());
        for (n, (len, lent)) in (0..).zip(packets) {
            let data = vec![n as u8; *len];
            let mut header = header(n, 0, &data);
            (header.offset, header.adu_bytes) = (offset, ADU_BYTES);
            offset += *len as u64;
            if *lent {
                let claim = sending.claim(&data);
                sending.lend(&header, &claim);
                claims.push(claim);
            } else {
                sending.send(&header, &data);
            }
        }
        // Where nothing is to be read, what was taken is confirmed: it is not closed.
        let Sending {
            out,
            mut _told,
            mut rings,
            rank: _rank,
            lent: _lent,
        } = sending;
        rings.patience = Duration::from_millis(50);
        let served: Result<Counts, _> =
            Sink::new(WINDOW).serve(&mut rings, |_| Action::Take, |_, _| ());
        assert!(served.is_err(), "{served:?}");
        drop((out, claims));
        let there = _told.available().unwrap().unwrap() as usize;
        let mut bytes = vec![0; there];
        _told.read_exact(&mut bytes, soon()).unwrap();
        let heads = bytes.as_chunks::<{ Header::BYTES }>().0;
        let heads = heads.iter().map(|head| Header::decode(head).unwrap());
        heads.map(|head| head.delivered).collect::<Vec<_>>()
    };
    let (small, large) = (1 << 10, 100 << 10);
    // Bytes that were sent are no loans.
    assert_eq!(
        confirmed(&[
            (large, false),
            (large, false),
            (small, true),
            (small, false)
        ]),
        [0, 4]
    );
    assert_eq!(
        confirmed(&[(large, true), (small, false), (large, true), (small, false)]),
        [0, 3, 4]
    );
}

/// A sink that has no room for a descriptor is sent the bytes from then on, and misses nothing.
#[test]
fn a_sink_without_descriptors_is_sent_the_bytes() {
    let (mut driver, app) = driver();
    let ((out, from), (to, into)) = (ring(OUT).unwrap(), ring(1 << 16).unwrap());
    let patience = Duration::from_secs(60);
    let rings = Rings { from, to, patience }.borrowing(LARGE);
    // Two descriptors where one is expected: the system takes that for too long, as it does where
    // a process may open no more files. What it was for is not shown again.
    let (memory, line) = out.into_handles().into_descriptors();
    let null = std::fs::File::open("/dev/null").unwrap();
    let two = [&null, &null].map(std::os::fd::AsFd::as_fd);
    isthmus_ring::send_fds(&line, &[0], &two, soon()).unwrap();
    let out = Producer::attach(isthmus_ring::Handles::new(memory, line), OUT).unwrap();
    driver.lend_rings("a", out, into);
    let connection = open(&mut driver, app, "a");
    let mut lost = Losing(rings);
    let thread = std::thread::spawn(move || {
        let mut all = Vec::new();
        let taken = |_: &_, data: &[u8]| all.extend_from_slice(data);
        let counts = Sink::new(WINDOW).serve(&mut lost, |_| Action::Take, taken);
        (counts, all)
    });
    let format = format(ADU, &[1]);
    let stream = submit((&mut driver, app), connection, &format, 40);
    let rank = rank(&mut driver, LinkId(1), &[(stream, format, 40)]);
    assert_eq!(run(&mut driver, &[stream])[&stream], End::Done);
    drop(rank.join().unwrap());
    let (counts, all) = close(&mut driver, connection, thread);
    assert!(all == right(stream, 40, ADU), "{counts:?}");
    assert!(counts.lent == 0 && counts.revoked >= 1, "{counts:?}");
}

/// Rings of a sink that is never shown what it is lent.
struct Losing(Rings);

impl std::io::Read for Losing {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        self.0.read(bytes)
    }
}

impl std::io::Write for Losing {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl isthmus_stream_net::sink::Peer for Losing {
    fn read_now(&mut self, bytes: &mut [u8]) -> std::io::Result<Option<usize>> {
        self.0.read_now(bytes)
    }

    fn read_lent(
        &mut self,
        loan: &isthmus_ring::Loan,
        bytes: &mut [u8],
        seen: &mut dyn FnMut(usize, &mut [u8]),
    ) -> std::io::Result<bool> {
        // As of a ring whose descriptor was lost.
        let mut loan = loan.clone();
        loan.stretches
            .iter_mut()
            .for_each(|one| one.ring ^= 1 << 31);
        self.0.read_lent(&loan, bytes, seen)
    }
}
