//! Conversion of any TOML file with overrides to JSON in which each value has its location in the file.

use crate::file::assignment::Assignment;
use crate::file::error::{Origin, Problem, ScenarioError, Source};
use crate::file::tree::{Entry, Node, Tree, parse_file};
use serde_json::{Value, json};

/// Read a TOML file and apply changes `key=value`.
///
/// Return a tree as JSON. Each value is `{"at": place, KIND: ...}`. The place is the start of an error message:
/// `"plan.toml:3"`, or the change. KIND is one of `table` (a list of `[key, place, value]` in the order of the
/// text), `list`, `text`, `integer`, `number`, `flag` and `other` (with a description).
///
/// # Errors
/// If the text is not TOML or a change is invalid: the place, the problem and a hint.
///
/// ```
/// let tree = isthmus_scenario::toml_with_places("[from]\nblocks = [2, 2]\n", "plan.toml", &["from.grid=[2]".to_owned()])?;
/// let from = &tree["table"][0];
/// assert_eq!((&from[0], &from[1]), (&"from".into(), &"plan.toml:1".into()));
/// assert_eq!(from[2]["table"][1][2]["at"], "override `from.grid=[2]`");
/// # Ok::<(), isthmus_scenario::ScenarioError>(())
/// ```
pub fn toml_with_places(
    text: &str,
    file: &str,
    changes: &[String],
) -> Result<Value, ScenarioError> {
    let source = Source {
        file: file.to_owned(),
        text: text.to_owned(),
        overrides: changes.to_vec(),
    };
    let read = || {
        let mut root = parse_file(text)?;
        for (index, change) in changes.iter().enumerate() {
            apply(&mut root, index, change)?;
        }
        Ok(root)
    };
    match read() {
        Ok(root) => Ok(json_of(&root, &source)),
        Err(problem) => Err(source.error(problem)),
    }
}

/// Apply the change `key=value` at position `index` to the tree. Its value replaces an existing value.
fn apply(root: &mut Node, index: usize, change: &str) -> Result<(), Problem> {
    let origin = Origin::Override(index);
    let Assignment {
        path, node: new, ..
    } = Assignment::read(index, change, "write key=value")?;
    let mut node = root;
    for (depth, part) in path.iter().enumerate() {
        let Tree::Table(entries) = &mut node.tree else {
            let problem = format!("{} is no table", path[..depth].join("."));
            return Err(Problem::new(
                path.join("."),
                origin,
                problem,
                "change the whole of it",
            ));
        };
        let at = match entries.iter().position(|entry| entry.key == *part) {
            Some(at) => at,
            None => {
                entries.push(Entry {
                    key: part.clone(),
                    key_origin: origin,
                    node: Node {
                        tree: Tree::Table(Vec::new()),
                        origin,
                    },
                });
                entries.len() - 1
            }
        };
        if depth + 1 == path.len() {
            entries[at].key_origin = origin;
            entries[at].node = new;
            return Ok(());
        }
        node = &mut entries[at].node;
    }
    Ok(())
}

/// Return the location of a value as the start of an error message, for example `plan.toml:3`.
fn place(origin: Origin, source: &Source) -> String {
    let error = source.error(Problem::new("", origin, "", ""));
    error.to_string().trim_end_matches(": ").to_owned()
}

/// Convert a TOML value to JSON with its location.
fn json_of(node: &Node, source: &Source) -> Value {
    let (kind, value) = match &node.tree {
        Tree::Table(entries) => {
            let entries = entries.iter().map(|entry| {
                let at = place(entry.key_origin, source);
                json!([entry.key, at, json_of(&entry.node, source)])
            });
            ("table", entries.collect())
        }
        Tree::Array(items) => (
            "list",
            items.iter().map(|item| json_of(item, source)).collect(),
        ),
        Tree::Text(text) => ("text", json!(text)),
        Tree::Integer(integer) => ("integer", json!(integer)),
        Tree::Float(number) if number.is_finite() => ("number", json!(number)),
        Tree::Flag(flag) => ("flag", json!(flag)),
        Tree::Float(_) | Tree::Date(_) => ("other", json!(node.describe())),
    };
    json!({"at": place(node.origin, source), kind: value})
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Return the error message for this TOML text with these changes.
    fn error(text: &str, changes: &[&str]) -> String {
        let changes: Vec<String> = changes.iter().map(|change| (*change).to_owned()).collect();
        toml_with_places(text, "p.toml", &changes)
            .unwrap_err()
            .to_string()
    }

    /// Checks that each value has the line in which the file contains it, or the change that set it.
    #[test]
    fn every_value_has_its_location_in_the_file() {
        let text = "a = 1\n\n[t]\nb = [\n  \"x\",\n  inf,\n]\nc = true\n";
        let tree = toml_with_places(
            text,
            "p.toml",
            &["t.c=2.5".to_owned(), "t.d=plain".to_owned()],
        );
        let tree = tree.expect("it is TOML");
        assert_eq!(
            tree["table"][0],
            json!(["a", "p.toml:1", {"at": "p.toml:1", "integer": 1}])
        );
        let below = &tree["table"][1][2]["table"];
        assert_eq!(
            below[0][2]["list"][0],
            json!({"at": "p.toml:5", "text": "x"})
        );
        assert_eq!(
            below[0][2]["list"][1],
            json!({"at": "p.toml:6", "other": "the number inf"})
        );
        assert_eq!(
            below[1][2],
            json!({"at": "override `t.c=2.5`", "number": 2.5})
        );
        assert_eq!(
            below[2][2],
            json!({"at": "override `t.d=plain`", "text": "plain"})
        );
    }

    /// Checks that invalid TOML and invalid changes give errors with their location.
    #[test]
    fn invalid_toml_and_invalid_changes_are_errors() {
        assert!(error("a = 1\nb =\n", &[]).starts_with("p.toml:2: not TOML: "));
        assert_eq!(
            error("a = 1", &["a"]),
            "override `a`: there is no `=`; write key=value"
        );
        assert_eq!(
            error("a = 1", &[".b=1"]),
            "override `.b=1`: there is no key before the `=`; write key=value"
        );
        assert!(error("a = 1", &[&format!("a{}=1", ".b".repeat(40))]).contains("too many parts"));
        assert_eq!(
            error("a = 1", &["a.b=1"]),
            "override `a.b=1`: a.b: a is no table; change the whole of it"
        );
    }
}
