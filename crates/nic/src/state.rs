//! The state of the daemon: its applications, links, connections and waiting requests.

use crate::config::Config;
use crate::counters::Counters;
use crate::files::File;
use crate::mailbox::{Mailbox, encode};
use crate::refusal::refusal;
use isthmus_daemon::{Gate, Log, Roots, is_same};
use isthmus_framebuffer::Screens;
use isthmus_nic_protocol::{Event as Notice, Message, Refusal, RefusalKind};
use isthmus_stream::checksum::Checksum;
use isthmus_stream::{AppId, ConnectionId, LinkId, Manager, StreamId};
use isthmus_stream_net::Driver;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Maximum number of ended applications whose names are stored.
const GONE_APPS: usize = 256;

/// The state that all threads of a daemon share. A thread must hold the lock for moments only. It
/// must not wait for the driver's thread with the lock, as that thread locks it too.
#[derive(Debug)]
pub(crate) struct Hub {
    state: Mutex<State>,
    pub config: Config,
    pub gate: Arc<Gate>,
    pub screens: Option<Screens>,
    pub roots: Roots,
    pub started: Instant,
}

/// The part of the daemon's state that a lock protects.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub apps: BTreeMap<AppId, App>,
    /// For each link by its number in the driver: the application, and the link's number in the
    /// application.
    pub links: BTreeMap<LinkId, (AppId, u16)>,
    pub connections: BTreeMap<ConnectionId, ConnectionEntry>,
    pub waiters: BTreeMap<WaitTarget, Vec<Waiter>>,
    /// Number of ADUs (data units) with missing data, by stream.
    pub incomplete: BTreeMap<StreamId, u64>,
    /// Links that a session is about to attach, each with the total size of its rings in bytes.
    pub attaching: BTreeMap<LinkId, u64>,
    /// Connections that wait for their peer to connect.
    pub accepting: BTreeMap<ConnectionId, PendingAccept>,
    pub listening: BTreeMap<SocketAddr, u32>,
    pub next_accept: u64,
    /// Screens by name, and the application that set the geometry of each.
    pub screens: BTreeMap<String, AppId>,
    pub counters: Counters,
    pub ending: bool,
    /// Names of the most recently ended applications, for log entries that still mention them.
    gone: VecDeque<(AppId, String)>,
    next_link: u16,
}

/// A running application that uses the daemon, with its sessions and links.
#[derive(Debug)]
pub(crate) struct App {
    pub name: String,
    pub ticket: String,
    pub operator: bool,
    /// The links of the application, by the application's own numbers.
    pub links: BTreeMap<u16, AppLink>,
    pub sessions: Vec<Arc<Mailbox>>,
}

/// A link, which carries data between a process of an application and the daemon.
#[derive(Debug)]
pub(crate) struct AppLink {
    /// Number of the link in the driver; the application uses another one.
    pub id: LinkId,
    /// Number that distinguishes this link from earlier ones with the same number in the driver.
    pub incarnation: u64,
    pub carrier: &'static str,
    pub ring_bytes: u64,
    /// The socket of a link that uses rings of shared memory. The daemon keeps it open: when it
    /// closes, ranks know that the daemon has ended.
    pub socket: Option<OwnedFd>,
    /// The owner of a lasting link (one that outlasts its sockets): a session, with the secret to
    /// reconnect.
    pub owner: Option<Owner>,
    pub cut: bool,
}

impl AppLink {
    /// Reset the state that belongs to the current socket and rings of the link.
    pub fn wipe(&mut self) {
        self.ring_bytes = 0;
        self.socket = None;
        self.owner = None;
        self.cut = false;
    }
}

/// The owner of a lasting link (one that outlasts its sockets): a session, with the secret to
/// reconnect.
#[derive(Clone, Debug)]
pub(crate) struct Owner {
    /// The secret that the rank (application process) shows when it reconnects.
    pub key: String,
    /// Number of the session that owns the link.
    pub session: u32,
}

/// State of a connection that an application has opened through the daemon.
#[derive(Debug)]
pub(crate) struct ConnectionEntry {
    pub app: AppId,
    pub destination: String,
    /// Number of bytes moved by streams that have ended, by direction.
    pub moved: [u64; 2],
    /// Whether the connection can receive data; files and screens can only be written.
    pub receives: bool,
    /// The checksum of the data; none if the destination does not check it.
    pub checksum: Checksum,
    /// For a connection that waits for its peer: the name under which the daemon passes the peer's
    /// socket to the driver; otherwise `None`.
    pub given: Option<String>,
    /// The state of the file that the connection writes, if it writes one.
    pub file: Option<File>,
}

