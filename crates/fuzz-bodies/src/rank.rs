//! The ranks' end of a link.

use crate::formats::repaired;
use isthmus_stream_net::frame::Frame;
use isthmus_stream_net::rank::{Pipe, Receiver};
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// Feed bytes to a link and close it. If the first byte is odd, the following bytes become a valid
/// header by repairing its constant fields.
pub fn rank(data: &[u8]) {
    let mut data = data.to_vec();
    if data.len() > Frame::BYTES && data[0] & 1 == 1 {
        data.remove(0);
        let head = repaired::<{ Frame::BYTES }>(&data, *b"IL\x01");
        data[..Frame::BYTES].copy_from_slice(&head);
    }
    let data = &data;
    let (own_socket, mut peer_socket) = UnixStream::pair().expect("a pair of sockets");
    peer_socket.set_nonblocking(true).expect("a socket's flag");
    let written = peer_socket.write(data).unwrap_or(0);
    drop(peer_socket);
    let deadline = Instant::now() + Duration::from_secs(20);
    let mut receiver = Receiver::new(Pipe::Unix(own_socket));
    let (mut room, mut read) = (Vec::new(), 0);
    // An error ends it; a link that is closed is no reason to wait.
    while let Ok(Some(frame)) = receiver.next(&mut room, deadline) {
        assert_eq!(room.len(), frame.bytes as usize);
        read += Frame::BYTES + room.len();
        assert!(read <= written);
    }
    assert!(
        Instant::now() < deadline,
        "it waited for a link that is closed"
    );
    let most = 2 * written + (2 << 20);
    assert!(
        room.capacity() <= most,
        "{} bytes for {written}",
        room.capacity()
    );
}
