//! Handles requests of applications to the daemon. This runs on the driver's thread. What may take
//! long, such as opening a file, is done before, on the thread of the session.

use crate::files::File;
use crate::mailbox::Mailbox;
use crate::policy::{self, PeerKind};
use crate::refusal::{ending, refusal};
use crate::state::{ConnectionEntry, Hub, PendingAccept, State, WaitTarget, Waiter};
use crate::{convert, report};
use isthmus_framebuffer::{Error as Full, Geometry, Screens};
use isthmus_nic_protocol::{Answer, Message, Refusal, RefusalKind, Request, Spec};
use isthmus_stream::checksum::Checksum;
use isthmus_stream::{AppId, ConnectionId, ConnectionSpec, Protocol, StreamId, StreamSpec};
use isthmus_stream_net::{Destination, Driver};
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// The sender of a request: its application, whether it has an operator's rights, and the mailbox of its session.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    pub app: AppId,
    pub operator: bool,
    pub mailbox: Arc<Mailbox>,
}

/// Handle a request of an application, on the driver's thread. The answer enters the mailbox of the
/// session before any event that the request causes. Returns the outcome for the audit log, if the
/// request is logged there.
pub(crate) fn handle(
    hub: &Hub,
    driver: &mut Driver,
    caller: &Caller,
    id: u64,
    (request, found): (Request, Option<OwnedFd>),
) -> Option<String> {
    let mut state = hub.state();
    let logs = log_entry(&request).is_some();
    let mut context = Context {
        hub,
        state: &mut state,
        driver,
        caller,
    };
    let message = match context.answer(id, (request, found)) {
        Ok(Some(answer)) => Message::Answer { id, answer },
        // Send no answer now: the request waits, and its answer follows later.
        Ok(None) => return logs.then(|| "started".into()),
        Err(refusal) => Message::Refused {
            id: Some(id),
            refusal,
        },
    };
    match message {
        Message::Refused { .. } => state.counters.refused += 1,
        _ => state.counters.answered += 1,
    }
    caller.mailbox.answer(&message);
    logs.then(|| outcome(&message))
}

/// The context in which a request is handled: the daemon's state, the driver of the streams, and the sender of the
/// request.
struct Context<'a> {
    hub: &'a Hub,
    state: &'a mut State,
    driver: &'a mut Driver,
    caller: &'a Caller,
}

impl<'a> Context<'a> {
    /// Handle the request. Returns the answer, or None if the answer is sent later.
    fn answer(
        &mut self,
        id: u64,
        (request, found): (Request, Option<OwnedFd>),
    ) -> Result<Option<Answer>, Refusal> {
        let waiter = |adus, moved| Waiter {
            mailbox: Arc::clone(&self.caller.mailbox),
            id,
            adus,
            moved,
        };
        let done = |result: isthmus_stream_net::Result<()>| match result {
            Ok(()) => Ok(Answer::Done),
            Err(error) => Err(convert::refused(error)),
        };
        let at_once = match request {
            Request::Wait {
                stream,
                adus,
                moved,
            } => {
                let waiter = waiter(adus, moved);
                self.wait(StreamId(stream), waiter)?;
                return Ok(None);
            }
            Request::Close { connection } => {
                let id = ConnectionId(connection);
                return self.close(id, waiter(None, false));
            }
            Request::Taken { link, key, bytes } => {
                let driver = &mut *self.driver;
                self.state
                    .on_confirmation(driver, self.caller, (link, &key), bytes);
                return Ok(None);
            }
            Request::Open { .. } => self.open(request, found),
            Request::Submit { streams } => {
                if self.state.ending {
                    return Err(ending());
                }
                let named = streams.iter().flat_map(|spec| &spec.format.su_order);
                let named: Vec<_> = named.copied().collect();
                let (app, most) = (self.caller.app, self.hub.config.limits.links);
                self.state.make_room(self.driver, app, &named, most);
                let before = self.state.link_numbers(app);
                let streams = self.submit(&streams);
                if streams.is_err() {
                    // Remove the entries of links that were created only because the refused
                    // request named them.
                    self.state.forget_links(app, &before);
                }
                streams
            }
            Request::Announce { stream, adu_bytes } => {
                let id = self.check_stream(stream, false)?;
                done(self.driver.announce(id, adu_bytes))
            }
            Request::Finish { stream, adus } => {
                let id = self.check_stream(stream, false)?;
                done(self.driver.finish(id, adus))
            }
            Request::Cancel { stream } => {
                let id = self.check_stream(stream, true)?;
                done(self.driver.cancel(id))
            }
            Request::Stream { stream } => {
                let id = self.check_stream(stream, true)?;
                let stream = report::stream(self.state, self.driver, id);
                let stream = stream.map_err(convert::refused)?;
                Ok(Answer::Stream { stream })
            }
            Request::Connection { connection } => {
                let id = ConnectionId(connection);
                self.check_connection(id)?;
                let connection = report::connection(self.state, self.driver, id);
                let connection = connection.map_err(convert::refused)?;
                Ok(Answer::ConnectionStatus { connection })
            }
            Request::Overview { all } => {
                if all && !self.caller.operator {
                    let text = "all applications are for operators to see: show the operator's token, \
                                or ask without `all`";
                    return Err(refusal(RefusalKind::Denied, text));
                }
                let of = |app: AppId| all || app == self.caller.app;
                let overview = report::overview(self.hub, self.state, self.driver, of);
                Ok(Answer::Overview { overview })
            }
            Request::Unlink { link, key } => {
                self.state.unlink(self.driver, self.caller, link, &key);
                Ok(Answer::Done)
            }
            Request::Geometry { screen, geometry } => {
                let screens = self.screens_for(&screen)?;
                let geometry = convert::geometry(geometry);
                geometry.check().map_err(|error| convert::screen(&error))?;
                self.check_screen_memory(screens, &screen, &geometry)?;
                let mut set = screens.set(&screen, geometry);
                if matches!(set, Err(Full::Screens(_))) && self.state.forget_screens(screens) {
                    set = screens.set(&screen, geometry);
                }
                set.map_err(|error| convert::screen(&error))?;
                self.state.screens.insert(screen, self.caller.app);
                Ok(Answer::Done)
            }
            Request::Reset { screen } => {
                let screens = self.screens_for(&screen)?;
                let reset = screens.reset(&screen);
                reset.map_err(|error| convert::screen(&error))?;
                Ok(Answer::Done)
            }
            Request::Hello { .. } | Request::Join { .. } | Request::Link { .. } => {
                let text = "a session begins once: take another socket for hello, join or link";
                Err(refusal(RefusalKind::Conflict, text))
            }
        };
        at_once.map(Some)
    }

