//! Simulation of jobs on a packet network.

use super::network::{Network, NetworkError};
use super::spec::Switching;
use crate::jobs::{Completed, Jobs, Observer, Open, Packet, Replication, Stored, Turns};
use crate::storage::{JobStores, StationCount, is_answer};
use isthmus_kernel::{Cycles, Engine as _, RunUntil, Streams};
use isthmus_packet::routes::Routes;
use isthmus_packet::{Counters, Delivery, Engine, Handler, Kind, Message, Offers, PacketSeen};
use isthmus_workload::jobs::spec::JobsTraffic;
use isthmus_workload::jobs::{Demand, Layout, Operation};
use std::sync::Arc;

/// One replication of a simulation: a packet network, its jobs and everything under way.
#[derive(Debug)]
pub struct Simulation<W: Routes> {
    engine: Engine<Demand, W>,
    state: State,
}

/// State of a replication except that of the engine: the jobs, and the devices and queues of servers.
#[derive(Debug)]
struct State {
    jobs: Jobs,
    /// For each process, the number of the queue that it uses in the network interface of its node.
    queues: Vec<u32>,
    /// Storage devices of the I/O servers; `None` if they have no devices.
    devices: Option<ServerDevices>,
    /// Queues of I/O servers that serve one request at a time; `None` if servers serve all requests at once.
    turns: Option<Turns>,
    /// Number of incomplete messages that are not in the engine: messages that wait for their server,
    /// and arrived messages whose completion is due later.
    outside_engine: u64,
    /// Whether a write is complete when its sender has the last acknowledgement, as with circuits. With cut-through
    /// it is complete when its last byte arrives.
    acknowledged: bool,
}

/// Storage devices of I/O servers, and the answers that servers send when a device has stored a write.
#[derive(Debug)]
struct ServerDevices {
    stores: JobStores,
    /// Number of the queue in a server's interface for the server's answers.
    queue: u32,
    /// Length of an answer to a write in bytes.
    bytes: u64,
}

impl ServerDevices {
    /// Return the server's answer to the client of a write.
    fn answer(&self, demand: Demand) -> Message<Demand> {
        Message {
            from: demand.to,
            to: demand.from,
            bytes: self.bytes,
            kind: Kind::Write,
            queue: self.queue,
            tag: demand,
        }
    }
}

impl<W: Routes> Simulation<W> {
    /// Return a simulation at tick 0 of a network with these routes under `traffic`, with jobs on the nodes of
    /// `layout` and the random streams of this seed and replication.
    ///
    /// # Errors
    /// If a node has more jobs than its interface can have queues.
    pub fn new(
        network: &Network,
        routes: &Arc<W>,
        traffic: &JobsTraffic,
        layout: &Layout,
        seed: u64,
        replication: u64,
    ) -> Result<Self, NetworkError> {
        let streams = Streams::new(seed, replication);
        let jobs = Jobs::new(traffic, layout, network.tick(), streams);
        let mut on_node = vec![0u32; routes.node_count() as usize];
        let queues: Vec<u32> = jobs
            .processes()
            .iter()
            .map(|process| {
                let taken = &mut on_node[process.node as usize];
                *taken += 1;
                *taken - 1
            })
            .collect();
        let most = on_node.iter().copied().max().unwrap_or(0).max(1);
        let cycle_us = network.tick_us();
        let stores = JobStores::new(traffic, layout, cycle_us, routes.node_count(), streams);
        let devices = stores.map(|stores| ServerDevices {
            stores,
            queue: most,
            bytes: network.spec().nic.request.get(),
        });
        let queues_of_node = most + u32::from(devices.is_some());
        let rules = network.rules(queues_of_node, routes.classes());
        let ties = streams.seed("adaptive ties", 0);
        let mut simulation = Self {
            engine: Engine::new(Arc::clone(routes), rules, ties)?,
            state: State {
                jobs,
                queues,
                devices,
                turns: Turns::new(traffic, layout, routes.node_count()),
                outside_engine: 0,
                acknowledged: matches!(network.spec().switching, Switching::Circuit { .. }),
            },
        };
        simulation.state.jobs.begin();
        simulation.state.offer(0, &mut simulation.engine);
        Ok(simulation)
    }

