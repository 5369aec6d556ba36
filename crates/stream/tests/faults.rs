//! Faults, each caused and checked by hand.

use crate::driver::{Driver, NOW};
use isthmus_stream::wire::{Header, Kind};
use isthmus_stream::{
    Config, ConnectionId, ConnectionSpec, Direction, Drop, End, Event, Format, Instant, LinkId,
    Offer, Order, PacketId, Protocol, Reason, State, StreamId, StreamSpec, Work,
};

const LINK: [LinkId; 1] = [LinkId(0)];
const SUM: u32 = 77;

/// Creates a receiving interface: a confirmed connection with a window of `window` bytes, and a
/// stream of two ADUs of 30 bytes in TUs of 20.
fn receiver(window: u64) -> (Driver, ConnectionId, StreamId) {
    let mut driver = Driver::new(Config::iwarp());
    let protocol = Protocol::Confirmed { repair: true };
    let spec = ConnectionSpec::new("there", protocol, window);
    let connection = driver.manager.open(NOW, driver.app, spec).expect("it fits");
    driver.manager.handle_connected(NOW, connection);
    let format = Format::fixed(30, 20, &LINK);
    let stream = StreamSpec::new(connection, Direction::Receive, format, 2);
    let stream = driver.submit(&stream).expect("it fits");
    (driver, connection, stream)
}

/// Returns the `n`-th packet of ten bytes of that stream.
fn packet(n: u64) -> Header {
    let mut header = Header::new(Kind::Data, 0);
    header.sequence = n;
    (header.adu, header.adu_bytes) = (n / 3, 30);
    (header.offset, header.bytes) = (n % 3 * 10, 10);
    header.sum = SUM;
    header.end = n == 5;
    header
}

fn take(driver: &mut Driver, connection: ConnectionId, header: &Header) -> PacketId {
    match driver.manager.offer(NOW, connection, header) {
        Offer::Take(packet) => packet,
        other => panic!("{other:?}"),
    }
}

/// Returns the fields of the last acknowledgement: acknowledged, beyond, granted, delivered.
fn acknowledged(driver: &mut Driver) -> (u64, u64, u64, u64) {
    driver.poll();
    let orders = driver.orders.iter().rev();
    let mut reported = orders.filter_map(|order| match &order.work {
        Work::Control { header, .. } => Some(header),
        _ => None,
    });
    let header = reported.next().expect("something was acknowledged");
    (
        header.acknowledged,
        header.beyond,
        header.granted,
        header.delivered,
    )
}

#[test]
fn a_corrupted_packet_is_located_and_comes_again() {
    let (mut driver, connection, stream) = receiver(1000);
    let first = take(&mut driver, connection, &packet(0));
    driver.manager.handle_arrived(NOW, first, Some(SUM));
    let second = take(&mut driver, connection, &packet(1));
    driver.manager.handle_arrived(NOW, second, Some(SUM));
    let third = take(&mut driver, connection, &packet(2));
    driver.manager.handle_arrived(NOW, third, Some(SUM + 1));
    driver.poll();
    let corrupted = Event::Corrupted {
        connection,
        stream: Some(stream),
        adu: 0,
        tu: Some(1),
        range: (20, 10),
    };
    assert!(driver.events.contains(&corrupted), "{:?}", driver.events);
    driver.run();
    // The ranks have the first TU but not the second, and the ADU was not reported as good.
    assert_eq!(
        driver
            .manager
            .status(stream)
            .map(|status| (status.bytes, status.moved)),
        Ok((20, 0))
    );
    assert_eq!(acknowledged(&mut driver), (2, 0, 1000 + 2 * 122, 2));
    for n in 2..6 {
        let packet = take(&mut driver, connection, &packet(n));
        driver.manager.handle_arrived(NOW, packet, Some(SUM));
    }
    driver.poll();
    driver.run();
    let end = Event::Ended {
        stream,
        end: End::Done,
    };
    assert!(driver.events.contains(&end));
    assert_eq!(acknowledged(&mut driver).3, 6);
    assert_eq!(driver.manager.statistics().corrupted, 1);
    // 1 and 3 to 4 followed in order; 2 came after its own loss; 5 is an end.
    assert!(driver.manager.statistics().predicted >= 3);
}

