//! A daemon that says what a test wants: lines and nothing behind them.

use isthmus_nic_client::words::{Answer, Lines, Message, NumberedRequest, Request, read, write};
use isthmus_nic_client::{Address, Session, Timeout};
use std::io::{Read, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

pub fn soon() -> Timeout<'static> {
    Timeout::after(Duration::from_secs(60))
}

/// The abstract name of a socket that nobody else has.
pub fn name() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("isthmus-nic-client-{}-{count}", std::process::id())
}

/// Listens on such a name, and the address of that.
pub fn listener() -> (UnixListener, Address) {
    let name = name();
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let listener = UnixListener::bind_addr(&address).unwrap();
    (listener, Address::parse(&format!("unix:@{name}")).unwrap())
}

pub fn welcome() -> Answer {
    Answer::Welcome {
        application: 3,
        ticket: "ticket".into(),
        session: 1,
        link_grace_ns: 0,
        isthmus: "0.1.0".into(),
        staging_bytes: 1 << 20,
        network_bytes: 2 << 20,
    }
}

/// The socket of a session, as the daemon has it.
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

    /// The next request; none once the client has left.
    pub fn next(&mut self) -> Option<NumberedRequest> {
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

    pub fn tell(&mut self, told: &Message) {
        // The client may have left.
        let _ = self.socket.write_all(&write(told).unwrap());
    }

    pub fn answer(&mut self, id: u64, answer: Answer) {
        self.tell(&Message::Answer { id, answer });
    }
}

/// Lets one session in and does with it what `script` says; the session, once it is in.
pub fn daemon(script: impl FnOnce(Side) + Send + 'static) -> Session {
    let address = listening(move |mut side| {
        let hello = side.next().unwrap();
        assert!(matches!(hello.request, Request::Hello { .. }));
        side.answer(hello.id, welcome());
        script(side);
    });
    Session::watching(&address, Some("secret"), "a test", soon()).unwrap()
}

/// Somebody who lets one socket in.
pub fn listening(script: impl FnOnce(Side) + Send + 'static) -> Address {
    let (listener, address) = listener();
    std::thread::spawn(move || {
        let socket = listener.accept().unwrap().0;
        script(Side::new(socket));
    });
    address
}
