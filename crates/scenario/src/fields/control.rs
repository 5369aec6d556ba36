//! The tables `[measure]`, `[stop]` and `[verdict]`: measurements, stopping rules and the test for
//! saturation.

use crate::fields::rows::{Describe, Rows, Selector};
use crate::file::error::Problem;
use crate::file::settings::Settings;
use crate::value::{Share, Span, Whole};
use isthmus_units::Time;
use strum::{EnumString, VariantNames};

/// Table `[measure]`: quantities to measure and to report.
#[derive(Debug, Clone, PartialEq, Describe)]
pub struct Measure {
    /// Percentiles of latency to report.
    #[describe(default = [50, 90, 99])]
    pub percentiles: Vec<f64>,
    /// Whether to report the utilisation of channels.
    #[describe(default = true)]
    pub channels: bool,
    /// Whether to report histograms of latency.
    #[describe(default = true)]
    pub histograms: bool,
    /// Whether to evaluate the queueing model beside the simulation (section 6).
    #[describe(default = true)]
    pub analysis: bool,
}

/// Table `[stop]`: rules that decide when simulations stop.
#[derive(Debug, Clone, PartialEq, Describe)]
pub struct Stop {
    /// When a point ends: all measures known well enough, or after a fixed number of messages or a
    /// fixed time.
    #[describe(choice, label = "stopping rule", default = "precision")]
    pub rule: StopRule,
    /// Confidence level of the intervals.
    #[describe(holds = Share::INSIDE, default = 0.95)]
    pub confidence: f64,
    /// Independent replications of each point (section 5: 10).
    #[describe(holds = Whole::new(1, 10_000), default = 10)]
    pub replications: u32,
    /// What to discard at the start of a run: what MSER-5 finds, a number of messages, or nothing.
    #[describe(
        choice,
        label = "warm-up rule",
        follows(rule, given(time = "none"), "precision" => "mser5", "fixed" => "fixed")
    )]
    pub warmup: Warmup,
    /// Whether intervals come from the means of replications or of batches within a run.
    #[describe(words, label = "intervals from", default = "replications")]
    pub intervals: Intervals,
}

/// The rule that ends the simulation of a point.
#[derive(Debug, Clone, PartialEq)]
pub enum StopRule {
    /// Stop when all measures have the required precision.
    Precision {
        /// Half-width of the confidence interval of each measure, relative to its mean, between 0 and 1.
        precision: f64,
        /// Names of the measures, as `class.quantity`. A measure that a point cannot produce, such as reads
        /// without I/O, is ignored.
        of: Vec<String>,
        /// Number of messages of a replication before the first interim look at the results, warm-up
        /// included.
        messages_first: u64,
        /// Maximum number of messages of a replication, warm-up included.
        messages_max: u64,
    },
    /// Stop after a fixed number of messages (section 5 of the hypercube paper: 150,000).
    Fixed {
        /// Messages of a replication, warm-up included.
        messages: u64,
    },
    /// Stop after a fixed simulated time (section 4 of the SCI paper).
    FixedTime {
        /// Simulated time of a replication, warm-up included.
        time: Time,
    },
}

/// Warm-up: the part of a run to discard at its start, as the field `stop.warmup` selects it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Describe)]
pub enum Warmup {
    /// Discard everything before the truncation point that the MSER-5 rule finds.
    Mser5,
    /// Discard a fixed number of messages (section 5 of the hypercube paper: 50,000).
    Fixed {
        /// Messages to discard at the start of a run.
        #[describe(key = "warmup_messages", label = "warm-up", holds = Whole::new(0, MESSAGES_MAX), of_kind)]
        messages: u64,
    },
    /// Discard nothing: observations count from the start of the run.
    None,
}

/// Method to compute confidence intervals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum Intervals {
    /// Compute intervals from the means of independent replications.
    Replications,
    /// Compute intervals from the means of batches within a run.
    BatchMeans,
}

/// Table `[verdict]`: parameters of the test for saturation.
#[derive(Debug, Clone, Copy, PartialEq, Describe)]
pub struct Verdict {
    /// Growth of the backlog per message offered above which a point is saturated.
    #[describe(label = "growth limit", holds = Share::INSIDE, default = 0.005)]
    pub growth: f64,
    /// Probability of a wrong verdict that is accepted.
    #[describe(holds = Share::INSIDE, default = 0.01)]
    pub error_rate: f64,
}

/// Maximum number of messages that a field accepts.
const MESSAGES_MAX: u64 = 1_000_000_000_000;
/// Type of scenario fields whose value is a number of messages: parser and valid range.
const MESSAGES: Whole = Whole::new(1, MESSAGES_MAX);

