//! A connection that many threads use, and that outlives the daemon: when the daemon is started again,
//! requests without a reply are sent again.

mod state;

use crate::connection::Connection;
use crate::error::{Error, Result};
use isthmus_forward::message::{Attributes, Key, NO_TAG, NOT_OPEN, Reply, Request, read_reply};
use isthmus_forward::{Errno, Frames};
use isthmus_wire::{Moved, Remote, Signal, Socket, Transport, timespec};
use rustix::event::{PollFd, PollFlags, poll};
use state::{Fids, Pending, State};
use std::collections::{HashSet, VecDeque};
use std::fmt;
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Maximum time between two looks at the clock.
const TICK: Duration = Duration::from_millis(500);

/// The time between two attempts to reach a daemon that is gone: at first, and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const PAUSE: Duration = Duration::from_secs(1);

/// The time for each step of an attempt to connect again.
const CONNECT: Duration = Duration::from_secs(5);

/// The types of requests that change names and count as done if the name is gone.
const RENAME_AT: u8 = 74;
const UNLINK_AT: u8 = 76;

/// The type of a request that is not sent again: another daemon may have another file with the number.
const ABANDON: u8 = 216;

/// Gets the reply to a request, or the error with which it failed.
pub type Done = Box<dyn for<'a> FnOnce(std::result::Result<Reply<'a>, Errno>) + Send>;

/// The address of a daemon, and what it requires of clients.
#[derive(Clone)]
pub struct Target {
    /// The address.
    pub remote: Remote,
    /// The token, if the daemon requires one.
    pub token: Option<String>,
    /// The export, or a folder beneath it; empty for the first export.
    pub export: Vec<u8>,
    /// The time for which requests wait while the daemon is gone or does not answer. Then they fail with `EIO`.
    pub timeout: Duration,
}

impl fmt::Debug for Target {
    /// Write the address, without the token.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Target")
            .field("remote", &self.remote)
            .finish_non_exhaustive()
    }
}

/// How a fid is found again after the daemon was started again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recalled {
    /// The path from the root of the export.
    pub path: Vec<u8>,
    /// The number of the file, by which the daemon sees that it is the same.
    pub number: u64,
    /// The time of its creation in s and ns since 1970, as well; zeros if it is not known.
    pub created: (u64, u32),
    /// The flags of Linux with which it was opened; `None` if it was not.
    pub flags: Option<u32>,
}

impl Recalled {
    /// Return the request that creates the fid again.
    fn request(&self, fid: u32) -> Request<'_> {
        Request::Restore {
            fid: crate::ROOT,
            newfid: fid,
            number: self.number,
            created_s: self.created.0,
            created_ns: self.created.1,
            flags: self.flags.unwrap_or(NOT_OPEN),
            path: &self.path,
        }
    }
}

/// What a [`Link`] asks its user. Its methods must not send requests.
pub trait Memory: Send + Sync {
    /// Return how a fid is found again; `None` if its file was removed.
    fn recall(&self, fid: u32) -> Option<Recalled>;

