//! From replications to the rows of the result.

use crate::analysis::Overlay;
use crate::measurement::{Measurement, Subject};
use crate::recorders::{Rates, Recorders};
use crate::result::{ChannelUse, Histogram, Measure, Origin, Percentile, VerdictSummary};
use crate::rules::Rules;
use isthmus_machine::hypercube::{ChannelKind, Class, Flow, Machine, Operation};
use isthmus_scenario::Intervals;
use isthmus_statistics::{
    BatchMeans, Error, Estimate, Recorder, ReplicationMeans, SaturationTest, Summary,
};

/// Observations that a measure must have in each replication before a run may stop on it.
const SAMPLES_MIN: u64 = 50;

/// Which recorder of a replication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Header(Class),
    Router(Class),
    Network(Operation),
    Response(Operation),
}

impl Source {
    /// All sources, in the order in which results list them.
    fn all() -> impl Iterator<Item = Self> {
        let classes = Class::ALL
            .into_iter()
            .flat_map(|class| [Self::Header(class), Self::Router(class)]);
        let operations = Operation::ALL
            .into_iter()
            .flat_map(|operation| [Self::Network(operation), Self::Response(operation)]);
        classes.chain(operations)
    }

    fn name(self) -> String {
        match self {
            Self::Header(class) => format!("{}.header", class.name()),
            Self::Router(class) => format!("{}.router", class.name()),
            Self::Network(operation) => format!("{}.network", operation.name()),
            Self::Response(operation) => format!("{}.response", operation.name()),
        }
    }

    /// Whether the traffic of `subject` can give it at all, however rarely.
    fn occurs(self, subject: &Subject) -> bool {
        let traffic = &subject.traffic;
        let shares = traffic.collectives;
        let io = traffic.io_probability > 0.0;
        let plain = shares.broadcast + shares.scatter + shares.gather < 1.0;
        let reads = io && plain && traffic.read_ratio > 0.0;
        let writes = io && plain && traffic.read_ratio < 1.0;
        let (scatters, gathers) = (io && shares.scatter > 0.0, io && shares.gather > 0.0);
        let broadcasts = io && shares.broadcast > 0.0;
        let several = subject.machine.placement().io_node_count() > 1;
        let hot = traffic.hot_io_node.is_some();
        let remote = several && (traffic.locality < 1.0 || hot);
        match self {
            Self::Header(class) | Self::Router(class) => match class {
                Class::PePe => traffic.io_probability < 1.0,
                Class::Request => reads || broadcasts || scatters,
                Class::Write => writes || gathers,
                Class::Forward => remote && (reads || broadcasts || scatters) || several && gathers,
                Class::ReplyLocal => {
                    reads && (traffic.locality > 0.0 || !several || hot) || scatters
                }
                Class::ReplyRemote => several && (remote && reads || scatters),
                Class::Redirect => io && subject.machine.redirects(),
                Class::Broadcast => broadcasts,
            },
            Self::Network(operation) | Self::Response(operation) => match operation {
                Operation::Read => reads,
                Operation::Write => writes,
                Operation::Broadcast => broadcasts,
                Operation::Scatter => scatters,
                Operation::Gather => gathers,
            },
        }
    }

    fn of(self, recorders: &Recorders) -> &Recorder {
        match self {
            Self::Header(class) => &recorders.header[class as usize],
            Self::Router(class) => &recorders.router[class as usize],
            Self::Network(operation) => &recorders.network[operation as usize],
            Self::Response(operation) => &recorders.response[operation as usize],
        }
    }
}

/// Names of the latencies that can be measured.
pub fn measure_names() -> Vec<String> {
    Source::all().map(Source::name).collect()
}

/// What is known of a measure during a run.
pub(crate) enum Known {
    /// Its mean and interval.
    Estimate(Estimate),
    /// It occurs, but too rarely so far.
    TooFew,
    /// This traffic cannot give it.
    Absent,
}

