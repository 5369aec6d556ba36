//! A workload running on a machine.

use crate::hypercube::build::Machine;
use crate::hypercube::gate::Gate;
use crate::hypercube::observe::{Class, Flow, Leg, Observer, Started};
use crate::hypercube::operation::{Errand, ErrandId, Open, OpenId};
use isthmus_device::{Busy, IoNode};
use isthmus_kernel::{Cycles, Engine as _, Id, Ran, RunUntil, Slab, Streams};
use isthmus_topology::BroadcastTree;
use isthmus_units::Bytes;
use isthmus_workload::spec::{Arrival, TrafficSpec};
use isthmus_workload::{Demand, Outstanding, Traffic};
use isthmus_wormhole::{Carried, ChannelId, Channels, Delivered, Engine, Handler, Message};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What the engine carries with a message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tag {
    pub class: Class,
    /// The sending PE of a PE-PE message, else the errand.
    pub value: u32,
}

/// Lengths in flits, and of a block in bytes for the devices.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lengths {
    pub message: u32,
    pub request: u32,
    pub block: u32,
    pub block_bytes: u64,
    pub split: u32,
}

/// One replication: a machine, its traffic and everything under way.
#[derive(Debug, Clone)]
pub struct Simulation {
    engine: Engine<Tag>,
    state: State,
    counted_from: Cycles,
    /// What each disk had done when counting began; empty if it has not.
    disks_before: Vec<DiskCount>,
}

/// For how long channels and disks were held.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Held {
    /// Length of the window.
    pub cycles: Cycles,
    /// Cycles for each channel, all its lanes together.
    pub channels: Vec<u64>,
    /// What the disk of each I/O node has done.
    pub disks: Vec<DiskCount>,
}

/// What a disk has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DiskCount {
    /// Cycles for which it worked.
    pub cycles: u64,
    /// Requests that have come to it, those that wait included.
    pub requests: u64,
    /// Cycles that these take of it.
    pub asked: u64,
}

impl DiskCount {
    fn by(disk: &Busy, now: Cycles) -> Self {
        Self {
            cycles: disk.cycles_by(now),
            requests: disk.uses(),
            asked: disk.total_cycles(),
        }
    }

