//! What is asked, done: on the driver's thread, but for what may take long.

use crate::files::File;
use crate::hub::{Awaited, Hub, Line, State, Waiter, Waits};
use crate::mailbox::Mailbox;
use crate::policy::{self, Speaks};
use crate::refusal::{ending, refusal};
use crate::{told, words};
use isthmus_framebuffer::{Error as Full, Geometry, Screens};
use isthmus_nic_protocol::{Answer, Refusal, RefusalKind, Request, Spec, Told};
use isthmus_stream::checksum::Checksum;
use isthmus_stream::{AppId, ConnectionId, ConnectionSpec, Protocol, StreamId, StreamSpec};
use isthmus_stream_net::{Destination, Driver};
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// Who asks.
#[derive(Clone, Debug)]
pub(crate) struct Asker {
    pub app: AppId,
    pub operator: bool,
    pub mailbox: Arc<Mailbox>,
}

/// Does what is asked on the driver's thread, and puts the answer to the mailbox before anything
/// else is told there; what came of it, for the log.
pub(crate) fn act(
    hub: &Hub,
    driver: &mut Driver,
    asker: &Asker,
    id: u64,
    (request, found): (Request, Option<OwnedFd>),
) -> Option<String> {
    let mut state = hub.state();
    let logs = logged(&request).is_some();
    let told = match answer(hub, &mut state, driver, asker, id, (request, found)) {
        Ok(Some(answer)) => Told::Answer { id, answer },
        // What comes of it is told when it is so.
        Ok(None) => return logs.then(|| "begun".into()),
        Err(refusal) => Told::Refused {
            id: Some(id),
            refusal,
        },
    };
    match told {
        Told::Refused { .. } => state.tally.refused += 1,
        _ => state.tally.answered += 1,
    }
    asker.mailbox.answer(&told);
    logs.then(|| result(&told))
}

/// The answer; none, if it is given later.
fn answer(
    hub: &Hub,
    state: &mut State,
    driver: &mut Driver,
    asker: &Asker,
    id: u64,
    (request, found): (Request, Option<OwnedFd>),
) -> Result<Option<Answer>, Refusal> {
    let waiter = |adus, moved| Waiter {
        mailbox: Arc::clone(&asker.mailbox),
        id,
        adus,
        moved,
    };
    let done = |result: isthmus_stream_net::Result<()>| match result {
        Ok(()) => Ok(Answer::Done),
        Err(error) => Err(words::refused(&error)),
    };
    let at_once = match request {
        Request::Wait {
            stream,
            adus,
            moved,
        } => {
            let waiter = waiter(adus, moved);
            wait(hub, state, driver, asker, StreamId(stream), waiter)?;
            return Ok(None);
        }
        Request::Close { connection } => {
            let id = ConnectionId(connection);
            return close(hub, state, driver, asker, id, waiter(None, false));
        }
        Request::Taken { link, key, bytes } => {
            state.taken(driver, asker, (link, &key), bytes);
            return Ok(None);
        }
        Request::Open { .. } => open(hub, state, driver, asker.app, (request, found)),
        Request::Submit { streams } => {
            if state.ending {
                return Err(ending());
            }
            let named = streams.iter().flat_map(|spec| &spec.format.su_order);
            let named: Vec<_> = named.copied().collect();
            state.make_room(driver, asker.app, &named, hub.config.limits.links);
            let before = state.link_numbers(asker.app);
            let streams = submit(hub, state, driver, asker.app, &streams);
            if streams.is_err() {
                // Numbers of what was refused are not counted.
                state.forget_links(asker.app, &before);
            }
            streams
        }
        Request::Announce { stream, adu_bytes } => {
            let id = may_stream(driver, asker, stream, false)?;
            done(driver.announce(id, adu_bytes))
        }
        Request::Finish { stream, adus } => {
            let id = may_stream(driver, asker, stream, false)?;
            done(driver.finish(id, adus))
        }
        Request::Cancel { stream } => {
            let id = may_stream(driver, asker, stream, true)?;
            done(driver.cancel(id))
        }
        Request::Stream { stream } => {
            let id = may_stream(driver, asker, stream, true)?;
            let stream = told::stream(state, driver, id);
            let stream = stream.map_err(|error| words::refused(&error.into()))?;
            Ok(Answer::Stream { stream })
        }
        Request::Connection { connection } => {
            let id = ConnectionId(connection);
            may_connection(driver, asker, id)?;
            let connection = told::connection(state, driver, id);
            let connection = connection.map_err(|error| words::refused(&error.into()))?;
            Ok(Answer::ConnectionStatus { connection })
        }
        Request::Overview { all } => {
            if all && !asker.operator {
                let text = "all applications are for operators to see: show the operator's token, \
                            or ask without `all`";
                return Err(refusal(RefusalKind::Denied, text));
            }
            let of = |app: AppId| all || app == asker.app;
            let overview = told::overview(hub, state, driver, of);
            Ok(Answer::Overview { overview })
        }
        Request::Unlink { link, key } => {
            state.unlink(driver, asker, link, &key);
            Ok(Answer::Done)
        }
        Request::Geometry { screen, geometry } => {
            let screens = screens(hub, state, asker.app, &screen)?;
            let geometry = words::geometry(geometry);
            geometry.check().map_err(|error| words::screen(&error))?;
            has_memory(hub, state, screens, (asker.app, &screen), &geometry)?;
            let mut set = screens.set(&screen, geometry);
            if matches!(set, Err(Full::Screens(_))) && state.forget_screens(screens) {
                set = screens.set(&screen, geometry);
            }
            set.map_err(|error| words::screen(&error))?;
            state.screens.insert(screen, asker.app);
            Ok(Answer::Done)
        }
        Request::Reset { screen } => {
            let screens = screens(hub, state, asker.app, &screen)?;
            let reset = screens.reset(&screen);
            reset.map_err(|error| words::screen(&error))?;
            Ok(Answer::Done)
        }
        Request::Hello { .. } | Request::Join { .. } | Request::Link { .. } => {
            let text = "a session begins once: take another socket for hello, join or link";
            Err(refusal(RefusalKind::Conflict, text))
        }
    };
    at_once.map(Some)
}

