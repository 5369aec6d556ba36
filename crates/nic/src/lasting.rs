//! Links that outlast their sockets: how ranks create them and reconnect them, and the sessions
//! that own them.

use crate::convert;
use crate::links::{HANDSHAKE, Rejected, application, reserve};
use crate::mailbox::encode;
use crate::refusal::refusal;
use crate::requests::Caller;
use crate::shared::Shared;
use crate::state::{AppLink, Hub, Owner, State};
use isthmus_daemon::is_same;
use isthmus_nic_protocol::{
    Answer, LINK_SILENCE_MS, Lasting, LinkNews, Message, Refusal, RefusalKind,
};
use isthmus_stream::{AppId, LinkId};
use isthmus_stream_net::unconfirmed::UNCONFIRMED_BYTES;
use isthmus_stream_net::{Driver, Error, Event as NetEvent};
use isthmus_wire::Transport;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Permitted length in characters of a link's key, the secret with which a rank reconnects the
/// link.
const KEY_CHARACTERS: std::ops::RangeInclusive<usize> = 16..=64;

/// A lasting link (one that outlasts its sockets) that is ready to use the new socket of a request.
struct Renewed {
    id: LinkId,
    incarnation: u64,
    /// Number of bytes that the daemon received over the link's earlier sockets.
    received: u64,
    grace: Duration,
}

/// Handle a request for a lasting link (one that survives the loss of its socket): create the link over the
/// socket of the request, or connect an existing link to this socket.
pub(crate) fn link(
    shared: &Shared,
    mut wire: Transport,
    id: u64,
    ticket: &str,
    (number, lasting): (u16, &Lasting),
) -> Result<(), Rejected> {
    let Renewed {
        id: link,
        incarnation,
        received,
        grace,
    } = match renew(shared, ticket, number, lasting) {
        Ok(renewed) => renewed,
        Err(refusal) => return Err((wire, Some(id), refusal)),
    };
    let answer = Answer::Lasts {
        received,
        grace_ns: u64::try_from(grace.as_nanos()).unwrap_or(u64::MAX),
    };
    let nth = lasting.nth;
    let peer = wire.peer().clone();
    wire.limit_silence(LINK_SILENCE_MS);
    // Send the answer; after it, the socket carries only frames of the link. If sending fails, the rank
    // (application process) reconnects.
    let answered = encode(&Message::Answer { id, answer });
    if !wire.write_all(&answered, Instant::now() + HANDSHAKE) {
        return Ok(());
    }
    let name = wire.kind();
    let Ok(socket) = wire.into_socket() else {
        return Ok(());
    };
    let hub = Arc::clone(&shared.hub);
    let give = move |driver: &mut Driver| {
        let mut state = hub.state();
        // If the link was released in the meantime, another link may have its number and wait for
        // its own socket.
        if driver.incarnation(link) != incarnation || !driver.restore(link, nth, socket) {
            return None;
        }
        let (app, _) = *state.links.get(&link)?;
        state.link_mut(link)?.carrier = name;
        Some(format!("{} #{app} {peer}", state.name(app)))
    };
    // Ignore an error of the call: it means that the driver's thread has ended, and then the rank
    // (application process) finds its link closed.
    if let Ok(Some(who)) = shared.client.call(give) {
        let what = format!("link {number} over {name}, socket {nth}");
        shared.hub.log().record(&who, &what, "ok");
    }
    Ok(())
}

/// Find or create the lasting link (one that survives the loss of its socket) that a request names, and prepare it
/// for the new socket of the request.
fn renew(
    shared: &Shared,
    ticket: &str,
    number: u16,
    lasting: &Lasting,
) -> Result<Renewed, Refusal> {
    let app = application(shared, ticket)?;
    let limit = shared.hub.config.link_grace;
    if limit.is_zero() {
        let text = "this daemon lets no link outlast its socket: leave `lasting` out";
        return Err(refusal(RefusalKind::Conflict, text));
    }
    let characters = lasting.key.chars().count();
    if !KEY_CHARACTERS.contains(&characters) {
        let (least, limit) = (KEY_CHARACTERS.start(), KEY_CHARACTERS.end());
        let text = format!("a key of {characters} characters: {least} to {limit}");
        return Err(refusal(RefusalKind::Garbled, text));
    }
    let grace = lasting
        .grace_ns
        .map_or(limit, Duration::from_nanos)
        .min(limit);
    let (hub, lasting) = (Arc::clone(&shared.hub), lasting.clone());
    let called = shared.client.call(move |driver| {
        let mut state = hub.state();
        let asked = (app, number, lasting.received);
        let id = match state.find_owned(asked, &lasting)? {
            Some(id) => id,
            None => begin(&hub, &mut state, driver, (app, number), (&lasting, grace))?,
        };
        let renewed = driver.renew(id, lasting.nth, lasting.received.unwrap_or(0));
        let received = renewed.map_err(|error| match error {
            // Name the link by the application's number for it; the error of the driver has another
            // number.
            Error::Resumable(_, why) => {
                refusal(RefusalKind::Conflict, format!("link {number}: {why}"))
            }
            other => convert::refused(other),
        })?;
        Ok(Renewed {
            id,
            incarnation: driver.incarnation(id),
            received,
            grace,
        })
    });
    called.map_err(convert::refused)?
}

