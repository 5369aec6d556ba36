//! Peak effective throughput in the closed forms of section 4 of the SCI paper, in GB/s.
//!
//! The paper assumes that all nodes pass on whole packets at the same time (store and forward).
//! Then all links are always busy. A packet costs 41 symbols on each link that it crosses and 5 on
//! each link that its echo crosses. [`peak`] computes this for any such numbers.

use super::Protocol;
use crate::Error;
use crate::error::check;

/// Return the peak effective throughput of a fabric by the common form of Eq. 1, 2 and 4. Each node
/// starts packets on `rings_per_node` rings. A packet crosses `send_links` links on average, and
/// its echoes cross `echo_links`.
///
/// # Errors
/// The numbers are impossible for a fabric: fewer than 2 nodes, no ring, or a mean distance below 1
/// link.
pub fn peak(
    protocol: &Protocol,
    nodes: u32,
    rings_per_node: u32,
    send_links: f64,
    echo_links: f64,
) -> Result<f64, Error> {
    check_nodes(nodes)?;
    let rings = f64::from(rings_per_node);
    check("rings of a node", rings, "1 or more", rings >= 1.0)?;
    let far = send_links >= 1.0;
    check("links that a packet crosses", send_links, "1 or more", far)?;
    crate::error::check_not_negative("links that echoes cross", echo_links)?;
    Ok(store_and_forward(
        protocol,
        f64::from(nodes) * rings,
        send_links,
        echo_links,
    ))
}

/// Return the throughput in GB/s if `links` packets move at the same time, each over one link after
/// the other. A packet crosses `send_links` links, and its echo `echo_links`.
fn store_and_forward(protocol: &Protocol, links: f64, send_links: f64, echo_links: f64) -> f64 {
    let symbols = protocol.send_slot() * send_links + protocol.echo_slot() * echo_links;
    links * f64::from(protocol.payload_bytes) / (symbols * protocol.symbol_ns)
}

/// Return the number of nodes if it is at least 2, else an error.
fn check_nodes(nodes: u32) -> Result<f64, Error> {
    let count = f64::from(nodes);
    check("number of nodes", count, "2 or more", nodes >= 2)
}

/// Return the peak throughput of one ring by Eq. 1 of the SCI paper: packets and echoes cross N / 2
/// links each. The result is the same for any number of nodes: 64 bytes in 46 ns, 1.39 GB/s.
pub fn single_ring(protocol: &Protocol) -> f64 {
    store_and_forward(protocol, 1.0, 0.5, 0.5)
}

/// Return the upper bound of the throughput of two counter-rotating rings by Eq. 2 of the SCI paper:
/// packets cross N / 4 links, echoes 3 N / 4. It is the same for any number of nodes, 4.57 GB/s.
pub fn counter_rotating_bound(protocol: &Protocol) -> f64 {
    store_and_forward(protocol, 2.0, 0.25, 0.75)
}

/// Return the mean distance in links to the other nodes of counter-rotating rings (section 4.1):
/// N^2 / (4 (N - 1)) for even N, (N + 1) / 4 for odd N.
///
/// # Errors
/// Fewer than 2 nodes.
pub fn counter_rotating_distance(nodes: u32) -> Result<f64, Error> {
    let count = check_nodes(nodes)?;
    Ok(match nodes % 2 {
        0 => count * count / (4.0 * (count - 1.0)),
        _ => (count + 1.0) / 4.0,
    })
}

/// Return the peak throughput of two counter-rotating rings as in Table 2 of the SCI paper: packets
/// cross the mean distance d of [`counter_rotating_distance`], echoes cross N - d links.
///
/// # Errors
/// Fewer than 2 nodes.
pub fn counter_rotating(protocol: &Protocol, nodes: u32) -> Result<f64, Error> {
    let distance = counter_rotating_distance(nodes)?;
    peak(protocol, nodes, 2, distance, f64::from(nodes) - distance)
}

/// Return the mean distance in links to the other nodes of a unidirectional torus of `side` by
/// `side` nodes, N / (sqrt(N) + 1) (Eq. 3). The echoes of a packet cross equally many links.
///
/// # Errors
/// A side of fewer than 2 nodes.
pub fn torus_distance(side: u32) -> Result<f64, Error> {
    let side = check_side(side)?;
    Ok(side * side / (side + 1.0))
}

/// Return the side of a torus if it is at least 2, else an error.
fn check_side(side: u32) -> Result<f64, Error> {
    let length = f64::from(side);
    check(
        "nodes along a side of the torus",
        length,
        "2 or more",
        side >= 2,
    )
}

