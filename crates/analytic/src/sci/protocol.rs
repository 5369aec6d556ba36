//! Lengths of packets on a link, in symbols and bytes.

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::error::check;

/// Parameters of packets and links: lengths of packets and symbols, and the speed of a link.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Protocol {
    /// Payload of a send packet, in bytes.
    pub payload_bytes: u32,
    /// Number of bytes of a send packet for addresses, time-out information and checksum.
    pub overhead_bytes: u32,
    /// Length of an echo packet, in bytes.
    pub echo_bytes: u32,
    /// Number of idle symbols after each packet.
    pub idle_symbols: u32,
    /// Length of a symbol, in bytes.
    pub symbol_bytes: u32,
    /// Time of a symbol on a link, in ns.
    pub symbol_ns: f64,
}

impl Protocol {
    /// Parameters of a 64-byte move over links of 1 GB/s (Table 1 and section 4.1 of the SCI
    /// paper).
    pub const MOVE_64: Self = Self {
        payload_bytes: 64,
        overhead_bytes: 16,
        echo_bytes: 8,
        idle_symbols: 1,
        symbol_bytes: 2,
        symbol_ns: 2.0,
    };

    /// Return these values if they describe a possible link, else an error.
    ///
    /// # Errors
    /// A symbol without length or time, or packets without length.
    pub fn checked(self) -> Result<Self, Error> {
        let positive = |field, value: f64| check(field, value, "above zero", value > 0.0);
        positive("symbol length in bytes", self.symbol_bytes.into())?;
        positive("symbol time in ns", self.symbol_ns)?;
        positive("length of a send packet", self.send_slot())?;
        positive("length of an echo packet", self.echo_slot())?;
        Ok(self)
    }

    /// Return the number of symbols of a send packet without its idle symbols: 40 for the 64-byte
    /// move.
    pub fn send_symbols(&self) -> f64 {
        self.symbols(self.payload_bytes + self.overhead_bytes)
    }

    /// Return the number of symbols of a send packet on a link, including its idle symbols: 41 for
    /// the 64-byte move.
    pub fn send_slot(&self) -> f64 {
        self.send_symbols() + f64::from(self.idle_symbols)
    }

    /// Return the number of symbols of an echo packet on a link, including its idle symbols: 5 in
    /// the paper.
    pub fn echo_slot(&self) -> f64 {
        self.symbols(self.echo_bytes) + f64::from(self.idle_symbols)
    }

    /// Return the number of symbols for this number of bytes, rounded up.
    fn symbols(&self, bytes: u32) -> f64 {
        bytes.div_ceil(self.symbol_bytes.max(1)).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that the 64-byte move of the paper occupies 41 symbols and its echo 5, and partly
    /// filled symbols count as whole ones.
    #[test]
    fn packet_lengths_equal_those_of_the_paper() {
        let protocol = Protocol::MOVE_64.checked().unwrap();
        // Section 4.1: a packet takes 82 bytes or 41 symbols, its echo 10 bytes or 5 symbols.
        assert_eq!((protocol.send_slot(), protocol.echo_slot()), (41.0, 5.0));
        // A partly filled symbol counts as a whole one.
        let odd = Protocol {
            payload_bytes: 1,
            ..protocol
        };
        assert_eq!(odd.send_symbols(), 9.0);
    }

    /// Checks that protocols with a zero symbol length or an undefined symbol time are refused.
    #[test]
    fn impossible_links_are_refused() {
        let message = |protocol: Protocol| protocol.checked().unwrap_err().to_string();
        let paper = Protocol::MOVE_64;
        let no_symbol = Protocol {
            symbol_bytes: 0,
            ..paper
        };
        assert_eq!(
            message(no_symbol),
            "symbol length in bytes is 0; it must be above zero"
        );
        let no_time = Protocol {
            symbol_ns: f64::NAN,
            ..paper
        };
        assert_eq!(
            message(no_time),
            "symbol time in ns is NaN; it must be above zero"
        );
    }
}
