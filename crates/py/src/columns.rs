//! Tables of the bins of distributions, and of the channels of networks, at many points, as numpy
//! columns.

use isthmus_experiment::columns::{BinColumns, ChannelColumns, Misfit};
use numpy::{Element, PyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyDict;
use std::mem::take;

/// Return an error that names the invalid list and the problem.
fn misfit(misfit: Misfit) -> PyErr {
    PyValueError::new_err((misfit.at, misfit.problem))
}

/// View lists of Python bytes as byte slices.
fn slices(lists: &[PyBackedBytes]) -> Vec<&[u8]> {
    lists.iter().map(|list| &**list).collect()
}

/// Move the values of a column to a numpy array in the dictionary, under this name.
fn put<T: Element>(columns: &Bound<'_, PyDict>, name: &str, column: &mut Vec<T>) -> PyResult<()> {
    columns.set_item(name, PyArray1::from_vec(columns.py(), take(column)))
}

/// Python class that collects the bins of many distributions (histograms), as columns of a table.
#[pyclass(name = "BinColumns", module = "isthmus._core")]
#[derive(Default)]
pub(crate) struct PyBinColumns(BinColumns);

#[pymethods]
impl PyBinColumns {
    /// Create a table of columns without rows.
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Add the bins of one distribution (histogram) from each JSON list. The lists are parsed in
    /// parallel.
    fn add(&mut self, py: Python<'_>, lists: Vec<PyBackedBytes>) -> PyResult<()> {
        py.detach(|| self.0.add(&slices(&lists))).map_err(misfit)
    }

    /// Return and remove all columns. Bounds are in the unit of `steps`, which has one step for
    /// each distribution.
    fn take<'py>(&mut self, py: Python<'py>, steps: Vec<f64>) -> PyResult<Bound<'py, PyDict>> {
        let (columns, count) = (PyDict::new(py), self.0.lengths.len());
        if steps.len() != count {
            let problem = format!("{} steps for {count} distributions", steps.len());
            return Err(PyValueError::new_err(problem));
        }
        let (mut lower, mut upper) = py.detach(|| self.0.take_bounds(&steps));
        put(&columns, "lengths", &mut self.0.lengths)?;
        put(&columns, "lower", &mut lower)?;
        put(&columns, "upper", &mut upper)?;
        put(&columns, "count", &mut self.0.count)?;
        Ok(columns)
    }
}

/// Python class that collects data on the channels of networks at many points of a sweep, as
/// columns of a table.
#[pyclass(name = "ChannelColumns", module = "isthmus._core")]
#[derive(Default)]
pub(crate) struct PyChannelColumns(ChannelColumns);

#[pymethods]
impl PyChannelColumns {
    /// Create a table of columns without rows.
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Add the channels of networks from JSON lists. Each list has a list of channels for each of
    /// some points. The outer lists are parsed in parallel.
    fn add(&mut self, py: Python<'_>, lists: Vec<PyBackedBytes>) -> PyResult<()> {
        py.detach(|| self.0.add(&slices(&lists))).map_err(misfit)
    }

    /// Return the names of the kinds of channels, in the order of their numbers in the columns.
    fn kinds(&self) -> Vec<String> {
        self.0.kinds.clone()
    }

    /// Return and remove all columns of the channels.
    fn take<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (columns, own) = (PyDict::new(py), &mut self.0);
        put(&columns, "lengths", &mut own.lengths)?;
        put(&columns, "kind", &mut own.kind)?;
        put(&columns, "from", &mut own.from)?;
        put(&columns, "to", &mut own.to)?;
        put(&columns, "utilisation", &mut own.utilisation)?;
        put(&columns, "highest", &mut own.highest)?;
        put(&columns, "busy", &mut own.busy)?;
        put(&columns, "busiest", &mut own.busiest)?;
        put(&columns, "held_us", &mut own.held_us)?;
        put(&columns, "analytic", &mut own.analytic)?;
        Ok(columns)
    }
}
