//! What a sender can send when only so many of its messages may be under way: their data over the time
//! that one of them takes alone.

use isthmus_workload::Outstanding;

/// Part of what it could send from which on a limit is worth a word where nothing else is asked for.
const NEAR: f64 = 0.95;

/// A sender with a limit.
#[derive(Debug, Clone)]
pub(crate) struct Sender<'s> {
    /// The field of the limit.
    pub field: &'s str,
    /// Who it is: `a node of job io`.
    pub who: &'s str,
    /// What is limited: `message of 320 B`.
    pub what: &'s str,
    pub outstanding: Outstanding,
    /// From being handed over until it is complete, in microseconds, with nothing else about.
    pub alone_us: f64,
    /// What one of them counts, in units.
    pub each: f64,
    /// What is asked for, in units per microsecond; `None` in a closed loop.
    pub asked: Option<f64>,
    /// What could be sent without the limit, if that is known.
    pub most: Option<f64>,
}

impl Sender<'_> {
    /// Units per microsecond that the limit allows.
    pub fn bound(&self) -> Option<f64> {
        let most = self.outstanding.limit()?;
        (self.alone_us > 0.0).then(|| f64::from(most) * self.each / self.alone_us)
    }

    /// A sentence, if the limit holds the sender below what it asks for. `amount` says units per
    /// microsecond in words.
    pub fn remark(&self, amount: impl Fn(f64) -> String) -> Option<String> {
        let bound = self.bound()?;
        let than = match (self.asked, self.most) {
            (Some(asked), _) if bound < asked => {
                format!("less than the {} that it asks for", amount(asked))
            }
            (None, Some(most)) if bound < NEAR * most => {
                format!("where it could send {}", amount(most))
            }
            _ => return None,
        };
        let count = self.outstanding.limit()?;
        let (what, us) = (
            self.what,
            isthmus_experiment::capacity::number(self.alone_us),
        );
        Some(format!(
            "With {count} {what} under way at a time, {us} us alone, {} sends at most {}, {than}: raise {}.",
            self.who,
            amount(bound),
            self.field,
        ))
    }
}
