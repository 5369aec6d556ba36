//! How much the parts of a machine, such as links and disks, are used, and which part limits the machine.

use crate::overlay::Overlay;
use crate::result::{Bottleneck, ChannelUse};

/// A part may be the bottleneck if its occupancy is at least this fraction of the highest occupancy of any
/// part.
const BOTTLENECK_OCCUPANCY_MIN: f64 = 0.9;

/// Use of the parts of a machine at a point, with the bottleneck.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Uses {
    /// One row for the mean of each kind of part, then, if requested, one row for each part.
    pub rows: Vec<ChannelUse>,
    /// The part whose capacity limits the machine; `None` if nothing was used.
    pub bottleneck: Option<Bottleneck>,
}

/// Use of one part of a machine, such as a link or a disk, over all replications.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// Kind of the part in words, as in [`ChannelUse::kind`].
    pub kind: String,
    /// Number of the node at which the part is. If the part is a link, this is the node at its start.
    pub from: u32,
    /// Number of the node where the part ends, if it connects two nodes.
    pub to: Option<u32>,
    /// Share of the part's capacity that was used, 0 to 1.
    pub utilisation: f64,
    /// Share of the time for which the part was occupied, 0 to 1.
    pub busy: f64,
    /// Total time for which messages occupied the part, in us, and the number of these messages.
    pub held: Option<(f64, f64)>,
    /// Share of the part's capacity that the buffer at its end permits, 0 to 1; `None` if it permits all.
    pub let_through: Option<f64>,
}

impl Part {
    /// Return the row of the result that describes this part: its kind, its ends and its utilisation.
    fn row(&self) -> ChannelUse {
        ChannelUse {
            kind: self.kind.clone(),
            from: Some(self.from),
            to: self.to,
            utilisation: self.utilisation,
            highest: None,
            busy: self.busy,
            busiest: None,
            held_us: mean_held([self]),
            analytic: None,
        }
    }

    /// Return whether the part is at a node: the node's interface, or a link to or from the node.
    pub fn is_at(&self, node: u32) -> bool {
        self.from == node || self.to == Some(node)
    }

    /// Describe this part as the bottleneck of the machine. `holder` names the unit of data that occupies it, such as
    /// `packet`; `server` is the number of its I/O server, if it belongs to one.
    pub fn bottleneck(&self, holder: &str, server: Option<u32>) -> Bottleneck {
        Bottleneck {
            kind: self.kind.clone(),
            from: self.from,
            to: self.to,
            busy: self.busy,
            held_us: mean_held([self]),
            holder: holder.to_owned(),
            server,
            let_through: self.let_through,
        }
    }
}

/// Return the mean time for which a message occupies one of these parts, in us; `None` without messages.
fn mean_held<'a>(parts: impl IntoIterator<Item = &'a Part>) -> Option<f64> {
    let held = parts.into_iter().map(|part| part.held);
    let (time, times) = held.flatten().fold((0.0, 0.0), |sum, (time, times)| {
        (sum.0 + time, sum.1 + times)
    });
    (times > 0.0).then(|| time / times)
}

/// Return the bottleneck; `None` if no part is used. Among the parts whose occupancy is about the highest, it is the
/// one that carries most. The other parts are occupied by messages that wait for it.
pub fn find_bottleneck<'a>(parts: impl IntoIterator<Item = &'a Part> + Clone) -> Option<&'a Part> {
    let busiest = parts.clone().into_iter().map(|part| part.busy);
    let least = BOTTLENECK_OCCUPANCY_MIN * busiest.fold(0.0, f64::max);
    let full = parts
        .into_iter()
        .filter(|part| part.busy > 0.0 && part.busy >= least);
    full.fold(None, |best: Option<&Part>, part| match best {
        Some(best) if best.utilisation >= part.utilisation => Some(best),
        _ => Some(part),
    })
}

/// Return one row for the mean of each kind of part, in the order in which the kinds first occur. If
/// `listed`, add one row for each part.
pub fn rows(parts: &[Part], overlay: &Overlay, listed: bool) -> Vec<ChannelUse> {
    let mut kinds: Vec<(&str, Vec<&Part>)> = Vec::new();
    for part in parts {
        match kinds.iter_mut().find(|(kind, _)| *kind == part.kind) {
            Some((_, of)) => of.push(part),
            None => kinds.push((&part.kind, vec![part])),
        }
    }
    let highest = |of: &[&Part], value: fn(&Part) -> f64| {
        let values = of.iter().map(|part| value(part));
        Some(values.fold(0.0, f64::max))
    };
    let mut rows: Vec<ChannelUse> = kinds
        .iter()
        .map(|(kind, of)| {
            let mean = |value: fn(&Part) -> f64| {
                of.iter().map(|part| value(part)).sum::<f64>() / of.len() as f64
            };
            ChannelUse {
                kind: (*kind).to_owned(),
                from: None,
                to: None,
                utilisation: mean(|part| part.utilisation),
                highest: highest(of, |part| part.utilisation),
                busy: mean(|part| part.busy),
                busiest: highest(of, |part| part.busy),
                held_us: mean_held(of.iter().copied()),
                analytic: overlay.utilisation.get(*kind).copied(),
            }
        })
        .collect();
    if listed {
        rows.extend(parts.iter().map(Part::row));
    }
    rows
}
