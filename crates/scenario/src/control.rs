//! `[measure]`, `[stop]` and `[verdict]`: what to observe, when to stop, when to call a run
//! saturated.

use crate::error::Problem;
use crate::field::Default::{self, Absent, Value};
use crate::field::{Field, Kind};
use crate::settings::Settings;
use isthmus_units::Time;

/// What to observe.
#[derive(Debug, Clone, PartialEq)]
pub struct Measure {
    /// Percentiles of latency to report, between 0 and 100.
    pub percentiles: Vec<f64>,
    /// Whether to report the utilisation of channels.
    pub channels: bool,
    /// Whether to report histograms of latency.
    pub histograms: bool,
    /// Whether to evaluate the queueing model beside the simulation.
    pub analysis: bool,
}

/// When to stop.
#[derive(Debug, Clone, PartialEq)]
pub struct Stop {
    /// By precision, or after a fixed number of messages or a fixed time.
    pub rule: StopRule,
    /// Confidence level of the intervals, between 0 and 1.
    pub confidence: f64,
    /// Independent replications of each point (at first, if they stop by precision); 1 or more,
    /// 2 or more for intervals from replications.
    pub replications: u32,
    /// What to discard at the start of a run.
    pub warmup: Warmup,
    /// Where intervals come from.
    pub intervals: Intervals,
}

/// The rule that ends the simulation of a point.
#[derive(Debug, Clone, PartialEq)]
pub enum StopRule {
    /// When all measures are known well enough.
    Precision {
        /// Half-width of the interval of each measure, relative to its mean, between 0 and 1.
        precision: f64,
        /// The measures, `class.quantity`. A measure that a point cannot give, such as reads
        /// without I/O, is not waited for.
        of: Vec<String>,
        /// Messages of a replication before the first look, warm-up included.
        messages_first: u64,
        /// Messages of a replication at which to give up, warm-up included.
        messages_max: u64,
    },
    /// After a fixed number of messages (section 5 of the hypercube paper: 150,000).
    Fixed {
        /// Messages of a replication, warm-up included.
        messages: u64,
    },
    /// After a fixed simulated time (section 4 of the SCI paper).
    FixedTime {
        /// Time of a replication, warm-up included.
        time: Time,
    },
}

/// What to discard at the start of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Warmup {
    /// The truncation point of MSER-5.
    Mser5,
    /// A fixed number of messages (section 5 of the hypercube paper: 50,000).
    Fixed {
        /// Messages to discard.
        messages: u64,
    },
    /// Nothing: everything counts from the start.
    None,
}

/// Where confidence intervals come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Intervals {
    /// Means of independent replications.
    Replications,
    /// Means of batches within a run.
    BatchMeans,
}

/// When to call a run saturated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Verdict {
    /// Growth of the backlog per message offered above which a run is saturated.
    pub growth: f64,
    /// Probability of a wrong verdict that is accepted.
    pub error_rate: f64,
}

const MESSAGES: Kind = Kind::Integer {
    min: 1,
    max: 1_000_000_000_000,
};

/// The rows that count messages, of a kind of machine on which they are as many by default.
pub(crate) fn messages_first(default: &'static str) -> Field {
    Field::new(
        "stop.messages_first",
        MESSAGES,
        Value(default),
        "first look",
        "Messages of a replication before the first look at its precision, warm-up included",
    )
    .only("stop.rule", &["precision"])
}

/// See [`messages_first`].
pub(crate) fn messages_max(default: &'static str) -> Field {
    Field::new(
        "stop.messages_max",
        MESSAGES,
        Value(default),
        "last look",
        "Messages of a replication at which to give up, warm-up included; a search whose bracket is \
         too wide then goes on for 16 times as many",
    )
    .only("stop.rule", &["precision"])
}

/// See [`messages_first`].
pub(crate) fn messages(default: &'static str, meaning: &'static str) -> Field {
    Field::new(
        "stop.messages",
        MESSAGES,
        Value(default),
        "messages",
        meaning,
    )
    .only("stop.rule", &["fixed"])
    .instead_of(&["stop.time"])
}

/// See [`messages_first`].
pub(crate) fn warmup_messages(default: &'static str, meaning: &'static str) -> Field {
    Field::new(
        "stop.warmup_messages",
        Kind::Integer {
            min: 0,
            max: 1_000_000_000_000,
        },
        Value(default),
        "warm-up",
        meaning,
    )
    .only("stop.warmup", &["fixed"])
}

