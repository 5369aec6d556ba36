//! A fake daemon that sends the lines of a test.

use isthmus_nic_client::protocol::{
    Answer, Lines, Message, Request, RequestLine, Welcome, read, write,
};
use isthmus_nic_client::{Address, Session, Timeout};
use std::io::{Read, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

pub fn soon() -> Timeout<'static> {
    Timeout::after(Duration::from_secs(60))
}

/// Return a unique abstract name of a socket.
pub fn name() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("isthmus-nic-client-{}-{count}", std::process::id())
}

/// Listen on a unique name. Returns the listener and its address.
pub fn listener() -> (UnixListener, Address) {
    let name = name();
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let listener = UnixListener::bind_addr(&address).unwrap();
    (listener, Address::parse(&format!("unix:@{name}")).unwrap())
}

pub fn welcome() -> Answer {
    Answer::Welcome(Welcome {
        application: 3,
        ticket: "ticket".into(),
        session: 1,
        link_grace_ns: 0,
        isthmus: "0.1.0".into(),
        staging_bytes: 1 << 20,
        network_bytes: 2 << 20,
    })
}

/// The daemon's end of a session.
pub struct Side {
    pub socket: UnixStream,
    lines: Lines,
}

impl Side {
    pub fn new(socket: UnixStream) -> Self {
        let timeout = Some(Duration::from_secs(60));
        socket.set_read_timeout(timeout).unwrap();
        let lines = Lines::default();
        Self { socket, lines }
    }

    /// Return the next request; none once the client has left.
    pub fn next(&mut self) -> Option<RequestLine> {
        let mut piece = [0; 4096];
        loop {
            if let Some(line) = self.lines.take().unwrap() {
                return Some(read(&line).unwrap());
            }
            match self.socket.read(&mut piece) {
                Ok(0) | Err(_) => return None,
                Ok(read) => self.lines.push(&piece[..read]),
            }
        }
    }

    pub fn send(&mut self, message: &Message) {
        // The client may have left.
        let _ = self.socket.write_all(&write(message).unwrap());
    }

    pub fn answer(&mut self, id: u64, answer: Answer) {
        self.send(&Message::Answer { id, answer });
    }
}

/// Admit one session and run `script` with the daemon's end. Returns the session.
pub fn daemon(script: impl FnOnce(Side) + Send + 'static) -> Session {
    let address = listening(move |mut side| {
        let hello = side.next().unwrap();
        assert!(matches!(hello.request, Request::Hello { .. }));
        side.answer(hello.id, welcome());
        script(side);
    });
    Session::connect(&address, Some("secret"), "a test", true, soon()).unwrap()
}

/// Accept one socket on a thread.
pub fn listening(script: impl FnOnce(Side) + Send + 'static) -> Address {
    let (listener, address) = listener();
    std::thread::spawn(move || {
        let socket = listener.accept().unwrap().0;
        script(Side::new(socket));
    });
    address
}
