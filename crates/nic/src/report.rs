//! Converts the driver's state and events to objects of the control protocol.

use crate::state::{Hub, State};
use isthmus_nic_protocol as protocol;
use isthmus_nic_protocol::{Event as Notice, LINE_BYTES, Overview};
use isthmus_stream::{
    AppId, ConnectionId, Direction, End, Event, LinkId, Reason, State as StreamState, StreamId,
    Wait,
};
use isthmus_stream_net::{Driver, Event as NetEvent};

/// Bytes of an overview line (the daemon's status) that are reserved for everything but streams and
/// connections.
const OVERVIEW_RESERVE: usize = 128 << 10;

impl State {
    /// Return the number that the application itself uses for a link, for messages to it. The
    /// driver's number `link` is another one.
    fn own_number(&self, link: LinkId) -> LinkId {
        self.links
            .get(&link)
            .map_or(link, |(_, number)| LinkId(*number))
    }

    /// Return a text on why a stream waits, in which links have the application's own numbers.
    fn describe_wait(&self, wait: Wait) -> String {
        if let Wait::NotOpen(id) = wait
            && let Some(waits) = self.accepting.get(&id)
        {
            let shows = waits.channel.map_or_else(String::new, |channel| {
                format!(" and shown channel {channel}")
            });
            let address = waits.address;
            if waits.datagrams {
                let channel = waits.channel.unwrap_or_default();
                return format!(
                    "connection {id}: no datagram of channel {channel} has come to {address} yet"
                );
            }
            return format!("connection {id}: no peer has connected to {address}{shows} yet");
        }
        let cut = |link: &LinkId| {
            let known = self.links.get(link);
            let app = known.and_then(|(app, number)| Some((self.apps.get(app)?, number)));
            app.and_then(|(app, number)| app.links.get(number))
                .is_some_and(|link| link.cut)
        };
        let own_number = match wait {
            Wait::NoData(link) | Wait::Fetch(link) | Wait::Deliver(link) if cut(&link) => {
                Wait::LinkCut(self.own_number(link))
            }
            Wait::NoData(link) => Wait::NoData(self.own_number(link)),
            Wait::LinkCut(link) => Wait::LinkCut(self.own_number(link)),
            Wait::Fetch(link) => Wait::Fetch(self.own_number(link)),
            Wait::Deliver(link) => Wait::Deliver(self.own_number(link)),
            other => other,
        };
        own_number.to_string()
    }

    /// Return a text on why a stream failed, in which links have the application's own numbers.
    fn describe_reason(&self, reason: &Reason) -> String {
        match reason {
            // Omit the number of a link that no longer exists: another link may have it now.
            Reason::RankLost(link) if !self.links.contains_key(link) => {
                "a rank is gone, and its link with it".into()
            }
            Reason::RankLost(link) => Reason::RankLost(self.own_number(*link)).to_string(),
            other => other.to_string(),
        }
    }
}

/// Return the status of a stream for clients.
///
/// # Errors
/// The stream is unknown.
pub(crate) fn stream(
    state: &State,
    driver: &Driver,
    id: StreamId,
) -> isthmus_stream::Result<protocol::Stream> {
    let status = driver.manager().status(id)?;
    let name = match status.state {
        StreamState::Inactive => "inactive",
        StreamState::Pending => "pending",
        StreamState::Active => "active",
        StreamState::Draining => "draining",
        StreamState::Done => "done",
        StreamState::Failed => "failed",
        StreamState::Cancelled => "cancelled",
    };
    let reason = match &status.end {
        Some(End::Failed(reason)) => Some(state.describe_reason(reason)),
        _ => None,
    };
    let waits = driver.manager().waits(id)?.into_iter();
    Ok(protocol::Stream {
        stream: id.0,
        application: status.app.0,
        connection: status.connection.0,
        direction: status.direction,
        state: name.into(),
        over: status.over,
        reason,
        adus: status.adus,
        moved: status.moved,
        done: status.done,
        incomplete: state.incomplete.get(&id).copied().unwrap_or(0),
        bytes: status.bytes,
        retransmissions: status.retransmissions,
        waits: waits.map(|wait| state.describe_wait(wait)).collect(),
    })
}

