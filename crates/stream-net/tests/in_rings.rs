//! Data that stays in rings of links until it is sent, and checksums made by ranks.

use crate::outsides::sink;
use crate::rig::content;
use crate::rig::ranks::soon;
use isthmus_ring::{Producer, ring};
use isthmus_stream::checksum::{Checksum, crc32c};
use isthmus_stream::{
    AppId, Config, ConnectionId, ConnectionSpec, Direction, End, Event, Format, Limits, LinkId,
    Protocol, StreamId, StreamSpec,
};
use isthmus_stream_net::frame::{Frame, Kind};
use isthmus_stream_net::rank::{Pipe, Sender};
use isthmus_stream_net::sink::{Action, Sink};
use isthmus_stream_net::{Driver, Ends, Event as DriverEvent, Figures};
use proptest::prelude::*;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::Read;
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

const KB: u64 = 1 << 10;
const RING: u64 = 512 * KB;

pub fn driver() -> (Driver, AppId) {
    let config = Config {
        staging_bytes: 4096 * KB,
        engines: 32,
        network_bytes: 8192 * KB,
        stall_ns: 60_000_000_000,
        ..Config::default()
    };
    let mut driver = Driver::new(config).unwrap();
    let app = driver.add_application(Limits::NONE);
    (driver, app)
}

pub fn open(driver: &mut Driver, app: AppId, to: &str, checksum: Checksum) -> ConnectionId {
    let spec = ConnectionSpec {
        checksum,
        ..ConnectionSpec::new(to, Protocol::Stream, 0)
    };
    driver.open(app, spec).unwrap()
}

/// Turns the driver until these streams have ended, and returns their ends.
pub fn run(driver: &mut Driver, streams: &[StreamId]) -> BTreeMap<StreamId, End> {
    let (mut ends, until) = (BTreeMap::new(), soon());
    while !streams.iter().all(|stream| ends.contains_key(stream)) {
        driver.turn(Some(until)).unwrap();
        while let Some(event) = driver.poll_event() {
            if let DriverEvent::Stream(Event::Ended { stream, end }) = event {
                ends.insert(stream, end);
            }
        }
        let waits: Vec<_> = streams
            .iter()
            .map(|id| driver.manager().waits(*id))
            .collect();
        assert!(Instant::now() < until, "{ends:?}, {waits:?}");
    }
    ends
}

