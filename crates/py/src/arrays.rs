//! Layouts of distributed arrays, plans between them, and the bytes of numpy's arrays.

use isthmus_redistribute::transfer::{Array, ArrayMut, Order, Side, redistribute, runs};
use isthmus_redistribute::{
    Block, Comb, Dim, Grid, GridOrder, Layout, Message, Plan, Spread, boxes_of_range,
};
use numpy::{PyReadonlyArray1, PyReadwriteArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Arc;

/// Convert an error to a Python `ValueError`.
pub(crate) fn wrong(error: impl Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// The distribution of an array dimension over an axis of the process grid, as Python passes it.
#[derive(FromPyObject, IntoPyObject)]
pub(crate) enum Along {
    /// Block-cyclic distribution: number of the grid axis, block size in elements, and coordinate
    /// of the process with the first block.
    Cyclic(usize, u64, u32),
    /// Distribution by cuts: number of the grid axis, and indices at which the dimension is cut.
    Cuts(usize, Vec<u64>),
    /// Block distribution: number of the grid axis; each coordinate on it has one block.
    Block(usize),
}

impl Along {
    /// Convert the distribution of one dimension from the type of the Rust layout; `None` if the dimension is not
    /// distributed.
    pub(crate) fn of(dim: &Dim) -> Option<Self> {
        let (axis, spread) = dim.0.as_ref()?;
        Some(match spread {
            &Spread::Cyclic { block, source } => Self::Cyclic(*axis, block, source),
            Spread::Cuts(cuts) => Self::Cuts(*axis, cuts.to_vec()),
            Spread::Block => Self::Block(*axis),
        })
    }

    /// Convert the distribution of one dimension to the type of the Rust layout.
    fn dim(self) -> Dim {
        let (axis, spread) = match self {
            Self::Cyclic(axis, block, source) => (axis, Spread::Cyclic { block, source }),
            Self::Cuts(axis, cuts) => (axis, Spread::Cuts(cuts.into())),
            Self::Block(axis) => (axis, Spread::Block),
        };
        Dim(Some((axis, spread)))
    }
}

/// Runs of indices in one dimension: first index, length of a run, distance between the starts of
/// two runs, number of runs, length of the last run.
type Runs = (u64, u64, u64, u64, u64);

/// The layout of a distributed array, as a class of Python: which rank holds which elements.
#[pyclass(name = "Layout", module = "isthmus._core", frozen, eq)]
#[derive(PartialEq)]
pub(crate) struct PyLayout(pub(crate) Arc<Layout>);

#[pymethods]
impl PyLayout {
    /// Create a layout that distributes the array over a grid of processes.
    #[staticmethod]
    fn grid(
        shape: Vec<u64>,
        extents: Vec<u32>,
        first_is_fastest: bool,
        dims: Vec<Option<Along>>,
    ) -> PyResult<Self> {
        let dims: Vec<Dim> = (dims
            .into_iter()
            .map(|dim| dim.map_or(Dim::WHOLE, Along::dim)))
        .collect();
        let order = match first_is_fastest {
            true => GridOrder::ColumnMajor,
            false => GridOrder::RowMajor,
        };
        let grid = Grid::new(&extents, &dims).in_order(order);
        Ok(Self(Arc::new(Layout::grid(&shape, grid).map_err(wrong)?)))
    }

    /// Create a layout from rectangular boxes of the array. `ranks` lists, for each rank, its boxes by the
    /// first index and the end in each dimension. `partial` says whether elements may be in no box.
    #[staticmethod]
    fn boxes(
        py: Python<'_>,
        shape: Vec<u64>,
        ranks: Vec<Vec<(Vec<u64>, Vec<u64>)>>,
        partial: bool,
    ) -> PyResult<Self> {
        let block = |(from, to)| Block { from, to };
        let blocks = ranks
            .into_iter()
            .map(|parts| parts.into_iter().map(block).collect());
        let blocks = blocks.collect();
        let layout = py.detach(|| match partial {
            true => Layout::some_boxes(&shape, blocks),
            false => Layout::boxes(&shape, blocks),
        });
        Ok(Self(Arc::new(layout.map_err(wrong)?)))
    }

    /// Return the layout with the given rank numbers instead of its own.
    fn on_ranks(&self, ranks: Vec<u32>) -> PyResult<Self> {
        let layout = Layout::clone(&self.0).on_ranks(&ranks);
        Ok(Self(Arc::new(layout.map_err(wrong)?)))
    }

    /// Return the shape of the array.
    #[getter]
    fn shape(&self) -> Vec<u64> {
        self.0.shape().to_vec()
    }

    /// Return the numbers of the layout's ranks.
    #[getter]
    fn ranks(&self) -> Vec<u32> {
        let places = 0..self.0.rank_count() as u32;
        places.map(|place| self.0.rank(place)).collect()
    }

    /// Return the number of ranks that hold each element.
    #[getter]
    fn replicas(&self) -> u64 {
        self.0.replicas()
    }

    /// Return a number that is equal for equal layouts, in all processes that run this program.
    fn fingerprint(&self, py: Python<'_>) -> u64 {
        py.detach(|| self.0.fingerprint())
    }

    /// Return the indices of the first element, in row-major order, that no rank holds; `None` if each
    /// element is held.
    fn first_missing(&self, py: Python<'_>) -> Option<Vec<u64>> {
        py.detach(|| self.0.first_missing())
    }

    /// Return the array indices of the elements that a rank holds, as runs: a list for each part of the
    /// rank, with the runs in each dimension.
    fn runs(&self, rank: u32) -> PyResult<Vec<Vec<Runs>>> {
        let parts = self.0.parts(place(&self.0, rank)?);
        let part = |part: Vec<Comb>| part.iter().map(Comb::runs).collect();
        Ok(parts.into_iter().map(part).collect())
    }

    /// Return the extents of the parts of the array that a rank holds.
    fn extents(&self, rank: u32) -> PyResult<Vec<Vec<u64>>> {
        Ok(extents(&self.0, place(&self.0, rank)?))
    }
}

/// Return the position of a rank in the list of ranks of a layout.
pub(crate) fn place(layout: &Layout, rank: u32) -> PyResult<u32> {
    let none = || {
        wrong(format!(
            "rank {rank} is none of the {} of the layout",
            layout.rank_count()
        ))
    };
    layout.index_of(rank).ok_or_else(none)
}

/// A numpy array that Python passes for reading: its bytes from the first element on, and its strides in bytes.
pub(crate) type Given<'py> = (PyReadonlyArray1<'py, u8>, Vec<u64>);
/// A numpy array that Python passes for writing: its bytes from the first element on, and its strides in bytes.
pub(crate) type Taken<'py> = (PyReadwriteArray1<'py, u8>, Vec<u64>);

