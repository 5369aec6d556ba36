//! A viewer: a browser with the web page that shows screens (frame buffers). It has a WebSocket,
//! with a thread that writes to it and a thread that reads from it.

use crate::screens::{Next, Screens};
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::thread;
use tungstenite::handshake::derive_accept_key;
use tungstenite::protocol::{Role, WebSocketConfig};
use tungstenite::{Message, WebSocket};

/// Maximum size in bytes of a message from a viewer. The only valid message is `+`.
const MAX_MESSAGE_BYTES: usize = 256;

/// The half of the socket that the reading thread uses. It discards the replies of the WebSocket
/// protocol, which the writing thread sends, so that only one thread writes.
struct ReadHalf(TcpStream);

impl Read for ReadHalf {
    /// Reads from the socket of the viewer.
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.0.read(bytes)
    }
}

impl Write for ReadHalf {
    /// Discards the bytes and reports them as written.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    /// Does nothing, because this half of the socket writes nothing.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Return the settings of a viewer's WebSocket: the limits on messages and the sizes of buffers.
fn config() -> WebSocketConfig {
    WebSocketConfig::default()
        .max_message_size(Some(MAX_MESSAGE_BYTES))
        .max_frame_size(Some(MAX_MESSAGE_BYTES))
        .read_buffer_size(4 << 10)
        .write_buffer_size(0)
}

/// Serve a viewer until it leaves or its write times out.
pub(crate) fn serve(
    stream: &mut TcpStream,
    screens: &Screens,
    viewer: u64,
    key: &str,
    rest: Vec<u8>,
) {
    // Ignore an error of the socket: it ends this viewer only.
    let _ = talk(stream, screens, viewer, key, rest);
    let _ = stream.shutdown(Shutdown::Both);
    screens.exit(viewer);
}

/// Complete the handshake of the WebSocket, run both threads of the viewer, and wait for their end.
fn talk(
    stream: &mut TcpStream,
    screens: &Screens,
    viewer: u64,
    key: &str,
    rest: Vec<u8>,
) -> io::Result<()> {
    let accept = derive_accept_key(key.as_bytes());
    let head = format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: {accept}\r\n\r\n"
    );
    stream.write_all(head.as_bytes())?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(None)?;
    let read_half = ReadHalf(stream.try_clone()?);
    let reader = WebSocket::from_partially_read(read_half, rest, Role::Server, Some(config()));
    let writer = WebSocket::from_raw_socket(&mut *stream, Role::Server, Some(config()));
    thread::scope(|scope| {
        let receiver = thread::Builder::new().name("framebuffer-read".into());
        let receiver = receiver.spawn_scoped(scope, || receive(reader, screens, viewer));
        let written = receiver.map(|_| send_messages(writer, screens, viewer));
        if let Ok(socket) = &written {
            // Shut down the socket, so that the reading thread ends too.
            let _ = socket.shutdown(Shutdown::Both);
        }
        written.map(drop)
    })
}

/// Send messages with frames to the viewer until it disconnects.
fn send_messages<'s>(
    mut socket: WebSocket<&'s mut TcpStream>,
    screens: &Screens,
    viewer: u64,
) -> &'s mut TcpStream {
    loop {
        let message = match screens.next(viewer) {
            Next::List(text) => Message::text(text),
            Next::Frame(bytes) => Message::Binary(bytes),
            Next::Pong(bytes) => Message::Pong(bytes),
            Next::Over => break,
        };
        if socket.send(message).is_err() {
            break;
        }
    }
    // Ignore an error of the closing: the viewer may have closed the socket already.
    let _ = socket.close(None);
    let _ = socket.flush();
    // Return the socket, so that the caller closes it.
    socket.into_inner()
}

/// Read the viewer's confirmations that it has received frames, until the viewer disconnects.
fn receive(mut socket: WebSocket<ReadHalf>, screens: &Screens, viewer: u64) {
    loop {
        match socket.read() {
            Ok(Message::Text(said)) if said.as_str() == "+" && screens.confirm_frame(viewer) => {}
            Ok(Message::Ping(what)) => screens.pinged(viewer, what),
            Ok(Message::Pong(_)) => {}
            _ => {
                screens.gone(viewer);
                return;
            }
        }
    }
}
