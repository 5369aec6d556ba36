//! The part of the manager that sends packets and handles acknowledgements and timeouts.

use super::Drop;
use super::transmit::Awaited;
use crate::config::Protocol;
use crate::control::{Manager, Task};
use crate::ids::{ConnectionId, Direction, Instant, PacketId, StreamId};
use crate::network_memory::Packet;
use crate::order::{End, Event, Reason, Work};
use crate::wire::{Header, Kind};

/// A packet counts as lost once a packet that was sent this number of transmissions later has
/// arrived (RFC 9002, 6.1.1).
const PACKET_THRESHOLD: u64 = 3;
/// Number of packets that a timeout sends (RFC 9002, 6.2.4).
const TIMEOUT_PACKETS: usize = 2;
/// Number of timeouts that send probes before the manager gives up data that it may not send again.
const PROBE_TIMEOUTS: u32 = 3;
/// Number of probes sent after the last packet of a connection whose protocol does not confirm
/// packets.
const TAIL_PROBES: u32 = 6;

impl Manager {
    /// Assigns the next sequence number and a slot in network memory to a packet of a stream.
    pub(crate) fn sequence(&mut self, id: StreamId, mut header: Header) -> Option<PacketId> {
        let stream = self.streams.get(&id)?;
        let connection = self.connections.get_mut(&stream.connection)?;
        header.stream = stream.ordinal;
        header.channel = connection.spec.channel;
        header.sequence = connection.transmit.next;
        connection.transmit.next += 1;
        let awaited = Awaited {
            stream: id,
            ordinal: header.stream,
            adu: (header.bytes > 0).then_some(header.adu),
            confirmed: false,
        };
        connection.transmit.awaited.insert(header.sequence, awaited);
        let packet = self.memory.take(Packet {
            direction: Direction::Transmit,
            app: connection.app,
            connection: stream.connection,
            stream: Some(id),
            header,
            whole: header.bytes == 0,
            users: 0,
            leaving: false,
            tries: 0,
            sent_at: Instant::default(),
            number: 0,
            proves: 0,
        });
        connection.transmit.queue.push_back(packet);
        Some(packet)
    }

    /// Sends a packet without data that marks the end of a stream: a complete stream or, if `cut`,
    /// one that was cut short.
    pub(crate) fn mark(&mut self, id: StreamId, cut: bool) {
        let Some(stream) = self.streams.get_mut(&id) else {
            return;
        };
        stream.marked = true;
        let mut header = Header::new(Kind::Data, 0);
        header.end = !cut;
        header.cut = cut;
        header.adu = if cut {
            stream.started.saturating_sub(1)
        } else {
            stream.moved
        };
        self.sequence(id, header);
    }

    /// Issues orders to send the packets of a connection that may be sent now: retransmissions
    /// first, then new packets.
    pub(crate) fn pump(&mut self, id: ConnectionId) {
        while let Some(connection) = self.connections.get_mut(&id) {
            if !connection.open {
                return;
            }
            let half = &mut connection.transmit;
            if let Some(sequence) = half.resend.pop_first() {
                let packet = half.flight.get(&sequence).copied();
                if let Some(packet) = packet.filter(|packet| self.idle_packet(*packet)) {
                    self.send(id, packet, true);
                }
                continue;
            }
            let Some(&packet) = half.queue.front() else {
                break;
            };
            let Some(header) = self.memory.get(packet).filter(|packet| packet.whole) else {
                break;
            };
            let header = header.header;
            if connection.spec.protocol.confirms() && !half.may_spend(header.cost()) {
                break;
            }
            half.queue.pop_front();
            half.spent += header.cost();
            half.sent = header.sequence + 1;
            half.tails = TAIL_PROBES;
            if connection.spec.protocol.keeps() {
                half.flight.insert(header.sequence, packet);
            }
            self.send(id, packet, true);
        }
        self.arm(id);
    }

    /// Returns whether no order under way uses the packet's memory.
    fn idle_packet(&self, packet: PacketId) -> bool {
        self.memory
            .get(packet)
            .is_some_and(|packet| packet.users == 0)
    }