    /// Return the counts of links and network interfaces since [`Replication::restart_counts`].
    pub fn counted(&self) -> Counters {
        self.engine.counted()
    }
}

impl<W: Routes> Replication for Simulation<W> {
    /// Return the present time of the engine, in ticks.
    fn now(&self) -> Cycles {
        self.engine.now()
    }

    /// Return the number of incomplete messages, in the engine and outside of it.
    fn under_way(&self) -> u64 {
        self.engine.open() + self.state.outside_engine
    }

    /// Run the engine up to tick `until` or until the observer has finished. Return whether any message is
    /// under way.
    fn run_until<O: Observer>(&mut self, observer: &mut O, until: Cycles) -> bool {
        let mut driver = Driver {
            state: &mut self.state,
            observer,
        };
        self.engine.run_until(until, &mut driver);
        if !observer.finished() {
            let now = self.engine.now();
            self.state.jobs.report_all_offered(now, observer);
        }
        self.under_way() > 0
    }

    /// Return the phases and messages of jobs that have started and not ended.
    fn open(&self) -> Open {
        self.state.jobs.open(self.engine.now())
    }

    /// Reset the counters of links, interfaces and storage devices.
    fn restart_counts(&mut self) {
        self.engine.count_from_now();
        let now = self.engine.now();
        if let Some(devices) = &mut self.state.devices {
            devices.stores.restart_counts(now);
        }
    }

    /// Return the counts of the storage devices since the last reset; empty without devices.
    fn counted_behind(&self) -> Vec<StationCount> {
        let devices = self.state.devices.as_ref();
        let now = self.engine.now();
        devices.map_or_else(Vec::new, |devices| devices.stores.counted(now))
    }
}

/// Convert a job's message to a message of the packet engine, sent through this queue of the network
/// interface.
fn message(demand: &Demand, queue: u32) -> Message<Demand> {
    Message {
        from: demand.from,
        to: demand.to,
        bytes: demand.bytes,
        kind: match demand.operation {
            Operation::Write => Kind::Write,
            Operation::Read => Kind::Read,
        },
        queue,
        tag: *demand,
    }
}

/// Handler of the events that the engine reports, with the observer that receives the results.
struct Driver<'a, O> {
    state: &'a mut State,
    observer: &'a mut O,
}

impl<O: Observer> Driver<'_, O> {
    /// Handle an arrived message if it is a write to a device or the answer to such a write, and return whether
    /// it is. The write is complete when the answer arrives at its client.
    fn handle_device_write(
        &mut self,
        delivery: &Delivery<Demand>,
        offers: &mut Offers<Demand>,
    ) -> bool {
        let demand = delivery.message.tag;
        let (state, now) = (&mut *self.state, delivery.arrived);
        let Some(devices) = state.devices.as_mut() else {
            return false;
        };
        if is_answer(delivery.message.from, &demand) {
            (state.jobs).report_offered(demand.process, now, self.observer);
            self.observer.stored(&Stored {
                job: demand.job,
                client: demand.from,
                bytes: demand.bytes,
            });
            self.observer.completed(&Completed {
                job: demand.job,
                response: now - demand.asked,
                network: now - demand.time,
            });
            self.complete(now, &demand, offers);
            return true;
        }
        if demand.operation == Operation::Read {
            return false;
        }
        let Some(done) = devices.stores.done(now, &demand) else {
            return false;
        };
        offers.offer(done, devices.answer(demand));
        true
    }

    /// Handle the completion of a message at `time`: its server starts the next request, and its process
    /// continues.
    #[inline]
    fn complete(&mut self, time: Cycles, demand: &Demand, offers: &mut Offers<Demand>) {
        if self.state.is_in_turn(demand) {
            self.state.serve_next(time, demand.to, offers);
        }
        self.state.jobs.completed(time, demand);
        self.report_and_offer(time, offers);
    }

    /// Report the phases that have ended, and offer the messages that follow to the engine.
    #[inline]
    fn report_and_offer(&mut self, now: Cycles, offers: &mut Offers<Demand>) {
        self.state.jobs.report_phases(self.observer);
        self.state.offer(now, offers);
    }
}

