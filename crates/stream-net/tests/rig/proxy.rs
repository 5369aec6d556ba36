//! A proxy between two interfaces: it forwards packets, flips bits on request, and ends the
//! connection.

use isthmus_stream::wire::{Header, Kind};
use isthmus_stream_net::Driver;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The transport between two interfaces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Middle {
    Unix,
    Tcp,
    Datagrams,
    /// No packets and no second interface: plain bytes over TCP to a reader.
    PlainTcp,
    /// Plain bytes to a file.
    File,
}

impl Middle {
    /// Whether there is a second interface, with ranks.
    pub fn has_ranks(self) -> bool {
        !matches!(self, Self::PlainTcp | Self::File)
    }
}

/// An interface's end of its connection.
pub enum Given {
    Unix(UnixStream),
    Tcp(TcpStream),
    Datagrams(UdpSocket),
}

impl Given {
    /// Provides it to a driver under a name.
    pub fn to(self, driver: &mut Driver, name: &str) {
        match self {
            Self::Unix(socket) => driver.provide_socket(name, socket),
            Self::Tcp(socket) => driver.provide_socket(name, socket),
            Self::Datagrams(socket) => driver.provide_datagrams(name, socket),
        }
    }
}

/// Both directions of one connection.
pub struct Proxy {
    flip: Arc<AtomicBool>,
    cut: Arc<AtomicBool>,
    /// Shuts the sockets, if there are any.
    shut: Vec<Shut>,
}

type Reads = Box<dyn Read + Send>;
type Writes = Box<dyn Write + Send>;
/// Shuts one end.
type Shut = Arc<dyn Fn(Shutdown) + Send + Sync>;

/// The proxy's end for reading and for writing, its shutdown, and the interface's end.
type Pair = (Reads, Writes, Shut, Given);

fn unix() -> Pair {
    let (proxy_end, driver_end) = UnixStream::pair().unwrap();
    let (reads, writes) = (
        proxy_end.try_clone().unwrap(),
        proxy_end.try_clone().unwrap(),
    );
    // It may be shut already.
    let shut = move |how| _ = proxy_end.shutdown(how);
    let given = Given::Unix(driver_end);
    (Box::new(reads), Box::new(writes), Arc::new(shut), given)
}

fn tcp() -> Pair {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let proxy_end = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let driver_end = listener.accept().unwrap().0;
    let (reads, writes) = (
        proxy_end.try_clone().unwrap(),
        proxy_end.try_clone().unwrap(),
    );
    let shut = move |how| _ = proxy_end.shutdown(how);
    let given = Given::Tcp(driver_end);
    (Box::new(reads), Box::new(writes), Arc::new(shut), given)
}

impl Proxy {
    /// Starts a proxy, and returns it with the ends for the two interfaces.
    pub fn new(middle: Middle) -> (Self, Given, Given) {
        let (flip, cut) = <(Arc<AtomicBool>, Arc<AtomicBool>)>::default();
        let pair = || match middle {
            Middle::Unix => unix(),
            _ => tcp(),
        };
        let mut proxy = Self {
            flip: Arc::clone(&flip),
            cut: Arc::clone(&cut),
            shut: Vec::new(),
        };
        if middle == Middle::Datagrams {
            let (first, second) = datagrams(&flip, &cut);
            return (proxy, first, second);
        }
        let (from, back, left, first) = pair();
        let (other, to, right, second) = pair();
        proxy.shut.extend([Arc::clone(&left), Arc::clone(&right)]);
        std::thread::spawn(move || {
            pass(from, to, &flip);
            right(Shutdown::Write);
        });
        std::thread::spawn(move || {
            pass(other, back, &AtomicBool::new(false));
            left(Shutdown::Write);
        });
        (proxy, first, second)
    }

    pub fn flip(&self) {
        self.flip.store(true, Ordering::SeqCst);
    }

    pub fn cut(&self) {
        self.cut.store(true, Ordering::SeqCst);
        for shut in &self.shut {
            shut(Shutdown::Both);
        }
    }
}

/// Flips a bit in the middle of the data, if that was requested and the data is of an ADU after the
/// first.
fn spoil(header: &Header, data: &mut [u8], flip: &AtomicBool) {
    let carries = header.kind == Kind::Data && header.adu > 0 && !data.is_empty();
    if carries && flip.swap(false, Ordering::SeqCst) {
        data[data.len() / 2] ^= 1;
    }
}

fn pass(mut from: Reads, mut to: Writes, flip: &AtomicBool) {
    let mut head = [0; Header::BYTES];
    let mut data = Vec::new();
    while from.read_exact(&mut head).is_ok() {
        let header = Header::decode(&head).expect("drivers send packets");
        data.resize(header.bytes as usize, 0);
        if from.read_exact(&mut data).is_err() {
            break;
        }
        spoil(&header, &mut data, flip);
        let written = to.write_all(&head).and_then(|()| to.write_all(&data));
        if written.is_err() {
            break;
        }
    }
}

/// Creates two sockets, each connected to one of an interface, and forwards datagrams between them.
fn datagrams(flip: &Arc<AtomicBool>, cut: &Arc<AtomicBool>) -> (Given, Given) {
    let pair = || {
        let [proxy_end, driver_end] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
        proxy_end.connect(driver_end.local_addr().unwrap()).unwrap();
        driver_end.connect(proxy_end.local_addr().unwrap()).unwrap();
        let a_while = Some(Duration::from_millis(20));
        proxy_end.set_read_timeout(a_while).unwrap();
        (proxy_end, driver_end)
    };
    let ((left, first), (right, second)) = (pair(), pair());
    let ways = [
        (
            left.try_clone().unwrap(),
            right.try_clone().unwrap(),
            Arc::clone(flip),
        ),
        (right, left, Arc::default()),
    ];
    for (from, to, flip) in ways {
        let cut = Arc::clone(cut);
        std::thread::spawn(move || {
            let mut room = vec![0; 1 << 16];
            let start = Instant::now();
            while !cut.load(Ordering::SeqCst) && start.elapsed() < Duration::from_secs(120) {
                let Ok(len) = from.recv(&mut room) else {
                    continue;
                };
                let (head, data) = room[..len].split_at_mut(Header::BYTES);
                let header = Header::decode(head).expect("drivers send packets");
                spoil(&header, data, &flip);
                // A refused datagram is lost, as datagrams may be.
                let _ = to.send(&room[..len]);
            }
        });
    }
    (Given::Datagrams(first), Given::Datagrams(second))
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.cut.store(true, Ordering::SeqCst);
    }
}