pub(crate) fn fields() -> Vec<Field> {
    vec![
        Field::new(
            "measure.percentiles",
            Kind::Percentiles,
            Value("[50, 90, 99]"),
            "percentiles",
            "Percentiles of latency to report",
        ),
        Field::new(
            "measure.channels",
            Kind::Flag,
            Value("true"),
            "channels",
            "Whether to report the utilisation of channels",
        ),
        Field::new(
            "measure.histograms",
            Kind::Flag,
            Value("true"),
            "histograms",
            "Whether to report histograms of latency",
        ),
        Field::new(
            "measure.analysis",
            Kind::Flag,
            Value("true"),
            "analysis",
            "Whether to evaluate the queueing model beside the simulation (section 6)",
        ),
        Field::new(
            "stop.rule",
            Kind::Choice(&["precision", "fixed"]),
            Value("\"precision\""),
            "stopping rule",
            "When a point ends: all measures known well enough, or after a fixed number of messages \
         or a fixed time",
        ),
        Field::new(
            "stop.precision",
            Kind::INSIDE,
            Value("\"2%\""),
            "precision",
            "Half-width of the confidence interval of each measure, relative to its mean",
        )
        .only("stop.rule", &["precision"]),
        Field::of_kind("stop.of"),
        Field::of_kind("stop.messages_first"),
        Field::of_kind("stop.messages_max"),
        Field::of_kind("stop.messages"),
        Field::new(
            "stop.time",
            Kind::Time {
                zero: false,
                usual: "us",
            },
            Absent("stop.messages decides"),
            "time",
            "Simulated time of a replication, warm-up included, in place of a number of messages",
        )
        .such_as("\"200 us\"")
        .only("stop.rule", &["fixed"])
        .instead_of(&["stop.messages"]),
        Field::new(
            "stop.confidence",
            Kind::INSIDE,
            Value("0.95"),
            "confidence",
            "Confidence level of the intervals",
        ),
        Field::new(
            "stop.replications",
            Kind::Integer {
                min: 1,
                max: 10_000,
            },
            Value("10"),
            "replications",
            "Independent replications of each point (section 5: 10)",
        ),
        Field::new(
            "stop.warmup",
            Kind::Choice(&["mser5", "fixed", "none"]),
            Default::following(
                &[("stop.time", "none")],
                "stop.rule",
                &[("precision", "mser5"), ("fixed", "fixed")],
            ),
            "warm-up rule",
            "What to discard at the start of a run: what MSER-5 finds, a number of messages, or nothing",
        ),
        Field::of_kind("stop.warmup_messages"),
        Field::new(
            "stop.intervals",
            Kind::Choice(&["replications", "batch-means"]),
            Value("\"replications\""),
            "intervals from",
            "Whether intervals come from the means of replications or of batches within a run",
        ),
        Field::new(
            "verdict.growth",
            Kind::INSIDE,
            Value("0.005"),
            "growth limit",
            "Growth of the backlog per message offered above which a point is saturated",
        ),
        Field::new(
            "verdict.error_rate",
            Kind::INSIDE,
            Value("0.01"),
            "error rate",
            "Probability of a wrong verdict that is accepted",
        ),
    ]
}

/// What to observe.
pub(crate) fn measure(settings: &Settings) -> Measure {
    Measure {
        percentiles: settings.numbers("measure.percentiles").to_vec(),
        channels: settings.flag("measure.channels"),
        histograms: settings.flag("measure.histograms"),
        analysis: settings.flag("measure.analysis"),
    }
}

/// When to call a run saturated.
pub(crate) fn verdict(settings: &Settings) -> Verdict {
    Verdict {
        growth: settings.number("verdict.growth"),
        error_rate: settings.number("verdict.error_rate"),
    }
}

/// When to stop.
pub(crate) fn stop(settings: &Settings) -> Result<Stop, Problem> {
    let intervals = match settings.text("stop.intervals").as_str() {
        "batch-means" => Intervals::BatchMeans,
        _ => Intervals::Replications,
    };
    let replications = settings.small("stop.replications");
    if replications < 2 && intervals == Intervals::Replications {
        return Err(settings.problem(
            "stop.replications",
            "one replication gives no interval",
            "give 2 or more, or set stop.intervals = \"batch-means\"",
        ));
    }
    let rule = stop_rule(settings)?;
    let warmup = match settings.text("stop.warmup").as_str() {
        "fixed" => Warmup::Fixed {
            messages: settings.integer("stop.warmup_messages"),
        },
        "none" => Warmup::None,
        _ => Warmup::Mser5,
    };
    check_warmup(settings, &rule, warmup)?;
    Ok(Stop {
        rule,
        confidence: settings.number("stop.confidence"),
        replications,
        warmup,
        intervals,
    })
}

fn stop_rule(settings: &Settings) -> Result<StopRule, Problem> {
    if settings.text("stop.rule") == "fixed" {
        if settings.given("stop.time").is_some() {
            return Ok(StopRule::FixedTime {
                time: settings.time("stop.time"),
            });
        }
        return Ok(StopRule::Fixed {
            messages: settings.integer("stop.messages"),
        });
    }
    let of = measures(settings);
    if of.is_empty() {
        return Err(settings.problem(
            "stop.of",
            "no measure to be precise about",
            "list one or more, or set stop.rule = \"fixed\"",
        ));
    }
    let messages_first = settings.integer("stop.messages_first");
    let messages_max = settings.integer("stop.messages_max");
    if messages_first > messages_max {
        return Err(settings.problem(
            "stop.messages_max",
            format!("{messages_max} is below stop.messages_first, {messages_first}"),
            format!("give {messages_first} or more"),
        ));
    }
    Ok(StopRule::Precision {
        precision: settings.number("stop.precision"),
        of,
        messages_first,
        messages_max,
    })
}

/// What runs are to be precise about.
fn measures(settings: &Settings) -> Vec<String> {
    let schema = settings.schema();
    match (&schema.machine.named, settings.given("stop.of")) {
        (Some(named), None) => {
            let of = |name: &String| format!("{name}.{}", named.measure);
            schema.names().iter().map(of).collect()
        }
        _ => settings.names("stop.of").to_vec(),
    }
}

fn check_warmup(settings: &Settings, rule: &StopRule, warmup: Warmup) -> Result<(), Problem> {
    let (key, messages) = match rule {
        StopRule::Fixed { messages } => ("stop.messages", *messages),
        // How many messages there will be is not known beforehand.
        StopRule::FixedTime { .. } => return Ok(()),
        StopRule::Precision { messages_first, .. } => ("stop.messages_first", *messages_first),
    };
    match warmup {
        Warmup::Fixed {
            messages: discarded,
        } if discarded >= messages => Err(settings.problem(
            "stop.warmup_messages",
            format!("all {messages} messages of {key} would be discarded"),
            format!("give less than {messages}, or more messages"),
        )),
        _ => Ok(()),
    }
}
