//! Loss of packets and acknowledgements, and its repair.

use crate::driver::{Driver, NOW};
use crate::world::node::{Node, Side, Track};
use crate::world::rng::Rng;
use crate::world::{Next, World};
use isthmus_stream::wire::{Header, Kind};
use isthmus_stream::{
    Config, ConnectionId, ConnectionSpec, Direction, End, Format, Instant, Limits, LinkId, Manager,
    Offer, Protocol, StreamId, StreamSpec, Work,
};

const ADUS: u64 = 60;
const ADU: u64 = 120;
const PACKET: u64 = 40;
const SECOND_NS: u64 = 1_000_000_000;

/// Creates two interfaces with one connection, and one stream from the first to the second.
fn world(seed: u64, lost: u64, delay_ns: u64, window: u64) -> World {
    let protocol = Protocol::Confirmed { repair: true };
    let nodes = [(); 2].map(|()| {
        let config = Config {
            staging_bytes: 2 * ADU,
            ..Config::iwarp()
        };
        let mut manager = Manager::new(config).expect("sizes above 0");
        let app = manager.add_application(Limits::NONE);
        Node::new(manager, app)
    });
    let mut world = World::new(nodes, Rng(seed));
    world.faults.lost = lost;
    world.delay_ns = delay_ns;
    let directions = [Direction::Transmit, Direction::Receive];
    for (node, direction) in directions.into_iter().enumerate() {
        let window_bytes = window * (PACKET + Header::BYTES as u64);
        let at = world.at();
        let it = &mut world.nodes[node];
        let spec = ConnectionSpec {
            share_bytes: ADU.max(window * PACKET),
            ..ConnectionSpec::new("the other", protocol, window_bytes)
        };
        let connection = it.manager.open(at, it.app, spec).expect("it fits");
        let side = Side {
            protocol,
            peer: ConnectionId(0),
            wire_free: 0,
            arrives: 0,
            backlog: Default::default(),
            gone: false,
            by_held: false,
        };
        it.sides.insert(connection, side);
        let mut format = Format::fixed(ADU, ADU, &[LinkId(0)]);
        format.packet_bytes = PACKET;
        let spec = StreamSpec::new(connection, direction, format, ADUS);
        let stream = it.manager.submit(at, it.app, &spec).expect("it fits");
        let track = Track {
            key: 1,
            direction,
            connection,
            adus: ADUS,
            tu_bytes: ADU,
            by_done: true,
            after: Vec::new(),
            step: Vec::new(),
            links: vec![LinkId(0)],
            offered: 0,
            exact: None,
            started: 0,
            moved: 0,
            done: 0,
            good: 0,
            last: None,
            end: None,
        };
        it.streams.insert(stream, track);
    }
    world.plan(0, 0, Next::Offer(StreamId(0)));
    world.drain(0);
    world.drain(1);
    world
}

/// Returns the longest time between two completed ADUs at the sender, from the start to the end.
fn longest_gap_ns(world: &mut World) -> u64 {
    let (mut longest, mut last, mut done) = (0, 0, 0);
    while world.nodes[0].streams[&StreamId(0)].end.is_none() {
        assert!(world.step(), "nothing happens any more");
        let now = world.nodes[0].streams[&StreamId(0)].done;
        if now > done {
            longest = longest.max(world.now - last);
            (last, done) = (world.now, now);
        }
    }
    let end = world.nodes[0].streams[&StreamId(0)].end.clone();
    assert_eq!((end, done), (Some(End::Done), ADUS));
    longest.max(world.now - last)
}

#[test]
fn no_gap_exceeds_a_second_while_three_packets_in_ten_are_lost() {
    for (lost, delay_ns, window) in cases() {
        for seed in 0..50 {
            let mut world = world(seed, lost, delay_ns, window);
            let gap_ns = longest_gap_ns(&mut world);
            assert!(
                gap_ns < SECOND_NS,
                "seed {seed}: nothing was done for {gap_ns} ns; {lost} of 1000 lost, {delay_ns} ns \
                 each way, a window of {window} packets"
            );
        }
    }
}

/// Losses per thousand, delay between the interfaces, packets of the window.
fn cases() -> impl Iterator<Item = (u64, u64, u64)> {
    let windows = [1, 3, 16, 100].into_iter();
    let ways = windows.flat_map(|window| [(50_000, window), (500_000, window)]);
    ways.flat_map(|(delay_ns, window)| [(200, delay_ns, window), (300, delay_ns, window)])
}

