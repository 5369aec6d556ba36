//! Requests of isthmus's own clients: what is answered, and to whom.

use crate::session::Rig;
use isthmus_forward::message::{
    Attributes, Data, Key, NO_FID, NO_TAG, NOT_OPEN, OWN_VERSION, Path, Qid, Reply, Request,
    UnstoredFile, VERSION, read_reply,
};
use isthmus_forward::{Buffer, Done, Errno, Job, SyncLevel, Work};
use isthmus_fuzz_bodies::Memory;

/// Returns a client that may send the messages of isthmus, whose fid 0 is the root, with a file `d/e/file`.
fn own() -> Rig {
    let mut rig = Rig::silent(Memory::default());
    rig.version(OWN_VERSION);
    rig.attach(0, NO_FID).unwrap();
    for (fid, name) in [(0, b"d"), (1, b"e")] {
        let (mode, gid) = (0, 0);
        rig.call(Request::MakeDirectory {
            fid,
            name,
            mode,
            gid,
        })
        .unwrap();
        rig.walk(fid, fid + 1, &[name]).unwrap();
    }
    rig.create(2, b"file").unwrap();
    rig.call(Request::Write {
        fid: 2,
        offset: 0,
        data: Data(b"0123456789"),
    })
    .unwrap();
    rig
}

/// Returns a request to take up the session with this key.
fn resume(key: u8) -> Request<'static> {
    Request::Resume {
        key: Key([key; 16]),
    }
}

/// Returns a request to restore a fid from the root.
fn restore(newfid: u32, number: u64, flags: u32, path: &[u8]) -> Request<'_> {
    let fid = 0;
    Request::Restore {
        fid,
        newfid,
        number,
        created_s: 0,
        created_ns: 0,
        flags,
        path,
    }
}

/// Returns a request for the data of a file at a path from the root.
fn fetch(count: u32, path: &[u8]) -> Request<'_> {
    let fid = 0;
    Request::Fetch { fid, count, path }
}

/// Returns all requests of isthmus.
fn all() -> [Request<'static>; 4] {
    [
        resume(1),
        restore(5, 3, NOT_OPEN, b"d/e/file"),
        Request::Commit { fid: 2, level: 1 },
        fetch(100, b"d/e/file"),
    ]
}

/// Checks that the messages of isthmus are for clients that agreed on them.
#[test]
fn only_clients_that_agreed_may_send_them() {
    let mut rig = own();
    for version in [VERSION, b"9P2000.L.other", b"9P2000.L.isthmus2"] {
        let msize = 8192;
        let reply = rig.ask(NO_TAG, Request::Version { msize, version });
        let version = VERSION;
        let expected = Reply::Version { msize, version };
        assert_eq!(read_reply(&reply), Ok((NO_TAG, expected)));
        rig.attach(0, NO_FID).unwrap();
        for request in all() {
            let what = format!("{request:?}");
            assert_eq!(rig.call(request), Err(Errno::OPNOTSUPP), "{what}");
        }
        rig.version(OWN_VERSION);
        rig.attach(0, NO_FID).unwrap();
        rig.call(fetch(100, b"d/e/file")).unwrap();
    }
    let mut rig = Rig::silent(Memory::default());
    for request in all() {
        assert_eq!(rig.call(request), Err(Errno::PROTO));
    }
    rig.version(OWN_VERSION);
    for request in all() {
        let what = format!("{request:?}");
        let refused = rig.call(request).unwrap_err();
        assert!([Errno::PROTO, Errno::BADF].contains(&refused), "{what}");
    }
    assert_eq!(rig.files.key.get(), None);
}

/// Checks that a connection has one key.
#[test]
fn a_connection_has_one_key() {
    for (key, is_known) in [(1, 0), (2, 1)] {
        let mut rig = own();
        rig.files.key.set(Some(Key([2; 16])));
        let reply = rig.call(resume(key)).unwrap();
        assert_eq!(read_reply(&reply), Ok((1, Reply::Resume { is_known })));
        assert_eq!(rig.call(resume(key)), Err(Errno::INVAL));
        assert_eq!(rig.call(resume(3)), Err(Errno::INVAL));
        assert_eq!(rig.files.key.get(), Some(Key([key; 16])));
    }
}

