//! Jobs on a hypercube. Their messages are split into worms.
//!
//! A message between PEs is a sequence of worms straight from one PE to the other. A request precedes each
//! worm of a read. Worms to I/O nodes follow section 4.3 of the hypercube paper: they go to the I/O node that
//! serves the PE, which forwards a request or a write to the I/O node that has the data. The data of a read
//! returns as one worm across both networks. Each worm starts after a start-up time.
//!
//! A worm carries up to one transfer unit. A message has up to [`Transfer::worms`] units under way; the next
//! one starts when one ends. A unit ends when its last flit arrives at the destination, or when the device of
//! an I/O node has stored its data. Its PE can react in the same cycle, because the paper's machine has
//! no acknowledgements.

use crate::hypercube::build::Machine;
use crate::hypercube::operation::Step;
use crate::hypercube::spec::Transfer;
use crate::jobs::{Completed, Jobs, Observer, Open, Packet, Replication, Stored};
use crate::storage::{JobStores, StationCount};
use isthmus_kernel::{Cycles, Engine as _, Id, RunUntil, Slab, Streams, id};
use isthmus_units::Bytes;
use isthmus_workload::jobs::spec::JobsTraffic;
use isthmus_workload::jobs::{Demand, Layout, Operation};
use isthmus_wormhole::{Carried, ChannelId, Channels, Delivered, Engine, Handler, Message as Worm};
use std::sync::Arc;

id! {
    /// Index of a message in the list of incomplete messages.
    struct MessageId;
    /// Index of a transfer unit (part of a message) that is on its way.
    struct TransferUnitId;
}

/// A message of a job that was generated and is not complete.
#[derive(Debug, Clone, Copy)]
struct Message {
    demand: Demand,
    /// Number of transfer units of the message that have not started.
    unsent: u64,
    /// Data of the transfer units that have not started, in bytes.
    unsent_bytes: u64,
    /// Number of transfer units of the message that have not ended, including those that have not started.
    open: u64,
}

/// Sender and receiver of a worm (a message of the wormhole network).
#[derive(Debug, Clone, Copy)]
enum Leg {
    /// The worm travels from one processing element (PE) to another.
    Between { from: u32, to: u32 },
    /// The worm travels to or from an I/O node, as one step of an I/O request.
    Io(Step),
}

/// Event for which a transfer unit (part of a message) waits.
#[derive(Debug, Clone, Copy)]
enum Stage {
    /// The transfer unit waits for the time at which its message is handed to the network.
    Hand,
    /// The transfer unit waits for the time at which its next worm (network message) is sent.
    Send,
    /// The transfer unit waits for the arrival of the tail of its worm.
    Arrive,
    /// The transfer unit waits until a storage device has stored its data.
    Store,
}

/// A transfer unit (part of a message) that is on its way, and its current step.
#[derive(Debug, Clone, Copy)]
struct TransferUnit {
    message: MessageId,
    stage: Stage,
    leg: Leg,
    /// Data of the transfer unit in bytes, even while only a request for it travels.
    bytes: u64,
    /// Cycle in which the first worm with data of the transfer unit started.
    started: Cycles,
}

/// One replication of a simulation: the state of a hypercube, of its jobs, and of all messages in flight.
#[derive(Debug)]
pub struct JobsSimulation {
    engine: Engine<TransferUnitId>,
    state: State,
    counted_from: Cycles,
}

/// State of a replication except that of the engine: the jobs and their messages.
#[derive(Debug)]
struct State {
    machine: Arc<Machine>,
    jobs: Jobs,
    stores: Option<JobStores>,
    transfer: Transfer,
    messages: Slab<MessageId, Message>,
    units: Slab<TransferUnitId, TransferUnit>,
    path: Vec<ChannelId>,
    /// Messages that begin now. The buffer is kept to reuse its memory, and is empty between calls.
    starting: Vec<Demand>,
}