/// Return the status of a connection for clients.
///
/// # Errors
/// The connection is unknown.
pub(crate) fn connection(
    state: &State,
    driver: &Driver,
    id: ConnectionId,
) -> isthmus_stream::Result<protocol::Connection> {
    let manager = driver.manager();
    let status = manager.connection_status(id)?;
    let entry = state.connections.get(&id);
    let mut moved_bytes = entry.map_or([0; 2], |entry| entry.moved);
    let live = manager
        .streams()
        .filter_map(|stream| manager.status(stream).ok());
    for stream in live.filter(|stream| stream.connection == id && !stream.over) {
        moved_bytes[stream.direction as usize] += stream.bytes;
    }
    Ok(protocol::Connection {
        connection: id.0,
        application: status.app.0,
        destination: entry.map_or_else(String::new, |entry| entry.destination.clone()),
        open: status.open,
        gone: status.gone,
        streams: status.streams,
        transmit_bytes: status.network_bytes[0],
        receive_bytes: status.network_bytes[1],
        moved_bytes,
        congestion: driver.figures().congestion.get(&id).cloned(),
    })
}

/// Return the status of all streams, connections and links of the applications that `of` selects,
/// for one line of the protocol. If the line would be too long, ended streams are left out, the
/// oldest first, and then other entries.
pub(crate) fn overview(
    hub: &Hub,
    state: &State,
    driver: &Driver,
    of: impl Fn(AppId) -> bool,
) -> Overview {
    let manager = driver.manager();
    let statistics = manager.statistics();
    let used = [Direction::Transmit, Direction::Receive].map(|way| manager.used(way));
    let has = manager.config();
    let mut overview = Overview {
        counts: protocol::Counts {
            up_ns: u64::try_from(hub.started.elapsed().as_nanos()).unwrap_or(u64::MAX),
            sent_bytes: statistics.bytes_sent,
            delivered_bytes: statistics.bytes_delivered,
            packets: statistics.packets_sent,
            retransmissions: statistics.retransmissions,
            corrupted: statistics.corrupted,
            staging_bytes: used.map(|(staging, _)| (staging, has.staging_bytes)),
            network_bytes: used.map(|(_, network)| (network, has.network_bytes)),
        },
        ..Overview::default()
    };
    let mut room = LINE_BYTES - OVERVIEW_RESERVE;
    let mut fits = |bytes: usize| {
        let fits = bytes <= room;
        room = room.saturating_sub(bytes);
        fits
    };
    for (id, app) in state.apps.iter().filter(|(id, _)| of(**id)) {
        overview.applications.push((id.0, app.name.clone()));
        for (number, link) in &app.links {
            let link = protocol::Link {
                link: *number,
                application: id.0,
                carrier: link.carrier.into(),
                attached: driver.is_attached(link.id) && !driver.is_cut(link.id),
                cut: driver.is_cut(link.id),
            };
            match fits(size(&link)) {
                true => overview.links.push(link),
                false => overview.left_out += 1,
            }
        }
    }
    for (id, _) in state.connections.iter().filter(|(_, entry)| of(entry.app)) {
        let Ok(connection) = connection(state, driver, *id) else {
            continue;
        };
        match fits(size(&connection)) {
            true => overview.connections.push(connection),
            false => overview.left_out += 1,
        }
    }
    let mut streams: Vec<_> = manager
        .streams()
        .filter_map(|id| stream(state, driver, id).ok())
        .filter(|stream| of(AppId(stream.application)))
        .collect();
    streams.sort_by_key(|stream| (stream.over, std::cmp::Reverse(stream.stream)));
    for stream in streams {
        match fits(size(&stream)) {
            true => overview.streams.push(stream),
            false => overview.left_out += 1,
        }
    }
    overview.streams.sort_by_key(|stream| stream.stream);
    overview
}

/// Return the number of bytes that an item takes in the JSON line of an overview (the daemon's
/// status).
fn size(item: &impl protocol::Encode) -> usize {
    protocol::write(item).map_or(usize::MAX, |entry| entry.len())
}

