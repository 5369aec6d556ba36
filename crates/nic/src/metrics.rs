//! Counts for Prometheus, in its text format, and whether the daemon is well.

use crate::hub::{Hub, State};
use crate::shared::Shared;
use crate::tally::ENDS;
use isthmus_framebuffer::means_this_machine;
use isthmus_stream::{Direction, State as At};
use isthmus_stream_net::Driver;
use rustix::event::{PollFd, PollFlags, poll};
use std::fmt::{Display, Write as _};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long one who asks may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// How many are answered at a time; more are told so, and try again.
const ASKERS_MOST: usize = 16;

/// Bytes of a request at most.
const REQUEST: usize = 8 << 10;

/// The text, as it grows.
struct Text(String);

impl Text {
    /// The head of a metric.
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        // Text takes all that is written.
        let _ = writeln!(self.0, "# HELP isthmus_nic_{name} {help}");
        let _ = writeln!(self.0, "# TYPE isthmus_nic_{name} {kind}");
    }

    fn value(&mut self, name: &str, labels: &str, value: impl Display) {
        let _ = writeln!(self.0, "isthmus_nic_{name}{labels} {value}");
    }

    fn one(&mut self, name: &str, kind: &str, help: &str, value: impl Display) {
        self.head(name, kind, help);
        self.value(name, "", value);
    }

    fn each(&mut self, name: &str, kind: &str, help: &str, label: &str, of: &[(&str, u64)]) {
        self.head(name, kind, help);
        for (what, value) in of {
            self.value(name, &format!("{{{label}=\"{what}\"}}"), value);
        }
    }
}

/// Sockets of the control interface.
#[derive(Clone, Copy, Default)]
struct Sockets {
    sessions: u32,
    strangers: usize,
    dropped: u64,
}

/// All metrics of a moment.
fn text(hub: &Hub, state: &State, driver: &Driver, sockets: Sockets) -> String {
    let mut text = Text(String::new());
    let version = format!("{{version=\"{}\"}}", env!("CARGO_PKG_VERSION"));
    text.head("info", "gauge", "The version of isthmus.");
    text.value("info", &version, 1);
    let up = hub.began.elapsed().as_secs_f64();
    text.one(
        "uptime_seconds",
        "gauge",
        "Time since the daemon began.",
        up,
    );
    present(&mut text, state, driver, sockets);
    memory(&mut text, driver);
    totals(&mut text, state, driver);
    text.0
}

fn present(text: &mut Text, state: &State, driver: &Driver, sockets: Sockets) {
    let apps = state.apps.len();
    text.one("applications", "gauge", "Applications now.", apps);
    text.one("sessions", "gauge", "Sessions now.", sockets.sessions);
    let help = "Sockets now that have not said who they are.";
    text.one("unauthenticated", "gauge", help, sockets.strangers);
    let help = "Such sockets that were closed to make room for others.";
    text.one(
        "unauthenticated_dropped_total",
        "counter",
        help,
        sockets.dropped,
    );
    let links = state.links.keys();
    let (mut whole, mut cut) = (0, 0);
    for link in links.filter(|link| driver.is_attached(**link)) {
        match driver.is_cut(*link) {
            true => cut += 1,
            false => whole += 1,
        }
    }
    text.one("links", "gauge", "Links with ends now.", whole);
    let help = "Links now that were cut and may be made anew.";
    text.one("links_cut", "gauge", help, cut);
    let manager = driver.manager();
    let lines = state.connections.keys();
    let found = lines.filter_map(|id| manager.connection_status(*id).ok());
    let (open, opening) =
        found
            .filter(|one| one.gone.is_none())
            .fold((0, 0), |(open, opening), one| match one.open {
                true => (open + 1, opening),
                false => (open, opening + 1),
            });
    let each = [("open", open), ("opening", opening)];
    text.each("connections", "gauge", "Connections now.", "state", &each);
    let mut streams = [0; 4];
    for id in manager.streams() {
        let place = match manager.status(id).map(|status| status.state) {
            Ok(At::Inactive) => 0,
            Ok(At::Pending) => 1,
            Ok(At::Active) => 2,
            Ok(At::Draining) => 3,
            _ => continue,
        };
        streams[place] += 1;
    }
    let names = ["inactive", "pending", "active", "draining"];
    let each: Vec<_> = names.into_iter().zip(streams).collect();
    let help = "Streams that have not ended, by state.";
    text.each("streams", "gauge", help, "state", &each);
}

