//! A line of nodes joined by channels, for engines that only have channels.

use crate::Offer;

/// Number of nodes.
pub const NODES: u32 = 6;

/// Returns the lanes of each channel: first one channel from each node into the network, then one
/// from the network to each node, then those to the next node, then those to the previous one.
pub fn lanes() -> impl Iterator<Item = u32> {
    (0..4 * NODES).map(|channel| if channel < NODES { 2 } else { 1 })
}

/// Returns the channels of a message's path.
pub fn path(offer: &Offer) -> Vec<u32> {
    let (from, to) = (offer.from, offer.to);
    let mut path = vec![from];
    if from < to {
        path.extend((from..to).map(|node| 2 * NODES + node));
    } else {
        path.extend((to..from).rev().map(|node| 3 * NODES + node));
    }
    path.push(NODES + to);
    path
}
