//! Jobs running on a fabric: their messages cut into transactions.
//!
//! A message that is written is a sequence of writes with responses, one that is read a sequence of
//! reads: a move has no response, so that its node would never know that all of it is there
//! (section 2 of the SCI paper; IEEE 1596 calls them nwrite, nread and dmove). Each transaction carries
//! up to a payload of data, the last one what is left, in whole blocks of 16 bytes, the shortest of
//! IEEE 1596. Up to a number of transactions of a message are under way at a time; the next one begins
//! when the tail of a response is there. The message is complete when all responses are.
//!
//! Where a device stands behind a server, it takes a written message when all of its requests have come in,
//! and the response to the last of them waits for it; of a message that is read all responses wait for the device,
//! which is asked when the first request has come in. Messages that reach a server in one cycle are served
//! by the numbers of their processes.

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
    /// The place of a message.
    struct MessageId;
}

/// What the engine carries with a packet, or reminds of.
#[derive(Debug, Clone, Copy)]
struct Tag {
    message: MessageId,
    /// Data that its transaction moves.
    bytes: u32,
    what: What,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    /// The first request of its message.
    First,
    /// Another request.
    Request,
    Response,
    /// Not a packet: all of a write has come in.
    Arrived,
    /// Not a packet: all responses have.
    Completed,
    /// Not a packet: all of a request is at a server with a device.
    AtServer,
    /// Not a packet: all requests of a cycle are.
    AllAtServer,
}

/// A message that has been asked for and is not complete.
#[derive(Debug, Clone, Copy)]
struct Message {
    demand: Demand,
    /// Transactions that have not started, and the data that is left for them.
    unsent: u64,
    left: u64,
    /// Transactions whose requests have not come in.
    unasked: u64,
    /// Transactions whose responses have not come in.
    unanswered: u64,
    /// The tail of the last request that has come in, and that of the last response.
    arrived: Cycles,
    completed: Cycles,
    /// When the device has what is read.
    ready: Option<Cycles>,
}

/// One replication: a fabric, its jobs and every packet under way.
#[derive(Debug)]
pub struct JobsSimulation {
    rings: Rings<Tag>,
    state: State,
}

#[derive(Debug)]
struct State {
    jobs: Jobs,
    router: Router,
    transfer: Transfer,
    turnaround: Cycles,
    messages: Slab<MessageId, Message>,
    /// Messages on their way to the engine.
    starting: Vec<Demand>,
    /// What stands behind the servers.
    stores: Option<JobStores>,
    /// Requests that are at a server in this cycle.
    at_servers: Vec<(u32, Tag)>,
}

impl JobsSimulation {
    /// The fabric at cycle 0 under `traffic`, whose jobs lie where `layout` says, with the random streams
    /// of this seed and replication.
    ///
    /// # Panics
    /// If the fabric drops packets ([`Source::Bounded`]), since a message whose packet is dropped would
    /// never be complete; if jobs lie on nodes that faults have cut off; if a payload is more than a
    /// packet can hold, or none.
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

    /// As [`JobsSimulation::new`], always on the symbol-by-symbol engine: the same results, later.
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

    /// The fabric.
    pub fn machine(&self) -> &Machine {
        self.state.router.machine()
    }

    /// How the fabric has collapsed, if it has: nothing has arrived for as long as the
    /// description's patience while packets waited, or some queues can never move again.
    pub fn stall(&self) -> Option<&Stall> {
        self.rings.stall()
    }

    /// What each link has carried, by the numbers of the fabric's links.
    pub fn links(&self) -> impl Iterator<Item = LinkUse> + '_ {
        self.rings.links(self.state.router.machine())
    }
}

impl Replication for JobsSimulation {
    fn now(&self) -> Cycles {
        self.rings.now()
    }

    fn under_way(&self) -> u64 {
        self.state.messages.len() as u64
    }

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

    fn open(&self) -> Open {
        self.state.jobs.open(self.now())
    }

    fn restart_counts(&mut self) {
        self.rings.restart_counts();
        let now = self.now();
        if let Some(stores) = &mut self.state.stores {
            stores.restart_counts(now);
        }
    }

    fn counted_behind(&self) -> Vec<StationCount> {
        let stores = self.state.stores.as_ref();
        stores.map_or_else(Vec::new, |stores| stores.counted(self.now()))
    }
}

impl State {
    /// Hands on the messages that the jobs have given, each with as many transactions as may be
    /// under way.
    fn offer(&mut self, mut offer: impl FnMut(Cycles, Packet<'_, Tag>)) {
        let mut starting = std::mem::take(&mut self.starting);
        self.jobs.pass_on(|&demand| starting.push(demand));
        for demand in starting.drain(..) {
            let parts = demand.bytes.div_ceil(self.transfer.payload.get()).max(1);
            let message = self.messages.insert(Message {
                demand,
                unsent: parts,
                left: demand.bytes,
                unasked: parts,
                unanswered: parts,
                arrived: 0,
                completed: 0,
                ready: None,
            });
            offer(demand.time, self.request(message, What::First));
            for _ in 1..parts.min(self.transfer.transactions.into()) {
                offer(demand.time, self.request(message, What::Request));
            }
        }
        self.starting = starting;
    }

    /// The next request of a message.
    fn request(&mut self, number: MessageId, what: What) -> Packet<'_, Tag> {
        let message = &mut self.messages[number];
        let bytes = message.left.min(self.transfer.payload.get());
        message.unsent -= 1;
        message.left -= bytes;
        let demand = message.demand;
        let tag = Tag {
            message: number,
            bytes: bytes as u32,
            what,
        };
        let symbols = self.symbols(bytes, demand.operation == Operation::Write);
        (self.router).packet(demand.from, demand.to, Class::Request, symbols, tag)
    }

