//! The daemon of the stream manager, for the `isthmus` command that runs it.

use crate::question::{Refusal, answer};
use isthmus_nic::{
    Address, Certificate, Config, Daemon, Limits, Logs, Network, Policy, Secret, Tokens,
};
use isthmus_wire::address::numeric;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::json;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The options of the command that runs the daemon, in JSON: sizes in bytes, times in nanoseconds.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DaemonOptions {
    listen: Vec<String>,
    socket_mode: Option<String>,
    token_file: Option<PathBuf>,
    operator_token_file: Option<PathBuf>,
    tls_cert: Option<PathBuf>,
    tls_key: Option<PathBuf>,
    files: Vec<PathBuf>,
    to: Vec<String>,
    accept: Vec<String>,
    staging_bytes: u64,
    network_bytes: u64,
    stall_ns: u64,
    grace_ns: u64,
    link_grace_ns: u64,
    hello_ns: u64,
    applications: u32,
    sessions: u32,
    connections: u32,
    streams: u32,
    links: u32,
    waits: u32,
    connection_network_bytes: Option<u64>,
    ring_bytes: u64,
    screen_memory_bytes: u64,
    /// The name of the audit log file, or "-" for standard error; `None` without an audit log.
    log: Option<String>,
    metrics: Option<String>,
    screens: Option<String>,
}

/// Parse the address and port in the value of an option of the command; `None` if the option is not
/// given. Errors name the option `flag` and show `example`.
fn port(flag: &str, words: Option<&str>, example: &str) -> Result<Option<SocketAddr>, Refusal> {
    let Some(words) = words else {
        return Ok(None);
    };
    numeric(words).map(Some).map_err(|found| {
        let why = found.unwrap_or_else(|| format!("no address with a port, as {example}"));
        Refusal::at(flag, format!("{words:?}: {why}"))
    })
}

/// Parse the networks of an option; without any, return the loopback networks.
fn networks(words: &[String]) -> Result<Vec<Network>, isthmus_wire::Error> {
    match words {
        [] => Ok(Network::loopback()),
        words => words.iter().map(|words| Network::parse(words)).collect(),
    }
}

/// Parse the file mode of the daemon's Unix sockets. Fails if no address is a Unix socket.
fn mode(words: &str, listen: &[Address]) -> Result<u32, Refusal> {
    let refused = |text: String| Refusal::at("--socket-mode", text);
    if !listen.iter().any(|at| matches!(at, Address::Unix(_))) {
        let text = "it listens at no unix: address: give one, or leave it out";
        return Err(refused(text.into()));
    }
    let mode = u32::from_str_radix(words, 8).ok();
    let mode = mode.filter(|mode| mode & !0o666 == 0 && mode & 0o600 == 0o600);
    mode.ok_or_else(|| refused(format!("{words:?} is no mode of a socket: 600, 660 or 666")))
}

impl DaemonOptions {
    /// Convert the options of the command to the configuration of a daemon.
    fn config(self) -> Result<Config, Refusal> {
        let refused = |error: isthmus_wire::Error| Refusal::of(error);
        let secret = |path: Option<&Path>| path.map(Secret::read).transpose().map_err(refused);
        let listen = self.listen.iter().map(|words| Address::parse(words));
        let mut config = Config::new(listen.collect::<Result<_, _>>().map_err(refused)?);
        if let Some(words) = &self.socket_mode {
            config.server.socket_mode = mode(words, &config.server.listen)?;
        }
        config.server.sessions = self.sessions;
        config.server.hello = Duration::from_nanos(self.hello_ns);
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
        config.server.tokens = Tokens {
            clients: secret(self.token_file.as_deref())?,
            operators: secret(self.operator_token_file.as_deref())?,
        };
        config.server.certificate = match (self.tls_cert, self.tls_key) {
            (None, None) => None,
            (Some(chain), Some(key)) => Some(Certificate { chain, key }),
            _ => {
                let text = "--tls-cert and --tls-key go together: give both";
                return Err(Refusal::of(text));
            }
        };
        config.server.log = match self.log.as_deref() {
            None => Logs::None,
            Some("-") => Logs::Stderr,
            Some(path) => Logs::File(path.into()),
        };
        config.server.metrics = port("--metrics", self.metrics.as_deref(), "127.0.0.1:9464")?;
        config.screens = port("--screens", self.screens.as_deref(), "127.0.0.1:8000")?;
        config.link_grace = Duration::from_nanos(self.link_grace_ns);
        config.grace = Duration::from_nanos(self.grace_ns);
        Ok(config)
    }
}

/// A daemon that runs until it is stopped, as a class of Python.
#[pyclass(name = "NicDaemon", frozen)]
pub(crate) struct PyDaemon {
    daemon: Mutex<Option<Daemon>>,
    listening: String,
}

impl PyDaemon {
    /// Call `what` with the daemon and return the result, or return `None` if the daemon does not
    /// run.
    fn with<T>(&self, what: impl FnOnce(&Daemon) -> T) -> Option<T> {
        let daemon = self.daemon.lock().unwrap_or_else(PoisonError::into_inner);
        daemon.as_ref().map(what)
    }
}

#[pymethods]
impl PyDaemon {
    /// Start the daemon with a configuration in JSON.
    #[new]
    fn new(py: Python<'_>, config_json: &str) -> PyResult<Self> {
        let kept = Arc::new(Mutex::new(None));
        let made = Arc::clone(&kept);
        let listening = answer(py, config_json, move |given: DaemonOptions, _| {
            let daemon = Daemon::start(given.config()?).map_err(Refusal::of)?;
            let listening = daemon.addresses().iter().map(ToString::to_string);
            let listening = json!({
                "listening": listening.collect::<Vec<_>>(),
                "metrics": daemon.metrics().map(|at| at.to_string()),
                "screens": daemon.page().map(|at| at.to_string()),
            });
            *made.lock().unwrap_or_else(PoisonError::into_inner) = Some(daemon);
            Ok(listening)
        })?;
        let daemon = kept.lock().unwrap_or_else(PoisonError::into_inner).take();
        let daemon = daemon.ok_or_else(|| PyValueError::new_err("it was not started"))?;
        Ok(Self {
            daemon: Mutex::new(Some(daemon)),
            listening,
        })
    }

    /// Return the addresses at which the daemon listens, as JSON.
    fn listening(&self) -> &str {
        &self.listening
    }

    /// Return whether the daemon is running.
    fn runs(&self, py: Python<'_>) -> bool {
        py.detach(|| self.with(Daemon::is_running)).unwrap_or(false)
    }

    /// Open the log file again, and read the secrets and the certificate again.
    fn reload(&self, py: Python<'_>) {
        py.detach(|| self.with(Daemon::reload));
    }

    /// Stop the daemon, which may take its grace period and some seconds.
    fn stop(&self, py: Python<'_>) -> PyResult<()> {
        let stopped = py.detach(|| {
            // Take the daemon out of the lock before it is stopped, so that no concurrent call uses
            // it.
            let mut place = self.daemon.lock().unwrap_or_else(PoisonError::into_inner);
            let daemon = place.take();
            drop(place);
            daemon.map(Daemon::stop)
        });
        match stopped {
            Some(Err(error)) => Err(PyRuntimeError::new_err(error.to_string())),
            _ => Ok(()),
        }
    }
}