fn submit(
    hub: &Hub,
    state: &mut State,
    driver: &mut Driver,
    app: AppId,
    streams: &[Spec],
) -> Result<Answer, Refusal> {
    let links = hub.config.limits.links;
    let specs = streams.iter().map(|spec| {
        let line = state.connections.get(&ConnectionId(spec.connection));
        let line = line.map(|line| (line.receives, line.checksum));
        let mut link = |number| state.link(app, number, links);
        words::spec(spec, line, &mut link)
    });
    let specs: Vec<StreamSpec> = specs.collect::<Result<_, _>>()?;
    let ids = driver.submit_all(app, &specs);
    let ids = ids.map_err(|error| words::refused(&error))?;
    Ok(Answer::Streams {
        streams: ids.into_iter().map(|id| id.0).collect(),
    })
}

fn wait(
    hub: &Hub,
    state: &mut State,
    driver: &Driver,
    asker: &Asker,
    stream: StreamId,
    waiter: Waiter,
) -> Result<(), Refusal> {
    may_stream(driver, asker, stream.0, true)?;
    begin_wait(hub, asker)?;
    state.wait(driver, stream, waiter);
    Ok(())
}

fn begin_wait(hub: &Hub, asker: &Asker) -> Result<(), Refusal> {
    let most = hub.config.limits.waits;
    if !asker.mailbox.begin_wait(most) {
        let text = format!("{most} requests of a session may wait: let some be answered first");
        return Err(refusal(RefusalKind::Limit, text));
    }
    Ok(())
}

/// Closes a connection. One to a file is closed when that is kept, or not.
fn close(
    hub: &Hub,
    state: &mut State,
    driver: &mut Driver,
    asker: &Asker,
    id: ConnectionId,
    waiter: Waiter,
) -> Result<Option<Answer>, Refusal> {
    // The manager may have forgotten it before its file is settled.
    let own = state.connections.get(&id).map(|line| line.app) == Some(asker.app);
    let file = state.file(id).filter(|_| own || asker.operator);
    let settled = file.map(File::answer);
    if file.is_none() {
        may_connection(driver, asker, id)?;
    }
    if settled == Some(None) {
        begin_wait(hub, asker)?;
    }
    if settled.is_none() || driver.manager().connection_status(id).is_ok() {
        let closed = driver.close(id);
        closed.map_err(|error| words::refused(&error))?;
    }
    match settled {
        None => Ok(Some(Answer::Done)),
        Some(Some(answer)) => answer.map(Some),
        Some(None) => {
            let waiters = state.waiters.entry(Awaited::File(id));
            waiters.or_default().push(waiter);
            Ok(None)
        }
    }
}