    /// The answer to a request.
    fn response(&mut self, tag: Tag) -> Packet<'_, Tag> {
        let demand = self.messages[tag.message].demand;
        let tag = Tag {
            what: What::Response,
            ..tag
        };
        let symbols = self.symbols(tag.bytes.into(), demand.operation == Operation::Read);
        (self.router).packet(demand.to, demand.from, Class::Response, symbols, tag)
    }

    /// Length of a packet of a transaction that moves so much data.
    fn symbols(&self, bytes: u64, carries_it: bool) -> u32 {
        let blocks = bytes.next_multiple_of(BLOCK);
        let data = match carries_it {
            true => blocks.min(self.transfer.payload.get()),
            false => 0,
        };
        self.router.machine().send_symbols(Bytes::new(data))
    }
}

struct Driver<'a, O> {
    state: &'a mut State,
    observer: &'a mut O,
}

impl<O: Observer> Driver<'_, O> {
    /// Report the phases that have ended, and offer the messages that follow.
    fn report_and_offer(&mut self, offers: &mut Offers<Tag>) {
        self.state.jobs.report_phases(self.observer);
        self.state.offer(|time, packet| offers.offer(time, packet));
    }

    /// Report a packet with data.
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

    /// A request has come in, which is answered.
    fn asked(&mut self, delivery: &Delivery<Tag>, offers: &mut Offers<Tag>) {
        let state = &mut *self.state;
        let message = &mut state.messages[delivery.tag.message];
        let demand = message.demand;
        if state
            .stores
            .as_ref()
            .is_some_and(|stores| stores.serve(&demand))
        {
            let what = What::AtServer;
            let tag = Tag {
                what,
                ..delivery.tag
            };
            offers.remind(delivery.tail, delivery.node, tag);
            if demand.operation == Operation::Write {
                self.report_packet(delivery, demand.from);
            }
            return;
        }
        message.unasked -= 1;
        message.arrived = message.arrived.max(delivery.tail);
        let arrived = (message.unasked == 0).then_some(message.arrived);
        let time = delivery.tail + state.turnaround;
        offers.offer(time, state.response(delivery.tag));
        if demand.operation == Operation::Read {
            return;
        }
        if let Some(time) = arrived {
            if state.jobs.in_order(&demand) {
                let tag = Tag {
                    what: What::Arrived,
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

    /// All requests that have come to a server with a device in this cycle are known.
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
            message.unasked -= 1;
            let stores = &mut state.stores;
            let mut done = || {
                let done = stores
                    .as_mut()
                    .and_then(|stores| stores.done(time, &demand));
                done.unwrap_or(time)
            };
            let ready = match demand.operation {
                Operation::Write if message.unasked > 0 => time,
                Operation::Write => done(),
                Operation::Read => *message.ready.get_or_insert_with(done),
            };
            let time = ready.max(time) + state.turnaround;
            offers.offer(time, state.response(tag));
        }
    }

    /// A response has come in.
    fn answered(&mut self, delivery: &Delivery<Tag>, offers: &mut Offers<Tag>) {
        let state = &mut *self.state;
        let message = &mut state.messages[delivery.tag.message];
        message.unanswered -= 1;
        message.completed = message.completed.max(delivery.tail);
        let Message {
            demand,
            unsent,
            unanswered,
            completed,
            ..
        } = *message;
        if unsent > 0 {
            let request = state.request(delivery.tag.message, What::Request);
            offers.offer(delivery.tail, request);
        }
        if demand.operation == Operation::Read {
            self.report_packet(delivery, demand.to);
        }
        if unanswered > 0 {
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
                what: What::Completed,
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
    type Tag = Tag;

    const REMINDED: bool = true;

    fn generated(&mut self, _: u32, time: Cycles, tag: Tag, offers: &mut Offers<Tag>) {
        if tag.what != What::First {
            return;
        }
        let demand = self.state.messages[tag.message].demand;
        if self.state.jobs.several(&demand) {
            self.state.jobs.handed(time, &demand);
            self.state.offer(|time, packet| offers.offer(time, packet));
        }
    }

    fn delivered(&mut self, delivery: &Delivery<Tag>, offers: &mut Offers<Tag>) {
        match delivery.tag.what {
            What::First | What::Request => self.asked(delivery, offers),
            _ => self.answered(delivery, offers),
        }
    }

    /// What has come in before is all there.
    fn reminded(&mut self, node: u32, time: Cycles, tag: Tag, offers: &mut Offers<Tag>) {
        let state = &mut *self.state;
        match tag.what {
            What::AtServer => {
                let is_first = state.at_servers.iter().all(|&(at, _)| at != node);
                state.at_servers.push((node, tag));
                if is_first {
                    let what = What::AllAtServer;
                    offers.remind(time, node, Tag { what, ..tag });
                }
                return;
            }
            What::AllAtServer => return self.all_at_server(node, time, offers),
            What::Arrived => {
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

    #[inline]
    fn finished(&self) -> bool {
        self.observer.finished()
    }
}
