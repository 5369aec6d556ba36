//! The connection of one client: messages in, replies out, on a thread of its own.

use crate::client::Client;
use crate::sessions::{Membership, Sessions, Waker};
use crate::shared::Shared;
use isthmus_daemon::Slot;
use isthmus_forward::message::{Reply, Request};
use isthmus_forward::{Buffer, Deferred, Done, Errno, Frames, Job, Result, Session, Ticket, Work};
use isthmus_wire::{Moved, Transport, timespec};
use rustix::event::{PollFd, PollFlags, poll};
use std::collections::VecDeque;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Maximum size in bytes of a message of a client that has not attached.
const FIRST_BYTES: usize = 8 << 10;

/// Number of bytes of replies after which no request is carried out before some are sent.
const REPLIES_BYTES: usize = 256 << 10;

/// Time without a request after which the memory for messages is freed.
const IDLE: Duration = Duration::from_millis(200);

/// Maximum time to send the last replies to a client.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// Serve a client until it leaves, is refused, or the daemon ends.
pub(crate) fn run(shared: &Arc<Shared>, slot: Slot, transport: Transport) {
    // Without descriptors the client gets the end of the connection, and can try again.
    if let Ok(mut connection) = Connection::new(shared, transport) {
        connection.serve(slot);
    }
}

/// Maximum number of requests of one connection that wait for the store, and of all connections.
const DEFERRED: usize = 64;
const DEFERRED_ALL: usize = 1024;

/// Maximum number of bytes in them. A connection with more takes no further requests until some have ended.
const DEFERRED_BYTES: usize = 4 << 20;
const DEFERRED_BYTES_ALL: usize = 64 << 20;

/// The result of a request that was carried out on another thread.
#[derive(Debug)]
struct Finish {
    ticket: Ticket,
    /// The number of bytes of its data.
    bytes: usize,
    result: Result<Done>,
}

/// The results of requests that were carried out on other threads.
#[derive(Debug)]
struct Finished {
    results: Mutex<Vec<Finish>>,
    waker: Arc<Waker>,
}

/// A connection and its session.
struct Connection {
    shared: Arc<Shared>,
    transport: Transport,
    client: Client,
    session: Session<Client>,
    frames: Frames,
    out: Buffer,
    finished: Arc<Finished>,
    /// The number of requests of this connection on other threads, and of the bytes in them.
    deferred: usize,
    deferred_bytes: usize,
    /// When requests on these threads fail, if the store has not answered by then.
    deadlines: VecDeque<(Instant, Ticket)>,
    /// Dropped last: the session ends after its files are closed and its requests flushed.
    membership: Arc<Membership>,
}

/// The result of a step.
#[derive(PartialEq, Eq)]
enum Step {
    /// There may be more to do at once.
    Again,
    /// Nothing can be done until the client or the store does something.
    Wait,
    /// The connection has ended.
    End,
}

impl Connection {
    /// Create the session of a client that has connected.
    fn new(shared: &Arc<Shared>, transport: Transport) -> std::io::Result<Self> {
        let is_plain = transport.kind() == "tcp";
        let peer = transport.peer().clone();
        let client = Client::new(Arc::clone(shared), peer, is_plain);
        let waker = Arc::new(Waker::new()?);
        let finished = Finished {
            results: Mutex::default(),
            waker: Arc::clone(&waker),
        };
        let socket = transport.try_clone_socket()?;
        Ok(Self {
            membership: Sessions::add(&shared.sessions, client.session, socket, waker),
            shared: Arc::clone(shared),
            transport,
            client,
            session: Session::new(shared.limits),
            frames: Frames::new(FIRST_BYTES),
            out: Buffer::new(),
            finished: Arc::new(finished),
            deferred: 0,
            deferred_bytes: 0,
            deadlines: VecDeque::new(),
        })
    }

