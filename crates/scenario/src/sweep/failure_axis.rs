//! An axis over failures: `"machine.faults" = "single"` in `[sweep]`.
//!
//! The possible failures depend on the machine, so its kind returns them ([`Format::failures`]). After a file
//! is read, the axis becomes an axis of variants, each with a list of failed parts. Axes that change the
//! possible failures are merged into this axis, since each of their machines has its own failures.
//!
//! [`Format::failures`]: crate::format::Format::failures

use crate::fields::field::{Default, Field};
use crate::fields::format::Row;
use crate::fields::schema::Schema;
use crate::file::error::{Origin, Problem};
use crate::file::setting::{Layer, Setting};
use crate::file::settings::Settings;
use crate::file::tree::{Entry, Node, Tree, join};
use crate::sweep::axis::{Axis, AxisValue, unknown_option};
use crate::sweep::failures::{Asked, Failures, Part, SINGLE, State, Wanted, Which};
use crate::sweep::points::{POINTS_MAX, applied, at, count, product};
use crate::value::{Choice, LINE_MAX, Whole, alternatives};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The key of the axis over failures in a file.
pub(crate) const KEY: &str = "machine.faults";

/// Text of the field reference (documentation) on the axis over failures.
pub(crate) const MEANING: &str = "An axis, called fault, over what can fail of the machine beyond \
    its own faults: no failure, then each part by itself, then pairs of these; \
    axes that change what can fail are taken into it";

/// Keys of the options that an axis over failures may have if it is written as a table.
const OPTIONS: [&str; 2] = ["of", "double"];

/// Name of the axis of variants that replaces the axis over failures.
const NAME: &str = "fault";

/// Valid range of the option `double`, the number of pairs of simultaneous failures.
const DOUBLES: Whole = Whole::new(0, POINTS_MAX as u64);

/// Return the field descriptions of the options that an axis over failures has if it is written as a table.
pub(crate) fn options(words: &'static Choice) -> [Field; 2] {
    [
        Field::new(
            "sweep.machine.faults.of",
            words,
            Default::Value("\"single\""),
            "parts that fail",
            "Which parts fail, each by itself; also written as the axis itself, \
             \"machine.faults\" = \"single\"",
        ),
        Field::new(
            "sweep.machine.faults.double",
            &DOUBLES,
            Default::Value("0"),
            "double failures",
            "Pairs of these failures to draw, under the seed; all if there are no more",
        ),
    ]
}

/// Return whether `path` is the key of an option of the axis over failures. Overrides may set such keys.
fn is_option(path: &str) -> bool {
    OPTIONS.iter().any(|name| path == join(KEY, name))
}

/// Return whether an entry of the sweep is an axis over failures. Otherwise it may be an axis over values of the fields
/// in the table `[machine.faults]`.
pub(crate) fn is_asked(path: &str, node: &Node, layer: Layer) -> bool {
    if is_option(path) {
        return layer == Layer::Override;
    }
    let has_option = || OPTIONS.iter().any(|key| node.get(key).is_some());
    path == KEY && (!matches!(node.tree, Tree::Table(_) | Tree::Array(_)) || has_option())
}

/// Read an axis over failures from the sweep. Its variants are computed later, when the machine is known. If an
/// override sets a single option, change this option of the axis over failures in `axes`.
pub(crate) fn read(
    schema: &Schema,
    path: &str,
    entry: &Entry,
    axes: &[Axis],
) -> Result<Axis, Problem> {
    let key = format!("sweep.{KEY}");
    let Some(faults) = schema.form.tables.faults else {
        let problem = format!("no such key with machine.kind = \"{}\"", schema.form.kind);
        let others = alternatives(&schema.kinds_with(KEY));
        let hint = format!("it belongs to machine.kind = {others}");
        let key = format!("sweep.{path}");
        return Err(Problem::new(key, entry.key_origin, problem, hint));
    };
    let [of, double] = options(&faults.words).map(Arc::new);
    let read = |field, node, key: &str| Setting::read_as(key, field, node, Layer::Axis);
    let earlier = axes.iter().find_map(|axis| axis.wanted);
    let earlier = earlier.filter(|_| is_option(path));
    let (mut word, mut doubles) = match earlier {
        Some(wanted) => (wanted.of.to_owned(), wanted.doubles),
        None => (SINGLE.to_owned(), 0),
    };
    let given = match &entry.node.tree {
        Tree::Table(entries) if path == KEY => &entries[..],
        _ if is_option(path) => std::slice::from_ref(entry),
        _ => {
            word = read(&of, &entry.node, &key)?.text();
            &[]
        }
    };
    for option in given {
        let path = join(&key, &option.key);
        let field = [&of, &double].into_iter().find(|field| *field.key == *path);
        let Some(field) = field else {
            let hint = "an axis over failures has of and double";
            return Err(unknown_option(option, &key, &OPTIONS, hint));
        };
        let setting = read(field, &option.node, &path)?;
        match setting.value.as_() {
            Some(number) => doubles = *number,
            None => word = setting.text(),
        }
    }
    let known = faults.words.0.iter().find(|known| **known == word);
    let of = known.unwrap_or_else(|| unreachable!("the reader knows no other words"));
    let text = match doubles {
        0 => word,
        _ => format!("{word}, {doubles} double"),
    };
    let value = AxisValue {
        text,
        number: None,
        settings: Vec::new(),
    };
    Ok(Axis {
        wanted: Some(Wanted {
            of,
            doubles,
            origin: entry.node.origin,
        }),
        ..Axis::of_variants(NAME, vec![value])
    })
}

