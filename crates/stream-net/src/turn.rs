//! The loop of a driver: it moves data while it can, and [sleeps](crate::sleep) otherwise.
//!
//! A round tries the links and connections on which data moved a short time ago. A full round,
//! which runs at intervals of at least [`FULL_ROUND_NS`] and when no link or connection is busy,
//! tries all of them. Idle sockets are also tried when a poll finds them ready. Many idle
//! connections therefore cost little.

use crate::driver::Driver;
use crate::error::Result;
use crate::event::Event;
use crate::link::Link;
use crate::transport::{FileEnd, FileOutcome, Incoming, Transport, WriterEvent};
use isthmus_stream::{ConnectionId, Instant, LinkId, OrderId};
use std::collections::VecDeque;
use std::time;

/// Maximum number of rounds in a row that move data, after which the call returns to its caller.
const ROUNDS: usize = 64;

/// Number of times that the driver yields the processor to other threads before it sleeps.
const YIELDS: usize = 8;

/// Minimum interval between two full rounds while a link or connection is busy, in nanoseconds.
const FULL_ROUND_NS: u64 = 1_000_000;

/// Minimum interval between two full rounds, in nanoseconds per link and connection: a full round
/// then takes a few percent of the time, however many of them are idle.
const FULL_ROUND_NS_EACH: u64 = 20_000;

/// Time in nanoseconds for which the driver polls only the links before it polls the connections.
const COLLECT_NS: u64 = 20_000;

impl Driver {
    /// Moves data on links and connections. If none moves, waits and then tries once more. The wait
    /// ends when data can move, at a timeout of the manager, when the driver is
    /// [woken](crate::Waker), when a full round is due, or at `until`.
    ///
    /// # Returns
    /// Whether the driver did any work.
    ///
    /// # Errors
    /// The system refuses to wait. Everything else is reported by events.
    pub fn turn(&mut self, until: Option<time::Instant>) -> Result<bool> {
        let mut any = false;
        for _ in 0..ROUNDS {
            if !self.round() {
                break;
            }
            any = true;
        }
        if any || !self.events.is_empty() {
            return Ok(true);
        }
        // Give the processor to other threads before sleeping, because one of them often writes
        // data soon. With a full socket do not: the driver then polls.
        let yields = if self.has_full_socket() { 0 } else { YIELDS };
        for _ in 0..yields {
            std::thread::yield_now();
            self.round_at = self.now();
            if self.try_to_move(false) {
                return Ok(true);
            }
        }
        // If another thread has woken the driver, end the turn without a round, so that this
        // thread's caller runs. The next turn tries all links and connections.
        let woken = self.sleep(until)?;
        Ok(!woken && self.round())
    }

    /// Returns whether the socket of a busy connection is full. Idle sockets may be full for hours.
    fn has_full_socket(&self) -> bool {
        let busy = self.busy_transports.ids();
        busy.iter().any(|id| match self.transports.get(id) {
            Some(Transport::Framed(framed)) => framed.wants_write(),
            Some(Transport::Plain(plain)) => plain.wants_write(),
            _ => false,
        })
    }

    /// Tries to move data on the busy links and connections; if none is busy, or a full round is
    /// due, on all of them. Returns whether data moved.
    fn round(&mut self) -> bool {
        let now = self.now();
        self.round_at = now;
        if now < self.full_round_at {
            let moved = self.try_to_move(false);
            return moved || !self.has_busy() && self.full_round();
        }
        self.full_round_at = self.next_full_round(now);
        // Ignore an error: the next sleep returns the same one.
        let _ = self.poll(Some(time::Duration::ZERO), &self.all_polled());
        self.full_round()
    }

    /// Returns whether a link or connection is busy.
    pub(crate) fn has_busy(&self) -> bool {
        !(self.busy_links.is_empty() && self.busy_transports.is_empty())
    }

    /// Returns the time of the next full round.
    pub(crate) fn next_full_round(&self, now: Instant) -> Instant {
        let count = (self.links.len() + self.transports.len()) as u64;
        now.after_ns(FULL_ROUND_NS.max(FULL_ROUND_NS_EACH * count))
    }

    /// Tries to move data on all links and connections. Returns whether data moved.
    fn full_round(&mut self) -> bool {
        let now = self.round_at;
        let late = self.manager.poll_timeout().is_some_and(|at| at <= now);
        if late {
            self.manager.handle_timeout(now);
        }
        self.try_to_move(true) || late
    }

