//! Attacks: none leaves the export, and none gets in without being admitted.

use crate::rig::{Client, Rig, TIME, allow_plain};
use isthmus_forward::message::{
    Change, Data, Key, NO_FID, NO_TAG, NOT_OPEN, OWN_VERSION, Path, Reply, Request, Trailing,
    VERSION, read_reply,
};
use isthmus_forward::{Buffer, Errno};
use isthmus_iod::{Address, Secret};
use isthmus_iod_client::ROOT;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::{MetadataExt, symlink};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What lies outside of the export. No client may read it, and nothing may change it.
const CANARY: &[u8] = b"outside of the export";

/// Makes a folder beside the export with a file and a folder in it.
fn outside(rig: &Rig) -> std::path::PathBuf {
    let folder = rig.folder.0.join("outside");
    std::fs::create_dir_all(folder.join("folder")).unwrap();
    std::fs::write(folder.join("canary"), CANARY).unwrap();
    folder
}

/// Checks that what lies outside is as it was.
fn check_outside(folder: &std::path::Path) {
    assert_eq!(std::fs::read(folder.join("canary")).unwrap(), CANARY);
    let mut names: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["canary", "folder"]);
    assert_eq!(std::fs::read_dir(folder.join("folder")).unwrap().count(), 0);
}

/// Returns every request that has names or fids, with this name and this fid as file and directory.
fn requests(fid: u32, name: &[u8]) -> Vec<Request<'_>> {
    let change = Change {
        valid: Change::MODE | Change::SIZE,
        mode: 0o755,
        ..Change::default()
    };
    vec![
        Request::GetAttributes { fid, mask: 0x7ff },
        Request::SetAttributes { fid, change },
        Request::Open { fid, flags: 2 },
        Request::StatFs { fid },
        Request::ReadLink { fid },
        Request::WalkXattr {
            fid,
            newfid: 90,
            name: b"user.x",
        },
        Request::Create {
            fid,
            name,
            flags: 0o102,
            mode: 0o644,
            gid: 0,
        },
        Request::MakeDirectory {
            fid,
            name,
            mode: 0o755,
            gid: 0,
        },
        Request::Symlink {
            fid,
            name,
            target: b"x",
            gid: 0,
        },
        Request::MakeNode {
            fid,
            name,
            mode: 0o100_644,
            major: 0,
            minor: 0,
            gid: 0,
        },
        Request::Link {
            directory: fid,
            fid: ROOT,
            name,
        },
        Request::Rename {
            fid,
            directory: ROOT,
            name: b"stolen",
        },
        Request::RenameAt {
            from: fid,
            old: name,
            to: ROOT,
            new: b"stolen",
        },
        Request::RenameAt {
            from: ROOT,
            old: b"own",
            to: fid,
            new: name,
        },
        Request::UnlinkAt {
            directory: fid,
            name,
            flags: 0,
        },
        Request::UnlinkAt {
            directory: fid,
            name,
            flags: 0x200,
        },
        Request::ReadDirectory {
            fid,
            offset: 0,
            count: 1000,
        },
        Request::Fsync {
            fid,
            data_only: Trailing(0),
        },
        Request::Commit { fid, level: 2 },
        Request::Remove { fid },
    ]
}

/// Returns every request that has a path, with this path from this fid to a file with this number.
fn requests_with_path(fid: u32, path: &[u8], number: u64) -> [Request<'_>; 3] {
    let restore = |flags| Request::Restore {
        fid,
        newfid: 91,
        number,
        created_s: 0,
        created_ns: 0,
        flags,
        path,
    };
    let count = 100;
    let fetch = Request::Fetch { fid, count, path };
    [restore(NOT_OPEN), restore(0), fetch]
}

