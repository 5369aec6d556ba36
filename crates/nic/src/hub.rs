//! Who is there, and who is told what.

use crate::config::Config;
use crate::files::File;
use crate::mailbox::{Mailbox, line};
use crate::refusal::refusal;
use crate::tally::Tally;
use isthmus_daemon::{Gate, Log, Roots, is_same};
use isthmus_framebuffer::Screens;
use isthmus_nic_protocol::{Event as Said, Refusal, RefusalKind, Told};
use isthmus_stream::checksum::Checksum;
use isthmus_stream::{AppId, ConnectionId, LinkId, Manager, StreamId};
use isthmus_stream_net::Driver;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Applications that have ended of which the name is kept.
const GONE: usize = 256;

/// What all threads of a daemon share. Its lock is held for moments, and never while somebody waits
/// for the driver's thread, which takes it too.
#[derive(Debug)]
pub(crate) struct Hub {
    state: Mutex<State>,
    pub config: Config,
    pub gate: Arc<Gate>,
    pub screens: Option<Screens>,
    pub roots: Roots,
    pub began: Instant,
}

#[derive(Debug, Default)]
pub(crate) struct State {
    pub apps: BTreeMap<AppId, App>,
    /// Of the driver's links: whose they are, and which of theirs.
    pub links: BTreeMap<LinkId, (AppId, u16)>,
    pub connections: BTreeMap<ConnectionId, Line>,
    pub waiters: BTreeMap<Awaited, Vec<Waiter>>,
    /// ADUs of streams of which something is missing.
    pub incomplete: BTreeMap<StreamId, u64>,
    /// Links that a session is about to attach, and bytes of their rings.
    pub attaching: BTreeMap<LinkId, u64>,
    /// Connections that wait for their peer, and how many wait at each address.
    pub accepting: BTreeMap<ConnectionId, Waits>,
    pub listening: BTreeMap<SocketAddr, u32>,
    pub next_accept: u64,
    /// Screens by name, and who gave them their form.
    pub screens: BTreeMap<String, AppId>,
    pub tally: Tally,
    pub ending: bool,
    /// Names of the last applications that ended, for what is logged of them still.
    gone: VecDeque<(AppId, String)>,
    next_link: u16,
}

/// An application.
#[derive(Debug)]
pub(crate) struct App {
    pub name: String,
    pub ticket: String,
    pub operator: bool,
    /// By its own numbers.
    pub links: BTreeMap<u16, AppLink>,
    pub sessions: Vec<Arc<Mailbox>>,
}

/// A link of an application.
#[derive(Debug)]
pub(crate) struct AppLink {
    /// The driver's number.
    pub id: LinkId,
    /// Which of the driver's links with that number the rest is of, if it has ends.
    pub incarnation: u64,
    pub carrier: &'static str,
    pub ring_bytes: u64,
    /// What shows the ranks of rings that the daemon is there.
    pub socket: Option<OwnedFd>,
    /// Whose it is, if it lasts, and whether it waits for another socket.
    pub owner: Option<Owner>,
    pub cut: bool,
}

impl AppLink {
    /// Its ends are gone, or others come: nothing of them is left.
    pub fn wipe(&mut self) {
        self.ring_bytes = 0;
        self.socket = None;
        self.owner = None;
        self.cut = false;
    }
}

/// Whose a lasting link is.
#[derive(Clone, Debug)]
pub(crate) struct Owner {
    /// What its rank shows when it comes again.
    pub key: String,
    /// The session of its process.
    pub session: u32,
}

/// A connection.
#[derive(Debug)]
pub(crate) struct Line {
    pub app: AppId,
    pub destination: String,
    /// Bytes of streams that have ended, by direction.
    pub moved: [u64; 2],
    /// Whether it takes data in; plain bytes and files do not.
    pub receives: bool,
    /// Of what it carries, if anybody looks at that.
    pub checksum: Checksum,
    /// The name of the socket that it is given, if it waits for a peer.
    pub given: Option<String>,
    /// What becomes of its file, if it goes to one.
    pub file: Option<File>,
}

/// A connection that waits for its peer.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Waits {
    pub address: SocketAddr,
    /// That which its first packet shows; none, if it sends plain bytes.
    pub channel: Option<u32>,
    /// Whether packets come as datagrams.
    pub datagrams: bool,
}

