//! Balance of computing and I/O: the I/O bandwidth that a multicomputer needs for its number of processing elements
//! (section 3 of the hypercube paper).
//!
//! H. T. Kung (*Memory requirements for balanced computer architectures*, ISCA 1986, the paper's
//! reference 22) calls a machine balanced for a computation if computing takes as long as I/O. A memory of
//! M words lets each word that is read be used for f(M) operations before it has to be fetched again, so balance means
//! C / IO = f(M) up to a constant. N PEs with C and M each have N C and N M in total; they stay balanced if the total
//! I/O bandwidth is N f(M) / f(N M) times that of one PE.
//!
//! | computation | f(M) | factor N f(M) / f(N M) |
//! |---|---|---|
//! | sorting, FFT | log M | N log M / (log N + log M) |
//! | matrix product | sqrt M | sqrt N |
//! | relaxation on a d-dimensional grid | M^(1/d) | N^((d-1)/d) |
//! | I/O bound (matrix by vector) | 1 | N |
//! | searching | log M / M | N^2 log M / (log N + log M) |
//!
//! Matrix product: blocks of side sqrt(M) take M words for M^(3/2) operations. Grid relaxation: a block of M points has
//! sides of M^(1/d), so M^(1/d) iterations are possible before new data are needed. Searching: section 3's example of a
//! computation that grows more slowly than the data (log S steps for S values). It needs the I/O bandwidth to grow
//! faster than the computing bandwidth.

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::error::check;

/// A kind of computation. It determines how fast the required I/O bandwidth increases with the number of PEs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Computation {
    /// Sorting by comparison of many more values than fit into memory.
    Sorting,
    /// A program that computes fast Fourier transforms.
    FourierTransform,
    /// Product of two matrices.
    MatrixProduct,
    /// Relaxation on a grid: repeated computation of each point from its neighbours.
    GridRelaxation {
        /// Dimensions of the grid, 1 or more.
        dimensions: u32,
    },
    /// Computation that uses each word a fixed number of times, such as the product of a matrix and a vector.
    IoBound,
    /// Binary search in sorted data.
    Searching,
}

impl Computation {
    /// Return log2 of f(M), up to a constant. f(M) is the number of operations per word of I/O with a memory of M
    /// words; `log_memory` is log2 M.
    fn log_reuse(self, log_memory: f64) -> f64 {
        match self {
            Self::Sorting | Self::FourierTransform => log_memory.log2(),
            Self::MatrixProduct => log_memory / 2.0,
            Self::GridRelaxation { dimensions } => log_memory / f64::from(dimensions),
            Self::IoBound => 0.0,
            Self::Searching => log_memory.log2() - log_memory,
        }
    }

    /// Return the factor by which N = `pes` PEs need more I/O bandwidth than one PE, by the formula that does not
    /// depend on the memory: for example N / log2 N for sorting and the FFT, N^2 / log2 N for searching.
    fn factor_without_memory(self, pes: f64) -> f64 {
        match self {
            Self::Sorting | Self::FourierTransform => pes / pes.log2().max(1.0),
            Self::Searching => pes * pes / pes.log2().max(1.0),
            Self::MatrixProduct => pes.sqrt(),
            Self::GridRelaxation { dimensions } => pes.powf(1.0 - 1.0 / f64::from(dimensions)),
            Self::IoBound => pes,
        }
    }
}

/// A multicomputer and its computation: the inputs of the balance rule.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Balance {
    /// The computation that the machine performs.
    pub computation: Computation,
    /// N: number of PEs.
    pub pes: u64,
    /// C: computing bandwidth of one PE in MIPS.
    pub mips: f64,
    /// IO: I/O bandwidth in MByte/s that balances a single PE.
    pub io_mbytes_per_s: f64,
    /// M: memory of one PE in words (values). `None` selects the formula of the paper that does not depend on the
    /// memory, such as N / log N.
    pub memory_words: Option<f64>,
    /// Bandwidth of one I/O node in MByte/s. `None` means that it equals the I/O bandwidth of one PE.
    pub io_node_mbytes_per_s: Option<f64>,
}

/// Bandwidths and I/O nodes of a balanced multicomputer, in which computing takes as long as I/O.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Balanced {
    /// Factor by which the I/O bandwidth of the machine must exceed that of one PE.
    pub factor: f64,
    /// I/O bandwidth of the machine in MByte/s.
    pub io_mbytes_per_s: f64,
    /// Computing bandwidth of the machine in MIPS.
    pub mips: f64,
    /// Instructions per byte of I/O in one PE.
    pub instructions_per_byte_pe: f64,
    /// Instructions per byte of I/O of the whole machine, with the memory of all PEs together.
    pub instructions_per_byte: f64,
    /// Number of I/O nodes that provide this I/O bandwidth.
    pub io_nodes: u64,
    /// Mean number of PEs per I/O node.
    pub pes_per_io_node: f64,
    /// For a hypercube (N a power of two): the placement by (combined) Hamming codes whose number of I/O nodes is
    /// nearest in ratio. Of two equally near placements, the one with more I/O nodes. `None` for other numbers of PEs.
    pub hamming: Option<HammingPlacement>,
}

