//! The daemon of the stream manager, for the `isthmus` command that runs it.

use crate::daemon::{PyDaemon, Running, ServerOptions, listening, port};
use crate::question::Refusal;
use isthmus_nic::{Config, Daemon, Limits, Network, Policy};
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::Value;
use std::path::PathBuf;
use std::time::Duration;

/// The options of the command that runs the daemon, in JSON: sizes in bytes, times in nanoseconds.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DaemonOptions {
    server: ServerOptions,
    files: Vec<PathBuf>,
    to: Vec<String>,
    accept: Vec<String>,
    staging_bytes: u64,
    network_bytes: u64,
    stall_ns: u64,
    grace_ns: u64,
    link_grace_ns: u64,
    applications: u32,
    connections: u32,
    streams: u32,
    links: u32,
    waits: u32,
    connection_network_bytes: Option<u64>,
    ring_bytes: u64,
    screen_memory_bytes: u64,
    screens: Option<String>,
}

/// Parse the networks of an option; without any, return the loopback networks.
fn networks(words: &[String]) -> Result<Vec<Network>, isthmus_wire::Error> {
    match words {
        [] => Ok(Network::loopback()),
        words => words.iter().map(|words| Network::parse(words)).collect(),
    }
}

impl DaemonOptions {
    /// Convert the options of the command to the configuration of a daemon.
    fn config(self) -> Result<Config, Refusal> {
        let refused = |error: isthmus_wire::Error| Refusal::of(error);
        let mut config = Config::new(Vec::new());
        config.server = self.server.config()?;
        config.stall = Duration::from_nanos(self.stall_ns);
        config.limits = Limits {
            applications: self.applications,
            connections: self.connections,
            streams: self.streams,
            links: self.links,
            staging_bytes: self.staging_bytes,
            network_bytes: self.network_bytes,
            connection_bytes: self
                .connection_network_bytes
                .unwrap_or(self.network_bytes / 4),
            ring_bytes: self.ring_bytes,
            screen_bytes: self.screen_memory_bytes,
            waits: self.waits,
        };
        config.policy = Policy {
            to: networks(&self.to).map_err(refused)?,
            accept: networks(&self.accept).map_err(refused)?,
            files: self.files,
        };
        config.screens = port("--screens", self.screens.as_deref(), "127.0.0.1:8000")?;
        config.link_grace = Duration::from_nanos(self.link_grace_ns);
        config.grace = Duration::from_nanos(self.grace_ns);
        Ok(config)
    }
}

impl Running for Daemon {
    fn status(&self) -> Value {
        let mut status = listening(self.addresses(), self.metrics());
        status["screens"] = self.page().map(|at| at.to_string()).into();
        status
    }

    fn is_running(&self) -> bool {
        Daemon::is_running(self)
    }

    fn reload(&self) {
        Daemon::reload(self);
    }

    fn stop(self: Box<Self>) -> Result<(), String> {
        let stopped = Daemon::stop(*self);
        stopped.map_err(|error| format!("the stream manager had ended: {error}"))
    }
}

/// Start the daemon of the stream manager with options in JSON.
#[pyfunction]
pub(crate) fn serve_streams(py: Python<'_>, options_json: &str) -> PyResult<PyDaemon> {
    PyDaemon::start(py, options_json, |options: DaemonOptions| {
        Daemon::start(options.config()?).map_err(Refusal::of)
    })
}
