//! The driver: a stream manager with the memory, links and connections through which it moves real
//! data.

use crate::busy::Busy;
use crate::destination::Destination;
use crate::error::{Error, Result};
use crate::event::{Event, Figures};
use crate::link::{Ends, Link};
use crate::memory::Memory;
use crate::screen::{Screen, Screens};
use crate::stream_state::StreamState;
use crate::transport::{
    DATAGRAM_MAX, Expected, FileTransport, Framed, Journal, Transport, Writers, refused_by_plain,
};
use isthmus_stream::checksum::Checksum;
use isthmus_stream::{
    Adu, AppId, Config, ConnectionId, ConnectionSpec, Direction, Instant, Limits, LinkId, Manager,
    OrderId, Protocol, StreamId, StreamSpec,
};
use isthmus_wire::{Signal, Socket};
use std::collections::{BTreeMap, VecDeque};
use std::net::UdpSocket;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time;

/// Maximum size in bytes of the free memory blocks that the driver retains for reuse.
const FREE_MAX: u64 = 160 << 20;

/// Time for which a driver that is dropped waits for writers to remove unfinished files.
const FILES_END: time::Duration = time::Duration::from_secs(2);

/// Settings and state of one connection, from its opening to its end.
#[derive(Debug)]
pub(crate) struct ConnectionState {
    pub checksum: Checksum,
    /// Maximum size of a packet's data in bytes.
    pub packet_max: u64,
    /// Whether data can be sent straight from a ring, because it is not needed for retransmission.
    pub from_rings: bool,
    /// Size of each application data unit in bytes, if the connection accepts only one size.
    pub adu_bytes: Option<u64>,
    /// For a connection of plain bytes: the channel and the receive window in bytes. A window of 0
    /// means that the connection only sends.
    pub plain_window: Option<(u32, u64)>,
    /// Streams that receive plain bytes from the connection, in the order of their registration.
    pub expects: VecDeque<Expected>,
    /// The application that owns the connection.
    pub app: AppId,
    /// Whether the application has closed the connection.
    pub closed: bool,
    /// Whether the application has submitted a stream that sends over the connection.
    pub used: bool,
    /// Whether a stream failed, or the application left before it closed the connection. In either
    /// case a file is discarded.
    pub failed: bool,
}

/// A handle that wakes a sleeping driver from any thread.
#[derive(Clone, Debug)]
pub struct Waker(Arc<Signal>);

impl Waker {
    /// Wakes the driver if it sleeps. Otherwise its next sleep ends at once.
    pub fn wake(&self) {
        self.0.set();
    }
}

/// A stream manager that moves real data.
///
/// # Use
/// The calls of the control interface ([`open`](Self::open), [`submit`](Self::submit), ...) are
/// those of [`Manager`]. [`attach`](Self::attach) adds links. [`turn`](Self::turn) moves data, or
/// sleeps until it can. [`poll_event`](Self::poll_event) returns events. One thread makes all these
/// calls; [`Service`](crate::Service) runs such a thread.
///
/// # Memory
/// A transfer unit (TU) of one packet is copied once from its link to the manager's memory, summed
/// on the way, and sent from there. A TU of several packets is copied once more. Large packets from
/// large rings are sent straight from the ring.
#[derive(Debug)]
pub struct Driver {
    pub(crate) manager: Manager,
    pub(crate) memory: Memory,
    pub(crate) links: BTreeMap<LinkId, Link>,
    pub(crate) transports: BTreeMap<ConnectionId, Transport>,
    pub(crate) streams: BTreeMap<StreamId, StreamState>,
    pub(crate) connections: BTreeMap<ConnectionId, ConnectionState>,
    /// Links whose ranks have left, each with the time at which the driver copies the remaining
    /// data out of its ring.
    pub(crate) departed: VecDeque<(LinkId, time::Instant)>,
    /// For each fetch or delivery that the manager has ordered, the link on which it runs.
    pub(crate) order_links: BTreeMap<OrderId, LinkId>,
    /// Sockets that the application provided before it opened the connection that uses them.
    pub(crate) provided_sockets: BTreeMap<String, Socket>,
    pub(crate) provided_datagrams: BTreeMap<String, UdpSocket>,
    screens: Option<Box<dyn Screens>>,
    /// Screens of connections that are not open yet.
    pub(crate) pending_screens: BTreeMap<ConnectionId, Box<dyn Screen>>,
    /// Closed connections that still have data to send, with their deadlines.
    pub(crate) lingering: Vec<(Box<Framed>, time::Instant)>,
    pub(crate) ending_files: Vec<(ConnectionId, Box<FileTransport>)>,
    pub(crate) writers: Writers,
    /// Directories and sockets that the caller opened in advance, for connections that are not open
    /// yet.
    pub(crate) opened_paths: BTreeMap<ConnectionId, OwnedFd>,
    pub(crate) events: VecDeque<Event>,
    pub(crate) figures: Figures,
    pub(crate) waker: Waker,
    /// Number of link incarnations so far. An incarnation is a link from its first attachment to
    /// its end.
    pub(crate) incarnations: u64,
    origin: time::Instant,
    /// Time at the start of the current round, read once because reading the clock costs as much as
    /// a small copy.
    pub(crate) round_at: Instant,
    /// Time of the next full round, which tries all links and connections and not only the busy
    /// ones.
    pub(crate) full_round_at: Instant,
    pub(crate) busy_links: Busy<LinkId>,
    pub(crate) busy_transports: Busy<ConnectionId>,
}

