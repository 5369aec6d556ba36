//! A world in virtual time: two interfaces, a network with all its faults, ranks that are slow, die
//! and stop reading, and the invariants.

pub mod episode;
pub mod node;
pub mod rng;

use isthmus_stream::wire::Header;
use isthmus_stream::{
    ConnectionId, Direction, End, Event, Instant, LinkId, Offer, OrderId, PacketId, Protocol,
    Reason, StreamId, Work,
};
use node::{Node, Track, sum};
use rng::Rng;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// The kind of a future event.
pub enum Next {
    Over(OrderId),
    Arrive(ConnectionId, Vec<u8>, Vec<u64>),
    Copied(PacketId, u64),
    Connected(ConnectionId),
    Offer(StreamId),
    Finish(StreamId),
    Restore(LinkId),
    Hangup(ConnectionId),
    Tick,
}

/// Frequencies of faults, in thousandths.
#[derive(Clone, Copy, Default)]
pub struct Faults {
    pub lost: u64,
    pub doubled: u64,
    pub late: u64,
    pub corrupted: u64,
    pub actions: u64,
}

/// Numbers of interesting events.
#[derive(Clone, Copy, Default, Debug)]
pub struct Counts {
    pub steps: u64,
    pub streams: u64,
    pub done: u64,
    pub failed: u64,
    pub discarded: u64,
    pub cancelled: u64,
    pub adus: u64,
    pub adus_void: u64,
    pub bytes: u64,
    pub lost: u64,
    pub doubled: u64,
    pub late: u64,
    pub corrupted: u64,
    pub corrupted_reported: u64,
    pub cuts: u64,
    pub ranks_lost: u64,
    pub connections_lost: u64,
    pub retransmissions: u64,
    pub predicted: u64,
    pub refused: u64,
    pub swaps: u64,
    pub stored_early: u64,
    pub stalls: u64,
    pub hung_named: u64,
    pub lock_steps: u64,
    pub afters: u64,
    pub finished_late: u64,
}

impl Counts {
    pub fn add(&mut self, other: &Self) {
        let pairs = [
            (&mut self.steps, other.steps),
            (&mut self.streams, other.streams),
            (&mut self.done, other.done),
            (&mut self.failed, other.failed),
            (&mut self.discarded, other.discarded),
            (&mut self.cancelled, other.cancelled),
            (&mut self.adus, other.adus),
            (&mut self.adus_void, other.adus_void),
            (&mut self.bytes, other.bytes),
            (&mut self.lost, other.lost),
            (&mut self.doubled, other.doubled),
            (&mut self.late, other.late),
            (&mut self.corrupted, other.corrupted),
            (&mut self.corrupted_reported, other.corrupted_reported),
            (&mut self.cuts, other.cuts),
            (&mut self.ranks_lost, other.ranks_lost),
            (&mut self.connections_lost, other.connections_lost),
            (&mut self.retransmissions, other.retransmissions),
            (&mut self.predicted, other.predicted),
            (&mut self.refused, other.refused),
            (&mut self.swaps, other.swaps),
            (&mut self.stored_early, other.stored_early),
            (&mut self.stalls, other.stalls),
            (&mut self.hung_named, other.hung_named),
            (&mut self.lock_steps, other.lock_steps),
            (&mut self.afters, other.afters),
            (&mut self.finished_late, other.finished_late),
        ];
        for (mine, more) in pairs {
            *mine += more;
        }
    }
}

pub struct World {
    pub now: u64,
    pub nodes: [Node; 2],
    pub rng: Rng,
    pub faults: Faults,
    pub counts: Counts,
    /// The minimum delay of a packet between the interfaces.
    pub delay_ns: u64,
    queue: BinaryHeap<Reverse<(u64, u64, usize)>>,
    things: BTreeMap<u64, Next>,
    next: u64,
}

impl World {
    pub fn new(nodes: [Node; 2], rng: Rng) -> Self {
        Self {
            now: 0,
            nodes,
            rng,
            faults: Faults::default(),
            counts: Counts::default(),
            delay_ns: 10_000,
            queue: BinaryHeap::new(),
            things: BTreeMap::new(),
            next: 0,
        }
    }

