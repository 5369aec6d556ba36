//! What clients do with files, compared with the files themselves.

use crate::rig::{Client, Rig};
use isthmus_forward::Errno;
use isthmus_forward::message::{Change, Data, Entry, Qid, Reply, Request, Trailing};
use isthmus_iod_client::ROOT;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Checks data and attributes of a file against the system's.
#[test]
fn a_file_is_as_it_was_written() {
    let rig = Rig::start();
    let mut client = rig.client();
    client.create(1, "", "file").unwrap();
    assert_eq!(client.create(2, "", "file"), Err(Errno(17)));
    let data: Vec<u8> = (0..3_000_000_u32).map(|at| (at / 7) as u8).collect();
    let most = client.0.data_bytes() as usize;
    for (piece, number) in data.chunks(most).zip(0..) {
        let written = client.write(1, number * most as u64, piece).unwrap();
        assert_eq!(written as usize, piece.len());
    }
    assert_eq!(std::fs::read(rig.path("file")).unwrap(), data);
    let mut read = Vec::new();
    while read.len() < data.len() {
        let piece = client.read(1, read.len() as u64, u32::MAX).unwrap();
        assert!(!piece.is_empty());
        read.extend(piece);
    }
    assert_eq!(read, data);
    assert_eq!(client.read(1, data.len() as u64, 10).unwrap(), b"");
    let found = client.attributes(1).unwrap();
    let real = rig.path("file").metadata().unwrap();
    assert_eq!((found.size, found.mode), (real.len(), real.mode()));
    assert_eq!(
        (found.uid, found.gid, found.links),
        (real.uid(), real.gid(), 1)
    );
    assert_eq!(found.mode & 0o777, 0o640);
    let modified = (found.modified_s as i64, found.modified_ns as i64);
    assert_eq!(modified, (real.mtime(), real.mtime_nsec()));
    assert_eq!(found.blocks, real.blocks());
    client
        .does(Request::Fsync {
            fid: 1,
            data_only: Trailing(0),
        })
        .unwrap();
    client.clunk(1);
    assert_eq!(client.read(1, 0, 10), Err(Errno::BADF));
}

/// Checks offsets above 4 GiB and files with holes.
#[test]
fn large_files_may_have_holes() {
    let rig = Rig::start();
    let mut client = rig.client();
    client.create(1, "", "large").unwrap();
    let offset = 5 << 30;
    client.write(1, offset, b"end").unwrap();
    assert_eq!(client.read(1, offset - 2, 10).unwrap(), b"\0\0end");
    let real = rig.path("large").metadata().unwrap();
    assert_eq!(real.len(), offset + 3);
    assert!(real.blocks() * 512 < 1 << 20);
    assert_eq!(client.attributes(1).unwrap().blocks, real.blocks());
    assert_eq!(client.write(1, u64::MAX - 1, b"x"), Err(Errno::INVAL));
}

/// Checks directories: entries, removal, and that a full one is not removed.
#[test]
fn directories_have_their_entries() {
    let rig = Rig::start();
    let mut client = rig.client();
    let name = b"d".as_slice();
    client
        .does(Request::MakeDirectory {
            fid: ROOT,
            name,
            mode: 0o750,
            gid: 0,
        })
        .unwrap();
    assert_eq!(
        rig.path("d").metadata().unwrap().permissions().mode() & 0o777,
        0o750
    );
    for at in 0..300 {
        std::fs::write(rig.path(format!("d/file-{at}")), "").unwrap();
    }
    client.open(1, "d", 0).unwrap();
    let (mut offset, mut names) = (0, Vec::new());
    loop {
        let list = Request::ReadDirectory {
            fid: 1,
            offset,
            count: 4000,
        };
        let before = names.len();
        client
            .call(list, |reply| {
                let Reply::ReadDirectory { entries } = reply else {
                    panic!("{reply:?}")
                };
                for entry in Entry::read_all(entries.0) {
                    let entry = entry.unwrap();
                    offset = entry.next;
                    let is_directory = entry.qid.kind == Qid::DIRECTORY;
                    assert_eq!(is_directory, entry.name.starts_with(b"."));
                    names.push(String::from_utf8(entry.name.to_vec()).unwrap());
                }
            })
            .unwrap();
        if names.len() == before {
            break;
        }
    }
    names.retain(|name| !name.starts_with('.'));
    names.sort();
    let mut expected: Vec<_> = (0..300).map(|at| format!("file-{at}")).collect();
    expected.sort();
    assert_eq!(names, expected);
    let remove = |name: &'static [u8], flags| Request::UnlinkAt {
        directory: ROOT,
        name,
        flags,
    };
    assert_eq!(client.does(remove(b"d", 0x200)), Err(Errno(39)));
    assert_eq!(client.does(remove(b"d", 0)), Err(Errno(21)));
    assert_eq!(client.does(remove(b"d", 1)), Err(Errno::INVAL));
    for name in names {
        client.walk(2, &format!("d/{name}")).unwrap();
        client.does(Request::Remove { fid: 2 }).unwrap();
    }
    client.does(remove(b"d", 0x200)).unwrap();
    assert!(!rig.path("d").exists());
}

