//! Sockets that become links of an application, and rings that are made for it.

use crate::hub::{AppLink, Hub, State};
use crate::lasting;
use crate::mailbox::line;
use crate::refusal::{ending, refusal};
use crate::shared::Shared;
use crate::words;
use isthmus_nic_protocol::{Answer, Carrier, Lasting, Refusal, RefusalKind, Told};
use isthmus_ring::{Consumer, Handles, Producer, ring};
use isthmus_stream::{AppId, LinkId};
use isthmus_stream_net::{Driver, Ends};
use isthmus_wire::{Peer, Transport};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a rank may take to take its answer, and its rings.
pub(crate) const HANDSHAKE: Duration = Duration::from_secs(10);

/// Bytes of the smallest and the largest ring.
const RING: (u64, u64) = (4 << 10, 1 << 30);

/// Why a socket is not let in, and the socket.
pub(crate) type Sent = (Transport, Option<u64>, Refusal);

/// The driver's ends of a link, and the ranks'.
struct Made {
    ends: Ends,
    handles: Vec<Handles>,
    name: &'static str,
    bytes: u64,
}

/// A link that a session is about to attach: free again, if it does not.
struct Claim<'a> {
    shared: &'a Shared,
    id: LinkId,
}

impl Claim<'_> {
    /// It was attached, and its claim taken away with that: it may be another's already.
    fn used(self) {
        std::mem::forget(self);
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        self.shared.hub.state().attaching.remove(&self.id);
    }
}

/// Makes a link of the socket, or rings that go with it.
pub(crate) fn link(
    shared: &Shared,
    mut wire: Transport,
    id: u64,
    ticket: &str,
    (number, carrier, lasts): (u16, Carrier, Option<Lasting>),
) -> Result<(), Sent> {
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
    let linked = line(&Told::Answer {
        id,
        answer: Answer::Linked,
    });
    match carrier {
        Carrier::Socket => {
            // After the answer there are frames only, and none before the driver has it.
            if !wire.write_all(&linked, deadline) {
                return Ok(());
            }
            let name = wire.kind();
            // Without a socket the rank sees its link closed.
            let Ok(socket) = wire.into_socket() else {
                return Ok(());
            };
            let ends = Ends::socket(socket);
            let made = Made {
                ends,
                handles: Vec::new(),
                name,
                bytes: 0,
            };
            attach(shared, app, claim, made, None, &peer);
        }
        Carrier::Rings {
            from_rank_bytes,
            to_rank_bytes,
        } => {
            let mut made = match rings(from_rank_bytes, to_rank_bytes) {
                Ok(made) => made,
                Err(refusal) => return Err((wire, Some(id), refusal)),
            };
            if !wire.write_all(&linked, deadline) {
                return Ok(());
            }
            let handles = std::mem::take(&mut made.handles);
            for handles in handles {
                if handles.send(&wire, deadline).is_err() {
                    return Ok(());
                }
            }
            let socket = wire.into_socket().ok().map(OwnedFd::from);
            attach(shared, app, claim, made, socket, &peer);
        }
    }
    Ok(())
}

/// The application, and the link for this session to attach, with rings of so many bytes.
fn claim<'a>(
    shared: &'a Shared,
    ticket: &str,
    number: u16,
    asked: u64,
) -> Result<(AppId, Claim<'a>), Refusal> {
    let app = application(shared, ticket)?;
    let hub = Arc::clone(&shared.hub);
    let called = shared.client.call(move |driver| {
        let mut state = hub.state();
        let id = reserve(&hub, &mut state, driver, (app, number), asked)?;
        state.attaching.insert(id, asked);
        Ok(id)
    });
    let id = called.map_err(|error| words::refused(&error))??;
    Ok((app, Claim { shared, id }))
}

