//! Description of a fat tree, as plain values.

pub use crate::packets::spec::NetworkSpec;
use crate::packets::spec::{Age, Nic, Readings, Switching};
pub use isthmus_topology::trees::{Ascent, Shape};
use isthmus_units::{Bandwidth, Bytes, Time};

/// Description of a fat tree: its shape, the routing upwards, and its links, switches and interfaces.
#[derive(Debug, Clone, PartialEq)]
pub struct FatTreeSpec {
    /// Shape of the tree: the connections between nodes and the switches of all levels.
    pub shape: Shape,
    /// Rule by which packets choose among the links upwards.
    pub ascent: Ascent,
    /// Properties of the links, switches and interfaces.
    pub network: NetworkSpec,
}

impl FatTreeSpec {
    /// Return the QsNET network of the QsNET paper (sections 2 and 4.1) with `levels` levels. Where the paper states no
    /// value, this project's interpretation of the paper applies.
    pub fn qsnet(levels: u32) -> Self {
        Self {
            shape: Shape::KAry { arity: 4, levels },
            ascent: Ascent::Adaptive,
            network: NetworkSpec {
                bandwidth: Bandwidth::from_mb_per_s(400),
                switch_latency: Time::from_ns(35),
                virtual_channels: 2,
                switching: Switching::Circuit {
                    acknowledgement: Time::from_ns(50),
                    acknowledgement_hop: Time::from_ns(35),
                },
                age: Age::Saturating {
                    limit: Time::from_us(78),
                },
                readings: Readings::default(),
                nic: Nic {
                    payload: Bytes::new(320),
                    overhead: Bytes::new(58),
                    padding: Bytes::new(64),
                    request: Bytes::new(64),
                    packets_in_flight: 2,
                    dma_period: Time::from_ps(955_200),
                    dma_block: Time::ZERO,
                    receive_delay: Time::from_ns(188),
                    software_latency: Time::from_ns(1_880),
                    read_turnaround: Time::ZERO,
                    dma_slice: 1,
                },
                late: None,
            },
        }
    }
}