    pub fn at(&self) -> Instant {
        Instant(self.now)
    }

    pub fn plan(&mut self, at: u64, node: usize, what: Next) {
        self.queue.push(Reverse((at, self.next, node)));
        self.things.insert(self.next, what);
        self.next += 1;
    }

    /// Runs the next event. Returns false if there is none.
    pub fn step(&mut self) -> bool {
        let Some(Reverse((at, number, node))) = self.queue.pop() else {
            return false;
        };
        let Some(what) = self.things.remove(&number) else {
            return true;
        };
        self.now = self.now.max(at);
        self.counts.steps += 1;
        let now = self.at();
        match what {
            Next::Over(order) => {
                let Some(work) = self.nodes[node].under_way.remove(&order) else {
                    return true;
                };
                let sum = self.nodes[node].carry_out(&work);
                if let Work::Send {
                    connection,
                    packet,
                    header,
                } = &work
                {
                    let data = match header.bytes {
                        0 => Vec::new(),
                        _ => self.nodes[node].places[packet].clone(),
                    };
                    self.transmit(node, *connection, header, data);
                }
                self.nodes[node].manager.handle_completed(now, order, sum);
            }
            Next::Arrive(connection, header, data) => {
                let Some(side) = self.nodes[node].sides.get_mut(&connection) else {
                    return true;
                };
                if side.gone {
                    return true;
                }
                side.backlog.push_back((header, data));
            }
            Next::Copied(packet, token) => {
                let known = self.nodes[node].copying.get(&packet);
                if known.is_none_or(|(_, known)| *known != token) {
                    return true;
                }
                self.nodes[node].copying.remove(&packet);
                let sum = sum(&self.nodes[node].places[&packet]);
                let sum = (!self.rng.chance(self.faults.corrupted / 4)).then_some(sum);
                self.nodes[node].manager.handle_arrived(now, packet, sum);
            }
            Next::Connected(connection) => {
                if self.nodes[node]
                    .sides
                    .get(&connection)
                    .is_some_and(|side| !side.gone)
                {
                    self.nodes[node].manager.handle_connected(now, connection);
                }
            }
            Next::Offer(stream) => self.offer(node, stream),
            Next::Finish(stream) => {
                let it = &mut self.nodes[node];
                let track = &it.streams[&stream];
                if track.end.is_none() {
                    let adus = track.adus;
                    self.counts.finished_late += 1;
                    // It may have failed before its number of ADUs was set.
                    let _ = it.manager.finish(now, stream, adus);
                }
            }
            Next::Restore(link) => {
                self.nodes[node].cut.remove(&link);
                self.nodes[node].manager.handle_link_restored(now, link);
            }
            Next::Hangup(connection) => {
                self.forget(node, connection);
                let it = &mut self.nodes[node].manager;
                it.handle_disconnected(now, connection, "the peer closed it");
            }
            // A timer at another time has replaced it.
            Next::Tick if self.nodes[node].tick_at != Some(at) => return true,
            Next::Tick => {
                self.nodes[node].tick_at = None;
                self.nodes[node].manager.handle_timeout(now);
            }
        }
        self.drain(node);
        self.check(node);
        true
    }

    /// Makes ranks offer more data of a stream, until all of it is offered.
    fn offer(&mut self, node: usize, stream: StreamId) {
        let now = self.at();
        let Some(track) = self.nodes[node].streams.get_mut(&stream) else {
            return;
        };
        if track.end.is_some() {
            return;
        }
        track.offered += self.rng.between(1, track.tu_bytes);
        let (offered, links) = (track.offered, track.links.clone());
        let all = offered > track.adus * (1 << 10);
        let exact = track.exact.clone();
        for link in links {
            let most = exact.as_ref().map_or(u64::MAX, |exact| exact[&link]);
            let bytes = if all { most } else { offered.min(most) };
            let known = self.nodes[node]
                .manager
                .handle_offered(now, stream, link, bytes);
            known.expect("a live stream knows its links");
        }
        if !all {
            let later = self.now + self.rng.below(200_000);
            self.plan(later, node, Next::Offer(stream));
        } else if exact.is_some() {
            let later = self.now + self.rng.below(5_000_000);
            self.plan(later, node, Next::Finish(stream));
        }
    }

