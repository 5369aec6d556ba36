//! Reads one value as the kind that its field holds.

mod jobs;
mod kind;
mod lists;
mod messages;

use crate::document::{Node, Tree, shown};
use crate::error::Problem;
use crate::suggest;
use isthmus_units::{Bandwidth, Bytes, Rate, Time, UnitError};
use isthmus_workload::jobs::spec::{JobNodes, Listed};
use std::fmt::Display;

pub use kind::{
    Addressed, Kind, LANES_MAX, LINE_MAX, NODES_MAX, OUTSTANDING_MAX, SET_WORDS, UNLIMITED,
    alternatives, control_in,
};

/// A value of a field.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A whole number.
    Integer(u64),
    /// A finite number.
    Number(f64),
    /// A span of time.
    Time(Time),
    /// An amount of data.
    Bytes(Bytes),
    /// A bandwidth.
    Bandwidth(Bandwidth),
    /// A rate.
    Rate(Rate),
    /// A text or a word.
    Text(String),
    /// Yes or no.
    Flag(bool),
    /// Node numbers.
    Nodes(Vec<u32>),
    /// Pairs of node numbers.
    Links(Vec<(u32, u32)>),
    /// Nodes in each dimension; one or more, each 2 or more.
    Sizes(Vec<u32>),
    /// Node numbers, ring by ring.
    Rings(Vec<Vec<u32>>),
    /// The nodes of a job.
    JobNodes(JobNodes),
    /// Messages of a job, one by one.
    Messages(Vec<Listed>),
    /// Whole numbers, each 1 or more.
    Counts(Vec<u32>),
    /// Numbers.
    Numbers(Vec<f64>),
    /// Names.
    Names(Vec<String>),
}

/// The longest span that a field may hold.
pub const TIME_MAX: Time = Time::from_ps(24 * 3_600_000_000_000_000);

impl Kind {
    /// Reads `node` as a value of this kind.
    pub(crate) fn read(self, node: &Node) -> Result<Value, Problem> {
        let reader = Reader { kind: self, node };
        match self {
            Self::Integer { min, max } => reader.integer(min, max),
            Self::Lanes { min } => reader.lanes(min),
            Self::Outstanding => reader.outstanding(),
            Self::Number { min, max } => reader.number(min, max),
            Self::Share {
                above_zero,
                below_one,
            } => reader.share(above_zero, below_one),
            Self::Time { zero, .. } => reader.time(zero),
            Self::Bytes { min, max } => reader.bytes(min, max),
            Self::Bandwidth => reader.bandwidth("a lane that moves nothing", "1 bit/s or more"),
            Self::Offered { .. } => reader.bandwidth("no traffic at all", "a load above 0"),
            Self::Rate => reader.rate(),
            Self::Load => reader.load(),
            Self::Choice(words) => reader.choice(words),
            Self::Name => reader.name(),
            Self::Text { max } => reader.words(max),
            Self::Flag => reader.flag(),
            Self::Nodes => reader.nodes(),
            Self::Links { directed } => reader.links(directed),
            Self::Size(most) => reader.size(most),
            Self::Rings(most) => reader.rings(most),
            Self::Percentiles => reader.percentiles(),
            Self::Measures { example, named } => reader.measures(example, named),
            Self::NodeLoad => reader.node_load(),
            Self::JobNodes => reader.job_nodes(),
            Self::Messages => reader.messages(),
            Self::Grid => reader.grid(),
            Self::Levels => reader.levels(),
            Self::NameSet => reader.name_set(),
        }
    }
}

/// The mean gap of a rate, to the nearest picosecond.
pub fn mean_gap(rate: Rate) -> Time {
    Time::from_ps((1e12 / rate.per_s()).round() as u64)
}

struct Reader<'n> {
    kind: Kind,
    node: &'n Node,
}

impl<'n> Reader<'n> {
    fn wrong_type(&self) -> Problem {
        let hint = match (self.kind, &self.node.tree) {
            (Kind::Integer { .. } | Kind::Lanes { .. } | Kind::Outstanding, Tree::Text(text))
                if text.parse::<u32>().is_ok() =>
            {
                format!("write {text}, without quotation marks")
            }
            (Kind::Integer { .. } | Kind::Lanes { .. }, _) => {
                format!("write a whole number, {}", self.kind.range())
            }
            _ => format!("write {}", self.kind.example()),
        };
        let (found, expected) = (self.node.describe(), self.kind.expected());
        let problem = format!("{found} where {expected} is expected");
        self.node.problem(problem, hint)
    }

