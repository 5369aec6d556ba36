//! The sink of the manager's packets: a thread behind TCP on this machine that verifies the data.

use crate::error::Error;
use isthmus_stream::wire::Header;
use isthmus_stream_net::sink::{Action, Counts, Sink};
use std::io;
use std::net::{TcpListener, TcpStream};
use std::thread::{Builder, JoinHandle};

/// A sink of packets: a thread that receives them and passes their data to a verifier.
#[derive(Debug)]
pub(crate) struct Taker<T> {
    thread: JoinHandle<Result<(T, Counts), Error>>,
}

/// Verifier of the data of packets, which come in order.
pub(crate) trait Verifier: Send + 'static {
    /// Verify the data of a packet.
    ///
    /// # Errors
    /// A description of the first wrong byte.
    fn verify(&mut self, header: &Header, data: &[u8]) -> Result<(), String>;
}

impl<T: Verifier> Taker<T> {
    /// Start the sink with a verifier. Return the sink, and the socket by which the manager sends
    /// to it.
    pub fn start(window: u64, mut verifier: T) -> Result<(Self, TcpStream), Error> {
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
                        wrong = verifier.verify(header, data);
                    }
                },
            )?;
            wrong.map_err(Error::Wrong)?;
            Ok((verifier, counts))
        });
        let thread = thread.map_err(refused)?;
        Ok((Self { thread }, to_sink))
    }

    /// Wait until the manager closes its socket, and return the verifier (with all that it has
    /// recorded) and the sink's counts.
    ///
    /// # Errors
    /// The sink received wrong data, or its thread has failed.
    pub fn join(self) -> Result<(T, Counts), Error> {
        let failed = || Err(Error::Ended("the sink's thread has failed".into()));
        self.thread.join().unwrap_or_else(|_| failed())
    }
}
