//! Sessions with the stream manager's daemon, and streams. The module wraps the calls of
//! `isthmus-nic-client`: requests and answers are JSON, data is in numpy arrays.

use crate::arrays::wrong;
use isthmus_nic_client::protocol::{Carrier, Request, Spec};
use isthmus_nic_client::{Address, Error, Pending, Received, Session, Stream, Timeout};
use numpy::{PyReadonlyArray1, PyReadwriteArray1};
use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use serde_json::from_str;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Mutex;
use std::time::{Duration, Instant};

create_exception!(
    isthmus._core,
    NicError,
    PyException,
    "What went wrong with a session or a stream: its kind, and one line."
);

/// Convert an error of the client library to a Python exception.
fn to_py_error(error: &Error) -> PyErr {
    let kind = match error {
        Error::Address(..) => "address",
        Error::Unreachable(..) => "unreachable",
        Error::Refused(_) => "refused",
        Error::Gone(..) => "gone",
        Error::OtherProcess(_) => "abroad",
        Error::TimedOut(_) => "timed-out",
        Error::Interrupted => "interrupted",
        Error::Link(..) => "link",
        Error::Misfit(_) => "misfit",
        Error::Stream(..) => "stream",
        Error::Garbled(_) => "garbled",
    };
    let reason = match error {
        Error::Refused(refusal) => serde_json::to_value(refusal.kind).ok(),
        _ => None,
    };
    let reason = reason.and_then(|word| Some(word.as_str()?.to_owned()));
    NicError::new_err((kind, error.to_string(), reason))
}

/// Interval between two checks for Ctrl-C.
const LISTEN: Duration = Duration::from_millis(50);

