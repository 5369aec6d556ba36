//! Malicious and broken clients: garbage, silence, floods and sudden ends.

use crate::rig::{Client, Rig, Socket, content, pipe, sends, sink, soon};
use isthmus_nic_protocol::{Answer, Event, LINE_BYTES, Message, RefusalKind};
use isthmus_stream::{Format, LinkId, StreamId};
use isthmus_stream_net::rank::Sender;
use proptest::prelude::*;
use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::time::{Duration, Instant};

/// Check that the daemon admits and answers a client.
fn check_health(rig: &Rig) {
    let (mut client, _) = rig.application("well");
    assert!(matches!(
        client.ask(r#""ask":"overview""#),
        Ok(Answer::Overview { .. })
    ));
}

/// Return all messages of a socket until its end.
fn all_messages(client: &mut Client) -> Vec<Message> {
    std::iter::from_fn(|| client.next_message()).collect()
}

fn shut(client: &Client) {
    let shut = match &client.socket {
        Socket::Tcp(socket) => socket.shutdown(Shutdown::Write),
        Socket::Unix(socket) => socket.shutdown(Shutdown::Write),
        Socket::Tls(_) => Ok(()),
    };
    shut.unwrap();
}

/// Sinks that read nothing fill only the memory of the applications that send to them. A stream of
/// another application continues, and the daemon answers.
#[test]
fn sinks_that_read_nothing_block_only_their_senders() {
    const ADU: u64 = 256 << 10;
    let rig = Rig::with(|config| {
        config.limits.network_bytes = 1 << 20;
        config.limits.staging_bytes = 1 << 20;
        config.stall = Duration::from_millis(200);
    });
    let dead = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let dead = dead.local_addr().unwrap();
    let send = |link: Socket, stream: u32, adus: u64| {
        let mut sender = Sender::new(LinkId(0), pipe(link));
        let format = Format::fixed(ADU, ADU, &[LinkId(0)]);
        let data = content(3, ADU);
        (0..adus).try_fold(0, |before, adu| {
            sender.send_adu(StreamId(stream), &format, (adu, &data), (before, 0), soon())
        })
    };
    let mut stuck = Vec::new();
    for number in 0..4 {
        let (mut session, ticket) = rig.application("stuck");
        let speaks = ["tcp", "raw:tcp"][number % 2];
        let connection = session.open(&format!("{speaks}:{dead}"), "");
        // More than the system buffers for a socket that is never read.
        let stream = session
            .submit(&sends(connection, ADU, ADU, &[0], 1000))
            .unwrap();
        let link = rig.unix().link(&ticket, 0);
        let rank = std::thread::spawn(move || send(link, stream, 1000));
        session.event(|event| match event {
            Event::Stalled { waits, .. } => {
                let full = |it: &String| it.starts_with("its application has all network memory");
                waits.iter().any(full).then_some(())
            }
            _ => None,
        });
        stuck.push((session, rank));
    }
    let (mut session, ticket) = rig.application("goes on");
    let (address, taken) = sink();
    let connection = session.open(&address, "");
    let stream = session
        .submit(&sends(connection, ADU, ADU, &[0], 8))
        .unwrap();
    send(rig.unix().link(&ticket, 0), stream, 8).unwrap();
    assert_eq!(session.wait(stream).state, "done");
    let rest = format!(r#""ask":"close","connection":{connection}"#);
    session.ask(&rest).unwrap();
    assert_eq!(taken.join().unwrap().1, content(3, ADU).repeat(8));
    check_health(&rig);
    rig.daemon.stop().unwrap();
    for (_, rank) in stuck {
        assert!(rank.join().unwrap().is_err(), "the sink takes nothing");
    }
}

/// Generate lines, most of them invalid and some cut in the middle.
fn garbage() -> impl Strategy<Value = Vec<u8>> {
    let asked = prop_oneof![
        Just(r#"{"id":1,"ask":"hello","version":2,"name":"g"}"#.to_owned()),
        Just(r#"{"id":1,"ask":"hello","version":2,"name":""}"#.to_owned()),
        Just(r#"{"id":1,"ask":"join","version":2,"ticket":"00"}"#.to_owned()),
        Just(
            r#"{"id":1,"ask":"link","version":2,"ticket":"","link":9,"carrier":"socket"}"#
                .to_owned()
        ),
        Just(r#"{"id":2,"ask":"overview"}"#.to_owned()),
        Just(r#"{"id":3,"ask":"wait","stream":0,"adus":18446744073709551615}"#.to_owned()),
        Just(r#"{"id":-1,"ask":"wait"}"#.to_owned()),
        Just(r#"{"id":4,"ask":"open","destination":"raw:accept:127.0.0.1:0"}"#.to_owned()),
        Just(r#"{"id":4,"ask":"open","destination":"tcp:127.0.0.1:1","window_bytes":18446744073709551615}"#.to_owned()),
        Just(format!(
            r#"{{"id":5,"ask":"submit","streams":[{}]}}"#,
            sends(0, u64::MAX, u64::MAX, &[0, 1, 65535], u64::MAX)
        )),
        Just("[".repeat(10_000)),
        ".{0,40}",
    ];
    let line = prop_oneof![
        4 => asked.prop_map(String::into_bytes),
        1 => proptest::collection::vec(any::<u8>(), 0..200),
    ];
    let lines = proptest::collection::vec(line, 0..12);
    (lines, any::<prop::sample::Index>()).prop_map(|(lines, cut)| {
        let mut bytes = lines.join(&b'\n');
        if !bytes.is_empty() && cut.index(3) == 0 {
            bytes.truncate(cut.index(bytes.len()));
        }
        bytes.push(b'\n');
        bytes
    })
}

/// Whatever a client sends to the control port, it receives valid lines until the daemon closes the
/// socket, and the daemon stays healthy.
#[test]
fn garbage_is_answered_with_refusals() {
    let rig = Rig::new();
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: 200,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let tried = runner.run(&garbage(), |bytes| {
        let mut client = rig.tcp();
        // The daemon may close the socket before everything is written.
        let _ = client.socket.write_all(&bytes);
        shut(&client);
        all_messages(&mut client);
        Ok(())
    });
    tried.unwrap();
    check_health(&rig);
    rig.daemon.stop().unwrap();
}

/// A line that is too long is refused, before hello and after; memory never holds more than one
/// line.
#[test]
fn a_line_without_an_end_is_refused() {
    let rig = Rig::new();
    let mut client = rig.tcp();
    client.hello("long");
    let piece = vec![b' '; 64 << 10];
    for _ in 0..=LINE_BYTES / piece.len() {
        if client.socket.write_all(&piece).is_err() {
            break;
        }
    }
    let refused = |messages: Vec<Message>| {
        let last = messages.last().expect("a refusal");
        assert!(
            matches!(last, Message::Refused { refusal, .. } if refusal.kind == RefusalKind::Garbled),
            "{last:?}"
        );
    };
    refused(all_messages(&mut client));
    let mut client = rig.unix();
    let _ = client.socket.write_all(&piece);
    refused(all_messages(&mut client));
    check_health(&rig);
    rig.daemon.stop().unwrap();
}

/// A client that asks and never reads is blocked at a bounded cost; others are served.
#[test]
fn a_client_that_never_reads_blocks_no_other() {
    let rig = Rig::new();
    let mut slow = rig.tcp();
    slow.hello("slow");
    let Socket::Tcp(socket) = &mut slow.socket else {
        panic!("it is TCP");
    };
    socket
        .set_write_timeout(Some(Duration::from_millis(300)))
        .unwrap();
    let line = b"{\"id\":7,\"ask\":\"overview\"}\n".repeat(1000);
    let mut written = 0;
    let deadline = soon();
    // Until the daemon reads no more, as the client reads no answers.
    loop {
        match socket.write(&line[written % line.len()..]) {
            Ok(bytes) => written += bytes,
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) => panic!("{error}"),
        }
        assert!(
            Instant::now() < deadline,
            "{written} bytes of requests taken"
        );
    }
    check_health(&rig);
    // Once the client reads, every complete request is answered.
    let whole = written / (line.len() / 1000);
    for _ in 0..whole {
        assert!(matches!(
            slow.next_message(),
            Some(Message::Answer { id: 7, .. })
        ));
    }
    rig.daemon.stop().unwrap();
}

/// A watcher that does not read receives the number of missed events; the stream continues
/// meanwhile.
#[test]
fn a_watcher_that_does_not_read_receives_the_number_of_missed_events() {
    let rig = Rig::new();
    let (mut session, ticket) = rig.application("many");
    let mut watcher = rig.unix();
    let rest = format!(r#""ask":"join","version":2,"ticket":"{ticket}","watch":true"#);
    watcher.ask(&rest).unwrap();
    let (address, taken) = sink();
    let connection = session.open(&address, "");
    let adus = 30_000;
    let stream = session
        .submit(&sends(connection, 64, 64, &[0], adus))
        .unwrap();
    let mut rank = rig.unix().link(&ticket, 0);
    let writer = std::thread::spawn(move || {
        let format = isthmus_stream::Format::fixed(64, 64, &[isthmus_stream::LinkId(0)]);
        let mut all = Vec::new();
        for adu in 0..adus {
            let tu = format.tu(adu, 64, 0).unwrap();
            let su = format.sus(64).next().unwrap();
            let kind = isthmus_stream_net::frame::Kind::Data;
            let id = isthmus_stream::StreamId(stream);
            let frame = isthmus_stream_net::frame::Frame::su(kind, id, &tu, &su);
            all.extend(frame.encode());
            all.extend([adu as u8; 64]);
        }
        rank.write_all(&all).unwrap();
        rank
    });
    let mut ended = session.wait(stream);
    assert_eq!((ended.state.as_str(), ended.done), ("done", adus));
    let _rank = writer.join().unwrap();
    // Received and missed events together are all events: 2 per ADU, and 2 more.
    let (mut events, mut missed) = (0, 0);
    while events + missed < 2 * adus + 2 {
        match watcher.next_message() {
            Some(Message::Event {
                event: Event::Missed { events },
            }) => missed += events,
            Some(Message::Event { event }) => {
                events += 1;
                if let Event::Ended { stream } = event {
                    ended = stream;
                }
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(missed > 0, "it read all of {events} events");
    assert_eq!((events + missed, ended.done), (2 * adus + 2, adus));
    drop(session);
    assert_eq!(taken.join().unwrap().0.adus, adus);
    rig.daemon.stop().unwrap();
}

/// A thousand sockets send nothing or half a line: those beyond the limit are refused at once, the
/// others after their timeout, and a client that has sent hello is served all the while.
#[test]
fn a_thousand_silent_sockets_are_closed() {
    let rig = Rig::with(|config| {
        config.server.sessions = 100;
        config.server.hello = Duration::from_secs(1);
    });
    let (mut session, _) = rig.application("before");
    let mut silent = VecDeque::new();
    let refused = |mut client: Client| {
        for message in all_or_reset(&mut client) {
            assert!(
                matches!(message, Message::Refused { id: None, .. }),
                "{message:?}"
            );
        }
    };
    for number in 0..1000 {
        let mut client = rig.tcp();
        if number % 2 == 0 {
            // The daemon may have closed it already.
            let _ = client.socket.write_all(b"{\"id\":1,");
        }
        silent.push_back(client);
        // Few enough for the limit of descriptors of a process, with those of other tests.
        if silent.len() > 300 {
            refused(silent.pop_front().unwrap());
        }
        if number % 100 == 0 {
            assert!(session.ask(r#""ask":"overview""#).is_ok());
        }
    }
    silent.into_iter().for_each(refused);
    let until = soon();
    // Their connection slots are free again.
    loop {
        let mut client = rig.unix();
        match client.ask(r#""ask":"hello","version":2,"name":"after""#) {
            Ok(_) => break,
            Err(refusal) => assert_eq!(refusal.kind, RefusalKind::Limit),
        }
        assert!(Instant::now() < until);
    }
    rig.daemon.stop().unwrap();
}

fn all_or_reset(client: &mut Client) -> Vec<Message> {
    let Socket::Tcp(socket) = &mut client.socket else {
        panic!("it is TCP");
    };
    let mut bytes = Vec::new();
    // Closing a socket with unread bytes resets it.
    let _ = socket.read_to_end(&mut bytes);
    let lines = bytes
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty());
    lines
        .filter_map(|line| isthmus_nic_protocol::read(line).ok())
        .collect()
}

/// Sessions, ranks and peers that end at arbitrary moments leave nothing behind: no application,
/// link, connection, memory or descriptor.
#[test]
fn clients_that_end_suddenly_leave_nothing_behind() {
    let rig = Rig::new();
    let (mut watch, _) = rig.application("watch");
    let descriptors = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let round = |number: u64| {
        let (mut session, ticket) = rig.application("sudden");
        let (address, taken) = sink();
        let connection = session.open(&address, "");
        let mut link = rig.tcp().link(&ticket, 0);
        let _rings = rig.unix().rings(&ticket, 1, [1 << 16, 1 << 16]);
        let _waits = session.open("raw:accept:127.0.0.1:0", r#","window_bytes":1000"#);
        let stream = session
            .submit(&sends(connection, 8192, 4096, &[0, 1], 3))
            .unwrap();
        let id = session.send(&format!(r#""ask":"wait","stream":{stream}"#));
        link.write_all(&vec![b'I'; number as usize % 40]).unwrap();
        let mut half = rig.tcp();
        half.write(r#"{"id":1,"ask":"lin"#);
        if number.is_multiple_of(3) {
            drop(link);
            // No frame was complete: the stream fails with its link, or with its session below.
            assert!(session.answer(id).is_ok());
        }
        drop(session);
        taken.join().unwrap();
    };
    round(0);
    let rest = r#""ask":"overview","all":true"#;
    let settled = || {
        let deadline = soon();
        loop {
            // The daemon's own user may see all applications.
            let mut operator = rig.unix();
            let hello = r#""ask":"hello","version":2,"name":"o","operator":true"#;
            operator.ask(hello).unwrap();
            let Ok(Answer::Overview { overview }) = operator.ask(rest) else {
                panic!("an operator sees all");
            };
            let live = |open: bool, gone: bool| open && !gone;
            let mut lines = overview.connections.iter();
            let idle = overview
                .applications
                .iter()
                .all(|(_, name)| name != "sudden")
                && overview.links.is_empty()
                && !lines.any(|line| live(line.open, line.gone.is_some()))
                && overview.streams.iter().all(|stream| stream.over)
                && overview
                    .counts
                    .staging_bytes
                    .iter()
                    .all(|(used, _)| *used == 0)
                && overview
                    .counts
                    .network_bytes
                    .iter()
                    .all(|(used, _)| *used == 0);
            if idle {
                return;
            }
            assert!(Instant::now() < deadline, "{overview:#?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    settled();
    let before = descriptors();
    for number in 1..40 {
        round(number);
    }
    settled();
    let deadline = soon();
    // Other tests of this process have descriptors too.
    while descriptors() > before + 60 {
        assert!(
            Instant::now() < deadline,
            "{} descriptors, {before} before",
            descriptors()
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(watch.ask(r#""ask":"overview""#).is_ok());
    rig.daemon.stop().unwrap();
}

/// Daemons are stopped and started repeatedly while clients send, ask and connect: each client gets
/// an answer or a closed socket, none waits forever, and the address is free each time.
#[test]
fn it_stops_and_starts_under_load() {
    let mut rig = Rig::with(|config| config.grace = Duration::from_millis(50));
    for _ in 0..5 {
        let path = rig.folder.0.join("nic.sock");
        let busy: Vec<_> = (0..4)
            .map(|_| {
                let (mut session, ticket) = rig.application("busy");
                let mut link = rig.unix().link(&ticket, 0);
                std::thread::spawn(move || {
                    let (address, taken) = sink();
                    let rest = format!(r#""ask":"open","destination":"{address}""#);
                    let id = session.send(&rest);
                    let Ok(Answer::Connection { connection }) = session.answer(id) else {
                        return;
                    };
                    let endless = sends(connection, 4096, 4096, &[0], 1 << 40);
                    // A late client is refused like a waiting one.
                    let stream = match session.submit(&endless) {
                        Ok(stream) => stream,
                        Err(refusal) => {
                            return assert_eq!(refusal.kind, RefusalKind::Ending);
                        }
                    };
                    let id = session.send(&format!(r#""ask":"wait","stream":{stream}"#));
                    let format =
                        isthmus_stream::Format::fixed(4096, 4096, &[isthmus_stream::LinkId(0)]);
                    for adu in 0.. {
                        let tu = format.tu(adu, 4096, 0).unwrap();
                        let su = format.sus(4096).next().unwrap();
                        let kind = isthmus_stream_net::frame::Kind::Data;
                        let id = isthmus_stream::StreamId(stream);
                        let frame = isthmus_stream_net::frame::Frame::su(kind, id, &tu, &su);
                        let sent = link.write_all(&frame.encode());
                        if sent.and_then(|()| link.write_all(&[7; 4096])).is_err() {
                            break;
                        }
                    }
                    assert_eq!(session.answer(id).unwrap_err().kind, RefusalKind::Ending);
                    while session.next_message().is_some() {}
                    taken.join().unwrap();
                })
            })
            .collect();
        let Rig { daemon, folder } = rig;
        let addresses = daemon.addresses().to_vec();
        std::thread::sleep(Duration::from_millis(50));
        daemon.stop().unwrap();
        for thread in busy {
            thread.join().unwrap();
        }
        assert!(!path.exists());
        let mut config = isthmus_nic::Config::new(addresses);
        config.grace = Duration::from_millis(50);
        let daemon = isthmus_nic::Daemon::start(config).unwrap();
        rig = Rig { daemon, folder };
    }
    check_health(&rig);
    rig.daemon.stop().unwrap();
}

/// Clients that send requests without pause and read all answers do not delay the end of a stream.
#[test]
fn a_flood_of_requests_delays_no_stream() {
    let rig = Rig::new();
    let over = std::sync::atomic::AtomicBool::new(false);
    let answered = std::sync::atomic::AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let (mut session, _) = rig.application("asks");
                while !over.load(std::sync::atomic::Ordering::Relaxed) {
                    session.ask(r#""ask":"overview""#).unwrap();
                    answered.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                }
            });
        }
        let (mut session, ticket) = rig.application("streams");
        let (address, taken) = sink();
        let connection = session.open(&address, "");
        let stream = session
            .submit(&sends(connection, 4096, 4096, &[0], 200))
            .unwrap();
        let mut link = rig.unix().link(&ticket, 0);
        let format = isthmus_stream::Format::fixed(4096, 4096, &[isthmus_stream::LinkId(0)]);
        for adu in 0..200 {
            let tu = format.tu(adu, 4096, 0).unwrap();
            let su = format.sus(4096).next().unwrap();
            let kind = isthmus_stream_net::frame::Kind::Data;
            let id = isthmus_stream::StreamId(stream);
            let frame = isthmus_stream_net::frame::Frame::su(kind, id, &tu, &su);
            link.write_all(&frame.encode()).unwrap();
            link.write_all(&[7; 4096]).unwrap();
        }
        assert_eq!(session.wait(stream).state, "done");
        over.store(true, std::sync::atomic::Ordering::Relaxed);
        drop(session);
        assert_eq!(taken.join().unwrap().0.adus, 200);
    });
    assert!(answered.into_inner() > 0);
    rig.daemon.stop().unwrap();
}
