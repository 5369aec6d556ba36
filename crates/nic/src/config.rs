//! What the operator says.

use crate::policy::Policy;
use isthmus_stream_net::{Driver, lacking};
use isthmus_wire::{Address, Error, Result};
use std::net::SocketAddr;
use std::time::Duration;

/// What a daemon is given.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where it listens, whom it admits, where it logs.
    pub server: isthmus_daemon::Config,
    /// What applications may have.
    pub limits: Limits,
    /// What applications may reach.
    pub policy: Policy,
    /// Time without progress after which a stream is reported as stalled.
    pub stall: Duration,
    /// Where a page shows screens that streams draw on; none: there are no screens.
    pub screens: Option<SocketAddr>,
    /// How long a link over TCP or TLS may be without its socket, before its rank is taken for
    /// gone; zero: no link outlasts its socket.
    pub link_grace: Duration,
    /// How long streams that are under way may go on when it is told to end.
    pub grace: Duration,
}

/// What applications may have. What exceeds it is refused, and the limit named.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Applications at a time; an operator's do not count.
    pub applications: u32,
    /// Connections of an application.
    pub connections: u32,
    /// Streams of an application that have not ended.
    pub streams: u32,
    /// Links of an application.
    pub links: u32,
    /// Staging memory of an application's active streams, in bytes, in each direction.
    pub staging_bytes: u64,
    /// Network memory of an application, in bytes, in each direction: data on its way, and receive
    /// windows.
    pub network_bytes: u64,
    /// Of it that of one connection.
    pub connection_bytes: u64,
    /// Memory of an application's rings, in bytes, all together.
    pub ring_bytes: u64,
    /// Memory of an application's screens, in bytes: of each its newest frame and the one that is
    /// drawn. Of all screens, as many times as there may be applications.
    pub screen_bytes: u64,
    /// Requests of a session that wait to be answered.
    pub waits: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            applications: 16,
            connections: 64,
            streams: 1024,
            links: 64,
            staging_bytes: 16 << 20,
            network_bytes: 64 << 20,
            connection_bytes: u64::MAX,
            ring_bytes: 256 << 20,
            screen_bytes: 128 << 20,
            waits: 1024,
        }
    }
}

impl Config {
    /// A daemon that listens there, with usual limits.
    #[must_use]
    pub fn new(listen: Vec<Address>) -> Self {
        Self {
            server: isthmus_daemon::Config::new(listen),
            limits: Limits::default(),
            policy: Policy::default(),
            stall: Duration::from_secs(5),
            screens: None,
            link_grace: Duration::from_secs(10),
            grace: Duration::from_secs(5),
        }
    }
}

impl Config {
    /// Whether it may be started.
    pub(crate) fn check(&self) -> Result<()> {
        self.fits()?;
        self.shares()
    }

    /// Whether no part is more than its whole; `u64::MAX` is all of it.
    fn shares(&self) -> Result<()> {
        let (part, bytes) = (self.limits.connection_bytes, self.limits.network_bytes);
        if part != u64::MAX && part > bytes {
            return Err(Error::Config(format!(
                "--connection-network: {part} bytes are more than the {bytes} of --network: give \
                 at most these"
            )));
        }
        Ok(())
    }

    /// What the stream manager has: for each application what it may have, so that none waits for
    /// what another holds. A link costs nothing here, so that there are as many engines as anybody
    /// wants.
    pub(crate) fn manager(&self) -> isthmus_stream::Config {
        let all = |bytes: u64| bytes.saturating_mul(u64::from(self.limits.applications.max(1)));
        isthmus_stream::Config {
            staging_bytes: all(self.limits.staging_bytes),
            engines: u32::MAX,
            network_bytes: all(self.limits.network_bytes),
            stall_ns: u64::try_from(self.stall.as_nanos()).unwrap_or(u64::MAX),
            ..Driver::config()
        }
    }

    /// Whether the machine has the memory that one application may have.
    fn fits(&self) -> Result<()> {
        let limits = &self.limits;
        for (flag, bytes, times) in [
            // In both directions.
            ("--staging", limits.staging_bytes, 2),
            ("--network", limits.network_bytes, 2),
            ("--rings", limits.ring_bytes, 1),
            ("--screen-memory", limits.screen_bytes, 1),
        ] {
            if let Some(words) = lacking(bytes, times) {
                return Err(Error::Config(format!("{flag}: {words}")));
            }
        }
        Ok(())
    }
}
