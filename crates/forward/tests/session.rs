//! The session of a client: what is answered, and when.

use isthmus_forward::message::{
    Change, Data, Entry, NO_FID, NO_TAG, Path, Reply, Request, Trailing, VERSION, read_reply,
};
use isthmus_forward::{
    Buffer, Deferred, Done, Errno, Frames, Job, Limits, Session, SyncLevel, Work,
};
use isthmus_fuzz_bodies::{Memory, TOKEN};
use std::sync::atomic::Ordering;

/// A client of a session with files in memory.
pub struct Rig {
    pub files: Memory,
    pub session: Session<Memory>,
    pub out: Buffer,
    pub deferred: Vec<Deferred<Memory>>,
}

impl Rig {
    /// Returns a client that has said nothing.
    pub fn silent(files: Memory) -> Self {
        let limits = Limits {
            message_bytes: 8192,
            fids: 10,
        };
        Self {
            files,
            session: Session::new(limits),
            out: Buffer::new(),
            deferred: Vec::new(),
        }
    }

    /// Returns a client whose fid 0 is the root.
    pub fn attached() -> Self {
        let mut rig = Self::silent(Memory::default());
        rig.version(VERSION);
        rig.attach(0, NO_FID).unwrap();
        rig
    }

    /// Agrees on a version that the server has.
    pub fn version(&mut self, version: &[u8]) {
        let msize = 1 << 20;
        let reply = self.ask(NO_TAG, Request::Version { msize, version });
        let expected = Reply::Version {
            msize: 8192,
            version,
        };
        assert_eq!(read_reply(&reply), Ok((NO_TAG, expected)));
    }

    /// Attaches a fid to the root.
    pub fn attach(&mut self, fid: u32, afid: u32) -> Result<Vec<u8>, Errno> {
        let (user, export) = (b"".as_slice(), b"".as_slice());
        let uid = 0;
        self.call(Request::Attach {
            fid,
            afid,
            user,
            export,
            uid,
        })
    }

    /// Sends a request, and returns the bytes of the reply; empty if there is none yet.
    pub fn ask(&mut self, tag: u16, request: Request<'_>) -> Vec<u8> {
        let mut message = Buffer::new();
        request.write(tag, &mut message);
        self.send(message.bytes())
    }

    /// Sends the bytes of a message, and returns those of the reply.
    fn send(&mut self, message: &[u8]) -> Vec<u8> {
        self.out.clear();
        let deferred = self.session.handle(message, &self.files, &mut self.out);
        self.deferred.extend(deferred);
        self.out.bytes().to_vec()
    }

    /// Sends a request with tag 1, and returns the bytes of the reply or its error.
    pub fn call(&mut self, request: Request<'_>) -> Result<Vec<u8>, Errno> {
        let bytes = self.ask(1, request);
        match read_reply(&bytes).unwrap() {
            (1, Reply::Error { errno }) => Err(Errno(errno)),
            (1, _) => Ok(bytes),
            (tag, _) => panic!("a reply with tag {tag}"),
        }
    }

    /// Walks from a fid.
    pub fn walk(&mut self, fid: u32, newfid: u32, names: &[&[u8]]) -> Result<usize, Errno> {
        let mut bytes = Buffer::new();
        let path = Path::encode(names.iter().copied(), &mut bytes).unwrap();
        let reply = self.call(Request::Walk { fid, newfid, path })?;
        match read_reply(&reply).unwrap().1 {
            Reply::Walk { qids } => Ok(qids.len()),
            other => panic!("{other:?}"),
        }
    }

    /// Creates and opens a file in the directory of a fid.
    pub fn create(&mut self, fid: u32, name: &[u8]) -> Result<Vec<u8>, Errno> {
        let (flags, mode, gid) = (2, 0o644, 0);
        self.call(Request::Create {
            fid,
            name,
            flags,
            mode,
            gid,
        })
    }

