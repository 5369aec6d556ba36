//! The part of the manager that handles arriving packets: accepts them and assigns them to streams.

use super::receive::Verdict;
use super::{Drop, Offer};
use crate::checksum::Checksum;
use crate::config::Protocol;
use crate::control::Manager;
use crate::format::Adu;
use crate::ids::{ConnectionId, Direction, Instant, PacketId, StreamId};
use crate::network_memory::Packet;
use crate::order::{End, Event, Reason};
use crate::wire::{Header, Kind};

/// Maximum number of consecutive application data units (ADUs) that may be missing between two
/// received packets.
const ADUS_MISSING: u64 = 1 << 16;
/// Maximum distance from the next expected sequence number to the floor in a received header (the
/// number below which the peer sends no more packets).
const FLOOR_AHEAD: u64 = 1 << 20;

impl Manager {
    /// Handles the header of a packet that has arrived, and decides whether its data may go into
    /// network memory. The manager handles the acknowledgements and credit of the header in either
    /// case.
    pub fn offer(&mut self, now: Instant, id: ConnectionId, header: &Header) -> Offer {
        self.advance(now);
        let answer = self.judge(id, header);
        match answer {
            Offer::Drop(Drop::Duplicate) => self.statistics.duplicates += 1,
            Offer::Drop(_) => self.statistics.stray += 1,
            Offer::Later => self.statistics.refused += 1,
            Offer::Take(_) | Offer::Taken => (),
        }
        self.settle();
        answer
    }

    /// Decides from the header of an arriving packet whether to accept the packet's data, and
    /// returns the answer for the driver.
    fn judge(&mut self, id: ConnectionId, header: &Header) -> Offer {
        let known = self.connections.get(&id).filter(|one| one.gone.is_none());
        let Some(known) = known.filter(|one| one.spec.channel == header.channel) else {
            return Offer::Drop(Drop::Stray);
        };
        if !known.open {
            // Refuse packets for now: the driver has not reported that the connection is open.
            return Offer::Later;
        }
        if let Err(why) = self.handle_header(id, header) {
            return Offer::Drop(why);
        }
        if header.kind == Kind::Acknowledge {
            return Offer::Taken;
        }
        let Some(connection) = self.connections.get_mut(&id) else {
            return Offer::Drop(Drop::Stray);
        };
        let (protocol, half) = (connection.spec.protocol, &mut connection.receive);
        if protocol.confirms() {
            self.acknowledge_due.insert(id);
        }
        if !protocol.repairs() {
            if header.floor > half.expected.saturating_add(FLOOR_AHEAD) {
                return Offer::Drop(Drop::Impossible);
            }
            let own = match header.kind {
                Kind::Data => header.sequence,
                _ => u64::MAX,
            };
            // A packet that is being copied has arrived, even if its sequence number is below the
            // floor.
            let copied = half
                .arriving
                .first_key_value()
                .map(|(sequence, _)| *sequence);
            let floor = header.floor.min(own).min(copied.unwrap_or(u64::MAX));
            half.give_up_below(floor);
            self.dirty_connections.insert(id);
        }
        if header.kind == Kind::Probe {
            self.reply(id);
            return Offer::Taken;
        }
        let mut verdict = half.judge(header);
        if verdict == Verdict::NoRoom
            && !protocol.repairs()
            && half.held.is_empty()
            && half.arriving.is_empty()
            && half.give_up_gap()
        {
            verdict = half.judge(header);
        }
        match verdict {
            Verdict::Take => (),
            Verdict::Duplicate => {
                self.reply(id);
                return Offer::Drop(Drop::Duplicate);
            }
            Verdict::Impossible => return Offer::Drop(Drop::Impossible),
            Verdict::NoRoom => return Offer::Later,
        }
        if half.predicted(header) {
            self.statistics.predicted += 1;
        }
        if header.sequence == half.expected {
            let end = header.offset + u64::from(header.bytes);
            half.last = Some(match end == header.adu_bytes {
                true => (header.stream, header.adu + 1, 0),
                false => (header.stream, header.adu, end),
            });
        }
        half.cost += header.cost();
        let app = connection.app;
        let marks = header.bytes == 0;
        let packet = self.memory.take(Packet {
            direction: Direction::Receive,
            app,
            connection: id,
            stream: None,
            header: *header,
            whole: marks,
            users: 0,
            leaving: false,
            tries: 0,
            sent_at: Instant::default(),
            number: 0,
            proves: 0,
        });
        let Some(connection) = self.connections.get_mut(&id) else {
            return Offer::Drop(Drop::Stray);
        };
        if marks {
            connection.receive.insert(header.sequence, packet);
            self.packet_in_order(id);
            return Offer::Taken;
        }
        connection.receive.arriving.insert(header.sequence, packet);
        Offer::Take(packet)
    }

