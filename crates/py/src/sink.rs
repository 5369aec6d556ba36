//! A sink that listens for senders of streams and checks the received data, for tests.

use crate::arrays::wrong;
use isthmus_nic_client::protocol::Checksum;
use isthmus_stream_net::sink::Sink;
use isthmus_stream_net::{SinkServer, SinkSession, memory_shortfall};
use isthmus_wire::address::numeric;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::fmt::Display;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Convert an error of the sink to a Python exception.
fn failed(error: impl Display) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}

/// A sink that listens on a TCP port, as a class of Python.
#[pyclass(name = "NicSink", module = "isthmus._core", frozen)]
pub(crate) struct PySink(SinkServer);

#[pymethods]
impl PySink {
    /// Start to listen for senders. Arguments: an address with a port, the number of bytes that a
    /// sender may send before they are confirmed, the checksum and the channel of the connection,
    /// and whether to wait for corrupted packets to be sent again.
    #[new]
    fn new(
        address: &str,
        window: u64,
        checksum: &str,
        channel: u32,
        repair: bool,
    ) -> PyResult<Self> {
        let right = "it is numeric with a port, as 127.0.0.1:5000; port 0 is any free one";
        let at = numeric(address);
        let at = at.map_err(|found| {
            let why = found.as_deref().unwrap_or(right);
            wrong(format!("address {address:?}: {why}"))
        })?;
        if let Some(words) = memory_shortfall(window, 1) {
            return Err(wrong(format!("--window: {words}")));
        }
        let checksum: Checksum = serde_json::from_value(checksum.into()).map_err(wrong)?;
        let sink = Sink {
            channel,
            checksum,
            window,
            repair,
        };
        Ok(Self(SinkServer::listen(at, sink).map_err(wrong)?))
    }

    /// Return the socket address at which this server (sink) accepts connections, as text.
    fn address(&self) -> PyResult<String> {
        let address = self.0.address().map_err(failed)?;
        Ok(address.to_string())
    }

    /// Return the number of connections that were closed without sending a packet. They do not count as
    /// senders.
    fn strays(&self) -> u64 {
        self.0.strays()
    }

    /// Accept the next sender, if one connects in time. Valid data is also written to a file, which
    /// is emptied when the first valid data arrives.
    fn take(
        &self,
        py: Python<'_>,
        seconds: f64,
        out: Option<String>,
    ) -> PyResult<Option<PySinkSession>> {
        let out = out.as_ref().map(Path::new);
        let time = Duration::try_from_secs_f64(seconds).map_err(wrong)?;
        let taking = py.detach(|| self.0.take(time, out)).map_err(failed)?;
        Ok(taking.map(|taking| PySinkSession(Mutex::new(Some(taking)))))
    }
}

/// The Python class of a session in which a sink (receiving server) receives from one sender.
#[pyclass(name = "NicTaking", module = "isthmus._core", frozen)]
pub(crate) struct PySinkSession(Mutex<Option<SinkSession>>);

impl PySinkSession {
    /// Call `look` with the session and return its result; a Python exception if the session was closed.
    fn look<T>(&self, look: impl FnOnce(&SinkSession) -> T) -> PyResult<T> {
        let taking = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let taking = taking.as_ref();
        taking.map(look).ok_or_else(|| failed("it was ended"))
    }
}

#[pymethods]
impl PySinkSession {
    /// Return the socket address of the sender, as text.
    fn peer(&self) -> PyResult<String> {
        self.look(|taking| taking.peer().to_string())
    }

    /// Return the number of valid data bytes received from the sender.
    fn bytes(&self) -> PyResult<u64> {
        self.look(SinkSession::bytes)
    }

    /// Wait up to `seconds` until the session with the sender is over; return whether it is.
    fn over(&self, py: Python<'_>, seconds: f64) -> PyResult<bool> {
        let time = Duration::try_from_secs_f64(seconds).map_err(wrong)?;
        py.detach(|| self.look(|taking| taking.wait_for_end(time)))
    }

    /// End the session. Returns the counters as JSON.
    fn end(&self, py: Python<'_>) -> PyResult<String> {
        let taking = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let taking = taking.ok_or_else(|| failed("it was ended"))?;
        let counts = py.detach(|| taking.end()).map_err(failed)?;
        crate::json(&counts)
    }
}