/// Creates a sender whose peer grants `granted` packets of [`PACKET`] bytes, all of which are sent.
fn sender(granted: u64) -> Driver {
    let mut driver = Driver::new(Config::iwarp());
    let connection = driver.closed_connection(Protocol::Confirmed { repair: true });
    driver.manager.handle_connected(NOW, connection);
    let mut format = Format::fixed(20 * PACKET, 20 * PACKET, &[LinkId(0)]);
    format.packet_bytes = PACKET;
    let spec = StreamSpec::new(connection, Direction::Transmit, format, 1);
    let stream = driver.submit(&spec).expect("it fits");
    driver.offer(stream, &[LinkId(0)]);
    driver.run();
    acknowledge(&mut driver, NOW, 0, &[], granted);
    assert_eq!(sent(&mut driver), (0..granted).collect::<Vec<_>>());
    driver
}

/// Delivers a header: all packets below `below` have arrived, and `others`.
fn acknowledge(driver: &mut Driver, now: Instant, below: u64, others: &[u64], granted: u64) {
    let mut header = Header::new(Kind::Acknowledge, 0);
    header.acknowledged = below;
    header.beyond = others
        .iter()
        .fold(0, |bits, other| bits | 1 << (other - below - 1));
    header.granted = granted * (PACKET + Header::BYTES as u64);
    let offer = driver.manager.offer(now, ConnectionId(0), &header);
    assert_eq!(offer, Offer::Taken);
    driver.poll();
}

/// Carries out all orders, and returns the sent sequence numbers.
fn sent(driver: &mut Driver) -> Vec<u64> {
    let sequence = |work| match work {
        Work::Send { header, .. } => Some(header.sequence),
        _ => None,
    };
    driver.run().into_iter().filter_map(sequence).collect()
}

/// Advances to the next deadline. Returns its time, and the packets that were sent then.
fn sent_at_deadline(driver: &mut Driver) -> (Instant, Vec<u64>) {
    let at = driver.manager.poll_timeout().expect("a time-out is set");
    driver.manager.handle_timeout(at);
    driver.poll();
    (at, sent(driver))
}

#[test]
fn acknowledgements_repair_losses_and_lost_repairs() {
    let mut driver = sender(8);
    let now = Instant(100_000);
    acknowledge(&mut driver, now, 0, &[1, 2], 8);
    assert_eq!(sent(&mut driver), [], "two later ones may be out of order");
    acknowledge(&mut driver, now, 0, &[1, 2, 3], 8);
    assert_eq!(sent(&mut driver), [0], "three prove a loss");
    let all: Vec<_> = (1..8).collect();
    acknowledge(&mut driver, now, 0, &all, 12);
    assert_eq!(
        sent(&mut driver),
        [8, 9, 10, 11],
        "these are older than the repair"
    );
    let all: Vec<_> = (1..11).collect();
    acknowledge(&mut driver, now, 0, &all, 12);
    assert_eq!(
        sent(&mut driver),
        [0],
        "three later ones prove that the repair is lost"
    );
    assert_eq!(driver.manager.statistics().timeouts, 0);
}

#[test]
fn one_later_packet_proves_a_loss_after_a_while() {
    let mut driver = sender(2);
    acknowledge(&mut driver, Instant(100_001), 0, &[1], 2);
    assert_eq!(sent(&mut driver), []);
    // The mean is 100 us. Four deviations are less than the minimum addition, 1 ms.
    assert_eq!(sent_at_deadline(&mut driver), (Instant(1_100_001), vec![0]));
    assert_eq!(driver.manager.statistics().timeouts, 0);
}

/// An acknowledgement after a timeout may be for the first transmission. It does not prove that
/// packets sent before the timeout are lost.
#[test]
fn a_late_acknowledgement_after_a_time_out_sends_nothing_again() {
    let mut driver = sender(8);
    let (at, again) = sent_at_deadline(&mut driver);
    assert_eq!((at, again), (Instant(10_000_001), vec![0, 7]));
    acknowledge(&mut driver, at.after_ns(50_000), 1, &[], 8);
    assert_eq!(sent(&mut driver), []);
}

#[test]
fn time_outs_back_off_until_something_is_acknowledged() {
    let mut driver = sender(2);
    let mut last = NOW;
    let mut waits = |driver: &mut Driver, times: usize| -> Vec<u64> {
        let wait = |_| {
            let (at, again) = sent_at_deadline(driver);
            assert_eq!(again, [0, 1]);
            at.since_ns(std::mem::replace(&mut last, at)) / 1_000_000
        };
        (0..times).map(wait).collect()
    };
    assert_eq!(waits(&mut driver, 5), [10, 20, 40, 80, 160]);
    // A reply without progress does not change the back-off.
    acknowledge(&mut driver, NOW, 0, &[], 2);
    assert_eq!(waits(&mut driver, 1), [320]);
    acknowledge(&mut driver, NOW, 1, &[], 2);
    let (at, again) = sent_at_deadline(&mut driver);
    assert_eq!((at, again), (last.after_ns(10_000_000), vec![1, 1]));
}
