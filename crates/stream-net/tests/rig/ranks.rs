//! Ranks on real links: threads, and processes that are killed.

use super::memory::adu_bytes;
use super::{Had, content};
use isthmus_ring::{Consumer, Handles, Producer, ring};
use isthmus_stream::checksum::Checksum;
use isthmus_stream::{Format, LinkId, StreamId};
use isthmus_stream_net::frame::{Frame, Kind};
use isthmus_stream_net::rank::{Pipe, Sender};
use isthmus_stream_net::{Ends, Socket};
use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The kind of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Links {
    Ring,
    /// A ring in which data stays until it is sent, from ranks that compute the checksums.
    Roomy,
    Unix,
    Tcp,
}

pub const RING: u64 = 1 << 16;
pub const ROOMY: u64 = 1 << 20;
const ROLE: &str = "ISTHMUS_STREAM_NET_RANK";

impl Links {
    fn capacity(self) -> u64 {
        match self {
            Self::Roomy => ROOMY,
            _ => RING,
        }
    }

    fn sums(self) -> Checksum {
        match self {
            Self::Roomy => Checksum::Crc32c,
            _ => Checksum::None,
        }
    }
}

pub fn soon() -> Instant {
    Instant::now() + Duration::from_secs(60)
}

pub fn tcp_pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let rank_end = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (rank_end, listener.accept().unwrap().0)
}

/// The end of a link from which a rank reads.
pub enum Source {
    Ring(Consumer),
    Socket(Box<dyn Read + Send>),
}

impl Source {
    /// Fills `bytes`. Returns none if the link ends before that.
    fn fill(&mut self, bytes: &mut [u8]) -> Option<()> {
        match self {
            Self::Ring(ring) => ring.read_exact(bytes, soon()).ok(),
            Self::Socket(socket) => socket.read_exact(bytes).ok(),
        }
    }

    /// Reads a frame and its data. Returns none at the end of the link.
    pub fn next(&mut self) -> Option<(Frame, Vec<u8>)> {
        let mut head = [0; Frame::BYTES];
        self.fill(&mut head)?;
        let frame = Frame::decode(&head).ok()?;
        let mut data = vec![0; frame.bytes as usize];
        self.fill(&mut data)?;
        Some((frame, data))
    }
}

/// One ADU to write: the manager's and the script's number of the stream, the ADU, and the first
/// byte of the stream on this link to write.
pub struct Job {
    pub stream: StreamId,
    pub key: usize,
    pub format: Format,
    pub adu: u64,
    pub from: u64,
}

/// A thread that writes to a link. After dropping it, it closes the link when it has written
/// everything.
pub struct Writer {
    pub jobs: mpsc::Sender<Job>,
    /// Frames that the link sends to ranks.
    pub frames: Option<mpsc::Receiver<Frame>>,
}

impl Writer {
    pub fn start(links: Links, link: LinkId) -> (Self, Ends) {
        let (pipe, reading, ends) = match links {
            Links::Ring | Links::Roomy => {
                let (producer, consumer) = ring(links.capacity()).unwrap();
                let (to, from) = ring(4096).unwrap();
                let ends = Ends::rings(Some(consumer), Some(to));
                (Pipe::Producer(producer), Source::Ring(from), ends)
            }
            Links::Unix => {
                let (rank_end, driver_end) = UnixStream::pair().unwrap();
                let reading = Source::Socket(Box::new(rank_end.try_clone().unwrap()));
                (
                    Pipe::Unix(rank_end),
                    reading,
                    Ends::socket(Socket::from(driver_end)),
                )
            }
            Links::Tcp => {
                let (rank_end, driver_end) = tcp_pair();
                let reading = Source::Socket(Box::new(rank_end.try_clone().unwrap()));
                (
                    Pipe::Tcp(rank_end),
                    reading,
                    Ends::socket(Socket::from(driver_end)),
                )
            }
        };
        let (jobs, work) = channel::<Job>();
        let (send_frame, frames) = channel();
        std::thread::spawn(move || {
            let mut reading = reading;
            while let Some((frame, _)) = reading.next() {
                let _ = send_frame.send(frame);
            }
        });
        std::thread::spawn(move || {
            let mut sender = Sender::new(link, pipe).summing(links.sums());
            while let Ok(job) = work.recv() {
                let bytes = adu_bytes(&job.format);
                let data = content(job.key, job.adu, bytes);
                let tus = (0..job.format.tus(bytes)).filter_map(|i| job.format.tu(0, bytes, i));
                let each: u64 = tus
                    .flat_map(|tu| job.format.sus(tu.bytes).collect::<Vec<_>>())
                    .filter(|su| su.link == link)
                    .map(|su| su.bytes)
                    .sum();
                let place = (each * job.adu, job.from);
                let sent =
                    sender.send_adu(job.stream, &job.format, (job.adu, &data), place, soon());
                if sent.is_err() {
                    // The link was cut.
                    return;
                }
            }
        });
        let frames = Some(frames);
        (Self { jobs, frames }, ends)
    }
}

/// SUs and marks received from a link, in order.
pub type Log = Arc<Mutex<Vec<(StreamId, Option<Had>, Kind)>>>;

