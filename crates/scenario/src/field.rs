//! One row of the table that the parser, the checks and the reference all read.

use isthmus_topology::rings::MAX_NODES;
use std::sync::Arc;

/// What a field holds and which values are possible.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    /// A whole number.
    Integer { min: u64, max: u64 },
    /// Lanes of a link.
    Lanes { min: u64 },
    /// Messages under way: a whole number or `"unlimited"`.
    Outstanding,
    /// A finite number.
    Number { min: f64, max: f64 },
    /// A share: 0 to 1, or a percentage as text; the ends are possible unless said otherwise.
    Share { above_zero: bool, below_one: bool },
    /// A span of time, and the unit that a bare number most likely lacks.
    Time { zero: bool, usual: &'static str },
    /// An amount of data, in bytes.
    Bytes { min: u64, max: u64 },
    /// A bandwidth above zero.
    Bandwidth,
    /// An offered load as a bandwidth above zero.
    Offered { usual: &'static str },
    /// An offered load of one node above zero: a bandwidth, or a share of what it can send.
    NodeLoad,
    /// A rate above zero.
    Rate,
    /// A rate or a mean gap above zero.
    Load,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Letters, digits, `-`, `_`.
    Name,
    /// Any text of so many characters at most.
    Text { max: usize },
    /// true or false.
    Flag,
    /// A list of node numbers, none twice.
    Nodes,
    /// A list of links, each a pair of node numbers, none twice; `directed` if [0, 1] and [1, 0]
    /// are two links.
    Links { directed: bool },
    /// Nodes in each dimension of a fabric: `8` or `"6x6"`.
    Size,
    /// Rings, each a list of node numbers, that leave no node out.
    Rings,
    /// A list of percentiles, each between 0 and 100, none twice.
    Percentiles,
    /// A list of names of measures; if `named`, the first part of each is the name of a table.
    Measures { example: &'static str, named: bool },
    /// The nodes of a job: all, a part of them, or a list of nodes and runs.
    JobNodes,
    /// Nodes in each dimension of a grid: `16` or `"4x4"`.
    Grid,
    /// Whole numbers, one for each level of a tree.
    Levels,
    /// Names of named tables, none twice; an axis may give a word that stands for several sets.
    NameSet,
}

/// What holds if the field is not given.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Default {
    /// It must be given.
    Required,
    /// This TOML value.
    Value(&'static str),
    /// A word that follows from which other fields are given, else from the word of another.
    Following(Following),
    /// A value that depends on others, described in words.
    Derived(&'static str),
    /// Nothing, described in words.
    Absent(&'static str),
    /// Each kind of machine says so in a way of its own, see [`Own`].
    OfKind,
}

impl Default {
    /// A word that follows from `given`, else from the word of `selector`.
    pub(crate) fn following(
        given: &[(&str, &'static str)],
        selector: &str,
        words: &'static [(&'static str, &'static str)],
    ) -> Self {
        let owned = |&(key, word): &(&str, &'static str)| (key.to_owned(), word);
        Self::Following(Following {
            given: given.iter().map(owned).collect(),
            selector: selector.to_owned(),
            words,
        })
    }
}

/// What a word follows from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Following {
    /// Fields, and the word that each brings if it is given; the first counts.
    pub(crate) given: Vec<(String, &'static str)>,
    /// The field whose word decides if none of them is.
    pub(crate) selector: String,
    pub(crate) words: &'static [(&'static str, &'static str)],
}

/// The field that decides whether another field means anything.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Only {
    pub(crate) selector: String,
    pub(crate) choices: Vec<&'static str>,
}

/// What a kind of machine says in a way of its own of a field that all kinds have.
#[derive(Debug)]
pub(crate) struct Own {
    pub(crate) key: &'static str,
    pub(crate) default: Default,
    pub(crate) kind: Option<Kind>,
    pub(crate) meaning: Option<&'static str>,
    pub(crate) example: Option<&'static str>,
}

impl Own {
    /// The default of a field.
    pub(crate) const fn default(key: &'static str, default: Default) -> Self {
        Self {
            key,
            default,
            kind: None,
            meaning: None,
            example: None,
        }
    }

    /// What it may hold besides.
    pub(crate) const fn holds(mut self, kind: Kind) -> Self {
        self.kind = Some(kind);
        self
    }

    pub(crate) const fn meaning(mut self, meaning: &'static str) -> Self {
        self.meaning = Some(meaning);
        self
    }

    pub(crate) const fn such_as(mut self, example: &'static str) -> Self {
        self.example = Some(example);
        self
    }

    /// The row of the field, of which all kinds say `row`.
    pub(crate) fn row(&self, row: Field) -> Field {
        Field {
            default: self.default.clone(),
            kind: self.kind.unwrap_or(row.kind),
            meaning: self.meaning.unwrap_or(row.meaning),
            example: self.example.or(row.example),
            ..row
        }
    }
}

/// One field of the scenario file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Field {
    pub(crate) key: Arc<str>,
    pub(crate) kind: Kind,
    pub(crate) default: Default,
    /// A few words for an axis or a table head.
    pub(crate) label: String,
    pub(crate) meaning: &'static str,
    pub(crate) only: Option<Only>,
    /// Optional table: what it requires is required only if it is there.
    pub(crate) within: Option<String>,
    /// Fields that say the same in another way; a value for one replaces the others.
    pub(crate) alternatives: Vec<String>,
    /// Fields that this one is short for.
    pub(crate) sets: Vec<String>,
    /// A value as it would be written, where that of the kind would mislead.
    pub(crate) example: Option<&'static str>,
}

impl Field {
    pub(crate) fn new(
        key: &str,
        kind: Kind,
        default: Default,
        label: &str,
        meaning: &'static str,
    ) -> Self {
        Self {
            key: key.into(),
            kind,
            default,
            label: label.to_owned(),
            meaning,
            only: None,
            within: None,
            alternatives: Vec::new(),
            sets: Vec::new(),
            example: None,
        }
    }

    pub(crate) fn only(mut self, selector: &str, choices: &[&'static str]) -> Self {
        self.only = Some(Only {
            selector: selector.to_owned(),
            choices: choices.to_vec(),
        });
        self
    }

    pub(crate) fn instead_of(mut self, alternatives: &[&str]) -> Self {
        self.alternatives = alternatives.iter().map(|&key| key.to_owned()).collect();
        self
    }

    pub(crate) fn short_for(mut self, sets: &[&str]) -> Self {
        self.sets = sets.iter().map(|&key| key.to_owned()).collect();
        self
    }

    pub(crate) fn such_as(mut self, example: &'static str) -> Self {
        self.example = Some(example);
        self
    }

    /// A value as it would be written in the file.
    pub(crate) fn example(&self) -> String {
        match (self.example, self.kind) {
            (Some(example), _) => example.to_owned(),
            (None, Kind::Choice([first, ..])) => format!("\"{first}\""),
            (None, kind) => kind.example(),
        }
    }

    /// Whether an axis of the sweep may give it.
    pub(crate) fn sweepable(&self) -> bool {
        &*self.key != "machine.kind"
            && (self.key.starts_with("machine.") || self.key.starts_with("workload."))
    }

    /// The keys that a value for this field decides: itself or what it is short for, and what it
    /// takes the place of.
    pub(crate) fn decides(&self) -> impl Iterator<Item = &str> {
        let own = self.sets.is_empty().then_some(&*self.key);
        let others = self.sets.iter().chain(&self.alternatives);
        own.into_iter().chain(others.map(String::as_str))
    }
}

impl Kind {
    /// Any whole number.
    pub(crate) const COUNT: Self = Self::Integer {
        min: 0,
        max: i64::MAX as u64,
    };

    /// A share, both ends possible.
    pub(crate) const SHARE: Self = Self::Share {
        above_zero: false,
        below_one: false,
    };

    /// A share, neither end possible.
    pub(crate) const INSIDE: Self = Self::Share {
        above_zero: true,
        below_one: true,
    };

    /// A whole number from `min` to `max`.
    pub(crate) const fn whole(min: u64, max: u64) -> Self {
        Self::Integer { min, max }
    }

    /// A span of time, which may be none.
    pub(crate) const fn span(usual: &'static str) -> Self {
        Self::Time { zero: true, usual }
    }

    /// A span of time above zero.
    pub(crate) const fn period(usual: &'static str) -> Self {
        Self::Time { zero: false, usual }
    }

    /// Any amount of data above zero.
    pub(crate) const DATA: Self = Self::Bytes {
        min: 1,
        max: u64::MAX,
    };

    /// What the file must hold, for "... is expected".
    pub(crate) fn expected(self) -> &'static str {
        match self {
            Self::Integer { .. } => "a whole number",
            Self::Lanes { .. } => "a whole number of lanes",
            Self::Outstanding => "a whole number or \"unlimited\"",
            Self::Number { .. } => "a number",
            Self::Share { .. } => "a share",
            Self::Time { .. } => "a time",
            Self::Bytes { .. } => "an amount of data",
            Self::Bandwidth | Self::Offered { .. } => "a bandwidth",
            Self::NodeLoad => "a bandwidth or a share",
            Self::Rate => "a rate",
            Self::Load => "a rate or a time",
            Self::Choice(_) => "a word",
            Self::Name => "a name",
            Self::Text { .. } => "text",
            Self::Flag => "true or false",
            Self::Nodes => "a list of node numbers",
            Self::Links { .. } => "a list of pairs of node numbers",
            Self::Size => "a size",
            Self::Rings => "a list of rings",
            Self::Percentiles => "a list of percentiles",
            Self::Measures { .. } => "a list of measures",
            Self::JobNodes => "a set of nodes",
            Self::Grid => "a grid",
            Self::Levels => "a list of whole numbers",
            Self::NameSet => "a list of names",
        }
    }

    /// A value as it would be written in the file.
    pub(crate) fn example(self) -> String {
        match self {
            Self::Integer { min, .. } | Self::Lanes { min } => min.max(1).to_string(),
            Self::Outstanding => "16 or \"unlimited\"".to_owned(),
            Self::Number { .. } => "1.5".to_owned(),
            Self::Share { .. } => "0.05 or \"5%\"".to_owned(),
            Self::Time { .. } => "\"0.156 ms\"".to_owned(),
            Self::Bytes { min, max } => format!("\"{} B\"", 4096.clamp(min, max)),
            Self::Bandwidth => "\"20 MB/s\"".to_owned(),
            Self::Offered { usual } => format!("\"20 {usual}\""),
            Self::NodeLoad => "\"20 MB/s\" or 0.3".to_owned(),
            Self::Rate => "\"6.4 /ms\"".to_owned(),
            Self::Load => "\"6.4 /ms\" or \"0.156 ms\"".to_owned(),
            Self::Choice(words) => alternatives(words),
            Self::Name => "\"hypercube-128\"".to_owned(),
            Self::Text { .. } => "\"a title\"".to_owned(),
            Self::Flag => "true or false".to_owned(),
            Self::Nodes => "[0, 7]".to_owned(),
            Self::Links { .. } => "[[0, 1], [4, 6]]".to_owned(),
            Self::Size => "\"6x6\"".to_owned(),
            Self::Rings => "[[0, 1, 2], [2, 3]]".to_owned(),
            Self::Percentiles => "[50, 90, 99]".to_owned(),
            Self::Measures { example, .. } => example.to_owned(),
            Self::JobNodes => "\"part 1 of 2\" or [0, \"8-15\"]".to_owned(),
            Self::Grid => "\"4x4\"".to_owned(),
            Self::Levels => "[4, 4, 4]".to_owned(),
            Self::NameSet => "[\"io\"]".to_owned(),
        }
    }

    /// The unit that a bare number most likely lacks.
    pub(crate) fn usual_unit(self) -> Option<&'static str> {
        match self {
            Self::Time { usual, .. } => Some(usual),
            Self::Bytes { .. } => Some("B"),
            Self::Bandwidth => Some("MB/s"),
            Self::Offered { usual } => Some(usual),
            Self::Rate | Self::Load => Some("/ms"),
            _ => None,
        }
    }

    /// The units that may be written, for the reference.
    pub(crate) fn units(self) -> &'static str {
        match self {
            Self::Time { .. } => "ps, ns, us, ms, s, min, h",
            Self::Bytes { .. } => "B, kB, MB, GB, TB, KiB, MiB, GiB, TiB",
            Self::NodeLoad => "as a bandwidth; none, or % in text, for a share",
            Self::Bandwidth | Self::Offered { .. } => {
                "B/s, kB/s, MB/s, GB/s, TB/s, KiB/s, MiB/s, GiB/s, bit/s to Tbit/s"
            }
            Self::Rate => "/s, /ms, /us, /ns",
            Self::Load => "/s, /ms, /us, /ns; or ps, ns, us, ms, s, min, h",
            Self::Share { .. } => "none, or % in text",
            Self::Percentiles => "%",
            _ => "",
        }
    }

    /// The possible values in words.
    pub(crate) fn range(self) -> String {
        match self {
            Self::Integer { min, max } if max >= i64::MAX as u64 => format!("{min} or more"),
            Self::Integer { min, max } => format!("{min} to {max}"),
            Self::Lanes { min } => format!("{min} to {LANES_MAX}"),
            Self::Outstanding => format!("1 to {OUTSTANDING_MAX}, or \"unlimited\""),
            Self::Number { min, max } if max == f64::MAX => format!("{min} or more"),
            Self::Number { min, max } => format!("{min} to {max}"),
            Self::Share {
                above_zero,
                below_one,
            } => match (above_zero, below_one) {
                (false, false) => "0 to 1",
                (true, false) => "above 0, to 1",
                (false, true) => "0 to below 1",
                (true, true) => "between 0 and 1, both excluded",
            }
            .to_owned(),
            Self::Time { zero: true, .. } => "0 s to 24 h".to_owned(),
            Self::Time { zero: false, .. } => "above 0 s, to 24 h".to_owned(),
            Self::Bytes { min, max } if max == u64::MAX => format!("{min} B or more"),
            Self::Bytes { min, max } => format!("{min} B to {max} B"),
            Self::Bandwidth | Self::Offered { .. } => "1 bit/s or more".to_owned(),
            Self::NodeLoad => "1 bit/s or more; above 0, to 1 of what a node can send".to_owned(),
            Self::Rate => "above 0, a mean gap of 1 ps to 24 h".to_owned(),
            Self::Load => "as workload.rate or workload.interarrival".to_owned(),
            Self::Choice(words) => alternatives(words),
            Self::Name => "letters, digits, - and _; 1 to 80 characters".to_owned(),
            Self::Text { max } => format!("at most {max} characters"),
            Self::Flag => "true or false".to_owned(),
            Self::Nodes => "node numbers, none twice".to_owned(),
            Self::Links { directed: false } => "pairs of neighbouring nodes, none twice".to_owned(),
            Self::Links { directed: true } => {
                "pairs of a node and the next on one of its rings, none twice".to_owned()
            }
            Self::Size => format!("nodes in each dimension, 2 or more, {MAX_NODES} in all"),
            Self::Rings => "lists of two nodes or more, no node left out".to_owned(),
            Self::Percentiles => "between 0 and 100, both excluded; none twice".to_owned(),
            Self::Measures { .. } => "names of measures, none twice".to_owned(),
            Self::JobNodes => {
                "\"all\", \"part I of N\", or node numbers and runs of them, none twice".to_owned()
            }
            Self::Grid => "nodes in each dimension, 1 or more".to_owned(),
            Self::Levels => "1 or more for each level, that of the leaf switches first".to_owned(),
            Self::NameSet => format!(
                "names of jobs, none twice; as an axis also {}",
                alternatives(SET_WORDS)
            ),
        }
    }
}

/// Characters of a title, or of another text that stands on one line, at most.
pub(crate) const LINE_MAX: usize = 200;

/// The first character of a text that would command a terminal. Ends of lines and tabs do not.
pub(crate) fn control_in(text: &str) -> Option<char> {
    text.chars()
        .find(|&letter| letter.is_control() && !matches!(letter, '\n' | '\r' | '\t'))
}

/// Words that stand for several sets of names: each alone; and each pair; and all together, last.
pub(crate) const SET_WORDS: &[&str] = &["alone", "pairs"];

/// Nodes of a tree at most.
pub(crate) const NODES_MAX: u32 = 65_536;

/// Most messages of one sender under way, where they have a number.
pub(crate) const OUTSTANDING_MAX: u64 = 65_536;

/// The word where they have none.
pub(crate) const UNLIMITED: &str = "unlimited";

/// Most lanes of one link; far above any machine, far below what would overflow.
pub(crate) const LANES_MAX: u64 = 65_535;

/// `"a", "b" or "c"`.
pub(crate) fn alternatives(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    match quoted.split_last() {
        None => String::new(),
        Some((only, [])) => only.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
    }
}
