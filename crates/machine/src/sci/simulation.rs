//! Simulation of packet traffic on an SCI fabric.

use crate::sci::build::{Lengths, Machine};
use crate::sci::gate::Gate;
use crate::sci::observe::{Arrival, Observer};
use crate::sci::rings::{LinkUse, Rings};
use crate::sci::routing::Router;
use crate::sci::spec::FlowControl;
use isthmus_kernel::{Cycles, Streams};
use isthmus_sci::{Class, Delivery, Dropped, Handler, Offers, Packet, Stall};
use isthmus_workload::packets::PacketSource;
use isthmus_workload::packets::spec::PacketTraffic;
use std::sync::Arc;

/// Data that the engine returns with each event of a packet: the requester and the start of its transaction.
#[derive(Debug, Clone, Copy)]
struct Tag {
    requester: u32,
    generated: Cycles,
    is_response: bool,
}

/// Numbers of generated and completed transactions of one node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NodeCount {
    /// Number of generated transactions.
    pub offered: u64,
    /// Number of completed transactions.
    pub completed: u64,
}

/// One replication of a simulation: an SCI fabric, its traffic and every packet under way.
#[derive(Debug)]
pub struct Simulation {
    rings: Rings<Tag>,
    state: State,
}

/// State of a simulation except that of the engine: the traffic and the counts of transactions.
#[derive(Debug)]
struct State {
    router: Router,
    source: PacketSource,
    lengths: Lengths,
    turnaround: Cycles,
    /// Gate that enforces the limit on transactions under way, if there is a limit.
    gate: Option<Gate>,
    nodes: Vec<NodeCount>,
}

impl Simulation {
    /// Return a simulation at cycle 0 of the fabric under `traffic`, with the random streams of this seed and
    /// replication.
    ///
    /// # Panics
    /// If packets of this payload are longer than the engine can carry; descriptions are limited
    /// to the 256 bytes of IEEE 1596.
    pub fn new(
        machine: Arc<Machine>,
        traffic: &PacketTraffic,
        seed: u64,
        replication: u64,
    ) -> Self {
        let by_symbol = machine.spec().flow_control == FlowControl::GoBits;
        Self::begin(machine, traffic, seed, replication, by_symbol)
    }

    /// Like [`Simulation::new`], but always on the symbol-by-symbol engine. That engine gives the same
    /// results more slowly.
    pub fn by_symbol(
        machine: Arc<Machine>,
        traffic: &PacketTraffic,
        seed: u64,
        replication: u64,
    ) -> Self {
        Self::begin(machine, traffic, seed, replication, true)
    }

    /// Return a simulation of the fabric at cycle 0 with the first request of each sending node, on one of
    /// the two SCI engines.
    fn begin(
        machine: Arc<Machine>,
        traffic: &PacketTraffic,
        seed: u64,
        replication: u64,
        by_symbol: bool,
    ) -> Self {
        let streams = Streams::new(seed, replication);
        let lengths = machine.lengths(traffic);
        let longest = lengths.request.max(lengths.response.unwrap_or(0));
        let rings = Rings::new(&machine, longest, by_symbol);
        let live = machine.fabric().live_nodes();
        let node_count = machine.fabric().node_count();
        let source = PacketSource::new(traffic, live, machine.clock(), streams);
        let mut simulation = Self {
            rings,
            state: State {
                source,
                lengths,
                turnaround: machine.cycles(traffic.turnaround),
                gate: lengths
                    .response
                    .and(traffic.outstanding.limit())
                    .map(|most| Gate::new(most, node_count)),
                nodes: vec![NodeCount::default(); node_count as usize],
                router: Router::new(machine, streams),
            },
        };
        for sender in simulation.state.source.senders().to_vec() {
            let (time, packet) = simulation.state.next_request(sender, 0);
            simulation.rings.offer(time, packet);
        }
        simulation
    }

    /// Return the present cycle of the simulation.
    pub fn now(&self) -> Cycles {
        self.rings.now()
    }

    /// Return the number of generated packets that have neither arrived nor been dropped.
    pub fn under_way(&self) -> u64 {
        self.rings.under_way()
    }

    /// Run until the observer has finished, the fabric has collapsed, or all events before cycle `until`
    /// are handled.
    pub fn run_until<O: Observer>(&mut self, observer: &mut O, until: Cycles) {
        while self.rings.stall().is_none() && !observer.finished() && self.now() < until {
            self.advance(observer, until);
        }
    }

    /// Like [`Simulation::run_until`], but stop at the next check for a collapse. The field `patience` of the
    /// description sets the time between two checks.
    pub fn advance<O: Observer>(&mut self, observer: &mut O, until: Cycles) {
        let state = &mut self.state;
        let mut driver = Driver { state, observer };
        self.rings.advance(&mut driver, until);
        if !observer.finished() && self.state.gate.is_some() {
            let now = self.now();
            for node in self.state.source.senders().to_vec() {
                self.state.report_offered(node, now, observer);
            }
        }
    }

    /// Return the collapse of the fabric, if it has collapsed: no packet has arrived for the description's
    /// `patience` while packets waited, or some queues can never move again.
    pub fn stall(&self) -> Option<&Stall> {
        self.rings.stall()
    }

