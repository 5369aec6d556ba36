//! A session of a client of the daemon: one socket and one thread, which reads requests and sends
//! answers and events.

use crate::accept;
use crate::convert;
use crate::links::{self, Rejected, no_ticket};
use crate::mailbox::{Mailbox, encode};
use crate::policy::{Allowed, PeerKind};
use crate::refusal::{ending, refusal};
use crate::requests::{self, Caller, handle};
use crate::shared::Shared;
use crate::state::App;
use isthmus_daemon::{Refusals, SessionSlot, Slot};
use isthmus_nic_protocol::{
    Answer, Lines, Message, Refusal, RefusalKind, Request, RequestLine, VERSION, Welcome, read,
    request_number,
};
use isthmus_stream::Limits;
use isthmus_wire::{Moved, Peer, Transport, random_key, wait_ready};
use rustix::event::{PollFd, PollFlags, poll};
use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Maximum time to send the last lines to a client when its session ends.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// Maximum size in bytes of the first line, which comes from a client that is not yet admitted.
const FIRST_LINE_BYTES: usize = 8 << 10;

/// Maximum length of an application's name, in characters.
const NAME: usize = 64;

/// Admit or refuse a client, and serve its session until it ends.
pub(crate) fn run(shared: &Shared, slot: Slot, mut wire: Transport) {
    let gate = &shared.hub.gate;
    let limit = gate.hello();
    let deadline = Instant::now() + limit;
    if wait_ready(&wire, PollFlags::IN, deadline) {
        slot.mark_active();
    }
    let event = wire.read_first_line(FIRST_LINE_BYTES, deadline);
    let (id, refusal) = match (slot.leave(), event) {
        (true, Ok(line)) => match begin(shared, wire, &line) {
            Ok(()) => return,
            Err((back, id, refusal)) => {
                wire = back;
                (id, refusal)
            }
        },
        (true, Err(why)) => {
            let text = format!("{why}: begin with hello, join or link, within {limit:?}");
            (None, refusal(RefusalKind::Garbled, text))
        }
        (false, _) if shared.hub.state().ending => (None, ending()),
        (false, _) => {
            let text = "others have come who have not said who they are either: begin with \
                        hello, join or link at once";
            (None, refusal(RefusalKind::Limit, text))
        }
    };
    gate.log_refusal(&wire.peer().to_string(), "begin", &refusal.text);
    shared.hub.state().counters.refused += 1;
    let deadline = Instant::now() + CLOSE_TIMEOUT;
    // Send the refusal. Ignore an error: the client is gone.
    let _ = wire.write_all(&encode(&Message::Refused { id, refusal }), deadline);
    wire.close_gracefully(deadline);
}

/// Handle the first line of a client: start a session, or use the socket as a link for the data of
/// streams.
fn begin(shared: &Shared, wire: Transport, line: &[u8]) -> Result<(), Rejected> {
    let asked: RequestLine = match read(line) {
        Ok(asked) => asked,
        Err(garbled) => {
            let text = format!("{garbled}: the first line is a hello, a join or a link");
            return Err((
                wire,
                request_number(line),
                refusal(RefusalKind::Garbled, text),
            ));
        }
    };
    let id = asked.id;
    let version = match &asked.request {
        Request::Hello { version, .. }
        | Request::Join { version, .. }
        | Request::Link { version, .. } => *version,
        _ => {
            let text = "nobody knows who asks: begin with hello, join or link";
            return Err((wire, Some(id), refusal(RefusalKind::Denied, text)));
        }
    };
    if version != VERSION {
        let text = format!("version {version}: this daemon speaks {VERSION}; take a client of it");
        return Err((wire, Some(id), refusal(RefusalKind::Version, text)));
    }
    let admitted = match asked.request {
        Request::Link {
            ticket,
            link,
            carrier,
            lasting,
            ..
        } => return links::link(shared, wire, id, &ticket, (link, carrier, lasting)),
        Request::Join { ticket, watch, .. } => {
            session_slot(shared).and_then(|slot| Ok((slot, join(shared, &ticket, watch)?, false)))
        }
        Request::Hello {
            token,
            name,
            operator,
            watch,
            ..
        } => session_slot(shared).and_then(|slot| {
            let caller = hello(shared, wire.peer(), (token, operator), name, watch)?;
            Ok((slot, caller, true))
        }),
        _ => return Ok(()),
    };
    match admitted {
        Ok((_slot, caller, owner)) => {
            Session::new(shared, wire, caller, id).run(owner);
            Ok(())
        }
        Err(refusal) => Err((wire, Some(id), refusal)),
    }
}

