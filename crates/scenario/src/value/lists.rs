//! Values that list something: nodes, links, rings, sizes, percentiles, measures.

use super::{Addressed, Flaw, Kind, LINE_MAX, Reader, Value, flaw_at};
use crate::document::{Node, Tree, shown};
use std::collections::BTreeSet;

impl<'n> Reader<'n> {
    pub(super) fn items(&self) -> Result<&'n [Node], Flaw> {
        match &self.node.tree {
            Tree::Array(items) => Ok(items),
            _ => Err(self.wrong_type()),
        }
    }

    pub(super) fn nodes(&self) -> Result<Value, Flaw> {
        let mut nodes = Vec::new();
        let mut seen = BTreeSet::new();
        for item in self.items()? {
            let node = node_number(item)?;
            if !seen.insert(node) {
                return Err(twice(item, node));
            }
            nodes.push(node);
        }
        Ok(Value::Nodes(nodes))
    }

    pub(super) fn links(&self, directed: bool) -> Result<Value, Flaw> {
        let mut links: Vec<(u32, u32)> = Vec::new();
        let mut seen = BTreeSet::new();
        for item in self.items()? {
            let ends = match &item.tree {
                Tree::Array(ends) if ends.len() == 2 => ends,
                _ => {
                    let problem = format!("{} where a link is expected", item.describe());
                    return Err(flaw_at(
                        item,
                        problem,
                        "write a link as its two ends, [0, 1]",
                    ));
                }
            };
            let (from, to) = (node_number(&ends[0])?, node_number(&ends[1])?);
            let link = if directed || from < to {
                (from, to)
            } else {
                (to, from)
            };
            if !seen.insert(link) {
                return Err(twice(item, format!("[{from}, {to}]")));
            }
            links.push((from, to));
        }
        Ok(Value::Links(links))
    }

    pub(super) fn percentiles(&self) -> Result<Value, Flaw> {
        let mut percentiles = Vec::new();
        for item in self.items()? {
            let each = Reader {
                kind: Kind::Number {
                    min: 0.0,
                    max: 100.0,
                },
                node: item,
            };
            let percentile = each.float()?;
            if percentile <= 0.0 || percentile >= 100.0 {
                let problem = format!("{percentile} is no percentile");
                return Err(each.flaw(problem, "give numbers between 0 and 100"));
            }
            if percentiles.contains(&percentile) {
                return Err(twice(item, percentile));
            }
            percentiles.push(percentile);
        }
        Ok(Value::Numbers(percentiles))
    }

    pub(super) fn measures(&self, example: &str, named: bool) -> Result<Value, Flaw> {
        let mut names: Vec<String> = Vec::new();
        for item in self.items()? {
            let name = Reader {
                kind: Kind::Text { max: LINE_MAX },
                node: item,
            }
            .text()?
            .to_owned();
            let good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            let part = |part: &str| !part.is_empty() && part.chars().all(good);
            let of_table = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            let right = match name.split_once('.') {
                Some((table, rest)) if named => {
                    !table.is_empty() && table.chars().all(of_table) && rest.split('.').all(part)
                }
                _ => name.split('.').all(part),
            };
            if !right {
                let problem = format!("{} is not the name of a measure", shown(&name));
                return Err(flaw_at(
                    item,
                    problem,
                    format!("write it as {}", example.trim_matches(['[', ']'])),
                ));
            }
            if names.contains(&name) {
                return Err(twice(item, name));
            }
            names.push(name);
        }
        Ok(Value::Names(names))
    }

    /// Nodes in each dimension: `8`, `"8"` or `"4x4x4"`.
    pub(super) fn size(&self, most: Addressed) -> Result<Value, Flaw> {
        let malformed = |text: &str| {
            let problem = format!("{} is not a size", shown(text));
            self.flaw(
                problem,
                "write nodes in each dimension, 8 or \"6x6\" or \"4x4x4\"",
            )
        };
        let sizes: Vec<u64> = match &self.node.tree {
            Tree::Integer(n) => {
                vec![u64::try_from(*n).map_err(|_| malformed(&n.to_string()))?]
            }
            Tree::Text(text) => {
                let sizes = text.split('x').map(|part| part.trim().parse());
                sizes
                    .collect::<Result<_, _>>()
                    .map_err(|_| malformed(text))?
            }
            _ => return Err(self.wrong_type()),
        };
        if let Some(size) = sizes.iter().find(|&&size| size < 2) {
            let nodes = if *size == 1 { "one node" } else { "no node" };
            return Err(self.flaw(format!("a ring of {nodes}"), "give 2 nodes or more"));
        }
        let nodes = sizes
            .iter()
            .try_fold(1u64, |all, size| all.checked_mul(*size));
        if nodes.is_none_or(|nodes| nodes > u64::from(most.nodes)) {
            let nodes = nodes.map_or("2^64 or more".to_owned(), |nodes| nodes.to_string());
            return Err(self.flaw(
                format!("a fabric of {nodes} nodes"),
                format!(
                    "give at most {}, the nodes that {} addresses",
                    most.nodes, most.by
                ),
            ));
        }
        let small = |&size: &u64| u32::try_from(size).unwrap_or(most.nodes);
        Ok(Value::Sizes(sizes.iter().map(small).collect()))
    }

    /// Rings of two nodes or more, no node twice on one ring; all nodes up to the highest number
    /// are on some ring.
    pub(super) fn rings(&self, most: Addressed) -> Result<Value, Flaw> {
        let mut rings = Vec::new();
        let mut on_rings = BTreeSet::new();
        for item in self.items()? {
            let Tree::Array(nodes) = &item.tree else {
                let problem = format!("{} where a ring is expected", item.describe());
                return Err(flaw_at(
                    item,
                    problem,
                    "write a ring as its nodes, [0, 1, 2]",
                ));
            };
            let mut ring: Vec<u32> = Vec::new();
            for place in nodes {
                let node = node_number(place)?;
                if node >= most.nodes {
                    let problem = format!("node {node} is beyond what {} addresses", most.by);
                    let hint = format!("give 0 to {}", most.nodes - 1);
                    return Err(flaw_at(place, problem, hint));
                }
                if ring.contains(&node) {
                    let problem = format!("node {node} is twice on the ring");
                    return Err(flaw_at(place, problem, "pass each node once on a ring"));
                }
                ring.push(node);
            }
            if ring.len() < 2 {
                let nodes = if ring.is_empty() {
                    "no node"
                } else {
                    "one node"
                };
                return Err(flaw_at(
                    item,
                    format!("a ring of {nodes}"),
                    "give 2 nodes or more",
                ));
            }
            on_rings.extend(&ring);
            rings.push(ring);
        }
        let Some(&last) = on_rings.last() else {
            return Err(self.flaw("no ring at all", "list one ring or more"));
        };
        match (0..last).find(|node| !on_rings.contains(node)) {
            None => Ok(Value::Rings(rings)),
            Some(node) => Err(self.flaw(
                format!("node {node} is on no ring"),
                format!("put all nodes 0 to {last} on rings"),
            )),
        }
    }
}

pub(super) fn node_number(node: &Node) -> Result<u32, Flaw> {
    match node.tree {
        Tree::Integer(n) => u32::try_from(n)
            .map_err(|_| flaw_at(node, format!("{n} is no node number"), "give 0 or more")),
        _ => Err(flaw_at(
            node,
            format!("{} where a node number is expected", node.describe()),
            "give whole numbers, 0 or more",
        )),
    }
}

pub(super) fn twice(node: &Node, what: impl std::fmt::Display) -> Flaw {
    flaw_at(node, format!("{what} is listed twice"), "list it once")
}