impl Waits {
    /// Whether a peer that comes may be meant by both.
    fn meets(&self, other: &Self) -> bool {
        let [one, two] = [self.channel, other.channel];
        let there = (self.address, self.datagrams) == (other.address, other.datagrams);
        there && (one.is_none() || two.is_none() || one == two)
    }
}

/// What requests wait for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Awaited {
    /// A stream to be so far.
    Stream(StreamId),
    /// The file of a connection that is being closed to be kept.
    File(ConnectionId),
}

/// A request that is answered when something is so.
#[derive(Debug)]
pub(crate) struct Waiter {
    pub mailbox: Arc<Mailbox>,
    pub id: u64,
    /// ADUs of a stream; none: the end.
    pub adus: Option<u64>,
    pub moved: bool,
}

impl Waiter {
    pub fn is_content(&self, status: &isthmus_stream::Status) -> bool {
        let has = if self.moved {
            status.moved
        } else {
            status.done
        };
        status.over || self.adus.is_some_and(|adus| has >= adus)
    }
}

impl Hub {
    pub fn new(config: Config, roots: Roots, gate: Arc<Gate>, screens: Option<Screens>) -> Self {
        Self {
            state: Mutex::default(),
            config,
            gate,
            screens,
            roots,
            began: Instant::now(),
        }
    }

