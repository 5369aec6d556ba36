//! Values that list something: nodes, links, rings, sizes, percentiles, measures.

use super::{Addressed, Kind, LINE_MAX, Reader, Value};
use crate::document::{Node, Tree, shown};
use crate::error::Problem;
use std::collections::BTreeSet;
use std::str::FromStr;

impl<'n> Reader<'n> {
    pub(super) fn items(&self) -> Result<&'n [Node], Problem> {
        match &self.node.tree {
            Tree::Array(items) => Ok(items),
            _ => Err(self.wrong_type()),
        }
    }

    /// The items, each as `read` reads it, none twice: no two with the same `key`. `words` are what an
    /// error calls one.
    pub(super) fn distinct<T, K: Ord>(
        &self,
        read: impl Fn(&'n Node) -> Result<T, Problem>,
        key: impl Fn(&T) -> K,
        words: impl Fn(&T) -> String,
    ) -> Result<Vec<T>, Problem> {
        let mut seen = BTreeSet::new();
        let item = |item| {
            let value = read(item)?;
            match seen.insert(key(&value)) {
                true => Ok(value),
                false => Err(twice(item, words(&value))),
            }
        };
        self.items()?.iter().map(item).collect()
    }

    pub(super) fn nodes(&self) -> Result<Value, Problem> {
        let nodes = self.distinct(node_number, |&node| node, u32::to_string);
        nodes.map(Value::Nodes)
    }

    pub(super) fn links(&self, directed: bool) -> Result<Value, Problem> {
        let link = |item: &Node| match &item.tree {
            Tree::Array(ends) if ends.len() == 2 => {
                Ok((node_number(&ends[0])?, node_number(&ends[1])?))
            }
            _ => Err(item.problem(
                format!("{} where a link is expected", item.describe()),
                "write a link as its two ends, [0, 1]",
            )),
        };
        let key = |&(from, to): &(u32, u32)| match directed {
            true => (from, to),
            false => (from.min(to), from.max(to)),
        };
        let words = |(from, to): &(u32, u32)| format!("[{from}, {to}]");
        self.distinct(link, key, words).map(Value::Links)
    }

    pub(super) fn percentiles(&self) -> Result<Value, Problem> {
        let (min, max) = (0.0, 100.0);
        let percentile = |node| {
            let kind = Kind::Number { min, max };
            let percentile = Reader { kind, node }.float()?;
            if percentile > min && percentile < max {
                return Ok(percentile);
            }
            let problem = format!("{percentile} is no percentile");
            Err(node.problem(problem, "give numbers between 0 and 100"))
        };
        // Numbers above zero are in the order of their bits.
        let percentiles = self.distinct(percentile, |number| number.to_bits(), f64::to_string);
        percentiles.map(Value::Numbers)
    }

    pub(super) fn measures(&self, example: &str, named: bool) -> Result<Value, Problem> {
        let good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        let part = |part: &str| !part.is_empty() && part.chars().all(good);
        let of_table = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let measure = |node| {
            let kind = Kind::Text { max: LINE_MAX };
            let name = Reader { kind, node }.text()?;
            let right = match name.split_once('.') {
                Some((table, rest)) if named => {
                    !table.is_empty() && table.chars().all(of_table) && rest.split('.').all(part)
                }
                _ => name.split('.').all(part),
            };
            if right {
                return Ok(name.to_owned());
            }
            let problem = format!("{} is not the name of a measure", shown(name));
            let hint = format!("write it as {}", example.trim_matches(['[', ']']));
            Err(node.problem(problem, hint))
        };
        let names = self.distinct(measure, String::clone, String::clone);
        names.map(Value::Names)
    }

    /// Numbers with an `x` between them, or one alone: `8`, `"8"` or `"4x4x4"`. Another text is `no`
    /// such thing.
    pub(super) fn dimensions<T: FromStr + TryFrom<i64>>(
        &self,
        no: &str,
        hint: &str,
    ) -> Result<Vec<T>, Problem> {
        let malformed = |text: &str| {
            let problem = format!("{} is {no}", shown(text));
            self.node.problem(problem, hint)
        };
        match &self.node.tree {
            Tree::Integer(n) => match T::try_from(*n) {
                Ok(size) => Ok(vec![size]),
                Err(_) => Err(malformed(&n.to_string())),
            },
            Tree::Text(text) => {
                let sizes = text.split('x').map(|part| part.trim().parse());
                let sizes: Result<_, _> = sizes.collect();
                sizes.map_err(|_| malformed(text))
            }
            _ => Err(self.wrong_type()),
        }
    }

    /// Nodes in each dimension.
    pub(super) fn size(&self, most: Addressed) -> Result<Value, Problem> {
        let hint = "write nodes in each dimension, 8 or \"6x6\" or \"4x4x4\"";
        let sizes: Vec<u64> = self.dimensions("not a size", hint)?;
        if let Some(&size) = sizes.iter().find(|&&size| size < u64::from(most.least)) {
            return Err(match most.least {
                1 => without_nodes(self.node),
                _ => ring_of(self.node, size as usize),
            });
        }
        let nodes = sizes
            .iter()
            .try_fold(1u64, |all, size| all.checked_mul(*size));
        if nodes.is_none_or(|nodes| nodes > u64::from(most.nodes)) {
            let nodes = nodes.map_or("2^64 or more".to_owned(), |nodes| nodes.to_string());
            return Err(self.node.problem(
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
    pub(super) fn rings(&self, most: Addressed) -> Result<Value, Problem> {
        let mut rings = Vec::new();
        let mut on_rings = BTreeSet::new();
        for item in self.items()? {
            let Tree::Array(nodes) = &item.tree else {
                let problem = format!("{} where a ring is expected", item.describe());
                return Err(item.problem(problem, "write a ring as its nodes, [0, 1, 2]"));
            };
            let mut ring: Vec<u32> = Vec::new();
            for place in nodes {
                let node = node_number(place)?;
                if node >= most.nodes {
                    let problem = format!("node {node} is beyond what {} addresses", most.by);
                    let hint = format!("give 0 to {}", most.nodes - 1);
                    return Err(place.problem(problem, hint));
                }
                if ring.contains(&node) {
                    let problem = format!("node {node} is twice on the ring");
                    return Err(place.problem(problem, "pass each node once on a ring"));
                }
                ring.push(node);
            }
            if ring.len() < 2 {
                return Err(ring_of(item, ring.len()));
            }
            on_rings.extend(&ring);
            rings.push(ring);
        }
        let Some(&last) = on_rings.last() else {
            return Err(self.node.problem("no ring at all", "list one ring or more"));
        };
        match (0..last).find(|node| !on_rings.contains(node)) {
            None => Ok(Value::Rings(rings)),
            Some(node) => Err(self.node.problem(
                format!("node {node} is on no ring"),
                format!("put all nodes 0 to {last} on rings"),
            )),
        }
    }
}

/// Of fewer than two.
pub(super) fn without_nodes(place: &Node) -> Problem {
    place.problem("a dimension without nodes", "give 1 node or more in each")
}

fn ring_of(place: &Node, nodes: usize) -> Problem {
    let nodes = if nodes == 0 { "no node" } else { "one node" };
    place.problem(format!("a ring of {nodes}"), "give 2 nodes or more")
}

pub(super) fn node_number(node: &Node) -> Result<u32, Problem> {
    match node.tree {
        Tree::Integer(n) => u32::try_from(n).map_err(|_| {
            let right = match n {
                ..0 => "give 0 or more".to_owned(),
                _ => format!("give at most {}", u32::MAX),
            };
            node.problem(format!("{n} is no node number"), right)
        }),
        _ => Err(node.problem(
            format!("{} where a node number is expected", node.describe()),
            "give whole numbers, 0 or more",
        )),
    }
}

pub(super) fn twice(node: &Node, what: impl std::fmt::Display) -> Problem {
    node.problem(format!("{what} is listed twice"), "list it once")
}
