//! What the traffic asks of each link, computed from the routing rule: probabilities over ties, no
//! sampling and no closed forms.

use super::Routes;
use super::table::Stretch;

/// Expected use of one link, or of the interface from which it leaves, per packet of the traffic.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LinkUse {
    /// Crossings by send packets.
    pub sends: f64,
    /// Crossings by echo packets: each goes on from where its send packet left the ring to where
    /// that had entered it.
    pub echoes: f64,
    /// Send packets that enter the ring here, from the client or from another ring.
    pub starts: f64,
    /// Those of them from the client.
    pub entries: f64,
    /// Send packets that leave the ring here, for the client or for another ring.
    pub ends: f64,
}

/// What a packet of the traffic asks of the fabric on average.
#[derive(Debug, Clone, PartialEq)]
pub struct Averages {
    /// By number of the link.
    pub links: Vec<LinkUse>,
    /// Links that it crosses.
    pub mean_links: f64,
    /// Changes of ring on its way.
    pub mean_changes: f64,
    /// Probability of each number of links, from 0.
    pub distances: Vec<f64>,
}

impl Routes {
    /// Averages over traffic in which `weight(source, destination)` is in proportion to the number
    /// of packets between two live nodes; it is asked once for every ordered pair of different ones
    /// and must give a finite number, 0 or more. All averages are 0 when all weights are.
    ///
    /// Takes time in the number of pairs times the length of a ring; for rules that draw among many
    /// paths, times the interfaces of a node as well.
    pub fn averages(&self, mut weight: impl FnMut(u32, u32) -> f64) -> Averages {
        let fabric = self.fabric();
        let mut links = vec![LinkUse::default(); fabric.links().len()];
        let mut distances: Vec<f64> = Vec::new();
        let mut total = 0.0;
        let counted = |source, destination| {
            let weight = weight(source, destination);
            let distance = self.distance(source, destination) as usize;
            if distances.len() <= distance {
                distances.resize(distance + 1, 0.0);
            }
            distances[distance] += weight;
            total += weight;
            weight
        };
        self.visit(counted, |flow| {
            let Stretch {
                first,
                hops,
                beyond,
                ..
            } = flow.stretch;
            let start = &mut links[first as usize];
            start.starts += flow.amount;
            if flow.from.is_none() {
                start.entries += flow.amount;
            }
            links[beyond as usize].ends += flow.amount;
            let mut link = first;
            for _ in 0..hops {
                links[link as usize].sends += flow.amount;
                link = fabric.links()[link as usize].next;
            }
            while link != first {
                links[link as usize].echoes += flow.amount;
                link = fabric.links()[link as usize].next;
            }
        });
        let share = |amount: &mut f64| *amount = if total > 0.0 { *amount / total } else { 0.0 };
        for LinkUse {
            sends,
            echoes,
            starts,
            entries,
            ends,
        } in &mut links
        {
            [sends, echoes, starts, entries, ends]
                .into_iter()
                .for_each(share);
        }
        distances.iter_mut().for_each(share);
        let lengths = (0u32..).zip(&distances);
        Averages {
            mean_links: lengths
                .map(|(length, share)| f64::from(length) * share)
                .sum(),
            mean_changes: links.iter().map(|link| link.starts - link.entries).sum(),
            links,
            distances,
        }
    }

    /// Averages over traffic from every live node to every other one alike.
    pub fn uniform_averages(&self) -> Averages {
        self.averages(|_, _| 1.0)
    }
}
