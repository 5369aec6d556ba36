//! Reads one value as the kind that its field holds.

mod jobs;
mod kind;
mod lists;

use crate::document::{Node, Tree, shown};
use crate::error::Origin;
use crate::suggest;
use isthmus_units::{Bandwidth, Bytes, Rate, Time, UnitError};
use isthmus_workload::jobs::spec::JobNodes;

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
    /// Whole numbers, each 1 or more.
    Counts(Vec<u32>),
    /// Numbers.
    Numbers(Vec<f64>),
    /// Names.
    Names(Vec<String>),
}

/// What is wrong with a value, where, and what would be right.
#[derive(Debug, Clone, PartialEq)]
pub struct Flaw {
    pub origin: Origin,
    pub problem: String,
    pub hint: String,
}

/// The longest span that a field may hold.
pub const TIME_MAX: Time = Time::from_ps(24 * 3_600_000_000_000_000);

impl Kind {
    /// Reads `node` as a value of this kind.
    pub(crate) fn read(self, node: &Node) -> Result<Value, Flaw> {
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
            Self::Time { zero, .. } => reader.quantity(str::parse::<Time>).and_then(|time| {
                reader.time_in_range(time, zero)?;
                Ok(Value::Time(time))
            }),
            Self::Bytes { min, max } => reader.bytes(min, max),
            Self::Bandwidth => reader
                .quantity(str::parse::<Bandwidth>)
                .and_then(|bandwidth| {
                    let bits_per_s = bandwidth.bits_per_s() as f64;
                    reader.above_zero(
                        bits_per_s,
                        "a lane that moves nothing",
                        "1 bit/s or more",
                    )?;
                    Ok(Value::Bandwidth(bandwidth))
                }),
            Self::Offered { .. } => {
                reader
                    .quantity(str::parse::<Bandwidth>)
                    .and_then(|bandwidth| {
                        let bits_per_s = bandwidth.bits_per_s() as f64;
                        reader.above_zero(bits_per_s, "no traffic at all", "a load above 0")?;
                        Ok(Value::Bandwidth(bandwidth))
                    })
            }
            Self::Rate => reader.rate(),
            Self::Load => reader.load(),
            Self::Choice(words) => reader.choice(words),
            Self::Name => reader.name(),
            Self::Text { max } => reader.words(max),
            Self::Flag => match node.tree {
                Tree::Flag(flag) => Ok(Value::Flag(flag)),
                _ => Err(reader.wrong_type()),
            },
            Self::Nodes => reader.nodes(),
            Self::Links { directed } => reader.links(directed),
            Self::Size(most) => reader.size(most),
            Self::Rings(most) => reader.rings(most),
            Self::Percentiles => reader.percentiles(),
            Self::Measures { example, named } => reader.measures(example, named),
            Self::NodeLoad => reader.node_load(),
            Self::JobNodes => reader.job_nodes(),
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
    fn flaw(&self, problem: impl Into<String>, hint: impl Into<String>) -> Flaw {
        flaw_at(self.node, problem, hint)
    }

    fn wrong_type(&self) -> Flaw {
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
        let found = self.node.describe();
        self.flaw(
            format!("{found} where {} is expected", self.kind.expected()),
            hint,
        )
    }

    fn whole(&self, min: u64, max: u64) -> Result<u64, Flaw> {
        let Tree::Integer(number) = self.node.tree else {
            return Err(self.wrong_type());
        };
        u64::try_from(number)
            .ok()
            .filter(|n| (min..=max).contains(n))
            .ok_or_else(|| {
                let range = self.kind.range();
                self.flaw(format!("{number} is out of range"), format!("give {range}"))
            })
    }

    fn integer(&self, min: u64, max: u64) -> Result<Value, Flaw> {
        self.whole(min, max).map(Value::Integer)
    }

    fn lanes(&self, min: u64) -> Result<Value, Flaw> {
        match self.node.tree {
            Tree::Integer(0) if min > 0 => {
                Err(self.flaw("0 lanes carry nothing", "give 1 or more"))
            }
            _ => self.integer(min, LANES_MAX),
        }
    }

    fn outstanding(&self) -> Result<Value, Flaw> {
        match &self.node.tree {
            Tree::Text(text) if text == UNLIMITED => Ok(Value::Text(text.clone())),
            Tree::Text(text) => match suggest::closest(text, [UNLIMITED]) {
                Some(word) => Err(self.flaw(
                    format!("{} is not known here", shown(text)),
                    format!("did you mean \"{word}\"? Else write a whole number"),
                )),
                None => Err(self.wrong_type()),
            },
            Tree::Integer(number) => {
                let within = u64::try_from(*number).ok();
                let within = within.filter(|number| (1..=OUTSTANDING_MAX).contains(number));
                within.map(Value::Integer).ok_or_else(|| {
                    let hint = format!("give 1 to {OUTSTANDING_MAX}");
                    self.flaw(format!("{number} is out of range"), hint)
                })
            }
            _ => Err(self.wrong_type()),
        }
    }

    fn float(&self) -> Result<f64, Flaw> {
        let number = match self.node.tree {
            Tree::Integer(n) => n as f64,
            Tree::Float(x) => x,
            _ => return Err(self.wrong_type()),
        };
        if number.is_finite() {
            Ok(number)
        } else {
            Err(self.flaw(
                format!("{number} is not a finite number"),
                "give a finite number",
            ))
        }
    }

    fn number(&self, min: f64, max: f64) -> Result<Value, Flaw> {
        let number = self.float()?;
        if (min..=max).contains(&number) {
            return Ok(Value::Number(number));
        }
        let range = self.kind.range();
        Err(self.flaw(format!("{number} is out of range"), format!("give {range}")))
    }

    fn share(&self, above_zero: bool, below_one: bool) -> Result<Value, Flaw> {
        let share = match &self.node.tree {
            Tree::Text(text) => percentage(text).ok_or_else(|| {
                let problem = format!("{} is not a percentage", shown(text));
                self.flaw(problem, "write a share as 0.05 or \"5%\"")
            })?,
            _ => self.float()?,
        };
        let low_enough = if below_one { share < 1.0 } else { share <= 1.0 };
        let high_enough = if above_zero {
            share > 0.0
        } else {
            share >= 0.0
        };
        if low_enough && high_enough {
            return Ok(Value::Number(share));
        }
        let written = match &self.node.tree {
            Tree::Text(text) => text.trim().to_owned(),
            _ => share.to_string(),
        };
        let side = if low_enough { "too small" } else { "too large" };
        let range = self.kind.range();
        Err(self.flaw(
            format!("{written} is {side} for a share"),
            format!("give {range}"),
        ))
    }

    fn text(&self) -> Result<&'n str, Flaw> {
        match &self.node.tree {
            Tree::Text(text) => Ok(text),
            _ => Err(self.wrong_type()),
        }
    }

