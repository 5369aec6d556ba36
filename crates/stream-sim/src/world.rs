//! The interface and the cells, as the handler of the flow engine. Orders of the stream manager
//! become transfers and timers of the engine, and the ends of these are reported to the manager.

use crate::check::{check_machine, check_work};
use crate::duration::duration_ns;
use crate::error::Error;
use crate::rows::Row;
use crate::servers::Server;
use crate::shuffle::{Message, messages};
use crate::spec::{From, Machine, Protocol, Reshuffle, To, Work};
use crate::torus::{Torus, rate};
use isthmus_flow::{Delivered, Engine, Handler, Rate, Transfer};
use isthmus_kernel::Cycles;
use isthmus_stream as stream;
use std::collections::{BTreeMap, VecDeque};
use stream::{ConnectionSpec, Instant, LinkId, Manager, OrderId, StreamSpec, Tu};

/// Purpose of a transfer of the flow engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tag {
    /// Transfer of a message from the cell at (row, column) to another cell of the row.
    Shuffle(u32, u32),
    /// Transfer of a part of the striping unit with this number.
    Su(u32),
}

/// Event for which a timer of the flow engine was set.
#[derive(Debug, Clone, Copy)]
enum Due {
    /// The processor has set up the transfer of the striping unit with this number.
    SetUp(u32),
    /// The processor has handed over a packet of this order with this number of bytes.
    Handed(OrderId, u64),
    /// This order of the stream manager is done.
    Done(OrderId),
    /// The application has produced another application data unit.
    Made,
}

/// A striping unit (SU) whose transfer to the interface the stream manager has ordered.
#[derive(Debug, Clone)]
struct Su {
    order: OrderId,
    link: u32,
    row: u32,
    /// Number of the transfer unit (TU) of the striping unit among those of the row, through all
    /// application data units.
    tu: u64,
    /// Columns of the cells that have a part of the striping unit, and the number of bytes of each
    /// part.
    parts: Vec<(u32, u64)>,
    /// Number of parts of the striping unit that have not arrived at the interface.
    left: usize,
}

/// State of a link to the interface, which moves one striping unit (SU) at a time.
#[derive(Debug, Clone, Default)]
struct Link {
    moving: bool,
    /// Striping units that wait for the link.
    queue: VecDeque<u32>,
}

/// A transfer unit (TU) whose striping units (SUs) are being transferred: its row, and the number
/// of its SUs that have not arrived.
#[derive(Debug, Clone, Copy)]
struct Fetching {
    row: u32,
    left: u64,
}

/// The servers of the interface, with their busy times.
#[derive(Debug, Clone, Default)]
pub(crate) struct Servers {
    pub processor: Server,
    /// The engine that moves data from staging memory to network memory.
    pub store: Server,
    pub microcode: Server,
    /// Server that stands for the external network; it sends one packet at a time.
    pub line: Server,
    /// Time that the processor has spent on packets, and number of these packets.
    pub packets: (Cycles, u64),
}

/// State of the whole simulation except the flow engine.
#[derive(Debug)]
pub(crate) struct World {
    machine: Machine,
    work: Work,
    torus: Torus,
    manager: Manager,
    /// For each column, the messages that its cell sends for one transfer unit.
    messages: Vec<Vec<Message>>,
    pub rows: Vec<Row>,
    links: Vec<Link>,
    /// Striping units on their way to the interface, by number.
    sus: BTreeMap<u32, Su>,
    next_su: u32,
    /// Transfer units (TUs) on their way to the interface, by the number of the application data
    /// unit and the index of the TU in it.
    fetching: BTreeMap<(u64, u64), Fetching>,
    pub servers: Servers,
    /// Events for which timers are set, by the number of the timer.
    due: BTreeMap<u32, Due>,
    next_due: u32,
    /// Reserved rate for the data that one cell sends to the interface; `None` without reservation.
    reserved: Option<Rate>,
    /// Number of application data units that the application has produced.
    produced: u64,
    /// Number of application data units that have reached their destination, and time at which the
    /// last of them did.
    pub adus: u64,
    pub done_at: Cycles,
    /// Number of completed application data units after which the run stops.
    pub limit: u64,
    /// Reason for which the run has failed, if it has.
    pub failed: Option<String>,
    /// Events of the stream manager so far; `None` if they are not stored.
    pub events: Option<Vec<stream::Event>>,
}

