//! A daemon for tests, and clients that speak its protocol in lines of JSON.

use isthmus_nic::{Address, Certificate, Config, Daemon};
use isthmus_nic_protocol::{Answer, Event, Lines, Message, Refusal, Stream, read};
use isthmus_ring::Handles;
use isthmus_stream_net::rank::Pipe;
use isthmus_stream_net::sink::{Action, Counts, Sink};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Return the deadline of a test.
pub fn soon() -> Instant {
    Instant::now() + Duration::from_secs(60)
}

/// A temporary directory that is removed when dropped.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let next = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("isthmus-nic-{}-{next}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A daemon on a Unix socket and a TCP port.
pub struct Rig {
    pub daemon: Daemon,
    pub folder: Folder,
}

impl Rig {
    pub fn new() -> Self {
        Self::with(|_| ())
    }

    pub fn with(change: impl FnOnce(&mut Config)) -> Self {
        let folder = Folder::new();
        let unix = Address::Unix(folder.0.join("nic.sock"));
        let tcp = Address::Tcp("127.0.0.1:0".parse().unwrap());
        let mut config = Config::new(vec![unix, tcp]);
        config.policy.files = vec![folder.0.clone()];
        config.grace = Duration::from_millis(500);
        change(&mut config);
        let daemon = Daemon::start(config).unwrap();
        Self { daemon, folder }
    }

    pub fn unix(&self) -> Client {
        let socket = UnixStream::connect(self.folder.0.join("nic.sock")).unwrap();
        socket
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        Client::new(Socket::Unix(socket))
    }

    pub fn tcp(&self) -> Client {
        let address = self
            .daemon
            .addresses()
            .iter()
            .find_map(|address| match address {
                Address::Tcp(address) => Some(*address),
                _ => None,
            });
        let socket = TcpStream::connect(address.unwrap()).unwrap();
        socket
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        Client::new(Socket::Tcp(socket))
    }

    /// Connect a client that trusts the certificate of the tests and expects this name of the
    /// daemon.
    pub fn tls(&self, name: &'static str) -> Client {
        let address = self
            .daemon
            .addresses()
            .iter()
            .find_map(|address| match address {
                Address::Tls(address) => Some(*address),
                _ => None,
            });
        let socket = TcpStream::connect(address.unwrap()).unwrap();
        socket
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        let certificate = certificate(&self.folder);
        let chain = CertificateDer::from_pem_file(&certificate.chain).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(chain).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = ServerName::try_from(name).unwrap();
        let made = ClientConnection::new(Arc::new(config), name).unwrap();
        Client::new(Socket::Tls(Box::new(StreamOwned::new(made, socket))))
    }

    /// Create an application over the Unix socket. Returns its session and its ticket.
    pub fn application(&self, name: &str) -> (Client, String) {
        let mut client = self.unix();
        let ticket = client.hello(name);
        (client, ticket)
    }
}

pub enum Socket {
    Unix(UnixStream),
    Tcp(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

/// Write the certificate and the key of the tests to files that only this user can read.
pub fn certificate(folder: &Folder) -> Certificate {
    let fixtures = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let [chain, key] = ["cert.pem", "key.pem"].map(|name| {
        let path = folder.0.join(name);
        std::fs::copy(fixtures.join(name), &path).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
        path
    });
    Certificate { chain, key }
}

impl Read for Socket {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Self::Unix(socket) => socket.read(bytes),
            Self::Tcp(socket) => socket.read(bytes),
            Self::Tls(socket) => socket.read(bytes),
        }
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self {
            Self::Unix(socket) => socket.write(bytes),
            Self::Tcp(socket) => socket.write(bytes),
            Self::Tls(socket) => socket.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        match self {
            Self::Tls(socket) => socket.flush(),
            _ => Ok(()),
        }
    }
}

/// A client that writes raw lines and reads the messages of the daemon.
pub struct Client {
    pub socket: Socket,
    lines: Lines,
    next: u64,
    /// Events received between answers.
    pub events: Vec<Event>,
}

impl Client {
    fn new(socket: Socket) -> Self {
        Self {
            socket,
            lines: Lines::default(),
            next: 1,
            events: Vec::new(),
        }
    }

    pub fn write(&mut self, text: &str) {
        self.socket.write_all(text.as_bytes()).unwrap();
        self.socket.flush().unwrap();
    }

    /// Return the next message; none at the end.
    pub fn next_message(&mut self) -> Option<Message> {
        let mut bytes = [0; 4096];
        loop {
            if let Some(line) = self.lines.take().unwrap() {
                return Some(read(&line).unwrap());
            }
            match self.socket.read(&mut bytes) {
                Ok(0) => return None,
                Ok(read) => self.lines.push(&bytes[..read]),
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return None,
                Err(error) => panic!("nothing came: {error}"),
            }
        }
    }

    /// Send a request. `rest` follows the number, as in `"ask":"hello","name":"a"`.
    pub fn send(&mut self, rest: &str) -> u64 {
        let id = self.next;
        self.next += 1;
        self.write(&format!("{{\"id\":{id},{rest}}}\n"));
        id
    }

    pub fn answer(&mut self, wanted: u64) -> Result<Answer, Refusal> {
        loop {
            match self.next_message().expect("an answer before the end") {
                Message::Answer { id, answer } if id == wanted => return Ok(answer),
                Message::Refused { id, refusal } if id == Some(wanted) => return Err(refusal),
                Message::Event { event } => self.events.push(event),
                Message::Link { .. } => {}
                other => panic!("{other:?} where {wanted} is waited for"),
            }
        }
    }