/// Checks that a path from a fid does not lead to the canary.
fn check_path(client: &mut Client, fid: u32, path: &[u8], folder: &std::path::Path) {
    let number = folder.join("canary").metadata().unwrap().ino();
    for request in requests_with_path(fid, path, number) {
        let what = format!("{request:?}");
        assert!(client.does(request).is_err(), "{what}");
    }
}

/// Checks that names that lead out do nothing, in every request that has one.
#[test]
fn names_do_not_lead_out() {
    let rig = Rig::start();
    let folder = outside(&rig);
    std::fs::write(rig.path("own"), "").unwrap();
    let mut client = rig.client();
    let path = folder.join("canary").to_str().unwrap().to_owned();
    for name in [
        "..",
        "../outside/canary",
        &path,
        ".",
        "",
        "own/../../outside",
        "a\0b",
    ] {
        for request in requests(ROOT, name.as_bytes()) {
            let what = format!("{request:?}");
            if has_name(&request) {
                assert_eq!(client.does(request), Err(Errno::INVAL), "{what}");
            }
        }
        check_outside(&folder);
    }
    for (path, errno) in [
        (b"..".as_slice(), Errno::INVAL),
        (b"../outside/canary", Errno::INVAL),
        (b"own/../../outside/canary", Errno::INVAL),
        (b"../..", Errno::INVAL),
        (path.as_bytes(), Errno::INVAL),
        (b"/", Errno::INVAL),
        (b"/own", Errno::INVAL),
        (b"own/", Errno::INVAL),
        (b"own//x", Errno::INVAL),
        (b"./own", Errno::INVAL),
        (b"own\0", Errno::INVAL),
        (b"\0", Errno::INVAL),
        (&[b'x'; 256], Errno::NAMETOOLONG),
        (&b"x/".repeat(3000)[1..], Errno::INVAL),
        (&b"x/".repeat(3000)[..5999], Errno::NAMETOOLONG),
    ] {
        for request in requests_with_path(ROOT, path, 0) {
            let what = format!("{request:?}");
            assert_eq!(client.does(request), Err(errno), "{what}");
        }
    }
    check_outside(&folder);
    let root = client.walk(80, "..").unwrap().unwrap();
    for (fid, path) in (81..).zip(["..", "../..", "../../.."]) {
        let found = client.walk(fid, path).unwrap().unwrap();
        assert_eq!(found, root, "{path}");
    }
    for path in ["../outside", "../../outside/canary", "own/../../outside"] {
        assert_eq!(client.walk(90, path), Err(Errno::NOENT), "{path}");
    }
}

/// Returns whether a request names an entry of a directory by the name that the caller chooses.
fn has_name(request: &Request<'_>) -> bool {
    matches!(
        request,
        Request::Create { .. }
            | Request::MakeDirectory { .. }
            | Request::Symlink { .. }
            | Request::MakeNode { .. }
            | Request::Link { .. }
            | Request::RenameAt { .. }
            | Request::UnlinkAt { .. }
    )
}

/// Checks that symbolic links that lead out are not followed, wherever they are on the way.
#[test]
fn links_do_not_lead_out() {
    let rig = Rig::start();
    let folder = outside(&rig);
    std::fs::create_dir(rig.path("a")).unwrap();
    for (link, target) in [
        ("absolute", folder.clone()),
        ("relative", "../outside".into()),
        ("a/up", "../../outside".into()),
        ("file", folder.join("canary")),
        ("proc", "/proc/self/root".into()),
        ("cwd", "/proc/self/cwd".into()),
        ("chain", "absolute".into()),
    ] {
        symlink(target, rig.path(link)).unwrap();
        let mut client = rig.client();
        for beneath in ["canary", "folder", "outside/canary"] {
            assert!(
                client.walk(5, &format!("{link}/{beneath}")).is_err(),
                "{link}"
            );
            let path = format!("{link}/{beneath}");
            check_path(&mut client, ROOT, path.as_bytes(), &folder);
        }
        check_path(&mut client, ROOT, link.as_bytes(), &folder);
        for request in requests(5, b"canary") {
            client.walk(5, link).unwrap();
            let what = format!("{link}: {request:?}");
            let is_own = matches!(
                request,
                Request::GetAttributes { .. }
                    | Request::StatFs { .. }
                    | Request::ReadLink { .. }
                    | Request::Rename { .. }
                    | Request::Remove { .. }
            );
            let done = client.does(request);
            assert!(is_own || done.is_err(), "{what}");
            let _ = client.does(Request::Clunk { fid: 5 });
            // What was renamed or removed was the link.
            let _ = std::fs::remove_file(rig.path("stolen"));
            let _ = std::fs::remove_file(rig.path(link));
            symlink(&folder, rig.path(link)).unwrap();
        }
        check_outside(&folder);
    }
}

