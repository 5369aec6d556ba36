//! Data between clients and the store: what is safe where, whatever fails.

use crate::rig::{Client, Folder, Rig};
use isthmus_forward::Buffer;
use isthmus_forward::Errno;
use isthmus_forward::cache::log::{Record, take};
use isthmus_forward::message::{Attributes, Change, Request};
use isthmus_iod::{Config, Daemon, Level, Logs};
use isthmus_iod_client::ROOT;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::time::{Duration, Instant};

/// Flags of Linux for opening a file.
const RDWR: u32 = 0o2;
const TRUNC: u32 = 0o1000;
const APPEND: u32 = 0o2000;
const SYNC: u32 = 0o4_010_000;

/// Returns the number of bytes that are not stored.
fn unstored(rig: &Rig) -> u64 {
    rig.daemon.cache().unwrap().unstored
}

/// Waits until everything is stored.
fn wait_until_stored(rig: &Rig) {
    let until = Instant::now() + Duration::from_secs(20);
    while unstored(rig) > 0 {
        assert!(Instant::now() < until, "{:?}", rig.daemon.cache());
        std::thread::sleep(Duration::from_millis(2));
    }
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

/// Returns a change of the time of the last change of a file.
fn modified(modified_s: u64) -> Change {
    let valid = Change::MODIFIED | Change::MODIFIED_TO;
    Change {
        valid,
        modified_s,
        ..Change::default()
    }
}

/// Changes the settings of the cache.
fn cache(config: &mut Config) -> &mut isthmus_iod::CacheConfig {
    config.cache.as_mut().unwrap()
}

/// Checks that data is read as it was written, and has its size, before the store has any of it; that fsync
/// stores it with the time of the last change.
#[test]
fn data_is_written_to_the_store_by_fsync() {
    let rig = Rig::cached(|_| {});
    let mut client = rig.client();
    client.create(1, "", "file").unwrap();
    client.write(1, 3, b"data").unwrap();
    assert_eq!(fs::read(rig.path("file")).unwrap(), b"");
    assert_eq!(client.read(1, 0, 100).unwrap(), b"\0\0\0data");
    assert_eq!(client.attributes(1).unwrap().size, 7);
    let mut other = rig.client();
    other.open(2, "file", 0).unwrap();
    assert_eq!(other.read(2, 0, 100).unwrap(), b"\0\0\0data");
    assert_eq!(other.write(2, 0, b"x"), Err(Errno::BADF));
    assert_eq!(unstored(&rig), 4);
    let written = client.attributes(1).unwrap();
    client.fsync(1).unwrap();
    assert_eq!(unstored(&rig), 0);
    assert_eq!(fs::read(rig.path("file")).unwrap(), b"\0\0\0data");
    let real = rig.path("file").metadata().unwrap();
    assert_eq!(real.mtime() as u64, written.modified_s);
    assert_eq!(real.mtime_nsec() as u64, written.modified_ns);
    // Once more, with nothing to do.
    client.fsync(1).unwrap();
}

/// Checks that a client which removes a file while it is stored, and has it open, gets no error.
#[test]
fn a_file_that_is_removed_while_it_is_stored_is_no_error() {
    let rig = Rig::cached(|_| {});
    let mut client = rig.client();
    for round in 0..100 {
        client.create(1, "", "file").unwrap();
        client.write(1, 0, b"first").unwrap();
        client.clunk(1);
        client.open(1, "file", RDWR).unwrap();
        client.unlink("file").unwrap();
        client.write(1, 0, b"second").unwrap();
        assert_eq!(client.commit(1, 0), Ok(()), "{round}");
        client.clunk(1);
    }
}

/// Checks that a write changes the time of the last change of the attributes before it is stored.
#[test]
fn a_write_changes_both_times() {
    let rig = Rig::cached(|_| {});
    let mut client = rig.client();
    client.create(1, "", "file").unwrap();
    let created = client.attributes(1).unwrap();
    std::thread::sleep(Duration::from_millis(20));
    client.write(1, 0, b"data").unwrap();
    let written = client.attributes(1).unwrap();
    let times = |of: &Attributes| (of.changed_s, of.changed_ns);
    assert!(times(&written) > times(&created));
    assert_eq!(times(&written), (written.modified_s, written.modified_ns));
}

/// Checks that data which is written after a file has lost the name by which it was opened gets to the store, by
/// this daemon and by the next one.
#[test]
fn data_of_a_file_is_stored_by_its_other_name() {
    for is_killed in [false, true] {
        let mut rig = Rig::cached(|_| {});
        let mut client = rig.client();
        client.create(1, "", "file").unwrap();
        client.walk(2, "file").unwrap();
        let (directory, fid, name) = (ROOT, 2, b"other".as_slice());
        let link = Request::Link {
            directory,
            fid,
            name,
        };
        client.does(link).unwrap();
        client.write(1, 0, b"first").unwrap();
        client.unlink("file").unwrap();
        client.write(1, 0, b"again").unwrap();
        client.rename("other", "third").unwrap();
        if is_killed {
            rig = rig.restart(|_| {});
        } else {
            client.clunk(1);
        }
        let until = Instant::now() + Duration::from_secs(20);
        while fs::read(rig.path("third")).unwrap() != b"again" {
            assert!(Instant::now() < until, "{:?}", rig.daemon.cache());
            std::thread::sleep(Duration::from_millis(2));
        }
        wait_until_stored(&rig);
    }
}

/// Checks that data is stored although the name that is left was made by another program, and although the
/// daemon is killed.
#[test]
fn data_of_a_file_without_a_known_name_is_stored() {
    for is_killed in [false, true] {
        let mut rig = Rig::cached(|_| {});
        let mut client = rig.client();
        client.create(1, "", "file").unwrap();
        client.write(1, 0, b"first").unwrap();
        fs::hard_link(rig.path("file"), rig.path("other")).unwrap();
        client.unlink("file").unwrap();
        client.write(1, 0, b"again").unwrap();
        assert_eq!(client.read(1, 0, 10).unwrap(), b"again");
        if is_killed {
            rig = rig.restart(|_| {});
        } else {
            client.clunk(1);
            let mut other = rig.client();
            other.open(1, "other", RDWR).unwrap();
            other.write(1, 0, b"A").unwrap();
            assert_eq!(unstored(&rig), 1);
            other.write(1, 0, b"a").unwrap();
            other.clunk(1);
            // Of a file in the cache, names are removed that the cache does not know.
            wait_until_stored(&rig);
            for name in ["third", "fourth"] {
                fs::hard_link(rig.path("other"), rig.path(name)).unwrap();
            }
            client.unlink("third").unwrap();
            client.unlink("other").unwrap();
            client.rename("fourth", "other").unwrap();
        }
        wait_until_stored(&rig);
        assert_eq!(fs::read(rig.path("other")).unwrap(), b"again");
    }
}

/// Checks that a file that is closed is stored soon, and one that is open after its age.
#[test]
fn data_is_stored_after_a_file_is_closed_or_is_old() {
    let rig = Rig::cached(|config| cache(config).settings.dirty_age = Duration::from_millis(50));
    let mut client = rig.client();
    client.create(1, "", "open").unwrap();
    client.write(1, 0, b"old").unwrap();
    wait_until_stored(&rig);
    assert_eq!(fs::read(rig.path("open")).unwrap(), b"old");
    let rig = rig.restart(|_| {});
    let mut client = rig.client();
    client.create(1, "", "closed").unwrap();
    client.write(1, 0, b"data").unwrap();
    client.clunk(1);
    wait_until_stored(&rig);
    assert_eq!(fs::read(rig.path("closed")).unwrap(), b"data");
    // A client that leaves closes its files.
    client.create(1, "", "left").unwrap();
    client.write(1, 0, b"data").unwrap();
    drop(client);
    wait_until_stored(&rig);
}

/// Checks what is stored of files that were renamed, removed, cut and had their times set before the daemon
/// was killed.
#[test]
fn a_daemon_that_was_killed_loses_nothing() {
    let rig = Rig::cached(|_| {});
    let mut client = rig.client();
    let names = [
        "kept", "renamed", "moved", "removed", "cut", "dated", "replaced", "new",
    ];
    for (name, fid) in names.into_iter().zip(1..) {
        client.create(fid, "", name).unwrap();
        client
            .write(fid, 0, format!("data of {name}").as_bytes())
            .unwrap();
    }
    client.rename("renamed", "other").unwrap();
    let (fid, mode, gid) = (ROOT, 0o755, 0);
    let name = b"d".as_slice();
    client
        .does(Request::MakeDirectory {
            fid,
            name,
            mode,
            gid,
        })
        .unwrap();
    client.rename("moved", "d/moved").unwrap_err();
    client.walk(50, "d").unwrap();
    let (from, to) = (ROOT, 50);
    let (old, new) = (b"moved".as_slice(), b"moved".as_slice());
    client
        .does(Request::RenameAt { from, old, to, new })
        .unwrap();
    client.rename("d", "e").unwrap();
    client.unlink("removed").unwrap();
    client.change(5, size(4)).unwrap();
    client.change(6, modified(1_000_000)).unwrap();
    client.rename("new", "replaced").unwrap();
    // The removed and the replaced file are still there for who has them open.
    assert_eq!(client.read(4, 0, 100).unwrap(), b"data of removed");
    assert_eq!(client.read(7, 0, 100).unwrap(), b"data of replaced");
    let rig = rig.restart(|_| {});
    wait_until_stored(&rig);
    let read = |name: &str| String::from_utf8(fs::read(rig.path(name)).unwrap()).unwrap();
    assert_eq!(read("kept"), "data of kept");
    assert_eq!(read("other"), "data of renamed");
    assert_eq!(read("e/moved"), "data of moved");
    assert_eq!(read("cut"), "data");
    assert_eq!(read("dated"), "data of dated");
    assert_eq!(read("replaced"), "data of new");
    assert_eq!(rig.path("dated").metadata().unwrap().mtime(), 1_000_000);
    assert!(!rig.path("removed").exists() && !rig.path("new").exists());
    assert_eq!(rig.daemon.cache().unwrap().unstored_files, 0);
}

/// Checks that data of a file that somebody else has removed is kept, and that who asks gets the error.
#[test]
fn data_of_a_file_that_is_gone_is_kept() {
    let rig = Rig::cached(|_| {});
    let mut client = rig.client();
    client.create(1, "", "file").unwrap();
    client.write(1, 0, b"data").unwrap();
    fs::remove_file(rig.path("file")).unwrap();
    fs::write(rig.path("file"), "other").unwrap();
    assert_eq!(client.fsync(1), Err(Errno::STALE));
    assert_eq!(client.read(1, 0, 10).unwrap(), b"data");
    assert_eq!(client.does(Request::Clunk { fid: 1 }), Err(Errno::STALE));
    let status = rig.daemon.cache().unwrap();
    assert_eq!((status.unstored, status.failed_files), (4, 1));
    client.open(1, "file", 0).unwrap();
    assert_eq!(client.read(1, 0, 10).unwrap(), b"other");
    let rig = rig.restart(|_| {});
    assert_eq!(unstored(&rig), 4);
    assert_eq!(fs::read(rig.path("file")).unwrap(), b"other");
    let left = rig.daemon.stop().unwrap();
    assert_eq!((left.unstored, left.unstored_files), (4, 1));
}

/// Checks that writers at the bound wait for the store, that a store without progress is an error for them,
/// and that what is in the cache is read meanwhile.
#[test]
fn writers_wait_at_the_bound() {
    let change = |config: &mut Config| {
        cache(config).settings.dirty_bytes = 1 << 20;
        config.store_timeout = Duration::from_millis(300);
    };
    let rig = Rig::cached(change);
    let mut client = rig.client();
    client.create(1, "", "file").unwrap();
    let data: Vec<u8> = (0..10 << 20).map(|at: u32| (at / 3) as u8).collect();
    for (piece, number) in data.chunks(1 << 19).zip(0..) {
        client.write(1, number << 19, piece).unwrap();
        assert!(unstored(&rig) <= 1 << 20);
    }
    client.fsync(1).unwrap();
    assert_eq!(fs::read(rig.path("file")).unwrap(), data);
    // A store that takes nothing.
    client.create(2, "", "gone").unwrap();
    fs::remove_file(rig.path("gone")).unwrap();
    client.write(2, 0, &data[..1 << 20]).unwrap();
    let started = Instant::now();
    assert_eq!(client.write(2, 1 << 20, b"more"), Err(Errno::IO));
    assert!(started.elapsed() >= Duration::from_millis(250));
    assert_eq!(client.read(2, 0, 16).unwrap(), &data[..16]);
    assert_eq!(unstored(&rig), 1 << 20);
    // Who removes the file has no more use for the data.
    assert_eq!(client.attributes(2).unwrap().links, 0);
}

/// Checks where data is when a file is closed or synced, as the site wants it.
#[test]
fn a_site_chooses_where_data_is_safe() {
    let rig = Rig::cached(|config| cache(config).close = Level::Stored);
    let mut client = rig.client();
    client.create(1, "", "closed").unwrap();
    client.write(1, 0, b"data").unwrap();
    client.clunk(1);
    assert_eq!(fs::read(rig.path("closed")).unwrap(), b"data");
    client.open(1, "closed", RDWR | SYNC).unwrap();
    client.write(1, 0, b"each").unwrap();
    assert_eq!(fs::read(rig.path("closed")).unwrap(), b"each");
    let rig = rig.restart(|config| cache(config).fsync = Level::Cached);
    let mut client = rig.client();
    client.create(1, "", "synced").unwrap();
    client.write(1, 0, b"data").unwrap();
    client.fsync(1).unwrap();
    assert_eq!(fs::read(rig.path("synced")).unwrap(), b"");
    assert_eq!(unstored(&rig), 4);
}

/// Checks that a file that somebody else has changed is read again when it is opened, and that bytes which a
/// client has written are not lost with it.
#[test]
fn changes_in_the_store_are_seen_at_the_next_open() {
    let rig = Rig::cached(|_| {});
    fs::write(rig.path("file"), "0123456789").unwrap();
    let mut client = rig.client();
    client.open(1, "file", RDWR).unwrap();
    assert_eq!(client.read(1, 0, 100).unwrap(), b"0123456789");
    fs::write(rig.path("file"), "abcdefghijkl").unwrap();
    assert_eq!(client.read(1, 0, 100).unwrap(), b"0123456789");
    client.open(2, "file", 0).unwrap();
    assert_eq!(client.read(2, 0, 100).unwrap(), b"abcdefghijkl");
    assert_eq!(client.read(1, 0, 100).unwrap(), b"abcdefghijkl");
    client.write(1, 2, b"XY").unwrap();
    fs::write(rig.path("file"), "mnopqrstuvwxyz").unwrap();
    client.fsync(1).unwrap();
    assert_eq!(fs::read(rig.path("file")).unwrap(), b"mnXYqrstuvwxyz");
    client.open(3, "file", 0).unwrap();
    assert_eq!(client.read(3, 0, 100).unwrap(), b"mnXYqrstuvwxyz");
}

/// Checks flags for opening a file that is in the cache, and files without permission to write.
#[test]
fn files_are_opened_with_flags() {
    let rig = Rig::cached(|_| {});
    let mut client = rig.client();
    client.create(1, "", "file").unwrap();
    client.write(1, 0, b"0123456789").unwrap();
    client.open(2, "file", RDWR | APPEND).unwrap();
    client.write(2, 0, b"end").unwrap();
    assert_eq!(client.read(1, 0, 100).unwrap(), b"0123456789end");
    client.open(3, "file", RDWR | TRUNC).unwrap();
    assert_eq!(client.read(1, 0, 100).unwrap(), b"");
    client.write(1, 2, b"x").unwrap();
    assert_eq!(client.read(3, 0, 100).unwrap(), b"\0\0x");
    let valid = Change::MODE;
    let mode = 0o400;
    client
        .change(
            1,
            Change {
                valid,
                mode,
                ..Change::default()
            },
        )
        .unwrap();
    let rig = rig.restart(|_| {});
    wait_until_stored(&rig);
    assert_eq!(fs::read(rig.path("file")).unwrap(), b"\0\0x");
    let permissions = rig.path("file").metadata().unwrap().permissions();
    assert_eq!(permissions.mode() & 0o777, 0o400);
    let mut client = rig.client();
    client.open(1, "file", 0).unwrap();
    let link = |client: &mut Client, name: &[u8]| {
        let (directory, fid) = (ROOT, 1);
        client.does(Request::Link {
            directory,
            fid,
            name,
        })
    };
    link(&mut client, b"second").unwrap();
    // One name of two goes, while there is unstored data.
    client
        .change(
            1,
            Change {
                valid,
                mode: 0o600,
                ..Change::default()
            },
        )
        .unwrap();
    client.open(2, "second", RDWR).unwrap();
    client.write(2, 0, b"both").unwrap();
    client.unlink("file").unwrap();
    assert_eq!(fs::read(rig.path("second")).unwrap(), b"both");
    client.write(2, 4, b" names").unwrap();
    client.fsync(2).unwrap();
    assert_eq!(fs::read(rig.path("second")).unwrap(), b"both names");
}

/// Checks that the cache stays within its size, and that what was dropped is read again from the store.
#[test]
fn stored_data_makes_room() {
    let rig = Rig::cached(|config| {
        cache(config).settings.bytes = 4 << 20;
        cache(config).settings.dirty_bytes = 2 << 20;
    });
    let data: Vec<u8> = (0..6 << 20).map(|at: u32| (at / 5) as u8).collect();
    for name in ["one", "two", "three"] {
        fs::write(rig.path(name), &data).unwrap();
    }
    let mut client = rig.client();
    for round in 0..2 {
        for (name, fid) in ["one", "two", "three"].into_iter().zip(10 * round + 1..) {
            client.open(fid, name, 0).unwrap();
            let mut read = Vec::new();
            while read.len() < data.len() {
                read.extend(client.read(fid, read.len() as u64, 300_000).unwrap());
            }
            assert!(read == data, "{name}");
            assert!(
                rig.daemon.cache().unwrap().bytes <= 6 << 20,
                "{:?}",
                rig.daemon.cache()
            );
        }
    }
    let blocks: u64 = fs::read_dir(rig.folder.0.join("cache/data"))
        .unwrap()
        .map(|entry| entry.unwrap().metadata().unwrap().blocks() * 512)
        .sum();
    assert!(blocks <= 7 << 20, "{blocks}");
}

/// Checks that a folder that is no cache, is in use, or has data of something else is refused and left alone.
#[test]
fn a_folder_that_does_not_fit_is_refused() {
    let refused = |config: Config| match Daemon::start(config) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("it starts"),
    };
    let rig = Rig::cached(|_| {});
    let mut client = rig.client();
    client.create(1, "", "file").unwrap();
    client.write(1, 0, b"data").unwrap();
    let other = Folder::new();
    fs::create_dir(other.0.join("files")).unwrap();
    let config = |change: &dyn Fn(&mut Config)| {
        let mut config = Rig::config(&other);
        Rig::add_cache(&mut config, &rig.folder);
        change(&mut config);
        config
    };
    assert!(refused(config(&|_| {})).ends_with(
        "a daemon that runs uses it: give another folder, or ask that daemon by its address"
    ));
    let Rig { daemon, folder } = rig;
    drop(daemon);
    let files = folder.0.join("files");
    let of_another = |mut config: Config| {
        Rig::add_cache(&mut config, &folder);
        refused(config)
    };
    let text = of_another(Rig::config(&other));
    let wanted = format!("start with --export {}", files.display());
    assert!(
        text.contains("\"file\"") && text.ends_with(&wanted),
        "{text}"
    );
    let log = folder.0.join("cache/log");
    let bytes = fs::read(&log).unwrap();
    let mut damaged = bytes.clone();
    let middle = damaged.len() - 60;
    damaged[middle] ^= 1;
    fs::write(&log, &damaged).unwrap();
    let text = of_another(Rig::config(&folder));
    assert!(text.contains("damaged record, at byte"), "{text}");
    assert_eq!(fs::read(&log).unwrap(), damaged);
    fs::write(&log, &bytes).unwrap();
    let data = folder.0.join("cache/data");
    let name = fs::read_dir(&data).unwrap().next().unwrap().unwrap().path();
    let moved = folder.0.join("moved");
    fs::rename(&name, &moved).unwrap();
    let text = of_another(Rig::config(&folder));
    assert!(text.contains("is missing or cut off"), "{text}");
    fs::rename(&moved, &name).unwrap();
    for (place, wanted) in [
        (files.join("cache"), "lies in the export"),
        (folder.0.clone(), "contains the export"),
        (folder.0.join("own"), "which is no part of a cache"),
        (folder.0.join("open"), "others can change it"),
        (folder.0.join("no/cache"), "No such file"),
    ] {
        let mut config = Rig::config(&folder);
        Rig::add_cache(&mut config, &folder);
        cache(&mut config).folder = place.clone();
        if place.ends_with("own") {
            fs::create_dir(&place).unwrap();
            fs::set_permissions(&place, fs::Permissions::from_mode(0o755)).unwrap();
            fs::write(place.join("thesis.tex"), "").unwrap();
        } else if place.ends_with("open") {
            fs::create_dir(&place).unwrap();
            fs::set_permissions(&place, fs::Permissions::from_mode(0o777)).unwrap();
        }
        let text = refused(config);
        assert!(text.contains(wanted), "{text}");
    }
    assert!(!files.join("cache").exists());
    // With everything in its place, nothing is lost.
    let mut config = Rig::config(&folder);
    Rig::add_cache(&mut config, &folder);
    assert_eq!(Daemon::start(config).unwrap().stop().unwrap().unstored, 0);
    assert_eq!(fs::read(files.join("file")).unwrap(), b"data");
}