/// Checks that a fid is restored if the file is the one that it was, and only then.
#[test]
fn a_fid_is_restored_for_the_same_file_only() {
    let mut rig = own();
    let (root, file) = (0, 3);
    let reply = rig.call(restore(5, file, NOT_OPEN, b"d/e/file")).unwrap();
    let qid = Qid {
        path: file,
        ..Qid::default()
    };
    assert_eq!(read_reply(&reply), Ok((1, Reply::Restore { qid })));
    assert_eq!(rig.read(5, 0, 100), Err(Errno::BADF));
    rig.call(restore(6, file, 0o1302, b"d/e/file")).unwrap();
    assert_eq!(rig.read(6, 0, 100).unwrap(), b"0123456789");
    rig.call(restore(7, root, NOT_OPEN, b"")).unwrap();
    rig.walk(7, 8, &[b"d"]).unwrap();
    let fids = rig.session.fids();
    for (request, errno) in [
        (restore(9, 99, NOT_OPEN, b"d/e/file"), Errno::STALE),
        (restore(9, 99, 0, b"d/e/file"), Errno::STALE),
        (restore(9, 99, NOT_OPEN, b""), Errno::STALE),
        (restore(9, file, NOT_OPEN, b"d/e/none"), Errno::STALE),
        (restore(9, file, NOT_OPEN, b"none/e/file"), Errno::STALE),
        (restore(9, file, NOT_OPEN, b"d/e/file/x"), Errno::STALE),
        (restore(0, root, NOT_OPEN, b""), Errno::INVAL),
        (restore(5, file, NOT_OPEN, b"d/e/file"), Errno::BUSY),
        (restore(NO_FID, file, NOT_OPEN, b"d/e/file"), Errno::BADF),
    ] {
        let what = format!("{request:?}");
        assert_eq!(rig.call(request), Err(errno), "{what}");
        assert_eq!(rig.session.fids(), fids);
    }
    rig.call(restore(9, file, NOT_OPEN, b"d/e/file")).unwrap();
    rig.call(restore(10, file, NOT_OPEN, b"d/e/file")).unwrap();
    rig.call(restore(11, file, NOT_OPEN, b"d/e/file")).unwrap();
    let more = restore(12, file, NOT_OPEN, b"d/e/file");
    assert_eq!(rig.call(more), Err(Errno::MFILE));
}

/// Checks that paths consist of names, each of which is checked before the first is looked up.
#[test]
fn paths_consist_of_names() {
    let mut rig = own();
    let (name, path) = ([b'x'; 256], [b"d/".as_slice(), &[b'x'; 256]].concat());
    for (path, errno) in [
        (b"..".as_slice(), Errno::INVAL),
        (b"d/../d", Errno::INVAL),
        (b"none/..", Errno::INVAL),
        (b".", Errno::INVAL),
        (b"d/./e", Errno::INVAL),
        (b"/", Errno::INVAL),
        (b"/d", Errno::INVAL),
        (b"d/", Errno::INVAL),
        (b"d//e", Errno::INVAL),
        (b"d/e\0", Errno::INVAL),
        (&name, Errno::NAMETOOLONG),
        (&path, Errno::NAMETOOLONG),
    ] {
        assert_eq!(rig.call(restore(9, 1, 0, path)), Err(errno), "{path:?}");
        assert_eq!(rig.call(fetch(10, path)), Err(errno), "{path:?}");
    }
}

