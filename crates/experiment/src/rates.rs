//! Offered, accepted and other rates of a point, with their intervals.

use crate::known::finite;
use crate::measurement::Measurement;
use crate::recorders::Recorders;
use crate::result::Measure;
use crate::rules::Rules;
use crate::subject::{Fate, Overlay, RateInfo, Subject};
use isthmus_kernel::Cycles;
use isthmus_statistics::{Estimate, Events, Verdict};

/// Return the rates of a point, such as those of offered and of delivered data, with confidence intervals.
/// Rates of a machine that has collapsed are meaningless, because the number of arrived messages depends on
/// the time of the collapse. Rates of a run without a whole period are meaningless too, because they depend
/// on the phase of the period in which the run ends.
pub(crate) fn rates(
    measurement: &Measurement,
    subject: &dyn Subject,
    rules: &Rules,
    overlay: &Overlay,
) -> Vec<Measure> {
    let collapsed = measurement.collapse().is_some();
    let recorders: Vec<&Recorders> = (measurement.replications.iter())
        .map(|finished| &finished.recorders)
        .collect();
    let measure = |rate: &RateInfo| {
        if collapsed && rate.fate != Fate::Offered {
            return None;
        }
        let counts = counts(&recorders, rate.fate, &rate.flows, subject.period())?;
        let values: Vec<f64> = counts
            .iter()
            .map(|&(n, cycles)| n as f64 / cycles as f64)
            .collect();
        let events = (rate.fate != Fate::Carried).then(|| Events::of_replications(&counts));
        let estimate = Estimate::of_rate(&values, events, rules.stop.confidence).ok()?;
        let estimate = estimate.scaled(rate.scale);
        let owed = 1.0 + unserved_share(measurement, &recorders, rate, subject.period());
        let (analytic, outside) = overlay.split(&rate.name);
        Some(Measure {
            name: rate.name.to_string(),
            unit: rate.unit.to_owned(),
            mean: Some(estimate.mean),
            low: finite(estimate.low),
            high: finite(estimate.high * owed),
            each: values.iter().map(|value| value * rate.scale).collect(),
            samples: values.len() as u64,
            analytic,
            residual: analytic.map(|value| estimate.mean / value - 1.0),
            outside,
            ..Measure::default()
        })
    };
    subject.rates().iter().filter_map(measure).collect()
}

/// Return, for each replication, the number of demands of `flows` with the event `fate` and the number of
/// cycles over which they were counted.
fn counts(
    recorders: &[&Recorders],
    fate: Fate,
    flows: &[usize],
    period: Cycles,
) -> Option<Vec<(u64, Cycles)>> {
    let each = recorders.iter();
    each.map(|recorders| recorders.counted(fate, flows, period))
        .collect()
}

/// Return the share by which the accepted rate of a very long run may exceed the measured rate: if the
/// verdict on saturation is undecided, a longer run may still serve the whole backlog.
fn unserved_share(
    measurement: &Measurement,
    recorders: &[&Recorders],
    rate: &RateInfo,
    period: Cycles,
) -> f64 {
    if measurement.judged.verdict != Verdict::Undecided
        || !matches!(rate.fate, Fate::Done | Fate::Carried)
    {
        return 0.0;
    }
    let total = |fate: Fate| -> f64 {
        let counts = counts(recorders, fate, &rate.flows, period).unwrap_or_default();
        counts.iter().map(|&(number, _)| number as f64).sum()
    };
    let (offered, served) = (
        total(Fate::Offered),
        total(Fate::Done) + total(Fate::Dropped),
    );
    if served == 0.0 {
        return 0.0;
    }
    (offered / served - 1.0).max(0.0)
}