    /// Submit the streams of a request, either all or none.
    fn submit(&mut self, streams: &[Spec]) -> Result<Answer, Refusal> {
        let app = self.caller.app;
        let links = self.hub.config.limits.links;
        let specs = streams.iter().map(|spec| {
            let entry = self.state.connections.get(&ConnectionId(spec.connection));
            let entry = entry.map(|entry| (entry.receives, entry.checksum));
            let mut link = |number| self.state.link(app, number, links);
            convert::spec(spec, entry, &mut link)
        });
        let specs: Vec<StreamSpec> = specs.collect::<Result<_, _>>()?;
        let ids = self
            .driver
            .submit_all(app, &specs)
            .map_err(convert::refused)?;
        Ok(Answer::Streams {
            streams: ids.into_iter().map(|id| id.0).collect(),
        })
    }

    /// Let a request wait: `waiter` gets its answer once the stream makes progress or ends.
    fn wait(&mut self, stream: StreamId, waiter: Waiter) -> Result<(), Refusal> {
        self.check_stream(stream.0, true)?;
        self.begin_wait()?;
        self.state.wait(self.driver, stream, waiter);
        Ok(())
    }

    /// Count a request that waits for its answer, or refuse it at the limit.
    fn begin_wait(&self) -> Result<(), Refusal> {
        let limit = self.hub.config.limits.waits;
        if !self.caller.mailbox.begin_wait(limit) {
            let text =
                format!("{limit} requests of a session may wait: let some be answered first");
            return Err(refusal(RefusalKind::Limit, text));
        }
        Ok(())
    }

    /// Close a connection. Returns the answer; `None` if the connection writes a file, since the answer
    /// then follows when the file is completed or discarded.
    fn close(&mut self, id: ConnectionId, waiter: Waiter) -> Result<Option<Answer>, Refusal> {
        // The manager may have removed the connection while its file is still incomplete, so look
        // it up in the daemon's own state.
        let own = self.state.connections.get(&id).map(|entry| entry.app) == Some(self.caller.app);
        let file = self.state.file(id).filter(|_| own || self.caller.operator);
        let resolved = file.map(File::answer);
        if file.is_none() {
            self.check_connection(id)?;
        }
        if resolved == Some(None) {
            self.begin_wait()?;
        }
        if resolved.is_none() || self.driver.manager().connection_status(id).is_ok() {
            self.driver.close(id).map_err(convert::refused)?;
        }
        match resolved {
            None => Ok(Some(Answer::Done)),
            Some(Some(answer)) => answer.map(Some),
            Some(None) => {
                let waiters = self.state.waiters.entry(WaitTarget::File(id));
                waiters.or_default().push(waiter);
                Ok(None)
            }
        }
    }