/// Create a lasting link, which survives the loss of its socket, and record its owner. Return the driver's ID of
/// the link.
fn begin(
    hub: &Hub,
    state: &mut State,
    driver: &mut Driver,
    (app, number): (AppId, u16),
    (lasting, grace): (&Lasting, Duration),
) -> Result<LinkId, Refusal> {
    let asked = UNCONFIRMED_BYTES as u64;
    let id = reserve(hub, state, driver, (app, number), asked)?;
    let attached = driver.attach_resumable(id, grace);
    attached.map_err(convert::refused)?;
    if let Some(link) = state.link_mut(id) {
        link.wipe();
        link.incarnation = driver.incarnation(id);
        link.ring_bytes = asked;
        link.owner = Some(Owner {
            key: lasting.key.clone(),
            session: lasting.session,
        });
    }
    Ok(id)
}

impl State {
    /// Return the driver's ID of the existing lasting link that a request names; `None` if the request is for a
    /// new link.
    fn find_owned(
        &self,
        (app, number, received): (AppId, u16, Option<u64>),
        lasting: &Lasting,
    ) -> Result<Option<LinkId>, Refusal> {
        let app = self.apps.get(&app);
        let mut sessions = app.into_iter().flat_map(|app| &app.sessions);
        if !sessions.any(|one| one.session == lasting.session) {
            let text = format!(
                "session {} is none of this application's: a link lasts as long as the session \
                 of its process",
                lasting.session
            );
            return Err(refusal(RefusalKind::Denied, text));
        }
        let link = app.and_then(|app| app.links.get(&number));
        let Some((id, owner)) = link.and_then(|link| Some((link.id, link.owner.as_ref()?))) else {
            return match received {
                None => Ok(None),
                Some(_) => Err(refusal(
                    RefusalKind::Unknown,
                    format!(
                        "link {number} is not there to be made again: its time of grace is over, \
                         or it was given up"
                    ),
                )),
            };
        };
        if !is_same(owner.key.as_bytes(), lasting.key.as_bytes()) {
            let text = format!("link {number} is another rank's: this is not its key");
            return Err(refusal(RefusalKind::Denied, text));
        }
        Ok(Some(id))
    }

    /// Return the driver's ID of the link `number` of the caller's application. `None` if it is not
    /// a lasting link of the caller's session with this `key`.
    fn own_link(&self, caller: &Caller, number: u16, key: &str) -> Option<LinkId> {
        let link = self.apps.get(&caller.app)?.links.get(&number)?;
        let owner = link.owner.as_ref()?;
        let own = owner.session == caller.mailbox.session
            && is_same(owner.key.as_bytes(), key.as_bytes());
        own.then_some(link.id)
    }

    /// Handle a confirmation from a rank (application process) of the bytes that it received over a
    /// link.
    pub fn on_confirmation(
        &mut self,
        driver: &mut Driver,
        caller: &Caller,
        (number, key): (u16, &str),
        bytes: u64,
    ) {
        if let Some(id) = self.own_link(caller, number, key) {
            // The driver ends the link if the rank confirms bytes that were never sent. The link then
            // has no owner; a separate event reports its end.
            let confirmed = driver.confirm(id, bytes);
            if let Some(link) = self.link_mut(id).filter(|_| confirmed.is_err()) {
                link.owner = None;
            }
        }
    }

    /// Release a lasting link at the request of its rank (application process).
    pub fn unlink(&mut self, driver: &mut Driver, caller: &Caller, number: u16, key: &str) {
        if let Some(id) = self.own_link(caller, number, key) {
            driver.abandon(id, "its rank gave it up");
            if let Some(link) = self.link_mut(id) {
                link.owner = None;
            }
        }
    }

    /// End the lasting links (those that survive the loss of their socket) of a session that has ended.
    pub fn drop_links(&mut self, driver: &mut Driver, app: AppId, session: u32) {
        let links = self.apps.get_mut(&app).map(|app| &mut app.links);
        let of_session = |link: &&mut AppLink| {
            let owner = link.owner.as_ref();
            owner.is_some_and(|owner| owner.session == session)
        };
        let links = links.into_iter().flat_map(|links| links.values_mut());
        for link in links.filter(of_session) {
            link.owner = None;
            driver.abandon(link.id, "the session of its process has ended");
        }
    }

    /// Handle an event of a lasting link: send it to the session that owns the link, and record whether the link
    /// has lost its socket.
    pub fn on_link_event(&mut self, event: &NetEvent) {
        let (id, incarnation, news, cut) = match event {
            NetEvent::LinkReceived {
                link,
                incarnation,
                bytes,
            } => {
                let news = LinkNews::Taken { bytes: *bytes };
                (*link, *incarnation, Some(news), None)
            }
            NetEvent::LinkCut {
                link,
                incarnation,
                nth,
                ..
            } => {
                let news = LinkNews::Cut { nth: *nth };
                (*link, *incarnation, Some(news), Some(true))
            }
            NetEvent::LinkRestored {
                link, incarnation, ..
            }
            | NetEvent::LinkGone {
                link, incarnation, ..
            } => (*link, *incarnation, None, Some(false)),
            _ => return,
        };
        let Some(link) = self.incarnation(id, incarnation) else {
            return;
        };
        link.cut = cut.unwrap_or(link.cut);
        let Some((news, owner)) = news.zip(link.owner.clone()) else {
            return;
        };
        let (app, number) = self.links[&id];
        let mut sessions = self.apps[&app].sessions.iter();
        if let Some(mailbox) = sessions.find(|one| one.session == owner.session) {
            mailbox.news(number, owner.key, news);
        }
    }
}
