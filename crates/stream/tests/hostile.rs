//! Drivers and peers that make arbitrary calls: nothing panics, and both memories stay within
//! bounds.

use isthmus_stream::checksum::Checksum;
use isthmus_stream::wire::{Header, Kind};
use isthmus_stream::{
    Adu, AppId, Config, ConnectionId, ConnectionSpec, Direction, Format, Instant, Limits, LinkId,
    Manager, Offer, OrderId, Other, PacketId, Protocol, StreamId, StreamSpec, Work,
};
use proptest::prelude::*;
use std::cell::Cell;

const NOW: Instant = Instant(1);

/// One call, with arbitrary numbers.
type Call = (u8, u8, u8, u16, u16);

fn header(call: Call, next: u64) -> Header {
    let (_, a, b, c, d) = call;
    let kind = match a % 16 {
        0 => Kind::Acknowledge,
        1 => Kind::Probe,
        _ => Kind::Data,
    };
    let mut header = Header::new(kind, 0);
    header.acknowledged = u64::from(b % 4);
    header.delivered = header.acknowledged.min(u64::from(c % 4));
    header.granted = u64::from(d) * 10;
    if d % 3 == 2 {
        header.discarded.add(u32::from(d % 4));
    }
    header.beyond = if b > 250 { u64::from(c) } else { 0 };
    header.floor = if a % 7 == 0 { u64::from(c % 30) } else { 0 };
    if kind == Kind::Data {
        header.sequence = if b % 8 < 6 { next } else { u64::from(c % 40) };
        header.stream = u32::from(d % 3);
        header.bytes = u32::from(c % 20);
        let marks = header.bytes == 0;
        (header.end, header.cut) = (marks && a % 3 > 0 || d % 5 == 0, marks && a % 3 == 0);
        header.end &= !header.cut;
        header.adu = if b % 16 == 15 {
            u64::from(d) << 40
        } else {
            u64::from(b % 3)
        };
        header.offset = u64::from(d % 4) * 10;
        header.adu_bytes = if a % 11 == 0 { u64::MAX } else { 40 };
    }
    header
}

/// The limits of the second application.
const FEW: Limits = Limits {
    connections: 2,
    streams: 2,
    staging_bytes: 60,
    network_bytes: 300,
};

/// Checks that the second application stays within its limits, and that all queries succeed.
fn check(manager: &Manager, opened: u32) {
    let (mut streams, mut staging, mut network) = (0, [0; 2], [0; 2]);
    for id in manager.streams() {
        assert!(manager.waits(id).is_ok());
        let status = manager.status(id).expect("a stream that is listed");
        if status.app == AppId(1) {
            streams += u32::from(!status.over);
            staging[status.direction as usize] += status.holds.0;
        }
    }
    for id in (0..opened).map(ConnectionId) {
        match manager.connection_status(id) {
            Ok(status) if status.app == AppId(1) => {
                for (all, bytes) in network.iter_mut().zip(status.network_bytes) {
                    *all += bytes;
                }
            }
            _ => (),
        }
    }
    assert!(streams <= FEW.streams && staging.iter().all(|has| *has <= FEW.staging_bytes));
    assert!(network.iter().all(|has| *has <= FEW.network_bytes));
}

