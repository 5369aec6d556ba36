//! The dependability study of fabrics (section 4.3, which leaves it for later): every single
//! failure of each, and pairs of failures, as one scenario that runs them all.

use super::{Sci, failures, figures};
use isthmus_machine::sci::spec::SciSpec;
use isthmus_scenario::format::{Asked, Format, Part, State, Which};
use isthmus_scenario::{Scenario, ScenarioError, Variant};
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt;

/// Most states of one fabric; each node and each ring of the largest fabrics.
const STATES_MAX: usize = 200_000;

/// The axis of the scenario that has a value for each case.
const AXIS: &str = "fault";

/// Fields that name nodes.
const NODE_FIELDS: &[&str] = &["workload.hot_node", "workload.senders"];

/// Hundreds of points: the links of each would fill the disk and tell little.
const UNMEASURED: &[(&str, &str)] = &[
    ("measure.channels", "false"),
    ("measure.histograms", "false"),
];

/// Fabrics, their cases, and the scenario that runs these.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Study {
    /// Name of the scenario.
    pub name: String,
    /// Its title.
    pub title: String,
    /// The seed of the runs and of the pairs drawn.
    pub seed: u64,
    /// The fabrics.
    pub sites: Vec<Site>,
    /// Fabric by fabric: no failure, the single ones, the pairs.
    pub cases: Vec<Case>,
    /// The scenario, with a value of the axis `fault` for each case that leaves enough to run.
    pub text: String,
    /// What further scenarios say and the study does not follow, in words.
    pub left_out: String,
}

/// A fabric of a study.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Site {
    /// Its name, another one for each.
    pub label: String,
    /// Its nodes, failed ones among them.
    pub nodes: u32,
    /// Number of single failures that differ in what they stop.
    pub single: usize,
    /// Number of pairs of these.
    pub pairs: u64,
    /// The faults that its scenario has already, in words.
    pub harmed: Vec<String>,
}

/// One state of one fabric.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Case {
    /// Its value of the axis.
    pub label: String,
    /// Position of the fabric in the study.
    pub site: usize,
    /// `none`, `one link`, `one node` or `two parts`.
    pub kind: &'static str,
    /// What failed, in words.
    pub failure: String,
    /// Nodes that failed, those of the scenario among them.
    pub failed: Vec<u32>,
    /// Links or nodes, or pairs of these, whose failure is this case.
    pub weight: u64,
    /// Nodes that still reach one another; with fewer than two it is not run.
    pub live: u32,
}

/// Why scenarios cannot be studied.
#[derive(Debug)]
pub struct StudyError(String);

impl fmt::Display for StudyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for StudyError {}

impl From<ScenarioError> for StudyError {
    fn from(error: ScenarioError) -> Self {
        Self(error.to_string())
    }
}

impl StudyError {
    fn of(scenario: &Scenario, problem: impl fmt::Display) -> Self {
        Self(format!("{}: {problem}", scenario.file()))
    }
}

/// A fabric before it has a name among others.
struct Found {
    variant: Variant,
    spec: SciSpec,
    name: String,
    /// What its scenario and the axes say of it.
    further: String,
}

/// The study of the fabrics of `scenarios`: each value of an axis over machines gives one. Loads,
/// rules and, unless `seed` is another, the seed are those of the first scenario; `doubles` pairs of
/// failures are drawn in each fabric, or all.
///
/// # Errors
/// No scenario, one that is not of rings, or that asks for what a study does otherwise; fabrics
/// that cannot be distinguished.
pub fn study(scenarios: &[Scenario], doubles: u64, seed: Option<u64>) -> Result<Study, StudyError> {
    let Some(first) = scenarios.first() else {
        return Err(StudyError("no scenario; give one or more".to_owned()));
    };
    let mut found = Vec::new();
    for scenario in scenarios {
        check(scenario)?;
        for variant in scenario.variants()? {
            let title = if scenarios.len() > 1 {
                scenario.title.as_str()
            } else {
                ""
            };
            found.push(fabric(scenario, variant, title)?);
        }
    }
    let left_out = left_out(scenarios, seed.is_some());
    let seed = seed.unwrap_or(first.seed);
    let asked = Asked {
        of: isthmus_scenario::format::SINGLE,
        doubles,
        seed,
        most: STATES_MAX,
    };
    let labels = labels(&found)?;
    let (mut sites, mut cases, mut runs) = (Vec::new(), Vec::new(), Vec::new());
    for (site, (fabric, label)) in found.iter().zip(&labels).enumerate() {
        let machine = fabric.variant.machine()?;
        let failures = fabric.variant.failures(&machine, &asked).ok_or_else(|| {
            StudyError(format!(
                "{label}: failures lead to more than {STATES_MAX} states; draw fewer pairs"
            ))
        })?;
        let whole = failures::fabric(&fabric.spec);
        sites.push(Site {
            label: label.clone(),
            nodes: whole.node_count(),
            single: failures.single,
            pairs: failures.pairs,
            harmed: figures::faults(&whole),
        });
        for state in failures.states {
            let case = case(label, site, &fabric.spec, &state);
            if state.runs {
                runs.push(fabric.variant.after(&state.parts, case.label.clone()));
            }
            cases.push(case);
        }
    }
    let name = first.name.strip_suffix("-faults").unwrap_or(&first.name);
    let name = format!("{name}-faults");
    Ok(Study {
        text: first.text_of(&name, seed, (AXIS, &runs), UNMEASURED),
        title: first.title.clone(),
        name,
        seed,
        sites,
        cases,
        left_out,
    })
}

