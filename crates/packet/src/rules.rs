//! Times, lengths and choices.

use crate::Error;
use crate::limits::CHANNELS_MAX;
use crate::readings::{Adaptive, Age, mixed};
use crate::ways::{self, Ways};
use isthmus_kernel::Cycles;

/// Message queues that a node may have.
pub const QUEUES_MAX: u32 = 256;

/// How packets hold the links of their way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Switching {
    /// A header takes one virtual channel of each link and keeps it until the acknowledgement
    /// has come back over that link.
    Circuit {
        /// Packets that a node may have on their way, 1 or more. Each holds a virtual channel of
        /// a link of the node, so that no more than there are of these count.
        in_flight: u32,
    },
    /// A packet moves on as soon as the buffer behind the next link has room for all of it; credits
    /// tell the sender of the link what room there is.
    CutThrough {
        /// Bytes of buffer for each virtual channel at the receiving end of a link.
        buffer: u32,
        /// From a packet's tail leaving a buffer to the sender's knowing it.
        credit: Cycles,
        /// Buffers behind the crossbars of the switches. `None`: a packet crosses onto the link.
        outputs: Option<Outputs>,
    },
}

/// Buffers at the outputs of switches, into which packets cross faster than links carry them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Outputs {
    /// Bytes of buffer for each link out of a switch, all its virtual channels together.
    pub buffer: u32,
    /// How many times as fast as a link the way into each of them is, 1 or more.
    pub speedup: u32,
}

impl Outputs {
    /// Ticks for which the way into a buffer is taken by a packet that takes a link for `ticks`.
    pub fn crossing(self, ticks: Cycles) -> Cycles {
        ticks.div_ceil(u64::from(self.speedup))
    }
}

/// Old packets cost the last link more: an empirical term.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Late {
    /// A packet whose last link starts more than this after its injection pays.
    pub older_than: Cycles,
    /// What the last link is busy for, in addition.
    pub extra: Cycles,
}

/// A node's network interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Interface {
    /// Messages of one queue go one after another, those of different queues take turns. Number of
    /// queues of each node, 1 or more.
    pub queues: u32,
    /// From a message's generation to its first packet, at least.
    pub start: Cycles,
    /// From one packet of the DMA engine to its next, whatever its length; 1 or more.
    pub packet: Cycles,
    /// The same, for each block of [`Rules::block`] bytes of payload, in addition.
    pub packet_block: Cycles,
    /// By how much a packet that arrives delays a busy DMA engine.
    pub receive: Cycles,
    /// Packets that the DMA engine sends of one message before the next has its turn, 1 or more.
    pub slice: u32,
    /// Bytes of payload of a read request.
    pub request: u32,
    /// From a read request's arrival to the start of the server's DMA.
    pub turnaround: Cycles,
}

/// The rules of a fabric. Times are in ticks, as long as the caller likes; lengths are in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// Ticks that a byte takes on a link, 1 or more.
    pub byte: Cycles,
    /// From a header's start on a link to its request for an output of the switch behind it, 1 or
    /// more: flow-through, and the cable unless links have lengths.
    pub hop: Cycles,
    /// From the arrival of a packet's tail to the start of its acknowledgement.
    pub acknowledge: Cycles,
    /// What the acknowledgement takes for each switch on the way back.
    pub acknowledge_hop: Cycles,
    /// Virtual channels of each link and direction, in each class of them that the network has; 1
    /// to [`CHANNELS_MAX`] in all.
    pub channels: u32,
    /// How packets hold links.
    pub switching: Switching,
    /// How packets choose among links, where several lead on.
    pub adaptive: Adaptive,
    /// Who goes first.
    pub age: Age,
    /// What old packets cost.
    pub late: Option<Late>,
    /// Bytes of payload of a packet at most, 1 or more.
    pub payload: u32,
    /// Bytes that a packet has in addition.
    pub overhead: u32,
    /// Payloads are padded to multiples of this, 1 or more.
    pub block: u32,
    /// The nodes' interfaces.
    pub interface: Interface,
}

impl Rules {
    /// Checks that the rules can be followed.
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

    /// Checks that the rules can be followed on a network, which must not contradict itself.
    ///
    /// # Errors
    /// As [`check`](Self::check); too many channels, output buffers that classes would share, links that
    /// are too many or too long.
    pub fn check_on(&self, ways: &impl Ways) -> Result<(), Error> {
        self.check()?;
        self.check_classes(ways.classes())?;
        ways::check(ways)
    }

    /// Checks that the rules can be followed where links have so many classes of channels.
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

    /// Blocks of a payload.
    pub(crate) fn blocks(&self, payload: u64) -> u64 {
        payload.div_ceil(u64::from(self.block))
    }

    /// Bytes of a packet on a link.
    pub fn wire_bytes(&self, payload: u64) -> u64 {
        self.blocks(payload) * u64::from(self.block) + u64::from(self.overhead)
    }

    /// Packets of a message: one at least.
    pub fn packets(&self, bytes: u64) -> u64 {
        bytes.div_ceil(u64::from(self.payload)).max(1)
    }
}

/// The number that decides between links that are equally good: the same for the same seed, source,
/// number of the packet among those of its source (from 0), and link of its way (from 0; that of the
/// node is 0). Of n links, in the order of their numbers, the one is taken whose index is this number
/// times n, divided by 2^64.
///
/// What a network that is not plain decides by lot at a link, beside that, has a lot of its own: that of
/// 2^16 plus the link; what it decides when a packet is injected, that of 2^17.
pub fn tie(seed: u64, node: u32, packet: u32, link: u32) -> u64 {
    let place = u64::from(node) << 32 | u64::from(packet);
    let link = u64::from(link);
    mixed(seed ^ (link << 56) ^ (link >> 8), place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::readings::{AgeFrom, AgeTie};

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

    #[test]
    fn packets_are_padded_and_counted() {
        let rules = rules();
        assert_eq!(
            [0, 1, 64, 65].map(|p| rules.wire_bytes(p)),
            [58, 122, 122, 186]
        );
        assert_eq!([0, 1, 320, 321].map(|b| rules.packets(b)), [1, 1, 1, 2]);
    }

    #[test]
    fn rules_that_cannot_be_followed_are_named() {
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