/// Return the format of the stream: the division of its data into application data units, transfer
/// units, striping units and packets.
pub(crate) fn format(machine: &Machine, work: &Work) -> stream::Format {
    stream::Format {
        order: su_order(machine, work),
        packet_bytes: work.packet_bytes,
        ..stream::Format::fixed(work.adu_bytes, work.tu_bytes, &[])
    }
}

/// Return the links of the machine that the stream uses.
fn links_of(machine: &Machine, work: &Work) -> Vec<u32> {
    let apart = machine.links / work.links;
    (0..work.links).map(|link| link * apart).collect()
}

/// Return the links of the striping units of a transfer unit, in order: each round of blocks over
/// the columns has one striping unit for each link.
fn su_order(machine: &Machine, work: &Work) -> Vec<LinkId> {
    let links = links_of(machine, work);
    let round = work.sent_bytes(machine) * u64::from(machine.columns);
    let rounds = usize::try_from(work.tu_bytes / round).unwrap_or(usize::MAX);
    let links = links.into_iter().map(|link| LinkId(link as u16));
    let order: Vec<LinkId> = links.collect();
    order.repeat(rounds)
}

impl World {
    /// Create the cells, the interface and the flow engine at time 0.
    pub fn new(machine: &Machine, work: &Work) -> Result<(Self, Engine<Tag>), Error> {
        check_machine(machine)?;
        check_work(machine, work)?;
        let torus = Torus::new(machine);
        let engine = Engine::new(torus.capacities(machine)?)
            .map_err(|error| Error::new("machine.rows", error.to_string(), "give fewer cells"))?;
        let reserved = work.reservation_bytes_per_s;
        let reserved = reserved
            .map(|r| rate("workload.reservation", r))
            .transpose()?;
        let exchanged = if work.reshuffle.exchanges() && work.from == From::Cells {
            messages(machine, work)?
        } else {
            vec![Vec::new(); machine.columns as usize]
        };
        let rows = (0..machine.rows).map(|row| {
            let of_row = work.tus_of_row(machine);
            let before = of_row * u64::from(row);
            let own = work.tus().saturating_sub(before).min(of_row);
            Row::new(own, work.adus, machine.columns as usize)
        });
        let manager = Manager::new(stream::Config {
            staging_bytes: machine.interface.staging_bytes,
            engines: machine.interface.engines,
            network_bytes: machine.interface.memory_bytes,
            stall_ns: u64::MAX,
            ..stream::Config::iwarp()
        })
        .map_err(|error| Error::new("machine.interface", error.to_string(), "give more"))?;
        let world = Self {
            torus,
            manager,
            messages: exchanged,
            rows: rows.collect(),
            links: vec![Link::default(); machine.links as usize],
            sus: BTreeMap::new(),
            next_su: 0,
            fetching: BTreeMap::new(),
            servers: Servers::default(),
            due: BTreeMap::new(),
            next_due: 0,
            reserved,
            produced: if work.load_bytes_per_s.is_some() {
                0
            } else {
                work.adus
            },
            adus: 0,
            done_at: 0,
            limit: work.adus,
            failed: None,
            events: None,
            machine: machine.clone(),
            work: work.clone(),
        };
        Ok((world, engine))
    }

    /// Start the run: the application opens a connection and registers its stream, and the rows
    /// start.
    pub fn begin(&mut self, engine: &mut Engine<Tag>) -> Result<(), Error> {
        if self.work.to != To::Cells {
            let refused = |error: stream::Error| {
                Error::new(
                    "workload",
                    error.to_string(),
                    "give the interface more room",
                )
            };
            let (work, now) = (&self.work, Instant(0));
            let app = self.manager.add_application(stream::Limits::NONE);
            let spec =
                ConnectionSpec::new("network", stream::Protocol::Unconfirmed { reorder: 0 }, 0);
            let connection = self.manager.open(now, app, spec).map_err(refused)?;
            self.manager.handle_connected(now, connection);
            let format = format(&self.machine, work);
            let links = format.links();
            let direction = stream::Direction::Transmit;
            let spec = StreamSpec::new(connection, direction, format, work.adus);
            let id = self.manager.submit(now, app, &spec).map_err(refused)?;
            for link in links {
                // Offer all data of the run to the stream manager now: the rows delay its orders
                // for data that are not ready.
                let offered = self.manager.handle_offered(now, id, link, u64::MAX);
                offered.map_err(refused)?;
            }
        }
        match self.work.gap_ns() {
            Some(_) => self.set_timer(engine, 0, Due::Made),
            None => self.advance_rows(engine),
        }
        self.pump(engine);
        Ok(())
    }