    /// Issues the order to send a packet. `proves`: whether all earlier transmissions of the packet
    /// are known to be lost, so that an acknowledgement proves the arrival of this transmission.
    fn send(&mut self, id: ConnectionId, packet: PacketId, proves: bool) {
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        let Some(state) = self.memory.get_mut(packet) else {
            return;
        };
        connection.transmit.sending += 1;
        connection.transmit.transmissions += 1;
        state.users += 1;
        state.tries += 1;
        state.number = connection.transmit.transmissions;
        if proves {
            state.proves = state.number;
        }
        let (header, first, stream) = (state.header, state.tries == 1, state.stream);
        let header = connection.fill_in(header);
        if first {
            self.statistics.packets_sent += 1;
            self.statistics.bytes_sent += u64::from(header.bytes);
        } else {
            self.statistics.retransmissions += 1;
        }
        if let Some(stream) = stream.and_then(|stream| self.streams.get_mut(&stream)) {
            stream.packets += u64::from(first);
            stream.retransmissions += u64::from(!first);
        }
        let connection = id;
        self.issue_task(
            Task::Send(id, packet),
            Work::Send {
                connection,
                packet,
                header,
            },
        );
    }

    /// Handles the driver's report that a packet was sent.
    pub(crate) fn sent(&mut self, id: ConnectionId, packet: PacketId) {
        let now = self.now;
        let Some(state) = self.memory.get_mut(packet) else {
            return;
        };
        state.users -= 1;
        state.sent_at = now;
        let (sequence, leaving) = (state.header.sequence, state.leaving);
        let stream = state.stream;
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        connection.transmit.sending -= 1;
        let protocol = connection.spec.protocol;
        if !protocol.confirms() {
            // Set no deadline yet: that of the probes counts from the end of the last send, not
            // from the order to send.
            connection.transmit.deadline = None;
            if let Some(awaited) = connection.transmit.awaited.remove(&sequence) {
                self.confirm(awaited);
            }
        }
        if leaving || !protocol.keeps() {
            self.release(packet, false);
        }
        if let Some(stream) = stream {
            self.record_progress(stream);
        }
        self.dirty_connections.insert(id);
    }

    /// Handles the acknowledgements and credit in a header from the peer.
    pub(crate) fn handle_header(&mut self, id: ConnectionId, header: &Header) -> Result<(), Drop> {
        let Some(connection) = self.connections.get_mut(&id) else {
            return Err(Drop::Stray);
        };
        let half = &mut connection.transmit;
        if !connection.spec.protocol.confirms() {
            return Ok(());
        }
        let acknowledged = header.acknowledged;
        let highest = match header.beyond {
            0 => acknowledged,
            bits => acknowledged.saturating_add(65 - u64::from(bits.leading_zeros())),
        };
        if highest > half.sent || header.delivered > acknowledged || header.granted >= 1 << 63 {
            return Err(Drop::Impossible);
        }
        let replied = std::mem::take(&mut half.silent) > 0 && half.flight.is_empty();
        let before = (
            half.granted,
            half.acknowledged,
            half.delivered,
            half.flight.len(),
        );
        half.granted = half.granted.max(header.granted);
        let bits = (0..64).filter(|bit| header.beyond >> bit & 1 == 1);
        let bits: Vec<_> = bits.map(|bit| acknowledged + 1 + bit).collect();
        // All packets below `acknowledged` have arrived, so they leave network memory.
        let low = half
            .flight
            .range(..acknowledged)
            .map(|(sequence, _)| *sequence);
        let arrived: Vec<_> = low.chain(bits.iter().copied()).collect();
        let mut leave = Vec::new();
        for sequence in arrived {
            half.resend.remove(&sequence);
            leave.extend(half.flight.remove(&sequence));
        }
        // Collect the numbers of the packets that this header confirms as held by the peer.
        let mut confirmed = Vec::new();
        if connection.spec.confirm == crate::config::Confirm::Held {
            let from = half.acknowledged.min(acknowledged);
            let low = half
                .awaited
                .range(from..acknowledged)
                .map(|(sequence, _)| *sequence);
            let arrived: Vec<_> = low.chain(bits.iter().copied()).collect();
            for sequence in arrived {
                if let Some(awaited) = half.awaited.get_mut(&sequence)
                    && !std::mem::replace(&mut awaited.confirmed, true)
                {
                    confirmed.push(*awaited);
                }
            }
        }
        half.acknowledged = half.acknowledged.max(acknowledged);
        let mut discarded = Vec::new();
        if header.delivered > half.delivered {
            let later = half.awaited.split_off(&header.delivered);
            let delivered = std::mem::replace(&mut half.awaited, later);
            half.delivered = header.delivered;
            for awaited in delivered.into_values() {
                if header.discarded.holds(awaited.ordinal) {
                    discarded.push(awaited.stream);
                } else if !awaited.confirmed {
                    confirmed.push(awaited);
                }
            }
        }
        let after = (
            half.granted,
            half.acknowledged,
            half.delivered,
            half.flight.len(),
        );
        let news = before != after;
        if news {
            half.backoff = 0;
        }
        if news || replied {
            half.deadline = None;
            self.dirty_connections.insert(id);
        }
        let arrived = leave.iter().filter_map(|packet| self.memory.get(*packet));
        // An acknowledgement that comes sooner than any round trip is for an earlier transmission
        // (RFC 8985, 6.2).
        let (now, min_ns) = (self.now, half.round_trip_min_ns);
        let is_sure = |packet: &&Packet| {
            packet.tries == 1 || packet.users == 0 && now.since_ns(packet.sent_at) >= min_ns
        };
        let proved = arrived.clone().filter(is_sure).map(|packet| packet.proves);
        half.newest = proved.fold(half.newest, u64::max);
        // Measure the round trip with the newest packet only: the acknowledgement of an older
        // packet may have been lost, so that this header confirms it late.
        if let Some(newest) = arrived.max_by_key(|packet| packet.number)
            && newest.tries == 1
            && newest.users == 0
        {
            half.measured(now.since_ns(newest.sent_at));
        }
        for packet in leave {
            self.release(packet, false);
        }
        for awaited in confirmed {
            self.confirm(awaited);
        }
        for stream in discarded {
            self.end_stream(stream, End::Failed(Reason::Discarded));
        }
        self.repair_lost(id);
        Ok(())
    }