/// Checks that a directory that is moved out of the export cannot be used by the fids that lead
/// there, and comes back when it does.
#[test]
fn a_directory_that_is_moved_out_is_out_of_reach() {
    let rig = Rig::start();
    std::fs::create_dir_all(rig.path("a/b")).unwrap();
    std::fs::write(rig.path("a/b/file"), "data").unwrap();
    let number = rig.path("a/b/file").metadata().unwrap().ino();
    let mut client = rig.client();
    client.walk(1, "a/b").unwrap();
    client.walk(2, "a/b/file").unwrap();
    let away = rig.folder.0.join("away");
    std::fs::rename(rig.path("a"), &away).unwrap();
    for (fid, name) in [(1, b"new".as_slice()), (2, b"x")] {
        for request in requests(fid, name) {
            if !matches!(request, Request::Remove { .. }) {
                let what = format!("{request:?}");
                assert!(client.does(request).is_err(), "{what}");
            }
        }
    }
    // A link in its place changes nothing.
    symlink(&away, rig.path("a")).unwrap();
    for (fid, path) in [(1, b"file".as_slice()), (2, b""), (ROOT, b"a/b/file")] {
        for request in requests_with_path(fid, path, number) {
            let what = format!("{request:?}");
            assert!(client.does(request).is_err(), "{what}");
        }
    }
    assert!(client.does(Request::Open { fid: 2, flags: 2 }).is_err());
    assert_eq!(std::fs::read_dir(away.join("b")).unwrap().count(), 1);
    std::fs::remove_file(rig.path("a")).unwrap();
    std::fs::rename(away, rig.path("a")).unwrap();
    client.does(Request::Open { fid: 2, flags: 2 }).unwrap();
    assert_eq!(client.read(2, 0, 10).unwrap(), b"data");
}

/// Checks that a name that is a link at one moment and a directory at the next never leads
/// outside.
#[test]
fn races_with_links_do_not_lead_out() {
    let rig = Rig::start();
    let folder = outside(&rig);
    std::fs::create_dir_all(rig.path("real")).unwrap();
    std::fs::write(rig.path("real/canary"), "inside").unwrap();
    symlink(&folder, rig.path("link")).unwrap();
    let ended = AtomicBool::new(false);
    let (mut inside, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (real, link, dir) = (rig.path("real"), rig.path("link"), rig.path("dir"));
            while !ended.load(Ordering::Relaxed) {
                std::fs::rename(&real, &dir).unwrap();
                std::fs::rename(&dir, &real).unwrap();
                std::fs::rename(&link, &dir).unwrap();
                std::fs::rename(&dir, &link).unwrap();
            }
        });
        let mut client = rig.client();
        let number = folder.join("canary").metadata().unwrap().ino();
        let until = Instant::now() + Duration::from_millis(700);
        while Instant::now() < until {
            for request in requests_with_path(ROOT, b"dir/canary", number) {
                let read = client.call(request, |reply| match reply {
                    Reply::Fetch { data, .. } => data.0.to_vec(),
                    other => panic!("{other:?}"),
                });
                assert!(read.is_err() || read == Ok(b"inside".to_vec()));
            }
            match client.open(5, "dir/canary", 2) {
                Ok(()) => {
                    assert_eq!(client.read(5, 0, 100).unwrap(), b"inside");
                    client.clunk(5);
                    inside += 1;
                }
                Err(_) => refused += 1,
            }
            if client.walk(6, "dir").is_ok() {
                for request in requests(6, b"new") {
                    let harmless = matches!(
                        request,
                        Request::Rename { .. } | Request::Remove { .. } | Request::Open { .. }
                    );
                    if !harmless {
                        let _ = client.does(request);
                    }
                }
                let _ = client.does(Request::Clunk { fid: 6 });
            }
        }
        ended.store(true, Ordering::Relaxed);
    });
    assert!(inside > 0 && refused > 0, "{inside} {refused}");
    check_outside(&folder);
}

