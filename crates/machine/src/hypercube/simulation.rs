//! Simulation of a workload of PE demands on a hypercube.

use crate::hypercube::build::Machine;
use crate::hypercube::gate::Gate;
use crate::hypercube::observe::{Class, Flow, Leg, Observer, Started};
use crate::hypercube::operation::{MessageId, MessageState, Open, OpenId};
use isthmus_device::{Busy, IoNode};
use isthmus_kernel::{Cycles, Engine as _, Id, Ran, RunUntil, Slab, Streams};
use isthmus_topology::BroadcastTree;
use isthmus_units::Bytes;
use isthmus_workload::spec::{Arrival, TrafficSpec};
use isthmus_workload::{Demand, Outstanding, Traffic};
use isthmus_wormhole::{Carried, ChannelId, Channels, Delivered, Engine, Handler, Message};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Data that the engine returns with each event of a message: its class, and its sender or state.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tag {
    pub class: Class,
    /// For a PE-PE message the number of the sending PE, for any other message the index of its
    /// [`MessageState`].
    pub value: u32,
}

/// Lengths of each kind of message in flits, and the length of a block in bytes for the devices.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lengths {
    pub message: u32,
    pub request: u32,
    pub block: u32,
    pub block_bytes: u64,
    /// Maximum number of blocks in an I/O message; larger files are split into several messages.
    pub split: u32,
}

/// One replication of a simulation: a hypercube, its traffic, and the messages and demands under
/// way.
#[derive(Debug, Clone)]
pub struct Simulation {
    engine: Engine<Tag>,
    state: State,
    counted_from: Cycles,
    /// Counts of each disk when the counting of busy times started; empty before that.
    disks_before: Vec<DiskCount>,
}

/// Busy times of all channels and disks in an interval of simulated time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Held {
    /// Length of the measured interval in cycles.
    pub cycles: Cycles,
    /// Busy cycles of each channel, summed over its lanes.
    pub channels: Vec<u64>,
    /// Counts of the disk of each I/O node.
    pub disks: Vec<DiskCount>,
}

/// Counters of a disk: busy time, number of requests, and service time of the requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DiskCount {
    /// Number of cycles in which the disk was busy.
    pub cycles: u64,
    /// Number of requests that have arrived at the disk, including waiting ones.
    pub requests: u64,
    /// Service time of all requests that have arrived at the disk, in cycles.
    pub asked: u64,
}

impl DiskCount {
    /// Return the counts of `disk` from the start of the simulation up to cycle `now`.
    fn by(disk: &Busy, now: Cycles) -> Self {
        Self {
            cycles: disk.cycles_by(now),
            requests: disk.uses(),
            asked: disk.total_cycles(),
        }
    }

    /// Return the difference to `before`, earlier counts of the same disk.
    fn since(self, before: &Self) -> Self {
        Self {
            cycles: self.cycles - before.cycles,
            requests: self.requests - before.requests,
            asked: self.asked - before.asked,
        }
    }
}

/// State of a replication except that of the engine: the traffic and the I/O demands under way.
#[derive(Debug, Clone)]
pub(crate) struct State {
    pub machine: Arc<Machine>,
    pub traffic: Traffic,
    pub lengths: Lengths,
    pub io_nodes: Vec<IoNode>,
    pub open: Slab<OpenId, Open>,
    pub messages: Slab<MessageId, MessageState>,
    pub path: Vec<ChannelId>,
    /// Broadcast tree of each root, computed at the first broadcast from the root.
    pub trees: BTreeMap<u32, Arc<BroadcastTree>>,
    /// Number of PEs. A timer with a number below this belongs to a new demand of a PE, a timer
    /// below twice this to the end of a demand, and any other to a message of an I/O demand.
    pub pes: u32,
    pub gate: Gate,
    pub delivered: u64,
}

impl Simulation {
    /// Return a simulation at cycle 0 of the machine under `traffic`, with the random streams of this seed and
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
            // Do not limit a closed loop here: it already limits the demands of each PE.
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
                messages: Slab::new(),
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

    /// Return the simulated machine.
    pub fn machine(&self) -> &Machine {
        &self.state.machine
    }

    /// Return the present cycle: the cycle of the latest event.
    pub fn now(&self) -> Cycles {
        self.engine.now()
    }

    /// Return the number of messages delivered so far.
    pub fn delivered(&self) -> u64 {
        self.state.delivered
    }

    /// Start to count the traffic of each channel and the busy times of channels and disks.
    pub fn count(&mut self) {
        let now = self.engine.now();
        self.engine.channels_mut().count(now);
        self.counted_from = now;
        let disks = self.state.io_nodes.iter().map(IoNode::disk_busy_times);
        self.disks_before = disks.map(|disk| DiskCount::by(disk, now)).collect();
    }