    /// Carry out all orders that the stream manager has issued, and handle its events.
    fn pump(&mut self, engine: &mut Engine<Tag>) {
        while let Some(order) = self.manager.poll_order() {
            self.carry_out(engine, order);
        }
        let now = isthmus_kernel::Engine::now(engine);
        while let Some(event) = self.manager.poll_event() {
            if let Some(events) = &mut self.events {
                events.push(event.clone());
            }
            match event {
                stream::Event::AduMoved { .. } if self.work.to == To::Interface => {
                    self.count_adu(now)
                }
                stream::Event::AduDone { .. } if self.work.to == To::Network => self.count_adu(now),
                stream::Event::Ended { end, .. } if end != stream::End::Done => {
                    self.failed = Some(format!("{end:?}"));
                }
                _ => (),
            }
        }
    }

    /// Count a completed application data unit (ADU).
    fn count_adu(&mut self, now: Cycles) {
        self.adus += 1;
        self.done_at = now;
    }

    /// Carry out an order of the stream manager: start its task, or set a timer for its end.
    fn carry_out(&mut self, engine: &mut Engine<Tag>, order: stream::Order) {
        let now = isthmus_kernel::Engine::now(engine);
        let interface = &self.machine.interface;
        match order.work {
            stream::Work::Fetch { tu, su, .. } if self.work.from == From::Cells => {
                let ns = self.work.set_up_ns(&self.machine);
                let su = self.new_su(order.id, tu, su);
                let messages = self.sus.get(&su).map_or(0, |su| su.parts.len() as u64);
                let set_up = ns.saturating_mul(messages);
                let set_up = self.servers.processor.take(now, set_up);
                self.set_timer(engine, set_up, Due::SetUp(su));
            }
            stream::Work::Fetch { .. } => self.set_timer(engine, now, Due::Done(order.id)),
            stream::Work::Prepare { .. } if self.makes_headers() => {
                let ns = interface.udp_ns;
                self.servers.processor.take(now, ns);
                self.servers.packets.0 += ns;
            }
            stream::Work::Store { bytes, .. } => {
                let ns = duration_ns(bytes.into(), interface.store_bytes_per_s);
                let stored = self.servers.store.take(now, ns);
                self.set_timer(engine, stored, Due::Done(order.id));
            }
            // Only packets with data take time. An end mark without data takes none, and the
            // protocols here have no such mark.
            stream::Work::Send { header, .. }
                if self.work.to == To::Network && header.bytes > 0 =>
            {
                let ns = interface.packet_ns;
                let handed = self.servers.processor.take(now, ns);
                self.servers.packets.0 += ns;
                self.servers.packets.1 += 1;
                let due = Due::Handed(order.id, header.bytes.into());
                self.set_timer(engine, handed, due);
            }
            stream::Work::Send { .. } => self.set_timer(engine, now, Due::Done(order.id)),
            _ => (),
        }
    }

    /// Return whether packets have headers that take time of the processor.
    fn makes_headers(&self) -> bool {
        self.work.to == To::Network && self.work.protocol == Protocol::Udp
    }

    /// Set a timer of the flow engine for this event.
    fn set_timer(&mut self, engine: &mut Engine<Tag>, time: Cycles, due: Due) {
        let number = self.next_due;
        self.next_due = self.next_due.wrapping_add(1);
        self.due.insert(number, due);
        engine.schedule(time, number);
    }

    /// Report to the stream manager that this order, an action that the manager requested, is
    /// complete.
    fn complete(&mut self, engine: &mut Engine<Tag>, order: OrderId) {
        let now = Instant(isthmus_kernel::Engine::now(engine));
        self.manager.handle_completed(now, order, 0);
        self.pump(engine);
    }

    /// Add a striping unit that the stream manager has ordered, with the columns that have its
    /// parts. Return its number.
    fn new_su(&mut self, order: OrderId, tu: Tu, su: stream::Su) -> u32 {
        let of_row = self.work.tus_of_row(&self.machine);
        let (row, piece) = ((tu.index / of_row) as u32, tu.index % of_row);
        let number = tu.adu * self.rows[row as usize].per_adu + piece;
        let fetching = self.fetching.entry((tu.adu, tu.index));
        fetching.or_insert(Fetching { row, left: 0 }).left += 1;
        let id = self.next_su;
        self.next_su = self.next_su.wrapping_add(1);
        let parts = self.holders(su.offset, su.bytes);
        let left = parts.len();
        self.sus.insert(
            id,
            Su {
                order,
                link: su.link.0.into(),
                row,
                tu: number,
                parts,
                left,
            },
        );
        id
    }

