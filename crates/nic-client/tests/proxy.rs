//! What stands between a client and its daemon, and cuts the sockets of links at random bytes.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Random numbers of a seed.
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

/// How many sockets were cut.
#[derive(Default)]
pub struct Cuts {
    /// Before the link had its answer, or what is as short.
    pub early: AtomicU64,
    pub late: AtomicU64,
}

/// The first socket, which is a session's, is let through as it is; each of those after it is cut.
pub struct Proxy {
    pub port: u16,
    pub cuts: Arc<Cuts>,
    /// While it is set, sockets are closed as they come.
    pub closed: Arc<AtomicBool>,
    /// While it is set, nothing that the daemon says over a new socket comes through.
    pub mute: Arc<AtomicBool>,
    sockets: Arc<Mutex<Vec<TcpStream>>>,
    over: Arc<AtomicBool>,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        // Wakes who lets sockets in, if that is not over already.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        self.cut_all();
    }
}

/// When and how a socket is cut.
#[derive(Clone)]
struct Cut {
    /// Bytes that it carries still, both ways together.
    left: Arc<Mutex<u64>>,
    /// The daemon's side is left open for a while, and gets what had come for it then: as from a
    /// path that is slow.
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
                    // Those that are over are not held open.
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

    /// Cuts all links that there are.
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
            // What is behind the cut comes late, if it goes to the daemon and that side lags.
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
