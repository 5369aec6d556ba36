//! The files of a daemon by their paths: many requests at once, errors, and a daemon that is started again.

use crate::rig::Rig;
use isthmus_iod_client::{Answer, Attributes, Errno, RemoteFiles, Target};
use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

const CREATE: u32 = 0o101;
const READ: u32 = 0;

/// Connects to the daemon.
fn connect(rig: &Rig) -> Arc<RemoteFiles> {
    let target = Target {
        remote: rig.remote(),
        token: None,
        export: Vec::new(),
        timeout: Duration::from_secs(20),
    };
    RemoteFiles::open(target, |_| {}).unwrap()
}

/// Returns the function for the result of an operation, and where it arrives.
fn result<T: Send + 'static>() -> (Answer<T>, Receiver<Result<T, Errno>>) {
    let (sender, receiver) = channel();
    (
        Box::new(move |result| sender.send(result).unwrap()),
        receiver,
    )
}

/// Waits for the result of an operation.
fn wait<T: Send + 'static>(begin: impl FnOnce(Answer<T>)) -> Result<T, Errno> {
    let (answer, receiver) = result();
    begin(answer);
    receiver.recv_timeout(Duration::from_secs(60)).unwrap()
}

#[test]
fn what_follows_an_open_file_needs_no_wait_and_fails_as_it_does() {
    let rig = Rig::start();
    let files = connect(&rig);
    let fid = files.open_file(b"file", CREATE, 0o640);
    let data = (0..3 << 20).map(|byte: u32| byte as u8).collect::<Vec<_>>();
    let (written, is_written) = result();
    files.write(fid, 5, &data, written);
    assert_eq!(wait(|answer| files.commit(fid, 2, answer)), Ok(()));
    files.close(fid);
    assert_eq!(is_written.recv().unwrap(), Ok(()));
    assert!(fs::read(rig.path("file")).unwrap()[5..] == data);

    let fid = files.open_file(b"file", READ, 0);
    let read = |offset, count| wait(|answer| files.read(fid, offset, count, answer));
    assert!(read(5, data.len()).unwrap() == data);
    assert!(read(1 << 20, 10 << 20).unwrap() == data[(1 << 20) - 5..]);
    assert_eq!(read(10 << 20, 5).unwrap(), b"");
    assert_eq!(read(0, 0).unwrap(), b"");
    files.close(fid);

    symlink("file", rig.path("link")).unwrap();
    fs::create_dir(rig.path("folder")).unwrap();
    symlink(".", rig.path("folder/link")).unwrap();
    for (path, errno) in [
        ("none", Errno::NOENT),
        ("none/file", Errno::NOENT),
        ("file/file", Errno::NOTDIR),
        ("folder/link/file", Errno::LOOP),
        ("link", Errno::LOOP),
    ] {
        let fid = files.open_file(path.as_bytes(), READ, 0);
        let found = wait(|answer| files.read(fid, 0, 1, answer));
        assert_eq!(found, Err(errno), "{path}");
        files.close(fid);
    }
    files.end();
    assert_eq!(
        wait(|answer| files.attributes(b"file", answer)).err(),
        Some(Errno::IO)
    );
}

