//! Load of the links of any fabric, and the throughput that the busiest link permits.

use crate::Error;
use crate::error::{check, check_not_negative};
use isthmus_topology::rings::LinkUse;

/// A class of packets with one length and one pattern of paths: all moves, all requests, or all
/// responses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Class<'a> {
    /// Number of packets of the class per transaction: 1 for a move, and for the requests and the
    /// responses of reads.
    pub per_transaction: f64,
    /// Number of symbols that a packet takes on a link, including its idle symbols.
    pub send_slot: f64,
    /// Number of symbols that an echo takes on a link, including its idle symbols.
    pub echo_slot: f64,
    /// Load of each link by a packet of the class. Entries of unused links are all 0. A packet that
    /// enters a ring at a link also counts as a crossing of that link.
    pub links: &'a [LinkUse],
}

impl Class<'_> {
    /// Return the mean number of links that a packet crosses.
    pub fn mean_links(&self) -> f64 {
        self.links.iter().map(|link| link.sends).sum()
    }

    /// Return the mean number of ring changes of a packet.
    pub fn mean_changes(&self) -> f64 {
        self.links.iter().map(|link| link.starts).sum::<f64>() - 1.0
    }

    /// Return the number of symbols per transaction that this class sends over one link.
    pub(super) fn symbols(&self, link: usize) -> f64 {
        let LinkUse { sends, echoes, .. } = self.links[link];
        self.per_transaction * (self.send_slot * sends + self.echo_slot * echoes)
    }
}

/// The first link that is always busy as the load grows, and its load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bottleneck {
    /// Number of the link; of equally loaded links (to 1 part in 10^9) the lowest.
    pub link: usize,
    /// Number of symbols that the link carries per transaction.
    pub symbols: f64,
}

impl Bottleneck {
    /// Return the transactions per cycle at which this link is always busy. The fabric cannot carry
    /// more.
    pub fn saturation_rate(&self) -> f64 {
        1.0 / self.symbols
    }
}

/// Return the most loaded link of the fabric. If all links have the same load, its saturation rate
/// is the store-and-forward peak of Eq. 1, 2 and 4 of the SCI paper. Otherwise the peak is lower.
///
/// # Errors
/// A number is negative or not finite, classes have different numbers of links, or there is no
/// packet at all.
pub fn bottleneck(classes: &[Class]) -> Result<Bottleneck, Error> {
    let symbols = link_symbols(classes)?;
    let most = symbols.iter().copied().fold(0.0, f64::max);
    check("symbols of a transaction", most, "above zero", most > 0.0)?;
    let link = symbols.iter().position(|&link| link >= most * (1.0 - 1e-9));
    Ok(Bottleneck {
        link: link.expect("the most loaded link is among them"),
        symbols: most,
    })
}

/// Return for each link the number of symbols that it carries per transaction, over all classes.
pub(super) fn link_symbols(classes: &[Class]) -> Result<Vec<f64>, Error> {
    let Some(first) = classes.first() else {
        return Err(Error::Contradiction("there is no class of packets"));
    };
    for class in classes {
        if class.links.len() != first.links.len() {
            return Err(Error::Contradiction(
                "the classes of packets have different numbers of links; all are over one fabric",
            ));
        }
        check_not_negative("packets per transaction", class.per_transaction)?;
        let positive = |field, value: f64| check(field, value, "above zero", value > 0.0);
        positive("length of a send packet", class.send_slot)?;
        positive("length of an echo packet", class.echo_slot)?;
        for link in class.links {
            check_not_negative("crossings of a link by packets", link.sends)?;
            check_not_negative("crossings of a link by echoes", link.echoes)?;
            check_not_negative("packets that enter a ring at a link", link.starts)?;
            // Allow for rounding errors: these averages are sums of many shares.
            check(
                "packets that enter a ring at a link",
                link.starts,
                "no more than the packets that cross it",
                link.starts <= link.sends * (1.0 + 1e-9),
            )?;
        }
    }
    let sum = |link| classes.iter().map(|class| class.symbols(link)).sum();
    Ok((0..first.links.len()).map(sum).collect())
}

#[cfg(test)]
mod tests {
    use super::super::{Protocol, equations};
    use super::*;

    /// Return the use of the links of one ring with uniform traffic: packets and echoes cross half
    /// of its links.
    pub(in super::super) fn ring(nodes: usize) -> Vec<LinkUse> {
        let load = LinkUse {
            sends: 0.5,
            echoes: 0.5,
            starts: 1.0 / nodes as f64,
            ..LinkUse::default()
        };
        vec![load; nodes]
    }

    /// Return a class of SCI move packets, one per transaction, that load the links in this way.
    fn moves(links: &[LinkUse]) -> Class<'_> {
        Class {
            per_transaction: 1.0,
            send_slot: Protocol::MOVE_64.send_slot(),
            echo_slot: Protocol::MOVE_64.echo_slot(),
            links,
        }
    }

    /// Checks that the saturation rate of a single ring equals Eq. (1) of the paper.
    #[test]
    fn one_ring_has_the_peak_of_equation_1() {
        let links = ring(8);
        let class = moves(&links);
        let bottleneck = bottleneck(&[class]).unwrap();
        assert_eq!(bottleneck.link, 0);
        assert!((bottleneck.symbols - 23.0).abs() < 1e-12);
        // A packet has 64 bytes of payload, and a cycle takes 2 ns.
        let peak = bottleneck.saturation_rate() * 64.0 / 2.0;
        assert!((peak - equations::single_ring(&Protocol::MOVE_64)).abs() < 1e-12);
        assert!((class.mean_links() - 4.0).abs() < 1e-12);
        assert!(class.mean_changes().abs() < 1e-12);
    }

    /// Checks that the bottleneck is the link with the most symbols per transaction.
    #[test]
    fn the_most_loaded_link_bounds_the_others() {
        let mut links = ring(4);
        links[2].sends = 0.75;
        links[2].echoes = 0.25;
        let found = bottleneck(&[moves(&links)]).unwrap();
        assert_eq!(found.link, 2);
        assert!((found.symbols - (41.0 * 0.75 + 5.0 * 0.25)).abs() < 1e-12);
    }

    /// Checks that the symbols of several packet classes on a link are added.
    #[test]
    fn requests_and_responses_add_up() {
        let links = ring(5);
        let request = Class {
            send_slot: 9.0,
            ..moves(&links)
        };
        let both = bottleneck(&[request, moves(&links)]).unwrap();
        assert!((both.symbols - (9.0 + 5.0 + 41.0 + 5.0) / 2.0).abs() < 1e-12);
    }

    /// Checks that classes with different numbers of links, no symbols, or impossible rates are
    /// refused.
    #[test]
    fn impossible_loads_are_refused() {
        let message = |classes: &[Class]| bottleneck(classes).unwrap_err().to_string();
        assert_eq!(message(&[]), "there is no class of packets");
        let (short, long) = (ring(3), ring(4));
        assert!(message(&[moves(&short), moves(&long)]).contains("different numbers of links"));
        let nothing = [LinkUse::default(); 3];
        assert_eq!(
            message(&[moves(&nothing)]),
            "symbols of a transaction is 0; it must be above zero"
        );
        let mut links = ring(3);
        links[1].starts = 0.75;
        assert!(message(&[moves(&links)]).contains("no more than the packets that cross it"));
        links[1].starts = -1.0;
        assert!(message(&[moves(&links)]).contains("finite and not negative"));
    }
}
