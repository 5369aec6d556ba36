//! Send rate under a limit on messages in flight. The rate is the data of the messages in flight, divided by the
//! time that one message takes on an idle machine.

use isthmus_workload::Outstanding;

/// A sender in a closed loop gets a remark if its limit on messages in flight reduces its send rate below this share
/// of the maximum.
const NEAR: f64 = 0.95;

/// A sender with a limit on messages in flight, with the data for a remark on this limit.
#[derive(Debug, Clone)]
pub(crate) struct Sender<'s> {
    /// Key of the scenario field that sets the limit on outstanding messages.
    pub field: &'s str,
    /// Text that names the sender in the remark, such as `a node of job io`.
    pub who: &'s str,
    /// Text that names a message in the remark, such as `message of 320 B`.
    pub what: &'s str,
    /// Limit on the messages that the sender has in flight at the same time.
    pub outstanding: Outstanding,
    /// Time from the hand-over of a message until it is complete on an idle machine, in microseconds.
    pub alone_us: f64,
    /// Amount of data of each message, in the unit of the load, such as bytes.
    pub each: f64,
    /// Offered load, in units per microsecond; `None` in a closed loop.
    pub asked: Option<f64>,
    /// Maximum send rate that the sender would have without the limit, in units of data per microsecond; `None` if it
    /// is unknown.
    pub most: Option<f64>,
}

impl Sender<'_> {
    /// Return the maximum send rate with the limit on outstanding messages, in units of data per microsecond;
    /// `None` if there is no limit.
    pub fn bound(&self) -> Option<f64> {
        let most = self.outstanding.limit()?;
        (self.alone_us > 0.0).then(|| f64::from(most) * self.each / self.alone_us)
    }

    /// Return a sentence for the results if the limit on outstanding messages keeps the sender below its offered
    /// load or its maximum rate; otherwise `None`. `amount` formats a rate in units per microsecond.
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
