//! Inputs of the model: the hypercube with I/O nodes and its traffic, as plain numbers.

pub use isthmus_topology::Lanes;
use serde::{Deserialize, Serialize};

use super::serving::Serving;
use crate::Error;
use crate::error::{check, check_probability};
use crate::moments::Moments;

/// Traffic of each PE: kinds and lengths of messages. The message rate is an argument of the
/// methods of [`HypercubeIo`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Traffic {
    /// P_io: share of messages that are I/O requests.
    pub io_probability: f64,
    /// P_r: share of I/O requests that are reads.
    pub read_ratio: f64,
    /// P_l: probability that a block is at the local I/O node of the PE.
    pub locality: f64,
    /// Length of a PE-PE message in flits.
    pub message: Moments,
    /// Length in flits of a read request, and of a request that an I/O node forwards to another one.
    pub request: Moments,
    /// Length of a reply in flits.
    pub reply: Moments,
    /// Length of a write in flits: request and data are one message.
    pub write: Moments,
    /// Number of replies per read request. For each reply from a remote I/O node, one request is
    /// forwarded to that node. The number is 1 unless the blocks of a file are spread over the I/O
    /// nodes.
    pub replies_per_read: f64,
}

/// A binary hypercube of PEs with I/O nodes, with or without an I/O network, and its traffic.
#[derive(Debug, Clone, PartialEq)]
pub struct HypercubeIo {
    /// Dimension of the PE hypercube, 1 to 20.
    pub dimension: u32,
    /// Number of I/O nodes.
    pub io_nodes: u32,
    /// Positions of the PEs relative to the I/O nodes that serve them.
    pub serving: Serving,
    /// Number of lanes of each kind of link.
    pub lanes: Lanes,
    /// Traffic of each PE.
    pub traffic: Traffic,
}

impl HypercubeIo {
    /// Return the number of PEs, 2^dimension.
    pub fn pes(&self) -> f64 {
        2f64.powi(self.dimension as i32)
    }

    /// Return the dimension of the I/O cube: the smallest that has room for all I/O nodes.
    pub fn io_dimension(&self) -> u32 {
        self.io_nodes.next_power_of_two().ilog2()
    }

    /// Return whether an I/O network exists.
    pub fn has_io_network(&self) -> bool {
        self.lanes.io_link > 0
    }

    /// Return the share of messages that are read requests.
    pub(super) fn reads(&self) -> f64 {
        self.traffic.io_probability * self.traffic.read_ratio
    }

    /// Check that all inputs are possible.
    ///
    /// # Errors
    /// The first input that is outside its range or contradicts another input.
    pub fn validate(&self) -> Result<(), Error> {
        let whole = |field, value: u32, expected, holds| {
            check(field, f64::from(value), expected, holds).map(|_| ())
        };
        let dimension = self.dimension;
        whole(
            "dimension",
            dimension,
            "1 to 20",
            (1..=20).contains(&dimension),
        )?;
        let fits = self.io_nodes >= 1 && f64::from(self.io_nodes) <= self.pes();
        whole("io_nodes", self.io_nodes, "1 to the number of PEs", fits)?;
        for (field, lanes) in [
            ("lanes.pe", self.lanes.pe),
            ("lanes.link", self.lanes.link),
            ("lanes.io_node", self.lanes.io_node),
        ] {
            whole(field, lanes, "1 or more", lanes >= 1)?;
        }
        if self.has_io_network() {
            for (field, lanes) in [
                ("lanes.io_source", self.lanes.io_source),
                ("lanes.io_to_pe", self.lanes.io_to_pe),
            ] {
                whole(
                    field,
                    lanes,
                    "1 or more where there is an I/O network",
                    lanes >= 1,
                )?;
            }
        }
        self.validate_serving()?;
        self.validate_traffic()
    }

    /// Check the positions of the PEs relative to their I/O nodes.
    fn validate_serving(&self) -> Result<(), Error> {
        let serving = &self.serving;
        for (field, shares) in [
            ("serving.crossing", &serving.crossing),
            ("serving.first", &serving.first),
            ("serving.last", &serving.last),
            ("serving.class_one_ones", &serving.class_one_ones),
        ] {
            if shares.len() != self.dimension as usize {
                return Err(Error::Length {
                    field,
                    found: shares.len(),
                    expected: self.dimension as usize,
                });
            }
            for &share in shares {
                check_probability(field, share)?;
            }
        }
        for shares in [&serving.first, &serving.last] {
            let more = |(share, crossing): (&f64, &f64)| share > &(crossing + 1e-12);
            if shares.iter().zip(&serving.crossing).any(more) {
                return Err(Error::Contradiction(
                    "serving.first and serving.last must not exceed serving.crossing",
                ));
            }
        }
        Ok(())
    }

    /// Check the traffic of each PE.
    fn validate_traffic(&self) -> Result<(), Error> {
        let traffic = &self.traffic;
        check_probability("traffic.io_probability", traffic.io_probability)?;
        check_probability("traffic.read_ratio", traffic.read_ratio)?;
        check_probability("traffic.locality", traffic.locality)?;
        for (field, length) in [
            ("traffic.message", traffic.message),
            ("traffic.request", traffic.request),
            ("traffic.reply", traffic.reply),
            ("traffic.write", traffic.write),
        ] {
            check(field, length.mean, "1 flit or more", length.mean >= 1.0)?;
            check(
                field,
                length.second,
                "at least the square of the mean",
                length.second >= length.mean * length.mean * (1.0 - 1e-12),
            )?;
            check(
                field,
                length.third,
                "at least the cube of the mean",
                length.third >= length.mean.powi(3) * (1.0 - 1e-12),
            )?;
        }
        let replies = traffic.replies_per_read;
        check(
            "traffic.replies_per_read",
            replies,
            "1 or more",
            replies >= 1.0,
        )?;
        if self.io_nodes == 1 && self.reads() > 0.0 && traffic.locality < 1.0 {
            return Err(Error::Contradiction(
                "with one I/O node every block is local: traffic.locality must be 1",
            ));
        }
        Ok(())
    }
}