#[test]
fn packets_come_twice_late_and_out_of_order() {
    let (mut driver, connection, stream) = receiver(1000);
    for n in [2, 0, 4] {
        let packet = take(&mut driver, connection, &packet(n));
        driver.manager.handle_arrived(NOW, packet, Some(SUM));
    }
    // 0 has come, 1 has not; 2 and 4 are the first and third beyond it.
    let (below, beyond, ..) = acknowledged(&mut driver);
    assert_eq!((below, beyond), (1, 0b101));
    for n in [0, 2, 4] {
        let again = driver.manager.offer(NOW, connection, &packet(n));
        assert_eq!(again, Offer::Drop(Drop::Duplicate));
    }
    let one = take(&mut driver, connection, &packet(1));
    // While it is copied, a duplicate is dropped too.
    let again = driver.manager.offer(NOW, connection, &packet(1));
    assert_eq!(again, Offer::Drop(Drop::Duplicate));
    driver.manager.handle_arrived(NOW, one, Some(SUM));
    for n in [5, 3] {
        let packet = take(&mut driver, connection, &packet(n));
        driver.manager.handle_arrived(NOW, packet, Some(SUM));
    }
    driver.poll();
    let delivered: u64 = driver
        .run()
        .iter()
        .map(|work| match work {
            Work::Deliver { su, good: true, .. } => su.bytes,
            _ => 0,
        })
        .sum();
    assert_eq!(delivered, 60);
    assert_eq!(
        driver.manager.status(stream).map(|status| status.state),
        Ok(State::Done)
    );
    assert_eq!(driver.manager.statistics().duplicates, 4);
}

/// Ranks that read nothing: received data stays within bounds, and the wait is named.
#[test]
fn a_sink_that_stops_reading_fills_its_window_and_no_more() {
    let window = 4 * (10 + Header::BYTES as u64);
    let (mut driver, connection, stream) = receiver(window);
    let mut taken = 0;
    for n in 0..6 {
        match driver.manager.offer(NOW, connection, &packet(n)) {
            Offer::Take(packet) => driver.manager.handle_arrived(NOW, packet, Some(SUM)),
            Offer::Later => break,
            other => panic!("{other:?}"),
        }
        driver.poll();
        taken += 1;
    }
    assert_eq!(taken, 4, "the window is four packets");
    // Packets move into the two buffers and no further, which frees two slots.
    while driver
        .carry_out(|work| matches!(work, Work::Load { .. }))
        .is_some()
    {}
    let waits = driver.manager.waits(stream).expect("it is known");
    assert_eq!(
        waits[0].to_string(),
        "ranks on link 0 do not take their data"
    );
    let (staging, network) = driver.manager.used(Direction::Receive);
    assert!(
        staging <= 40 && network <= window,
        "{staging} and {network} bytes are held"
    );
    let due = driver
        .manager
        .poll_timeout()
        .expect("a stall is reported after a time");
    driver.manager.handle_timeout(due);
    driver.poll();
    let stalled =
        |event: &Event| matches!(event, Event::Stalled { stream: of, .. } if *of == stream);
    assert!(driver.events.iter().any(stalled));
}

#[test]
fn a_stream_that_was_cut_short_is_not_complete() {
    let (mut driver, connection, stream) = receiver(1000);
    for n in 0..4 {
        let packet = take(&mut driver, connection, &packet(n));
        driver.manager.handle_arrived(NOW, packet, Some(SUM));
    }
    let mut mark = Header::new(Kind::Data, 0);
    (mark.sequence, mark.adu, mark.cut) = (4, 1, true);
    assert_eq!(driver.manager.offer(NOW, connection, &mark), Offer::Taken);
    driver.poll();
    driver.run();
    let reported = driver.events.iter().filter_map(|event| match event {
        Event::AduMoved { adu, good, .. } => Some((*adu, *good)),
        _ => None,
    });
    let reported: Vec<_> = reported.collect();
    assert!(
        reported.iter().all(|reported| *reported == (0, true)),
        "{reported:?}"
    );
    let status = driver.manager.status(stream).expect("it is known");
    assert!(
        matches!(status.end, Some(End::Failed(Reason::CutShort { .. }))),
        "{:?}",
        status.end
    );
}

