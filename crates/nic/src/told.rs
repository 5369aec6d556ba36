//! What there is and what happens, in the words of the control interface.

use crate::hub::{Hub, State};
use isthmus_nic_protocol as words;
use isthmus_nic_protocol::{Event as Said, LINE_BYTES, Overview};
use isthmus_stream::{
    AppId, ConnectionId, Direction, End, Event, LinkId, Reason, State as At, StreamId, Wait,
};
use isthmus_stream_net::{Driver, Event as Heard};

/// Bytes of an overview that are left for what is not streams and connections.
const OVERVIEW_REST: usize = 128 << 10;

impl State {
    /// An application's number of a link, for words that name it.
    fn own(&self, link: LinkId) -> LinkId {
        self.links
            .get(&link)
            .map_or(link, |(_, number)| LinkId(*number))
    }

    fn wait_words(&self, wait: Wait) -> String {
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
        let own = match wait {
            Wait::NoData(link) | Wait::Fetch(link) | Wait::Deliver(link) if cut(&link) => {
                Wait::LinkCut(self.own(link))
            }
            Wait::NoData(link) => Wait::NoData(self.own(link)),
            Wait::LinkCut(link) => Wait::LinkCut(self.own(link)),
            Wait::Fetch(link) => Wait::Fetch(self.own(link)),
            Wait::Deliver(link) => Wait::Deliver(self.own(link)),
            other => other,
        };
        own.to_string()
    }

    fn reason(&self, reason: &Reason) -> String {
        match reason {
            // Its number may be another link's by now.
            Reason::RankLost(link) if !self.links.contains_key(link) => {
                "a rank is gone, and its link with it".into()
            }
            Reason::RankLost(link) => Reason::RankLost(self.own(*link)).to_string(),
            other => other.to_string(),
        }
    }
}

/// Where a stream is.
///
/// # Errors
/// A stream that is not known.
pub(crate) fn stream(
    state: &State,
    driver: &Driver,
    id: StreamId,
) -> isthmus_stream::Result<words::Stream> {
    let status = driver.manager().status(id)?;
    let name = match status.state {
        At::Inactive => "inactive",
        At::Pending => "pending",
        At::Active => "active",
        At::Draining => "draining",
        At::Done => "done",
        At::Failed => "failed",
        At::Cancelled => "cancelled",
    };
    let reason = match &status.end {
        Some(End::Failed(reason)) => Some(state.reason(reason)),
        _ => None,
    };
    let waits = driver.manager().waits(id)?.into_iter();
    Ok(words::Stream {
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
        waits: waits.map(|wait| state.wait_words(wait)).collect(),
    })
}

/// Where a connection is.
///
/// # Errors
/// A connection that is not known.
pub(crate) fn connection(
    state: &State,
    driver: &Driver,
    id: ConnectionId,
) -> isthmus_stream::Result<words::Connection> {
    let manager = driver.manager();
    let status = manager.connection_status(id)?;
    let line = state.connections.get(&id);
    let mut moved_bytes = line.map_or([0; 2], |line| line.moved);
    let live = manager
        .streams()
        .filter_map(|stream| manager.status(stream).ok());
    for stream in live.filter(|stream| stream.connection == id && !stream.over) {
        moved_bytes[stream.direction as usize] += stream.bytes;
    }
    Ok(words::Connection {
        connection: id.0,
        application: status.app.0,
        destination: line.map_or_else(String::new, |line| line.destination.clone()),
        open: status.open,
        gone: status.gone,
        streams: status.streams,
        transmit_bytes: status.network_bytes[0],
        receive_bytes: status.network_bytes[1],
        moved_bytes,
        congestion: driver.figures().congestion.get(&id).cloned(),
    })
}