    /// Sends an acknowledgement at once, as the answer to a probe or a duplicate. Either of these
    /// means that acknowledgements may be lost, so one answer must not cover several of them.
    fn reply(&mut self, id: ConnectionId) {
        let connection = self.connections.get(&id);
        if connection.is_some_and(|one| one.protocol().confirms()) {
            self.send_control(id, Kind::Acknowledge);
        }
    }

    /// Handles the packets of a connection that are now in order: their streams may continue.
    fn packet_in_order(&mut self, id: ConnectionId) {
        if let Some(connection) = self.connections.get_mut(&id)
            && let Protocol::Unconfirmed { reorder } = connection.spec.protocol
        {
            connection.receive.give_up_overtaken(reorder);
        }
        self.dirty_connections.insert(id);
    }

    /// Handles the driver's report that the data of an accepted packet is in network memory. `sum`
    /// is the checksum of the data, of the connection's kind, or any number if the connection has
    /// none. It is None if the data did not arrive completely.
    pub fn handle_arrived(&mut self, now: Instant, packet: PacketId, sum: Option<u32>) {
        self.advance(now);
        self.arrived(packet, sum);
        self.settle();
    }

    /// Checks the checksum of an arrived packet, and inserts the packet in the order of sequence
    /// numbers.
    fn arrived(&mut self, id: PacketId, sum: Option<u32>) {
        let packet = self.memory.get(id);
        let waits = packet.filter(|packet| packet.direction == Direction::Receive && !packet.whole);
        let Some((of, header)) = waits.map(|packet| (packet.connection, packet.header)) else {
            self.statistics.stale += 1;
            return;
        };
        let Some(connection) = self.connections.get_mut(&of) else {
            return;
        };
        connection.receive.arriving.remove(&header.sequence);
        if connection.protocol().confirms() {
            self.acknowledge_due.insert(of);
        }
        let right = connection.spec.checksum == Checksum::None || sum == Some(header.sum);
        if sum.is_none() || !right {
            let reliable = connection.protocol() == Protocol::Stream;
            self.release(id, false);
            self.statistics.corrupted += 1;
            self.report_corrupted(of, &header);
            if reliable {
                self.lose(
                    of,
                    "a packet came corrupted, and nothing below repairs it",
                    true,
                );
            }
            return;
        }
        self.statistics.packets_held += 1;
        self.statistics.bytes_held += u64::from(header.bytes);
        if let Some(packet) = self.memory.get_mut(id) {
            packet.whole = true;
        }
        connection.receive.insert(header.sequence, id);
        self.packet_in_order(of);
    }

    /// Reports to the application that a packet arrived with corrupted data.
    fn report_corrupted(&mut self, connection: ConnectionId, header: &Header) {
        let order = self.connections.get(&connection).map(|one| &one.order[1]);
        let mut streams = order.into_iter().flatten();
        let is_receiver = |id: &&StreamId| {
            self.streams
                .get(id)
                .is_some_and(|stream| stream.ordinal == header.stream)
        };
        let stream = streams.find(is_receiver).copied();
        let format = stream
            .and_then(|id| self.streams.get(&id))
            .map(|stream| &stream.format);
        let tu = format.map(|format| header.offset / format.tu_bytes);
        let (adu, range) = (header.adu, (header.offset, header.bytes));
        self.push_event(Event::Corrupted {
            connection,
            stream,
            adu,
            tu,
            range,
        });
    }

