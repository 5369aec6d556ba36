//! A test network, a line of nodes joined by channels, for engines without a network model of their
//! own.

use crate::Offer;

/// Number of nodes of the test network, which are connected in a line.
pub const NODES: u32 = 6;

/// Returns the number of lanes of each channel of the line. First comes one channel from each node
/// into the network, then one from the network to each node. Then come the channels to the next
/// node, and then the channels to the previous node.
pub fn lanes() -> impl Iterator<Item = u32> {
    (0..4 * NODES).map(|channel| if channel < NODES { 2 } else { 1 })
}

/// Returns the numbers of the channels that a message crosses, in order.
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
