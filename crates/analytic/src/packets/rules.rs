//! Bounds on the send and receive rates of a node, from its packets, its interface and its links.

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::error::{check, check_not_negative};

/// Parameters of a link and of the switch behind it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// Bytes per ns in one direction, including overhead (section 2.2 of the QsNET paper: 0.4).
    pub bandwidth: f64,
    /// Time from the arrival of a header at a switch to its departure, without other packets.
    pub switch_ns: f64,
    /// Time from the last byte of a packet at its destination to the acknowledgement; 0 if packets
    /// hold no circuits.
    pub acknowledgement_ns: f64,
    /// Time that the acknowledgement takes to cross each switch on its return path.
    pub acknowledgement_switch_ns: f64,
    /// Number of packets that can hold the link at the same time, which is its number of virtual
    /// channels; infinite if packets hold no circuits.
    pub circuits: f64,
}

/// Parameters of a network interface and of the memory behind it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interface {
    /// Largest payload of a packet, in bytes.
    pub payload: f64,
    /// Overhead of a packet, in bytes.
    pub overhead: f64,
    /// Padding unit: payloads are padded to a multiple of this number of bytes.
    pub padding: f64,
    /// Number of packets of a node that may be in flight at the same time; infinite without a
    /// limit.
    pub in_flight: f64,
    /// Time between two packets of the DMA engine.
    pub dma_ns: f64,
    /// Time by which each received packet delays a busy DMA engine.
    pub receive_ns: f64,
    /// Time from the request for a message to its first packet.
    pub software_ns: f64,
}

/// Parameters of a node and its network, from which bounds follow.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Rules {
    /// Parameters of the links.
    pub link: Link,
    /// Parameters of the network interface of the node.
    pub interface: Interface,
}

/// The part of a node that limits its transfer rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// The link limits the rate: it carries one packet after the other.
    Wire,
    /// The DMA engine of the interface, or the memory bus behind it, limits the rate.
    Dma,
    /// The number of packets in flight or of virtual channels limits the rate, since each packet
    /// holds its circuit until the acknowledgement.
    Circuits,
}

/// The largest possible transfer rate and its bottleneck.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bound {
    /// Bytes of payload per ns.
    pub rate: f64,
    /// The bottleneck that limits the rate.
    pub limit: Limit,
}

impl Rules {
    /// Return these parameters if they are possible, else an error.
    ///
    /// # Errors
    /// A number that is negative or not finite (circuits and packets in flight may be infinite), a
    /// link without bandwidth, packets without payload, no circuit, no packet in flight.
    pub fn checked(self) -> Result<Self, Error> {
        let Self { link, interface } = self;
        let positive = |field, value: f64| check(field, value, "above zero", value > 0.0);
        positive("bandwidth of a link", link.bandwidth)?;
        positive("payload of a packet", interface.payload)?;
        for (field, value) in [
            ("latency of a switch", link.switch_ns),
            ("time of an acknowledgement", link.acknowledgement_ns),
            (
                "time of an acknowledgement at a switch",
                link.acknowledgement_switch_ns,
            ),
            ("overhead of a packet", interface.overhead),
            ("padding of data", interface.padding),
            ("time of the DMA engine for a packet", interface.dma_ns),
            ("delay by a packet received", interface.receive_ns),
            ("software latency", interface.software_ns),
        ] {
            check_not_negative(field, value)?;
        }
        for (field, value) in [
            ("circuits of a link", link.circuits),
            ("packets in flight", interface.in_flight),
        ] {
            if value != f64::INFINITY {
                check(field, value, "1 or more", value >= 1.0)?;
            }
        }
        Ok(self)
    }

    /// Return the time that a packet with `data` bytes of payload takes on a link, including
    /// padding and overhead.
    pub fn packet_ns(&self, data: f64) -> f64 {
        let Interface {
            padding, overhead, ..
        } = self.interface;
        let padded = match padding > 0.0 {
            true => (data / padding).ceil() * padding,
            false => data,
        };
        (padded + overhead) / self.link.bandwidth
    }

    /// Return the payload rate of a link with full packets, one right after the other: an upper
    /// bound for a destination.
    pub fn wire_rate(&self) -> f64 {
        self.interface.payload / self.packet_ns(self.interface.payload)
    }

    /// Return the time from a packet's first byte at its source to the return of the
    /// acknowledgement, on a route over `switches` switches without other packets.
    pub fn circuit_ns(&self, switches: u32) -> f64 {
        let Link {
            switch_ns,
            acknowledgement_ns,
            acknowledgement_switch_ns,
            ..
        } = self.link;
        self.packet_ns(self.interface.payload)
            + f64::from(switches) * (switch_ns + acknowledgement_switch_ns)
            + acknowledgement_ns
    }

    /// Return the bound for one node that sends to another over `switches` switches (section 4.1 of
    /// the QsNET paper).
    pub fn one_way(&self, switches: u32) -> Bound {
        lowest_bound([
            (Limit::Wire, self.wire_rate()),
            (Limit::Dma, self.interface.payload / self.interface.dma_ns),
            (Limit::Circuits, self.circuits(switches)),
        ])
    }