    pub fn ask(&mut self, rest: &str) -> Result<Answer, Refusal> {
        let id = self.send(rest);
        self.answer(id)
    }

    pub fn hello(&mut self, name: &str) -> String {
        let rest = format!(r#""ask":"hello","version":2,"name":"{name}","watch":true"#);
        match self.ask(&rest).unwrap() {
            Answer::Welcome(welcome) => welcome.ticket,
            other => panic!("{other:?}"),
        }
    }

    pub fn open(&mut self, destination: &str, rest: &str) -> u32 {
        let rest = format!(r#""ask":"open","destination":"{destination}"{rest}"#);
        match self.ask(&rest).unwrap() {
            Answer::Connection { connection } => connection,
            other => panic!("{other:?}"),
        }
    }

    /// Submit one stream.
    pub fn submit(&mut self, spec: &str) -> Result<u32, Refusal> {
        match self.ask(&format!(r#""ask":"submit","streams":[{spec}]"#))? {
            Answer::Streams { streams } => Ok(streams[0]),
            other => panic!("{other:?}"),
        }
    }

    pub fn wait(&mut self, stream: u32) -> Stream {
        match self
            .ask(&format!(r#""ask":"wait","stream":{stream}"#))
            .unwrap()
        {
            Answer::Stream { stream } => stream,
            other => panic!("{other:?}"),
        }
    }

    /// Return the next event for which `wanted` returns a value.
    pub fn event<T>(&mut self, wanted: impl Fn(&Event) -> Option<T>) -> T {
        loop {
            if let Some(place) = self.events.iter().position(|event| wanted(event).is_some()) {
                let event = self.events.remove(place);
                return wanted(&event).unwrap();
            }
            match self.next_message().expect("an event before the end") {
                Message::Event { event } => self.events.push(event),
                Message::Link { .. } => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// Turn the socket into a link.
    pub fn link(mut self, ticket: &str, link: u16) -> Socket {
        let rest = format!(
            r#""ask":"link","version":2,"ticket":"{ticket}","link":{link},"carrier":"socket""#
        );
        assert_eq!(self.ask(&rest), Ok(Answer::Linked));
        assert!(self.lines.rest().is_empty());
        self.socket
    }

    /// Create the rings from and to a rank. Returns them and their socket.
    pub fn rings(mut self, ticket: &str, link: u16, bytes: [u64; 2]) -> (Vec<Handles>, UnixStream) {
        let [from, to] = bytes;
        let rest = format!(r#""ask":"link","version":2,"ticket":"{ticket}","link":{link},"#)
            + &format!(
                r#""carrier":{{"rings":{{"from_rank_bytes":{from},"to_rank_bytes":{to}}}}}"#
            );
        let id = self.send(&rest);
        let Socket::Unix(socket) = self.socket else {
            panic!("rings go through Unix sockets");
        };
        // Read the line byte by byte, as descriptors follow it.
        let mut line = Vec::new();
        let mut byte = [0];
        while byte != *b"\n" {
            (&socket).read_exact(&mut byte).unwrap();
            line.extend(byte);
        }
        let message: Message = read(&line).unwrap();
        let answer = Answer::Linked;
        assert_eq!(message, Message::Answer { id, answer });
        let rings = bytes.iter().filter(|bytes| **bytes > 0);
        let handles = rings.map(|_| Handles::receive(&socket, soon()).unwrap());
        (handles.collect(), socket)
    }
}

/// Return the pipe with which a rank sends and receives.
pub fn pipe(socket: Socket) -> Pipe {
    match socket {
        Socket::Unix(socket) => Pipe::Unix(socket),
        Socket::Tcp(socket) => Pipe::Tcp(socket),
        Socket::Tls(_) => panic!("a rank of these tests speaks no TLS"),
    }
}

/// Return the specification of a stream that is sent over `links`.
pub fn sends(connection: u32, adu: u64, tu: u64, links: &[u16], adus: u64) -> String {
    spec("transmit", connection, adu, tu, links, adus)
}

pub fn spec(way: &str, connection: u32, adu: u64, tu: u64, links: &[u16], adus: u64) -> String {
    format!(r#"{{"connection":{connection},"direction":"{way}","format":{{"adu_bytes":{adu},"#)
        + &format!(
            r#""tu_bytes":{tu},"su_order":{links:?},"granule_bytes":1,"packet_bytes":{tu}}},"adus":{adus}}}"#
        )
}

/// Return bytes that differ from their neighbours.
pub fn content(key: u64, bytes: u64) -> Vec<u8> {
    let byte = |at: u64| (at ^ (at >> 8) ^ key.wrapping_mul(31)) as u8;
    (0..bytes).map(byte).collect()
}

/// The counts of a sink, and the data that it received.
pub type Taken = (Counts, Vec<u8>);

/// Start a sink on a thread. Returns its address, and the thread with its result.
pub fn sink() -> (String, JoinHandle<Taken>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("raw:tcp:{}", listener.local_addr().unwrap());
    let thread = std::thread::spawn(move || {
        let mut socket = listener.accept().unwrap().0;
        let mut all = Vec::new();
        let sink = Sink::new(1 << 20);
        let take = |_| Action::Take;
        let counts = sink.serve(&mut socket, take, |_, data| all.extend_from_slice(data));
        (counts.unwrap(), all)
    });
    (address, thread)
}
