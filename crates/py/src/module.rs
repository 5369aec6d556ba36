//! The functions and classes of the Python module `isthmus._core`.

use pyo3::prelude::*;

/// The Python module `isthmus._core`.
#[pymodule]
mod _core {
    #[pymodule_export]
    use crate::{
        CoreError, ResumeError, ScenarioError,
        arrays::{PyLayout, PyPlan, stretch_of},
        balance::balance,
        columns::{PyBinColumns, PyChannelColumns},
        comparison::{compare, differences},
        experiment::{
            PyExperiment, analyze, check, claims_on, is_worker, journal_flaws, memory_amount,
            worker_beat_s,
        },
        fields,
        graph::graph_account,
        io_distribution::PyIoDistribution,
        json_schema,
        memory::{address, crc32c, fence},
        memory_bound,
        model::model,
        peak::peak,
        place::place,
        placed, processors,
        rings::rings,
        settings::{quantities, settings},
        share::PyShare,
        study::study,
        topology::topology,
        version,
    };
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use crate::{
        apps::{PyVcr, mri, optimise},
        daemon::PyDaemon,
        iod::{mount_files, serve_files},
        iod_files::PyIodFiles,
        live::{live_points, live_run},
        nic::serve_streams,
        sink::{PySink, PySinkSession},
        streams::{NicError, PyPending, PySession, PyStream},
    };
}
