//! The mount, as programs use it: files, names, locks, and a daemon that is started again meanwhile.

use crate::rig::{Folder, Rig};
use isthmus_iod::{Config, Daemon};
use isthmus_iod_client::{Mount, MountConfig, Target};
use isthmus_wire::Remote;
use rustix::fs::{FlockOperation, fcntl_lock};
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

/// A daemon and a mount of its export.
struct Mounted {
    mount: Option<Mount>,
    daemon: Option<Daemon>,
    folder: Folder,
    change: fn(&mut Config, &Folder),
    /// The time for which requests wait for the daemon.
    timeout: Duration,
}

impl Mounted {
    /// Starts a daemon and mounts it; `None` where that is not possible, which is said.
    fn start(change: fn(&mut Config, &Folder)) -> Option<Self> {
        let folder = Folder::new();
        for each in ["files", "mount"] {
            fs::create_dir(folder.0.join(each)).unwrap();
        }
        let mut mounted = Self {
            mount: None,
            daemon: None,
            folder,
            change,
            timeout: Duration::from_secs(20),
        };
        mounted.start_daemon();
        match Mount::start(&mounted.root(), &mounted.config(), |_| {}) {
            Ok(mount) => mounted.mount = Some(mount),
            Err(error) => {
                eprintln!("skipped: {error}");
                return None;
            }
        }
        Some(mounted)
    }

    /// Returns what is mounted.
    fn config(&self) -> MountConfig {
        let socket = format!("unix:{}", self.folder.0.join("socket").display());
        MountConfig {
            target: Target {
                remote: Remote::parse(&socket).unwrap(),
                token: None,
                export: Vec::new(),
                timeout: self.timeout,
            },
            fresh: Duration::ZERO,
            read_only: false,
        }
    }

    /// Starts the daemon.
    fn start_daemon(&mut self) {
        let mut config = Rig::config(&self.folder);
        (self.change)(&mut config, &self.folder);
        config.grace = Duration::from_millis(10);
        self.daemon = Some(Daemon::start(config).unwrap());
    }

    /// Ends the daemon as if it were killed.
    fn kill_daemon(&mut self) {
        self.daemon = None;
    }

    /// Mounts again, with another time for which requests wait.
    fn remount(&mut self, timeout: Duration) {
        self.timeout = timeout;
        self.mount.take().unwrap().stop().unwrap();
        self.mount = Some(Mount::start(&self.root(), &self.config(), |_| {}).unwrap());
    }

    /// Returns the folder in which the files are mounted.
    fn root(&self) -> PathBuf {
        self.folder.0.join("mount")
    }

    /// Returns a path below it.
    fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }
}

/// Returns the number of an error of the system.
fn errno<T: std::fmt::Debug>(result: std::io::Result<T>) -> i32 {
    result.unwrap_err().raw_os_error().unwrap()
}

const NOTHING: fn(&mut Config, &Folder) = |_, _| {};

#[test]
fn programs_use_the_files_of_a_mount_as_any_others() {
    let Some(mounted) = Mounted::start(NOTHING) else {
        return;
    };
    let (file, other) = (mounted.path("file"), mounted.path("folder/other"));
    fs::write(&file, b"first").unwrap();
    assert_eq!(fs::read(&file).unwrap(), b"first");
    assert_eq!(errno(fs::create_dir(&file)), 17);
    fs::create_dir(mounted.path("folder")).unwrap();
    fs::rename(&file, &other).unwrap();
    assert_eq!(errno(fs::read(&file)), 2);
    assert_eq!(errno(fs::remove_dir(mounted.path("folder"))), 39);
    fs::hard_link(&other, &file).unwrap();
    assert_eq!(fs::metadata(&file).unwrap().nlink(), 2);
    assert_eq!(
        fs::metadata(&file).unwrap().ino(),
        fs::metadata(&other).unwrap().ino()
    );
    symlink("folder/other", mounted.path("link")).unwrap();
    assert_eq!(
        fs::read_link(mounted.path("link")).unwrap(),
        Path::new("folder/other")
    );
    assert_eq!(fs::read(mounted.path("link")).unwrap(), b"first");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    assert_eq!(fs::metadata(&other).unwrap().mode() & 0o7777, 0o640);
    let mut open = OpenOptions::new().append(true).open(&file).unwrap();
    open.write_all(b" and second").unwrap();
    assert_eq!(fs::read(&other).unwrap(), b"first and second");
    open.set_len(3).unwrap();
    assert_eq!(fs::read(&other).unwrap(), b"fir");
    // A file that was removed is there for those who have it open.
    let mut kept = File::open(&file).unwrap();
    fs::remove_file(&file).unwrap();
    fs::remove_file(&other).unwrap();
    let mut text = String::new();
    kept.read_to_string(&mut text).unwrap();
    assert_eq!(text, "fir");
    assert_eq!(kept.metadata().unwrap().nlink(), 0);
    kept.set_permissions(fs::Permissions::from_mode(0o600))
        .unwrap();
    assert_eq!(kept.metadata().unwrap().mode() & 0o7777, 0o600);
    let mut names = Vec::new();
    for number in 0..500 {
        names.push(format!("{number:0>100}"));
        File::create_new(mounted.path(&names[number])).unwrap();
    }
    let entries = fs::read_dir(mounted.root()).unwrap();
    let mut found = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.len() == 100)
        .collect::<Vec<_>>();
    found.sort();
    assert_eq!(found, names);
}

