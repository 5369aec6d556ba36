//! Requests of isthmus's own clients: sessions that are taken up again, fids that are restored, data that is made
//! safe, and small files in one request.

use crate::rig::{Client, Rig};
use isthmus_forward::Errno;
use isthmus_forward::cache::log::{Record, take};
use isthmus_forward::message::{Change, Data, NOT_OPEN, Reply, Request};
use isthmus_iod::{CacheConfig, Config, Level};
use isthmus_iod_client::ROOT;
use std::fs;
use std::os::unix::fs::{FileExt, MetadataExt, symlink};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const RDWR: u32 = 0o2;
const CREAT: u32 = 0o100;
const TRUNC: u32 = 0o1000;
const SYNC: u32 = 0o4_010_000;

/// Returns the number of a file in the export.
fn number(rig: &Rig, name: &str) -> u64 {
    rig.path(name).metadata().unwrap().ino()
}

/// Returns the settings of the cache.
fn cache(config: &mut Config) -> &mut CacheConfig {
    config.cache.as_mut().unwrap()
}

/// Lets no unstored data leave the cache, of which 1 MiB is the bound.
fn full(config: &mut Config) {
    let settings = &mut cache(config).settings;
    (settings.dirty_bytes, settings.tasks) = (1 << 20, 0);
}

/// Returns a change of the size of a file.
fn size(size: u64) -> Change {
    let valid = Change::SIZE;
    Change {
        valid,
        size,
        ..Change::default()
    }
}

/// Checks that a connection takes up the session of another one with its locks, and that no other client gets
/// them meanwhile. The connection before is ended.
#[test]
fn locks_pass_to_the_new_connection_without_a_gap() {
    let rig = Rig::start();
    fs::write(rig.path("file"), "").unwrap();
    let mut own = rig.client();
    assert_eq!(own.resume(1), Ok(false));
    assert_eq!(own.resume(1), Err(Errno::INVAL));
    own.open(1, "file", RDWR).unwrap();
    assert_eq!(own.lock(1, 1), Ok(0));
    let is_ended = AtomicBool::new(false);
    let mut other = rig.client();
    assert_eq!(other.resume(2), Ok(false));
    other.open(1, "file", RDWR).unwrap();
    std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            while !is_ended.load(Ordering::Relaxed) {
                assert_eq!(other.lock(1, 1), Ok(1));
            }
            other
        });
        for _ in 0..50 {
            let mut next = rig.client();
            assert_eq!(next.resume(1), Ok(true));
            let of_ended = own.0.call(&Request::StatFs { fid: ROOT }, (), |_| ());
            assert!(of_ended.is_err());
            let number = number(&rig, "file");
            next.restore(1, number, RDWR, "file").unwrap();
            own = next;
        }
        assert_eq!(own.lock(1, 1), Ok(0));
        is_ended.store(true, Ordering::Relaxed);
        let mut other = other.join().unwrap();
        assert_eq!(own.lock(1, 2), Ok(0));
        assert_eq!(other.lock(1, 1), Ok(0));
    });
    // A connection that has ended has no key.
    drop(own);
    let until = Instant::now() + crate::rig::TIME;
    while rig.client().resume(1) == Ok(true) {
        assert!(Instant::now() < until);
    }
}

/// Sends a write whose reply waits for the store, and waits until the daemon has it.
fn write_unanswered(client: &mut Client, fid: u32, data: &[u8]) {
    let (offset, data) = (0, Data(data));
    let write = Request::Write { fid, offset, data };
    client.0.begin(&write, ()).unwrap();
    client.0.begin(&Request::StatFs { fid: ROOT }, ()).unwrap();
    let reply = client.0.next(|(), reply| reply.unwrap().code());
    assert_eq!(reply.unwrap(), 9);
}

