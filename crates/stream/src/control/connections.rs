//! Opens, closes and loses connections, and starts their next streams.

use super::{Gone, Manager, Task};
use crate::config::ConnectionSpec;
use crate::error::{Error, Result};
use crate::ids::{AppId, ConnectionId, Direction, Instant, PacketId};
use crate::order::{End, Event, Order, Reason, Work};
use crate::protocol::Connection;

impl Manager {
    /// Opens a connection: registers it and orders the driver to connect.
    ///
    /// # Errors
    /// The application is unknown or has reached its limit of connections; the receive window
    /// exceeds the free network memory; the timeouts are invalid.
    pub fn open(&mut self, now: Instant, app: AppId, spec: ConnectionSpec) -> Result<ConnectionId> {
        self.advance(now);
        spec.check()?;
        let left = self.config.network_bytes - self.windows;
        let state = self.apps.get_mut(&app).ok_or(Error::NoApplication(app))?;
        if state.connections >= state.limits.connections {
            let limit = state.limits.connections;
            let what = format!("application {app} may have {limit} connections: close one first");
            return Err(Error::Limit(what));
        }
        let own = state.limits.network_bytes.saturating_sub(state.windows);
        if spec.window_bytes > own {
            return Err(Error::Limit(format!(
                "a receive window of {} bytes: application {app} may have {} bytes of network \
                 memory, of which {own} are not promised to its other connections",
                spec.window_bytes, state.limits.network_bytes
            )));
        }
        if spec.window_bytes > left {
            return Err(Error::NeverFits(format!(
                "a receive window of {} bytes: {left} of {} bytes of network memory are not \
                 promised to other connections",
                spec.window_bytes, self.config.network_bytes
            )));
        }
        state.connections += 1;
        state.windows += spec.window_bytes;
        self.windows += spec.window_bytes;
        let id = ConnectionId(self.next_connection);
        self.next_connection += 1;
        let destination = spec.destination.clone();
        self.connections.insert(id, Connection::new(app, spec));
        let connection = id;
        self.direct(Work::Connect {
            connection,
            destination,
        });
        Ok(id)
    }

    /// Starts to close a connection: it accepts no new streams, and is closed once its streams have
    /// ended and the peer has acknowledged all sent data. If there is no progress for the stall
    /// time, for example because the peer reads no more, the connection is lost.
    ///
    /// # Errors
    /// The connection is unknown.
    pub fn close(&mut self, now: Instant, id: ConnectionId) -> Result<()> {
        self.advance(now);
        let connection = self
            .connections
            .get_mut(&id)
            .ok_or(Error::NoConnection(id))?;
        connection.closing = true;
        self.dirty_connections.insert(id);
        self.settle();
        Ok(())
    }

    /// Handles the driver's report that a connection is open.
    pub fn handle_connected(&mut self, now: Instant, id: ConnectionId) {
        self.advance(now);
        let Some(connection) = self.connections.get_mut(&id) else {
            self.statistics.stale += 1;
            return;
        };
        if connection.open || connection.gone.is_some() {
            self.statistics.stale += 1;
            return;
        }
        connection.open = true;
        if connection.protocol().confirms() {
            // Schedule an acknowledgement, because the first one grants the peer its first credit.
            self.acknowledge_due.insert(id);
        }
        self.push_event(Event::Opened(id));
        self.resolve = true;
        self.dirty_connections.insert(id);
        self.settle();
    }

    /// Handles the loss of a connection: it failed to open, is gone, or the peer closed it.
    /// `reason` is the driver's text.
    pub fn handle_disconnected(&mut self, now: Instant, id: ConnectionId, reason: &str) {
        self.advance(now);
        self.lose(id, reason, false);
        self.settle();
    }