/// Checks that a failure of the host leaves what was synced in the cache, under the name that the file has,
/// and that the audit log says what is lost.
#[test]
fn a_host_that_fails_leaves_what_was_synced() {
    let mut rig = Rig::cached(|config| cache(config).fsync = Level::Cached);
    let mut client = rig.client();
    client.create(1, "", "file").unwrap();
    client.write(1, 0, b"synced").unwrap();
    client.fsync(1).unwrap();
    client.rename("file", "renamed").unwrap();
    client.write(1, 6, b" lost").unwrap();
    client.create(2, "", "other").unwrap();
    client.write(2, 0, b"lost as well").unwrap();
    client.create(3, "", "short").unwrap();
    client.write(3, 0, b"0123456789").unwrap();
    client.fsync(3).unwrap();
    // A kill in between changes nothing.
    rig = rig.restart(|config| cache(config).settings.tasks = 0);
    let Rig { daemon, folder } = rig;
    drop(daemon);
    // Another start of the host.
    let log = folder.0.join("cache/log");
    let bytes = fs::read(&log).unwrap();
    let (mut unread, mut changed) = (&*bytes, Buffer::new());
    while let Some(record) = take(&mut unread).unwrap() {
        match record {
            Record::Begin { version, .. } => {
                let boot = b"before".as_slice();
                Record::Begin { version, boot }.append(&mut changed);
            }
            other => other.append(&mut changed),
        }
    }
    fs::write(&log, changed.bytes()).unwrap();
    // Less of a file than the log says: the rest is stored.
    let data = fs::read_dir(folder.0.join("cache/data")).unwrap();
    let mut paths = data.map(|each| each.unwrap().path());
    let short = paths.find(|path| fs::read(path).unwrap() == b"0123456789");
    let short = fs::OpenOptions::new().write(true).open(short.unwrap());
    short.unwrap().set_len(4).unwrap();
    let mut config = Rig::config(&folder);
    Rig::add_cache(&mut config, &folder);
    config.server.log = Logs::File(folder.0.join("audit"));
    let daemon = Daemon::start(config).unwrap();
    assert_eq!(daemon.stop().unwrap().unstored, 0);
    assert_eq!(fs::read(folder.0.join("files/renamed")).unwrap(), b"synced");
    assert_eq!(fs::read(folder.0.join("files/other")).unwrap(), b"");
    let said = fs::read_to_string(folder.0.join("audit")).unwrap();
    assert!(
        said.contains("recover \"renamed\" | 5 bytes were lost"),
        "{said}"
    );
    assert!(
        said.contains("recover \"other\" | 12 bytes were lost"),
        "{said}"
    );
    assert_eq!(fs::read(folder.0.join("files/short")).unwrap(), b"0123");
    assert!(
        said.contains("recover \"short\" | 6 bytes were lost"),
        "{said}"
    );
}

