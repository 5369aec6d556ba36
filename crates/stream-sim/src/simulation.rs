//! Simulation runs and their results.

use crate::error::Error;
use crate::rows::Times;
use crate::spec::{Machine, Work};
use crate::torus::{LinkKind, Torus};
use crate::world::{Tag, World};
use isthmus_flow::{Counters, Engine};
use isthmus_kernel::{Cycles, Engine as _, Ran, RunUntil};
use isthmus_stream::{Event, Format};

/// A simulation of the stream manager of an interface at work. Ticks are nanoseconds.
#[derive(Debug)]
pub struct Simulation {
    engine: Engine<Tag>,
    world: World,
    machine: Machine,
    work: Work,
}

/// A part of the machine and its utilisation in a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Use {
    /// The part of the machine that is used.
    pub part: Part,
    /// Work of the part as a fraction of its maximum work in the time of the run, 0 to 1. For a
    /// link, this is the carried bytes relative to its capacity, not the time in which transfers
    /// cross it.
    pub utilisation: f64,
}

/// A part of the machine whose utilisation is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// A link, bus, or processor that moves bytes.
    Link(LinkKind),
    /// The processor of the interface, which sets up transfers and hands over packets.
    Processor,
    /// The engine that moves data from staging memory to network memory.
    Store,
    /// The microcode of the interface, which sends packets.
    Microcode,
    /// The external network, to which the interface sends packets.
    Network,
}

/// Results of a run. Throughputs are bytes of data over the time from the start of the first
/// application data unit to the end of the last.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figures {
    /// Number of completed application data units in the run.
    pub adus: u64,
    /// Time from the start to the end of the last completed application data unit, in nanoseconds.
    pub elapsed_ns: Cycles,
    /// Throughput of data in MB/s.
    pub mb_per_s: f64,
    /// Number of processor cycles that a cell (a processor of the machine) needs per word of data.
    pub cycles_per_word: f64,
    /// Fraction of the time in which the processor of the interface was idle, 0 to 1.
    pub idle: f64,
    /// Number of packets sent per second.
    pub packets_per_s: f64,
    /// Mean time of the interface's processor for a packet, in nanoseconds; 0 without packets.
    pub per_packet_ns: f64,
    /// Times of the last row of cells that has data.
    pub last_row: RowFigures,
}

/// Mean times in nanoseconds that the transfer units of one row of cells spend in each phase of
/// their transfer to the interface (Figure 16 of the paper).
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RowFigures {
    /// Time from the start of the reshuffling of a transfer unit to its end.
    pub reshuffle_ns: f64,
    /// Time from the end of the reshuffling of a transfer unit to the start of its first transfer
    /// to the interface.
    pub wait_ns: f64,
    /// Time from the start of the first transfer of a transfer unit to the end of the last.
    pub send_ns: f64,
}

impl Simulation {
    /// Create a simulation at time 0.
    ///
    /// # Errors
    /// A field of the machine or of the work that is invalid or contradicts other fields.
    pub fn new(machine: &Machine, work: &Work) -> Result<Self, Error> {
        Self::begin(machine, work, None)
    }

    /// Create a simulation that stores its [`events`](Self::events), which need memory in
    /// proportion to the run.
    ///
    /// # Errors
    /// As [`Simulation::new`].
    pub fn with_events(machine: &Machine, work: &Work) -> Result<Self, Error> {
        Self::begin(machine, work, Some(Vec::new()))
    }

    /// Create a simulation at time 0. It appends the manager's events to `events`, if that is set.
    fn begin(machine: &Machine, work: &Work, events: Option<Vec<Event>>) -> Result<Self, Error> {
        let (mut world, mut engine) = World::new(machine, work)?;
        world.events = events;
        engine.count_from_now();
        world.begin(&mut engine)?;
        Ok(Self {
            engine,
            world,
            machine: machine.clone(),
            work: work.clone(),
        })
    }

    /// Run until `adus` application data units are completed in total, or until time `until`.
    /// Return false if the run cannot continue although application data units are left.
    pub fn run(&mut self, adus: u64, until: Cycles) -> bool {
        self.world.limit = adus.min(self.work.adus);
        let ran = self.engine.run_until(until, &mut self.world);
        self.world.failed.is_none() && (ran == Ran::Going || ran == Ran::Finished)
    }

