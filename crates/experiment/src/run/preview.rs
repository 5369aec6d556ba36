//! Information about an experiment before it runs: its machines, their capacity, and warnings.

use super::Experiment;
use super::whole::longest_period;
use crate::capacity::Capacity;
use crate::kind::Kind;
use crate::result::{AxisValue, MachineSummary};
use crate::run_length::PERIODS_MIN;
use crate::subject::Subject;
use isthmus_scenario::StopRule;
use isthmus_units::Time;
use std::sync::Arc;

impl Experiment {
    /// Return the data about each machine of the sweep that reports show.
    pub fn machines(&self) -> Vec<MachineSummary> {
        self.machines.summaries()
    }

    /// Return the built machines of the sweep, in the order of [`Experiment::machines`], if they are of kind
    /// `K`.
    pub fn built<K: Kind>(&self) -> impl Iterator<Item = &K::Built> {
        self.machines.all().filter_map(|built| built.as_::<K>())
    }

    /// Return, for each combination of the axes except the load axis, the demand on the machine's parts and
    /// their maximum throughput. The demand is that of the highest load of the points, or of the search if
    /// there are no points.
    pub fn capacity(&self) -> Vec<Capacity> {
        let load_axis =
            (self.scenario.axes.iter()).position(|axis| self.scenario.is_load(&axis.key));
        let of_variant = |values: &[AxisValue]| -> Vec<AxisValue> {
            let values = values.iter().enumerate();
            let values = values.filter(|(axis, _)| Some(*axis) != load_axis);
            values.map(|(_, value)| value.clone()).collect()
        };
        let mut variants: Vec<(Vec<AxisValue>, Arc<dyn Subject>)> = Vec::new();
        for job in &self.points {
            let variant = of_variant(&job.values);
            match variants.iter_mut().find(|(known, _)| *known == variant) {
                None => variants.push((variant, Arc::clone(job.built()))),
                Some((_, highest)) if highest.load() < job.built().load() => {
                    *highest = Arc::clone(job.built());
                }
                Some(_) => {}
            }
        }
        if variants.is_empty() {
            for job in &self.searches {
                let values = job.values.iter().flatten();
                let subject = job.subject(self.machines.get(job.machine), job.search.high);
                variants.push((values.cloned().collect(), subject));
            }
        }
        let capacity = |(variant, subject): (Vec<AxisValue>, Arc<dyn Subject>)| Capacity {
            variant,
            load: subject.load(),
            ..subject.capacity()
        };
        variants.into_iter().map(capacity).collect()
    }

    /// Return warnings, one line each, about results that may mislead because of the length of the run.
    pub fn warnings(&self) -> Vec<String> {
        let subjects: Vec<&dyn Subject> = self.points.iter().map(|job| &**job.built()).collect();
        let period = longest_period(&subjects);
        if period == Time::ZERO {
            return Vec::new();
        }
        let enough = Time::from_ps(period.ps().saturating_mul(PERIODS_MIN));
        let mut warnings = Vec::new();
        match self.scenario.stop.rule {
            StopRule::FixedTime { time } if time < period => warnings.push(format!(
                "stop.time: {time} is less than a period of the checkpoints, {period}: accepted \
                 bandwidths stay unknown; give {enough} or more"
            )),
            StopRule::FixedTime { time } if self.options.quick && time < enough => {
                warnings.push(format!(
                    "stop.time: {time} holds fewer than {PERIODS_MIN} periods of the checkpoints, \
                     {period}, so --quick does not shorten it"
                ));
            }
            StopRule::Fixed { messages } => {
                let least = subjects
                    .iter()
                    .map(|subject| subject.period_messages())
                    .max();
                let least = least.unwrap_or(0);
                if messages < least && !self.options.quick {
                    warnings.push(format!(
                        "stop.messages: {messages} are less than a checkpoint has, {least}: accepted \
                         bandwidths stay unknown; give stop.time = \"{enough}\" or more"
                    ));
                }
            }
            _ => {}
        }
        warnings
    }

    /// Return the axis values, the machine and the workload of every point, if the machines are of kind `K`.
    pub fn cases<K: Kind>(&self) -> impl Iterator<Item = (&[AxisValue], &K::Built, &K::Work)> {
        self.points.iter().filter_map(|job| {
            let built = self.machines.get(job.machine).as_::<K>()?;
            Some((&*job.values, built, job.workload.as_()?))
        })
    }
}
