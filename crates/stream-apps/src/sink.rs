//! Who takes what the manager sends outside: a thread behind TCP on this machine, that checks.

use crate::error::Error;
use isthmus_stream::wire::Header;
use isthmus_stream_net::sink::{Action, Counts, Sink};
use std::io;
use std::net::{TcpListener, TcpStream};
use std::thread::{Builder, JoinHandle};

/// Who takes packets.
#[derive(Debug)]
pub(crate) struct Taker<T> {
    thread: JoinHandle<Result<(T, Counts), Error>>,
}

/// Looks at the data of packets, in order.
pub(crate) trait Look: Send + 'static {
    /// Looks at a packet's data.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    fn look(&mut self, header: &Header, data: &[u8]) -> Result<(), String>;
}

impl<T: Look> Taker<T> {
    /// Starts it; the socket is the manager's.
    pub fn start(window: u64, mut looks: T) -> Result<(Self, TcpStream), Error> {
        let refused = |error: io::Error| Error::Ended(format!("a socket to the sink: {error}"));
        let listener = TcpListener::bind("127.0.0.1:0").map_err(refused)?;
        let at = listener.local_addr().map_err(refused)?;
        let to_sink = TcpStream::connect(at).map_err(refused)?;
        to_sink.set_nodelay(true).map_err(refused)?;
        let mut socket = listener.accept().map_err(refused)?.0;
        let thread = Builder::new().name("sink".into()).spawn(move || {
            let mut wrong = Ok(());
            let counts = Sink::new(window).serve(
                &mut socket,
                |_| Action::Take,
                |header, data| {
                    if wrong.is_ok() {
                        wrong = looks.look(header, data);
                    }
                },
            )?;
            wrong.map_err(Error::Wrong)?;
            Ok((looks, counts))
        });
        let thread = thread.map_err(refused)?;
        Ok((Self { thread }, to_sink))
    }

    /// What it saw, once the manager's end is closed.
    ///
    /// # Errors
    /// What was wrong with it.
    pub fn join(self) -> Result<(T, Counts), Error> {
        let failed = || Err(Error::Ended("the sink's thread has failed".into()));
        self.thread.join().unwrap_or_else(|_| failed())
    }
}