/// Replace the axis over failures, if there is one, by an axis of variants: one for each machine after a failure.
/// Return whether there was such an axis.
pub(crate) fn resolve(
    kind: &Row,
    base: &mut Settings,
    axes: &mut Vec<Axis>,
) -> Result<bool, Problem> {
    let Some((place, wanted)) =
        (axes.iter().enumerate()).find_map(|(place, axis)| Some((place, axis.wanted?)))
    else {
        return Ok(false);
    };
    let problem = |problem: String, hint: &str| {
        Problem::new(format!("sweep.{KEY}"), wanted.origin, problem, hint)
    };
    let mut others =
        (axes.iter().enumerate()).filter(|(at, axis)| *at != place && axis.key == NAME);
    if let Some((_, other)) = others.next() {
        return Err(match other.wanted {
            Some(_) => problem("it is given twice".to_owned(), "give it once"),
            None => {
                let words = format!("there is another axis of the name {NAME}");
                problem(words, "give that one another name")
            }
        });
    }
    set_accompanying_fields(base, axes, wanted.origin)?;
    let over_machine: Vec<usize> = (0..axes.len())
        .filter(|&at| axes[at].decides_below("machine."))
        .collect();
    let machines = axes_at(axes, &over_machine);
    let too_many = || {
        let words = format!("the axes give more than {POINTS_MAX} points");
        problem(words, "let fewer parts fail, or split the sweep")
    };
    let mut room = POINTS_MAX;
    let mut found = Vec::new();
    let (mut any_part, mut unbuilt) = (false, false);
    if count(&machines) > POINTS_MAX {
        return Err(too_many());
    }
    for values in product(&machines) {
        let failures = applied(base, &values).and_then(|settings| {
            let asked = Asked {
                of: wanted.of,
                doubles: wanted.doubles,
                seed: base.held("seed"),
                most: room,
            };
            let machine = kind.machine(&settings)?;
            Ok((kind.failures)(&machine, &asked))
        });
        let failures = failures.map_err(|problem| at(problem, &machines, &values, None))?;
        let Failures {
            single, mut states, ..
        } = failures.ok_or_else(too_many)?;
        any_part |= single > 0;
        states.retain(|state| state.runs);
        // Without live nodes the machine cannot be built. In this case, report no error here: the construction of the
        // point reports why.
        unbuilt |= states.iter().any(|state| state.live == 0);
        room = room.checked_sub(states.len()).ok_or_else(too_many)?;
        found.push((values, states));
    }
    if !unbuilt && found.iter().all(|(_, states)| states.len() < 2) {
        return Err(match any_part {
            true => problem(
                "the machine cannot be run after any of these failures".to_owned(),
                "remove the axis",
            ),
            false => problem(
                "the machine has no such parts left that could fail".to_owned(),
                "let other parts fail, or remove the axis",
            ),
        });
    }
    let merged = merged_axes(&machines, &found);
    let mut values = Vec::new();
    for (machine, states) in &found {
        // Return whether a value contributes to the result: all values of merged axes do, of other axes only the first
        // one.
        let first =
            |(axis, at): (usize, &AxisValue)| merged[axis] || *at == machines[axis].values[0];
        if machine.iter().enumerate().all(first) {
            let own = machine.iter().zip(&merged).filter(|(_, merged)| **merged);
            let own: Vec<AxisValue> = own.map(|(value, _)| value.clone()).collect();
            for state in states {
                values.push(value_of(base, &own, state, wanted.origin)?);
            }
        }
    }
    check_labels(&values).map_err(|words| problem(words, "label its machines in other words"))?;
    axes[place].values = values;
    axes[place].wanted = None;
    let gone: Vec<usize> = (over_machine.iter().zip(&merged))
        .filter_map(|(at, merged)| merged.then_some(*at))
        .collect();
    let first = gone.iter().copied().chain([place]).min().unwrap_or(place);
    let axis = axes[place].clone();
    let mut position = 0;
    axes.retain(|_| {
        let stays = position != place && !gone.contains(&position);
        position += 1;
        stays
    });
    axes.insert(first, axis);
    Ok(true)
}