impl Driver {
    /// Creates a driver without links and connections.
    ///
    /// # Errors
    /// The configuration is invalid, or the system has no file descriptors left.
    pub fn new(config: Config) -> Result<Self> {
        let most = config.staging_bytes.saturating_add(config.network_bytes);
        let wake = Signal::new();
        let wake = wake.map_err(|error| Error::system("what wakes a driver", error))?;
        Ok(Self {
            manager: Manager::new(config)?,
            memory: Memory::new(most.saturating_mul(2).min(FREE_MAX)),
            links: BTreeMap::new(),
            transports: BTreeMap::new(),
            streams: BTreeMap::new(),
            connections: BTreeMap::new(),
            departed: VecDeque::new(),
            order_links: BTreeMap::new(),
            provided_sockets: BTreeMap::new(),
            provided_datagrams: BTreeMap::new(),
            screens: None,
            pending_screens: BTreeMap::new(),
            lingering: Vec::new(),
            ending_files: Vec::new(),
            writers: Writers::default(),
            opened_paths: BTreeMap::new(),
            events: VecDeque::new(),
            figures: Figures::default(),
            waker: Waker(Arc::new(wake)),
            incarnations: 0,
            origin: time::Instant::now(),
            round_at: Instant::default(),
            full_round_at: Instant::default(),
            busy_links: Busy::default(),
            busy_transports: Busy::default(),
        })
    }

    /// Returns the default configuration: 16 MiB of staging memory and 64 MiB of network memory in
    /// each direction, 64 link engines (which move data between ranks and staging memory), and
    /// stall reports after 5 s without progress.
    #[must_use]
    pub fn config() -> Config {
        Config {
            staging_bytes: 16 << 20,
            engines: 64,
            network_bytes: 64 << 20,
            ..Config::default()
        }
    }

    /// Returns a handle that wakes the driver from another thread.
    #[must_use]
    pub fn waker(&self) -> Waker {
        self.waker.clone()
    }

    /// Returns the signal whose descriptor the driver polls while it sleeps.
    pub(crate) fn wake_signal(&self) -> Arc<Signal> {
        Arc::clone(&self.waker.0)
    }

    /// Returns the driver's stream manager, for its status and statistics.
    #[must_use]
    pub fn manager(&self) -> &Manager {
        &self.manager
    }

    /// Returns the driver's own counters and the settings of its sockets.
    #[must_use]
    pub fn figures(&self) -> Figures {
        let mut figures = self.figures.clone();
        figures.memory_bytes = self.memory.bytes();
        figures.blocks_made = self.memory.made;
        figures.spilled_bytes = self.memory.spilled;
        let sockets = self
            .transports
            .iter()
            .filter_map(|(id, one)| Some((*id, one.socket()?)));
        figures.congestion = sockets
            .filter_map(|(id, socket)| Some((id, socket.congestion()?)))
            .collect();
        let inputs = self.links.values().filter_map(|link| link.input.as_ref());
        figures.stray_frames += inputs.map(|input| input.stray).sum::<u64>();
        figures
    }

    /// Returns the current time on the manager's clock.
    #[must_use]
    pub fn now(&self) -> Instant {
        let ns = self.origin.elapsed().as_nanos();
        Instant(u64::try_from(ns).unwrap_or(u64::MAX))
    }

