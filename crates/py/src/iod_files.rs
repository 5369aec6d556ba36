//! The files of an I/O daemon by their paths, for `iod://`: operations that end one by one, in any order.

use crate::interruptible::interruptible;
use crate::iod::TargetOptions;
use crate::question::{Refusal, read};
use isthmus_iod_client::{
    Answer, Attributes, DaemonStatus, Errno, Fetched, Listed, RemoteFiles, Unstored,
};
use isthmus_wire::Signal;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyBytes, PyDict, PyList};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::{Arc, Mutex, PoisonError};

/// The number of no operation, for lines on the connection.
const REPORT: u64 = 0;

/// The value that an operation has returned.
enum Value {
    Nothing,
    Bytes(Vec<u8>),
    Fetched(Fetched),
    Attributes(Attributes),
    Listed(Vec<Listed>),
    Status(DaemonStatus),
    Unstored(Vec<Unstored>),
    Number(u64),
    Text(String),
}

/// The operations that have ended and that Python has not taken yet.
struct Ended {
    results: Mutex<Vec<(u64, Result<Value, Errno>)>>,
    /// Set while there are some.
    signal: Signal,
}

impl Ended {
    /// Add an operation.
    fn add(&self, number: u64, result: Result<Value, Errno>) {
        let mut results = self.results.lock().unwrap_or_else(PoisonError::into_inner);
        results.push((number, result));
        if results.len() == 1 {
            self.signal.set();
        }
    }
}

/// The files of a daemon, as a class of Python. Each operation has a number of the caller.
#[pyclass(name = "IodFiles", module = "isthmus._core", frozen)]
pub(crate) struct PyIodFiles {
    files: Arc<RemoteFiles>,
    ended: Arc<Ended>,
}

impl Drop for PyIodFiles {
    /// End the connection.
    fn drop(&mut self) {
        self.files.end();
    }
}

impl PyIodFiles {
    /// Return the function that gets the result of an operation.
    fn answer<T>(&self, number: u64, value: impl FnOnce(T) -> Value + Send + 'static) -> Answer<T> {
        let ended = Arc::clone(&self.ended);
        Box::new(move |result| ended.add(number, result.map(value)))
    }

    /// Return the function that gets the result of an operation without a value.
    fn answer_nothing(&self, number: u64) -> Answer<()> {
        self.answer(number, |()| Value::Nothing)
    }
}

#[pymethods]
impl PyIodFiles {
    /// Connect to a daemon with options in JSON.
    #[staticmethod]
    fn open(py: Python<'_>, options_json: &str) -> PyResult<Self> {
        let signal = Signal::new()?;
        let ended = Arc::new(Ended {
            results: Mutex::default(),
            signal,
        });
        let reports = Arc::clone(&ended);
        let report = move |text: &str| reports.add(REPORT, Ok(Value::Text(text.into())));
        let text = options_json.to_owned();
        let files = interruptible(py, Arc::default(), move |_| {
            let options: TargetOptions = read(&text)?;
            RemoteFiles::open(options.target()?, report).map_err(Refusal::of)
        })??;
        Ok(Self { files, ended })
    }

    /// Return the descriptor that is readable while operations have ended.
    fn descriptor(&self) -> i32 {
        self.ended.signal.as_fd().as_raw_fd()
    }

