//! The driver: a stream manager, its memory, links, and connections.

use crate::busy::Busy;
use crate::destination::Destination;
use crate::error::{Error, Result};
use crate::event::{Event, Figures};
use crate::known::Known;
use crate::link::{Ends, Link};
use crate::memory::Memory;
use crate::outside::{
    DATAGRAM_MOST, Expected, Filing, Framed, Journal, Outside, Writers, refused_by_plain,
};
use crate::screen::{Screen, Screens};
use isthmus_stream::checksum::Checksum;
use isthmus_stream::{
    Adu, AppId, Config, ConnectionId, ConnectionSpec, Direction, Instant, Limits, LinkId, Manager,
    OrderId, Protocol, StreamId, StreamSpec,
};
use isthmus_wire::Socket;
use rustix::event::{EventfdFlags, eventfd};
use std::collections::{BTreeMap, VecDeque};
use std::net::UdpSocket;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time;

/// Bytes of free blocks that are kept for reuse, at most.
const KEPT_MOST: u64 = 160 << 20;

/// How long files may take that are not kept when the driver ends.
const FILES_END: time::Duration = time::Duration::from_secs(2);

/// What the driver knows of a connection.
#[derive(Debug)]
pub(crate) struct Spec {
    pub checksum: Checksum,
    /// Bytes of a packet at most.
    pub packet_most: u64,
    /// Whether its data can be sent from where it lies, and is not needed again.
    pub from_rings: bool,
    /// Bytes of each ADU, if it takes no others.
    pub adu_bytes: Option<u64>,
    /// If it is one of plain bytes: the channel, and the window for what comes, in bytes; 0, if
    /// nothing is received.
    pub takes_plain: Option<(u32, u64)>,
    /// The streams that are to have them, in the order of registration.
    pub expects: VecDeque<Expected>,
    /// Whose it is.
    pub app: AppId,
    /// Whether it was closed.
    pub closed: bool,
    /// Whether a stream was to be sent over it.
    pub used: bool,
    /// Whether a stream of it did not end well, or its application went before it was closed: a
    /// file of it is not put in its place.
    pub spoiled: bool,
}

/// Wakes a driver that sleeps, from any thread.
#[derive(Clone, Debug)]
pub struct Waker(Arc<OwnedFd>);

impl Waker {
    /// Wakes it, now or when it next sleeps.
    pub fn wake(&self) {
        // It fails only where the count is full, and then the driver is woken anyway.
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }
}

/// A stream manager that runs for real.
///
/// # How it is used
/// The calls of the control interface ([`open`](Self::open), [`submit`](Self::submit), ...) are
/// those of [`Manager`]; links are given by [`attach`](Self::attach).
/// [`turn`](Self::turn) does what is to be done, or sleeps until there is something;
/// [`poll_event`](Self::poll_event) tells what happened. One thread does all that; a
/// [`Service`](crate::Service) is such a thread.
///
/// # Memory
/// Data of a TU that is one packet is copied from its link to the manager's memory, summed on the
/// way, and from there to its socket; nowhere else. A TU of several packets is copied once more.
/// Large packets that come by large rings are not copied at all, but sent from there.
#[derive(Debug)]
pub struct Driver {
    pub(crate) manager: Manager,
    pub(crate) memory: Memory,
    pub(crate) links: BTreeMap<LinkId, Link>,
    pub(crate) outsides: BTreeMap<ConnectionId, Outside>,
    pub(crate) streams: BTreeMap<StreamId, Known>,
    pub(crate) connections: BTreeMap<ConnectionId, Spec>,
    /// Links whose ranks have left, and when what lies in their rings still is copied.
    pub(crate) left: VecDeque<(LinkId, time::Instant)>,
    /// Which link an SU is under way on.
    pub(crate) places: BTreeMap<OrderId, LinkId>,
    /// What was given before a connection wanted them.
    pub(crate) given: BTreeMap<String, Socket>,
    pub(crate) given_datagrams: BTreeMap<String, UdpSocket>,
    screens: Option<Box<dyn Screens>>,
    /// Screens of connections that are not made yet.
    pub(crate) drawn: BTreeMap<ConnectionId, Box<dyn Screen>>,
    /// Connections that are over, with something to send still, until when.
    pub(crate) lingering: Vec<(Box<Framed>, time::Instant)>,
    pub(crate) ending_files: Vec<(ConnectionId, Box<Filing>)>,
    pub(crate) writers: Writers,
    /// What the paths of connections that are not made yet name.
    pub(crate) opened: BTreeMap<ConnectionId, OwnedFd>,
    pub(crate) events: VecDeque<Event>,
    pub(crate) figures: Figures,
    pub(crate) waker: Waker,
    /// Incarnations of links that there were.
    pub(crate) incarnations: u64,
    origin: time::Instant,
    /// The present as it was when the round began: asking for it costs as much as a small copy.
    pub(crate) round_at: Instant,
    /// When to look at everything next.
    pub(crate) look_at: Instant,
    pub(crate) busy_links: Busy<LinkId>,
    pub(crate) busy_outsides: Busy<ConnectionId>,
}