    /// Sends a packet over the network.
    fn transmit(&mut self, node: usize, id: ConnectionId, header: &Header, mut data: Vec<u64>) {
        let side = self.nodes[node]
            .sides
            .get_mut(&id)
            .expect("sends go over connections");
        if side.gone {
            return;
        }
        let (peer, ordered) = (side.peer, side.protocol == Protocol::Stream);
        let mut bytes = header.encode().to_vec();
        let mut at = self.now + self.delay_ns + self.rng.below(2_000);
        if ordered {
            at = at.max(side.arrives + 1);
            side.arrives = at;
            return self.plan(at, 1 - node, Next::Arrive(peer, bytes, data));
        }
        if self.rng.chance(self.faults.lost) {
            self.counts.lost += 1;
            return;
        }
        if self.rng.chance(self.faults.late) {
            self.counts.late += 1;
            at += self.rng.below(30_000_000);
        }
        if self.rng.chance(self.faults.doubled) {
            self.counts.doubled += 1;
            let again = at + self.rng.below(20_000_000);
            self.plan(
                again,
                1 - node,
                Next::Arrive(peer, bytes.clone(), data.clone()),
            );
        }
        if self.rng.chance(self.faults.corrupted) {
            self.counts.corrupted += 1;
            if data.is_empty() || self.rng.chance(300) {
                let place = self.rng.below(bytes.len() as u64) as usize;
                bytes[place] ^= 1 << self.rng.below(8);
            } else {
                let place = self.rng.below(data.len() as u64) as usize;
                data[place] ^= 1 << self.rng.below(60);
            }
        }
        self.plan(at, 1 - node, Next::Arrive(peer, bytes, data));
    }

    /// Carries out the orders of a node's manager.
    pub fn drain(&mut self, node: usize) {
        loop {
            while let Some(order) = self.nodes[node].manager.poll_order() {
                self.begin(node, order.id, order.work);
            }
            while let Some(event) = self.nodes[node].manager.poll_event() {
                self.check_event(node, event);
            }
            if !self.take_in(node) {
                break;
            }
        }
        let due = self.nodes[node]
            .manager
            .poll_timeout()
            .map(|at| at.0.max(self.now));
        if let Some(due) = due
            && self.nodes[node].tick_at.is_none_or(|at| due < at)
        {
            self.nodes[node].tick_at = Some(due);
            self.plan(due, node, Next::Tick);
        }
    }

    /// Offers arrived packets to the manager. Returns whether it accepted any.
    fn take_in(&mut self, node: usize) -> bool {
        let now = self.at();
        let mut any = false;
        let sides: Vec<_> = self.nodes[node].sides.keys().copied().collect();
        for id in sides {
            while let Some(side) = self.nodes[node].sides.get_mut(&id) {
                let Some((bytes, data)) = side.backlog.pop_front() else {
                    break;
                };
                let ordered = side.protocol == Protocol::Stream;
                let Ok(header) = Header::decode(&bytes) else {
                    continue;
                };
                // In either case, its acknowledgement may have caused orders.
                let answer = self.nodes[node].manager.offer(now, id, &header);
                any |= !(ordered && answer == Offer::Later);
                match answer {
                    Offer::Take(packet) => {
                        let token = self.next;
                        let later = self.now + if ordered { 10 } else { self.rng.below(3_000) };
                        let before = self.nodes[node].places.insert(packet, data);
                        assert!(before.is_none(), "packet {packet} comes where another is");
                        self.nodes[node].copying.insert(packet, (id, token));
                        self.plan(later, node, Next::Copied(packet, token));
                    }
                    Offer::Later if ordered => {
                        let side = self.nodes[node].sides.get_mut(&id).expect("it was there");
                        side.backlog.push_front((bytes, data));
                        break;
                    }
                    Offer::Taken | Offer::Later | Offer::Drop(_) => (),
                }
            }
        }
        any
    }

