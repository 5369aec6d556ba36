//! Jobs on an SCI fabric. Their messages are split into transactions.
//!
//! A write message is a sequence of write transactions with responses, and a read message a sequence of
//! reads. Moves are not used: a move has no response, so the sender would never know that all data has
//! arrived (section 2 of the SCI paper; IEEE 1596 calls them nwrite, nread and dmove). Each transaction
//! carries up to one payload of data, in whole blocks of 16 bytes, the shortest of IEEE 1596. A message has
//! up to [`Transfer::transactions`] transactions under way. The next one starts when the tail of a response
//! arrives. The message is complete when all responses have arrived.
//!
//! The device of a server stores a write message when all of its requests have arrived. The response to the
//! last request waits for the device. For a read message the device starts when the first request arrives,
//! and all responses wait for it. Messages that reach a server in one cycle are served in the order of the
//! numbers of their processes.

use crate::jobs::{Completed, Jobs, Observer, Open, Packet as PacketSeen, Replication, Stored};
use crate::sci::build::Machine;
use crate::sci::rings::{LinkUse, Rings};
use crate::sci::routing::Router;
use crate::sci::spec::{BLOCK, FlowControl, Source, Transfer};
use crate::storage::{JobStores, StationCount};
use isthmus_kernel::{Cycles, Slab, Streams, id};
use isthmus_sci::{Class, Delivery, Handler, Offers, Packet, Stall};
use isthmus_units::Bytes;
use isthmus_workload::jobs::spec::JobsTraffic;
use isthmus_workload::jobs::{Demand, Layout, Operation};
use std::sync::Arc;

id! {
    /// Index of a message in the list of incomplete messages.
    struct MessageId;
}

/// Data that the engine returns with each event of a packet or a timer.
#[derive(Debug, Clone, Copy)]
struct Tag {
    message: MessageId,
    /// Data that the transaction of the packet or timer moves, in bytes.
    bytes: u32,
    kind: TagKind,
}

/// Kind of event to which a tag belongs: a packet of a message, or a timer of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TagKind {
    /// Packet: the first request of a message.
    First,
    /// Packet: a later request of a message.
    Request,
    Response,
    /// Timer: all data of a write has arrived.
    Arrived,
    /// Timer: all responses have arrived.
    Completed,
    /// Timer: the tail of a request has arrived at a server with a device.
    AtServer,
    /// Timer: all requests of this cycle have arrived at a server with a device.
    AllAtServer,
}

/// A message of a job that was generated and is not complete.
#[derive(Debug, Clone, Copy)]
struct Message {
    demand: Demand,
    /// Number of transactions of the message that have not started.
    unsent: u64,
    /// Data of the transactions that have not started, in bytes.
    unsent_bytes: u64,
    /// Number of transactions whose requests have not arrived.
    requests_pending: u64,
    /// Number of transactions whose responses have not arrived.
    responses_pending: u64,
    /// Arrival time of the tail of the last request, in cycles.
    arrived: Cycles,
    /// Arrival time of the tail of the last response, in cycles.
    completed: Cycles,
    /// Time at which the server's device has read the data of the message, if known.
    ready: Option<Cycles>,
}

/// One replication of a simulation: an SCI fabric, its jobs and every packet under way.
#[derive(Debug)]
pub struct JobsSimulation {
    rings: Rings<Tag>,
    state: State,
}

/// State of a replication except that of the engine: the jobs, their messages and the devices of servers.
#[derive(Debug)]
struct State {
    jobs: Jobs,
    router: Router,
    transfer: Transfer,
    turnaround: Cycles,
    messages: Slab<MessageId, Message>,
    /// Buffer for messages that are passed on to the engine; empty between calls.
    starting: Vec<Demand>,
    /// Storage devices of the I/O servers; `None` if they have no devices.
    stores: Option<JobStores>,
    /// Requests that have arrived in this cycle at servers with storage devices, each with the node of its
    /// server.
    at_servers: Vec<(u32, Tag)>,
}

impl JobsSimulation {
    /// Return a simulation at cycle 0 of the fabric under `traffic`, with jobs on the nodes of `layout` and the
    /// random streams of this seed and replication.
    ///
    /// # Panics
    /// If the fabric drops packets ([`Source::Bounded`]), since a message with a dropped packet would never
    /// be complete. If jobs run on disconnected nodes. If the payload is zero or too long for a packet.
    pub fn new(
        machine: Arc<Machine>,
        transfer: Transfer,
        traffic: &JobsTraffic,
        layout: &Layout,
        seed: u64,
        replication: u64,
    ) -> Self {
        let by_symbol = machine.spec().flow_control == FlowControl::GoBits;
        let of_run = (seed, replication);
        Self::begin(machine, transfer, traffic, layout, of_run, by_symbol)
    }

