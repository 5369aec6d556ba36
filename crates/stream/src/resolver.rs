//! The dependence resolver (paper, 5.3.2): decides which streams may begin their next application
//! data unit (ADU), and refuses cyclic dependences.
//!
//! - Streams of one connection and direction keep the order of registration: a stream begins when
//!   the previous one has moved all its data into network memory, or ended.
//! - *Sequencing*: a stream begins when all streams that it follows are done.
//! - *Synchronisation*: in a lock step group no member begins ADU `n` before all have finished ADU
//!   `n - 1`. Completed members hold nobody back.
//! - A stream is first scheduled when its connection is open and there is enough data: on transmit
//!   the striping units of its next transfer unit on all links, on receive a packet. The same
//!   condition applies to each ADU, and each time that the stream is scheduled again.

use crate::control::stream::{Group, Stream, live};
use crate::error::{Error, Result};
use crate::format::Adu;
use crate::ids::{ConnectionId, Direction, StreamId};
use crate::network_memory::NetworkMemory;
use crate::protocol::Connection;
use crate::stall::Wait;
use std::collections::{BTreeMap, BTreeSet};

/// The state of streams and connections that the dependence resolver reads.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    pub streams: &'a BTreeMap<StreamId, Stream>,
    pub connections: &'a BTreeMap<ConnectionId, Connection>,
    pub groups: &'a BTreeMap<Group, BTreeSet<StreamId>>,
    pub memory: &'a NetworkMemory,
}