/// Starts a rank on its own thread for each link, which writes all ADUs.
fn ranks(
    driver: &mut Driver,
    format: &Format,
    stream: StreamId,
    adus: &[Vec<u8>],
    (capacity, sums): (u64, Checksum),
) {
    for link in format.links() {
        let (producer, consumer) = ring(capacity).unwrap();
        driver
            .attach(link, Ends::rings(Some(consumer), None))
            .unwrap();
        let (format, adus) = (format.clone(), adus.to_vec());
        std::thread::spawn(move || {
            let mut sender = Sender::new(link, Pipe::Producer(producer)).summing(sums);
            let mut before = 0;
            for (adu, data) in adus.iter().enumerate() {
                let place = (before, 0);
                before = sender
                    .send_adu(stream, &format, (adu as u64, data), place, soon())
                    .unwrap();
            }
        });
    }
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Route {
    Tcp,
    Unix,
    Plain,
}

#[derive(Clone, Debug)]
struct Case {
    way: Route,
    format: Format,
    adus: u64,
    adu_bytes: u64,
    cut_through: bool,
    checksum: Checksum,
    sums: Checksum,
}

fn cases() -> impl Strategy<Value = Case> {
    let way = prop_oneof![Just(Route::Tcp), Just(Route::Unix), Just(Route::Plain)];
    let sums = || {
        prop_oneof![
            Just(Checksum::None),
            Just(Checksum::Internet),
            Just(Checksum::Crc32c)
        ]
    };
    let order = prop::collection::vec((1..=3_u16).prop_map(LinkId), 1..7);
    let sizes = (
        32 * KB..200 * KB,
        32 * KB..200 * KB,
        1..300 * KB,
        1..5000_u64,
    );
    (way, order, sizes, 1..4_u64, any::<bool>(), sums(), sums()).prop_map(
        |(way, order, (a, b, adu_bytes, granule), adus, cut_through, checksum, sums)| {
            let (packet, tu) = (a.min(b), a.max(b));
            let format = Format {
                order,
                granule_bytes: granule,
                packet_bytes: packet,
                ..Format::fixed(adu_bytes, tu, &[])
            };
            Case {
                way,
                format,
                adus,
                adu_bytes,
                cut_through,
                checksum,
                sums,
            }
        },
    )
}

/// Runs a case and returns the received bytes and the driver's counters.
fn carried(case: &Case, adus: &[Vec<u8>]) -> (Vec<u8>, Figures) {
    let (mut driver, app) = driver();
    let expects = Sink {
        checksum: case.checksum,
        ..Sink::new(1024 * KB)
    };
    let (send, all) = mpsc::channel();
    let to = match case.way {
        Route::Tcp => {
            let (to, thread) = sink(expects, |_| Action::Take);
            std::thread::spawn(move || send.send(thread.join().unwrap().1));
            to
        }
        Route::Unix => {
            let (driver_end, mut sink_end) = UnixStream::pair().unwrap();
            driver.provide_socket("sink", driver_end);
            std::thread::spawn(move || {
                let mut all = Vec::new();
                let taken = |_: &_, data: &[u8]| all.extend_from_slice(data);
                expects
                    .serve(&mut sink_end, |_| Action::Take, taken)
                    .unwrap();
                send.send(all)
            });
            "raw:given:sink".to_owned()
        }
        Route::Plain => {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let to = format!("tcp:{}", listener.local_addr().unwrap());
            std::thread::spawn(move || {
                let mut all = Vec::new();
                listener.accept().unwrap().0.read_to_end(&mut all).unwrap();
                send.send(all)
            });
            to
        }
    };
    let spec = ConnectionSpec {
        checksum: case.checksum,
        ..ConnectionSpec::new(&to, protocol(case.way), 0)
    };
    let connection = driver.open(app, spec).unwrap();
    let mut spec = StreamSpec::new(
        connection,
        Direction::Transmit,
        case.format.clone(),
        case.adus,
    );
    spec.cut_through = case.cut_through;
    let stream = driver.submit(app, &spec).unwrap();
    let rings = (RING, case.sums);
    ranks(&mut driver, &case.format, stream, adus, rings);
    let ends = run(&mut driver, &[stream]);
    assert_eq!(ends[&stream], End::Done);
    let figures = driver.figures();
    driver.close(connection).unwrap();
    let until = soon();
    loop {
        driver
            .turn(Some(Instant::now() + Duration::from_millis(10)))
            .unwrap();
        if let Ok(all) = all.try_recv() {
            return (all, figures);
        }
        assert!(Instant::now() < until, "what was sent does not end");
    }
}

fn protocol(way: Route) -> Protocol {
    match way {
        Route::Plain => Protocol::Unconfirmed { reorder: 0 },
        _ => Protocol::Stream,
    }
}

/// For every format, every set of links and either side that sums, the received bytes are those of
/// the ranks, and the sink accepts each checksum.
#[test]
fn every_format_keeps_the_bytes_of_the_ranks() {
    let seen = RefCell::new(BTreeMap::<&str, u64>::new());
    let config = proptest::test_runner::Config {
        cases: 200,
        failure_persistence: None,
        ..Default::default()
    };
    let outcome = proptest::test_runner::TestRunner::new(config).run(&cases(), |case| {
        let adus: Vec<_> = (0..case.adus)
            .map(|adu| content(1, adu, case.adu_bytes))
            .collect();
        let (all, figures) = carried(&case, &adus);
        prop_assert!(
            all == adus.concat(),
            "{} bytes of {}",
            all.len(),
            adus.concat().len()
        );
        let mut seen = seen.borrow_mut();
        let mut count = |what, often| *seen.entry(what).or_default() += often;
        count("packets left in rings", figures.left_in_rings);
        count("packets copied", figures.copied + figures.handed_over);
        count("sums that were not those of SUs", figures.summed_again);
        let by_rank = case.sums == case.checksum && case.sums != Checksum::None;
        count("streams that ranks summed", u64::from(by_rank));
        Ok(())
    });
    outcome.unwrap();
    let seen = seen.into_inner();
    println!("{seen:?}");
    for what in [
        "packets left in rings",
        "packets copied",
        "sums that were not those of SUs",
        "streams that ranks summed",
    ] {
        assert!(seen[what] >= 10, "{what}: {seen:?}");
    }
}

/// Nothing is copied if the ring is large enough, and its room is released.
#[test]
fn data_in_a_ring_is_never_in_the_managers_memory() {
    let case = Case {
        way: Route::Tcp,
        format: Format::fixed(128 * KB, 64 * KB, &[LinkId(1)]),
        adus: 64,
        adu_bytes: 128 * KB,
        cut_through: false,
        checksum: Checksum::Crc32c,
        sums: Checksum::Crc32c,
    };
    let adus: Vec<_> = (0..case.adus)
        .map(|adu| content(1, adu, case.adu_bytes))
        .collect();
    // Data is copied if the sink does not run for 20 ms. Other tests cover that; this one needs a
    // run without it.
    let mut tries = (0..10).map(|_| carried(&case, &adus));
    let undisturbed = tries.find(|(all, figures)| {
        assert!(*all == adus.concat());
        figures.spilled_bytes == 0
    });
    let (_, figures) = undisturbed.expect("the sink is not slow ten times for so long");
    // 8 MiB went through a ring of half a MiB.
    assert_eq!(figures.left_in_rings, 128);
    assert_eq!(
        (figures.handed_over, figures.copied, figures.summed_again),
        (0, 0, 0)
    );
    assert_eq!(figures.memory_bytes, 0);
}

/// Data in a ring for a sink that does not read costs no CPU time if it blocks nobody: the driver
/// sleeps meanwhile.
#[test]
fn a_driver_sleeps_while_data_lies_in_a_ring() {
    let (mut driver, app) = driver();
    let goes_on = Arc::new(AtomicBool::new(false));
    let go = Arc::clone(&goes_on);
    let (slow, thread) = sink(Sink::new(64 * 1024 * KB), move |_| {
        while !go.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(1));
        }
        Action::Take
    });
    let connection = open(&mut driver, app, &slow, Checksum::Crc32c);
    let format = Format::fixed(64 * KB, 64 * KB, &[LinkId(1)]);
    let mut spec = StreamSpec::new(connection, Direction::Transmit, format.clone(), 0);
    // More than the sockets hold, less than network memory.
    spec.adus = Some(120);
    let stream = driver.submit(app, &spec).unwrap();
    let (producer, consumer) = ring(RING).unwrap();
    let ends = Ends::rings(Some(consumer), None);
    driver.attach(LinkId(1), ends).unwrap();
    let (wrote, written) = mpsc::channel();
    let rank = std::thread::spawn(move || {
        let mut sender = Sender::new(LinkId(1), Pipe::Producer(producer));
        for adu in 0..120 {
            let data = content(stream.0 as usize, adu, 64 * KB);
            let place = (adu * 64 * KB, 0);
            let sent = sender.send_adu(stream, &format, (adu, &data), place, soon());
            sent.unwrap();
        }
        wrote.send(()).unwrap();
        sender
    });
    let mut turn = |time| {
        let until = Instant::now() + time;
        while Instant::now() < until {
            driver.turn(Some(until)).unwrap();
        }
        driver.figures().sleeps
    };
    while written.try_recv().is_err() {
        turn(Duration::from_millis(10));
    }
    let before = turn(Duration::from_millis(100));
    let slept = turn(Duration::from_millis(500)) - before;
    // Every 5 ms, and some for other events.
    assert!(slept < 200, "{slept} sleeps in 500 ms");
    goes_on.store(true, Ordering::Relaxed);
    assert_eq!(run(&mut driver, &[stream])[&stream], End::Done);
    drop(rank.join().unwrap());
    driver.close(connection).unwrap();
    while !thread.is_finished() {
        let until = Instant::now() + Duration::from_millis(10);
        driver.turn(Some(until)).unwrap();
    }
}

