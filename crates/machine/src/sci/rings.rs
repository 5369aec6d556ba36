//! An engine with what watches whether its fabric has collapsed.

use crate::sci::build::Machine;
use isthmus_kernel::{Cycles, Engine as _, Id as _, RunUntil};
use isthmus_sci::{Handler, Packet, RingEngine, Stall, StallKind};
use isthmus_sci::{event, symbol};

/// Symbols that a link has carried, idles behind packets included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LinkUse {
    /// Of sends.
    pub send: u64,
    /// Of echoes.
    pub echo: u64,
}

/// The event-driven engine, or where go bits are wanted the symbol-by-symbol one.
#[derive(Debug)]
enum AnyEngine<T> {
    Event(Box<event::Engine<T>>),
    Symbol(Box<symbol::Engine<T>>),
}

/// The same expression for either engine.
macro_rules! either {
    ($any:expr, $engine:ident => $value:expr) => {
        match $any {
            AnyEngine::Event($engine) => $value,
            AnyEngine::Symbol($engine) => $value,
        }
    };
}

/// A fabric in motion.
#[derive(Debug)]
pub(super) struct Rings<T> {
    engine: AnyEngine<T>,
    patience: Cycles,
    /// When to look again whether the fabric has collapsed.
    next_look: Cycles,
    stall: Option<Stall>,
}

impl<T: Copy> Rings<T> {
    /// The fabric at cycle 0, for packets of up to `symbols_max` symbols.
    ///
    /// # Panics
    /// If the engine cannot carry packets as long as that.
    pub fn new(machine: &Machine, symbols_max: u32, by_symbol: bool) -> Self {
        let rules = machine.rules(symbols_max);
        let interfaces = machine.interfaces();
        let carries = "the machine was built with these rules";
        let engine = if by_symbol {
            let engine = symbol::Engine::new(interfaces, rules);
            AnyEngine::Symbol(Box::new(engine.expect(carries)))
        } else {
            let engine = event::Engine::new(interfaces, rules);
            AnyEngine::Event(Box::new(engine.expect(carries)))
        };
        let patience = machine.cycles(machine.spec().patience);
        Self {
            engine,
            patience,
            next_look: patience.max(1),
            stall: None,
        }
    }

    pub fn offer(&mut self, time: Cycles, packet: Packet<'_, T>) {
        either!(&mut self.engine, engine => engine.offer(time, packet));
    }

    pub fn now(&self) -> Cycles {
        either!(&self.engine, engine => engine.now())
    }

    pub fn under_way(&self) -> u64 {
        either!(&self.engine, engine => engine.under_way())
    }

    pub fn stall(&self) -> Option<&Stall> {
        self.stall.as_ref()
    }

    /// Goes on until the handler has finished, to the next look for a collapse or to cycle `until`.
    pub fn advance<H: Handler<Tag = T>>(&mut self, handler: &mut H, until: Cycles) {
        let limit = until.min(self.next_look);
        either!(&mut self.engine, engine => engine.run_until(limit, handler));
        if self.now() >= self.next_look {
            self.next_look = self.now().saturating_add(self.patience.max(1));
            self.look_for_stall();
        }
    }

    fn look_for_stall(&mut self) {
        // Packets that are on their way for long, without queues that wait for one another, are no
        // collapse.
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

    pub fn restart_counts(&mut self) {
        either!(&mut self.engine, engine => engine.reset_counters());
    }

    /// What each link has carried, by the numbers of the fabric's links.
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
