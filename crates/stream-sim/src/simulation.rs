//! A run, and what it comes to.

use crate::error::Error;
use crate::rows::Times;
use crate::spec::{Machine, Work};
use crate::torus::{LinkKind, Torus};
use crate::world::{Tag, World};
use isthmus_flow::{Counters, Engine};
use isthmus_kernel::{Cycles, Engine as _, Ran, RunUntil};
use isthmus_stream::{Event, Format};

/// The stream manager of the interface at work. Ticks are nanoseconds.
#[derive(Debug)]
pub struct Simulation {
    engine: Engine<Tag>,
    world: World,
    machine: Machine,
    work: Work,
}

/// A part of the machine and what it did.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Use {
    /// What it is.
    pub part: Part,
    /// What it did of what it could have done in that time, 0 to 1. A link that several share
    /// slowly is not full, however long anything crosses it.
    pub utilisation: f64,
}

/// A part of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// A link, bus, or processor that moves bytes.
    Link(LinkKind),
    /// The processor of the interface.
    Processor,
    /// What moves data from staging to network memory.
    Store,
    /// The microcode that sends packets.
    Microcode,
    /// The external network.
    Network,
}

/// What a run came to. Throughputs are bytes of data over the time from the beginning of the first
/// ADU to the end of the last.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figures {
    /// ADUs.
    pub adus: u64,
    /// From the beginning to the end of the last ADU, in nanoseconds.
    pub elapsed_ns: Cycles,
    /// Data in MB/s.
    pub mb_per_s: f64,
    /// Processor cycles of a cell per word of data.
    pub cycles_per_word: f64,
    /// Share of the time in which the processor of the interface had nothing to do, 0 to 1.
    pub idle: f64,
    /// Packets sent per second.
    pub packets_per_s: f64,
    /// Time of the interface's processor for a packet, in nanoseconds; 0 if there was none.
    pub per_packet_ns: f64,
    /// Of the last row of cells that has data, for a TU.
    pub last_row: RowFigures,
}

/// Where the time of a row goes, on average over its TUs, in nanoseconds (Figure 16).
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RowFigures {
    /// From when its data are there until they are reshuffled.
    pub reshuffle_ns: f64,
    /// From then until it sends.
    pub wait_ns: f64,
    /// From then until all has gone.
    pub send_ns: f64,
}

impl Simulation {
    /// A run at its beginning.
    ///
    /// # Errors
    /// What does not go together in the machine or its work.
    pub fn new(machine: &Machine, work: &Work) -> Result<Self, Error> {
        Self::begin(machine, work, None)
    }

    /// Starts a simulation that keeps its [`events`](Self::events), which grow with the run.
    ///
    /// # Errors
    /// As [`Simulation::new`].
    pub fn telling(machine: &Machine, work: &Work) -> Result<Self, Error> {
        Self::begin(machine, work, Some(Vec::new()))
    }

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

    /// Goes on until so many ADUs are through in all, or the time `until` has come. False if
    /// nothing is left that could happen though ADUs are.
    pub fn run(&mut self, adus: u64, until: Cycles) -> bool {
        self.world.limit = adus.min(self.work.adus);
        let ran = self.engine.run_until(until, &mut self.world);
        self.world.failed.is_none() && (ran == Ran::Going || ran == Ran::Finished)
    }

    /// Returns the stream manager's events so far of its only stream, number 0.
    pub fn events(&self) -> &[Event] {
        self.world.events.as_deref().unwrap_or_default()
    }

    /// How the data of the stream are cut.
    pub fn format(&self) -> Format {
        crate::world::format(&self.machine, &self.work)
    }

    /// The present time.
    pub fn now(&self) -> Cycles {
        self.engine.now()
    }

    /// ADUs that are through.
    pub fn adus(&self) -> u64 {
        self.world.adus
    }

    /// Why it cannot go on, if it cannot.
    pub fn standstill(&self) -> String {
        match &self.world.failed {
            Some(failed) => failed.clone(),
            None => self.world.waits(),
        }
    }

    /// What it came to so far; nothing before the first ADU is through.
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

    /// What the parts did up to the end of the last ADU, in the order of [`parts`].
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

/// The parts of a machine: its links, then those of the interface.
pub fn parts(machine: &Machine) -> Vec<Part> {
    let links = Torus::new(machine).kinds().into_iter().map(Part::Link);
    let of_interface = [Part::Processor, Part::Store, Part::Microcode, Part::Network];
    links.chain(of_interface).collect()
}