/// All that there is of an application, or of all. What does not fit a line is left out: streams
/// that are over first, and of those the oldest first.
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
        counts: words::Counts {
            up_ns: u64::try_from(hub.began.elapsed().as_nanos()).unwrap_or(u64::MAX),
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
    let mut room = LINE_BYTES - OVERVIEW_REST;
    let mut fits = |bytes: usize| {
        let fits = bytes <= room;
        room = room.saturating_sub(bytes);
        fits
    };
    for (id, app) in state.apps.iter().filter(|(id, _)| of(**id)) {
        overview.applications.push((id.0, app.name.clone()));
        for (number, link) in &app.links {
            let link = words::Link {
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
    for (id, _) in state.connections.iter().filter(|(_, line)| of(line.app)) {
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

/// Bytes that it takes of a line.
fn size<T: serde::Serialize>(said: &T) -> usize {
    words::write(said).map_or(usize::MAX, |line| line.len())
}

/// What happened in words, and whose it is. Some of what the driver tells is of no use outside.
pub(crate) fn event(state: &State, driver: &Driver, heard: &Heard) -> Option<(AppId, Said)> {
    let of_connection = |id: &ConnectionId| state.connections.get(id).map(|line| line.app);
    match heard {
        Heard::Stream(event) => of_manager(state, driver, event),
        Heard::LinkGone { link, reason, .. } => {
            let (app, link) = *state.links.get(link)?;
            let reason = reason.clone();
            Some((app, Said::LinkGone { link, reason }))
        }
        Heard::LinkCut { link, reason, .. } => {
            let (app, link) = *state.links.get(link)?;
            let reason = reason.clone();
            Some((app, Said::LinkCut { link, reason }))
        }
        Heard::LinkRestored { link, again, .. } => {
            let (app, link) = *state.links.get(link)?;
            let again = *again;
            Some((app, Said::LinkRestored { link, again }))
        }
        Heard::LinkTaken { .. } => None,
        Heard::OutOfStep {
            link,
            stream,
            reason,
        } => {
            let (app, link) = *state.links.get(link)?;
            let (stream, reason) = (stream.0, reason.clone());
            let said = Said::OutOfStep {
                link,
                stream,
                reason,
            };
            Some((app, said))
        }
        Heard::Kept {
            connection,
            path,
            bytes,
        } => {
            let said = Said::Kept {
                connection: connection.0,
                path: path.display().to_string(),
                bytes: *bytes,
            };
            Some((of_connection(connection)?, said))
        }
        Heard::Unused { connection, path } => {
            let said = Said::NotKept {
                connection: connection.0,
                path: path.display().to_string(),
                reason: "no stream went to it".into(),
            };
            Some((of_connection(connection)?, said))
        }
        Heard::NotKept {
            connection,
            path,
            reason,
        } => {
            let said = Said::NotKept {
                connection: connection.0,
                path: path.display().to_string(),
                reason: reason.clone(),
            };
            Some((of_connection(connection)?, said))
        }
    }
}

fn of_manager(state: &State, driver: &Driver, event: &Event) -> Option<(AppId, Said)> {
    let of_connection = |id: &ConnectionId| state.connections.get(id).map(|line| line.app);
    let of_stream = |id: &StreamId| driver.manager().status(*id).ok().map(|status| status.app);
    Some(match event {
        Event::Opened(id) => (of_connection(id)?, Said::Opened { connection: id.0 }),
        Event::Closed(id) => (of_connection(id)?, Said::Closed { connection: id.0 }),
        Event::Lost { connection, reason } => {
            let said = Said::Lost {
                connection: connection.0,
                reason: reason.clone(),
            };
            (of_connection(connection)?, said)
        }
        Event::AduMoved {
            stream,
            adu,
            good: whole,
        } => {
            let said = Said::Moved {
                stream: stream.0,
                adu: *adu,
                good: *whole,
            };
            (of_stream(stream)?, said)
        }
        Event::AduDone {
            stream,
            adu,
            good: whole,
        } => {
            let said = Said::Done {
                stream: stream.0,
                adu: *adu,
                good: *whole,
            };
            (of_stream(stream)?, said)
        }
        Event::Ended { stream: id, .. } => {
            let stream = stream(state, driver, *id).ok()?;
            (AppId(stream.application), Said::Ended { stream })
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
            let said = Said::Corrupted {
                text: format!("{bytes} bytes from byte {from} of ADU {adu}{tu}{whose}"),
                connection: connection.0,
            };
            (of_connection(connection)?, said)
        }
        Event::Missing {
            stream,
            adu,
            range: (from, bytes),
        } => {
            let said = Said::Missing {
                stream: stream.0,
                adu: *adu,
                from: *from,
                bytes: *bytes,
            };
            (of_stream(stream)?, said)
        }
        Event::Stalled {
            stream,
            idle_ns,
            waits,
        } => {
            let waits = waits.iter().cloned().map(|wait| state.wait_words(wait));
            let said = Said::Stalled {
                stream: stream.0,
                idle_ns: *idle_ns,
                waits: waits.collect(),
            };
            (of_stream(stream)?, said)
        }
        Event::Activated(_) | Event::SwappedOut(_) => return None,
        Event::AduBegun { .. } | Event::LinkCut { .. } => return None,
    })
}