/// Checks files without a name, and with one name less: they are read, written, cut and looked at.
#[test]
fn open_files_outlive_their_names() {
    let rig = Rig::cached(|_| {});
    let mut client = rig.client();
    client.create(1, "", "file").unwrap();
    client.write(1, 0, b"0123456789").unwrap();
    client.unlink("file").unwrap();
    assert_eq!(client.attributes(1).unwrap().size, 10);
    client.change(1, size(4)).unwrap();
    assert_eq!(client.read(1, 0, 100).unwrap(), b"0123");
    client.write(1, 6, b"x").unwrap();
    assert_eq!(client.read(1, 0, 100).unwrap(), b"0123\0\0x");
    client.fsync(1).unwrap();
    assert_eq!(client.attributes(1).unwrap().size, 7);
    client.clunk(1);
    // Of two names, the one by which it was opened goes.
    fs::write(rig.path("one"), "one").unwrap();
    fs::hard_link(rig.path("one"), rig.path("two")).unwrap();
    client.open(2, "one", RDWR).unwrap();
    client.unlink("one").unwrap();
    client.write(2, 0, b"two").unwrap();
    client.fsync(2).unwrap();
    assert_eq!(fs::read(rig.path("two")).unwrap(), b"two");
    // The daemon does not know the other name: it stores each write at once.
    client.write(2, 0, b"TWO").unwrap();
    assert_eq!(fs::read(rig.path("two")).unwrap(), b"TWO");
    client.create(3, "", "three").unwrap();
    client.write(3, 0, b"3rd").unwrap();
    fs::remove_file(rig.path("three")).unwrap();
    let rig = rig.restart(|_| {});
    // A daemon that finds no name keeps the data.
    assert_eq!(unstored(&rig), 3);
    assert!(
        fs::read_dir(rig.folder.0.join("cache/data"))
            .unwrap()
            .count()
            == 1
    );
}