/// A connection to a daemon that needs a token, which sends bytes and has shown none.
struct Stranger(TcpStream);

impl Stranger {
    /// Connects to the TCP address of a daemon.
    fn new(rig: &Rig) -> Self {
        let Some(Address::Tcp(at)) = rig.daemon.addresses().last().cloned() else {
            panic!("no port");
        };
        let socket = TcpStream::connect(at).unwrap();
        socket.set_read_timeout(Some(TIME)).unwrap();
        Self(socket)
    }

    /// Sends a request and returns the bytes of the reply; empty if the daemon has hung up.
    fn ask(&mut self, tag: u16, request: &Request<'_>) -> Vec<u8> {
        let mut out = Buffer::new();
        request.write(tag, &mut out);
        if self.0.write_all(out.bytes()).is_err() {
            return Vec::new();
        }
        let mut size = [0; 4];
        if self.0.read_exact(&mut size).is_err() {
            return Vec::new();
        }
        let mut reply = size.to_vec();
        reply.resize(u32::from_le_bytes(size) as usize, 0);
        self.0.read_exact(&mut reply[4..]).unwrap();
        reply
    }
}

/// Checks that a client that has not attached can do nothing but attach: no request has another
/// reply than an error.
#[test]
fn strangers_get_errors_only() {
    let rig = Rig::with(|config| {
        config
            .server
            .listen
            .push(Address::parse("tcp:127.0.0.1:0").unwrap());
        config.server.tokens.clients = Some(Secret::new("sixteen bytes at least").unwrap());
    });
    std::fs::write(rig.path("file"), "data").unwrap();
    let (user, export) = (b"".as_slice(), b"".as_slice());
    let attach = |afid| Request::Attach {
        fid: 0,
        afid,
        user,
        export,
        uid: 0,
    };
    let (msize, version) = (8192, VERSION);
    let hello = Request::Version { msize, version };
    let mut names = Buffer::new();
    let path = Path::encode([b"file".as_slice()].into_iter(), &mut names).unwrap();
    let number = rig.path("file").metadata().unwrap().ino();
    for (fid, version) in [0, 1, 7, NO_FID]
        .into_iter()
        .flat_map(|fid| [(fid, VERSION), (fid, OWN_VERSION)])
    {
        let mut all = requests(fid, b"file");
        all.extend(requests_with_path(fid, b"file", number));
        all.extend(requests_with_path(fid, b"", number));
        let key = Key([1; 16]);
        all.push(Request::Resume { key });
        all.push(Request::Walk {
            fid,
            newfid: 2,
            path,
        });
        all.push(Request::Read {
            fid,
            offset: 0,
            count: 10,
        });
        all.push(Request::Write {
            fid,
            offset: 0,
            data: Data(b"x"),
        });
        all.push(Request::Flush { oldtag: 3 });
        let mut stranger = Stranger::new(&rig);
        stranger.ask(NO_TAG, &Request::Version { msize, version });
        let auth = Request::Auth {
            afid: 7,
            user,
            export,
            uid: 0,
        };
        stranger.ask(1, &auth);
        for request in all {
            let reply = stranger.ask(1, &request);
            let (_, reply) = read_reply(&reply).unwrap();
            let is_harmless = match request {
                Request::Flush { .. } => true,
                // The fid for the token takes one.
                Request::Write { fid: 7, .. } => true,
                _ => matches!(reply, Reply::Error { .. }),
            };
            assert!(is_harmless, "{request:?}: {reply:?}");
        }
    }
    // Wrong tokens, each of which ends the connection.
    for token in [
        b"".as_slice(),
        b"sixteen bytes at leas",
        b"\xff\xfe",
        &[b'x'; 4096],
    ] {
        let mut stranger = Stranger::new(&rig);
        stranger.ask(NO_TAG, &hello);
        stranger.ask(
            1,
            &Request::Auth {
                afid: 7,
                user,
                export,
                uid: 0,
            },
        );
        stranger.ask(
            1,
            &Request::Write {
                fid: 7,
                offset: 0,
                data: Data(token),
            },
        );
        let reply = stranger.ask(1, &attach(7));
        let errno = Errno::ACCES.0;
        assert_eq!(read_reply(&reply).unwrap().1, Reply::Error { errno });
        assert_eq!(stranger.ask(1, &attach(7)), b"");
    }
    // More fids than are needed to attach.
    let mut stranger = Stranger::new(&rig);
    stranger.ask(NO_TAG, &hello);
    let refused = (0..100).filter(|fid| {
        let auth = Request::Auth {
            afid: *fid,
            user,
            export,
            uid: 0,
        };
        let reply = stranger.ask(1, &auth);
        matches!(read_reply(&reply).unwrap().1, Reply::Error { .. })
    });
    assert_eq!(refused.count(), 96);
}

