//! Pieces of the JSON Schema of values.

use serde_json::{Value, json};

/// A name of one's own.
pub const NAME: &str = "[A-Za-z0-9_-]{1,80}";

const NUMBER: &str = r"(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?";
pub(crate) const TIME: &str = "ps|ns|us|ms|s|min|h";
pub(crate) const BYTES: &str = "([kMGT]|[KMGT]i)?B";
pub(crate) const BANDWIDTH: &str = "([kMGT]|[KMG]i)?B/s|[kMGT]?bit/s";
pub(crate) const RATE: &str = "/s|/ms|/us|/ns";

/// The number of a node.
pub fn node() -> Value {
    json!({"type": "integer", "minimum": 0})
}

/// A text that matches as a whole.
pub fn text(pattern: &str) -> Value {
    json!({"type": "string", "pattern": format!("^{pattern}$")})
}

/// A number and one of these units; `zero` if the number may be zero.
pub(crate) fn quantity(units: &str, zero: bool) -> Value {
    let above = if zero {
        ""
    } else {
        r"(?!\s*[0.]+([eE]|\s*[^\s\d.]))"
    };
    text(&format!(r"{above}\s*{NUMBER}\s*({units})\s*"))
}

/// Different items, so many at least.
pub fn list(items: &Value, least: usize) -> Value {
    json!({"type": "array", "items": items, "uniqueItems": true, "minItems": least})
}

/// Numbers with an `x` between them: one number, or a text.
pub fn dimensions(least: u32) -> Value {
    json!({"anyOf": [
        {"type": "integer", "minimum": least},
        text(r"\s*\d+\s*(x\s*\d+\s*)*"),
    ]})
}

/// A value of one of these schemas.
pub fn any_of(schemas: &[Value]) -> Value {
    json!({"anyOf": schemas})
}
