//! Fuzz target: a stream manager, with applications, a driver and a peer that make any call at any
//! time.

use crate::draw::Draw;
use isthmus_stream::checksum::Checksum;
use isthmus_stream::wire::{Header, Kind};
use isthmus_stream::{
    Adu, AppId, Config, Confirm, ConnectionId, ConnectionSpec, Direction, Finished, Format,
    Instant, Limits, LinkId, Manager, Offer, OrderId, Other, PacketId, Protocol, StreamId,
    StreamSpec, Work,
};

/// Staging memory of the manager in bytes.
const STAGING: u64 = 200;
/// Network memory of the manager in bytes.
const NETWORK: u64 = 1200;
/// The limits of one of the two applications.
const LIMITS: Limits = Limits {
    connections: 2,
    streams: 3,
    staging_bytes: 100,
    network_bytes: 600,
};

/// A stream manager, and the state of its driver and its peer.
struct World {
    manager: Manager,
    now: Instant,
    /// Number of connections that were opened.
    opened: u32,
    /// Orders (work) of the manager that the driver polled and did not report as completed.
    orders: Vec<OrderId>,
    /// Packets whose data is being received.
    arriving: Vec<PacketId>,
    /// The next sequence number that a correct peer sends.
    next: u64,
}

/// Returns a random number that is usually below `end`.
pub(crate) fn near(draw: &mut Draw, end: u64) -> u64 {
    match draw.below(16) {
        0 => draw.number(),
        at => at as u64 % end,
    }
}

/// Returns the random number of a connection, usually an existing one.
fn connection(draw: &mut Draw) -> ConnectionId {
    ConnectionId(near(draw, 4) as u32)
}

/// Returns the random number of a stream, usually an existing one.
fn stream(draw: &mut Draw) -> StreamId {
    StreamId(near(draw, 12) as u32)
}

/// Returns the random number of a link.
fn link(draw: &mut Draw) -> LinkId {
    LinkId(near(draw, 3) as u16)
}

/// Returns the random number of an application, usually an existing one.
fn app(draw: &mut Draw) -> AppId {
    AppId(near(draw, 3) as u32)
}

/// Returns a random data format of a stream, which may be invalid.
fn format(draw: &mut Draw) -> Format {
    let order: Vec<_> = (0..draw.below(5))
        .map(|_| LinkId(draw.below(3) as u16))
        .collect();
    let tu = near(draw, 16).wrapping_mul([1, 3, 5][draw.below(3)]);
    let adu = near(draw, 16).wrapping_mul([1, 4][draw.below(2)]);
    let mut format = Format::fixed(adu, tu, &order);
    if draw.below(4) == 0 {
        format.adu = Adu::Variable;
    }
    format.granule_bytes = near(draw, 8);
    if draw.flip() {
        format.packet_bytes = near(draw, 16);
    }
    format
}

/// Returns random settings of a stream, which may be invalid.
pub(crate) fn spec(draw: &mut Draw) -> StreamSpec {
    let direction = [Direction::Transmit, Direction::Receive][draw.below(2)];
    let mut spec = StreamSpec::new(connection(draw), direction, format(draw), near(draw, 4));
    let flags = draw.byte();
    spec.permanent = flags & 1 != 0;
    spec.cut_through = flags & 2 != 0;
    if flags & 4 != 0 {
        spec.finished = Finished::Moved;
    }
    if flags & 24 == 24 {
        spec.adus = None;
    }
    spec.quantum = near(draw, 3) as u32;
    for _ in 0..draw.below(8).saturating_sub(5) {
        let other = match draw.flip() {
            true => Other::Stream(stream(draw)),
            false => Other::Here(near(draw, 3) as usize),
        };
        match draw.flip() {
            true => spec.after.push(other),
            false => spec.in_step_with.push(other),
        }
    }
    spec
}

/// Returns random settings of a connection, which may be invalid.
pub(crate) fn connection_spec(draw: &mut Draw) -> ConnectionSpec {
    let protocol = match draw.below(4) {
        0 => Protocol::Stream,
        1 => Protocol::Confirmed { repair: true },
        2 => Protocol::Confirmed { repair: false },
        _ => Protocol::Unconfirmed {
            reorder: near(draw, 4) as u32,
        },
    };
    let mut spec = ConnectionSpec::new("x", protocol, near(draw, 16).wrapping_mul(40));
    spec.checksum = [Checksum::None, Checksum::Internet, Checksum::Crc32c][draw.below(3)];
    spec.confirm = [Confirm::Held, Confirm::Delivered][draw.below(2)];
    if draw.below(4) == 0 {
        spec.share_bytes = draw.number();
    }
    if draw.below(8) == 0 {
        spec.timeouts.first_ns = draw.number();
        spec.timeouts.least_ns = draw.number();
        spec.timeouts.most_ns = draw.number();
        spec.timeouts.tries = draw.number() as u32;
    }
    spec
}