/// Allocate a slot for a session. Refuses if none is free.
fn session_slot(shared: &Shared) -> Result<SessionSlot, Refusal> {
    let slot = shared.hub.gate.take_session();
    slot.map_err(|text| refusal(RefusalKind::Limit, text))
}

/// Return a new random ticket, with which processes join an application.
fn ticket() -> Result<String, Refusal> {
    random_key().map_err(|error| refusal(RefusalKind::Limit, format!("{error}: try again")))
}

/// Convert an error of the server to a refusal of the request.
fn internal(error: &isthmus_wire::Error) -> Refusal {
    refusal(RefusalKind::Limit, error.to_string())
}

/// Create an application for a `hello` request. The application ends with this session.
fn hello(
    shared: &Shared,
    peer: &Peer,
    (token, operator): (Option<String>, bool),
    name: String,
    watch: bool,
) -> Result<Caller, Refusal> {
    let admitted = shared.hub.gate.admit(peer, token.as_deref(), operator);
    admitted.map_err(|text| refusal(RefusalKind::Denied, text))?;
    let length = name.chars().count();
    if length == 0 || length > NAME || name.chars().any(char::is_control) {
        let text = format!("a name of {length} characters: 1 to {NAME}, none a control character");
        return Err(refusal(RefusalKind::Garbled, text));
    }
    let ticket = ticket()?;
    let mailbox = Mailbox::new(shared.hub.gate.next_session(), watch);
    let mailbox = Arc::new(mailbox.map_err(|error| internal(&error))?);
    let session = Arc::clone(&mailbox);
    let hub = Arc::clone(&shared.hub);
    let called = shared.client.call(move |driver| {
        let mut state = hub.state();
        if state.ending {
            return Err(ending());
        }
        let limits = &hub.config.limits;
        let others = state.apps.values().filter(|app| !app.operator).count();
        // Number of removed applications whose data is still in network memory. They count for the
        // limit.
        let leaving = driver.manager().leaving();
        if !operator && others + leaving >= limits.applications as usize {
            let left = match leaving {
                0 => String::new(),
                some => format!(", with {some} that have left and whose connections end"),
            };
            let text = format!(
                "the daemon takes {} applications at a time{left}: wait for one to end",
                limits.applications
            );
            return Err(refusal(RefusalKind::Limit, text));
        }
        let app = driver.add_application(Limits {
            connections: limits.connections,
            streams: limits.streams,
            staging_bytes: limits.staging_bytes,
            network_bytes: limits.network_bytes,
        });
        let known = App {
            name,
            ticket,
            operator,
            links: BTreeMap::new(),
            sessions: vec![session],
        };
        state.apps.insert(app, known);
        state.counters.applications += 1;
        Ok(app)
    });
    let app = called.map_err(convert::refused)??;
    Ok(Caller {
        app,
        operator,
        mailbox,
    })
}

/// Add a session to the application that has this ticket.
fn join(shared: &Shared, ticket: &str, watch: bool) -> Result<Caller, Refusal> {
    let mailbox = Mailbox::new(shared.hub.gate.next_session(), watch);
    let mailbox = Arc::new(mailbox.map_err(|error| internal(&error))?);
    let mut state = shared.hub.state();
    let app = state.by_ticket(ticket).ok_or_else(no_ticket)?;
    let operator = match state.apps.get_mut(&app) {
        Some(known) => {
            known.sessions.push(Arc::clone(&mailbox));
            known.operator
        }
        None => return Err(no_ticket()),
    };
    Ok(Caller {
        app,
        operator,
        mailbox,
    })
}

/// The session of a client process with the daemon. The client belongs to an application.
struct Session<'a> {
    shared: &'a Shared,
    wire: Transport,
    caller: Caller,
    name: String,
    lines: Lines,
    out: Vec<u8>,
    written: usize,
    refusals: Refusals,
}

