//! The loop of a driver: what can be moved is moved, and if nothing can it sleeps.

use crate::driver::Driver;
use crate::error::{Error, Result};
use crate::event::Event;
use crate::link::{Input, Link, Output};
use crate::outside::{Kept, Outside, Then, Wrote};
use crate::taking_back::take_back;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

/// Rounds without sleep before a turn ends, so that its caller is heard.
const ROUNDS: usize = 64;

/// Times the processor is offered to others before the driver sleeps.
const YIELDS: usize = 8;

/// Between two looks at time-outs of the manager in rounds without sleep, in nanoseconds.
const TIMEOUTS_NS: u64 = 1_000_000;

/// Whose descriptor was polled.
#[derive(Clone, Copy)]
enum Whose {
    Input(isthmus_stream::LinkId),
    Output(isthmus_stream::LinkId),
    Outside(isthmus_stream::ConnectionId),
    Other,
}

impl Driver {
    /// Does what there is to do; if that is nothing, sleeps until there is, until a time-out of the
    /// manager, until it is [woken](crate::Waker), or until `until`, and does what there is then.
    ///
    /// # Returns
    /// Whether anything was done.
    ///
    /// # Errors
    /// A system that refuses to wait. All else is told by events.
    pub fn turn(&mut self, until: Option<Instant>) -> Result<bool> {
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
        // Who is about to write more often gets to it when it gets the processor. A socket that
        // takes no more is told of by the system when it is worth it.
        let yields = if self.a_socket_is_full() { 0 } else { YIELDS };
        for _ in 0..yields {
            std::thread::yield_now();
            if self.round() {
                return Ok(true);
            }
        }
        self.sleep(until)?;
        Ok(self.round())
    }

    fn a_socket_is_full(&self) -> bool {
        self.outsides.values().any(|outside| match outside {
            Outside::Framed(framed) => framed.carrier.socket().is_some() && framed.wants_write(),
            Outside::Plain(plain) => plain.wants_write(),
            _ => false,
        })
    }

    /// One look at everything; whether anything was done.
    fn round(&mut self) -> bool {
        let now = self.now();
        self.round_at = now;
        let mut any = false;
        // All connections are gone through for it, and a time-out may be late by so much.
        if now >= self.timeouts_at {
            self.timeouts_at = now.after_ns(TIMEOUTS_NS);
            if self.manager.poll_timeout().is_some_and(|at| at <= now) {
                self.manager.handle_timeout(now);
                any = true;
            }
        }
        any |= self.carry_out();
        any |= self.move_links();
        any |= self.carry_out();
        any |= self.move_outsides();
        any | self.carry_out()
    }

    fn move_links(&mut self) -> bool {
        let now = self.moment(self.round_at);
        let mut any = self.take_back_of_left(now);
        let ids: Vec<_> = self.links.keys().copied().collect();
        for id in ids {
            let Some(link) = self.links.get_mut(&id) else {
                continue;
            };
            let streams = &self.streams;
            let live = |stream| streams.get(&stream).and_then(|known| known.live(id));
            let mut told = Vec::new();
            if let Some(input) = &mut link.input {
                if input.give_back(now) {
                    let (outsides, memory) = (&mut self.outsides, &mut self.memory);
                    self.figures.revoked += take_back(id, outsides, memory);
                    input.give_back(now);
                    any = true;
                }
                let (wants, passed) = (&mut link.wants, &mut link.passed);
                any |= input.advance(id, &mut self.memory, wants, passed, &live, &mut told);
            }
            self.hear(id, told, true);
            self.confirm_taken(id);
            let Some(link) = self.links.get_mut(&id) else {
                continue;
            };
            let mut told = Vec::new();
            if let Some(output) = &mut link.output {
                any |= output.advance(&self.memory, &mut link.passed, &mut told);
            }
            let late = link.cut_until.take_if(|at| *at <= now);
            self.hear(id, told, false);
            any |= self.look_for_ranks(id);
            if late.is_some() {
                any = true;
                self.grace_over(id);
            }
        }
        any
    }