/// Convert an event of the driver to a notice for clients, with the application that it concerns.
/// Returns None for events of which clients are not notified.
pub(crate) fn event(
    state: &State,
    driver: &Driver,
    on_event: &NetEvent,
) -> Option<(AppId, Notice)> {
    let of_connection = |id: &ConnectionId| state.connections.get(id).map(|entry| entry.app);
    match on_event {
        NetEvent::Stream(event) => of_manager(state, driver, event),
        NetEvent::LinkGone { link, reason, .. } => {
            let (app, link) = *state.links.get(link)?;
            let reason = reason.clone();
            Some((app, Notice::LinkGone { link, reason }))
        }
        NetEvent::LinkCut { link, reason, .. } => {
            let (app, link) = *state.links.get(link)?;
            let reason = reason.clone();
            Some((app, Notice::LinkCut { link, reason }))
        }
        NetEvent::LinkRestored { link, again, .. } => {
            let (app, link) = *state.links.get(link)?;
            let again = *again;
            Some((app, Notice::LinkRestored { link, again }))
        }
        NetEvent::LinkReceived { .. } => None,
        NetEvent::OutOfStep {
            link,
            stream,
            reason,
        } => {
            let (app, link) = *state.links.get(link)?;
            let (stream, reason) = (stream.0, reason.clone());
            let event = Notice::OutOfStep {
                link,
                stream,
                reason,
            };
            Some((app, event))
        }
        NetEvent::Kept {
            connection,
            path,
            bytes,
        } => {
            let event = Notice::Kept {
                connection: connection.0,
                path: path.display().to_string(),
                bytes: *bytes,
            };
            Some((of_connection(connection)?, event))
        }
        NetEvent::Unused { connection, path } => {
            let event = Notice::NotKept {
                connection: connection.0,
                path: path.display().to_string(),
                reason: "no stream went to it".into(),
            };
            Some((of_connection(connection)?, event))
        }
        NetEvent::NotKept {
            connection,
            path,
            reason,
        } => {
            let event = Notice::NotKept {
                connection: connection.0,
                path: path.display().to_string(),
                reason: reason.clone(),
            };
            Some((of_connection(connection)?, event))
        }
    }
}

/// Convert an event of the stream manager to a notice for clients, with the application that
/// receives it. Return `None` if clients are not notified of the event.
fn of_manager(state: &State, driver: &Driver, event: &Event) -> Option<(AppId, Notice)> {
    let app = match event {
        Event::Opened(connection)
        | Event::Closed(connection)
        | Event::Lost { connection, .. }
        | Event::Corrupted { connection, .. } => state.connections.get(connection)?.app,
        Event::Activated(_) | Event::SwappedOut(_) | Event::AduStarted { .. } => return None,
        other => driver.manager().status(other.stream()?).ok()?.app,
    };
    let notice = match event {
        Event::Opened(id) => Notice::Opened { connection: id.0 },
        Event::Closed(id) => Notice::Closed { connection: id.0 },
        Event::Lost { connection, reason } => Notice::Lost {
            connection: connection.0,
            reason: reason.clone(),
        },
        Event::AduMoved { stream, adu, good } => {
            let (stream, adu, good) = (stream.0, *adu, *good);
            Notice::Moved { stream, adu, good }
        }
        Event::AduDone { stream, adu, good } => {
            let (stream, adu, good) = (stream.0, *adu, *good);
            Notice::Done { stream, adu, good }
        }
        Event::Ended { stream: id, .. } => {
            let stream = stream(state, driver, *id).ok()?;
            Notice::Ended { stream }
        }
        Event::Corrupted {
            connection,
            stream,
            adu,
            tu,
            range: (from, bytes),
        } => {
            let whose = stream.map_or_else(String::new, |id| format!(" of stream {id}"));
            let tu = tu.map_or_else(String::new, |tu| format!(", TU {tu}"));
            Notice::Corrupted {
                text: format!("{bytes} bytes from byte {from} of ADU {adu}{tu}{whose}"),
                connection: connection.0,
            }
        }
        Event::Missing {
            stream,
            adu,
            range: (from, bytes),
        } => Notice::Missing {
            stream: stream.0,
            adu: *adu,
            from: *from,
            bytes: *bytes,
        },
        Event::Stalled {
            stream,
            idle_ns,
            waits,
        } => {
            let waits = waits.iter().cloned().map(|wait| state.describe_wait(wait));
            Notice::Stalled {
                stream: stream.0,
                idle_ns: *idle_ns,
                waits: waits.collect(),
            }
        }
        Event::Activated(_) | Event::SwappedOut(_) => return None,
        Event::AduStarted { .. } | Event::LinkCut { .. } => return None,
    };
    Some((app, notice))
}
