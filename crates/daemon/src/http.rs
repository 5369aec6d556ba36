//! Answers requests over HTTP for the metrics and the health of a daemon.

use crate::gate::Gate;
use crate::server::{Service, wait};
use isthmus_wire::address::check_host;
use std::fmt::{Display, Write as _};
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time within which a request must arrive and be answered.
const REQUEST_TIME: Duration = Duration::from_secs(2);

/// Maximum number of HTTP requests that are answered at a time.
const REQUESTS_MOST: usize = 16;

/// Maximum size of an HTTP request in bytes.
const REQUEST_BYTES: usize = 8 << 10;

/// The text of metrics, in the text format of Prometheus 0.0.4.
#[derive(Debug)]
pub struct Text {
    prefix: &'static str,
    text: String,
}

impl Text {
    /// Start the text with the version and the uptime of a daemon. The prefix is added to the names
    /// of all metrics.
    #[must_use]
    pub fn new(prefix: &'static str, started: Instant) -> Self {
        let mut text = Self {
            prefix,
            text: String::new(),
        };
        let version = format!("{{version=\"{}\"}}", env!("CARGO_PKG_VERSION"));
        text.head("info", "gauge", "The version of isthmus.");
        text.value("info", &version, 1);
        let age = started.elapsed().as_secs_f64();
        text.gauge("uptime_seconds", "Time since the daemon began.", age);
        text
    }

    /// Append the head of a metric: its help text and its type.
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let prefix = self.prefix;
        // Writing to a string does not fail.
        let _ = writeln!(self.text, "# HELP {prefix}_{name} {help}");
        let _ = writeln!(self.text, "# TYPE {prefix}_{name} {kind}");
    }

    /// Append a line with the value of a metric for these labels.
    fn value(&mut self, name: &str, labels: &str, value: impl Display) {
        let _ = writeln!(self.text, "{}_{name}{labels} {value}", self.prefix);
    }

    /// Append a value of a metric for each value of a label.
    fn labelled(&mut self, name: &str, label: &str, values: &[(&str, u64)]) {
        for (what, value) in values {
            self.value(name, &format!("{{{label}=\"{what}\"}}"), value);
        }
    }

    /// Append a metric of type gauge.
    pub fn gauge(&mut self, name: &str, help: &str, value: impl Display) {
        self.head(name, "gauge", help);
        self.value(name, "", value);
    }

    /// Append a metric of type gauge that has one value for each value of a label.
    pub fn gauges(&mut self, name: &str, help: &str, label: &str, values: &[(&str, u64)]) {
        self.head(name, "gauge", help);
        self.labelled(name, label, values);
    }

    /// Append a metric of type counter; its name ends with `_total`.
    pub fn counter(&mut self, name: &str, help: &str, value: u64) {
        self.head(name, "counter", help);
        self.value(name, "", value);
    }

    /// Append a counter with a value for each value of a label.
    pub fn counters(&mut self, name: &str, help: &str, label: &str, values: &[(&str, u64)]) {
        self.head(name, "counter", help);
        self.labelled(name, label, values);
    }

    /// Return the text of all metrics.
    #[must_use]
    pub fn finish(self) -> String {
        self.text
    }
}

/// Answer HTTP requests until the server stops, each on its own thread, so that a silent client
/// does not delay other clients.
pub(crate) fn serve(gate: &Gate, service: &Arc<impl Service>, listener: &TcpListener) {
    let requests = Arc::new(());
    while let Some(()) = wait(gate, listener) {
        match listener.accept() {
            Ok((socket, _)) => start(service, &requests, socket),
            Err(_) => std::thread::sleep(Duration::from_millis(50)),
        }
    }
}

