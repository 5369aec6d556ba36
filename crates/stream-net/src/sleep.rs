//! How a driver sleeps: which descriptors it polls, and until when.

use crate::driver::Driver;
use crate::error::{Error, Result};
use crate::link::{Input, Link, Output};
use crate::outside::Outside;
use isthmus_stream::{ConnectionId, LinkId};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

/// How long small units are collected at most.
const COLLECTED: Duration = Duration::from_micros(100);

/// Links and connections whose descriptors are polled.
pub(crate) struct Polled {
    links: Vec<LinkId>,
    outsides: Vec<ConnectionId>,
}

/// The owner of a polled descriptor.
#[derive(Clone, Copy)]
enum Whose {
    Input(LinkId),
    Output(LinkId),
    Outside(ConnectionId),
    Other,
}

impl Driver {
    /// Returns the time until which the driver may sleep if nothing happens.
    fn deadline(&self) -> Option<Instant> {
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
            .min()
    }

    /// Sleeps until a descriptor is ready, or until the deadline. While a link or connection is
    /// busy, it polls only the busy ones, until the next full round: a poll of a hundred idle
    /// sockets takes a tenth of the time of a packet of 1 MiB.
    ///
    /// # Returns
    /// Whether the driver was woken.
    pub(crate) fn sleep(&mut self, until: Option<Instant>) -> Result<bool> {
        let idle = !self.has_busy();
        let polled = if idle { self.everything() } else { self.busy() };
        let mut collects = false;
        for id in &polled.links {
            let Some(link) = self.links.get_mut(id) else {
                continue;
            };
            if let Some(input) = link.input.as_mut().filter(|input| input.waits_for_bytes()) {
                // While data of a stream is under way, its next small units are collected until the
                // answer comes (Nagle, RFC 896). A single one is sent at once.
                let known = input.small().and_then(|stream| self.streams.get(&stream));
                let waits = known.is_some_and(|known| known.moved > known.done);
                if !input.arm(waits) {
                    return Ok(false);
                }
                collects |= waits;
            }
            if let Some(output) = link
                .output
                .as_mut()
                .filter(|output| output.waits_for_room())
                && !output.arm()
            {
                return Ok(false);
            }
        }
        let look = if idle {
            self.deadline()
        } else {
            Some(self.moment(self.look_at))
        };
        let soon = collects.then(|| Instant::now() + COLLECTED);
        let deadline = [look, soon, until].into_iter().flatten().min();
        let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
        self.poll(left, &polled)?;
        let mut count = [0; 8];
        // Without a wake-up there is nothing to read. Rounds without sleep leave the count: the
        // caller does its work when a turn ends.
        let woken = rustix::io::read(self.wake_fd(), &mut count).is_ok();
        let now = self.now();
        if woken {
            self.look_at = now;
        } else if idle {
            // The poll covered everything: ready links and connections are busy now.
            self.look_at = self.next_look(now);
        }
        self.figures.sleeps += 1;
        Ok(woken)
    }

    fn busy(&self) -> Polled {
        Polled {
            links: self.busy_links.ids(),
            outsides: self.busy_outsides.ids(),
        }
    }

    pub(crate) fn everything(&self) -> Polled {
        Polled {
            links: self.links.keys().copied().collect(),
            outsides: self.outsides.keys().copied().collect(),
        }
    }

    /// Polls these descriptors for at most `most`. Ready ones are tried in the next rounds.
    pub(crate) fn poll(&mut self, most: Option<Duration>, polled: &Polled) -> Result<()> {
        let timeout = most.and_then(|most| Timespec::try_from(most).ok());
        let wake = self.wake_fd();
        let (mut fds, whose) = self.descriptors(wake.as_fd(), polled);
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(Error::system("waiting for links and sockets", error)),
        }
        let ready = fds
            .iter()
            .zip(whose)
            .filter(|(fd, _)| !fd.revents().is_empty());
        let ready: Vec<_> = ready.map(|(_, whose)| whose).collect();
        let now = self.now();
        for whose in ready {
            match whose {
                Whose::Input(id) => {
                    self.busy_links.add(id, now);
                    let link = self.links.get_mut(&id);
                    if let Some(input) = link.and_then(|link| link.input.as_mut()) {
                        input.heed();
                    }
                }
                Whose::Output(id) => {
                    self.busy_links.add(id, now);
                    let link = self.links.get_mut(&id);
                    if let Some(output) = link.and_then(|link| link.output.as_mut()) {
                        output.heed();
                    }
                }
                Whose::Outside(id) => {
                    self.busy_outsides.add(id, now);
                    if let Some(Outside::Framed(framed)) = self.outsides.get_mut(&id) {
                        framed.heed();
                    }
                }
                Whose::Other => {}
            }
        }
        Ok(())
    }

    /// Returns the descriptors to poll.
    fn descriptors<'d>(
        &'d self,
        wake: BorrowedFd<'d>,
        polled: &Polled,
    ) -> (Vec<PollFd<'d>>, Vec<Whose>) {
        let mut fds = vec![PollFd::from_borrowed_fd(wake, PollFlags::IN)];
        let mut whose = vec![Whose::Other];
        let mut add = |fd, flags: PollFlags, of| {
            if !flags.is_empty() {
                fds.push(PollFd::from_borrowed_fd(fd, flags));
                whose.push(of);
            }
        };
        let when = |yes: bool, flags: PollFlags| if yes { flags } else { PollFlags::empty() };
        // If ranks are only written to, and nothing is queued, only this poll detects that they
        // leave.
        let watched = |link: &Link| {
            let output = link.output.as_ref();
            link.input.is_none() && output.is_some_and(Output::is_ring)
        };
        for id in &polled.links {
            let Some(link) = self.links.get(id) else {
                continue;
            };
            if let Some(input) = &link.input
                && let Some(fd) = input.fd()
            {
                let flags = when(input.waits_for_bytes(), PollFlags::IN);
                add(fd, flags, Whose::Input(*id));
            }
            if let Some(output) = &link.output
                && let Some(fd) = output.fd()
            {
                // A ring is woken by a byte in either case.
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
        for id in &polled.outsides {
            let Some(outside) = self.outsides.get(id) else {
                continue;
            };
            let flags = match outside {
                Outside::Connecting(..) => PollFlags::OUT,
                Outside::Framed(framed) => {
                    let (reads, writes) = (framed.wants_read(), framed.wants_write());
                    when(reads, PollFlags::IN) | when(writes, PollFlags::OUT)
                }
                Outside::Plain(plain) => {
                    // Looking up each connection costs more than polling its socket.
                    let spec = plain.receives().then(|| self.connections.get(id)).flatten();
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
                add(datagrams.fd(), flags, Whose::Outside(*id));
            }
            if let Some(socket) = outside.socket() {
                add(socket.as_fd(), flags, Whose::Outside(*id));
            }
        }
        for (framed, _) in &self.lingering {
            let flags = PollFlags::IN | when(framed.wants_write(), PollFlags::OUT);
            add(framed.socket.as_fd(), flags, Whose::Other);
        }
        (fds, whose)
    }
}
