//! The SCI engine, with a periodic check whether the fabric has stalled: packets wait and none arrive.

use crate::sci::build::Machine;
use isthmus_kernel::{Cycles, Engine as _, Id as _, RunUntil};
use isthmus_sci::{Handler, Packet, RingEngine, Stall, StallKind};
use isthmus_sci::{event, symbol};

/// Numbers of symbols that a link has carried, including the idle symbol behind each packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LinkUse {
    /// Number of symbols of send packets (requests and responses) that the link has carried.
    pub send: u64,
    /// Number of symbols of echo packets (acknowledgements) that the link has carried.
    pub echo: u64,
}

/// One of the two engines of SCI rings: event-driven, or symbol by symbol as flow control with go bits
/// requires.
#[derive(Debug)]
enum AnyEngine<T> {
    Event(Box<event::Engine<T>>),
    Symbol(Box<symbol::Engine<T>>),
}

/// Evaluate an expression with the engine inside an [`AnyEngine`], for both variants.
macro_rules! either {
    ($any:expr, $engine:ident => $value:expr) => {
        match $any {
            AnyEngine::Event($engine) => $value,
            AnyEngine::Symbol($engine) => $value,
        }
    };
}

/// An SCI engine that simulates a fabric, and the state of the periodic check whether the fabric has stalled.
#[derive(Debug)]
pub(super) struct Rings<T> {
    engine: AnyEngine<T>,
    patience: Cycles,
    /// Cycle of the next check whether the fabric has stalled.
    next_check: Cycles,
    stall: Option<Stall>,
}

impl<T: Copy> Rings<T> {
    /// Create an engine at cycle 0 for the fabric of `machine` and packets of up to `symbols_max` symbols: the
    /// symbol-by-symbol engine if `by_symbol` is true, otherwise the event-driven one.
    ///
    /// # Panics
    /// If the engine cannot carry packets of this length.
    pub fn new(machine: &Machine, symbols_max: u32, by_symbol: bool) -> Self {
        let rules = machine.rules(symbols_max);
        let interfaces = machine.interfaces();
        let valid_rules = "the machine was built with these rules";
        let engine = if by_symbol {
            let engine = symbol::Engine::new(interfaces, rules);
            AnyEngine::Symbol(Box::new(engine.expect(valid_rules)))
        } else {
            let engine = event::Engine::new(interfaces, rules);
            AnyEngine::Event(Box::new(engine.expect(valid_rules)))
        };
        let patience = machine.cycles(machine.spec().patience);
        Self {
            engine,
            patience,
            next_check: patience.max(1),
            stall: None,
        }
    }

    /// Offer a packet to the engine, which generates it at its source in cycle `time`.
    pub fn offer(&mut self, time: Cycles, packet: Packet<'_, T>) {
        either!(&mut self.engine, engine => engine.offer(time, packet));
    }

    /// Return the present cycle of the engine.
    pub fn now(&self) -> Cycles {
        either!(&self.engine, engine => engine.now())
    }

    /// Return the number of packets that are in the network or wait for it.
    pub fn under_way(&self) -> u64 {
        either!(&self.engine, engine => engine.under_way())
    }

    /// Return a description of the stall if the latest check found that the fabric has stopped working; otherwise
    /// `None`.
    pub fn stall(&self) -> Option<&Stall> {
        self.stall.as_ref()
    }

    /// Run until cycle `until`, or until the handler ends the run or the next check for a stall is due, if that is
    /// earlier.
    pub fn advance<H: Handler<Tag = T>>(&mut self, handler: &mut H, until: Cycles) {
        let limit = until.min(self.next_check);
        either!(&mut self.engine, engine => engine.run_until(limit, handler));
        if self.now() >= self.next_check {
            self.next_check = self.now().saturating_add(self.patience.max(1));
            self.check_for_stall();
        }
    }

    /// Check whether the fabric has stalled (packets wait and none arrive), and store the result in `stall`.
    fn check_for_stall(&mut self) {
        // Count a stall only if queues wait for one another. Packets that just travel for a long time are no stall.
        let stalled = either!(&self.engine, engine => engine.stalled(self.patience));
        self.stall = stalled.filter(|stall| !stall.nodes.is_empty());
        if self.stall.is_none() {
            let nodes = either!(&self.engine, engine => engine.wedged());
            if !nodes.is_empty() {
                self.stall = Some(Stall {
                    kind: StallKind::Livelock,
                    since: self.now(),
                    under_way: self.under_way(),
                    nodes,
                });
            }
        }
    }

    /// Reset the counters of links and nodes to 0.
    pub fn restart_counts(&mut self) {
        either!(&mut self.engine, engine => engine.reset_counters());
    }

    /// Return the number of send and echo symbols that each link has carried, in the order of the fabric's links.
    pub fn links<'m>(&self, machine: &'m Machine) -> impl Iterator<Item = LinkUse> + use<'m, T> {
        let counters = either!(&self.engine, engine => engine.counters());
        machine.fabric().links().iter().map(move |link| {
            let interface = machine.interfaces().interface(link.from, link.ring);
            let at = interface.expect("a link leaves an interface").index();
            LinkUse {
                send: counters.send_symbols[at],
                echo: counters.echo_symbols[at],
            }
        })
    }
}
