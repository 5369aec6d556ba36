//! Destinations of connections, parsed from text.
//!
//! | text | destination |
//! |---|---|
//! | `raw:tcp:ADDRESS`, `raw:unix:PATH` | a stream manager or a sink that speaks its packets |
//! | `raw:given:NAME` | the same, over a socket that the application provides under this name |
//! | `tcp:ADDRESS` | any program that reads or sends plain bytes |
//! | `tcp:given:NAME` | the same, over a socket that the application provides under this name |
//! | `file:PATH` | a file, which replaces the previous one when the connection is closed |
//! | `framebuffer:NAME` | a screen of the driver's [`Screens`](crate::Screens) |
//! | `udp:ADDRESS`, `udp:ADDRESS?mb_per_s=RATE` | a stream manager, one packet per datagram, paced |
//! | `udp:given:NAME` | the same, over a connected UDP socket that the application provides |
//!
//! `ADDRESS` is numeric, as `127.0.0.1:5000`, `[::1]:5000` or `[fe80::1%eth0]:5000`. Looking up a
//! name may take long, so the caller must do that. A socket `PATH` that begins with `@` is an
//! abstract name.

use crate::error::{Error, Result};
use isthmus_wire::address::numeric;
use std::net::SocketAddr;
use std::path::PathBuf;

/// The destination of a connection, parsed from its text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Destination {
    /// Packets over TCP to this address.
    RawTcp(SocketAddr),
    /// Packets over a Unix socket at this path or with this abstract name.
    RawUnix(String),
    /// Packets over a socket that the application provides under this name.
    RawProvided(String),
    /// Plain bytes over TCP to this address.
    Tcp(SocketAddr),
    /// Plain bytes over a socket that the application provides under this name.
    TcpProvided(String),
    /// A file at this path.
    File(PathBuf),
    /// The screen of the frame buffer with this name.
    Framebuffer(String),
    /// Packets in UDP datagrams to this address, with an optional rate limit in bytes per second.
    Udp(SocketAddr, Option<u64>),
    /// Packets in datagrams, over a UDP socket that the application provides under this name.
    UdpProvided(String),
}

impl Destination {
    /// Parses the text of a destination.
    ///
    /// # Errors
    /// [`Error::Destination`].
    pub fn parse(words: &str) -> Result<Self> {
        let refuse = |why: &str| Error::Destination(words.into(), why.into());
        let address = |text: &str| {
            let why = "an address is numeric with a port up to 65535, as 127.0.0.1:5000";
            numeric(text).map_err(|found| refuse(found.as_deref().unwrap_or(why)))
        };
        let named = |text: &str| match text {
            "" => Err(refuse("a name or a path is missing")),
            text => Ok(text.to_owned()),
        };
        let (kind, rest) = words.split_once(':').unwrap_or((words, ""));
        match (kind, rest.split_once(':')) {
            ("raw", Some(("tcp", rest))) => Ok(Self::RawTcp(address(rest)?)),
            ("raw", Some(("unix", rest))) => Ok(Self::RawUnix(named(rest)?)),
            ("raw", Some(("given", rest))) => Ok(Self::RawProvided(named(rest)?)),
            ("tcp", Some(("given", rest))) => Ok(Self::TcpProvided(named(rest)?)),
            ("udp", Some(("given", rest))) => Ok(Self::UdpProvided(named(rest)?)),
            ("tcp", _) => Ok(Self::Tcp(address(rest)?)),
            ("file", _) => Ok(Self::File(named(rest)?.into())),
            ("framebuffer", _) => Ok(Self::Framebuffer(named(rest)?)),
            ("udp", _) => {
                let Some((to, more)) = rest.split_once('?') else {
                    return Ok(Self::Udp(address(rest)?, None));
                };
                let rate = more.strip_prefix("mb_per_s=").ok_or_else(|| {
                    refuse("behind ? stands a rate, as udp:127.0.0.1:5000?mb_per_s=800")
                })?;
                let rate = rate.parse::<u32>().ok().filter(|rate| *rate > 0);
                let rate =
                    rate.ok_or_else(|| refuse("mb_per_s is a whole number, 1 to 4294967295"))?;
                Ok(Self::Udp(address(to)?, Some(u64::from(rate) * 1_000_000)))
            }
            _ => Err(refuse(
                "it begins with raw:tcp:, raw:unix:, tcp:, file:, framebuffer: or udp:",
            )),
        }
    }
}
