//! Who is let in, and for how long.

use crate::rig::{Client, Folder, Rig, TIME, allow_plain};
use isthmus_forward::Errno;
use isthmus_iod::{Address, Daemon, Secret};
use isthmus_iod_client::{Connection, Error};
use isthmus_wire::Remote;
use std::io::Read;
use std::net::TcpStream;
use std::time::{Duration, Instant};

const TOKEN: &str = "a secret of sixteen bytes";

/// Returns the address of a TCP port on this machine.
fn loopback() -> Address {
    Address::parse("tcp:127.0.0.1:0").unwrap()
}

/// Connects to the last address of a daemon.
fn connect(rig: &Rig, token: Option<&str>) -> Result<Client, Error> {
    let address = rig.daemon.addresses().last().unwrap().to_string();
    let remote = Remote::parse(&address).unwrap();
    Connection::open(&remote, token, b"", TIME).map(Client)
}

/// Checks that TCP needs a token or an explicit permission.
#[test]
fn plain_tcp_must_be_allowed() {
    let folder = Folder::new();
    std::fs::create_dir(folder.0.join("files")).unwrap();
    let mut config = Rig::config(&folder);
    config.allow_plain = true;
    let refused = Daemon::start(config.clone()).unwrap_err().to_string();
    assert!(
        refused.contains("--allow-plain: no tcp: address"),
        "{refused}"
    );
    config.server.listen = vec![loopback()];
    config.allow_plain = false;
    let refused = Daemon::start(config.clone()).unwrap_err().to_string();
    assert!(refused.contains("give --token-file"), "{refused}");
    config.server.listen = vec![Address::Unix(folder.0.join("socket"))];
    config.server.socket_mode = 0o666;
    let refused = Daemon::start(config.clone()).unwrap_err().to_string();
    assert!(refused.contains("socket: every user"), "{refused}");
    // TLS does not authenticate the client, on this machine either.
    config.server.listen = vec![Address::parse("tls:127.0.0.1:0").unwrap()];
    for allow_plain in [false, true] {
        config.allow_plain = allow_plain;
        config.server.listen.push(loopback());
        let refused = Daemon::start(config.clone()).unwrap_err().to_string();
        assert!(refused.contains("tls:127.0.0.1:0: every host"), "{refused}");
    }
    config.server.listen = vec![Address::parse("tcp:0.0.0.0:0").unwrap()];
    config.allow_plain = true;
    let refused = Daemon::start(config.clone()).unwrap_err().to_string();
    assert!(refused.contains("TLS"), "{refused}");
    config.exports.clear();
    let refused = Daemon::start(config).unwrap_err().to_string();
    assert!(refused.contains("--export"), "{refused}");
}

/// Checks that a token lets in those who show it, and ends the connection of others.
#[test]
fn a_token_lets_in_who_shows_it() {
    let rig = Rig::with(|config| {
        config.server.listen.push(loopback());
        config.server.tokens.clients = Some(Secret::new(TOKEN).unwrap());
    });
    let mut client = connect(&rig, Some(TOKEN)).unwrap();
    client.create(5, "", "new").unwrap();
    for wrong in [None, Some("another secret of such bytes")] {
        match connect(&rig, wrong) {
            Err(Error::Refused(_, Errno::ACCES)) => {}
            other => panic!("{:?}", other.map(|_| ())),
        }
    }
}

/// Checks that a kernel or diod's tools need no token where that is allowed, and others still do.
#[test]
fn plain_clients_need_no_token_where_that_is_allowed() {
    let rig = Rig::with(|config| {
        config.server.listen.push(loopback());
        config.server.tokens.clients = Some(Secret::new(TOKEN).unwrap());
        config.allow_plain = true;
    });
    connect(&rig, None).unwrap();
    let unix = Connection::<()>::open(&rig.remote(), None, b"", TIME);
    assert!(matches!(unix, Err(Error::Refused(_, Errno::ACCES))));
}

/// Checks that a connection without a word ends after the time for it, as does one that says
/// something else.
#[test]
fn silence_and_noise_end() {
    let rig = Rig::with(|config| {
        allow_plain(config);
        config.server.hello = Duration::from_millis(300);
    });
    let Address::Tcp(at) = rig.daemon.addresses()[1] else {
        panic!("no port");
    };
    for noise in [b"".as_slice(), b"GET / HTTP/1.1\r\n\r\n", &[0; 100]] {
        let started = Instant::now();
        let mut socket = TcpStream::connect(at).unwrap();
        std::io::Write::write_all(&mut socket, noise).unwrap();
        let mut rest = Vec::new();
        // The daemon may reset the connection, as it does not read all.
        let _ = socket.read_to_end(&mut rest);
        assert!(started.elapsed() < Duration::from_secs(5));
        assert_eq!(rest, b"");
    }
    connect(&rig, None).unwrap();
}

