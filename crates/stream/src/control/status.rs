//! Answers queries: the state of streams and connections, the reasons for which they wait, and
//! counters.

use super::stream::{Stage, Stream};
use super::{Manager, Task};
use crate::error::{Error, Result};
use crate::ids::{AppId, ConnectionId, Direction, LinkId, StreamId};
use crate::order::{End, Event, State};
use crate::protocol::Connection;
use crate::stall::Wait;
use crate::statistics::Statistics;
use std::collections::BTreeSet;

/// The status of a stream, as the manager reports it to the application.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Status {
    /// The application that owns the stream.
    pub app: AppId,
    /// The connection of the stream.
    pub connection: ConnectionId,
    /// The direction of the stream.
    pub direction: Direction,
    /// Number of streams that the application registered earlier on the same connection and
    /// direction.
    pub ordinal: u32,
    /// The state of the stream.
    pub state: State,
    /// The outcome of the stream (done, failed or cancelled); `None` while it is undecided.
    pub end: Option<End>,
    /// Whether none of the stream's operations are under way, and `Ended` was reported.
    pub over: bool,
    /// The stream's number of application data units (ADUs), if known.
    pub adus: Option<u64>,
    /// Number of application data units (ADUs) of the stream whose transfer has started.
    pub started: u64,
    /// Number of application data units (ADUs) of the stream in network memory (transmit) or
    /// received by the ranks (receive).
    pub moved: u64,
    /// Number of application data units (ADUs) of the stream whose transfer is complete by the
    /// rules of its protocol.
    pub done: u64,
    /// Number of data bytes of the stream that were moved so far: to network memory (transmit), or
    /// to the ranks (receive).
    pub bytes: u64,
    /// Number of packets of the stream that were sent for the first time.
    pub packets: u64,
    /// Number of packets of the stream that were sent again.
    pub retransmissions: u64,
    /// Staging memory in bytes, and number of link engines (which move data between ranks and
    /// staging memory), that the stream holds.
    pub holds: (u64, u32),
    /// Nanoseconds that the stream has spent in each state, in the order of [`State`].
    pub times_ns: [u64; State::COUNT],
}

/// The status of a connection, as the manager reports it to the application.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConnectionStatus {
    /// The application that owns the connection.
    pub app: AppId,
    /// Whether the connection is open.
    pub open: bool,
    /// The reason for the loss of the connection; `None` if it is not lost.
    pub gone: Option<String>,
    /// Number of the connection's streams that have not ended.
    pub streams: u32,
    /// Data bytes of the connection in network memory: in transmit, then in receive direction.
    pub network_bytes: [u64; 2],
    /// Three numbers of packets of the connection: sent, acknowledged by the peer, and delivered by
    /// the peer.
    pub sent: [u64; 3],
    /// Two numbers of packets: those that the connection received in order, and the delivered ones
    /// among them.
    pub received: [u64; 2],
    /// Credit in bytes, headers included, that the peer granted and that has not been spent.
    pub granted: u64,
}

impl Manager {
    /// Returns the status of a stream.
    ///
    /// # Errors
    /// The stream is unknown.
    pub fn status(&self, id: StreamId) -> Result<Status> {
        let stream = self.streams.get(&id).ok_or(Error::NoStream(id))?;
        let mut times_ns = stream.times_ns;
        times_ns[stream.state as usize] += self.now.since_ns(stream.state_at);
        let need = stream.need();
        let holds = match stream.buffers {
            Some(_) => (need.staging_bytes, need.engines),
            None => (0, 0),
        };
        Ok(Status {
            app: stream.app,
            connection: stream.connection,
            direction: stream.direction,
            ordinal: stream.ordinal,
            state: stream.state,
            end: stream.end.clone(),
            over: stream.end_reported,
            adus: stream.adus.or(stream.peer_adus),
            started: stream.started,
            moved: stream.moved,
            done: stream.done,
            bytes: stream.bytes,
            packets: stream.packets,
            retransmissions: stream.retransmissions,
            holds,
            times_ns,
        })
    }

    /// Returns the status of a connection.
    ///
    /// # Errors
    /// The connection is unknown.
    pub fn connection_status(&self, id: ConnectionId) -> Result<ConnectionStatus> {
        let connection = self.connections.get(&id).ok_or(Error::NoConnection(id))?;
        let (out, back) = (&connection.transmit, &connection.receive);
        let bytes = |direction| self.memory.used_by_connection(direction, id);
        Ok(ConnectionStatus {
            app: connection.app,
            open: connection.open,
            gone: connection.gone.clone(),
            streams: connection.live,
            network_bytes: [bytes(Direction::Transmit), bytes(Direction::Receive)],
            sent: [out.sent, out.acknowledged, out.delivered],
            received: [back.expected, back.delivered],
            granted: out.granted.saturating_sub(out.spent),
        })
    }