    /// Converts a time on the manager's clock to the system's clock.
    pub(crate) fn system_time(&self, at: Instant) -> time::Instant {
        let at = self.origin.checked_add(time::Duration::from_nanos(at.0));
        at.unwrap_or_else(|| self.origin + time::Duration::from_secs(1 << 30))
    }

    /// Returns the next event of the driver, if there is one.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Registers an application.
    pub fn add_application(&mut self, limits: Limits) -> AppId {
        self.manager.add_application(limits)
    }

    /// Removes an application: [`Manager::remove_application`].
    ///
    /// # Errors
    /// The application is unknown.
    pub fn remove_application(&mut self, app: AppId) -> Result<()> {
        for spec in self.connections.values_mut() {
            spec.failed |= spec.app == app && !spec.closed;
        }
        Ok(self.manager.remove_application(self.now(), app)?)
    }

    /// Opens a connection to a [`Destination`].
    ///
    /// # Errors
    /// The destination cannot be parsed, or the screen cannot be drawn on; otherwise as
    /// [`Manager::open`].
    pub fn open(&mut self, app: AppId, spec: ConnectionSpec) -> Result<ConnectionId> {
        let destination = Destination::parse(&spec.destination)?;
        let most = match &destination {
            Destination::Udp(..) | Destination::UdpProvided(_) => DATAGRAM_MAX,
            _ => u64::MAX,
        };
        let from_rings = match &destination {
            Destination::RawTcp(_) | Destination::RawUnix(_) | Destination::RawProvided(_) => {
                !matches!(spec.protocol, Protocol::Confirmed { .. })
            }
            Destination::Tcp(_) | Destination::TcpProvided(_) => true,
            _ => false,
        };
        let plain = matches!(
            &destination,
            Destination::Tcp(_) | Destination::TcpProvided(_)
        );
        let plain_window = plain.then_some((spec.channel, spec.window_bytes));
        let screen = match &destination {
            Destination::Framebuffer(name) => Some(self.draw(name, &spec)?),
            _ => None,
        };
        let adu_bytes = screen.as_ref().map(|screen| screen.adu_bytes());
        let checksum = spec.checksum;
        let id = self.manager.open(self.now(), app, spec)?;
        self.pending_screens
            .extend(screen.map(|screen| (id, screen)));
        self.connections.insert(
            id,
            ConnectionState {
                checksum,
                packet_max: most,
                from_rings,
                adu_bytes,
                plain_window,
                expects: VecDeque::new(),
                app,
                closed: false,
                used: false,
                failed: false,
            },
        );
        Ok(id)
    }