    /// Returns the packets that have not arrived although a later transmission has: sequence
    /// number, packet, and the time at which each counts as lost (RFC 9002, 6.1).
    fn overtaken(&self, id: ConnectionId) -> impl Iterator<Item = (u64, &Packet, Instant)> {
        let connection = self.connections.get(&id);
        connection.into_iter().flat_map(move |connection| {
            let half = &connection.transmit;
            let timeout_ns = half.base_timeout_ns(&connection.spec.timeouts);
            let flight = half.flight.range(..half.reach());
            flight.filter_map(move |(sequence, packet)| {
                let packet = self.memory.get(*packet)?;
                let behind = half.newest.checked_sub(packet.number)?;
                let lost_at = match behind {
                    PACKET_THRESHOLD.. => Instant::default(),
                    _ => packet.sent_at.after_ns(timeout_ns),
                };
                (behind > 0 && packet.users == 0).then_some((*sequence, packet, lost_at))
            })
        })
    }

    /// Schedules lost packets to be sent again or, without repair, gives them up. Returns whether
    /// there were any.
    fn repair_lost(&mut self, id: ConnectionId) -> bool {
        let due = self.overtaken(id).filter(|(.., at)| *at <= self.now);
        let lost: Vec<_> = due
            .map(|(sequence, packet, _)| (sequence, packet.header.bytes > 0))
            .collect();
        let any = !lost.is_empty();
        for (sequence, data) in lost {
            let Some(connection) = self.connections.get_mut(&id) else {
                break;
            };
            if data && !connection.spec.protocol.repairs() {
                self.give_up(id, sequence);
            } else {
                connection.transmit.resend.insert(sequence);
                self.dirty_connections.insert(id);
            }
        }
        any
    }

    /// Gives up a lost packet that must not be sent again.
    fn give_up(&mut self, id: ConnectionId, sequence: u64) {
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        let half = &mut connection.transmit;
        half.resend.remove(&sequence);
        let awaited = half.awaited.remove(&sequence);
        if let Some(packet) = half.flight.remove(&sequence) {
            let header = self.memory.get(packet).map(|packet| packet.header);
            if let Some(header) = header {
                half.spent = half.spent.saturating_sub(header.cost());
                self.statistics.given_up += 1;
                if let Some(awaited) = awaited {
                    let range = (header.offset, u64::from(header.bytes));
                    let (stream, adu) = (awaited.stream, header.adu);
                    self.push_event(Event::Missing { stream, adu, range });
                    self.lost(awaited);
                }
            }
            self.release(packet, false);
        }
        self.probe(id);
        self.dirty_connections.insert(id);
    }

    /// Sends a probe, which requests an acknowledgement from the peer.
    fn probe(&mut self, id: ConnectionId) {
        self.send_control(id, Kind::Probe);
    }