/// Checks that fids of all clients follow a rename, of the file itself and of a directory above.
#[test]
fn fids_follow_renames() {
    let rig = Rig::start();
    std::fs::create_dir_all(rig.path("a/b")).unwrap();
    std::fs::write(rig.path("a/b/file"), "data").unwrap();
    let (mut one, mut other) = (rig.client(), rig.client());
    other.walk(1, "a/b/file").unwrap();
    other.walk(2, "a/b").unwrap();
    let (old, new) = (b"a".as_slice(), b"c".as_slice());
    one.does(Request::RenameAt {
        from: ROOT,
        old,
        to: ROOT,
        new,
    })
    .unwrap();
    one.walk(1, "c/b/file").unwrap();
    one.does(Request::Rename {
        fid: 1,
        directory: ROOT,
        name: b"top",
    })
    .unwrap();
    assert_eq!(std::fs::read(rig.path("top")).unwrap(), b"data");
    other.does(Request::Open { fid: 1, flags: 0 }).unwrap();
    assert_eq!(other.read(1, 0, 10).unwrap(), b"data");
    other
        .does(Request::MakeDirectory {
            fid: 2,
            name: b"e",
            mode: 0o755,
            gid: 0,
        })
        .unwrap();
    assert!(rig.path("c/b/e").is_dir());
    // An open file that is removed can still be read; its name is gone.
    one.does(Request::UnlinkAt {
        directory: ROOT,
        name: b"top",
        flags: 0,
    })
    .unwrap();
    assert_eq!(other.read(1, 0, 10).unwrap(), b"data");
    assert_eq!(other.attributes(1).unwrap().links, 0);
    assert_eq!(one.attributes(1).map(|_| ()), Err(Errno::STALE));
    // A new file of this name is another file.
    std::fs::write(rig.path("top"), "new").unwrap();
    assert_eq!(one.attributes(1).map(|_| ()), Err(Errno::STALE));
    one.walk(2, "top").unwrap();
    assert_eq!(one.attributes(2).unwrap().size, 3);
}