/// A sink that stops reading does not block the link for others: its data in the ring is copied
/// after a while.
#[test]
fn a_slow_connection_does_not_hold_a_ring_for_ever() {
    let (mut driver, app) = driver();
    let goes_on = Arc::new(AtomicBool::new(false));
    let go = Arc::clone(&goes_on);
    let (slow, slow_thread) = sink(Sink::new(64 * 1024 * KB), move |_| {
        while !go.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(1));
        }
        Action::Take
    });
    let (quick, quick_thread) = sink(Sink::new(1024 * KB), |_| Action::Take);
    let format = Format::fixed(64 * KB, 64 * KB, &[LinkId(1)]);
    let connections = [slow, quick].map(|to| open(&mut driver, app, &to, Checksum::Crc32c));
    let streams = connections.map(|connection| {
        let mut spec = StreamSpec::new(connection, Direction::Transmit, format.clone(), 0);
        // More than the sockets and the ring hold, less than network memory.
        spec.adus = Some(if connection == connections[0] {
            100
        } else {
            20
        });
        driver.submit(app, &spec).unwrap()
    });
    let (producer, consumer) = ring(RING).unwrap();
    driver
        .attach(LinkId(1), Ends::rings(Some(consumer), None))
        .unwrap();
    let rank = std::thread::spawn(move || {
        let mut sender = Sender::new(LinkId(1), Pipe::Producer(producer));
        for (stream, adus) in streams.into_iter().zip([100, 20]) {
            for adu in 0..adus {
                let data = content(stream.0 as usize, adu, 64 * KB);
                let place = (adu * 64 * KB, 0);
                sender
                    .send_adu(stream, &format, (adu, &data), place, soon())
                    .unwrap();
            }
        }
    });
    let ends = run(&mut driver, &streams[1..]);
    assert_eq!(ends[&streams[1]], End::Done);
    assert!(!goes_on.load(Ordering::Relaxed));
    let figures = driver.figures();
    assert!(figures.left_in_rings > 0);
    assert!(figures.spilled_bytes > 0, "{figures:?}");
    goes_on.store(true, Ordering::Relaxed);
    assert_eq!(run(&mut driver, &streams[..1])[&streams[0]], End::Done);
    rank.join().unwrap();
    for (connection, (thread, adus)) in connections
        .into_iter()
        .zip([(slow_thread, 100), (quick_thread, 20)])
    {
        driver.close(connection).unwrap();
        let until = soon();
        while !thread.is_finished() && Instant::now() < until {
            driver
                .turn(Some(Instant::now() + Duration::from_millis(10)))
                .unwrap();
        }
        let (counts, all) = thread.join().unwrap();
        assert_eq!(counts.unwrap().adus, adus);
        let right = (0..adus).map(|adu| content(connection.0 as usize, adu, 64 * KB));
        assert!(all == right.collect::<Vec<_>>().concat());
    }
}

