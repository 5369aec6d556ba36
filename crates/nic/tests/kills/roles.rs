//! The processes of a round.

use super::ROLE;
use isthmus_nic::{Address, Certificate, Config, Daemon};
use isthmus_nic_client::protocol::{Carrier, Direction};
use isthmus_nic_client::{
    Address as Where, ConnectionOptions, Error, Session, Stream, Timeout, spec,
};
use isthmus_stream_net::sink::{Action, Sink};
use std::fs::{self, File, Permissions};
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Maximum lifetime of a process of a round.
const LIFE: Duration = Duration::from_secs(120);

/// The stream that a rank sends.
#[derive(Clone, Debug)]
pub struct Job {
    pub key: u64,
    pub carrier: String,
    pub links: u64,
    pub adu_bytes: u64,
    pub tu_bytes: u64,
    pub packet_bytes: u64,
    pub adus: u64,
}

impl Job {
    /// Return a job without an end and with random sizes.
    pub fn any(mut below: impl FnMut(u64) -> u64) -> Self {
        let tu_bytes = 4096 << below(5);
        let adu_bytes = tu_bytes / 2 * (1 + below(5)) + below(2) * 13;
        Self {
            key: below(1 << 32),
            carrier: ["rings", "unix", "tcp", "tls"][below(4) as usize].into(),
            links: 1 + below(4),
            adu_bytes,
            tu_bytes,
            packet_bytes: tu_bytes >> below(2),
            adus: 1 << 40,
        }
    }

    pub fn words(&self) -> String {
        let Self {
            key,
            carrier,
            links,
            adu_bytes,
            tu_bytes,
            packet_bytes,
            adus,
        } = self;
        format!("{key} {carrier} {links} {adu_bytes} {tu_bytes} {packet_bytes} {adus}")
    }

    fn of(words: &[&str]) -> Self {
        let number = |at: usize| words[at].parse().unwrap();
        Self {
            key: number(0),
            carrier: words[1].into(),
            links: number(2),
            adu_bytes: number(3),
            tu_bytes: number(4),
            packet_bytes: number(5),
            adus: number(6),
        }
    }
}

/// The bytes of an ADU.
pub fn content(key: u64, adu: u64, bytes: u64) -> Vec<u8> {
    let seed = key.wrapping_add(adu << 20);
    let byte = |at: u64| ((at + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8;
    (0..bytes).map(byte).collect()
}

/// Play the role that the environment names, if it names one.
pub fn run() {
    let Ok(role) = std::env::var(ROLE) else {
        return;
    };
    std::thread::spawn(|| {
        std::thread::sleep(LIFE);
        std::process::exit(3);
    });
    let (folder, words) = role.split_once('\n').unwrap();
    let folder = PathBuf::from(folder);
    let words: Vec<_> = words.split(' ').collect();
    match words[0] {
        "manager" => manager(&folder),
        "sink" => sink(&folder, words[1]),
        _ => rank(&folder, words[1], words[2], &Job::of(&words[3..])),
    }
}

/// Return a file of the tests.
fn fixture(name: &str) -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.join("tests/fixtures").join(name)
}

/// Write a file so that it appears with its whole content.
fn note(path: &Path, text: &str) {
    let part = path.with_extension("part");
    fs::write(&part, text).unwrap();
    fs::rename(part, path).unwrap();
}

fn manager(folder: &Path) {
    let unix = Address::Unix(folder.join("nic.sock"));
    let any = "127.0.0.1:0".parse().unwrap();
    let mut config = Config::new(vec![unix, Address::Tcp(any), Address::Tls(any)]);
    let [chain, key] = ["cert.pem", "key.pem"].map(|name| {
        let path = folder.join(name);
        fs::copy(fixture(name), &path).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        path
    });
    config.server.certificate = Some(Certificate { chain, key });
    // Data that it received from a killed rank still goes to the sink.
    config.limits.network_bytes = 4 << 20;
    let daemon = Daemon::start(config).unwrap();
    let addresses = daemon.addresses().iter().map(ToString::to_string);
    note(
        &folder.join("manager"),
        &addresses.collect::<Vec<_>>().join("\n"),
    );
    std::thread::sleep(LIFE);
}

/// Serve one connection after the other. Each packet is written and synced before it is confirmed.
fn sink(folder: &Path, number: &str) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("raw:tcp:{}", listener.local_addr().unwrap());
    note(&folder.join(format!("sink-{number}")), &address);
    for connection in 0.. {
        let mut socket = listener.accept().unwrap().0;
        let path = folder.join(format!("got-{number}-{connection}"));
        let mut file = File::create(&path).unwrap();
        let keep = |_: &_, data: &[u8]| {
            file.write_all(data).unwrap();
            file.sync_data().unwrap();
        };
        let ended = Sink::new(256 << 10).serve(&mut socket, |_| Action::Take, keep);
        note(&path.with_extension("end"), &format!("{ended:?}"));
    }
}

/// Send ADUs, and record each confirmed one and the end.
fn rank(folder: &Path, number: &str, sink: &str, job: &Job) {
    let said = match send(folder, number, sink, job) {
        Ok(()) => "all is done".into(),
        Err(error) => error.to_string(),
    };
    note(&folder.join(format!("said-{number}")), &said);
}

fn send(folder: &Path, number: &str, sink: &str, job: &Job) -> Result<(), Error> {
    let soon = Timeout::after(Duration::from_secs(60));
    let addresses = fs::read_to_string(folder.join("manager")).unwrap();
    let kind = match job.carrier.as_str() {
        "rings" => "unix",
        other => other,
    };
    let words = addresses.lines().find(|words| words.starts_with(kind));
    let mut address = Where::parse(words.unwrap())?;
    if kind == "tls" {
        address = address.trusting(&fixture("cert.pem"))?;
    }
    let session = Session::connect(&address, None, "rank", false, soon)?;
    let carrier = match job.carrier.as_str() {
        "rings" => Carrier::Rings {
            from_rank_bytes: 256 << 10,
            to_rank_bytes: 0,
        },
        _ => Carrier::Socket,
    };
    let links: Vec<_> = (0..job.links as u16).collect();
    for link in &links {
        session.link(*link, carrier, soon)?;
    }
    let connection = session.open(&ConnectionOptions::to(sink), soon)?;
    let mut spec = spec(
        connection,
        Direction::Transmit,
        job.adu_bytes,
        &links,
        job.adus,
    );
    spec.format.tu_bytes = job.tu_bytes;
    spec.format.packet_bytes = job.packet_bytes;
    let stream = session.stream(spec, soon)?;
    let confirmed = File::create(folder.join(format!("confirmed-{number}"))).unwrap();
    std::thread::scope(|scope| {
        let sends = scope.spawn(|| {
            for adu in 0..job.adus {
                stream.send(&content(job.key, adu, job.adu_bytes), soon)?;
            }
            Ok(())
        });
        let waited = wait(&stream, job, confirmed);
        // The error of the wait says more; a send fails for the same reason.
        let sent: Result<(), Error> = sends.join().unwrap();
        waited.and(sent)
    })?;
    stream.wait(soon)?;
    session.close(connection, soon)
}

fn wait(stream: &Stream, job: &Job, mut confirmed: File) -> Result<(), Error> {
    let soon = Timeout::after(Duration::from_secs(60));
    for adus in 1..=job.adus {
        stream.wait_done(adus, soon)?;
        writeln!(confirmed, "{adus}").unwrap();
    }
    Ok(())
}