    /// Carries out orders and moves data on the busy links and connections, or on all. Returns
    /// whether there was work.
    fn try_to_move(&mut self, all: bool) -> bool {
        let mut any = self.carry_out();
        // Try the links again for a short time to collect small SUs, so that one system call sends
        // many.
        while self.move_links(all) {
            any = true;
            if !self.carry_out() || self.now() >= self.round_at.after_ns(COLLECT_NS) {
                break;
            }
        }
        any |= self.move_transports(all);
        any | self.carry_out()
    }

    /// Moves data on all links if `all` is true, otherwise on the busy links only. Returns whether
    /// data moved.
    fn move_links(&mut self, all: bool) -> bool {
        let (at, now) = (self.round_at, self.system_time(self.round_at));
        let mut any = self.reclaim_departed(now);
        let ids = if all {
            let busy = &self.busy_links;
            let due = |(id, link): &(&LinkId, &Link)| !link.is_blocked() || busy.contains(**id);
            let due = self.links.iter().filter(due);
            due.map(|(id, _)| *id).collect()
        } else {
            self.busy_links.ids()
        };
        for id in ids {
            let moved = self.move_link(id, now);
            self.busy_links.note(id, at, moved);
            any |= moved;
        }
        any
    }

    /// Moves data on a link. Returns whether data moved.
    fn move_link(&mut self, id: LinkId, now: time::Instant) -> bool {
        let mut any = false;
        let Some(link) = self.links.get_mut(&id) else {
            return false;
        };
        let streams = &self.streams;
        let live = |stream| streams.get(&stream).and_then(|state| state.live(id));
        let mut events = Vec::new();
        if let Some(input) = &mut link.input {
            if input.release_claims(now) {
                self.memory.spill(id);
                input.release_claims(now);
                any = true;
            }
            let (fetches, progress) = (&mut link.fetches, &mut link.progress);
            any |= input.advance(id, &mut self.memory, fetches, progress, &live, &mut events);
        }
        self.handle_link_events(id, events, true);
        self.confirm_taken(id);
        let Some(link) = self.links.get_mut(&id) else {
            return any;
        };
        let mut events = Vec::new();
        if let Some(output) = &mut link.output {
            any |= output.advance(&self.memory, &mut link.progress, &mut events);
        }
        let late = link.cut_until.take_if(|at| *at <= now);
        self.handle_link_events(id, events, false);
        any |= self.check_ranks(id);
        if late.is_some() {
            any = true;
            self.on_grace_over(id);
        }
        any
    }

    /// Moves data on the busy connections, or on all. Returns whether data moved.
    fn move_transports(&mut self, all: bool) -> bool {
        let (at, now) = (self.round_at, self.system_time(self.round_at));
        let mut any = false;
        let ids = if all {
            let busy = &self.busy_transports;
            let due = |(id, one): &(&ConnectionId, &Transport)| {
                !one.is_blocked(now) || busy.contains(**id)
            };
            let due = self.transports.iter().filter(due);
            due.map(|(id, _)| *id).collect()
        } else {
            self.busy_transports.ids()
        };
        for id in ids {
            let mut over = Vec::new();
            let moved = self.move_transport(id, &mut over);
            for order in over {
                self.manager.handle_completed(at, order, 0);
            }
            match moved {
                Ok(moved) => {
                    self.busy_transports.note(id, at, moved);
                    any |= moved;
                }
                Err(why) => {
                    any = true;
                    self.lost(id, &why);
                }
            }
        }
        any | self.settle_lingering() | self.settle_files()
    }

    /// Moves data on a connection. Returns whether data moved, and appends completed orders to
    /// `over`.
    ///
    /// # Errors
    /// The reason for which the connection is lost.
    fn move_transport(
        &mut self,
        id: ConnectionId,
        over: &mut Vec<OrderId>,
    ) -> std::result::Result<bool, String> {
        let mut incoming = Incoming {
            now: self.round_at,
            id,
            manager: &mut self.manager,
            memory: &mut self.memory,
        };
        match self.transports.get_mut(&id) {
            None | Some(Transport::AwaitingSocket(..) | Transport::AwaitingDatagrams(_)) => {
                Ok(false)
            }
            Some(Transport::Connecting(..)) => self.connecting(id),
            Some(Transport::Framed(framed)) => {
                let wrote = framed.write(incoming.memory, over)?;
                Ok(wrote | framed.read(&mut incoming)?)
            }
            Some(Transport::Plain(plain)) => {
                let wrote = plain.write(incoming.memory, over)?;
                let mut none = VecDeque::new();
                let spec = self.connections.get_mut(&id);
                let expects = spec.map_or(&mut none, |spec| &mut spec.expects);
                let streams = &self.streams;
                let moved = |stream| streams.get(&stream).map(|state| state.moved);
                let read = plain.read(&mut incoming, expects, &moved);
                if read.is_err() {
                    plain.check_at_end(over);
                }
                Ok(wrote | read?)
            }
            Some(Transport::Datagrams(datagrams)) => {
                let wrote = datagrams.write(incoming.memory, over)?;
                Ok(wrote | datagrams.read(&mut incoming)?)
            }
            Some(Transport::File(_)) => self.advance_file(id, over),
            Some(Transport::Screen(drawing)) => drawing.write(incoming.memory, over),
        }
    }