    /// Serve the client until the connection ends.
    fn serve(&mut self, slot: Slot) {
        let hello = Instant::now() + self.shared.gate.hello();
        let mut slot = Some(slot);
        loop {
            let step = self.step();
            if slot.is_some() && Instant::now() >= hello {
                break;
            }
            if self.session.is_attached() {
                // A connection that was closed to make room for another ends at its next read.
                let _ = slot.take().map(Slot::leave);
            } else if let Some(slot) = slot.as_ref().filter(|_| self.session.has_version()) {
                slot.mark_active();
            }
            match step {
                Step::End => break,
                Step::Again => {}
                Step::Wait => self.wait(slot.is_some().then_some(hello)),
            }
        }
        if self.session.has_version() && !self.session.is_attached() {
            self.client.log_left();
        }
        self.finish_deferred();
        let deadline = Instant::now() + CLOSE_TIMEOUT;
        // Ignore a failure: the client is gone, or does not read.
        let _ = self.transport.write_all(self.out.unsent(), deadline);
        self.transport.close_gracefully(deadline);
        // A write that is under way keeps the socket.
        self.transport.close();
    }

    /// Return whether the client goes on over another connection.
    fn is_replaced(&self) -> bool {
        self.finished.waker.is_replaced()
    }

    /// Wait for the deferred requests, after the last request of the client, as long as the
    /// connection is open.
    fn finish_deferred(&mut self) {
        while !self.deadlines.is_empty() && !self.is_replaced() && self.send().is_ok() {
            let first = self.deadlines.front().map(|(at, _)| *at);
            let left = first.map(|at| at.saturating_duration_since(Instant::now()));
            // A client that has closed both directions has no use for the reply.
            if self.poll(PollFlags::empty(), left.map(|left| left.min(IDLE))) || self.is_late() {
                self.take_finished();
            } else if self.is_gone() {
                return;
            }
        }
    }

    /// Return whether the connection is closed in both directions.
    fn is_gone(&self) -> bool {
        let mut fds = [PollFd::from_borrowed_fd(
            self.transport.as_fd(),
            PollFlags::empty(),
        )];
        let ready = poll(&mut fds, Some(&timespec(Duration::ZERO)));
        ready.is_ok() && fds[0].revents().intersects(PollFlags::HUP | PollFlags::ERR)
    }

    /// Handle received requests, send queued replies, and receive more bytes.
    fn step(&mut self) -> Step {
        self.take_finished();
        self.handle_messages();
        if self.send().is_err() {
            return Step::End;
        }
        if self.client.is_refused() || self.is_replaced() {
            return Step::End;
        }
        if !self.has_room() {
            return Step::Wait;
        }
        match self.frames.has_message() {
            Ok(true) => return Step::Again,
            Ok(false) => {}
            Err(malformed) => {
                self.client.log_malformed(&malformed.to_string());
                return Step::End;
            }
        }
        match self.transport.read(self.frames.space()) {
            Ok(Moved::Some(count)) => {
                self.frames.filled(count);
                Step::Again
            }
            Ok(Moved::None) => Step::Wait,
            Ok(Moved::End) | Err(_) => Step::End,
        }
    }

    /// Return whether a further request can be carried out.
    fn has_room(&self) -> bool {
        let all = self.shared.deferred_bytes.load(Ordering::Relaxed);
        self.out.len() < REPLIES_BYTES
            && self.deferred_bytes < DEFERRED_BYTES
            && (self.deferred_bytes == 0 || all < DEFERRED_BYTES_ALL)
    }

    /// Carry out the requests that have arrived, while there is room for replies.
    fn handle_messages(&mut self) {
        let (mut requests, mut failed) = (0, 0);
        while self.has_room() && !self.client.is_refused() && !self.is_replaced() {
            let Ok(Some(message)) = self.frames.take() else {
                break;
            };
            let start = self.out.len();
            let cache = self.shared.cache.as_ref().filter(|_| asks_store(message));
            let foreground = cache.map(|cache| cache.foreground.begin());
            let deferred = self.session.handle(message, &self.client, &mut self.out);
            drop(foreground);
            requests += 1;
            failed += u64::from(is_error(&self.out.bytes()[start..]));
            if let Some(deferred) = deferred {
                self.defer(deferred);
            }
        }
        if requests > 0 {
            let limit = match self.session.is_attached() {
                true => self.session.message_bytes() as usize,
                false => FIRST_BYTES,
            };
            self.frames.set_limit(limit);
            let counters = &self.shared.counters;
            counters.requests.fetch_add(requests, Ordering::Relaxed);
            counters.failed.fetch_add(failed, Ordering::Relaxed);
        }
    }

