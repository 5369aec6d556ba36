//! Random messages that the conformance tests offer to a simulation engine.

use crate::{Candidate, ReportKind};
use isthmus_kernel::Cycles;
use proptest::prelude::*;

/// A message that the conformance tests offer to a simulation engine.
#[derive(Debug, Clone)]
pub struct Offer {
    /// Number of the node that sends the message.
    pub from: u32,
    /// Number of the node that receives the message; never the sending node.
    pub to: u32,
    /// Size of the message, 1 to [`Candidate::SIZE_MAX`].
    pub size: u32,
    /// For a follow-up: the kind of event, and the number of the message, that trigger this offer.
    /// If the event is the generation, node `from` is the sender of that message; if it is the
    /// delivery, node `from` is its receiver.
    pub after: Option<(ReportKind, usize)>,
    /// The time of the offer. For a follow-up, the delay after the event: after the cycle of the
    /// generation, or after the time at which the other message is complete.
    pub time: Cycles,
}

/// Random messages for one test case. Each follow-up comes after the message whose generation or
/// delivery triggers it.
#[derive(Debug, Clone)]
pub struct Case {
    /// The messages. The number of a message is its index.
    pub offers: Vec<Offer>,
}

impl Case {
    /// Returns the number of follow-ups: messages that are offered when another one is generated or
    /// delivered.
    pub fn follow_ups(&self) -> u64 {
        let follow_ups = self.offers.iter().filter(|offer| offer.after.is_some());
        follow_ups.count() as u64
    }

    /// Returns the time and number of each message that does not depend on another message, ordered
    /// by time.
    pub(crate) fn in_order(&self) -> Vec<(Cycles, usize)> {
        let offers = self.offers.iter().enumerate();
        let mut first: Vec<(Cycles, usize)> = offers
            .filter(|(_, offer)| offer.after.is_none())
            .map(|(number, offer)| (offer.time, number))
            .collect();
        first.sort_unstable();
        first
    }

    /// Offers to an engine all messages that do not depend on others, each `shift` cycles later
    /// than its time.
    pub(crate) fn offer_all<C: Candidate>(&self, engine: &mut C::Engine, shift: Cycles) {
        for (time, number) in self.in_order() {
            C::offer(engine, shift + time, number, &self.offers[number]);
        }
    }
}

/// Generates test cases of random messages. Some messages are offered at the same time, others one
/// after another.
pub(crate) fn cases(nodes: u32, size_max: u32) -> impl Strategy<Value = Case> {
    let message = (
        prop_oneof![1 => Just(0u64), 2 => 0u64..50, 2 => 0u64..500],
        [any::<prop::sample::Index>(), any::<prop::sample::Index>()],
        prop_oneof![1..=size_max.min(4), 1..=size_max],
        prop::option::weighted(0.4, (any::<bool>(), any::<prop::sample::Index>())),
    );
    prop::collection::vec(message, 1..50).prop_map(move |raw| {
        let mut offers: Vec<Offer> = Vec::new();
        for (time, [from, to], size, after) in raw {
            let after = after.filter(|_| !offers.is_empty());
            let after = after.map(|(delivered, of)| {
                let what = match delivered {
                    true => ReportKind::Delivered,
                    false => ReportKind::Generated,
                };
                (what, of.index(offers.len()))
            });
            let from = match after {
                Some((ReportKind::Delivered, of)) => offers[of].to,
                Some((ReportKind::Generated, of)) => offers[of].from,
                None => from.index(nodes as usize) as u32,
            };
            // The receiver is any node except the sender of the message.
            let to = (from + 1 + to.index(nodes as usize - 1) as u32) % nodes;
            offers.push(Offer {
                from,
                to,
                size,
                after,
                time,
            });
        }
        Case { offers }
    })
}