    fn out_of_range(&self, value: impl Display, range: &str) -> Problem {
        let problem = format!("{value} is out of range");
        self.node.problem(problem, format!("give {range}"))
    }

    fn integer(&self, min: u64, max: u64) -> Result<Value, Problem> {
        let Tree::Integer(number) = self.node.tree else {
            return Err(self.wrong_type());
        };
        let within = u64::try_from(number).ok();
        let within = within.filter(|number| (min..=max).contains(number));
        (within.map(Value::Integer)).ok_or_else(|| self.out_of_range(number, &self.kind.range()))
    }

    fn lanes(&self, min: u64) -> Result<Value, Problem> {
        match self.node.tree {
            Tree::Integer(0) if min > 0 => {
                Err(self.node.problem("0 lanes carry nothing", "give 1 or more"))
            }
            _ => self.integer(min, LANES_MAX),
        }
    }

    fn outstanding(&self) -> Result<Value, Problem> {
        match &self.node.tree {
            Tree::Text(text) if text == UNLIMITED => Ok(Value::Text(text.clone())),
            Tree::Text(text) => match suggest::closest(text, [UNLIMITED]) {
                Some(word) => Err(self.node.problem(
                    format!("{} is not known here", shown(text)),
                    format!("did you mean \"{word}\"? Else write a whole number"),
                )),
                None => Err(self.wrong_type()),
            },
            _ => {
                let kind = Kind::whole(1, OUTSTANDING_MAX);
                let node = self.node;
                match node.tree {
                    Tree::Integer(_) => kind.read(node),
                    _ => Err(self.wrong_type()),
                }
            }
        }
    }

    fn float(&self) -> Result<f64, Problem> {
        let number = match self.node.tree {
            Tree::Integer(n) => n as f64,
            Tree::Float(x) => x,
            _ => return Err(self.wrong_type()),
        };
        if number.is_finite() {
            return Ok(number);
        }
        let problem = format!("{number} is not a finite number");
        Err(self.node.problem(problem, "give a finite number"))
    }

    fn number(&self, min: f64, max: f64) -> Result<Value, Problem> {
        let number = self.float()?;
        if (min..=max).contains(&number) {
            return Ok(Value::Number(number));
        }
        Err(self.out_of_range(number, &self.kind.range()))
    }

    fn share(&self, above_zero: bool, below_one: bool) -> Result<Value, Problem> {
        let share = match &self.node.tree {
            Tree::Text(text) => percentage(text).ok_or_else(|| {
                let problem = format!("{} is not a percentage", shown(text));
                let hint = match text.trim().parse::<f64>() {
                    Ok(_) => format!("write {}, without quotation marks", text.trim()),
                    Err(_) => "write a share as 0.05 or \"5%\"".to_owned(),
                };
                self.node.problem(problem, hint)
            })?,
            _ => self.float()?,
        };
        let too_large = share > 1.0 || below_one && share == 1.0;
        let too_small = share < 0.0 || above_zero && share == 0.0;
        if !too_large && !too_small {
            return Ok(Value::Number(share));
        }
        let written = match &self.node.tree {
            Tree::Text(text) => text.trim().to_owned(),
            _ => share.to_string(),
        };
        let side = if too_large { "too large" } else { "too small" };
        let problem = format!("{written} is {side} for a share");
        Err(self
            .node
            .problem(problem, format!("give {}", self.kind.range())))
    }