    /// Call `again` with the fid and the request of each lock that is held. It returns whether the lock is held
    /// again; if not, requests with fids of this file are to fail.
    ///
    /// # Errors
    /// That of `again`: the connection is gone.
    fn lock_again(&self, again: &mut dyn FnMut(u32, &Request<'_>) -> Result<bool>) -> Result<()>;

    /// Return whether requests with this fid fail, because a lock was lost.
    fn is_lost(&self, fid: u32) -> bool;

    /// Report that the daemon is gone, or is back.
    fn report(&self, text: &str);
}

/// A connection for many threads.
pub struct Link {
    target: Target,
    /// The key of the session, under which it goes on over another connection.
    key: Key,
    memory: Arc<dyn Memory>,
    state: Mutex<State>,
    /// Wakes the thread that reads replies.
    signal: Signal,
    /// Maximum number of bytes of data in one message.
    data_bytes: u32,
    has_own_messages: bool,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl fmt::Debug for Link {
    /// Write the address.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link")
            .field("target", &self.target)
            .finish_non_exhaustive()
    }
}

impl Link {
    /// Connect to a daemon and start the thread that reads its replies. The root of the export has the fid
    /// [`crate::ROOT`]. `memory` is made with its attributes.
    ///
    /// # Errors
    /// As [`Connection::open`]; no thread can be started.
    pub fn open<M: Memory + 'static>(
        target: Target,
        memory: impl FnOnce(&Attributes) -> M,
    ) -> Result<(Arc<Self>, Arc<M>)> {
        let key = Key(isthmus_wire::random_bytes()?);
        let mut connection = connect(&target, key, target.timeout)?;
        let memory = Arc::new(memory(&root(&mut connection)?));
        let data_bytes = connection.data_bytes();
        let has_own_messages = connection.has_own_messages();
        let link = Arc::new(Self {
            target,
            key,
            memory: Arc::clone(&memory) as Arc<dyn Memory>,
            state: Mutex::new(State::new(parts(connection)?)),
            signal: Signal::new()
                .map_err(|error| isthmus_wire::Error::system("a signal", error))?,
            data_bytes,
            has_own_messages,
            thread: Mutex::new(None),
        });
        let reader = Arc::clone(&link);
        let thread = std::thread::Builder::new()
            .name("link".into())
            .spawn(move || reader.run())
            .map_err(|error| isthmus_wire::Error::system("a thread", error))?;
        *link.thread.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread);
        Ok((link, memory))
    }

    /// Return the maximum number of bytes of data in one message.
    #[must_use]
    pub fn data_bytes(&self) -> u32 {
        self.data_bytes
    }

    /// Return whether the daemon knows the messages of isthmus.
    #[must_use]
    pub fn has_own_messages(&self) -> bool {
        self.has_own_messages
    }

    /// Send a request. `done` gets the reply, on another thread; it must not wait.
    pub fn send(&self, request: &Request<'_>, done: Done) {
        let mut state = self.state();
        if state.is_failing || state.is_ended {
            drop(state);
            return done(Err(Errno::IO));
        }
        let fids = Fids::of(request);
        if let (Some(known), Some(fid), Some(_)) = (&state.known, fids.forgotten, &state.transport)
            && state.waiting.is_empty()
            && !known.contains(&fid)
        {
            // The daemon does not know it any more, and no request that makes it waits.
            drop(state);
            return done(Ok(Reply::Clunk {}));
        }
        state.add(request, fids, done);
        self.begin_waiting(&mut state);
    }

    /// Send requests that wait, as long as there are not too many in flight.
    fn begin_waiting(&self, state: &mut State) {
        let mut sends = false;
        while state.transport.is_some()
            && let Some(tag) = state.begin_next()
        {
            self.queue(state, tag);
            sends = true;
        }
        if sends {
            self.flush(state);
        }
    }

    /// Send a request and forget its reply.
    pub fn post(&self, request: &Request<'_>) {
        self.send(request, Box::new(|_| {}));
    }