fn by_hand(
    sum: u32,
) -> (
    Driver,
    StreamId,
    Producer,
    std::thread::JoinHandle<crate::outsides::Taken>,
) {
    let (mut driver, app) = driver();
    let (to, thread) = sink(Sink::new(1024 * KB), |_| Action::Take);
    let connection = open(&mut driver, app, &to, Checksum::Crc32c);
    let format = Format::fixed(64 * KB, 64 * KB, &[LinkId(1)]);
    let spec = StreamSpec::new(connection, Direction::Transmit, format.clone(), 1);
    let stream = driver.submit(app, &spec).unwrap();
    let (mut producer, consumer) = ring(RING).unwrap();
    driver
        .attach(LinkId(1), Ends::rings(Some(consumer), None))
        .unwrap();
    let tu = format.tu(0, 64 * KB, 0).unwrap();
    let su = format.sus(tu.bytes).next().unwrap();
    let frame = Frame::su(Kind::Crc32c, stream, &tu, &su);
    assert_eq!(frame.sums_bytes(), 16);
    let data = content(1, 0, 64 * KB);
    producer.write_all(&frame.encode(), soon()).unwrap();
    producer.write_all(&data, soon()).unwrap();
    for block in data.chunks(16 << 10) {
        let word = crc32c(block) ^ sum;
        producer.write_all(&word.to_le_bytes(), soon()).unwrap();
    }
    (driver, stream, producer, thread)
}

/// The interface uses ranks' checksums unchanged; the sink detects data that does not match them.
#[test]
fn a_ranks_sum_is_what_the_sink_checks() {
    let (mut driver, stream, _producer, thread) = by_hand(0);
    assert_eq!(run(&mut driver, &[stream])[&stream], End::Done);
    drop(driver);
    assert_eq!(thread.join().unwrap().0.unwrap().packets, 1);

    let (mut driver, stream, _producer, thread) = by_hand(1);
    let ends = run(&mut driver, &[stream]);
    assert!(matches!(ends[&stream], End::Failed(_)), "{ends:?}");
    let why = thread.join().unwrap().0.unwrap_err().to_string();
    assert!(why.contains("bytes 0 to 65536 of ADU 0"), "{why}");
}

/// Returns the bytes in the ring that were not released.
fn held(producer: &mut Producer) -> u64 {
    producer.capacity() - producer.room().unwrap()
}

