//! What the transmit half does with the manager's orders: packets out, acknowledgements in,
//! time-outs.

use super::Drop;
use super::transmit::Awaited;
use crate::config::Protocol;
use crate::control::{Manager, Task};
use crate::ids::{ConnectionId, Direction, Instant, PacketId, StreamId};
use crate::network_memory::Packet;
use crate::order::{End, Event, Reason, Work};
use crate::wire::{Header, Kind};

/// Later packets that came before one is taken for lost.
const OVERTAKEN: u64 = 3;
/// Probes after the last packet of an unconfirmed connection.
const TAILS: u32 = 3;

impl Manager {
    /// Gives a packet of a stream its sequence number and a place in network memory.
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
            hastened: false,
        });
        connection.transmit.queue.push_back(packet);
        Some(packet)
    }

    /// Marks the end of a stream by a packet without data: whole, or cut short.
    pub(crate) fn mark(&mut self, id: StreamId, cut: bool) {
        let Some(stream) = self.streams.get_mut(&id) else {
            return;
        };
        stream.marked = true;
        let mut header = Header::new(Kind::Data, 0);
        header.end = !cut;
        header.cut = cut;
        header.adu = if cut {
            stream.begun.saturating_sub(1)
        } else {
            stream.moved
        };
        self.sequence(id, header);
    }

    /// Sends what may be sent: first again, then anew.
    pub(crate) fn pump(&mut self, id: ConnectionId) {
        while let Some(connection) = self.connections.get_mut(&id) {
            if !connection.open {
                return;
            }
            let half = &mut connection.transmit;
            if let Some(sequence) = half.again.pop_first() {
                let packet = half.flight.get(&sequence).copied();
                if let Some(packet) = packet.filter(|packet| self.idle_packet(*packet)) {
                    self.send(id, packet);
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
            half.tails = TAILS;
            if connection.spec.protocol.keeps() {
                half.flight.insert(header.sequence, packet);
            }
            self.send(id, packet);
        }
        self.arm(id);
    }

    fn idle_packet(&self, packet: PacketId) -> bool {
        self.memory
            .get(packet)
            .is_some_and(|packet| packet.users == 0)
    }

    fn send(&mut self, id: ConnectionId, packet: PacketId) {
        let Some(state) = self.memory.get_mut(packet) else {
            return;
        };
        state.users += 1;
        state.tries += 1;
        let (header, first, stream) = (state.header, state.tries == 1, state.stream);
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        connection.transmit.sending += 1;
        let header = connection.tell(header);
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
        self.order_task(
            Task::Send(id, packet),
            Work::Send {
                connection,
                packet,
                header,
            },
        );
    }

    /// A send is over.
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
            // Probes follow the last packet, and not its order.
            connection.transmit.deadline = None;
            if let Some(awaited) = connection.transmit.awaited.remove(&sequence) {
                self.confirm(awaited);
            }
        }
        if leaving || !protocol.keeps() {
            self.release(packet, false);
        }
        if let Some(stream) = stream {
            self.touch(stream);
        }
        self.dirty_connections.insert(id);
    }

    /// Takes in what a header tells of the shared state.
    pub(crate) fn hear(&mut self, id: ConnectionId, header: &Header) -> Result<(), Drop> {
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
        half.silent = 0;
        let before = (
            half.granted,
            half.acknowledged,
            half.delivered,
            half.flight.len(),
        );
        half.granted = half.granted.max(header.granted);
        let bits = (0..64).filter(|bit| header.beyond >> bit & 1 == 1);
        let bits: Vec<_> = bits.map(|bit| acknowledged + 1 + bit).collect();
        // Those that leave network memory.
        let low = half
            .flight
            .range(..acknowledged)
            .map(|(sequence, _)| *sequence);
        let come: Vec<_> = low.chain(bits.iter().copied()).collect();
        let mut leave = Vec::new();
        for sequence in come {
            half.again.remove(&sequence);
            leave.extend(half.flight.remove(&sequence));
        }
        // Those that are done.
        let mut confirmed = Vec::new();
        if connection.spec.confirm == crate::config::Confirm::Held {
            let from = half.acknowledged.min(acknowledged);
            let low = half
                .awaited
                .range(from..acknowledged)
                .map(|(sequence, _)| *sequence);
            let come: Vec<_> = low.chain(bits.iter().copied()).collect();
            for sequence in come {
                if let Some(awaited) = half.awaited.get_mut(&sequence)
                    && !std::mem::replace(&mut awaited.confirmed, true)
                {
                    confirmed.push(*awaited);
                }
            }
        }
        half.acknowledged = half.acknowledged.max(acknowledged);
        let mut thrown = Vec::new();
        if header.delivered > half.delivered {
            let later = half.awaited.split_off(&header.delivered);
            let delivered = std::mem::replace(&mut half.awaited, later);
            half.delivered = header.delivered;
            for awaited in delivered.into_values() {
                if header.thrown.holds(awaited.ordinal) {
                    thrown.push(awaited.stream);
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
        if before != after {
            half.deadline = None;
            half.backoff = 0;
        }
        let sample = leave.iter().filter_map(|packet| self.memory.get(*packet));
        let sample = sample.filter(|packet| packet.tries == 1 && packet.users == 0);
        let sample = sample.map(|packet| self.now.since_ns(packet.sent_at)).min();
        if let Some(sample) = sample {
            half.measured(sample);
        }
        for packet in leave {
            self.release(packet, false);
        }
        for awaited in confirmed {
            self.confirm(awaited);
        }
        for stream in thrown {
            self.end_stream(stream, End::Failed(Reason::Discarded));
        }
        if highest > acknowledged {
            self.hasten(id, highest);
        }
        if before != after {
            self.dirty_connections.insert(id);
        }
        Ok(())
    }

    /// Takes packets for lost that enough later ones have overtaken.
    fn hasten(&mut self, id: ConnectionId, highest: u64) {
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        let repair = connection.spec.protocol.repairs();
        let low = connection
            .transmit
            .flight
            .range(..highest.saturating_sub(OVERTAKEN));
        let mut lost = Vec::new();
        for (sequence, packet) in low {
            if let Some(packet) = self.memory.get_mut(*packet)
                && packet.users == 0
                && !std::mem::replace(&mut packet.hastened, true)
            {
                lost.push((*sequence, packet.header.bytes > 0));
            }
        }
        for (sequence, data) in lost {
            if !repair && data {
                self.give_up(id, sequence);
            } else if let Some(connection) = self.connections.get_mut(&id) {
                connection.transmit.again.insert(sequence);
                self.dirty_connections.insert(id);
            }
        }
    }

    /// Gives up a packet that nobody will send again.
    fn give_up(&mut self, id: ConnectionId, sequence: u64) {
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        let half = &mut connection.transmit;
        half.again.remove(&sequence);
        let awaited = half.awaited.remove(&sequence);
        if let Some(packet) = half.flight.remove(&sequence) {
            let header = self.memory.get(packet).map(|packet| packet.header);
            if let Some(header) = header {
                half.spent = half.spent.saturating_sub(header.cost());
                self.statistics.given_up += 1;
                if let Some(awaited) = awaited {
                    let range = (header.offset, u64::from(header.bytes));
                    let (stream, adu) = (awaited.stream, header.adu);
                    self.tell(Event::Missing { stream, adu, range });
                    self.lost(awaited);
                }
            }
            self.release(packet, false);
        }
        self.probe(id);
        self.dirty_connections.insert(id);
    }

    fn probe(&mut self, id: ConnectionId) {
        let Some(connection) = self.connections.get(&id) else {
            return;
        };
        let header = connection.tell(Header::new(Kind::Probe, connection.spec.channel));
        self.statistics.controls += 1;
        let connection = id;
        self.direct(Work::Control { connection, header });
    }

    /// Sets the time-out of a connection that waits for a word of its peer.
    fn arm(&mut self, id: ConnectionId) {
        let now = self.now;
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        let half = &mut connection.transmit;
        let wanted = match connection.spec.protocol {
            Protocol::Stream => false,
            Protocol::Confirmed { .. } => half.waits(),
            Protocol::Unconfirmed { .. } => half.tails > 0 && half.sent > 0,
        };
        if !wanted {
            half.deadline = None;
        } else if half.deadline.is_none() {
            let wait = half.timeout_ns(&connection.spec.timeouts);
            half.deadline = Some(now.after_ns(wait));
        }
    }

    /// The peer has said nothing new for too long.
    pub(crate) fn transmit_timeout(&mut self, id: ConnectionId) {
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        self.statistics.timeouts += 1;
        let (protocol, most) = (connection.spec.protocol, connection.spec.timeouts.tries);
        let half = &mut connection.transmit;
        half.deadline = None;
        self.dirty_connections.insert(id);
        if !protocol.confirms() && half.sending > 0 {
            // They are not even sent: the driver is what is waited for.
            return;
        }
        half.backoff = (half.backoff + 1).min(32);
        if !protocol.confirms() {
            half.tails = half.tails.saturating_sub(1);
            return self.probe(id);
        }
        let mut first = None;
        for (sequence, packet) in &half.flight {
            if let Some(packet) = self.memory.get_mut(*packet) {
                packet.hastened = false;
                let data = packet.header.bytes > 0;
                first = first.or(Some((*sequence, packet.users, packet.tries, data)));
            }
        }
        if let Some((_, 1.., ..)) = first {
            // It is not even sent: the driver is what it waits for.
            return;
        }
        half.silent += 1;
        let silent = half.silent;
        let tries = first.map_or(0, |(_, _, tries, _)| tries);
        if silent > most || tries >= most {
            let why = format!("{} time-outs, {tries} tries of one packet", silent);
            return self.lose(id, &why, true);
        }
        match first {
            Some((sequence, _, _, data)) if protocol.repairs() || !data => {
                half.again.insert(sequence);
            }
            Some((sequence, ..)) => self.give_up(id, sequence),
            None => self.probe(id),
        }
    }

    /// Frees a packet's place, or as soon as no order uses it. `paid`: the peer may send as much
    /// again.
    pub(crate) fn release(&mut self, id: PacketId, paid: bool) {
        let Some(packet) = self.memory.get_mut(id) else {
            return;
        };
        let storing = packet.direction == Direction::Transmit && !packet.whole;
        if packet.users > 0 || storing {
            packet.leaving = true;
            return;
        }
        let Some(packet) = self.memory.give_back(id) else {
            return;
        };
        if packet.direction == Direction::Receive {
            if let Some(connection) = self.connections.get_mut(&packet.connection) {
                let cost = packet.header.cost();
                connection.receive.cost -= cost;
                if paid {
                    connection.receive.freed += cost;
                    if connection.protocol().confirms() {
                        self.owing.insert(packet.connection);
                    }
                }
            }
        } else {
            self.room_made = true;
        }
        self.direct(Work::Free { packet: id });
    }
}