fn memory(text: &mut Text, driver: &Driver) {
    let manager = driver.manager();
    let ways = [Direction::Transmit, Direction::Receive];
    let [(out, sent), (into, held)] = ways.map(|way| manager.used(way));
    let (label, has) = ("direction", manager.config());
    let help = "Staging memory in use.";
    let each = [("transmit", out), ("receive", into)];
    text.each("staging_bytes", "gauge", help, label, &each);
    let help = "Staging memory there is, in each direction.";
    text.one("staging_limit_bytes", "gauge", help, has.staging_bytes);
    let help = "Network memory in use.";
    let each = [("transmit", sent), ("receive", held)];
    text.each("network_bytes", "gauge", help, label, &each);
    let help = "Network memory there is, in each direction.";
    text.one("network_limit_bytes", "gauge", help, has.network_bytes);
}

fn totals(text: &mut Text, state: &State, driver: &Driver) {
    let counts = driver.manager().statistics();
    let tally = &state.tally;
    for (name, help, value) in [
        (
            "sent_bytes_total",
            "Data bytes sent for the first time.",
            counts.bytes_sent,
        ),
        (
            "delivered_bytes_total",
            "Data bytes that went to ranks as good.",
            counts.bytes_delivered,
        ),
        (
            "sent_packets_total",
            "Packets sent for the first time.",
            counts.packets_sent,
        ),
        (
            "retransmissions_total",
            "Packets sent again.",
            counts.retransmissions,
        ),
        (
            "timeouts_total",
            "Time-outs of the transmit half.",
            counts.timeouts,
        ),
        (
            "duplicate_packets_total",
            "Packets that came again, or late.",
            counts.duplicates,
        ),
        (
            "corrupted_packets_total",
            "Packets whose data was not what was sent.",
            counts.corrupted,
        ),
        (
            "stray_packets_total",
            "Packets that cannot be of their connection.",
            counts.stray,
        ),
        ("adus_total", "ADUs moved.", counts.adus),
        (
            "stray_frames_total",
            "Frames on links of streams they are not of.",
            { driver.figures().stray_frames },
        ),
        (
            "connections_lost_total",
            "Connections that were lost.",
            tally.lost,
        ),
        (
            "links_cut_total",
            "Times that a link lost its socket and waited for another one.",
            tally.links_cut,
        ),
        (
            "links_restored_total",
            "Times that a link was made anew.",
            tally.links_restored,
        ),
        (
            "links_gone_total",
            "Links whose other end was gone.",
            tally.links_gone,
        ),
        (
            "stalls_total",
            "Times that a stream made no progress for long.",
            tally.stalls,
        ),
        (
            "applications_total",
            "Applications that were let in.",
            tally.applications,
        ),
        (
            "requests_total",
            "Requests that were answered.",
            tally.answered,
        ),
        (
            "refusals_total",
            "Requests that were refused.",
            tally.refused,
        ),
    ] {
        text.one(name, "counter", help, value);
    }
    let each: Vec<_> = ENDS.into_iter().zip(tally.ended).collect();
    let help = "Streams that ended, by how.";
    text.each("streams_ended_total", "counter", help, "end", &each);
}

/// Answers until the daemon ends: each on a thread of its own, so that who says nothing holds up
/// nobody.
pub(crate) fn serve(shared: &Arc<Shared>, listener: &TcpListener) {
    let askers = Arc::new(());
    loop {
        let mut fds = [
            PollFd::new(listener, PollFlags::IN),
            PollFd::from_borrowed_fd(shared.stop(), PollFlags::IN),
        ];
        // Interrupted or not, it is looked at again.
        let _ = poll(&mut fds, None);
        if !fds[1].revents().is_empty() {
            return;
        }
        match listener.accept() {
            Ok((socket, _)) => receive(shared, &askers, socket),
            Err(_) => std::thread::sleep(Duration::from_millis(50)),
        }
    }
}

/// Answers on a thread, if there is room for one more.
fn receive(shared: &Arc<Shared>, askers: &Arc<()>, mut socket: TcpStream) {
    // One is the listener's.
    if Arc::strong_count(askers) > ASKERS_MOST {
        let text = format!("{ASKERS_MOST} are being answered, which are the most: ask again\n");
        let answer = response("503 Service Unavailable", "text/plain", text.len(), &text);
        // There is room for this in a new socket; one that is gone already needs no answer.
        let _ = socket.set_write_timeout(Some(Duration::from_millis(100)));
        let _ = socket.write_all(answer.as_bytes());
        let _ = socket.shutdown(Shutdown::Write);
        return;
    }
    let (shared, asker) = (Arc::clone(shared), Arc::clone(askers));
    let thread = std::thread::Builder::new().name("nic-metrics".into());
    // Without a thread the socket is closed, and who asked tries again.
    let _ = thread.spawn(move || {
        // Who does not ask properly is not answered.
        let _ = answer(&shared, socket);
        drop(asker);
    });
}

