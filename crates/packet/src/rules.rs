//! The rules of a network: its times, packet lengths and methods of choice.

use crate::Error;
use crate::limits::CHANNELS_MAX;
use crate::readings::{Adaptive, Age, mixed};
use crate::routes::{self, Routes};
use isthmus_kernel::Cycles;

/// Maximum number of message queues of a node.
pub const QUEUES_MAX: u32 = 256;

/// The method by which packets occupy the links of their route.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Switching {
    /// Circuits: a header gets one virtual channel of each link. The channel stays occupied until
    /// the acknowledgement has come back over that link.
    Circuit {
        /// Maximum number of packets in flight from one node, at least 1. Each occupies a virtual
        /// channel of a link of the node, so the number of these channels is a maximum too.
        in_flight: u32,
    },
    /// Cut-through: a packet moves on as soon as the buffer behind the next link has room for all
    /// of it. Credits report that room to the sender of the link.
    CutThrough {
        /// Size in bytes of the buffer that each virtual channel has at the receiving end of a
        /// link.
        buffer: u32,
        /// Ticks from the departure of a packet's tail from a buffer until the sender of the link
        /// receives the credits.
        credit: Cycles,
        /// Buffers behind the crossbars of the switches. `None`: packets cross a switch directly
        /// onto the next link.
        outputs: Option<Outputs>,
    },
}

/// Buffers at the outputs of switches, into which packets cross faster than links carry them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Outputs {
    /// Bytes of buffer for each link out of a switch, shared by its virtual channels.
    pub buffer: u32,
    /// Speed of the path into each buffer relative to a link, at least 1.
    pub speedup: u32,
}

impl Outputs {
    /// Returns the ticks for which a packet occupies the path into an output buffer, if it occupies
    /// a link for `ticks`.
    pub fn crossing(self, ticks: Cycles) -> Cycles {
        ticks.div_ceil(u64::from(self.speedup))
    }
}

/// An empirical rule: packets that have been in the network for long occupy their last link for
/// longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Late {
    /// Minimum age of an old packet: the rule applies if the packet starts on its last link more
    /// than this many ticks after its injection.
    pub older_than: Cycles,
    /// Additional ticks for which an old packet occupies the last link.
    pub extra: Cycles,
}

/// Properties of the network interface of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Interface {
    /// Number of message queues of each node, at least 1. Messages of one queue are sent one after
    /// another; messages of different queues take turns.
    pub queues: u32,
    /// Minimum ticks from the generation of a message to its first packet.
    pub start: Cycles,
    /// Ticks from one packet of the DMA engine to its next, whatever its length; at least 1.
    pub packet: Cycles,
    /// Ticks of the DMA engine per packet for each block of [`Rules::block`] bytes of its payload,
    /// in addition to `packet`.
    pub packet_block: Cycles,
    /// Ticks by which an arriving packet delays a busy DMA engine.
    pub receive: Cycles,
    /// Number of packets of one message that the DMA engine sends per turn, at least 1.
    pub slice: u32,
    /// Payload of a read request in bytes.
    pub request: u32,
    /// Ticks from the time at which the data of a read is ready to the start of the DMA that sends
    /// it.
    pub turnaround: Cycles,
}

/// The rules of a network: its times, packet lengths and methods of choice. Times are in ticks,
/// lengths in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// Ticks per byte on a link, at least 1.
    pub byte: Cycles,
    /// Ticks from the start of a header on a link to its request for an output of the switch behind
    /// the link, at least 1. They include the flow-through time of the switch, and the cable unless
    /// links have lengths.
    pub hop: Cycles,
    /// Ticks from the arrival of a packet's tail to the start of its acknowledgement.
    pub acknowledge: Cycles,
    /// Ticks that an acknowledgement takes per switch on its way back to the sender.
    pub acknowledge_hop: Cycles,
    /// Number of virtual channels of each link, per direction and class of channels;
    /// [`CHANNELS_MAX`] is the maximum for all classes of a link together.
    pub channels: u32,
    /// The method by which packets occupy links.
    pub switching: Switching,
    /// The choice of a link if several are possible.
    pub adaptive: Adaptive,
    /// The rule by which a link serves the oldest waiting packet first: how age is defined.
    pub age: Age,
    /// The rule by which old packets occupy the last link for longer, if it applies.
    pub late: Option<Late>,
    /// Maximum payload of a packet in bytes, at least 1.
    pub payload: u32,
    /// Bytes of a packet in addition to the padded payload.
    pub overhead: u32,
    /// Size of a block in bytes, at least 1. Payloads are padded to whole blocks.
    pub block: u32,
    /// Properties of the network interfaces of the nodes.
    pub interface: Interface,
}