/// The stream, if it is the asker's; an operator may look at all and cancel all.
fn may_stream(
    driver: &Driver,
    asker: &Asker,
    stream: u32,
    operator: bool,
) -> Result<StreamId, Refusal> {
    let id = StreamId(stream);
    let status = driver.manager().status(id);
    let status = status.map_err(|error| words::refused(&error.into()))?;
    if status.app != asker.app && !(operator && asker.operator) {
        let text = format!("stream {id} is another application's: use what this one submitted");
        return Err(refusal(RefusalKind::Denied, text));
    }
    Ok(id)
}

fn may_connection(driver: &Driver, asker: &Asker, id: ConnectionId) -> Result<(), Refusal> {
    let status = driver.manager().connection_status(id);
    let status = status.map_err(|error| words::refused(&error.into()))?;
    if status.app != asker.app && !asker.operator {
        let text = format!("connection {id} is another application's: use one opened here");
        return Err(refusal(RefusalKind::Denied, text));
    }
    Ok(())
}

/// The screens, if this one is no other application's: it is that one's which gave it its form, as
/// long as that lives.
fn screens<'h>(
    hub: &'h Hub,
    state: &State,
    app: AppId,
    name: &str,
) -> Result<&'h Screens, Refusal> {
    let Some(screens) = &hub.screens else {
        let text = "this daemon shows no screens: the operator starts it with --screens";
        return Err(refusal(RefusalKind::Unknown, text));
    };
    let owner = state.screens.get(name).filter(|owner| **owner != app);
    if let Some(owner) = owner.filter(|owner| state.apps.contains_key(owner)) {
        let text = format!("screen {name} is application {owner}'s: take another name");
        return Err(refusal(RefusalKind::Denied, text));
    }
    Ok(screens)
}

/// Whether there is memory for a screen of this form. Screens of those who are gone make room.
fn has_memory(
    hub: &Hub,
    state: &mut State,
    screens: &Screens,
    (app, name): (AppId, &str),
    geometry: &Geometry,
) -> Result<(), Refusal> {
    let limits = &hub.config.limits;
    let most = limits.screen_bytes;
    let needs = screens.needs(name, geometry);
    let others = |state: &State, of: Option<AppId>| -> u64 {
        let sizes = screens.sizes().into_iter();
        let sizes = sizes.filter(|(other, _)| other != name);
        let ours = |other: &str| of.is_none_or(|app| state.screens.get(other) == Some(&app));
        let sizes = sizes.filter(|(other, _)| ours(other));
        sizes.map(|(_, bytes)| bytes).sum()
    };
    let refuse = |has: u64, whose: &str, most: u64| {
        let text = format!(
            "a screen of {needs} bytes, two frames, beside {has}: {whose} may have {most} bytes of \
             screens: take smaller ones, or the operator gives more with --screen-memory"
        );
        Err(refusal(RefusalKind::Limit, text))
    };
    let has = others(state, Some(app));
    if has.saturating_add(needs) > most {
        return refuse(has, "an application", most);
    }
    let all = most.saturating_mul(u64::from(limits.applications));
    let full = |state: &State| others(state, None).saturating_add(needs) > all;
    if full(state) {
        state.forget_screens(screens);
    }
    if full(state) {
        return refuse(others(state, None), "all applications together", all);
    }
    Ok(())
}