#[test]
fn paths_are_as_deep_as_the_store_has_them() {
    let rig = Rig::start();
    let files = connect(&rig);
    let mut path = String::new();
    for depth in 0..40 {
        path += if depth == 0 { "deep" } else { "/deep" };
        let made = wait(|answer| files.make_directory(path.as_bytes(), 0o755, answer));
        assert_eq!(made, Ok(()));
    }
    let fid = files.open_file(format!("{path}/file").as_bytes(), CREATE, 0o644);
    assert_eq!(wait(|answer| files.write(fid, 0, b"data", answer)), Ok(()));
    let entries = wait(|answer| files.list(path.as_bytes(), answer)).unwrap();
    let [(name, Attributes { size: 4, .. })] = &entries[..] else {
        panic!("{entries:?}");
    };
    assert_eq!(name, b"file");
    let (old, new) = (b"deep/deep".as_slice(), b"other".as_slice());
    assert_eq!(wait(|answer| files.rename(old, new, answer)), Ok(()));
    let fetched = path.replacen("deep/deep", "other", 1) + "/file";
    let fetched = wait(|answer| files.fetch(fetched.as_bytes(), 100, answer)).unwrap();
    assert_eq!((fetched.size, &*fetched.data), (4, b"data".as_slice()));
    // What cannot be found is not replaced by the last directory that was.
    let missing = format!(
        "{}/none/deep",
        "other/deep".to_owned() + &"/deep".repeat(20)
    );
    for path in ["none/deep", "other/none/deep", &missing] {
        let path = path.as_bytes();
        for made in [
            wait(|answer| files.make_directory(path, 0o755, answer)),
            wait(|answer| files.remove(path, true, answer)),
            wait(|answer| files.rename(b"other", path, answer)),
        ] {
            assert_eq!(made, Err(Errno::NOENT));
        }
        let fid = files.open_file(path, CREATE, 0o644);
        assert_eq!(
            wait(|answer| files.write(fid, 0, b"data", answer)),
            Err(Errno::NOENT)
        );
        files.close(fid);
    }
    assert_eq!(wait(|answer| files.list(b"", answer)).unwrap().len(), 2);
    assert_eq!(
        wait(|answer| files.list(b"other", answer)).unwrap().len(),
        1
    );
    let removed = wait(|answer| files.remove(b"other", true, answer));
    assert_eq!(removed, Err(Errno(39)), "it is not empty");
}

#[test]
fn a_large_directory_is_listed_and_more_requests_than_tags_wait() {
    const FILES: usize = 5_000;
    let rig = Rig::start();
    for number in 0..FILES {
        fs::write(rig.path(format!("a-name-of-some-length-{number}")), b"x").unwrap();
    }
    let files = connect(&rig);
    let entries = wait(|answer| files.list(b"", answer)).unwrap();
    assert_eq!(entries.len(), FILES);
    let (sender, receiver) = channel();
    for _ in 0..30_000 {
        let sender = sender.clone();
        let answer: Answer<_> = Box::new(move |found| sender.send(found).unwrap());
        // Three requests each.
        files.attributes(&entries[7].0, answer);
    }
    for _ in 0..30_000 {
        let found = receiver.recv_timeout(Duration::from_secs(60)).unwrap();
        assert_eq!(found.unwrap().size, 1);
    }
}

#[test]
fn reads_that_wait_for_the_store_are_at_most_as_many_as_the_daemon_takes() {
    const READS: usize = 500;
    let rig = Rig::cached(|_| {});
    let data = (0..READS << 10).map(|byte| byte as u8).collect::<Vec<_>>();
    fs::write(rig.path("file"), &data).unwrap();
    let files = connect(&rig);
    let fid = files.open_file(b"file", READ, 0);
    let reads = (0..READS).map(|number| {
        let (answer, receiver) = result();
        files.read(fid, (number << 10) as u64, 1 << 10, answer);
        receiver
    });
    let reads = reads.collect::<Vec<_>>().into_iter();
    let read = reads.map(|read| read.recv_timeout(Duration::from_secs(60)).unwrap().unwrap());
    assert!(read.collect::<Vec<_>>().concat() == data);
}

#[test]
fn files_are_open_still_once_the_daemon_is_started_again() {
    let mut rig = Rig::start();
    fs::create_dir(rig.path("folder")).unwrap();
    let files = connect(&rig);
    let fid = files.open_file(b"folder/file", CREATE, 0o644);
    for part in 0..5 {
        let data = [part; 1000];
        let offset = u64::from(part) * 1000;
        assert_eq!(
            wait(|answer| files.write(fid, offset, &data, answer)),
            Ok(())
        );
        if part == 2 {
            let renamed = wait(|answer| files.rename(b"folder", b"other", answer));
            assert_eq!(renamed, Ok(()));
        }
        rig = rig.restart(|_| {});
    }
    assert_eq!(wait(|answer| files.commit(fid, 2, answer)), Ok(()));
    files.close(fid);
    let data = fs::read(rig.path("other/file")).unwrap();
    let wanted = (0..5).flat_map(|part| [part; 1000]).collect::<Vec<u8>>();
    assert!(data == wanted);
    let entries = wait(|answer| files.list(b"", answer)).unwrap();
    assert_eq!(entries.len(), 1);
}

/// Reads a file at a path.
fn fetch(files: &RemoteFiles, path: &str) -> Result<Vec<u8>, Errno> {
    let fetched = wait(|answer| files.fetch(path.as_bytes(), 1 << 20, answer))?;
    assert_eq!(fetched.size, fetched.data.len() as u64);
    Ok(fetched.data)
}