    fn words(&self, max: usize) -> Result<Value, Flaw> {
        let text = self.text()?;
        let length = text.chars().count();
        if let Some(control) = control_in(text) {
            return Err(self.flaw(
                format!(
                    "{} holds a control character, U+{:04X}",
                    shown(text),
                    u32::from(control)
                ),
                "leave it out".to_owned(),
            ));
        }
        if length <= max {
            return Ok(Value::Text(text.to_owned()));
        }
        Err(self.flaw(
            format!("{} has {length} characters", shown(text)),
            format!("give at most {max}"),
        ))
    }

    fn quantity<T>(&self, parse: impl Fn(&str) -> Result<T, UnitError>) -> Result<T, Flaw> {
        let number = match self.node.tree {
            Tree::Integer(n) => n.to_string(),
            Tree::Float(x) => x.to_string(),
            _ => {
                let text = self.text()?;
                return parse(text).map_err(|error| {
                    self.flaw(
                        format!("{}: {}", shown(text), error.problem()),
                        error.hint(),
                    )
                });
            }
        };
        let unit = self.kind.usual_unit().unwrap_or_default();
        if matches!(self.node.tree, Tree::Float(x) if !x.is_finite()) {
            return Err(self.flaw(
                format!("{number} is not a finite number"),
                format!(
                    "write {} with its unit, for example \"1 {unit}\"",
                    self.kind.expected()
                ),
            ));
        }
        Err(self.flaw(
            format!("the unit of {number} is missing"),
            format!(
                "write {} with its unit, for example \"{number} {unit}\"",
                self.kind.expected()
            ),
        ))
    }

    fn above_zero(&self, amount: f64, meaning: &str, hint: &str) -> Result<(), Flaw> {
        if amount > 0.0 {
            return Ok(());
        }
        Err(self.flaw(format!("zero is {meaning}"), format!("give {hint}")))
    }

    fn bytes(&self, min: u64, max: u64) -> Result<Value, Flaw> {
        let bytes = self.quantity(str::parse::<Bytes>)?;
        let range = self.kind.range();
        if min > 0 {
            self.above_zero(bytes.get() as f64, "no data", &range)?;
        }
        if (min..=max).contains(&bytes.get()) {
            return Ok(Value::Bytes(bytes));
        }
        Err(self.flaw(format!("{bytes} is out of range"), format!("give {range}")))
    }

    fn time_in_range(&self, time: Time, zero: bool) -> Result<(), Flaw> {
        if time == Time::ZERO && !zero {
            return Err(self.flaw("zero is no time at all", "give more than 0 s"));
        }
        if time > TIME_MAX {
            return Err(self.flaw(format!("{time} is too long"), "give at most 24 h"));
        }
        Ok(())
    }

    fn rate(&self) -> Result<Value, Flaw> {
        let rate = self.quantity(str::parse::<Rate>)?;
        self.above_zero(rate.per_s(), "no traffic at all", "a rate above 0")?;
        let gap = 1e12 / rate.per_s();
        if gap < 1.0 {
            return Err(self.flaw(
                format!("{rate} is more than one in a picosecond"),
                "give at most \"1000 /ns\"",
            ));
        }
        if gap > TIME_MAX.ps() as f64 {
            return Err(self.flaw(
                format!("{rate} is less than one in 24 h"),
                "give at least \"0.0000116 /s\"",
            ));
        }
        Ok(Value::Rate(rate))
    }

    fn load(&self) -> Result<Value, Flaw> {
        match &self.node.tree {
            Tree::Text(text) if !text.contains('/') => {
                let time = self.quantity(str::parse::<Time>)?;
                self.time_in_range(time, false)?;
                Ok(Value::Time(time))
            }
            _ => self.rate(),
        }
    }

    fn choice(&self, words: &'static [&'static str]) -> Result<Value, Flaw> {
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
        Err(self.flaw(format!("{} is not known here", shown(text)), hint))
    }

    fn name(&self) -> Result<Value, Flaw> {
        let text = self.text()?;
        let good = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if !text.is_empty() && text.len() <= 80 && text.chars().all(good) {
            return Ok(Value::Text(text.to_owned()));
        }
        Err(self.flaw(
            format!("{} is not a name", shown(text)),
            "give 1 to 80 letters, digits, - and _; a title may hold anything",
        ))
    }
}

fn flaw_at(node: &Node, problem: impl Into<String>, hint: impl Into<String>) -> Flaw {
    Flaw {
        origin: node.origin,
        problem: problem.into(),
        hint: hint.into(),
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