impl Driver {
    /// A driver with nothing to do.
    ///
    /// # Errors
    /// A configuration that cannot be; a system without descriptors.
    pub fn new(config: Config) -> Result<Self> {
        let most = config.staging_bytes.saturating_add(config.network_bytes);
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        let wake = eventfd(0, flags);
        let wake = wake.map_err(|error| Error::system("what wakes a driver", error))?;
        Ok(Self {
            manager: Manager::new(config)?,
            memory: Memory::new(most.saturating_mul(2).min(KEPT_MOST)),
            links: BTreeMap::new(),
            outsides: BTreeMap::new(),
            streams: BTreeMap::new(),
            connections: BTreeMap::new(),
            left: VecDeque::new(),
            places: BTreeMap::new(),
            given: BTreeMap::new(),
            given_datagrams: BTreeMap::new(),
            screens: None,
            drawn: BTreeMap::new(),
            lingering: Vec::new(),
            ending_files: Vec::new(),
            writers: Writers::default(),
            opened: BTreeMap::new(),
            events: VecDeque::new(),
            figures: Figures::default(),
            waker: Waker(Arc::new(wake)),
            incarnations: 0,
            origin: time::Instant::now(),
            round_at: Instant::default(),
            look_at: Instant::default(),
            busy_links: Busy::default(),
            busy_outsides: Busy::default(),
        })
    }

    /// Memory of today's size: 16 MiB of staging and 64 MiB of network memory in each direction, 64
    /// engines, stalls told after 5 s.
    #[must_use]
    pub fn config() -> Config {
        Config {
            staging_bytes: 16 << 20,
            engines: 64,
            network_bytes: 64 << 20,
            ..Config::default()
        }
    }

    /// What wakes it from another thread.
    #[must_use]
    pub fn waker(&self) -> Waker {
        self.waker.clone()
    }

    pub(crate) fn wake_fd(&self) -> Arc<OwnedFd> {
        Arc::clone(&self.waker.0)
    }

    /// The manager, to be asked for status, waits, statistics.
    #[must_use]
    pub fn manager(&self) -> &Manager {
        &self.manager
    }

    /// Counts of the driver's own, and what sockets are set to.
    #[must_use]
    pub fn figures(&self) -> Figures {
        let mut figures = self.figures.clone();
        figures.memory_bytes = self.memory.bytes();
        figures.blocks_made = self.memory.made;
        figures.spilled_bytes = self.memory.spilled;
        let sockets = self
            .outsides
            .iter()
            .filter_map(|(id, one)| Some((*id, one.socket()?)));
        figures.congestion = sockets
            .filter_map(|(id, socket)| Some((id, socket.congestion()?)))
            .collect();
        let inputs = self.links.values().filter_map(|link| link.input.as_ref());
        figures.stray_frames += inputs.map(|input| input.stray).sum::<u64>();
        figures
    }