/// Checks that damaged and oversized messages end the connection that sends them, and no other.
#[test]
fn garbage_harms_nobody_else() {
    let rig = Rig::with(|config| {
        allow_plain(config);
    });
    let mut client = rig.client();
    client.create(1, "", "file").unwrap();
    let version = b"\x15\0\0\0\x64\xff\xff\0\x20\0\0\x08\x009P2000.L".as_slice();
    let size = |size: u32| size.to_le_bytes().to_vec();
    for garbage in [
        size(0),
        size(6),
        size(u32::MAX),
        size(8193),
        [version, &size(1 << 30)].concat(),
        [version, &size(5)].concat(),
        vec![0xff; 100_000],
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec(),
    ] {
        let mut stranger = Stranger::new(&rig);
        // The daemon may hang up before all is sent.
        let _ = stranger.0.write_all(&garbage);
        let _ = stranger.0.shutdown(std::net::Shutdown::Write);
        let mut rest = Vec::new();
        let _ = stranger.0.read_to_end(&mut rest);
        assert!(rest.len() < 100);
    }
    client.write(1, 0, b"still here").unwrap();
    assert_eq!(client.read(1, 0, 100).unwrap(), b"still here");
}

/// Checks that a client that does not read its replies keeps neither the daemon nor others waiting.
#[test]
fn a_client_that_does_not_read_waits_for_itself() {
    let rig = Rig::with(|config| {
        allow_plain(config);
        config.grace = Duration::from_millis(200);
    });
    std::fs::write(rig.path("file"), vec![1; 1 << 20]).unwrap();
    let mut slow = Stranger::new(&rig);
    let (msize, version) = (1 << 20, b"9P2000.L".as_slice());
    slow.ask(NO_TAG, &Request::Version { msize, version });
    let (user, export) = (b"".as_slice(), b"".as_slice());
    slow.ask(
        1,
        &Request::Attach {
            fid: 0,
            afid: NO_FID,
            user,
            export,
            uid: 0,
        },
    );
    let mut names = Buffer::new();
    let path = Path::encode([b"file".as_slice()].into_iter(), &mut names).unwrap();
    slow.ask(
        1,
        &Request::Walk {
            fid: 0,
            newfid: 1,
            path,
        },
    );
    slow.ask(1, &Request::Open { fid: 1, flags: 0 });
    let mut many = Buffer::new();
    for tag in 0..200 {
        Request::Read {
            fid: 1,
            offset: 0,
            count: 1 << 20,
        }
        .write(tag, &mut many);
    }
    slow.0.write_all(many.bytes()).unwrap();
    let mut client: Client = rig.client();
    client.open(1, "file", 0).unwrap();
    assert_eq!(client.read(1, 0, 10).unwrap(), [1; 10]);
    let started = Instant::now();
    rig.daemon.stop();
    assert!(started.elapsed() < Duration::from_secs(10));
}