impl World {
    /// Creates a manager with two applications.
    fn new() -> Self {
        let config = Config {
            staging_bytes: STAGING,
            engines: 3,
            network_bytes: NETWORK,
            stall_ns: 5000,
            ended_kept: 3,
        };
        let mut manager = Manager::new(config).expect("sizes above 0");
        manager.add_application(Limits::NONE);
        manager.add_application(LIMITS);
        Self {
            manager,
            now: Instant(0),
            opened: 0,
            orders: Vec::new(),
            arriving: Vec::new(),
            next: 0,
        }
    }

    /// Returns a random header that can be decoded, whose fields are usually consistent.
    fn header(&self, draw: &mut Draw) -> Header {
        let kind = [
            Kind::Data,
            Kind::Data,
            Kind::Data,
            Kind::Acknowledge,
            Kind::Probe,
        ];
        let mut header = Header::new(kind[draw.below(5)], 0);
        header.acknowledged = near(draw, 8);
        header.delivered = header.acknowledged.min(near(draw, 8));
        header.granted = draw.number();
        if draw.below(4) == 0 {
            header.beyond = draw.word();
            header.floor = near(draw, 16);
            for _ in 0..draw.below(3) {
                header.discarded.add(near(draw, 4) as u32);
            }
        }
        if header.kind == Kind::Data {
            header.sequence = if draw.below(4) > 0 {
                self.next
            } else {
                draw.number()
            };
            header.stream = near(draw, 4) as u32;
            header.adu = near(draw, 3);
            header.adu_bytes = [10, 16, 30, draw.number()][draw.below(4)];
            header.offset = near(draw, 16);
            header.bytes = near(draw, 16) as u32;
            let marks = draw.below(8);
            header.end = marks == 1 || header.bytes == 0;
            header.cut = marks == 2 && header.bytes == 0;
            header.end &= !header.cut;
        }
        header
    }

    /// Offers a packet with a random header to the manager, as if the network had delivered it.
    fn offer(&mut self, draw: &mut Draw) {
        let header = self.header(draw);
        let Ok(header) = Header::decode(&header.encode()) else {
            return;
        };
        match self.manager.offer(self.now, connection(draw), &header) {
            Offer::Take(packet) => {
                self.arriving.push(packet);
                self.next = header.sequence + 1;
            }
            Offer::Taken => self.next = header.sequence + 1,
            Offer::Drop(_) | Offer::Later => {}
        }
    }

    /// Reports to the manager that the data of a packet has arrived.
    fn arrive(&mut self, draw: &mut Draw) {
        if self.arriving.is_empty() {
            return;
        }
        let packet = self.arriving.remove(draw.below(self.arriving.len()));
        let sum = (draw.below(16) > 0).then_some(0);
        self.manager.handle_arrived(self.now, packet, sum);
    }

    /// Reports to the manager that an order, work that it gave its driver, is completed or withdrawn.
    fn complete(&mut self, draw: &mut Draw) {
        if self.orders.is_empty() {
            return;
        }
        let at = draw.below(self.orders.len());
        if draw.below(32) == 0 {
            // Report that the order was withdrawn. The manager must ignore this report if it has not requested the
            // withdrawal.
            self.manager.handle_withdrawn(self.now, self.orders[at]);
        } else {
            let order = self.orders.remove(at);
            self.manager.handle_completed(self.now, order, 0);
        }
    }

    /// Makes a random report of the driver to the manager, with a random number.
    fn nonsense(&mut self, draw: &mut Draw) {
        let (now, number) = (self.now, draw.number());
        match draw.below(3) {
            0 => self
                .manager
                .handle_completed(now, OrderId(number), number as u32),
            1 => self.manager.handle_withdrawn(now, OrderId(number)),
            _ => self
                .manager
                .handle_arrived(now, PacketId(number as u32), Some(0)),
        }
    }