    /// Checks whether the operating system has connected the socket of a connection, and if so
    /// starts to use it. Returns whether the socket became connected.
    fn connecting(&mut self, id: ConnectionId) -> std::result::Result<bool, String> {
        let Some(Transport::Connecting(socket, socket_use)) = self.transports.get(&id) else {
            return Ok(false);
        };
        let socket_use = *socket_use;
        if !socket
            .is_connected()
            .map_err(|error| format!("it could not be made: {error}"))?
        {
            return Ok(false);
        }
        if let Some(Transport::Connecting(socket, _)) = self.transports.remove(&id) {
            self.connected(id, socket, socket_use);
        }
        Ok(true)
    }

    /// Handles the events of the thread that writes the file of connection `id`, and appends
    /// completed orders to `over`. Returns whether there were any events, or the reason why the
    /// connection is lost.
    fn advance_file(
        &mut self,
        id: ConnectionId,
        over: &mut Vec<OrderId>,
    ) -> std::result::Result<bool, String> {
        let Some(Transport::File(file)) = self.transports.get_mut(&id) else {
            return Ok(false);
        };
        let mut any = false;
        while let Some(event) = file.poll_event() {
            any = true;
            match event {
                WriterEvent::Done(order, packet, block) => {
                    self.memory.return_block(packet, block);
                    over.push(order);
                }
                WriterEvent::Refused(why) => {
                    if let Some(Transport::File(mut file)) = self.transports.remove(&id) {
                        file.end(FileEnd::Failed);
                        self.ending_files.push((id, file));
                    }
                    return Err(why);
                }
                WriterEvent::Made => {
                    let now = self.now();
                    self.manager.handle_connected(now, id);
                    return Ok(true);
                }
                WriterEvent::Unmade(why) => {
                    let path = file.path.clone();
                    self.not_kept(id, &path, &why);
                    return Err(why);
                }
                WriterEvent::Ended(_) => {}
            }
        }
        Ok(any)
    }

    /// Sends the remaining data of closed connections, until their peers close them.
    fn settle_lingering(&mut self) -> bool {
        let mut any = false;
        let memory = &self.memory;
        self.lingering.retain_mut(|(framed, until)| {
            if *until <= time::Instant::now() {
                return false;
            }
            if framed.wants_write() {
                match framed.write(memory, &mut Vec::new()) {
                    Ok(moved) => any |= moved,
                    Err(_) => return false,
                }
            }
            if !framed.wants_write() {
                framed.socket.finish();
            }
            !framed.drain()
        });
        any
    }

    /// Reports the outcome of each file that was written completely or abandoned after its
    /// connection was closed. Returns whether there were any.
    fn settle_files(&mut self) -> bool {
        let mut any = false;
        let (manager_events, ending) = (&mut self.events, &mut self.ending_files);
        ending.retain_mut(|(connection, file)| {
            while let Some(event) = file.poll_event() {
                any = true;
                let (connection, path) = (*connection, file.path.clone());
                let event = match event {
                    WriterEvent::Ended(FileOutcome::Whole(bytes)) => Event::Kept {
                        connection,
                        path,
                        bytes,
                    },
                    WriterEvent::Ended(FileOutcome::NotKept(reason))
                    | WriterEvent::Unmade(reason) => Event::NotKept {
                        connection,
                        path,
                        reason,
                    },
                    WriterEvent::Ended(FileOutcome::Unused) => Event::Unused { connection, path },
                    WriterEvent::Made | WriterEvent::Done(..) | WriterEvent::Refused(_) => continue,
                };
                manager_events.push_back(event);
                return false;
            }
            true
        });
        any
    }
}
