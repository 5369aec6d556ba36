//! Rounds in which the manager, a rank or the sink is killed at a random moment (SIGKILL). The sink
//! must have all confirmed data, complete and in order, and the other processes must detect the
//! death in time and continue.
//!
//! Each is a process of its own. The rank records each ADU that `wait` confirmed; the sink writes
//! and syncs a packet before it confirms it. After the kill, the dead process is started again, and
//! another stream is transferred completely.

pub mod roles;

use roles::{Job, content};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Environment variable that gives a process of this program its role.
pub const ROLE: &str = "ISTHMUS_NIC_KILLS";

/// Timeout of each step.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Random numbers from a seed: SplitMix64.
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

/// A process that is killed when this is dropped.
struct Process(Child);

impl Process {
    fn start(folder: &Path, role: &str) -> Self {
        let mut log = fs::OpenOptions::new();
        let log = log.create(true).append(true).open(folder.join("log"));
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "kills::a_role", "--nocapture"])
            .env(ROLE, format!("{}\n{role}", folder.display()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log.unwrap())
            .spawn();
        Self(child.unwrap())
    }

    /// SIGKILL.
    fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }

    fn runs(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The process that is killed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Victim {
    Manager,
    Rank,
    Sink,
}

/// The parameters and the result of a round.
#[derive(Debug)]
pub struct Row {
    pub victim: Victim,
    job: Job,
    /// ADUs that `wait` had confirmed.
    pub confirmed: u64,
    /// Bytes in the sink.
    pub bytes: u64,
    /// The report of the rank, if it was not killed.
    pub said: String,
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (victim, job) = (format!("{:?}", self.victim).to_lowercase(), &self.job);
        write!(
            f,
            "{victim:7} {:5} x {} {:6} {:6} {:4} {:4} {:6}  {}",
            job.carrier,
            job.links,
            job.adu_bytes,
            job.tu_bytes,
            self.confirmed,
            self.bytes / job.adu_bytes,
            self.bytes % job.adu_bytes,
            self.said
        )
    }
}

/// A round with its folder and its processes.
struct Round {
    folder: PathBuf,
    manager: Option<Process>,
    sink: Option<Process>,
    /// How many sinks and ranks were started.
    sinks: u32,
    ranks: u32,
}

impl Round {
    fn new(seed: u64) -> Self {
        let name = format!("isthmus-kills-{}-{seed:x}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        Self {
            folder,
            manager: None,
            sink: None,
            sinks: 0,
            ranks: 0,
        }
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.folder.join(name)).unwrap_or_default()
    }

    /// Wait until `wanted` returns a value.
    fn wait<T>(&self, what: &str, mut wanted: impl FnMut() -> Option<T>) -> T {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            if let Some(found) = wanted() {
                return found;
            }
            let late = Instant::now() >= deadline;
            assert!(
                !late,
                "no {what}: {}\n{}",
                self.folder.display(),
                self.text("log")
            );
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn start_manager(&mut self) {
        let _ = fs::remove_file(self.folder.join("manager"));
        self.manager = Some(Process::start(&self.folder, "manager"));
        self.wait("manager", || {
            self.folder.join("manager").exists().then_some(())
        });
    }

    fn start_sink(&mut self) {
        self.sinks += 1;
        let role = format!("sink {}", self.sinks);
        self.sink = Some(Process::start(&self.folder, &role));
        self.wait("sink", || {
            let name = format!("sink-{}", self.sinks);
            self.folder.join(name).exists().then_some(())
        });
    }

    fn start_rank(&mut self, job: &Job) -> Process {
        self.ranks += 1;
        let address = self.text(&format!("sink-{}", self.sinks));
        let role = format!("rank {} {address} {}", self.ranks, job.words());
        Process::start(&self.folder, &role)
    }

    /// ADUs that the latest rank noted as confirmed.
    fn confirmed(&self) -> u64 {
        self.text(&format!("confirmed-{}", self.ranks))
            .lines()
            .count() as u64
    }

    /// Wait until the latest rank ends by itself, and return its report.
    fn said(&self, rank: &mut Process) -> String {
        self.wait("end of the rank", || (!rank.runs()).then_some(()));
        let said = self.text(&format!("said-{}", self.ranks));
        said.replace(&format!("{}/", self.folder.display()), "")
    }

    /// Return the data that sink `sink` received on connection `connection`, once that has ended.
    fn taken(&self, sink: u32, connection: u32, live: bool) -> Vec<u8> {
        let name = format!("got-{sink}-{connection}");
        if live {
            self.wait("end of the sink's connection", || {
                self.folder
                    .join(format!("{name}.end"))
                    .exists()
                    .then_some(())
            });
        }
        fs::read(self.folder.join(name)).unwrap_or_default()
    }
}

