//! Sessions and links over TLS.

use crate::rig::{Folder, Rig, Socket, certificate, content, sends, soon, spec};
use isthmus_nic::{Address, Certificate, Config, Daemon, Secret};
use isthmus_nic_protocol::{Answer, Message, RefusalKind};
use isthmus_stream::{Format, LinkId, StreamId};
use isthmus_stream_net::frame::{Frame, Kind};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

const ADU: u64 = 96 << 10;
const TU: u64 = 64 << 10;
const ADUS: u64 = 6;

fn rig() -> Rig {
    rig_of(256)
}

fn rig_of(sessions: u32) -> Rig {
    Rig::with(|config| {
        config.server.sessions = sessions;
        let Address::Unix(path) = &config.server.listen[0] else {
            panic!("the first is a Unix socket");
        };
        let folder = Folder(path.parent().unwrap().to_owned());
        config.server.certificate = Some(certificate(&folder));
        std::mem::forget(folder);
        config
            .server
            .listen
            .push(Address::parse("tls:127.0.0.1:0").unwrap());
        config.server.hello = Duration::from_secs(2);
    })
}

/// One rank sends and one receives over TLS, and the data is equal.
#[test]
fn links_over_tls_carry_both_ways() {
    let rig = rig();
    let mut session = rig.tls("localhost");
    let ticket = session.hello("hidden");
    let window = r#","window_bytes":400000"#;
    let into = session.open("raw:accept:127.0.0.1:0", window);
    let rest = format!(r#""ask":"connection","connection":{into}"#);
    let address = match session.ask(&rest).unwrap() {
        Answer::ConnectionStatus { connection } => connection.destination,
        other => panic!("{other:?}"),
    };
    let out = session.open(&address.replace("accept", "tcp"), window);
    let mut up = rig.tls("localhost").link(&ticket, 0);
    let mut down = rig.tls("localhost").link(&ticket, 1);
    let taken = session
        .submit(&spec("receive", into, ADU, TU, &[1], ADUS))
        .unwrap();
    let sent = session.submit(&sends(out, ADU, TU, &[0], ADUS)).unwrap();
    let reader = std::thread::spawn(move || {
        let mut all = vec![0; (ADUS * ADU) as usize];
        loop {
            let mut head = [0; Frame::BYTES];
            down.read_exact(&mut head).unwrap();
            let frame = Frame::decode(&head).unwrap();
            match frame.kind {
                Kind::Data => {
                    let at = (frame.adu * ADU + frame.offset) as usize;
                    down.read_exact(&mut all[at..at + frame.bytes as usize])
                        .unwrap();
                }
                Kind::End => return all,
                other => panic!("{other:?}"),
            }
        }
    });
    let format = Format::fixed(ADU, TU, &[LinkId(0)]);
    let mut wanted = Vec::new();
    for adu in 0..ADUS {
        let data = content(adu, ADU);
        for tu in (0..format.tus(ADU)).filter_map(|index| format.tu(adu, ADU, index)) {
            for su in format.sus(tu.bytes) {
                let head = Frame::su(Kind::Data, StreamId(sent), &tu, &su).encode();
                let from = (tu.offset + su.offset) as usize;
                up.write_all(&head).unwrap();
                up.write_all(&data[from..from + su.bytes as usize]).unwrap();
            }
        }
        wanted.extend(data);
    }
    up.flush().unwrap();
    assert_eq!(session.wait(sent).state, "done");
    assert_eq!(session.wait(taken).state, "done");
    assert!(reader.join().unwrap() == wanted, "the bytes are others");
    let overview = match session.ask(r#""ask":"overview""#).unwrap() {
        Answer::Overview { overview } => overview,
        other => panic!("{other:?}"),
    };
    // The receiving rank has left.
    let links = overview.links.iter();
    let links: Vec<_> = links
        .map(|link| (link.link, link.carrier.as_str()))
        .collect();
    assert_eq!(links, [(0, "tls"), (1, "tls")]);
    assert!(overview.links[0].attached);
    // The end of a rank is detected through TLS too.
    let stream = session.submit(&sends(out, ADU, TU, &[0], 1)).unwrap();
    drop(up);
    assert_eq!(session.wait(stream).state, "failed");
    rig.daemon.stop().unwrap();
}

/// A long answer, and many requests at once: nothing is left in a buffer.
#[test]
fn many_lines_at_once_are_all_answered() {
    let rig = rig();
    let mut session = rig.tls("127.0.0.1");
    session.hello("many");
    let mut all = String::new();
    for id in 1000..5000 {
        all += &format!("{{\"id\":{id},\"ask\":\"overview\"}}\n");
    }
    let Socket::Tls(socket) = &mut session.socket else {
        panic!("it is TLS");
    };
    // Write everything first: the daemon leaves requests unread that it has no room to answer.
    let mut bytes = all.as_bytes();
    socket
        .sock
        .set_write_timeout(Some(Duration::from_millis(200)))
        .unwrap();
    let mut written = 0;
    for chunk in bytes.chunks(16 << 10) {
        match socket.write_all(chunk).and_then(|()| socket.flush()) {
            Ok(()) => written += chunk.len(),
            Err(_) => break,
        }
    }
    bytes = &bytes[..written];
    let whole = bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
    assert!(whole > 100, "{whole}");
    for id in 1000..1000 + whole.min(4000) {
        assert!(
            matches!(session.answer(id), Ok(Answer::Overview { .. })),
            "{id}"
        );
    }
    rig.daemon.stop().unwrap();
}

/// A client that speaks no TLS, or sends nothing, is closed, and others are admitted meanwhile.
#[test]
fn a_client_without_tls_is_closed() {
    let rig = rig();
    let address = rig
        .daemon
        .addresses()
        .iter()
        .find_map(|address| match address {
            Address::Tls(address) => Some(*address),
            _ => None,
        });
    let address = address.unwrap();
    let mut plain = TcpStream::connect(address).unwrap();
    plain
        .write_all(b"{\"id\":1,\"ask\":\"hello\",\"version\":2,\"name\":\"x\"}\n")
        .unwrap();
    let mut silent = TcpStream::connect(address).unwrap();
    let mut session = rig.tls("localhost");
    session.hello("hidden");
    for socket in [&mut plain, &mut silent] {
        let deadline = soon();
        socket
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        let mut bytes = Vec::new();
        // At most an alert, and no line.
        let _ = socket.read_to_end(&mut bytes);
        assert!(Instant::now() < deadline);
        assert!(
            !bytes.windows(7).any(|some| some == b"refused"),
            "{bytes:?}"
        );
    }
    rig.daemon.stop().unwrap();
}

/// Settings of TLS must be consistent; a certificate that cannot be read again does not replace the
/// old one.
#[test]
fn certificates_are_checked() {
    let folder = Folder::new();
    let good = certificate(&folder);
    let listen = |at: &str| {
        let mut config = Config::new(vec![Address::parse(at).unwrap()]);
        config.server.certificate = Some(good.clone());
        config
    };
    let refused = |config: Config| Daemon::start(config).unwrap_err().to_string();
    let mut config = listen("tls:127.0.0.1:0");
    config.server.certificate = None;
    assert!(refused(config).contains("--tls-cert"));
    assert!(refused(listen("tls:0.0.0.0:0")).contains("--token-file"));
    let token = || Some(Secret::new("0123456789abcdef").unwrap());
    let mut config = listen("tcp:0.0.0.0:0");
    config.server.tokens.clients = token();
    assert!(
        refused(config).contains("tls:"),
        "a token alone is read by those between"
    );
    let mut config = listen("tls:127.0.0.1:0");
    let swapped = |one: &Certificate| Certificate {
        chain: one.key.clone(),
        key: one.chain.clone(),
    };
    config.server.certificate = Some(swapped(&good));
    assert!(refused(config).contains("no certificate in PEM"));
    let set = |mode| std::os::unix::fs::PermissionsExt::from_mode(mode);
    let fixtures = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut config = listen("tls:127.0.0.1:0");
    config.server.certificate = Some(Certificate {
        chain: fixtures.join("signs.pem"),
        key: good.key.clone(),
    });
    assert!(refused(config).contains("basicConstraints=critical,CA:FALSE"));
    std::fs::set_permissions(&good.key, set(0o644)).unwrap();
    assert!(refused(listen("tls:127.0.0.1:0")).contains("chmod 600"));
    std::fs::set_permissions(&good.key, set(0o600)).unwrap();
    let rig = rig();
    std::fs::write(rig.folder.0.join("cert.pem"), "nothing").unwrap();
    rig.daemon.reload();
    // The daemon still shows the old one.
    rig.tls("localhost").hello("still");
    rig.daemon.stop().unwrap();
}

/// A client above the limit of sessions is refused with a reason, through TLS too, and silent
/// clients do not delay that.
#[test]
fn sessions_above_the_limit_are_refused_with_a_reason() {
    let rig = rig_of(1);
    let (mut first, _) = rig.application("first");
    let tls = rig.daemon.addresses().iter().find_map(|at| match at {
        Address::Tls(at) => Some(*at),
        _ => None,
    });
    let tls = tls.unwrap();
    let mut silent: Vec<_> = (0..8).map(|_| TcpStream::connect(tls).unwrap()).collect();
    for _ in 0..3 {
        let mut late = rig.tls("localhost");
        late.write("{\"id\":1,\"ask\":\"hello\",\"version\":2,\"name\":\"late\"}\n");
        match late.next_message() {
            Some(Message::Refused { refusal, .. }) => {
                assert_eq!(refusal.kind, RefusalKind::Limit);
                assert!(refusal.text.contains("1 sessions at a time"), "{refusal:?}");
            }
            other => panic!("{other:?}"),
        }
        assert!(late.next_message().is_none());
    }
    // They are closed after their timeout.
    for socket in &mut silent {
        let most = Some(Duration::from_secs(60));
        socket.set_read_timeout(most).unwrap();
        let mut bytes = Vec::new();
        let _ = socket.read_to_end(&mut bytes);
    }
    assert!(first.ask(r#""ask":"overview""#).is_ok());
    rig.daemon.stop().unwrap();
}
