//! Clients of two daemons with caches in front of one store: each promise of docs/io-daemon.md.

use crate::rig::{Client, Folder, Rig, TIME};
use isthmus_forward::Errno;
use isthmus_forward::message::{Change, Request};
use isthmus_iod::{Config, Daemon, Level};
use std::fs;
use std::time::{Duration, Instant};

/// The flag of Linux for opening a file for reading and writing.
const RDWR: u32 = 2;

/// Two daemons, which drain nothing by themselves for an hour.
struct Two {
    one: Rig,
    other: Daemon,
    /// The folder of the cache of the other one, which is removed at the end.
    _folder: Folder,
}

impl Two {
    /// Starts both with settings that `change` changes.
    fn start(change: fn(&mut Config)) -> Self {
        let one = Rig::cached(change);
        let folder = Folder::new();
        let mut config = Rig::config(&folder);
        config.exports = Rig::config(&one.folder).exports;
        Rig::add_cache(&mut config, &folder);
        change(&mut config);
        let other = Daemon::start(config).unwrap();
        Self {
            one,
            other,
            _folder: folder,
        }
    }

    /// Connects a client to each.
    fn clients(&self) -> (Client, Client) {
        let remote = isthmus_wire::Remote::parse(&self.other.addresses()[0].to_string());
        let opened = isthmus_iod_client::Connection::open(&remote.unwrap(), None, b"", TIME);
        (self.one.client(), Client(opened.unwrap()))
    }
}

/// Opens a file, reads it and closes it.
fn read(client: &mut Client, name: &str) -> Vec<u8> {
    client.open(90, name, 0).unwrap();
    let data = client.read(90, 0, 100).unwrap();
    client.clunk(90);
    data
}

