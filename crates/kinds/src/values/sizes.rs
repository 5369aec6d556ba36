//! Types of values for sizes: nodes per dimension, rings, and numbers per level of a tree.

use isthmus_scenario::format::Problem;
use isthmus_scenario::value::{Amount, TypeInfo, ValueType, dimensions, json, node_number};
use isthmus_scenario::{Node, Tree};
use serde_json::json;
use std::collections::BTreeSet;

/// Type of a scenario field: nodes in each dimension of a fabric, `8` or `"6x6"`.
pub(crate) struct Size {
    /// Minimum number of nodes in each dimension.
    pub(crate) least: u32,
    /// Maximum number of nodes of the fabric.
    pub(crate) nodes: u32,
    /// What limits the number of nodes, as words of an error message, such as `SCI`.
    pub(crate) limited_by: &'static str,
}

impl ValueType for Size {
    /// Rust type of the parsed value of the field.
    type Held = Vec<u32>;

    /// Describe this type of field values for error messages and the reference of scenario fields.
    fn describe(&self) -> TypeInfo {
        let Self { least, nodes, .. } = self;
        let range = format!("nodes in each dimension, {least} or more, {nodes} in all");
        TypeInfo::new("a size", "\"6x6\"", range, json::dimensions(self.least))
    }

    /// Parse one whole number for each dimension or level.
    fn read(&self, node: &Node) -> Result<Vec<u32>, Problem> {
        let hint = "write nodes in each dimension, 8 or \"6x6\" or \"4x4x4\"";
        let sizes: Vec<u64> = dimensions(node, self, "not a size", hint)?;
        if let Some(&size) = sizes.iter().find(|&&size| size < self.least.into()) {
            return Err(match self.least {
                1 => without_nodes(node),
                _ => ring_too_short(node, size as usize),
            });
        }
        let mut sizes_left = sizes.iter();
        let nodes = sizes_left.try_fold(1u64, |all, size| all.checked_mul(*size));
        if nodes.is_none_or(|nodes| nodes > self.nodes.into()) {
            let nodes = nodes.map_or("2^64 or more".to_owned(), |nodes| nodes.to_string());
            let Self {
                nodes: most,
                limited_by,
                ..
            } = self;
            return Err(node.problem(
                format!("a fabric of {nodes} nodes"),
                format!("give at most {most}, the nodes that {limited_by} addresses"),
            ));
        }
        let small = |&size: &u64| u32::try_from(size).unwrap_or(self.nodes);
        Ok(sizes.iter().map(small).collect())
    }

    /// Return a value as a number for the axis of a plot or sweep; `None` if it is not one number.
    fn amount(&self, sizes: &Vec<u32>) -> Option<Amount> {
        match **sizes {
            [size] => Amount::of(&size),
            _ => None,
        }
    }
}

/// Type of a scenario field: nodes in each dimension of a grid, `16` or `"4x4"`.
pub(crate) struct Grid;

impl ValueType for Grid {
    /// Rust type of the parsed value of the field.
    type Held = Vec<u32>;

    /// Describe this type of field values for error messages and the reference of scenario fields.
    fn describe(&self) -> TypeInfo {
        let range = "nodes in each dimension, 1 or more";
        TypeInfo::new("a grid", "\"4x4\"", range, json::dimensions(1))
    }

    /// Parse one whole number for each dimension or level.
    fn read(&self, node: &Node) -> Result<Vec<u32>, Problem> {
        let hint = "write nodes in each dimension, 16 or \"4x4\"";
        let sizes: Vec<u32> = dimensions(node, self, "no grid", hint)?;
        match sizes.contains(&0) {
            true => Err(without_nodes(node)),
            false => Ok(sizes),
        }
    }

    /// Return a value as a number for the axis of a plot or sweep; `None` if it is not one number.
    fn amount(&self, sizes: &Vec<u32>) -> Option<Amount> {
        match **sizes {
            [size] => Some(Amount::of_grid(size)),
            _ => None,
        }
    }
}