impl Drop for Round {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

/// Check that the data of a sink is a prefix of the data sent.
fn in_order(job: &Job, taken: &[u8]) {
    for (adu, data) in taken.chunks(job.adu_bytes as usize).enumerate() {
        let right = content(job.key, adu as u64, job.adu_bytes);
        assert!(*data == right[..data.len()], "ADU {adu} of {job:?}");
    }
}

/// Run a round.
pub fn round(seed: u64, victim: Victim) -> Row {
    let mut rng = Rng(seed);
    let mut round = Round::new(seed);
    round.start_sink();
    round.start_manager();
    let job = Job::any(|end| rng.below(end));
    let mut rank = round.start_rank(&job);
    let after = rng.below(24);
    round.wait("progress", || {
        assert!(rank.runs(), "the rank ended: {}", round.text("said-1"));
        let started = round.folder.join("got-1-0").exists();
        (started && round.confirmed() >= after).then_some(())
    });
    std::thread::sleep(Duration::from_micros(rng.below(15_000)));
    let mut said = String::new();
    match victim {
        Victim::Manager => {
            round.manager.take().unwrap().kill();
            said = round.said(&mut rank);
            assert!(said.contains("is over"), "{said}");
        }
        Victim::Rank => rank.kill(),
        Victim::Sink => {
            round.sink.take().unwrap().kill();
            said = round.said(&mut rank);
            assert!(
                said.contains("closed it") || said.contains("lost"),
                "{said}"
            );
        }
    }
    let confirmed = round.confirmed();
    let taken = round.taken(1, 0, victim != Victim::Sink);
    in_order(&job, &taken);
    let bytes = taken.len() as u64;
    let whole = confirmed * job.adu_bytes;
    assert!(
        bytes >= whole,
        "{confirmed} ADUs confirmed, {bytes} bytes in the sink: {job:?}"
    );
    restart(&mut round, &mut rng, victim);
    Row {
        victim,
        job,
        confirmed,
        bytes,
        said,
    }
}

/// Start the killed process again, and transfer another stream completely.
fn restart(round: &mut Round, rng: &mut Rng, victim: Victim) {
    match victim {
        Victim::Manager => round.start_manager(),
        Victim::Sink => round.start_sink(),
        Victim::Rank => {}
    }
    let job = Job {
        adus: 5,
        ..Job::any(|end| rng.below(end))
    };
    let mut rank = round.start_rank(&job);
    assert_eq!(round.said(&mut rank), "all is done", "{job:?}");
    assert_eq!(round.confirmed(), job.adus);
    let connection = u32::from(victim != Victim::Sink);
    let taken = round.taken(round.sinks, connection, true);
    assert_eq!(taken.len() as u64, job.adus * job.adu_bytes);
    in_order(&job, &taken);
}

/// The entry point of the other processes. It does nothing in the process of the tests, which has
/// no role.
#[test]
fn a_role() {
    roles::run();
}

#[test]
fn confirmed_data_survives_every_kill() {
    let victims = [Victim::Manager, Victim::Rank, Victim::Sink];
    let rows = victims.iter().cycle().take(6).zip(1..);
    let confirmed: u64 = rows
        .map(|(victim, seed)| round(seed, *victim).confirmed)
        .sum();
    assert!(confirmed > 0, "nothing was confirmed before a kill");
}