/// Convert numpy arrays to Rust arrays that refer to the same memory, for reading.
pub(crate) fn arrays<'a>(given: &'a [Given<'_>]) -> PyResult<Vec<Array<'a>>> {
    let each = given.iter().map(|(bytes, strides)| {
        Ok(Array {
            bytes: bytes.as_slice().map_err(wrong)?,
            strides: strides.clone(),
        })
    });
    each.collect()
}

/// Convert numpy arrays to Rust arrays that refer to the same memory, for writing.
pub(crate) fn arrays_mut<'a>(taken: &'a mut [Taken<'_>]) -> PyResult<Vec<ArrayMut<'a>>> {
    let each = taken.iter_mut().map(|(bytes, strides)| {
        Ok(ArrayMut {
            bytes: bytes.as_slice_mut().map_err(wrong)?,
            strides: strides.clone(),
        })
    });
    each.collect()
}

/// A plan to redistribute an array from one layout to another, as a class of Python.
#[pyclass(name = "Plan", module = "isthmus._core", frozen)]
pub(crate) struct PyPlan(pub(crate) Plan);

#[pymethods]
impl PyPlan {
    /// Create the plan between two layouts of the same array.
    #[new]
    fn new(from_: &PyLayout, to: &PyLayout) -> PyResult<Self> {
        let plan = Plan::new(from_.0.clone(), to.0.clone());
        Ok(Self(plan.map_err(wrong)?))
    }

    /// Return the ranks to which a rank sends, and the number of elements that it sends to each.
    fn sends(&self, py: Python<'_>, rank: u32) -> PyResult<Vec<(u32, u64)>> {
        let place = place(self.0.from(), rank)?;
        let messages = py.detach(|| self.0.sends(place));
        Ok(sizes_by_rank(self.0.to(), &messages))
    }

    /// Return the ranks from which a rank receives, and the number of elements that it receives
    /// from each.
    fn receives(&self, py: Python<'_>, rank: u32) -> PyResult<Vec<(u32, u64)>> {
        let place = place(self.0.to(), rank)?;
        let messages = py.detach(|| self.0.receives(place));
        Ok(sizes_by_rank(self.0.from(), &messages))
    }

    /// Return the runs of the elements that go from one rank to another, as pairs of a length in
    /// bytes and the number of runs with that length. A run is contiguous on both sides. `columns`
    /// says whether sender and receiver use column-major order. If `packed` is given, one side is a
    /// message: the receiving side if it is true.
    #[pyo3(signature = (pair, element, columns, packed = None))]
    fn runs(
        &self,
        py: Python<'_>,
        pair: (u32, u32),
        element: u64,
        columns: (bool, bool),
        packed: Option<bool>,
    ) -> PyResult<Vec<(u64, u64)>> {
        let (from, to) = (self.0.from(), self.0.to());
        let pair = (place(from, pair.0)?, place(to, pair.1)?);
        Ok(py.detach(|| {
            let mut found: BTreeMap<u64, u64> = BTreeMap::new();
            let (from, to) = (extents(from, pair.0), extents(to, pair.1));
            for section in self.0.sections(pair.0, pair.1) {
                let from = match packed {
                    Some(false) => Side::Message(order(columns.0)),
                    _ => Side::Array(&from[section.from_part], order(columns.0)),
                };
                let to = match packed {
                    Some(true) => Side::Message(order(columns.1)),
                    _ => Side::Array(&to[section.to_part], order(columns.1)),
                };
                for (bytes, times) in runs(&section, element, from, to) {
                    *found.entry(bytes).or_default() += times;
                }
            }
            found.into_iter().collect()
        }))
    }

    /// Move the elements of all ranks from the source to the destination arrays, which are passed
    /// in the order of their layouts, with this number of threads.
    fn redistribute(
        &self,
        py: Python<'_>,
        element: u64,
        from_: Vec<Vec<Given<'_>>>,
        mut to: Vec<Vec<Taken<'_>>>,
        threads: usize,
    ) -> PyResult<()> {
        let from: Vec<_> = (from_.iter().map(|parts| arrays(parts))).collect::<PyResult<_>>()?;
        let mut to: Vec<_> =
            (to.iter_mut().map(|parts| arrays_mut(parts))).collect::<PyResult<_>>()?;
        let moved = py.detach(|| redistribute(&self.0, element, &from, &mut to, threads));
        moved.map_err(wrong)
    }
}

/// A box of array elements, as Python gets it: the first index and the end in each dimension.
type Ends = (Vec<u64>, Vec<u64>);

/// Return rectangular boxes that together contain the elements `first` to `end` - 1 of an array. Elements and boxes
/// are in the order of a file; `columns` means column-major order.
#[pyfunction(name = "stretch")]
pub(crate) fn stretch_of(shape: Vec<u64>, first: u64, end: u64, columns: bool) -> Vec<Ends> {
    let slowest_first: Vec<u64> = match columns {
        true => shape.into_iter().rev().collect(),
        false => shape,
    };
    let boxes = boxes_of_range(&slowest_first, first..end).into_iter();
    boxes
        .map(|mut along| {
            if columns {
                along.reverse();
            }
            along
                .into_iter()
                .map(|range| (range.start, range.end))
                .unzip()
        })
        .collect()
}

/// Return, for each message, the rank that sends or receives it at the other end, and its number of elements.
fn sizes_by_rank(layout: &Layout, messages: &[Message]) -> Vec<(u32, u64)> {
    let messages = messages.iter();
    messages
        .map(|message| (layout.rank(message.peer), message.elements))
        .collect()
}

/// Return the storage order of an array: column-major if `columns`, otherwise row-major.
pub(crate) fn order(columns: bool) -> Order {
    if columns { Order::F } else { Order::C }
}

/// Return the extents of the parts of the array that the rank at position `place` of the layout
/// holds.
fn extents(layout: &Layout, place: u32) -> Vec<Vec<u64>> {
    let parts = layout.parts(place).into_iter();
    parts
        .map(|part| part.iter().map(Comb::size).collect())
        .collect()
}