/// Checks that a file is visible through another daemon once it is stored, and opened after that: by `fsync`,
/// by waiting for it, by a drain of everything, and some time after it was closed.
#[test]
fn what_is_stored_is_seen_at_the_next_open() {
    let two = Two::start(|_| {});
    let (mut a, mut b) = two.clients();
    a.create(1, "", "file").unwrap();
    for (data, store) in [
        (
            b"1111",
            (|a| a.fsync(1)) as fn(&mut Client) -> Result<(), Errno>,
        ),
        (b"2222", |a| a.commit(1, 2)),
        (b"3333", |a| a.does(Request::Drain {})),
    ] {
        let before = read(&mut b, "file");
        a.write(1, 0, data).unwrap();
        // Only in the cache of the first daemon.
        assert_eq!(read(&mut b, "file"), before);
        store(&mut a).unwrap();
        assert_eq!(read(&mut b, "file"), data);
    }
    a.write(1, 0, b"4444").unwrap();
    a.clunk(1);
    let begin = Instant::now();
    while read(&mut b, "file") != b"4444" {
        assert!(begin.elapsed() < TIME, "a closed file is stored soon");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Checks that with `--close stored` a close is enough.
#[test]
fn a_close_is_enough_where_the_site_says_so() {
    let two = Two::start(|config| {
        config.cache.as_mut().unwrap().close = Level::Stored;
    });
    let (mut a, mut b) = two.clients();
    a.create(1, "", "file").unwrap();
    for data in [b"1111", b"2222"] {
        a.write(1, 0, data).unwrap();
        a.commit(1, 0).unwrap();
        assert_eq!(read(&mut b, "file"), data);
    }
}

/// Checks that names, directories and attributes are those of the store at any time.
#[test]
fn names_and_attributes_are_seen_at_once() {
    let two = Two::start(|_| {});
    let (mut a, mut b) = two.clients();
    a.create(1, "", "file").unwrap();
    a.write(1, 0, b"1111").unwrap();
    b.rename("file", "renamed").unwrap();
    assert_eq!(a.walk(2, "file"), Err(Errno::NOENT));
    a.walk(2, "renamed").unwrap();
    let valid = Change::MODE;
    let mode = 0o600;
    let change = Change {
        valid,
        mode,
        ..Change::default()
    };
    b.walk(3, "renamed").unwrap();
    b.change(3, change).unwrap();
    assert_eq!(a.attributes(2).unwrap().mode & 0o777, 0o600);
    // The data goes to the file, whatever its name is.
    a.fsync(1).unwrap();
    assert_eq!(read(&mut b, "renamed"), b"1111");
    b.unlink("renamed").unwrap();
    assert_eq!(a.walk(4, "renamed"), Err(Errno::NOENT));
}

/// Checks that clients of both daemons write parts of one file, and that of the same bytes those of either are
/// stored, whole.
#[test]
fn clients_of_two_daemons_write_parts_of_one_file() {
    let two = Two::start(|_| {});
    let (mut a, mut b) = two.clients();
    a.create(1, "", "file").unwrap();
    b.open(1, "file", RDWR).unwrap();
    a.write(1, 0, b"aaaa").unwrap();
    b.write(1, 4, b"bbbb").unwrap();
    a.fsync(1).unwrap();
    b.fsync(1).unwrap();
    assert_eq!(fs::read(two.one.path("file")).unwrap(), b"aaaabbbb");
    assert_eq!(read(&mut a, "file"), b"aaaabbbb");
    assert_eq!(read(&mut b, "file"), b"aaaabbbb");
    a.write(1, 0, b"AAAAAAAA").unwrap();
    b.write(1, 0, b"BBBBBBBB").unwrap();
    b.fsync(1).unwrap();
    a.fsync(1).unwrap();
    let stored = fs::read(two.one.path("file")).unwrap();
    assert!([b"AAAAAAAA", b"BBBBBBBB"].contains(&stored.as_slice().try_into().unwrap()));
    for client in [&mut a, &mut b] {
        assert_eq!(read(client, "file"), stored);
    }
}

/// Checks that clients of both daemons see the parts that the other one has stored at the same time as their own, in a
/// file that they had read before.
#[test]
fn parts_that_are_stored_at_the_same_time_are_seen_at_the_next_open() {
    const PART: u32 = 1000;
    const PARTS: u32 = 8;
    let two = Two::start(|config| {
        config.cache.as_mut().unwrap().settings.part_bytes = PART.into();
    });
    let (mut a, mut b) = two.clients();
    a.create(1, "", "file").unwrap();
    b.open(1, "file", RDWR).unwrap();
    for round in 1..100 {
        for (client, first) in [(&mut a, 0), (&mut b, 1)] {
            // The file grows in each round.
            for part in (0..PARTS + round / 10).filter(|part| part % 2 == first) {
                let data = [(round + first) as u8; PART as usize];
                client.write(1, u64::from(part * PART), &data).unwrap();
            }
        }
        std::thread::scope(|scope| {
            scope.spawn(|| a.fsync(1).unwrap());
            scope.spawn(|| b.fsync(1).unwrap());
        });
        let stored = fs::read(two.one.path("file")).unwrap();
        for client in [&mut a, &mut b] {
            client.open(90, "file", 0).unwrap();
            let seen = client.read(90, 0, 1 << 16).unwrap();
            client.clunk(90);
            assert!(seen == stored, "round {round}");
        }
    }
}

/// Checks that data of a file which a client of the other daemon has removed is kept, and that those who ask get the
/// error.
#[test]
fn data_of_a_file_that_the_other_daemon_has_removed_is_kept() {
    let two = Two::start(|_| {});
    let (mut a, mut b) = two.clients();
    a.create(1, "", "file").unwrap();
    a.write(1, 0, b"1111").unwrap();
    b.unlink("file").unwrap();
    assert_eq!(a.fsync(1), Err(Errno::STALE));
    assert_eq!(a.read(1, 0, 10).unwrap(), b"1111");
    assert_eq!(two.one.daemon.cache().unwrap().unstored, 4);
}