/// Type of a scenario field: whole numbers, 1 or more, one for each level of a tree.
pub(crate) struct Levels;

impl ValueType for Levels {
    /// Rust type of the parsed value of the field.
    type Held = Vec<u32>;

    /// Describe this type of field values for error messages and the reference of scenario fields.
    fn describe(&self) -> TypeInfo {
        let range = "1 or more for each level, that of the leaf switches first";
        let json = json!({"type": "array", "items": {"type": "integer", "minimum": 1}});
        TypeInfo::new("a list of whole numbers", "[4, 4, 4]", range, json)
    }

    /// Parse one whole number for each dimension or level.
    fn read(&self, node: &Node) -> Result<Vec<u32>, Problem> {
        let links = |item: &Node| {
            let number = match item.tree {
                Tree::Integer(n) => u32::try_from(n).ok().filter(|&n| n > 0),
                _ => None,
            };
            let hint = "give whole numbers, 1 or more";
            number.ok_or_else(|| item.unexpected("a number of links", hint))
        };
        node.items(self)?.iter().map(links).collect()
    }
}

/// Type of a scenario field: rings, each a list of two or more node numbers without repetition. Every node up to the
/// highest number is on at least one ring.
pub(crate) struct Rings {
    /// Maximum number of nodes on all rings together.
    pub(crate) nodes: u32,
    /// What limits the number of nodes, as words of an error message, such as `SCI`.
    pub(crate) limited_by: &'static str,
}

impl Rings {
    /// Read one ring as a list of node numbers.
    fn ring(&self, item: &Node) -> Result<Vec<u32>, Problem> {
        let Tree::Array(nodes) = &item.tree else {
            return Err(item.unexpected("a ring", "write a ring as its nodes, [0, 1, 2]"));
        };
        let mut ring = Vec::new();
        for place in nodes {
            let node = node_number(place)?;
            if node >= self.nodes {
                let problem = format!("node {node} is beyond what {} addresses", self.limited_by);
                return Err(place.problem(problem, format!("give 0 to {}", self.nodes - 1)));
            }
            if ring.contains(&node) {
                let problem = format!("node {node} is twice on the ring");
                return Err(place.problem(problem, "pass each node once on a ring"));
            }
            ring.push(node);
        }
        match ring.len() {
            few @ 0..2 => Err(ring_too_short(item, few)),
            _ => Ok(ring),
        }
    }
}

impl ValueType for Rings {
    /// Rust type of the parsed value of the field.
    type Held = Vec<Vec<u32>>;

    /// Describe this type of field values for error messages and the reference of scenario fields.
    fn describe(&self) -> TypeInfo {
        let range = "lists of two nodes or more, no node left out";
        let json = json!({"type": "array", "items": json::list(&json::node(), 2)});
        TypeInfo::new("a list of rings", "[[0, 1, 2], [2, 3]]", range, json)
    }

    /// Parse a list of rings.
    fn read(&self, node: &Node) -> Result<Vec<Vec<u32>>, Problem> {
        let rings = node.items(self)?.iter().map(|item| self.ring(item));
        let rings = rings.collect::<Result<Vec<_>, _>>()?;
        let on_rings: BTreeSet<u32> = rings.iter().flatten().copied().collect();
        let Some(&last) = on_rings.last() else {
            return Err(node.problem("no ring at all", "list one ring or more"));
        };
        match (0..last).find(|node| !on_rings.contains(node)) {
            None => Ok(rings),
            Some(left_out) => Err(node.problem(
                format!("node {left_out} is on no ring"),
                format!("put all nodes 0 to {last} on rings"),
            )),
        }
    }
}

/// Return the problem that a dimension has no nodes.
fn without_nodes(node: &Node) -> Problem {
    node.problem("a dimension without nodes", "give 1 node or more in each")
}

/// Return the problem that a ring has fewer than two nodes.
fn ring_too_short(place: &Node, nodes: usize) -> Problem {
    let nodes = if nodes == 0 { "no node" } else { "one node" };
    place.problem(format!("a ring of {nodes}"), "give 2 nodes or more")
}