#[test]
fn a_file_that_was_looked_up_lately_is_read_without_the_store_until_a_client_changes_it() {
    for fresh in [Duration::ZERO, Duration::from_secs(3600)] {
        let rig = Rig::cached(|config| config.cache.as_mut().unwrap().fresh = fresh);
        let files = connect(&rig);
        fs::create_dir(rig.path("folder")).unwrap();
        let of = |name| format!("folder/{name}");
        for name in ["a", "b", "c", "d"] {
            fs::write(rig.path(of(name)), b"first").unwrap();
            assert_eq!(fetch(&files, &of(name)).unwrap(), b"first");
        }
        // Another program changes the files.
        for name in ["a", "b", "c", "d"] {
            fs::write(rig.path(of(name)), b"second").unwrap();
        }
        let seen = if fresh.is_zero() { "second" } else { "first" };
        assert_eq!(fetch(&files, "folder/a").unwrap(), seen.as_bytes());
        // Clients of this daemon see what they have done.
        let fid = files.open_file(b"folder/a", 1, 0);
        assert_eq!(
            wait(|answer| files.write(fid, 0, b"third!", answer)),
            Ok(())
        );
        files.close(fid);
        assert_eq!(fetch(&files, "folder/a").unwrap(), b"third!");
        assert_eq!(
            wait(|answer| files.remove(b"folder/b", false, answer)),
            Ok(())
        );
        assert_eq!(fetch(&files, "folder/b"), Err(Errno::NOENT));
        let (old, new) = (b"folder".as_slice(), b"other".as_slice());
        assert_eq!(wait(|answer| files.rename(old, new, answer)), Ok(()));
        assert_eq!(fetch(&files, "folder/c"), Err(Errno::NOENT));
        assert_eq!(fetch(&files, "other/c").unwrap(), b"second");
        let fid = files.open_file(b"other/c", 0o1001, 0);
        files.close(fid);
        assert_eq!(fetch(&files, "other/c").unwrap(), b"");
    }
}

#[test]
fn prefetched_files_are_read_from_the_cache() {
    const FILES: usize = 300;
    let rig = Rig::cached(|config| {
        config.cache.as_mut().unwrap().fresh = Duration::from_secs(3600);
    });
    let data = (0..5 << 20).map(|byte: u32| byte as u8).collect::<Vec<_>>();
    fs::write(rig.path("large"), &data).unwrap();
    fs::create_dir(rig.path("small")).unwrap();
    for number in 0..FILES {
        fs::write(rig.path(format!("small/{number}")), number.to_string()).unwrap();
    }
    let files = connect(&rig);
    let prefetch = |path: &str| {
        let (answer, receiver) = result();
        files.prefetch(path.as_bytes(), answer);
        receiver
    };
    let started = (0..FILES).map(|number| prefetch(&format!("small/{number}")));
    for receiver in started
        .collect::<Vec<_>>()
        .into_iter()
        .chain([prefetch("large")])
    {
        assert_eq!(receiver.recv().unwrap(), Ok(()));
    }
    for (path, errno) in [
        ("none", Errno::NOENT),
        ("small", Errno::ISDIR),
        ("a/../b", Errno::INVAL),
    ] {
        assert_eq!(prefetch(path).recv().unwrap(), Err(errno));
    }
    // The store is not asked again.
    fs::remove_dir_all(rig.path("small")).unwrap();
    fs::remove_file(rig.path("large")).unwrap();
    for number in 0..FILES {
        let read = fetch(&files, &format!("small/{number}")).unwrap();
        assert_eq!(read, number.to_string().as_bytes());
    }
    let start = wait(|answer| files.fetch(b"large", 1 << 20, answer)).unwrap();
    assert_eq!(start.size, 5 << 20);
    assert!(start.data == data[..start.data.len()]);
    assert!(start.data.len() > 1_000_000);

    let rig = Rig::start();
    let files = connect(&rig);
    let prefetched = wait(|answer| files.prefetch(b"file", answer));
    assert_eq!(prefetched, Err(Errno::OPNOTSUPP));
}