/// Checks that no client can make a program that runs with the rights of the daemon's user, by its mode
/// or by an extended attribute.
#[test]
fn no_file_gets_the_rights_of_the_daemon() {
    use std::os::unix::fs::PermissionsExt;
    let rig = Rig::start();
    let mut client = rig.client();
    client.walk(1, "").unwrap();
    let (name, mode) = (b"shell".as_slice(), 0o6755);
    client
        .does(Request::Create {
            fid: 1,
            name,
            flags: 0o102,
            mode,
            gid: 0,
        })
        .unwrap();
    let change = Change {
        valid: Change::MODE,
        mode,
        ..Change::default()
    };
    client.walk(2, "shell").unwrap();
    for fid in [1, 2] {
        client.does(Request::SetAttributes { fid, change }).unwrap();
    }
    let directory = Request::MakeDirectory {
        fid: ROOT,
        name: b"folder",
        mode,
        gid: 0,
    };
    client.does(directory).unwrap();
    let (name, mode) = (b"node".as_slice(), 0o106_755);
    let node = Request::MakeNode {
        fid: ROOT,
        name,
        mode,
        major: 0,
        minor: 0,
        gid: 0,
    };
    client.does(node).unwrap();
    for name in ["shell", "folder", "node"] {
        let mode = rig.path(name).metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o755, "{name}");
    }
    for name in [b"security.capability".as_slice(), b"trusted.overlay.opaque"] {
        client.walk(3, "shell").unwrap();
        client
            .does(Request::CreateXattr {
                fid: 3,
                name,
                size: 4,
                flags: 0,
            })
            .unwrap();
        let data = Data(b"data");
        client
            .does(Request::Write {
                fid: 3,
                offset: 0,
                data,
            })
            .unwrap();
        assert_eq!(client.does(Request::Clunk { fid: 3 }), Err(Errno::PERM));
    }
}

/// Checks that a client ends the connection of another one by its key only.
#[test]
fn no_client_ends_another_without_its_key() {
    let rig = Rig::start();
    std::fs::write(rig.path("file"), "").unwrap();
    let mut client = rig.client();
    let key = Key([1; 16]);
    client.does(Request::Resume { key }).unwrap();
    client.open(1, "file", 2).unwrap();
    assert_eq!(client.lock(1, 1), Ok(0));
    for bit in 0..128 {
        let key = Key((u128::from_le_bytes(key.0) ^ 1 << bit).to_le_bytes());
        let mut other = rig.client();
        let is_known = other.call(Request::Resume { key }, |reply| match reply {
            Reply::Resume { is_known } => is_known,
            other => panic!("{other:?}"),
        });
        assert_eq!(is_known, Ok(0));
        other.open(1, "file", 2).unwrap();
        assert_eq!(other.lock(1, 1), Ok(1));
    }
    // Nor does the key help a client that has agreed on no messages of isthmus.
    let mut other = rig.plain();
    let refused = other.does(Request::Resume { key });
    assert_eq!(refused, Err(Errno::OPNOTSUPP));
    assert_eq!(client.write(1, 0, b"still here"), Ok(10));
}