    fn move_outsides(&mut self) -> bool {
        let mut any = false;
        let moment = self.moment(self.round_at);
        let due = |outside: &Outside| match outside {
            Outside::Plain(plain) => plain.is_due(moment),
            _ => true,
        };
        let due = self.outsides.iter().filter(|(_, outside)| due(outside));
        for id in due.map(|(id, _)| *id).collect::<Vec<_>>() {
            let now = self.round_at;
            let Some(outside) = self.outsides.get_mut(&id) else {
                continue;
            };
            let mut over = Vec::new();
            let moved = match outside {
                Outside::Given(..) | Outside::GivenDatagrams(_) => Ok(false),
                Outside::Connecting(..) => self.connecting(id),
                Outside::Framed(framed) => {
                    let wrote = framed.write(&self.memory, &mut over);
                    self.figures.lent += framed.count_lent();
                    wrote.and_then(|wrote| {
                        let read = framed.read(now, id, &mut self.manager, &mut self.memory)?;
                        Ok(wrote | read)
                    })
                }
                Outside::Plain(plain) => {
                    let wrote = plain.write(&mut self.memory, &mut over);
                    let mut none = VecDeque::new();
                    let spec = self.connections.get_mut(&id);
                    let expects = spec.map_or(&mut none, |spec| &mut spec.expects);
                    wrote.and_then(|wrote| {
                        let (manager, memory) = (&mut self.manager, &mut self.memory);
                        let streams = &self.streams;
                        let moved = |stream| streams.get(&stream).map(|known| known.moved);
                        let read = plain.read((now, id), manager, memory, expects, &moved);
                        if read.is_err() {
                            plain.look_at_the_end(&mut over);
                        }
                        let any = wrote | read?;
                        plain.tried(moment, any);
                        Ok(any)
                    })
                }
                Outside::Datagrams(datagrams) => {
                    let wrote = datagrams.write(&self.memory, &mut over);
                    wrote.and_then(|wrote| {
                        let read = datagrams.read(now, id, &mut self.manager, &mut self.memory)?;
                        Ok(wrote | read)
                    })
                }
                Outside::File(_) => self.filing(id, &mut over),
                Outside::Screen(drawing) => drawing.write(&self.memory, &mut over),
            };
            for order in over {
                self.manager.handle_completed(now, order, 0);
            }
            match moved {
                Ok(moved) => any |= moved,
                Err(why) => {
                    any = true;
                    self.lost(id, &why);
                }
            }
        }
        any | self.settle_lingering() | self.settle_files()
    }

    fn connecting(
        &mut self,
        id: isthmus_stream::ConnectionId,
    ) -> std::result::Result<bool, String> {
        let Some(Outside::Connecting(socket, becomes)) = self.outsides.get(&id) else {
            return Ok(false);
        };
        let becomes = *becomes;
        if !socket
            .connected()
            .map_err(|error| format!("it could not be made: {error}"))?
        {
            return Ok(false);
        }
        if let Some(Outside::Connecting(socket, _)) = self.outsides.remove(&id) {
            self.outsides
                .insert(id, Outside::connected(socket, becomes));
        }
        let now = self.now();
        self.manager.handle_connected(now, id);
        Ok(true)
    }

    fn filing(
        &mut self,
        id: isthmus_stream::ConnectionId,
        over: &mut Vec<isthmus_stream::OrderId>,
    ) -> std::result::Result<bool, String> {
        let Some(Outside::File(file)) = self.outsides.get_mut(&id) else {
            return Ok(false);
        };
        let mut any = false;
        while let Some(told) = file.told() {
            any = true;
            match told {
                Wrote::Done(order, packet, block) => {
                    self.memory.handed_back(packet, block);
                    over.push(order);
                }
                Wrote::Refused(why) => {
                    if let Some(Outside::File(mut file)) = self.outsides.remove(&id) {
                        file.end(Then::Spoiled);
                        self.ending_files.push((id, file));
                    }
                    return Err(why);
                }
                Wrote::Made => {
                    let now = self.now();
                    self.manager.handle_connected(now, id);
                    return Ok(true);
                }
                Wrote::Unmade(why) => {
                    let path = file.path.clone();
                    self.not_kept(id, &path, &why);
                    return Err(why);
                }
                Wrote::Ended(_) => {}
            }
        }
        Ok(any)
    }