fn answer(shared: &Arc<Shared>, mut socket: TcpStream) -> std::io::Result<()> {
    let until = Instant::now() + PATIENCE;
    socket.set_write_timeout(Some(PATIENCE))?;
    let mut request = Vec::new();
    let mut bytes = [0; 1024];
    let Asked { method, path, host } = loop {
        match asked(&request) {
            Ok(Some(asked)) => break asked,
            Ok(None) => {}
            Err(why) => {
                let answer = response("400 Bad Request", "text/plain", why.len(), &why);
                return socket.write_all(answer.as_bytes());
            }
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() || request.len() > REQUEST {
            return Ok(());
        }
        socket.set_read_timeout(Some(left))?;
        match socket.read(&mut bytes)? {
            0 => return Ok(()),
            read => request.extend_from_slice(&bytes[..read]),
        }
    };
    let refused = host.and_then(|host| means_this_machine(&host).err());
    let method = method.as_str();
    let (status, kind, body) = match (method, path.as_str()) {
        _ if refused.is_some() => (
            "403 Forbidden",
            "text/plain",
            refused.unwrap_or_default() + "\n",
        ),
        ("GET" | "HEAD", "/metrics") => match now(shared) {
            Some(text) => ("200 OK", "text/plain; version=0.0.4; charset=utf-8", text),
            None => unwell(),
        },
        ("GET" | "HEAD", "/healthz") => match now(shared) {
            Some(_) if !shared.hub.state().ending => ("200 OK", "text/plain", "ok\n".into()),
            _ => unwell(),
        },
        ("GET" | "HEAD", _) => {
            let text = "there are /metrics and /healthz\n";
            ("404 Not Found", "text/plain", text.into())
        }
        _ => (
            "405 Method Not Allowed",
            "text/plain",
            "GET is answered\n".into(),
        ),
    };
    let length = body.len();
    let body = if method == "HEAD" { "" } else { body.as_str() };
    let answer = response(status, kind, length, body);
    socket.write_all(answer.as_bytes())
}

struct Asked {
    method: String,
    path: String,
    host: Option<String>,
}

/// What a request asks, if these bytes are all of its head.
fn asked(bytes: &[u8]) -> std::result::Result<Option<Asked>, String> {
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
    Ok(Some(Asked {
        method: request.method.unwrap_or("").into(),
        path: path.into(),
        host: host.map(|host| String::from_utf8_lossy(host.value).into_owned()),
    }))
}

fn response(status: &str, kind: &str, length: usize, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{body}"
    )
}

fn unwell() -> (&'static str, &'static str, String) {
    let text = "the daemon ends, or has lost its manager\n";
    ("503 Service Unavailable", "text/plain", text.into())
}

/// The metrics, if there is a manager.
fn now(shared: &Arc<Shared>) -> Option<String> {
    let hub = Arc::clone(&shared.hub);
    let sockets = Sockets {
        sessions: shared.sessions(),
        strangers: shared.strangers.count(),
        dropped: shared.strangers.dropped(),
    };
    let called = shared.client.call(move |driver| {
        let state = hub.state();
        text(&hub, &state, driver, sockets)
    });
    called.ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::log::{Log, Logs};
    use crate::roots::Roots;

    /// Each metric has one head, before its values, and a name that says its unit as Prometheus
    /// wants it.
    #[test]
    fn the_text_is_what_prometheus_reads() {
        let config = Config::new(Vec::new());
        let driver = Driver::new(config.manager()).unwrap();
        let hub = Hub::new(
            config,
            Roots::default(),
            Log::start(&Logs::None).unwrap(),
            None,
        );
        let text = text(&hub, &hub.state(), &driver, Sockets::default());
        let (mut heads, mut kind) = (Vec::new(), String::new());
        for line in text.lines() {
            let mut words = line.split(' ');
            match (words.next().unwrap(), words.next().unwrap()) {
                ("#", "HELP") => {
                    let name = words.next().unwrap().to_owned();
                    assert!(!heads.contains(&name), "{name} twice");
                    assert!(words.next().is_some(), "{name} without help");
                    heads.push(name);
                }
                ("#", "TYPE") => {
                    assert_eq!(words.next(), heads.last().map(String::as_str));
                    kind = words.next().unwrap().to_owned();
                }
                (name, value) => {
                    let bare = name.split('{').next().unwrap();
                    assert_eq!(Some(bare), heads.last().map(String::as_str));
                    assert_eq!(bare.ends_with("_total"), kind == "counter", "{bare}");
                    value.parse::<f64>().unwrap();
                }
            }
        }
        assert!(heads.len() > 20);
    }
}