impl Rules {
    /// Checks that the rules are valid.
    ///
    /// # Errors
    /// The first value that is out of bounds.
    pub fn check(&self) -> Result<(), Error> {
        let interface = &self.interface;
        let (in_flight, speedup) = match self.switching {
            Switching::Circuit { in_flight } => (in_flight, 1),
            Switching::CutThrough { outputs, .. } => {
                (1, outputs.map_or(1, |outputs| outputs.speedup))
            }
        };
        for (what, value) in [
            ("byte", self.byte),
            ("hop", self.hop),
            ("channels", u64::from(self.channels)),
            ("in_flight", u64::from(in_flight)),
            ("speedup", u64::from(speedup)),
            ("payload", u64::from(self.payload)),
            ("block", u64::from(self.block)),
            ("interface.queues", u64::from(interface.queues)),
            ("interface.packet", interface.packet),
            ("interface.slice", u64::from(interface.slice)),
        ] {
            if value == 0 {
                return Err(Error::Zero { what });
            }
        }
        for (what, value, most) in [
            ("channels", self.channels, CHANNELS_MAX),
            ("interface.queues", interface.queues, QUEUES_MAX),
        ] {
            if value > most {
                return Err(Error::TooMany { what, value, most });
            }
        }
        if interface.request > self.payload {
            return Err(Error::LongRequest {
                bytes: interface.request,
                payload: self.payload,
            });
        }
        let packet = self.wire_bytes(u64::from(self.payload));
        let longest = packet.saturating_mul(self.byte);
        if packet == 0 || longest > u64::from(u32::MAX) {
            return Err(Error::LongestPacket { ticks: longest });
        }
        if self.wire_bytes(0) == 0 {
            return Err(Error::Zero { what: "overhead" });
        }
        if let Switching::CutThrough {
            buffer, outputs, ..
        } = self.switching
        {
            let output = outputs.map_or(u32::MAX, |outputs| outputs.buffer);
            for (of, buffer) in [("a virtual channel", buffer), ("an output", output)] {
                if u64::from(buffer) < packet {
                    return Err(Error::SmallBuffer { of, buffer, packet });
                }
            }
        }
        Ok(())
    }

    /// Checks that the rules are valid on a network, and that the network is consistent.
    ///
    /// # Errors
    /// The errors of [`check`](Self::check); too many channels; output buffers with several classes
    /// of channels; too many or too long links.
    pub fn check_on(&self, routes: &impl Routes) -> Result<(), Error> {
        self.check()?;
        self.check_classes(routes.classes())?;
        routes::check(routes)
    }

    /// Checks that the rules are valid with this number of classes of channels.
    fn check_classes(&self, classes: u32) -> Result<(), Error> {
        if classes == 0 {
            return Err(Error::Zero { what: "classes" });
        }
        if u64::from(self.channels) * u64::from(classes) > u64::from(CHANNELS_MAX) {
            return Err(Error::Channels {
                classes,
                channels: self.channels,
            });
        }
        match self.switching {
            Switching::CutThrough {
                outputs: Some(_), ..
            } if classes > 1 => Err(Error::SharedOutputs { classes }),
            _ => Ok(()),
        }
    }

    /// Returns the number of blocks to which a payload of this number of bytes is padded.
    pub(crate) fn blocks(&self, payload: u64) -> u64 {
        payload.div_ceil(u64::from(self.block))
    }

    /// Returns the number of bytes that a packet with this payload has on a link.
    pub fn wire_bytes(&self, payload: u64) -> u64 {
        self.blocks(payload) * u64::from(self.block) + u64::from(self.overhead)
    }

    /// Returns the number of packets of a message with this many bytes of data, at least 1.
    pub fn packets(&self, bytes: u64) -> u64 {
        bytes.div_ceil(u64::from(self.payload)).max(1)
    }
}

