//! A relay that delays bytes: a server behind it is further away.

use serde::Serialize;
use std::error::Error;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

values! {
    /// What the relay connects to.
    #[derive(Debug, Clone)]
    Distance {
        /// The Unix socket of the server.
        socket: String = String::new(),
        /// The time of a round trip through the relay, in ms.
        round_trip_ms: f64 = 1.0,
    }
}

/// Number of bytes that are read at once.
const PIECE_BYTES: usize = 256 << 10;

/// Bytes, and the time at which they are passed on.
type Piece = (Instant, Vec<u8>);

/// Listens at a free port of this machine until standard input ends. Prints the address.
pub fn relay(distance: &Distance) -> Result<impl Serialize + use<>, Box<dyn Error + Send + Sync>> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("tcp:{}", listener.local_addr()?);
    let delay = Duration::from_secs_f64(distance.round_trip_ms / 2e3);
    let path = distance.socket.clone();
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            // A client whose server is gone sees its connection end.
            let _ = connect(client, &path, delay);
        }
    });
    io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

/// Connects a client with the server.
fn connect(client: TcpStream, path: &str, delay: Duration) -> io::Result<()> {
    client.set_nodelay(true)?;
    let server = UnixStream::connect(path)?;
    let (from, to) = (client.try_clone()?, server.try_clone()?);
    direction(from, to, delay, |server| server.shutdown(Shutdown::Write));
    direction(server, client, delay, |client| {
        client.shutdown(Shutdown::Write)
    });
    Ok(())
}

/// Passes bytes on in one direction, each after the delay. `end` is called once there are no more.
fn direction<R, W>(mut from: R, mut to: W, delay: Duration, end: fn(&W) -> io::Result<()>)
where
    R: Read + Send + 'static,
    W: Write + Send + 'static,
{
    let (sender, receiver): (Sender<Piece>, Receiver<Piece>) = channel();
    thread::spawn(move || {
        let mut buffer = vec![0; PIECE_BYTES];
        while let Ok(count @ 1..) = from.read(&mut buffer) {
            let piece = (Instant::now() + delay, buffer[..count].to_vec());
            if sender.send(piece).is_err() {
                break;
            }
        }
    });
    thread::spawn(move || {
        for (due, bytes) in receiver {
            thread::sleep(due.saturating_duration_since(Instant::now()));
            if to.write_all(&bytes).is_err() {
                break;
            }
        }
        // The other end may be gone already.
        let _ = end(&to);
    });
}