/// Interface to the engine for new messages and timers, both from outside and from within a handler.
trait MessageSink {
    /// Offer a message that is handed to its interface at `time`.
    fn offer(&mut self, time: Cycles, message: Message<Demand>);
    /// Set a timer at `node` for `time`, with the job's message `demand` as its tag.
    fn set_timer(&mut self, time: Cycles, node: u32, demand: Demand);
}

impl MessageSink for Offers<Demand> {
    /// Offer a message to the engine from within a handler of its events.
    #[inline]
    fn offer(&mut self, time: Cycles, message: Message<Demand>) {
        self.offer(time, message);
    }

    /// Set a timer of the engine for `node` at `time`. Called by a handler of the engine's events.
    #[inline]
    fn set_timer(&mut self, time: Cycles, node: u32, demand: Demand) {
        self.remind(time, node, demand);
    }
}

impl<W: Routes> MessageSink for Engine<Demand, W> {
    /// Offer a message to the engine from outside of its handlers.
    fn offer(&mut self, time: Cycles, message: Message<Demand>) {
        isthmus_kernel::Engine::offer(self, time, message);
    }

    /// Set a timer of the engine from outside of its handlers.
    fn set_timer(&mut self, time: Cycles, node: u32, demand: Demand) {
        self.remind(time, node, demand);
    }
}

impl State {
    /// Offer the messages that the jobs have generated to the engine.
    #[inline]
    fn offer(&mut self, now: Cycles, sink: &mut impl MessageSink) {
        if self.turns.is_some() {
            return self.offer_in_turn(now, sink);
        }
        let queues = &self.queues;
        self.jobs.pass_on(|demand| {
            let queue = queues[demand.process as usize];
            sink.offer(demand.time, message(demand, queue));
        });
    }

    /// Offer messages to the engine if each server serves one request at a time. Offering a message may generate
    /// further messages at the present time, so repeat until there are none.
    fn offer_in_turn(&mut self, now: Cycles, sink: &mut impl MessageSink) {
        loop {
            let mut demands: Vec<Demand> = Vec::new();
            self.jobs.pass_on(|&demand| demands.push(demand));
            if demands.is_empty() {
                return;
            }
            for demand in demands {
                if !self.is_in_turn(&demand) {
                    let queue = self.queues[demand.process as usize];
                    sink.offer(demand.time, message(&demand, queue));
                    continue;
                }
                self.outside_engine += 1;
                if demand.time > now {
                    sink.set_timer(demand.time, demand.from, demand);
                } else {
                    self.ask(now, demand, sink);
                }
            }
        }
    }

    /// Return whether the message's server takes one message at a time, so that the message waits for its turn.
    #[inline]
    fn is_in_turn(&self, demand: &Demand) -> bool {
        let turns = self.turns.as_ref();
        turns.is_some_and(|turns| turns.takes_turns(demand))
    }

    /// Start a message if its server is free, else add it to the server's queue. The message is due now or later.
    fn ask(&mut self, now: Cycles, demand: Demand, sink: &mut impl MessageSink) {
        if self.jobs.several(&demand) {
            self.jobs.handed(now, &demand);
        }
        let turns = self.turns.as_mut();
        if let Some(demand) = turns.and_then(|turns| turns.ask(demand)) {
            self.begin(now, demand, sink);
        }
    }

    /// Start the next request of a server that has served one.
    fn serve_next(&mut self, now: Cycles, server: u32, sink: &mut impl MessageSink) {
        let next = self.turns.as_mut().and_then(|turns| turns.done(server));
        if let Some(next) = next {
            self.begin(now, next, sink);
        }
    }

