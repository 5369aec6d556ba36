//! The parsed scenario file: machine, workload, points of the sweep, and rules of the experiment.

use crate::fields::common::{ControlTable, HeadTable};
use crate::fields::control::{self, Measure, Stop, StopRule, Verdict};
use crate::fields::format::Row;
use crate::fields::registry::Formats;
use crate::fields::rows::Describe;
use crate::fields::tables::Loads;
use crate::file::canonical;
use crate::file::changes::{self, Change};
use crate::file::draft::Draft;
use crate::file::error::{Origin, Problem, ScenarioError, Source};
use crate::file::presets;
use crate::file::setting::Setting;
use crate::file::settings::Settings;
use crate::file::suggest::closest;
use crate::file::tree::{parse_file, shown};
use crate::no_effect::{Effects, Watch};
use crate::sweep::axis::{Axis, AxisValue};
use crate::sweep::failure_axis;
use crate::sweep::points::{applied, at, check_count, product};
use crate::sweep::search::{self, Search, SearchLine};
use crate::value::described::Described;
use std::sync::Arc;

/// A parsed scenario file, which describes an experiment. All points of its sweep have been checked.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// Version of the scenario file format.
    pub version: u32,
    /// Name of the experiment, which is valid as the name of a folder.
    pub name: String,
    /// Title of the report.
    pub title: String,
    /// Purpose of the experiment; may be empty.
    pub description: String,
    /// Master seed of the random numbers.
    pub seed: u64,
    /// The machine of the first point. Without points: the machine of the first search line at its lowest
    /// load.
    pub machine: Described,
    /// The workload of the first point. Without points: the workload of the first search line at its lowest
    /// load.
    pub workload: Described,
    /// The axes of the sweep, the slowest one first; may be empty.
    pub axes: Vec<Axis>,
    /// Quantities to measure in each simulation.
    pub measure: Measure,
    /// Stopping rules of the simulations.
    pub stop: Stop,
    /// Parameters of the statistical test whether a point is stable or saturated.
    pub verdict: Verdict,
    /// The search for the saturation load, if the file has one.
    pub search: Option<Search>,
    pub(crate) kind: &'static Row,
    /// The values of all fields, except those that axes set.
    pub(crate) base: Settings,
    points: Vec<Point>,
    /// Changes to the values in the file that the user made by overrides.
    changes: Vec<Change>,
    /// Whether an axis of the sweep is over failures of the machine.
    sweeps_faults: bool,
    pub(crate) source: Arc<Source>,
}

/// One point of the sweep: a combination of the values of all axes, with its machine and workload.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Position of the point in the list of points; the first axis varies slowest.
    pub index: usize,
    /// The value of each axis of the sweep at the point.
    pub values: Vec<AxisValue>,
    /// The machine at this point.
    pub machine: Described,
    /// The workload at this point.
    pub workload: Described,
}

impl PartialEq for Scenario {
    /// Return whether both experiments are equal; the layout of their files does not matter.
    fn eq(&self, other: &Self) -> bool {
        self.canonical() == other.canonical()
            && self.axes == other.axes
            && self.points == other.points
            && (&self.machine, &self.workload) == (&other.machine, &other.workload)
            && (&self.measure, &self.stop) == (&other.measure, &other.stop)
            && (&self.verdict, &self.search) == (&other.verdict, &other.search)
    }
}

impl Scenario {
    /// Read the text of a scenario file with a machine of one of the kinds `formats`, and apply
    /// overrides, each `key=value`, in order.
    ///
    /// The value of an override is TOML, or text if it is not valid TOML. An override of a swept field
    /// replaces the axis by one value; `sweep.KEY=[...]` sets an axis.
    ///
    /// # Errors
    /// If the file or an override is invalid; the error is the first one found. `file_name` is used only in
    /// errors.
    pub fn parse(
        formats: &'static Formats,
        text: &str,
        file_name: &str,
        overrides: &[String],
    ) -> Result<Self, ScenarioError> {
        let source = Arc::new(Source {
            file: file_name.to_owned(),
            text: text.to_owned(),
            overrides: overrides.to_vec(),
        });
        Self::read(formats, &source).map_err(|problem| source.error(problem))
    }

