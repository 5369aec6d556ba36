//! Estimates the I/O bandwidth that an application needs on a machine.

use crate::question::{Quantity, Refusal, Whole, answer};
use isthmus_analytic::Error;
use isthmus_analytic::balance::{Balance, Computation, HammingPlacement};
use isthmus_units::{Bandwidth, Bytes};
use pyo3::prelude::*;
use serde::{Deserialize, Serialize};

/// Default size of one value to sort or one matrix element: 8 bytes.
const WORD: Bytes = Bytes::new(8);

/// A type of application whose need for I/O bandwidth can be estimated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Application {
    Sorting,
    Fft,
    MatrixProduct,
    Grid,
    IoBound,
    Search,
}

/// The parameters from which the I/O bandwidth that an application needs is estimated, parsed from JSON.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    application: Application,
    pes: Whole,
    grid_dimensions: Option<Whole>,
    memory: Option<Quantity<Bytes>>,
    word: Option<Quantity<Bytes>>,
    compute: Option<f64>,
    io_bandwidth: Option<Quantity<Bandwidth>>,
    io_node_bandwidth: Option<Quantity<Bandwidth>>,
}

/// The estimate of the I/O bandwidth that an application needs, which is written as JSON.
#[derive(Serialize)]
struct Answer {
    application: Application,
    pes: u32,
    factor: f64,
    law: String,
    simple_factor: f64,
    simple_law: String,
    io_nodes: u64,
    pes_per_io_node: f64,
    simple_io_nodes: u64,
    simple_pes_per_io_node: f64,
    hamming: Option<HammingPlacement>,
    memory_words: Option<f64>,
    compute_mips: Option<f64>,
    io_bandwidth_mb_per_s: Option<f64>,
    instructions_per_byte: Option<f64>,
    instructions_per_byte_pe: Option<f64>,
    source: &'static str,
}

/// Return the I/O bandwidth and the number of I/O nodes that an application needs, as JSON. `spec_json` describes the
/// application and the machine.
#[pyfunction]
pub(crate) fn balance(py: Python<'_>, spec_json: &str) -> PyResult<String> {
    answer(py, spec_json, |question, _| solve(question))
}

/// Compute the I/O bandwidth that an application needs on a machine.
fn solve(question: Question) -> Result<Answer, Refusal> {
    let computation = computation(question.application, question.grid_dimensions)?;
    let word = question.word.map_or(WORD, |word| word.0);
    if word.get() == 0 {
        return Err(Refusal::at("word", "0 B; it must be 1 B or more"));
    }
    let words = |memory: Bytes| memory.get() as f64 / word.get() as f64;
    let mb_per_s = |bandwidth: Bandwidth| bandwidth.bits_per_s() as f64 / 8e6;
    let io = question.io_bandwidth.map(|io| mb_per_s(io.0));
    let io_node = question.io_node_bandwidth.map(|io| mb_per_s(io.0));
    if let (Some(_), None) = (io_node, io) {
        return Err(Refusal::at(
            "io_bandwidth",
            "missing; io_node_bandwidth needs it to be compared with",
        ));
    }
    let machine = Balance {
        computation,
        pes: question.pes.0.into(),
        // Use 1 for a compute speed or I/O bandwidth that is not given. They do not change the factors,
        // and the values that depend on them are left out of the answer.
        mips: question.compute.unwrap_or(1.0),
        io_mbytes_per_s: io.unwrap_or(1.0),
        memory_words: question.memory.map(|memory| words(memory.0)),
        io_node_mbytes_per_s: io_node,
    };
    let balanced = machine.solve().map_err(in_field)?;
    let simple = Balance {
        memory_words: None,
        ..machine
    };
    let simple = simple.solve().map_err(in_field)?;
    let (law, simple_law, source) = laws(computation);
    let both = question.compute.and(io);
    Ok(Answer {
        application: question.application,
        pes: question.pes.0,
        factor: balanced.factor,
        law: if question.memory.is_some() {
            law
        } else {
            simple_law.clone()
        },
        simple_factor: simple.factor,
        simple_law,
        io_nodes: balanced.io_nodes,
        pes_per_io_node: balanced.pes_per_io_node,
        simple_io_nodes: simple.io_nodes,
        simple_pes_per_io_node: simple.pes_per_io_node,
        hamming: simple.hamming,
        memory_words: machine.memory_words,
        compute_mips: question.compute.map(|_| balanced.mips),
        io_bandwidth_mb_per_s: io.map(|_| balanced.io_mbytes_per_s),
        instructions_per_byte: both.map(|_| balanced.instructions_per_byte),
        instructions_per_byte_pe: both.map(|_| balanced.instructions_per_byte_pe),
        source,
    })
}