/// Start a thread that answers an HTTP request, unless too many requests are being answered.
fn start(service: &Arc<impl Service>, requests: &Arc<()>, mut socket: TcpStream) {
    // The number of references to `requests` is the number of requests that are being answered,
    // plus one: each thread that answers a request holds a reference, and so does the listener.
    if Arc::strong_count(requests) > REQUESTS_MOST {
        let text = format!("{REQUESTS_MOST} are being answered, which are the most: ask again\n");
        // Ignore errors of this short reply: a new socket has room for it, and a client that is
        // gone needs none.
        let _ = socket.set_write_timeout(Some(Duration::from_millis(100)));
        let _ = respond(
            &mut socket,
            "503 Service Unavailable",
            "text/plain",
            &text,
            true,
        );
        let _ = socket.shutdown(Shutdown::Write);
        return;
    }
    let (service, request) = (Arc::clone(service), Arc::clone(requests));
    let thread = std::thread::Builder::new().name("metrics".into());
    // Ignore an error: if no thread can be started, the socket is closed, and the client can try
    // again.
    let _ = thread.spawn(move || {
        // Ignore an error: a client with an incomplete request gets no answer.
        let _ = answer(&*service, socket);
        drop(request);
    });
}

/// Read and answer an HTTP request.
fn answer(service: &impl Service, mut socket: TcpStream) -> io::Result<()> {
    let deadline = Instant::now() + REQUEST_TIME;
    socket.set_write_timeout(Some(REQUEST_TIME))?;
    let mut bytes = Vec::new();
    let mut piece = [0; 1024];
    let Request { method, path, host } = loop {
        match parse(&bytes) {
            Ok(Some(request)) => break request,
            Ok(None) => {}
            Err(why) => return respond(&mut socket, "400 Bad Request", "text/plain", &why, true),
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() || bytes.len() > REQUEST_BYTES {
            return Ok(());
        }
        socket.set_read_timeout(Some(left))?;
        match socket.read(&mut piece)? {
            0 => return Ok(()),
            read => bytes.extend_from_slice(&piece[..read]),
        }
    };
    let has_body = method != "HEAD";
    let plain = |status, text: String| (status, "text/plain", text);
    let failed = || {
        let text = "the daemon ends, or has lost its manager\n";
        plain("503 Service Unavailable", text.into())
    };
    let foreign = host.and_then(|host| check_host(&host).err());
    let (status, kind, body) = match (method.as_str(), path.as_str()) {
        _ if foreign.is_some() => plain("403 Forbidden", foreign.unwrap_or_default() + "\n"),
        ("GET" | "HEAD", "/metrics") => match service.metrics() {
            Some(text) => ("200 OK", "text/plain; version=0.0.4; charset=utf-8", text),
            None => failed(),
        },
        ("GET" | "HEAD", "/healthz") => match service.metrics() {
            Some(_) if service.is_accepting() => plain("200 OK", "ok\n".into()),
            _ => failed(),
        },
        ("GET" | "HEAD", _) => plain("404 Not Found", "there are /metrics and /healthz\n".into()),
        _ => plain("405 Method Not Allowed", "GET is answered\n".into()),
    };
    respond(&mut socket, status, kind, &body, has_body)
}

/// Write the response to an HTTP request.
fn respond(
    socket: &mut TcpStream,
    status: &str,
    kind: &str,
    body: &str,
    has_body: bool,
) -> io::Result<()> {
    let length = body.len();
    let body = if has_body { body } else { "" };
    let text = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{body}"
    );
    socket.write_all(text.as_bytes())
}

/// The head of an HTTP request.
struct Request {
    method: String,
    path: String,
    host: Option<String>,
}

/// Parse the head of an HTTP request; `None` if it is not complete.
fn parse(bytes: &[u8]) -> Result<Option<Request>, String> {
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut request = httparse::Request::new(&mut headers);
    let parsed = request.parse(bytes);
    let parsed = parsed.map_err(|error| format!("this is no request of HTTP: {error}\n"))?;
    if parsed.is_partial() {
        return Ok(None);
    }
    let path = request.path.unwrap_or("").split('?').next().unwrap_or("");
    let mut headers = request.headers.iter();
    let host = headers.find(|header| header.name.eq_ignore_ascii_case("Host"));
    Ok(Some(Request {
        method: request.method.unwrap_or("").into(),
        path: path.into(),
        host: host.map(|host| String::from_utf8_lossy(host.value).into_owned()),
    }))
}
