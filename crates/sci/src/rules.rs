//! Lengths, depths and choices.

use crate::Error;
use crate::limits::SYMBOLS_LIMIT;
use isthmus_kernel::Cycles;
use strum::{EnumString, VariantNames};

/// Queue for a client's packets. The SCI paper does not define it; at saturation the two rules
/// bracket its numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum Source {
    /// An unbounded FIFO, whose head waits for a slot of its output port (source rule A).
    Unbounded,
    /// Only the slots of the output port. A packet that finds no free slot is dropped (source rule
    /// B).
    Bounded,
}

/// Flow control of nodes that offer more than their ring can carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum FlowControl {
    /// None: a node sends whenever its bypass FIFO is empty.
    None,
    /// The go bits of IEEE 1596, for one priority: a node whose bypass FIFO had to store symbols
    /// sends stop idles until it has recovered. In the symbol engine only.
    GoBits,
}

/// Start of the delay of a ring change (rule 8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum ChangeFrom {
    /// The arrival of the header at the agent. The transfer through the crossbar starts after the
    /// delay.
    Header,
    /// The start of the transfer through the crossbar.
    Transfer,
}

/// The rules of a fabric. Lengths are in symbols, times in cycles; a link carries one symbol in
/// each cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rules {
    /// Cycles from the departure of a symbol to its decoding at the next interface, 1 or more.
    pub hop: Cycles,
    /// Cycles of a ring change: from `change_from` to the earliest cycle in which the header may
    /// leave on the next ring.
    pub ring_change: Cycles,
    /// Start of the delay of a ring change.
    pub change_from: ChangeFrom,
    /// Maximum length of a send, without its idle. A bypass FIFO has room for it and the idle.
    pub symbols_max: u32,
    /// Length of an echo, without its idle.
    pub echo: u32,
    /// Slots of the input queue of an interface, for each class.
    pub input_slots: u32,
    /// Slots of each output queue of an interface for packets from another interface of its node
    /// and for one class.
    pub output_slots: u32,
    /// Slots of each output queue of an interface for packets of the client and for one class.
    pub client_slots: u32,
    /// Queue for a client's packets.
    pub source: Source,
    /// Flow control.
    pub flow_control: FlowControl,
}

impl Rules {
    /// Returns the delay of a ring change before the transfer, and that after its start.
    pub(crate) fn ring_change_delays(&self) -> (Cycles, Cycles) {
        match self.change_from {
            ChangeFrom::Header => (self.ring_change, 0),
            ChangeFrom::Transfer => (0, self.ring_change),
        }
    }

    /// Checks that the rules are valid.
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
