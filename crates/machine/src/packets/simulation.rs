//! Jobs running on a network of packets.

use super::network::{Network, NetworkError};
use super::spec::Switching;
use crate::jobs::{Completed, Jobs, Observer, Packet, Phase, Replication, Stored};
use crate::storage::{JobStores, StationCount, is_answer};
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
    /// What stands behind the servers.
    behind: Option<Behind>,
    /// Whether who writes knows that a message is complete by its last acknowledgement, as with circuits.
    /// With cut-through it does when the last byte is there, however long the links are.
    acknowledged: bool,
}

/// Devices behind servers, and how these tell that one has taken what was written.
#[derive(Debug)]
struct Behind {
    stores: JobStores,
    /// The queue of a server's interface in which answers wait.
    queue: u32,
    /// Bytes of an answer.
    bytes: u64,
}

impl Behind {
    /// What the server of a write tells its client.
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
        let cycle_us = network.tick_us();
        let stores = JobStores::new(traffic, layout, cycle_us, ways.node_count(), streams);
        let behind = stores.map(|stores| Behind {
            stores,
            queue: most,
            bytes: network.spec().nic.request.get(),
        });
        let queues_of_node = most + u32::from(behind.is_some());
        let rules = network.rules(queues_of_node, ways.classes());
        let ties = streams.seed("adaptive ties", 0);
        let mut simulation = Self {
            engine: Engine::new(Arc::clone(ways), rules, ties)?,
            state: State {
                jobs,
                queues,
                behind,
                acknowledged: matches!(network.spec().switching, Switching::Circuit { .. }),
            },
        };
        let State { jobs, queues, .. } = &mut simulation.state;
        jobs.begin();
        for demand in jobs.take() {
            let queue = queues[demand.process as usize];
            simulation.engine.offer(demand.time, message(demand, queue));
        }
        Ok(simulation)
    }

    /// What links and network interfaces have done since [`Replication::restart_counts`].
    pub fn counted(&self) -> Counters {
        self.engine.counted()
    }
}

impl<W: Ways> Replication for Simulation<W> {
    fn now(&self) -> Cycles {
        self.engine.now()
    }

    fn under_way(&self) -> u64 {
        self.engine.open()
    }

    fn run_until<O: Observer>(&mut self, observer: &mut O, until: Cycles) -> bool {
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

    fn open_phases(&self) -> Vec<Phase> {
        self.state.jobs.open_phases(self.engine.now())
    }

    fn restart_counts(&mut self) {
        self.engine.count_from_now();
        let now = self.engine.now();
        if let Some(behind) = &mut self.state.behind {
            behind.stores.restart_counts(now);
        }
    }

    fn counted_behind(&self) -> Vec<StationCount> {
        let behind = self.state.behind.as_ref();
        let now = self.engine.now();
        behind.map_or_else(Vec::new, |behind| behind.stores.counted(now))
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
    /// Whether a message that has arrived is a write for a device or the answer to one. The write is not
    /// complete before the answer has come to its client.
    fn is_taken_behind(
        &mut self,
        delivery: &Delivery<Demand>,
        offers: &mut Offers<Demand>,
    ) -> bool {
        let demand = delivery.message.tag;
        let (state, now) = (&mut *self.state, delivery.arrived);
        let Some(behind) = state.behind.as_mut() else {
            return false;
        };
        if is_answer(delivery.message.from, &demand) {
            (state.jobs).tell_offered(demand.process, now, self.observer);
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
            state.jobs.completed(now, &demand);
            self.tell_and_offer(offers);
            return true;
        }
        if demand.operation == Operation::Read {
            return false;
        }
        let Some(done) = behind.stores.done(now, &demand) else {
            return false;
        };
        offers.offer(done, behind.answer(demand));
        true
    }

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

    /// What a device is to read is there when it is done.
    fn requested(&mut self, time: Cycles, message: &Message<Demand>) -> Cycles {
        let behind = self.state.behind.as_mut();
        let done = behind.and_then(|behind| behind.stores.done(time, &message.tag));
        done.unwrap_or(time)
    }

    fn delivered(&mut self, delivery: &Delivery<Demand>, offers: &mut Offers<Demand>) {
        let demand = delivery.message.tag;
        if self.state.behind.is_some() && self.is_taken_behind(delivery, offers) {
            return;
        }
        let State {
            jobs, acknowledged, ..
        } = &mut *self.state;
        let completed = if *acknowledged {
            delivery.completed
        } else {
            delivery.arrived
        };
        jobs.tell_offered(demand.process, delivery.arrived, self.observer);
        self.observer.completed(&Completed {
            job: demand.job,
            response: completed - demand.asked,
            network: completed - delivery.generated,
        });
        jobs.arrived(delivery.arrived, &demand);
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
        if state.jobs.several(&demand) && !is_answer(message.from, &demand) {
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
                answer: is_answer(packet.from, &packet.tag),
            });
        }
    }

    #[inline]
    fn finished(&self) -> bool {
        self.observer.finished()
    }
}