    /// Like [`JobsSimulation::new`], but always on the symbol-by-symbol engine. That engine gives the same
    /// results more slowly.
    pub fn by_symbol(
        machine: Arc<Machine>,
        transfer: Transfer,
        traffic: &JobsTraffic,
        layout: &Layout,
        seed: u64,
        replication: u64,
    ) -> Self {
        let of_run = (seed, replication);
        Self::begin(machine, transfer, traffic, layout, of_run, true)
    }

    /// Return a simulation of the fabric at cycle 0, with the first messages of all jobs, on one of the two
    /// SCI engines.
    fn begin(
        machine: Arc<Machine>,
        transfer: Transfer,
        traffic: &JobsTraffic,
        layout: &Layout,
        (seed, replication): (u64, u64),
        by_symbol: bool,
    ) -> Self {
        assert!(
            machine.spec().source == Source::Unbounded,
            "a message whose packet is dropped is never complete"
        );
        assert!(transfer.payload.get() > 0, "transactions must carry data");
        let streams = Streams::new(seed, replication);
        let longest = machine.send_symbols(transfer.payload);
        let mut rings = Rings::new(&machine, longest, by_symbol);
        let (cycle_us, nodes) = (machine.clock().cycle_us(), machine.fabric().node_count());
        let mut state = State {
            jobs: Jobs::new(traffic, layout, machine.cycle(), streams),
            turnaround: machine.cycles(transfer.turnaround),
            transfer,
            router: Router::new(machine, streams),
            messages: Slab::new(),
            starting: Vec::new(),
            stores: JobStores::new(traffic, layout, cycle_us, nodes, streams),
            at_servers: Vec::new(),
        };
        state.jobs.begin();
        state.offer(|time, packet| rings.offer(time, packet));
        Self { rings, state }
    }

    /// Return the simulated fabric.
    pub fn machine(&self) -> &Machine {
        self.state.router.machine()
    }

    /// Return the collapse of the fabric, if it has collapsed: no packet has arrived for the description's
    /// `patience` while packets waited, or some queues can never move again.
    pub fn stall(&self) -> Option<&Stall> {
        self.rings.stall()
    }

    /// Return the traffic of each link, in the order of the fabric's links.
    pub fn links(&self) -> impl Iterator<Item = LinkUse> + '_ {
        self.rings.links(self.state.router.machine())
    }
}

impl Replication for JobsSimulation {
    /// Return the present cycle of the engine.
    fn now(&self) -> Cycles {
        self.rings.now()
    }

    /// Return the number of incomplete messages.
    fn under_way(&self) -> u64 {
        self.state.messages.len() as u64
    }

    /// Run until cycle `until`, until the fabric collapses, or until the observer has finished. Return whether
    /// any message is under way.
    fn run_until<O: Observer>(&mut self, observer: &mut O, until: Cycles) -> bool {
        while self.rings.stall().is_none()
            && !observer.finished()
            && self.now() < until
            && self.under_way() > 0
        {
            let state = &mut self.state;
            let mut driver = Driver { state, observer };
            self.rings.advance(&mut driver, until);
        }
        if !observer.finished() {
            self.state.jobs.report_all_offered(self.now(), observer);
        }
        self.under_way() > 0
    }

    /// Return the open phases and messages of jobs: those that have started and not ended.
    fn open(&self) -> Open {
        self.state.jobs.open(self.now())
    }

    /// Reset the counters of links and storage devices.
    fn restart_counts(&mut self) {
        self.rings.restart_counts();
        let now = self.now();
        if let Some(stores) = &mut self.state.stores {
            stores.restart_counts(now);
        }
    }

    /// Return the counts of the storage devices since the last reset; empty without devices.
    fn counted_behind(&self) -> Vec<StationCount> {
        let stores = self.state.stores.as_ref();
        stores.map_or_else(Vec::new, |stores| stores.counted(self.now()))
    }
}

