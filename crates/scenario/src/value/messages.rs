//! Messages of a job, one by one.

use super::lists::node_number;
use super::{Kind, Reader, Value};
use crate::document::{Node, Tree, shown};
use crate::error::Problem;
use isthmus_workload::jobs::spec::{Listed, ListedTo};

/// Most messages of one list, which are all held in memory.
const MESSAGES_MAX: u64 = 1 << 24;

/// Lengths of messages, as of jobs of other kinds.
const LENGTH: Kind = Kind::Bytes {
    min: 1,
    max: 1 << 40,
};

const ROW: &str = "write [from, to, \"64 KiB\"], or [from, to, \"64 KiB\", times]";

impl Reader<'_> {
    /// `[[0, 1, "64 KiB"], [0, 2, "1 KiB", 16]]`, or to servers: `[[0, "server 2", "1 MiB"]]`.
    pub(super) fn messages(&self) -> Result<Value, Problem> {
        let Tree::Array(rows) = &self.node.tree else {
            return Err(self.wrong_type());
        };
        if rows.is_empty() {
            return Err(self.node.problem("no message at all", "list one or more"));
        }
        let mut messages: Vec<Listed> = Vec::with_capacity(rows.len());
        let mut count = 0;
        for row in rows {
            let message = message(row)?;
            let is_server = |message: &Listed| matches!(message.to, ListedTo::Server(_));
            if let Some(first) = messages.first()
                && is_server(first) != is_server(&message)
            {
                return Err(row.problem(
                    "some messages go to nodes of the job and some to I/O servers",
                    "list one sort, and the other in a job of its own",
                ));
            }
            count += u64::from(message.times);
            if count > MESSAGES_MAX {
                let problem = "more than 2^24 messages";
                return Err(row.problem(problem, "list fewer, or longer ones"));
            }
            messages.push(message);
        }
        Ok(Value::Messages(messages))
    }
}

fn message(row: &Node) -> Result<Listed, Problem> {
    let Tree::Array(items) = &row.tree else {
        let problem = format!("{} where a message is expected", row.describe());
        return Err(row.problem(problem, ROW));
    };
    let (from, to, bytes, times) = match &items[..] {
        [from, to, bytes] => (from, to, bytes, None),
        [from, to, bytes, times] => (from, to, bytes, Some(times)),
        _ => {
            let problem = format!("a message of {} values", items.len());
            return Err(row.problem(problem, ROW));
        }
    };
    let Value::Bytes(bytes) = LENGTH.read(bytes)? else {
        unreachable!("an amount of data")
    };
    let times = match times.map(|times| Kind::whole(1, MESSAGES_MAX).read(times)) {
        None => 1,
        Some(times) => match times? {
            Value::Integer(times) => times as u32,
            _ => unreachable!("a whole number"),
        },
    };
    Ok(Listed {
        from: node_number(from)?,
        to: receiver(to)?,
        bytes,
        times,
    })
}

/// A rank, or `"server 2"`.
fn receiver(node: &Node) -> Result<ListedTo, Problem> {
    let Tree::Text(text) = &node.tree else {
        return node_number(node).map(ListedTo::Rank);
    };
    let words: Vec<&str> = text.split_whitespace().collect();
    match words[..] {
        ["server", server] => server.parse().ok().map(ListedTo::Server),
        _ => None,
    }
    .ok_or_else(|| {
        let problem = format!("{} is no receiver", shown(text));
        node.problem(problem, "write the rank of a node, 1, or \"server 0\"")
    })
}