impl<'a> Session<'a> {
    /// Create the session and queue the welcome, its first answer.
    fn new(shared: &'a Shared, wire: Transport, caller: Caller, id: u64) -> Self {
        let config = &shared.hub.config;
        let (ticket, name) = {
            let state = shared.hub.state();
            let app = state.apps.get(&caller.app);
            let known = |app: &App| (app.ticket.clone(), app.name.clone());
            app.map(known).unwrap_or_default()
        };
        let answer = Answer::Welcome(Welcome {
            application: caller.app.0,
            ticket,
            session: caller.mailbox.session,
            link_grace_ns: u64::try_from(config.link_grace.as_nanos()).unwrap_or(u64::MAX),
            isthmus: env!("CARGO_PKG_VERSION").into(),
            staging_bytes: config.limits.staging_bytes,
            network_bytes: config.limits.network_bytes,
        });
        caller.mailbox.answer(&Message::Answer { id, answer });
        Self {
            shared,
            wire,
            caller,
            name,
            lines: Lines::default(),
            out: Vec::new(),
            written: 0,
            refusals: Refusals::default(),
        }
    }

    /// Serve the session until one side ends it. If the session is the `owner`, which created the
    /// application, the application ends with it.
    fn run(mut self, owner: bool) {
        let what = if owner { "hello" } else { "join" };
        self.log(Some(what.into()), "ok");
        let gone = self.serve();
        self.refusals.finish(self.shared.hub.log());
        self.log(Some(format!("leave, after {what}")), "ok");
        let (app, mailbox) = (self.caller.app, Arc::clone(&self.caller.mailbox));
        let hub = Arc::clone(&self.shared.hub);
        // The call fails only if the driver's thread has ended; then the application has ended too.
        let _ = self.shared.client.call(move |driver| {
            let mut state = hub.state();
            state.forget_waiters(&mailbox);
            if owner {
                state.remove(driver, app);
                return;
            }
            state.drop_links(driver, app, mailbox.session);
            if let Some(app) = state.apps.get_mut(&app) {
                app.sessions.retain(|one| !Arc::ptr_eq(one, &mailbox));
            }
        });
        if !gone {
            let deadline = Instant::now() + CLOSE_TIMEOUT;
            self.flush_all(deadline);
            self.wire.close_gracefully(deadline);
        }
    }

    /// Read and answer the lines of the client until the session ends. Returns whether the client
    /// is gone.
    fn serve(&mut self) -> bool {
        let mut buffer = vec![0; 64 << 10];
        loop {
            if !self.flush() {
                return true;
            }
            if !self.handle_lines() || self.caller.mailbox.is_dismissed() {
                return false;
            }
            let reads = self.caller.mailbox.has_room();
            if reads && self.wire.has_buffered() {
                if !self.receive(&mut buffer) {
                    return false;
                }
                continue;
            }
            let writes = self.written < self.out.len() || self.wire.wants_write();
            let when = |yes: bool, flags: PollFlags| if yes { flags } else { PollFlags::empty() };
            let flags = when(reads, PollFlags::IN) | when(writes, PollFlags::OUT);
            let mut fds = [
                PollFd::from_borrowed_fd(self.wire.as_fd(), flags),
                PollFd::new(&self.caller.mailbox.wake, PollFlags::IN),
            ];
            // If a signal interrupts the call, the loop checks everything again.
            let _ = poll(&mut fds, None);
            let (found, woken) = (fds[0].revents(), !fds[1].revents().is_empty());
            if woken {
                self.caller.mailbox.wake.clear();
            }
            if reads && !found.is_empty() {
                // A client that has closed its sending half may still read.
                if !self.receive(&mut buffer) {
                    return false;
                }
            } else if found.intersects(PollFlags::HUP | PollFlags::ERR) {
                return true;
            }
        }
    }

    /// Read available data from the client. Returns false at the end of the data.
    fn receive(&mut self, buffer: &mut [u8]) -> bool {
        match self.wire.read(buffer) {
            Ok(Moved::Some(read)) => self.lines.push(&buffer[..read]),
            Ok(Moved::None) => {}
            Ok(Moved::End) | Err(_) => return false,
        }
        true
    }

    /// Write queued lines to the client until the socket is full. Returns false if the client is
    /// gone.
    fn flush(&mut self) -> bool {
        if self.wire.flush().is_err() {
            return false;
        }
        loop {
            if self.written == self.out.len() {
                self.out.clear();
                self.written = 0;
                self.caller.mailbox.drain(&mut self.out);
                if self.out.is_empty() {
                    return true;
                }
            }
            match self.wire.write(&self.out[self.written..]) {
                Ok(Moved::Some(written)) => self.written += written,
                Ok(Moved::None) => return true,
                Ok(Moved::End) | Err(_) => return false,
            }
        }
    }

