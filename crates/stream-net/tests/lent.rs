//! Data that sinks read where it lies, in the rings of ranks, and what is taken back from them.

use crate::in_rings::{driver, run};
use crate::rig::content;
use crate::rig::ranks::{LARGE, soon};
use isthmus_ring::{Loan, Stretch, ring};
use isthmus_stream::checksum::Checksum;
use isthmus_stream::wire::{Header, Kind};
use isthmus_stream::{
    AppId, ConnectionId, ConnectionSpec, Direction, End, Format, LinkId, Protocol, StreamId,
    StreamSpec,
};
use isthmus_stream_net::rank::{Pipe, Sender};
use isthmus_stream_net::sink::{Action, Counts, Rings, Sink};
use isthmus_stream_net::{Driver, Ends, loan};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

pub const KB: u64 = 1 << 10;
pub const ADU: u64 = 256 * KB;
pub const WINDOW: u64 = 64 << 20;
pub const OUT: u64 = 256 * KB;

/// What a sink counted or why it gave up, and what it took.
pub type Taken = JoinHandle<(isthmus_stream_net::Result<Counts>, Vec<u8>)>;

/// A connection to a sink on a thread, which may read the rings of ranks if it says that it does.
pub fn sink(
    (driver, app): (&mut Driver, AppId),
    name: &str,
    borrows: bool,
    before: impl FnMut(u64) -> Action + Send + 'static,
) -> (ConnectionId, Taken) {
    let ((out, from), (to, into)) = (ring(OUT).unwrap(), ring(1 << 16).unwrap());
    driver.lend_rings(name, out, into);
    let patience = Duration::from_secs(60);
    let mut rings = Rings { from, to, patience };
    if borrows {
        rings = rings.borrowing(LARGE);
    }
    let thread = std::thread::spawn(move || {
        let mut all = Vec::new();
        let taken = |_: &_, data: &[u8]| all.extend_from_slice(data);
        let counts = Sink::new(WINDOW).serve(&mut rings, before, taken);
        (counts, all)
    });
    (open(driver, app, name), thread)
}

pub fn open(driver: &mut Driver, app: AppId, name: &str) -> ConnectionId {
    let words = format!("raw:given:{name}");
    let spec = ConnectionSpec::new(&words, Protocol::Stream, 0);
    driver.open(app, spec).unwrap()
}

pub fn format(adu: u64, links: &[u16]) -> Format {
    let links: Vec<_> = links.iter().map(|link| LinkId(*link)).collect();
    Format::fixed(adu, adu, &links)
}

pub fn submit(
    (driver, app): (&mut Driver, AppId),
    connection: ConnectionId,
    format: &Format,
    adus: u64,
) -> StreamId {
    let spec = StreamSpec::new(connection, Direction::Transmit, format.clone(), adus);
    driver.submit(app, &spec).unwrap()
}

/// The ranks of a link, on a thread: all ADUs of the first stream, then all of the next.
pub fn rank(
    driver: &mut Driver,
    link: LinkId,
    streams: &[(StreamId, Format, u64)],
) -> JoinHandle<Sender> {
    let (producer, consumer) = ring(LARGE).unwrap();
    let ends = Ends::rings(Some(consumer), None);
    driver.attach(link, ends).unwrap();
    let streams = streams.to_vec();
    std::thread::spawn(move || {
        let mut sender = Sender::new(link, Pipe::Producer(producer)).summing(Checksum::Crc32c);
        for (stream, format, adus) in streams {
            let mut before = 0;
            for adu in 0..adus {
                let bytes = crate::rig::memory::adu_bytes(&format);
                let data = content(stream.0 as usize, adu, bytes);
                let place = (before, 0);
                before = sender
                    .send_adu(stream, &format, (adu, &data), place, soon())
                    .unwrap();
            }
        }
        sender
    })
}

pub fn right(stream: StreamId, adus: u64, bytes: u64) -> Vec<u8> {
    let all = (0..adus).flat_map(|adu| content(stream.0 as usize, adu, bytes));
    all.collect()
}

/// Closes a connection, and what its sink counted and took.
pub fn close(driver: &mut Driver, connection: ConnectionId, thread: Taken) -> (Counts, Vec<u8>) {
    driver.close(connection).unwrap();
    until(driver, "the sink leaves", |_| thread.is_finished());
    let (counts, all) = thread.join().unwrap();
    (counts.unwrap(), all)
}

