//! Attributes of the vertices and edges in a graph file: those that describe the network, and all others.

use super::{ListError, NAME_MAX};
use crate::graph::{Graph, Part};
use std::collections::{BTreeMap, BTreeSet};

/// Attributes, in lower case, that are names, drawing styles or data of a program. This list contains an attribute only
/// if none of its values could describe a machine.
const DECORATION: &[&str] = &[
    "color",
    "colour",
    "comment",
    "desc",
    "description",
    "edgegraphics",
    "graphics",
    "id",
    "key",
    "label",
    "lat",
    "latitude",
    "lon",
    "longitude",
    "name",
    "nodegraphics",
    "note",
    "portgeometry",
    "portgraphics",
    "portuserdata",
    "pos",
    "position",
    "resources",
    "shape",
    "style",
    "title",
    "url",
    "x",
    "y",
    "z",
];

/// If the name of an unknown attribute of a graph file contains one of these words, it is probably a property of links.
const OF_LINKS: &[&str] = &[
    "band", "bw", "capacity", "delay", "gbps", "latency", "length", "rate", "speed",
];

/// Maximum number of bytes that the names of attributes take in a hint.
const NAMES_MAX: usize = 600;

/// The attributes that a graph file contains, divided into those that describe the network and those without effect.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    /// Attributes that describe the network, with the kind of element that has them.
    pub used: BTreeSet<(Part, String)>,
    /// Attributes without effect, with the kind of element that has them: decoration, and attributes to be ignored.
    pub not_used: BTreeSet<(Part, String)>,
}

/// Classify the attributes of a graph, and remove those in `ignored`, a list of names separated by commas.
///
/// # Errors
/// An attribute is neither known nor decoration nor ignored, or an attribute to be ignored does not occur.
pub(super) fn classify(graph: &mut Graph, ignored: &str) -> Result<Found, ListError> {
    let mut found = Found::default();
    let names = ignored.split(',').map(str::trim);
    for name in names.filter(|name| !name.is_empty()) {
        let parts = graph.remove_attributes(name);
        if parts.is_empty() {
            return Err(ListError::Ignored { name: shown(name) });
        }
        let parts = parts.into_iter().map(|part| (part, name.to_owned()));
        found.not_used.extend(parts);
    }
    let graph = &*graph;
    // For each unknown attribute name: the first line that has it, and its vertex, edge or graph in words.
    let mut unknown: BTreeMap<String, (usize, String)> = BTreeMap::new();
    let mut sort =
        |part: Part, name: &str, alone: bool, line: usize, owner: &dyn Fn() -> String| {
            let known: &[&str] = match part {
                Part::Edges => &["width", "weight"],
                Part::Vertices => &["role"],
                Part::Graph => &[],
            };
            if alone && known.contains(&name) {
                found.used.insert((part, name.to_owned()));
            } else if DECORATION.contains(&name.to_lowercase().as_str()) {
                found.not_used.insert((part, name.to_owned()));
            } else if unknown.get(name).is_none_or(|&(first, _)| line < first) {
                unknown.insert(name.to_owned(), (line, owner()));
            }
        };
    let name = |vertex: u32| -> String { shown(&graph.node(vertex).name) };
    for (place, (from, to, edge)) in graph.edges().enumerate() {
        let owner = || format!("the edge between {:?} and {:?}", name(from), name(to));
        for attribute in edge.attributes.keys() {
            // If an edge has a width and a weight, treat the weight as an unknown attribute: its meaning is unclear.
            let alone = attribute != "weight" || !edge.attributes.contains_key("width");
            sort(
                Part::Edges,
                attribute,
                alone,
                graph.edge_line(place),
                &owner,
            );
        }
    }
    for vertex in 0..graph.node_count() {
        let owner = || format!("vertex {:?}", name(vertex));
        for attribute in graph.node(vertex).attributes.keys() {
            sort(
                Part::Vertices,
                attribute,
                true,
                graph.node_line(vertex),
                &owner,
            );
        }
    }
    for (attribute, &line) in graph.own_attributes() {
        sort(Part::Graph, attribute, true, line, &|| {
            "the graph".to_owned()
        });
    }
    let first = unknown.iter().min_by_key(|(_, (line, _))| *line);
    let Some((name, (line, owner))) = first else {
        return Ok(found);
    };
    Err(ListError::Attribute {
        line: *line,
        name: shown(name),
        owner: owner.clone(),
        all: unknown.keys().map(|name| shown(name)).collect(),
    })
}

/// Return advice for an error message on unknown attributes: `name` is the first, `all` lists every one.
pub(super) fn hint(name: &str, all: &[String]) -> String {
    let lower = name.to_lowercase();
    let like = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    let instead = if like(OF_LINKS) {
        "all links have machine.bandwidth and machine.delay, and width lays several beside one another"
    } else if like(&["type", "kind", "host", "switch"]) {
        "the attribute role of a vertex (\"node\" or \"switch\") says what it is"
    } else {
        "a list has width of edges and role of vertices"
    };
    let mut names = String::new();
    for name in all {
        let comma = if names.is_empty() { "" } else { ", " };
        if names.len() + comma.len() + name.len() > NAMES_MAX {
            break;
        }
        names += comma;
        names += name;
    }
    format!("{instead}; correct it, or give machine.ignored = \"{names}\" (init: --ignored)")
}

/// Return a name for an error message, shortened if it is long.
fn shown(name: &str) -> String {
    name.chars().take(NAME_MAX).collect()
}