    /// Connections that are over: what is left is sent, then their peers close them.
    fn settle_lingering(&mut self) -> bool {
        let mut any = false;
        let memory = &self.memory;
        self.lingering.retain_mut(|(framed, until)| {
            if *until <= Instant::now() {
                return false;
            }
            if framed.wants_write() {
                match framed.write(memory, &mut Vec::new()) {
                    Ok(moved) => any |= moved,
                    Err(_) => return false,
                }
                if !framed.wants_write() {
                    framed.carrier.finish();
                }
            } else {
                framed.carrier.finish();
            }
            // What is in a ring can be read when it is closed.
            let written = !framed.wants_write() && framed.carrier.socket().is_none();
            !written && !framed.drain()
        });
        any
    }

    fn settle_files(&mut self) -> bool {
        let mut any = false;
        let (manager_events, ending) = (&mut self.events, &mut self.ending_files);
        ending.retain_mut(|(connection, file)| {
            while let Some(told) = file.told() {
                any = true;
                let (connection, path) = (*connection, file.path.clone());
                let event = match told {
                    Wrote::Ended(Kept::Whole(bytes)) => Event::Kept {
                        connection,
                        path,
                        bytes,
                    },
                    Wrote::Ended(Kept::Not(reason)) | Wrote::Unmade(reason) => Event::NotKept {
                        connection,
                        path,
                        reason,
                    },
                    Wrote::Ended(Kept::Unused) => Event::Unused { connection, path },
                    Wrote::Made | Wrote::Done(..) | Wrote::Refused(_) => continue,
                };
                manager_events.push_back(event);
                return false;
            }
            true
        });
        any
    }

    /// When something is to be done even if nothing comes.
    fn deadline(&self, until: Option<Instant>) -> Option<Instant> {
        let manager = self.manager.poll_timeout().map(|at| self.moment(at));
        let links = self.links.values().filter_map(|link| link.cut_until);
        let inputs = self.links.values().filter_map(|link| link.input.as_ref());
        let claims = inputs.filter_map(Input::deadline);
        let looks = self.outsides.values().filter_map(|outside| match outside {
            Outside::Plain(plain) => plain.deadline(),
            Outside::Datagrams(datagrams) => datagrams.deadline(),
            _ => None,
        });
        let lingering = self.lingering.iter().map(|(_, until)| *until);
        let left = self.left.front().map(|(_, at)| *at);
        links
            .chain(claims)
            .chain(looks)
            .chain(lingering)
            .chain(left)
            .chain(manager)
            .chain(until)
            .min()
    }

