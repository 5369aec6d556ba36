//! Named tables: tables that a file may contain several times under names that the user chooses, such as
//! `[workload.jobs.NAME]`.
//!
//! A file with such tables has its own schema, in which each name has its own field descriptions.

use crate::fields::field::Field;
use crate::file::error::Problem;
use crate::file::tree::{Entry, Node, Tree};
use crate::value::{Name, ValueType};

/// Description of the named tables, such as `[workload.jobs.NAME]`, of files of one kind of machine.
#[derive(Debug, Clone, Copy)]
pub struct Named {
    /// The table that contains the named tables, such as `workload.jobs`.
    pub table: &'static str,
    /// The word for one named table, such as `job`.
    pub one: &'static str,
    /// Maximum number of named tables in a file.
    pub most: usize,
    /// Measure of each named table that the stopping rule names by default, such as a latency.
    pub measure: &'static str,
    /// Reserved names, which results use for other purposes.
    pub taken: &'static [&'static str],
    /// Function that returns the field descriptions of the named table at a path.
    pub rows: fn(&str) -> Vec<Field>,
}

impl Named {
    /// Return the field descriptions of the named table `name`.
    pub fn rows(&self, name: &str) -> Vec<Field> {
        (self.rows)(&format!("{}.{name}", self.table))
    }
}

/// Wildcard in keys of fields, which stands for the name of any named table.
pub const ANY: &str = "*";

/// Wildcard in the keys of the reference of scenario fields; it stands for the name of any named table.
pub const ANY_IN_WORDS: &str = "NAME";

/// Return whether the key `path` equals the key `key`, or is a table that contains it. A wildcard in `key`
/// matches any name.
pub fn leads_to(path: &str, key: &str) -> bool {
    let mut parts = key.split('.');
    path.split('.')
        .all(|own| parts.next().is_some_and(|part| part == ANY || part == own))
}

/// Return whether the key `path` equals the key `key`. A wildcard in `key` matches any name.
pub fn is_key(path: &str, key: &str) -> bool {
    path.split('.').count() == key.split('.').count() && leads_to(path, key)
}

/// Return the names of the named tables in a file, in the order of the file.
///
/// # Errors
/// If a name is invalid or reserved, or there are too many names.
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

/// Check the name of a named table, and return the name.
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

    /// Checks that the wildcard `*` in a key matches the name of any table.
    #[test]
    fn a_wildcard_in_a_key_matches_any_name() {
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