/// Checks that the number of sessions is limited, and that a session that ends makes room.
#[test]
fn sessions_are_limited() {
    let rig = Rig::with(|config| config.server.sessions = 2);
    let first = rig.client();
    let _second = rig.client();
    let third = Connection::<()>::open(&rig.remote(), None, b"", TIME);
    assert!(matches!(third, Err(Error::Refused(..))));
    drop(first);
    let until = Instant::now() + TIME;
    while Connection::<()>::open(&rig.remote(), None, b"", TIME).is_err() {
        assert!(Instant::now() < until);
    }
}

/// Checks that the daemon stops while clients are connected, and that they notice.
#[test]
fn a_daemon_stops_with_clients_connected() {
    let rig = Rig::start();
    let mut client = rig.client();
    client.create(5, "", "file").unwrap();
    let started = Instant::now();
    let Rig { daemon, folder } = rig;
    daemon.stop();
    assert!(started.elapsed() < Duration::from_secs(5));
    let request = isthmus_forward::message::Request::Clunk { fid: 5 };
    let gone = client.0.call(&request, (), |_| ());
    assert!(matches!(gone, Err(Error::Gone(..))));
    drop(folder);
}

/// Checks that clients attach to an export by its path, or beneath it, and nowhere else.
#[test]
fn clients_attach_to_exports_only() {
    let rig = Rig::start();
    std::fs::create_dir_all(rig.path("a/b")).unwrap();
    std::os::unix::fs::symlink("/etc", rig.path("link")).unwrap();
    let export = rig
        .path("")
        .to_str()
        .unwrap()
        .trim_end_matches('/')
        .to_owned();
    let attach = |name: &str| {
        let opened = Connection::<()>::open(&rig.remote(), None, name.as_bytes(), TIME);
        opened.map(Client).map_err(|error| match error {
            Error::Refused(_, errno) => errno,
            other => panic!("{other}"),
        })
    };
    for name in [
        "",
        "/",
        &export,
        &format!("{export}/"),
        &format!("{export}/a/b"),
    ] {
        attach(name).unwrap();
    }
    let mut beneath = attach(&format!("{export}/a")).unwrap();
    assert!(beneath.walk(5, "b").unwrap().is_some());
    for bad in ["/etc", &format!("{export}/.."), &format!("{export}x"), "a"] {
        assert!(attach(bad).is_err(), "{bad}");
    }
    let mut link = attach(&format!("{export}/link")).unwrap();
    assert!(link.walk(5, "passwd").is_err());
}

/// Checks that an export is found by the path that the user gave, also if that is a symbolic link.
#[test]
fn an_export_is_found_by_both_of_its_paths() {
    let folder = Folder::new();
    let (real, link) = (folder.0.join("files"), folder.0.join("link"));
    std::fs::create_dir(&real).unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    let mut config = Rig::config(&folder);
    config.exports = vec![link.clone()];
    let daemon = Daemon::start(config.clone()).unwrap();
    let remote = Remote::parse(&daemon.addresses()[0].to_string()).unwrap();
    for path in [&real, &link] {
        let export = path.to_str().unwrap().as_bytes();
        Connection::<()>::open(&remote, None, export, TIME).unwrap();
    }
    drop(daemon);
    config.exports = vec!["/etc/hosts".into()];
    let refused = Daemon::start(config.clone()).unwrap_err().to_string();
    assert!(
        refused.starts_with("--export /etc/hosts: Not a directory"),
        "{refused}"
    );
    config.exports = vec![real];
    config.server.sessions = u32::MAX;
    let refused = Daemon::start(config).unwrap_err().to_string();
    assert!(
        refused.starts_with("--sessions 4294967295: takes"),
        "{refused}"
    );
}

/// Checks that a request to store data is answered though the client sends nothing more.
#[test]
fn the_last_request_is_answered_after_the_client_has_finished() {
    use isthmus_forward::message::{NO_FID, NO_TAG, Reply, Request, Trailing, read_reply};
    let rig = Rig::start();
    let path = rig.folder.0.join("socket");
    let mut socket = std::os::unix::net::UnixStream::connect(path).unwrap();
    let mut out = isthmus_forward::Buffer::new();
    let (msize, version) = (8192, b"9P2000.L".as_slice());
    Request::Version { msize, version }.write(NO_TAG, &mut out);
    let (user, export) = (b"".as_slice(), b"".as_slice());
    let attach = Request::Attach {
        fid: 0,
        afid: NO_FID,
        user,
        export,
        uid: 0,
    };
    attach.write(1, &mut out);
    Request::Create {
        fid: 0,
        name: b"file",
        flags: 2,
        mode: 0o600,
        gid: 0,
    }
    .write(2, &mut out);
    Request::Fsync {
        fid: 0,
        data_only: Trailing(1),
    }
    .write(3, &mut out);
    std::io::Write::write_all(&mut socket, out.bytes()).unwrap();
    socket.shutdown(std::net::Shutdown::Write).unwrap();
    let mut replies = Vec::new();
    socket.read_to_end(&mut replies).unwrap();
    let last = &replies[replies.len() - 7..];
    assert_eq!(read_reply(last), Ok((3, Reply::Fsync {})));
}
