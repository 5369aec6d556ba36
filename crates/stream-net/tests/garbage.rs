//! Invalid data on links and sockets is reported with its position.

use crate::outsides::{ADU, Sends, TU, sink};
use crate::rig::ranks::soon;
use isthmus_stream::{
    Direction, End, Event, Format, LinkId, Protocol, Reason, StreamId, StreamSpec,
};
use isthmus_stream_net::Event as DriverEvent;
use isthmus_stream_net::sink::{Action, Sink};
use std::time::{Duration, Instant};

#[test]
fn garbage_from_a_peer_loses_the_connection_in_words() {
    use std::io::Write;
    let (mut peer, socket) = std::os::unix::net::UnixStream::pair().unwrap();
    let mut sends = Sends::new();
    let connection = sends.open("raw:given:peer", Protocol::Stream);
    sends.call(move |driver| driver.provide_socket("peer", socket));
    peer.write_all(&[0x55; 500]).unwrap();
    let reason = sends.wait("lost connection", |event| match event {
        DriverEvent::Stream(Event::Lost {
            connection: of,
            reason,
        }) if *of == connection => Some(reason.clone()),
        _ => None,
    });
    assert!(
        reason.starts_with("what the peer sends is no packet: "),
        "{reason}"
    );
}

/// Returns a link whose rank's frames the test makes, and a stream on it.
fn by_hand(grace: Duration) -> (Sends, isthmus_stream_net::rank::Pipe, StreamId) {
    let (address, _thread) = sink(Sink::new(256 << 10), |_| Action::Take);
    let sends = Sends::new();
    let connection = sends.open(&address, Protocol::Stream);
    let link = LinkId(7);
    let (rank_end, driver_end) = std::os::unix::net::UnixStream::pair().unwrap();
    let format = Format::fixed(ADU, TU, &[link]);
    let spec = StreamSpec::new(connection, Direction::Transmit, format, 2);
    let app = sends.app;
    let stream = sends.call(move |driver| {
        let ends = isthmus_stream_net::Ends::socket(driver_end.into()).grace(grace);
        driver.attach(link, ends).unwrap();
        driver.submit(app, &spec).unwrap()
    });
    (
        sends,
        isthmus_stream_net::rank::Pipe::Unix(rank_end),
        stream,
    )
}

#[test]
fn a_rank_that_is_out_of_step_is_reported_with_the_position() {
    use isthmus_stream_net::frame::{Frame, Kind};
    let (mut sends, mut pipe, stream) = by_hand(Duration::ZERO);
    let frame = Frame {
        kind: Kind::Data,
        stream,
        adu: 1,
        offset: 0,
        bytes: TU as u32,
    };
    pipe.write_all(&frame.encode(), soon()).unwrap();
    pipe.write_all(&vec![0; TU as usize], soon()).unwrap();
    let reason = sends.wait("rank out of step", |event| match event {
        DriverEvent::OutOfStep { link, reason, .. } => {
            assert_eq!(*link, LinkId(7));
            Some(reason.clone())
        }
        _ => None,
    });
    let right = "it sends 65536 bytes from byte 0 of ADU 1 where 65536 bytes from byte 0 of ADU 0 \
                 are next";
    assert_eq!(reason, right);
    assert_eq!(sends.end(stream), End::Failed(Reason::RankLost(LinkId(7))));
    // Further data of the stream from this rank is skipped.
    pipe.write_all(&frame.encode(), soon()).unwrap();
    pipe.write_all(&vec![0; TU as usize], soon()).unwrap();
    let deadline = soon();
    while sends.call(|driver| driver.figures().stray_frames) == 0 {
        assert!(
            Instant::now() < deadline,
            "a frame of a stream that ended is counted"
        );
    }
}

