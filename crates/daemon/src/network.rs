//! Networks: sets of addresses with a common prefix.

use ipnet::IpNet;
use isthmus_wire::{Error, Result};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The set of addresses with a common prefix, such as `10.0.0.0/8` or `::1`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Network(IpNet);

impl Network {
    /// Parse a network such as `10.0.0.0/8` or `fd00::/8`, or a single address.
    ///
    /// # Errors
    /// [`Error::Address`].
    pub fn parse(text: &str) -> Result<Self> {
        let refuse = |why: &str| Error::Address(text.into(), why.into());
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let address: IpAddr = address
            .parse()
            .map_err(|_| refuse("a network is numeric, as 10.0.0.0/8 or fd00::/8"))?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let network = bits
            .map_or(Some(most), |bits| bits.parse().ok())
            .and_then(|bits| IpNet::new(address, bits).ok())
            .ok_or_else(|| refuse(&format!("after / stand 0 to {most} bits")))?;
        if network.trunc() != network {
            return Err(refuse("bits beyond those after / are set: make them 0"));
        }
        Ok(Self(network))
    }

    /// Return the loopback networks, whose addresses belong to this machine only.
    #[must_use]
    pub fn loopback() -> Vec<Self> {
        let four = IpNet::new_assert(Ipv4Addr::new(127, 0, 0, 0).into(), 8);
        let six = IpNet::new_assert(Ipv6Addr::LOCALHOST.into(), 128);
        vec![Self(four), Self(six)]
    }

    /// Return whether the network contains the address. An IPv4-mapped IPv6 address counts as IPv4.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        self.0.contains(&address.to_canonical())
    }
}

impl fmt::Display for Network {
    /// Write the network as an address and the length of the prefix, such as `10.0.0.0/8`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that a network contains exactly the addresses with its prefix.
    #[test]
    fn a_network_contains_addresses_with_its_prefix() {
        let contains = |network: &str, address: &str| {
            let network = Network::parse(network).unwrap();
            network.contains(address.parse().unwrap())
        };
        assert!(contains("10.0.0.0/8", "10.255.1.2") && !contains("10.0.0.0/8", "11.0.0.0"));
        assert!(contains("10.0.0.1", "10.0.0.1") && !contains("10.0.0.1", "10.0.0.0"));
        assert!(contains("0.0.0.0/0", "192.0.2.1") && !contains("0.0.0.0/0", "::1"));
        assert!(contains("::/0", "2001:db8::1") && contains("fd00::/8", "fdff::1"));
        assert!(contains("10.0.0.0/8", "::ffff:10.1.1.1"), "version 4 in 6");
        assert!(!contains("::/0", "::ffff:10.1.1.1"), "as well");
        for wrong in [
            "10.0.0.1/8",
            "10.0.0.0/33",
            "::1/64",
            "here",
            "10.0.0.0/",
            "/8",
        ] {
            assert!(Network::parse(wrong).is_err(), "{wrong}");
        }
        for network in Network::loopback() {
            assert_eq!(Network::parse(&network.to_string()).unwrap(), network);
        }
    }
}