/// A connection that waits for its peer to connect.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct PendingAccept {
    pub address: SocketAddr,
    /// The channel number that the first packet must have; None for a peer that sends plain bytes.
    pub channel: Option<u32>,
    /// Whether the peer sends datagrams.
    pub datagrams: bool,
}

impl PendingAccept {
    /// Return whether one peer could match both waiting connections: they have the same address,
    /// and the same channel, or at least one has no channel.
    fn conflicts_with(&self, other: &Self) -> bool {
        let [one, two] = [self.channel, other.channel];
        let there = (self.address, self.datagrams) == (other.address, other.datagrams);
        there && (one.is_none() || two.is_none() || one == two)
    }
}

/// The event for which a request waits: progress of a stream, or a completed file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum WaitTarget {
    /// Progress of this stream, or its end.
    Stream(StreamId),
    /// The moment when the file of this connection, which is being closed, is complete.
    File(ConnectionId),
}

/// A request that the daemon answers when an event happens.
#[derive(Debug)]
pub(crate) struct Waiter {
    pub mailbox: Arc<Mailbox>,
    pub id: u64,
    /// Number of ADUs (application data units) of the stream to wait for; None to wait for the end
    /// of the stream.
    pub adus: Option<u64>,
    pub moved: bool,
}

impl Waiter {
    /// Return whether the stream has moved or finished enough data for the waiting request, or is
    /// over.
    pub fn is_satisfied(&self, status: &isthmus_stream::Status) -> bool {
        let has = if self.moved {
            status.moved
        } else {
            status.done
        };
        status.over || self.adus.is_some_and(|adus| has >= adus)
    }
}

impl Hub {
    /// Create the state of a daemon without applications.
    pub fn new(config: Config, roots: Roots, gate: Arc<Gate>, screens: Option<Screens>) -> Self {
        Self {
            state: Mutex::default(),
            config,
            gate,
            screens,
            roots,
            started: Instant::now(),
        }
    }

    /// Return the audit log of the daemon.
    pub fn log(&self) -> &Log {
        self.gate.log()
    }

    /// Return the state of the daemon, locked.
    pub fn state(&self) -> MutexGuard<'_, State> {
        // Ignore a panic of a thread that held the lock, because it left each map consistent.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Return the application that has this ticket. The comparison takes the same time for every
    /// ticket.
    pub fn by_ticket(&self, ticket: &str) -> Option<AppId> {
        let mut found = None;
        for (id, app) in &self.apps {
            if is_same(app.ticket.as_bytes(), ticket.as_bytes()) {
                found = Some(*id);
            }
        }
        found
    }

    /// Return whether an open connection already waits for the same peer.
    pub fn is_awaited(&self, manager: &Manager, pending: &PendingAccept) -> bool {
        self.accepting.iter().any(|(id, other)| {
            let status = manager.connection_status(*id);
            other.conflicts_with(pending) && status.is_ok_and(|status| status.gone.is_none())
        })
    }

    /// Remove the screens of ended applications. Returns whether there were any.
    pub fn forget_screens(&mut self, screens: &Screens) -> bool {
        let (apps, before) = (&self.apps, self.screens.len());
        self.screens
            .retain(|name, owner| apps.contains_key(owner) || !screens.forget(name));
        self.screens.len() < before
    }

    /// Return the name of an application, which may have ended; `-` if it is unknown.
    pub fn name(&self, id: AppId) -> &str {
        let gone = || {
            let mut gone = self.gone.iter().rev();
            gone.find(|(app, _)| *app == id).map(|(_, name)| name)
        };
        let known = self.apps.get(&id).map(|app| &app.name);
        known.or_else(gone).map_or("-", String::as_str)
    }

    /// Return the entry of the link that has this number in the driver.
    pub fn link_mut(&mut self, id: LinkId) -> Option<&mut AppLink> {
        let (app, number) = self.links.get(&id)?;
        self.apps.get_mut(app)?.links.get_mut(number)
    }

