//! The I/O daemon, for the `isthmus` command that runs it.

use crate::daemon::{PyDaemon, Running, ServerOptions, listening};
use crate::question::Refusal;
use isthmus_iod::{CacheConfig, Config, Daemon, Level, Limits, Settings};
use isthmus_iod_client::{Mount, MountConfig, Target};
use isthmus_wire::Remote;
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::io::Write;
use std::os::unix::ffi::OsStringExt;
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
    cache: Option<CacheOptions>,
}

/// The options of the cache.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CacheOptions {
    folder: PathBuf,
    bytes: u64,
    dirty_bytes: u64,
    dirty_age_ns: u64,
    /// Whether `fsync` waits for the cache only.
    fsync_in_cache: bool,
    /// Whether a client that closes a file waits for the store.
    close_stored: bool,
    fresh_ns: u64,
}

impl CacheOptions {
    /// Convert the options to the configuration of a cache.
    fn config(self) -> CacheConfig {
        let mut config = CacheConfig::new(self.folder);
        config.settings = Settings {
            bytes: self.bytes,
            dirty_bytes: self.dirty_bytes,
            dirty_age: Duration::from_nanos(self.dirty_age_ns),
            ..config.settings
        };
        if self.fsync_in_cache {
            config.fsync = Level::Cached;
        }
        if self.close_stored {
            config.close = Level::Stored;
        }
        config.fresh = Duration::from_nanos(self.fresh_ns);
        config
    }
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
        config.cache = self.cache.map(CacheOptions::config);
        Ok(config)
    }
}

impl Running for Daemon {
    fn status(&self) -> Value {
        let mut status = listening(self.addresses(), self.metrics());
        if let Some(found) = self.found() {
            status["found"] = json!({"files": found.unstored_files, "bytes": found.unstored});
        }
        status
    }

    fn is_running(&self) -> bool {
        true
    }

    fn reload(&self) {
        Daemon::reload(self);
    }

    fn stop(self: Box<Self>) -> Result<(), String> {
        match Daemon::stop(*self) {
            Some(left) if left.unstored > 0 => {
                let files = match left.unstored_files {
                    1 => "1 file".into(),
                    count => format!("{count} files"),
                };
                Err(format!(
                    "{} bytes of {files} are not stored; start a daemon with the same --cache to store them",
                    left.unstored
                ))
            }
            _ => Ok(()),
        }
    }
}

/// The address of a daemon and what it requires of clients, in JSON: times in nanoseconds.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TargetOptions {
    address: String,
    token: Option<String>,
    tls_ca: Option<PathBuf>,
    export: PathBuf,
    timeout_ns: u64,
}

impl TargetOptions {
    /// Convert the options to the target of a client.
    pub(crate) fn target(self) -> Result<Target, Refusal> {
        let mut remote = Remote::parse(&self.address).map_err(Refusal::of)?;
        if let Some(certificates) = &self.tls_ca {
            remote = remote.trusting(certificates).map_err(Refusal::of)?;
        }
        Ok(Target {
            remote,
            token: self.token,
            export: self.export.into_os_string().into_vec(),
            timeout: Duration::from_nanos(self.timeout_ns),
        })
    }
}

/// The options of the command that mounts the files of a daemon, in JSON: times in nanoseconds.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MountOptions {
    directory: PathBuf,
    daemon: TargetOptions,
    fresh_ns: u64,
    read_only: bool,
}

impl MountOptions {
    /// Mount the files of the daemon.
    fn start(self) -> Result<Mounted, Refusal> {
        let config = MountConfig {
            target: self.daemon.target()?,
            fresh: Duration::from_nanos(self.fresh_ns),
            read_only: self.read_only,
        };
        let report = |text: &str| {
            // Without standard error there is no reader.
            let _ = writeln!(std::io::stderr(), "isthmus iod mount: {text}");
        };
        let mount = Mount::start(&self.directory, &config, report).map_err(Refusal::of)?;
        let directory = self.directory;
        Ok(Mounted { mount, directory })
    }
}

/// A mount, and where it is.
struct Mounted {
    mount: Mount,
    directory: PathBuf,
}

impl Running for Mounted {
    fn status(&self) -> Value {
        json!({ "mounted": self.directory })
    }

    fn is_running(&self) -> bool {
        self.mount.is_mounted()
    }

    /// Do nothing: a mount has neither a log nor a certificate.
    fn reload(&self) {}

    fn stop(self: Box<Self>) -> Result<(), String> {
        self.mount.stop().map_err(|error| error.to_string())
    }
}

/// Mount the files of an I/O daemon with options in JSON.
#[pyfunction]
pub(crate) fn mount_files(py: Python<'_>, options_json: &str) -> PyResult<PyDaemon> {
    PyDaemon::start(py, options_json, MountOptions::start)
}

/// Return the exports of a daemon that has left data in the folder of its cache; none if it has left nothing.
#[pyfunction]
pub(crate) fn cached_exports(folder: PathBuf) -> PyResult<Vec<OsString>> {
    let exports = isthmus_iod::cached_exports(&folder);
    Ok(exports.map_err(Refusal::of)?)
}

/// Start the I/O daemon with options in JSON.
#[pyfunction]
pub(crate) fn serve_files(py: Python<'_>, options_json: &str) -> PyResult<PyDaemon> {
    PyDaemon::start(py, options_json, |options: DaemonOptions| {
        Daemon::start(options.config()?).map_err(Refusal::of)
    })
}