    /// Sleeps until a descriptor is ready, or until the deadline.
    fn sleep(&mut self, until: Option<Instant>) -> Result<()> {
        for link in self.links.values_mut() {
            if let Some(input) = link.input.as_mut().filter(|input| input.waits_for_bytes())
                && !input.arm()
            {
                return Ok(());
            }
            if let Some(output) = link
                .output
                .as_mut()
                .filter(|output| output.waits_for_room())
                && !output.arm()
            {
                return Ok(());
            }
        }
        for outside in self.outsides.values_mut() {
            if let Outside::Framed(framed) = outside
                && !framed.arm()
            {
                return Ok(());
            }
        }
        let deadline = self.deadline(until);
        let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
        let timeout = left.and_then(|left| Timespec::try_from(left).ok());
        let wake = self.wake_fd();
        let ready = {
            let (mut fds, whose) = self.descriptors(wake.as_fd());
            match poll(&mut fds, timeout.as_ref()) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(Error::system("waiting for links and sockets", error)),
            }
            let mut ready = Vec::new();
            for (fd, whose) in fds.iter().zip(whose) {
                if !fd.revents().is_empty() {
                    ready.push(whose);
                }
            }
            ready
        };
        self.timeouts_at = self.now();
        self.figures.sleeps += 1;
        let mut count = [0; 8];
        // Empty, if nobody woke it.
        let _ = rustix::io::read(&wake, &mut count);
        for whose in ready {
            match whose {
                Whose::Input(id) => {
                    if let Some(input) = self.links.get_mut(&id).and_then(|it| it.input.as_mut()) {
                        input.heed();
                    }
                }
                Whose::Output(id) => {
                    let link = self.links.get_mut(&id);
                    if let Some(output) = link.and_then(|it| it.output.as_mut()) {
                        output.heed();
                    }
                }
                Whose::Outside(id) => match self.outsides.get_mut(&id) {
                    Some(Outside::Framed(framed)) => framed.heed(),
                    Some(Outside::Plain(plain)) => plain.heed(),
                    _ => {}
                },
                Whose::Other => {}
            }
        }
        Ok(())
    }

    /// What to sleep on.
    fn descriptors<'d>(&'d self, wake: BorrowedFd<'d>) -> (Vec<PollFd<'d>>, Vec<Whose>) {
        let mut fds = vec![PollFd::from_borrowed_fd(wake, PollFlags::IN)];
        let mut whose = vec![Whose::Other];
        let mut add = |fd, flags: PollFlags, of| {
            if !flags.is_empty() {
                fds.push(PollFd::from_borrowed_fd(fd, flags));
                whose.push(of);
            }
        };
        let when = |yes: bool, flags: PollFlags| if yes { flags } else { PollFlags::empty() };
        // Ranks that are only written to, and nothing is: none sees them leave otherwise.
        let watched = |link: &Link| {
            let output = link.output.as_ref();
            link.input.is_none() && output.is_some_and(Output::is_ring)
        };
        for (id, link) in &self.links {
            if let Some(input) = &link.input
                && let Some(fd) = input.fd()
            {
                let flags = when(input.waits_for_bytes(), PollFlags::IN);
                add(fd, flags, Whose::Input(*id));
            }
            if let Some(output) = &link.output
                && let Some(fd) = output.fd()
            {
                // A ring is woken by a byte, whatever for.
                let what = if output.is_ring() {
                    PollFlags::IN
                } else {
                    PollFlags::OUT
                };
                let waits = output.waits_for_room() || watched(link);
                let flags = when(waits, what);
                add(fd, flags, Whose::Output(*id));
            }
        }
        for (id, outside) in &self.outsides {
            let flags = match outside {
                Outside::Connecting(..) => PollFlags::OUT,
                Outside::Framed(framed) => {
                    let (reads, writes) = (framed.wants_read(), framed.wants_write());
                    for (fd, flags) in framed.carrier.descriptors(reads, writes) {
                        add(fd, flags, Whose::Outside(*id));
                    }
                    continue;
                }
                Outside::Plain(plain) => {
                    let spec = self.connections.get(id);
                    let reads = spec.is_none_or(|spec| plain.wants_read(&spec.expects));
                    when(reads, PollFlags::IN) | when(plain.wants_write(), PollFlags::OUT)
                }
                Outside::Datagrams(datagrams) => {
                    PollFlags::IN | when(datagrams.wants_write(), PollFlags::OUT)
                }
                Outside::Given(..)
                | Outside::GivenDatagrams(_)
                | Outside::File(_)
                | Outside::Screen(_) => PollFlags::empty(),
            };
            if let Outside::Datagrams(datagrams) = outside {
                add(datagrams.fd(), flags, Whose::Other);
            }
            if let Some(socket) = outside.socket() {
                add(socket.as_fd(), flags, Whose::Outside(*id));
            }
        }
        for (framed, _) in &self.lingering {
            let writes = framed.wants_write();
            for (fd, flags) in framed.carrier.descriptors(true, writes) {
                add(fd, flags, Whose::Other);
            }
        }
        (fds, whose)
    }
}
