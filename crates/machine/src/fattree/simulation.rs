//! Jobs running on a fat tree.

use crate::fattree::build::{Machine, MachineError};
use crate::fattree::observe::{Completed, Observer, Packet};
use isthmus_fattree::{Delivery, Engine, Handler, Kind, Message, Offers, PacketSeen};
use isthmus_kernel::{Cycles, Streams};
use isthmus_workload::jobs::spec::JobsTraffic;
use isthmus_workload::jobs::{Demand, JobsSource, Layout, Operation};
use std::sync::Arc;

/// One replication: a fat tree, its jobs and everything under way.
#[derive(Debug)]
pub struct Simulation {
    engine: Engine<Demand>,
    state: State,
}

#[derive(Debug)]
struct State {
    source: JobsSource,
    /// Of each process the queue of its node's interface.
    queues: Vec<u32>,
    /// Of each process how many of its messages have been told as offered.
    told: Vec<u64>,
    /// Messages on their way to the engine.
    demands: Vec<Demand>,
}

impl Simulation {
    /// The tree at tick 0 under `traffic`, whose jobs lie where `layout` says, with the random
    /// streams of this seed and replication.
    ///
    /// # Errors
    /// More jobs on one node than its interface has queues for.
    pub fn new(
        machine: &Arc<Machine>,
        traffic: &JobsTraffic,
        layout: &Layout,
        seed: u64,
        replication: u64,
    ) -> Result<Self, MachineError> {
        let streams = Streams::new(seed, replication);
        let source = JobsSource::new(traffic, layout, machine.tick(), streams);
        let mut on_node = vec![0u32; machine.tree().node_count() as usize];
        let queues: Vec<u32> = source
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
            engine: Engine::new(machine.tree(), machine.rules(most), ties)?,
            state: State {
                told: vec![0; queues.len()],
                queues,
                source,
                demands: Vec::new(),
            },
        };
        let state = &mut simulation.state;
        state.source.begin(&mut state.demands);
        for demand in state.demands.drain(..) {
            let queue = state.queues[demand.process as usize];
            simulation.engine.send(demand.time, message(demand, queue));
        }
        Ok(simulation)
    }

    /// The present tick.
    pub fn now(&self) -> Cycles {
        self.engine.now()
    }

    /// Messages offered to the network and not delivered.
    pub fn under_way(&self) -> u64 {
        self.engine.under_way().0 as u64
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
            for process in 0..self.state.told.len() as u32 {
                self.state.tell_offered(process, now, observer);
            }
        }
        self.under_way() > 0
    }

    /// Counts what links carry from now on.
    pub fn restart_counts(&mut self) {
        self.engine.reset_counters();
    }

    /// Ticks for which the transmitter of each link was taken.
    pub fn busy(&self) -> Vec<u64> {
        self.engine.counters().busy
    }

    /// Bytes of data that have arrived at each node.
    pub fn arrived_bytes(&self) -> Vec<u64> {
        self.engine.counters().bytes
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

impl State {
    /// Tells of the messages that a process has asked for by now.
    fn tell_offered<O: Observer>(&mut self, process: u32, now: Cycles, observer: &mut O) {
        let asked = self.source.asked_by(process, now);
        let job = self.source.processes()[process as usize].job;
        let told = &mut self.told[process as usize];
        for _ in *told..asked {
            observer.offered(job);
        }
        *told = asked.max(*told);
    }
}

struct Driver<'a, O> {
    state: &'a mut State,
    observer: &'a mut O,
}

impl<O: Observer> Handler for Driver<'_, O> {
    type Tag = Demand;

    fn delivered(&mut self, delivery: &Delivery<Demand>, offers: &mut Offers<Demand>) {
        let demand = delivery.message.tag;
        let state = &mut *self.state;
        state.tell_offered(demand.process, delivery.arrived, self.observer);
        self.observer.completed(&Completed {
            job: demand.job,
            response: delivery.completed - demand.asked,
            network: delivery.completed - delivery.generated,
        });
        if demand.operation == Operation::Write {
            let arrived = delivery.arrived;
            state.source.arrived(arrived, &demand, &mut state.demands);
        }
        let completed = delivery.completed;
        (state.source).completed(completed, demand.process, &mut state.demands);
        for demand in state.demands.drain(..) {
            let queue = state.queues[demand.process as usize];
            offers.send(demand.time, message(demand, queue));
        }
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