    /// Return the time from the request for a message of `bytes` to its last byte at the
    /// destination, without other messages. Packets follow one another at the pace of
    /// [`one_way`](Self::one_way).
    ///
    /// # Errors
    /// A length that is negative or not finite.
    pub fn message_ns(&self, bytes: f64, switches: u32) -> Result<f64, Error> {
        let bytes = check_not_negative("length of a message", bytes)?;
        let payload = self.interface.payload;
        let full = ((bytes / payload).ceil() - 1.0).max(0.0);
        let pace = payload / self.one_way(switches).rate;
        Ok(self.interface.software_ns
            + full * pace
            + self.packet_ns(bytes - full * payload)
            + f64::from(switches) * self.link.switch_ns)
    }

    /// Return the time between the end of one blocking message and the first packet of the next
    /// one. A closed loop loses this time for each message: it includes the trip of the first
    /// packet, the acknowledgement of the last packet, and the software.
    pub fn turn_ns(&self, switches: u32) -> f64 {
        let way = self.circuit_ns(switches) - self.packet_ns(self.interface.payload);
        way + self.interface.software_ns
    }

    /// Return the maximum rate of a node if only the number of circuits or packets in flight limits
    /// it.
    fn circuits(&self, switches: u32) -> f64 {
        let most = self.interface.in_flight.min(self.link.circuits);
        most * self.interface.payload / self.circuit_ns(switches)
    }
}

/// Return the lowest of these bounds, the first of several equal ones.
fn lowest_bound(bounds: [(Limit, f64); 3]) -> Bound {
    let [first, rest @ ..] = bounds.map(|(limit, rate)| Bound { rate, limit });
    let lower = |least: Bound, next: Bound| if next.rate < least.rate { next } else { least };
    rest.into_iter().fold(first, lower)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parameters that reproduce the rates that the QsNET paper measured for one node and for two.
    const ELAN: Rules = Rules {
        link: Link {
            bandwidth: 0.4,
            switch_ns: 35.0,
            acknowledgement_ns: 50.0,
            acknowledgement_switch_ns: 35.0,
            circuits: 2.0,
        },
        interface: Interface {
            payload: 320.0,
            overhead: 58.0,
            padding: 64.0,
            in_flight: 2.0,
            dma_ns: 955.2,
            receive_ns: 188.0,
            software_ns: 1880.0,
        },
    };

    /// Return [`ELAN`] with a slower DMA engine, for messages that are in main memory.
    fn main_memory() -> Rules {
        Rules {
            interface: Interface {
                dma_ns: 1600.0,
                receive_ns: 2400.0,
                ..ELAN.interface
            },
            ..ELAN
        }
    }

    /// Assert that two numbers differ by less than the tolerance.
    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found}, not {expected}");
    }

    /// Checks that the message rate between two nodes is limited by the right part: the DMA engine,
    /// the memory, or the circuits.
    #[test]
    fn one_node_sends_to_another() {
        let ping = ELAN.one_way(5);
        assert_eq!(ping.limit, Limit::Dma);
        near(ping.rate, 320.0 / 955.2);
        near(ELAN.wire_rate(), 320.0 / 945.0);
        near(main_memory().one_way(5).rate, 0.2);
        // With one packet in flight, the trip takes 945 + 5 * 35 ns and the acknowledgement 50 + 5
        // * 35 ns.
        let mut single = ELAN;
        single.interface.in_flight = 1.0;
        let bound = single.one_way(5);
        assert_eq!(bound.limit, Limit::Circuits);
        near(bound.rate, 320.0 / 1345.0);
    }

    /// Checks that the latency of messages of up to one packet, and of one byte more, equals a
    /// calculation by hand.
    #[test]
    fn latency_of_short_messages() {
        let ns = |bytes| ELAN.message_ns(bytes, 5).unwrap();
        // Messages of 0 and 64 bytes take 58 and 122 bytes on a link, at 2.5 ns per byte, over five
        // switches.
        near(ns(0.0), 1880.0 + 145.0 + 175.0);
        near(ns(1.0), ns(64.0));
        near(ns(64.0), 1880.0 + 305.0 + 175.0);
        // A message with one byte more than the payload of a packet needs another packet.
        near(ns(321.0), 1880.0 + 955.2 + 305.0 + 175.0);
        near(ELAN.turn_ns(5), 1880.0 + 175.0 + 175.0 + 50.0);
    }

    /// Checks that infinite limits on circuits and packets are accepted, and a limit of 0, no
    /// bandwidth and NaN are refused.
    #[test]
    fn impossible_rules_are_refused() {
        assert!(ELAN.checked().is_ok());
        let mut rules = ELAN;
        rules.link.circuits = f64::INFINITY;
        rules.interface.in_flight = f64::INFINITY;
        assert!(rules.checked().is_ok());
        near(rules.one_way(5).rate, ELAN.one_way(5).rate);
        rules.interface.in_flight = 0.0;
        let message = rules.checked().unwrap_err().to_string();
        assert_eq!(message, "packets in flight is 0; it must be 1 or more");
        rules = ELAN;
        rules.link.bandwidth = 0.0;
        assert!(rules.checked().is_err());
        rules = ELAN;
        rules.interface.receive_ns = f64::NAN;
        assert!(rules.checked().is_err());
    }
}
