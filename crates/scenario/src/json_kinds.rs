//! What each kind of value looks like in JSON.

use crate::value::{Kind, LANES_MAX, OUTSTANDING_MAX, UNLIMITED};
use serde_json::{Value, json};

/// A name of one's own.
pub(crate) const NAME: &str = "[A-Za-z0-9_-]{1,80}";

const NUMBER: &str = r"(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?";
const TIME: &str = "ps|ns|us|ms|s|min|h";
const BYTES: &str = "([kMGT]|[KMGT]i)?B";
const BANDWIDTH: &str = "([kMGT]|[KMG]i)?B/s|[kMGT]?bit/s";
const RATE: &str = "/s|/ms|/us|/ns";

/// The schema of a value of this kind.
pub(crate) fn of_kind(kind: Kind) -> Value {
    match kind {
        Kind::Integer { min, max } => whole(min, max),
        Kind::Lanes { min } => whole(min, LANES_MAX),
        Kind::Outstanding => {
            json!({"anyOf": [whole(1, OUTSTANDING_MAX), {"enum": [UNLIMITED]}]})
        }
        Kind::Number { min, max } => json!({"type": "number", "minimum": min, "maximum": max}),
        Kind::Share {
            above_zero,
            below_one,
        } => share(above_zero, below_one),
        Kind::Time { zero, .. } => quantity(TIME, zero),
        Kind::Bytes { min, .. } => quantity(BYTES, min == 0),
        Kind::Bandwidth | Kind::Offered { .. } => quantity(BANDWIDTH, false),
        Kind::NodeLoad => json!({"anyOf": [quantity(BANDWIDTH, false), share(true, false)]}),
        Kind::Rate => quantity(RATE, false),
        Kind::Load => json!({"anyOf": [quantity(RATE, false), quantity(TIME, false)]}),
        Kind::Choice(words) => json!({"enum": words}),
        Kind::Name => json!({"type": "string", "pattern": format!("^{NAME}$")}),
        Kind::Text { max } => json!({"type": "string", "maxLength": max}),
        Kind::Flag => json!({"type": "boolean"}),
        Kind::Nodes => list(&node(), 0),
        Kind::Links { .. } => list(
            &json!({"type": "array", "items": node(), "minItems": 2, "maxItems": 2}),
            0,
        ),
        Kind::Size(most) => dimensions(most.least.into()),
        Kind::Rings(_) => json!({"type": "array", "items": list(&node(), 2)}),
        Kind::Percentiles => list(
            &json!({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 100}),
            0,
        ),
        Kind::Measures { named, .. } => {
            let first = if named { NAME } else { "[a-z0-9_]+" };
            list(&text(&format!(r"{first}(\.[a-z0-9_]+)*")), 0)
        }
        Kind::JobNodes => json!({"anyOf": [
            {"type": "string", "pattern": r"^\s*(all|part\s+\d+\s+of\s+\d+)\s*$"},
            list(&json!({"anyOf": [node(), text(r"\s*\d+\s*-\s*\d+\s*")]}), 1),
        ]}),
        Kind::Messages => json!({
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "array",
                "minItems": 3,
                "maxItems": 4,
                "items": {"anyOf": [
                    node(),
                    text(r"\s*server\s+\d+\s*"),
                    quantity(BYTES, false),
                ]},
            },
        }),
        Kind::Grid => dimensions(1),
        Kind::Levels => json!({"type": "array", "items": {"type": "integer", "minimum": 1}}),
        Kind::NameSet => list(&text(NAME), 1),
    }
}

fn whole(min: u64, max: u64) -> Value {
    json!({"type": "integer", "minimum": min, "maximum": max})
}

fn node() -> Value {
    json!({"type": "integer", "minimum": 0})
}

fn text(pattern: &str) -> Value {
    json!({"type": "string", "pattern": format!("^{pattern}$")})
}

/// A number and one of these units; `zero` if the number may be zero.
fn quantity(units: &str, zero: bool) -> Value {
    let above = if zero {
        ""
    } else {
        r"(?!\s*[0.]+([eE]|\s*[^\s\d.]))"
    };
    text(&format!(r"{above}\s*{NUMBER}\s*({units})\s*"))
}

/// A share, or a percentage as text.
fn share(above_zero: bool, below_one: bool) -> Value {
    let mut number = json!({"type": "number"});
    number[if above_zero {
        "exclusiveMinimum"
    } else {
        "minimum"
    }] = 0.into();
    number[if below_one {
        "exclusiveMaximum"
    } else {
        "maximum"
    }] = 1.into();
    json!({"anyOf": [number, text(r"\s*(\d+\.?\d*|\.\d+)\s*%\s*")]})
}

/// Different items, so many at least.
fn list(items: &Value, least: usize) -> Value {
    json!({"type": "array", "items": items, "uniqueItems": true, "minItems": least})
}

/// Nodes in each dimension: a number, or numbers in text.
fn dimensions(least: u64) -> Value {
    json!({"anyOf": [
        {"type": "integer", "minimum": least},
        text(r"\s*\d+\s*(x\s*\d+\s*)*"),
    ]})
}