    /// Begins an order.
    fn begin(&mut self, node: usize, id: OrderId, work: Work) {
        let now = self.now;
        let rng = &mut self.rng;
        let it = &mut self.nodes[node];
        let over = match &work {
            Work::Connect { connection, .. } => {
                let at = now + rng.below(1_000_000);
                let connection = *connection;
                return self.plan(at, node, Next::Connected(connection));
            }
            Work::Disconnect { connection } => {
                let connection = *connection;
                let peer = it.sides[&connection].peer;
                self.forget(node, connection);
                return self.plan(now + 50_000_000, 1 - node, Next::Hangup(peer));
            }
            Work::Fetch { su, .. } => {
                assert!(
                    !it.cut.contains(&su.link),
                    "a fetch on link {}, which is cut",
                    su.link
                );
                it.link_time(su.link, now, su.bytes, rng)
            }
            Work::Deliver { stream, tu, su, .. } => {
                assert!(
                    !it.cut.contains(&su.link),
                    "an SU for link {}, which is cut",
                    su.link
                );
                let link = LinkId(su.link.0 + 1000);
                let place = Some((tu.adu, tu.index, su.index));
                let over = it.link_time(link, now, su.bytes, rng);
                let track = it.streams.get_mut(stream).expect("a stream of the test");
                // After a cut an SU may come again, but none is skipped or reordered.
                track.last = track.last.max(place);
                over
            }
            Work::Store { .. } | Work::Load { .. } => now + rng.below(2_000),
            Work::Send {
                connection, header, ..
            } => {
                let side = it
                    .sides
                    .get_mut(connection)
                    .expect("sends go over connections");
                let bytes = u64::from(header.bytes) + 112;
                side.wire_free = now.max(side.wire_free) + bytes * 2;
                side.wire_free
            }
            Work::Control { connection, header } => {
                return self.transmit(node, *connection, header, Vec::new());
            }
            Work::Free { packet } => {
                it.places.remove(packet);
                return;
            }
            Work::Withdraw { order } => {
                if rng.chance(500) && it.under_way.remove(order).is_some() {
                    it.manager.handle_withdrawn(Instant(now), *order);
                }
                return;
            }
            Work::Prepare { .. } => return,
        };
        it.under_way.insert(id, work);
        self.plan(over, node, Next::Over(id));
    }

    /// Forgets the operations of a lost connection.
    pub fn forget(&mut self, node: usize, id: ConnectionId) {
        let it = &mut self.nodes[node];
        if let Some(side) = it.sides.get_mut(&id) {
            side.gone = true;
            side.backlog.clear();
        }
        it.under_way
            .retain(|_, work| !matches!(work, Work::Send { connection, .. } if *connection == id));
        it.copying.retain(|_, (connection, _)| *connection != id);
    }