/// Opens a connection, on the driver's thread; the words were allowed, and what they name was found.
fn open(
    hub: &Hub,
    state: &mut State,
    driver: &mut Driver,
    app: AppId,
    (request, found): (Request, Option<OwnedFd>),
) -> Result<Answer, Refusal> {
    if state.ending {
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
    let waits = policy::waits(&destination).and_then(|(speaks, address)| {
        Some(Waits {
            address: address.parse().ok()?,
            channel: (speaks != Speaks::Bytes).then_some(channel),
            datagrams: speaks == Speaks::Datagrams,
        })
    });
    let given = waits.as_ref().map(|_| {
        state.next_accept += 1;
        format!("accepted-{}", state.next_accept)
    });
    let words = match (&given, &waits) {
        (Some(name), Some(Waits { channel: None, .. })) => format!("tcp:given:{name}"),
        (Some(name), Some(waits)) if waits.datagrams => format!("udp:given:{name}"),
        (Some(name), _) => format!("raw:given:{name}"),
        (None, _) => destination.clone(),
    };
    let to = Destination::parse(&words).map_err(|error| words::refused(&error))?;
    let (protocol, receives) = words::protocol(&to, protocol)?;
    if let Destination::File(_) = &to {
        state.is_free(&destination)?;
    }
    if let Destination::Framebuffer(name) = &to {
        screens(hub, state, app, name)?;
    }
    if (waits.as_ref()).is_some_and(|it| it.channel.is_some() && !it.datagrams)
        && matches!(protocol, Protocol::Unconfirmed { .. })
    {
        let text = "who waits for a peer sees its channel in what it confirms: take protocol \
                    `stream` or `confirmed`";
        return Err(refusal(RefusalKind::Conflict, text));
    }
    if let Some(waits) = &waits
        && state.is_waited_for(driver.manager(), waits)
    {
        let (address, channel) = (waits.address, waits.channel);
        let text = match channel {
            Some(channel) => format!(
                "another connection waits at {address} for channel {channel}, or for plain bytes: \
                 take another channel, or another port"
            ),
            None => format!("another connection waits at {address}: take another port, as 0"),
        };
        return Err(refusal(RefusalKind::Conflict, text));
    }
    let most = hub.config.limits.connection_bytes;
    let asked = [
        ("window", window_bytes),
        ("share", share_bytes.unwrap_or(0)),
    ];
    if let Some((what, bytes)) = asked.into_iter().find(|(_, bytes)| *bytes > most) {
        let text = format!(
            "a {what} of {bytes} bytes: a connection may have {most} bytes of network memory (the \
             operator's --connection-network): take a smaller {what}"
        );
        return Err(refusal(RefusalKind::Limit, text));
    }
    let spec = ConnectionSpec {
        channel,
        checksum,
        share_bytes: share_bytes.unwrap_or(most),
        ..ConnectionSpec::new(&words, protocol, window_bytes)
    };
    let id = match found {
        Some(found) => driver.open_found(app, spec, found),
        None => driver.open(app, spec),
    };
    let id = id.map_err(|error| words::refused(&error))?;
    let manager = driver.manager();
    state.forget_connections(manager);
    let line = Line {
        app,
        destination,
        moved: [0; 2],
        receives,
        checksum: match words::speaks_packets(&to) {
            true => checksum,
            false => Checksum::None,
        },
        given,
        file: matches!(to, Destination::File(_)).then_some(File::Written),
    };
    state.connections.insert(id, line);
    state.accepting.extend(waits.map(|waits| (id, waits)));
    Ok(Answer::Connection { connection: id.0 })
}

/// What of a request is logged; none for those that only look.
pub(crate) fn logged(request: &Request) -> Option<String> {
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

/// What a refusal begins with in the log.
pub(crate) const REFUSED: &str = "refused: ";

/// A refusal, for the log.
pub(crate) fn refused(refusal: &Refusal) -> String {
    format!("{REFUSED}{}", refusal.text)
}

/// What came of a request, for the log.
pub(crate) fn result(told: &Told) -> String {
    match told {
        Told::Refused { refusal, .. } => refused(refusal),
        Told::Answer { answer, .. } => match answer {
            Answer::Connection { connection } => format!("connection {connection}"),
            Answer::Streams { streams } => match streams.as_slice() {
                [one] => format!("stream {one}"),
                [first, .., last] => format!("streams {first} to {last}"),
                [] => "ok".into(),
            },
            _ => "ok".into(),
        },
        Told::Event { .. } | Told::Link { .. } => "ok".into(),
    }
}