/// Checks that a file is read in one request, as far as it fits.
#[test]
fn a_small_file_is_read_in_one_request() {
    let mut rig = own();
    let ask = |rig: &mut Rig, count, path| {
        let reply = rig.call(fetch(count, path))?;
        let Ok((_, Reply::Fetch { size, data, .. })) = read_reply(&reply) else {
            panic!("{reply:?}");
        };
        Ok((size, data.0.to_vec()))
    };
    let whole = b"0123456789".to_vec();
    assert_eq!(ask(&mut rig, u32::MAX, b"d/e/file"), Ok((10, whole)));
    assert_eq!(ask(&mut rig, 4, b"d/e/file"), Ok((10, b"0123".to_vec())));
    assert_eq!(ask(&mut rig, 0, b"d/e/file"), Ok((10, Vec::new())));
    assert_eq!(ask(&mut rig, 9, b"d/none"), Err(Errno::NOENT));
    assert_eq!(ask(&mut rig, 9, b"d/e"), Err(Errno::ISDIR));
    assert_eq!(ask(&mut rig, 9, b""), Err(Errno::ISDIR));
    // More than a message.
    rig.call(Request::Write {
        fid: 2,
        offset: 9000,
        data: Data(b"end"),
    })
    .unwrap();
    let (size, data) = ask(&mut rig, u32::MAX, b"d/e/file").unwrap();
    assert_eq!((size, data.len()), (9003, 8192 - 44));
    assert_eq!(rig.session.fids(), 3);
    // The data comes later.
    rig.files.is_slow.set(true);
    assert_eq!(rig.ask(9, fetch(4, b"d/e/file")), b"");
    let deferred = rig.deferred.pop().unwrap();
    let Work::Fetch {
        directory: 0,
        path,
        count: 4,
    } = deferred.work
    else {
        panic!("another request");
    };
    assert_eq!(path, b"d/e/file");
    rig.out.clear();
    let attributes = Attributes {
        qid: Qid {
            path: 3,
            ..Qid::default()
        },
        size: 9003,
        ..Attributes::default()
    };
    let done = Done::Fetched(attributes, b"late".to_vec());
    rig.session.finish(deferred.ticket, Ok(done), &mut rig.out);
    let Ok((
        9,
        Reply::Fetch {
            qid, size, data, ..
        },
    )) = read_reply(rig.out.bytes())
    else {
        panic!("{:?}", rig.out);
    };
    assert_eq!((qid.path, size, data), (3, 9003, Data(b"late")));
}

/// Checks that each level asks for what it says, and that its reply is its own.
#[test]
fn data_is_made_safe_at_three_levels() {
    let mut rig = own();
    let commit = |fid, level| Request::Commit { fid, level };
    let reply = rig.call(commit(2, 0)).unwrap();
    assert_eq!(read_reply(&reply), Ok((1, Reply::Commit {})));
    rig.files.is_slow.set(true);
    for (level, job, done) in [
        (0, Job::Close, Done::Closed),
        (1, Job::Sync(SyncLevel::Cached), Done::Synced),
        (2, Job::Sync(SyncLevel::Stored), Done::Synced),
    ] {
        for (result, expected) in [
            (Ok(done), Reply::Commit {}),
            (Err(Errno::IO), Reply::Error { errno: Errno::IO.0 }),
        ] {
            assert_eq!(rig.ask(7, commit(2, level)), b"");
            let deferred = rig.deferred.pop().unwrap();
            assert!(matches!(deferred.work, Work::Data { job: other, .. } if other == job));
            rig.out.clear();
            rig.session.finish(deferred.ticket, result, &mut rig.out);
            assert_eq!(read_reply(rig.out.bytes()), Ok((7, expected)));
        }
    }
    // The file is still open.
    rig.files.is_slow.set(false);
    rig.read(2, 0, 10).unwrap();
    assert_eq!(rig.call(commit(2, 3)), Err(Errno::INVAL));
    assert_eq!(rig.call(commit(0, 2)), Err(Errno::BADF));
    assert_eq!(rig.call(commit(50, 2)), Err(Errno::BADF));
}

/// Checks that a file is read into the cache at once or later, and what cannot be.
#[test]
fn files_are_prefetched() {
    let mut rig = own();
    let prefetch = |path| Request::Prefetch { fid: 0, path };
    let reply = rig.call(prefetch(b"d/e/file")).unwrap();
    assert_eq!(read_reply(&reply), Ok((1, Reply::Prefetch {})));
    assert_eq!(rig.call(prefetch(b"d/none")), Err(Errno::NOENT));
    assert_eq!(rig.call(prefetch(b"d")), Err(Errno::ISDIR));
    assert_eq!(rig.call(prefetch(b"d/../d")), Err(Errno::INVAL));
    assert_eq!(rig.call(prefetch(b"")), Err(Errno::ISDIR));
    rig.files.is_slow.set(true);
    assert_eq!(rig.ask(9, prefetch(b"d/e/file")), b"");
    let deferred = rig.deferred.pop().unwrap();
    assert!(matches!(&deferred.work, Work::Prefetch { path, .. } if path == b"d/e/file"));
    rig.out.clear();
    let done = Ok(Done::Prefetched);
    rig.session.finish(deferred.ticket, done, &mut rig.out);
    assert_eq!(read_reply(rig.out.bytes()), Ok((9, Reply::Prefetch {})));
}

