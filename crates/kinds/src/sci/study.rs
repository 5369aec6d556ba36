//! Dependability study of SCI fabrics: one scenario that runs every single failure of each fabric, and pairs of
//! failures. Section 4.3 of the SCI paper names such a study as future work.

use super::{Sci, failures, figures};
use isthmus_machine::sci::spec::SciSpec;
use isthmus_scenario::format::{Asked, Format, Part, State, Which};
use isthmus_scenario::{Scenario, ScenarioError, Variant};
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt;

/// Maximum number of failure states of one fabric that a study lists: enough for the failure of each node and each
/// ring of the largest fabrics.
const STATES_MAX: usize = 200_000;

/// Name of the sweep axis of the study, which has one value for each failure case.
const AXIS: &str = "fault";

/// Scenario fields that name nodes; a dependability study refuses scenarios that set them.
const NODE_FIELDS: &[&str] = &["workload.hot_node", "workload.senders"];

/// Settings that omit the results of each link and the histograms: a study has hundreds of points, and these results
/// would fill the disk.
const UNMEASURED: &[(&str, &str)] = &[
    ("measure.channels", "false"),
    ("measure.histograms", "false"),
];

/// Fabrics, their failure cases, and the scenario that runs the cases.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Study {
    /// Name of the scenario that runs the study.
    pub name: String,
    /// Title of the scenario that runs the study.
    pub title: String,
    /// Seed of the runs and of the random pairs of failures.
    pub seed: u64,
    /// The fabrics that the study compares.
    pub sites: Vec<Site>,
    /// Cases of each fabric in turn: no failure, single failures, pairs of failures.
    pub cases: Vec<Case>,
    /// Text of the scenario file that runs the study. Its sweep axis `fault` has a value for each case that can be
    /// simulated.
    pub text: String,
    /// Settings of the second and further scenarios that the study ignores, in words.
    pub left_out: String,
}

/// One of the fabrics that a dependability study compares.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Site {
    /// Unique name of the fabric in the study.
    pub label: String,
    /// Number of nodes, including failed ones.
    pub nodes: u32,
    /// Number of single failures with different effects.
    pub single: usize,
    /// Number of possible pairs of single failures with different effects.
    pub pairs: u64,
    /// Faults that the fabric has in its own scenario, before the failures of the study, in words.
    pub harmed: Vec<String>,
}

/// One failure state of one fabric of a dependability study.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Case {
    /// Value of the sweep axis `fault` that selects this case.
    pub label: String,
    /// Index of the fabric in the study's list of fabrics, `sites`.
    pub site: usize,
    /// Kind of failure: `none`, `one link`, `one node` or `two parts`.
    pub kind: &'static str,
    /// Failed parts in words, without those of the scenario itself.
    pub failure: String,
    /// Failed nodes, including those that the scenario itself lists as failed.
    pub failed: Vec<u32>,
    /// Number of failures that this case stands for, because all have the same effect: of links, nodes or pairs of
    /// them.
    pub weight: u64,
    /// Number of nodes that still reach one another; a case with fewer than two is not run.
    pub live: u32,
}

/// The reason why scenarios cannot be combined into a dependability study.
#[derive(Debug)]
pub struct StudyError(String);

impl fmt::Display for StudyError {
    /// Write the message of the error.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for StudyError {}

impl From<ScenarioError> for StudyError {
    /// Convert an error of a scenario to an error of the study with the same message.
    fn from(error: ScenarioError) -> Self {
        Self(error.to_string())
    }
}

impl StudyError {
    /// Create an error whose message is the file name of the scenario and the problem.
    fn of(scenario: &Scenario, problem: impl fmt::Display) -> Self {
        Self(format!("{}: {problem}", scenario.file()))
    }
}

/// A fabric found in a scenario. Its name may be the same as that of another fabric of the study.
struct Found {
    variant: Variant,
    spec: SciSpec,
    name: String,
    /// Title of the fabric's scenario and label of its variant, to distinguish fabrics with the same name.
    further: String,
}

/// Return the study of the fabrics of `scenarios`. Each value of an axis over machines gives one fabric. Loads, rules
/// and, if `seed` is `None`, the seed come from the first scenario. In each fabric, the study samples `doubles` pairs
/// of failures, or uses all pairs if there are fewer.
///
/// # Errors
/// If there is no scenario, or if one does not describe an SCI fabric or has settings that a study refuses.
/// If two fabrics have the same name.
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

/// Check that a scenario describes an SCI fabric and has no settings that a study refuses.
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

/// Return the fabric that one variant (machine of the sweep) of a scenario describes. `title` distinguishes fabrics
/// with the same name.
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

/// Return unique labels of the fabrics: their names, or names with titles and variants where names are not unique.
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

/// Convert a failure state of the fabric with the index `site` to a case of the study with this label.
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

/// Return, in words, the settings that the study ignores: those of the second and further scenarios, such as loads and
/// rules, that differ from the first. A different seed does not count if the caller has set one (`seeded`).
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