impl State {
    /// Offer the first transactions of each message that the jobs have generated, up to the limit on
    /// transactions under way.
    fn offer(&mut self, mut offer: impl FnMut(Cycles, Packet<'_, Tag>)) {
        let mut starting = std::mem::take(&mut self.starting);
        self.jobs.pass_on(|&demand| starting.push(demand));
        for demand in starting.drain(..) {
            let parts = demand.bytes.div_ceil(self.transfer.payload.get()).max(1);
            let message = self.messages.insert(Message {
                demand,
                unsent: parts,
                unsent_bytes: demand.bytes,
                requests_pending: parts,
                responses_pending: parts,
                arrived: 0,
                completed: 0,
                ready: None,
            });
            offer(demand.time, self.request(message, TagKind::First));
            for _ in 1..parts.min(self.transfer.transactions.into()) {
                offer(demand.time, self.request(message, TagKind::Request));
            }
        }
        self.starting = starting;
    }

    /// Return the request packet of the next transaction of a message.
    fn request(&mut self, number: MessageId, kind: TagKind) -> Packet<'_, Tag> {
        let message = &mut self.messages[number];
        let bytes = message.unsent_bytes.min(self.transfer.payload.get());
        message.unsent -= 1;
        message.unsent_bytes -= bytes;
        let demand = message.demand;
        let tag = Tag {
            message: number,
            bytes: bytes as u32,
            kind,
        };
        let symbols = self.symbols(bytes, demand.operation == Operation::Write);
        (self.router).packet(demand.from, demand.to, Class::Request, symbols, tag)
    }

    /// Return the response to a request.
    fn response(&mut self, tag: Tag) -> Packet<'_, Tag> {
        let demand = self.messages[tag.message].demand;
        let tag = Tag {
            kind: TagKind::Response,
            ..tag
        };
        let symbols = self.symbols(tag.bytes.into(), demand.operation == Operation::Read);
        (self.router).packet(demand.to, demand.from, Class::Response, symbols, tag)
    }

    /// Return the length in symbols of a packet of a transaction that moves `bytes` bytes; `carries_it` is
    /// true for the request of a write and the response of a read, which carry these bytes.
    fn symbols(&self, bytes: u64, carries_it: bool) -> u32 {
        let blocks = bytes.next_multiple_of(BLOCK);
        let data = match carries_it {
            true => blocks.min(self.transfer.payload.get()),
            false => 0,
        };
        self.router.machine().send_symbols(Bytes::new(data))
    }
}

/// Handler of the events that the engine reports, with the observer that receives the results.
struct Driver<'a, O> {
    state: &'a mut State,
    observer: &'a mut O,
}

impl<O: Observer> Driver<'_, O> {
    /// Report the phases that have ended, and offer the messages that follow to the engine.
    fn report_and_offer(&mut self, offers: &mut Offers<Tag>) {
        self.state.jobs.report_phases(self.observer);
        self.state.offer(|time, packet| offers.offer(time, packet));
    }

    /// Report to the observer the arrival of a packet with data.
    fn report_packet(&mut self, delivery: &Delivery<Tag>, from: u32) {
        let demand = &self.state.messages[delivery.tag.message].demand;
        self.observer.packet(&PacketSeen {
            job: demand.job,
            client: demand.from,
            from,
            to: delivery.node,
            bytes: delivery.tag.bytes.into(),
            latency: delivery.tail - delivery.sent,
            answer: false,
        });
    }

    /// Handle the arrival of a request: respond to it, or wait for the server's device.
    fn request_arrived(&mut self, delivery: &Delivery<Tag>, offers: &mut Offers<Tag>) {
        let state = &mut *self.state;
        let message = &mut state.messages[delivery.tag.message];
        let demand = message.demand;
        if state
            .stores
            .as_ref()
            .is_some_and(|stores| stores.serve(&demand))
        {
            let kind = TagKind::AtServer;
            let tag = Tag {
                kind,
                ..delivery.tag
            };
            offers.remind(delivery.tail, delivery.node, tag);
            if demand.operation == Operation::Write {
                self.report_packet(delivery, demand.from);
            }
            return;
        }
        message.requests_pending -= 1;
        message.arrived = message.arrived.max(delivery.tail);
        let arrived = (message.requests_pending == 0).then_some(message.arrived);
        let time = delivery.tail + state.turnaround;
        offers.offer(time, state.response(delivery.tag));
        if demand.operation == Operation::Read {
            return;
        }
        if let Some(time) = arrived {
            if state.jobs.in_order(&demand) {
                let tag = Tag {
                    kind: TagKind::Arrived,
                    ..delivery.tag
                };
                offers.remind(time, delivery.node, tag);
            } else {
                state.jobs.arrived(time, &demand);
            }
        }
        self.report_packet(delivery, demand.from);
        self.report_and_offer(offers);
    }

    /// Serve all requests that have arrived at a server with a device in this cycle.
    fn all_at_server(&mut self, node: u32, time: Cycles, offers: &mut Offers<Tag>) {
        let state = &mut *self.state;
        let mut here = Vec::new();
        state.at_servers.retain(|&(at, tag)| {
            let is_here = at == node;
            if is_here {
                here.push(tag);
            }
            !is_here
        });
        here.sort_by_key(|tag| {
            let demand = &state.messages[tag.message].demand;
            let reads = demand.operation == Operation::Read;
            (
                demand.process,
                demand.time,
                demand.step,
                reads,
                demand.bytes,
            )
        });
        for tag in here {
            let message = &mut state.messages[tag.message];
            let demand = message.demand;
            message.requests_pending -= 1;
            let stores = &mut state.stores;
            let mut done = || {
                let done = stores
                    .as_mut()
                    .and_then(|stores| stores.done(time, &demand));
                done.unwrap_or(time)
            };
            let ready = match demand.operation {
                Operation::Write if message.requests_pending > 0 => time,
                Operation::Write => done(),
                Operation::Read => *message.ready.get_or_insert_with(done),
            };
            let time = ready.max(time) + state.turnaround;
            offers.offer(time, state.response(tag));
        }
    }

    /// Handle the arrival of a response.
    fn response_arrived(&mut self, delivery: &Delivery<Tag>, offers: &mut Offers<Tag>) {
        let state = &mut *self.state;
        let message = &mut state.messages[delivery.tag.message];
        message.responses_pending -= 1;
        message.completed = message.completed.max(delivery.tail);
        let Message {
            demand,
            unsent,
            responses_pending,
            completed,
            ..
        } = *message;
        if unsent > 0 {
            let request = state.request(delivery.tag.message, TagKind::Request);
            offers.offer(delivery.tail, request);
        }
        if demand.operation == Operation::Read {
            self.report_packet(delivery, demand.to);
        }
        if responses_pending > 0 {
            return;
        }
        let stores = self.state.stores.as_ref();
        let stored = stores.is_some_and(|stores| stores.serve(&demand));
        let jobs = &mut self.state.jobs;
        jobs.report_offered(demand.process, delivery.header, self.observer);
        if stored && demand.operation == Operation::Write {
            self.observer.stored(&Stored {
                job: demand.job,
                client: demand.from,
                bytes: demand.bytes,
            });
        }
        self.observer.completed(&Completed {
            job: demand.job,
            response: completed - demand.asked,
            network: completed - demand.time,
        });
        if jobs.in_order(&demand) {
            let tag = Tag {
                kind: TagKind::Completed,
                ..delivery.tag
            };
            return offers.remind(completed, delivery.node, tag);
        }
        jobs.completed(completed, &demand);
        self.state.messages.remove(delivery.tag.message);
        self.report_and_offer(offers);
    }
}

