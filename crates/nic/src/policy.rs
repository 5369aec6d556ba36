//! What applications may reach through the daemon: networks, and directories for files.

use crate::error::{Error, Result};
use crate::hub::refusal;
use isthmus_nic_protocol::{Refusal, RefusalKind};
use isthmus_stream_net::Destination;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

/// Addresses that begin alike, as `10.0.0.0/8` or `::1`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Network {
    address: IpAddr,
    bits: u32,
}

impl Network {
    /// Reads `10.0.0.0/8`, `fd00::/8`, or one address.
    ///
    /// # Errors
    /// [`Error::Address`].
    pub fn parse(words: &str) -> Result<Self> {
        let refuse = |why: &str| Error::Address(words.into(), why.into());
        let (address, bits) = match words.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (words, None),
        };
        let address: IpAddr = address
            .parse()
            .map_err(|_| refuse("a network is numeric, as 10.0.0.0/8 or fd00::/8"))?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Ok(most), str::parse::<u32>);
        let bits = bits.ok().filter(|bits| *bits <= most);
        let bits = bits.ok_or_else(|| refuse(&format!("after / stand 0 to {most} bits")))?;
        let network = Self { address, bits };
        let first = network.first(address).checked_shl(most - bits);
        if first.unwrap_or(0) != word(address) {
            return Err(refuse("bits beyond those after / are set: make them 0"));
        }
        Ok(network)
    }

    /// This machine alone.
    #[must_use]
    pub fn loopback() -> Vec<Self> {
        let four = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 0));
        let six = IpAddr::V6(Ipv6Addr::LOCALHOST);
        [(four, 8), (six, 128)]
            .map(|(address, bits)| Self { address, bits })
            .to_vec()
    }

    /// Whether it holds the address. One of version 4 that is written as version 6 is of version 4.
    #[must_use]
    pub fn holds(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        address.is_ipv4() == self.address.is_ipv4()
            && self.first(address) == self.first(self.address)
    }

    /// The first bits of an address of the same version.
    fn first(&self, address: IpAddr) -> u128 {
        let most = if self.address.is_ipv4() { 32 } else { 128 };
        word(address).checked_shr(most - self.bits).unwrap_or(0)
    }
}

fn word(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(address.to_bits()),
        IpAddr::V6(address) => address.to_bits(),
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

/// What applications may reach.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Networks that connections may go to.
    pub to: Vec<Network>,
    /// Directories below which files are written and Unix sockets connected to; none: nowhere.
    pub files: Vec<PathBuf>,
}

impl Default for Policy {
    /// Loopback, and no files.
    fn default() -> Self {
        Self {
            to: Network::loopback(),
            files: Vec::new(),
        }
    }
}

impl Policy {
    /// The same with the directories as they really are.
    ///
    /// # Errors
    /// A directory that is not there.
    pub(crate) fn settled(mut self) -> Result<Self> {
        for directory in &mut self.files {
            let what = format!("directory {} for files", directory.display());
            let real = std::fs::canonicalize(&*directory);
            let real = real.map_err(|error| Error::system(&what, error))?;
            if !real.is_dir() {
                let text = format!("{what}: it is none; give one that is there");
                return Err(Error::Config(text));
            }
            *directory = real;
        }
        Ok(self)
    }

    /// The words of a destination that may be reached, with links in paths followed.
    pub(crate) fn check(&self, words: &str) -> std::result::Result<String, Refusal> {
        let parsed = Destination::parse(words);
        let parsed = parsed.map_err(|error| crate::words::refused(&error))?;
        match parsed {
            Destination::RawTcp(address)
            | Destination::Tcp(address)
            | Destination::Udp(address, _) => {
                self.reaches(address)?;
                Ok(words.to_owned())
            }
            Destination::File(path) => {
                let path = self.below(words, &path)?;
                Ok(format!("file:{path}"))
            }
            Destination::RawUnix(path) if !path.starts_with('@') => {
                let path = self.below(words, Path::new(&path))?;
                Ok(format!("raw:unix:{path}"))
            }
            _ => Err(refusal(
                RefusalKind::Denied,
                format!(
                    "destination `{words}`: it is for programs that run a manager themselves; take \
                     raw:tcp:, raw:unix: with a path, tcp:, file: or udp:"
                ),
            )),
        }
    }

    fn reaches(&self, address: SocketAddr) -> std::result::Result<(), Refusal> {
        if self.to.iter().any(|network| network.holds(address.ip())) {
            return Ok(());
        }
        let networks: Vec<_> = self.to.iter().map(Network::to_string).collect();
        let networks = networks.join(", ");
        let text = format!(
            "{} is in none of the networks that this daemon reaches ({networks}): the operator \
             adds it with --to",
            address.ip()
        );
        Err(refusal(RefusalKind::Denied, text))
    }

    /// The path, its directory as it really is, which is below one of those that are allowed.
    fn below(&self, words: &str, path: &Path) -> std::result::Result<String, Refusal> {
        let refuse = |kind, why: String| Err(refusal(kind, format!("`{words}`: {why}")));
        let named = (path.is_absolute(), path.parent(), path.file_name());
        let (true, Some(parent), Some(name)) = named else {
            let why = "a path begins with / and ends with a name, as /data/image";
            return refuse(RefusalKind::Garbled, why.into());
        };
        let real = match std::fs::canonicalize(parent) {
            Ok(real) => real,
            Err(_) if self.files.is_empty() => parent.to_owned(),
            Err(error) => {
                let why = format!("directory {}: {error}", parent.display());
                return refuse(RefusalKind::Unknown, why);
            }
        };
        if !self.files.iter().any(|allowed| real.starts_with(allowed)) {
            let shown = self.files.iter().map(|path| path.display().to_string());
            let allowed: Vec<_> = shown.collect();
            let allowed = match allowed.is_empty() {
                true => "nowhere".to_owned(),
                false => format!("below {}", allowed.join(", ")),
            };
            let why = format!(
                "{} is not where this daemon writes ({allowed}): the operator adds a directory \
                 with --files",
                real.display()
            );
            return refuse(RefusalKind::Denied, why);
        }
        let path = real.join(name);
        match path.to_str() {
            Some(path) => Ok(path.to_owned()),
            None => refuse(RefusalKind::Garbled, "it is no UTF-8".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_hold_what_begins_as_they_do() {
        let holds = |network: &str, address: &str| {
            let network = Network::parse(network).unwrap();
            network.holds(address.parse().unwrap())
        };
        assert!(holds("10.0.0.0/8", "10.255.1.2") && !holds("10.0.0.0/8", "11.0.0.0"));
        assert!(holds("10.0.0.1", "10.0.0.1") && !holds("10.0.0.1", "10.0.0.0"));
        assert!(holds("0.0.0.0/0", "192.0.2.1") && !holds("0.0.0.0/0", "::1"));
        assert!(holds("::/0", "2001:db8::1") && holds("fd00::/8", "fdff::1"));
        assert!(holds("10.0.0.0/8", "::ffff:10.1.1.1"), "version 4 in 6");
        assert!(!holds("::/0", "::ffff:10.1.1.1"), "as well");
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
