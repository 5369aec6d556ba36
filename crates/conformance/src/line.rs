//! A line of nodes joined by channels, for engines that know channels only.

use crate::Offer;

/// Nodes on the line.
pub const NODES: u32 = 6;

/// Lanes of each channel: first one channel from each node into the network, then one from the
/// network to each node, then those to the next node, then those to the one before.
pub fn lanes() -> impl Iterator<Item = u32> {
    (0..4 * NODES).map(|channel| if channel < NODES { 2 } else { 1 })
}

/// The channels that a message crosses.
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
