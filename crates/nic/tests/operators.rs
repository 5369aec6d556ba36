//! Interfaces of operators: tokens, the log, metrics.

use crate::rig::{Client, Folder, Rig, sends, sink, soon};
use isthmus_nic::{Address, Config, Daemon, Logs, Secret};
use isthmus_nic_protocol::{Answer, RefusalKind};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::time::Instant;

const TOKEN: &str = "0123456789abcdef-clients";
const OPERATOR: &str = "0123456789abcdef-operators";

fn hello(client: &mut Client, token: Option<&str>, operator: bool) -> Result<Answer, RefusalKind> {
    let token = token.map_or_else(String::new, |token| format!(r#","token":"{token}""#));
    let rest = format!(r#""ask":"hello","version":2,"name":"who","operator":{operator}{token}"#);
    client.ask(&rest).map_err(|refusal| refusal.kind)
}

/// Each token admits its clients. An operator sees and cancels streams of all applications, a
/// client only its own.
#[test]
fn each_token_admits_its_clients() {
    let folder = Folder::new();
    let path = folder.0.join("log");
    let log = Logs::File(path.clone());
    let rig = Rig::with(|config| {
        config.server.tokens.clients = Some(Secret::new(TOKEN).unwrap());
        config.server.tokens.operators = Some(Secret::new(OPERATOR).unwrap());
        config.server.log = log;
    });
    let denied = |mut client: Client, token: Option<&str>, operator: bool| {
        let found = hello(&mut client, token, operator);
        assert_eq!(found, Err(RefusalKind::Denied), "{token:?} {operator}");
        assert_eq!(client.next_message(), None);
    };
    for token in [None, Some("0123456789abcdef"), Some(OPERATOR), Some("")] {
        denied(rig.tcp(), token, false);
        denied(rig.unix(), token, false);
    }
    for token in [None, Some(TOKEN)] {
        denied(rig.tcp(), token, true);
        denied(rig.unix(), token, true);
    }
    let (mut client, mut operator) = (rig.tcp(), rig.tcp());
    hello(&mut client, Some(TOKEN), false).unwrap();
    hello(&mut operator, Some(OPERATOR), true).unwrap();
    let (address, _taken) = sink();
    let connection = client.open(&address, "");
    let stream = client
        .submit(&sends(connection, 1 << 10, 1 << 10, &[0], 1))
        .unwrap();
    let all = r#""ask":"overview","all":true"#;
    assert_eq!(client.ask(all).unwrap_err().kind, RefusalKind::Denied);
    match operator.ask(all).unwrap() {
        Answer::Overview { overview } => {
            assert_eq!(overview.applications.len(), 2);
            assert_eq!(overview.streams.len(), 1);
        }
        other => panic!("{other:?}"),
    }
    let finish = format!(r#""ask":"finish","stream":{stream},"adus":1"#);
    assert_eq!(operator.ask(&finish).unwrap_err().kind, RefusalKind::Denied);
    operator
        .ask(&format!(r#""ask":"cancel","stream":{stream}"#))
        .unwrap();
    assert_eq!(client.wait(stream).state, "cancelled");
    drop((client, operator));
    rig.daemon.stop().unwrap();
    let log = std::fs::read_to_string(&path).unwrap();
    let says = |words: &[&str]| {
        let found = log
            .lines()
            .any(|line| words.iter().all(|word| line.contains(word)));
        assert!(found, "no line says {words:?} in\n{log}");
    };
    says(&["who #0 127.0.0.1:", "| open raw:tcp:", "| connection 0"]);
    says(&["who #1 127.0.0.1:", "| cancel stream 0 | ok"]);
    says(&["who #0 | stream 0 | cancelled"]);
    says(&["uid ", "| begin | refused: wrong token"]);
    says(&["daemon | ended | ok"]);
    assert!(!log.contains("0123456789abcdef"), "a token is in the log");
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

/// After the log was moved away, it continues under its name.
#[test]
fn a_log_that_was_moved_away_is_created_again() {
    let folder = Folder::new();
    let path = folder.0.join("log");
    let log = Logs::File(path.clone());
    let rig = Rig::with(|config| config.server.log = log);
    rig.application("before");
    let deadline = soon();
    let until = |text: &str| {
        while !std::fs::read_to_string(&path).is_ok_and(|log| log.contains(text)) {
            assert!(Instant::now() < deadline, "no {text} in the log");
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    };
    until("leave, after hello");
    std::fs::rename(&path, folder.0.join("log.1")).unwrap();
    rig.daemon.reload();
    rig.application("after");
    until("after #1");
    rig.daemon.stop().unwrap();
    let old = std::fs::read_to_string(folder.0.join("log.1")).unwrap();
    assert!(old.contains("before #0") && !old.contains("after #1"));
}

#[test]
fn tokens_are_read_from_files_that_others_cannot_read() {
    let folder = Folder::new();
    let path = folder.0.join("token");
    let refused = || Secret::read(&path).unwrap_err().to_string();
    assert!(refused().contains("No such file"));
    std::fs::write(&path, format!("{TOKEN}\n")).unwrap();
    let mode = |mode| std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
    mode(0o640);
    assert!(refused().contains("mode 640); chmod 600"), "{}", refused());
    mode(0o600);
    let secret = Secret::read(&path).unwrap();
    assert!(secret.is(TOKEN) && !secret.is(OPERATOR) && !secret.is(""));
    assert!(!format!("{secret:?}").contains("0123"));
    std::fs::write(&path, "short\n").unwrap();
    assert!(refused().contains("openssl rand"), "{}", refused());
    std::fs::write(&path, "").unwrap();
    assert!(refused().contains("16 to 4096"), "{}", refused());
}

/// A daemon that other machines could reach without a secret does not start.
#[test]
fn remote_access_needs_a_secret() {
    let config = Config::new(vec![Address::parse("tcp:0.0.0.0:0").unwrap()]);
    let refused = Daemon::start(config).unwrap_err().to_string();
    assert!(refused.contains("token and TLS"), "{refused}");
    assert!(Daemon::start(Config::new(Vec::new())).is_err());
    for wrong in ["unix:here", "tcp:localhost:1", "7000", "http://x"] {
        assert!(Address::parse(wrong).is_err(), "{wrong}");
    }
}

fn get(at: std::net::SocketAddr, request: &str) -> String {
    get_of("localhost", at, request)
}

fn get_of(host: &str, at: std::net::SocketAddr, request: &str) -> String {
    let mut socket = TcpStream::connect(at).unwrap();
    socket
        .write_all(format!("{request}\r\nHost: {host}\r\n\r\n").as_bytes())
        .unwrap();
    let mut text = String::new();
    socket.read_to_string(&mut text).unwrap();
    text
}

/// Prometheus reads the metrics. Clients that send another request, or none, delay no others.
#[test]
fn metrics_count_events() {
    let at = "127.0.0.1:0".parse().unwrap();
    let rig = Rig::with(|config| config.server.metrics = Some(at));
    let at = rig.daemon.metrics().unwrap();
    let (mut session, _) = rig.application("counted");
    let (address, _taken) = sink();
    let connection = session.open(&address, "");
    let stream = session
        .submit(&sends(connection, 1 << 10, 1 << 10, &[0], 1))
        .unwrap();
    session
        .ask(&format!(r#""ask":"cancel","stream":{stream}"#))
        .unwrap();
    session.wait(stream);
    session.ask(r#""ask":"stream","stream":77"#).unwrap_err();
    let _silent = TcpStream::connect(at).unwrap();
    let wanted = [
        "isthmus_nic_applications 1",
        "isthmus_nic_applications_total 1",
        "isthmus_nic_connections{state=\"open\"} 1",
        "isthmus_nic_streams_ended_total{end=\"cancelled\"} 1",
        "isthmus_nic_refusals_total 1",
        "isthmus_nic_staging_limit_bytes 268435456",
    ];
    // Events are counted after waiting requests are answered.
    let deadline = soon();
    loop {
        let text = get(at, "GET /metrics HTTP/1.1");
        let missing = |line: &&str| !text.lines().any(|found| found == *line);
        let Some(line) = wanted.into_iter().find(missing) else {
            break;
        };
        assert!(Instant::now() < deadline, "no {line} in\n{text}");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert!(get(at, "GET /healthz HTTP/1.0").ends_with("\r\n\r\nok\n"));
    assert!(get(at, "GET / HTTP/1.1").starts_with("HTTP/1.1 404"));
    assert!(get(at, "POST /metrics HTTP/1.1").starts_with("HTTP/1.1 405"));
    assert!(get(at, "HEAD /metrics HTTP/1.1").ends_with("\r\n\r\n"));
    assert!(get(at, "GET").starts_with("HTTP/1.1 400"));
    // Another site may resolve its own name to this address.
    let status = |host: &str| get_of(host, at, "GET /metrics HTTP/1.1")[9..12].to_owned();
    let own = rustix::system::uname();
    let own = own.nodename().to_str().unwrap();
    for (host, wanted) in [
        ("evil.example", "403"),
        ("evil.example:9464", "403"),
        ("localhost.evil.example", "403"),
        ("127.0.0.1:9464", "200"),
        ("[::1]:9464", "200"),
        (own, "200"),
    ] {
        assert_eq!(status(host), wanted, "{host}");
    }
    rig.daemon.stop().unwrap();
}

/// The lines HELP and TYPE of each metric occur once before its values, and exactly the names of
/// counters end in `_total`, as Prometheus requires.
#[test]
fn the_text_has_the_format_of_prometheus() {
    let at = "127.0.0.1:0".parse().unwrap();
    let rig = Rig::with(|config| config.server.metrics = Some(at));
    let answer = get(rig.daemon.metrics().unwrap(), "GET /metrics HTTP/1.1");
    let (_, text) = answer.split_once("\r\n\r\n").unwrap();
    let (mut heads, mut kind) = (Vec::new(), String::new());
    for line in text.lines() {
        let mut words = line.split(' ');
        match (words.next().unwrap(), words.next().unwrap()) {
            ("#", "HELP") => {
                let name = words.next().unwrap().to_owned();
                assert!(!heads.contains(&name), "{name} twice");
                assert!(words.next().is_some(), "{name} without help");
                heads.push(name);
            }
            ("#", "TYPE") => {
                assert_eq!(words.next(), heads.last().map(String::as_str));
                kind = words.next().unwrap().to_owned();
            }
            (name, value) => {
                let bare = name.split('{').next().unwrap();
                assert_eq!(Some(bare), heads.last().map(String::as_str));
                assert_eq!(bare.ends_with("_total"), kind == "counter", "{bare}");
                value.parse::<f64>().unwrap();
            }
        }
    }
    assert!(heads.len() > 20);
    rig.daemon.stop().unwrap();
}

/// Clients that connect and send nothing delay no others. If there are too many of them, a new
/// client is refused at once.
#[test]
fn silent_clients_delay_no_scrape() {
    let at = "127.0.0.1:0".parse().unwrap();
    let rig = Rig::with(|config| config.server.metrics = Some(at));
    let at = rig.daemon.metrics().unwrap();
    // Sequential timeouts would take 30 seconds.
    let silent: Vec<_> = (0..15).map(|_| TcpStream::connect(at).unwrap()).collect();
    let began = Instant::now();
    assert!(get(at, "GET /metrics HTTP/1.1").starts_with("HTTP/1.1 200"));
    assert!(began.elapsed().as_secs() < 15, "{:?}", began.elapsed());
    drop(silent);
    let deadline = soon();
    loop {
        assert!(Instant::now() < deadline, "nobody was refused");
        let _silent: Vec<_> = (0..16).map(|_| TcpStream::connect(at).unwrap()).collect();
        let mut socket = TcpStream::connect(at).unwrap();
        let mut text = String::new();
        // The refusal comes without a request.
        socket.read_to_string(&mut text).unwrap();
        if text.starts_with("HTTP/1.1 503") {
            assert!(text.ends_with("ask again\n"), "{text}");
            break;
        }
    }
    rig.daemon.stop().unwrap();
}

/// Contradictory settings are refused: one token for programs and for operators, more memory than
/// the machine has.
#[test]
fn contradictory_settings_do_not_start() {
    let refused = |change: &dyn Fn(&mut Config)| {
        let mut config = Config::new(vec![Address::parse("tcp:127.0.0.1:0").unwrap()]);
        change(&mut config);
        Daemon::start(config).unwrap_err().to_string()
    };
    let said = refused(&|config| {
        config.server.tokens.clients = Some(Secret::new(TOKEN).unwrap());
        config.server.tokens.operators = Some(Secret::new(TOKEN).unwrap());
    });
    assert!(said.contains("--operator-token-file"), "{said}");
    let said = refused(&|config| config.limits.staging_bytes = 900 << 40);
    assert!(
        said.contains("--staging") && said.contains("machine has"),
        "{said}"
    );
    let said = refused(&|config| config.limits.network_bytes = u64::MAX);
    assert!(
        said.contains("--network") && said.contains("machine has"),
        "{said}"
    );
}