/// A cancelled stream releases its data in the ring, so that the next one continues.
#[test]
fn a_cancelled_stream_leaves_nothing_in_a_ring() {
    let (mut driver, app) = driver();
    let (to, thread) = sink(Sink::new(1024 * KB), |_| Action::Take);
    let connection = open(&mut driver, app, &to, Checksum::Crc32c);
    let format = Format::fixed(96 * KB, 96 * KB, &[LinkId(1), LinkId(2)]);
    let spec = StreamSpec::new(connection, Direction::Transmit, format.clone(), 3);
    let first = driver.submit(app, &spec).unwrap();
    let (mut producer, consumer) = ring(RING).unwrap();
    driver
        .attach(LinkId(1), Ends::rings(Some(consumer), None))
        .unwrap();
    let tu = format.tu(0, 96 * KB, 0).unwrap();
    let su = format.sus(tu.bytes).next().unwrap();
    let head = Frame::su(Kind::Data, first, &tu, &su).encode();
    let data = content(1, 0, 96 * KB);
    producer.write_all(&head, soon()).unwrap();
    // Half of the TU, since the other link has no data.
    producer.write_all(&data[..48 << 10], soon()).unwrap();
    let until = soon();
    while held(&mut producer) > 48 << 10 {
        let moment = Instant::now() + Duration::from_millis(5);
        driver.turn(Some(moment)).unwrap();
        assert!(Instant::now() < until);
    }
    driver
        .turn(Some(Instant::now() + Duration::from_millis(5)))
        .unwrap();
    assert_eq!(held(&mut producer), 48 << 10, "it stays in the ring");
    driver.cancel(first).unwrap();
    assert_eq!(run(&mut driver, &[first])[&first], End::Cancelled);
    while held(&mut producer) > 0 {
        let moment = Instant::now() + Duration::from_millis(5);
        driver.turn(Some(moment)).unwrap();
        assert!(Instant::now() < until, "it is never given back");
    }
    drop(driver);
    assert_eq!(thread.join().unwrap().0.unwrap().packets, 0);
}

/// A small unit that comes before the answer to the previous one is collected with others for a
/// short time. A sink that never answers delays none of them and costs no CPU time.
#[test]
fn small_units_do_not_wait_for_a_sink_that_answers_nothing() {
    let (mut driver, app) = driver();
    let goes_on = Arc::new(AtomicBool::new(false));
    let go = Arc::clone(&goes_on);
    let (slow, thread) = sink(Sink::new(KB * KB), move |_| {
        while !go.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(1));
        }
        Action::Take
    });
    let connection = open(&mut driver, app, &slow, Checksum::Crc32c);
    let format = Format::fixed(64, 64, &[LinkId(1)]);
    let spec = StreamSpec::new(connection, Direction::Transmit, format.clone(), 3);
    let stream = driver.submit(app, &spec).unwrap();
    let (producer, consumer) = ring(RING).unwrap();
    let ends = Ends::rings(Some(consumer), None);
    driver.attach(LinkId(1), ends).unwrap();
    let mut sender = Sender::new(LinkId(1), Pipe::Producer(producer));
    for adu in 0..3 {
        let until = Instant::now() + Duration::from_millis(20);
        while Instant::now() < until {
            driver.turn(Some(until)).unwrap();
        }
        let data = content(stream.0 as usize, adu, 64);
        let place = (adu * 64, 0);
        let sent = sender.send_adu(stream, &format, (adu, &data), place, soon());
        sent.unwrap();
        let mut moved = false;
        while !moved {
            let sleeps = driver.figures().sleeps;
            driver.turn(Some(soon())).unwrap();
            assert!(driver.figures().sleeps <= sleeps + 1);
            while let Some(event) = driver.poll_event() {
                moved |= matches!(event, DriverEvent::Stream(Event::AduMoved { adu: of, .. }) if of == adu);
            }
        }
    }
    let before = driver.figures().sleeps;
    let until = Instant::now() + Duration::from_millis(200);
    while Instant::now() < until {
        driver.turn(Some(until)).unwrap();
    }
    let slept = driver.figures().sleeps - before;
    assert!(slept < 20, "{slept} sleeps in 200 ms");
    goes_on.store(true, Ordering::Relaxed);
    assert_eq!(run(&mut driver, &[stream])[&stream], End::Done);
    driver.close(connection).unwrap();
    while !thread.is_finished() {
        driver
            .turn(Some(Instant::now() + Duration::from_millis(10)))
            .unwrap();
    }
    let (counts, all) = thread.join().unwrap();
    assert_eq!(counts.unwrap().adus, 3);
    let expected = (0..3).flat_map(|adu| content(stream.0 as usize, adu, 64));
    assert!(all.iter().copied().eq(expected));
}