impl<O: Observer> Handler for Driver<'_, O> {
    /// Data that the engine returns with each event of a packet or a timer.
    type Tag = Tag;

    const REMINDED: bool = true;

    /// Handle the event that a packet was generated and handed to its interface. If it is the first request
    /// of a message, the process that sends the message may continue.
    fn generated(&mut self, _: u32, time: Cycles, tag: Tag, offers: &mut Offers<Tag>) {
        if tag.kind != TagKind::First {
            return;
        }
        let demand = self.state.messages[tag.message].demand;
        if self.state.jobs.several(&demand) {
            self.state.jobs.handed(time, &demand);
            self.state.offer(|time, packet| offers.offer(time, packet));
        }
    }

    /// Handle the arrival of a packet: a request or a response of a transaction.
    fn delivered(&mut self, delivery: &Delivery<Tag>, offers: &mut Offers<Tag>) {
        match delivery.tag.kind {
            TagKind::First | TagKind::Request => self.request_arrived(delivery, offers),
            _ => self.response_arrived(delivery, offers),
        }
    }

    /// Handle a timer, which marks the arrival of the tail of an earlier packet.
    fn reminded(&mut self, node: u32, time: Cycles, tag: Tag, offers: &mut Offers<Tag>) {
        let state = &mut *self.state;
        match tag.kind {
            TagKind::AtServer => {
                let is_first = state.at_servers.iter().all(|&(at, _)| at != node);
                state.at_servers.push((node, tag));
                if is_first {
                    let kind = TagKind::AllAtServer;
                    offers.remind(time, node, Tag { kind, ..tag });
                }
                return;
            }
            TagKind::AllAtServer => return self.all_at_server(node, time, offers),
            TagKind::Arrived => {
                let demand = state.messages[tag.message].demand;
                state.jobs.arrived(time, &demand);
            }
            _ => {
                let demand = state.messages[tag.message].demand;
                state.jobs.completed(time, &demand);
                state.messages.remove(tag.message);
            }
        }
        self.report_and_offer(offers);
    }

    /// Return whether the observer has finished, so that the run may end.
    #[inline]
    fn finished(&self) -> bool {
        self.observer.finished()
    }
}