/// Return the peak throughput of a unidirectional torus of `side` by `side` nodes: [`single_ring`]
/// times sqrt(N) + 1 without intermediate rounding (the left side of Eq. 4).
///
/// # Errors
/// A side of fewer than 2 nodes.
pub fn torus(protocol: &Protocol, side: u32) -> Result<f64, Error> {
    let distance = torus_distance(side)?;
    let links = 2.0 * f64::from(side) * f64::from(side);
    Ok(store_and_forward(protocol, links, distance, distance))
}

/// Return the peak throughput of a unidirectional torus as printed in Table 4: the paper rounds the
/// peak of one ring to hundredths of GB/s before the multiplication with sqrt(N) + 1.
///
/// # Errors
/// A side of fewer than 2 nodes.
pub fn torus_rounded(protocol: &Protocol, side: u32) -> Result<f64, Error> {
    let side = check_side(side)?;
    let ring = (single_ring(protocol) * 100.0).round() / 100.0;
    Ok(ring * (side + 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The protocol of the SCI paper: 64-byte moves.
    const PAPER: Protocol = Protocol::MOVE_64;

    /// Return a number with two decimals, as the paper prints it.
    fn printed(value: f64) -> String {
        format!("{value:.2}")
    }

    /// Checks that the peak throughputs equal those of the text and of Tables 2 and 4 of the paper.
    #[test]
    fn results_equal_those_printed_in_the_paper() {
        assert_eq!(printed(single_ring(&PAPER)), "1.39");
        assert_eq!(printed(counter_rotating_bound(&PAPER)), "4.57");
        // These values are from Table 2.
        for (nodes, value) in [(4, "3.76"), (6, "4.05"), (8, "4.19"), (10, "4.27")] {
            assert_eq!(printed(counter_rotating(&PAPER, nodes).unwrap()), value);
        }
        // These values are from Table 4.
        for (side, value) in [(3, "5.56"), (4, "6.95"), (5, "8.34"), (6, "9.73")] {
            assert_eq!(printed(torus_rounded(&PAPER, side).unwrap()), value);
        }
        // These are the values of Table 4 without the paper's intermediate rounding.
        for (side, value) in [(3, "5.57"), (4, "6.96"), (5, "8.35"), (6, "9.74")] {
            assert_eq!(printed(torus(&PAPER, side).unwrap()), value);
        }
    }

    /// Checks that the formulas for a single ring and for a torus are special cases of the general
    /// formula.
    #[test]
    fn the_closed_forms_equal_the_general_one() {
        let close = |a: f64, b: f64| (a - b).abs() < 1e-12 * b;
        for nodes in 2..40 {
            let half = f64::from(nodes) / 2.0;
            if nodes > 2 {
                let ring = peak(&PAPER, nodes, 1, half, half).unwrap();
                assert!(close(ring, single_ring(&PAPER)));
            }
            let distance = torus_distance(nodes).unwrap();
            let square = nodes * nodes;
            let general = peak(&PAPER, square, 2, distance, distance).unwrap();
            let torus = torus(&PAPER, nodes).unwrap();
            assert!(close(torus, general));
            assert!(close(torus, single_ring(&PAPER) * f64::from(nodes + 1)));
            // The formula of Table 2 stays below the bound and approaches it for large N, because it
            // counts more links for echoes.
            assert!(counter_rotating(&PAPER, nodes).unwrap() < counter_rotating_bound(&PAPER));
        }
        let large = counter_rotating(&PAPER, 60_000).unwrap();
        assert!((large / counter_rotating_bound(&PAPER) - 1.0).abs() < 1e-3);
    }

    /// Checks that packets with a larger payload give a higher throughput, since their overhead is
    /// fixed.
    #[test]
    fn larger_payloads_waste_less() {
        let with = |payload_bytes| {
            single_ring(&Protocol {
                payload_bytes,
                ..PAPER
            })
        };
        // A payload of 256 bytes, its idle symbol and its echo take 136 + 1 + 5 symbols of 2 ns,
        // each on half of the ring, so 142 ns.
        assert!((with(256) - 256.0 / 142.0).abs() < 1e-12);
        assert!(with(16) < with(64) && with(64) < with(256));
    }

    /// Checks that fabrics with too few nodes, no rings or impossible distances are refused.
    #[test]
    fn impossible_fabrics_are_refused() {
        let message = counter_rotating(&PAPER, 1).unwrap_err().to_string();
        assert_eq!(message, "number of nodes is 1; it must be 2 or more");
        assert!(torus(&PAPER, 1).is_err() && torus_rounded(&PAPER, 0).is_err());
        assert!(peak(&PAPER, 4, 0, 2.0, 2.0).is_err());
        assert!(peak(&PAPER, 4, 1, 0.5, 2.0).is_err());
        assert!(peak(&PAPER, 4, 1, 2.0, f64::NAN).is_err());
    }
}
