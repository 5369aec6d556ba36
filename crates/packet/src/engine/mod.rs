//! The event-driven engine.
//!
//! Only headers move. A header that starts on a link determines when its tail has left that link. A
//! header that starts on the last link determines when the acknowledgement passes each link on its
//! way back. So a lane that becomes free costs no event unless a packet waits for it. A packet
//! costs one event at each switch, one at each end, and one for each wait.
//!
//! # Order within a tick
//! Reports come first, in the order of the rules of the crate. Requests are served when the tick
//! ends. Their order does not matter, and the queue does not sort them.
//!
//! # Data
//! In a large tree, few of the data of an event are in the caches of the processor. The cost of the
//! engine is the number of cache lines that it accesses, above all of the cache lines for which it
//! waits. Therefore:
//! - The state that determines which packet gets a link has 32 bytes. The four links up of a switch
//!   of a 4-ary tree are two cache lines. Counters and the end of a link are another record,
//!   accessed once for each packet, when it gets the link (see `links`).
//! - At that time the packet also learns its next links. So its arrival at the switch accesses its
//!   own record, which is one cache line, and those links.
//! - The time for which circuits hold a lane is counted at the next grant of the lane, whose record
//!   still has the time at which it became free. So freeing lanes costs nothing more.
//! - The list of a `Group` is accessed only when headers have to wait.
//! - The events of a slot of the queue are known together, and so is the path of an
//!   acknowledgement. In large trees the engine reads all of their data before it serves the first,
//!   so that the cache misses overlap.

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
use crate::routes::Routes;
use crate::rules::Switching;
use crate::traffic::{Handler, Message};
use crate::{Counters, Error, Rules};
use circuit::Circuits;
use core::Core;
use cut::Buffers;
use isthmus_kernel::{Cycles, Ran, RunUntil};
pub(crate) use lanes::Lanes;
pub(crate) use packets::Step;
use std::sync::Arc;

/// Event-driven simulation engine for packet networks. The crate's documentation lists its rules.
#[derive(Debug, Clone)]
pub struct Engine<T, W>(Network<T, W>);

/// The engine for one of the two switching methods. Separate variants avoid a test of the method in
/// each event.
#[expect(
    clippy::large_enum_variant,
    reason = "there is one for a whole replication"
)]
/// The core of the engine, with one variant for each switching method (circuits or cut-through).
#[derive(Debug, Clone)]
enum Network<T, W> {
    Circuits(Core<T, W, Circuits>),
    CutThrough(Core<T, W, Buffers>),
}

/// Evaluate an expression on the core of the engine, whichever switching method it has.
macro_rules! core_of {
    ($engine:expr, $core:ident => $then:expr) => {
        match $engine {
            Network::Circuits($core) => $then,
            Network::CutThrough($core) => $then,
        }
    };
}

impl<T: Copy, W: Routes> Engine<T, W> {
    /// Return an idle engine at time 0. The seed decides between equally good links.
    ///
    /// # Errors
    /// The rules are invalid, or the network is inconsistent.
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
                buffers.head_arrivals = (arrivals || outputs.is_some()).then(Vec::new);
                buffers.adaptive = rules.adaptive;
                Network::CutThrough(Core::new(routes, rules, seed, lanes, buffers))
            }
        }))
    }

    /// Schedule a call of the handler's reminder function for `node` at `time`, which must be in
    /// the future. Call this only before the run first calls the handler; later, the handler uses
    /// [`Offers::remind`].
    pub fn remind(&mut self, time: Cycles, node: u32, tag: T) {
        core_of!(&mut self.0, core => core.remind(time, node, tag));
    }

    /// Return the number of messages that were offered and are not delivered: messages in flight
    /// and messages still to be generated.
    pub fn open(&self) -> u64 {
        core_of!(&self.0, core => core.messages.len() as u64)
    }

    /// Return the number of packets that are in the network now.
    pub fn packets(&self) -> u64 {
        core_of!(&self.0, core => core.packets.count() as u64)
    }

    /// Restart the counters at the present time. A link or DMA engine in use counts its ticks from
    /// now on.
    pub fn count_from_now(&mut self) {
        core_of!(&mut self.0, core => core.count_from_now());
    }

    /// Return the counters of all links and nodes up to now. No resource counts more ticks than
    /// have passed since [`Engine::count_from_now`]. Lanes count up to that number times the number
    /// of lanes (virtual channels) of the link.
    pub fn counted(&self) -> Counters {
        core_of!(&self.0, core => core.counted())
    }
}

impl<T: Copy, W: Routes> isthmus_kernel::Engine for Engine<T, W> {
    /// The messages that the engine accepts.
    type Message<'a> = Message<T>;

    /// Return the present simulated time in ticks.
    fn now(&self) -> Cycles {
        core_of!(&self.0, core => core.now)
    }

    /// Schedule the generation of a message at its source node at `time`.
    fn offer(&mut self, time: Cycles, message: Message<T>) {
        core_of!(&mut self.0, core => core.offer(time, message));
    }

    /// Return the number of messages under way: generated, but not yet delivered.
    fn under_way(&self) -> u64 {
        core_of!(&self.0, core => core.under_way())
    }
}

/// [`Handler::finished`] is called after each tick in which an event happened.
impl<T: Copy, W: Routes, H: Handler<Tag = T>> RunUntil<H> for Engine<T, W> {
    /// Run the simulation until `limit`, until no event is left, or until the handler has finished.
    fn run_until(&mut self, limit: Cycles, handler: &mut H) -> Ran {
        core_of!(&mut self.0, core => core.run_until(limit, handler))
    }
}
