//! The event-driven engine.
//!
//! Only headers move: a header's start on a link gives the time at which its tail has left, and
//! its start on the last link the time at which the acknowledgement has passed each link on its
//! way back. So a lane that comes free costs no event unless something waits for it, and a packet
//! costs one event for each switch, one at each end, and one for each time that it has to wait.
//!
//! # Order within a tick
//! Reports come first, in the order of the crate's rules. Requests are answered when the tick ends,
//! so that their order does not matter, and the queue does not sort them.
//!
//! # Data
//! In a large tree an event finds little of what it is about in the processor's caches, so that
//! the engine's cost is that of the lines it touches, above all of those it has to wait for.
//! Therefore:
//! - What decides who gets a link is a record of 32 bytes: the four links up of a switch of a 4-ary
//!   tree are two lines. What is counted of a link and where it leads is another record, touched
//!   once for each packet, when that gets the link (see `links`).
//! - Then the packet also learns for which links it is to ask next. So its arrival at the switch
//!   touches its own record, which is one line, and those links.
//! - For how long circuits hold lanes is counted when a lane is given away the next time, as its
//!   record still has the time at which it came free. Freeing lanes costs nothing more.
//! - The list of a `Group` is touched only when headers have to wait.
//! - Events of a slot of the queue are known together, and so is the way back of an acknowledgement:
//!   in large trees what they are about is called for before the first is served, so that the misses
//!   overlap.

mod circuit;
mod core;
mod cut;
mod equals;
mod event;
mod group;
mod lanes;
mod links;
mod messages;
mod nic;
mod outputs;
mod packets;
mod queue;
mod returns;
mod window;

#[cfg(doc)]
use crate::Offers;
use crate::readings::AgeFrom;
use crate::rules::Switching;
use crate::traffic::{Handler, Message};
use crate::routes::Routes;
use crate::{Counters, Error, Rules};
use circuit::Circuits;
use core::Core;
use cut::Buffers;
use isthmus_kernel::{Cycles, Ran, RunUntil};
pub(crate) use lanes::Lanes;
pub(crate) use packets::Step;
use std::sync::Arc;

/// The engine: see the rules of the crate.
#[derive(Debug, Clone)]
pub struct Engine<T, W>(Network<T, W>);

/// An engine of its own for each way of holding links, so that no event asks which one it is.
#[expect(
    clippy::large_enum_variant,
    reason = "there is one for a whole replication"
)]
#[derive(Debug, Clone)]
enum Network<T, W> {
    Circuits(Core<T, W, Circuits>),
    CutThrough(Core<T, W, Buffers>),
}

/// Evaluates an expression with the core of an engine, whichever it is.
macro_rules! core_of {
    ($engine:expr, $core:ident => $then:expr) => {
        match $engine {
            Network::Circuits($core) => $then,
            Network::CutThrough($core) => $then,
        }
    };
}

impl<T: Copy, W: Routes> Engine<T, W> {
    /// An idle engine at time 0. The seed decides between equally good links.
    ///
    /// # Errors
    /// If the rules cannot be followed, or what the network says contradicts itself.
    pub fn new(routes: Arc<W>, rules: Rules, seed: u64) -> Result<Self, Error> {
        rules.check_on(&*routes)?;
        let lanes = Lanes::new(routes.classes(), rules.channels);
        Ok(Self(match rules.switching {
            Switching::Circuit { in_flight } => {
                let circuits = Circuits { in_flight };
                Network::Circuits(Core::new(routes, rules, seed, lanes, circuits))
            }
            Switching::CutThrough {
                buffer,
                credit,
                outputs,
            } => {
                let arrivals = rules.age.from == AgeFrom::Arrival;
                let mut buffers = Buffers::new(routes.link_count(), lanes, buffer, credit, outputs);
                buffers.heads = (arrivals || outputs.is_some()).then(Vec::new);
                buffers.adaptive = rules.adaptive;
                Network::CutThrough(Core::new(routes, rules, seed, lanes, buffers))
            }
        }))
    }

    /// Reminds the handler at `time`, later than the present, of something that concerns `node`: for
    /// what is known before the handler is first called, which then asks by [`Offers::remind`].
    pub fn remind(&mut self, time: Cycles, node: u32, tag: T) {
        core_of!(&mut self.0, core => core.remind(time, node, tag));
    }

    /// Messages offered and not delivered: those under way and those to be generated.
    pub fn open(&self) -> u64 {
        core_of!(&self.0, core => core.messages.len() as u64)
    }

    /// Packets on their way.
    pub fn packets(&self) -> u64 {
        core_of!(&self.0, core => core.packets.count() as u64)
    }

    /// Counts from now on: of what is held now, what is left.
    pub fn count_from_now(&mut self) {
        core_of!(&mut self.0, core => core.count_from_now());
    }

    /// The counts without what lies ahead of now, gathered from all links and nodes: none is more
    /// than the ticks that have passed since [`Engine::count_from_now`], for lanes times their
    /// number.
    pub fn counted(&self) -> Counters {
        core_of!(&self.0, core => core.counted())
    }
}

impl<T: Copy, W: Routes> isthmus_kernel::Engine for Engine<T, W> {
    type Message<'a> = Message<T>;

    fn now(&self) -> Cycles {
        core_of!(&self.0, core => core.now)
    }

    fn offer(&mut self, time: Cycles, message: Message<T>) {
        core_of!(&mut self.0, core => core.offer(time, message));
    }

    fn under_way(&self) -> u64 {
        core_of!(&self.0, core => core.under_way())
    }
}

/// The handler is asked whether it has finished after each tick in which something happened.
impl<T: Copy, W: Routes, H: Handler<Tag = T>> RunUntil<H> for Engine<T, W> {
    fn run_until(&mut self, limit: Cycles, handler: &mut H) -> Ran {
        core_of!(&mut self.0, core => core.run_until(limit, handler))
    }
}
