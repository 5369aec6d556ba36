//! Puts a driver to sleep until it can move data: the descriptors that it polls, and the deadline.

use crate::driver::Driver;
use crate::error::{Error, Result};
use crate::link::{Input, Link, Output};
use crate::transport::Transport;
use isthmus_stream::{ConnectionId, LinkId};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

/// Maximum time for which small striping units are collected before they are sent.
const COLLECT_TIME: Duration = Duration::from_micros(100);

/// The links and connections whose descriptors the driver polls.
pub(crate) struct Polled {
    links: Vec<LinkId>,
    transports: Vec<ConnectionId>,
}

/// The link or connection to which a polled descriptor belongs, or the signal that wakes the
/// driver.
#[derive(Clone, Copy)]
enum PollOwner {
    Input(LinkId),
    Output(LinkId),
    Transport(ConnectionId),
    Other,
}

impl Driver {
    /// Returns the time until which the driver may sleep if no descriptor becomes ready.
    fn deadline(&self) -> Option<Instant> {
        let manager = self.manager.poll_timeout().map(|at| self.system_time(at));
        let links = self.links.values().filter_map(|link| link.cut_until);
        let inputs = self.links.values().filter_map(|link| link.input.as_ref());
        let claims = inputs.filter_map(Input::deadline);
        let looks = self
            .transports
            .values()
            .filter_map(|transport| match transport {
                Transport::Plain(plain) => plain.deadline(),
                Transport::Datagrams(datagrams) => datagrams.deadline(),
                _ => None,
            });
        let lingering = self.lingering.iter().map(|(_, until)| *until);
        let departed = self.departed.front().map(|(_, at)| *at);
        links
            .chain(claims)
            .chain(looks)
            .chain(lingering)
            .chain(departed)
            .chain(manager)
            .min()
    }

    /// Sleeps until a descriptor is ready, or until the deadline. While a link or connection is
    /// busy, it polls only the busy ones, and all of them only at intervals (in full rounds): a
    /// poll of a hundred idle sockets takes a tenth of the time of a packet of 1 MiB.
    ///
    /// # Returns
    /// Whether the driver was woken.
    pub(crate) fn sleep(&mut self, until: Option<Instant>) -> Result<bool> {
        let idle = !self.has_busy();
        let polled = if idle { self.all_polled() } else { self.busy() };
        let mut collects = false;
        for id in &polled.links {
            let Some(link) = self.links.get_mut(id) else {
                continue;
            };
            if let Some(input) = link.input.as_mut().filter(|input| input.waits_for_bytes()) {
                // Let the next small striping units (SUs) of a stream collect in the link until the
                // peer has confirmed earlier data of the stream (Nagle, RFC 896). Without such data
                // an SU is sent at once.
                let state = input
                    .small_stream()
                    .and_then(|stream| self.streams.get(&stream));
                let waits = state.is_some_and(|state| state.moved > state.done);
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
        let round = if idle {
            self.deadline()
        } else {
            Some(self.system_time(self.full_round_at))
        };
        let soon = collects.then(|| Instant::now() + COLLECT_TIME);
        let deadline = [round, soon, until].into_iter().flatten().min();
        let remaining = deadline.map(|at| at.saturating_duration_since(Instant::now()));
        self.poll(remaining, &polled)?;
        // Clear the wake signal here, after the sleep. The returns above leave it set, because the
        // driver works on without a sleep.
        let woken = self.wake_signal().clear();
        let now = self.now();
        if woken {
            self.full_round_at = now;
        } else if idle {
            // Delay the next full round: the poll included everything, so all ready links and
            // connections are busy now.
            self.full_round_at = self.next_full_round(now);
        }
        self.figures.sleeps += 1;
        Ok(woken)
    }

    /// Returns the links and connections to poll while any are busy: only the busy ones.
    fn busy(&self) -> Polled {
        Polled {
            links: self.busy_links.ids(),
            transports: self.busy_transports.ids(),
        }
    }

    /// Returns all links and connections as the set to poll.
    pub(crate) fn all_polled(&self) -> Polled {
        Polled {
            links: self.links.keys().copied().collect(),
            transports: self.transports.keys().copied().collect(),
        }
    }

    /// Polls the descriptors of these links and connections for at most the time `most`. Marks the
    /// ready ones as busy, so that the driver serves them next.
    pub(crate) fn poll(&mut self, most: Option<Duration>, polled: &Polled) -> Result<()> {
        let timeout = most.and_then(|most| Timespec::try_from(most).ok());
        let wake = self.wake_signal();
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
                PollOwner::Input(id) => {
                    self.busy_links.add(id, now);
                    let link = self.links.get_mut(&id);
                    if let Some(input) = link.and_then(|link| link.input.as_mut()) {
                        input.mark_ready();
                    }
                }
                PollOwner::Output(id) => {
                    self.busy_links.add(id, now);
                    let link = self.links.get_mut(&id);
                    if let Some(output) = link.and_then(|link| link.output.as_mut()) {
                        output.mark_ready();
                    }
                }
                PollOwner::Transport(id) => {
                    self.busy_transports.add(id, now);
                    if let Some(Transport::Framed(framed)) = self.transports.get_mut(&id) {
                        framed.mark_ready();
                    }
                }
                PollOwner::Other => {}
            }
        }
        Ok(())
    }