    /// Reset the counters of links and nodes.
    pub fn restart_counts(&mut self) {
        self.rings.restart_counts();
        self.state.nodes.fill(NodeCount::default());
    }

    /// Return the traffic of each link, in the order of the fabric's links.
    pub fn links(&self) -> impl Iterator<Item = LinkUse> + '_ {
        self.rings.links(self.state.router.machine())
    }

    /// Return the counts of transactions of each node.
    pub fn nodes(&self) -> &[NodeCount] {
        &self.state.nodes
    }
}

impl State {
    /// Return the next request of `node` (the first, if there was none) and its time, `now` or later.
    #[inline]
    fn next_request(&mut self, node: u32, now: Cycles) -> (Cycles, Packet<'_, Tag>) {
        let request = match &mut self.gate {
            None => self.source.next(node),
            Some(gate) => gate.next(node, &mut self.source),
        };
        let tag = Tag {
            requester: node,
            generated: request.time,
            is_response: false,
        };
        let symbols = self.lengths.request;
        let packet = (self.router).packet(node, request.destination, Class::Request, symbols, tag);
        (request.time.max(now), packet)
    }

    /// Report the requests that a node has generated by `now`. Does nothing unless transactions under way are
    /// limited.
    fn report_offered<O: Observer>(&mut self, node: u32, now: Cycles, observer: &mut O) {
        let Some(gate) = &mut self.gate else {
            return;
        };
        for _ in 0..gate.asked_by(node, now, &mut self.source) {
            self.nodes[node as usize].offered += 1;
            observer.offered(node);
        }
    }
}

/// Handler of the events that the engine reports. It updates the state of the replication and reports results to the
/// observer.
struct Driver<'a, O> {
    state: &'a mut State,
    observer: &'a mut O,
}

impl<O: Observer> Driver<'_, O> {
    /// Handle the handover of a request to the interface of its node. Called only if transactions under way
    /// are limited.
    fn handed(&mut self, node: u32, now: Cycles, offers: &mut Offers<Tag>) {
        let state = &mut *self.state;
        state.report_offered(node, now, self.observer);
        if state.gate.as_mut().is_some_and(|gate| gate.handed(node)) {
            let (time, packet) = state.next_request(node, now);
            offers.offer(time, packet);
        }
    }

    /// Handle the end of a node's transaction at `time`, now or later: offer the node's next request if it waited for
    /// this end.
    fn ended(&mut self, node: u32, time: Cycles, offers: &mut Offers<Tag>) {
        let state = &mut *self.state;
        if state.gate.as_mut().is_some_and(|gate| gate.ended(node)) {
            let (time, packet) = state.next_request(node, time);
            offers.offer(time, packet);
        }
    }
}

impl<O: Observer> Handler for Driver<'_, O> {
    /// Data that the engine returns with each event of a packet: the node that requested its transaction, and the start
    /// time of the transaction.
    type Tag = Tag;

    /// Handle the generation of a request: report it, and offer the next request of its node.
    #[inline]
    fn generated(&mut self, node: u32, time: Cycles, tag: Tag, offers: &mut Offers<Tag>) {
        if tag.is_response {
            return;
        }
        if self.state.gate.is_some() {
            return self.handed(node, time, offers);
        }
        self.state.nodes[node as usize].offered += 1;
        self.observer.offered(node);
        let (time, packet) = self.state.next_request(node, time);
        offers.offer(time, packet);
    }

    /// Handle the arrival of a packet: answer a request, or complete the transaction.
    #[inline]
    fn delivered(&mut self, delivery: &Delivery<Tag>, offers: &mut Offers<Tag>) {
        let tag = delivery.tag;
        if !tag.is_response {
            self.observer.arrived(&Arrival {
                source: tag.requester,
                latency: delivery.tail - tag.generated,
                network: delivery.tail - delivery.sent,
                links: delivery.links,
                ring_changes: delivery.ring_changes,
                retries: delivery.retries,
            });
            if let Some(symbols) = self.state.lengths.response {
                let tag = Tag {
                    is_response: true,
                    ..tag
                };
                let (node, class) = (delivery.node, Class::Response);
                let time = delivery.tail + self.state.turnaround;
                let router = &mut self.state.router;
                let response = router.packet(node, tag.requester, class, symbols, tag);
                offers.offer(time, response);
                return;
            }
        }
        self.state.nodes[tag.requester as usize].completed += 1;
        let response = tag.is_response.then(|| delivery.tail - tag.generated);
        self.observer.completed(tag.requester, response);
        if tag.is_response {
            self.ended(tag.requester, delivery.tail, offers);
        }
    }

    /// Handle the drop of a packet of `dropped.node`: a request, or a response to another node's request.
    fn dropped(&mut self, dropped: &Dropped<Tag>, offers: &mut Offers<Tag>) {
        self.observer.dropped(dropped.tag.requester);
        if !dropped.tag.is_response {
            self.ended(dropped.node, dropped.time, offers);
        }
    }

    /// Return whether the observer has finished, so that the run may end.
    #[inline]
    fn finished(&self) -> bool {
        self.observer.finished()
    }
}