    /// Return the ID of a stream if it belongs to the caller's application; otherwise a refusal. If
    /// `operator` is true, a caller with an operator's rights may use the streams of all applications.
    fn check_stream(&self, stream: u32, operator: bool) -> Result<StreamId, Refusal> {
        let id = StreamId(stream);
        let manager = self.driver.manager();
        let status = manager.status(id).map_err(convert::refused)?;
        if status.app != self.caller.app && !(operator && self.caller.operator) {
            let text = format!("stream {id} is another application's: use what this one submitted");
            return Err(refusal(RefusalKind::Denied, text));
        }
        Ok(id)
    }

    /// Refuse a connection of another application, unless the caller is an operator.
    fn check_connection(&self, id: ConnectionId) -> Result<(), Refusal> {
        let status = self.driver.manager().connection_status(id);
        let status = status.map_err(convert::refused)?;
        if status.app != self.caller.app && !self.caller.operator {
            let text = format!("connection {id} is another application's: use one opened here");
            return Err(refusal(RefusalKind::Denied, text));
        }
        Ok(())
    }

    /// Return the screens, or a refusal if another live application set the geometry of the named
    /// screen and so owns it.
    fn screens_for(&self, name: &str) -> Result<&'a Screens, Refusal> {
        let Some(screens) = &self.hub.screens else {
            let text = "this daemon shows no screens: the operator starts it with --screens";
            return Err(refusal(RefusalKind::Unknown, text));
        };
        let owner = self.state.screens.get(name);
        let other = owner.filter(|owner| **owner != self.caller.app);
        if let Some(owner) = other.filter(|owner| self.state.apps.contains_key(owner)) {
            let text = format!("screen {name} is application {owner}'s: take another name");
            return Err(refusal(RefusalKind::Denied, text));
        }
        Ok(screens)
    }

    /// Check that there is memory for a screen of this geometry. If necessary, the screens of ended
    /// applications are removed.
    fn check_screen_memory(
        &mut self,
        screens: &Screens,
        name: &str,
        geometry: &Geometry,
    ) -> Result<(), Refusal> {
        let limits = &self.hub.config.limits;
        let limit = limits.screen_bytes;
        let needs = screens.needs(name, geometry);
        let others = |state: &State, of: Option<AppId>| -> u64 {
            let sizes = screens.sizes().into_iter();
            let sizes = sizes.filter(|(other, _)| other != name);
            let of_app = |other: &str| of.is_none_or(|app| state.screens.get(other) == Some(&app));
            let sizes = sizes.filter(|(other, _)| of_app(other));
            sizes.map(|(_, bytes)| bytes).sum()
        };
        let refuse = |has: u64, whose: &str, limit: u64| {
            let text = format!(
                "a screen of {needs} bytes, two frames, beside {has}: {whose} may have {limit} bytes of \
                 screens: take smaller ones, or the operator gives more with --screen-memory"
            );
            Err(refusal(RefusalKind::Limit, text))
        };
        let has = others(self.state, Some(self.caller.app));
        if has.saturating_add(needs) > limit {
            return refuse(has, "an application", limit);
        }
        let all = limit.saturating_mul(u64::from(limits.applications));
        let full = |state: &State| others(state, None).saturating_add(needs) > all;
        if full(self.state) {
            self.state.forget_screens(screens);
        }
        if full(self.state) {
            return refuse(others(self.state, None), "all applications together", all);
        }
        Ok(())
    }

    /// Open a connection. The policy has already allowed the destination and opened the file or
    /// socket that the destination names.
    fn open(&mut self, request: Request, found: Option<OwnedFd>) -> Result<Answer, Refusal> {
        let app = self.caller.app;
        if self.state.ending {
            return Err(ending());
        }
        let Request::Open {
            destination,
            channel,
            protocol,
            checksum,
            share_bytes,
            window_bytes,
        } = request
        else {
            return Err(refusal(RefusalKind::Garbled, "this opens nothing"));
        };
        let pending = policy::parse_accept(&destination).and_then(|(kind, address)| {
            Some(PendingAccept {
                address: address.parse().ok()?,
                channel: (kind != PeerKind::Bytes).then_some(channel),
                datagrams: kind == PeerKind::Datagrams,
            })
        });
        let given = pending.as_ref().map(|_| {
            self.state.next_accept += 1;
            format!("accepted-{}", self.state.next_accept)
        });
        let words = match (&given, &pending) {
            (Some(name), Some(PendingAccept { channel: None, .. })) => format!("tcp:given:{name}"),
            (Some(name), Some(pending)) if pending.datagrams => format!("udp:given:{name}"),
            (Some(name), _) => format!("raw:given:{name}"),
            (None, _) => destination.clone(),
        };
        let to = Destination::parse(&words).map_err(convert::refused)?;
        let (protocol, receives) = convert::protocol(&to, protocol)?;
        if let Destination::File(_) = &to {
            self.state.check_free(&destination)?;
        }
        if let Destination::Framebuffer(name) = &to {
            self.screens_for(name)?;
        }
        if (pending.as_ref()).is_some_and(|it| it.channel.is_some() && !it.datagrams)
            && matches!(protocol, Protocol::Unconfirmed { .. })
        {
            let text = "who waits for a peer sees its channel in what it confirms: take protocol \
                        `stream` or `confirmed`";
            return Err(refusal(RefusalKind::Conflict, text));
        }
        if let Some(pending) = &pending
            && self.state.is_awaited(self.driver.manager(), pending)
        {
            let (address, channel) = (pending.address, pending.channel);
            let text = match channel {
                Some(channel) => format!(
                    "another connection waits at {address} for channel {channel}, or for plain bytes: \
                     take another channel, or another port"
                ),
                None => format!("another connection waits at {address}: take another port, as 0"),
            };
            return Err(refusal(RefusalKind::Conflict, text));
        }
        let limit = self.hub.config.limits.connection_bytes;
        let asked = [
            ("window", window_bytes),
            ("share", share_bytes.unwrap_or(0)),
        ];
        if let Some((what, bytes)) = asked.into_iter().find(|(_, bytes)| *bytes > limit) {
            let text = format!(
                "a {what} of {bytes} bytes: a connection may have {limit} bytes of network memory (the \
                 operator's --connection-network): take a smaller {what}"
            );
            return Err(refusal(RefusalKind::Limit, text));
        }
        let spec = ConnectionSpec {
            channel,
            checksum,
            share_bytes: share_bytes.unwrap_or(limit),
            ..ConnectionSpec::new(&words, protocol, window_bytes)
        };
        let id = match found {
            Some(found) => self.driver.open_found(app, spec, found),
            None => self.driver.open(app, spec),
        };
        let id = id.map_err(convert::refused)?;
        self.state.forget_connections(self.driver.manager());
        let entry = ConnectionEntry {
            app,
            destination,
            moved: [0; 2],
            receives,
            checksum: match convert::speaks_packets(&to) {
                true => checksum,
                false => Checksum::None,
            },
            given,
            file: matches!(to, Destination::File(_)).then_some(File::Written),
        };
        self.state.connections.insert(id, entry);
        let pending = pending.map(|pending| (id, pending));
        self.state.accepting.extend(pending);
        Ok(Answer::Connection { connection: id.0 })
    }
}

