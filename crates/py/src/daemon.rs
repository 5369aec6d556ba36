//! Daemons that the `isthmus` command runs, and the settings that all of them have.

use crate::interruptible::interruptible;
use crate::question::{Refusal, read};
use isthmus_daemon::{Logs, Secret, Tokens};
use isthmus_wire::address::numeric;
use isthmus_wire::{Address, Certificate};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The options that all commands of daemons have, in JSON: times in nanoseconds.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ServerOptions {
    listen: Vec<String>,
    socket_mode: Option<String>,
    token_file: Option<PathBuf>,
    operator_token_file: Option<PathBuf>,
    tls_cert: Option<PathBuf>,
    tls_key: Option<PathBuf>,
    sessions: u32,
    hello_ns: u64,
    /// The name of the audit log file, or "-" for standard error; `None` without an audit log.
    log: Option<String>,
    metrics: Option<String>,
}

/// Parse the address and port in the value of an option of the command; `None` if the option is not
/// given. Errors name the option `flag` and show `example`.
pub(crate) fn port(
    flag: &str,
    words: Option<&str>,
    example: &str,
) -> Result<Option<SocketAddr>, Refusal> {
    let Some(words) = words else {
        return Ok(None);
    };
    numeric(words).map(Some).map_err(|found| {
        let why = found.unwrap_or_else(|| format!("no address with a port, as {example}"));
        Refusal::at(flag, format!("{words:?}: {why}"))
    })
}

/// Parse the file mode of the daemon's Unix sockets. Fails if no address is a Unix socket.
fn mode(words: &str, listen: &[Address]) -> Result<u32, Refusal> {
    let refused = |text: String| Refusal::at("--socket-mode", text);
    if !listen.iter().any(|at| matches!(at, Address::Unix(_))) {
        let text = "no unix: address is given; add one or leave out --socket-mode";
        return Err(refused(text.into()));
    }
    let mode = u32::from_str_radix(words, 8).ok();
    let mode = mode.filter(|mode| mode & !0o666 == 0 && mode & 0o600 == 0o600);
    mode.ok_or_else(|| {
        refused(format!(
            "{words:?} is no mode of a socket; give 600, 660 or 666"
        ))
    })
}

impl ServerOptions {
    /// Convert the options of the command to the settings of a server.
    pub(crate) fn config(self) -> Result<isthmus_daemon::Config, Refusal> {
        let refused = |error: isthmus_wire::Error| Refusal::of(error);
        let secret = |path: Option<&Path>| path.map(Secret::read).transpose().map_err(refused);
        let listen = self.listen.iter().map(|words| Address::parse(words));
        let listen = listen.collect::<Result<_, _>>().map_err(refused)?;
        let mut config = isthmus_daemon::Config::new(listen);
        if let Some(words) = &self.socket_mode {
            config.socket_mode = mode(words, &config.listen)?;
        }
        config.sessions = self.sessions;
        config.hello = Duration::from_nanos(self.hello_ns);
        config.tokens = Tokens {
            clients: secret(self.token_file.as_deref())?,
            operators: secret(self.operator_token_file.as_deref())?,
        };
        config.certificate = match (self.tls_cert, self.tls_key) {
            (None, None) => None,
            (Some(chain), Some(key)) => Some(Certificate { chain, key }),
            _ => {
                let text = "--tls-cert and --tls-key go together: give both";
                return Err(Refusal::of(text));
            }
        };
        config.log = match self.log.as_deref() {
            None => Logs::None,
            Some("-") => Logs::Stderr,
            Some(path) => Logs::File(path.into()),
        };
        config.metrics = port("--metrics", self.metrics.as_deref(), "127.0.0.1:9464")?;
        Ok(config)
    }
}

/// Return in JSON where a daemon listens, and where it serves its metrics.
pub(crate) fn listening(addresses: &[Address], metrics: Option<SocketAddr>) -> Value {
    let addresses = addresses.iter().map(ToString::to_string);
    json!({
        "listening": addresses.collect::<Vec<_>>(),
        "metrics": metrics.map(|at| at.to_string()),
    })
}

/// A daemon that runs.
pub(crate) trait Running: Send {
    /// Return what the user gets to know once the daemon is ready, as a JSON object: where it listens, for one.
    fn status(&self) -> Value;

    /// Return whether the daemon still serves. If not, `stop` returns the reason.
    fn is_running(&self) -> bool;

    /// Open the log file again, and read the secrets and the certificate again.
    fn reload(&self);

    /// Stop the daemon, which may take its grace period and some seconds.
    fn stop(self: Box<Self>) -> Result<(), String>;
}

/// A daemon that runs until it is stopped, as a class of Python.
#[pyclass(name = "Daemon", frozen)]
pub(crate) struct PyDaemon {
    daemon: Mutex<Option<Box<dyn Running>>>,
    status: String,
}

impl PyDaemon {
    /// Start a daemon with options in JSON.
    pub(crate) fn start<O: DeserializeOwned, D: Running + 'static>(
        py: Python<'_>,
        options_json: &str,
        start: impl FnOnce(O) -> Result<D, Refusal> + Send + 'static,
    ) -> PyResult<Self> {
        let text = options_json.to_owned();
        let daemon = interruptible(py, Arc::default(), move |_| start(read(&text)?))??;
        let status = daemon.status().to_string();
        let daemon: Box<dyn Running> = Box::new(daemon);
        Ok(Self {
            daemon: Mutex::new(Some(daemon)),
            status,
        })
    }

    /// Call `what` with the daemon and return the result, or return `None` if the daemon does not
    /// run.
    fn with<T>(&self, what: impl FnOnce(&dyn Running) -> T) -> Option<T> {
        let daemon = self.daemon.lock().unwrap_or_else(PoisonError::into_inner);
        daemon.as_deref().map(what)
    }
}

#[pymethods]
impl PyDaemon {
    /// Return what the user gets to know once the daemon is ready, as a JSON object.
    fn status(&self) -> &str {
        &self.status
    }

    /// Return whether the daemon is running.
    fn runs(&self, py: Python<'_>) -> bool {
        py.detach(|| self.with(|daemon| daemon.is_running()))
            .unwrap_or(false)
    }

    /// Open the log file again, and read the secrets and the certificate again.
    fn reload(&self, py: Python<'_>) {
        py.detach(|| self.with(|daemon| daemon.reload()));
    }

    /// Stop the daemon, which may take its grace period and some seconds.
    fn stop(&self, py: Python<'_>) -> PyResult<()> {
        let stopped = py.detach(|| {
            // Take the daemon out of the lock before it is stopped, so that no concurrent call uses
            // it.
            let mut place = self.daemon.lock().unwrap_or_else(PoisonError::into_inner);
            let daemon = place.take();
            drop(place);
            daemon.map(|daemon| daemon.stop())
        });
        match stopped {
            Some(Err(error)) => Err(PyRuntimeError::new_err(error)),
            _ => Ok(()),
        }
    }
}