fn check(scenario: &Scenario) -> Result<(), StudyError> {
    if scenario.kind() != Sci::NAME {
        return Err(StudyError::of(
            scenario,
            "not a fabric of rings; a study of faults needs machine.kind = \"sci\"",
        ));
    }
    if scenario.form() != Sci::NAME {
        return Err(StudyError::of(
            scenario,
            "workload.jobs: a study lets every node fail in turn, those of jobs too; describe the traffic by \
             workload.load",
        ));
    }
    if scenario.search.is_some() {
        return Err(StudyError::of(
            scenario,
            "search: a study runs every failure at the loads of the axis \"workload.load\" and \
             searches for none; leave [search] out",
        ));
    }
    if scenario.sweeps_faults() {
        return Err(StudyError::of(
            scenario,
            "sweep.machine.faults: a study lets every part fail by itself, and pairs of them by \
             --double; leave the axis out",
        ));
    }
    Ok(())
}

fn fabric(scenario: &Scenario, variant: Variant, title: &str) -> Result<Found, StudyError> {
    if let Some(field) = variant.given(NODE_FIELDS) {
        let at = match variant.label.as_str() {
            "" => String::new(),
            label => format!(" (at {label})"),
        };
        return Err(StudyError::of(
            scenario,
            format!(
                "{field}: a study lets every node fail in turn, this one too{at}; leave it out"
            ),
        ));
    }
    let (key, value) = failures::CUT_OFF;
    let variant = variant.with(key, value);
    let machine = variant.machine()?;
    let spec: &SciSpec = machine.expect();
    let words = [title, &variant.label];
    let words: Vec<&str> = words
        .into_iter()
        .filter(|words| !words.is_empty())
        .collect();
    Ok(Found {
        name: failures::fabric(spec).name().to_owned(),
        further: words.join(", "),
        spec: spec.clone(),
        variant,
    })
}

/// Names of the fabrics; what the axes say of them as well, where names alone are not enough.
fn labels(found: &[Found]) -> Result<Vec<String>, StudyError> {
    let differ = |labels: &[String]| labels.iter().collect::<BTreeSet<_>>().len() == labels.len();
    let names: Vec<String> = found.iter().map(|fabric| fabric.name.clone()).collect();
    if differ(&names) {
        return Ok(names);
    }
    let label = |fabric: &Found| match fabric.further.as_str() {
        "" => fabric.name.clone(),
        further => format!("{}, {further}", fabric.name),
    };
    let labels: Vec<String> = found.iter().map(label).collect();
    if differ(&labels) {
        return Ok(labels);
    }
    Err(StudyError(
        "two of the fabrics have the same name; give their scenarios titles that differ".to_owned(),
    ))
}

fn case(label: &str, site: usize, spec: &SciSpec, state: &State) -> Case {
    let kind = match state.parts[..] {
        [] => "none",
        [
            Part {
                field: failures::NODES,
                ..
            },
        ] => "one node",
        [_] => "one link",
        _ => "two parts",
    };
    let nodes = state.parts.iter().filter_map(|part| match part.which {
        Which::Node(node) => Some(node),
        Which::Link(..) => None,
    });
    Case {
        label: format!("{label}: {}", state.label),
        site,
        kind,
        failure: state.words.clone(),
        failed: spec.faults.nodes.iter().copied().chain(nodes).collect(),
        weight: state.weight,
        live: state.live,
    }
}

/// Which loads, rules and seed of further scenarios differ from those of the first and are not
/// followed; empty if there are none. `seeded`: the study has a seed of its own.
fn left_out(scenarios: &[Scenario], seeded: bool) -> String {
    let Some((first, others)) = scenarios.split_first() else {
        return String::new();
    };
    let parts = others.iter().filter_map(|other| {
        let mut differs = other.differs_from(first);
        differs.retain(|what| !(seeded && *what == "seed"));
        (!differs.is_empty()).then(|| format!("{}: {}", other.file(), differs.join(", ")))
    });
    let parts: Vec<String> = parts.collect();
    if parts.is_empty() {
        return String::new();
    }
    let file = first.file();
    format!(
        "left out, those of {file} count for all: {}",
        parts.join("; ")
    )
}