    /// Write all queued lines to the client, until the deadline.
    fn flush_all(&mut self, deadline: Instant) {
        loop {
            let left = &self.out[self.written..];
            if !self.wire.write_all(left, deadline) {
                return;
            }
            self.out.clear();
            self.written = 0;
            self.caller.mailbox.drain(&mut self.out);
            if self.out.is_empty() {
                return;
            }
        }
    }

    /// Handle the received lines while there is room for answers. Returns false if the received
    /// data cannot be split into lines.
    fn handle_lines(&mut self) -> bool {
        while self.caller.mailbox.has_room() {
            match self.lines.take() {
                Ok(Some(line)) => self.handle_line(&line),
                Ok(None) => return true,
                Err(garbled) => {
                    self.refuse(None, refusal(RefusalKind::Garbled, garbled.to_string()));
                    return false;
                }
            }
        }
        true
    }

    /// Queue a refusal of a request.
    fn refuse(&self, id: Option<u64>, refusal: Refusal) {
        self.caller
            .mailbox
            .answer(&Message::Refused { id, refusal });
    }

    /// Parse a line of the client, which contains a request, and handle the request.
    fn handle_line(&self, line: &[u8]) {
        let RequestLine { id, mut request } = match read(line) {
            Ok(asked) => asked,
            Err(garbled) => {
                let refusal = refusal(RefusalKind::Garbled, garbled.to_string());
                return self.refuse(request_number(line), refusal);
            }
        };
        let what = requests::log_entry(&request);
        let (mut at, mut found, mut datagrams) = (None, None, None);
        if let Request::Open { destination, .. } = &mut request {
            // Look up directories and host names on this thread, not on the driver's, because that
            // may take long.
            let hub = &self.shared.hub;
            let allowed = hub.config.policy.check(destination, &hub.roots);
            let allowed = allowed.and_then(|allowed| match allowed {
                Allowed::To(words) => Ok(words),
                Allowed::Found(words, there) => {
                    found = Some(there);
                    Ok(words)
                }
                // Bind the port now, so that the destination contains the actual port even if port
                // 0 was requested.
                Allowed::Accept(PeerKind::Datagrams, address) => {
                    let bound = accept::bind(self.shared, address)?;
                    let address = bound.address;
                    datagrams = Some(bound);
                    Ok(format!("udp:accept:{address}"))
                }
                Allowed::Accept(_, address) => {
                    let address = accept::listen(self.shared, address)?;
                    at = Some(address);
                    let (way, _) = destination.split_once(":accept:").unwrap_or_default();
                    Ok(format!("{way}:accept:{address}"))
                }
            });
            match allowed {
                Ok(words) => *destination = words,
                Err(refusal) => {
                    self.log(what, &requests::refused(&refusal));
                    self.shared.hub.state().counters.refused += 1;
                    return self.refuse(Some(id), refusal);
                }
            }
        }
        let (hub, caller) = (Arc::clone(&self.shared.hub), self.caller.clone());
        let called = self.shared.client.call(move |driver| {
            let opens = at.map(|address| (address, hub.state().accepting.len()));
            let result = handle(&hub, driver, &caller, id, (request, found));
            let mut state = hub.state();
            if let Some((address, before)) = opens
                && state.accepting.len() == before
            {
                state.release_address(address);
            }
            result
        });
        // Dropping it wakes the thread that waits for datagrams on the port: the connection is
        // registered now, or refused.
        drop(datagrams);
        match called {
            Ok(Some(result)) => self.log(what, &result),
            Ok(None) => {}
            Err(_) => self.refuse(Some(id), ending()),
        }
    }

    /// Log the request and its result, if `what` describes the request.
    fn log(&self, what: Option<String>, result: &str) {
        if let Some(what) = what {
            let who = format!("{} #{} {}", self.name, self.caller.app, self.wire.peer());
            let log = self.shared.hub.log();
            match result.starts_with(requests::REFUSED) {
                true => self.refusals.record(log, &who, &what, result),
                false => log.record(&who, &what, result),
            }
        }
    }
}