/// Checks that a walk whose later name does not exist has its error, and makes no fid.
#[test]
fn a_walk_fails_with_the_error_of_the_name() {
    let mut rig = own();
    for names in [&[b"d".as_slice(), b"e", b"none"][..], &[b"none"]] {
        let mut bytes = Buffer::new();
        let path = Path::encode(names.iter().copied(), &mut bytes).unwrap();
        let (fid, newfid) = (0, 30);
        assert_eq!(
            rig.call(Request::Walk { fid, newfid, path }),
            Err(Errno::NOENT)
        );
        assert_eq!(rig.call(Request::Clunk { fid: newfid }), Err(Errno::BADF));
    }
}

/// Checks the requests of operators: at once, later, and before a client has attached.
#[test]
fn operators_ask_for_the_state_and_drain() {
    let mut rig = own();
    let reply = rig.call(Request::Status {}).unwrap();
    let Ok((1, Reply::Status { status })) = read_reply(&reply) else {
        panic!("{reply:?}");
    };
    let files = status.files;
    assert!(files > 2);
    // Two fit in a reply.
    let two = 2 * (30 + b"/file".len());
    let (mut numbers, mut from) = (Vec::new(), 0);
    loop {
        let count = two as u32 + 1;
        let reply = rig.call(Request::ListUnstored { from, count }).unwrap();
        let Ok((1, Reply::ListUnstored { files: Data(data) })) = read_reply(&reply) else {
            panic!("{reply:?}");
        };
        let some = UnstoredFile::read_all(data).unwrap();
        assert!(some.len() <= 2);
        let Some(last) = some.last() else {
            break;
        };
        assert_eq!(
            (last.bytes, last.errno, last.path),
            (last.number, 5, &b"/file"[..])
        );
        from = last.number + 1;
        numbers.extend(some.iter().map(|file| file.number));
    }
    assert_eq!(numbers, (0..files).collect::<Vec<_>>());
    let (from, count) = (0, 9);
    let none_fits = rig.call(Request::ListUnstored { from, count });
    assert_eq!(none_fits, Err(Errno::MSGSIZE));
    let reply = rig.call(Request::Drain {}).unwrap();
    assert_eq!(read_reply(&reply), Ok((1, Reply::Drain {})));
    let reply = rig
        .call(Request::Abandon {
            number: 7,
            path: b"/file",
        })
        .unwrap();
    assert_eq!(read_reply(&reply), Ok((1, Reply::Abandon { bytes: 7 })));
    rig.files.is_slow.set(true);
    for (request, done, expected) in [
        (Request::Drain {}, Done::Drained, Reply::Drain {}),
        (
            Request::Abandon {
                number: 7,
                path: b"/file",
            },
            Done::Abandoned(9),
            Reply::Abandon { bytes: 9 },
        ),
    ] {
        assert_eq!(rig.ask(9, request), b"");
        let deferred = rig.deferred.pop().unwrap();
        rig.out.clear();
        rig.session.finish(deferred.ticket, Ok(done), &mut rig.out);
        assert_eq!(read_reply(rig.out.bytes()), Ok((9, expected)));
    }
    let mut rig = Rig::silent(Memory::default());
    let (msize, version) = (8192, OWN_VERSION);
    rig.call(Request::Version { msize, version }).unwrap();
    for request in [
        Request::Status {},
        Request::ListUnstored { from: 0, count: 9 },
        Request::Drain {},
        Request::Abandon {
            number: 7,
            path: b"/file",
        },
    ] {
        assert_eq!(rig.call(request), Err(Errno::PROTO));
    }
}
