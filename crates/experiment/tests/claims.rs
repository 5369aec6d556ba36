//! Claims of several workers in one folder, some of which are gone.

use isthmus_experiment::claims::{Claim, Taken, Worker, read_claim_state, retry_stale};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

/// Longer than any pause of a busy machine.
const LONG: Duration = Duration::from_secs(600);

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("isthmus-claims-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn worker(&self, expiry: Duration) -> Worker {
        Worker::new(&self.0, expiry, "1.0", 2).unwrap()
    }

    /// Leaves a claim as a worker of that name would, touched so long ago.
    fn left(&self, unit: &str, worker: &str, ago: Duration) {
        let file = File::create(self.0.join(format!("{worker}.jsonl"))).unwrap();
        file.set_modified(SystemTime::now() - ago).unwrap();
        fs::write(self.0.join(format!("{unit}.claim")), format!("{worker}\n")).unwrap();
    }

    fn has(&self, name: &str) -> bool {
        self.0.join(name).exists()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn granted(taken: Taken) -> Claim {
    match taken {
        Taken::Granted(claim) => claim,
        Taken::HeldBy(name) => panic!("{name} has it"),
    }
}

fn lines(folder: &Path, worker: &str) -> Vec<serde_json::Value> {
    let text = fs::read_to_string(folder.join(format!("{worker}.jsonl"))).unwrap();
    let lines = text.lines();
    lines.map(|l| serde_json::from_str(l).unwrap()).collect()
}

#[test]
fn a_unit_is_with_one_worker_at_a_time_and_then_free() {
    let folder = Folder::new("one");
    let (first, second) = (folder.worker(LONG), folder.worker(LONG));
    let claim = granted(first.take("point-00001").unwrap());
    match second.take("point-00001").unwrap() {
        Taken::HeldBy(name) => assert_eq!(name.trim_end(), first.name()),
        Taken::Granted(_) => panic!("two have it"),
    }
    granted(second.take("point-00002").unwrap());
    claim.done().unwrap();
    let claim = granted(second.take("point-00001").unwrap());
    claim.failed("too long").unwrap();
    assert!(!folder.has("point-00001.claim"));

    let log = lines(&folder.0, first.name());
    assert_eq!(log[0]["worker"], first.name());
    assert_eq!(log[0]["version"], "1.0");
    assert_eq!(log[1]["done"], "point-00001");
    assert!(log[1]["took_s"].as_f64().unwrap() >= 0.0);
    assert!(log[1]["at_s"].as_f64() >= log[0]["at_s"].as_f64());
    let log = lines(&folder.0, second.name());
    assert_eq!(log[1]["failed"], "point-00001");
    assert_eq!(log[1]["reason"], "too long");
}

#[test]
fn a_worker_that_is_silent_for_long_has_lost_its_claims() {
    let folder = Folder::new("silent");
    let there = "worker-elsewhere-1-0123456789abcdef";
    let worker = folder.worker(Duration::from_secs(60));
    folder.left("point-00001", there, Duration::from_secs(10));
    assert!(matches!(
        worker.take("point-00001").unwrap(),
        Taken::HeldBy(_)
    ));
    folder.left("point-00001", there, Duration::from_secs(70));
    granted(worker.take("point-00001").unwrap());
    // A claim whose worker has no file is as old as itself.
    folder.left("point-00002", there, Duration::ZERO);
    fs::remove_file(folder.0.join(format!("{there}.jsonl"))).unwrap();
    assert!(matches!(
        worker.take("point-00002").unwrap(),
        Taken::HeldBy(_)
    ));
    let claim = File::options()
        .append(true)
        .open(folder.0.join("point-00002.claim"));
    let before = SystemTime::now() - Duration::from_secs(70);
    claim.unwrap().set_modified(before).unwrap();
    granted(worker.take("point-00002").unwrap());
}

#[test]
fn a_process_of_this_host_that_is_no_more_has_lost_them_at_once() {
    let folder = Folder::new("dead");
    let mut child = Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    let worker = folder.worker(LONG);
    let name = worker.name().rsplitn(3, '-').nth(2).unwrap();
    let space = &worker.name().rsplit_once('-').unwrap().1[..8];
    let dead = format!("{name}-{}-{space}89abcdef", child.id());
    folder.left("point-00001", &dead, Duration::ZERO);
    granted(worker.take("point-00001").unwrap());
}

#[test]
fn a_claim_that_was_cut_short_is_one_until_it_is_old() {
    let folder = Folder::new("short");
    let worker = folder.worker(Duration::from_secs(60));
    for text in ["", "worker-elsewh", "\u{0}\u{0}"] {
        let path = folder.0.join("point-00001.claim");
        fs::write(&path, text).unwrap();
        assert!(matches!(
            worker.take("point-00001").unwrap(),
            Taken::HeldBy(_)
        ));
        let before = SystemTime::now() - Duration::from_secs(70);
        let file = File::options().append(true).open(&path).unwrap();
        file.set_modified(before).unwrap();
        granted(worker.take("point-00001").unwrap());
    }
}

#[test]
fn what_is_no_file_is_refused_by_name() {
    let folder = Folder::new("kinds");
    let worker = folder.worker(LONG);
    fs::create_dir(folder.0.join("point-00001.claim")).unwrap();
    std::os::unix::fs::symlink("/dev/null", folder.0.join("point-00002.claim")).unwrap();
    for unit in ["point-00001", "point-00002"] {
        let error = worker.take(unit).unwrap_err();
        let message = error.to_string();
        assert!(message.contains(&format!("{unit}.claim: ")), "{message}");
        assert!(error.of_one_unit);
        assert!(read_claim_state(&folder.0, unit).is_err());
    }
    granted(worker.take("point-00003").unwrap());
    let error = Worker::new(&folder.0.join("nowhere"), LONG, "1.0", 1).unwrap_err();
    assert!(!error.of_one_unit);
    assert!(error.to_string().contains("nowhere/worker-"), "{error}");
}

#[test]
fn look_and_take_have_one_rule_for_lost_claims() {
    let folder = Folder::new("rule");
    let there = "worker-elsewhere-1-0123456789abcdef";
    let worker = folder.worker(Duration::from_secs(60));
    let file = folder.0.join(format!("{there}.jsonl"));
    // Stated time, time without a heartbeat; lost for `read_claim_state`, and for `take`, which has a time of
    // its own.
    for (stated, ago, lost, taken) in [
        (5, 10, true, true),
        (5, 2, false, false),
        (900, 10, false, false),
        (900, 70, false, true),
        (900, 1000, true, true),
    ] {
        folder.left("point-00001", there, Duration::ZERO);
        fs::write(&file, format!("{{\"expiry_s\": {stated}}}\n")).unwrap();
        let now = SystemTime::now();
        let touched = File::options().append(true).open(&file).unwrap();
        touched
            .set_modified(now - Duration::from_secs(ago))
            .unwrap();
        let seen = read_claim_state(&folder.0, "point-00001").unwrap().unwrap();
        let now = now.duration_since(SystemTime::UNIX_EPOCH).unwrap();
        assert_eq!(seen.is_lost(now), lost, "{stated} {ago}");
        let came = worker.take("point-00001").unwrap();
        assert_eq!(matches!(came, Taken::Granted(_)), taken, "{stated} {ago}");
    }
    assert_eq!(read_claim_state(&folder.0, "point-00002").unwrap(), None);
}

#[test]
fn what_another_machine_has_replaced_is_looked_at_again() {
    let stale = || Err::<u32, std::io::Error>(std::io::ErrorKind::StaleNetworkFileHandle.into());
    let mut looks = 0;
    let seen = retry_stale(|| {
        looks += 1;
        if looks < 3 { stale() } else { Ok(looks) }
    });
    assert_eq!(seen.unwrap(), 3);
    assert!(retry_stale(stale).is_err());
}

#[test]
fn a_claim_that_was_taken_over_is_left_to_its_new_worker() {
    let folder = Folder::new("over");
    let (slow, fast) = (folder.worker(LONG), folder.worker(LONG));
    let lost = granted(slow.take("point-00001").unwrap());
    fs::remove_file(folder.0.join("point-00001.claim")).unwrap();
    let kept = granted(fast.take("point-00001").unwrap());
    lost.done().unwrap();
    assert!(folder.has("point-00001.claim"));
    drop(kept);
    assert!(!folder.has("point-00001.claim"));
}

#[test]
fn a_worker_that_lives_keeps_what_it_has() {
    let folder = Folder::new("lives");
    let expiry = Duration::from_secs(2);
    let (busy, other) = (folder.worker(expiry), folder.worker(expiry));
    let claim = granted(busy.take("point-00001").unwrap());
    let began = Instant::now();
    while began.elapsed() < 3 * expiry {
        assert!(matches!(
            other.take("point-00001").unwrap(),
            Taken::HeldBy(_)
        ));
        thread::sleep(expiry / 10);
    }
    drop(claim);
}

/// Many workers, some of which left their claims behind: each unit is done, and hardly any twice.
#[test]
fn many_workers_share_the_units_and_take_over_what_was_left() {
    const UNITS: usize = 200;
    let folder = Folder::new("many");
    let done: Vec<AtomicU32> = (0..UNITS).map(|_| AtomicU32::new(0)).collect();
    let at_work: Vec<AtomicU32> = (0..UNITS).map(|_| AtomicU32::new(0)).collect();
    let twice = AtomicU32::new(0);
    for unit in (0..UNITS).step_by(3) {
        let gone = "worker-elsewhere-1-0123456789abcdef";
        folder.left(&format!("point-{unit:05}"), gone, LONG * 2);
    }
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let worker = folder.worker(LONG);
                for unit in 0..UNITS {
                    let name = format!("point-{unit:05}");
                    let Taken::Granted(claim) = worker.take(&name).unwrap() else {
                        continue;
                    };
                    if done[unit].load(Ordering::SeqCst) > 0 {
                        continue;
                    }
                    if at_work[unit].fetch_add(1, Ordering::SeqCst) > 0 {
                        twice.fetch_add(1, Ordering::SeqCst);
                    }
                    thread::yield_now();
                    done[unit].fetch_add(1, Ordering::SeqCst);
                    at_work[unit].fetch_sub(1, Ordering::SeqCst);
                    claim.done().unwrap();
                }
            });
        }
    });
    for (unit, done) in done.iter().enumerate() {
        assert!(done.load(Ordering::SeqCst) >= 1, "unit {unit}");
    }
    let twice = twice.load(Ordering::SeqCst);
    assert!(twice <= UNITS as u32 / 20, "{twice} units were with two");
    let left = fs::read_dir(&folder.0).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    let claims = left
        .iter()
        .filter(|name| !name.to_string_lossy().ends_with(".jsonl"));
    assert_eq!(claims.count(), 0, "{left:?}");
}