/// The present estimate of the measure `name`.
pub(crate) fn estimate(
    replications: &[&Recorders],
    rules: &Rules,
    subject: &Subject,
    name: &str,
) -> Known {
    let Some(source) = Source::all().find(|source| source.name() == name) else {
        return Known::Absent;
    };
    if !source.occurs(subject) {
        return Known::Absent;
    }
    let counts: Vec<u64> = replications
        .iter()
        .map(|recorders| source.of(recorders).series().count())
        .collect();
    if counts.iter().any(|&count| count < SAMPLES_MIN) {
        return Known::TooFew;
    }
    let recorders = replications
        .iter()
        .map(|recorders| source.of(recorders).series());
    match ReplicationMeans::new(recorders, rules.warm_up()) {
        // Half of the run is gone as warm-up and it may not have been enough.
        Ok(means) if !means.warm_up_detected => Known::TooFew,
        Ok(means) => match interval(&means, replications, source, rules) {
            Ok((estimate, true)) => Known::Estimate(estimate),
            Ok((_, false)) | Err(_) => Known::TooFew,
        },
        Err(_) => Known::TooFew,
    }
}

/// The interval of a measure, and whether what it is made of is independent enough to stop on.
fn interval(
    means: &ReplicationMeans,
    replications: &[&Recorders],
    source: Source,
    rules: &Rules,
) -> Result<(Estimate, bool), Error> {
    match (rules.stop.intervals, replications) {
        (Intervals::BatchMeans, [only]) => {
            let series = source.of(only).series();
            let truncation = isthmus_statistics::Truncation {
                observations: means.discarded[0],
                detected: means.warm_up_detected,
            };
            let means = BatchMeans::from_series(series, truncation, rules.stop.confidence)?;
            Ok((means.estimate, means.independent))
        }
        _ => Ok((means.estimate(rules.stop.confidence)?, true)),
    }
}

/// Everything that a point's replications say.
pub(crate) struct Report {
    pub measures: Vec<Measure>,
    pub histograms: Vec<Histogram>,
    pub channels: Vec<ChannelUse>,
    pub verdict: VerdictSummary,
}

impl Report {
    pub fn new(
        measurement: &Measurement,
        machine: &Machine,
        rules: &Rules,
        test: &SaturationTest,
        overlay: &Overlay,
    ) -> Self {
        let cycle_us = machine.clock().cycle_us();
        let mut report = Self {
            measures: rates(measurement, machine, rules),
            histograms: Vec::new(),
            channels: if rules.measure.channels {
                channels(measurement, machine, overlay)
            } else {
                Vec::new()
            },
            verdict: verdict(measurement, test),
        };
        for source in Source::all() {
            report.add(source, measurement, rules, overlay, cycle_us);
        }
        report
    }