impl JobsSimulation {
    /// Return a simulation at cycle 0 of the machine under `traffic`, with the random streams of this seed and
    /// replication. `layout` gives the PEs of the jobs and the I/O nodes that are servers.
    ///
    /// # Panics
    /// If jobs run on failed PEs, servers are PEs, a worm carries no data or more than 2^30 flits, a message
    /// may have no worm under way, or a cycle is not a whole number of picoseconds.
    pub fn new(
        machine: Arc<Machine>,
        transfer: Transfer,
        traffic: &JobsTraffic,
        layout: &Layout,
        seed: u64,
        replication: u64,
    ) -> Self {
        let pes = machine.cube().node_count();
        let io_nodes = machine.placement().io_node_count();
        assert!(
            layout.servers.iter().all(|&server| server >= pes),
            "the servers are the I/O nodes"
        );
        assert!(
            transfer.unit.get() > 0 && transfer.worms > 0,
            "worms must carry data"
        );
        let streams = Streams::new(seed, replication);
        let clock = machine.clock();
        let tick = clock.cycle().expect("a cycle of whole picoseconds");
        // Give a device to every I/O node, since each may replace a failed server.
        let all = Layout {
            servers: (pes..pes + io_nodes).collect(),
            jobs: Vec::new(),
        };
        let stores = JobStores::new(traffic, &all, clock.cycle_us(), pes + io_nodes, streams);
        let mut simulation = Self {
            engine: Engine::new(Channels::new(machine.layout().all_lanes())),
            state: State {
                jobs: Jobs::new(traffic, layout, tick, streams),
                machine,
                stores,
                transfer,
                messages: Slab::new(),
                units: Slab::new(),
                path: Vec::new(),
                starting: Vec::new(),
            },
            counted_from: 0,
        };
        simulation.state.jobs.begin();
        simulation.state.begin(&mut simulation.engine);
        simulation
    }

    /// Return what each channel has carried since [`Replication::restart_counts`]; an empty slice if that method
    /// was never called.
    pub fn carried(&self) -> &[Carried] {
        self.engine.channels().carried()
    }

    /// Return the cycles for which messages occupied each channel since [`Replication::restart_counts`],
    /// summed over its lanes, and the length of the interval in cycles.
    pub fn held(&self) -> (Vec<u64>, Cycles) {
        let now = self.engine.now();
        let held = self.engine.channels().held(now);
        (held, now - self.counted_from)
    }
}

impl Replication for JobsSimulation {
    /// Return the present cycle of the engine.
    fn now(&self) -> Cycles {
        self.engine.now()
    }

    /// Return the number of incomplete messages plus the number of their transfer units that are on their way. It is 0
    /// if and only if nothing is left to carry.
    fn under_way(&self) -> u64 {
        (self.state.messages.len() + self.state.units.len()) as u64
    }

    /// Run the engine up to cycle `until`, or until the observer ends the run. Return whether any message has
    /// not arrived yet.
    fn run_until<O: Observer>(&mut self, observer: &mut O, until: Cycles) -> bool {
        let state = &mut self.state;
        self.engine
            .run_until(until, &mut Driver { state, observer });
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

    /// Reset the counters of channels and storage devices.
    fn restart_counts(&mut self) {
        let now = self.engine.now();
        self.engine.channels_mut().count(now);
        self.counted_from = now;
        if let Some(stores) = &mut self.state.stores {
            stores.restart_counts(now);
        }
    }

    /// Return the counters of the storage devices behind the I/O servers, since the last reset. The list is empty
    /// without devices.
    fn counted_behind(&self) -> Vec<StationCount> {
        let now = self.engine.now();
        let stores = self.state.stores.as_ref();
        stores.map_or_else(Vec::new, |stores| stores.counted(now))
    }
}

impl State {
    /// Begin to send the messages that the jobs have generated since the last call.
    fn begin(&mut self, engine: &mut Engine<TransferUnitId>) {
        let mut starting = std::mem::take(&mut self.starting);
        self.jobs.pass_on(|&demand| starting.push(demand));
        for demand in starting.drain(..) {
            let units = demand.bytes.div_ceil(self.transfer.unit.get()).max(1);
            let message = self.messages.insert(Message {
                demand,
                unsent: units,
                unsent_bytes: demand.bytes,
                open: units,
            });
            if self.jobs.several(&demand) {
                self.wait(
                    engine,
                    demand.time,
                    TransferUnit {
                        message,
                        stage: Stage::Hand,
                        leg: self.first_leg(&demand),
                        bytes: 0,
                        started: 0,
                    },
                );
            }
            for _ in 0..units.min(self.transfer.worms.into()) {
                self.next_unit(engine, message, demand.time);
            }
        }
        self.starting = starting;
    }

    /// Return the sender and the receiver of the first worm that carries a transfer unit of the message `demand`.
    fn first_leg(&self, demand: &Demand) -> Leg {
        let (from, to) = (demand.from, demand.to);
        if to < self.machine.cube().node_count() {
            Leg::Between { from, to }
        } else {
            Leg::Io(Step::Ask { pe: from })
        }
    }

    /// Start the next transfer unit of a message at `time`.
    fn next_unit(&mut self, engine: &mut Engine<TransferUnitId>, number: MessageId, time: Cycles) {
        let message = &mut self.messages[number];
        let bytes = message.unsent_bytes.min(self.transfer.unit.get());
        message.unsent -= 1;
        message.unsent_bytes -= bytes;
        let demand = message.demand;
        let started = time + self.machine.startup();
        let leg = self.first_leg(&demand);
        let unit = TransferUnit {
            message: number,
            stage: Stage::Send,
            leg,
            bytes,
            started,
        };
        self.wait(engine, started, unit);
    }

