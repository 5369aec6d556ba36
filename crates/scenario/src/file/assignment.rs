//! Parser of assignments `key=value` that override values of a file.

use crate::file::error::{Origin, Problem};
use crate::file::tree::{Node, Tree, parse_value};

/// Maximum number of parts of a key. All valid keys have fewer parts.
const PARTS_MAX: usize = 32;

/// A parsed assignment `key=value`, which overrides a value of a file.
pub(crate) struct Assignment {
    /// Parts of the key, which dots separate: at least one, and none of them empty.
    pub(crate) path: Vec<String>,
    /// The value after `=`, as the user wrote it.
    pub(crate) text: String,
    /// The value after `=`, parsed as TOML. If it is not TOML, it is a text without quotation marks.
    pub(crate) node: Node,
}

impl Assignment {
    /// Parse `text`, the override at position `index`. `hint` describes the syntax in errors.
    pub(crate) fn read(index: usize, text: &str, hint: &str) -> Result<Self, Problem> {
        let origin = Origin::Override(index);
        let bad = |problem: &str| Problem::new("", origin, problem, hint);
        let (key, value) = text.split_once('=').ok_or_else(|| bad("there is no `=`"))?;
        let key: String = key.chars().filter(|c| !matches!(c, '"' | '\'')).collect();
        let path: Vec<String> = key.split('.').map(|part| part.trim().to_owned()).collect();
        if path.iter().any(String::is_empty) {
            return Err(bad("there is no key before the `=`"));
        }
        if path.len() > PARTS_MAX {
            return Err(bad("the key has too many parts"));
        }
        let text = value.trim().to_owned();
        let node = parse_value(&text, origin).unwrap_or_else(|| Node {
            tree: Tree::Text(text.clone()),
            origin,
        });
        Ok(Self { path, text, node })
    }
}
