//! What stands between two interfaces: it passes packets on, flips bits when asked to, and goes.

use isthmus_stream::wire::{Header, Kind};
use isthmus_stream_net::Socket;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Both ways of one connection.
pub struct Proxy {
    flip: Arc<AtomicBool>,
    ends: [End; 2],
}

enum End {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl End {
    fn clone(&self) -> Self {
        match self {
            Self::Unix(end) => Self::Unix(end.try_clone().unwrap()),
            Self::Tcp(end) => Self::Tcp(end.try_clone().unwrap()),
        }
    }

    fn shut(&self, how: std::net::Shutdown) {
        // It may be shut already.
        let _ = match self {
            Self::Unix(end) => end.shutdown(how),
            Self::Tcp(end) => end.shutdown(how),
        };
    }
}

impl Read for End {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Self::Unix(end) => end.read(bytes),
            Self::Tcp(end) => end.read(bytes),
        }
    }
}

impl Write for End {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self {
            Self::Unix(end) => end.write(bytes),
            Self::Tcp(end) => end.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn tcp_pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let theirs = listener.accept().unwrap().0;
    (ours, theirs)
}

impl Proxy {
    /// A proxy, and the sockets of the two interfaces.
    pub fn new(tcp: bool) -> (Self, Socket, Socket) {
        let pair = || -> (End, Socket) {
            if tcp {
                let (ours, theirs) = tcp_pair();
                (End::Tcp(ours), theirs.into())
            } else {
                let (ours, theirs) = UnixStream::pair().unwrap();
                (End::Unix(ours), theirs.into())
            }
        };
        let ((sender, first), (receiver, second)) = (pair(), pair());
        let flip = Arc::new(AtomicBool::new(false));
        let proxy = Self {
            flip: Arc::clone(&flip),
            ends: [sender.clone(), receiver.clone()],
        };
        let (back, forth) = ((receiver.clone(), sender.clone()), (sender, receiver));
        std::thread::spawn(move || pass(forth.0, forth.1, &flip));
        std::thread::spawn(move || pass(back.0, back.1, &AtomicBool::new(false)));
        (proxy, first, second)
    }

    pub fn flip(&self) {
        self.flip.store(true, Ordering::SeqCst);
    }

    pub fn cut(&self) {
        for end in &self.ends {
            end.shut(std::net::Shutdown::Both);
        }
    }
}

fn pass(mut from: End, mut to: End, flip: &AtomicBool) {
    let mut head = [0; Header::BYTES];
    let mut data = Vec::new();
    while from.read_exact(&mut head).is_ok() {
        let header = Header::decode(&head).expect("drivers send packets");
        data.resize(header.bytes as usize, 0);
        if from.read_exact(&mut data).is_err() {
            break;
        }
        let carries = header.kind == Kind::Data && !data.is_empty();
        if carries && flip.swap(false, Ordering::SeqCst) {
            let middle = data.len() / 2;
            data[middle] ^= 1;
        }
        if to
            .write_all(&head)
            .and_then(|()| to.write_all(&data))
            .is_err()
        {
            break;
        }
    }
    to.shut(std::net::Shutdown::Write);
}
