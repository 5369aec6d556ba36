//! Links that outlast their sockets: whose they are, and how their ranks take them up again.

use crate::acts::Asker;
use crate::hub::{AppLink, Hub, Owner, State};
use crate::links::{HANDSHAKE, Sent, application, reserve};
use crate::mailbox::line;
use crate::refusal::refusal;
use crate::shared::Shared;
use crate::words;
use isthmus_daemon::is_same;
use isthmus_nic_protocol::{
    Answer, LINK_SILENCE_MS, Lasting, LinkNews, Refusal, RefusalKind, Told,
};
use isthmus_stream::{AppId, LinkId};
use isthmus_stream_net::unconfirmed::UNCONFIRMED_BYTES;
use isthmus_stream_net::{Driver, Error, Event as Heard};
use isthmus_wire::Transport;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Characters of a key.
const KEY: std::ops::RangeInclusive<usize> = 16..=64;

/// A link that waits for the socket over which it was asked for.
struct Renewed {
    id: LinkId,
    incarnation: u64,
    /// Bytes that came over it before.
    received: u64,
    grace: Duration,
}

/// Makes a lasting link of the socket, or gives it to the one that there is.
pub(crate) fn link(
    shared: &Shared,
    mut wire: Transport,
    id: u64,
    ticket: &str,
    (number, lasting): (u16, &Lasting),
) -> Result<(), Sent> {
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
    // After the answer there are frames only. A rank that does not take it comes again.
    let answered = line(&Told::Answer { id, answer });
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
        // Given up meanwhile, its number may be another link's, which waits for its own socket.
        if driver.incarnation(link) != incarnation || !driver.restore(link, nth, socket) {
            return None;
        }
        let (app, _) = *state.links.get(&link)?;
        state.link_mut(link)?.carrier = name;
        Some(format!("{} #{app} {peer}", state.name(app)))
    };
    // A driver that has ended takes nothing, and the rank sees its link closed.
    if let Ok(Some(who)) = shared.client.call(give) {
        let what = format!("link {number} over {name}, socket {nth}");
        shared.hub.log().record(&who, &what, "ok");
    }
    Ok(())
}

fn renew(
    shared: &Shared,
    ticket: &str,
    number: u16,
    lasting: &Lasting,
) -> Result<Renewed, Refusal> {
    let app = application(shared, ticket)?;
    let most = shared.hub.config.link_grace;
    if most.is_zero() {
        let text = "this daemon lets no link outlast its socket: leave `lasting` out";
        return Err(refusal(RefusalKind::Conflict, text));
    }
    let characters = lasting.key.chars().count();
    if !KEY.contains(&characters) {
        let (least, most) = (KEY.start(), KEY.end());
        let text = format!("a key of {characters} characters: {least} to {most}");
        return Err(refusal(RefusalKind::Garbled, text));
    }
    let grace = lasting
        .grace_ns
        .map_or(most, Duration::from_nanos)
        .min(most);
    let (hub, lasting) = (Arc::clone(&shared.hub), lasting.clone());
    let called = shared.client.call(move |driver| {
        let mut state = hub.state();
        let asked = (app, number, lasting.received);
        let id = match state.owned(asked, &lasting)? {
            Some(id) => id,
            None => begin(&hub, &mut state, driver, (app, number), (&lasting, grace))?,
        };
        let renewed = driver.renew(id, lasting.nth, lasting.received.unwrap_or(0));
        let received = renewed.map_err(|error| match error {
            // By the application's own number.
            Error::Lasting(_, why) => {
                refusal(RefusalKind::Conflict, format!("link {number}: {why}"))
            }
            other => words::refused(&other),
        })?;
        Ok(Renewed {
            id,
            incarnation: driver.incarnation(id),
            received,
            grace,
        })
    });
    called.map_err(|error| words::refused(&error))?
}

/// A new link.
fn begin(
    hub: &Hub,
    state: &mut State,
    driver: &mut Driver,
    (app, number): (AppId, u16),
    (lasting, grace): (&Lasting, Duration),
) -> Result<LinkId, Refusal> {
    let asked = UNCONFIRMED_BYTES as u64;
    let id = reserve(hub, state, driver, (app, number), asked)?;
    let attached = driver.attach_lasting(id, grace);
    attached.map_err(|error| words::refused(&error))?;
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
    /// The lasting link that is asked for; none, if it is to be made.
    fn owned(
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
                        "link {number} is not there to be made anew: its time of grace is over, \
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

    /// A link of the session that asks.
    fn own_link(&self, asker: &Asker, number: u16, key: &str) -> Option<LinkId> {
        let link = self.apps.get(&asker.app)?.links.get(&number)?;
        let owner = link.owner.as_ref()?;
        let own =
            owner.session == asker.mailbox.session && is_same(owner.key.as_bytes(), key.as_bytes());
        own.then_some(link.id)
    }

    /// A rank has received so many bytes of its link.
    pub fn taken(
        &mut self,
        driver: &mut Driver,
        asker: &Asker,
        (number, key): (u16, &str),
        bytes: u64,
    ) {
        if let Some(id) = self.own_link(asker, number, key) {
            // That so many were not written is the end of the link, which is told.
            let confirmed = driver.confirm(id, bytes);
            if let Some(link) = self.link_mut(id).filter(|_| confirmed.is_err()) {
                link.owner = None;
            }
        }
    }

    /// A rank gives its link up.
    pub fn unlink(&mut self, driver: &mut Driver, asker: &Asker, number: u16, key: &str) {
        if let Some(id) = self.own_link(asker, number, key) {
            driver.forsake(id, "its rank gave it up");
            if let Some(link) = self.link_mut(id) {
                link.owner = None;
            }
        }
    }

    /// A session has ended: its links are gone with their sockets.
    pub fn forsake_links(&mut self, driver: &mut Driver, app: AppId, session: u32) {
        let links = self.apps.get_mut(&app).map(|app| &mut app.links);
        let of_session = |link: &&mut AppLink| {
            let owner = link.owner.as_ref();
            owner.is_some_and(|owner| owner.session == session)
        };
        let links = links.into_iter().flat_map(|links| links.values_mut());
        for link in links.filter(of_session) {
            link.owner = None;
            driver.forsake(link.id, "the session of its process has ended");
        }
    }

    /// Tells the process of a lasting link what it is to know, and notes whether it is cut.
    pub fn hear_of_link(&mut self, event: &Heard) {
        let (id, incarnation, news, cut) = match event {
            Heard::LinkTaken {
                link,
                incarnation,
                bytes,
            } => {
                let news = LinkNews::Taken { bytes: *bytes };
                (*link, *incarnation, Some(news), None)
            }
            Heard::LinkCut {
                link,
                incarnation,
                nth,
                ..
            } => {
                let news = LinkNews::Cut { nth: *nth };
                (*link, *incarnation, Some(news), Some(true))
            }
            Heard::LinkRestored {
                link, incarnation, ..
            }
            | Heard::LinkGone {
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