    /// Return the columns that have bytes `offset .. offset + bytes` of a transfer unit in the
    /// layout in which it is sent, with the number of bytes of each.
    fn holders(&self, offset: u64, bytes: u64) -> Vec<(u32, u64)> {
        let columns = u64::from(self.machine.columns);
        let block = self.work.sent_bytes(&self.machine);
        let mut parts: Vec<(u32, u64)> = Vec::new();
        let (mut at, end) = (offset, offset + bytes);
        while at < end {
            let next = ((at / block + 1) * block).min(end);
            parts.push(((at / block % columns) as u32, next - at));
            at = next;
        }
        parts
    }

    /// Handle the end of the set-up of a striping unit: its transfer starts when its transfer unit
    /// is ready and its link is free.
    fn set_up(&mut self, engine: &mut Engine<Tag>, id: u32) {
        let Some(su) = self.sus.get(&id) else {
            return;
        };
        let (row, tu, link) = (su.row as usize, su.tu, su.link as usize);
        if self.rows[row].ready <= tu {
            self.rows[row].waiting.push((tu, id));
            return;
        }
        self.links[link].queue.push_back(id);
        self.next_on(engine, link);
    }

    /// Start the transfer of the next striping unit on a link, if the link is free and a striping
    /// unit waits for it.
    fn next_on(&mut self, engine: &mut Engine<Tag>, link: usize) {
        if self.links[link].moving {
            return;
        }
        let Some(id) = self.links[link].queue.pop_front() else {
            return;
        };
        let Some(su) = self.sus.get(&id) else {
            return;
        };
        self.links[link].moving = true;
        let now = isthmus_kernel::Engine::now(engine);
        self.rows[su.row as usize].sends(now);
        for &(column, bytes) in &su.parts {
            let transfer = Transfer {
                bytes,
                path: &self.torus.to_interface(column, su.row, su.link),
                latency: self.machine.cell.message_ns,
                rate_max: None,
                reserved: self.reserved,
                tag: Tag::Su(id),
            };
            if let Err(error) = engine.try_offer(now, transfer) {
                self.failed = Some(error.to_string());
            }
        }
    }

    /// Handle the arrival of a part of a striping unit at the interface.
    fn su_part_arrived(&mut self, engine: &mut Engine<Tag>, id: u32) {
        let Some(su) = self.sus.get_mut(&id) else {
            return;
        };
        su.left -= 1;
        if su.left > 0 {
            return;
        }
        let Some(su) = self.sus.remove(&id) else {
            return;
        };
        let now = isthmus_kernel::Engine::now(engine);
        self.links[su.link as usize].moving = false;
        let row = &self.rows[su.row as usize];
        let of_row = self.work.tus_of_row(&self.machine);
        let adu = su.tu / row.per_adu;
        let index = u64::from(su.row) * of_row + su.tu % row.per_adu;
        if let Some(fetching) = self.fetching.get_mut(&(adu, index)) {
            fetching.left -= 1;
            if fetching.left == 0 {
                let row = fetching.row;
                self.fetching.remove(&(adu, index));
                self.rows[row as usize].record_sent(now);
                self.advance_row(engine, row);
            }
        }
        self.next_on(engine, su.link as usize);
        self.complete(engine, su.order);
    }

    /// Start all reshuffling that the rows can start now.
    fn advance_rows(&mut self, engine: &mut Engine<Tag>) {
        for row in 0..self.machine.rows {
            self.advance_row(engine, row);
        }
    }

    /// Handle an application data unit (ADU) that the application has produced, and schedule the
    /// next one.
    fn produced(&mut self, engine: &mut Engine<Tag>) {
        self.produced += 1;
        let gap = self
            .work
            .gap_ns()
            .filter(|_| self.produced < self.work.adus);
        if let Some(gap) = gap {
            let next = isthmus_kernel::Engine::now(engine).saturating_add(gap);
            self.set_timer(engine, next, Due::Made);
        }
        self.advance_rows(engine);
    }

