//! The I/O daemon, for the `isthmus` command that runs it.

use crate::daemon::{PyDaemon, Running, ServerOptions};
use crate::question::Refusal;
use isthmus_iod::{Address, Config, Daemon, Limits};
use pyo3::prelude::*;
use serde::Deserialize;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// The options of the command that runs the daemon, in JSON: sizes in bytes, times in nanoseconds.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DaemonOptions {
    server: ServerOptions,
    exports: Vec<PathBuf>,
    read_only: bool,
    allow_plain: bool,
    fids: usize,
    message_bytes: u32,
    store_timeout_ns: u64,
    grace_ns: u64,
}

impl DaemonOptions {
    /// Convert the options of the command to the configuration of a daemon.
    fn config(self) -> Result<Config, Refusal> {
        let mut config = Config::new(Vec::new(), self.exports);
        config.server = self.server.config()?;
        config.read_only = self.read_only;
        config.allow_plain = self.allow_plain;
        config.limits = Limits {
            fids: self.fids,
            message_bytes: self.message_bytes,
        };
        config.store_timeout = Duration::from_nanos(self.store_timeout_ns);
        config.grace = Duration::from_nanos(self.grace_ns);
        Ok(config)
    }
}

impl Running for Daemon {
    fn addresses(&self) -> &[Address] {
        Daemon::addresses(self)
    }

    fn metrics(&self) -> Option<SocketAddr> {
        Daemon::metrics(self)
    }

    fn is_running(&self) -> bool {
        true
    }

    fn reload(&self) {
        Daemon::reload(self);
    }

    fn stop(self: Box<Self>) -> Result<(), String> {
        Daemon::stop(*self);
        Ok(())
    }
}

/// Start the I/O daemon with options in JSON.
#[pyfunction]
pub(crate) fn serve_files(py: Python<'_>, options_json: &str) -> PyResult<PyDaemon> {
    PyDaemon::start(py, options_json, |options: DaemonOptions| {
        Daemon::start(options.config()?).map_err(Refusal::of)
    })
}
