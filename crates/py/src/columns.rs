//! Bins and channels of many points as columns of numpy.

use isthmus_experiment::columns::{BinColumns, ChannelColumns, Misfit};
use numpy::{Element, PyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyDict;
use std::mem::take;

/// Which of the lists that were given together is wrong, and what with it.
fn misfit(misfit: Misfit) -> PyErr {
    PyValueError::new_err((misfit.at, misfit.problem))
}

fn slices(lists: &[PyBackedBytes]) -> Vec<&[u8]> {
    lists.iter().map(|list| &**list).collect()
}

fn put<T: Element>(told: &Bound<'_, PyDict>, name: &str, column: &mut Vec<T>) -> PyResult<()> {
    told.set_item(name, PyArray1::from_vec(told.py(), take(column)))
}

/// Bins of many distributions.
#[pyclass(name = "BinColumns", module = "isthmus._core")]
#[derive(Default)]
pub(crate) struct PyBinColumns(BinColumns);

#[pymethods]
impl PyBinColumns {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Adds JSON lists of bins, those of a distribution each; the lists are read at the same time.
    fn add(&mut self, py: Python<'_>, lists: Vec<PyBackedBytes>) -> PyResult<()> {
        py.detach(|| self.0.add(&slices(&lists))).map_err(misfit)
    }

    /// Gives all columns away, bounds in the unit of these steps, one for each distribution.
    fn take<'py>(&mut self, py: Python<'py>, steps: Vec<f64>) -> PyResult<Bound<'py, PyDict>> {
        let (told, count) = (PyDict::new(py), self.0.lengths.len());
        if steps.len() != count {
            let problem = format!("{} steps for {count} distributions", steps.len());
            return Err(PyValueError::new_err(problem));
        }
        let (mut lower, mut upper) = py.detach(|| self.0.take_bounds(&steps));
        put(&told, "lengths", &mut self.0.lengths)?;
        put(&told, "lower", &mut lower)?;
        put(&told, "upper", &mut upper)?;
        put(&told, "count", &mut self.0.count)?;
        Ok(told)
    }
}

/// Channels of many points.
#[pyclass(name = "ChannelColumns", module = "isthmus._core")]
#[derive(Default)]
pub(crate) struct PyChannelColumns(ChannelColumns);

#[pymethods]
impl PyChannelColumns {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Adds JSON lists, of a list of channels for each point; the former are read at the same time.
    fn add(&mut self, py: Python<'_>, lists: Vec<PyBackedBytes>) -> PyResult<()> {
        py.detach(|| self.0.add(&slices(&lists))).map_err(misfit)
    }

    /// The kinds of channels, in the order of their numbers.
    fn kinds(&self) -> Vec<String> {
        self.0.kinds.clone()
    }

    /// Gives all columns away.
    fn take<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (told, own) = (PyDict::new(py), &mut self.0);
        put(&told, "lengths", &mut own.lengths)?;
        put(&told, "kind", &mut own.kind)?;
        put(&told, "from", &mut own.from)?;
        put(&told, "to", &mut own.to)?;
        put(&told, "utilisation", &mut own.utilisation)?;
        put(&told, "highest", &mut own.highest)?;
        put(&told, "busy", &mut own.busy)?;
        put(&told, "busiest", &mut own.busiest)?;
        put(&told, "held_us", &mut own.held_us)?;
        put(&told, "analytic", &mut own.analytic)?;
        Ok(told)
    }
}