impl Settings {
    /// Return the settings of the fields that list failed parts: the existing lists with `parts` appended.
    pub(crate) fn with_failed(
        &self,
        parts: &[Part],
        origin: Origin,
        layer: Layer,
    ) -> Result<Vec<Setting>, Problem> {
        let mut fields: Vec<&'static str> = Vec::new();
        for part in parts {
            if !fields.contains(&part.field) {
                fields.push(part.field);
            }
        }
        let node = |tree| Node { tree, origin };
        let number = |number: u32| node(Tree::Integer(number.into()));
        let list = |key: &&'static str| {
            let held = self.value(key);
            let nodes = held.as_::<Vec<u32>>().into_iter().flatten();
            let links = held.as_::<Vec<(u32, u32)>>().into_iter().flatten();
            let nodes = nodes.map(|node| Which::Node(*node));
            let mut listed: Vec<Which> = nodes
                .chain(links.map(|(a, b)| Which::Link(*a, *b)))
                .collect();
            for part in parts.iter().filter(|part| part.field == *key) {
                if !listed.contains(&part.which) {
                    listed.push(part.which);
                }
            }
            let items = listed.into_iter().map(|which| match which {
                Which::Node(at) => number(at),
                Which::Link(from, to) => node(Tree::Array(vec![number(from), number(to)])),
            });
            let field = self.schema().field(key);
            let field = field.unwrap_or_else(|| unreachable!("{key} is a field of the kind"));
            Setting::read(field, &node(Tree::Array(items.collect())), layer)
        };
        fields.iter().map(list).collect()
    }
}

/// Give those fields their values that every axis over failures needs for this kind of machine, unless the file or an
/// axis sets the fields.
fn set_accompanying_fields(
    base: &mut Settings,
    axes: &[Axis],
    origin: Origin,
) -> Result<(), Problem> {
    let faults = base.schema().form.tables.faults;
    let with = faults.map_or(&[][..], |faults| faults.with);
    for (key, value) in with {
        if base.given(key).is_none() && !axes.iter().any(|axis| axis.decides(key)) {
            base.give(key, value, origin)?;
        }
    }
    Ok(())
}

/// Return copies of the axes at the positions `places` of the list.
fn axes_at(axes: &[Axis], places: &[usize]) -> Vec<Axis> {
    places.iter().map(|&place| axes[place].clone()).collect()
}

/// Return, for each axis that changes the machine, whether it must be merged with the axis over failures. It must if it
/// changes the possible failures, or sets lists of failed parts itself.
fn merged_axes(machines: &[Axis], found: &[(Vec<AxisValue>, Vec<State>)]) -> Vec<bool> {
    let mut stride = found.len();
    machines
        .iter()
        .map(|axis| {
            let count = axis.values.len();
            stride /= count;
            let differs = |at: usize| {
                let first = at - (at / stride % count) * stride;
                found[at].1 != found[first].1
            };
            axis.decides_below(&format!("{KEY}.")) || (0..found.len()).any(differs)
        })
        .collect()
}

/// Convert the state of a machine after a failure to a value of a sweep axis of variants.
fn value_of(
    base: &Settings,
    machine: &[AxisValue],
    state: &State,
    origin: Origin,
) -> Result<AxisValue, Problem> {
    let failed = applied(base, machine)?.with_failed(&state.parts, origin, Layer::Axis)?;
    let own = machine.iter().flat_map(|value| &value.settings);
    let stays = |own: &&Setting| failed.iter().all(|list| list.field.key != own.field.key);
    let settings = own.filter(stays).chain(&failed).cloned().collect();
    let words: Vec<&str> = machine.iter().map(|value| value.text.as_str()).collect();
    Ok(AxisValue {
        text: match words.is_empty() {
            true => state.label.clone(),
            false => format!("{}: {}", words.join(", "), state.label),
        },
        number: None,
        settings,
    })
}

/// Check that the labels of variants are distinct and not too long.
fn check_labels(values: &[AxisValue]) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    for value in values {
        if value.text.chars().count() > LINE_MAX {
            return Err(format!("a label has more than {LINE_MAX} characters"));
        }
        if !seen.insert(value.text.as_str()) {
            return Err(format!("two failures are called \"{}\"", value.text));
        }
    }
    Ok(())
}