/// Checks changes of attributes by name and on an open file.
#[test]
fn attributes_change() {
    let rig = Rig::start();
    std::fs::write(rig.path("file"), "0123456789").unwrap();
    let mut client = rig.client();
    for (fid, opens, size) in [(1, false, 7), (2, true, 4)] {
        client.walk(fid, "file").unwrap();
        if opens {
            client.does(Request::Open { fid, flags: 0 }).unwrap();
        }
        let mode = 0o600 | fid;
        let (accessed_s, accessed_ns, modified_s, modified_ns) = (1_000_000, 5, 2_000_000, 6);
        let valid = Change::MODE
            | Change::SIZE
            | Change::ACCESSED
            | Change::MODIFIED
            | Change::ACCESSED_TO
            | Change::MODIFIED_TO;
        let change = Change {
            valid,
            mode,
            size,
            accessed_s,
            accessed_ns,
            modified_s,
            modified_ns,
            ..Change::default()
        };
        client.does(Request::SetAttributes { fid, change }).unwrap();
        let real = rig.path("file").metadata().unwrap();
        assert_eq!((real.mode() & 0o777, real.len()), (mode, size));
        assert_eq!((real.atime(), real.atime_nsec()), (1_000_000, 5));
        assert_eq!((real.mtime(), real.mtime_nsec()), (2_000_000, 6));
        let now = Change {
            valid: Change::MODIFIED,
            ..Change::default()
        };
        client
            .does(Request::SetAttributes { fid, change: now })
            .unwrap();
        let real = rig.path("file").metadata().unwrap();
        assert!(real.mtime() > 1_700_000_000 && real.atime() == 1_000_000);
        let owner = Change {
            valid: Change::UID,
            uid: real.uid(),
            ..Change::default()
        };
        client
            .does(Request::SetAttributes { fid, change: owner })
            .unwrap();
    }
    // Times before 1970 are negative numbers.
    client.walk(3, "file").unwrap();
    let modified_s = (-1_000_000_i64).cast_unsigned();
    let valid = Change::MODIFIED | Change::MODIFIED_TO;
    let old = Change {
        valid,
        modified_s,
        modified_ns: 7,
        ..Change::default()
    };
    client
        .does(Request::SetAttributes {
            fid: 3,
            change: old,
        })
        .unwrap();
    assert_eq!(rig.path("file").metadata().unwrap().mtime(), -1_000_000);
    assert_eq!(client.attributes(3).unwrap().modified_s, modified_s);
    let no_user = Change {
        valid: Change::UID,
        uid: u32::MAX,
        ..Change::default()
    };
    let refused = client.does(Request::SetAttributes {
        fid: 3,
        change: no_user,
    });
    assert_eq!(refused, Err(Errno::INVAL));
    assert_eq!(client.does(Request::ReadLink { fid: 3 }), Err(Errno::INVAL));
    // The root of the export has no name, but attributes.
    let change = Change {
        valid: Change::MODIFIED,
        ..Change::default()
    };
    client
        .does(Request::SetAttributes { fid: ROOT, change })
        .unwrap();
    assert!(client.attributes(ROOT).unwrap().mode & 0o040_000 != 0);
    client.does(Request::StatFs { fid: ROOT }).unwrap();
}

/// Checks links of both kinds, and that a symbolic link is never followed by the daemon.
#[test]
fn links_are_what_they_are() {
    let rig = Rig::start();
    std::fs::write(rig.path("file"), "data").unwrap();
    let mut client = rig.client();
    client.walk(1, "file").unwrap();
    client
        .does(Request::Link {
            directory: ROOT,
            fid: 1,
            name: b"hard",
        })
        .unwrap();
    assert_eq!(rig.path("hard").metadata().unwrap().nlink(), 2);
    let target = b"/etc/passwd".as_slice();
    let link = Request::Symlink {
        fid: ROOT,
        name: b"soft",
        target,
        gid: 0,
    };
    client.does(link).unwrap();
    assert_eq!(client.walk(2, "soft").unwrap().unwrap().kind, Qid::SYMLINK);
    let read = client.call(Request::ReadLink { fid: 2 }, |reply| match reply {
        Reply::ReadLink { target } => target.to_vec(),
        other => panic!("{other:?}"),
    });
    assert_eq!(read.unwrap(), target);
    let found = client.attributes(2).unwrap();
    assert_eq!(
        (found.mode & 0o170_000, found.size),
        (0o120_000, target.len() as u64)
    );
    assert_eq!(
        client.does(Request::Open { fid: 2, flags: 0 }),
        Err(Errno(40))
    );
    let before = std::fs::metadata("/etc/passwd").unwrap();
    for change in [
        Change {
            valid: Change::MODE,
            mode: 0o777,
            ..Change::default()
        },
        Change {
            valid: Change::SIZE,
            ..Change::default()
        },
        Change {
            valid: Change::MODIFIED,
            ..Change::default()
        },
    ] {
        let _ = client.does(Request::SetAttributes { fid: 2, change });
    }
    let after = std::fs::metadata("/etc/passwd").unwrap();
    assert_eq!((before.mode(), before.len()), (after.mode(), after.len()));
    assert_eq!(before.mtime(), after.mtime());
    std::os::unix::fs::symlink("/etc", rig.path("out")).unwrap();
    assert_eq!(client.walk(3, "out/passwd"), Err(Errno::LOOP));
}

