//! Tables that a file may repeat under names of its own, such as `[workload.jobs.NAME]`.
//!
//! Their rows have a `*` in place of the name. A file with names has a schema of its own, in which
//! these rows stand once for each name.

use crate::document::{Entry, Node, Tree};
use crate::error::Problem;
use crate::field::{Default, Field, Kind, Only};
use crate::schema::Schema;
use crate::suggest::closest;

/// A table of named tables.
#[derive(Debug)]
pub(crate) struct Named {
    /// The table around them, `workload.jobs`.
    pub(crate) table: &'static str,
    /// What one of them describes, `job`.
    pub(crate) one: &'static str,
    /// The most that a file may have.
    pub(crate) most: usize,
    /// What runs are to be precise about for each of them, if the file does not say.
    pub(crate) measure: &'static str,
    /// Names that results use for something else.
    pub(crate) taken: &'static [&'static str],
}

/// What stands for the name in the keys of rows, and in the reference.
const ANY: &str = "*";
const ANY_IN_WORDS: &str = "NAME";

/// Whether a row stands in a named table.
pub(crate) fn is_row(field: &Field) -> bool {
    field.key.split('.').any(|part| part == ANY)
}

/// A key or a condition as the reference puts it.
pub(crate) fn in_words(text: &str) -> String {
    text.replace(ANY, ANY_IN_WORDS)
}

/// Whether `path` is, or leads to, the key of such a row under any name.
pub(crate) fn leads_to(path: &str, key: &str) -> bool {
    let mut parts = key.split('.');
    path.split('.')
        .all(|own| parts.next().is_some_and(|part| part == ANY || part == own))
}

/// Whether `path` is the key of such a row under any name.
pub(crate) fn is_key(path: &str, key: &str) -> bool {
    path.split('.').count() == key.split('.').count() && leads_to(path, key)
}

/// The names that a file gives its tables, in its order.
///
/// # Errors
/// Words that cannot be names, and too many of them.
pub(crate) fn names(named: &Named, root: &Node) -> Result<Vec<String>, Problem> {
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
    let node = Node {
        tree: Tree::Text(entry.key.clone()),
        origin: entry.key_origin,
    };
    match Kind::Name.read(&node) {
        Ok(_) if named.taken.contains(&entry.key.as_str()) => Err(Problem::new(
            format!("{}.{}", named.table, entry.key),
            entry.key_origin,
            format!("results use the name {} for something else", entry.key),
            format!("give the {} another name", named.one),
        )),
        Ok(_) => Ok(entry.key.clone()),
        Err(flaw) => Err(Problem::new(
            named.table,
            flaw.origin,
            format!("{}, as that of a {} must be", flaw.problem, named.one),
            "give 1 to 80 letters, digits, - and _",
        )),
    }
}

/// The problem with `path` if it goes through a name that the file does not have.
pub(crate) fn unknown_name(schema: &Schema, path: &str) -> Option<(String, String)> {
    let named = schema.machine.named.as_ref()?;
    let below = path.strip_prefix(named.table)?.strip_prefix('.')?;
    let (name, rest) = match below.split_once('.') {
        Some((name, rest)) => (name, format!(".{rest}")),
        None => (below, String::new()),
    };
    let names = schema.names();
    if names.iter().any(|known| known == name) {
        return None;
    }
    let hint = match closest(name, names.iter().map(String::as_str)) {
        Some(meant) => format!("did you mean {}.{meant}{rest}?", named.table),
        None if names.is_empty() => format!("describe it in the file, in [{}.{name}]", named.table),
        None => format!("the file describes {}", names.join(", ")),
    };
    Some((format!("there is no {} \"{name}\"", named.one), hint))
}

/// The row for one name.
///
/// Fields live as long as the program, and so do those made here: a few kilobytes for each set of
/// names that a program ever reads.
pub(crate) fn row(field: &Field, name: &str) -> &'static Field {
    let keyed = |text: &'static str| -> &'static str {
        if text.contains(ANY) {
            kept(text.replace(ANY, name))
        } else {
            text
        }
    };
    let keys = |texts: &'static [&'static str]| -> &'static [&'static str] {
        Vec::leak(texts.iter().map(|text| keyed(text)).collect())
    };
    let default = match field.default {
        Default::Following {
            given,
            selector,
            words,
        } => Default::Following {
            given: Vec::leak(
                given
                    .iter()
                    .map(|&(key, word)| (keyed(key), word))
                    .collect(),
            ),
            selector: keyed(selector),
            words,
        },
        other => other,
    };
    let only = field.only.map(|only| Only {
        selector: keyed(only.selector),
        choices: only.choices,
    });
    Box::leak(Box::new(Field {
        key: keyed(field.key),
        label: kept(format!("{} of {name}", field.label)),
        default,
        only,
        within: field.within.map(keyed),
        alternatives: keys(field.alternatives),
        sets: keys(field.sets),
        ..*field
    }))
}

fn kept(text: String) -> &'static str {
    String::leak(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_take_the_name_wherever_they_have_a_star() {
        const ROW: Field = Field::new(
            "workload.jobs.*.load",
            Kind::Flag,
            Default::Following {
                given: &[("workload.jobs.*.other", "b")],
                selector: "workload.jobs.*.traffic",
                words: &[("x", "a")],
            },
            "load",
            "",
        )
        .only("workload.jobs.*.arrivals", &["open"])
        .instead_of(&["workload.jobs.*.rate", "workload.load"]);
        let row = row(&ROW, "io");
        assert_eq!(
            (row.key, row.label),
            ("workload.jobs.io.load", "load of io")
        );
        let only = row.only.map(|only| only.selector);
        assert_eq!(only, Some("workload.jobs.io.arrivals"));
        assert_eq!(row.alternatives, ["workload.jobs.io.rate", "workload.load"]);
        let following = Default::Following {
            given: &[("workload.jobs.io.other", "b")],
            selector: "workload.jobs.io.traffic",
            words: &[("x", "a")],
        };
        assert_eq!(row.default, following);
        assert!(is_row(&ROW) && !is_row(row));
    }

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