    fn text(&self) -> Result<&'n str, Problem> {
        match &self.node.tree {
            Tree::Text(text) => Ok(text),
            _ => Err(self.wrong_type()),
        }
    }

    fn flag(&self) -> Result<Value, Problem> {
        match self.node.tree {
            Tree::Flag(flag) => Ok(Value::Flag(flag)),
            _ => Err(self.wrong_type()),
        }
    }

    fn words(&self, max: usize) -> Result<Value, Problem> {
        let text = self.text()?;
        let length = text.chars().count();
        if let Some(control) = control_in(text) {
            let code = u32::from(control);
            let problem = format!("{} holds a control character, U+{code:04X}", shown(text));
            return Err(self.node.problem(problem, "leave it out"));
        }
        if length <= max {
            return Ok(Value::Text(text.to_owned()));
        }
        let problem = format!("{} has {length} characters", shown(text));
        Err(self.node.problem(problem, format!("give at most {max}")))
    }

    fn quantity<T>(&self, parse: impl Fn(&str) -> Result<T, UnitError>) -> Result<T, Problem> {
        let (problem, number) = match self.node.tree {
            Tree::Integer(n) => (format!("the unit of {n} is missing"), n.to_string()),
            Tree::Float(x) if x.is_finite() => {
                (format!("the unit of {x} is missing"), x.to_string())
            }
            Tree::Float(x) => (format!("{x} is not a finite number"), "1".to_owned()),
            _ => {
                let text = self.text()?;
                return parse(text).map_err(|error| {
                    let problem = format!("{}: {}", shown(text), error.problem());
                    self.node.problem(problem, error.hint())
                });
            }
        };
        let (what, unit) = (
            self.kind.expected(),
            self.kind.usual_unit().unwrap_or_default(),
        );
        let hint = format!("write {what} with its unit, for example \"{number} {unit}\"");
        Err(self.node.problem(problem, hint))
    }

    fn above_zero(&self, amount: f64, meaning: &str, hint: &str) -> Result<(), Problem> {
        if amount > 0.0 {
            return Ok(());
        }
        Err(self
            .node
            .problem(format!("zero is {meaning}"), format!("give {hint}")))
    }

    fn bytes(&self, min: u64, max: u64) -> Result<Value, Problem> {
        let bytes = self.quantity(str::parse::<Bytes>)?;
        let range = self.kind.range();
        if min > 0 {
            self.above_zero(bytes.get() as f64, "no data", &range)?;
        }
        if (min..=max).contains(&bytes.get()) {
            return Ok(Value::Bytes(bytes));
        }
        Err(self.out_of_range(bytes, &range))
    }

    fn bandwidth(&self, zero: &str, hint: &str) -> Result<Value, Problem> {
        let bandwidth = self.quantity(str::parse::<Bandwidth>)?;
        self.above_zero(bandwidth.bits_per_s() as f64, zero, hint)?;
        Ok(Value::Bandwidth(bandwidth))
    }

    fn time(&self, zero: bool) -> Result<Value, Problem> {
        let time = self.quantity(str::parse::<Time>)?;
        if time == Time::ZERO && !zero {
            return Err(self
                .node
                .problem("zero is no time at all", "give more than 0 s"));
        }
        if time > TIME_MAX {
            return Err(self
                .node
                .problem(format!("{time} is too long"), "give at most 24 h"));
        }
        Ok(Value::Time(time))
    }

    fn rate(&self) -> Result<Value, Problem> {
        let rate = self.quantity(str::parse::<Rate>)?;
        self.above_zero(rate.per_s(), "no traffic at all", "a rate above 0")?;
        let gap = 1e12 / rate.per_s();
        if gap < 1.0 {
            return Err(self.node.problem(
                format!("{rate} is more than one in a picosecond"),
                "give at most \"1000 /ns\"",
            ));
        }
        if gap > TIME_MAX.ps() as f64 {
            return Err(self.node.problem(
                format!("{rate} is less than one in 24 h"),
                "give at least \"0.0000116 /s\"",
            ));
        }
        Ok(Value::Rate(rate))
    }

    fn load(&self) -> Result<Value, Problem> {
        match &self.node.tree {
            Tree::Text(text) if !text.contains('/') => self.time(false),
            _ => self.rate(),
        }
    }

    fn choice(&self, words: &'static [&'static str]) -> Result<Value, Problem> {
        let text = self.text()?;
        if words.contains(&text) {
            return Ok(Value::Text(text.to_owned()));
        }
        let hint = match suggest::closest(text, words.iter().copied()) {
            Some(word) if words.len() > 1 => {
                format!("did you mean \"{word}\"? It can be {}", alternatives(words))
            }
            _ => format!("give {}", alternatives(words)),
        };
        Err(self
            .node
            .problem(format!("{} is not known here", shown(text)), hint))
    }

    fn name(&self) -> Result<Value, Problem> {
        let text = self.text()?;
        let good = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if !text.is_empty() && text.len() <= 80 && text.chars().all(good) {
            return Ok(Value::Text(text.to_owned()));
        }
        Err(self.node.problem(
            format!("{} is not a name", shown(text)),
            "give 1 to 80 letters, digits, - and _; a title may hold anything",
        ))
    }
}

/// The share that a text like `5%` means; exact, as if written `0.05`.
fn percentage(text: &str) -> Option<f64> {
    let number = text.trim().strip_suffix('%')?.trim_end();
    let digits = |c: char| c.is_ascii_digit() || c == '.' || c == '-';
    if !number.chars().all(digits) {
        return None;
    }
    format!("{number}e-2").parse().ok()
}