/// Checks that a write that waits for room is left out once its client goes on over another connection: it would
/// undo what the client writes later.
#[test]
fn a_write_that_has_not_started_is_left_out() {
    let rig = Rig::cached(full);
    let mut old = rig.client();
    old.resume(1).unwrap();
    old.create(1, "", "big").unwrap();
    old.create(2, "", "file").unwrap();
    old.write(1, 0, &vec![1; 1 << 20]).unwrap();
    for _ in 0..4 {
        write_unanswered(&mut old, 2, &vec![b'o'; 1_000_000]);
    }
    // With more data in its requests, a connection waits for one of them, and for nothing from the client.
    let old = std::thread::spawn(move || {
        let (fid, offset, data) = (2, 0, &*vec![b'o'; 300_000]);
        let data = Data(data);
        let write = Request::Write { fid, offset, data };
        old.0.begin(&write, ()).unwrap();
        old.0.next(|(), _| ()).is_err()
    });
    std::thread::sleep(Duration::from_millis(300));
    let mut new = rig.client();
    let started = Instant::now();
    assert_eq!(new.resume(1), Ok(true));
    assert!(started.elapsed() < Duration::from_secs(10));
    assert!(old.join().unwrap());
    new.restore(1, number(&rig, "big"), RDWR, "big").unwrap();
    new.restore(2, number(&rig, "file"), RDWR, "file").unwrap();
    new.change(1, size(0)).unwrap();
    new.write(2, 0, b"new").unwrap();
    // Longer than a write waits before it looks for room again.
    std::thread::sleep(Duration::from_millis(1200));
    assert_eq!(new.read(2, 0, 100).unwrap(), b"new");
}

/// Checks that a session is taken up once a write that had started has ended.
#[test]
fn a_write_that_has_started_ends_first() {
    let rig = Rig::cached(|config| {
        full(config);
        config.store_timeout = Duration::from_millis(800);
    });
    let mut old = rig.client();
    old.resume(1).unwrap();
    old.create(1, "", "file").unwrap();
    old.open(2, "file", RDWR | SYNC).unwrap();
    let started = Instant::now();
    write_unanswered(&mut old, 2, b"data");
    while rig.daemon.cache().unwrap().unstored == 0 {
        assert!(started.elapsed() < Duration::from_millis(700));
    }
    let mut new = rig.client();
    let resumed = match new.resume(1) {
        // The write has started to wait for the store a moment later than this request.
        Err(Errno::IO) => new.resume(1),
        resumed => resumed,
    };
    resumed.unwrap();
    assert!(started.elapsed() > Duration::from_millis(700));
    new.open(1, "file", 0).unwrap();
    assert_eq!(new.read(1, 0, 10).unwrap(), b"data");
}

/// Checks that no write of a connection is carried out after its client goes on over another one, however many have
/// arrived.
#[test]
fn no_old_write_follows_a_new_one() {
    for rig in [Rig::start(), Rig::cached(|_| {})] {
        fs::write(rig.path("file"), "").unwrap();
        let number = number(&rig, "file");
        let mut client = rig.client();
        client.resume(1).unwrap();
        for round in 0..50_u8 {
            client.restore(1, number, RDWR, "file").unwrap();
            for _ in 0..1000 {
                let (fid, offset, data) = (1, 0, Data(b"old"));
                let write = Request::Write { fid, offset, data };
                client.0.begin(&write, ()).unwrap();
            }
            client.0.next(|(), _| ()).unwrap();
            let mut new = rig.client();
            assert_eq!(new.resume(1), Ok(true));
            new.restore(2, number, RDWR, "file").unwrap();
            let written = [round; 3];
            new.write(2, 0, &written).unwrap();
            for _ in 0..20 {
                assert_eq!(new.read(2, 0, 10).unwrap(), written);
            }
            client = new;
        }
    }
}

