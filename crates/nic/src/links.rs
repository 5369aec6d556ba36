//! Links between the ranks of an application and the daemon, over sockets and rings.

use crate::convert;
use crate::lasting;
use crate::mailbox::encode;
use crate::refusal::{ending, refusal};
use crate::shared::Shared;
use crate::state::{AppLink, Hub, State};
use isthmus_nic_protocol::{Answer, Carrier, Lasting, Message, Refusal, RefusalKind};
use isthmus_ring::{Consumer, Handles, Producer, ring};
use isthmus_stream::{AppId, LinkId};
use isthmus_stream_net::{Driver, Ends};
use isthmus_wire::{Peer, Transport};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time within which a rank must receive the answer to its request for a link, and the rings of the
/// link.
pub(crate) const HANDSHAKE: Duration = Duration::from_secs(10);

/// Smallest and largest size of a ring, in bytes.
const RING_BYTES: (u64, u64) = (4 << 10, 1 << 30);

/// The socket of a refused request, the number of the request and the refusal.
pub(crate) type Rejected = (Transport, Option<u64>, Refusal);

/// The ends of a new link: the driver's end, and the handles of the rank's end.
struct LinkParts {
    ends: Ends,
    handles: Vec<Handles>,
    name: &'static str,
    bytes: u64,
}

/// The reservation of a link that a session is about to attach. Dropping the guard releases it.
struct AttachGuard<'a> {
    shared: &'a Shared,
    id: LinkId,
}

impl AttachGuard<'_> {
    /// Drop the guard without removing the link from `attaching`: that has happened, and the link
    /// may be there again for a newer request.
    fn disarm(self) {
        std::mem::forget(self);
    }
}

impl Drop for AttachGuard<'_> {
    /// Remove the link from the set of links that are being attached.
    fn drop(&mut self) {
        self.shared.hub.state().attaching.remove(&self.id);
    }
}

/// Create a link that transfers data over the socket of the request, or over new rings
/// (shared-memory queues) beside the socket.
pub(crate) fn link(
    shared: &Shared,
    mut wire: Transport,
    id: u64,
    ticket: &str,
    (number, carrier, lasts): (u16, Carrier, Option<Lasting>),
) -> Result<(), Rejected> {
    if let Some(lasts) = lasts {
        return match carrier {
            Carrier::Socket => lasting::link(shared, wire, id, ticket, (number, &lasts)),
            Carrier::Rings { .. } => {
                let text = "rings are gone with the process at their other end: only links whose \
                            carrier is `socket` last";
                Err((wire, Some(id), refusal(RefusalKind::Conflict, text)))
            }
        };
    }
    let claimed = asked(&wire, carrier).and_then(|bytes| claim(shared, ticket, number, bytes));
    let (app, claim) = match claimed {
        Ok(found) => found,
        Err(refusal) => return Err((wire, Some(id), refusal)),
    };
    let deadline = Instant::now() + HANDSHAKE;
    let peer = wire.peer().clone();
    let linked = encode(&Message::Answer {
        id,
        answer: Answer::Linked,
    });
    match carrier {
        Carrier::Socket => {
            // Send the answer before the driver gets the socket. After the answer, the socket
            // carries only frames.
            if !wire.write_all(&linked, deadline) {
                return Ok(());
            }
            let name = wire.kind();
            // If the socket cannot be extracted, the rank (application process) finds its link
            // closed.
            let Ok(socket) = wire.into_socket() else {
                return Ok(());
            };
            let ends = Ends::socket(socket);
            let parts = LinkParts {
                ends,
                handles: Vec::new(),
                name,
                bytes: 0,
            };
            attach(shared, app, claim, parts, None, &peer);
        }
        Carrier::Rings {
            from_rank_bytes,
            to_rank_bytes,
        } => {
            let mut parts = match rings(from_rank_bytes, to_rank_bytes) {
                Ok(parts) => parts,
                Err(refusal) => return Err((wire, Some(id), refusal)),
            };
            if !wire.write_all(&linked, deadline) {
                return Ok(());
            }
            let handles = std::mem::take(&mut parts.handles);
            for handles in handles {
                if handles.send(&wire, deadline).is_err() {
                    return Ok(());
                }
            }
            let socket = wire.into_socket().ok().map(OwnedFd::from);
            attach(shared, app, claim, parts, socket, &peer);
        }
    }
    Ok(())
}

/// Reserve a link, whose rings have `asked` bytes in total, until this session has attached it.
/// Return the application of the link and the reservation.
fn claim<'a>(
    shared: &'a Shared,
    ticket: &str,
    number: u16,
    asked: u64,
) -> Result<(AppId, AttachGuard<'a>), Refusal> {
    let app = application(shared, ticket)?;
    let hub = Arc::clone(&shared.hub);
    let called = shared.client.call(move |driver| {
        let mut state = hub.state();
        let id = reserve(&hub, &mut state, driver, (app, number), asked)?;
        state.attaching.insert(id, asked);
        Ok(id)
    });
    let id = called.map_err(convert::refused)??;
    Ok((app, AttachGuard { shared, id }))
}

