//! What a field may hold, in words and numbers.

/// How many nodes there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Addressed {
    /// Nodes at least: in each dimension of a size.
    pub least: u32,
    /// Nodes at most.
    pub nodes: u32,
    /// What has no more numbers for them.
    pub by: &'static str,
}

impl Addressed {
    /// As many as there are node numbers.
    pub const ALL: Self = Self {
        least: 2,
        nodes: u32::MAX,
        by: "a file",
    };
}

/// What a field holds and which values are possible.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// A whole number.
    Integer {
        /// The least.
        min: u64,
        /// The greatest.
        max: u64,
    },
    /// Lanes of a link.
    Lanes {
        /// The fewest.
        min: u64,
    },
    /// Messages under way: a whole number or `"unlimited"`.
    Outstanding,
    /// A finite number.
    Number {
        /// The least.
        min: f64,
        /// The greatest.
        max: f64,
    },
    /// A share: 0 to 1, or a percentage as text; the ends are possible unless said otherwise.
    Share {
        /// Whether 0 is impossible.
        above_zero: bool,
        /// Whether 1 is impossible.
        below_one: bool,
    },
    /// A span of time, and the unit that a bare number most likely lacks.
    Time {
        /// Whether none is possible.
        zero: bool,
        /// The unit that a bare number most likely lacks.
        usual: &'static str,
    },
    /// An amount of data, in bytes.
    Bytes {
        /// The least.
        min: u64,
        /// The greatest.
        max: u64,
    },
    /// A bandwidth above zero.
    Bandwidth,
    /// An offered load as a bandwidth above zero.
    Offered {
        /// The unit that a bare number most likely lacks.
        usual: &'static str,
    },
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
    Text {
        /// Characters at most.
        max: usize,
    },
    /// true or false.
    Flag,
    /// A list of node numbers, none twice.
    Nodes,
    /// A list of links, each a pair of node numbers, none twice; `directed` if [0, 1] and [1, 0]
    /// are two links.
    Links {
        /// Whether one direction of a link is another link.
        directed: bool,
    },
    /// Nodes in each dimension of a fabric: `8` or `"6x6"`.
    Size(Addressed),
    /// Rings, each a list of node numbers, that leave no node out.
    Rings(Addressed),
    /// A list of percentiles, each between 0 and 100, none twice.
    Percentiles,
    /// A list of names of measures; if `named`, the first part of each is the name of a table.
    Measures {
        /// Some that there are, as they would be written.
        example: &'static str,
        /// Whether they begin with a name of the file.
        named: bool,
    },
    /// The nodes of a job: all, a part of them, or a list of nodes and runs.
    JobNodes,
    /// Messages of a job: sender, receiver, length, and how many there are.
    Messages,
    /// Nodes in each dimension of a grid: `16` or `"4x4"`.
    Grid,
    /// Whole numbers, one for each level of a tree.
    Levels,
    /// Names of named tables, none twice; an axis may give a word that stands for several sets.
    NameSet,
}

impl Kind {
    /// Any whole number.
    pub const COUNT: Self = Self::Integer {
        min: 0,
        max: i64::MAX as u64,
    };

    /// A share, both ends possible.
    pub const SHARE: Self = Self::Share {
        above_zero: false,
        below_one: false,
    };

    /// A share, neither end possible.
    pub const INSIDE: Self = Self::Share {
        above_zero: true,
        below_one: true,
    };

    /// A whole number from `min` to `max`.
    pub const fn whole(min: u64, max: u64) -> Self {
        Self::Integer { min, max }
    }

    /// A span of time, which may be none.
    pub const fn span(usual: &'static str) -> Self {
        Self::Time { zero: true, usual }
    }

    /// A span of time above zero.
    pub const fn period(usual: &'static str) -> Self {
        Self::Time { zero: false, usual }
    }

    /// Any amount of data above zero.
    pub const DATA: Self = Self::Bytes {
        min: 1,
        max: u64::MAX,
    };

    /// What the file must hold, for "... is expected".
    pub fn expected(self) -> &'static str {
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
            Self::Size(_) => "a size",
            Self::Rings(_) => "a list of rings",
            Self::Percentiles => "a list of percentiles",
            Self::Measures { .. } => "a list of measures",
            Self::JobNodes => "a set of nodes",
            Self::Messages => "a list of messages",
            Self::Grid => "a grid",
            Self::Levels => "a list of whole numbers",
            Self::NameSet => "a list of names",
        }
    }

    /// A value as it would be written in the file.
    pub fn example(self) -> String {
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
            Self::Size(_) => "\"6x6\"".to_owned(),
            Self::Rings(_) => "[[0, 1, 2], [2, 3]]".to_owned(),
            Self::Percentiles => "[50, 90, 99]".to_owned(),
            Self::Measures { example, .. } => example.to_owned(),
            Self::JobNodes => "\"part 1 of 2\" or [0, \"8-15\"]".to_owned(),
            Self::Messages => "[[0, 1, \"64 KiB\"]]".to_owned(),
            Self::Grid => "\"4x4\"".to_owned(),
            Self::Levels => "[4, 4, 4]".to_owned(),
            Self::NameSet => "[\"io\"]".to_owned(),
        }
    }

    /// The unit that a bare number most likely lacks.
    pub fn usual_unit(self) -> Option<&'static str> {
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
    pub fn units(self) -> &'static str {
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
    pub fn range(self) -> String {
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
            Self::Size(most) => {
                format!(
                    "nodes in each dimension, {} or more, {} in all",
                    most.least, most.nodes
                )
            }
            Self::Rings(_) => "lists of two nodes or more, no node left out".to_owned(),
            Self::Percentiles => "between 0 and 100, both excluded; none twice".to_owned(),
            Self::Measures { .. } => "names of measures, none twice".to_owned(),
            Self::JobNodes => {
                "\"all\", \"part I of N\", or node numbers and runs of them, none twice".to_owned()
            }
            Self::Messages => {
                "[from, to, length] or [from, to, length, times] each; at most 2^24 messages of 1 B \
                 to 2^40 B"
                    .to_owned()
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
pub const LINE_MAX: usize = 200;

/// The first character of a text that would command a terminal. Ends of lines and tabs do not.
pub fn control_in(text: &str) -> Option<char> {
    text.chars()
        .find(|&letter| letter.is_control() && !matches!(letter, '\n' | '\r' | '\t'))
}

/// Words that stand for several sets of names: each alone; and each pair; and all together, last.
pub const SET_WORDS: &[&str] = &["alone", "pairs"];

/// Nodes of any machine with jobs at most.
pub const NODES_MAX: u32 = 1 << 20;

/// Most messages of one sender under way, where they have a number.
pub const OUTSTANDING_MAX: u64 = 65_536;

/// The word where they have none.
pub const UNLIMITED: &str = "unlimited";

/// Most lanes of one link; far above any machine, far below what would overflow.
pub const LANES_MAX: u64 = 65_535;

/// `"a", "b" or "c"`.
pub fn alternatives(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    match quoted.split_last() {
        None => String::new(),
        Some((only, [])) => only.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
    }
}