    /// Opens a connection to a file or a Unix socket that the caller has already opened, for paths
    /// that other users may change. `found` is the directory of the file, or the socket itself; a
    /// descriptor opened with `O_PATH` is enough. The path in `spec` appears in messages, and its
    /// last part names the file.
    ///
    /// # Errors
    /// The destination is neither `file:` nor `raw:unix:`; otherwise as [`Driver::open`].
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
        self.opened_paths.insert(id, found);
        Ok(id)
    }

    /// Closes a connection: [`Manager::close`].
    ///
    /// # Errors
    /// The connection is unknown.
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
    /// The format has striping units of 4 GiB or more; the application data units (ADUs) are not
    /// frames of the screen; the connection of plain bytes would receive ADUs of variable size, or
    /// packets larger than the window. Otherwise as [`Manager::submit_all`].
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
            let plain = connection.and_then(|one| one.plain_window);
            if let Some(what) = plain.and_then(|(_, window)| refused_by_plain(spec, window)) {
                return Err(isthmus_stream::Error::Format(what).into());
            }
            let most = connection.map_or(u64::MAX, |one| one.packet_max);
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
            if let Some(one) = connection.as_mut().filter(|one| one.plain_window.is_some()) {
                one.expects.extend(Expected::of(*id, spec));
            }
            if let Some(one) = connection.as_mut() {
                one.used |= spec.direction == Direction::Transmit;
            }
            let from_rings = connection.as_ref().is_some_and(|one| one.from_rings);
            let checksum = connection.map_or(Checksum::None, |one| one.checksum);
            let state = StreamState::new(spec, checksum, from_rings);
            self.streams.insert(*id, state);
        }
        Ok(ids)
    }

    /// Announces the next application data unit (ADU) of a stream with ADUs of variable size:
    /// [`Manager::announce`].
    ///
    /// # Errors
    /// As [`Manager::announce`].
    pub fn announce(&mut self, id: StreamId, bytes: u64) -> Result<()> {
        Ok(self.manager.announce(self.now(), id, bytes)?)
    }

    /// Sets the total number of application data units of a running stream, after which it
    /// finishes: [`Manager::finish`].
    ///
    /// # Errors
    /// As [`Manager::finish`].
    pub fn finish(&mut self, id: StreamId, adus: u64) -> Result<()> {
        self.manager.finish(self.now(), id, adus)?;
        if let Some(state) = self.streams.get_mut(&id) {
            state.adus = Some(adus);
        }
        Ok(())
    }

    /// Cancels a stream: [`Manager::cancel`].
    ///
    /// # Errors
    /// As [`Manager::cancel`].
    pub fn cancel(&mut self, id: StreamId) -> Result<()> {
        Ok(self.manager.cancel(self.now(), id)?)
    }

    /// Attaches the ends of a link that is new, was cut or has lost its rank. After a cut, ranks
    /// learn how much of each stream was received ([`Resume`](crate::frame::Kind)).
    ///
    /// # Errors
    /// [`Error::Attached`].
    pub fn attach(&mut self, id: LinkId, ends: Ends) -> Result<()> {
        let link = self.links.entry(id).or_default();
        let (reads, writes) = (ends.source.is_some(), ends.drain.is_some());
        if link.input.is_some() && reads || link.output.is_some() && writes {
            return Err(Error::Attached(id));
        }
        self.attach_ends(id, ends);
        Ok(())
    }

    /// Returns whether a link is attached (has an end for reading or writing). Then
    /// [`attach`](Self::attach) may refuse another end.
    #[must_use]
    pub fn is_attached(&self, id: LinkId) -> bool {
        let link = self.links.get(&id);
        link.is_some_and(|link| link.input.is_some() || link.output.is_some())
    }

    /// Removes a link: closes its ends and fails the streams that need it.
    pub fn detach(&mut self, id: LinkId) {
        if self.links.contains_key(&id) {
            self.rank_lost(id);
            self.links.remove(&id);
        }
    }

    /// Returns whether the driver has no connections, nothing to send or write, and no events to
    /// return.
    pub fn is_quiet(&mut self) -> bool {
        self.carry_out();
        self.transports.is_empty()
            && self.lingering.is_empty()
            && self.ending_files.is_empty()
            && self.events.is_empty()
    }

    /// Cuts a link: closes its ends and stops its streams until it is attached again. If that does
    /// not happen within `grace`, its ranks are lost. Without `grace` there is no time limit.
    pub fn cut(&mut self, id: LinkId, grace: Option<time::Duration>) {
        let now = self.now();
        self.end_input(id);
        let link = self.links.entry(id).or_default();
        link.output = None;
        link.fetches.clear();
        link.undelivered.clear();
        link.resumable = None;
        link.cut = true;
        link.cut_until = grace.and_then(|grace| time::Instant::now().checked_add(grace));
        self.order_links.retain(|_, on| *on != id);
        self.manager.handle_link_cut(now, id);
    }

    /// Sets the journal in which the driver records the files that are being written.
    pub fn keep_journal(&self, journal: Journal) {
        self.writers.keep_journal(journal);
    }

    /// Sets the screens on which connections to `framebuffer:NAME` draw.
    pub fn set_screens(&mut self, screens: Box<dyn Screens>) {
        self.screens = Some(screens);
    }

    /// Opens the screen (frame buffer) with this name, so that a connection can draw on it. Refuses
    /// a connection whose settings a screen does not support.
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

    /// Asks the threads that write files to end, and waits a limited time until they have removed
    /// unfinished files.
    fn end_files(&mut self) {
        self.transports.clear();
        self.ending_files.clear();
        // Ignore a timeout: on a disk that hangs, the unfinished file remains under its temporary
        // name.
        let _ = self.writers.wait(FILES_END);
    }

    /// Handles the loss of a connection: drops it and reports the loss to the manager.
    pub(crate) fn lost(&mut self, id: ConnectionId, why: &str) {
        self.transports.remove(&id);
        let now = self.now();
        self.manager.handle_disconnected(now, id, why);
    }
}

impl Drop for Driver {
    /// Ends the writing of files; unfinished files are removed.
    fn drop(&mut self) {
        self.end_files();
    }
}