    /// Performs a random action of an application, the driver or the peer.
    fn act(&mut self, draw: &mut Draw) {
        let now = self.now;
        let manager = &mut self.manager;
        // The manager may refuse a call, which is no error of the test.
        match draw.byte() % 40 {
            0 | 1 => {
                let opened = manager.open(now, app(draw), connection_spec(draw));
                self.opened += u32::from(opened.is_ok());
            }
            2 | 3 => manager.handle_connected(now, connection(draw)),
            4 if draw.below(4) == 0 => manager.handle_disconnected(now, connection(draw), "why"),
            5 if draw.below(4) == 0 => _ = manager.close(now, connection(draw)),
            6..10 => {
                let app = app(draw);
                let specs: Vec<_> = (0..draw.below(4)).map(|_| spec(draw)).collect();
                let _ = manager.submit_all(now, app, &specs);
            }
            10 => _ = manager.cancel(now, stream(draw)),
            11 => _ = manager.finish(now, stream(draw), near(draw, 4)),
            12 | 13 => _ = manager.announce(now, stream(draw), near(draw, 16)),
            14..17 => {
                let bytes = draw.number();
                let _ = manager.handle_offered(now, stream(draw), link(draw), bytes);
            }
            17 if draw.below(4) == 0 => manager.handle_rank_lost(now, stream(draw), link(draw)),
            18 => manager.handle_link_cut(now, link(draw)),
            19 | 20 => manager.handle_link_restored(now, link(draw)),
            21 => manager.handle_timeout(now),
            22 => self.now = Instant(now.0.saturating_add(draw.number())),
            23 => self.nonsense(draw),
            24 if draw.below(4) == 0 => _ = manager.remove_application(now, app(draw)),
            25 => _ = manager.add_application(LIMITS),
            26..30 => self.offer(draw),
            30..33 => self.arrive(draw),
            _ => self.complete(draw),
        }
        self.now = self.now.after_ns(100);
    }

    /// Polls all orders and events of the manager.
    fn poll(&mut self) {
        while let Some(order) = self.manager.poll_order() {
            match order.work {
                Work::Free { .. } | Work::Prepare { .. } | Work::Withdraw { .. } => {}
                Work::Connect { .. } | Work::Disconnect { .. } | Work::Control { .. } => {}
                _ => self.orders.push(order.id),
            }
        }
        while self.manager.poll_event().is_some() {}
        for direction in [Direction::Transmit, Direction::Receive] {
            let (staging, network) = self.manager.used(direction);
            assert!(
                staging <= STAGING && network <= NETWORK,
                "{staging}, {network}"
            );
        }
        self.bounds();
    }

    /// Checks the status of all streams, and that memory is within the limits of each application.
    fn bounds(&self) {
        let (mut streams, mut staging) = (0, [0; 2]);
        for id in self.manager.streams() {
            assert!(self.manager.waits(id).is_ok(), "{id}");
            let status = self.manager.status(id).expect("a stream that is listed");
            if status.app != AppId(1) {
                continue;
            }
            streams += u32::from(!status.over && status.end.is_none());
            staging[status.direction as usize] += status.holds.0;
        }
        assert!(streams <= LIMITS.streams, "{streams} streams");
        assert!(
            staging.iter().all(|has| *has <= LIMITS.staging_bytes),
            "{staging:?}"
        );
        let connections = (0..self.opened).filter_map(|id| {
            self.manager
                .connection_status(ConnectionId(id))
                .ok()
                .filter(|it| it.app == AppId(1))
        });
        let network = connections.fold([0; 2], |[out, back], it| {
            [out + it.network_bytes[0], back + it.network_bytes[1]]
        });
        assert!(
            network.iter().all(|has| *has <= LIMITS.network_bytes),
            "{network:?}"
        );
    }

    /// Removes all applications, and checks that nothing remains of them.
    fn end(&mut self) {
        for app in 0..300 {
            let _ = self.manager.remove_application(self.now, AppId(app));
        }
        for connection in 0..300 {
            let id = ConnectionId(connection);
            self.manager.handle_disconnected(self.now, id, "the end");
        }
        for link in 0..3 {
            self.manager.handle_link_restored(self.now, LinkId(link));
        }
        for _ in 0..10_000 {
            self.poll();
            let Some(order) = self.orders.pop() else {
                break;
            };
            self.manager.handle_completed(self.now, order, 0);
        }
        let streams: Vec<_> = self.manager.streams().collect();
        for id in streams {
            let status = self.manager.status(id);
            let over = status.as_ref().is_ok_and(|status| status.over);
            assert!(
                over,
                "{id} is left: {status:?}, {:?}",
                self.manager.waits(id)
            );
        }
        for direction in [Direction::Transmit, Direction::Receive] {
            assert_eq!(self.manager.used(direction), (0, 0), "{direction}");
        }
    }
}

/// Calls the manager with the random actions that `data` selects.
pub fn manager(data: &[u8]) {
    let mut draw = Draw::new(data);
    let mut world = World::new();
    for _ in 0..400 {
        if !draw.more() {
            break;
        }
        world.act(&mut draw);
        world.poll();
    }
    world.end();
}