    /// Return the traffic of each channel since [`Simulation::count`], or an empty slice if that was never
    /// called.
    pub fn carried(&self) -> &[Carried] {
        self.engine.channels().carried()
    }

    /// Return the busy times of channels and disks since [`Simulation::count`].
    pub fn held(&self) -> Held {
        let now = self.engine.now();
        let disks = self.state.io_nodes.iter().map(IoNode::disk_busy_times);
        let since = disks.zip(&self.disks_before);
        Held {
            cycles: now - self.counted_from,
            channels: self.engine.channels().held(now),
            disks: since
                .map(|(disk, before)| DiskCount::by(disk, now).since(before))
                .collect(),
        }
    }

    /// Run until the observer has finished or no event is left. Return whether the observer has
    /// finished. If not, any messages under way are deadlocked.
    pub fn run<O: Observer>(&mut self, observer: &mut O) -> bool {
        self.run_until(observer, Cycles::MAX);
        observer.finished()
    }

    /// Run until the observer has finished or all events before cycle `until` are handled.
    pub fn run_until<O: Observer>(&mut self, observer: &mut O, until: Cycles) -> Ran {
        let mut driver = Driver {
            state: &mut self.state,
            observer,
        };
        self.engine.run_until(until, &mut driver)
    }

    /// Return the number of messages that have started and not arrived.
    pub fn under_way(&self) -> u64 {
        self.engine.under_way()
    }
}

/// Handler of the events that the engine reports, with the observer that receives the results.
pub(crate) struct Driver<'a, O> {
    pub state: &'a mut State,
    pub observer: &'a mut O,
}

impl<O: Observer> Handler for Driver<'_, O> {
    /// Data that the engine returns with each event: the class of the message, and its sender or state.
    type Tag = Tag;

    /// Handle a timer: a new demand of a PE, the end of a demand, or the next step of an I/O demand.
    #[inline]
    fn timer(&mut self, engine: &mut Engine<Tag>, timer: u32) {
        let pes = self.state.pes;
        if timer < pes {
            self.demand(engine, timer);
        } else if timer < 2 * pes {
            self.ended(engine, timer - pes);
        } else {
            self.due(engine, MessageId::new(timer - 2 * pes));
        }
    }

    /// Handle the arrival of a message's head: report it, and continue its I/O demand if it has one.
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
            self.delivered_io_message(engine, MessageId::new(delivered.tag.value), &leg);
        }
    }

    /// Report to the observer that a message was granted a channel of its path.
    #[inline]
    fn granted(&mut self, number: u64, hop: u32, time: Cycles) {
        self.observer.granted(number, hop, time);
    }

    /// Return whether the observer has finished, so that the run may end.
    #[inline]
    fn finished(&self) -> bool {
        self.observer.finished()
    }
}

impl<O: Observer> Driver<'_, O> {
    /// Handle a demand that a PE generated one start-up time ago.
    #[inline]
    fn demand(&mut self, engine: &mut Engine<Tag>, pe: u32) {
        let now = engine.now();
        let state = &mut *self.state;
        let mut demand = state.traffic.demand(pe);
        let flow = match &mut demand {
            Demand::Message { to } => {
                // Choose another destination while the chosen PE has failed. The loop ends, because at least
                // two PEs work.
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

    /// Pass a demand to the network: start the messages of a demand that the PE generated in cycle
    /// `asked`.
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

    /// Handle the completion of a demand of a PE at `time`, which is now or in the future.
    #[inline]
    pub(crate) fn complete(&mut self, engine: &mut Engine<Tag>, pe: u32, time: Cycles) {
        if self.state.traffic.is_closed() {
            self.think(engine, pe, time);
        } else if self.state.gate.counts() {
            engine.schedule(time, self.state.pes + pe);
        }
    }

    /// Record that one of a PE's demands has ended, and start its first waiting demand.
    fn ended(&mut self, engine: &mut Engine<Tag>, pe: u32) {
        if let Some((asked, demand)) = self.state.gate.end(pe) {
            self.hand_over(engine, pe, demand, asked);
        }
    }

    /// Schedule the next demand of a PE of a closed loop: a think time after the completion at `time`.
    pub(crate) fn think(&mut self, engine: &mut Engine<Tag>, pe: u32, time: Cycles) {
        let state = &mut *self.state;
        let pause = state.traffic.next(pe) + state.machine.startup();
        engine.schedule(time + pause, pe);
    }

    /// Start a message on the channels in `state.path` and report the start.
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