    /// Return the entry of the link `id` for an event about its incarnation `incarnation`. None if
    /// a newer incarnation already has this number.
    pub fn incarnation(&mut self, id: LinkId, incarnation: u64) -> Option<&mut AppLink> {
        self.link_mut(id)
            .filter(|link| link.incarnation == incarnation)
    }

    /// Return the driver's number of an application's link. A number that the application uses for
    /// the first time creates a link.
    ///
    /// # Errors
    /// The application already has the maximum number of links.
    pub fn link(&mut self, app: AppId, number: u16, limit: u32) -> Result<LinkId, Refusal> {
        let gone = || refusal(RefusalKind::Unknown, "the application has ended");
        let known = self.apps.get(&app).ok_or_else(gone)?;
        if let Some(link) = known.links.get(&number) {
            return Ok(link.id);
        }
        if known.links.len() >= limit as usize {
            let text = format!("an application may have {limit} links: use fewer");
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

    /// Make room for the links with the numbers `wanted`: if they would exceed the limit, remove
    /// the links that are neither attached nor named by any stream.
    pub fn make_room(&mut self, driver: &mut Driver, app: AppId, wanted: &[u16], limit: u32) {
        let Some(known) = self.apps.get_mut(&app) else {
            return;
        };
        let wanted: BTreeSet<_> = wanted.iter().collect();
        let new = wanted.iter().filter(|it| !known.links.contains_key(it));
        if new.count() + known.links.len() <= limit as usize {
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

    /// Return the numbers of an application's links, which the application has chosen.
    pub fn link_numbers(&self, app: AppId) -> BTreeSet<u16> {
        let links = self.apps.get(&app).map(|app| app.links.keys().copied());
        links.into_iter().flatten().collect()
    }

    /// Remove the entries of an application's links except those with the numbers `but`. The
    /// removed links must not exist in the driver.
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

    /// Send an event to the sessions of an application that receive events.
    pub fn notify(&self, app: AppId, event: Notice) {
        let Some(app) = self.apps.get(&app) else {
            return;
        };
        let mut watch = app
            .sessions
            .iter()
            .filter(|session| session.watch)
            .peekable();
        if watch.peek().is_none() {
            return;
        }
        let bytes = encode(&Message::Event { event });
        for mailbox in watch {
            mailbox.event(&bytes);
        }
    }

    /// Refuse the waiting requests of sessions whose application has ended.
    fn refuse_waiters_of(&mut self, sessions: &[Arc<Mailbox>]) {
        let text = "the application ended with the session that began it, and its streams with it";
        for waiters in self.waiters.values_mut() {
            waiters.retain(|waiter| {
                let same = |session: &Arc<Mailbox>| Arc::ptr_eq(session, &waiter.mailbox);
                if !sessions.iter().any(same) {
                    return true;
                }
                let refusal = refusal(RefusalKind::Ending, text);
                let id = Some(waiter.id);
                waiter.mailbox.end_wait(&Message::Refused { id, refusal });
                false
            });
        }
        self.waiters.retain(|_, waiters| !waiters.is_empty());
    }

    /// Remove the waiting requests of a session that has ended.
    pub fn forget_waiters(&mut self, mailbox: &Arc<Mailbox>) {
        self.waiters.retain(|_, waiters| {
            waiters.retain(|waiter| !Arc::ptr_eq(&waiter.mailbox, mailbox));
            !waiters.is_empty()
        });
    }

    /// Refuse all waiting requests, as the daemon ends.
    pub fn refuse_waiters(&mut self) {
        let text = "the daemon ends before what is waited for is so, and this session with it";
        for waiter in std::mem::take(&mut self.waiters).into_values().flatten() {
            let (id, refusal) = (Some(waiter.id), refusal(RefusalKind::Ending, text));
            waiter.mailbox.end_wait(&Message::Refused { id, refusal });
        }
    }

    /// Remove an application: cancel its streams, close its connections and links, end its
    /// sessions. Runs on the driver's thread.
    pub fn remove(&mut self, driver: &mut Driver, id: AppId) {
        let Some(app) = self.apps.remove(&id) else {
            return;
        };
        self.gone.push_back((id, app.name.clone()));
        if self.gone.len() > GONE_APPS {
            self.gone.pop_front();
        }
        // The driver knows every application in the map, so this cannot fail.
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