    /// Read the scenario from its source. An error has an origin in the source, but no line number.
    fn read(formats: &'static Formats, source: &Arc<Source>) -> Result<Self, Problem> {
        let root = parse_file(&source.text)?;
        let draft = Draft::read(formats, &root, &source.overrides)?;
        // Compare the file with and without overrides. If it is invalid without them, report no changes.
        let changes = match source.overrides.is_empty() {
            true => Vec::new(),
            false => Draft::read(formats, &root, &[])
                .map_or_else(|_| Vec::new(), |file| changes::changes(&file, &draft)),
        };
        let Draft {
            mut base, mut axes, ..
        } = draft;
        let kind = formats.row(base.schema().form);
        if let Some(presets) = kind.files.tables.presets {
            presets::resolve(presets, &mut base, &mut axes)?;
        }
        check_rules(kind, &base)?;
        check_head(&base)?;
        let sweeps_faults = failure_axis::resolve(kind, &mut base, &mut axes)?;
        let ControlTable {
            measure,
            stop,
            verdict,
            search,
        } = ControlTable::read(&base, "");
        control::check(&base, &stop)?;
        check_count(&axes)?;
        let search = search.map(|table| search::build(&base, table));
        let search = search.transpose()?;
        let (points, first) = loop {
            let mut effects = Effects::default();
            let built = build_all(kind, &base, &axes, search.as_ref(), source, &mut effects)?;
            // Remove fields that an override has made ineffective, and build the points again without them.
            let overruled = effects.overruled()?;
            if overruled.is_empty() {
                break built;
            }
            for key in &overruled {
                base.remove(key);
                axes.retain_mut(|axis| axis.remove_fields(&[key]));
            }
        };
        let head = HeadTable::read(&base, "");
        let title = head.title.filter(|title| !title.is_empty());
        Ok(Self {
            version: head.version,
            title: title.unwrap_or_else(|| head.name.clone()),
            name: head.name,
            description: head.description,
            seed: head.seed,
            machine: first.0,
            workload: first.1,
            axes,
            measure,
            stop,
            verdict,
            search,
            kind,
            base,
            points,
            changes,
            sweeps_faults,
            source: Arc::clone(source),
        })
    }

    /// Return the changes that the user's overrides make to the machine, the workload and the sweep of the file.
    /// The title and the description may not fit the changed scenario.
    pub fn changes(&self) -> Vec<Change> {
        self.changes.clone()
    }

    /// Return all points of the sweep: all combinations of the values of the axes. The first axis varies
    /// slowest. Without axes there is one point; there are none if only the search sets the load.
    pub fn points(&self) -> Vec<Point> {
        self.points.clone()
    }

    /// Return the axes whose combinations are searched for saturation: all axes except those that set only
    /// the load.
    pub fn search_axes(&self) -> Vec<Axis> {
        without_load(&self.base, &self.axes)
    }

    /// Return the searches for the saturation load ([`SearchLine`]), one for each combination of
    /// [`search_axes`](Self::search_axes), the first axis slowest. The result is empty without a search.
    pub fn search_lines(&self) -> Vec<SearchLine> {
        match self.search {
            // Ignore errors: `lines` has built the same searches when the file was checked, so it cannot fail here.
            Some(_) => lines(self.kind, &self.base, &self.axes, &self.source).unwrap_or_default(),
            None => Vec::new(),
        }
    }

    /// Return the values of all fields at the first point, or without points at the first combination of the
    /// axes.
    pub(crate) fn first_settings(&self) -> Settings {
        let values = self.axes.iter().filter_map(|axis| axis.values.first());
        let first = applied(&self.base, &values.cloned().collect::<Vec<_>>());
        first.unwrap_or_else(|_| self.base.clone())
    }

    /// Return the name of the scenario file, as passed by the caller.
    pub fn file(&self) -> &str {
        &self.source.file
    }