    /// The present, as the manager counts it.
    #[must_use]
    pub fn now(&self) -> Instant {
        let ns = self.origin.elapsed().as_nanos();
        Instant(u64::try_from(ns).unwrap_or(u64::MAX))
    }

    pub(crate) fn moment(&self, at: Instant) -> time::Instant {
        let at = self.origin.checked_add(time::Duration::from_nanos(at.0));
        at.unwrap_or_else(|| self.origin + time::Duration::from_secs(1 << 30))
    }

    /// What happened, if anything did.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Lets an application in.
    pub fn add_application(&mut self, limits: Limits) -> AppId {
        self.manager.add_application(limits)
    }

    /// An application is gone: [`Manager::remove_application`].
    ///
    /// # Errors
    /// An application that is not known.
    pub fn remove_application(&mut self, app: AppId) -> Result<()> {
        for spec in self.connections.values_mut() {
            spec.spoiled |= spec.app == app && !spec.closed;
        }
        Ok(self.manager.remove_application(self.now(), app)?)
    }

    /// Opens a connection to a [`Destination`].
    ///
    /// # Errors
    /// Words that are none; a screen that cannot be drawn on; otherwise as [`Manager::open`].
    pub fn open(&mut self, app: AppId, spec: ConnectionSpec) -> Result<ConnectionId> {
        let destination = Destination::parse(&spec.destination)?;
        let most = match &destination {
            Destination::Udp(..) | Destination::UdpGiven(_) => DATAGRAM_MOST,
            _ => u64::MAX,
        };
        let from_rings = match &destination {
            Destination::RawTcp(_) | Destination::RawUnix(_) | Destination::RawGiven(_) => {
                !matches!(spec.protocol, Protocol::Confirmed { .. })
            }
            Destination::Tcp(_) | Destination::TcpGiven(_) => true,
            _ => false,
        };
        let plain = matches!(&destination, Destination::Tcp(_) | Destination::TcpGiven(_));
        let takes_plain = plain.then_some((spec.channel, spec.window_bytes));
        let screen = match &destination {
            Destination::Framebuffer(name) => Some(self.draw(name, &spec)?),
            _ => None,
        };
        let adu_bytes = screen.as_ref().map(|screen| screen.adu_bytes());
        let checksum = spec.checksum;
        let id = self.manager.open(self.now(), app, spec)?;
        self.drawn.extend(screen.map(|screen| (id, screen)));
        self.connections.insert(
            id,
            Spec {
                checksum,
                packet_most: most,
                from_rings,
                adu_bytes,
                takes_plain,
                expects: VecDeque::new(),
                app,
                closed: false,
                used: false,
                spoiled: false,
            },
        );
        Ok(id)
    }

    /// Opens a connection to a file or a Unix socket whose path others may change, and to nothing
    /// but what was found there: `found` is the directory of the file, or the socket itself, opened
    /// (`O_PATH` will do). The path is what is said of it, and its last part the file's name.
    ///
    /// # Errors
    /// Another destination than `file:` or `raw:unix:`; otherwise as [`Driver::open`].
    pub fn open_found(
        &mut self,
        app: AppId,
        spec: ConnectionSpec,
        found: OwnedFd,
    ) -> Result<ConnectionId> {
        let (Destination::File(_) | Destination::RawUnix(_)) =
            Destination::parse(&spec.destination)?
        else {
            let why = "what was found is for file: and raw:unix:".into();
            return Err(Error::Destination(spec.destination, why));
        };
        let id = self.open(app, spec)?;
        self.opened.insert(id, found);
        Ok(id)
    }

