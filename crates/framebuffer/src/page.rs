//! The web page that shows screens, with a WebSocket per viewer.

use crate::error::Error;
use crate::http::{self, Refused, Request};
use crate::screens::Screens;
use crate::viewer;
use isthmus_wire::listen_tcp;
use std::collections::BTreeMap;
use std::io::Write;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Maximum number of open connections to the web page, including those of viewers.
const MAX_CONNECTIONS: usize = 48;
/// Maximum number of viewers that the web page shows frames to.
const MAX_VIEWERS: usize = 16;
/// Maximum time for which a write to a connection may block.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

/// The files of the web page: path, media type and contents.
const FILES: &[(&str, &str, &str)] = &[
    ("/", "text/html", include_str!("page/index.html")),
    ("/page.js", "text/javascript", include_str!("page/page.js")),
    ("/page.css", "text/css", include_str!("page/page.css")),
];

/// The web page that shows screens. It is served until this is dropped.
#[derive(Debug)]
pub struct Page {
    address: SocketAddr,
    screens: Screens,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// The state that the threads of the web page's server share.
#[derive(Debug, Default)]
struct Shared {
    over: AtomicBool,
    connections: Mutex<BTreeMap<u64, TcpStream>>,
}

impl Page {
    /// Show screens at an address of this machine; port 0 selects a free one. The page has no
    /// password, as it changes nothing, and no other machine can reach it.
    ///
    /// # Errors
    /// [`Error::Address`]; the system refuses the address.
    pub fn serve(screens: Screens, address: SocketAddr) -> Result<Self, Error> {
        if !address.ip().is_loopback() {
            return Err(Error::Address(address));
        }
        let refused = |error| Error::System(format!("the page at {address}"), error);
        let listener = listen_tcp(address).map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        screens.open();
        let shared = Arc::new(Shared::default());
        let (looked, with) = (screens.clone(), Arc::clone(&shared));
        let thread = thread::Builder::new().name("framebuffer".into());
        let thread = thread
            .spawn(move || accept(&listener, &looked, &with))
            .map_err(refused)?;
        Ok(Self {
            address,
            screens,
            shared,
            thread: Some(thread),
        })
    }

    /// Return the screens that the web page shows.
    #[must_use]
    pub fn screens(&self) -> &Screens {
        &self.screens
    }

    /// Return the network address of the web page.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Page {
    /// Closes all connections and stops the thread that accepts them.
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Release);
        self.screens.close();
        for stream in self.shared.connections().values() {
            // Ignore an error: the connection may be closed already.
            let _ = stream.shutdown(Shutdown::Both);
        }
        // Connect to the page itself to wake the accepting thread, which then detects the end.
        let woken = TcpStream::connect_timeout(&self.address, WRITE_TIMEOUT);
        if let Some(thread) = self.thread.take().filter(|_| woken.is_ok()) {
            // Ignore a panic of the thread, which is printed already.
            let _ = thread.join();
        }
    }
}

impl Shared {
    /// Return the open connections to the web page by number, locked.
    fn connections(&self) -> std::sync::MutexGuard<'_, BTreeMap<u64, TcpStream>> {
        let locked = self.connections.lock();
        locked.unwrap_or_else(PoisonError::into_inner)
    }

    /// Return whether the web page is over: it is being dropped, and its threads must end.
    fn over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// Store a connection so that it can be closed with the page. Returns false if there are too
    /// many connections.
    fn keep(&self, id: u64, stream: &TcpStream) -> bool {
        let mut all = self.connections();
        let Ok(copy) = stream.try_clone() else {
            return false;
        };
        if all.len() >= MAX_CONNECTIONS || self.over() {
            return false;
        }
        all.insert(id, copy);
        true
    }
}

/// Accept connections from browsers until the web page is dropped.
fn accept(listener: &TcpListener, screens: &Screens, shared: &Arc<Shared>) {
    let mut threads: Vec<JoinHandle<()>> = Vec::new();
    for (id, stream) in (0..).zip(listener.incoming()) {
        if shared.over() {
            break;
        }
        threads.retain(|thread| !thread.is_finished());
        let Ok(mut stream) = stream else {
            // Wait and accept again: the process may have run out of descriptors for the moment.
            thread::sleep(Duration::from_millis(50));
            continue;
        };
        let timed = stream.set_write_timeout(Some(WRITE_TIMEOUT));
        if timed.is_err() || !shared.keep(id, &stream) {
            let why = format!("{MAX_CONNECTIONS} connections are the most");
            refuse(&mut stream, &Refused("503 Service Unavailable", why));
            continue;
        }
        let (looked, with) = (screens.clone(), Arc::clone(shared));
        let thread = thread::Builder::new().name("framebuffer-page".into());
        let spawned = thread.spawn(move || {
            answer(&mut stream, &looked);
            with.connections().remove(&id);
            // Ignore an error: the other end may be closed already.
            let _ = stream.shutdown(Shutdown::Both);
        });
        match spawned {
            Ok(thread) => threads.push(thread),
            Err(_) => _ = shared.connections().remove(&id),
        }
    }
    for thread in threads {
        // Ignore a panic of the thread, which is printed already.
        let _ = thread.join();
    }
}

/// Read a request of a browser and answer it: with a file of the page, or as a WebSocket.
fn answer(stream: &mut TcpStream, screens: &Screens) {
    match http::read(stream) {
        Err(refused) => refuse(stream, &refused),
        Ok(Request { path, key, rest }) => match key {
            Some(key) if path == "/stream" => match screens.enter(MAX_VIEWERS) {
                Some(viewer) => viewer::serve(stream, screens, viewer, &key, rest),
                None => {
                    let why = format!("{MAX_VIEWERS} viewers are the most");
                    refuse(stream, &Refused("503 Service Unavailable", why));
                }
            },
            _ => match FILES.iter().find(|(name, ..)| *name == path) {
                Some((_, kind, text)) => write(stream, "200 OK", kind, text),
                None => {
                    let why = format!("{path}: there is a page at /, and a WebSocket at /stream");
                    refuse(stream, &Refused("404 Not Found", why));
                }
            },
        },
    }
}

/// Write the refusal of a request as the response.
fn refuse(stream: &mut TcpStream, Refused(status, why): &Refused) {
    write(stream, status, "text/plain", &format!("{why}\n"));
}

/// Write a response with this status, media type and text.
fn write(stream: &mut TcpStream, status: &str, kind: &str, text: &str) {
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}; charset=utf-8\r\nContent-Length: {}\r\n\
         Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; \
         connect-src 'self'; img-src data:; frame-ancestors 'none'\r\n\
         X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n",
        text.len()
    );
    // Ignore an error: the other end may be gone.
    let _ = stream.write_all(format!("{head}{text}").as_bytes());
}