    /// Issues the order to send a header of this kind, without data and sequence number.
    pub(crate) fn send_control(&mut self, id: ConnectionId, kind: Kind) {
        let Some(connection) = self.connections.get(&id) else {
            return;
        };
        let header = connection.fill_in(Header::new(kind, connection.spec.channel));
        self.statistics.controls += 1;
        let connection = id;
        self.direct(Work::Control { connection, header });
    }

    /// Arms the timeout of a connection: sets its next deadline, if the connection waits for its
    /// peer.
    fn arm(&mut self, id: ConnectionId) {
        let Some(connection) = self.connections.get(&id) else {
            return;
        };
        let half = &connection.transmit;
        let wanted = match connection.spec.protocol {
            Protocol::Stream => false,
            Protocol::Confirmed { .. } => half.waits(),
            Protocol::Unconfirmed { .. } => half.tails > 0 && half.sent > 0,
        };
        let deadline = wanted.then(|| {
            half.deadline.unwrap_or_else(|| {
                let timeout_ns = half.timeout_ns(&connection.spec.timeouts);
                let lost_at = self.overtaken(id).map(|(.., at)| at);
                lost_at.fold(self.now.after_ns(timeout_ns), Instant::min)
            })
        });
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.transmit.deadline = deadline;
        }
    }

    /// Handles a timeout of a connection: a packet counts as lost, or nothing made progress for too
    /// long. In the second case packets are sent again but do not count as lost, because an
    /// acknowledgement may be for an earlier transmission.
    pub(crate) fn transmit_timeout(&mut self, id: ConnectionId) {
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        let (protocol, most) = (connection.spec.protocol, connection.spec.timeouts.tries);
        connection.transmit.deadline = None;
        self.dirty_connections.insert(id);
        if self.repair_lost(id) {
            return;
        }
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        let half = &mut connection.transmit;
        let ends = half.reported_ends().into_iter().flatten();
        let ends = ends.filter_map(|(sequence, id)| Some((sequence, id, self.memory.get(id)?)));
        let first = ends.clone().next();
        let first = first.map(|(sequence, _, packet)| (sequence, packet.users));
        let unsent = match protocol.confirms() {
            true => first.is_some_and(|(_, users)| users > 0),
            false => half.sending > 0,
        };
        if unsent {
            // The driver has not sent the packet yet, so the peer is not late.
            return;
        }
        self.statistics.timeouts += 1;
        half.backoff = (half.backoff + 1).min(32);
        if !protocol.confirms() {
            half.tails = half.tails.saturating_sub(1);
            return self.probe(id);
        }
        half.silent += 1;
        let (silent, backoff) = (half.silent, half.backoff);
        if silent > most || first.is_some() && backoff > most {
            let why = format!("{backoff} time-outs without progress, {silent} without a reply");
            return self.lose(id, &why, true);
        }
        let may_repeat =
            |packet: &Packet| packet.users == 0 && (protocol.repairs() || packet.header.bytes == 0);
        let repeated = ends.filter(|(.., packet)| may_repeat(packet));
        let repeated: Vec<_> = repeated.map(|(_, packet, _)| packet).collect();
        match first {
            Some((sequence, _)) if repeated.is_empty() && backoff > PROBE_TIMEOUTS => {
                self.give_up(id, sequence);
            }
            _ if repeated.is_empty() => (0..TIMEOUT_PACKETS).for_each(|_| self.probe(id)),
            _ => repeated
                .into_iter()
                .for_each(|packet| self.send(id, packet, false)),
        }
    }

    /// Frees the memory slot of a packet, or marks the slot to be freed as soon as no order uses
    /// it. For a received packet, `paid` says whether the packet has used up credit of the peer,
    /// which is then returned.
    pub(crate) fn release(&mut self, id: PacketId, paid: bool) {
        let Some(packet) = self.memory.get_mut(id) else {
            return;
        };
        let storing = packet.direction == Direction::Transmit && !packet.whole;
        if packet.users > 0 || storing {
            packet.leaving = true;
            return;
        }
        let Some(packet) = self.memory.free_bytes(id) else {
            return;
        };
        if packet.direction == Direction::Receive {
            if let Some(connection) = self.connections.get_mut(&packet.connection) {
                let cost = packet.header.cost();
                connection.receive.cost -= cost;
                if paid {
                    connection.receive.freed += cost;
                    if connection.protocol().confirms() {
                        self.acknowledge_due.insert(packet.connection);
                    }
                }
            }
        } else {
            self.room_made = true;
        }
        self.direct(Work::Free { packet: id });
    }
}