#[test]
fn a_time_before_1970_is_kept() {
    let Some(mounted) = Mounted::start(NOTHING) else {
        return;
    };
    let file = File::create(mounted.path("file")).unwrap();
    let time = SystemTime::UNIX_EPOCH - Duration::new(5, 250_000_000);
    file.set_modified(time).unwrap();
    assert_eq!(file.metadata().unwrap().modified().unwrap(), time);
    let stored = fs::metadata(mounted.folder.0.join("files/file")).unwrap();
    assert_eq!(stored.modified().unwrap(), time);
}

#[test]
fn large_and_sparse_files_are_the_same_on_both_sides() {
    let Some(mounted) = Mounted::start(NOTHING) else {
        return;
    };
    let data = (0..5_000_000_u32)
        .map(|each| (each.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect::<Vec<_>>();
    fs::write(mounted.path("large"), &data).unwrap();
    assert!(fs::read(mounted.folder.0.join("files/large")).unwrap() == data);
    assert!(fs::read(mounted.path("large")).unwrap() == data);
    let mut sparse = File::create(mounted.path("sparse")).unwrap();
    sparse.seek(SeekFrom::Start(5 << 30)).unwrap();
    sparse.write_all(b"end").unwrap();
    sparse.sync_all().unwrap();
    let status = fs::metadata(mounted.folder.0.join("files/sparse")).unwrap();
    assert_eq!(status.len(), (5 << 30) + 3);
    assert!(status.blocks() * 512 < 1 << 20);
    // A version that another program has written is seen when the file is opened again.
    fs::write(mounted.folder.0.join("files/large"), b"another version").unwrap();
    assert_eq!(fs::read(mounted.path("large")).unwrap(), b"another version");
}

#[test]
fn locks_exclude_the_processes_of_another_mount() {
    let Some(mounted) = Mounted::start(NOTHING) else {
        return;
    };
    let elsewhere = Folder::new();
    let other = Mount::start(&elsewhere.0, &mounted.config(), |_| {}).unwrap();
    let file = File::create(mounted.path("file")).unwrap();
    let same = File::options().write(true).open(elsewhere.0.join("file"));
    let same = same.unwrap();
    let exclusive = FlockOperation::NonBlockingLockExclusive;
    fcntl_lock(&file, exclusive).unwrap();
    assert_eq!(fcntl_lock(&same, exclusive), Err(rustix::io::Errno::AGAIN));
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| fcntl_lock(&same, FlockOperation::LockExclusive));
        std::thread::sleep(Duration::from_millis(50));
        fcntl_lock(&file, FlockOperation::Unlock).unwrap();
        waits.join().unwrap().unwrap();
    });
    assert_eq!(fcntl_lock(&file, exclusive), Err(rustix::io::Errno::AGAIN));
    drop(same);
    fcntl_lock(&file, exclusive).unwrap();
    other.stop().unwrap();
}

/// Checks that a process that takes a lock finds what was written in another mount, although the kernel has an older
/// version.
#[test]
fn a_lock_shows_what_another_mount_has_written() {
    let Some(mounted) = Mounted::start(NOTHING) else {
        return;
    };
    let elsewhere = Folder::new();
    let other = Mount::start(&elsewhere.0, &mounted.config(), |_| {}).unwrap();
    fs::write(mounted.path("file"), vec![0; 600_000]).unwrap();
    let open = |path: PathBuf| File::options().read(true).write(true).open(path).unwrap();
    let files = [open(mounted.path("file")), open(elsewhere.0.join("file"))];
    let mut data = vec![0; 600_000];
    for (turn, wait) in (1..=20).zip([true, false].into_iter().cycle()) {
        let operation = match wait {
            true => FlockOperation::LockExclusive,
            false => FlockOperation::NonBlockingLockExclusive,
        };
        let file = &files[turn as usize % 2];
        fcntl_lock(file, operation).unwrap();
        file.read_exact_at(&mut data, 0).unwrap();
        assert!(data.iter().all(|byte| *byte == turn - 1), "turn {turn}");
        file.write_all_at(&vec![turn; 600_000], 0).unwrap();
        fcntl_lock(file, FlockOperation::Unlock).unwrap();
    }
    drop(files);
    other.stop().unwrap();
}

