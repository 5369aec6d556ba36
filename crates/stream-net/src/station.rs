//! A sink that listens: one sender after another, each on a thread of its own, with counts to look at
//! meanwhile.

use crate::error::{Error, Result, advised};
use crate::sink::{Action, Counts, Sink};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::File;
use std::io::Write;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A sink that listens on a TCP port.
#[derive(Debug)]
pub struct Station {
    listener: TcpListener,
    sink: Sink,
}

/// A sender that is being listened to.
#[derive(Debug)]
pub struct Taking {
    socket: TcpStream,
    peer: SocketAddr,
    bytes: Arc<AtomicU64>,
    thread: JoinHandle<Result<Counts>>,
}

impl Station {
    /// Listens; port 0 is any that is free.
    ///
    /// # Errors
    /// An address that is taken, or not this machine's.
    pub fn listen(address: SocketAddr, sink: Sink) -> Result<Self> {
        let refused = |error| Error::system(format!("listening on {address}"), error);
        let bound = TcpListener::bind(address).map_err(advised);
        let listener = bound.map_err(refused)?;
        listener.set_nonblocking(true).map_err(refused)?;
        Ok(Self { listener, sink })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// What the system says.
    pub fn address(&self) -> Result<SocketAddr> {
        let address = self.listener.local_addr();
        address.map_err(|error| Error::system("the address of a sink", error))
    }

    /// Lets the next sender in, if one comes in this time, and takes what it sends; good data goes to
    /// the file `out` as well, which is made anew once a sender is there.
    ///
    /// # Errors
    /// What the system says.
    pub fn take(&self, time: Duration, out: Option<&Path>) -> Result<Option<Taking>> {
        let refused = |error| Error::system("letting a sender in", error);
        let time = Timespec {
            tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(time.subsec_nanos()),
        };
        let mut fds = [PollFd::new(&self.listener, PollFlags::IN)];
        // Interrupted, it is as if nobody had come.
        if !matches!(poll(&mut fds, Some(&time)), Ok(1..)) {
            return Ok(None);
        }
        let (socket, peer) = match self.listener.accept() {
            Ok(accepted) => accepted,
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return Ok(None),
            Err(error) => return Err(refused(error)),
        };
        socket.set_nonblocking(false).map_err(refused)?;
        // What the system refuses here costs speed and nothing else.
        let _ = socket.set_nodelay(true);
        let mut theirs = socket.try_clone().map_err(refused)?;
        let made = |path: &Path| {
            let what = |error| Error::system(format!("writing {}", path.display()), error);
            File::create(path).map_err(what)
        };
        let out = out.map(made).transpose()?;
        let bytes = Arc::new(AtomicU64::new(0));
        let (count, sink) = (Arc::clone(&bytes), self.sink.clone());
        let thread = std::thread::Builder::new().name("sink".into());
        let serve = move || taken(&sink, &mut theirs, out, &count);
        let thread = thread.spawn(serve).map_err(refused)?;
        Ok(Some(Taking {
            socket,
            peer,
            bytes,
            thread,
        }))
    }
}

/// Takes packets until the sender leaves, or the file cannot be written.
fn taken(
    sink: &Sink,
    socket: &mut TcpStream,
    mut out: Option<File>,
    count: &AtomicU64,
) -> Result<Counts> {
    sink.serve_while(
        socket,
        |_| Action::Take,
        |_, data| {
            if let Some(out) = &mut out
                && let Err(error) = out.write_all(data)
            {
                // What is not confirmed is not there either; if that fails too, it is said already.
                let _ = out.set_len(count.load(Ordering::Relaxed));
                return Err(Error::system("writing what came", error));
            }
            count.fetch_add(data.len() as u64, Ordering::Relaxed);
            Ok(())
        },
    )
}

impl Taking {
    /// Who sends.
    #[must_use]
    pub fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// Bytes of data that came and were right.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Waits for the end, for so long at most; whether it is over.
    #[must_use]
    pub fn over(&self, time: Duration) -> bool {
        let until = Instant::now() + time;
        while !self.thread.is_finished() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
        self.thread.is_finished()
    }

    /// Ends it, if it is not over, and says what was counted.
    ///
    /// # Errors
    /// What was not as it should be, with its place.
    pub fn end(self) -> Result<Counts> {
        if !self.thread.is_finished() {
            // One that was closed already needs no closing.
            let _ = self.socket.shutdown(Shutdown::Both);
        }
        self.thread.join().unwrap_or(Err(Error::Ended))
    }
}
