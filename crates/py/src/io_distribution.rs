//! The I/O distribution of an array, from which a network interface reads it in large blocks.

use crate::arrays::{Along, PyLayout, place, wrong};
use isthmus_redistribute::{IoDistribution, IoGrid};
use pyo3::prelude::*;

/// A transfer unit: its number, its start in the array, and the rank and number of elements of each
/// of its blocks.
type Unit = (u64, u64, Vec<(u32, u64)>);

/// A layout from which an interface reads transfer units, as a class of Python.
#[pyclass(name = "IoDistribution", module = "isthmus._core", frozen)]
pub(crate) struct PyIoDistribution(IoDistribution);

#[pymethods]
impl PyIoDistribution {
    /// Create the distribution of an array over a grid of processors, with rows and columns, for a network
    /// interface with `links` links to the grid and transfer units of at most `tu` bytes. `ranks` are the
    /// numbers of the processors' ranks; by default 0, 1 and so on.
    #[new]
    fn new(
        shape: Vec<u64>,
        grid: (u32, u32),
        links: u32,
        tu: u64,
        element: u64,
        ranks: Option<Vec<u32>>,
    ) -> PyResult<Self> {
        let (rows, columns) = grid;
        let grid = IoGrid {
            rows,
            columns,
            links,
            tu,
            element,
        };
        let made = IoDistribution::new(&shape, grid).map_err(wrong)?;
        Ok(Self(match ranks {
            Some(ranks) => made.on_ranks(&ranks).map_err(wrong)?,
            None => made,
        }))
    }

    /// Return the layout: how the array is distributed over the ranks (application processes).
    #[getter]
    fn layout(&self) -> PyLayout {
        PyLayout(self.0.layout().clone())
    }

    /// Return the grid of processes over which the array is distributed: its extents, and for each
    /// dimension of the array its distribution over an axis of the grid. `None` if there is no grid.
    #[getter]
    fn over(&self) -> Option<(Vec<u32>, Vec<Option<Along>>)> {
        let grid = self.0.layout().as_grid()?;
        let dims = grid.dims().iter().map(Along::of);
        Some((grid.extents().to_vec(), dims.collect()))
    }

    /// Return the number of the dimension along which the array is cut into blocks.
    #[getter]
    fn dim(&self) -> usize {
        self.0.dim()
    }

    /// Return the size of a block: its number of array indices along the dimension `dim`.
    #[getter]
    fn block(&self) -> u64 {
        self.0.block()
    }

    /// Return the number of transfer units of the array.
    #[getter]
    fn unit_count(&self) -> u64 {
        self.0.unit_count()
    }

    /// Return the number of the link to the network interface over which `rank` sends its blocks.
    fn link(&self, rank: u32) -> PyResult<u32> {
        Ok(self.0.link(place(self.0.layout(), rank)?))
    }

    /// Return the transfer unit with this number.
    fn unit(&self, number: u64) -> PyResult<Unit> {
        let none = || {
            let count = self.0.unit_count();
            wrong(format!(
                "there is no transfer unit {number}: they are {count}"
            ))
        };
        let unit = self.0.unit(number).ok_or_else(none)?;
        let rank = |place| self.0.layout().rank(place);
        let blocks = unit.blocks.iter();
        let blocks = blocks.map(|block| (rank(block.rank_index), block.elements));
        Ok((unit.number, unit.start, blocks.collect()))
    }
}