/// Checks that special files can be made but not opened, and that devices cannot be made.
#[test]
fn special_files_are_not_opened() {
    let rig = Rig::start();
    let mut client = rig.client();
    let make = |name: &'static [u8], mode| Request::MakeNode {
        fid: ROOT,
        name,
        mode,
        major: 1,
        minor: 3,
        gid: 0,
    };
    client.does(make(b"pipe", 0o010_644)).unwrap();
    client.does(make(b"plain", 0o100_644)).unwrap();
    assert_eq!(client.does(make(b"null", 0o020_666)), Err(Errno::PERM));
    assert_eq!(client.does(make(b"disk", 0o060_666)), Err(Errno::PERM));
    assert_eq!(client.open(1, "pipe", 0), Err(Errno::NXIO));
    client.open(1, "plain", 2).unwrap();
}

/// Checks that nothing can be changed through a daemon that is for reading only.
#[test]
fn a_daemon_for_reading_changes_nothing() {
    let rig = Rig::with(|config| config.read_only = true);
    std::fs::write(rig.path("file"), "data").unwrap();
    let mut client = rig.client();
    let rofs = Err(Errno::ROFS);
    client.open(1, "file", 0).unwrap();
    assert_eq!(client.read(1, 0, 10).unwrap(), b"data");
    assert_eq!(client.write(1, 0, b"x"), Err(Errno::BADF));
    for flags in [1, 2, 0o1000] {
        assert_eq!(client.open(2, "file", flags), rofs);
    }
    assert_eq!(client.create(2, "", "new"), rofs);
    client.walk(2, "file").unwrap();
    let name = b"new".as_slice();
    let change = Change {
        valid: Change::MODE,
        ..Change::default()
    };
    for request in [
        Request::MakeDirectory {
            fid: ROOT,
            name,
            mode: 0o755,
            gid: 0,
        },
        Request::Symlink {
            fid: ROOT,
            name,
            target: b"x",
            gid: 0,
        },
        Request::MakeNode {
            fid: ROOT,
            name,
            mode: 0o100_644,
            major: 0,
            minor: 0,
            gid: 0,
        },
        Request::Rename {
            fid: 2,
            directory: ROOT,
            name,
        },
        Request::Link {
            directory: ROOT,
            fid: 2,
            name,
        },
        Request::RenameAt {
            from: ROOT,
            old: b"file",
            to: ROOT,
            new: name,
        },
        Request::UnlinkAt {
            directory: ROOT,
            name: b"file",
            flags: 0,
        },
        Request::SetAttributes { fid: 2, change },
        Request::Remove { fid: 2 },
    ] {
        let what = format!("{request:?}");
        assert_eq!(client.does(request), rofs, "{what}");
    }
    client.walk(3, "file").unwrap();
    let (name, size, flags) = (b"user.x".as_slice(), 0, 0);
    client
        .does(Request::CreateXattr {
            fid: 3,
            name,
            size,
            flags,
        })
        .unwrap();
    assert_eq!(client.does(Request::Clunk { fid: 3 }), rofs);
    assert_eq!(std::fs::read(rig.path("file")).unwrap(), b"data");
    assert_eq!(std::fs::read_dir(rig.path("")).unwrap().count(), 1);
}

/// Checks that extended attributes reach the file, where its file system has them.
#[test]
fn extended_attributes_reach_the_file() {
    let rig = Rig::start();
    std::fs::write(rig.path("file"), "").unwrap();
    let mut client = rig.client();
    let name = b"user.note".as_slice();
    client.walk(1, "file").unwrap();
    client
        .does(Request::CreateXattr {
            fid: 1,
            name,
            size: 5,
            flags: 0,
        })
        .unwrap();
    let data = Data(b"value");
    client
        .does(Request::Write {
            fid: 1,
            offset: 0,
            data,
        })
        .unwrap();
    match client.does(Request::Clunk { fid: 1 }) {
        Err(Errno::OPNOTSUPP) => return,
        done => done.unwrap(),
    }
    client.walk(1, "file").unwrap();
    let size = client.call(
        Request::WalkXattr {
            fid: 1,
            newfid: 2,
            name,
        },
        |reply| match reply {
            Reply::WalkXattr { size } => size,
            other => panic!("{other:?}"),
        },
    );
    assert_eq!(size.unwrap(), 5);
    assert_eq!(client.read(2, 0, 100).unwrap(), b"value");
    client
        .does(Request::WalkXattr {
            fid: 1,
            newfid: 3,
            name: b"",
        })
        .unwrap();
    let names = client.read(3, 0, 1000).unwrap();
    assert!(
        names
            .windows(name.len() + 1)
            .any(|each| each == b"user.note\0")
    );
    let none = client.does(Request::WalkXattr {
        fid: 1,
        newfid: 4,
        name: b"user.none",
    });
    assert_eq!(none, Err(Errno::NODATA));
}