/// Checks that fids are restored by a daemon that was killed and started again, with data that is not stored.
#[test]
fn fids_are_restored_after_a_restart() {
    let rig = Rig::cached(|_| {});
    let mut client = rig.client();
    client.resume(1).unwrap();
    fs::create_dir_all(rig.path("d/e")).unwrap();
    client.create(1, "d/e", "file").unwrap();
    client.write(1, 0, b"not stored").unwrap();
    let number = number(&rig, "d/e/file");
    let rig = rig.restart(|config| cache(config).settings.tasks = 0);
    let mut client = rig.client();
    assert_eq!(client.resume(1), Ok(false));
    let flags = RDWR | CREAT | TRUNC | 0o200;
    client.restore(1, number, flags, "d/e/file").unwrap();
    client.restore(2, number, NOT_OPEN, "d/e/file").unwrap();
    assert_eq!(client.read(1, 0, 100).unwrap(), b"not stored");
    assert_eq!(client.attributes(2).unwrap().size, 10);
    client.write(1, 10, b" yet").unwrap();
    assert_eq!(client.attributes(2).unwrap().size, 14);
}

/// Checks that a fid is not restored for another file.
#[test]
fn a_fid_is_not_restored_for_another_file() {
    let rig = Rig::start();
    fs::write(rig.path("file"), "data").unwrap();
    fs::create_dir(rig.path("d")).unwrap();
    let (file, folder) = (number(&rig, "file"), number(&rig, "d"));
    let mut client = rig.client();
    rig.client().rename("file", "renamed").unwrap();
    let stale = Err(Errno::STALE);
    assert_eq!(client.restore(1, file, 0, "file"), stale);
    client.restore(1, file, 0, "renamed").unwrap();
    assert_eq!(client.read(1, 0, 10).unwrap(), b"data");
    fs::write(rig.path("file"), "other").unwrap();
    assert_eq!(client.restore(2, file, 0, "file"), stale);
    assert_eq!(client.restore(2, file, NOT_OPEN, "file"), stale);
    rig.client().unlink("renamed").unwrap();
    assert_eq!(client.restore(2, file, 0, "renamed"), stale);
    assert_eq!(client.restore(2, file, 0, "renamed/below"), stale);
    // A folder that is a link now.
    symlink("d", rig.path("link")).unwrap();
    assert_eq!(client.restore(2, folder, 0, "link"), stale);
    assert_eq!(client.restore(2, folder, 0, "link/below"), stale);
    client.restore(2, folder, 0, "d").unwrap();
    // What cannot be opened is not restored as open.
    let link = fs::symlink_metadata(rig.path("link")).unwrap().ino();
    assert_eq!(client.restore(3, link, 0, "link"), Err(Errno::LOOP));
    client.restore(3, link, NOT_OPEN, "link").unwrap();
    client.does(Request::ReadLink { fid: 3 }).unwrap();
    let rig = Rig::with(|config| config.read_only = true);
    fs::write(rig.path("file"), "data").unwrap();
    let file = number(&rig, "file");
    let mut client = rig.client();
    let refused = client.restore(1, file, RDWR | TRUNC, "file");
    assert_eq!(refused, Err(Errno::ROFS));
    client.restore(1, file, TRUNC, "file").unwrap();
    assert_eq!(client.read(1, 0, 10).unwrap(), b"data");
}

/// Checks that a fid is not restored for a later file with the same number, which was created at another time.
#[test]
fn a_fid_is_not_restored_for_a_file_with_a_number_that_was_used_before() {
    let rig = Rig::start();
    fs::write(rig.path("file"), "data").unwrap();
    let mut client = rig.client();
    client.walk(1, "file").unwrap();
    let attributes = client.attributes(1).unwrap();
    let (s, ns) = attributes.created();
    if (s, ns) == (0, 0) {
        eprintln!("skipped: the file system has no times of creation");
        return;
    }
    for (flags, created_ns, expected) in [
        (0, ns, Ok(())),
        (NOT_OPEN, ns, Ok(())),
        (0, ns ^ 1, Err(Errno::STALE)),
        (NOT_OPEN, ns ^ 1, Err(Errno::STALE)),
    ] {
        let restored = client.does(Request::Restore {
            fid: 0,
            newfid: 2,
            number: attributes.qid.path,
            created_s: s,
            created_ns,
            flags,
            path: b"file",
        });
        assert_eq!(restored, expected);
        if expected.is_ok() {
            client.clunk(2);
        }
    }
}