    /// Carry out a request on another thread, because it may take long.
    fn defer(&mut self, deferred: Deferred<Client>) {
        let Deferred {
            work,
            ticket,
            is_flushed,
        } = deferred;
        let (bytes, is_change) = match &work {
            Work::Data { job, .. } => match job {
                Job::Read { count, .. } => (*count, false),
                Job::Write { data, .. } => (data.len(), true),
                Job::Sync(_) | Job::Close => (0, false),
            },
            Work::Fetch { count, .. } => (*count, false),
            Work::Prefetch { .. } | Work::Drain => (0, false),
            Work::Abandon { .. } => (0, true),
        };
        // Until a change has ended, no other connection takes up the session.
        let membership = is_change.then(|| Arc::clone(&self.membership));
        let shared = Arc::clone(&self.shared);
        let is_full = shared.deferred.fetch_add(1, Ordering::Relaxed) >= DEFERRED_ALL;
        if is_full || self.deferred >= DEFERRED {
            shared.deferred.fetch_sub(1, Ordering::Relaxed);
            return self.finish(ticket, Err(Errno::AGAIN));
        }
        shared.deferred_bytes.fetch_add(bytes, Ordering::Relaxed);
        let (finished, session) = (Arc::clone(&self.finished), self.client.session);
        let thread = std::thread::Builder::new().name("request".into());
        let started = thread.spawn(move || {
            let answer = |result| {
                shared.deferred_bytes.fetch_sub(bytes, Ordering::Relaxed);
                let results = finished.results.lock();
                let mut results = results.unwrap_or_else(PoisonError::into_inner);
                results.push(Finish {
                    ticket,
                    bytes,
                    result,
                });
                drop(results);
                finished.waker.signal.set();
            };
            match work {
                Work::Data { open, job } => open.carry_out(job, &is_flushed, answer),
                Work::Fetch {
                    directory,
                    path,
                    count,
                } => {
                    let fetched = shared.fetch(&directory, &path, count);
                    if let (Ok(_), Some(cache), Ok(whole)) =
                        (&fetched, &shared.cache, directory.path_of(&path))
                    {
                        shared.reads(cache, &directory.export, &whole);
                    }
                    answer(fetched.map(|(attributes, data)| Done::Fetched(attributes, data)));
                }
                Work::Drain => answer(shared.drain(&is_flushed).map(|()| Done::Drained)),
                Work::Abandon { number, path } => {
                    let result = shared.abandon(session, (number, &path), &is_flushed);
                    answer(result.map(Done::Abandoned));
                }
                Work::Prefetch { directory, path } => {
                    let prefetched = shared.prefetch(&directory, &path, u64::MAX, &is_flushed);
                    answer(prefetched.map(|()| Done::Prefetched));
                }
            }
            drop(membership);
            // It may have read ahead after the answer.
            shared.deferred.fetch_sub(1, Ordering::Relaxed);
        });
        match started {
            Ok(_) => {
                self.deferred += 1;
                self.deferred_bytes += bytes;
                let deadline = Instant::now() + self.shared.store_timeout;
                self.deadlines.push_back((deadline, ticket));
            }
            Err(_) => {
                self.shared.deferred.fetch_sub(1, Ordering::Relaxed);
                self.shared
                    .deferred_bytes
                    .fetch_sub(bytes, Ordering::Relaxed);
                self.finish(ticket, Err(Errno::AGAIN));
            }
        }
    }

    /// Reply to a deferred request, unless the client has flushed it.
    fn finish(&mut self, ticket: Ticket, result: Result<Done>) {
        if result.is_err() {
            self.shared.counters.failed.fetch_add(1, Ordering::Relaxed);
        }
        self.session.finish(ticket, result, &mut self.out);
    }

