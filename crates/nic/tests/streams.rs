//! Streams through a daemon: over all kinds of link, to all kinds of destination.

use crate::rig::{Client, Rig, Socket, content, pipe, sends, sink, soon, spec};
use isthmus_nic_protocol::{Answer, Event, RefusalKind};
use isthmus_ring::Producer;
use isthmus_stream::{Format, LinkId, StreamId};
use isthmus_stream_net::frame::{Frame, Kind};
use isthmus_stream_net::rank::{Pipe, Sender};

pub const ADU: u64 = 96 << 10;
pub const TU: u64 = 64 << 10;

/// Write ADUs to a link, as its rank does.
pub fn feed(links: Vec<(u16, Pipe)>, stream: u32, order: &[u16], adus: &[Vec<u8>]) {
    let ids: Vec<_> = order.iter().map(|link| LinkId(*link)).collect();
    let format = Format::fixed(adus[0].len() as u64, TU, &ids);
    for (link, pipe) in links {
        let mut sender = Sender::new(LinkId(link), pipe);
        let mut before = 0;
        for (number, adu) in adus.iter().enumerate() {
            let stream = StreamId(stream);
            let adu = (number as u64, adu.as_slice());
            let sent = sender.send_adu(stream, &format, adu, (before, 0), soon());
            before = sent.unwrap();
        }
        // Close it when everything is read.
        std::mem::forget(sender);
    }
}

pub fn data(adus: u64) -> Vec<Vec<u8>> {
    (0..adus).map(|adu| content(adu, ADU)).collect()
}