#[test]
fn a_daemon_that_is_started_again_is_a_pause() {
    restart(NOTHING);
}

#[test]
fn a_daemon_with_a_cache_that_is_started_again_is_a_pause() {
    restart(Rig::add_cache);
}

/// Writes and renames files while the daemon is ended and started again; open files and locks stay.
fn restart(change: fn(&mut Config, &Folder)) {
    let Some(mut mounted) = Mounted::start(change) else {
        return;
    };
    let mut open = OpenOptions::new();
    open.read(true).write(true).create(true);
    let file = open.open(mounted.path("file")).unwrap();
    file.write_all_at(b"before", 0).unwrap();
    fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive).unwrap();
    let root = mounted.root();
    let (is_done, rounds) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                let round = rounds.load(Ordering::Relaxed);
                let (old, new) = (root.join("old"), root.join(format!("new-{round}")));
                fs::write(&old, round.to_string()).unwrap();
                fs::rename(&old, &new).unwrap();
                assert_eq!(fs::read_to_string(&new).unwrap(), round.to_string());
                file.write_all_at(&round.to_le_bytes(), 8 * round).unwrap();
                if !round.is_multiple_of(3) {
                    fs::remove_file(&new).unwrap();
                }
                rounds.fetch_add(1, Ordering::Relaxed);
            }
        });
        // At another place of a round each time.
        for micros in [0, 100, 400, 900, 1600, 2500] {
            let before = rounds.load(Ordering::Relaxed);
            while rounds.load(Ordering::Relaxed) < before + 3 {
                std::thread::sleep(Duration::from_micros(100));
            }
            std::thread::sleep(Duration::from_micros(micros));
            mounted.kill_daemon();
            std::thread::sleep(Duration::from_millis(20));
            mounted.start_daemon();
        }
        is_done.store(true, Ordering::Relaxed);
    });
    let rounds = rounds.into_inner();
    file.sync_all().unwrap();
    let data = fs::read(mounted.folder.0.join("files/file")).unwrap();
    for round in 0..rounds {
        let at = usize::try_from(8 * round).unwrap();
        assert_eq!(data[at..at + 8], round.to_le_bytes());
        let kept = mounted.path(&format!("new-{round}"));
        assert_eq!(kept.exists(), round % 3 == 0, "{round}");
    }
    // The lock is held again: a second mount does not get it.
    let elsewhere = Folder::new();
    let other = Mount::start(&elsewhere.0, &mounted.config(), |_| {}).unwrap();
    let same = open.open(elsewhere.0.join("file")).unwrap();
    let lock = fcntl_lock(&same, FlockOperation::NonBlockingLockExclusive);
    assert_eq!(lock, Err(rustix::io::Errno::AGAIN));
    drop(same);
    other.stop().unwrap();
}

#[test]
fn a_daemon_that_stays_away_is_an_error_and_no_hang() {
    const TIMEOUT: Duration = Duration::from_secs(1);
    let Some(mut mounted) = Mounted::start(NOTHING) else {
        return;
    };
    mounted.remount(TIMEOUT);
    fs::write(mounted.path("file"), b"data").unwrap();
    let open = File::open(mounted.path("file")).unwrap();
    fs::write(mounted.folder.0.join("files/gone"), b"data").unwrap();
    let gone = File::open(mounted.path("gone")).unwrap();
    // A mount that has not been used for longer waits all the same.
    std::thread::sleep(TIMEOUT);
    mounted.kill_daemon();
    let start = Instant::now();
    assert_eq!(errno(fs::metadata(mounted.path("file"))), 5);
    assert!(start.elapsed() > TIMEOUT / 2, "it waits first");
    let start = Instant::now();
    assert_eq!(errno(fs::metadata(mounted.path("file"))), 5);
    assert!(start.elapsed() < TIMEOUT / 2, "then not");
    // Another file has the name now.
    let [other, name] = ["other", "gone"].map(|name| mounted.folder.0.join("files").join(name));
    fs::write(&other, b"other").unwrap();
    fs::rename(other, name).unwrap();
    mounted.start_daemon();
    let end = Instant::now() + Duration::from_secs(10);
    while fs::metadata(mounted.path("file")).is_err() {
        assert!(Instant::now() < end, "the daemon is back");
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut bytes = [0; 4];
    open.read_exact_at(&mut bytes, 0).unwrap();
    assert_eq!(&bytes, b"data");
    assert_eq!(errno(gone.metadata()), 116);
}