pub fn until(driver: &mut Driver, what: &str, mut wanted: impl FnMut(&mut Driver) -> bool) {
    let deadline = soon();
    while !wanted(driver) {
        let moment = Instant::now() + Duration::from_millis(2);
        driver.turn(Some(moment)).unwrap();
        assert!(Instant::now() < deadline, "{what}: {:?}", driver.figures());
    }
}

#[test]
fn a_sink_reads_large_packets_where_they_lie() {
    let (mut driver, app) = driver();
    let (connection, thread) = sink((&mut driver, app), "a", true, |_| Action::Take);
    let format = format(ADU, &[1]);
    let stream = submit((&mut driver, app), connection, &format, 64);
    let rank = rank(&mut driver, LinkId(1), &[(stream, format, 64)]);
    assert_eq!(run(&mut driver, &[stream])[&stream], End::Done);
    drop(rank.join().unwrap());
    let figures = driver.figures();
    let (counts, all) = close(&mut driver, connection, thread);
    assert!(all == right(stream, 64, ADU));
    // 16 MiB went through a ring of 2. Where others keep the sink from its processor for 20 ms
    // some is copied.
    assert!(counts.lent > 0 && counts.lent <= figures.lent, "{counts:?}");
    assert_eq!((counts.packets, counts.adus, counts.corrupted), (64, 64, 0));
    if figures.spilled_bytes == 0 {
        assert_eq!((figures.left_in_rings, figures.lent), (64, 64));
        assert_eq!((counts.lent, counts.revoked), (64, 0));
        assert_eq!(figures.memory_bytes, 0);
    }
}

/// Data of a packet lies in several rings, in more stretches than a record has.
#[test]
fn a_packet_is_read_from_the_rings_of_several_ranks() {
    let (mut driver, app) = driver();
    let (connection, thread) = sink((&mut driver, app), "a", true, |_| Action::Take);
    let order = [1, 2, 3, 2, 1, 3, 3, 1, 2, 1];
    let format = format(ADU, &order);
    let stream = submit((&mut driver, app), connection, &format, 20);
    let ranks: Vec<_> = [1, 2, 3]
        .map(|link| rank(&mut driver, LinkId(link), &[(stream, format.clone(), 20)]))
        .into();
    assert_eq!(run(&mut driver, &[stream])[&stream], End::Done);
    ranks
        .into_iter()
        .for_each(|rank| drop(rank.join().unwrap()));
    let (counts, all) = close(&mut driver, connection, thread);
    assert!(all == right(stream, 20, ADU));
    assert!(counts.lent > 0, "{counts:?}");
}

/// A sink that does not ask for it, a ring that is not large, and small packets: bytes, as before.
#[test]
fn who_does_not_ask_is_sent_the_bytes() {
    for (borrows, adu) in [(false, ADU), (true, LARGE / 4), (true, 20 * KB)] {
        let (mut driver, app) = driver();
        let (connection, thread) = sink((&mut driver, app), "a", borrows, |_| Action::Take);
        let format = format(adu, &[1]);
        let stream = submit((&mut driver, app), connection, &format, 20);
        let rank = rank(&mut driver, LinkId(1), &[(stream, format, 20)]);
        assert_eq!(run(&mut driver, &[stream])[&stream], End::Done);
        drop(rank.join().unwrap());
        assert_eq!(driver.figures().lent, 0, "{adu}");
        let (counts, all) = close(&mut driver, connection, thread);
        assert!(all == right(stream, 20, adu));
        assert_eq!(counts.lent, 0);
    }
}