/// Checks that locks hold among clients, and end with the client that has them.
#[test]
fn locks_hold_among_clients() {
    let rig = Rig::start();
    std::fs::write(rig.path("file"), "").unwrap();
    let (mut one, mut other) = (rig.client(), rig.client());
    let lock = |client: &mut Client| client.lock(1, 1);
    one.open(1, "file", 2).unwrap();
    other.open(1, "file", 2).unwrap();
    assert_eq!(lock(&mut one), Ok(0));
    // The same number of a process of another client is another process.
    assert_eq!(lock(&mut other), Ok(1));
    drop(one);
    let until = Instant::now() + crate::rig::TIME;
    while lock(&mut other) != Ok(0) {
        assert!(Instant::now() < until);
    }
}

/// Checks that a rename of one of two names of a file to the other leaves both, as on Linux.
#[test]
fn a_rename_between_names_of_one_file_leaves_both() {
    let rig = Rig::start();
    std::fs::write(rig.path("a"), "data").unwrap();
    std::fs::hard_link(rig.path("a"), rig.path("b")).unwrap();
    let mut client = rig.client();
    client.walk(1, "a").unwrap();
    client.walk(2, "b").unwrap();
    let (old, new) = (b"a".as_slice(), b"b".as_slice());
    client
        .does(Request::RenameAt {
            from: ROOT,
            old,
            to: ROOT,
            new,
        })
        .unwrap();
    for fid in [1, 2] {
        assert_eq!(client.attributes(fid).unwrap().links, 2);
    }
}

/// Checks that a fid below a directory is always there while another client renames the directory
/// again and again.
#[test]
fn fids_follow_renames_at_any_moment() {
    let rig = Rig::start();
    std::fs::create_dir_all(rig.path("x/d")).unwrap();
    std::fs::write(rig.path("x/d/deep"), "deep").unwrap();
    let mut client = rig.client();
    client.walk(1, "x/d/deep").unwrap();
    let is_ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut other = rig.client();
            while !is_ended.load(Ordering::Relaxed) {
                for (old, new) in [(b"x", b"y"), (b"y", b"x")] {
                    let rename = Request::RenameAt {
                        from: ROOT,
                        old,
                        to: ROOT,
                        new,
                    };
                    other.does(rename).unwrap();
                }
            }
        });
        let until = Instant::now() + Duration::from_millis(500);
        while Instant::now() < until {
            let found = client.attributes(1).map(|found| found.size);
            if found != Ok(4) {
                is_ended.store(true, Ordering::Relaxed);
            }
            assert_eq!(found, Ok(4));
        }
        is_ended.store(true, Ordering::Relaxed);
    });
}

/// Checks that two clients which create and remove the same file see no error but that the other was
/// sooner, and that a new file of this name can be used afterwards.
#[test]
fn clients_create_and_remove_the_same_file() {
    let rig = Rig::start();
    let until = Instant::now() + Duration::from_millis(500);
    let work = || {
        let mut client = rig.client();
        let mut made = 0;
        while Instant::now() < until {
            match client.create(5, "", "same") {
                Ok(()) => {
                    made += 1;
                    assert_eq!(client.write(5, 0, b"own"), Ok(3));
                    client.clunk(5);
                }
                Err(error) => assert_eq!(error, Errno(17)),
            }
            let name = b"same".as_slice();
            let gone = client.does(Request::UnlinkAt {
                directory: ROOT,
                name,
                flags: 0,
            });
            assert!(matches!(gone, Ok(()) | Err(Errno::NOENT)), "{gone:?}");
        }
        made
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(work);
        assert!(work() + other.join().unwrap() > 10);
    });
    let mut client = rig.client();
    let _ = std::fs::remove_file(rig.path("same"));
    client.create(1, "", "same").unwrap();
    client.walk(2, "same").unwrap();
    assert_eq!(client.attributes(2).unwrap().links, 1);
}