    /// Reads from an open file.
    pub fn read(&mut self, fid: u32, offset: u64, count: u32) -> Result<Vec<u8>, Errno> {
        let reply = self.call(Request::Read { fid, offset, count })?;
        match read_reply(&reply).unwrap().1 {
            Reply::Read { data } => Ok(data.0.to_vec()),
            other => panic!("{other:?}"),
        }
    }
}

/// Checks that nothing is possible before the version, and that versions are chosen as in the
/// protocol.
#[test]
fn the_version_comes_first() {
    let mut rig = Rig::silent(Memory::default());
    assert_eq!(rig.attach(0, NO_FID), Err(Errno::PROTO));
    assert!(!rig.session.has_version());
    let ask = |rig: &mut Rig, msize, version: &'static [u8]| {
        let bytes = rig.ask(NO_TAG, Request::Version { msize, version });
        match read_reply(&bytes).unwrap().1 {
            Reply::Version { msize, version } => Ok((msize, version.to_vec())),
            Reply::Error { errno } => Err(Errno(errno)),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(
        ask(&mut rig, 8192, b"9P2000.u"),
        Ok((8192, b"unknown".to_vec()))
    );
    assert_eq!(rig.attach(0, NO_FID), Err(Errno::PROTO));
    assert_eq!(ask(&mut rig, 100, b"9P2000.L"), Err(Errno::INVAL));
    assert_eq!(
        ask(&mut rig, 5000, b"9P2000.L.more"),
        Ok((5000, b"9P2000.L".to_vec()))
    );
    assert_eq!(rig.session.message_bytes(), 5000);
    rig.attach(0, NO_FID).unwrap();
    // A new version forgets all fids.
    rig.version(VERSION);
    assert_eq!(rig.session.fids(), 0);
    assert_eq!(rig.walk(0, 1, &[]), Err(Errno::BADF));
}

/// Checks that a client without the right token does not attach, and that the token may come in
/// pieces.
#[test]
fn a_token_is_written_before_the_client_attaches() {
    let mut files = Memory::default();
    files.wants_token = true;
    let mut rig = Rig::silent(files);
    rig.version(VERSION);
    assert_eq!(rig.attach(0, NO_FID), Err(Errno::ACCES));
    let auth = |rig: &mut Rig, afid| {
        let (user, export, uid) = (b"".as_slice(), b"".as_slice(), 0);
        rig.call(Request::Auth {
            afid,
            user,
            export,
            uid,
        })
    };
    auth(&mut rig, 5).unwrap();
    assert_eq!(auth(&mut rig, 5), Err(Errno::BUSY));
    let write = |rig: &mut Rig, offset, data| {
        let data = Data(data);
        rig.call(Request::Write {
            fid: 5,
            offset,
            data,
        })
    };
    write(&mut rig, 0, &TOKEN[..4]).unwrap();
    assert_eq!(rig.attach(0, 5), Err(Errno::ACCES));
    assert_eq!(write(&mut rig, 3, &TOKEN[3..]), Err(Errno::INVAL));
    assert_eq!(write(&mut rig, 4, &[0; 5000]), Err(Errno::INVAL));
    write(&mut rig, 4, &TOKEN[4..]).unwrap();
    assert!(!rig.session.is_attached());
    rig.attach(0, 5).unwrap();
    assert!(rig.session.is_attached());
    // The fid of a token is no file.
    assert_eq!(rig.walk(5, 6, &[]), Err(Errno::BADF));
    assert_eq!(rig.read(5, 0, 100), Err(Errno::BADF));
    let mut open = Rig::attached();
    assert_eq!(auth(&mut open, 5), Err(Errno::NOENT));
}

/// Checks the rules of walks: a walk that fails half-way makes no fid, and a fid in use stays.
#[test]
fn walks_make_a_fid_only_if_all_names_exist() {
    let mut rig = Rig::attached();
    for name in [b"a".as_slice(), b"b"] {
        rig.call(Request::MakeDirectory {
            fid: 0,
            name,
            mode: 0,
            gid: 0,
        })
        .unwrap();
        assert_eq!(rig.walk(0, 1, &[name]), Ok(1));
        rig.call(Request::MakeDirectory {
            fid: 1,
            name: b"c",
            mode: 0,
            gid: 0,
        })
        .unwrap();
        rig.call(Request::Clunk { fid: 1 }).unwrap();
    }
    assert_eq!(rig.walk(0, 1, &[b"a", b"c", b"..", b"..", b"b"]), Ok(5));
    assert_eq!(rig.walk(0, 1, &[b"a"]), Err(Errno::BUSY));
    assert_eq!(rig.walk(0, NO_FID, &[b"a"]), Err(Errno::BADF));
    assert_eq!(rig.walk(0, 2, &[b"none", b"c"]), Err(Errno::NOENT));
    assert_eq!(rig.walk(0, 2, &[b"a", b"none", b"c"]), Ok(1));
    assert_eq!(rig.call(Request::Clunk { fid: 2 }), Err(Errno::BADF));
    for bad in [b"".as_slice(), b"a/c", b"a\0"] {
        assert_eq!(rig.walk(0, 2, &[bad]), Err(Errno::INVAL), "{bad:?}");
    }
    assert_eq!(rig.walk(0, 2, &[&[b'x'; 256]]), Err(Errno::NAMETOOLONG));
    // diod's tools walk to the directory itself.
    assert_eq!(rig.walk(0, 4, &[b".", b"a", b"."]), Ok(3));
    rig.call(Request::Clunk { fid: 4 }).unwrap();
    // An open file cannot become another one by a walk.
    rig.walk(0, 4, &[]).unwrap();
    rig.call(Request::Open { fid: 4, flags: 0 }).unwrap();
    assert_eq!(rig.walk(4, 4, &[b"a"]), Err(Errno::BADF));
    rig.call(Request::Clunk { fid: 4 }).unwrap();
    // A fid may walk itself, and the root has no directory above.
    assert_eq!(rig.walk(1, 1, &[b"..", b".."]), Ok(2));
    assert_eq!(rig.walk(1, 3, &[b"a"]), Ok(1));
    assert_eq!(rig.session.fids(), 3);
    for fid in 10..17 {
        assert_eq!(rig.walk(0, fid, &[]), Ok(0));
    }
    assert_eq!(rig.walk(0, 17, &[]), Err(Errno::MFILE));
}

/// Checks that names that lead out of a directory are refused wherever a name is given.
#[test]
fn no_request_takes_a_path_for_a_name() {
    let mut rig = Rig::attached();
    for name in [b"..".as_slice(), b".", b"", b"a/b", b"/", b"a\0b"] {
        let requests = [
            Request::MakeDirectory {
                fid: 0,
                name,
                mode: 0,
                gid: 0,
            },
            Request::Create {
                fid: 0,
                name,
                flags: 0,
                mode: 0,
                gid: 0,
            },
            Request::Symlink {
                fid: 0,
                name,
                target: b"x",
                gid: 0,
            },
            Request::MakeNode {
                fid: 0,
                name,
                mode: 0,
                major: 0,
                minor: 0,
                gid: 0,
            },
            Request::Rename {
                fid: 0,
                directory: 0,
                name,
            },
            Request::Link {
                directory: 0,
                fid: 0,
                name,
            },
            Request::RenameAt {
                from: 0,
                old: name,
                to: 0,
                new: b"x",
            },
            Request::RenameAt {
                from: 0,
                old: b"x",
                to: 0,
                new: name,
            },
            Request::UnlinkAt {
                directory: 0,
                name,
                flags: 0,
            },
        ];
        for request in requests {
            let what = format!("{request:?}");
            assert_eq!(rig.call(request), Err(Errno::INVAL), "{what}");
        }
    }
}

/// Checks that data is written and read back, in pieces as large as a message.
#[test]
fn data_is_read_as_it_was_written() {
    let mut rig = Rig::attached();
    rig.walk(0, 1, &[]).unwrap();
    rig.create(1, b"file").unwrap();
    let data: Vec<u8> = (0..20_000).map(|at: u32| at.to_le_bytes()[0]).collect();
    for (piece, offset) in data.chunks(4000).zip((0..).step_by(4000)) {
        let data = Data(piece);
        rig.call(Request::Write {
            fid: 1,
            offset,
            data,
        })
        .unwrap();
    }
    let read = rig.read(1, 10, u32::MAX).unwrap();
    assert_eq!(read, data[10..10 + 8192 - 11]);
    assert_eq!(rig.read(1, 19_990, 100).unwrap(), data[19_990..]);
    assert_eq!(rig.read(1, u64::MAX, 100).unwrap(), b"");
    let change = Change {
        valid: Change::SIZE,
        size: 5,
        ..Change::default()
    };
    rig.call(Request::SetAttributes { fid: 1, change }).unwrap();
    assert_eq!(rig.read(1, 0, 100).unwrap(), data[..5]);
    let unknown = Change {
        valid: 1 << 20,
        ..change
    };
    let refused = rig.call(Request::SetAttributes {
        fid: 1,
        change: unknown,
    });
    assert_eq!(refused, Err(Errno::INVAL));
    // Only an open file has data, and it is opened once.
    assert_eq!(rig.read(0, 0, 100), Err(Errno::BADF));
    assert_eq!(
        rig.call(Request::Open { fid: 1, flags: 0 }),
        Err(Errno::BADF)
    );
}

/// Checks that entries of a directory come in pieces that a client can ask for one after the other.
#[test]
fn entries_come_in_pieces() {
    let mut rig = Rig::attached();
    for at in 0..50_u8 {
        let name = [b'a' + at / 10, b'0' + at % 10];
        rig.call(Request::MakeDirectory {
            fid: 0,
            name: &name,
            mode: 0,
            gid: 0,
        })
        .unwrap();
    }
    rig.call(Request::Open { fid: 0, flags: 0 }).unwrap();
    let (mut offset, mut found) = (0, 0);
    loop {
        let reply = rig
            .call(Request::ReadDirectory {
                fid: 0,
                offset,
                count: 100,
            })
            .unwrap();
        let Reply::ReadDirectory { entries } = read_reply(&reply).unwrap().1 else {
            panic!("no entries");
        };
        assert!(entries.0.len() <= 100);
        let read: Vec<_> = Entry::read_all(entries.0).map(Result::unwrap).collect();
        let Some(last) = read.last() else { break };
        offset = last.next;
        found += read.len();
    }
    assert_eq!(found, 50);
    let small = rig.call(Request::ReadDirectory {
        fid: 0,
        offset: 0,
        count: 10,
    });
    assert_eq!(small, Err(Errno::INVAL));
}

/// Checks that an extended attribute is set when its fid is forgotten, and only if it is complete.
#[test]
fn extended_attributes_are_set_when_they_are_complete() {
    let mut rig = Rig::attached();
    let name = b"user.note".as_slice();
    let set = |rig: &mut Rig, size, flags, data: &[u8]| {
        rig.walk(0, 1, &[])?;
        rig.call(Request::CreateXattr {
            fid: 1,
            name,
            size,
            flags,
        })?;
        if !data.is_empty() {
            let data = Data(data);
            rig.call(Request::Write {
                fid: 1,
                offset: 0,
                data,
            })?;
        }
        rig.call(Request::Clunk { fid: 1 })
    };
    let get = |rig: &mut Rig, name: &[u8]| {
        rig.call(Request::WalkXattr {
            fid: 0,
            newfid: 2,
            name,
        })?;
        let value = rig.read(2, 0, 1000);
        rig.call(Request::Clunk { fid: 2 })?;
        value
    };
    set(&mut rig, 5, 0, b"value").unwrap();
    assert_eq!(get(&mut rig, name).unwrap(), b"value");
    assert_eq!(get(&mut rig, b"").unwrap(), b"user.note\0");
    assert_eq!(set(&mut rig, 5, 0, b"val"), Err(Errno::INVAL));
    assert_eq!(get(&mut rig, name).unwrap(), b"value");
    assert_eq!(set(&mut rig, 3, 0, b"value"), Err(Errno::INVAL));
    rig.call(Request::Clunk { fid: 1 }).unwrap_err();
    assert_eq!(set(&mut rig, 1 << 20, 0, b""), Err(Errno::TOO_BIG));
    assert_eq!(rig.session.fids(), 2);
    rig.call(Request::Clunk { fid: 1 }).unwrap();
    set(&mut rig, 0, 0, b"").unwrap();
    assert_eq!(get(&mut rig, name).unwrap(), b"");
    // What Linux sends to remove an attribute.
    set(&mut rig, 0, 2, b"").unwrap();
    assert_eq!(get(&mut rig, name), Err(Errno::NODATA));
}

/// Checks that a request to store data is answered when it is finished, unless it was flushed.
#[test]
fn a_flushed_request_is_not_answered() {
    let mut rig = Rig::attached();
    rig.create(0, b"file").unwrap();
    let data_only = Trailing(1);
    let fsync = || Request::Fsync { fid: 0, data_only };
    assert_eq!(rig.ask(7, fsync()), b"");
    let first = rig.deferred.pop().unwrap();
    let sync = Job::Sync(SyncLevel::Data);
    assert!(matches!(&first.work, Work::Data { open, job } if **open == 1 && *job == sync));
    // The tag is in use until the reply.
    let busy = rig.ask(7, Request::Clunk { fid: 0 });
    let errno = Errno::BUSY.0;
    assert_eq!(read_reply(&busy), Ok((7, Reply::Error { errno })));
    rig.out.clear();
    rig.session
        .finish(first.ticket, Ok(Done::Synced), &mut rig.out);
    assert_eq!(read_reply(rig.out.bytes()), Ok((7, Reply::Fsync {})));

    assert_eq!(rig.ask(7, fsync()), b"");
    assert_eq!(rig.ask(8, fsync()), b"");
    let flush = rig.ask(9, Request::Flush { oldtag: 7 });
    assert_eq!(read_reply(&flush), Ok((9, Reply::Flush {})));
    let (second, third) = (rig.deferred.pop().unwrap(), rig.deferred.pop().unwrap());
    // The tag may be used again at once, and the old result is not taken for the new one.
    assert_eq!(rig.ask(7, fsync()), b"");
    let fourth = rig.deferred.pop().unwrap();
    assert!(third.is_flushed.load(Ordering::Relaxed));
    assert!(!fourth.is_flushed.load(Ordering::Relaxed));
    rig.out.clear();
    rig.session
        .finish(third.ticket, Ok(Done::Synced), &mut rig.out);
    assert!(rig.out.is_empty());
    rig.session
        .finish(fourth.ticket, Err(Errno::IO), &mut rig.out);
    let errno = Errno::IO.0;
    assert_eq!(read_reply(rig.out.bytes()), Ok((7, Reply::Error { errno })));
    rig.version(VERSION);
    rig.out.clear();
    rig.session
        .finish(second.ticket, Ok(Done::Synced), &mut rig.out);
    assert!(rig.out.is_empty());
    // A flush of what is not in flight is answered as well.
    let flush = rig.ask(9, Request::Flush { oldtag: 50 });
    assert_eq!(read_reply(&flush), Ok((9, Reply::Flush {})));
}

/// Checks that requests for data that may take long are deferred with all that is needed to carry them out,
/// and answered with their results.
#[test]
fn requests_for_data_are_deferred() {
    let mut rig = Rig::attached();
    rig.create(0, b"file").unwrap();
    rig.files.is_slow.set(true);
    let (fid, offset, data) = (0, 3, Data(b"data"));
    let count = 9;
    let requests = [
        Request::Read { fid, offset, count },
        Request::Write { fid, offset, data },
        Request::Clunk { fid },
    ];
    let jobs = [
        Job::Read { offset, count: 9 },
        Job::Write {
            offset,
            data: b"data".to_vec(),
        },
        Job::Close,
    ];
    let done = [Done::Read(b"read".to_vec()), Done::Written(4), Done::Closed];
    let replies = [
        Reply::Read {
            data: Data(b"read"),
        },
        Reply::Write { count: 4 },
        Reply::Clunk {},
    ];
    for (request, job) in requests.into_iter().zip(&jobs) {
        assert_eq!(rig.ask(5, request), b"");
        let deferred = rig.deferred.pop().unwrap();
        let work = &deferred.work;
        assert!(matches!(work, Work::Data { open, job: other } if **open == 1 && other == job));
        let at = jobs.iter().position(|each| each == job).unwrap();
        rig.out.clear();
        rig.session
            .finish(deferred.ticket, Ok(done[at].clone()), &mut rig.out);
        assert_eq!(read_reply(rig.out.bytes()), Ok((5, replies[at].clone())));
    }
    // The file is closed, although the server had not finished at once.
    let errno = Errno::BADF.0;
    let again = rig.ask(6, Request::Clunk { fid });
    assert_eq!(read_reply(&again), Ok((6, Reply::Error { errno })));
}

/// Checks that a message that is none is answered with an error and its tag.
#[test]
fn garbage_is_answered_with_an_error() {
    let mut rig = Rig::attached();
    let errno = Errno::PROTO.0;
    let reply = rig.send(b"\x09\0\0\0\xff\x34\x12xx");
    assert_eq!(read_reply(&reply), Ok((0x1234, Reply::Error { errno })));
    assert_eq!(rig.walk(0, 1, &[]), Ok(0));
}

/// Checks that the replies to requests for locks are those of the protocol.
#[test]
fn locks_are_done_or_blocked() {
    let mut rig = Rig::attached();
    rig.create(0, b"file").unwrap();
    let lock = |rig: &mut Rig, mode, (start, length), process| {
        let (flags, client) = (0, b"host".as_slice());
        let request = Request::Lock {
            fid: 0,
            mode,
            flags,
            start,
            length,
            process,
            client,
        };
        let reply = rig.call(request)?;
        match read_reply(&reply).unwrap().1 {
            Reply::Lock { status } => Ok(status),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(lock(&mut rig, 1, (10, 10), 1), Ok(0));
    assert_eq!(lock(&mut rig, 0, (0, 0), 2), Ok(1));
    assert_eq!(lock(&mut rig, 3, (0, 0), 2), Err(Errno::INVAL));
    for range in [(u64::MAX, 2), (u64::MAX, 0), (1 << 63, 1), (5, u64::MAX)] {
        assert_eq!(lock(&mut rig, 1, range, 2), Err(Errno::INVAL));
    }
    let client = b"host".as_slice();
    let ask = Request::GetLock {
        fid: 0,
        mode: 1,
        start: 0,
        length: 0,
        process: 2,
        client,
    };
    let reply = rig.call(ask).unwrap();
    let (start, length, process) = (10, 10, 1);
    let found = Reply::GetLock {
        mode: 1,
        start,
        length,
        process,
        client,
    };
    assert_eq!(read_reply(&reply), Ok((1, found)));
    let ask = Request::GetLock {
        fid: 0,
        mode: 0,
        start: 0,
        length: 5,
        process: 2,
        client,
    };
    let reply = rig.call(ask).unwrap();
    let none = Reply::GetLock {
        mode: 2,
        start: 0,
        length: 5,
        process: 2,
        client,
    };
    assert_eq!(read_reply(&reply), Ok((1, none)));
}

/// Checks that a stream of requests, cut anywhere, has the same replies as one by one.
#[test]
fn requests_may_arrive_together() {
    let mut together = Buffer::new();
    let (msize, version) = (8192, b"9P2000.L".as_slice());
    Request::Version { msize, version }.write(NO_TAG, &mut together);
    let (user, export) = (b"".as_slice(), b"".as_slice());
    let attach = Request::Attach {
        fid: 0,
        afid: NO_FID,
        user,
        export,
        uid: 0,
    };
    attach.write(1, &mut together);
    for tag in 2..50 {
        Request::GetAttributes {
            fid: 0,
            mask: u64::MAX,
        }
        .write(tag, &mut together);
    }
    let mut rig = Rig::silent(Memory::default());
    let mut frames = Frames::new(8192);
    let mut replies = 0;
    for piece in together.bytes().chunks(13) {
        frames.space()[..piece.len()].copy_from_slice(piece);
        frames.filled(piece.len());
        while let Some(message) = frames.take().unwrap() {
            let message = message.to_vec();
            let reply = rig.send(&message);
            assert!(!matches!(
                read_reply(&reply).unwrap().1,
                Reply::Error { .. }
            ));
            replies += 1;
        }
    }
    assert_eq!(replies, 50);
}

/// Checks that a client has a limited number of fids, and that the session keeps few values for it.
#[test]
fn what_a_client_can_have_is_limited() {
    let limits = Limits {
        fids: 100,
        ..Limits::default()
    };
    let mut rig = Rig {
        session: Session::new(limits),
        ..Rig::silent(Memory::default())
    };
    let (msize, version) = (8192, b"9P2000.L".as_slice());
    rig.ask(NO_TAG, Request::Version { msize, version });
    rig.attach(0, NO_FID).unwrap();
    let name = b"".as_slice();
    for newfid in 1..65 {
        let walk = Request::WalkXattr {
            fid: 0,
            newfid,
            name,
        };
        rig.call(walk).unwrap();
    }
    let more = Request::WalkXattr {
        fid: 0,
        newfid: 65,
        name,
    };
    assert_eq!(rig.call(more), Err(Errno::NOMEM));
    rig.walk(0, 65, &[]).unwrap();
    let (name, size, flags) = (b"user.x".as_slice(), 1, 0);
    let write = |fid| Request::CreateXattr {
        fid,
        name,
        size,
        flags,
    };
    assert_eq!(rig.call(write(65)), Err(Errno::NOMEM));
    rig.call(Request::Clunk { fid: 1 }).unwrap();
    rig.call(write(65)).unwrap();
    // The value is not complete, so it is not set; the fid is forgotten all the same.
    assert_eq!(rig.call(Request::Clunk { fid: 65 }), Err(Errno::INVAL));
    for fid in 65..101 {
        rig.walk(0, fid, &[]).unwrap();
    }
    assert_eq!(rig.session.fids(), 100);
    assert_eq!(rig.walk(0, 101, &[]), Err(Errno::MFILE));
}

/// Checks that no reply is larger than the client can take: the name of the holder of a lock is
/// another client's, and the target of a link may be as long as a path.
#[test]
fn no_reply_is_larger_than_agreed_on() {
    let mut rig = Rig::silent(Memory::default());
    let (msize, version) = (4096, b"9P2000.L".as_slice());
    rig.ask(NO_TAG, Request::Version { msize, version });
    rig.attach(0, NO_FID).unwrap();
    assert_eq!(rig.call(Request::ReadLink { fid: 0 }), Err(Errno::MSGSIZE));
    rig.create(0, b"file").unwrap();
    let client = vec![b'x'; 257];
    let (mode, flags, start, length, process, client) = (1, 0, 0, 0, 1, &*client);
    let lock = Request::Lock {
        fid: 0,
        mode,
        flags,
        start,
        length,
        process,
        client,
    };
    assert_eq!(rig.call(lock), Err(Errno::INVAL));
}