#[test]
fn garbage_on_a_link_ends_its_streams_and_names_it() {
    let (mut sends, mut pipe, stream) = by_hand(Duration::ZERO);
    pipe.write_all(&[0x55; 100], soon()).unwrap();
    let reason = sends.wait("link that is gone", |event| match event {
        DriverEvent::LinkGone { link, reason, .. } => {
            assert_eq!(*link, LinkId(7));
            Some(reason.clone())
        }
        _ => None,
    });
    assert!(reason.starts_with("a frame of a link: "), "{reason}");
    assert_eq!(sends.end(stream), End::Failed(Reason::RankLost(LinkId(7))));
}

#[test]
fn a_link_with_grace_is_cut_first_and_its_rank_lost_when_it_does_not_come_back() {
    let grace = Duration::from_millis(300);
    let (mut sends, pipe, stream) = by_hand(grace);
    let begin = Instant::now();
    drop(pipe);
    sends.wait("cut link", |event| match event {
        DriverEvent::Stream(Event::LinkCut { link, streams }) => {
            assert_eq!((*link, streams.as_slice()), (LinkId(7), &[stream][..]));
            Some(())
        }
        _ => None,
    });
    assert_eq!(sends.end(stream), End::Failed(Reason::RankLost(LinkId(7))));
    assert!(begin.elapsed() >= grace, "{:?}", begin.elapsed());
}

/// A leaving rank is reported even if no stream needs it, for all kinds of links and however the
/// rank ends. Its link can be attached again.
#[test]
fn a_leaving_rank_is_reported_without_streams() {
    use isthmus_ring::ring;
    use isthmus_stream_net::Ends;
    type Rank = Box<dyn std::any::Any + Send>;
    type Make<'m> = &'m dyn Fn() -> (Ends, Rank);
    let socket = || {
        let (rank_end, driver_end) = std::os::unix::net::UnixStream::pair().unwrap();
        (Ends::socket(driver_end.into()), Box::new(rank_end) as Rank)
    };
    let (up, down) = (|| ring(4096).unwrap(), || ring(4096).unwrap());
    let writes = || {
        let (producer, consumer) = up();
        (
            Ends::rings(Some(consumer), None),
            Box::new(producer) as Rank,
        )
    };
    let reads = || {
        let (producer, consumer) = down();
        (
            Ends::rings(None, Some(producer)),
            Box::new(consumer) as Rank,
        )
    };
    let both = || {
        let ((to, from), (out, into)) = (up(), down());
        (
            Ends::rings(Some(from), Some(out)),
            Box::new((to, into)) as Rank,
        )
    };
    // A killed process leaves a ring without an end mark.
    let killed = || {
        let ((to, from), (out, into)) = (up(), down());
        let rank = (to.into_handles(), into.into_handles());
        (Ends::rings(Some(from), Some(out)), Box::new(rank) as Rank)
    };
    let kinds: [(&str, Make<'_>); 5] = [
        ("socket", &socket),
        ("writes", &writes),
        ("reads", &reads),
        ("both", &both),
        ("killed", &killed),
    ];
    let mut sends = Sends::new();
    for (first, (kind, make)) in (100u16..).step_by(20).zip(kinds) {
        for id in (first..first + 20).map(LinkId) {
            let (ends, rank) = make();
            sends.call(move |driver| driver.attach(id, ends).unwrap());
            drop(rank);
            let what = format!("end of a rank that {kind}");
            sends.wait(&what, |event| match event {
                DriverEvent::LinkGone { link, .. } => (*link == id).then_some(()),
                _ => None,
            });
            assert!(!sends.call(move |driver| driver.is_attached(id)), "{kind}");
        }
    }
    // A rank that has nothing more to send is still present if it receives.
    let ((producer, from), (out, into)) = (up(), down());
    let ends = Ends::rings(Some(from), Some(out));
    sends.call(move |driver| driver.attach(LinkId(3), ends).unwrap());
    drop(producer);
    let until = soon();
    // The reading end can be attached again once its loss is detected.
    while sends.call(|driver| {
        let ends = Ends::rings(Some(ring(4096).unwrap().1), None);
        driver.attach(LinkId(3), ends).is_err()
    }) {
        assert!(Instant::now() < until);
    }
    assert!(sends.call(|driver| driver.is_attached(LinkId(3))));
    drop(into);
}
