//! Conversion of the replications of a point into the measures, histograms and the verdict of its result.

use crate::censored::CensoredObservations;
use crate::known::{finite, interval};
use crate::measurement::Measurement;
use crate::rates;
use crate::recorders::Recorders;
use crate::result::{Bins, Histogram, Measure, NodeUse, Origin, Percentile, State, VerdictSummary};
use crate::rules::Rules;
use crate::subject::{Counted, Figure, Overlay, Subject};
use crate::uses::Uses;
use isthmus_statistics::{SaturationTest, Summary, Verdict};

/// Minimum factor by which the upper half of each confidence interval is widened at a point with an undecided
/// verdict.
const STRETCH_UNDECIDED: f64 = 2.0;

/// Results of a point, computed from all of its replications.
pub(crate) struct Report {
    pub measures: Vec<Measure>,
    pub histograms: Vec<Histogram>,
    pub uses: Uses,
    pub nodes: Vec<NodeUse>,
    pub verdict: VerdictSummary,
}

impl Report {
    /// Compute the results of a point from its replications.
    pub fn new(
        measurement: &Measurement,
        subject: &dyn Subject,
        rules: &Rules,
        test: &SaturationTest,
        overlay: &Overlay,
    ) -> Self {
        let finished = measurement.replications.iter();
        let counted: Vec<Counted> = finished.filter_map(|f| f.counted.clone()).collect();
        let mut report = Self {
            measures: rates::rates(measurement, subject, rules, overlay),
            histograms: Vec::new(),
            uses: Uses::default(),
            nodes: Vec::new(),
            verdict: verdict(measurement, subject, test),
        };
        if !counted.is_empty() {
            report.uses = subject.uses(&counted, overlay);
            report.nodes = subject.nodes(&counted);
        }
        if let (Some(_), [only]) = (subject.exact(), &measurement.replications[..]) {
            let exact = only.figures.iter().map(|figure| exact(figure, overlay));
            report.measures.extend(exact);
        }
        for (at, name) in subject.measures().iter().enumerate() {
            report.add((at, name), measurement, rules, overlay, subject.cycle_us());
        }
        report
    }

    /// Add the results of the latency at position `at` of the measures.
    fn add(
        &mut self,
        (at, name): (usize, &String),
        measurement: &Measurement,
        rules: &Rules,
        overlay: &Overlay,
        cycle_us: f64,
    ) {
        let finished = measurement.replications.iter();
        let replications: Vec<&Recorders> = finished.map(|f| &f.recorders).collect();
        let censored = CensoredObservations::new(measurement, at);
        // Without a verdict the run may not have reached a steady state: widen its confidence intervals.
        let least = match (measurement.judged.verdict, measurement.judged.served) {
            (Verdict::Undecided, None) => STRETCH_UNDECIDED,
            _ => 1.0,
        };
        let recorders = replications.iter().map(|r| &r.latencies[at]);
        let percents = &rules.measure.percentiles;
        let confidence = rules.stop.confidence;
        let Ok(summary) = Summary::of(recorders, rules.warm_up(), percents, confidence, least)
        else {
            // A replication has no completed observation of the measure: report only a lower bound, if any.
            self.measures
                .extend(censored.alone(name, confidence, cycle_us));
            return;
        };
        let stretch = summary.replications.stretch.max(least);
        let estimate = interval(&summary.replications, &replications, at, rules)
            .map_or(summary.mean, |(estimate, _)| estimate.positive(stretch))
            .scaled(cycle_us);
        let (analytic, outside) = overlay.split(name);
        let (discarded, used): (u64, u64) = (
            summary.replications.discarded.iter().sum(),
            summary.replications.used.iter().sum(),
        );
        // If nothing is random, all replications are equal, and the interval of the mean has width 0 even if
        // the mean still drifts. Detect this.
        let judged = &measurement.judged;
        let unsteady = judged.verdict != Verdict::Stable && judged.served.is_none();
        let varies = summary.histogram.min() != summary.histogram.max();
        let moves_on = unsteady && varies && estimate.half_width == 0.0;
        let no_end = moves_on || censored.is_late(summary.mean.mean, used);
        // Age of the incomplete observations, which the mean of the completed ones leaves out, per completed
        // one.
        let left_out = match varies {
            true => censored.total_age() * cycle_us / used as f64,
            false => 0.0,
        };
        let percentiles = censored.percentiles(&summary, rules, least);
        self.measures.push(Measure {
            unit: "us".to_owned(),
            mean: Some(estimate.mean),
            low: finite(estimate.low),
            high: finite(estimate.high + left_out).filter(|_| !no_end),
            each: (summary.replications.means.iter())
                .map(|mean| mean * cycle_us)
                .collect(),
            samples: used,
            unended: censored.count(),
            percentiles: percentiles
                .iter()
                .map(|percentile| {
                    let found = percentile.scaled(cycle_us);
                    Percentile {
                        percent: percentile.percentile,
                        value: found.value,
                        low: finite(found.low),
                        high: finite(found.high),
                        each: found.each,
                        resolved: percentile.resolved,
                    }
                })
                .collect(),
            analytic,
            residual: analytic.map(|value| estimate.mean / value - 1.0),
            outside,
            target: {
                let (of, relative) = rules.targets();
                of.contains(name).then_some(relative)
            },
            warmup_share: discarded as f64 / (discarded + used) as f64,
            name: name.clone(),
        });
        if rules.measure.histograms {
            let buckets = || summary.histogram.buckets();
            self.histograms.push(Histogram {
                measure: name.clone(),
                unit: "us".to_owned(),
                step: cycle_us,
                bins: Bins {
                    lower: buckets().map(|bucket| bucket.lower).collect(),
                    upper: buckets().map(|bucket| bucket.upper + 1).collect(),
                    count: buckets().map(|bucket| bucket.count).collect(),
                },
            });
        }
    }
}

/// Return the measure for a value without statistical error: both ends of its confidence interval are the
/// value.
fn exact(figure: &Figure, overlay: &Overlay) -> Measure {
    let (analytic, outside) = overlay.split(figure.name);
    Measure {
        name: figure.name.to_owned(),
        unit: figure.unit.to_owned(),
        mean: Some(figure.value),
        low: Some(figure.value),
        high: Some(figure.value),
        each: vec![figure.value],
        samples: 1,
        analytic,
        residual: analytic.map(|value| figure.value / value - 1.0),
        outside,
        ..Measure::default()
    }
}

/// Return whether a point is stable, saturated or undecided, with the evidence for it.
fn verdict(
    measurement: &Measurement,
    subject: &dyn Subject,
    test: &SaturationTest,
) -> VerdictSummary {
    let judged = &measurement.judged;
    let growth = judged.judgement.map(|judgement| judgement.growth);
    let or_zero = |value: Option<f64>| value.filter(|v| v.is_finite()).unwrap_or(0.0);
    VerdictSummary {
        origin: Origin::Simulation,
        verdict: match (measurement.collapse(), judged.served) {
            (Some(_), _) => State::Collapsed,
            (None, Some(true)) => State::Completed,
            (None, Some(false)) => State::Incomplete,
            (None, None) => judged.verdict.into(),
        },
        flow: subject.flows()[judged.flow].name.to_string(),
        growth: or_zero(growth.map(|g| g.mean)),
        growth_low: or_zero(growth.map(|g| g.low)),
        // Limit the upper end of the interval to 1: the backlog cannot grow faster than the offered load.
        growth_high: or_zero(growth.map(|g| g.high.min(1.0))),
        threshold: test.threshold,
        error_rate: test.alpha,
    }
}
