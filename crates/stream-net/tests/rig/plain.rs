//! Receivers of plain bytes: a TCP reader, or a file.

use std::io::Read;
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

pub enum Taker {
    Reader(Option<JoinHandle<Vec<u8>>>),
    File(PathBuf),
}

impl Taker {
    /// Starts a reader, and returns its destination as text.
    pub fn reader() -> (Self, String) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let words = format!("tcp:{}", listener.local_addr().unwrap());
        let thread = std::thread::spawn(move || {
            let mut data = Vec::new();
            let mut socket = listener.accept().unwrap().0;
            // A reset connection keeps the bytes that came before.
            let _ = socket.read_to_end(&mut data);
            data
        });
        (Self::Reader(Some(thread)), words)
    }

    /// Returns a file that does not exist yet.
    pub fn file() -> (Self, String) {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("isthmus-plain-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let words = format!("file:{}", path.display());
        (Self::File(path), words)
    }

    /// Returns all received bytes, once the connection was closed.
    pub fn taken(&mut self) -> Vec<u8> {
        match self {
            Self::Reader(thread) => thread.take().unwrap().join().unwrap(),
            Self::File(path) => {
                let deadline = Instant::now() + Duration::from_secs(30);
                while !path.exists() {
                    assert!(Instant::now() < deadline, "{} is not kept", path.display());
                    std::thread::sleep(Duration::from_millis(2));
                }
                std::fs::read(path).unwrap()
            }
        }
    }
}

impl Drop for Taker {
    fn drop(&mut self) {
        if let Self::File(path) = self {
            // It may not have been kept.
            let _ = std::fs::remove_file(path);
        }
    }
}