/// Checks that many fids are restored with many requests in flight, of files in folders of folders.
#[test]
fn many_fids_are_restored() {
    const FIDS: u32 = 2_000;
    let rig = Rig::start();
    let name = |at: u32| format!("a/b/{}/{at}", at % 10);
    for at in 0..10 {
        fs::create_dir_all(rig.path(format!("a/b/{at}"))).unwrap();
    }
    for at in 1..=FIDS {
        fs::write(rig.path(name(at)), "").unwrap();
    }
    let files: Vec<_> = (1..=FIDS)
        .map(|at| (at, number(&rig, &name(at)), name(at)))
        .collect();
    let mut client = rig.client();
    let started = Instant::now();
    for (newfid, number, path) in &files {
        let (fid, newfid, number, flags) = (ROOT, *newfid, *number, NOT_OPEN);
        let path = path.as_bytes();
        let restore = Request::Restore {
            fid,
            newfid,
            number,
            created_s: 0,
            created_ns: 0,
            flags,
            path,
        };
        client.0.begin(&restore, ()).unwrap();
        while client.0.in_flight() > 1000 {
            client.0.next(|(), reply| assert!(reply.is_ok())).unwrap();
        }
    }
    while client.0.in_flight() > 0 {
        client.0.next(|(), reply| assert!(reply.is_ok())).unwrap();
    }
    println!("{FIDS} fids in {:?}", started.elapsed());
    assert_eq!(
        client.attributes(FIDS).unwrap().qid.path,
        files.last().unwrap().1
    );
}

/// Checks what is safe at each level, with a cache and without.
#[test]
fn data_is_made_safe_at_three_levels() {
    let rig = Rig::cached(|config| cache(config).fsync = Level::Cached);
    let mut client = rig.client();
    client.create(1, "", "file").unwrap();
    let is_synced = || {
        let bytes = fs::read(rig.folder.0.join("cache/log")).unwrap();
        let mut unread = &*bytes;
        let mut records = std::iter::from_fn(|| take(&mut unread).unwrap());
        records.any(|record| matches!(record, Record::Synced { .. }))
    };
    client.write(1, 0, b"data").unwrap();
    client.commit(1, 0).unwrap();
    assert!(!is_synced());
    client.commit(1, 1).unwrap();
    assert!(is_synced());
    assert_eq!(fs::read(rig.path("file")).unwrap(), b"");
    client.commit(1, 2).unwrap();
    assert_eq!(fs::read(rig.path("file")).unwrap(), b"data");
    assert_eq!(client.commit(1, 3), Err(Errno::INVAL));
    assert_eq!(client.commit(ROOT, 2), Err(Errno::BADF));
    // A file that another program has removed.
    client.write(1, 4, b" more").unwrap();
    fs::remove_file(rig.path("file")).unwrap();
    client.commit(1, 0).unwrap();
    client.commit(1, 1).unwrap();
    for level in [2, 0, 2] {
        assert_eq!(client.commit(1, level), Err(Errno::STALE), "{level}");
    }
    assert_eq!(client.does(Request::Clunk { fid: 1 }), Err(Errno::STALE));
    let rig = Rig::cached(|config| cache(config).close = Level::Stored);
    let mut client = rig.client();
    client.create(1, "", "file").unwrap();
    client.write(1, 0, b"data").unwrap();
    client.commit(1, 1).unwrap();
    assert_eq!(fs::read(rig.path("file")).unwrap(), b"");
    client.commit(1, 0).unwrap();
    assert_eq!(fs::read(rig.path("file")).unwrap(), b"data");
    client.write(1, 0, b"more").unwrap();
    client.clunk(1);
    // A directory has no data in the cache.
    let rig_without = Rig::start();
    for rig in [rig, rig_without] {
        let mut client = rig.client();
        client.create(1, "", "new").unwrap();
        client.write(1, 0, b"data").unwrap();
        client.open(2, "", 0).unwrap();
        for level in 0..3 {
            client.commit(1, level).unwrap();
            client.commit(2, level).unwrap();
        }
        assert_eq!(fs::read(rig.path("new")).unwrap(), b"data");
        assert_eq!(client.commit(1, 3), Err(Errno::INVAL));
    }
}