/// Scenario file fields of each stopping rule. The value of the field `stop.rule` selects the rule.
#[derive(Describe)]
enum RuleTable {
    Precision {
        /// Half-width of the confidence interval of each measure, relative to its mean.
        #[describe(holds = Share::INSIDE, default = "2%")]
        precision: f64,
        /// Measures that must be known; one that a point cannot give is not waited for.
        #[describe(label = "measures", of_kind)]
        of: Option<Vec<String>>,
        /// Messages of a replication before the first look at its precision, warm-up included.
        #[describe(label = "first look", holds = MESSAGES, of_kind)]
        messages_first: u64,
        /// Messages of a replication at which to give up, warm-up included; a search whose bracket is
        /// too wide then goes on for 16 times as many.
        #[describe(label = "last look", holds = MESSAGES, of_kind)]
        messages_max: u64,
    },
    Fixed {
        /// Messages of a replication, warm-up included.
        #[describe(holds = MESSAGES, of_kind, instead_of(time))]
        messages: u64,
        /// Simulated time of a replication, warm-up included, in place of a number of messages.
        #[describe(
            holds = Span::above_zero("us"),
            absent = "stop.messages decides",
            example = "\"200 us\"",
            instead_of(messages)
        )]
        time: Option<Time>,
    },
}

/// Conversion of the stopping rule from the fields of the file. Without a list of measures, the rule checks
/// one measure of each named table, such as a job.
impl Selector for StopRule {
    const WORDS: &'static [&'static str] = RuleTable::WORDS;

    /// Add the descriptions of the fields of all stopping rules to `rows`.
    fn rows(path: &str, selector: &str, rows: &mut Rows) {
        RuleTable::rows(path, selector, rows);
    }

    /// Return the stopping rule that the field `selector` names, with the values of its fields.
    fn read(settings: &Settings, path: &str, selector: &str) -> Self {
        match RuleTable::read(settings, path, selector) {
            RuleTable::Fixed {
                time: Some(time), ..
            } => Self::FixedTime { time },
            RuleTable::Fixed { messages, .. } => Self::Fixed { messages },
            RuleTable::Precision {
                precision,
                of,
                messages_first,
                messages_max,
            } => Self::Precision {
                precision,
                of: of.unwrap_or_else(|| of_named_tables(settings)),
                messages_first,
                messages_max,
            },
        }
    }
}

/// Return the maximum number of messages of a replication, with the key of the field that sets it. Return
/// `None` if replications end at a fixed time.
pub fn messages_most(settings: &Settings) -> Option<(&'static str, u64)> {
    match StopRule::read(settings, "stop", "stop.rule") {
        StopRule::FixedTime { .. } => None,
        StopRule::Fixed { messages } => Some(("stop.messages", messages)),
        StopRule::Precision { messages_max, .. } => Some(("stop.messages_max", messages_max)),
    }
}

/// Return the measures that the stopping rule checks by default: for each named table, such as a job, one
/// measure `NAME.MEASURE`.
fn of_named_tables(settings: &Settings) -> Vec<String> {
    let schema = settings.schema();
    let measures = schema.named().into_iter().flat_map(|named| {
        let of = |name: &String| format!("{name}.{}", named.measure);
        schema.names().iter().map(of)
    });
    measures.collect()
}

/// Check that runs under these stopping rules end and give confidence intervals.
pub(crate) fn check(settings: &Settings, stop: &Stop) -> Result<(), Problem> {
    if stop.replications < 2 && stop.intervals == Intervals::Replications {
        return Err(settings.problem(
            "stop.replications",
            "one replication gives no interval",
            "give 2 or more, or set stop.intervals = \"batch-means\"",
        ));
    }
    let (key, messages) = match &stop.rule {
        // Skip the check: with a fixed time, the number of messages is not known in advance.
        StopRule::FixedTime { .. } => return Ok(()),
        StopRule::Fixed { messages } => ("stop.messages", *messages),
        StopRule::Precision { of, .. } if of.is_empty() => {
            return Err(settings.problem(
                "stop.of",
                "no measure to be precise about",
                "list one or more, or set stop.rule = \"fixed\"",
            ));
        }
        StopRule::Precision {
            messages_first: first,
            messages_max: most,
            ..
        } if first > most => {
            return Err(settings.problem(
                "stop.messages_max",
                format!("{most} is below stop.messages_first, {first}"),
                format!("give {first} or more"),
            ));
        }
        StopRule::Precision { messages_first, .. } => ("stop.messages_first", *messages_first),
    };
    match stop.warmup {
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
