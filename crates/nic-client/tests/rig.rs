//! A real daemon, a sink and test data.

use crate::fake::{name, soon};
use isthmus_nic::{Config, Daemon};
use isthmus_nic_client::protocol::{Carrier, Direction, Spec};
use isthmus_nic_client::{Address, ConnectionOptions, Session, Stream};
use isthmus_stream_net::sink::{Action, Counts, Sink};
use std::net::TcpListener;
use std::path::PathBuf;
use std::thread::JoinHandle;
use std::time::Duration;

/// A daemon on a Unix socket and a TCP port, with a folder that is removed with it.
pub struct Rig {
    pub daemon: Option<Daemon>,
    pub folder: PathBuf,
    pub unix: Address,
    pub tcp: Address,
}

impl Rig {
    pub fn new() -> Self {
        Self::with(|_| ())
    }

    pub fn with(change: impl FnOnce(&mut Config)) -> Self {
        let folder = std::env::temp_dir().join(name());
        std::fs::create_dir_all(&folder).unwrap();
        let unix = format!("unix:{}/nic.sock", folder.display());
        let listen = [&*unix, "tcp:127.0.0.1:0"].map(isthmus_nic::Address::parse);
        let mut config = Config::new(listen.into_iter().map(Result::unwrap).collect());
        config.policy.files = vec![folder.clone()];
        config.grace = Duration::from_millis(200);
        config.limits.staging_bytes = 1 << 20;
        config.limits.network_bytes = 2 << 20;
        change(&mut config);
        let daemon = Daemon::start(config).unwrap();
        let tcp = daemon.addresses()[1].to_string();
        Self {
            daemon: Some(daemon),
            folder,
            unix: Address::parse(&unix).unwrap(),
            tcp: Address::parse(&tcp).unwrap(),
        }
    }

    pub fn session(&self) -> Session {
        Session::connect(&self.unix, None, "a test", false, soon()).unwrap()
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        drop(self.daemon.take());
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Return the carriers of links to test.
pub const CARRIERS: [Carrier; 2] = [
    Carrier::Rings {
        from_rank_bytes: 64 << 10,
        to_rank_bytes: 64 << 10,
    },
    Carrier::Socket,
];
pub const RINGS: Carrier = CARRIERS[0];

pub fn links(session: &Session, count: u16, carrier: Carrier) {
    for number in 0..count {
        session.link(number, carrier, soon()).unwrap();
    }
}

/// Return bytes that depend on their position.
pub fn content(key: u64, adu: u64, bytes: u64) -> Vec<u8> {
    let mut word = key << 40 | adu << 20 | 1;
    let mut data = vec![0; bytes as usize];
    for eight in data.chunks_mut(8) {
        word ^= word << 13;
        word ^= word >> 7;
        word ^= word << 17;
        eight.copy_from_slice(&word.to_le_bytes()[..eight.len()]);
    }
    data
}

/// The counts or the error of a sink, and its received data.
pub type Taken = (isthmus_stream_net::Result<Counts>, Vec<u8>);

/// Start a sink on a thread. Returns its address, and the thread with its result.
pub fn sink(
    before: impl FnMut(u64) -> Action + Send + 'static,
) -> (ConnectionOptions, JoinHandle<Taken>) {
    sink_of(Sink::new(256 << 10), before)
}

/// The same, with the given sink.
pub fn sink_of(
    sink: Sink,
    before: impl FnMut(u64) -> Action + Send + 'static,
) -> (ConnectionOptions, JoinHandle<Taken>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let words = format!("raw:tcp:{}", listener.local_addr().unwrap());
    let thread = std::thread::spawn(move || {
        let mut socket = listener.accept().unwrap().0;
        let mut all = Vec::new();
        let counts = sink.serve(&mut socket, before, |_, data| all.extend_from_slice(data));
        (counts, all)
    });
    (ConnectionOptions::to(&words), thread)
}

/// Return a specification with the given sizes.
pub fn spec(
    connection: u32,
    direction: Direction,
    (adu, tu): (u64, u64),
    links: u16,
    adus: u64,
) -> Spec {
    let links: Vec<u16> = (0..links).collect();
    let mut spec = isthmus_nic_client::spec(connection, direction, adu, &links, adus);
    spec.format.tu_bytes = tu;
    spec.format.packet_bytes = tu;
    spec
}

/// Send ADUs of `content`.
pub fn send_all(stream: &Stream, key: u64, adu_bytes: u64, adus: u64) {
    for adu in 0..adus {
        let sent = stream.send(&content(key, adu, adu_bytes), soon());
        assert_eq!(sent, Ok(adu));
    }
}

pub fn all(key: u64, adu_bytes: u64, adus: u64) -> Vec<u8> {
    let each: Vec<_> = (0..adus).map(|adu| content(key, adu, adu_bytes)).collect();
    each.concat()
}
