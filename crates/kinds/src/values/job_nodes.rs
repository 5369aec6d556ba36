//! Type of a scenario field: the nodes on which a job runs.

use super::NODES_MAX;
use isthmus_scenario::format::{Problem, shown};
use isthmus_scenario::value::{TypeInfo, ValueType, json, node_number, twice};
use isthmus_scenario::{Node, Tree};
use isthmus_workload::jobs::spec::JobNodes;
use serde_json::json;
use std::collections::BTreeSet;

/// Type of a scenario field: the nodes of a job, as `"all"`, `"part 1 of 2"` or a list of nodes and ranges,
/// `[0, 5, "8-15"]`.
pub(crate) struct JobNodeSet;

impl ValueType for JobNodeSet {
    /// Rust type of the parsed value of the field.
    type Held = JobNodes;

    /// Describe this type of values for error messages and the reference.
    fn describe(&self) -> TypeInfo {
        let item = json::any_of(&[json::node(), json::text(r"\s*\d+\s*-\s*\d+\s*")]);
        TypeInfo::new(
            "a set of nodes",
            "\"part 1 of 2\" or [0, \"8-15\"]",
            "\"all\", \"part I of N\", or node numbers and runs of them, none twice",
            json::any_of(&[
                json!({"type": "string", "pattern": r"^\s*(all|part\s+\d+\s+of\s+\d+)\s*$"}),
                json::list(&item, 1),
            ]),
        )
    }

    /// Parse the set of nodes of a job.
    fn read(&self, node: &Node) -> Result<JobNodes, Problem> {
        match &node.tree {
            Tree::Text(text) if text.trim() == "all" => Ok(JobNodes::All),
            Tree::Text(text) => part(node, text),
            _ => {
                let (mut nodes, mut seen) = (Vec::new(), BTreeSet::new());
                for item in node.items(self)? {
                    for number in run(item)? {
                        if !seen.insert(number) {
                            return Err(twice(item, number));
                        }
                        nodes.push(number);
                    }
                }
                match nodes.is_empty() {
                    true => Err(node.problem("a job without nodes", "list one or more")),
                    false => Ok(JobNodes::Listed(nodes)),
                }
            }
        }
    }
}

/// Read the words for one of several equal parts of the machine, such as `"part 1 of 2"`.
fn part(node: &Node, text: &str) -> Result<JobNodes, Problem> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let parsed = match words[..] {
        ["part", part, "of", of] => part.parse::<u32>().ok().zip(of.parse::<u32>().ok()),
        _ => None,
    };
    match parsed {
        None => Err(node.problem(
            format!("{} is no set of nodes", shown(text)),
            "write \"all\", \"part 1 of 2\" or a list such as [0, 5, \"8-15\"]",
        )),
        Some((part, 0)) => Err(node.problem(format!("no part {part} of 0"), "give 1 part or more")),
        Some((part, of)) if part == 0 || part > of => Err(node.problem(
            format!("no part {part} of {of}"),
            format!("there are parts 1 to {of}"),
        )),
        Some((part, of)) => Ok(JobNodes::Part { part, of }),
    }
}

/// Read the number of one node, or a range of numbers such as `"8-15"`.
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

/// Return the problem that a node number is too large for any machine.
fn beyond(item: &Node, node: u32) -> Problem {
    item.problem(
        format!("node {node} is beyond any machine"),
        format!("give 0 to {}", NODES_MAX - 1),
    )
}