    /// Start the next reshuffling of a row if it can start, and complete transfer units whose
    /// messages have all arrived.
    fn advance_row(&mut self, engine: &mut Engine<Tag>, row: u32) {
        if self.work.from == From::Interface {
            return;
        }
        let now = isthmus_kernel::Engine::now(engine);
        let at = row as usize;
        loop {
            if self.rows[at].begin(now, self.produced, &self.messages) {
                for column in 0..self.machine.columns {
                    self.send_next(engine, row, column);
                }
            }
            if !self.rows[at].settle(now) {
                return;
            }
            self.ready(engine, row);
        }
    }

    /// Handle a transfer unit of a row that is ready: count it if it stays in the cells, or start
    /// the transfers that wait for it.
    fn ready(&mut self, engine: &mut Engine<Tag>, row: u32) {
        let now = isthmus_kernel::Engine::now(engine);
        if self.work.to == To::Cells {
            self.rows[row as usize].record_sent(now);
            let whole = |row: &Row| row.sent.checked_div(row.per_adu).unwrap_or(u64::MAX);
            let adus = self.rows.iter().map(whole).min().unwrap_or(0);
            if adus > self.adus {
                self.adus = adus;
                self.done_at = now;
            }
            return;
        }
        let ready = self.rows[row as usize].ready;
        let waiting = std::mem::take(&mut self.rows[row as usize].waiting);
        let (now_ready, later) = waiting.into_iter().partition(|&(tu, _)| tu < ready);
        self.rows[row as usize].waiting = later;
        let now_ready: Vec<(u64, u32)> = now_ready;
        for (_, su) in now_ready {
            self.set_up(engine, su);
        }
    }

    /// Start the next message of a cell to another cell of its row, if one is left.
    fn send_next(&mut self, engine: &mut Engine<Tag>, row: u32, column: u32) {
        let Some(message) = self.rows[row as usize].next_message(column, &self.messages) else {
            return;
        };
        let by_processors = self.work.reshuffle == Reshuffle::Slow;
        let path = self.torus.in_row(row, column, message.to, by_processors);
        let transfer = Transfer {
            bytes: message.bytes,
            path: &path,
            latency: self.machine.cell.message_ns.saturating_mul(message.blocks),
            rate_max: None,
            reserved: None,
            tag: Tag::Shuffle(row, column),
        };
        let now = isthmus_kernel::Engine::now(engine);
        if let Err(error) = engine.try_offer(now, transfer) {
            self.failed = Some(error.to_string());
        }
    }

    /// Return the conditions for which the stream waits, as text for the error of a run that cannot
    /// continue.
    pub fn waits(&self) -> String {
        let waits = self.manager.waits(stream::StreamId(0)).unwrap_or_default();
        let words: Vec<String> = waits.iter().map(ToString::to_string).collect();
        words.join("; ")
    }
}

impl Handler for World {
    /// Data that each transfer of the flow engine carries: its purpose.
    type Tag = Tag;

    /// Handle the expiry of a timer: carry out the event for which it was set.
    fn timer(&mut self, engine: &mut Engine<Tag>, timer: u32) {
        match self.due.remove(&timer) {
            Some(Due::SetUp(su)) => self.set_up(engine, su),
            Some(Due::Handed(order, bytes)) => {
                let now = isthmus_kernel::Engine::now(engine);
                let interface = &self.machine.interface;
                let gap = duration_ns(1, interface.packets_per_s);
                let passed = self.servers.microcode.take(now, gap);
                let ns = duration_ns(bytes, interface.network_bytes_per_s);
                let sent = self.servers.line.take(passed, ns);
                self.set_timer(engine, sent, Due::Done(order));
            }
            Some(Due::Done(order)) => self.complete(engine, order),
            Some(Due::Made) => self.produced(engine),
            None => (),
        }
    }

    /// Handle the end of a transfer: a part of a striping unit, or a message between cells, has
    /// arrived.
    fn delivered(&mut self, engine: &mut Engine<Tag>, delivered: &Delivered<Tag>) {
        match delivered.tag {
            Tag::Su(su) => self.su_part_arrived(engine, su),
            Tag::Shuffle(row, column) => {
                self.rows[row as usize].arrived();
                self.send_next(engine, row, column);
                self.advance_row(engine, row);
            }
        }
    }

    /// Return whether the run stops: enough application data units are complete, or it has failed.
    fn finished(&self) -> bool {
        self.adus >= self.limit || self.failed.is_some()
    }
}
