//! Sinks, ranks and managers that are killed while data lies in rings of ranks.

use crate::in_rings::{driver, run};
use crate::rig::content;
use crate::rig::ranks::{Job, Links, doomed, soon};
use crate::rig::sinks::{
    ADU, LARGE, WINDOW, close, format, open, rank, right, sink, submit, until,
};
use isthmus_ring::{Consumer, Handles, recv_fds, ring, send_fds};
use isthmus_stream::checksum::Checksum;
use isthmus_stream::{End, Event, LinkId, Reason, StreamId};
use isthmus_stream_net::rank::{Pipe, Sender};
use isthmus_stream_net::sink::{Action, Sink};
use isthmus_stream_net::{Ends, Event as DriverEvent};
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const ROLE: &str = "ISTHMUS_STREAM_NET_RING_KILLS";
/// Number of ADUs of a stream that does not end before its manager is killed.
const MANY: u64 = 1 << 20;

/// Starts this program in a role of this module, with `data` as the socket for packets.
fn other(role: &str, data: &UnixStream) -> (Child, UnixStream) {
    let (near, far) = UnixStream::pair().unwrap();
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("ring_kills::{role}"), "--nocapture"])
        .env(ROLE, role)
        .stdin(Stdio::from(OwnedFd::from(far)))
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    send_fds(&near, &[0], &[data.as_fd()], soon()).unwrap();
    (child, near)
}

/// Returns the standard input and the packet socket of a child process. None in the tests' own
/// process.
fn given(role: &str) -> Option<(UnixStream, UnixStream)> {
    (std::env::var(ROLE).ok()? == role).then(|| {
        let control = std::io::stdin().as_fd().try_clone_to_owned().unwrap();
        let received = recv_fds(&control, &mut [0], 1, soon()).unwrap();
        let data = received.descriptors.into_iter().next().unwrap();
        (control.into(), data.into())
    })
}

/// A sink that takes two packets and blocks at the third.
#[test]
fn a_doomed_sink() {
    let Some((mut control, mut data)) = given("a_doomed_sink") else {
        return;
    };
    let before = |packet| {
        if packet == 2 {
            control.write_all(&[1]).unwrap();
            std::thread::sleep(Duration::from_secs(60));
        }
        Action::Take
    };
    let _ = Sink::new(WINDOW).serve(&mut data, before, |_, _| ());
}

/// A sink is killed in mid-packet: its stream fails, and its unread data is released to the rank,
/// whose other stream continues.
#[test]
fn a_sink_that_is_killed_leaves_the_ring() {
    let (mut driver, app) = driver();
    let (near, far) = UnixStream::pair().unwrap();
    let (mut child, mut control) = other("a_doomed_sink", &far);
    drop(far);
    driver.provide_socket("doomed", near);
    let connection = open(&mut driver, app, "doomed");
    let (quick, thread) = sink((&mut driver, app), "quick", |_| Action::Take);
    let format = format(ADU, &[1]);
    let streams = [(connection, 6), (quick, 40)].map(|(connection, adus)| {
        let stream = submit((&mut driver, app), connection, &format, adus);
        (stream, format.clone(), adus)
    });
    let [(first, ..), (second, ..)] = streams.clone();
    let rank = rank(&mut driver, LinkId(1), &streams);
    control.set_nonblocking(true).unwrap();
    until(&mut driver, "the sink has the third packet", |_| {
        control.read(&mut [0]).is_ok()
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

/// A rank is killed in mid-ADU while a sink is about to read the previous ADU: that one is
/// complete.
#[test]
fn data_that_a_killed_rank_wrote_is_read() {
    let (mut driver, app) = driver();
    let (reached, goes_on) = <(Arc<AtomicU64>, Arc<AtomicBool>)>::default();
    let (at, go) = (Arc::clone(&reached), Arc::clone(&goes_on));
    let (connection, thread) = sink((&mut driver, app), "a", move |_| {
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
    let (mut child, ends) = doomed(Links::Roomy, LinkId(1), &job);
    driver.attach(LinkId(1), ends).unwrap();
    until(&mut driver, "the first packet is in hand", |driver| {
        driver.figures().left_in_rings == 1 && reached.load(Ordering::SeqCst) == 1
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
                DriverEvent::Stream(Event::Ended {
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
    assert_eq!((counts.adus, counts.cut), (1, 1), "{counts:?}");
}

/// A manager of one stream, from a ring to a sink, which runs until it is killed.
#[test]
fn a_doomed_manager() {
    let Some((control, data)) = given("a_doomed_manager") else {
        return;
    };
    let (mut driver, app) = driver();
    let handles = Handles::receive(&control, soon()).unwrap();
    let ranks = Consumer::attach(handles, LARGE).unwrap();
    driver.provide_socket("sink", data);
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

/// A manager is killed at any moment while its sink reads. The sink has ADUs from the first on,
/// each with the rank's bytes, and neither it nor the rank blocks.
#[test]
fn a_killed_manager_leaves_correct_data_at_the_sink() {
    let mut adus = 0;
    for round in 0..10_u64 {
        let (near, mut far) = UnixStream::pair().unwrap();
        let (mut child, control) = other("a_doomed_manager", &near);
        drop(near);
        let (producer, consumer) = ring(LARGE).unwrap();
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
            Sink::new(WINDOW).serve(&mut far, |_| Action::Take, taken)
        });
        let deadline = soon();
        while reached.load(Ordering::SeqCst) < 1 + round && Instant::now() < deadline {
            std::thread::sleep(Duration::from_micros(100 + 70 * round));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let counts = sink.join().unwrap();
        rank.join().unwrap();
        // An error is a header that was cut off by the kill.
        if let Ok(counts) = counts {
            assert_eq!(counts.corrupted, 0, "{counts:?}");
        }
        adus += reached.load(Ordering::SeqCst);
    }
    assert!(adus >= 10, "{adus}");
}
