//! JSON Schemas of field values, for the JSON Schema of the scenario file.

use serde_json::{Value, json};

/// Regular expression that matches a name, such as that of a job.
pub const NAME: &str = "[A-Za-z0-9_-]{1,80}";

/// Regular expression that matches a number that is not negative.
const NUMBER: &str = r"(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?";
/// Regular expression that matches a unit of time.
pub(crate) const TIME: &str = "ps|ns|us|ms|s|min|h";
/// Regular expression that matches a unit of data.
pub(crate) const BYTES: &str = "([kMGT]|[KMGT]i)?B";
/// Regular expression that matches a unit of bandwidth.
pub(crate) const BANDWIDTH: &str = "([kMGT]|[KMG]i)?B/s|[kMGT]?bit/s";
/// Regular expression that matches a unit of rates.
pub(crate) const RATE: &str = "/s|/ms|/us|/ns";

/// Return the JSON Schema of a node number.
pub fn node() -> Value {
    json!({"type": "integer", "minimum": 0})
}

/// Return the JSON Schema of a text that this regular expression matches as a whole.
pub fn text(pattern: &str) -> Value {
    json!({"type": "string", "pattern": format!("^{pattern}$")})
}

/// Return the JSON Schema of a number with one of these units. With `zero`, the number may be zero.
pub(crate) fn quantity(units: &str, zero: bool) -> Value {
    let above = if zero {
        ""
    } else {
        r"(?!\s*[0.]+([eE]|\s*[^\s\d.]))"
    };
    text(&format!(r"{above}\s*{NUMBER}\s*({units})\s*"))
}

/// Return the JSON Schema of a list of at least `least` distinct items.
pub fn list(items: &Value, least: usize) -> Value {
    json!({"type": "array", "items": items, "uniqueItems": true, "minItems": least})
}

/// Return the JSON Schema of the dimensions of a grid, a number of at least `least` or a text such as `4x4`.
pub fn dimensions(least: u32) -> Value {
    json!({"anyOf": [
        {"type": "integer", "minimum": least},
        text(r"\s*\d+\s*(x\s*\d+\s*)*"),
    ]})
}

/// Return the JSON Schema of a value that matches one of these schemas.
pub fn any_of(schemas: &[Value]) -> Value {
    json!({"anyOf": schemas})
}