    /// Handles the first packets of the receive queue: discards packets of ended streams, handles
    /// end marks, and ends streams that have invalid packets.
    pub(crate) fn settle_receive(&mut self, id: ConnectionId) {
        loop {
            let Some(connection) = self.connections.get_mut(&id) else {
                return;
            };
            let order = &mut connection.order[Direction::Receive.index()];
            let front = order.front().copied();
            let stream = front.and_then(|front| self.streams.get(&front));
            if front.is_some() && stream.is_none_or(|stream| stream.end.is_some()) {
                // Remove the ended stream from the order, even if its buffers are still on their
                // way to ranks: the packets after its end mark belong to the next stream.
                order.pop_front();
                self.resolve = true;
                continue;
            }
            let ordinal = stream.map_or(connection.ordinals[1], |stream| stream.ordinal);
            let gone = connection.gone.clone();
            let held = connection.receive.held.front().copied();
            let header = held
                .and_then(|packet| self.memory.get(packet))
                .map(|one| one.header);
            let (Some(packet), Some(header)) = (held, header) else {
                self.report_all_delivered(id);
                if let (Some(front), Some(why)) = (front, gone) {
                    let stream = self.streams.get(&front);
                    if stream
                        .is_some_and(|stream| stream.peer_adus.is_none() && !stream.satisfied())
                    {
                        let why = Reason::ConnectionLost(id, why);
                        self.end_stream(front, End::Failed(why));
                        continue;
                    }
                }
                return self.schedule_front(front);
            };
            if header.stream < ordinal {
                self.discard(id, packet, &header);
                continue;
            }
            let Some(front) = front else {
                return;
            };
            let Some(stream) = self.streams.get_mut(&front) else {
                return;
            };
            if header.stream > ordinal {
                stream.end_lost = true;
                return self.schedule_front(Some(front));
            }
            if header.bytes > 0 {
                if let Some(why) = mismatch(stream, &header) {
                    self.end_stream(front, End::Failed(Reason::Mismatch(why)));
                    continue;
                }
                return self.schedule_front(Some(front));
            }
            // The packet is a mark that the stream ends here, or cuts data short. Check that its
            // number of ADUs (application data units) fits those that have started: a protocol with
            // repair permits no gap.
            let whole = connection.spec.protocol.repairs();
            let started = stream.started;
            let far = header.adu > started.saturating_add(ADUS_MISSING);
            let wrong =
                header.end && (header.adu < started || far || whole && header.adu > started);
            let bytes = stream.bytes_of_adu();
            // Whether the mark lies between two application data units (ADUs), that is, no ADU has
            // arrived in part only.
            let between = stream.cursor.is_none() && bytes == 0;
            if header.end {
                stream.peer_adus = Some(header.adu);
            }
            connection.receive.held.pop_front();
            connection.receive.taken = header.sequence + 1;
            self.release(packet, true);
            if wrong {
                let why = format!(
                    "the peer ends after {} ADUs, {started} have started",
                    header.adu
                );
                self.end_stream(front, End::Failed(Reason::Mismatch(why)));
            } else if header.cut {
                let adu = started.saturating_sub(u64::from(!between));
                self.end_stream(front, End::Failed(Reason::CutShort { adu, bytes }));
            }
        }
    }

    /// Schedules stream `front`, the first of the streams that receive from a connection, because
    /// it may have new work. Does nothing for `None`.
    fn schedule_front(&mut self, front: Option<StreamId>) {
        if let Some(front) = front {
            self.schedule_stream(front);
        }
    }

    /// Discards a received packet that is no longer needed.
    pub(crate) fn discard(&mut self, id: ConnectionId, packet: PacketId, header: &Header) {
        if let Some(connection) = self.connections.get_mut(&id) {
            let half = &mut connection.receive;
            half.held.pop_front();
            half.taken = header.sequence + 1;
            if header.bytes > 0 {
                half.discarded.add(header.stream);
                self.statistics.discarded += 1;
            }
        }
        self.release(packet, true);
        self.report_all_delivered(id);
    }

    /// If no buffer contains undelivered data, records that all consumed data is delivered, and
    /// schedules an acknowledgement that reports it to the peer.
    pub(crate) fn report_all_delivered(&mut self, id: ConnectionId) {
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        let half = &mut connection.receive;
        if half.taken > half.delivered && half.buffered == 0 && half.deliver_below(half.taken) {
            self.schedule_acknowledgement(id);
        }
    }

    /// Schedules an acknowledgement to the peer of a connection.
    pub(crate) fn schedule_acknowledgement(&mut self, id: ConnectionId) {
        let connection = self.connections.get(&id);
        if connection.is_some_and(|one| one.open && one.protocol().confirms()) {
            self.acknowledge_due.insert(id);
        }
    }
}

/// Returns the reason for which a packet does not belong to the stream, or None if it does.
fn mismatch(stream: &crate::control::stream::Stream, header: &Header) -> Option<String> {
    if stream.adus.is_some_and(|adus| header.adu >= adus) {
        let adus = stream.adus.unwrap_or(0);
        return Some(format!(
            "the peer sends ADU {}, {adus} were asked for",
            header.adu
        ));
    }
    match stream.format.adu {
        Adu::Fixed(bytes) if bytes != header.adu_bytes => {
            let found = header.adu_bytes;
            Some(format!(
                "the peer sends ADUs of {found} bytes, {bytes} were asked for"
            ))
        }
        Adu::Variable if header.adu_bytes > stream.format.tu_bytes => Some(format!(
            "the peer sends an ADU of {} bytes, a TU has {}",
            header.adu_bytes, stream.format.tu_bytes
        )),
        _ if header.adu > stream.started.saturating_add(ADUS_MISSING) => Some(format!(
            "the peer sends ADU {} after ADU {}",
            header.adu, stream.started
        )),
        _ => None,
    }
}