    /// Pass a message to the engine now. The caller ensures that the I/O server that serves it is free.
    fn begin(&mut self, now: Cycles, demand: Demand, sink: &mut impl MessageSink) {
        self.outside_engine -= 1;
        let queue = self.queues[demand.process as usize];
        sink.offer(now, message(&demand, queue));
    }
}

impl<O: Observer> Handler for Driver<'_, O> {
    /// Data that the engine returns with each event of a message: the job's message.
    type Tag = Demand;

    /// Handle the arrival of a read request at its server. Return the time at which the device has read the data;
    /// `time` if the server has no device.
    fn read_requested(&mut self, time: Cycles, message: &Message<Demand>) -> Cycles {
        let devices = self.state.devices.as_mut();
        let done = devices.and_then(|devices| devices.stores.done(time, &message.tag));
        done.unwrap_or(time)
    }

    /// Handle the arrival of the last data of a message: report it, and complete the message now or at its
    /// acknowledgement.
    fn delivered(&mut self, delivery: &Delivery<Demand>, offers: &mut Offers<Demand>) {
        let demand = &delivery.message.tag;
        if self.state.devices.is_some() && self.handle_device_write(delivery, offers) {
            return;
        }
        let waits = self.state.is_in_turn(demand);
        let State {
            jobs,
            acknowledged,
            outside_engine,
            ..
        } = &mut *self.state;
        let completed = if *acknowledged {
            delivery.completed
        } else {
            delivery.arrived
        };
        jobs.report_offered(demand.process, delivery.arrived, self.observer);
        self.observer.completed(&Completed {
            job: demand.job,
            response: completed - demand.asked,
            network: completed - demand.time,
        });
        jobs.arrived(delivery.arrived, demand);
        if completed > delivery.arrived && (waits || jobs.in_order(demand)) {
            *outside_engine += u64::from(waits);
            // If messages wait for servers, set the timer at the node of the server: a timer at the node of a client
            // then means that a waiting message is due.
            let node = if waits { demand.to } else { demand.from };
            offers.remind(completed, node, *demand);
            self.report_and_offer(delivery.arrived, offers);
        } else {
            self.complete(completed, demand, offers);
        }
    }

    /// Handle the event that a message was generated: it was handed to its interface, and its process may now generate
    /// the next one.
    #[inline]
    fn generated(&mut self, time: Cycles, message: &Message<Demand>, offers: &mut Offers<Demand>) {
        let (demand, state) = (&message.tag, &mut *self.state);
        let is_first = || !is_answer(message.from, demand) && !state.is_in_turn(demand);
        if state.jobs.several(demand) && is_first() {
            state.jobs.handed(time, demand);
            state.offer(time, offers);
        }
    }

    /// Handle a timer: an arrived message is complete, or a message that waits for its server is due.
    fn reminded(&mut self, time: Cycles, node: u32, demand: Demand, offers: &mut Offers<Demand>) {
        let waits = self.state.is_in_turn(&demand);
        if waits && node == demand.from {
            self.state.ask(time, demand, offers);
            return self.report_and_offer(time, offers);
        }
        self.state.outside_engine -= u64::from(waits);
        self.complete(time, &demand, offers);
    }

    /// Report the arrival of a packet to the observer, unless it is the request of a read.
    #[inline]
    fn packet(&mut self, packet: &PacketSeen<'_, Demand>) {
        if !packet.request {
            self.observer.packet(&Packet {
                job: packet.tag.job,
                client: packet.tag.from,
                from: packet.from,
                to: packet.to,
                bytes: packet.payload.into(),
                latency: packet.arrived - packet.injected,
                answer: is_answer(packet.from, &packet.tag),
            });
        }
    }

    /// Return whether the observer has finished, so that the run may end.
    #[inline]
    fn finished(&self) -> bool {
        self.observer.finished()
    }
}