    /// Closes a connection: [`Manager::close`].
    ///
    /// # Errors
    /// A connection that is not known.
    pub fn close(&mut self, id: ConnectionId) -> Result<()> {
        self.manager.close(self.now(), id)?;
        if let Some(spec) = self.connections.get_mut(&id) {
            spec.closed = true;
        }
        Ok(())
    }

    /// Registers a stream.
    ///
    /// # Errors
    /// As [`Driver::submit_all`].
    pub fn submit(&mut self, app: AppId, spec: &StreamSpec) -> Result<StreamId> {
        let ids = self.submit_all(app, std::slice::from_ref(spec))?;
        ids.first().copied().ok_or(Error::Ended)
    }

    /// Registers streams, all or none: [`Manager::submit_all`].
    ///
    /// # Errors
    /// SUs of 4 GiB or more, which links do not carry; ADUs that are no frames of their screen, or
    /// of any size where plain bytes come, or packets larger than the window there; otherwise those
    /// of the manager.
    pub fn submit_all(&mut self, app: AppId, specs: &[StreamSpec]) -> Result<Vec<StreamId>> {
        for spec in specs {
            spec.format.check()?;
            let su = spec.format.su_bytes(spec.format.tu_bytes);
            if su > u64::from(u32::MAX) {
                let what = format!("SUs of {su} bytes: a link carries them below 4 GiB");
                return Err(isthmus_stream::Error::Format(what).into());
            }
            let (packet, sends) = (
                spec.format.packet_bytes,
                spec.direction == Direction::Transmit,
            );
            let connection = self.connections.get(&spec.connection);
            if let Some(whole) = connection.and_then(|one| one.adu_bytes)
                && spec.format.adu != Adu::Fixed(whole)
            {
                let found = match spec.format.adu {
                    Adu::Fixed(bytes) => format!("ADUs of {bytes} bytes"),
                    Adu::Variable => "ADUs of any size".into(),
                };
                let what =
                    format!("{found}: each is a frame or field of its screen, {whole} bytes");
                return Err(isthmus_stream::Error::Format(what).into());
            }
            let plain = connection.and_then(|one| one.takes_plain);
            if let Some(what) = plain.and_then(|(_, window)| refused_by_plain(spec, window)) {
                return Err(isthmus_stream::Error::Format(what).into());
            }
            let most = connection.map_or(u64::MAX, |one| one.packet_most);
            if sends && packet > most {
                let what = format!(
                    "packets of {packet} bytes: a datagram carries {most}; give packets of that at \
                     most (packet=), as 32 KiB"
                );
                return Err(isthmus_stream::Error::Format(what).into());
            }
        }
        let ids = self.manager.submit_all(self.now(), app, specs)?;
        for (id, spec) in ids.iter().zip(specs) {
            let mut connection = self.connections.get_mut(&spec.connection);
            if let Some(one) = connection.as_mut().filter(|one| one.takes_plain.is_some()) {
                one.expects.extend(Expected::of(*id, spec));
            }
            if let Some(one) = connection.as_mut() {
                one.used |= spec.direction == Direction::Transmit;
            }
            let from_rings = connection.as_ref().is_some_and(|one| one.from_rings);
            let checksum = connection.map_or(Checksum::None, |one| one.checksum);
            let known = Known::new(spec, checksum, from_rings);
            self.streams.insert(*id, known);
        }
        Ok(ids)
    }

    /// The next ADU of a stream of variable ADUs: [`Manager::announce`].
    ///
    /// # Errors
    /// Those of the manager.
    pub fn announce(&mut self, id: StreamId, bytes: u64) -> Result<()> {
        Ok(self.manager.announce(self.now(), id, bytes)?)
    }

    /// How many ADUs there are, told late: [`Manager::finish`].
    ///
    /// # Errors
    /// Those of the manager.
    pub fn finish(&mut self, id: StreamId, adus: u64) -> Result<()> {
        self.manager.finish(self.now(), id, adus)?;
        if let Some(known) = self.streams.get_mut(&id) {
            known.adus = Some(adus);
        }
        Ok(())
    }