fn sender() -> (Driver, StreamId) {
    let mut driver = Driver::new(Config::iwarp());
    let connection = driver.connection();
    let format = Format::fixed(20, 20, &[LinkId(0), LinkId(1)]);
    let spec = StreamSpec::new(connection, Direction::Transmit, format, 2);
    let stream = driver.submit(&spec).expect("it fits");
    driver.offer(stream, &[LinkId(0), LinkId(1)]);
    (driver, stream)
}

#[test]
fn data_under_way_on_a_cut_link_is_fetched_again() {
    let (mut driver, stream) = sender();
    let on =
        |link: u16| move |work: &Work| matches!(work, Work::Fetch { su, .. } if su.link.0 == link);
    let old = driver
        .orders
        .iter()
        .find(|order| on(1)(&order.work))
        .cloned()
        .expect("a fetch");
    driver.orders.retain(|order| order.id != old.id);
    driver.manager.handle_link_cut(NOW, LinkId(1));
    driver.poll();
    let cut = Event::LinkCut {
        link: LinkId(1),
        streams: vec![stream],
    };
    assert!(driver.events.contains(&cut));
    driver.run();
    let waits = driver.manager.waits(stream).expect("it is known");
    assert_eq!(waits[0].to_string(), "link 1 is cut");
    assert_eq!(
        driver.manager.status(stream).map(|status| status.moved),
        Ok(0)
    );
    // A report of the old order has no effect.
    driver.completed(old.id);
    assert_eq!(driver.manager.statistics().stale, 1);
    driver.manager.handle_link_restored(NOW, LinkId(1));
    driver.poll();
    let again = driver
        .orders
        .iter()
        .find(|order| on(1)(&order.work))
        .cloned()
        .expect("a fetch");
    assert!(again.work == old.work && again.id != old.id);
    driver.run();
    assert_eq!(
        driver.manager.status(stream).map(|status| status.state),
        Ok(State::Done)
    );
}

#[test]
fn a_cancelled_stream_ends_when_its_buffers_are_released() {
    let (mut driver, stream) = sender();
    driver.manager.cancel(NOW, stream).expect("it lives");
    driver.poll();
    let ended = |driver: &Driver| {
        let end = Event::Ended {
            stream,
            end: End::Cancelled,
        };
        driver.events.contains(&end)
    };
    assert!(!ended(&driver), "two fetches are under way");
    assert_eq!(driver.manager.used(Direction::Transmit).0, 40);
    let withdrawn: Vec<_> = driver
        .orders
        .iter()
        .filter_map(|order| match order.work {
            Work::Withdraw { order } => Some(order),
            _ => None,
        })
        .collect();
    assert_eq!(withdrawn.len(), 2);
    // One was ended in time, the other had completed.
    driver.manager.handle_withdrawn(NOW, withdrawn[0]);
    driver.poll();
    assert!(!ended(&driver));
    driver.completed(withdrawn[1]);
    assert!(ended(&driver));
    assert_eq!(driver.manager.used(Direction::Transmit).0, 0);
    // The peer learns that it was cut short.
    let cut = |work: &Work| matches!(work, Work::Send { header, .. } if header.cut);
    assert!(driver.orders.iter().any(|order| cut(&order.work)));
    let refusal = driver
        .manager
        .cancel(NOW, stream)
        .expect_err("it has ended");
    assert_eq!(
        refusal.to_string(),
        "stream 0 has ended: nothing of it can be cancelled"
    );
}

/// Marks use nothing of the window. However many overtake a packet, it has a slot.
#[test]
fn marks_that_came_early_do_not_keep_the_next_packet_out() {
    let (mut driver, connection, _) = receiver(1000);
    let mut early = 0;
    for n in 1..3000 {
        let mut mark = Header::new(Kind::Data, 0);
        (mark.sequence, mark.stream, mark.cut) = (n, n as u32, true);
        match driver.manager.offer(NOW, connection, &mark) {
            Offer::Taken => early += 1,
            other => {
                assert_eq!(other, Offer::Later);
                break;
            }
        }
    }
    assert!((1000..2000).contains(&early), "{early} marks are held");
    take(&mut driver, connection, &packet(0));
}