    /// Return whether an axis of the sweep is over failures of the machine.
    pub fn sweeps_faults(&self) -> bool {
        self.sweeps_faults
    }

    /// Return the name of the kind of machine: the value of `machine.kind` in the file.
    pub fn kind(&self) -> &'static str {
        self.kind.kind()
    }

    /// Return the name of this form of scenario file in the reference manual: the kind of machine, or another word
    /// if the kind has a second form.
    pub fn form(&self) -> &'static str {
        self.kind.form()
    }

    /// Return the description of the offered load of this kind of machine: its fields and its unit.
    pub fn loads(&self) -> Loads {
        *self.kind.loads()
    }

    /// Return whether the field `key` sets the offered load of this kind of machine.
    pub fn is_load(&self, key: &str) -> bool {
        self.loads().keys.0.contains(&key)
    }

    /// Check that all measures that the stopping rule names are among `known`.
    ///
    /// # Errors
    /// If a measure is unknown; the error suggests a similar one.
    pub fn check_measures(&self, known: &[&str]) -> Result<(), ScenarioError> {
        let StopRule::Precision { of, .. } = &self.stop.rule else {
            return Ok(());
        };
        let Some(name) = of.iter().find(|name| !known.contains(&name.as_str())) else {
            return Ok(());
        };
        let hint = match closest(name, known.iter().copied()) {
            Some(meant) => format!("did you mean \"{meant}\"?"),
            None => format!("the measures are {}", known.join(", ")),
        };
        let problem = format!("{} is not measured", shown(name));
        Err(self
            .source
            .error(self.base.problem("stop.of", problem, hint)))
    }

    /// Return whether the user has set `field` on purpose. If overrides exist, only an override of the field
    /// counts, because the value in the file may be obsolete.
    pub fn insists_on(&self, field: &str) -> bool {
        let by_override = |setting: &Setting| matches!(setting.origin, Origin::Override(_));
        let given = self.base.given(field);
        given.is_some_and(|setting| by_override(setting) || self.source.overrides.is_empty())
    }

    /// Return an error about `field`, with the location of the field, or else of its table. Use it for
    /// problems that only the construction of the machine detects, such as faults that disconnect a network.
    pub fn error_at(
        &self,
        field: &str,
        problem: impl Into<String>,
        hint: impl Into<String>,
    ) -> ScenarioError {
        self.error_below(field, None, problem, hint)
    }

    /// Return an error about `field`. If its value has several lines, `line` (from 1) is the line below the start of
    /// the value at which the problem is.
    pub fn error_below(
        &self,
        field: &str,
        line: Option<u32>,
        problem: impl Into<String>,
        hint: impl Into<String>,
    ) -> ScenarioError {
        let problem = self.base.problem(field, problem, hint);
        self.source.error(match line {
            Some(line) => problem.below(line),
            None => problem,
        })
    }

    /// Return the canonical form of the file with overrides applied. Parsed again, this text gives an equal
    /// scenario.
    pub fn canonical(&self) -> String {
        canonical::write(&self.base, &self.axes, |_| true)
    }

    /// Return the SHA-256 of the scenario's text in canonical form, without title and description, in hexadecimal.
    pub fn digest(&self) -> String {
        let words = ["title", "description"];
        canonical::hash(&canonical::write(&self.base, &self.axes, |key| {
            !words.contains(&key)
        }))
    }
}

/// Return an error if the file sets a field outside of `[machine]` and `[workload]` that has no effect on this
/// kind of machine.
fn check_rules(kind: &Row, base: &Settings) -> Result<(), Problem> {
    let mut effects = Effects::default();
    effects.note(base, kind.watch_rules);
    effects.overruled().map(drop)
}

/// Return an error if a required field outside of `[machine]` and `[workload]` is missing. This check comes before
/// points are built.
fn check_head(base: &Settings) -> Result<(), Problem> {
    if let Some(named) = base.schema().named()
        && base.schema().names().is_empty()
    {
        return Err(base.problem(
            named.table,
            format!("no {} at all", named.one),
            format!(
                "describe one or more, each in a table [{}.NAME]",
                named.table
            ),
        ));
    }
    base.check_fields(|key| !key.starts_with("machine.") && !key.starts_with("workload."))
}