/// The driver's number of a link that has no ends, if the application may have it with so many
/// bytes of memory of its own.
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
    let most = hub.config.limits.links;
    state.make_room(driver, app, &[number], most);
    let before = state.link_numbers(app);
    let id = state.link(app, number, most)?;
    if driver.is_attached(id) || state.attaching.contains_key(&id) {
        let text = format!(
            "link {number} has its ends: take another number, or close the socket of the one \
             that has it"
        );
        return Err(refusal(RefusalKind::Conflict, text));
    }
    let (has, most) = (ring_bytes(state, driver, app), hub.config.limits.ring_bytes);
    if asked > 0 && has.saturating_add(asked) > most {
        state.forget_links(app, &before);
        let text = format!(
            "rings of {asked} bytes, or what is kept for a link that lasts, beside {has}: an \
             application may have {most} bytes of rings"
        );
        return Err(refusal(RefusalKind::Limit, text));
    }
    Ok(id)
}

/// Bytes of the rings that are asked for, if they can be had over this socket.
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
    if sizes == [0, 0] || sizes.iter().any(|bytes| *bytes > RING.1) {
        let text = format!(
            "rings of {from_rank_bytes} and {to_rank_bytes} bytes: one at least, of at most {}",
            RING.1
        );
        return Err(refusal(RefusalKind::Conflict, text));
    }
    Ok(sizes.iter().map(|bytes| capacity(*bytes)).sum())
}

/// Bytes of an application's rings, and of those that it is about to have.
fn ring_bytes(state: &State, driver: &Driver, app: AppId) -> u64 {
    let links = state
        .apps
        .get(&app)
        .into_iter()
        .flat_map(|app| app.links.values());
    let bytes = |link: &AppLink| match state.attaching.get(&link.id) {
        Some(asked) => *asked,
        None if driver.is_attached(link.id) => link.ring_bytes,
        // Its ranks are gone, and its rings with them.
        None => 0,
    };
    links.map(bytes).sum()
}

/// The bytes that a ring of about so many has.
fn capacity(bytes: u64) -> u64 {
    match bytes {
        0 => 0,
        bytes => bytes.clamp(RING.0, RING.1).next_power_of_two(),
    }
}

fn rings(from_rank: u64, to_rank: u64) -> Result<Made, Refusal> {
    let refused = |error: isthmus_ring::Error| words::refused(&error.into());
    let make = |bytes: u64| -> Result<Option<(Producer, Consumer)>, Refusal> {
        let bytes = capacity(bytes);
        (bytes > 0)
            .then(|| ring(bytes))
            .transpose()
            .map_err(refused)
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
    Ok(Made {
        ends: Ends::rings(source, drain),
        handles,
        name: "rings",
        bytes: capacity(from_rank) + capacity(to_rank),
    })
}

/// Gives the link to the driver. If the application has ended meanwhile, it is closed.
fn attach(
    shared: &Shared,
    app: AppId,
    claim: Claim<'_>,
    made: Made,
    socket: Option<OwnedFd>,
    peer: &Peer,
) {
    let (hub, id) = (Arc::clone(&shared.hub), claim.id);
    let carrier = made.name;
    let give = move |driver: &mut Driver| {
        let mut state = hub.state();
        let state = &mut *state;
        let (_, number) = *state.links.get(&id)?;
        let known = state.apps.get_mut(&app)?;
        let link = known.links.get_mut(&number)?;
        driver.attach(id, made.ends).ok()?;
        // At once: its rank may be gone before this session goes on, and it makes room then.
        state.attaching.remove(&id);
        link.wipe();
        link.incarnation = driver.incarnation(id);
        link.carrier = made.name;
        link.ring_bytes = made.bytes;
        link.socket = socket;
        Some((known.name.clone(), number))
    };
    // A driver that has ended takes nothing, and the rank sees its link closed.
    if let Ok(Some((name, number))) = shared.client.call(give) {
        claim.used();
        let who = format!("{name} #{app} {peer}");
        let what = format!("link {number} over {carrier}");
        shared.hub.log().record(&who, &what, "ok");
    }
}

pub(crate) fn no_ticket() -> Refusal {
    let text = "no application has this ticket: it is in the answer to hello, and ends with it";
    refusal(RefusalKind::Denied, text)
}

/// The application of a link that is asked for.
pub(crate) fn application(shared: &Shared, ticket: &str) -> Result<AppId, Refusal> {
    shared.hub.state().by_ticket(ticket).ok_or_else(no_ticket)
}
