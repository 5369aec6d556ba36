//! A receiver that discards packets fails their streams and no others.

use crate::driver::{Driver, NOW};
use isthmus_stream::wire::Header;
use isthmus_stream::{
    Config, ConnectionId, ConnectionSpec, Direction, End, Format, LinkId, Offer, Protocol, Reason,
    StreamId, StreamSpec, Work,
};

const CONNECTION: ConnectionId = ConnectionId(0);

/// An interface with an open connection to another.
fn end() -> Driver {
    let mut driver = Driver::new(Config::iwarp());
    let spec = ConnectionSpec::new("there", Protocol::Stream, 10_000);
    let opened = driver.manager.open(NOW, driver.app, spec);
    assert_eq!(opened, Ok(CONNECTION));
    driver.manager.handle_connected(NOW, CONNECTION);
    driver.poll();
    driver
}

/// Submits a stream of an ADU of two packets, over its own link.
fn stream(driver: &mut Driver, direction: Direction, link: u16) -> StreamId {
    let mut format = Format::fixed(20, 20, &[LinkId(link)]);
    format.packet_bytes = 10;
    let spec = StreamSpec::new(CONNECTION, direction, format, 1);
    let id = driver.submit(&spec).expect("it fits");
    if direction == Direction::Transmit {
        driver.offer(id, &[LinkId(link)]);
    }
    id
}

/// Transfers the output of one interface to the other, in order, and returns the headers.
fn transfer(from: &mut Driver, to: &mut Driver) -> Vec<Header> {
    let mut sent = Vec::new();
    while let Some(place) = from.orders.iter().position(|order| {
        matches!(
            order.work,
            Work::Send { .. } | Work::Control { .. } | Work::Fetch { .. } | Work::Store { .. }
        )
    }) {
        let order = from.orders.remove(place).expect("it was found");
        let reported = !matches!(order.work, Work::Control { .. });
        if let Work::Send { header, .. } | Work::Control { header, .. } = order.work {
            sent.push(header);
        }
        if reported {
            from.completed(order.id);
        }
    }
    for header in &sent {
        deliver(to, header);
    }
    sent
}

fn deliver(to: &mut Driver, header: &Header) {
    if let Offer::Take(packet) = to.manager.offer(NOW, CONNECTION, header) {
        to.manager.handle_arrived(NOW, packet, Some(header.sum));
    }
    to.poll();
}

fn ends(driver: &Driver, streams: [StreamId; 3]) -> [Option<End>; 3] {
    streams.map(|id| driver.manager.status(id).expect("it is known").end)
}

/// Runs three streams between two interfaces. The receiver cancels the second while it is on its way
/// to ranks that do not read it. Returns the ends at the sender, which gets the acknowledgements for
/// which `received` is true, counted from 0.
fn played(received: impl Fn(usize) -> bool) -> [Option<End>; 3] {
    let (mut sender, mut receiver) = (end(), end());
    transfer(&mut receiver, &mut sender);
    let out = [0, 1, 2].map(|link| stream(&mut sender, Direction::Transmit, link));
    let back = [0, 1, 2].map(|link| stream(&mut receiver, Direction::Receive, link));
    transfer(&mut sender, &mut receiver);
    let load = |work: &Work| matches!(work, Work::Load { .. });
    let delivery = |link: u16| move |work: &Work| matches!(work, Work::Deliver { su, .. } if su.link.0 == link);
    while receiver.carry_out(load).is_some() {}
    receiver.carry_out(delivery(0)).expect("the first is there");
    while receiver.carry_out(load).is_some() {}
    assert!(receiver.orders.iter().any(|order| delivery(1)(&order.work)));
    receiver.manager.cancel(NOW, back[1]).expect("it lives");
    receiver.poll();
    while receiver.carry_out(load).is_some() {}
    receiver.carry_out(delivery(2)).expect("the third is there");
    receiver
        .carry_out(delivery(1))
        .expect("the withdrawal had no effect");
    let states = ends(&receiver, back);
    assert_eq!(
        states,
        [Some(End::Done), Some(End::Cancelled), Some(End::Done)]
    );
    let mut acknowledgements = Vec::new();
    for order in std::mem::take(&mut receiver.orders) {
        if let Work::Control { header, .. } = order.work {
            acknowledgements.push(header);
        }
    }
    for (at, header) in acknowledgements.iter().enumerate() {
        if received(at) || at + 1 == acknowledgements.len() {
            deliver(&mut sender, header);
        }
    }
    ends(&sender, out)
}

#[test]
fn a_discarded_stream_fails_no_other() {
    let expected = [
        Some(End::Done),
        Some(End::Failed(Reason::Discarded)),
        Some(End::Done),
    ];
    assert_eq!(
        played(|_| true),
        expected,
        "each acknowledgement is received"
    );
    assert_eq!(played(|_| false), expected, "only the last is received");
}
