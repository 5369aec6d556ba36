//! Parser of HTTP requests from browsers: for the web page that shows the screens, and for its WebSocket.
//! Each connection carries one request.

use isthmus_wire::address::check_host;
use std::io::{ErrorKind, Read};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Maximum size of the head of an HTTP request in bytes.
const HEAD_MOST: usize = 8 << 10;
/// Time within which the head of a request must arrive.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);

/// An HTTP request of a browser.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub path: String,
    /// The key of the WebSocket handshake, if the request starts one.
    pub key: Option<String>,
    /// The bytes after the head of the request.
    pub rest: Vec<u8>,
}

/// The refusal of an HTTP request: the status line and a text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refused(pub &'static str, pub String);

/// Return the refusal "400 Bad Request", with this reason.
fn bad(why: impl Into<String>) -> Refused {
    Refused("400 Bad Request", why.into())
}

/// Read an HTTP request from a connection, or return the refusal to send if it is invalid, too long or too late.
pub(crate) fn read(stream: &mut TcpStream) -> Result<Request, Refused> {
    let until = Instant::now() + HEAD_TIMEOUT;
    let mut bytes = Vec::new();
    loop {
        if let Some(request) = parse(&bytes)? {
            return Ok(request);
        }
        if bytes.len() >= HEAD_MOST {
            let why = format!("a head of more than {HEAD_MOST} bytes");
            return Err(Refused("431 Request Header Fields Too Large", why));
        }
        let left = until.saturating_duration_since(Instant::now());
        let late = || Refused("408 Request Timeout", "a head that does not end".into());
        if left.is_zero() {
            return Err(late());
        }
        let mut piece = [0; 1024];
        let read = stream
            .set_read_timeout(Some(left))
            .and_then(|()| stream.read(&mut piece));
        match read {
            Ok(0) => return Err(bad("a head that was cut off")),
            Ok(read) => bytes.extend_from_slice(&piece[..read]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Err(late()),
            Err(error) => return Err(bad(error.to_string())),
        }
    }
}

/// Parse an HTTP request; None if its head is not complete.
fn parse(bytes: &[u8]) -> Result<Option<Request>, Refused> {
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut request = httparse::Request::new(&mut headers);
    let parsed = request.parse(bytes);
    let end = match parsed.map_err(|error| bad(format!("this is no request of HTTP: {error}")))? {
        httparse::Status::Complete(end) => end,
        httparse::Status::Partial => return Ok(None),
    };
    if request.method != Some("GET") {
        let why = "nothing is changed here: GET is what there is";
        return Err(Refused("405 Method Not Allowed", why.into()));
    }
    let header = |name: &str| {
        let mut of = request.headers.iter();
        let found = of.find(|header| header.name.eq_ignore_ascii_case(name))?;
        std::str::from_utf8(found.value).ok()
    };
    check_same_site(header("Host"), header("Origin"))?;
    let asks = |name, word: &str| {
        let mut words = header(name).unwrap_or("").split(',');
        words.any(|one| one.trim().eq_ignore_ascii_case(word))
    };
    let socket = asks("Upgrade", "websocket") && asks("Connection", "upgrade");
    if socket && header("Sec-WebSocket-Version") != Some("13") {
        return Err(bad("version 13 of WebSocket is known"));
    }
    let key = header("Sec-WebSocket-Key");
    if socket && key.is_none() {
        return Err(bad("a WebSocket without Sec-WebSocket-Key"));
    }
    Ok(Some(Request {
        path: request.path.unwrap_or("/").into(),
        key: key.filter(|_| socket).map(str::to_owned),
        rest: bytes[end..].to_vec(),
    }))
}

/// Refuse requests from pages of other sites: `host` must be an address of this machine, not a name
/// that another site resolves to it, and `origin` of a WebSocket must be this page.
fn check_same_site(host: Option<&str>, origin: Option<&str>) -> Result<(), Refused> {
    let Some(host) = host else {
        return Err(bad("a request without Host"));
    };
    check_host(host).map_err(|why| Refused("403 Forbidden", why))?;
    match origin {
        Some(origin) if origin != format!("http://{host}") => {
            let why = format!("a page of {origin} must not look at {host}");
            Err(Refused("403 Forbidden", why))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A valid WebSocket request, followed by further bytes.
    const GOOD: &str = "GET /stream HTTP/1.1\r\nHost: 127.0.0.1:80\r\nUpgrade: websocket\r\n\
                        Connection: keep-alive, Upgrade\r\nSec-WebSocket-Version: 13\r\n\
                        Sec-WebSocket-Key: abc\r\nOrigin: http://127.0.0.1:80\r\n\r\nrest";

    /// Checks that a request is parsed, and that the bytes after its head stay available.
    #[test]
    fn a_request_is_parsed_and_later_bytes_are_kept() {
        let request = parse(GOOD.as_bytes()).unwrap().unwrap();
        assert_eq!(request.path, "/stream");
        assert_eq!(request.key.as_deref(), Some("abc"));
        assert_eq!(request.rest, b"rest");
        for cut in 0..GOOD.len() - 6 {
            assert_eq!(parse(&GOOD.as_bytes()[..cut]), Ok(None), "{cut} bytes");
        }
    }

    proptest! {
        /// Checks that the parser never panics: it returns a request, an error or "incomplete" for any bytes that
        /// differ from a valid request.
        #[test]
        fn changed_requests_cause_no_panic(
            at in 0..GOOD.len(), with in proptest::collection::vec(any::<u8>(), 0..8),
            end in 0..=GOOD.len(),
        ) {
            let mut bytes = GOOD.as_bytes().to_vec();
            bytes.splice(at..(at + with.len()).min(bytes.len()), with);
            bytes.truncate(end);
            if let Ok(Some(request)) = parse(&bytes) {
                prop_assert!(bytes.ends_with(&request.rest));
                prop_assert!(request.path.len() + request.rest.len() < bytes.len());
            }
        }
    }

    /// Checks that requests from pages of other sites are refused.
    #[test]
    fn requests_of_other_sites_are_refused() {
        let cases = [
            ("GET", "POST", "405"),
            ("Host: 127.0.0.1:80", "Host: evil.example:80", "403"),
            ("Host: 127.0.0.1:80", "Hast: x", "400"),
            ("http://127.0.0.1:80", "http://evil.example", "403"),
            ("Version: 13", "Version: 8", "400"),
            ("Sec-WebSocket-Key", "Sec-Key", "400"),
            ("HTTP/1.1", "HTML/1.1", "400"),
        ];
        for (from, to, status) in cases {
            let Refused(found, why) = parse(GOOD.replacen(from, to, 1).as_bytes()).unwrap_err();
            assert!(found.starts_with(status), "{to}: {found}, {why}");
        }
    }
}
