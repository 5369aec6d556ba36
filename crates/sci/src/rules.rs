//! Lengths, depths and choices.

use crate::Error;
use crate::limits::SYMBOLS_LIMIT;
use isthmus_kernel::Cycles;
use strum::{EnumString, VariantNames};

/// Where a client's packets wait. The SCI paper does not say; at saturation the two rules bracket
/// its numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum Source {
    /// In a FIFO without bound, whose head waits for a slot of its output port (source rule A).
    Unbounded,
    /// In the slots of the output port only: a packet that finds none is dropped (source rule B).
    Bounded,
}

/// How a node that has more to send than its ring can carry is held back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum FlowControl {
    /// Not at all: a node sends whenever its bypass FIFO is empty.
    None,
    /// The go bits of IEEE 1596, for one priority: a node whose bypass FIFO had to store symbols
    /// sends stop idles until it has recovered. In the symbol engine only.
    GoBits,
}

/// When the delay of a ring change begins (rule 8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum ChangeFrom {
    /// When the header comes to the agent, whose crossbar begins when it is over.
    Header,
    /// When the crossbar begins.
    Transfer,
}

/// The rules of a fabric. Lengths are in symbols, times in cycles; a link carries one symbol in
/// each cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rules {
    /// From a symbol's leaving one interface to its being decoded at the next, 1 or more.
    pub hop: Cycles,
    /// From the header's coming to an agent, or from the start of the packet's transfer through it,
    /// to the earliest cycle in which the header may leave on the next ring.
    pub ring_change: Cycles,
    /// Which of the two.
    pub change_from: ChangeFrom,
    /// Length of the longest send, without its idle. Bypass FIFOs hold that and the idle.
    pub symbols_max: u32,
    /// Length of an echo, without its idle.
    pub echo: u32,
    /// Slots of the input queue of an interface, for each class.
    pub input_slots: u32,
    /// Slots of the output queue that an interface has for each other one of its node and each
    /// class.
    pub output_slots: u32,
    /// Slots of the output queue that an interface has for the client and each class.
    pub client_slots: u32,
    /// Where a client's packets wait.
    pub source: Source,
    /// How a busy ring is shared.
    pub flow_control: FlowControl,
}

impl Rules {
    /// What of a ring change comes before the transfer, and what after its start.
    pub(crate) fn around_transfer(&self) -> (Cycles, Cycles) {
        match self.change_from {
            ChangeFrom::Header => (self.ring_change, 0),
            ChangeFrom::Transfer => (0, self.ring_change),
        }
    }

    /// Checks that the rules can be followed.
    ///
    /// # Errors
    /// The first length or depth that is out of bounds.
    pub fn check(&self) -> Result<(), Error> {
        for (what, value) in [
            ("hop", self.hop),
            ("echo", u64::from(self.echo)),
            ("input_slots", u64::from(self.input_slots)),
            ("output_slots", u64::from(self.output_slots)),
            ("client_slots", u64::from(self.client_slots)),
        ] {
            if value == 0 {
                return Err(Error::Zero { what });
            }
        }
        if self.symbols_max < self.echo || self.symbols_max > SYMBOLS_LIMIT {
            return Err(Error::LongestSend {
                symbols: self.symbols_max,
                echo: self.echo,
            });
        }
        Ok(())
    }
}