    /// Cancels a stream: [`Manager::cancel`].
    ///
    /// # Errors
    /// Those of the manager.
    pub fn cancel(&mut self, id: StreamId) -> Result<()> {
        Ok(self.manager.cancel(self.now(), id)?)
    }

    /// Gives a link its ends: the first, or after it was cut or its rank was lost. Ranks are told
    /// what of each stream has been taken ([`Resume`](crate::frame::Kind)) if the link was cut.
    ///
    /// # Errors
    /// [`Error::Attached`].
    pub fn attach(&mut self, id: LinkId, ends: Ends) -> Result<()> {
        let link = self.links.entry(id).or_default();
        let (reads, writes) = (ends.source.is_some(), ends.drain.is_some());
        if link.input.is_some() && reads || link.output.is_some() && writes {
            return Err(Error::Attached(id));
        }
        self.give_ends(id, ends);
        Ok(())
    }

    /// Whether a link has an end: [`attach`](Self::attach) would refuse another.
    #[must_use]
    pub fn is_attached(&self, id: LinkId) -> bool {
        let link = self.links.get(&id);
        link.is_some_and(|link| link.input.is_some() || link.output.is_some())
    }

    /// Forgets a link: its ends are closed, and streams that need it fail.
    pub fn detach(&mut self, id: LinkId) {
        if self.links.contains_key(&id) {
            self.rank_lost(id);
            self.links.remove(&id);
        }
    }

    /// Whether no connection is there, nothing is sent or written any more, and nothing is to be
    /// told.
    pub fn is_quiet(&mut self) -> bool {
        self.carry_out();
        self.outsides.is_empty()
            && self.lingering.is_empty()
            && self.ending_files.is_empty()
            && self.events.is_empty()
    }

    /// Cuts a link: its ends are closed, its streams stop, and go on when it is attached again; if
    /// that is not within `grace`, its ranks are taken for gone. None: it may take any time.
    pub fn cut(&mut self, id: LinkId, grace: Option<time::Duration>) {
        let now = self.now();
        self.end_input(id);
        let link = self.links.entry(id).or_default();
        link.output = None;
        link.wants.clear();
        link.homeless.clear();
        link.lasting = None;
        link.cut = true;
        link.cut_until = grace.and_then(|grace| time::Instant::now().checked_add(grace));
        self.places.retain(|_, on| *on != id);
        self.manager.handle_link_cut(now, id);
    }

    /// Notes in a journal what files are being written from now on.
    pub fn keep_journal(&self, journal: Journal) {
        self.writers.keep_journal(journal);
    }

    /// Gives the driver screens, on which connections to `framebuffer:NAME` draw.
    pub fn give_screens(&mut self, screens: Box<dyn Screens>) {
        self.screens = Some(screens);
    }

    fn draw(&self, name: &str, spec: &ConnectionSpec) -> Result<Box<dyn Screen>> {
        let refuse = |why: String| Error::Destination(spec.destination.clone(), why);
        if !matches!(spec.protocol, Protocol::Unconfirmed { .. }) {
            let why = "a screen confirms nothing: the protocol is unconfirmed";
            return Err(refuse(why.into()));
        }
        let screens = self.screens.as_ref();
        let screens = screens.ok_or_else(|| refuse("there are no screens here".into()))?;
        screens.draw(name).map_err(refuse)
    }

    /// Ends what writes files, and gives it some time to take away what is not kept.
    fn end_files(&mut self) {
        self.outsides.clear();
        self.ending_files.clear();
        // A disk that hangs keeps what is there, under a name that says what it is.
        let _ = self.writers.wait(FILES_END);
    }

    /// Loses a connection.
    pub(crate) fn lost(&mut self, id: ConnectionId, why: &str) {
        self.outsides.remove(&id);
        let now = self.now();
        self.manager.handle_disconnected(now, id, why);
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.end_files();
    }
}
