//! A server that listens for senders and serves each with a sink, on its own thread, with counters
//! that can be read meanwhile. A connection that sends no packet does not count as a sender and
//! does not delay a sender.

use crate::error::{Error, Result};
use crate::sink::{Action, Counts, Sink};
use isthmus_stream::wire::Header;
use isthmus_wire::listen_tcp;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Maximum number of accepted connections that have sent no packet. When a further one arrives, the
/// oldest is closed.
const IDLE_MAX: usize = 64;

/// Interval at which the server checks accepted connections whose first header is incomplete.
const TICK: Duration = Duration::from_millis(50);

/// A server that accepts senders on a TCP port. A sink receives and checks the packets of each.
#[derive(Debug)]
pub struct SinkServer {
    listener: TcpListener,
    sink: Sink,
    idle: Mutex<IdleConnections>,
}

/// The session of a sender: a thread receives its data.
#[derive(Debug)]
pub struct SinkSession {
    socket: TcpStream,
    peer: SocketAddr,
    bytes: Arc<AtomicU64>,
    thread: JoinHandle<Result<Counts>>,
}

impl SinkServer {
    /// Listens on an address. Port 0 selects a free port.
    ///
    /// # Errors
    /// The address is in use, or does not belong to this machine.
    pub fn listen(address: SocketAddr, sink: Sink) -> Result<Self> {
        let refused = |error| Error::system(format!("listening on {address}"), error);
        let listener = listen_tcp(address).map_err(refused)?;
        listener.set_nonblocking(true).map_err(refused)?;
        let idle = Mutex::default();
        Ok(Self {
            listener,
            sink,
            idle,
        })
    }

    /// Returns the address on which the server listens.
    ///
    /// # Errors
    /// The system reports no address.
    pub fn address(&self) -> Result<SocketAddr> {
        let address = self.listener.local_addr();
        address.map_err(|error| Error::system("the address of a sink", error))
    }

    /// Returns the number of connections that were closed without having sent a packet.
    #[must_use]
    pub fn strays(&self) -> u64 {
        self.idle().strays
    }

    /// Locks and returns the list of accepted connections that have sent no packet.
    fn idle(&self) -> MutexGuard<'_, IdleConnections> {
        // Ignore that another thread panicked with the lock held: each operation on the list is a
        // single step, so the list is consistent.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Accepts the next sender that arrives within `time`, and starts to receive. Correct data is
    /// also written to the file `out`, which is emptied when the first data arrives. A connection
    /// counts as a sender once it has sent the header of a packet.
    ///
    /// # Errors
    /// An error of the socket.
    pub fn take(&self, time: Duration, out: Option<&Path>) -> Result<Option<SinkSession>> {
        let refused = |error| Error::system("letting a sender in", error);
        let until = Instant::now() + time;
        let (socket, peer) = loop {
            let mut idle = self.idle();
            idle.accept(&self.listener).map_err(refused)?;
            if let Some(sender) = idle.sender() {
                break sender;
            }
            let remaining = until.saturating_duration_since(Instant::now());
            if remaining.is_zero() {
                return Ok(None);
            }
            idle.wait(&self.listener, remaining);
        };
        socket.set_nonblocking(false).map_err(refused)?;
        // Ignore an error: without this option, small packets only arrive later.
        let _ = socket.set_nodelay(true);
        let mut reader = socket.try_clone().map_err(refused)?;
        let out = out.map(|path| Out::Path(path.to_owned()));
        let bytes = Arc::new(AtomicU64::new(0));
        let (count, sink) = (Arc::clone(&bytes), self.sink.clone());
        let thread = std::thread::Builder::new().name("sink".into());
        let serve = move || receive(&sink, &mut reader, out, &count);
        let thread = thread.spawn(serve).map_err(refused)?;
        Ok(Some(SinkSession {
            socket,
            peer,
            bytes,
            thread,
        }))
    }
}

/// Accepted connections that have not sent the header of a packet yet.
#[derive(Debug, Default)]
struct IdleConnections {
    there: Vec<(TcpStream, SocketAddr)>,
    strays: u64,
}