/// Starts a thread that reads `most` SUs from a link to a log, and then leaves.
pub fn reader(links: Links, most: usize) -> (Log, Ends) {
    let (pipe, writes, ends) = match links {
        Links::Ring | Links::Roomy => {
            let (producer, consumer) = ring(links.capacity()).unwrap();
            let (to, from) = ring(4096).unwrap();
            let ends = Ends::rings(Some(from), Some(producer));
            (Source::Ring(consumer), Some(to), ends)
        }
        Links::Unix => {
            let (rank_end, driver_end) = UnixStream::pair().unwrap();
            (
                Source::Socket(Box::new(rank_end)),
                None,
                Ends::socket(Socket::from(driver_end)),
            )
        }
        Links::Tcp => {
            let (rank_end, driver_end) = tcp_pair();
            (
                Source::Socket(Box::new(rank_end)),
                None,
                Ends::socket(Socket::from(driver_end)),
            )
        }
    };
    let log = Log::default();
    let written = Arc::clone(&log);
    std::thread::spawn(move || {
        let _writes = writes;
        let mut pipe = pipe;
        let mut sus = 0;
        while sus < most
            && let Some((frame, data)) = pipe.next()
        {
            let had = (!data.is_empty()).then(|| Had {
                adu: frame.adu,
                offset: frame.offset,
                good: frame.kind == Kind::Data,
                data,
            });
            sus += usize::from(had.is_some());
            written
                .lock()
                .unwrap()
                .push((frame.stream, had, frame.kind));
        }
    });
    (log, ends)
}

/// Starts this program in a child process, as a rank that writes ADU 0 and half of its first SU of
/// ADU 1.
pub fn doomed(links: Links, link: LinkId, job: &Job) -> (Child, Ends) {
    let (rank_end, driver_end) = UnixStream::pair().unwrap();
    let (stdin, ends) = match links {
        Links::Ring | Links::Roomy => {
            let (producer, consumer) = ring(links.capacity()).unwrap();
            producer.into_handles().send(&rank_end, soon()).unwrap();
            let ends = Ends::rings(Some(consumer), None);
            (OwnedFd::from(driver_end), ends)
        }
        Links::Unix => (
            OwnedFd::from(driver_end),
            Ends::socket(Socket::from(rank_end)),
        ),
        Links::Tcp => {
            let (rank_end, driver_end) = tcp_pair();
            (
                OwnedFd::from(driver_end),
                Ends::socket(Socket::from(rank_end)),
            )
        }
    };
    let order: Vec<_> = job
        .format
        .order
        .iter()
        .map(|link| link.0.to_string())
        .collect();
    let role = format!(
        "{links:?} {} {} {} {} {} {}",
        link.0,
        job.stream.0,
        job.key,
        adu_bytes(&job.format),
        job.format.tu_bytes,
        order.join(",")
    );
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "rig::ranks::a_doomed_rank", "--nocapture"])
        .env(ROLE, role)
        .stdin(Stdio::from(stdin))
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    (child, ends)
}

/// Runs in the child process. Without a role in the environment it does nothing.
#[test]
fn a_doomed_rank() {
    let Ok(role) = std::env::var(ROLE) else {
        return;
    };
    let words: Vec<_> = role.split(' ').collect();
    let number = |at: usize| words[at].parse::<u64>().unwrap();
    let stdin = std::os::fd::AsFd::as_fd(&std::io::stdin())
        .try_clone_to_owned()
        .unwrap();
    let mut pipe = match words[0] {
        "Ring" | "Roomy" => {
            let handles = Handles::receive(&stdin, soon()).unwrap();
            Pipe::Producer(Producer::attach(handles, ROOMY).unwrap())
        }
        "Unix" => Pipe::Unix(stdin.into()),
        _ => Pipe::Tcp(stdin.into()),
    };
    let link = LinkId(number(1) as u16);
    let (stream, key, adu) = (StreamId(number(2) as u32), number(3) as usize, number(4));
    let links = words[6]
        .split(',')
        .map(|link| LinkId(link.parse().unwrap()));
    let format = Format::fixed(adu, number(5), &links.collect::<Vec<_>>());
    let first = content(key, 0, adu);
    for tu in (0..format.tus(adu)).filter_map(|index| format.tu(0, adu, index)) {
        for su in format.sus(tu.bytes).filter(|su| su.link == link) {
            let head = Frame::su(Kind::Data, stream, &tu, &su).encode();
            let data = &first[(tu.offset + su.offset) as usize..][..su.bytes as usize];
            pipe.write_all(&head, soon()).unwrap();
            pipe.write_all(data, soon()).unwrap();
        }
    }
    let tu = format.tu(1, adu, 0).unwrap();
    let su = format.sus(tu.bytes).find(|su| su.link == link).unwrap();
    let head = Frame::su(Kind::Data, stream, &tu, &su).encode();
    pipe.write_all(&head, soon()).unwrap();
    pipe.write_all(&content(key, 1, su.bytes / 2), soon())
        .unwrap();
    // Until it is killed, or forgotten.
    std::thread::sleep(Duration::from_secs(60));
}