    pub fn log(&self) -> &Log {
        self.gate.log()
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        // A thread that panicked with it has left each of its maps whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The application of a ticket. Tickets are compared in full, whatever they begin with.
    pub fn by_ticket(&self, ticket: &str) -> Option<AppId> {
        let mut found = None;
        for (id, app) in &self.apps {
            if is_same(app.ticket.as_bytes(), ticket.as_bytes()) {
                found = Some(*id);
            }
        }
        found
    }

    /// Whether a connection that is there still waits for the same peer, or may take it.
    pub fn is_waited_for(&self, manager: &Manager, waits: &Waits) -> bool {
        self.accepting.iter().any(|(id, other)| {
            let status = manager.connection_status(*id);
            other.meets(waits) && status.is_ok_and(|status| status.gone.is_none())
        })
    }

    /// Takes screens away whose applications have ended; whether there were any.
    pub fn forget_screens(&mut self, screens: &Screens) -> bool {
        let (apps, before) = (&self.apps, self.screens.len());
        self.screens
            .retain(|name, owner| apps.contains_key(owner) || !screens.forget(name));
        self.screens.len() < before
    }

    /// What an application calls itself, or did.
    pub fn name(&self, id: AppId) -> &str {
        let gone = || {
            let mut gone = self.gone.iter().rev();
            gone.find(|(app, _)| *app == id).map(|(_, name)| name)
        };
        let known = self.apps.get(&id).map(|app| &app.name);
        known.or_else(gone).map_or("-", String::as_str)
    }

    pub fn link_mut(&mut self, id: LinkId) -> Option<&mut AppLink> {
        let (app, number) = self.links.get(&id)?;
        self.apps.get_mut(app)?.links.get_mut(number)
    }

    /// The link that an event is of, if it is there still: it may be heard when the next one has
    /// its number.
    pub fn incarnation(&mut self, id: LinkId, incarnation: u64) -> Option<&mut AppLink> {
        self.link_mut(id)
            .filter(|link| link.incarnation == incarnation)
    }

    /// The driver's number of an application's link; a new one, if it is new.
    ///
    /// # Errors
    /// More links than the application may have.
    pub fn link(&mut self, app: AppId, number: u16, most: u32) -> Result<LinkId, Refusal> {
        let gone = || refusal(RefusalKind::Unknown, "the application has ended");
        let known = self.apps.get(&app).ok_or_else(gone)?;
        if let Some(link) = known.links.get(&number) {
            return Ok(link.id);
        }
        if known.links.len() >= most as usize {
            let text = format!("an application may have {most} links: use fewer");
            return Err(refusal(RefusalKind::Limit, text));
        }
        let mut tries = 0..=u16::MAX;
        let id = loop {
            let id = LinkId(self.next_link);
            self.next_link = self.next_link.wrapping_add(1);
            if !self.links.contains_key(&id) {
                break id;
            }
            if tries.next().is_none() {
                let text = "the daemon has 65536 links: use fewer";
                return Err(refusal(RefusalKind::Limit, text));
            }
        };
        self.links.insert(id, (app, number));
        let link = AppLink {
            id,
            incarnation: 0,
            carrier: "none",
            ring_bytes: 0,
            socket: None,
            owner: None,
            cut: false,
        };
        let known = self.apps.get_mut(&app).ok_or_else(gone)?;
        known.links.insert(number, link);
        Ok(id)
    }

    /// Where these links would be more than an application may have, those that nobody has any
    /// more and no stream names give way.
    pub fn make_room(&mut self, driver: &mut Driver, app: AppId, wanted: &[u16], most: u32) {
        let Some(known) = self.apps.get_mut(&app) else {
            return;
        };
        let wanted: BTreeSet<_> = wanted.iter().collect();
        let new = wanted.iter().filter(|it| !known.links.contains_key(it));
        if new.count() + known.links.len() <= most as usize {
            return;
        }
        known.links.retain(|number, link| {
            let attaching = self.attaching.contains_key(&link.id);
            let stays = attaching || wanted.contains(number) || !driver.is_idle(link.id);
            if !stays {
                driver.detach(link.id);
                self.links.remove(&link.id);
            }
            stays
        });
    }

    /// The numbers that an application has given to links.
    pub fn link_numbers(&self, app: AppId) -> BTreeSet<u16> {
        let links = self.apps.get(&app).map(|app| app.links.keys().copied());
        links.into_iter().flatten().collect()
    }

    /// Forgets an application's links but those of these numbers; nothing knows them yet.
    pub fn forget_links(&mut self, app: AppId, but: &BTreeSet<u16>) {
        let Some(known) = self.apps.get_mut(&app) else {
            return;
        };
        known.links.retain(|number, link| {
            let stays = but.contains(number);
            if !stays {
                self.links.remove(&link.id);
            }
            stays
        });
    }

    /// Tells the sessions of an application that asked for it.
    pub fn tell(&self, app: AppId, event: Said) {
        let Some(app) = self.apps.get(&app) else {
            return;
        };
        let mut watch = app.sessions.iter().filter(|one| one.watch).peekable();
        if watch.peek().is_none() {
            return;
        }
        let bytes = line(&Told::Event { event });
        for mailbox in watch {
            mailbox.event(&bytes);
        }
    }

    /// Refuses what sessions wait for whose application has ended.
    fn refuse_waiters_of(&mut self, sessions: &[Arc<Mailbox>]) {
        let text = "the application ended with the session that began it, and its streams with it";
        for waiters in self.waiters.values_mut() {
            waiters.retain(|waiter| {
                let one = |session: &Arc<Mailbox>| Arc::ptr_eq(session, &waiter.mailbox);
                if !sessions.iter().any(one) {
                    return true;
                }
                let refusal = refusal(RefusalKind::Ending, text);
                let id = Some(waiter.id);
                waiter.mailbox.end_wait(&Told::Refused { id, refusal });
                false
            });
        }
        self.waiters.retain(|_, waiters| !waiters.is_empty());
    }

    /// Forgets the requests of a session that has ended.
    pub fn forget_waiters(&mut self, mailbox: &Arc<Mailbox>) {
        self.waiters.retain(|_, waiters| {
            waiters.retain(|waiter| !Arc::ptr_eq(&waiter.mailbox, mailbox));
            !waiters.is_empty()
        });
    }

    /// Refuses all that wait: the daemon ends.
    pub fn refuse_waiters(&mut self) {
        let text = "the daemon ends before what is waited for is so, and this session with it";
        for waiter in std::mem::take(&mut self.waiters).into_values().flatten() {
            let (id, refusal) = (Some(waiter.id), refusal(RefusalKind::Ending, text));
            waiter.mailbox.end_wait(&Told::Refused { id, refusal });
        }
    }

    /// An application is gone: its streams are cancelled, its connections closed, its links go, its
    /// sessions end. On the driver's thread.
    pub fn remove(&mut self, driver: &mut Driver, id: AppId) {
        let Some(app) = self.apps.remove(&id) else {
            return;
        };
        self.gone.push_back((id, app.name.clone()));
        if self.gone.len() > GONE {
            self.gone.pop_front();
        }
        // It is known to the driver as long as it is here.
        let _ = driver.remove_application(id);
        for link in app.links.values() {
            driver.detach(link.id);
            self.links.remove(&link.id);
        }
        self.refuse_waiters_of(&app.sessions);
        for mailbox in &app.sessions {
            mailbox.dismiss();
        }
        self.forget_connections(driver.manager());
    }
}
