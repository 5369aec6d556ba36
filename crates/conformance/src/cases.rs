//! What is offered.

use crate::{Candidate, What};
use isthmus_kernel::Cycles;
use proptest::prelude::*;

/// A message.
#[derive(Debug, Clone)]
pub struct Offer {
    /// The node that it is from.
    pub from: u32,
    /// Another node.
    pub to: u32,
    /// Its length, 1 to [`Candidate::SIZE_MAX`].
    pub size: u32,
    /// The message of which something makes `from` offer this one: its generation, of which its sender
    /// is told, or its delivery, of which its receiver is.
    pub after: Option<(What, usize)>,
    /// For when it is offered; for a follow-up, how long after the other is complete or the cycle of
    /// its generation is over.
    pub time: Cycles,
}

/// Messages; each comes after the one that it follows.
#[derive(Debug, Clone)]
pub struct Case {
    /// By number.
    pub offers: Vec<Offer>,
}

impl Case {
    /// Messages that follow others.
    pub fn follow_ups(&self) -> u64 {
        let follow_ups = self.offers.iter().filter(|offer| offer.after.is_some());
        follow_ups.count() as u64
    }

    /// Times and numbers of those that follow no other, as they are to be offered.
    pub(crate) fn in_order(&self) -> Vec<(Cycles, usize)> {
        let offers = self.offers.iter().enumerate();
        let mut first: Vec<(Cycles, usize)> = offers
            .filter(|(_, offer)| offer.after.is_none())
            .map(|(number, offer)| (offer.time, number))
            .collect();
        first.sort_unstable();
        first
    }

    pub(crate) fn offer_all<C: Candidate>(&self, engine: &mut C::Engine, shift: Cycles) {
        for (time, number) in self.in_order() {
            C::offer(engine, shift + time, number, &self.offers[number]);
        }
    }
}

/// Random messages, many of them at once or one after the other.
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
                    true => What::Delivered,
                    false => What::Generated,
                };
                (what, of.index(offers.len()))
            });
            let from = match after {
                Some((What::Delivered, of)) => offers[of].to,
                Some((What::Generated, of)) => offers[of].from,
                None => from.index(nodes as usize) as u32,
            };
            // Any but itself.
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
