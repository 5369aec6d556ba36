//! Sinks, ranks and managers that are killed while data is lent.

use crate::in_rings::{driver, run};
use crate::lent::{ADU, OUT, WINDOW, close, format, open, rank, right, sink, submit, until};
use crate::rig::content;
use crate::rig::ranks::{Job, LARGE, Links, doomed, soon};
use isthmus_ring::{Consumer, Handles, Producer, ring};
use isthmus_stream::checksum::Checksum;
use isthmus_stream::{End, Event, LinkId, Reason, StreamId};
use isthmus_stream_net::rank::{Pipe, Sender};
use isthmus_stream_net::sink::{Action, Rings, Sink};
use isthmus_stream_net::{Driver, Ends, Event as Told};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const ROLE: &str = "ISTHMUS_STREAM_NET_LENT";
/// ADUs of a stream that is never over before its manager is killed.
const MANY: u64 = 1 << 20;

/// This program again, in a role of this module.
fn other(role: &str) -> (Child, UnixStream) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("lent_kills::{role}"), "--nocapture"])
        .env(ROLE, role)
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    (child, ours)
}

/// What another process was given as standard input; none in the tests' own process.
fn given(role: &str) -> Option<UnixStream> {
    (std::env::var(ROLE).ok()? == role).then(|| {
        let stdin = std::io::stdin();
        let stdin = std::os::fd::AsFd::as_fd(&stdin).try_clone_to_owned();
        UnixStream::from(stdin.unwrap())
    })
}

/// A sink that takes two packets and stands still at the third, in a process of its own.
fn sink_process(driver: &mut Driver, name: &str) -> (Child, UnixStream) {
    let ((out, from), (to, into)) = (ring(OUT).unwrap(), ring(1 << 16).unwrap());
    driver.lend_rings(name, out, into);
    let (child, ours) = other("a_doomed_sink");
    from.into_handles().send(&ours, soon()).unwrap();
    to.into_handles().send(&ours, soon()).unwrap();
    (child, ours)
}

#[test]
fn a_doomed_sink() {
    let Some(mut control) = given("a_doomed_sink") else {
        return;
    };
    let from = Consumer::attach(Handles::receive(&control, soon()).unwrap(), OUT);
    let to = Producer::attach(Handles::receive(&control, soon()).unwrap(), 1 << 16);
    let patience = Duration::from_secs(60);
    let (from, to) = (from.unwrap(), to.unwrap());
    let mut rings = Rings { from, to, patience }.borrowing(LARGE);
    let before = |packet| {
        if packet == 2 {
            control.write_all(&[1]).unwrap();
            std::thread::sleep(Duration::from_secs(60));
        }
        Action::Take
    };
    let _ = Sink::new(WINDOW).serve(&mut rings, before, |_, _| ());
}

/// A sink is killed in mid-packet: its stream fails, and what it was lent goes back to the rank,
/// whose other stream goes on.
#[test]
fn a_sink_that_is_killed_leaves_the_ring() {
    let (mut driver, app) = driver();
    let (mut child, mut control) = sink_process(&mut driver, "doomed");
    let connection = open(&mut driver, app, "doomed");
    let (quick, thread) = sink((&mut driver, app), "quick", true, |_| Action::Take);
    let format = format(ADU, &[1]);
    let streams = [(connection, 6), (quick, 40)].map(|(connection, adus)| {
        let stream = submit((&mut driver, app), connection, &format, adus);
        (stream, format.clone(), adus)
    });
    let [(first, ..), (second, ..)] = streams.clone();
    let rank = rank(&mut driver, LinkId(1), &streams);
    control.set_nonblocking(true).unwrap();
    until(&mut driver, "the sink has the third packet", |driver| {
        driver.figures().lent > 0 && control.read(&mut [0]).is_ok()
    });
    child.kill().unwrap();
    child.wait().unwrap();
    let ends = run(&mut driver, &[first, second]);
    let lost = matches!(ends[&first], End::Failed(Reason::ConnectionLost(..)));
    assert!(lost, "{ends:?}");
    assert_eq!(ends[&second], End::Done);
    drop(rank.join().unwrap());
    let (counts, all) = close(&mut driver, quick, thread);
    assert!(all == right(second, 40, ADU));
    assert_eq!(counts.adus, 40);
}