    /// Reply to the requests that have ended on other threads, or have taken too long.
    fn take_finished(&mut self) {
        if self.deferred > 0 && self.finished.waker.signal.clear() {
            let results = self.finished.results.lock();
            let results = std::mem::take(&mut *results.unwrap_or_else(PoisonError::into_inner));
            for finish in results {
                self.deferred -= 1;
                self.deferred_bytes -= finish.bytes;
                self.deadlines.retain(|(_, other)| *other != finish.ticket);
                self.finish(finish.ticket, finish.result);
            }
        }
        while self.is_late() {
            let Some((_, late)) = self.deadlines.pop_front() else {
                break;
            };
            if let Some(later) = self.later_deadline() {
                self.deadlines.push_back((later, late));
                continue;
            }
            self.finish(late, Err(Errno::IO));
            self.shared
                .counters
                .timed_out
                .fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Return when requests are late, if the store has made progress meanwhile.
    fn later_deadline(&self) -> Option<Instant> {
        let cache = self.shared.cache.as_ref()?;
        let later = cache.progress() + self.shared.store_timeout;
        (later > Instant::now()).then_some(later)
    }

    /// Return whether a request on another thread has taken too long.
    fn is_late(&self) -> bool {
        let first = self.deadlines.front();
        first.is_some_and(|(at, _)| *at <= Instant::now())
    }

    /// Send replies until the socket takes no more.
    fn send(&mut self) -> std::io::Result<()> {
        self.transport.flush()?;
        while !self.out.is_empty() {
            match self.transport.write(self.out.unsent())? {
                Moved::Some(count) => self.out.mark_sent(count),
                Moved::None => return Ok(()),
                Moved::End => return Err(std::io::ErrorKind::BrokenPipe.into()),
            }
        }
        Ok(())
    }

    /// Wait until the client or another thread does something, a request has taken too long, or the
    /// time to attach is over.
    fn wait(&mut self, hello: Option<Instant>) {
        if self.transport.has_buffered() && self.has_room() {
            return;
        }
        let sends = !self.out.is_empty() || self.transport.wants_write();
        let flag = |wanted: bool, flag: PollFlags| if wanted { flag } else { PollFlags::empty() };
        let flags = flag(self.has_room(), PollFlags::IN) | flag(sends, PollFlags::OUT);
        let late = self.deadlines.front().map(|(at, _)| *at);
        let until = [hello, late].into_iter().flatten().min();
        let left = until.map(|at| at.saturating_duration_since(Instant::now()));
        let is_idle = left.is_none_or(|left| left > IDLE);
        if !self.poll(flags, Some(left.map_or(IDLE, |left| left.min(IDLE)))) && is_idle {
            self.frames.shrink();
            self.out.shrink();
            self.poll(flags, left.map(|left| left - IDLE));
        }
    }

    /// Wait until the socket is ready for this or a request on another thread has ended. Return
    /// `false` after this time.
    fn poll(&self, flags: PollFlags, time: Option<Duration>) -> bool {
        let mut fds = [
            PollFd::from_borrowed_fd(self.finished.waker.signal.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(self.transport.as_fd(), flags),
        ];
        // A socket that is not waited for would report that the client has closed it, again and again.
        let count = if flags.is_empty() { 1 } else { 2 };
        poll(&mut fds[..count], time.map(timespec).as_ref()) != Ok(0)
    }
}

/// Return whether the store takes part in a request at once: with a cache, in those on names and attributes.
fn asks_store(request: &[u8]) -> bool {
    let others = [
        Request::CLUNK,
        Request::COMMIT,
        Request::DRAIN,
        Request::FLUSH,
        Request::FSYNC,
        Request::GET_LOCK,
        Request::LIST_UNSTORED,
        Request::LOCK,
        Request::READ,
        Request::RESUME,
        Request::STATUS,
        Request::WRITE,
    ];
    request.get(4).is_none_or(|code| !others.contains(code))
}

/// Return whether a reply says that the request has failed.
fn is_error(reply: &[u8]) -> bool {
    reply.get(4) == Some(&Reply::ERROR)
}