impl View<'_> {
    /// Returns whether an inactive stream may become pending: everything that it depends on is
    /// ready.
    pub fn resolved(&self, id: StreamId) -> bool {
        let mut free = true;
        self.waits_for_order(id, &mut |_| free = false);
        free && self.may_begin(id)
    }

    /// Returns whether the next application data unit (ADU) of a stream may begin.
    pub fn may_begin(&self, id: StreamId) -> bool {
        let mut free = true;
        self.waits_to_begin(id, &mut |_| free = false);
        free
    }

    /// Calls `report` for each condition for which a stream waits: its connection is not open,
    /// another stream is before it on the connection, or a stream that it must follow has not
    /// ended.
    pub fn waits_for_order(&self, id: StreamId, report: &mut dyn FnMut(Wait)) {
        let Some(stream) = self.streams.get(&id) else {
            return;
        };
        if let Some(connection) = self.connections.get(&stream.connection) {
            // Data that arrived before the connection was lost can still be received.
            let lost = connection.gone.is_some() && stream.direction == Direction::Receive;
            if !connection.open && !lost {
                report(Wait::NotOpen(stream.connection));
            }
            let front = connection.order[stream.direction.index()].front();
            if let Some(front) = front.filter(|front| **front != id) {
                report(Wait::Behind(*front, stream.connection));
            }
        }
        for other in &stream.after {
            // Wait only for streams that have not ended. An ended one was successful: its failure
            // would also have ended this stream.
            if live(self.streams, *other).is_some() {
                report(Wait::After(*other));
            }
        }
    }

    /// Reports each reason for which the next application data unit (ADU) of a stream cannot begin,
    /// whatever the state of the stream.
    pub fn waits_to_begin(&self, id: StreamId, report: &mut dyn FnMut(Wait)) {
        let Some(stream) = self.streams.get(&id) else {
            return;
        };
        self.waits_for_step(stream, report);
        match stream.direction {
            Direction::Transmit => Self::waits_for_links(stream, report),
            Direction::Receive => self.waits_for_packets(stream, report),
        }
    }

    /// Reports the streams in lock step with a stream that have not finished the previous
    /// application data unit (ADU).
    fn waits_for_step(&self, stream: &Stream, report: &mut dyn FnMut(Wait)) {
        if stream.started == 0 {
            return;
        }
        let members = stream.group.and_then(|group| self.groups.get(&group));
        // The stream itself is also a member of the group: it must have finished the application
        // data units that it started, like the other members.
        for other in members.into_iter().flatten() {
            let adu = live(self.streams, *other).map(Stream::finished);
            if let Some(adu) = adu.filter(|adu| *adu < stream.started) {
                report(Wait::Step { with: *other, adu });
            }
        }
    }

    /// Reports the links of a transmit stream on which the data of the next transfer unit (TU) is
    /// not offered.
    fn waits_for_links(stream: &Stream, report: &mut dyn FnMut(Wait)) {
        if stream.adus.is_some_and(|adus| stream.started >= adus) {
            return report(Wait::NotFinished);
        }
        let Some(bytes) = stream.next_adu_bytes() else {
            return report(Wait::NotAnnounced);
        };
        // Only the first striping unit (SU) of each link counts: ranks need not offer more before
        // it is fetched.
        let first = bytes.min(stream.format.tu_bytes);
        for link in &stream.links {
            let su = stream.format.sus(first).find(|su| su.link == link.id);
            let wanted = su.map_or(0, |su| su.bytes);
            if link.offered.saturating_sub(link.ordered) < wanted {
                report(Wait::NoData(link.id));
            }
        }
    }

    /// Calls `report` if a receive stream waits for its next packet.
    fn waits_for_packets(&self, stream: &Stream, report: &mut dyn FnMut(Wait)) {
        let all = |adus: Option<u64>| adus.is_some_and(|adus| stream.started >= adus);
        if all(stream.peer_adus) || all(stream.adus) {
            return report(Wait::NotFinished);
        }
        let Some(connection) = self.connections.get(&stream.connection) else {
            return;
        };
        let front = connection.receive.held.front();
        let header = front.and_then(|packet| self.memory.get(*packet));
        let here = header.is_some_and(|packet| {
            packet.header.stream == stream.ordinal && packet.header.bytes > 0
        });
        let known = stream.peer_adus.is_some() && matches!(stream.format.adu, Adu::Fixed(_));
        if !here && !known {
            report(Wait::NothingCame(stream.connection));
        }
    }

    /// Refuses new streams that would wait for themselves through any chain of waits. Streams in
    /// lock step wait for one another, so a wait for one is a wait for all. Existing streams wait
    /// for new ones only if new streams `joined` their groups.
    pub fn check_cycles(&self, new: &BTreeSet<StreamId>, joined: bool) -> Result<()> {
        let mut clean = BTreeSet::new();
        if !joined {
            clean.extend(self.streams.keys().filter(|id| !new.contains(id)));
        }
        for id in new {
            let mut path = Vec::new();
            self.walk(*id, &mut path, &mut clean)?;
        }
        Ok(())
    }

    /// Returns the lock step group of the stream, or the stream alone.
    fn lock_step_group(&self, id: StreamId) -> BTreeSet<StreamId> {
        let group = self.streams.get(&id).and_then(|stream| stream.group);
        let members = group.and_then(|group| self.groups.get(&group)).cloned();
        members.unwrap_or_else(|| BTreeSet::from([id]))
    }

    /// Searches for a cycle of waits depth first, without recursion, because chains may be as long
    /// as memory permits.
    fn walk(
        &self,
        start: StreamId,
        path: &mut Vec<Hop>,
        clean: &mut BTreeSet<StreamId>,
    ) -> Result<()> {
        let mut open: Vec<(BTreeSet<StreamId>, Vec<Hop>)> = Vec::new();
        let enter = |id: StreamId| {
            let members = self.lock_step_group(id);
            let hops = members
                .iter()
                .flat_map(|member| self.hops(*member))
                .collect();
            (members, hops)
        };
        if clean.contains(&start) {
            return Ok(());
        }
        open.push(enter(start));
        while let Some((members, hops)) = open.last_mut() {
            let Some(hop) = hops.pop() else {
                clean.extend(members.iter().copied());
                open.pop();
                path.pop();
                continue;
            };
            if let Some(at) = open
                .iter()
                .position(|(members, _)| members.contains(&hop.to))
            {
                path.push(hop);
                return Err(Error::Cycle(describe_cycle(&path[at..])));
            }
            if !clean.contains(&hop.to) {
                path.push(hop);
                open.push(enter(hop.to));
            }
        }
        Ok(())
    }

    /// Returns each wait of a stream for a stream outside its lock step group.
    fn hops(&self, from: StreamId) -> Vec<Hop> {
        let Some(stream) = live(self.streams, from) else {
            return Vec::new();
        };
        let live = |id: &StreamId| live(self.streams, *id).is_some();
        let after = stream.after.iter().copied().filter(live);
        let mut hops: Vec<Hop> = after
            .map(|to| Hop {
                from,
                to,
                behind: None,
            })
            .collect();
        if let Some(connection) = self.connections.get(&stream.connection) {
            let order = &connection.order[stream.direction.index()];
            let place = order.iter().rposition(|id| *id == from);
            let before = place
                .and_then(|place| place.checked_sub(1))
                .map(|at| order[at]);
            hops.extend(before.filter(live).map(|to| Hop {
                from,
                to,
                behind: Some(stream.connection),
            }));
        }
        hops
    }
}

/// One hop in a chain of waits: a stream waits for another one, because it must follow it or comes
/// after it on the same connection.
#[derive(Clone, Copy, Debug)]
struct Hop {
    from: StreamId,
    to: StreamId,
    behind: Option<ConnectionId>,
}

/// Returns the text of an error message that describes a cycle of waits. Each hop begins in the
/// lock step group in which the previous one ended.
fn describe_cycle(hops: &[Hop]) -> String {
    let mut words = Vec::new();
    for (at, hop) in hops.iter().enumerate() {
        words.push(match hop.behind {
            None => format!("stream {} after stream {}", hop.from, hop.to),
            Some(connection) => format!(
                "stream {} behind stream {} on connection {connection}",
                hop.from, hop.to
            ),
        });
        let next = hops[(at + 1) % hops.len()].from;
        if next != hop.to {
            words.push(format!("stream {} in step with stream {next}", hop.to));
        }
    }
    words.join(", ")
}