/// Number of I/O nodes of a placement by a Hamming code: each I/O node serves its own PE and the neighbours of this PE
/// in 2^m - 1 dimensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct HammingPlacement {
    /// Number of I/O nodes, N / 2^m.
    pub io_nodes: u64,
    /// Number of PEs per I/O node, 2^m.
    pub pes_per_io_node: u64,
    /// Whether each PE of the whole cube is within one hop of exactly one I/O node. This holds if the dimension of the
    /// cube is 2^m - 1. Otherwise the placement combines codes of smaller cubes.
    pub perfect: bool,
}

impl Balance {
    /// Return the I/O bandwidth and the number of I/O nodes that the balanced machine needs.
    ///
    /// # Errors
    /// There is no PE, a bandwidth is not above zero, a memory has fewer than two words, or a grid has no dimensions.
    pub fn solve(&self) -> Result<Balanced, Error> {
        let positive = |field, value: f64| check(field, value, "above zero", value > 0.0);
        positive("pes", self.pes as f64)?;
        positive("mips", self.mips)?;
        positive("io_mbytes_per_s", self.io_mbytes_per_s)?;
        let io_node = self.io_node_mbytes_per_s.unwrap_or(self.io_mbytes_per_s);
        positive("io_node_mbytes_per_s", io_node)?;
        if let Computation::GridRelaxation { dimensions } = self.computation {
            positive("dimensions of the grid", f64::from(dimensions))?;
        }
        if let Some(memory) = self.memory_words {
            check("memory_words", memory, "2 or more", memory >= 2.0)?;
        }
        let pes = self.pes as f64;
        let factor = match self.memory_words {
            Some(memory) => {
                let (one, all) = (memory.log2(), memory.log2() + pes.log2());
                let reuse = self.computation.log_reuse(one) - self.computation.log_reuse(all);
                pes * reuse.exp2()
            }
            None => self.computation.factor_without_memory(pes),
        };
        let io_mbytes_per_s = factor * self.io_mbytes_per_s;
        // The tolerance keeps rounding errors from adding an I/O node.
        let io_nodes = (io_mbytes_per_s / io_node - 1e-9).ceil().max(1.0);
        Ok(Balanced {
            factor,
            io_mbytes_per_s,
            mips: pes * self.mips,
            instructions_per_byte_pe: self.mips / self.io_mbytes_per_s,
            instructions_per_byte: pes * self.mips / io_mbytes_per_s,
            io_nodes: io_nodes as u64,
            pes_per_io_node: pes / io_nodes,
            hamming: nearest_hamming(self.pes, io_nodes),
        })
    }
}