    /// Checks an event of the manager against the test's state.
    fn check_event(&mut self, node: usize, event: Event) {
        let peer = 1 - node;
        match event {
            Event::AduStarted { stream, adu } => {
                let track = &self.nodes[node].streams[&stream];
                assert!(
                    adu >= track.started,
                    "ADU {adu} of stream {stream} begins again"
                );
                for other in &track.step {
                    let other = &self.nodes[node].streams[other];
                    let behind = other.end.is_none() && other.finished() < adu;
                    assert!(!behind, "stream {stream} begins ADU {adu} before its step");
                    self.counts.lock_steps += 1;
                }
                for other in &track.after {
                    let end = &self.nodes[node].streams[other].end;
                    assert_eq!(
                        *end,
                        Some(End::Done),
                        "{stream} begins before {other} is done"
                    );
                    self.counts.afters += 1;
                }
                self.track(node, stream).started = adu + 1;
            }
            Event::AduMoved { stream, adu, good } => {
                let track = self.track(node, stream);
                assert_eq!(track.moved, adu, "ADUs of stream {stream} move in order");
                track.moved += 1;
                if track.direction == Direction::Receive {
                    track.done += 1;
                    track.good += u64::from(good);
                    self.counts.adus += u64::from(good);
                    self.counts.adus_void += u64::from(!good);
                }
            }
            Event::AduDone { stream, adu, .. } => {
                let track = self.track(node, stream);
                assert_eq!(track.done, adu, "ADUs of stream {stream} are done in order");
                track.done += 1;
            }
            Event::Ended { stream, end } => {
                let track = self.track(node, stream);
                assert_eq!(track.end, None, "stream {stream} ends twice");
                track.end = Some(end.clone());
                let (key, adus) = (track.key, track.adus);
                let (direction, connection) = (track.direction, track.connection);
                let whole = |track: &&Track| track.key == key && track.direction != direction;
                if let End::Failed(reason) = &end {
                    let other = self.nodes[peer].streams.values().find(whole);
                    self.justified(node, stream, reason, other);
                    self.counts.discarded += u64::from(*reason == Reason::Discarded);
                }
                match end {
                    End::Done => self.counts.done += 1,
                    End::Failed(_) => self.counts.failed += 1,
                    End::Cancelled => self.counts.cancelled += 1,
                }
                let repairs = matches!(
                    self.nodes[node].sides[&connection].protocol,
                    Protocol::Stream | Protocol::Confirmed { repair: true }
                );
                let by_held = self.nodes[node].sides[&connection].by_held;
                let known = !by_held || direction == Direction::Receive;
                if end == End::Done && repairs && known {
                    let other = self.nodes[peer].streams.values().find(whole);
                    let other = other.expect("streams come in pairs");
                    let good = match direction {
                        Direction::Transmit => other.good,
                        Direction::Receive => self.nodes[node].streams[&stream].good,
                    };
                    assert_eq!(good, adus, "stream {stream} is done, delivered whole");
                }
            }
            Event::Corrupted { .. } => self.counts.corrupted_reported += 1,
            Event::Stalled { stream, waits, .. } => {
                assert!(!waits.is_empty(), "stream {stream} stalls without a reason");
                self.counts.stalls += 1;
            }
            Event::Lost { connection, .. } => {
                self.counts.connections_lost += 1;
                self.forget(node, connection);
                // The other end is notified.
                let other = self.nodes[node].sides[&connection].peer;
                let now = self.at();
                self.forget(peer, other);
                self.nodes[peer]
                    .manager
                    .handle_disconnected(now, other, "the peer is gone");
                self.drain(peer);
            }
            Event::LinkCut { .. } => self.counts.cuts += 1,
            _ => (),
        }
    }

    /// Checks that a failure has a cause: peers behave correctly here, and the two ends of a stream
    /// match.
    fn justified(&self, node: usize, stream: StreamId, reason: &Reason, other: Option<&Track>) {
        let it = &self.nodes[node];
        let not_done = |track: Option<&Track>| {
            let end = track.and_then(|track| track.end.as_ref());
            end != Some(&End::Done)
        };
        let caused = match reason {
            Reason::ConnectionLost(connection, _) => it.sides[connection].gone,
            Reason::RankLost(link) => it.streams[&stream].links.contains(link),
            Reason::CutShort { .. } | Reason::Discarded => not_done(other),
            Reason::After(cause) | Reason::Step(cause) => not_done(it.streams.get(cause)),
            Reason::Mismatch(_) => false,
            Reason::EndLost => {
                let side = &it.sides[&it.streams[&stream].connection];
                let protocol = side.protocol;
                !matches!(
                    protocol,
                    Protocol::Stream | Protocol::Confirmed { repair: true }
                )
            }
        };
        assert!(caused, "stream {stream} fails without a cause: {reason}");
    }

    fn track(&mut self, node: usize, stream: StreamId) -> &mut Track {
        let track = self.nodes[node].streams.get_mut(&stream);
        track.unwrap_or_else(|| panic!("an event of stream {stream}, which is not of the test"))
    }

    /// Checks that both memories stay within their bounds, by the manager's count and by the
    /// test's.
    fn check(&self, node: usize) {
        let it = &self.nodes[node];
        let config = it.manager.config();
        let mut stored = 0;
        for direction in [Direction::Transmit, Direction::Receive] {
            let (staging, network) = it.manager.used(direction);
            assert!(
                staging <= config.staging_bytes,
                "{staging} bytes are staged"
            );
            assert!(
                network <= config.network_bytes,
                "{network} bytes are stored"
            );
            stored += network;
        }
        let places = it.places.iter().map(|(id, data)| (*id, data.len()));
        assert!(
            it.stored_bytes() <= stored,
            "node {node} has more in its places than the {stored} bytes that its manager counts: \
             {:?}, orders under way {:?}",
            places.collect::<Vec<_>>(),
            it.under_way
        );
    }
}