/// Checks that the data of an ordinary file is read in one request, with a cache and without.
#[test]
fn small_files_are_read_in_one_request() {
    for rig in [Rig::start(), Rig::cached(|_| {})] {
        let data: Vec<u8> = (0..3 << 20).map(|at: u32| (at / 7) as u8).collect();
        fs::create_dir_all(rig.path("d/e")).unwrap();
        fs::write(rig.path("d/e/small"), "some data").unwrap();
        fs::write(rig.path("empty"), "").unwrap();
        fs::write(rig.path("large"), &data).unwrap();
        let sparse = fs::File::create(rig.path("sparse")).unwrap();
        sparse.write_all_at(b"end", 1000).unwrap();
        sparse.set_len(5 << 30).unwrap();
        symlink("d", rig.path("link")).unwrap();
        symlink("empty", rig.path("soft")).unwrap();
        let mut client = rig.client();
        let most = client.0.data_bytes() as usize + 24 - 44;
        for _ in 0..2 {
            let (size, read) = fetch(&mut client, u32::MAX, "d/e/small").unwrap();
            assert_eq!((size, &*read), (9, b"some data".as_slice()));
            let read = fetch(&mut client, 4, "d/e/small");
            assert_eq!(read, Ok((9, b"some".to_vec())));
            assert_eq!(fetch(&mut client, 9, "empty"), Ok((0, Vec::new())));
            let (size, read) = fetch(&mut client, u32::MAX, "large").unwrap();
            assert!(size == data.len() as u64 && read == data[..most]);
            let (size, read) = fetch(&mut client, 2000, "sparse").unwrap();
            assert_eq!((size, &read[1000..1003]), (5 << 30, b"end".as_slice()));
            assert!(read.len() == 2000 && read[..1000] == [0; 1000]);
        }
        for (path, errno) in [
            ("none", Errno::NOENT),
            ("d/none/x", Errno::NOENT),
            ("empty/x", Errno::NOTDIR),
            ("d", Errno::ISDIR),
            ("", Errno::ISDIR),
            ("soft", Errno::LOOP),
        ] {
            assert_eq!(fetch(&mut client, 9, path), Err(errno), "{path}");
        }
        fetch(&mut client, 9, "link/e/small").unwrap_err();
        let node = Request::MakeNode {
            fid: ROOT,
            name: b"pipe",
            mode: 0o010_644,
            major: 0,
            minor: 0,
            gid: 0,
        };
        client.does(node).unwrap();
        assert_eq!(fetch(&mut client, 9, "pipe"), Err(Errno::NXIO));
        // What another client has just written.
        let mut other = rig.client();
        other.create(1, "", "new").unwrap();
        other.write(1, 0, b"new data").unwrap();
        assert_eq!(fetch(&mut client, 9, "new"), Ok((8, b"new data".to_vec())));
        // A fid of the file itself will do.
        client.walk(1, "new").unwrap();
        let (fid, count, path) = (1, 9, b"".as_slice());
        let itself = client.call(Request::Fetch { fid, count, path }, |reply| {
            matches!(reply, Reply::Fetch { size: 8, .. })
        });
        assert_eq!(itself, Ok(true));
    }
}

/// Reads a file at a path from the root, and checks its attributes. Returns its size and the data.
fn fetch(client: &mut Client, count: u32, path: &str) -> Result<(u64, Vec<u8>), Errno> {
    let fid = ROOT;
    let request = Request::Fetch {
        fid,
        count,
        path: path.as_bytes(),
    };
    let (found, modified, size, data) = client.call(request, |reply| match reply {
        Reply::Fetch {
            qid,
            size,
            mtime_s,
            mtime_ns,
            data,
        } => (qid, (mtime_s, mtime_ns.into()), size, data.0.to_vec()),
        other => panic!("{other:?}"),
    })?;
    client.walk(900, path).unwrap();
    let real = client.attributes(900).unwrap();
    client.clunk(900);
    assert_eq!((found, size), (real.qid, real.size));
    assert_eq!(modified, (real.modified_s, real.modified_ns));
    Ok((size, data))
}