#[test]
fn files_of_a_directory_that_are_read_one_after_another_are_read_ahead() {
    const FILES: usize = 60;
    let rig = Rig::cached(|config| {
        config.cache.as_mut().unwrap().fresh = Duration::from_secs(3600);
    });
    let path = |number: usize| format!("folder/{number:03}");
    fs::create_dir(rig.path("folder")).unwrap();
    for number in 0..FILES {
        fs::write(rig.path(path(number)), number.to_string()).unwrap();
    }
    let files = connect(&rig);
    let cached = || rig.daemon.cache().unwrap().files;
    for number in 0..20 {
        // The directory is listed after some reads, on another thread.
        if number > 5 {
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(
            fetch(&files, &path(number)).unwrap(),
            number.to_string().as_bytes()
        );
    }
    let end = Instant::now() + Duration::from_secs(20);
    while cached() < FILES && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(cached(), FILES);
    fs::remove_dir_all(rig.path("folder")).unwrap();
    for number in 20..FILES {
        assert_eq!(
            fetch(&files, &path(number)).unwrap(),
            number.to_string().as_bytes()
        );
    }
}

/// A client that has connected again, with requests that wait because there are many that take long: each is carried
/// out on the file that it names.
#[test]
fn a_fid_is_used_again_only_once_the_daemon_has_forgotten_it() {
    let mut rig = Rig::cached(|_| {});
    for name in ["one", "two"] {
        fs::create_dir(rig.path(name)).unwrap();
        fs::write(rig.path(name).join("file"), name).unwrap();
    }
    let sparse = |number: usize| format!("sparse-{number}");
    for number in 0..70 {
        let file = fs::File::create(rig.path(sparse(number))).unwrap();
        file.set_len(8 << 20).unwrap();
    }
    let files = connect(&rig);
    rig = rig.restart(|_| {});
    wait(|answer| files.attributes(b"one", answer)).unwrap();
    let mut slow = Vec::new();
    for number in 0..70 {
        let (answer, receiver) = result();
        files.prefetch(sparse(number).as_bytes(), answer);
        slow.push(receiver);
    }
    // These wait.
    let (answer, attributes) = result();
    files.attributes(b"one", answer);
    let (answer, removed) = result();
    files.remove(b"two/file", false, answer);
    let fid = files.open_file(b"two/new", CREATE, 0o644);
    let (answer, written) = result();
    files.write(fid, 0, b"data", answer);
    files.close(fid);
    assert!(attributes.recv().unwrap().is_ok());
    assert_eq!(removed.recv().unwrap(), Ok(()));
    assert_eq!(written.recv().unwrap(), Ok(()));
    for receiver in slow {
        assert_eq!(receiver.recv().unwrap(), Ok(()));
    }
    assert_eq!(fs::read(rig.path("one/file")).unwrap(), b"one");
    assert!(!rig.path("two/file").exists() && rig.path("two/new").exists());
}

#[test]
fn an_open_file_is_not_brought_back_as_another_one() {
    let mut rig = Rig::start();
    let files = connect(&rig);
    let fid = files.open_file(b"file", CREATE, 0o644);
    assert_eq!(wait(|answer| files.write(fid, 0, b"data", answer)), Ok(()));
    let before = fs::metadata(rig.path("file")).unwrap().created();
    if before.is_err() {
        eprintln!("skipped: the file system has no times of creation");
        return;
    }
    drop(rig.daemon);
    // Its number may be used again.
    fs::remove_file(rig.folder.0.join("files/file")).unwrap();
    fs::write(rig.folder.0.join("files/file"), b"other").unwrap();
    let config = Rig::config(&rig.folder);
    rig.daemon = isthmus_iod::Daemon::start(config).unwrap();
    let written = wait(|answer| files.write(fid, 0, b"OLD", answer));
    assert_eq!(written, Err(Errno::STALE));
    assert_eq!(fs::read(rig.path("file")).unwrap(), b"other");
}

#[test]
fn prefetching_a_sparse_file_leaves_room_for_others() {
    let rig = Rig::cached(|config| config.cache.as_mut().unwrap().settings.bytes = 64 << 20);
    let file = fs::File::create(rig.path("sparse")).unwrap();
    file.set_len(1 << 42).unwrap();
    let files = connect(&rig);
    assert_eq!(wait(|answer| files.prefetch(b"sparse", answer)), Ok(()));
    assert!(rig.daemon.cache().unwrap().bytes <= 32 << 20);
}