/// Return the type of computation in the balance model that an application performs.
fn computation(
    application: Application,
    grid_dimensions: Option<Whole>,
) -> Result<Computation, Refusal> {
    Ok(match (application, grid_dimensions) {
        (Application::Grid, Some(Whole(dimensions))) => Computation::GridRelaxation { dimensions },
        (Application::Grid, None) => {
            let problem = "missing; a grid has 1 or more dimensions, usually 2 or 3";
            return Err(Refusal::at("grid_dimensions", problem));
        }
        (_, Some(_)) => {
            let problem = "only the application \"grid\" has it; leave it out";
            return Err(Refusal::at("grid_dimensions", problem));
        }
        (Application::Sorting, None) => Computation::Sorting,
        (Application::Fft, None) => Computation::FourierTransform,
        (Application::MatrixProduct, None) => Computation::MatrixProduct,
        (Application::IoBound, None) => Computation::IoBound,
        (Application::Search, None) => Computation::Searching,
    })
}

/// Return two formulas, as text, for the growth of the I/O bandwidth with the number of PEs: with and
/// without the size of the memory. The third text names the publication.
fn laws(computation: Computation) -> (String, String, &'static str) {
    const PAPER: &str = "section 3.1 of the hypercube paper, after Kung (ISCA 1986)";
    const KUNG: &str = "Kung, Memory requirements for balanced computer architectures (ISCA 1986)";
    let same = |law: String| (law.clone(), law);
    let ((law, simple), source) = match computation {
        Computation::Sorting | Computation::FourierTransform => {
            let laws = ("N log M / (log N + log M)".into(), "N / log N".into());
            let sorting = computation == Computation::Sorting;
            (laws, if sorting { PAPER } else { KUNG })
        }
        Computation::MatrixProduct => (same("sqrt N".into()), PAPER),
        Computation::GridRelaxation { dimensions: 1 } => (same("1".into()), KUNG),
        Computation::GridRelaxation { dimensions: 2 } => (same("sqrt N".into()), KUNG),
        Computation::GridRelaxation { dimensions } => {
            let law = format!("N^({}/{dimensions})", dimensions.saturating_sub(1));
            (same(law), KUNG)
        }
        Computation::IoBound => (same("N".into()), KUNG),
        Computation::Searching => (
            ("N^2 log M / (log N + log M)".into(), "N^2 / log N".into()),
            "after section 3 of the hypercube paper, where searching is I/O intensive",
        ),
    };
    (law, simple, source)
}

/// Convert an error of the balance model to one that names the input field with the invalid value.
fn in_field(error: Error) -> Refusal {
    let Error::OutOfRange {
        field,
        value,
        expected,
    } = error
    else {
        return Refusal::at("balance", error);
    };
    let (field, unit) = match field {
        "mips" => ("compute", " MIPS"),
        "io_mbytes_per_s" => ("io_bandwidth", " MB/s"),
        "io_node_mbytes_per_s" => ("io_node_bandwidth", " MB/s"),
        "memory_words" => ("memory", " words"),
        "dimensions of the grid" => ("grid_dimensions", ""),
        field => (field, ""),
    };
    Refusal::at(field, format!("{value}{unit}; it must be {expected}"))
}
