//! What is put into a file from outside of it: `key=value`.

use crate::file::error::{Origin, Problem};
use crate::file::tree::{Node, Tree, parse_value};

/// More parts than any key has.
const PARTS_MAX: usize = 32;

/// One value and where it goes.
pub(crate) struct Assignment {
    /// The parts of the key, at least one, none of them empty.
    pub(crate) path: Vec<String>,
    /// The value as it was written.
    pub(crate) text: String,
    /// The value as TOML, or the text where it is none: quotation marks may be left out.
    pub(crate) node: Node,
}

impl Assignment {
    /// Reads the override of this number; `hint` says how one is written.
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
