//! Settings of the daemon of the stream manager.

use crate::policy::Policy;
use isthmus_stream_net::{Driver, memory_shortfall};
use isthmus_wire::{Address, Error, Result};
use std::net::SocketAddr;
use std::time::Duration;

/// The configuration of a daemon of the stream manager.
#[derive(Clone, Debug)]
pub struct Config {
    /// Settings of the server: addresses at which it listens, admission of clients, and logs.
    pub server: isthmus_daemon::Config,
    /// The limits of each application.
    pub limits: Limits,
    /// The destinations that applications may reach.
    pub policy: Policy,
    /// Time without progress after which the daemon reports a stream as stalled.
    pub stall: Duration,
    /// Address of the web page that shows the screens on which applications draw. Without an
    /// address, applications cannot open screens.
    pub screens: Option<SocketAddr>,
    /// Time for which a link over TCP or TLS may be without a socket before the rank (application
    /// process) at its other end counts as gone. Zero: every link ends with its socket.
    pub link_grace: Duration,
    /// Time for which active streams may continue after a request to end the daemon.
    pub grace: Duration,
}

/// Limits of applications. The daemon refuses a request that exceeds a limit, and the refusal names
/// the limit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Maximum number of applications at a time. Applications of operators do not count.
    pub applications: u32,
    /// Maximum number of connections of an application.
    pub connections: u32,
    /// Maximum number of streams of an application that have not ended.
    pub streams: u32,
    /// Maximum number of links of an application, each between one of its processes and the daemon.
    pub links: u32,
    /// Maximum staging memory of an application's active streams, in bytes, in each direction.
    pub staging_bytes: u64,
    /// Maximum network memory of an application, in bytes, in each direction: unconfirmed data and
    /// receive windows.
    pub network_bytes: u64,
    /// Maximum part of `network_bytes` that one connection may use.
    pub connection_bytes: u64,
    /// Maximum size in bytes of all rings (shared-memory queues) of an application together.
    pub ring_bytes: u64,
    /// Maximum memory of an application's screens, in bytes. A screen stores its newest frame and
    /// the frame being drawn. The limit of all screens is this times the number of applications.
    pub screen_bytes: u64,
    /// Maximum number of requests of a session that may wait for an answer.
    pub waits: u32,
}

impl Default for Limits {
    /// Return the limits for an application if the operator sets no others.
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
    /// Create the configuration of a daemon that listens at these addresses, with default limits.
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
    /// Check that the configuration is consistent and that the machine has the memory.
    pub(crate) fn check(&self) -> Result<()> {
        self.fits()?;
        self.check_connection_limit()
    }

    /// Check that the limit of one connection does not exceed the limit of the application. A limit of
    /// `u64::MAX` for connections means that there is none beside that of the application.
    fn check_connection_limit(&self) -> Result<()> {
        let (part, bytes) = (self.limits.connection_bytes, self.limits.network_bytes);
        if part != u64::MAX && part > bytes {
            return Err(Error::Config(format!(
                "--connection-network: {part} bytes are more than the {bytes} of --network: give \
                 at most these"
            )));
        }
        Ok(())
    }

    /// Return the configuration of the stream manager. Its memory is the sum of all applications'
    /// limits, so that no application waits for memory of another. Its number of engines is
    /// unlimited, because they need no resources in software.
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

    /// Check that the machine has the memory that one application may use.
    fn fits(&self) -> Result<()> {
        let limits = &self.limits;
        for (flag, bytes, times) in [
            // The factor is 2 because staging memory exists for both directions, sending and
            // receiving.
            ("--staging", limits.staging_bytes, 2),
            ("--network", limits.network_bytes, 2),
            ("--rings", limits.ring_bytes, 1),
            ("--screen-memory", limits.screen_bytes, 1),
        ] {
            if let Some(words) = memory_shortfall(bytes, times) {
                return Err(Error::Config(format!("{flag}: {words}")));
            }
        }
        Ok(())
    }
}
