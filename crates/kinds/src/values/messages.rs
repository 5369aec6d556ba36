//! Type of a scenario field: a list of the messages that a job sends in each round.

use isthmus_scenario::format::{Data, Problem, Whole, shown};
use isthmus_scenario::value::{TypeInfo, ValueType, json, node_number};
use isthmus_scenario::{Node, Tree};
use isthmus_workload::jobs::spec::{ListedTo, MessageRun};
use serde_json::json;

/// Maximum number of messages of one list, because all of them are in memory.
const MESSAGES_MAX: u64 = 1 << 24;

/// Valid range of the length of a message in bytes.
const LENGTH: Data = Data::new(1, 1 << 40);

/// Hint of error messages: how to write one message of the list.
const ROW: &str = "write [from, to, \"64 KiB\"], or [from, to, \"64 KiB\", times]";

/// Type of a scenario field: messages of a job, `[[0, 1, "64 KiB"], [0, 2, "1 KiB", 16]]`, or to servers:
/// `[[0, "server 2", "1 MiB"]]`.
pub(crate) struct Messages;

impl ValueType for Messages {
    /// Rust type of the parsed value of the field.
    type Held = Vec<MessageRun>;

    /// Describe this type of field values for error messages and the reference of scenario fields.
    fn describe(&self) -> TypeInfo {
        let server = json::text(r"\s*server\s+\d+\s*");
        let item = json::any_of(&[json::node(), server, LENGTH.describe().json]);
        let row = json!({"type": "array", "minItems": 3, "maxItems": 4, "items": item});
        TypeInfo::new(
            "a list of messages",
            "[[0, 1, \"64 KiB\"]]",
            "[from, to, length] or [from, to, length, times] each; at most 2^24 messages of 1 B \
             to 2^40 B",
            json!({"type": "array", "minItems": 1, "items": row}),
        )
    }

    /// Parse the list of messages.
    fn read(&self, node: &Node) -> Result<Vec<MessageRun>, Problem> {
        let rows = node.items(self)?;
        if rows.is_empty() {
            return Err(node.problem("no message at all", "list one or more"));
        }
        let mut messages: Vec<MessageRun> = Vec::with_capacity(rows.len());
        let mut count = 0;
        for row in rows {
            let message = message(row)?;
            let is_server = |message: &MessageRun| matches!(message.to, ListedTo::Server(_));
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
        Ok(messages)
    }
}

/// Read one message of a list: sender, receiver, length and, if it is repeated, the number of repetitions.
fn message(row: &Node) -> Result<MessageRun, Problem> {
    let Tree::Array(items) = &row.tree else {
        return Err(row.unexpected("a message", ROW));
    };
    let (from, to, bytes, times) = match &items[..] {
        [from, to, bytes] => (from, to, bytes, None),
        [from, to, bytes, times] => (from, to, bytes, Some(times)),
        _ => {
            let problem = format!("a message of {} values", items.len());
            return Err(row.problem(problem, ROW));
        }
    };
    let bytes = LENGTH.read(bytes)?;
    let times = times.map(|times| Whole::<u32>::new(1, MESSAGES_MAX).read(times));
    Ok(MessageRun {
        times: times.transpose()?.unwrap_or(1),
        from: node_number(from)?,
        to: receiver(to)?,
        bytes,
    })
}

/// Read the receiver of a message: a rank, or a server such as `"server 2"`.
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