/// A sink that stands still keeps no ring from its rank: what it was lent is copied and taken back,
/// another stream of the same link goes on, and the sink finds all in the end.
#[test]
fn what_is_lent_to_a_sink_that_stops_is_taken_back() {
    let (mut driver, app) = driver();
    let goes_on = Arc::new(AtomicBool::new(false));
    let go = Arc::clone(&goes_on);
    let (slow, slow_thread) = sink((&mut driver, app), "slow", true, move |_| {
        while !go.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(1));
        }
        Action::Take
    });
    let (quick, quick_thread) = sink((&mut driver, app), "quick", true, |_| Action::Take);
    let format = format(ADU, &[1]);
    let streams = [(slow, 12), (quick, 10)].map(|(connection, adus)| {
        let stream = submit((&mut driver, app), connection, &format, adus);
        (stream, format.clone(), adus)
    });
    let [(first, ..), (second, ..)] = streams.clone();
    let rank = rank(&mut driver, LinkId(1), &streams);
    assert_eq!(run(&mut driver, &[second])[&second], End::Done);
    assert!(!goes_on.load(Ordering::Relaxed));
    let figures = driver.figures();
    assert!(
        figures.revoked >= 1 && figures.spilled_bytes >= ADU,
        "{figures:?}"
    );
    goes_on.store(true, Ordering::Relaxed);
    assert_eq!(run(&mut driver, &[first])[&first], End::Done);
    drop(rank.join().unwrap());
    let (counts, all) = close(&mut driver, slow, slow_thread);
    assert!(all == right(first, 12, ADU));
    // It had begun with one, and found that it was taken back.
    assert!(counts.revoked >= 1, "{counts:?}");
    assert_eq!((counts.packets, counts.corrupted, counts.ended), (12, 0, 1));
    let (counts, all) = close(&mut driver, quick, quick_thread);
    assert!(all == right(second, 10, ADU));
    assert_eq!(counts.packets, 10);
}

/// Sinks that stand still now and then, for less than a ring is kept and for more: all is there, in
/// order, once.
#[test]
fn whenever_it_is_taken_back_all_comes_once() {
    let (mut lent, mut revoked, mut had) = (0, 0, 0);
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
        let (connection, thread) = sink((&mut driver, app), "a", true, move |_| {
            let ms = if next() % 10 == 0 { next() % 50 } else { 0 };
            std::thread::sleep(Duration::from_millis(ms));
            Action::Take
        });
        let format = format(adu, links);
        let stream = submit((&mut driver, app), connection, &format, adus);
        let ranks: Vec<_> = links
            .iter()
            .map(|link| {
                rank(
                    &mut driver,
                    LinkId(*link),
                    &[(stream, format.clone(), adus)],
                )
            })
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
        lent += counts.lent;
        revoked += figures.revoked;
        had += counts.revoked;
    }
    println!("{lent} packets read where they lay, {revoked} taken back, {had} of them in hand");
    assert!(
        lent >= 30 && revoked >= 10 && had >= 3,
        "{lent}, {revoked}, {had}"
    );
}

/// What a sink is told of loans may be anything: it says what is wrong, and ends.
#[test]
fn loans_that_cannot_be_are_told() {
    let tell = |loan: &Loan, bytes: u32, borrows: bool| {
        let ((mut out, from), (to, _into)) = (ring(OUT).unwrap(), ring(1 << 16).unwrap());
        let patience = Duration::from_secs(60);
        let mut rings = Rings { from, to, patience };
        if borrows {
            rings = rings.borrowing(LARGE);
        }
        let mut header = Header::new(Kind::Data, 0);
        (header.bytes, header.adu_bytes) = (bytes, u64::from(bytes));
        out.write_all(&loan::encode(loan), soon()).unwrap();
        if bytes > 0 {
            out.write_all(&header.encode(), soon()).unwrap();
        }
        out.close();
        let counts = Sink::new(WINDOW).serve(&mut rings, |_| Action::Take, |_, _| ());
        counts.map_err(|error| error.to_string())
    };
    let stretch = Stretch {
        ring: 0,
        position: 0,
        len: 100,
    };
    // The close of the ring has begun a new epoch.
    let loan = |epoch| Loan {
        epoch,
        told: 0,
        stretches: vec![stretch],
    };
    let why = |told: Result<Counts, String>| told.unwrap_err();
    assert!(why(tell(&loan(1), 100, true)).contains("a ring that is not shown"));
    assert!(why(tell(&loan(1), 100, false)).contains("nothing was asked for"));
    assert!(why(tell(&loan(1), 99, true)).contains("a loan of other bytes"));
    assert!(why(tell(&loan(1), 0, true)).contains("in the midst of a header"));
    let counts = tell(&loan(0), 100, true).unwrap();
    assert_eq!((counts.revoked, counts.packets), (1, 0));
    assert_eq!((counts.cut, counts.cut_at), (1, Some((0, 0, 0))));
}
