//! A proxy between a client and its daemon that cuts the sockets of links at random bytes.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Random numbers from a seed.
#[derive(Clone)]
pub struct Draw(u64);

impl Draw {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % most
    }
}

/// The numbers of cut sockets.
#[derive(Default)]
pub struct Cuts {
    /// Within the first bytes, before the answer to the link's request.
    pub early: AtomicU64,
    pub late: AtomicU64,
}

/// Passes the first socket, which is a session's, unchanged and cuts each later one.
pub struct Proxy {
    pub port: u16,
    pub cuts: Arc<Cuts>,
    /// While it is set, new sockets are closed at once.
    pub closed: Arc<AtomicBool>,
    /// While it is set, data of the daemon on new sockets is held back.
    pub mute: Arc<AtomicBool>,
    sockets: Arc<Mutex<Vec<TcpStream>>>,
    over: Arc<AtomicBool>,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        // Wake the accepting thread, if it still runs.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        self.cut_all();
    }
}

/// When and how to cut a socket.
#[derive(Clone)]
struct Cut {
    /// Remaining bytes before the cut, both directions together.
    left: Arc<Mutex<u64>>,
    /// Whether the daemon's side stays open for a while and then receives the data in transit, as
    /// from a slow path.
    lags: bool,
    early: bool,
}

const LAG: Duration = Duration::from_millis(30);

impl Proxy {
    pub fn new(daemon: SocketAddr, seed: u64, most: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let proxy = Self {
            port,
            cuts: Arc::default(),
            closed: Arc::default(),
            mute: Arc::default(),
            sockets: Arc::default(),
            over: Arc::default(),
        };
        let (cuts, sockets) = (Arc::clone(&proxy.cuts), Arc::clone(&proxy.sockets));
        let (closed, over) = (Arc::clone(&proxy.closed), Arc::clone(&proxy.over));
        let mute = Arc::clone(&proxy.mute);
        let mut draw = Draw::new(seed);
        std::thread::spawn(move || {
            for (number, client) in listener.incoming().enumerate() {
                let Ok(client) = client else { return };
                if over.load(Ordering::SeqCst) {
                    return;
                }
                if closed.load(Ordering::SeqCst) {
                    continue;
                }
                let Ok(server) = TcpStream::connect(daemon) else {
                    continue;
                };
                let early = number > 0 && draw.below(4) == 0;
                let left = match number {
                    0 => u64::MAX,
                    _ if early => draw.below(700),
                    _ => draw.below(most),
                };
                let cut = Cut {
                    left: Arc::new(Mutex::new(left)),
                    lags: draw.below(3) == 0,
                    early,
                };
                let clone = |socket: &TcpStream| socket.try_clone().unwrap();
                if number > 0 {
                    let mut sockets = sockets.lock().unwrap();
                    // Drop closed sockets.
                    sockets.retain(|socket| socket.peer_addr().is_ok());
                    sockets.extend([clone(&client), clone(&server)]);
                }
                if mute.load(Ordering::SeqCst) {
                    let (mut from, to) = (clone(&server), clone(&client));
                    std::thread::spawn(move || {
                        let _ = std::io::copy(&mut from, &mut std::io::sink());
                        let _ = to.shutdown(Shutdown::Both);
                    });
                    let cuts = Arc::clone(&cuts);
                    std::thread::spawn(move || pass(client, server, false, &cut, &cuts));
                    continue;
                }
                let both = [
                    (clone(&client), clone(&server), false),
                    (server, client, cut.lags),
                ];
                for (from, to, daemon_is_from) in both {
                    let (cut, cuts) = (cut.clone(), Arc::clone(&cuts));
                    std::thread::spawn(move || pass(from, to, daemon_is_from, &cut, &cuts));
                }
            }
        });
        proxy
    }

    /// Cut all current links.
    pub fn cut_all(&self) {
        for socket in self.sockets.lock().unwrap().drain(..) {
            let _ = socket.shutdown(Shutdown::Both);
        }
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, lags: bool, cut: &Cut, cuts: &Cuts) {
    let mut piece = vec![0; 16 << 10];
    loop {
        let read = from.read(&mut piece).unwrap_or(0);
        let goes = {
            let mut left = cut.left.lock().unwrap();
            let goes = (*left).min(read as u64) as usize;
            if *left > 0 && goes as u64 == *left && *left != u64::MAX {
                let of = if cut.early { &cuts.early } else { &cuts.late };
                of.fetch_add(1, Ordering::SeqCst);
            }
            *left -= if *left == u64::MAX { 0 } else { goes as u64 };
            goes
        };
        let _ = to.write_all(&piece[..goes]);
        if goes < read || read == 0 {
            // Data to the daemon after the cut arrives late if that side lags.
            if cut.lags && !lags && read > 0 {
                let _ = from.shutdown(Shutdown::Both);
                std::thread::sleep(LAG);
                let _ = to.write_all(&piece[goes..read]);
            }
            let _ = from.shutdown(Shutdown::Both);
            let _ = to.shutdown(Shutdown::Both);
            return;
        }
    }
}