    fn less(self, before: &Self) -> Self {
        Self {
            cycles: self.cycles - before.cycles,
            requests: self.requests - before.requests,
            asked: self.asked - before.asked,
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct State {
    pub machine: Arc<Machine>,
    pub traffic: Traffic,
    pub lengths: Lengths,
    pub io_nodes: Vec<IoNode>,
    pub open: Slab<OpenId, Open>,
    pub errands: Slab<ErrandId, Errand>,
    pub path: Vec<ChannelId>,
    /// Broadcast trees by root, made when first used.
    pub trees: BTreeMap<u32, Arc<BroadcastTree>>,
    /// Timers below this are demands of PEs, those below twice as many ends of demands, the others
    /// those of errands.
    pub pes: u32,
    pub gate: Gate,
    pub delivered: u64,
}

impl Simulation {
    /// The machine at cycle 0 under `traffic`, with the random streams of this seed and
    /// replication.
    pub fn new(machine: Arc<Machine>, traffic: &TrafficSpec, seed: u64, replication: u64) -> Self {
        let mut engine = Engine::new(Channels::new(machine.layout().all_lanes()));
        let streams = Streams::new(seed, replication);
        let clock = machine.clock();
        let pes = machine.cube().node_count();
        let io_nodes = (0..machine.placement().io_node_count())
            .map(|node| IoNode::new(streams.stream("io node", u64::from(node))))
            .collect();
        let flits = |size: Bytes| clock.flits(size);
        let lengths = Lengths {
            message: flits(traffic.message),
            request: flits(traffic.request),
            block: flits(traffic.block),
            block_bytes: traffic.block.get(),
            split: traffic.file_blocks_split.max(1),
        };
        let gate = match traffic.arrival {
            // A closed loop keeps to its own number.
            Arrival::Closed { .. } => Gate::new(Outstanding::Unlimited, pes),
            _ => Gate::new(traffic.outstanding, pes),
        };
        let mut traffic = Traffic::new(traffic, clock, pes, streams);
        for pe in (0..pes).filter(|&pe| machine.is_alive(pe)) {
            for _ in 0..traffic.initial() {
                engine.schedule(machine.startup() + traffic.first(pe), pe);
            }
        }
        Self {
            engine,
            state: State {
                machine,
                traffic,
                lengths,
                io_nodes,
                open: Slab::new(),
                errands: Slab::new(),
                path: Vec::new(),
                trees: BTreeMap::new(),
                pes,
                gate,
                delivered: 0,
            },
            counted_from: 0,
            disks_before: Vec::new(),
        }
    }

    /// The machine.
    pub fn machine(&self) -> &Machine {
        &self.state.machine
    }

    /// The present cycle: the last one in which something happened.
    pub fn now(&self) -> Cycles {
        self.engine.now()
    }

    /// Messages delivered so far.
    pub fn delivered(&self) -> u64 {
        self.state.delivered
    }

    /// Counts from now on what each channel carries, and for how long channels are held.
    pub fn count(&mut self) {
        let now = self.engine.now();
        self.engine.channels_mut().count(now);
        self.counted_from = now;
        let disks = self.state.io_nodes.iter().map(IoNode::disk);
        self.disks_before = disks.map(|disk| DiskCount::by(disk, now)).collect();
    }

    /// What each channel has carried since [`Simulation::count`]; empty if never asked for.
    pub fn carried(&self) -> &[Carried] {
        self.engine.channels().carried()
    }

    /// For how long channels and disks were held since [`Simulation::count`].
    pub fn held(&self) -> Held {
        let now = self.engine.now();
        let disks = self.state.io_nodes.iter().map(IoNode::disk);
        let since = disks.zip(&self.disks_before);
        Held {
            cycles: now - self.counted_from,
            channels: self.engine.channels().held(now),
            disks: since
                .map(|(disk, before)| DiskCount::by(disk, now).less(before))
                .collect(),
        }
    }

    /// Goes on until the observer has finished. Returns whether it has; if not, nothing is left
    /// that could happen: the messages under way, if there are any, block one another for ever.
    pub fn run<O: Observer>(&mut self, observer: &mut O) -> bool {
        self.run_until(observer, Cycles::MAX);
        observer.finished()
    }

    /// Goes on until the observer has finished or everything before cycle `until` has happened.
    pub fn run_until<O: Observer>(&mut self, observer: &mut O, until: Cycles) -> Ran {
        let mut driver = Driver {
            state: &mut self.state,
            observer,
        };
        self.engine.run_until(until, &mut driver)
    }

    /// Messages that have started and not arrived.
    pub fn under_way(&self) -> u64 {
        self.engine.under_way()
    }
}

pub(crate) struct Driver<'a, O> {
    pub state: &'a mut State,
    pub observer: &'a mut O,
}

impl<O: Observer> Handler for Driver<'_, O> {
    type Tag = Tag;

    #[inline]
    fn timer(&mut self, engine: &mut Engine<Tag>, timer: u32) {
        let pes = self.state.pes;
        if timer < pes {
            self.demand(engine, timer);
        } else if timer < 2 * pes {
            self.ended(engine, timer - pes);
        } else {
            self.due(engine, ErrandId::new(timer - 2 * pes));
        }
    }

    #[inline]
    fn delivered(&mut self, engine: &mut Engine<Tag>, delivered: &Delivered<Tag>) {
        self.state.delivered += 1;
        let leg = Leg {
            class: delivered.tag.class,
            number: delivered.number,
            ready: delivered.ready,
            granted: delivered.granted,
            header: delivered.header,
            tail: delivered.tail,
            hops: delivered.hops,
        };
        self.observer.arrived(&leg);
        if leg.class == Class::PePe {
            self.complete(engine, delivered.tag.value, leg.tail);
        } else {
            self.delivered_errand(engine, ErrandId::new(delivered.tag.value), &leg);
        }
    }

    #[inline]
    fn granted(&mut self, number: u64, hop: u32, time: Cycles) {
        self.observer.granted(number, hop, time);
    }

    #[inline]
    fn finished(&self) -> bool {
        self.observer.finished()
    }
}

impl<O: Observer> Driver<'_, O> {
    /// A PE has a demand, generated one start-up ago.
    #[inline]
    fn demand(&mut self, engine: &mut Engine<Tag>, pe: u32) {
        let now = engine.now();
        let state = &mut *self.state;
        let mut demand = state.traffic.demand(pe);
        let flow = match &mut demand {
            Demand::Message { to } => {
                // Nobody is sent to a dead PE; two working ones are left at least.
                while !state.machine.is_alive(*to) {
                    *to = state.traffic.receiver(pe);
                }
                Flow::Messages
            }
            _ => Flow::Io,
        };
        self.observer.offered(flow, now);
        if self.state.gate.admits(pe, now, demand) {
            self.hand_over(engine, pe, demand, now);
        }
        let state = &mut *self.state;
        if !state.traffic.is_closed() {
            engine.schedule(now + state.traffic.next(pe), pe);
        }
    }

    /// Hands a demand to the network that was there at `asked`.
    #[inline]
    fn hand_over(&mut self, engine: &mut Engine<Tag>, pe: u32, demand: Demand, asked: Cycles) {
        let Demand::Message { to } = demand else {
            return self.io_demand(engine, pe, demand, asked);
        };
        let state = &mut *self.state;
        state.path.clear();
        state.machine.path_pe_pe(pe, to, &mut state.path);
        let length = state.lengths.message;
        let tag = Tag {
            class: Class::PePe,
            value: pe,
        };
        self.start(engine, tag, length, None);
    }

    /// A demand of a PE is complete at `time`, now or later.
    #[inline]
    pub(crate) fn complete(&mut self, engine: &mut Engine<Tag>, pe: u32, time: Cycles) {
        if self.state.traffic.is_closed() {
            self.think(engine, pe, time);
        } else if self.state.gate.counts() {
            engine.schedule(time, self.state.pes + pe);
        }
    }

    /// A demand of a PE has been completed: the first that waits may go.
    fn ended(&mut self, engine: &mut Engine<Tag>, pe: u32) {
        if let Some((asked, demand)) = self.state.gate.end(pe) {
            self.hand_over(engine, pe, demand, asked);
        }
    }

    /// After a completion at `time`, a PE of a closed loop thinks and asks again.
    pub(crate) fn think(&mut self, engine: &mut Engine<Tag>, pe: u32, time: Cycles) {
        let state = &mut *self.state;
        let pause = state.traffic.next(pe) + state.machine.startup();
        engine.schedule(time + pause, pe);
    }

    #[inline]
    pub(crate) fn start(
        &mut self,
        engine: &mut Engine<Tag>,
        tag: Tag,
        length: u32,
        cause: Option<u64>,
    ) {
        let path = &self.state.path;
        let number = engine.start(Message { length, path, tag });
        self.observer.started(&Started {
            number,
            class: tag.class,
            time: engine.now(),
            length,
            path,
            cause,
        });
    }
}