/// A rank is killed in mid-ADU while a sink is about to read what it wrote before: that is whole.
#[test]
fn what_a_rank_wrote_before_it_was_killed_is_read() {
    let (mut driver, app) = driver();
    let (reached, goes_on) = <(Arc<AtomicU64>, Arc<AtomicBool>)>::default();
    let (at, go) = (Arc::clone(&reached), Arc::clone(&goes_on));
    let (connection, thread) = sink((&mut driver, app), "a", true, move |_| {
        at.fetch_add(1, Ordering::SeqCst);
        while !go.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
        Action::Take
    });
    let format = format(ADU, &[1]);
    let stream = submit((&mut driver, app), connection, &format, 4);
    let job = Job {
        stream,
        key: stream.0 as usize,
        format: format.clone(),
        adu: 0,
        from: 0,
    };
    let (mut child, ends) = doomed(Links::Large, LinkId(1), &job);
    driver.attach(LinkId(1), ends).unwrap();
    until(&mut driver, "the first packet is in hand", |driver| {
        driver.figures().lent == 1 && reached.load(Ordering::SeqCst) == 1
    });
    child.kill().unwrap();
    child.wait().unwrap();
    let deadline = soon();
    let mut failed = false;
    while !failed {
        let moment = Instant::now() + Duration::from_millis(5);
        driver.turn(Some(moment)).unwrap();
        while let Some(event) = driver.poll_event() {
            failed |= matches!(
                event,
                Told::Stream(Event::Ended {
                    end: End::Failed(Reason::RankLost(_)),
                    ..
                })
            );
        }
        assert!(Instant::now() < deadline);
    }
    goes_on.store(true, Ordering::SeqCst);
    let (counts, all) = close(&mut driver, connection, thread);
    assert!(all == content(stream.0 as usize, 0, ADU));
    assert_eq!(
        (counts.adus, counts.cut, counts.lent),
        (1, 1, 1),
        "{counts:?}"
    );
}

/// A manager of one stream, from a ring to a sink that it lends to, which goes on until it is
/// killed.
#[test]
fn a_doomed_manager() {
    let Some(control) = given("a_doomed_manager") else {
        return;
    };
    let handles = || Handles::receive(&control, soon()).unwrap();
    let (mut driver, app) = driver();
    let out = Producer::attach(handles(), OUT).unwrap();
    let into = Consumer::attach(handles(), 1 << 16).unwrap();
    let ranks = Consumer::attach(handles(), LARGE).unwrap();
    driver.lend_rings("sink", out, into);
    let connection = open(&mut driver, app, "sink");
    submit((&mut driver, app), connection, &format(ADU, &[1]), MANY);
    let ends = Ends::rings(Some(ranks), None);
    driver.attach(LinkId(1), ends).unwrap();
    let deadline = soon();
    while Instant::now() < deadline {
        driver.turn(Some(deadline)).unwrap();
        while driver.poll_event().is_some() {}
    }
}

/// A manager is killed at any moment, while its sink reads what it was lent: the sink has ADUs from
/// the first on, each with the rank's bytes, and neither it nor the rank waits for anybody.
#[test]
fn whenever_the_manager_is_killed_what_the_sink_has_is_right() {
    let (mut lent, mut adus) = (0, 0);
    for round in 0..10_u64 {
        let (mut child, control) = other("a_doomed_manager");
        let ((out, from), (to, into)) = (ring(OUT).unwrap(), ring(1 << 16).unwrap());
        let (producer, consumer) = ring(LARGE).unwrap();
        let patience = Duration::from_secs(60);
        let mut rings = Rings { from, to, patience }.borrowing(LARGE);
        out.into_handles().send(&control, soon()).unwrap();
        into.into_handles().send(&control, soon()).unwrap();
        consumer.into_handles().send(&control, soon()).unwrap();
        let rank = std::thread::spawn(move || {
            let pipe = Pipe::Producer(producer);
            let mut sender = Sender::new(LinkId(1), pipe).summing(Checksum::Crc32c);
            let (format, mut before) = (format(ADU, &[1]), 0);
            for adu in 0..MANY {
                let data = content(0, adu, ADU);
                let sent = sender.send_adu(StreamId(0), &format, (adu, &data), (before, 0), soon());
                match sent {
                    Ok(after) => before = after,
                    Err(_) => return,
                }
            }
        });
        let reached = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&reached);
        let sink = std::thread::spawn(move || {
            let taken = |header: &isthmus_stream::wire::Header, data: &[u8]| {
                assert!(*data == content(0, header.adu, ADU), "ADU {}", header.adu);
                assert_eq!(header.adu, count.fetch_add(1, Ordering::SeqCst));
            };
            Sink::new(WINDOW).serve(&mut rings, |_| Action::Take, taken)
        });
        let deadline = soon();
        while reached.load(Ordering::SeqCst) < 1 + round && Instant::now() < deadline {
            std::thread::sleep(Duration::from_micros(100 + 70 * round));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let counts = sink.join().unwrap();
        rank.join().unwrap();
        // An error is a frame that the kill cut off. Where the sink had no processor for a while,
        // the manager took back what it lent, and may have been killed before it sent that.
        if let Ok(counts) = counts {
            assert_eq!(counts.corrupted, 0, "{counts:?}");
            lent += counts.lent;
        }
        adus += reached.load(Ordering::SeqCst);
    }
    println!("{adus} ADUs, {lent} of them read where they lay");
    assert!(adus >= 10 && lent >= 1, "{adus}, {lent}");
}