/// Return the Hamming placement whose number of I/O nodes is nearest to `io_nodes` on a cube of `pes` nodes; `None` if
/// `pes` is no power of two.
fn nearest_hamming(pes: u64, io_nodes: f64) -> Option<HammingPlacement> {
    if !pes.is_power_of_two() {
        return None;
    }
    let dimension = u64::from(pes.ilog2());
    (0..63u32)
        .map(|m| (m, (1u64 << m) - 1))
        .take_while(|&(_, neighbours)| neighbours <= dimension)
        .map(|(m, neighbours)| HammingPlacement {
            io_nodes: pes >> m,
            pes_per_io_node: 1 << m,
            perfect: neighbours == dimension,
        })
        .min_by(|a, b| {
            let ratio = |count: &HammingPlacement| (count.io_nodes as f64 / io_nodes).log2().abs();
            ratio(a).total_cmp(&ratio(b))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Return a machine for the tests, with the bandwidths of the hypercube paper.
    fn machine(computation: Computation, pes: u64, memory_words: Option<f64>) -> Balance {
        Balance {
            computation,
            pes,
            mips: 10.0,
            io_mbytes_per_s: 2.0,
            memory_words,
            io_node_mbytes_per_s: None,
        }
    }

    /// Checks that for sorting, the 128 PEs of the paper need as many I/O nodes as the nearest placement by a Hamming
    /// code provides: 16, one for 8 PEs.
    #[test]
    fn sorting_on_the_papers_machine_needs_its_hamming_placement() {
        let balanced = machine(Computation::Sorting, 128, None).solve().unwrap();
        // The expected factor between the I/O bandwidths of the machine and of one PE is N / log N = 128 / 7 = 18.3.
        assert!((balanced.factor - 128.0 / 7.0).abs() < 1e-9);
        assert_eq!(balanced.io_nodes, 19);
        let hamming = balanced.hamming.unwrap();
        assert_eq!((hamming.io_nodes, hamming.pes_per_io_node), (16, 8));
        assert!(hamming.perfect);
    }

    /// Checks that with a memory size, the factor of the I/O bandwidth satisfies Eq. (3) of the hypercube paper.
    #[test]
    fn equation_3_holds_with_the_memory() {
        let balanced = machine(Computation::Sorting, 128, Some(1_048_576.0))
            .solve()
            .unwrap();
        // The expected factor is N log M / (log N + log M) = 128 * 20 / 27, with binary logarithms.
        assert!((balanced.factor - 128.0 * 20.0 / 27.0).abs() < 1e-9);
        // By Eq. (3) of the paper, the instructions per byte of I/O divided by the logarithm of the memory are the same
        // for the machine, log2(N M) = 27, and for one PE, log2 M = 20.
        let machine = balanced.instructions_per_byte / 27.0;
        assert!((machine - balanced.instructions_per_byte_pe / 20.0).abs() < 1e-12);
    }

    /// Checks that the factor of the I/O bandwidth is correct for matrix products, grid relaxation, I/O bound
    /// computations, the FFT and searching.
    #[test]
    fn factors_of_the_other_computations() {
        let factor = |computation, memory| {
            let balanced = machine(computation, 64, memory).solve().unwrap();
            balanced.factor
        };
        let memory = Some(4096.0);
        let cases = [
            (Computation::MatrixProduct, 8.0),
            (Computation::GridRelaxation { dimensions: 1 }, 1.0),
            (Computation::GridRelaxation { dimensions: 2 }, 8.0),
            (Computation::GridRelaxation { dimensions: 3 }, 16.0),
            (Computation::IoBound, 64.0),
        ];
        for (computation, expected) in cases {
            assert!((factor(computation, memory) - expected).abs() < 1e-9);
            assert!((factor(computation, None) - expected).abs() < 1e-9);
        }
        // Expect the factor 64 * 12 / 18 for Fourier transforms, the same as for sorting, and 64 times as much for
        // searching.
        let sorting = factor(Computation::FourierTransform, memory);
        assert!((sorting - 64.0 * 12.0 / 18.0).abs() < 1e-9);
        assert!((factor(Computation::Searching, memory) - 64.0 * sorting).abs() < 1e-6);
    }

    /// Checks that a machine of one PE needs the I/O bandwidth of one PE and one I/O node.
    #[test]
    fn one_pe_needs_one_io_node() {
        for computation in [
            Computation::Sorting,
            Computation::MatrixProduct,
            Computation::Searching,
            Computation::IoBound,
        ] {
            for memory in [None, Some(1024.0)] {
                let balanced = machine(computation, 1, memory).solve().unwrap();
                assert!((balanced.factor - 1.0).abs() < 1e-9);
                assert_eq!(balanced.io_nodes, 1);
            }
        }
    }

    /// Checks that with faster I/O nodes the machine needs fewer of them.
    #[test]
    fn fast_io_nodes_are_fewer() {
        let balanced = Balance {
            io_node_mbytes_per_s: Some(8.0),
            ..machine(Computation::MatrixProduct, 64, None)
        }
        .solve()
        .unwrap();
        assert_eq!(balanced.io_nodes, 2);
        assert_eq!(balanced.pes_per_io_node, 32.0);
        // Expect 64 / 4 = 16 I/O nodes: each serves 4 PEs, its own and the neighbours along 3 of the 6 dimensions.
        assert_eq!(balanced.hamming.unwrap().io_nodes, 16);
        assert!(!balanced.hamming.unwrap().perfect);
    }

    /// Checks that a machine without PEs, a grid without dimensions and a memory of one word are refused.
    #[test]
    fn impossible_machines_are_refused() {
        assert!(machine(Computation::Sorting, 0, None).solve().is_err());
        let dimensions = 0;
        let flat = machine(Computation::GridRelaxation { dimensions }, 8, None);
        assert!(flat.solve().is_err());
        let message = machine(Computation::Sorting, 8, Some(1.0))
            .solve()
            .unwrap_err();
        assert_eq!(
            message.to_string(),
            "memory_words is 1; it must be 2 or more"
        );
        let odd = machine(Computation::Sorting, 100, None).solve().unwrap();
        assert_eq!(odd.hamming, None);
    }
}
