//! Applications that run on the stream manager: the digital VCR, process optimisation and medical
//! imaging.

use crate::arrays::wrong;
use crate::question::{Quantity, Refusal, answer, read};
use isthmus_framebuffer::Pixel;
use isthmus_stream_apps::vcr::{Figures, Spec, Vcr};
use isthmus_stream_apps::{mri as imaging, optimise as optimisation};
use isthmus_units::{Rate, Time};
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::json;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The JSON specification of a digital VCR, an application that plays films over streams.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct VcrSpec {
    color: bool,
    rate: Quantity<Rate>,
    films: Vec<PathBuf>,
    address: String,
}

impl VcrSpec {
    /// Convert the JSON specification to that of the digital VCR.
    fn spec(self) -> Result<Spec, Refusal> {
        let address = self.address.parse().map_err(|_| {
            let what = format!(
                "{:?} is no address with a port, as 127.0.0.1:0",
                self.address
            );
            Refusal::at("address", what)
        })?;
        Ok(Spec {
            width: 496,
            height: 486,
            pixel: if self.color {
                Pixel::Color
            } else {
                Pixel::Grey
            },
            rate_per_s: self.rate.0.per_s(),
            films: self.films,
            address,
        })
    }
}

/// Convert the counters of the VCR (frames, bytes, viewers) to JSON.
fn report(figures: &Figures) -> PyResult<String> {
    let [in_step, apart] = figures.in_step;
    crate::json(&json!({
        "frames": figures.frames,
        "seconds": figures.ns as f64 / 1e9,
        "in_step": in_step,
        "apart": apart,
        "bytes": figures.bytes,
        "viewers": figures.viewers,
        "missed": figures.missed,
        "waits": figures.waits,
    }))
}

/// A running digital VCR, as a class of Python.
#[pyclass(name = "Vcr", module = "isthmus._core", frozen)]
pub(crate) struct PyVcr(Mutex<Option<Vcr>>);

impl PyVcr {
    /// Call `what` with the VCR, without holding the Python interpreter. Fails if the VCR has
    /// ended.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        what: impl FnOnce(&mut Option<Vcr>) -> Option<T> + Send,
    ) -> PyResult<T> {
        let found = py.detach(|| what(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner)));
        found.ok_or_else(|| wrong("it has ended"))
    }
}

#[pymethods]
impl PyVcr {
    /// Start to play the films of a JSON specification.
    #[new]
    fn new(py: Python<'_>, spec_json: &str) -> PyResult<Self> {
        py.detach(|| {
            let spec = read::<VcrSpec>(spec_json).and_then(VcrSpec::spec);
            let spec = spec.map_err(|refusal| wrong(refusal.words()))?;
            Ok(Self(Mutex::new(Some(Vcr::start(&spec).map_err(wrong)?))))
        })
    }

    /// Return the address of the VCR's web page.
    fn address(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |vcr| Some(vcr.as_ref()?.address().to_string()))
    }

    /// Return the counters of the VCR (frames, bytes, viewers) as JSON.
    fn figures(&self, py: Python<'_>) -> PyResult<String> {
        let figures = self.with(py, |vcr| Some(vcr.as_ref()?.figures()))?;
        report(&figures)
    }

    /// Return the reason for which the VCR ended without being stopped, if it did.
    fn failure(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.with(py, |vcr| Some(vcr.as_ref()?.failure()))
    }

    /// Play the started frames to their end. Returns the final progress as JSON.
    fn finish(&self, py: Python<'_>) -> PyResult<String> {
        let ended = self.with(py, |vcr| Some(vcr.take()?.finish()))?;
        report(&ended.map_err(wrong)?)
    }
}

/// The JSON specification of process optimisation, an application whose nodes send samples through
/// forwarders.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Optimisation {
    nodes: u32,
    /// Sampling rate of one node; `None` means as many samples as it can compute.
    rate: Option<Quantity<Rate>>,
    time: Quantity<Time>,
}

/// Run the application "process optimisation", with threads as nodes, and return its result as
/// JSON. `spec_json` is the specification, also in JSON.
#[pyfunction]
pub(crate) fn optimise(py: Python<'_>, spec_json: &str) -> PyResult<String> {
    answer(py, spec_json, |asked: Optimisation, progress| {
        let spec = optimisation::Spec {
            nodes: asked.nodes,
            samples_per_s: asked.rate.map(|rate| rate.0.per_s()),
            time: Duration::from_secs_f64(asked.time.0.seconds()),
        };
        let report = optimisation::run(&spec, &|| progress.is_cancelled()).map_err(Refusal::of)?;
        Ok(json!({
            "samples": report.samples,
            "checked": report.checked,
            "seconds": report.ns as f64 / 1e9,
            // Shares of the nodes' time that they spend computing and waiting for their forwarder.
            "nodes": report.nodes,
            // Shares of the forwarders' time that they spend waiting for samples and sending.
            "forwarders": report.forwarders,
        }))
    })
}

/// The JSON specification of the medical imaging application: the number of images.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Imaging {
    images: u64,
}

/// Run the medical imaging application, with threads as nodes, and return its result as JSON.
/// `spec_json` is the specification, also in JSON.
#[pyfunction]
pub(crate) fn mri(py: Python<'_>, spec_json: &str) -> PyResult<String> {
    answer(py, spec_json, |asked: Imaging, progress| {
        let over = || progress.is_cancelled();
        let report = imaging::run(asked.images, &over).map_err(Refusal::of)?;
        Ok(json!({
            "images": report.images,
            "triangles": report.triangles,
            "bytes": report.bytes,
            "seconds": report.ns as f64 / 1e9,
            // The part of `seconds` in which the rank that had control was sending.
            "sending_seconds": report.sending_ns as f64 / 1e9,
            // Number of triangles of an image from one rank: the minimum and the maximum.
            "of_rank": report.of_rank,
            // Shares of the ranks' time that they spend computing, waiting for control, and
            // sending.
            "ranks": report.ranks,
        }))
    })
}