/// If the peer grants nothing, a cancelled stream's remaining data does not occupy memory for ever.
#[test]
fn a_closed_connection_is_given_up_if_its_peer_accepts_nothing() {
    let mut driver = Driver::new(Config::iwarp());
    let connection = driver.closed_connection(Protocol::Stream);
    driver.manager.handle_connected(NOW, connection);
    let spec = StreamSpec::new(
        connection,
        Direction::Transmit,
        Format::fixed(8, 8, &LINK),
        1,
    );
    let stream = driver.submit(&spec).expect("it fits");
    driver.offer(stream, &LINK);
    driver.run();
    assert_eq!(driver.manager.used(Direction::Transmit).1, 8);
    driver.manager.cancel(NOW, stream).expect("it lives");
    driver.manager.close(NOW, connection).expect("it is open");
    driver.poll();
    let due = NOW.after_ns(Config::iwarp().stall_ns);
    assert_eq!(driver.manager.poll_timeout(), Some(due));
    let lost = |driver: &Driver| {
        let of = |event: &&Event| matches!(event, Event::Lost { .. } | Event::Closed(_));
        driver.events.iter().filter(of).cloned().collect::<Vec<_>>()
    };
    driver.manager.handle_timeout(Instant(due.0 - 1));
    driver.poll();
    assert_eq!(lost(&driver), []);
    driver.manager.handle_timeout(due);
    driver.poll();
    let reason = "it was closed, and its peer did not take what was left to be sent".to_owned();
    assert_eq!(lost(&driver), [Event::Lost { connection, reason }]);
    assert_eq!(driver.manager.used(Direction::Transmit), (0, 0));
    let disconnect = |order: &Order| matches!(order.work, Work::Disconnect { .. });
    assert_eq!(
        driver
            .orders
            .iter()
            .filter(|order| disconnect(order))
            .count(),
        1
    );
}

#[test]
fn a_connection_that_is_lost_fails_its_streams_and_frees_their_memory() {
    let (mut driver, stream) = sender();
    while driver
        .carry_out(|work| !matches!(work, Work::Send { .. }))
        .is_some()
    {}
    assert!(driver.manager.used(Direction::Transmit).1 > 0);
    driver.orders.clear();
    driver
        .manager
        .handle_disconnected(NOW, ConnectionId(0), "the cable is out");
    driver.poll();
    let status = driver.manager.status(stream).expect("it is known");
    let reason = Reason::ConnectionLost(ConnectionId(0), "the cable is out".into());
    assert_eq!(reason.to_string(), "connection 0 is lost: the cable is out");
    assert_eq!(status.end, Some(End::Failed(reason)));
    assert_eq!(driver.manager.used(Direction::Transmit), (0, 0));
    let again = StreamSpec::new(
        ConnectionId(0),
        Direction::Transmit,
        Format::fixed(20, 20, &LINK),
        1,
    );
    let refusal = driver.submit(&again).expect_err("it is gone");
    assert_eq!(
        refusal.to_string(),
        "connection 0 takes no streams: the cable is out; open another one"
    );
}

/// A pacing driver may send packets long after their order. The receiver must not give up unsent
/// packets when it learns how far all packets were sent.
#[test]
fn no_probe_passes_packets_that_are_not_sent_yet() {
    let mut driver = Driver::new(Config::iwarp());
    let connection = driver.connection();
    let format = Format::fixed(30, 30, &LINK);
    let spec = StreamSpec::new(connection, Direction::Transmit, format, 4);
    let stream = driver.submit(&spec).expect("it fits");
    driver.offer(stream, &LINK);
    let is_send = |work: &Work| matches!(work, Work::Send { .. });
    let time_passes = |driver: &mut Driver| {
        for _ in 0..20 {
            if let Some(at) = driver.manager.poll_timeout() {
                driver.manager.handle_timeout(at);
                driver.poll();
            }
        }
        let orders = driver.orders.iter();
        let floors = orders.filter_map(|order| match &order.work {
            Work::Control { header, .. } if header.kind == Kind::Probe => Some(header.floor),
            _ => None,
        });
        floors.collect::<Vec<_>>()
    };
    let mut packets = 0;
    loop {
        // All possible packets are stored, and each time the driver has one packet less.
        while driver.carry_out(|work| !is_send(work)).is_some() {}
        if !driver.orders.iter().any(|order| is_send(&order.work)) {
            break;
        }
        assert_eq!(time_passes(&mut driver), []);
        driver.carry_out(is_send);
        packets += 1;
    }
    assert!(packets >= 4, "{packets}");
    // After everything is sent, six probes follow.
    assert_eq!(time_passes(&mut driver), [packets; 6]);
}
