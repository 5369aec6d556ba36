//! What stands between two interfaces: it passes packets on, flips bits when asked to, and goes.

use isthmus_stream::wire::{Header, Kind};
use isthmus_stream_net::Driver;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What carries packets between two interfaces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Middle {
    Unix,
    Tcp,
    Datagrams,
    /// No packets and no second interface: plain bytes over TCP to whoever reads them.
    PlainTcp,
    /// The same to a file.
    File,
}

impl Middle {
    /// Whether there is a second interface, with ranks.
    pub fn has_ranks(self) -> bool {
        !matches!(self, Self::PlainTcp | Self::File)
    }
}

/// What an interface is given for its connection.
pub enum Given {
    Unix(UnixStream),
    Tcp(TcpStream),
    Datagrams(UdpSocket),
}

impl Given {
    /// Gives it to a driver under a name.
    pub fn to(self, driver: &mut Driver, name: &str) {
        match self {
            Self::Unix(socket) => driver.give(name, socket),
            Self::Tcp(socket) => driver.give(name, socket),
            Self::Datagrams(socket) => driver.give_datagrams(name, socket),
        }
    }
}

/// Both ways of one connection.
pub struct Proxy {
    flip: Arc<AtomicBool>,
    cut: Arc<AtomicBool>,
    /// Shuts the sockets, where there are any.
    shut: Vec<Shut>,
}

type Reads = Box<dyn Read + Send>;
type Writes = Box<dyn Write + Send>;
/// Shuts an end.
type Shut = Arc<dyn Fn(Shutdown) + Send + Sync>;

/// This end, read and written, how it is shut, and what the interface has.
type Pair = (Reads, Writes, Shut, Given);

fn unix() -> Pair {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let (reads, writes) = (ours.try_clone().unwrap(), ours.try_clone().unwrap());
    // It may be shut already.
    let shut = move |how| _ = ours.shutdown(how);
    let given = Given::Unix(theirs);
    (Box::new(reads), Box::new(writes), Arc::new(shut), given)
}

fn tcp() -> Pair {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let theirs = listener.accept().unwrap().0;
    let (reads, writes) = (ours.try_clone().unwrap(), ours.try_clone().unwrap());
    let shut = move |how| _ = ours.shutdown(how);
    let given = Given::Tcp(theirs);
    (Box::new(reads), Box::new(writes), Arc::new(shut), given)
}

impl Proxy {
    /// A proxy, and what the two interfaces have of it.
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

/// Flips a bit in the middle of the data, if that was asked for and there is any of an ADU after the
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

/// Two sockets, each connected to one of the interface's, between which datagrams are passed on.
fn datagrams(flip: &Arc<AtomicBool>, cut: &Arc<AtomicBool>) -> (Given, Given) {
    let pair = || {
        let [ours, theirs] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
        ours.connect(theirs.local_addr().unwrap()).unwrap();
        theirs.connect(ours.local_addr().unwrap()).unwrap();
        let a_while = Some(Duration::from_millis(20));
        ours.set_read_timeout(a_while).unwrap();
        (ours, theirs)
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
            let begun = Instant::now();
            while !cut.load(Ordering::SeqCst) && begun.elapsed() < Duration::from_secs(120) {
                let Ok(len) = from.recv(&mut room) else {
                    continue;
                };
                let (head, data) = room[..len].split_at_mut(Header::BYTES);
                let header = Header::decode(head).expect("drivers send packets");
                spoil(&header, data, &flip);
                // One that nobody takes is lost, as datagrams are.
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
