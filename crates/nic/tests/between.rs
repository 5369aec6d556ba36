//! Streams from the ranks of one daemon to those of another.

use crate::rig::{Rig, Socket, content, pipe, sends, soon, spec};
use isthmus_nic_protocol::{Answer, Event, RefusalKind};
use isthmus_stream::{Format, LinkId, StreamId};
use isthmus_stream_net::frame::{Frame, Kind};
use isthmus_stream_net::rank::Sender;
use std::io::Read;

const ADU: u64 = 96 << 10;
const TU: u64 = 64 << 10;

/// Return the data received over a link until the end of its stream.
fn received(mut socket: Socket, adus: u64) -> Vec<u8> {
    let mut all = vec![0; (adus * ADU) as usize];
    loop {
        let mut head = [0; Frame::BYTES];
        socket.read_exact(&mut head).unwrap();
        let frame = Frame::decode(&head).unwrap();
        match frame.kind {
            Kind::Data => {
                let at = (frame.adu * ADU + frame.offset) as usize;
                let data = &mut all[at..at + frame.bytes as usize];
                socket.read_exact(data).unwrap();
            }
            Kind::End => return all,
            other => panic!("{other:?}"),
        }
    }
}

/// Two connections wait at one port with different channels; their peers connect in the other
/// order, and each finds its own. The data of both directions arrives complete.
#[test]
fn peers_find_their_connection_by_its_channel() {
    let (here, there) = (Rig::new(), Rig::new());
    let (mut receives, ticket) = here.application("receives");
    let (mut sending, tickets) = there.application("sends");
    let window = r#","window_bytes":1000000,"channel":"#;
    let first = receives.open("raw:accept:127.0.0.1:0", &format!("{window}1"));
    let rest = format!(r#""ask":"connection","connection":{first}"#);
    let address = match receives.ask(&rest).unwrap() {
        Answer::ConnectionStatus { connection } => {
            assert!(!connection.open);
            connection.destination.replace("accept", "tcp")
        }
        other => panic!("{other:?}"),
    };
    let waits = address.replace("tcp", "accept");
    let second = receives.open(&waits, &format!("{window}2"));
    // By a host name.
    let named = address.replace("127.0.0.1", "localhost");
    let to_second = sending.open(&named, &format!("{window}2"));
    let to_first = sending.open(&address, &format!("{window}1"));
    for wanted in [first, second] {
        receives.event(|event| match event {
            Event::Opened { connection } => (*connection == wanted).then_some(()),
            _ => None,
        });
    }
    for (number, (from, to)) in [(to_first, first), (to_second, second)]
        .into_iter()
        .enumerate()
    {
        let link = number as u16;
        let taken = here.unix().link(&ticket, link);
        let taken = std::thread::spawn(move || received(taken, 3));
        let given = there.tcp().link(&tickets, link);
        let stream = receives
            .submit(&spec("receive", to, ADU, TU, &[link], 3))
            .unwrap();
        let sent = sending.submit(&sends(from, ADU, TU, &[link], 3)).unwrap();
        let mut sender = Sender::new(LinkId(link), pipe(given));
        let format = Format::fixed(ADU, TU, &[LinkId(link)]);
        let (mut before, mut wanted) = (0, Vec::new());
        for adu in 0..3 {
            let data = content(adu + 10 * number as u64, ADU);
            let id = StreamId(sent);
            let progress = (before, 0);
            let went = sender.send_adu(id, &format, (adu, &data), progress, soon());
            before = went.unwrap();
            wanted.extend(data);
        }
        assert_eq!(sending.wait(sent).state, "done");
        assert_eq!(receives.wait(stream).state, "done");
        assert!(taken.join().unwrap() == wanted, "the bytes are others");
    }
    // No connection waits there any more, so the port is closed.
    let late = sending.open(&address, &format!("{window}3"));
    sending.event(|event| match event {
        Event::Lost { connection, .. } => (*connection == late).then_some(()),
        _ => None,
    });
    here.daemon.stop().unwrap();
    there.daemon.stop().unwrap();
}

/// Addresses where connections must not wait, and the channel that a peer must show.
#[test]
fn connections_wait_only_at_allowed_addresses() {
    let rig = Rig::new();
    let (mut session, _) = rig.application("waits");
    let mut refused = |address: &str, rest: &str| {
        let rest = format!(r#""ask":"open","destination":"raw:accept:{address}"{rest}"#);
        session.ask(&rest).unwrap_err()
    };
    let refusal = refused("192.0.2.1:0", "");
    assert_eq!(refusal.kind, RefusalKind::Denied);
    assert!(refusal.text.contains("--accept"), "{refusal:?}");
    assert_eq!(refused("localhost:0", "").kind, RefusalKind::Garbled);
    let refusal = refused("127.0.0.1:0", r#","protocol":{"unconfirmed":{}}"#);
    assert_eq!(refusal.kind, RefusalKind::Conflict);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    assert_eq!(refused(&address, "").kind, RefusalKind::Conflict);
    // A connection that is closed before its peer connects releases its port.
    drop(taken);
    let waits = format!("raw:accept:{address}");
    let connection = session.open(&waits, "");
    std::io::Write::write_all(
        &mut std::net::TcpStream::connect(&address).unwrap(),
        b"GET / HTTP/1.1\r\nHost: somebody who is no peer at all, and says more than a header has\r\n\
          Accept: */*\r\n\r\n and more and more and more",
    )
    .unwrap();
    session
        .ask(&format!(r#""ask":"close","connection":{connection}"#))
        .unwrap();
    session.event(|event| matches!(event, Event::Closed { .. }).then_some(()));
    let deadline = soon();
    while std::net::TcpListener::bind(&address).is_err() {
        assert!(std::time::Instant::now() < deadline, "the port is kept");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    rig.daemon.stop().unwrap();
}

/// Any TCP client can connect to a waiting connection: plain bytes go both ways. Until then the
/// status of a stream names the address where no peer has connected.
#[test]
fn plain_bytes_go_both_ways_with_an_incoming_peer() {
    use std::io::{Read, Write};
    let rig = Rig::with(|config| config.stall = std::time::Duration::from_millis(200));
    let (mut session, ticket) = rig.application("waits");
    let waits = "tcp:accept:127.0.0.1:0";
    let connection = session.open(waits, r#","window_bytes":1000000"#);
    let rest = format!(r#""ask":"connection","connection":{connection}"#);
    let destination = match session.ask(&rest).unwrap() {
        Answer::ConnectionStatus { connection } => connection.destination,
        other => panic!("{other:?}"),
    };
    let address = destination.strip_prefix("tcp:accept:").unwrap().to_owned();
    // One connection waits there, and any client becomes its peer.
    for other in ["tcp", "raw"] {
        let rest = format!(r#""ask":"open","destination":"{other}:accept:{address}""#);
        let refusal = session.ask(&rest).unwrap_err();
        assert_eq!(refusal.kind, RefusalKind::Conflict);
        assert!(refusal.text.contains(&address), "{refusal:?}");
    }
    let (taken, given) = (rig.unix().link(&ticket, 0), rig.unix().link(&ticket, 1));
    let taken = std::thread::spawn(move || received(taken, 2));
    let takes = spec("receive", connection, ADU, TU, &[0], 2);
    let receives = session.submit(&takes).unwrap();
    let sent = session
        .submit(&sends(connection, ADU, TU, &[1], 1))
        .unwrap();
    let waits = session.event(|event| match event {
        Event::Stalled { waits, .. } => waits.iter().find(|it| it.contains("no peer")).cloned(),
        _ => None,
    });
    assert!(waits.contains(&address), "{waits}");
    let mut peer = std::net::TcpStream::connect(&address).unwrap();
    peer.set_read_timeout(Some(std::time::Duration::from_secs(60)))
        .unwrap();
    let says = [content(1, ADU), content(2, ADU)].concat();
    peer.write_all(&says).unwrap();
    let format = Format::fixed(ADU, TU, &[LinkId(1)]);
    let mut sender = Sender::new(LinkId(1), pipe(given));
    let data = content(3, ADU);
    let adu = (0, data.as_slice());
    sender
        .send_adu(StreamId(sent), &format, adu, (0, 0), soon())
        .unwrap();
    let mut received_bytes = vec![0; ADU as usize];
    peer.read_exact(&mut received_bytes).unwrap();
    assert!(received_bytes == data, "the bytes are others");
    assert_eq!(session.wait(sent).state, "done");
    assert_eq!(session.wait(receives).state, "done");
    assert!(taken.join().unwrap() == says, "the bytes are others");
    // Its peer has connected, so no connection waits there any more.
    let deadline = soon();
    while let Ok(late) = std::net::TcpStream::connect(&address) {
        drop(late);
        assert!(std::time::Instant::now() < deadline, "the port is kept");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    rig.daemon.stop().unwrap();
}

/// A connection cannot wait for plain bytes at addresses that the operator does not allow.
#[test]
fn plain_bytes_are_accepted_only_at_allowed_addresses() {
    let rig = Rig::new();
    let (mut session, _) = rig.application("waits");
    for (address, kind) in [
        ("192.0.2.1:0", RefusalKind::Denied),
        ("localhost:0", RefusalKind::Garbled),
    ] {
        let rest = format!(r#""ask":"open","destination":"tcp:accept:{address}""#);
        assert_eq!(session.ask(&rest).unwrap_err().kind, kind, "{address}");
    }
    let rest = r#""ask":"open","destination":"tcp:accept:127.0.0.1:0","protocol":"stream""#;
    assert_eq!(session.ask(rest).unwrap_err().kind, RefusalKind::Conflict);
    rig.daemon.stop().unwrap();
}
