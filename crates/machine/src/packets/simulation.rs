//! Jobs running on a network of packets.

use super::network::{Network, NetworkError};
use crate::jobs::{Completed, Jobs, Observer, Packet};
use isthmus_kernel::{Cycles, Engine as _, RunUntil, Streams};
use isthmus_packet::ways::Ways;
use isthmus_packet::{Counters, Delivery, Engine, Handler, Kind, Message, Offers, PacketSeen};
use isthmus_workload::jobs::spec::JobsTraffic;
use isthmus_workload::jobs::{Demand, Layout, Operation};
use std::sync::Arc;

/// One replication: a network, its jobs and everything under way.
#[derive(Debug)]
pub struct Simulation<W: Ways> {
    engine: Engine<Demand, W>,
    state: State,
}

#[derive(Debug)]
struct State {
    jobs: Jobs,
    /// Of each process the queue of its node's interface.
    queues: Vec<u32>,
}

impl<W: Ways> Simulation<W> {
    /// A network of these ways at tick 0 under `traffic`, whose jobs lie where `layout` says, with the random
    /// streams of this seed and replication.
    ///
    /// # Errors
    /// More jobs on one node than its interface has queues for.
    pub fn new(
        network: &Network,
        ways: &Arc<W>,
        traffic: &JobsTraffic,
        layout: &Layout,
        seed: u64,
        replication: u64,
    ) -> Result<Self, NetworkError> {
        let streams = Streams::new(seed, replication);
        let jobs = Jobs::new(traffic, layout, network.tick(), streams);
        let mut on_node = vec![0u32; ways.node_count() as usize];
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
        let ties = streams.seed("adaptive ties", 0);
        let mut simulation = Self {
            engine: Engine::new(Arc::clone(ways), network.rules(most, ways.classes()), ties)?,
            state: State { jobs, queues },
        };
        let State { jobs, queues } = &mut simulation.state;
        jobs.begin();
        for demand in jobs.take() {
            let queue = queues[demand.process as usize];
            simulation.engine.offer(demand.time, message(demand, queue));
        }
        Ok(simulation)
    }

    /// The present tick.
    pub fn now(&self) -> Cycles {
        self.engine.now()
    }

    /// Messages offered to the network and not delivered.
    pub fn under_way(&self) -> u64 {
        self.engine.open()
    }

    /// Goes on until the observer has finished or everything before tick `until` has happened.
    /// Returns whether anything is under way still.
    pub fn run_until<O: Observer>(&mut self, observer: &mut O, until: Cycles) -> bool {
        let mut driver = Driver {
            state: &mut self.state,
            observer,
        };
        self.engine.run_until(until, &mut driver);
        if !observer.finished() {
            let now = self.engine.now();
            self.state.jobs.tell_all_offered(now, observer);
        }
        self.under_way() > 0
    }

    /// Counts from now on what links and network interfaces do.
    pub fn restart_counts(&mut self) {
        self.engine.count_from_now();
    }

    /// What links and network interfaces have done since [`Simulation::restart_counts`].
    pub fn counted(&self) -> Counters {
        self.engine.counted()
    }
}

fn message(demand: Demand, queue: u32) -> Message<Demand> {
    Message {
        from: demand.from,
        to: demand.to,
        bytes: demand.bytes,
        kind: match demand.operation {
            Operation::Write => Kind::Write,
            Operation::Read => Kind::Read,
        },
        queue,
        tag: demand,
    }
}

struct Driver<'a, O> {
    state: &'a mut State,
    observer: &'a mut O,
}

impl<O: Observer> Driver<'_, O> {
    /// Tells of the phases that have ended and offers the messages that follow.
    #[inline]
    fn tell_and_offer(&mut self, offers: &mut Offers<Demand>) {
        self.state.jobs.tell_phases(self.observer);
        self.state.offer(offers);
    }
}

impl State {
    /// Hands on the messages that the jobs have given.
    #[inline]
    fn offer(&mut self, offers: &mut Offers<Demand>) {
        for demand in self.jobs.take() {
            let queue = self.queues[demand.process as usize];
            offers.offer(demand.time, message(demand, queue));
        }
    }
}

impl<O: Observer> Handler for Driver<'_, O> {
    type Tag = Demand;

    fn delivered(&mut self, delivery: &Delivery<Demand>, offers: &mut Offers<Demand>) {
        let demand = delivery.message.tag;
        let jobs = &mut self.state.jobs;
        jobs.tell_offered(demand.process, delivery.arrived, self.observer);
        self.observer.completed(&Completed {
            job: demand.job,
            response: delivery.completed - demand.asked,
            network: delivery.completed - delivery.generated,
        });
        jobs.arrived(delivery.arrived, &demand);
        let completed = delivery.completed;
        if completed > delivery.arrived && jobs.in_order(&demand) {
            offers.remind(completed, demand.from, demand);
        } else {
            jobs.completed(completed, &demand);
        }
        self.tell_and_offer(offers);
    }

    #[inline]
    fn generated(&mut self, time: Cycles, message: &Message<Demand>, offers: &mut Offers<Demand>) {
        let (demand, state) = (message.tag, &mut *self.state);
        if state.jobs.in_order(&demand) {
            state.jobs.handed(time, &demand);
            state.offer(offers);
        }
    }

    /// What has arrived before is complete.
    fn reminded(&mut self, time: Cycles, _: u32, demand: Demand, offers: &mut Offers<Demand>) {
        self.state.jobs.completed(time, &demand);
        self.tell_and_offer(offers);
    }

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
            });
        }
    }

    #[inline]
    fn finished(&self) -> bool {
        self.observer.finished()
    }
}
