//! Values that speak of jobs: their nodes, their grids, sets of their names, loads of a node.

use super::lists::{node_number, twice};
use super::{Flaw, Kind, NODES_MAX, Reader, Value, flaw_at};
use crate::document::{Node, Tree, shown};
use isthmus_units::Bandwidth;
use isthmus_workload::jobs::spec::JobNodes;
use std::collections::BTreeSet;

impl Reader<'_> {
    /// `"all"`, `"part 1 of 2"` or a list of nodes and runs, `[0, 5, "8-15"]`.
    pub(super) fn job_nodes(&self) -> Result<Value, Flaw> {
        match &self.node.tree {
            Tree::Text(text) if text.trim() == "all" => Ok(Value::JobNodes(JobNodes::All)),
            Tree::Text(text) => self.part(text),
            Tree::Array(items) => {
                let (mut nodes, mut seen) = (Vec::new(), BTreeSet::new());
                for item in items {
                    for node in run(item)? {
                        if !seen.insert(node) {
                            return Err(twice(item, node));
                        }
                        nodes.push(node);
                    }
                }
                if nodes.is_empty() {
                    return Err(self.flaw("a job without nodes", "list one or more"));
                }
                Ok(Value::JobNodes(JobNodes::Listed(nodes)))
            }
            _ => Err(self.wrong_type()),
        }
    }

    fn part(&self, text: &str) -> Result<Value, Flaw> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let parsed = match words[..] {
            ["part", part, "of", of] => part.parse::<u32>().ok().zip(of.parse::<u32>().ok()),
            _ => None,
        };
        let Some((part, of)) = parsed else {
            return Err(self.flaw(
                format!("{} is no set of nodes", shown(text)),
                "write \"all\", \"part 1 of 2\" or a list such as [0, 5, \"8-15\"]",
            ));
        };
        if part == 0 || part > of {
            let parts = if of == 0 {
                "give 1 part or more".to_owned()
            } else {
                format!("there are parts 1 to {of}")
            };
            return Err(self.flaw(format!("no part {part} of {of}"), parts));
        }
        Ok(Value::JobNodes(JobNodes::Part { part, of }))
    }

    /// Nodes in each dimension: `16` or `"4x4"`.
    pub(super) fn grid(&self) -> Result<Value, Flaw> {
        let malformed = |text: &str| {
            let problem = format!("{} is no grid", shown(text));
            self.flaw(problem, "write nodes in each dimension, 16 or \"4x4\"")
        };
        let sizes: Vec<u32> = match &self.node.tree {
            Tree::Integer(n) => vec![u32::try_from(*n).map_err(|_| malformed(&n.to_string()))?],
            Tree::Text(text) => {
                let sizes = text.split('x').map(|part| part.trim().parse());
                sizes
                    .collect::<Result<_, _>>()
                    .map_err(|_| malformed(text))?
            }
            _ => return Err(self.wrong_type()),
        };
        if sizes.contains(&0) {
            return Err(self.flaw("a dimension without nodes", "give 1 node or more in each"));
        }
        Ok(Value::Sizes(sizes))
    }

    /// Whole numbers, 1 or more, one for each level of a tree.
    pub(super) fn levels(&self) -> Result<Value, Flaw> {
        let mut numbers = Vec::new();
        for item in self.items()? {
            let number = match item.tree {
                Tree::Integer(n) => u32::try_from(n).ok().filter(|&n| n > 0),
                _ => None,
            };
            let Some(number) = number else {
                let problem = format!("{} where a number of links is expected", item.describe());
                return Err(flaw_at(item, problem, "give whole numbers, 1 or more"));
            };
            numbers.push(number);
        }
        Ok(Value::Counts(numbers))
    }

    /// Names of jobs, none twice.
    pub(super) fn name_set(&self) -> Result<Value, Flaw> {
        let mut names: Vec<String> = Vec::new();
        for item in self.items()? {
            let name = match &item.tree {
                Tree::Text(name) => name.clone(),
                _ => {
                    let problem = format!("{} where a name is expected", item.describe());
                    return Err(flaw_at(item, problem, "give names of jobs"));
                }
            };
            if names.contains(&name) {
                return Err(twice(item, shown(&name)));
            }
            names.push(name);
        }
        if names.is_empty() {
            return Err(self.flaw("no job at all", "name one or more"));
        }
        Ok(Value::Names(names))
    }

    /// A bandwidth, or a share of what a node can send.
    pub(super) fn node_load(&self) -> Result<Value, Flaw> {
        match &self.node.tree {
            Tree::Text(text) if !text.trim_end().ends_with('%') => {
                let bandwidth = self.quantity(str::parse::<Bandwidth>)?;
                let bits_per_s = bandwidth.bits_per_s() as f64;
                self.above_zero(bits_per_s, "no traffic at all", "a load above 0")?;
                Ok(Value::Bandwidth(bandwidth))
            }
            Tree::Text(_) | Tree::Integer(_) | Tree::Float(_) => {
                let share = Reader {
                    kind: Kind::Share {
                        above_zero: true,
                        below_one: false,
                    },
                    node: self.node,
                };
                share.share(true, false)
            }
            _ => Err(self.wrong_type()),
        }
    }
}

/// One node, or the nodes from one to another.
fn run(item: &Node) -> Result<Vec<u32>, Flaw> {
    let Tree::Text(text) = &item.tree else {
        let node = node_number(item)?;
        return match node < NODES_MAX {
            true => Ok(vec![node]),
            false => Err(beyond(item, node)),
        };
    };
    let ends = text.split_once('-').and_then(|(first, last)| {
        let number = |text: &str| text.trim().parse::<u32>().ok();
        number(first).zip(number(last))
    });
    match ends {
        Some((_, last)) if last >= NODES_MAX => Err(beyond(item, last)),
        Some((first, last)) if first <= last => Ok((first..=last).collect()),
        Some((first, last)) => Err(flaw_at(
            item,
            format!("{} runs backwards", shown(text)),
            format!("write \"{last}-{first}\""),
        )),
        None => Err(flaw_at(
            item,
            format!("{} is no run of nodes", shown(text)),
            "write first and last, \"8-15\", or one node as a number",
        )),
    }
}

fn beyond(item: &Node, node: u32) -> Flaw {
    flaw_at(
        item,
        format!("node {node} is beyond any machine"),
        format!("give 0 to {}", NODES_MAX - 1),
    )
}