/// Checks that a record that a kill has cut off is no damage: no client has its answer.
#[test]
fn the_last_record_may_be_cut_off() {
    let rig = Rig::cached(|_| {});
    let mut client = rig.client();
    client.create(1, "", "file").unwrap();
    client.write(1, 0, b"first").unwrap();
    client.write(1, 100, b"second").unwrap();
    let Rig { daemon, folder } = rig;
    drop(daemon);
    let log = folder.0.join("cache/log");
    let bytes = fs::read(&log).unwrap();
    fs::write(&log, &bytes[..bytes.len() - 3]).unwrap();
    let mut config = Rig::config(&folder);
    Rig::add_cache(&mut config, &folder);
    assert_eq!(Daemon::start(config).unwrap().stop().unwrap().unstored, 0);
    assert_eq!(fs::read(folder.0.join("files/file")).unwrap(), b"first");
}

/// Checks four clients in parts of one file, with a cache that is smaller than the file: each reads what it has
/// written, while data is stored, dropped and read again.
#[test]
fn clients_share_a_file() {
    const PART: u64 = 3 << 20;
    let rig = Rig::cached(|config| {
        let settings = &mut cache(config).settings;
        (settings.bytes, settings.dirty_bytes) = (4 << 20, 2 << 20);
        (settings.part_bytes, settings.dirty_age) = (1 << 16, Duration::from_millis(20));
    });
    fs::write(rig.path("file"), vec![0; 4 * PART as usize]).unwrap();
    let contents: Vec<Vec<u8>> = std::thread::scope(|scope| {
        let clients = (0..4).map(|number| {
            let mut client = rig.client();
            scope.spawn(move || {
                let mut random = Random(number);
                let mut content = vec![0; PART as usize];
                client.open(1, "file", RDWR).unwrap();
                for _ in 0..400 {
                    let start = random.below(PART - 100_000);
                    let count = 1 + random.below(100_000) as usize;
                    let range = start as usize..start as usize + count;
                    if random.below(2) == 0 {
                        let first = random.below(256) as u8;
                        for (at, byte) in content[range.clone()].iter_mut().enumerate() {
                            *byte = first.wrapping_add(at as u8);
                        }
                        let data = &content[range];
                        client.write(1, number * PART + start, data).unwrap();
                    } else {
                        let read = client.read(1, number * PART + start, count as u32).unwrap();
                        assert!(read == content[range], "client {number} at {start}");
                    }
                    assert_eq!(client.attributes(1).unwrap().size, 4 * PART);
                }
                client.fsync(1).unwrap();
                content
            })
        });
        let clients: Vec<_> = clients.collect();
        clients
            .into_iter()
            .map(|client| client.join().unwrap())
            .collect()
    });
    assert!(fs::read(rig.path("file")).unwrap() == contents.concat());
}