/// Makes the calls, and returns the numbers of accepted packets and of completed orders.
fn play(calls: &[Call]) -> (u64, u64) {
    let config = Config {
        staging_bytes: 100,
        engines: 3,
        network_bytes: 800,
        stall_ns: 1000,
        ended_kept: 3,
    };
    let bounds = config.clone();
    let mut manager = Manager::new(config).expect("sizes above 0");
    manager.add_application(Limits::NONE);
    manager.add_application(FEW);
    let (mut orders, mut packets) = (Vec::<OrderId>::new(), Vec::<PacketId>::new());
    let (mut taken, mut completed, mut next, mut opened) = (0, 0, 0, 0);
    for (at, call) in calls.iter().enumerate() {
        let (what, a, b, c, d) = *call;
        let now = Instant(at as u64 * 100 + u64::from(d));
        let connection = ConnectionId(u32::from(a % 3));
        let stream = StreamId(u32::from(b % 8));
        let link = LinkId(c % 3);
        let app = AppId(u32::from(a / 3 % 2));
        match what % 32 {
            0 | 1 => {
                let protocol = match b % 4 {
                    0 => Protocol::Stream,
                    1 => Protocol::Confirmed { repair: c % 2 == 0 },
                    _ => Protocol::Unconfirmed {
                        reorder: u32::from(c % 4),
                    },
                };
                let mut spec = ConnectionSpec::new("x", protocol, u64::from(d % 500));
                spec.checksum = Checksum::None;
                opened += u32::from(manager.open(now, app, spec).is_ok());
            }
            2 => manager.handle_connected(now, connection),
            3 if a % 4 == 0 => manager.handle_disconnected(now, connection, "anything"),
            4 if a % 4 == 0 => _ = manager.close(now, connection),
            5..9 => {
                let direction = [Direction::Transmit, Direction::Receive][usize::from(b % 2)];
                let links: Vec<_> = (0..1 + c % 3).map(LinkId).collect();
                let mut format = Format::fixed(40, u64::from(1 + d % 50), &links);
                if a % 3 == 0 {
                    format.adu = Adu::Variable;
                }
                format.packet_bytes = 1 + u64::from(c) % format.tu_bytes;
                let mut spec = StreamSpec::new(connection, direction, format, u64::from(1 + d % 3));
                spec.permanent = c % 5 == 0;
                if c % 4 == 0 {
                    spec.adus = None;
                }
                if d % 4 == 0 {
                    spec.after.push(Other::Stream(stream));
                }
                if d % 6 == 0 {
                    spec.in_step_with.push(Other::Stream(stream));
                }
                let _ = manager.submit(now, app, &spec);
            }
            9 => _ = manager.cancel(now, stream),
            10 => _ = manager.finish(now, stream, u64::from(c % 5)),
            11 => _ = manager.announce(now, stream, u64::from(c % 60)),
            12 | 13 => _ = manager.handle_offered(now, stream, link, u64::from(c) * u64::from(d)),
            14 if a % 4 == 0 => manager.handle_rank_lost(now, stream, link),
            15 => manager.handle_link_cut(now, link),
            16 => manager.handle_link_restored(now, link),
            17 => manager.handle_timeout(now),
            18 => manager.handle_withdrawn(now, OrderId(u64::from(c))),
            19 => manager.handle_completed(now, OrderId(u64::from(c)), 0),
            20 => manager.handle_arrived(now, PacketId(u32::from(b)), Some(0)),
            21..27 => {
                let header = header(*call, next);
                // A peer can only send headers that decode.
                if let Ok(header) = Header::decode(&header.encode()) {
                    match manager.offer(now, connection, &header) {
                        Offer::Take(packet) => {
                            (taken, next) = (taken + 1, header.sequence + 1);
                            packets.push(packet);
                        }
                        Offer::Taken => next = header.sequence + 1,
                        _ => (),
                    }
                }
            }
            3 | 14 if a == 1 => _ = manager.remove_application(now, app),
            27 | 28 => {
                if let Some(packet) = packets.pop() {
                    manager.handle_arrived(now, packet, (c % 9 > 0).then_some(0));
                }
            }
            _ => {
                if !orders.is_empty() {
                    let order = orders.remove(usize::from(c) % orders.len());
                    manager.handle_completed(now, order, 0);
                    completed += 1;
                }
            }
        }
        while let Some(order) = manager.poll_order() {
            if !matches!(order.work, Work::Free { .. } | Work::Prepare { .. }) {
                orders.push(order.id);
            }
        }
        while manager.poll_event().is_some() {}
        for direction in [Direction::Transmit, Direction::Receive] {
            let (staging, network) = manager.used(direction);
            assert!(staging <= bounds.staging_bytes && network <= bounds.network_bytes);
        }
        check(&manager, opened);
    }
    (taken, completed)
}

#[test]
fn no_call_panics() {
    use proptest::test_runner::{Config as Cases, TestRunner};
    let (taken, completed) = (Cell::new(0), Cell::new(0));
    let mut runner = TestRunner::new(Cases::with_cases(1500));
    let one = (
        any::<u8>(),
        any::<u8>(),
        any::<u8>(),
        any::<u16>(),
        any::<u16>(),
    );
    let played = runner.run(&prop::collection::vec(one, 1..300), |calls| {
        let (more, done) = play(&calls);
        taken.set(taken.get() + more);
        completed.set(completed.get() + done);
        Ok(())
    });
    played.unwrap();
    println!("packets taken {taken:?}, orders completed {completed:?}");
    assert!(taken.get() > 500 && completed.get() > 2000);
}

/// An application that submits and cancels repeatedly, while the peer sends nothing, is eventually
/// refused, until the peer has confirmed.
#[test]
fn unconfirmed_end_marks_are_bounded() {
    let mut manager = Manager::new(Config::iwarp()).expect("sizes above 0");
    let limits = Limits {
        streams: 8,
        ..Limits::NONE
    };
    let app = manager.add_application(limits);
    let spec = ConnectionSpec::new("x", Protocol::Stream, 0);
    let connection = manager.open(NOW, app, spec).expect("a connection");
    manager.handle_connected(NOW, connection);
    let format = Format::fixed(8, 8, &[LinkId(0)]);
    let spec = StreamSpec::new(connection, Direction::Transmit, format, 1);
    let mut cancelled = 0;
    let mut refusal = None;
    while cancelled < 100 && refusal.is_none() {
        match manager.submit(NOW, app, &spec) {
            Ok(stream) => {
                manager.cancel(NOW, stream).expect("a stream that goes on");
                cancelled += 1;
            }
            Err(error) => refusal = Some(error.to_string()),
        }
        while let Some(order) = manager.poll_order() {
            manager.handle_completed(NOW, order.id, 0);
        }
    }
    let refusal = refusal.expect("a limit");
    assert_eq!(cancelled, 8);
    assert!(
        refusal.contains("the ends of 8 before them are not confirmed"),
        "{refusal}"
    );
    let mut header = Header::new(Kind::Acknowledge, 0);
    (header.acknowledged, header.delivered) = (8, 8);
    assert_eq!(manager.offer(NOW, connection, &header), Offer::Taken);
    assert!(manager.submit(NOW, app, &spec).is_ok());
}