impl IdleConnections {
    /// Accepts all connections that wait at the listening socket. If too many are idle, the oldest
    /// one is closed.
    fn accept(&mut self, listener: &TcpListener) -> std::io::Result<()> {
        loop {
            let (socket, peer) = match listener.accept() {
                Ok(accepted) => accepted,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            };
            socket.set_nonblocking(true)?;
            if self.there.len() == IDLE_MAX {
                self.there.remove(0);
                self.strays += 1;
            }
            self.there.push((socket, peer));
        }
    }

    /// Removes the first connection that has sent the header of a packet, and returns it. The
    /// header can still be read from its socket. None if there is no such connection.
    fn sender(&mut self) -> Option<(TcpStream, SocketAddr)> {
        let mut at = 0;
        while at < self.there.len() {
            let mut head = [0; Header::BYTES];
            match self.there[at].0.peek(&mut head) {
                Ok(Header::BYTES) if Header::decode(&head).is_ok() => {
                    return Some(self.there.remove(at));
                }
                Ok(1..Header::BYTES) => at += 1,
                Err(error) if error.kind() == ErrorKind::WouldBlock => at += 1,
                _ => {
                    self.there.remove(at);
                    self.strays += 1;
                }
            }
        }
        None
    }

    /// Waits for a connection, or for the first bytes on an accepted one, for at most [`TICK`]. The
    /// limit is needed because a poll cannot wait for the rest of a header.
    fn wait(&self, listener: &TcpListener, remaining: Duration) {
        let mut fds = vec![PollFd::new(listener, PollFlags::IN)];
        let silent = self.there.iter().filter(|(socket, _)| {
            matches!(socket.peek(&mut [0]), Err(error) if error.kind() == ErrorKind::WouldBlock)
        });
        fds.extend(silent.map(|(socket, _)| PollFd::new(socket, PollFlags::IN)));
        // Ignore the result of the wait, even an interrupt: the caller checks all connections again
        // in any case.
        let _ = poll(
            &mut fds,
            Timespec::try_from(remaining.min(TICK)).ok().as_ref(),
        );
    }
}

/// The output file for the correct data of a sender: its path until the first data arrives, then
/// the open file.
#[derive(Debug)]
enum Out {
    /// The path of a file that is created when the first data arrives.
    Path(PathBuf),
    File(File),
}

impl Out {
    /// Appends correct data to the file. If that fails, truncates the file to its `before` bytes.
    fn write(&mut self, data: &[u8], before: u64) -> Result<()> {
        if let Self::Path(path) = self {
            let what = |error| Error::system(format!("writing {}", path.display()), error);
            *self = Self::File(File::create(&*path).map_err(what)?);
        }
        let Self::File(file) = self else {
            return Ok(());
        };
        file.write_all(data).map_err(|error| {
            // Remove the data that was written only in part. Ignore a second error, because the
            // first one is returned.
            let _ = file.set_len(before);
            Error::system("writing what came", error)
        })
    }
}

/// Receives packets of one sender, and writes their data to `out` if given, until the sender leaves
/// or the file cannot be written. Returns the counters.
fn receive(
    sink: &Sink,
    socket: &mut TcpStream,
    mut out: Option<Out>,
    count: &AtomicU64,
) -> Result<Counts> {
    sink.serve_while(
        socket,
        |_| Action::Take,
        |_, data| {
            if let Some(out) = &mut out {
                out.write(data, count.load(Ordering::Relaxed))?;
            }
            count.fetch_add(data.len() as u64, Ordering::Relaxed);
            Ok(())
        },
    )
}

impl SinkSession {
    /// Returns the address of the sender.
    #[must_use]
    pub fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// Returns the number of correct bytes of data that were received so far.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Waits at most `time` for the end of the session. Returns whether it has ended.
    #[must_use]
    pub fn wait_for_end(&self, time: Duration) -> bool {
        let until = Instant::now() + time;
        while !self.thread.is_finished() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
        self.thread.is_finished()
    }

    /// Ends the session if it still runs, and returns its counters.
    ///
    /// # Errors
    /// Invalid data, with its position; an error of the socket or of the file.
    pub fn end(self) -> Result<Counts> {
        if !self.thread.is_finished() {
            // Ignore an error, as the connection may be closed already; the thread ends in either
            // case.
            let _ = self.socket.shutdown(Shutdown::Both);
        }
        self.thread.join().unwrap_or(Err(Error::Ended))
    }
}