/// Reserve a link that no process has attached yet. Return the link's number in the driver, or a
/// refusal if the application may not use the link with rings (shared-memory queues) of `asked`
/// bytes.
pub(crate) fn reserve(
    hub: &Hub,
    state: &mut State,
    driver: &mut Driver,
    (app, number): (AppId, u16),
    asked: u64,
) -> Result<LinkId, Refusal> {
    if state.ending {
        return Err(ending());
    }
    let limit = hub.config.limits.links;
    state.make_room(driver, app, &[number], limit);
    let before = state.link_numbers(app);
    let id = state.link(app, number, limit)?;
    if driver.is_attached(id) || state.attaching.contains_key(&id) {
        let text = format!(
            "link {number} has its ends: take another number, or close the socket of the one \
             that has it"
        );
        return Err(refusal(RefusalKind::Conflict, text));
    }
    let (has, limit) = (ring_bytes(state, driver, app), hub.config.limits.ring_bytes);
    if asked > 0 && has.saturating_add(asked) > limit {
        state.forget_links(app, &before);
        let text = format!(
            "rings of {asked} bytes, or what is kept for a link that lasts, beside {has}: an \
             application may have {limit} bytes of rings"
        );
        return Err(refusal(RefusalKind::Limit, text));
    }
    Ok(id)
}

/// Return the total size in bytes of the requested rings (shared-memory queues), or a refusal if
/// this socket does not support rings.
fn asked(wire: &Transport, carrier: Carrier) -> Result<u64, Refusal> {
    let Carrier::Rings {
        from_rank_bytes,
        to_rank_bytes,
    } = carrier
    else {
        return Ok(0);
    };
    if !wire.is_unix() {
        let text = "rings go through a Unix socket: connect to that, or take carrier `socket`";
        return Err(refusal(RefusalKind::Conflict, text));
    }
    let sizes = [from_rank_bytes, to_rank_bytes];
    if sizes == [0, 0] || sizes.iter().any(|bytes| *bytes > RING_BYTES.1) {
        let text = format!(
            "rings of {from_rank_bytes} and {to_rank_bytes} bytes: one at least, of at most {}",
            RING_BYTES.1
        );
        return Err(refusal(RefusalKind::Conflict, text));
    }
    Ok(sizes.iter().map(|bytes| capacity(*bytes)).sum())
}

/// Return the total size in bytes of an application's rings, including reserved ones.
fn ring_bytes(state: &State, driver: &Driver, app: AppId) -> u64 {
    let links = state
        .apps
        .get(&app)
        .into_iter()
        .flat_map(|app| app.links.values());
    let bytes = |link: &AppLink| match state.attaching.get(&link.id) {
        Some(asked) => *asked,
        None if driver.is_attached(link.id) => link.ring_bytes,
        // A link that is not attached has no rings.
        None => 0,
    };
    links.map(bytes).sum()
}

/// Return the actual size in bytes of a ring (shared-memory queue) that is requested with this
/// size.
fn capacity(bytes: u64) -> u64 {
    match bytes {
        0 => 0,
        bytes => bytes.clamp(RING_BYTES.0, RING_BYTES.1).next_power_of_two(),
    }
}

/// Create the rings (shared-memory queues) of a link, one in each direction with a size above 0.
fn rings(from_rank: u64, to_rank: u64) -> Result<LinkParts, Refusal> {
    let make = |bytes: u64| -> Result<Option<(Producer, Consumer)>, Refusal> {
        let bytes = capacity(bytes);
        let ring = (bytes > 0).then(|| ring(bytes));
        ring.transpose().map_err(convert::refused)
    };
    let (up, down) = (make(from_rank)?, make(to_rank)?);
    let mut handles = Vec::new();
    let source = up.map(|(producer, consumer)| {
        handles.push(producer.into_handles());
        consumer
    });
    let drain = down.map(|(producer, consumer)| {
        handles.push(consumer.into_handles());
        producer
    });
    Ok(LinkParts {
        ends: Ends::rings(source, drain),
        handles,
        name: "rings",
        bytes: capacity(from_rank) + capacity(to_rank),
    })
}

/// Attach a link to the driver of the stream manager. If the application of the link has ended in
/// the meantime, the link is closed.
fn attach(
    shared: &Shared,
    app: AppId,
    claim: AttachGuard<'_>,
    parts: LinkParts,
    socket: Option<OwnedFd>,
    peer: &Peer,
) {
    let (hub, id) = (Arc::clone(&shared.hub), claim.id);
    let carrier = parts.name;
    let give = move |driver: &mut Driver| {
        let mut state = hub.state();
        let state = &mut *state;
        let (_, number) = *state.links.get(&id)?;
        let known = state.apps.get_mut(&app)?;
        let link = known.links.get_mut(&number)?;
        driver.attach(id, parts.ends).ok()?;
        // Remove the link from `attaching` now: the rank (application process) may leave, which
        // frees the memory of the rings, before this session continues.
        state.attaching.remove(&id);
        link.wipe();
        link.incarnation = driver.incarnation(id);
        link.carrier = parts.name;
        link.ring_bytes = parts.bytes;
        link.socket = socket;
        Some((known.name.clone(), number))
    };
    // The call fails if the driver thread has ended. The rank (application process) then finds its
    // link closed.
    if let Ok(Some((name, number))) = shared.client.call(give) {
        claim.disarm();
        let who = format!("{name} #{app} {peer}");
        let what = format!("link {number} over {carrier}");
        shared.hub.log().record(&who, &what, "ok");
    }
}

/// Return the refusal of a request whose ticket (the secret of an application) belongs to no
/// application.
pub(crate) fn no_ticket() -> Refusal {
    let text = "no application has this ticket: it is in the answer to hello, and ends with it";
    refusal(RefusalKind::Denied, text)
}

/// Return the application that has this ticket, the secret with which its processes join.
pub(crate) fn application(shared: &Shared, ticket: &str) -> Result<AppId, Refusal> {
    shared.hub.state().by_ticket(ticket).ok_or_else(no_ticket)
}
