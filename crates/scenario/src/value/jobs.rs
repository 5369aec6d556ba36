//! Values that speak of jobs: their nodes, their grids, sets of their names, loads of a node.

use super::lists::{node_number, twice, without_nodes};
use super::{Kind, NODES_MAX, Reader, Value};
use crate::document::{Node, Tree, shown};
use crate::error::Problem;
use isthmus_workload::jobs::spec::JobNodes;
use std::collections::BTreeSet;

impl Reader<'_> {
    /// `"all"`, `"part 1 of 2"` or a list of nodes and runs, `[0, 5, "8-15"]`.
    pub(super) fn job_nodes(&self) -> Result<Value, Problem> {
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
                    return Err(self.node.problem("a job without nodes", "list one or more"));
                }
                Ok(Value::JobNodes(JobNodes::Listed(nodes)))
            }
            _ => Err(self.wrong_type()),
        }
    }

    fn part(&self, text: &str) -> Result<Value, Problem> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let parsed = match words[..] {
            ["part", part, "of", of] => part.parse::<u32>().ok().zip(of.parse::<u32>().ok()),
            _ => None,
        };
        let Some((part, of)) = parsed else {
            return Err(self.node.problem(
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
            return Err(self.node.problem(format!("no part {part} of {of}"), parts));
        }
        Ok(Value::JobNodes(JobNodes::Part { part, of }))
    }

    /// Nodes in each dimension: `16` or `"4x4"`.
    pub(super) fn grid(&self) -> Result<Value, Problem> {
        let hint = "write nodes in each dimension, 16 or \"4x4\"";
        let sizes: Vec<u32> = self.dimensions("no grid", hint)?;
        if sizes.contains(&0) {
            return Err(without_nodes(self.node));
        }
        Ok(Value::Sizes(sizes))
    }

    /// Whole numbers, 1 or more, one for each level of a tree.
    pub(super) fn levels(&self) -> Result<Value, Problem> {
        let links = |item: &Node| {
            let number = match item.tree {
                Tree::Integer(n) => u32::try_from(n).ok().filter(|&n| n > 0),
                _ => None,
            };
            number.ok_or_else(|| {
                let problem = format!("{} where a number of links is expected", item.describe());
                item.problem(problem, "give whole numbers, 1 or more")
            })
        };
        let numbers: Result<_, _> = self.items()?.iter().map(links).collect();
        numbers.map(Value::Counts)
    }

    /// Names of jobs, none twice.
    pub(super) fn name_set(&self) -> Result<Value, Problem> {
        let name = |item: &Node| match &item.tree {
            Tree::Text(name) => Ok(name.clone()),
            _ => {
                let problem = format!("{} where a name is expected", item.describe());
                Err(item.problem(problem, "give names of jobs"))
            }
        };
        let names = self.distinct(name, String::clone, |name| shown(name))?;
        match names.is_empty() {
            true => Err(self.node.problem("no job at all", "name one or more")),
            false => Ok(Value::Names(names)),
        }
    }

    /// A bandwidth, or a share of what a node can send.
    pub(super) fn node_load(&self) -> Result<Value, Problem> {
        match &self.node.tree {
            Tree::Text(text) if text.trim().parse::<f64>().is_ok() => {
                let text = text.trim();
                let problem = format!("{} has no unit", shown(text));
                let hint = format!(
                    "write {text} without quotation marks for a share, or with a unit: \"{text} MB/s\""
                );
                Err(self.node.problem(problem, hint))
            }
            Tree::Text(text) if !text.trim_end().ends_with('%') => {
                self.bandwidth("no traffic at all", "a load above 0")
            }
            Tree::Text(_) | Tree::Integer(_) | Tree::Float(_) => {
                let (above_zero, below_one) = (true, false);
                let kind = Kind::Share {
                    above_zero,
                    below_one,
                };
                let node = self.node;
                Reader { kind, node }.share(above_zero, below_one)
            }
            _ => Err(self.wrong_type()),
        }
    }
}

/// One node, or the nodes from one to another.
fn run(item: &Node) -> Result<Vec<u32>, Problem> {
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
        Some((first, last)) => Err(item.problem(
            format!("{} runs backwards", shown(text)),
            format!("write \"{last}-{first}\""),
        )),
        None => Err(item.problem(
            format!("{} is no run of nodes", shown(text)),
            "write first and last, \"8-15\", or one node as a number",
        )),
    }
}

fn beyond(item: &Node, node: u32) -> Problem {
    item.problem(
        format!("node {node} is beyond any machine"),
        format!("give 0 to {}", NODES_MAX - 1),
    )
}