/// Run a blocking call without holding the Python interpreter; Ctrl-C ends it. Without `seconds`
/// there is no timeout.
fn wait_detached<T: Send>(
    py: Python<'_>,
    seconds: Option<f64>,
    what: impl FnOnce(Timeout<'_>) -> Result<T, Error> + Send,
) -> PyResult<T> {
    let timeout = match seconds.map(Duration::try_from_secs_f64) {
        None | Some(Err(_)) => Timeout::never(),
        Some(Ok(time)) => Timeout::after(time),
    };
    let signal = Mutex::new(None);
    // Time of the next check for signals. None: the interpreter has just checked, and acquiring it
    // costs as much as a small send, so the first check follows only after `LISTEN`.
    let listen_at: Mutex<Option<Instant>> = Mutex::new(None);
    let go_on = |now: Instant| {
        if let Ok(mut at) = listen_at.lock() {
            let due = at.is_some_and(|at| at <= now);
            if at.is_none() || due {
                *at = Some(now + LISTEN);
            }
            if !due {
                return true;
            }
        }
        match Python::attach(|py| py.check_signals()) {
            Ok(()) => true,
            Err(error) => {
                if let Ok(mut signal) = signal.lock() {
                    *signal = Some(error);
                }
                false
            }
        }
    };
    let result = py.detach(|| what(timeout.while_true(&go_on)));
    match (result, signal.into_inner().ok().flatten()) {
        (Err(Error::Interrupted), Some(error)) => Err(error),
        (result, _) => result.map_err(|error| to_py_error(&error)),
    }
}

/// Parse the address of a daemon, and read the file of certificates to trust, if there is one.
fn parse_address(words: &str, ca: Option<String>) -> PyResult<Address> {
    let address = Address::parse(words);
    let address = match ca {
        Some(path) => address.and_then(|address| address.trusting(path.as_ref())),
        None => address,
    };
    address.map_err(|error| to_py_error(&error.into()))
}

/// A session with a daemon of the stream manager, as a class of Python.
#[pyclass(name = "NicSession", module = "isthmus._core", frozen)]
pub(crate) struct PySession(Session);

#[pymethods]
impl PySession {
    /// Connect to the daemon and create an application there.
    #[staticmethod]
    fn connect(
        py: Python<'_>,
        address: &str,
        ca: Option<String>,
        token: Option<String>,
        name: String,
        watch: bool,
        seconds: Option<f64>,
    ) -> PyResult<Self> {
        let address = parse_address(address, ca)?;
        let token = token.as_deref();
        let connect =
            |timeout: Timeout<'_>| Session::connect(&address, token, &name, watch, timeout);
        Ok(Self(wait_detached(py, seconds, connect)?))
    }

    /// Connect to the daemon and join the application that has this ticket, as a further process.
    #[staticmethod]
    fn join(
        py: Python<'_>,
        address: &str,
        ca: Option<String>,
        ticket: String,
        watch: bool,
        seconds: Option<f64>,
    ) -> PyResult<Self> {
        let address = parse_address(address, ca)?;
        let join = |timeout: Timeout<'_>| Session::join(&address, &ticket, watch, timeout);
        Ok(Self(wait_detached(py, seconds, join)?))
    }

    /// Return the application's number, its ticket, the daemon's version, and the sizes of staging
    /// and network memory in bytes.
    fn welcome(&self) -> (u32, String, String, u64, u64) {
        let it = self.0.welcome().clone();
        (
            it.application,
            it.ticket,
            it.isthmus,
            it.staging_bytes,
            it.network_bytes,
        )
    }

    /// Check that this process created the session. Fails in a process that was forked from it.
    fn check_process(&self) -> PyResult<()> {
        self.0.check_process().map_err(|error| to_py_error(&error))
    }

    /// Create a link between this process and the daemon, over two rings of these sizes or over a
    /// socket.
    fn link(
        &self,
        py: Python<'_>,
        number: u16,
        rings: Option<(u64, u64)>,
        grace: Option<f64>,
        seconds: Option<f64>,
    ) -> PyResult<()> {
        let grace = grace.map_or(Ok(Duration::MAX), |grace| match grace.is_finite() {
            true => Duration::try_from_secs_f64(grace),
            false => Ok(Duration::MAX),
        });
        let grace = grace.map_err(wrong)?;
        let carrier = match rings {
            None => Carrier::Socket,
            Some((from_rank_bytes, to_rank_bytes)) => Carrier::Rings {
                from_rank_bytes,
                to_rank_bytes,
            },
        };
        wait_detached(py, seconds, |timeout| {
            self.0.link_for(number, carrier, grace, timeout)
        })
    }

    /// Release a link of this process.
    fn unlink(&self, number: u16) -> PyResult<()> {
        self.check_process()?;
        self.0.unlink(number);
        Ok(())
    }

    /// Return the numbers of the links between this process and the daemon.
    fn links(&self) -> Vec<u16> {
        self.0.links()
    }

    /// Send a request to the daemon and wait for the answer; both are JSON.
    fn ask(&self, py: Python<'_>, request: &str, seconds: Option<f64>) -> PyResult<String> {
        let request: Request = from_str(request).map_err(wrong)?;
        let answer = wait_detached(py, seconds, |timeout| self.0.request(request, timeout))?;
        crate::json(&answer)
    }

    /// Send a request to the daemon. `notices` reports when its answer has arrived.
    fn ask_noticed(
        &self,
        py: Python<'_>,
        request: &str,
        seconds: Option<f64>,
    ) -> PyResult<PyPending> {
        let request: Request = from_str(request).map_err(wrong)?;
        let pending = wait_detached(py, seconds, |timeout| self.0.ask(request, true, timeout));
        Ok(PyPending(pending?))
    }

    /// Register streams, all or none, from a JSON list of specifications.
    fn submit(&self, py: Python<'_>, specs: &str, seconds: Option<f64>) -> PyResult<Vec<PyStream>> {
        let specs: Vec<Spec> = from_str(specs).map_err(wrong)?;
        let streams = wait_detached(py, seconds, |timeout| self.0.submit(&specs, timeout))?;
        Ok(streams.into_iter().map(PyStream).collect())
    }

    /// Return a stream that another process of the application has registered.
    fn adopt(
        &self,
        py: Python<'_>,
        number: u32,
        spec: &str,
        seconds: Option<f64>,
    ) -> PyResult<PyStream> {
        let spec = from_str(spec).map_err(wrong)?;
        let stream = wait_detached(py, seconds, |timeout| self.0.adopt(number, &spec, timeout))?;
        Ok(PyStream(stream))
    }

    /// Return the next event from the daemon as JSON; `None` if none arrives in time.
    fn event(&self, py: Python<'_>, seconds: Option<f64>) -> PyResult<Option<String>> {
        let event = wait_detached(py, seconds, |timeout| self.0.event(timeout))?;
        event.map(|event| crate::json(&event)).transpose()
    }

    /// Return the numbers of answered requests, and the events as JSON, since the last call.
    fn notices(&self) -> PyResult<(Vec<u64>, Vec<String>)> {
        let (answered, events) = self.0.notices();
        let events = events.iter().map(crate::json).collect::<PyResult<_>>()?;
        Ok((answered, events))
    }

    /// Return the file descriptor that is readable while there are notices or after the session has
    /// ended.
    fn fileno(&self) -> i32 {
        self.0.as_fd().as_raw_fd()
    }

    /// Return the reason why the session has ended; `None` while it is open.
    fn gone(&self) -> Option<String> {
        self.0.gone().map(|error| error.to_string())
    }

    /// End the session.
    fn end(&self) {
        self.0.end();
    }
}

/// A request that has not been answered yet, as a class of Python.
#[pyclass(name = "NicPending", module = "isthmus._core", frozen)]
pub(crate) struct PyPending(Pending);

#[pymethods]
impl PyPending {
    /// Return the number of the request, which `notices` reports when it is answered.
    #[getter]
    fn id(&self) -> u64 {
        self.0.id()
    }

    /// Return the answer of the daemon as JSON; `None` if it has not arrived yet.
    fn poll(&self) -> PyResult<Option<String>> {
        match self.0.poll() {
            None => Ok(None),
            Some(Ok(answer)) => crate::json(&answer).map(Some),
            Some(Err(error)) => Err(to_py_error(&error)),
        }
    }
}

/// A received ADU (application data unit), as Python gets it: its number and its missing byte
/// ranges.
type Came = (u64, Vec<(u64, u64)>);

/// A stream of a session, as a class of Python.
#[pyclass(name = "NicStream", module = "isthmus._core", frozen)]
pub(crate) struct PyStream(Stream);

#[pymethods]
impl PyStream {
    /// Return the number of the stream within its daemon.
    #[getter]
    fn number(&self) -> u32 {
        self.0.number()
    }

    /// Check that this process created the session. Fails in a process that was forked from it.
    fn check_process(&self) -> PyResult<()> {
        self.0.check_process().map_err(|error| to_py_error(&error))
    }

    /// Return how many bytes of an ADU (application data unit) of `adu_bytes` move over links of
    /// this process.
    fn own_bytes(&self, adu_bytes: u64) -> PyResult<u64> {
        self.check_process()?;
        Ok(self.0.own_bytes(adu_bytes))
    }

    /// Send an ADU (application data unit) and return its number. If its size is given, send only
    /// its SUs (striping units) that go over links of this process.
    fn send(
        &self,
        py: Python<'_>,
        data: PyReadonlyArray1<'_, u8>,
        adu_bytes: Option<u64>,
        seconds: Option<f64>,
    ) -> PyResult<u64> {
        let data = data.as_slice().map_err(wrong)?;
        wait_detached(py, seconds, |timeout| match adu_bytes {
            None => self.0.send(data, timeout),
            Some(adu_bytes) => self.0.send_own(adu_bytes, data, timeout),
        })
    }

    /// Send the next bytes over links of this process, in whole TUs (transfer units).
    fn send_run(
        &self,
        py: Python<'_>,
        data: PyReadonlyArray1<'_, u8>,
        seconds: Option<f64>,
    ) -> PyResult<()> {
        let data = data.as_slice().map_err(wrong)?;
        wait_detached(py, seconds, |timeout| self.0.send_run(data, timeout))
    }

    /// Receive the next bytes over links of this process, in whole TUs (transfer units). Return the
    /// missing byte ranges, each with the number of its ADU (application data unit).
    fn recv_run(
        &self,
        py: Python<'_>,
        mut data: PyReadwriteArray1<'_, u8>,
        seconds: Option<f64>,
    ) -> PyResult<Vec<(u64, (u64, u64))>> {
        let data = data.as_slice_mut().map_err(wrong)?;
        let missing = wait_detached(py, seconds, |timeout| self.0.recv_run(data, timeout))?;
        let missing = missing.into_iter();
        Ok(missing
            .map(|(adu, range)| (adu, (range.start, range.end)))
            .collect())
    }

    /// Receive an ADU (application data unit); return `None` at the end of the stream. If its size
    /// is given, receive only its SUs (striping units) that come over links of this process.
    fn recv(
        &self,
        py: Python<'_>,
        mut data: PyReadwriteArray1<'_, u8>,
        adu_bytes: Option<u64>,
        seconds: Option<f64>,
    ) -> PyResult<Option<Came>> {
        let data = data.as_slice_mut().map_err(wrong)?;
        let received = wait_detached(py, seconds, |timeout| match adu_bytes {
            None => self.0.recv(data, timeout),
            Some(adu_bytes) => self.0.recv_own(adu_bytes, data, timeout),
        })?;
        Ok(match received {
            Received::End => None,
            Received::Adu { adu, missing } => {
                let each = missing.into_iter().map(|range| (range.start, range.end));
                Some((adu, each.collect()))
            }
        })
    }

    /// Wait until this number of ADUs (application data units) is done; with `moved`, until it is
    /// in network memory (sending) or received by the ranks. The wait also ends with the stream.
    /// Return its status as JSON.
    fn wait(
        &self,
        py: Python<'_>,
        adus: Option<u64>,
        moved: bool,
        seconds: Option<f64>,
    ) -> PyResult<String> {
        let status = wait_detached(py, seconds, |timeout| match (adus, moved) {
            (None, _) => self.0.wait(timeout),
            (Some(adus), true) => self.0.wait_moved(adus, timeout),
            (Some(adus), false) => self.0.wait_done(adus, timeout),
        });
        crate::json(&status?)
    }

    /// Return the status of the stream as JSON.
    fn status(&self, py: Python<'_>, seconds: Option<f64>) -> PyResult<String> {
        crate::json(&wait_detached(py, seconds, |timeout| {
            self.0.status(timeout)
        })?)
    }

    /// Set the final number of ADUs (application data units) of the stream.
    fn finish(&self, py: Python<'_>, adus: u64, seconds: Option<f64>) -> PyResult<()> {
        wait_detached(py, seconds, |timeout| self.0.finish(adus, timeout))
    }

    /// Cancel the stream.
    fn cancel(&self, py: Python<'_>, seconds: Option<f64>) -> PyResult<()> {
        wait_detached(py, seconds, |timeout| self.0.cancel(timeout))
    }
}
