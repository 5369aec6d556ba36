//! The stream control unit (paper, 5.3.2 and Figure 9): receives calls of applications and drivers,
//! and runs the other modules.

mod completions;
mod connections;
mod ending;
mod links;
mod status;
pub(crate) mod stream;
mod submit;

pub use status::{ConnectionStatus, Status};

use crate::config::{Config, Limits};
use crate::error::{Error, Result};
use crate::format::Su;
use crate::ids::{AppId, BufferId, ConnectionId, Direction, Instant, LinkId, OrderId};
use crate::ids::{PacketId, StreamId};
use crate::network_memory::NetworkMemory;
use crate::order::{Event, Order, Work};
use crate::protocol::Connection;
use crate::resolver::View;
use crate::scheduler::Scheduler;
use crate::statistics::Statistics;
use crate::wire::{Header, Kind};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use stream::{Group, Stream};

/// The manager's record of an application: its limits and the resources that it uses.
#[derive(Debug)]
pub(crate) struct App {
    pub limits: Limits,
    connections: u32,
    streams: u32,
    /// Sum of the receive windows of the application's connections, in bytes.
    windows: u64,
}

/// The purpose of an order that the driver has not completed yet. For work on a buffer it contains
/// the stream and the index of the buffer.
#[derive(Clone, Debug)]
pub(crate) enum Task {
    Fetch(StreamId, usize, Su),
    Store(StreamId, usize, PacketId),
    Send(ConnectionId, PacketId),
    Load(StreamId, usize, PacketId),
    Deliver(StreamId, usize, Su),
}

/// A stream or connection that has ended, but whose status can still be queried.
#[derive(Clone, Copy, Debug)]
enum Gone {
    Stream(StreamId),
    Connection(ConnectionId),
}

/// The stream manager of a network interface, as a state machine without data, sockets, clocks or
/// threads.
///
/// # Use
/// Its owner, the driver, reports what happens and carries out its orders:
///
/// 1. *In*: the calls of the control interface (`open`, `submit`, `cancel`, ...), `offer` and the
///    `handle_*` calls report events of applications, links, the network and time. Each takes the
///    current time; an earlier time than before counts as no change.
/// 2. *Out*: after any number of these calls, the driver must poll until there is nothing left, in
///    any order: [`poll_order`](Self::poll_order) returns work, [`poll_event`](Self::poll_event)
///    returns events, and [`poll_timeout`](Self::poll_timeout) returns the deadline for calling
///    [`handle_timeout`](Self::handle_timeout). A later call may change that deadline.
///
/// # Orders
/// [`Work`] says which orders are *reported*. Each of these ends with exactly one
/// [`handle_completed`](Self::handle_completed) or, after `Withdraw`, possibly
/// [`handle_withdrawn`](Self::handle_withdrawn), at any time and in any order. Reports of other
/// orders are counted and have no effect. Two events end orders without a report, and the driver
/// must forget these orders before it makes the call: [`handle_link_cut`](Self::handle_link_cut)
/// ends those of the link. [`handle_disconnected`](Self::handle_disconnected), or polling the order
/// to `Disconnect`, ends all `Send` orders and copies of arriving packets of the connection. The
/// driver must begin orders of the same link, and `Send` orders of the same connection, in the
/// order of polling.
///
/// # Memory
/// The driver has a buffer for each [`BufferId`], large enough for a transfer unit (TU) of its
/// stream and for headers, and a slot for each [`PacketId`]. A stream owns its buffers while it is
/// active. `Store` or [`offer`](Self::offer) allocates a slot, and `Free` frees it. Neither memory
/// ever exceeds its [`Config`], by the manager's count.
///
/// # Guarantees
/// The same calls give the same orders and events. No call panics, whatever its arguments. Every
/// submitted stream ends with one [`Event::Ended`] unless it waits; then [`Event::Stalled`] and
/// [`waits`](Self::waits) give the reason.
#[derive(Debug)]
pub struct Manager {
    pub(crate) config: Config,
    pub(crate) now: Instant,
    pub(crate) apps: BTreeMap<AppId, App>,
    next_app: u32,
    pub(crate) connections: BTreeMap<ConnectionId, Connection>,
    next_connection: u32,
    /// Sum of the receive windows of all connections, in bytes.
    windows: u64,
    pub(crate) streams: BTreeMap<StreamId, Stream>,
    next_stream: u32,
    pub(crate) groups: BTreeMap<Group, BTreeSet<StreamId>>,
    next_group: u32,
    pub(crate) schedulers: [Scheduler; 2],
    pub(crate) memory: NetworkMemory,
    /// Links that have lost their socket, each with the work that waits for a new one: stream,
    /// index of the buffer, work.
    cut: BTreeMap<LinkId, Vec<(StreamId, usize, Work)>>,
    pub(crate) free_buffers: BTreeSet<u32>,
    next_buffer: u32,
    next_order: u64,
    outstanding: BTreeMap<OrderId, Task>,
    orders: VecDeque<Order>,
    events: VecDeque<Event>,
    /// Connections on which an acknowledgement must be sent.
    pub(crate) acknowledge_due: BTreeSet<ConnectionId>,
    /// Streams with a full buffer that wait for network memory, those that have waited longest
    /// first.
    pub(crate) store_queue: VecDeque<StreamId>,
    pub(crate) room_made: bool,
    pub(crate) dirty_streams: BTreeSet<StreamId>,
    pub(crate) dirty_connections: BTreeSet<ConnectionId>,
    pub(crate) resolve: bool,
    pub(crate) reschedule: [bool; 2],
    /// Failed streams whose dependent streams the manager must still fail.
    failed: VecDeque<StreamId>,
    stalls: BTreeSet<(Instant, StreamId)>,
    gone: VecDeque<Gone>,
    pub(crate) statistics: Statistics,
}