/// A generator of numbers, each from the one before.
struct Random(u64);

impl Random {
    /// Returns a number below `end`.
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % end
    }
}

/// Checks a client that does anything with some files, a daemon that is killed at any time, and a store that
/// has everything at the end, against a table of names and data.
#[test]
fn anything_survives_kills() {
    const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];
    let mut random = Random(42);
    let mut rig = Rig::cached(|_| {});
    let mut client = rig.client();
    let mut model: BTreeMap<&str, Vec<u8>> = BTreeMap::new();
    // The open files: fid and the name that the file has now; none if it was removed.
    let mut open: Vec<(u32, &str)> = Vec::new();
    let mut next = 100;
    for _ in 0..6000 {
        let name = NAMES[random.below(5) as usize];
        let known = open.iter().find(|(_, known)| *known == name).copied();
        match random.below(100) {
            0..40 if known.is_some() => {
                let (fid, name) = known.unwrap();
                let most = [200_000, 3_000, 3_000, 3_000][random.below(4) as usize];
                let bytes = 1 + random.below(most);
                let start = random.below(300_000);
                let first = random.below(256);
                let data: Vec<u8> = (0..bytes).map(|at| (first + at) as u8).collect();
                client.write(fid, start, &data).unwrap();
                let content = model.get_mut(name).unwrap();
                let end = (start + bytes) as usize;
                content.resize(content.len().max(end), 0);
                content[start as usize..end].copy_from_slice(&data);
            }
            40..60 if known.is_some() => {
                let (fid, name) = known.unwrap();
                let start = random.below(500_000);
                let read = client.read(fid, start, 100_000).unwrap();
                let content = &model[name];
                let start = content.len().min(start as usize);
                let end = content.len().min(start + 100_000);
                assert!(read == content[start..end], "{name} at {start}");
                assert_eq!(client.attributes(fid).unwrap().size, content.len() as u64);
            }
            60..65 if known.is_some() => {
                let (fid, name) = known.unwrap();
                let bytes = random.below(400_000);
                client.change(fid, size(bytes)).unwrap();
                model.get_mut(name).unwrap().resize(bytes as usize, 0);
            }
            65..70 if known.is_some() => {
                let (fid, name) = known.unwrap();
                client.fsync(fid).unwrap();
                assert!(fs::read(rig.path(name)).unwrap() == model[name], "{name}");
            }
            70..75 if known.is_some() => {
                let (fid, _) = known.unwrap();
                client.clunk(fid);
                open.retain(|(other, _)| *other != fid);
            }
            75..80 if model.contains_key(name) => {
                let new = NAMES[random.below(5) as usize];
                if new != name {
                    client.rename(name, new).unwrap();
                    let content = model.remove(name).unwrap();
                    model.insert(new, content);
                    open.retain(|(_, other)| *other != new);
                    for (_, other) in &mut open {
                        if *other == name {
                            *other = new;
                        }
                    }
                }
            }
            80..83 if model.contains_key(name) => {
                client.unlink(name).unwrap();
                model.remove(name);
                open.retain(|(_, other)| *other != name);
            }
            83..98 if known.is_none() => {
                next += 1;
                match model.contains_key(name) {
                    true => client.open(next, name, RDWR).unwrap(),
                    false => {
                        client.create(next, "", name).unwrap();
                        model.insert(name, Vec::new());
                    }
                }
                open.push((next, name));
            }
            98..100 => {
                drop(client);
                rig = rig.restart(|_| {});
                client = rig.client();
                open.clear();
            }
            _ => {}
        }
    }
    let Rig { daemon, folder } = rig;
    assert_eq!(daemon.stop().unwrap().unstored, 0);
    let files = folder.0.join("files");
    for (name, content) in &model {
        assert!(fs::read(files.join(name)).unwrap() == *content, "{name}");
    }
    assert_eq!(fs::read_dir(files).unwrap().count(), model.len());
}
