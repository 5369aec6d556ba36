//! Tables that a file may repeat under names of its own, such as `[workload.jobs.NAME]`.
//!
//! A file with names has a schema of its own, in which their rows stand once for each name.

use crate::fields::field::Field;
use crate::file::error::Problem;
use crate::file::tree::{Entry, Node, Tree};
use crate::value::{Name, ValueType};

/// A table of named tables.
#[derive(Debug, Clone, Copy)]
pub struct Named {
    /// The table around them, `workload.jobs`.
    pub table: &'static str,
    /// What one of them describes, `job`.
    pub one: &'static str,
    /// The most that a file may have.
    pub most: usize,
    /// What runs are to be precise about for each of them, if the file does not say.
    pub measure: &'static str,
    /// Names that results use for something else.
    pub taken: &'static [&'static str],
    /// The rows of the one whose table is this path.
    pub rows: fn(&str) -> Vec<Field>,
}

impl Named {
    /// The rows of the one of this name.
    pub fn rows(&self, name: &str) -> Vec<Field> {
        (self.rows)(&format!("{}.{name}", self.table))
    }
}

/// What stands for any name in the keys of rows.
pub const ANY: &str = "*";

/// The same in the reference.
pub const ANY_IN_WORDS: &str = "NAME";

/// Whether `path` is, or leads to, the key of such a row under any name.
pub fn leads_to(path: &str, key: &str) -> bool {
    let mut parts = key.split('.');
    path.split('.')
        .all(|own| parts.next().is_some_and(|part| part == ANY || part == own))
}

/// Whether `path` is the key of such a row under any name.
pub fn is_key(path: &str, key: &str) -> bool {
    path.split('.').count() == key.split('.').count() && leads_to(path, key)
}

/// The names that a file gives its tables, in its order.
///
/// # Errors
/// Words that cannot be names, and too many of them.
pub fn names(named: &Named, root: &Node) -> Result<Vec<String>, Problem> {
    let node = named.table.split('.').try_fold(root, Node::get);
    let Some(Tree::Table(entries)) = node.map(|node| &node.tree) else {
        return Ok(Vec::new());
    };
    let names = entries.iter().map(|entry| name(named, entry));
    let names: Vec<String> = names.collect::<Result<_, _>>()?;
    match entries.get(named.most) {
        None => Ok(names),
        Some(entry) => Err(Problem::new(
            format!("{}.{}", named.table, entry.key),
            entry.key_origin,
            format!("more than {} {}s", named.most, named.one),
            format!("describe at most {}", named.most),
        )),
    }
}

fn name(named: &Named, entry: &Entry) -> Result<String, Problem> {
    match Name.read(&entry.name()) {
        Ok(_) if named.taken.contains(&entry.key.as_str()) => Err(Problem::new(
            format!("{}.{}", named.table, entry.key),
            entry.key_origin,
            format!("results use the name {} for something else", entry.key),
            format!("give the {} another name", named.one),
        )),
        Ok(_) => Ok(entry.key.clone()),
        Err(problem) => Err(Problem::new(
            named.table,
            problem.origin,
            format!("{}, as that of a {} must be", problem.problem, named.one),
            "give 1 to 80 letters, digits, - and _",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_to_rows_under_any_name() {
        let key = "workload.jobs.*.load";
        for path in ["workload", "workload.jobs", "workload.jobs.io"] {
            assert!(leads_to(path, key) && !is_key(path, key), "{path}");
        }
        assert!(is_key("workload.jobs.io.load", key));
        for path in [
            "workload.job",
            "workload.jobs.io.lead",
            "workload.jobs.io.load.x",
        ] {
            assert!(!leads_to(path, key), "{path}");
        }
    }
}