    /// Let the next worm (network message) of a transfer unit start one start-up time after `time`.
    fn follow(
        &mut self,
        engine: &mut Engine<TransferUnitId>,
        unit: TransferUnit,
        leg: Leg,
        time: Cycles,
    ) {
        let stage = Stage::Send;
        let at = time + self.machine.startup();
        // Keep the start of the first worm that carries data, from which the latency of read data counts.
        let started = match leg {
            Leg::Between { .. } | Leg::Io(Step::Reply { .. }) => at,
            Leg::Io(_) => unit.started,
        };
        let next = TransferUnit {
            stage,
            leg,
            started,
            ..unit
        };
        self.wait(engine, at, next);
    }

    /// Let a transfer unit wait for its next event, which occurs at `time`.
    fn wait(&mut self, engine: &mut Engine<TransferUnitId>, time: Cycles, unit: TransferUnit) {
        let number = self.units.insert(unit);
        engine.schedule(time, number.number());
    }

    /// Return the job's message to which a transfer unit belongs.
    fn demand(&self, unit: &TransferUnit) -> Demand {
        self.messages[unit.message].demand
    }

    /// Send the worm (network message) of the current step of a transfer unit now.
    fn send(&mut self, engine: &mut Engine<TransferUnitId>, number: TransferUnitId) {
        let unit = self.units[number];
        let demand = self.demand(&unit);
        let (machine, path) = (&self.machine, &mut self.path);
        path.clear();
        let written = demand.operation == Operation::Write;
        let (has_data, has_request) = match unit.leg {
            Leg::Between { from, to } => {
                machine.path_pe_pe(from, to, path);
                let has_data = written || from != demand.from;
                (has_data, !has_data)
            }
            Leg::Io(step) => {
                step.path(machine, path);
                let has_data = written || matches!(step, Step::Reply { .. });
                (has_data, !has_data || step.announces())
            }
        };
        let clock = machine.clock();
        let data = if has_data {
            clock.flits(Bytes::new(unit.bytes))
        } else {
            0
        };
        let request = if has_request {
            clock.flits(self.transfer.request)
        } else {
            0
        };
        engine.start(Worm {
            length: data + request,
            path,
            tag: number,
        });
    }
}

/// Handler of the engine's events: it changes the state of the simulation and reports results to the observer.
struct Driver<'a, O> {
    state: &'a mut State,
    observer: &'a mut O,
}

impl<O: Observer> Handler for Driver<'_, O> {
    /// Type of the tag by which the engine identifies a message in its events: the index of a transfer unit.
    type Tag = TransferUnitId;

    /// Handle a timer: the event for which a transfer unit waited has occurred.
    fn timer(&mut self, engine: &mut Engine<TransferUnitId>, timer: u32) {
        let number = TransferUnitId::new(timer);
        let unit = self.state.units[number];
        if let Stage::Send = unit.stage {
            return self.state.send(engine, number);
        }
        self.state.units.remove(number);
        match unit.stage {
            Stage::Hand => {
                let demand = self.state.demand(&unit);
                self.state.jobs.handed(engine.now(), &demand);
                self.report_and_begin(engine);
            }
            Stage::Arrive => self.arrived(engine, unit),
            Stage::Store => {
                let demand = self.state.demand(&unit);
                self.observer.stored(&Stored {
                    job: demand.job,
                    client: demand.from,
                    bytes: unit.bytes,
                });
                self.ended(engine, &unit);
            }
            Stage::Send => unreachable!("it is sent above"),
        }
    }

    /// Handle the arrival of a worm's head: schedule the arrival of its tail, with which the next step starts.
    fn delivered(
        &mut self,
        engine: &mut Engine<TransferUnitId>,
        delivered: &Delivered<TransferUnitId>,
    ) {
        let unit = *self.state.units.remove(delivered.tag);
        let stage = Stage::Arrive;
        let arriving = TransferUnit { stage, ..unit };
        self.state.wait(engine, delivered.tail, arriving);
    }

    /// Return whether the observer has finished, so that the run may end.
    #[inline]
    fn finished(&self) -> bool {
        self.observer.finished()
    }
}