/// Return whether the scenario needs no further load: the file or an axis sets the offered load, or the workload is
/// a closed loop, which has none.
fn has_load(base: &Settings, axes: &[Axis]) -> bool {
    let schema = base.schema();
    let limits_itself = |key: &str| schema.field(key).is_some_and(|load| !base.applies(load));
    let given = |key: &str| base.given(key).is_some() || axes.iter().any(|axis| axis.decides(key));
    let keys = base.schema().form.tables.loads.keys.0;
    keys.iter().all(|key| limits_itself(key)) || keys.iter().any(|key| given(key))
}

/// Return the axes of the sweep for a search, which sets the load itself: without the fields that set the load, and
/// without axes that set only the load.
fn without_load(base: &Settings, axes: &[Axis]) -> Vec<Axis> {
    let mut axes = axes.to_vec();
    axes.retain_mut(|axis| axis.remove_fields(base.schema().form.tables.loads.keys.0));
    axes
}

/// Result of [`build_all`]: all points, and the machine and the workload of the first point. Without points, they are
/// those of the first search.
type Expanded = (Vec<Point>, (Described, Described));

/// Build and check all points of the sweep, and the searches for the saturation load. Record in `effects` which
/// fields have an effect.
fn build_all(
    kind: &'static Row,
    base: &Settings,
    axes: &[Axis],
    search: Option<&Search>,
    source: &Arc<Source>,
    effects: &mut Effects,
) -> Result<Expanded, Problem> {
    let lines = match search {
        Some(_) => lines(kind, base, axes, source)?,
        None => Vec::new(),
    };
    let search_axes = without_load(base, axes);
    for line in &lines {
        for (load, unit) in search.into_iter().flat_map(Search::ends) {
            let (machine, workload) = line.build_at(load).map_err(|problem| {
                let load = format!("{load} {unit}");
                at(problem, &search_axes, &line.values, Some(&load))
            })?;
            let watch = |watch: &mut Watch<'_>| (kind.watch)(watch, &machine, &workload);
            effects.note(&line.settings, watch);
        }
    }
    let points = if search.is_some() && !has_load(base, axes) {
        Vec::new()
    } else {
        points(kind, base, axes, effects)?
    };
    let first = match (points.first(), lines.first(), search) {
        (Some(point), ..) => (point.machine.clone(), point.workload.clone()),
        (None, Some(line), Some(search)) => line.build_at(search.low)?,
        _ => kind.build(base)?,
    };
    Ok((points, first))
}

/// Build all points of the sweep with their machines and workloads. Record in `effects` which fields have an effect.
fn points(
    kind: &Row,
    base: &Settings,
    axes: &[Axis],
    effects: &mut Effects,
) -> Result<Vec<Point>, Problem> {
    product(axes)
        .into_iter()
        .enumerate()
        .map(|(index, values)| {
            let built = applied(base, &values).and_then(|settings| {
                let (machine, workload) = kind.build(&settings)?;
                effects.note(&settings, |watch| (kind.watch)(watch, &machine, &workload));
                Ok((machine, workload))
            });
            let (machine, workload) = built.map_err(|problem| at(problem, axes, &values, None))?;
            Ok(Point {
                index,
                values,
                machine,
                workload,
            })
        })
        .collect()
}

/// Return one search for the saturation load for each combination of values of the axes that do not set the
/// load.
fn lines(
    kind: &'static Row,
    base: &Settings,
    axes: &[Axis],
    source: &Arc<Source>,
) -> Result<Vec<SearchLine>, Problem> {
    product(&without_load(base, axes))
        .into_iter()
        .enumerate()
        .map(|(index, values)| {
            let settings = applied(base, &values)?;
            Ok(SearchLine {
                index,
                values,
                kind,
                settings,
                source: Arc::clone(source),
            })
        })
        .collect()
}
