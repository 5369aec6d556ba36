//! Accepted bandwidth of each node, for the results.

use isthmus_experiment::result::NodeUse;
use isthmus_experiment::subject::Counted;

/// Maximum number of nodes for which the results list each node.
const NODES_LISTED_MAX: usize = 4096;

/// Return the accepted bandwidth of each node. `mb_per_s` is the bandwidth of one byte per tick, in MB/s.
pub(crate) fn nodes(counted: &[Counted], mb_per_s: f64) -> Vec<NodeUse> {
    let count = counted.first().map_or(0, |first| first.counts.nodes.len());
    if count > NODES_LISTED_MAX {
        return Vec::new();
    }
    (0..count)
        .map(|node| {
            let rates = counted
                .iter()
                .map(|counted| counted.counts.nodes[node].1 as f64 / counted.cycles as f64);
            NodeUse {
                node: node as u32,
                offered: None,
                accepted: rates.sum::<f64>() / counted.len() as f64 * mb_per_s,
            }
        })
        .collect()
}