    /// Returns the descriptors of these links and connections, with the events to poll for.
    fn descriptors<'d>(
        &'d self,
        wake: BorrowedFd<'d>,
        polled: &Polled,
    ) -> (Vec<PollFd<'d>>, Vec<PollOwner>) {
        let mut fds = vec![PollFd::from_borrowed_fd(wake, PollFlags::IN)];
        let mut whose = vec![PollOwner::Other];
        let mut add = |fd, flags: PollFlags, of| {
            if !flags.is_empty() {
                fds.push(PollFd::from_borrowed_fd(fd, flags));
                whose.push(of);
            }
        };
        let when = |yes: bool, flags: PollFlags| if yes { flags } else { PollFlags::empty() };
        // Poll a link for the departure of its ranks even if the driver only writes to them and
        // nothing is queued: nothing else would detect it.
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
                add(fd, flags, PollOwner::Input(*id));
            }
            if let Some(output) = &link.output
                && let Some(fd) = output.fd()
            {
                // Poll a ring for input, although the driver writes to it: its reader sends a byte
                // when there is room in the ring, or when it departs.
                let what = if output.is_ring() {
                    PollFlags::IN
                } else {
                    PollFlags::OUT
                };
                let waits = output.waits_for_room() || watched(link);
                let flags = when(waits, what);
                add(fd, flags, PollOwner::Output(*id));
            }
        }
        for id in &polled.transports {
            let Some(transport) = self.transports.get(id) else {
                continue;
            };
            let flags = match transport {
                Transport::Connecting(..) => PollFlags::OUT,
                Transport::Framed(framed) => {
                    let (reads, writes) = (framed.wants_read(), framed.wants_write());
                    when(reads, PollFlags::IN) | when(writes, PollFlags::OUT)
                }
                Transport::Plain(plain) => {
                    // Look up the state of the connection only if it receives, because the lookup
                    // costs more than polling a socket that is not needed.
                    let spec = plain.receives().then(|| self.connections.get(id)).flatten();
                    let reads = spec.is_none_or(|spec| plain.wants_read(&spec.expects));
                    when(reads, PollFlags::IN) | when(plain.wants_write(), PollFlags::OUT)
                }
                Transport::Datagrams(datagrams) => {
                    PollFlags::IN | when(datagrams.wants_write(), PollFlags::OUT)
                }
                Transport::AwaitingSocket(..)
                | Transport::AwaitingDatagrams(_)
                | Transport::File(_)
                | Transport::Screen(_) => PollFlags::empty(),
            };
            if let Transport::Datagrams(datagrams) = transport {
                add(datagrams.fd(), flags, PollOwner::Transport(*id));
            }
            if let Some(socket) = transport.socket() {
                add(socket.as_fd(), flags, PollOwner::Transport(*id));
            }
        }
        for (framed, _) in &self.lingering {
            let flags = PollFlags::IN | when(framed.wants_write(), PollFlags::OUT);
            add(framed.socket.as_fd(), flags, PollOwner::Other);
        }
        (fds, whose)
    }
}