/// Three links of three kinds carry one stream to a sink that verifies it; all its events are
/// reported.
#[test]
fn a_stream_over_rings_and_sockets_arrives_complete() {
    let rig = Rig::new();
    let (mut session, ticket) = rig.application("three");
    let (handles, _alive) = rig.unix().rings(&ticket, 0, [1 << 20, 0]);
    let ring = Producer::attach(handles.into_iter().next().unwrap(), 1 << 20).unwrap();
    let unix = rig.unix().link(&ticket, 1);
    let tcp = rig.tcp().link(&ticket, 7);
    let (address, taken) = sink();
    let connection = session.open(&address, "");
    let stream = session.submit(&sends(connection, ADU, TU, &[0, 1, 7], 4));
    let stream = stream.unwrap();
    let links = vec![(0, Pipe::Producer(ring)), (1, pipe(unix)), (7, pipe(tcp))];
    let adus = data(4);
    // The SUs of one TU go over three links. A thread per link writes them, like ranks.
    let threads: Vec<_> = links
        .into_iter()
        .map(|link| {
            let adus = adus.clone();
            std::thread::spawn(move || feed(vec![link], stream, &[0, 1, 7], &adus))
        })
        .collect();
    let status = session.wait(stream);
    assert_eq!((status.state.as_str(), status.over), ("done", true));
    assert_eq!((status.moved, status.done, status.bytes), (4, 4, 4 * ADU));
    for thread in threads {
        thread.join().unwrap();
    }
    session.event(|event| matches!(event, Event::Opened { .. }).then_some(()));
    for adu in 0..4 {
        session.event(|event| match event {
            Event::Done {
                adu: done, good, ..
            } => (*done == adu && *good).then_some(()),
            _ => None,
        });
    }
    session.event(|event| match event {
        Event::Ended { stream: ended } => (ended.stream == stream).then_some(()),
        _ => None,
    });
    let overview = match session.ask(r#""ask":"overview""#).unwrap() {
        Answer::Overview { overview } => overview,
        other => panic!("{other:?}"),
    };
    let links = overview.links.iter();
    let links: Vec<_> = links
        .map(|link| (link.link, link.carrier.as_str()))
        .collect();
    assert_eq!(links, [(0, "rings"), (1, "unix"), (7, "tcp")]);
    assert_eq!(overview.connections[0].moved_bytes, [4 * ADU, 0]);
    assert_eq!(overview.counts.sent_bytes, 4 * ADU);
    assert_eq!(overview.streams.len(), 1);
    let rest = format!(r#""ask":"close","connection":{connection}"#);
    assert_eq!(session.ask(&rest), Ok(Answer::Done));
    session.event(|event| matches!(event, Event::Closed { .. }).then_some(()));
    let (counts, all) = taken.join().unwrap();
    assert_eq!((counts.adus, counts.ended), (4, 1));
    assert!(all == adus.concat(), "the bytes are others");
    rig.daemon.stop().unwrap();
}

/// An application ends with the session that created it, with all its resources; others continue.
#[test]
fn an_application_ends_with_its_session() {
    let rig = Rig::new();
    let (mut first, ticket) = rig.application("first");
    let (mut other, _) = rig.application("other");
    let mut joined = rig.unix();
    let rest = format!(r#""ask":"join","version":2,"ticket":"{ticket}""#);
    assert!(matches!(joined.ask(&rest), Ok(Answer::Welcome(_))));
    let (address, taken) = sink();
    let connection = first.open(&address, "");
    let stream = first.submit(&sends(connection, ADU, TU, &[0], 4)).unwrap();
    assert_eq!(
        other
            .ask(&format!(r#""ask":"cancel","stream":{stream}"#))
            .unwrap_err()
            .kind,
        RefusalKind::Denied,
    );
    let id = joined.send(&format!(r#""ask":"wait","stream":{stream}"#));
    // It is handled before the other session ends.
    joined.ask(r#""ask":"overview""#).unwrap();
    drop(first);
    assert_eq!(joined.answer(id).unwrap_err().kind, RefusalKind::Ending);
    assert_eq!(joined.next_message(), None, "its session is closed");
    assert!(matches!(
        other.ask(r#""ask":"overview""#),
        Ok(Answer::Overview { .. })
    ));
    let mut late = rig.unix();
    let rest = format!(r#""ask":"join","version":2,"ticket":"{ticket}""#);
    assert_eq!(late.ask(&rest).unwrap_err().kind, RefusalKind::Denied);
    let (counts, _) = taken.join().unwrap();
    assert_eq!(counts.adus, 0);
    rig.daemon.stop().unwrap();
}

/// Invalid requests are refused with their number and the right kind of reason.
#[test]
fn refusals_name_the_remedy() {
    let rig = Rig::with(|config| {
        config.limits.connections = 2;
        config.limits.links = 2;
        config.limits.applications = 2;
        config.limits.waits = 1;
    });
    let (mut session, ticket) = rig.application("refused");
    let (address, _taken) = sink();
    let mut refused = |rest: &str, kind: RefusalKind, word: &str| {
        let refusal = session.ask(rest).unwrap_err();
        assert_eq!(refusal.kind, kind, "{rest}: {refusal:?}");
        assert!(refusal.text.contains(word), "{rest}: {refusal:?}");
    };
    use RefusalKind::{Conflict, Denied, Garbled, Limit, Unknown};
    refused(
        r#""ask":"open","destination":"mail:me""#,
        Garbled,
        "begins with",
    );
    for (destination, word) in [
        ("raw:", "udp:accept:"),
        ("raw:tcp:localhost", "a port up to 65535 stands behind"),
        ("tcp:127.0.0.1:99999", "a port up to 65535 stands behind"),
        ("raw:accept:127.0.0.1:99999", "a port up to 65535"),
        ("udp:127.0.0.1:9?bogus=1", "?mb_per_s="),
    ] {
        let rest = format!(r#""ask":"open","destination":"{destination}""#);
        refused(&rest, Garbled, word);
    }
    refused(
        r#""ask":"open","destination":"tcp:192.0.2.1:80""#,
        Denied,
        "--to",
    );
    refused(
        r#""ask":"open","destination":"raw:given:x""#,
        Denied,
        "raw:tcp:",
    );
    refused(r#""ask":"overview","all":true,"more":1"#, Garbled, "more");
    refused(r#""ask":"stream","stream":9"#, Unknown, "stream 9");
    refused(r#""ask":"close","connection":9"#, Unknown, "connection 9");
    refused(r#""ask":"dance""#, Garbled, "dance");
    refused(r#""ask":"reset","screen":"wall""#, Unknown, "--screens");
    let rest = r#""ask":"open","destination":"tcp:127.0.0.1:9","protocol":"stream""#;
    refused(rest, Conflict, "unconfirmed");
    drop(session);
    let (mut session, _) = rig.application("links");
    let connection = session.open(&address, "");
    let refusal = session
        .submit(&sends(connection, ADU, TU, &[0, 1, 2], 1))
        .unwrap_err();
    assert_eq!(refusal.kind, Limit);
    assert!(refusal.text.contains("2 links"), "{refusal:?}");
    let stream = session
        .submit(&sends(connection, ADU, TU, &[0], 1))
        .unwrap();
    session.send(&format!(r#""ask":"wait","stream":{stream}"#));
    let refusal = session
        .ask(&format!(r#""ask":"wait","stream":{stream}"#))
        .unwrap_err();
    assert_eq!(refusal.kind, Limit);
    let (_second, _) = rig.application("second");
    let mut third = rig.tcp();
    let rest = r#""ask":"hello","version":2,"name":"third""#;
    assert_eq!(third.ask(rest).unwrap_err().kind, Limit);
    assert_eq!(third.next_message(), None);
    let mut old = rig.tcp();
    let rest = r#""ask":"hello","version":99,"name":"old""#;
    assert_eq!(old.ask(rest).unwrap_err().kind, RefusalKind::Version);
    let mut stale = rig.unix();
    let rest = format!(r#""ask":"join","version":2,"ticket":"{ticket}""#);
    assert_eq!(stale.ask(&rest).unwrap_err().kind, Denied);
    rig.daemon.stop().unwrap();
}

/// A link with a rank refuses another one; after its rank has left it takes a new one. The stream
/// that needed the old rank fails, and the reason names the application's own number of the link.
#[test]
fn a_link_has_one_rank_at_a_time() {
    let rig = Rig::new();
    let (mut session, ticket) = rig.application("links");
    let (mut other, others) = rig.application("other");
    // Each application has its own numbers.
    let _first = rig.unix().link(&others, 5);
    let unix = rig.unix().link(&ticket, 5);
    let second =
        format!(r#""ask":"link","version":2,"ticket":"{ticket}","link":5,"carrier":"socket""#);
    assert_eq!(
        rig.tcp().ask(&second).unwrap_err().kind,
        RefusalKind::Conflict
    );
    let (address, _taken) = sink();
    let connection = session.open(&address, "");
    let stream = session
        .submit(&sends(connection, ADU, TU, &[5], 2))
        .unwrap();
    drop(unix);
    let status = session.wait(stream);
    assert_eq!(status.state, "failed");
    assert_eq!(status.reason.as_deref(), Some("a rank on link 5 is gone"));
    session.event(|event| matches!(event, Event::LinkGone { link: 5, .. }).then_some(()));
    let _again = rig.unix().link(&ticket, 5);
    assert!(other.ask(r#""ask":"overview""#).is_ok());
    assert!(other.events.is_empty(), "{:?}", other.events);
    rig.daemon.stop().unwrap();
}

/// A rank cannot affect streams of other applications, whose numbers it can guess.
#[test]
fn a_rank_cannot_touch_streams_of_others() {
    let rig = Rig::new();
    let (mut victim, victims) = rig.application("victim");
    let (_session, ticket) = rig.application("other");
    let unix = rig.unix().link(&victims, 0);
    let (address, taken) = sink();
    let connection = victim.open(&address, "");
    let stream = victim.submit(&sends(connection, ADU, TU, &[0], 1)).unwrap();
    let mut link = pipe(rig.unix().link(&ticket, 0));
    let mark = Frame::mark(Kind::Cut, StreamId(stream), 0, 0);
    link.write_all(&mark.encode(), soon()).unwrap();
    let mut foreign = Sender::new(LinkId(0), link);
    let adus = data(1);
    let format = Format::fixed(ADU, TU, &[LinkId(0)]);
    let adu = (0, adus[0].as_slice());
    foreign
        .send_adu(StreamId(stream), &format, adu, (0, 0), soon())
        .unwrap();
    // Its data has been discarded when its end is detected.
    drop(foreign);
    feed(vec![(0, pipe(unix))], stream, &[0], &adus);
    assert_eq!(victim.wait(stream).state, "done");
    drop(victim);
    assert!(taken.join().unwrap().1 == adus.concat());
    rig.daemon.stop().unwrap();
}

/// The daemon ends under load: each waiting request gets one refusal, watchers get an event,
/// sockets are closed.
#[test]
fn waiting_requests_are_refused_when_the_daemon_ends() {
    let rig = Rig::new();
    let (mut session, _) = rig.application("waits");
    let (address, _taken) = sink();
    let connection = session.open(&address, "");
    let stream = session
        .submit(&sends(connection, ADU, TU, &[0], 2))
        .unwrap();
    let id = session.send(&format!(r#""ask":"wait","stream":{stream}"#));
    // It is handled before the daemon starts to end.
    session.ask(r#""ask":"overview""#).unwrap();
    let Rig { daemon, folder } = rig;
    let stopped = std::thread::spawn(move || daemon.stop());
    assert_eq!(session.answer(id).unwrap_err().kind, RefusalKind::Ending);
    session.event(|event| matches!(event, Event::Ending { .. }).then_some(()));
    while session.next_message().is_some() {}
    stopped.join().unwrap().unwrap();
    assert!(!folder.0.join("nic.sock").exists());
}

/// A second daemon is refused where one listens, and replaces one that was killed.
#[test]
fn an_address_belongs_to_one_daemon() {
    let rig = Rig::new();
    let path = rig.folder.0.join("nic.sock");
    let config = isthmus_nic::Config::new(rig.daemon.addresses().to_vec());
    let refused = isthmus_nic::Daemon::start(config).unwrap_err().to_string();
    assert!(refused.contains("another daemon listens"), "{refused}");
    let config = isthmus_nic::Config::new(rig.daemon.addresses()[1..].to_vec());
    let refused = isthmus_nic::Daemon::start(config).unwrap_err().to_string();
    assert!(refused.contains("take another port"), "{refused}");
    let Rig { daemon, folder } = rig;
    daemon.stop().unwrap();
    // The socket that a killed daemon leaves.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let config = isthmus_nic::Config::new(vec![isthmus_nic::Address::Unix(path.clone())]);
    isthmus_nic::Daemon::start(config.clone())
        .unwrap()
        .stop()
        .unwrap();
    std::fs::write(&path, "a file").unwrap();
    let refused = isthmus_nic::Daemon::start(config).unwrap_err().to_string();
    assert!(refused.contains("no socket"), "{refused}");
    drop(folder);
}

/// A silent socket is closed.
#[test]
fn a_silent_socket_is_closed() {
    let rig = Rig::with(|config| {
        config.server.hello = std::time::Duration::from_millis(50);
    });
    let mut silent: Client = rig.tcp();
    match silent.next_message() {
        Some(isthmus_nic_protocol::Message::Refused { id: None, refusal }) => {
            assert_eq!(refusal.kind, RefusalKind::Garbled);
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(silent.next_message(), None);
}

/// A screen has the geometry that its application set, and belongs to that application while it
/// lives.
#[test]
fn a_screen_belongs_to_one_application() {
    let rig = Rig::with(|config| config.screens = Some("127.0.0.1:0".parse().unwrap()));
    assert!(rig.daemon.page().is_some());
    let (mut draws, ticket) = rig.application("draws");
    let (mut other, _) = rig.application("other");
    let form = |height: u32| {
        format!(
            r#""ask":"geometry","screen":"wall","geometry":{{"width":256,"height":{height},"pixel":"color"}}"#
        )
    };
    let open = r#""ask":"open","destination":"framebuffer:wall""#;
    assert!(draws.ask(open).unwrap_err().text.contains("geometry"));
    assert_eq!(draws.ask(&form(96)), Ok(Answer::Done));
    assert_eq!(draws.ask(&form(0)).unwrap_err().kind, RefusalKind::Conflict);
    let reset = r#""ask":"reset","screen":"wall""#;
    for rest in [open, reset, &form(8)] {
        assert_eq!(
            other.ask(rest).unwrap_err().kind,
            RefusalKind::Denied,
            "{rest}"
        );
    }
    let connection = draws.open("framebuffer:wall", "");
    let unix = rig.unix().link(&ticket, 0);
    let stream = draws.submit(&sends(connection, ADU, TU, &[0], 2)).unwrap();
    feed(vec![(0, pipe(unix))], stream, &[0], &data(2));
    assert_eq!(draws.wait(stream).state, "done");
    assert_eq!(draws.ask(reset), Ok(Answer::Done));
    drop(draws);
    // The sessions of an application end shortly after it leaves.
    let until = soon();
    while other.ask(reset).is_err() {
        assert!(
            std::time::Instant::now() < until,
            "the screen is not let go of"
        );
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    rig.daemon.stop().unwrap();
}

/// A rank that sends to a stream that it receives is out of step: the stream fails, and the link
/// continues.
#[test]
fn a_rank_that_sends_what_it_receives_is_out_of_step() {
    let rig = Rig::new();
    let (mut session, ticket) = rig.application("twisted");
    let (address, taken) = sink();
    let connection = session.open(&address, r#","window_bytes":200000"#);
    let received = session
        .submit(&spec("receive", connection, ADU, TU, &[0], 1))
        .unwrap();
    let sent = session
        .submit(&sends(connection, ADU, TU, &[0], 1))
        .unwrap();
    let link = rig.unix().link(&ticket, 0);
    let Socket::Unix(socket) = &link else {
        panic!("it is a Unix socket");
    };
    let twin = Pipe::Unix(socket.try_clone().unwrap());
    // Data for the received stream first, then data for the other.
    feed(vec![(0, twin)], received, &[0], &data(1));
    feed(vec![(0, pipe(link))], sent, &[0], &data(1));
    let reason = session.event(|event| match event {
        Event::OutOfStep { stream, reason, .. } if *stream == received => Some(reason.clone()),
        _ => None,
    });
    assert!(reason.contains("receives"), "{reason}");
    assert_eq!(session.wait(received).state, "failed");
    assert_eq!(session.wait(sent).state, "done");
    drop(session);
    assert!(taken.join().unwrap().1 == data(1).concat());
    rig.daemon.stop().unwrap();
}