impl<O: Observer> Driver<'_, O> {
    /// Handle the complete arrival of the worm (network message) that carries a transfer unit, and start its next step.
    fn arrived(&mut self, engine: &mut Engine<TransferUnitId>, unit: TransferUnit) {
        let demand = self.state.demand(&unit);
        let machine = &self.state.machine;
        match unit.leg {
            Leg::Between { from, to } if from == demand.from => match demand.operation {
                Operation::Write => {
                    self.report_packet(engine, &unit);
                    self.ended(engine, &unit);
                }
                Operation::Read => {
                    let back = Leg::Between { from: to, to: from };
                    self.state.follow(engine, unit, back, engine.now());
                }
            },
            Leg::Between { .. } | Leg::Io(Step::Reply { .. }) => {
                self.report_packet(engine, &unit);
                self.ended(engine, &unit);
            }
            Leg::Io(Step::Ask { pe }) => {
                let asked = machine.io_node_of_pe(pe);
                let to = machine.serving_io_node(asked);
                if to == asked {
                    self.at_server(engine, unit, asked);
                } else {
                    let failed = asked;
                    let step = Leg::Io(Step::Redirect { failed, to });
                    self.state.follow(engine, unit, step, engine.now());
                }
            }
            Leg::Io(Step::Redirect { to, .. }) => self.at_server(engine, unit, to),
            Leg::Io(Step::Forward { from, to }) => self.at_holder(engine, unit, to, from),
            Leg::Io(Step::Spread { .. } | Step::Copy { .. }) => {
                unreachable!("jobs have no broadcasts")
            }
        }
    }

    /// Handle a read or write request that has arrived at `node`, the I/O node that serves the PE: forward the
    /// request if another I/O node has the data.
    fn at_server(&mut self, engine: &mut Engine<TransferUnitId>, unit: TransferUnit, node: u32) {
        let state = &mut *self.state;
        let holder = state.holder(&unit);
        if holder == node {
            return self.at_holder(engine, unit, node, node);
        }
        let step = Leg::Io(Step::Forward {
            from: node,
            to: holder,
        });
        state.follow(engine, unit, step, engine.now());
    }

    /// Handle a read or write request at `node`, the I/O node whose disk holds the data. The PE sent the request
    /// to the I/O node `asked`, which may be another one.
    fn at_holder(
        &mut self,
        engine: &mut Engine<TransferUnitId>,
        unit: TransferUnit,
        node: u32,
        asked: u32,
    ) {
        let now = engine.now();
        let state = &mut *self.state;
        let demand = state.demand(&unit);
        let part = Demand {
            to: state.machine.cube().node_count() + node,
            bytes: unit.bytes,
            ..demand
        };
        let done = (state.stores.as_mut()).and_then(|stores| stores.done(now, &part));
        match (demand.operation, done) {
            (Operation::Read, done) => {
                let pe = demand.from;
                let from = node;
                let step = Leg::Io(Step::Reply { from, asked, pe });
                state.follow(engine, unit, step, done.unwrap_or(now));
            }
            (Operation::Write, Some(done)) => {
                let stage = Stage::Store;
                state.wait(engine, done, TransferUnit { stage, ..unit });
                self.report_packet(engine, &unit);
            }
            (Operation::Write, None) => {
                self.report_packet(engine, &unit);
                self.ended(engine, &unit);
            }
        }
    }

    /// Report to the observer, as a packet, a transfer unit (part of a message) whose data has arrived completely.
    fn report_packet(&mut self, engine: &Engine<TransferUnitId>, unit: &TransferUnit) {
        let demand = self.state.demand(unit);
        let (from, to) = match demand.operation {
            Operation::Write => (demand.from, demand.to),
            Operation::Read => (demand.to, demand.from),
        };
        self.observer.packet(&Packet {
            job: demand.job,
            client: demand.from,
            from,
            to,
            bytes: unit.bytes,
            latency: engine.now() - unit.started,
            answer: false,
        });
    }

    /// Handle the end of a transfer unit: start the next unit of its message. If the unit was the last one, complete
    /// the message.
    fn ended(&mut self, engine: &mut Engine<TransferUnitId>, unit: &TransferUnit) {
        let now = engine.now();
        let state = &mut *self.state;
        let message = &mut state.messages[unit.message];
        message.open -= 1;
        let Message {
            demand,
            unsent,
            open,
            ..
        } = *message;
        if unsent > 0 {
            state.next_unit(engine, unit.message, now);
        }
        if open > 0 {
            return;
        }
        state.messages.remove(unit.message);
        state
            .jobs
            .report_offered(demand.process, now, self.observer);
        self.observer.completed(&Completed {
            job: demand.job,
            response: now - demand.asked,
            network: now - demand.time,
        });
        state.jobs.arrived(now, &demand);
        state.jobs.completed(now, &demand);
        self.report_and_begin(engine);
    }

    /// Report to the observer the phases of jobs that have ended, and begin to send the messages that follow them.
    fn report_and_begin(&mut self, engine: &mut Engine<TransferUnitId>) {
        self.state.jobs.report_phases(self.observer);
        self.state.begin(engine);
    }
}

impl State {
    /// Return the I/O node whose device holds the data of a transfer unit, or its substitute if that I/O node
    /// has failed.
    fn holder(&self, unit: &TransferUnit) -> u32 {
        let server = self.demand(unit).to - self.machine.cube().node_count();
        self.machine.serving_io_node(server)
    }
}