    /// Marks a connection as lost for `reason`: its streams fail. Data that receivers have not read
    /// yet stays available. `disconnect` orders the driver to close the connection.
    pub(crate) fn lose(&mut self, id: ConnectionId, reason: &str, disconnect: bool) {
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        if connection.gone.is_some() {
            return;
        }
        connection.gone = Some(reason.to_owned());
        connection.open = false;
        connection.transmit.deadline = None;
        connection.transmit.queue.clear();
        connection.transmit.resend.clear();
        connection.transmit.flight.clear();
        connection.transmit.awaited.clear();
        connection.transmit.sending = 0;
        let mut unwanted: Vec<PacketId> = std::mem::take(&mut connection.receive.arriving)
            .into_values()
            .collect();
        if connection.protocol().repairs() {
            unwanted.extend(std::mem::take(&mut connection.receive.early).into_values());
        } else {
            while connection.receive.give_up_gap() {}
        }
        let closing = connection.closing && connection.live == 0;
        let sends = self
            .outstanding
            .iter()
            .filter_map(|(order, task)| match task {
                Task::Send(of, packet) if *of == id => Some((*order, *packet)),
                _ => None,
            });
        for (order, packet) in sends.collect::<Vec<_>>() {
            self.outstanding.remove(&order);
            if let Some(packet) = self.memory.get_mut(packet) {
                packet.users = 0;
            }
        }
        self.orders.retain(|order: &Order| {
            !matches!(&order.work, Work::Send { connection, .. } | Work::Control { connection, .. }
                if *connection == id)
        });
        self.acknowledge_due.remove(&id);
        if disconnect {
            self.direct(Work::Disconnect { connection: id });
        }
        let packets = self.memory.packets();
        let sent = packets.filter(|(_, packet)| {
            packet.connection == id && packet.direction == Direction::Transmit
        });
        unwanted.extend(sent.map(|(packet, _)| packet));
        for packet in unwanted {
            self.release(packet, false);
        }
        if !closing {
            let (connection, reason) = (id, reason.to_owned());
            self.push_event(Event::Lost { connection, reason });
        }
        let streams = self.streams.iter().filter(|(_, stream)| {
            stream.connection == id && stream.direction == Direction::Transmit
        });
        let streams: Vec<_> = streams.map(|(stream, _)| *stream).collect();
        for stream in streams {
            let why = Reason::ConnectionLost(id, reason.to_owned());
            self.end_stream(stream, End::Failed(why));
        }
        self.dirty_connections.insert(id);
    }

    /// Updates a connection after an event: starts its next stream, sends end marks and packets,
    /// and closes it if it is complete.
    pub(super) fn settle_connection(&mut self, id: ConnectionId) {
        self.settle_transmit_order(id);
        self.settle_receive(id);
        self.pump(id);
        self.retire(id);
    }

    /// Starts the next transmit stream when the previous ones have assigned sequence numbers to all
    /// their packets.
    fn settle_transmit_order(&mut self, id: ConnectionId) {
        while let Some(connection) = self.connections.get_mut(&id) {
            let order = &mut connection.order[Direction::Transmit.index()];
            let Some(&front) = order.front() else {
                return;
            };
            let lost = connection.gone.is_some();
            let Some(stream) = self.streams.get(&front) else {
                order.pop_front();
                continue;
            };
            let through = stream.end.is_none() && stream.adus == Some(stream.moved);
            let failed = stream.end.as_ref().is_some_and(|end| *end != End::Done);
            if !stream.marked && !lost {
                if !through && !failed {
                    return;
                }
                self.mark(front, failed);
            }
            if let Some(connection) = self.connections.get_mut(&id) {
                connection.order[Direction::Transmit.index()].pop_front();
            }
            self.resolve = true;
            self.dirty_streams.insert(front);
        }
    }

    /// Gives up closed connections whose peers refuse the remaining data.
    pub(super) fn give_up_closing(&mut self) {
        let all = self.connections.iter();
        let due = all.filter(|(_, one)| one.given_up_at.is_some_and(|(at, _)| at <= self.now));
        for id in due.map(|(id, _)| *id).collect::<Vec<_>>() {
            let reason = "it was closed, and its peer did not take what was left to be sent";
            self.lose(id, reason, true);
            let (connection, reason) = (id, reason.to_owned());
            self.push_event(Event::Lost { connection, reason });
        }
    }

    /// Removes a connection that is closing, once its streams have ended and its data is
    /// acknowledged.
    fn retire(&mut self, id: ConnectionId) {
        let Some(connection) = self.connections.get(&id) else {
            return;
        };
        let half = &connection.transmit;
        let acknowledged = half.acknowledged >= half.next || !connection.protocol().confirms();
        let quiet = half.queue.is_empty() && half.sending == 0 && acknowledged;
        let through = connection.closing && connection.live == 0;
        if connection.gone.is_none() && through && (quiet || !connection.open) {
            self.lose(id, "it was closed", true);
            self.push_event(Event::Closed(id));
        }
        let (now, stall_ns) = (self.now, self.config.stall_ns);
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        if connection.gone.is_none() && through {
            let half = &connection.transmit;
            let state = [half.sent, half.sending, half.acknowledged, half.granted];
            if connection.given_up_at.is_none_or(|(_, seen)| seen != state) {
                connection.given_up_at = Some((now.after_ns(stall_ns), state));
            }
        }
        if connection.gone.is_none() || connection.live > 0 {
            return;
        }
        connection.given_up_at = None;
        let held: Vec<_> = if connection.closing {
            connection.receive.held.drain(..).collect()
        } else {
            Vec::new()
        };
        if connection.window_returned || !connection.receive.held.is_empty() {
            return;
        }
        connection.window_returned = true;
        self.windows -= connection.spec.window_bytes;
        let (app, window) = (connection.app, connection.spec.window_bytes);
        if let Some(app) = self.apps.get_mut(&app) {
            app.connections -= 1;
            app.windows -= window;
        }
        for packet in held {
            self.statistics.discarded += 1;
            self.release(packet, false);
        }
        self.remember(Gone::Connection(id));
    }
}