    /// End the connection. Requests in flight fail with `EIO`.
    pub fn end(&self) {
        self.state().is_ended = true;
        self.signal.set();
        let thread = self.thread.lock();
        let thread = thread.unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // The thread does not panic; if it did, the link has ended all the same.
            let _ = thread.join();
        }
    }

    /// Return the state, locked.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queue the bytes of a request in flight, after requests that bring its fids back where needed.
    fn queue(&self, state: &mut State, tag: u16) {
        let Some(pending) = state.pending.get_mut(&tag) else {
            return;
        };
        pending.is_sent = true;
        let (frame, fids) = (Arc::clone(&pending.frame), pending.fids);
        for fid in fids.used.into_iter().flatten() {
            self.bring_back(state, fid);
        }
        state.out.push_back(frame);
        if let Some(known) = &mut state.known {
            known.extend(fids.created);
            if let Some(fid) = fids.forgotten {
                known.remove(&fid);
            }
        }
    }

    /// Queue a request that brings a fid back, if the daemon does not know it.
    fn bring_back(&self, state: &mut State, fid: u32) {
        let is_known = state.known.as_mut().is_none_or(|known| !known.insert(fid));
        if is_known {
            return;
        }
        // Without a file, the daemon does not know the fid either, and refuses the request.
        if let Some(recalled) = self.memory.recall(fid) {
            self.queue_of_connection(state, &recalled.request(fid));
        }
    }

    /// Queue a request that belongs to this connection alone.
    fn queue_of_connection(&self, state: &mut State, request: &Request<'_>) {
        let frame = state.add_of_connection(request, Fids::of(request));
        state.out.extend(frame);
    }

    /// Send queued requests until the socket takes no more; then the reading thread sends the rest.
    fn flush(&self, state: &mut State) {
        let has_more = |state: &State| {
            let transport = state.transport.as_ref();
            !state.out.is_empty() || transport.is_some_and(Transport::wants_write)
        };
        if state.flush().is_err() || has_more(state) {
            self.signal.set();
        }
    }

    /// Read replies until the link ends.
    fn run(&self) {
        let mut frames = Frames::new(self.data_bytes as usize + 24);
        loop {
            if !self.wait() {
                break;
            }
            if let Err(why) = self.read(&mut frames) {
                frames = Frames::new(self.data_bytes as usize + 24);
                if !self.reconnect(&why) {
                    break;
                }
            }
        }
        self.fail_all();
    }

    /// Wait until the socket is ready or time has passed. Return `false` when the link ends.
    fn wait(&self) -> bool {
        let state = self.state();
        let (Some(transport), Some(socket)) = (&state.transport, &state.socket) else {
            return !state.is_ended;
        };
        let socket = Arc::clone(socket);
        let sends = !state.out.is_empty() || transport.wants_write();
        let flags = match sends {
            true => PollFlags::IN | PollFlags::OUT,
            false => PollFlags::IN,
        };
        let is_ended = state.is_ended;
        drop(state);
        if !is_ended {
            let mut fds = [
                PollFd::from_borrowed_fd(self.signal.as_fd(), PollFlags::IN),
                PollFd::new(&*socket, flags),
            ];
            // Ignore a failure: the read that follows reports it.
            let _ = poll(&mut fds, Some(&timespec(TICK)));
            self.signal.clear();
        }
        !is_ended
    }

    /// Read what has arrived and pass the replies on. Fails if the connection is gone.
    fn read(&self, frames: &mut Frames) -> std::result::Result<(), String> {
        loop {
            let mut state = self.state();
            state.flush()?;
            let transport = state.transport.as_mut().ok_or("it was closed")?;
            match transport.read(frames.space()) {
                Ok(Moved::Some(count)) => {
                    frames.filled(count);
                    (state.last_arrival, state.is_asked) = (Instant::now(), false);
                }
                Ok(Moved::None) => return self.check_life(&mut state),
                Ok(Moved::End) => return Err("its other end was closed".into()),
                Err(error) => return Err(error.to_string()),
            }
            drop(state);
            while let Some(message) = frames.take().map_err(|error| error.to_string())? {
                self.finish(message)?;
            }
        }
    }

    /// Pass a reply to the request it belongs to.
    fn finish(&self, message: &[u8]) -> std::result::Result<(), String> {
        let (tag, reply) = read_reply(message).map_err(|error| error.to_string())?;
        let (pending, is_later) = {
            let mut state = self.state();
            let pending = state.finish(tag);
            let pending = pending.ok_or("a reply to no request in flight")?;
            let is_refused = matches!(reply, Reply::Error { .. });
            if let (Some(known), Some(fid), true, true) = (
                &mut state.known,
                pending.fids.created,
                is_refused,
                pending.is_of_connection,
            ) {
                // The next request that uses the fid asks for it again.
                known.remove(&fid);
            }
            let is_later = state.known.is_some();
            self.begin_waiting(&mut state);
            (pending, is_later)
        };
        let code = pending.code;
        let reply = match reply {
            // What was removed or renamed before the daemon was killed.
            Reply::Error { errno: 2 } if pending.was_sent_before && code == UNLINK_AT => {
                Ok(Reply::UnlinkAt {})
            }
            Reply::Error { errno: 2 } if pending.was_sent_before && code == RENAME_AT => {
                Ok(Reply::RenameAt {})
            }
            // A fid whose file is another one now, or gone.
            Reply::Error { errno } if Errno(errno) == Errno::BADF && is_later => Err(Errno::STALE),
            Reply::Error { errno } => Err(Errno(errno)),
            reply if reply.code() == code + 1 => Ok(reply),
            _ => return Err("the reply has another type".into()),
        };
        (pending.done)(reply);
        Ok(())
    }

    /// Ask a daemon that has been silent for a heartbeat. Fails if it has not answered.
    fn check_life(&self, state: &mut State) -> std::result::Result<(), String> {
        let silent = state.last_arrival.elapsed();
        if state.pending.is_empty() || silent < self.target.timeout / 2 {
            return Ok(());
        }
        if silent >= self.target.timeout {
            return Err(format!("it does not answer for {} s", silent.as_secs()));
        }
        if !state.is_asked {
            state.is_asked = true;
            let oldtag = NO_TAG;
            self.queue_of_connection(state, &Request::Flush { oldtag });
            state.flush()?;
        }
        Ok(())
    }

    /// Connect again, and send requests without a reply again. Return `false` when the link ends.
    fn reconnect(&self, why: &str) -> bool {
        let remote = &self.target.remote;
        let timeout = self.target.timeout;
        let was_silent = {
            let mut state = self.state();
            state.disconnect();
            state.is_asked && state.last_arrival.elapsed() >= timeout
        };
        if was_silent {
            self.fail_waiting();
        }
        let text = format!("the daemon at {remote} is gone: {why}; requests wait for {timeout:?}");
        self.memory.report(&text);
        let mut pause = FIRST_PAUSE;
        let mut reason = None;
        loop {
            {
                let state = self.state();
                if state.is_ended {
                    return false;
                }
                let is_over = state.gone.is_some_and(|gone| gone.elapsed() >= timeout);
                if is_over && !state.is_failing {
                    drop(state);
                    self.fail_waiting();
                    self.memory
                        .report("requests fail with EIO until the daemon is back");
                }
            }
            let connected = connect(&self.target, self.key, timeout.min(CONNECT));
            let resumed = connected.and_then(|connection| self.resume(connection));
            let failed = match resumed {
                Ok(()) => {
                    self.memory
                        .report(&format!("the daemon at {remote} is back"));
                    return true;
                }
                Err(error @ (Error::Refused(..) | Error::Protocol(..) | Error::Unfit(..))) => {
                    Some(error.to_string())
                }
                // It does not listen yet.
                Err(_) => None,
            };
            if failed != reason {
                reason = failed;
                reason.iter().for_each(|reason| self.memory.report(reason));
            }
            let mut fds = [PollFd::from_borrowed_fd(self.signal.as_fd(), PollFlags::IN)];
            // Ignore a failure: the pause is shorter.
            let _ = poll(&mut fds, Some(&timespec(pause)));
            self.signal.clear();
            pause = (pause * 2).min(PAUSE);
        }
    }

    /// Go on with a new connection.
    fn resume(&self, mut connection: Connection<()>) -> Result<()> {
        if connection.data_bytes() != self.data_bytes {
            let text = "has another --message than before: start it with the former value";
            return Err(Error::Unfit(self.target.remote.to_string(), text));
        }
        let mut known = HashSet::from([crate::ROOT]);
        // Before anything else is sent: a process that has lost its lock must not write.
        self.memory.lock_again(&mut |fid, request| {
            self.lock_again(&mut connection, &mut known, fid, request)
        })?;
        let (transport, socket) = parts(connection)?;
        let mut guard = self.state();
        let state = &mut *guard;
        (state.transport, state.socket) = (Some(transport), Some(Arc::new(socket)));
        state.known = Some(known);
        (state.gone, state.is_failing) = (None, false);
        (state.last_arrival, state.is_asked) = (Instant::now(), false);
        let mut tags = state
            .pending
            .iter_mut()
            .filter(|(_, each)| !each.is_of_connection)
            .map(|(tag, each)| {
                each.was_sent_before |= each.is_sent;
                (each.serial, *tag)
            })
            .collect::<Vec<_>>();
        tags.sort_unstable();
        let is_lost = |each: &Pending| {
            let mut used = each.fids.used.into_iter().flatten();
            used.any(|fid| self.memory.is_lost(fid))
        };
        let waiting = std::mem::take(&mut state.waiting);
        let (lost_ones, waiting): (VecDeque<_>, _) = waiting.into_iter().partition(is_lost);
        state.waiting = waiting;
        let mut lost = Vec::from(lost_ones);
        for (_, tag) in tags {
            let is_once = |each: &Pending| each.is_sent && each.code == ABANDON;
            let pending = state.pending.get(&tag);
            if pending.is_some_and(|each| is_lost(each) || is_once(each)) {
                lost.extend(state.finish(tag));
            } else {
                self.queue(state, tag);
            }
        }
        self.begin_waiting(state);
        self.flush(state);
        drop(guard);
        for each in lost {
            (each.done)(Err(Errno::IO));
        }
        Ok(())
    }

    /// Take a lock again over a new connection, on which no request is in flight. Return whether it is held.
    fn lock_again(
        &self,
        connection: &mut Connection<()>,
        known: &mut HashSet<u32>,
        fid: u32,
        request: &Request<'_>,
    ) -> Result<bool> {
        if known.insert(fid) {
            let Some(recalled) = self.memory.recall(fid) else {
                return Ok(false);
            };
            if !connection.call(&recalled.request(fid), (), |reply| reply.is_ok())? {
                return Ok(false);
            }
        }
        connection.call(request, (), |reply| {
            matches!(reply, Ok(Reply::Lock { status: 0 }))
        })
    }

    /// Let all requests in flight fail, and new ones until there is a connection.
    fn fail_waiting(&self) {
        self.state().is_failing = true;
        self.fail_all();
    }

    /// Let all requests in flight fail.
    fn fail_all(&self) {
        let pending = self.state().finish_all();
        for each in pending {
            (each.done)(Err(Errno::IO));
        }
    }
}

/// Connect to a daemon, with the key of the session. `time` is that for each step.
fn connect(target: &Target, key: Key, time: Duration) -> Result<Connection<()>> {
    let token = target.token.as_deref();
    let mut connection = Connection::open(&target.remote, token, &target.export, time)?;
    connection.resume(key)?;
    Ok(connection)
}

/// Return the attributes of the root of the export.
fn root(connection: &mut Connection<()>) -> Result<Attributes> {
    let (fid, mask) = (crate::ROOT, Attributes::BASIC);
    let remote = connection.remote().to_owned();
    let request = Request::GetAttributes { fid, mask };
    connection.call(&request, (), |reply| match reply {
        Ok(Reply::GetAttributes { attributes }) => Ok(attributes),
        Ok(_) => Err(Error::Protocol(remote, "the reply has another type".into())),
        Err(errno) => Err(Error::Refused(remote, errno)),
    })?
}

/// Return a connection without its state, and a second descriptor of its socket.
fn parts(connection: Connection<()>) -> Result<(Transport, Socket)> {
    let transport = connection.into_transport();
    let socket = transport.try_clone_socket();
    let socket = socket.map_err(|error| isthmus_wire::Error::system("a descriptor", error))?;
    Ok((transport, socket))
}
