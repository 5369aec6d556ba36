//! Links that outlast their sockets: which clients may reconnect them, and when.

use crate::rig::{Client, Folder, Rig, Socket, content, sends, sink};
use isthmus_nic::Logs;
use isthmus_nic_protocol::{Answer, Event, LinkNews, Message, Refusal, RefusalKind, Welcome};
use isthmus_stream::{Format, LinkId, StreamId};
use isthmus_stream_net::frame::{Frame, Kind};
use isthmus_stream_net::unconfirmed::CONFIRM_BYTES;
use std::io::{Read, Write};
use std::time::Duration;

const ADU: u64 = 256 << 10;
const KEY: &str = "0123456789abcdef";

/// Build the request for a lasting link of the first session.
struct Asks<'a> {
    ticket: &'a str,
    session: u32,
    key: &'a str,
    nth: u32,
    received: Option<u64>,
}

impl Asks<'_> {
    fn of(ticket: &str) -> Asks<'_> {
        Asks {
            ticket,
            session: 0,
            key: KEY,
            nth: 1,
            received: None,
        }
    }

    fn words(&self) -> String {
        let Self {
            ticket,
            session,
            key,
            nth,
            received,
        } = self;
        let received = received.map_or(String::new(), |bytes| format!(r#","received":{bytes}"#));
        format!(r#""ask":"link","version":2,"ticket":"{ticket}","link":3,"carrier":"socket","#)
            + &format!(r#""lasting":{{"session":{session},"key":"{key}","nth":{nth}{received}}}"#)
    }

    /// Return the number of bytes that the daemon has received, and the link.
    fn ask(&self, mut client: Client) -> Result<(u64, Socket), Refusal> {
        match client.ask(&self.words())? {
            Answer::Lasts { received, .. } => Ok((received, client.socket)),
            other => panic!("{other:?}"),
        }
    }

    fn refused(&self, rig: &Rig) -> Refusal {
        match self.ask(rig.tcp()) {
            Ok((received, _)) => panic!("it was taken, with {received} bytes"),
            Err(refusal) => refusal,
        }
    }
}

/// Return the bytes that a rank writes for a stream of ADUs of one SU each.
fn written(stream: u32, adus: u64) -> Vec<u8> {
    let format = Format::fixed(ADU, ADU, &[LinkId(3)]);
    let mut all = Vec::new();
    for adu in 0..adus {
        let tu = format.tu(adu, ADU, 0).unwrap();
        let su = format.sus(ADU).next().unwrap();
        all.extend(Frame::su(Kind::Data, StreamId(stream), &tu, &su).encode());
        all.extend(content(adu, ADU));
    }
    all
}

fn rig() -> Rig {
    Rig::with(|config| config.link_grace = Duration::from_secs(600))
}

fn restored(event: &Event) -> Option<()> {
    matches!(event, Event::LinkRestored { link: 3, .. }).then_some(())
}

fn cut(event: &Event) -> Option<()> {
    matches!(event, Event::LinkCut { link: 3, .. }).then_some(())
}

fn gone(event: &Event) -> Option<String> {
    match event {
        Event::LinkGone { link: 3, reason } => Some(reason.clone()),
        _ => None,
    }
}

/// Silent sockets cannot keep out clients: each hello is accepted, a link that was cut reconnects, and
/// the log does not get a line for each refusal.
#[test]
fn silent_sockets_cannot_keep_out_clients() {
    let folder = Folder::new();
    let path = folder.0.join("log");
    let rig = Rig::with(|config| {
        config.link_grace = Duration::from_secs(600);
        config.server.sessions = 50;
        config.server.log = Logs::File(path.clone());
    });
    let (mut session, ticket) = rig.application("rank");
    let (_, link) = Asks::of(&ticket).ask(rig.tcp()).unwrap();
    let silent: Vec<_> = (0..200).map(|_| rig.tcp()).collect();
    for number in 0..40 {
        rig.tcp().hello(&format!("comes {number}"));
    }
    drop(link);
    session.event(cut);
    let again = Asks {
        nth: 2,
        received: Some(0),
        ..Asks::of(&ticket)
    };
    again.ask(rig.tcp()).unwrap();
    session.event(restored);
    drop(silent);
    // Each line of garbage is refused, and only some refusals are logged.
    for _ in 0..300 {
        let mut client = rig.tcp();
        client.write("garbage\n");
        assert!(matches!(
            client.next_message(),
            Some(Message::Refused { .. })
        ));
    }
    rig.daemon.stop().unwrap();
    let log = std::fs::read_to_string(path).unwrap();
    let refused = log
        .lines()
        .filter(|line| line.contains("refused: "))
        .count();
    assert!((1..300).contains(&refused), "{log}");
    assert!(log.contains("| leaves out | "), "{log}");
}

/// A rank loses its socket every 100,000 bytes, keeps the old one open and writes garbage to it:
/// the daemon ignores the garbage and receives every right byte once.
#[test]
fn an_old_socket_is_ignored_once_a_new_one_exists() {
    let rig = rig();
    let (mut session, ticket) = rig.application("rank");
    let (address, taken) = sink();
    let connection = session.open(&address, "");
    let (mut received, mut link) = Asks::of(&ticket).ask(rig.tcp()).unwrap();
    let (adus, mut old) = (12, Vec::new());
    let stream = session.submit(&sends(connection, ADU, ADU, &[3], adus));
    let all = written(stream.unwrap(), adus);
    for nth in 2.. {
        let from = received as usize;
        let end = all.len().min(from + 100_000);
        link.write_all(&all[from..end]).unwrap();
        if end == all.len() {
            break;
        }
        let asks = Asks {
            nth,
            received: Some(0),
            ..Asks::of(&ticket)
        };
        let (now, new) = asks.ask(rig.tcp()).unwrap();
        assert!(now >= received && now <= end as u64, "{now} of {end}");
        // The old socket may be closed already.
        let _ = link.write_all(&[0x55; 1000]);
        received = now;
        session.event(restored);
        old.push(std::mem::replace(&mut link, new));
    }
    let done = session.wait(0);
    assert_eq!((done.state.as_str(), done.done), ("done", adus));
    session.ask(r#""ask":"close","connection":0"#).unwrap();
    let right: Vec<_> = (0..adus).map(|adu| content(adu, ADU)).collect();
    assert!(taken.join().unwrap().1 == right.concat());
    rig.daemon.stop().unwrap();
}

/// A client without the key, or with impossible numbers, is refused with a reason, and the link is
/// unchanged.
#[test]
fn a_stale_or_a_second_owner_is_refused_and_the_link_goes_on() {
    let rig = rig();
    let (mut session, ticket) = rig.application("rank");
    let (received, link) = Asks::of(&ticket).ask(rig.tcp()).unwrap();
    assert_eq!(received, 0);
    let asks = || Asks {
        nth: 2,
        received: Some(0),
        ..Asks::of(&ticket)
    };
    let cases = [
        (
            Asks {
                key: "fedcba9876543210",
                ..asks()
            },
            RefusalKind::Denied,
            "not its key",
        ),
        (
            Asks {
                key: "short",
                ..asks()
            },
            RefusalKind::Garbled,
            "a key of 5 characters",
        ),
        (
            Asks {
                session: 77,
                ..asks()
            },
            RefusalKind::Denied,
            "session 77 is none",
        ),
        (
            Asks {
                ticket: "none",
                ..asks()
            },
            RefusalKind::Denied,
            "no application has",
        ),
        (
            Asks { nth: 1, ..asks() },
            RefusalKind::Conflict,
            "link 3: socket 1 is stale",
        ),
        (
            Asks {
                received: Some(1),
                ..asks()
            },
            RefusalKind::Conflict,
            "it has 1 bytes: between 0 and 0 are possible",
        ),
    ];
    for (asks, kind, words) in cases {
        let refusal = asks.refused(&rig);
        assert_eq!(refusal.kind, kind, "{refusal:?}");
        assert!(refusal.text.contains(words), "{refusal:?}");
    }
    // A request without a key, and lasting rings.
    let plain =
        format!(r#""ask":"link","version":2,"ticket":"{ticket}","link":3,"carrier":"socket""#);
    let refusal = rig.tcp().ask(&plain).unwrap_err();
    assert!(refusal.text.contains("link 3 has its ends"), "{refusal:?}");
    let rings = asks().words().replace(
        r#""socket""#,
        r#"{"rings":{"from_rank_bytes":4096,"to_rank_bytes":0}}"#,
    );
    let refusal = rig.unix().ask(&rings).unwrap_err();
    assert!(
        refusal.text.contains("only links whose carrier"),
        "{refusal:?}"
    );
    drop(link);
    session.event(cut);
    let (_, link) = Asks { nth: 3, ..asks() }.ask(rig.tcp()).unwrap();
    session.event(restored);
    assert_eq!(session.events, []);
    drop((link, session));
    rig.daemon.stop().unwrap();
}

/// The daemon confirms the bytes of ranks. A rank that confirms bytes that it was never sent loses
/// its link, and a confirmation from another session is ignored.
#[test]
fn only_written_bytes_can_be_confirmed() {
    let rig = rig();
    let (mut session, ticket) = rig.application("rank");
    let (address, taken) = sink();
    let connection = session.open(&address, "");
    let (_, mut link) = Asks::of(&ticket).ask(rig.tcp()).unwrap();
    let stream = session
        .submit(&sends(connection, ADU, ADU, &[3], 9))
        .unwrap();
    link.write_all(&written(stream, 6)).unwrap();
    let confirmed = loop {
        match session.next_message() {
            Some(Message::Link {
                link: 3,
                news: LinkNews::Taken { bytes },
                ..
            }) => break bytes,
            Some(Message::Event { .. }) => {}
            other => panic!("{other:?}"),
        }
    };
    assert!(
        (CONFIRM_BYTES..6 * (ADU + 32) + 1).contains(&confirmed),
        "{confirmed}"
    );
    let mut other = rig.tcp();
    let joins = format!(r#""ask":"join","version":2,"ticket":"{ticket}""#);
    assert!(matches!(
        other.ask(&joins),
        Ok(Answer::Welcome(Welcome { session: 1, .. }))
    ));
    other.send(&format!(
        r#""ask":"taken","link":3,"key":"{KEY}","bytes":5"#
    ));
    let unlink = format!(r#""ask":"unlink","link":3,"key":"{KEY}""#);
    assert!(matches!(other.ask(&unlink), Ok(Answer::Done)));
    assert_eq!(
        other.ask(r#""ask":"cancel","stream":99"#).unwrap_err().kind,
        RefusalKind::Unknown
    );
    // Late confirmations of an earlier link of this number do not concern this one.
    session.send(r#""ask":"taken","link":3,"key":"of the link before","bytes":5"#);
    let unlink = r#""ask":"unlink","link":3,"key":"of the link before""#;
    assert!(matches!(session.ask(unlink), Ok(Answer::Done)));
    assert!(!session.events.iter().any(|event| gone(event).is_some()));
    session.send(&format!(
        r#""ask":"taken","link":3,"key":"{KEY}","bytes":5"#
    ));
    let reason = session.event(gone);
    assert!(
        reason.contains("it has 5 bytes: between 0 and 0"),
        "{reason}"
    );
    assert_eq!(session.wait(stream).state, "failed");
    let mut rest = Vec::new();
    // Closed, with or without a reset.
    let _ = link.read_to_end(&mut rest);
    assert!(rest.is_empty());
    let late = Asks {
        nth: 9,
        received: Some(0),
        ..Asks::of(&ticket)
    }
    .refused(&rig);
    assert_eq!(late.kind, RefusalKind::Unknown);
    assert!(
        late.text.contains("link 3 is not there to be made again"),
        "{late:?}"
    );
    drop((session, other));
    rig.daemon.stop().unwrap();
    drop(taken);
}

/// Garbage ends a link permanently: it would be garbage after a reconnect too.
#[test]
fn a_link_does_not_wait_after_garbage() {
    let rig = rig();
    let (mut session, ticket) = rig.application("rank");
    let (_, mut link) = Asks::of(&ticket).ask(rig.tcp()).unwrap();
    link.write_all(&[0x55; 64]).unwrap();
    let reason = session.event(gone);
    assert!(reason.contains("begins with the letters IL"), "{reason}");
    drop(session);
    rig.daemon.stop().unwrap();
}

/// Without a time of grace the daemon offers no lasting links.
#[test]
fn a_daemon_without_grace_says_so() {
    let rig = Rig::with(|config| config.link_grace = Duration::ZERO);
    let (session, ticket) = rig.application("rank");
    let refusal = Asks::of(&ticket).refused(&rig);
    assert!(
        refusal.text.contains("no link outlast its socket"),
        "{refusal:?}"
    );
    drop(session);
    rig.daemon.stop().unwrap();
}