/// Returns the random number that selects one of several equally good links. It depends only on the
/// seed, the source, the number of the packet at its source (from 0), and the index of the link on
/// the route (from 0 for the link of the source). Of n links, in the order of their numbers, the
/// index of the selected link is this number times n, divided by 2^64.
///
/// Other random decisions of a network at a link use, instead of the index of the link, that index
/// plus 2^16. Random decisions at injection use the index 2^17.
pub fn tie(seed: u64, node: u32, packet: u32, link: u32) -> u64 {
    let place = u64::from(node) << 32 | u64::from(packet);
    let link = u64::from(link);
    mixed(seed ^ (link << 56) ^ (link >> 8), place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::readings::{AgeFrom, AgeTie};

    /// Return valid rules for the tests.
    fn rules() -> Rules {
        Rules {
            byte: 1,
            hop: 1,
            acknowledge: 0,
            acknowledge_hop: 0,
            channels: 2,
            switching: Switching::CutThrough {
                buffer: 378,
                credit: 0,
                outputs: None,
            },
            adaptive: Adaptive::default(),
            age: Age {
                from: AgeFrom::Injection,
                saturates: None,
                tie: AgeTie::RoundRobin,
            },
            late: None,
            payload: 320,
            overhead: 58,
            block: 64,
            interface: Interface {
                queues: 1,
                start: 0,
                packet: 1,
                packet_block: 0,
                receive: 0,
                slice: 1,
                request: 0,
                turnaround: 0,
            },
        }
    }

    /// Checks the number of bytes of a packet on a link, and the number of packets of a message.
    #[test]
    fn packets_are_padded_and_counted() {
        let rules = rules();
        assert_eq!(
            [0, 1, 64, 65].map(|p| rules.wire_bytes(p)),
            [58, 122, 122, 186]
        );
        assert_eq!([0, 1, 320, 321].map(|b| rules.packets(b)), [1, 1, 1, 2]);
    }

    /// Checks that invalid rules cause an error that names the rule.
    #[test]
    fn invalid_rules_cause_errors_that_name_them() {
        assert_eq!(rules().check(), Ok(()));
        let wrong = |change: fn(&mut Rules)| {
            let mut rules = rules();
            change(&mut rules);
            rules.check().unwrap_err().to_string()
        };
        assert_eq!(wrong(|r| r.hop = 0), "hop is 0; it must be 1 or more");
        assert_eq!(
            wrong(|r| r.channels = 17),
            "channels is 17; it may be 16 at most"
        );
        assert_eq!(
            wrong(|r| r.interface.queues = 300),
            "interface.queues is 300; it may be 256 at most"
        );
        assert_eq!(
            wrong(|r| r.switching = Switching::Circuit { in_flight: 0 }),
            "in_flight is 0; it must be 1 or more"
        );
        assert_eq!(
            wrong(|r| {
                r.switching = Switching::CutThrough {
                    buffer: 377,
                    credit: 0,
                    outputs: None,
                }
            }),
            "a virtual channel has a buffer of 377 bytes; it must hold a packet of 378"
        );
        let with_outputs = |buffer: u32, speedup: u32| {
            let switching = Switching::CutThrough {
                buffer: 378,
                credit: 0,
                outputs: Some(Outputs { buffer, speedup }),
            };
            Rules {
                switching,
                ..rules()
            }
        };
        assert_eq!(with_outputs(378, 1).check(), Ok(()));
        assert_eq!(
            with_outputs(378, 0).check().unwrap_err().to_string(),
            "speedup is 0; it must be 1 or more"
        );
        assert_eq!(
            with_outputs(377, 2).check().unwrap_err().to_string(),
            "an output has a buffer of 377 bytes; it must hold a packet of 378"
        );
        assert_eq!(
            wrong(|r| r.interface.request = 321),
            "a read request has 321 bytes of payload; a packet has 320 at most"
        );
        assert_eq!(
            wrong(|r| r.byte = 1 << 24),
            "the longest packet takes a link for 6341787648 ticks; it may take 1 to 4294967295"
        );
        assert_eq!(
            wrong(|r| (r.overhead, r.block) = (0, 1)),
            "overhead is 0; it must be 1 or more"
        );
    }
}