impl Manager {
    /// Creates a stream manager without applications.
    ///
    /// # Errors
    /// A size in the configuration is 0.
    pub fn new(config: Config) -> Result<Self> {
        config.check()?;
        let scheduler = || Scheduler::new(config.staging_bytes, config.engines);
        Ok(Self {
            now: Instant::default(),
            apps: BTreeMap::new(),
            next_app: 0,
            connections: BTreeMap::new(),
            next_connection: 0,
            windows: 0,
            streams: BTreeMap::new(),
            next_stream: 0,
            groups: BTreeMap::new(),
            next_group: 0,
            schedulers: [scheduler(), scheduler()],
            memory: NetworkMemory::new(config.network_bytes),
            cut: BTreeMap::new(),
            free_buffers: BTreeSet::new(),
            next_buffer: 0,
            next_order: 0,
            outstanding: BTreeMap::new(),
            orders: VecDeque::new(),
            events: VecDeque::new(),
            acknowledge_due: BTreeSet::new(),
            store_queue: VecDeque::new(),
            room_made: false,
            dirty_streams: BTreeSet::new(),
            dirty_connections: BTreeSet::new(),
            resolve: false,
            reschedule: [false; 2],
            failed: VecDeque::new(),
            stalls: BTreeSet::new(),
            gone: VecDeque::new(),
            statistics: Statistics::default(),
            config,
        })
    }

    /// Registers a new application with these limits on its resources, and returns its number.
    pub fn add_application(&mut self, limits: Limits) -> AppId {
        let app = AppId(self.next_app);
        self.next_app += 1;
        let state = App {
            limits,
            connections: 0,
            streams: 0,
            windows: 0,
        };
        self.apps.insert(app, state);
        app
    }

    /// Removes an application: cancels its streams and closes its connections.
    ///
    /// # Errors
    /// The application is unknown.
    pub fn remove_application(&mut self, now: Instant, app: AppId) -> Result<()> {
        if !self.apps.contains_key(&app) {
            return Err(Error::NoApplication(app));
        }
        self.advance(now);
        let streams = self.streams.iter().filter(|(_, stream)| stream.app == app);
        for stream in streams.map(|(id, _)| *id).collect::<Vec<_>>() {
            self.end_stream(stream, crate::order::End::Cancelled);
        }
        let connections = self
            .connections
            .iter_mut()
            .filter(|(_, one)| one.app == app);
        for (id, connection) in connections {
            connection.closing = true;
            self.dirty_connections.insert(*id);
        }
        self.apps.remove(&app);
        self.settle();
        Ok(())
    }

    /// Returns the number of applications that were removed but still have connections, which are
    /// being closed.
    #[must_use]
    pub fn leaving(&self) -> usize {
        let all = self.connections.values();
        let left = all.filter(|one| !one.window_returned && !self.apps.contains_key(&one.app));
        left.map(|one| one.app).collect::<BTreeSet<_>>().len()
    }

    /// Returns the next order to the driver, if there is one.
    pub fn poll_order(&mut self) -> Option<Order> {
        if let Some(order) = self.orders.pop_front() {
            if let Work::Free { packet } = order.work {
                self.memory.vacate(packet);
            }
            return Some(order);
        }
        // Send acknowledgements after all other orders, so that one acknowledges all packets that
        // arrived before this call.
        while let Some(id) = self.acknowledge_due.pop_first() {
            let Some(connection) = self.connections.get(&id) else {
                continue;
            };
            if !connection.open || connection.gone.is_some() {
                continue;
            }
            let header = Header::new(Kind::Acknowledge, connection.spec.channel);
            let header = connection.fill_in(header);
            self.statistics.controls += 1;
            let connection = id;
            return Some(self.order(Work::Control { connection, header }));
        }
        None
    }

