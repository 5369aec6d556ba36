//! Description of the traffic of the processing elements (PEs), as plain values.

use crate::Outstanding;
use isthmus_units::{Bytes, Time};
use strum::{EnumString, VariantNames};

/// Arrival process of the demands of a processing element (PE).
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Arrival {
    /// Poisson: independent exponential gaps of this mean (section 4.3 of the hypercube paper).
    Exponential {
        /// Mean time between two messages of one processing element (PE).
        mean: Time,
    },
    /// Equal gaps, with a random phase for each processing element (PE).
    Deterministic {
        /// Time between two messages of one processing element (PE).
        gap: Time,
    },
    /// On/off: bursts of a geometric number of messages, with exponential silence between bursts.
    /// The silence is such that the long-run mean gap is `mean`.
    Bursty {
        /// Long-run mean time between two messages of one processing element (PE).
        mean: Time,
        /// Mean number of messages in a burst, at least 1.
        burst_messages: f64,
        /// Gap between the messages of one burst; smaller than `mean`.
        burst_gap: Time,
    },
    /// Closed loop: a processing element (PE) keeps `outstanding` demands under way. An exponential think time
    /// separates each completion from the next demand.
    Closed {
        /// Mean time from the completion of a demand to the next demand.
        think: Time,
        /// Number of demands that one processing element (PE) keeps under way, at least 1.
        outstanding: u32,
    },
}

/// Distribution of the blocks of a file over the I/O nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum FileLayout {
    /// All blocks of a file are at one I/O node. The reply is one message.
    Contiguous,
    /// The locality model places each block independently. The reply is one message per I/O node with blocks of the
    /// file.
    Declustered,
}

/// A processing element (PE) or I/O node that receives an extra share of the traffic.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HotSpot {
    /// For messages, the number of the processing element (PE); for requests, the index of the I/O node.
    pub target: u32,
    /// Share of the messages between PEs, or of the requests to I/O nodes, that go to the target, 0 to 1.
    pub probability: f64,
}

/// Shares of the I/O demands that are collective (section 4.3: broadcast, scatter and gather).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Collectives {
    /// Share of I/O demands that fetch one block for all processing elements (PEs).
    pub broadcast: f64,
    /// Share of I/O demands that spread a file's blocks over `group` processing elements (PEs).
    pub scatter: f64,
    /// Share of I/O demands that collect a block from each of `group` processing elements (PEs) at one I/O node.
    pub gather: f64,
    /// Number of processing elements (PEs) that take part in one scatter or gather.
    pub group: u32,
}

/// The traffic of every processing element (PE): arrivals, kinds and sizes of demands.
#[derive(Debug, Clone, PartialEq)]
pub struct TrafficSpec {
    /// Arrival process of the demands of a processing element (PE).
    pub arrival: Arrival,
    /// Limit on the demands of a processing element (PE) that are under way. A demand is under way from its handover to
    /// the network until its last tail arrives or its written data is stored. Further demands wait at the PE. A closed
    /// loop has its own limit.
    pub outstanding: Outstanding,
    /// P_io: share of demands that are I/O requests.
    pub io_probability: f64,
    /// P_r: share of I/O requests that are reads.
    pub read_ratio: f64,
    /// P_l: probability that a block is at the local I/O node (spherical locality, Fig. 3).
    pub locality: f64,
    /// Length of a message between processing elements (PEs).
    pub message: Bytes,
    /// Length of a request and of a request-forward message.
    pub request: Bytes,
    /// Length of an I/O block.
    pub block: Bytes,
    /// Smallest size of a file, in blocks.
    pub file_blocks_min: u32,
    /// Largest size of a file, in blocks. Sizes are uniform between smallest and largest.
    pub file_blocks_max: u32,
    /// Files with more blocks than this are broken up into several (Table 1: 32).
    pub file_blocks_split: u32,
    /// Layout of the blocks of a file on the I/O nodes.
    pub layout: FileLayout,
    /// A processing element (PE) that receives an extra share of the messages between PEs.
    pub hot_pe: Option<HotSpot>,
    /// An I/O node that has an extra share of the blocks that are read.
    pub hot_io_node: Option<HotSpot>,
    /// Shares of the collective operations among the I/O demands.
    pub collectives: Collectives,
}

impl Default for TrafficSpec {
    /// Return the traffic of section 5.1 of the hypercube paper at a mean gap of 0.156 ms, with one
    /// block per request.
    fn default() -> Self {
        Self {
            arrival: Arrival::Exponential {
                mean: Time::from_us(156),
            },
            outstanding: Outstanding::Unlimited,
            io_probability: 0.05,
            read_ratio: 1.0,
            locality: 0.2,
            message: Bytes::new(32),
            request: Bytes::new(32),
            block: Bytes::new(4096),
            file_blocks_min: 1,
            file_blocks_max: 1,
            file_blocks_split: 32,
            layout: FileLayout::Contiguous,
            hot_pe: None,
            hot_io_node: None,
            collectives: Collectives::default(),
        }
    }
}