    /// Return the events of the stream manager so far; its only stream has the number 0. Empty
    /// unless the simulation stores them.
    pub fn events(&self) -> &[Event] {
        self.world.events.as_deref().unwrap_or_default()
    }

    /// Return the format of the stream: the division of its data into application data units,
    /// transfer units, striping units and packets.
    pub fn format(&self) -> Format {
        crate::world::format(&self.machine, &self.work)
    }

    /// Return the present simulated time in nanoseconds: a cycle of this simulation is 1 ns.
    pub fn now(&self) -> Cycles {
        self.engine.now()
    }

    /// Return the number of completed application data units.
    pub fn adus(&self) -> u64 {
        self.world.adus
    }

    /// Return the reason why the run cannot continue: an error, or the conditions for which the
    /// stream waits.
    pub fn standstill(&self) -> String {
        match &self.world.failed {
            Some(failed) => failed.clone(),
            None => self.world.waits(),
        }
    }

    /// Return the results so far; `None` before the first application data unit is completed.
    pub fn figures(&self) -> Option<Figures> {
        let (world, work) = (&self.world, &self.work);
        let elapsed = world.done_at;
        if world.adus == 0 || elapsed == 0 {
            return None;
        }
        let bytes = world.adus as f64 * work.adu_bytes as f64;
        let servers = &world.servers;
        let words = bytes / self.machine.cell.word_bytes as f64;
        let cycles = elapsed as f64 / self.machine.cell.cycle_ns as f64;
        let (packets_ns, packets) = servers.packets;
        Some(Figures {
            adus: world.adus,
            elapsed_ns: elapsed,
            mb_per_s: bytes / elapsed as f64 * 1e3,
            cycles_per_word: cycles / words,
            idle: 1.0 - servers.processor.busy(elapsed) as f64 / elapsed as f64,
            packets_per_s: servers.line.served() as f64 / elapsed as f64 * 1e9,
            per_packet_ns: packets_ns as f64 / packets.max(1) as f64,
            last_row: self.last_row(),
        })
    }

    /// Return the mean times of the transfer units of the last row of cells that has data.
    fn last_row(&self) -> RowFigures {
        let rows = self.world.rows.iter().rev();
        let with_data = rows.map(|row| row.times).find(|times| times.tus > 0);
        with_data.map_or(RowFigures::default(), |times: Times| {
            let mean = |sum: Cycles| sum as f64 / times.tus as f64;
            RowFigures {
                reshuffle_ns: mean(times.reshuffle),
                wait_ns: mean(times.wait),
                send_ns: mean(times.send),
            }
        })
    }

    /// Return the utilisation of all parts up to the end of the last completed application data
    /// unit, in the order of [`parts`].
    pub fn uses(&self) -> Vec<Use> {
        let elapsed = self.world.done_at.max(1) as f64;
        let Counters { bytes, .. } = self.engine.counted();
        let links = self.engine.capacities().iter().zip(bytes);
        let links =
            links.map(|(capacity, bytes)| bytes as f64 / capacity.bytes_per_tick() / elapsed);
        let servers = &self.world.servers;
        let of_interface = [
            servers.processor,
            servers.store,
            servers.microcode,
            servers.line,
        ];
        let of_interface = of_interface
            .into_iter()
            .map(|server| server.busy(self.world.done_at) as f64 / elapsed);
        let uses = parts(&self.machine)
            .into_iter()
            .zip(links.chain(of_interface));
        uses.map(|(part, utilisation)| Use {
            part,
            utilisation: utilisation.min(1.0),
        })
        .collect()
    }
}

/// Return the parts of a machine: its links, then those of the interface.
pub fn parts(machine: &Machine) -> Vec<Part> {
    let links = Torus::new(machine).kinds().into_iter().map(Part::Link);
    let of_interface = [Part::Processor, Part::Store, Part::Microcode, Part::Network];
    links.chain(of_interface).collect()
}
