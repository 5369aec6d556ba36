//! Parameters of a fabric of SCI rings: packet lengths, delays, queue depths, and optional rules.

use crate::Error;
use crate::limits::SYMBOLS_LIMIT;
use isthmus_kernel::Cycles;
use strum::{EnumString, VariantNames};

/// Queue in which the packets of a client (the traffic source of a node) wait. The SCI paper does
/// not define it. At saturation, the results of the paper lie between those of the two variants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum Source {
    /// An unbounded FIFO. Its first packet waits for a slot of its output queue (source rule A).
    Unbounded,
    /// Only the output queue's slots for packets of the client. A packet that finds no free slot is
    /// dropped (source rule B).
    Bounded,
}

/// Flow control of nodes that offer more than their ring can carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum FlowControl {
    /// No flow control: a node sends whenever its bypass FIFO is empty.
    None,
    /// The go bits of IEEE 1596, for one priority: a node whose bypass FIFO had to store symbols
    /// sends stop idles until the FIFO is empty again. Only the symbol engine supports this.
    GoBits,
}

/// Event from which the delay of a packet's change from one ring to another is counted (rule 8 of
/// this crate).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum ChangeFrom {
    /// The arrival of the header at the node that joins the two rings. The transfer through its
    /// crossbar starts after the delay.
    Header,
    /// The start of the transfer through the crossbar of the node that joins the two rings.
    Transfer,
}

/// The rules of a fabric. Lengths are in symbols, times in cycles; a link carries one symbol in
/// each cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rules {
    /// Number of cycles from the departure of a symbol to its decoding at the next interface, 1 or
    /// more.
    pub hop: Cycles,
    /// Number of cycles of a packet's change to another ring: from the event `change_from` to the
    /// earliest cycle in which the header may leave on the next ring.
    pub ring_change: Cycles,
    /// The moment from which the delay of a packet's change to another ring counts.
    pub change_from: ChangeFrom,
    /// Maximum length of a send packet in symbols, without the idle after it. A bypass FIFO has
    /// room for a send of this length and the idle.
    pub symbols_max: u32,
    /// Length of an echo (acknowledgement) in symbols, without the idle after it.
    pub echo: u32,
    /// Number of slots of each input queue. An interface has one input queue for each packet class.
    pub input_slots: u32,
    /// Number of slots of each output queue for packets from another interface of the node. There
    /// is one such queue for each pair of interfaces and class.
    pub output_slots: u32,
    /// Number of slots of each output queue for packets of the node's client. An interface has one
    /// such queue for each packet class.
    pub client_slots: u32,
    /// Queue in which the packets of a client (the traffic source of a node) wait.
    pub source: Source,
    /// Flow control of nodes that offer more than their ring can carry.
    pub flow_control: FlowControl,
}

impl Rules {
    /// Returns the two parts of the delay of a packet's change to another ring: the one before its
    /// transfer through the crossbar starts, and the one after that.
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