/// Return the text that describes a request in the audit log; `None` for requests that change nothing.
pub(crate) fn log_entry(request: &Request) -> Option<String> {
    Some(match request {
        Request::Open {
            destination,
            channel,
            ..
        } => format!("open {destination} channel {channel}"),
        Request::Close { connection } => format!("close connection {connection}"),
        Request::Submit { streams } => format!("submit {} streams", streams.len()),
        Request::Finish { stream, adus } => format!("finish stream {stream} at {adus} ADUs"),
        Request::Cancel { stream } => format!("cancel stream {stream}"),
        Request::Geometry { screen, .. } => format!("geometry of screen {screen}"),
        Request::Reset { screen } => format!("reset screen {screen}"),
        _ => return None,
    })
}

/// The prefix of a refusal in the audit log.
pub(crate) const REFUSED: &str = "refused: ";

/// Return the text that the audit log contains for a refused request.
pub(crate) fn refused(refusal: &Refusal) -> String {
    format!("{REFUSED}{}", refusal.text)
}

/// Return the outcome of a request for the audit log.
pub(crate) fn outcome(message: &Message) -> String {
    match message {
        Message::Refused { refusal, .. } => refused(refusal),
        Message::Answer { answer, .. } => match answer {
            Answer::Connection { connection } => format!("connection {connection}"),
            Answer::Streams { streams } => match streams.as_slice() {
                [one] => format!("stream {one}"),
                [first, .., last] => format!("streams {first} to {last}"),
                [] => "ok".into(),
            },
            _ => "ok".into(),
        },
        Message::Event { .. } | Message::Link { .. } => "ok".into(),
    }
}
