//! Types of fields whose values are words of a fixed list, names, texts or flags.

use super::json;
use super::value_type::{TypeInfo, ValueType};
use crate::file::error::Problem;
use crate::file::suggest::closest;
use crate::file::tree::{Node, Tree, shown};
use serde_json::json;

/// Maximum length of a title or another one-line text, in characters.
pub const LINE_MAX: usize = 200;

/// Type of scenario fields whose value is one word of a fixed list.
#[derive(Debug, Clone, Copy)]
pub struct Choice(pub &'static [&'static str]);

impl ValueType for Choice {
    /// Rust type of the parsed value: the chosen word.
    type Held = String;

    /// Return the description of this type of field values: name, example, valid range and JSON Schema.
    fn describe(&self) -> TypeInfo {
        let words = alternatives(self.0);
        TypeInfo {
            words: self.0,
            is_text: true,
            ..TypeInfo::new("a word", words.clone(), words, json!({"enum": self.0}))
        }
    }

    /// Parse a word, and check that it is one of the choices.
    fn read(&self, node: &Node) -> Result<String, Problem> {
        let text = node.text(self)?;
        if self.0.contains(&text) {
            return Ok(text.to_owned());
        }
        let known = alternatives(self.0);
        let hint = match closest(text, self.0.iter().copied()) {
            Some(word) if self.0.len() > 1 => format!("did you mean \"{word}\"? It can be {known}"),
            _ => format!("give {known}"),
        };
        Err(node.problem(format!("{} is not known here", shown(text)), hint))
    }
}

/// Type of fields whose value is a name of letters, digits, `-` and `_`.
pub struct Name;

impl ValueType for Name {
    /// Rust type of the parsed value: the name.
    type Held = String;

    /// Return the description of this type of field values: name, example, valid range and JSON Schema.
    fn describe(&self) -> TypeInfo {
        let (example, range) = (
            "\"hypercube-128\"",
            "letters, digits, - and _; 1 to 80 characters",
        );
        TypeInfo {
            is_text: true,
            ..TypeInfo::new("a name", example, range, json::text(json::NAME))
        }
    }

    /// Parse a name, and check its characters.
    fn read(&self, node: &Node) -> Result<String, Problem> {
        let text = node.text(self)?;
        let good = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if !text.is_empty() && text.len() <= 80 && text.chars().all(good) {
            return Ok(text.to_owned());
        }
        Err(node.problem(
            format!("{} is not a name", shown(text)),
            "give 1 to 80 letters, digits, - and _; a title may hold anything",
        ))
    }
}

/// Type of fields whose value is a text of limited length.
pub struct Text {
    /// Maximum number of characters.
    pub max: usize,
}

impl ValueType for Text {
    /// Rust type of the parsed value: the text.
    type Held = String;

    /// Return the description of this type of field values: name, example, valid range and JSON Schema.
    fn describe(&self) -> TypeInfo {
        let json = json!({"type": "string", "maxLength": self.max});
        let range = format!("at most {} characters", self.max);
        TypeInfo {
            is_text: true,
            ..TypeInfo::new("text", "\"a title\"", range, json)
        }
    }

    /// Parse a text, and check its length and its characters.
    fn read(&self, node: &Node) -> Result<String, Problem> {
        let text = node.text(self)?;
        if let Some(control) = control_in(text) {
            let code = u32::from(control);
            let problem = format!("{} holds a control character, U+{code:04X}", shown(text));
            return Err(node.problem(problem, "leave it out"));
        }
        let length = text.chars().count();
        if length <= self.max {
            return Ok(text.to_owned());
        }
        let problem = format!("{} has {length} characters", shown(text));
        Err(node.problem(problem, format!("give at most {}", self.max)))
    }
}

/// Type of fields whose value is `true` or `false`.
pub struct Flag;

impl ValueType for Flag {
    /// Rust type of the parsed value: the flag.
    type Held = bool;

    /// Return the description of this type of field values: name, example, valid range and JSON Schema.
    fn describe(&self) -> TypeInfo {
        let words = "true or false";
        TypeInfo::new(words, words, words, json!({"type": "boolean"}))
    }

    /// Parse `true` or `false`.
    fn read(&self, node: &Node) -> Result<bool, Problem> {
        match node.tree {
            Tree::Flag(flag) => Ok(flag),
            _ => Err(node.wrong_type(self)),
        }
    }
}

/// Return the first control character of a text, which could affect a terminal, except line ends and tabs. `None`
/// if there is none.
pub fn control_in(text: &str) -> Option<char> {
    text.chars()
        .find(|&letter| letter.is_control() && !matches!(letter, '\n' | '\r' | '\t'))
}

/// Return the words as a list such as `"a", "b" or "c"`.
pub fn alternatives(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    match quoted.split_last() {
        None => String::new(),
        Some((only, [])) => only.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
    }
}