    /// Returns the next event that the driver must report to the application; None if there is
    /// none.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Returns the deadline for calling `handle_timeout`. None if no deadline is set.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        let stall = self.stalls.first().map(|(at, _)| *at);
        let connections = self.connections.values();
        let deadlines = connections.flat_map(|connection| {
            let given_up = connection.given_up_at.map(|(at, _)| at);
            connection.transmit.deadline.into_iter().chain(given_up)
        });
        deadlines.chain(stall).min()
    }

    /// Handles all timeouts that have passed at `now`: those of the transmit half, of stalled
    /// streams and of stalled closed connections.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.advance(now);
        let late: Vec<_> = {
            let all = self.connections.iter();
            let late =
                all.filter(|(_, one)| one.transmit.deadline.is_some_and(|at| at <= self.now));
            late.map(|(id, _)| *id).collect()
        };
        for connection in late {
            self.transmit_timeout(connection);
        }
        self.give_up_closing();
        self.settle();
        self.report_stalls();
    }

    /// Sets the manager's clock to `now`, unless `now` is before its present time.
    pub(crate) fn advance(&mut self, now: Instant) {
        self.now = self.now.max(now);
    }

    /// Queues an event that the driver reports to the application.
    pub(crate) fn push_event(&mut self, event: Event) {
        self.events.push_back(event);
    }

    /// Returns a new order to the driver: the work that it must do, with the next order number.
    fn order(&mut self, work: Work) -> Order {
        let id = OrderId(self.next_order);
        self.next_order += 1;
        Order { id, work }
    }

    /// Issues an order to the driver without waiting for its completion, which the driver does not
    /// report.
    pub(crate) fn direct(&mut self, work: Work) {
        let order = self.order(work);
        self.orders.push_back(order);
    }

    /// Issues an order to the driver, and remembers its purpose until the driver reports
    /// completion. If the order moves a striping unit (SU) over a cut link, it is kept back until
    /// the link has a new socket.
    pub(crate) fn issue_task(&mut self, task: Task, work: Work) {
        if let Task::Fetch(stream, slot, su) | Task::Deliver(stream, slot, su) = task
            && let Some(waiting) = self.cut.get_mut(&su.link)
        {
            waiting.push((stream, slot, work));
            return;
        }
        let order = self.order(work);
        self.outstanding.insert(order.id, task);
        self.orders.push_back(order);
    }

    /// Returns the limits of an application. An application that was removed has no limits, because
    /// it can only end its streams.
    pub(crate) fn limits(&self, app: AppId) -> &Limits {
        self.apps.get(&app).map_or(&Limits::NONE, |app| &app.limits)
    }

    /// Returns how many bytes of transmit network memory a connection may still allocate, within
    /// its own share and that of its application.
    pub(crate) fn share_left(&self, id: ConnectionId) -> u64 {
        let Some(connection) = self.connections.get(&id) else {
            return 0;
        };
        let (direction, app) = (Direction::Transmit, connection.app);
        let own = connection.spec.share_bytes;
        let all = self.limits(app).network_bytes;
        let own = own.saturating_sub(self.memory.used_by_connection(direction, id));
        own.min(all.saturating_sub(self.memory.of_app(direction, app)))
    }

    /// Returns the view of streams and connections that the dependence resolver reads.
    pub(crate) fn view(&self) -> View<'_> {
        View {
            streams: &self.streams,
            connections: &self.connections,
            groups: &self.groups,
            memory: &self.memory,
        }
    }

    /// Lets the modules of the manager (resolver, scheduler and others) work until none of them has
    /// anything left to do.
    pub(crate) fn settle(&mut self) {
        loop {
            if let Some(stream) = self.failed.pop_front() {
                self.fail_dependants(stream);
            } else if let Some(connection) = self.dirty_connections.pop_first() {
                self.settle_connection(connection);
            } else if std::mem::take(&mut self.resolve) {
                self.resolve_streams();
            } else if std::mem::take(&mut self.room_made) {
                self.store_waiting();
            } else if let Some(stream) = self.dirty_streams.pop_first() {
                self.step(stream);
            } else if std::mem::take(&mut self.reschedule[0]) {
                self.schedule(Direction::Transmit);
            } else if std::mem::take(&mut self.reschedule[1]) {
                self.schedule(Direction::Receive);
            } else {
                return;
            }
        }
    }

    /// Returns a buffer of staging memory: the free one with the lowest number, or a new one.
    pub(crate) fn take_buffer(&mut self) -> BufferId {
        let free = self.free_buffers.pop_first();
        BufferId(free.unwrap_or_else(|| {
            self.next_buffer += 1;
            self.next_buffer - 1
        }))
    }
}