    /// Returns the configuration of the manager.
    #[must_use]
    pub fn config(&self) -> &crate::config::Config {
        &self.config
    }

    /// Returns the streams whose status can be queried, in ascending order.
    pub fn streams(&self) -> impl Iterator<Item = StreamId> + '_ {
        self.streams.keys().copied()
    }

    /// Returns the streams that hold resources of this direction, in ascending order.
    #[must_use]
    pub fn active(&self, direction: Direction) -> BTreeSet<StreamId> {
        self.schedulers[direction.index()].active()
    }

    /// Returns the bytes of staging memory and of network memory in use in one direction.
    #[must_use]
    pub fn used(&self, direction: Direction) -> (u64, u64) {
        let staging = self.schedulers[direction.index()].staging_used;
        (staging, self.memory.used(direction))
    }

    /// Returns the manager's counters since its start.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        let [out, back] = &self.schedulers;
        Statistics {
            staging_most: [out.staging_most, back.staging_most],
            engines_most: [out.engines_most, back.engines_most],
            network_most: self.memory.most,
            ..self.statistics
        }
    }

    /// Returns the reasons for which a stream waits now. The list is empty if the stream has ended
    /// or makes progress.
    ///
    /// # Errors
    /// The stream is unknown.
    pub fn waits(&self, id: StreamId) -> Result<Vec<Wait>> {
        let stream = self.streams.get(&id).ok_or(Error::NoStream(id))?;
        let mut waits = Vec::new();
        let view = self.view();
        match stream.state {
            State::Inactive => {
                view.waits_for_order(id, &mut |wait| waits.push(wait));
                view.waits_to_begin(id, &mut |wait| waits.push(wait));
            }
            State::Pending => {
                view.waits_to_begin(id, &mut |wait| waits.push(wait));
                if waits.is_empty() {
                    waits.push(self.waits_for_resources(id, stream));
                }
            }
            State::Active => self.waits_in_execution(id, stream, &mut waits),
            State::Draining => self.waits_for_peer(stream.connection, &mut waits),
            State::Done | State::Failed | State::Cancelled if !stream.end_reported => {
                self.waits_for_orders(id, &mut waits);
            }
            State::Done | State::Failed | State::Cancelled => (),
        }
        Ok(waits)
    }

    /// Returns the reason for which a pending stream has not received staging memory and engines.
    fn waits_for_resources(&self, id: StreamId, stream: &Stream) -> Wait {
        let scheduler = &self.schedulers[stream.direction.index()];
        let need = stream.need();
        let limit = self.limits(stream.app).staging_bytes;
        let held = scheduler.held_by_app(stream.app);
        if held.saturating_add(need.staging_bytes) > limit {
            return Wait::ApplicationStaging;
        }
        if scheduler.fits(&need) {
            return Wait::Turn(scheduler.before(id));
        }
        Wait::Resources {
            staging: (
                need.staging_bytes,
                scheduler.staging_total - scheduler.staging_used,
            ),
            engines: (
                need.engines,
                scheduler.engines_total - scheduler.engines_used,
            ),
            held_by: scheduler.active().into_iter().collect(),
        }
    }

    /// Adds to `waits` the reasons for which an active stream waits.
    fn waits_in_execution(&self, id: StreamId, stream: &Stream, waits: &mut Vec<Wait>) {
        self.waits_for_orders(id, waits);
        let buffers = stream.buffers.iter().flatten();
        let stages: Vec<_> = buffers.map(|buffer| buffer.stage).collect();
        let transmits = stream.direction == Direction::Transmit;
        if transmits && self.store_queue.contains(&id) {
            let connection = self.connections.get(&stream.connection);
            let share = connection.map_or(0, |connection| connection.spec.share_bytes);
            let has = self
                .memory
                .used_by_connection(Direction::Transmit, stream.connection);
            // Use the size of the transfer unit (TU) that waits, because the last TU of an
            // application data unit (ADU) may be shorter.
            let waits_with = stream
                .buffers
                .as_ref()
                .map(|all| all[stream.empty].tu.bytes);
            let bytes = waits_with.unwrap_or(stream.format.tu_bytes);
            waits.push(if has.saturating_add(bytes) > share {
                Wait::Share(stream.connection)
            } else if bytes > self.share_left(stream.connection) {
                Wait::ApplicationNetwork
            } else {
                Wait::NetworkMemory(self.memory.holders(Direction::Transmit))
            });
            self.waits_for_peer(stream.connection, waits);
        } else if transmits && stream.done < stream.moved {
            // New data cannot complete application data units (ADUs) that have been moved, so the
            // stream waits for the peer in any case.
            self.waits_for_peer(stream.connection, waits);
        }
        if !transmits && stages.contains(&Stage::Filling) && waits.is_empty() {
            waits.push(Wait::NothingCame(stream.connection));
        }
        if waits.is_empty() && stream.cursor.is_none() {
            self.view().waits_to_begin(id, &mut |wait| waits.push(wait));
        }
    }

    /// Adds to `waits` the orders for which a stream waits: those under way on its buffers, and
    /// those that wait for a link.
    fn waits_for_orders(&self, id: StreamId, waits: &mut Vec<Wait>) {
        let (mut fetch, mut deliver) = (BTreeSet::<LinkId>::new(), BTreeSet::<LinkId>::new());
        let mut copy = false;
        for task in self.outstanding.values() {
            match task {
                Task::Fetch(of, _, su) if *of == id => _ = fetch.insert(su.link),
                Task::Deliver(of, _, su) if *of == id => _ = deliver.insert(su.link),
                Task::Store(of, ..) | Task::Load(of, ..) if *of == id => copy = true,
                _ => (),
            }
        }
        let cut = self
            .cut
            .iter()
            .filter(|(_, waiting)| waiting.iter().any(|(of, ..)| *of == id));
        waits.extend(cut.map(|(link, _)| Wait::LinkCut(*link)));
        waits.extend(fetch.into_iter().map(Wait::Fetch));
        waits.extend(deliver.into_iter().map(Wait::Deliver));
        if copy {
            waits.push(Wait::Copy);
        }
    }

    /// Adds to `waits` the reasons for which the data of a connection waits for the connection or
    /// its peer.
    fn waits_for_peer(&self, id: ConnectionId, waits: &mut Vec<Wait>) {
        let Some(connection) = self.connections.get(&id) else {
            return;
        };
        let half = &connection.transmit;
        if !connection.open {
            waits.push(Wait::NotOpen(id));
            return;
        }
        if half.sending > 0 {
            waits.push(Wait::Sending(id, half.sending));
        }
        if self.not_granted(connection) {
            waits.push(Wait::NotGranted(id));
        }
        let unknown = half.sent.saturating_sub(half.acknowledged);
        if connection.protocol().confirms() {
            if unknown > 0 {
                waits.push(Wait::Unacknowledged(id, unknown));
            } else if half.acknowledged > half.delivered {
                waits.push(Wait::Undelivered(id, half.acknowledged - half.delivered));
            }
        }
    }

    /// Returns whether the peer has granted too little credit for the next packet of the
    /// connection.
    fn not_granted(&self, connection: &Connection) -> bool {
        let next = connection.transmit.queue.front();
        let next = next.and_then(|packet| self.memory.get(*packet));
        let cost = next.map_or(0, |packet| packet.header.cost());
        connection.protocol().confirms() && !connection.transmit.may_spend(cost)
    }

    /// Reports the streams that made no progress for the configured time, once in each period of
    /// that length.
    pub(super) fn report_stalls(&mut self) {
        // Collect the due streams first, so that each is reported once, even if its next deadline
        // is the same (at the maximum time value).
        let due = self.stalls.iter().take_while(|(at, _)| *at <= self.now);
        for (at, id) in due.copied().collect::<Vec<_>>() {
            self.stalls.remove(&(at, id));
            let Some(stream) = self.streams.get(&id).filter(|stream| !stream.end_reported) else {
                continue;
            };
            let idle_ns = self.now.since_ns(stream.progress_at);
            if idle_ns < self.config.stall_ns {
                let due = stream.progress_at.after_ns(self.config.stall_ns);
                self.stalls.insert((due, id));
                continue;
            }
            let waits = self.waits(id).unwrap_or_default();
            let stream = id;
            self.push_event(Event::Stalled {
                stream,
                idle_ns,
                waits,
            });
            let repeated = self.now.after_ns(self.config.stall_ns);
            self.stalls.insert((repeated, id));
        }
    }
}