    fn add(
        &mut self,
        source: Source,
        measurement: &Measurement,
        rules: &Rules,
        overlay: &Overlay,
        cycle_us: f64,
    ) {
        let finished = measurement.replications.iter();
        let replications: Vec<&Recorders> = finished.map(|f| &f.recorders).collect();
        let Ok(summary) = Summary::of(
            replications.iter().map(|recorders| source.of(recorders)),
            rules.warm_up(),
            &rules.measure.percentiles,
            rules.stop.confidence,
        ) else {
            // It does not occur, or not in every replication.
            return;
        };
        let estimate = interval(&summary.replications, &replications, source, rules)
            .map_or(summary.mean, |(estimate, _)| estimate)
            .scaled(cycle_us);
        let name = source.name();
        let analytic = overlay.measures.get(&name).copied();
        let (discarded, used): (u64, u64) = (
            summary.replications.discarded.iter().sum(),
            summary.replications.used.iter().sum(),
        );
        self.measures.push(Measure {
            unit: "us".to_owned(),
            mean: Some(estimate.mean),
            low: finite(estimate.low),
            high: finite(estimate.high),
            samples: used,
            percentiles: summary
                .percentiles
                .iter()
                .map(|percentile| {
                    let estimate = percentile.estimate.scaled(cycle_us);
                    Percentile {
                        percent: percentile.percentile,
                        value: estimate.mean,
                        low: finite(estimate.low),
                        high: finite(estimate.high),
                        resolved: percentile.resolved,
                    }
                })
                .collect(),
            analytic,
            residual: analytic.map(|value| estimate.mean / value - 1.0),
            target: {
                let (of, relative) = rules.targets();
                of.contains(&name).then_some(relative)
            },
            warmup_share: discarded as f64 / (discarded + used) as f64,
            name: name.clone(),
        });
        if rules.measure.histograms {
            self.histograms.push(Histogram {
                measure: name,
                unit: "us".to_owned(),
                bins: summary
                    .histogram
                    .buckets()
                    .map(|bucket| {
                        let upper = (bucket.upper + 1) as f64 * cycle_us;
                        (bucket.lower as f64 * cycle_us, upper, bucket.count)
                    })
                    .collect(),
            });
        }
    }
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

/// Offered and accepted demands per PE and millisecond: all, and I/O demands alone.
fn rates(measurement: &Measurement, machine: &Machine, rules: &Rules) -> Vec<Measure> {
    let per_ms = 1e3 / machine.clock().cycle_us() / f64::from(machine.cube().node_count());
    let rates: Vec<Rates> = measurement
        .replications
        .iter()
        .filter_map(|replication| replication.recorders.rates())
        .collect();
    let measure = |name: &str, values: Vec<f64>| {
        let estimate = Estimate::from_samples(&values, rules.stop.confidence).ok()?;
        let estimate = estimate.scaled(per_ms);
        Some(Measure {
            name: name.to_owned(),
            unit: "1/ms".to_owned(),
            mean: Some(estimate.mean),
            low: finite(estimate.low),
            high: finite(estimate.high),
            samples: values.len() as u64,
            percentiles: Vec::new(),
            analytic: None,
            residual: None,
            target: None,
            warmup_share: 0.0,
        })
    };
    let of = |pick: fn(&Rates) -> f64| rates.iter().map(pick).collect::<Vec<f64>>();
    [
        measure("offered", of(|rate| rate.offered.iter().sum())),
        measure("accepted", of(|rate| rate.done.iter().sum())),
        measure("io.offered", of(|rate| rate.offered[Flow::Io as usize])),
        measure("io.accepted", of(|rate| rate.done[Flow::Io as usize])),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn verdict(measurement: &Measurement, test: &SaturationTest) -> VerdictSummary {
    let growth = measurement.judgement.map(|judgement| judgement.growth);
    let or_zero = |value: Option<f64>| value.filter(|v| v.is_finite()).unwrap_or(0.0);
    VerdictSummary {
        origin: Origin::Simulation,
        verdict: measurement.verdict.to_string(),
        flow: match measurement.flow {
            Flow::Messages => "messages",
            Flow::Io => "io",
        }
        .to_owned(),
        growth: or_zero(growth.map(|g| g.mean)),
        growth_low: or_zero(growth.map(|g| g.low)),
        growth_high: or_zero(growth.map(|g| g.high)),
        threshold: test.threshold,
        error_rate: test.alpha,
    }
}

/// Largest machine, in channels, whose channels are listed one by one.
const CHANNELS_LISTED_MAX: usize = 20_000;

fn channels(measurement: &Measurement, machine: &Machine, overlay: &Overlay) -> Vec<ChannelUse> {
    let layout = machine.layout();
    let counted: Vec<(&[u64], u64)> = measurement
        .replications
        .iter()
        .filter_map(|replication| replication.channels.as_ref())
        .map(|(flits, cycles)| (flits.as_slice(), *cycles))
        .collect();
    if counted.is_empty() {
        return Vec::new();
    }
    let utilisation = |channel: usize, lanes: u32| {
        let sum: f64 = counted
            .iter()
            .map(|(flits, cycles)| flits[channel] as f64 / *cycles as f64)
            .sum();
        sum / counted.len() as f64 / f64::from(lanes)
    };
    let (mut means, mut single) = (Vec::new(), Vec::new());
    for kind in ChannelKind::ALL {
        let lanes = layout.lanes(kind);
        let (mut sum, mut highest, mut count) = (0.0, 0.0f64, 0);
        for channel in layout.of_kind(kind) {
            let Some(name) = layout.name(channel, machine.placement().io_nodes()) else {
                continue;
            };
            let used = utilisation(channel as usize, lanes);
            sum += used;
            highest = highest.max(used);
            count += 1;
            single.push(ChannelUse {
                kind: kind.name().to_owned(),
                from: Some(name.from),
                to: Some(name.to),
                utilisation: used,
                highest: None,
                analytic: None,
            });
        }
        if count > 0 {
            means.push(ChannelUse {
                kind: kind.name().to_owned(),
                from: None,
                to: None,
                utilisation: sum / f64::from(count),
                highest: Some(highest),
                analytic: overlay.utilisation.get(kind.name()).copied(),
            });
        }
    }
    if single.len() <= CHANNELS_LISTED_MAX {
        means.append(&mut single);
    }
    means
}
