//! Limits and names that several clients request at once, or one after another.

use crate::rig::{Client, Rig, sends};
use isthmus_nic_protocol::{Answer, Event, RefusalKind};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::sync::{Arc, Barrier};
use std::time::Instant;

fn close(session: &mut Client, connection: u32) {
    let rest = format!(r#""ask":"close","connection":{connection}"#);
    session.ask(&rest).unwrap();
    session.event(|event| match event {
        Event::Closed { connection: id } => (*id == connection).then_some(()),
        _ => None,
    });
}

/// The port of a closed connection is free for the next at once, repeatedly; only one connection at
/// a time has a channel.
#[test]
fn a_released_port_is_free_at_once() {
    let rig = Rig::new();
    let (mut session, _) = rig.application("waits");
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let waits = format!("raw:accept:{}", free.local_addr().unwrap());
    drop(free);
    for _ in 0..50 {
        let connection = session.open(&waits, "");
        close(&mut session, connection);
    }
    let first = session.open(&waits, r#","channel":7"#);
    let again = format!(r#""ask":"open","destination":"{waits}","channel":7"#);
    let refusal = session.ask(&again).unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::Conflict);
    assert!(refusal.text.contains("channel 7"), "{refusal:?}");
    close(&mut session, first);
    session.open(&waits, r#","channel":7"#);
    rig.daemon.stop().unwrap();
}

/// Links requested at the same moment get no more memory together than one after another.
#[test]
fn rings_requested_at_once_stay_within_their_limit() {
    const RING: u64 = 1 << 20;
    let rig = Rig::with(|config| config.limits.ring_bytes = 2 * RING);
    let (session, ticket) = rig.application("greedy");
    let together = Arc::new(Barrier::new(16));
    let asked: Vec<_> = (0..16)
        .map(|link| {
            let mut client = rig.unix();
            let (ticket, together) = (ticket.clone(), Arc::clone(&together));
            std::thread::spawn(move || {
                let sizes = format!(r#"{{"from_rank_bytes":{RING},"to_rank_bytes":0}}"#);
                let rest = format!(r#""ask":"link","version":2,"ticket":"{ticket}","#)
                    + &format!(r#""link":{link},"carrier":{{"rings":{sizes}}}"#);
                together.wait();
                let id = client.send(&rest);
                // The line alone, as descriptors follow it.
                let mut line = Vec::new();
                let mut byte = [0];
                while byte != *b"\n" {
                    std::io::Read::read_exact(&mut client.socket, &mut byte).unwrap();
                    line.extend(byte);
                }
                let linked = String::from_utf8(line).unwrap().contains("linked");
                (linked, client, id)
            })
        })
        .collect();
    let asked: Vec<_> = asked.into_iter().map(|one| one.join().unwrap()).collect();
    let linked = asked.iter().filter(|(linked, ..)| *linked).count();
    assert_eq!(linked, 2);
    drop(session);
    rig.daemon.stop().unwrap();
}

/// Applications come and go, each with a screen of its own name: there is always room for the next,
/// up to the limit of simultaneous screens.
#[test]
fn screens_of_ended_applications_make_room() {
    let rig = Rig::with(|config| config.screens = Some("127.0.0.1:0".parse().unwrap()));
    let form = |name: &str| {
        let form = r#"{"width":8,"height":8,"pixel":"grey"}"#;
        format!(r#""ask":"geometry","screen":"{name}","geometry":{form}"#)
    };
    for number in 0..3 {
        let (mut session, _) = rig.application("screens");
        for screen in 0..64 {
            let name = format!("screen-{number}-{screen}");
            assert_eq!(session.ask(&form(&name)), Ok(Answer::Done), "{name}");
        }
        let full = session.ask(&form("one-more")).unwrap_err();
        assert_eq!(full.kind, RefusalKind::Limit);
        session.write("no request: the session is over\n");
        session.write(&"x".repeat(1 << 21));
        while session.next_message().is_some() {}
    }
    rig.daemon.stop().unwrap();
}

/// A Unix socket is reached by its own path below the allowed directories, and not through symbolic
/// links that lead out of them.
#[test]
fn a_link_to_a_socket_is_not_followed() {
    let rig = Rig::new();
    let outside = crate::rig::Folder::new();
    let socket = outside.0.join("secret.sock");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let link = rig.folder.0.join("innocent.sock");
    std::os::unix::fs::symlink(&socket, &link).unwrap();
    let (mut session, _) = rig.application("curious");
    let rest = format!(
        r#""ask":"open","destination":"raw:unix:{}""#,
        link.display()
    );
    assert_eq!(session.ask(&rest).unwrap_err().kind, RefusalKind::Denied);
    rig.daemon.stop().unwrap();
}

/// A user who can change directories below the allowed ones cannot redirect files to the outside:
/// while a directory and a symbolic link swap names all the time, no file is created outside.
#[test]
fn files_stay_below_their_directory_while_links_change() {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use std::sync::atomic::{AtomicBool, Ordering};
    let rig = Rig::new();
    let outside = crate::rig::Folder::new();
    let (inner, link) = (rig.folder.0.join("inner"), rig.folder.0.join("link"));
    std::fs::create_dir(&inner).unwrap();
    std::os::unix::fs::symlink(&outside.0, &link).unwrap();
    let over = Arc::new(AtomicBool::new(false));
    let swaps = {
        let (inner, link, over) = (inner.clone(), link.clone(), Arc::clone(&over));
        let outside = outside.0.clone();
        std::thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                renameat_with(CWD, &inner, CWD, &link, RenameFlags::EXCHANGE).unwrap();
                let found = std::fs::read_dir(&outside).unwrap().next();
                assert!(found.is_none(), "{found:?}");
            }
        })
    };
    let (mut session, _) = rig.application("writes");
    let (mut kept, mut number) = (0, 0);
    // The swapping thread may have to wait for a processor.
    let deadline = crate::rig::soon();
    while number < 500 || kept == 0 {
        assert!(number < 500 || Instant::now() < deadline, "none was opened");
        number += 1;
        let path = inner.join(format!("file-{number}"));
        let path = path.display();
        let rest = format!(r#""ask":"open","destination":"file:{path}""#);
        match session.ask(&rest) {
            Ok(Answer::Connection { connection }) => {
                // A stream without ADUs is valid.
                let open =
                    sends(connection, 1, 1, &[0], 1).replace(r#""adus":1}"#, r#""adus":null}"#);
                let stream = session.submit(&open).unwrap();
                let rest = format!(r#""ask":"finish","stream":{stream},"adus":0"#);
                session.ask(&rest).unwrap();
                let rest = format!(r#""ask":"close","connection":{connection}"#);
                session.ask(&rest).unwrap();
                session.event(|event| match event {
                    Event::Kept { connection: id, .. } => (*id == connection).then_some(()),
                    _ => None,
                });
                kept += 1;
            }
            Ok(other) => panic!("{other:?}"),
            Err(refusal) => assert_eq!(refusal.kind, RefusalKind::Denied, "{refusal:?}"),
        }
    }
    rig.daemon.stop().unwrap();
    over.store(true, Ordering::Relaxed);
    swaps.join().unwrap();
    assert_eq!(std::fs::read_dir(&outside.0).unwrap().count(), 0);
    let inner = [inner, link].into_iter().find(|path| !path.is_symlink());
    let files = std::fs::read_dir(inner.unwrap()).unwrap().count();
    assert_eq!(files, kept);
}

/// Links that only a refused submission named, or that were refused, do not count: the application
/// can still use its full number of links.
#[test]
fn links_of_refused_requests_do_not_count() {
    let rig = Rig::with(|config| {
        config.limits.links = 2;
        config.limits.ring_bytes = 1 << 16;
    });
    let (mut session, ticket) = rig.application("tries");
    let (address, _taken) = crate::rig::sink();
    let connection = session.open(&address, "");
    let spec = |links: &[u16], adu: u64| crate::rig::sends(connection, adu, 4096, links, 1);
    session.submit(&spec(&[0], 8192)).unwrap();
    for number in 1..10 {
        // An unknown connection, then too many links, then too large rings.
        let none = spec(&[number], 8192).replace(
            &format!(r#""connection":{connection}"#),
            r#""connection":4711"#,
        );
        assert!(session.submit(&none).is_err());
        let refusal = session
            .submit(&spec(&[number, number + 1], 8192))
            .unwrap_err();
        assert_eq!(refusal.kind, RefusalKind::Limit, "{refusal:?}");
        let sizes = r#"{"from_rank_bytes":1048576,"to_rank_bytes":0}"#;
        let rest = format!(r#""ask":"link","version":2,"ticket":"{ticket}","#)
            + &format!(r#""link":{number},"carrier":{{"rings":{sizes}}}"#);
        let refusal = rig.unix().ask(&rest).unwrap_err();
        assert_eq!(refusal.kind, RefusalKind::Limit, "{refusal:?}");
        assert!(refusal.text.contains("bytes of rings"), "{refusal:?}");
    }
    session.submit(&spec(&[77], 8192)).unwrap();
    drop(session);
    rig.daemon.stop().unwrap();
}

/// Screens of an application stay within its memory, counting frames drawn for earlier geometries,
/// and the refusal names the limit. All screens stay within the common limit, and those of ended
/// applications make room.
#[test]
fn screens_stay_within_their_memory() {
    // 1 MiB a frame, so that a screen takes 2 MiB.
    let rig = Rig::with(|config| {
        config.screens = Some("127.0.0.1:0".parse().unwrap());
        config.limits.screen_bytes = 4 << 20;
        config.limits.applications = 2;
    });
    let form = |name: &str, height: u32| {
        let form = format!(r#"{{"width":1024,"height":{height},"pixel":"grey"}}"#);
        format!(r#""ask":"geometry","screen":"{name}","geometry":{form}"#)
    };
    let refused = |session: &mut Client, rest: &str| {
        let refusal = session.ask(rest).unwrap_err();
        assert_eq!(refusal.kind, RefusalKind::Limit, "{refusal:?}");
        assert!(refusal.text.contains("--screen-memory"), "{refusal:?}");
    };
    for round in 0..4 {
        let (mut session, _) = rig.application("draws");
        let name = |screen: &str| format!("{screen}-{round}");
        assert_eq!(session.ask(&form(&name("a"), 1024)), Ok(Answer::Done));
        assert_eq!(session.ask(&form(&name("b"), 1024)), Ok(Answer::Done));
        refused(&mut session, &form(&name("c"), 1));
        // A smaller screen of the same name leaves room.
        assert_eq!(session.ask(&form(&name("b"), 512)), Ok(Answer::Done));
        assert_eq!(session.ask(&form(&name("c"), 512)), Ok(Answer::Done));
        refused(&mut session, &form(&name("a"), 1025));
        // A frame for the earlier geometry exists as long as the connection.
        let drawn = session.open(&format!("framebuffer:{}", name("a")), "");
        refused(&mut session, &form(&name("a"), 1024));
        assert_eq!(session.ask(&form(&name("a"), 512)), Ok(Answer::Done));
        close(&mut session, drawn);
        session.write("no request: the session is over\n");
        session.write(&"x".repeat(1 << 21));
        while session.next_message().is_some() {}
    }
    rig.daemon.stop().unwrap();
}

/// A path that cannot become a file is refused at open, and not when its streams are done.
#[test]
fn a_path_that_cannot_become_a_file_is_refused_at_once() {
    let rig = Rig::new();
    let folder = rig.folder.0.display();
    std::fs::create_dir(rig.folder.0.join("there")).unwrap();
    std::fs::write(rig.folder.0.join("old"), "old").unwrap();
    let (mut session, _) = rig.application("writes");
    let mut open = |name: &str| {
        session.ask(&format!(
            r#""ask":"open","destination":"file:{folder}/{name}""#
        ))
    };
    let directory = open("there").unwrap_err();
    assert_eq!(directory.kind, RefusalKind::Conflict, "{directory:?}");
    assert!(directory.text.contains("is a directory"), "{directory:?}");
    let long = open(&"x".repeat(218)).unwrap_err();
    assert!(long.text.contains("at most 217"), "{long:?}");
    // A file of another user, and names that are reserved for files being written.
    let path = |name: &str| rig.folder.0.join(name);
    std::fs::write(path("read-only"), "r").unwrap();
    std::fs::set_permissions(path("read-only"), Permissions::from_mode(0o440)).unwrap();
    std::os::unix::fs::symlink(path("old"), path("link")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(path("socket")).unwrap();
    let part = format!("old.part-{}", "0f".repeat(16));
    let journal = format!(".isthmus-writing-{}", "0f".repeat(16));
    for (name, why) in [
        ("read-only", "it is read-only (mode 0440)"),
        ("link", "it is a symbolic link"),
        ("socket", "it is no regular file"),
        (&part, "the daemon gives such names"),
        (&journal, "the daemon gives such names"),
    ] {
        let refusal = open(name).unwrap_err();
        assert!(refusal.text.contains(why), "{refusal:?}");
    }
    std::fs::write(path("other-user"), "t").unwrap();
    // Only root can change the owner of a file.
    if std::os::unix::fs::chown(path("other-user"), Some(65534), None).is_ok() {
        let refused = open("other-user").unwrap_err();
        assert!(
            refused.text.contains("of another user (uid 65534)"),
            "{refused:?}"
        );
    }
    let nul = open("a\\u0000b").unwrap_err();
    assert_eq!(nul.kind, RefusalKind::Garbled, "{nul:?}");
    for name in ["old".to_owned(), "new".to_owned(), "x".repeat(217)] {
        assert!(open(&name).is_ok(), "{name}");
    }
    rig.daemon.stop().unwrap();
}

/// Links whose ranks have left make room for others, except those that streams name; an overview
/// shows which ranks have left.
#[test]
fn links_without_ranks_make_room() {
    let rig = Rig::with(|config| config.limits.links = 2);
    let (mut session, ticket) = rig.application("many");
    let (address, _taken) = crate::rig::sink();
    let connection = session.open(&address, "");
    let named = crate::rig::sends(connection, 8192, 4096, &[7], 1);
    session.submit(&named).unwrap();
    let attached = |session: &mut Client| match session.ask(r#""ask":"overview""#).unwrap() {
        Answer::Overview { overview } => {
            let links = overview.links.iter();
            let each = links.map(|link| (link.link, link.attached));
            each.collect::<Vec<_>>()
        }
        other => panic!("{other:?}"),
    };
    for number in 10..20 {
        let rings = rig.unix().rings(&ticket, number, [4096, 4096]);
        // The answer reaches the rank before the driver has the link.
        let deadline = crate::rig::soon();
        while attached(&mut session) != [(7, false), (number, true)] {
            assert!(Instant::now() < deadline);
            std::thread::yield_now();
        }
        let rest = format!(r#""ask":"link","version":2,"ticket":"{ticket}","link":30,"#)
            + r#""carrier":"socket""#;
        let refusal = rig.unix().ask(&rest).unwrap_err();
        assert_eq!(refusal.kind, RefusalKind::Limit, "{refusal:?}");
        drop(rings);
        session.event(|event| match event {
            Event::LinkGone { link, .. } => (*link == number).then_some(()),
            _ => None,
        });
        assert_eq!(attached(&mut session), [(7, false), (number, false)]);
    }
    let others = crate::rig::sends(connection, 8192, 4096, &[40, 41], 1);
    let refusal = session.submit(&others).unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::Limit, "{refusal:?}");
    let one = crate::rig::sends(connection, 8192, 4096, &[40], 1);
    session.submit(&one).unwrap();
    drop(session);
    rig.daemon.stop().unwrap();
}

/// The death of a rank that waits for data from a ring is detected at once, even without data: its
/// stream fails.
#[test]
fn the_death_of_a_rank_is_detected_without_data() {
    let rig = Rig::new();
    let (mut session, ticket) = rig.application("waits");
    let at = r#","channel":1,"window_bytes":65536"#;
    let connection = session.open("raw:accept:127.0.0.1:0", at);
    for sizes in [[4096, 4096], [0, 4096]] {
        let rings = rig.unix().rings(&ticket, 3, sizes);
        let receives = crate::rig::spec("receive", connection, 8192, 4096, &[3], 1);
        let stream = session.submit(&receives).unwrap();
        drop(rings);
        let status = session.wait(stream);
        assert_eq!(status.state, "failed");
        let reason = status.reason.unwrap_or_default();
        assert_eq!(reason, "a rank on link 3 is gone");
    }
    drop(session);
    rig.daemon.stop().unwrap();
}