    /// Take the operations that have ended: the number, the error number of Linux or 0, and the value of each.
    fn take<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let results = {
            let mut results = self
                .ended
                .results
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            self.ended.signal.clear();
            std::mem::take(&mut *results)
        };
        let taken = PyList::empty(py);
        for (number, result) in results {
            match result {
                Ok(value) => taken.append((number, 0, to_python(py, value)?))?,
                Err(Errno(errno)) => taken.append((number, errno, py.None()))?,
            }
        }
        Ok(taken)
    }

    /// End the connection. Operations in flight fail with `EIO`.
    fn end(&self, py: Python<'_>) {
        py.detach(|| self.files.end());
    }

    /// Read a file from its start.
    fn fetch(&self, number: u64, path: &[u8], count: u32) {
        let answer = self.answer(number, Value::Fetched);
        self.files.fetch(path, count, answer);
    }

    /// Have the daemon read a file into its cache.
    fn prefetch(&self, number: u64, path: &[u8]) {
        let answer = self.answer_nothing(number);
        self.files.prefetch(path, answer);
    }

    /// Ask for the state of the daemon.
    fn status(&self, number: u64) {
        self.files.status(self.answer(number, Value::Status));
    }

    /// Ask for some of the files with bytes that are not stored.
    fn list_unstored(&self, number: u64, start: u64) {
        let answer = self.answer(number, Value::Unstored);
        self.files.list_unstored(start, answer);
    }

    /// Have the daemon store all files.
    fn drain(&self, number: u64) {
        self.files.drain(self.answer_nothing(number));
    }

    /// Drop the bytes of a file that are not stored.
    fn abandon(&self, number: u64, file: u64, path: &[u8]) {
        let answer = self.answer(number, Value::Number);
        self.files.abandon(file, path, answer);
    }

    /// Ask for the attributes of the file at a path.
    fn attributes(&self, number: u64, path: &[u8]) {
        let answer = self.answer(number, Value::Attributes);
        self.files.attributes(path, answer);
    }

    /// Ask for the attributes of an open file.
    fn attributes_of(&self, number: u64, fid: u32) {
        let answer = self.answer(number, Value::Attributes);
        self.files.attributes_of(fid, answer);
    }

    /// Ask for the target of a symbolic link.
    fn read_link(&self, number: u64, path: &[u8]) {
        let answer = self.answer(number, Value::Bytes);
        self.files.read_link(path, answer);
    }

    /// List a directory.
    fn list(&self, number: u64, path: &[u8]) {
        let answer = self.answer(number, Value::Listed);
        self.files.list(path, answer);
    }

    /// Create a directory.
    fn make_directory(&self, number: u64, path: &[u8], mode: u32) {
        let answer = self.answer_nothing(number);
        self.files.make_directory(path, mode, answer);
    }

    /// Remove a file, or an empty directory.
    fn remove(&self, number: u64, path: &[u8], is_directory: bool) {
        let answer = self.answer_nothing(number);
        self.files.remove(path, is_directory, answer);
    }

    /// Rename a file or directory.
    fn rename(&self, number: u64, old: &[u8], new: &[u8]) {
        let answer = self.answer_nothing(number);
        self.files.rename(old, new, answer);
    }

    /// Open a file with flags of Linux and return its fid. Operations that use it fail if it cannot be opened.
    fn open_file(&self, path: &[u8], flags: u32, mode: u32) -> u32 {
        self.files.open_file(path, flags, mode)
    }

    /// Read `count` bytes of an open file; fewer at its end.
    fn read(&self, py: Python<'_>, number: u64, fid: u32, offset: u64, count: usize) {
        let answer = self.answer(number, Value::Bytes);
        py.detach(|| self.files.read(fid, offset, count, answer));
    }

    /// Write bytes to an open file.
    fn write(&self, number: u64, fid: u32, offset: u64, data: &[u8]) {
        let answer = self.answer_nothing(number);
        self.files.write(fid, offset, data, answer);
    }

    /// Wait until an open file is safe: 0 as a close, 1 in the cache, 2 in the store.
    fn commit(&self, number: u64, fid: u32, level: u8) {
        let answer = self.answer_nothing(number);
        self.files.commit(fid, level, answer);
    }

    /// Forget a fid.
    fn close(&self, fid: u32) {
        self.files.close(fid);
    }
}

/// Convert the value of an operation.
fn to_python(py: Python<'_>, value: Value) -> PyResult<Py<PyAny>> {
    let bytes = |bytes: &[u8]| PyBytes::new(py, bytes);
    Ok(match value {
        Value::Nothing => py.None(),
        Value::Bytes(data) => bytes(&data).into_any().unbind(),
        Value::Fetched(of) => {
            let state = (
                of.number,
                of.size,
                nanoseconds(of.modified.0, of.modified.1.into()),
            );
            (state, bytes(&of.data))
                .into_pyobject(py)?
                .into_any()
                .unbind()
        }
        Value::Attributes(of) => numbers(&of).into_pyobject(py)?.into_any().unbind(),
        Value::Listed(entries) => {
            let entries = entries.iter();
            let entries = entries.map(|(name, of)| (bytes(name), numbers(of)));
            PyList::new(py, entries.collect::<Vec<_>>())?
                .into_any()
                .unbind()
        }
        Value::Status(status) => status_of(py, &status)?.into_any().unbind(),
        Value::Unstored(files) => {
            let files = files.iter().map(|file| {
                let error = file.error.map(|Errno(errno)| errno);
                let age = file.age.as_secs_f64();
                (file.number, file.bytes, age, error, bytes(&file.path))
            });
            let files = files.collect::<Vec<_>>();
            PyList::new(py, files)?.into_any().unbind()
        }
        Value::Number(number) => number.into_pyobject(py)?.into_any().unbind(),
        Value::Text(text) => text.into_pyobject(py)?.into_any().unbind(),
    })
}

/// Return the state of a daemon by the names of its fields.
fn status_of<'py>(py: Python<'py>, status: &DaemonStatus) -> PyResult<Bound<'py, PyDict>> {
    let fields = [
        ("up_ms", status.up_ms),
        ("clients", status.clients),
        ("open_files", status.open_files),
        ("read", status.read),
        ("written", status.written),
        ("has_cache", status.has_cache.into()),
        ("cache_bytes", status.cache_bytes),
        ("dirty_bytes", status.dirty_bytes),
        ("files", status.files),
        ("bytes", status.bytes),
        ("unstored", status.unstored),
        ("unstored_files", status.unstored_files),
        ("failed_files", status.failed_files),
        ("oldest_ms", status.oldest_ms),
        ("stored", status.stored),
        ("rate", status.rate),
        ("hits", status.hits),
        ("misses", status.misses),
    ];
    fields.into_py_dict(py)
}

/// Return attributes in the order in which Python takes them: number, size, time of the last write in ns, mode, links,
/// owner, group.
fn numbers(of: &Attributes) -> (u64, u64, i128, u32, u64, u32, u32) {
    let modified = nanoseconds(of.modified_s, of.modified_ns);
    let number = of.qid.path;
    (number, of.size, modified, of.mode, of.links, of.uid, of.gid)
}

/// Return a time of the protocol in ns since 1970; times before are negative.
fn nanoseconds(seconds: u64, nanoseconds: u64) -> i128 {
    i128::from(seconds.cast_signed()) * 1_000_000_000 + i128::from(nanoseconds)
}
