//! Sending streams: the data of the sink, confirmations and faults.

use crate::fake::soon;
use crate::rig::{CARRIERS, RINGS, Rig, all, content, links, send_all, sink, sink_of, spec};
use isthmus_nic_client::protocol::{Checksum, Direction, Event, RefusalKind, Request, Spec};
use isthmus_nic_client::{ConnectionOptions, Error, Session, Timeout};
use isthmus_stream_net::sink::{Action, Sink};
use std::sync::mpsc::channel;
use std::time::Duration;

const ADU: u64 = 100_003;
const TU: u64 = 32 << 10;

#[test]
fn the_sink_receives_all_data_in_order() {
    let rig = Rig::new();
    for (carrier, count) in CARRIERS.into_iter().flat_map(|c| [(c, 1), (c, 3)]) {
        let session = rig.session();
        links(&session, count, carrier);
        let (options, taken) = sink(|_| Action::Take);
        let connection = session.open(&options, soon()).unwrap();
        let spec = spec(connection, Direction::Transmit, (ADU, TU), count, 9);
        let stream = session.stream(spec, soon()).unwrap();
        send_all(&stream, 1, ADU, 9);
        let status = stream.wait(soon()).unwrap();
        assert_eq!((status.moved, status.done, status.bytes), (9, 9, 9 * ADU));
        assert_eq!(stream.wait(soon()).unwrap(), status, "asked again");
        let more = stream
            .send(&content(1, 9, ADU), soon())
            .unwrap_err()
            .to_string();
        assert!(
            more.ends_with("all of its 9 ADUs were moved before"),
            "{more}"
        );
        session.close(connection, soon()).unwrap();
        let (counts, data) = taken.join().unwrap();
        assert_eq!(counts.unwrap().adus, 9);
        assert!(data == all(1, ADU, 9), "{carrier:?} {count}");
    }
}

#[test]
fn links_over_tcp_carry_the_same() {
    let rig = Rig::new();
    // A session over TCP joins with the ticket of an existing session.
    let first = rig.session();
    let ticket = &first.welcome().ticket;
    let session = Session::join(&rig.tcp, ticket, false, soon()).unwrap();
    let rings = session.link(0, RINGS, soon()).unwrap_err().to_string();
    assert!(
        rings.contains("rings go over a Unix socket only"),
        "{rings}"
    );
    links(&session, 2, CARRIERS[1]);
    let (options, taken) = sink(|_| Action::Take);
    let connection = session.open(&options, soon()).unwrap();
    let spec = spec(connection, Direction::Transmit, (ADU, TU), 2, 5);
    let stream = session.stream(spec, soon()).unwrap();
    send_all(&stream, 1, ADU, 5);
    stream.wait(soon()).unwrap();
    session.close(connection, soon()).unwrap();
    assert!(taken.join().unwrap().1 == all(1, ADU, 5));
}

#[test]
fn ranks_send_the_units_of_their_own_links() {
    let rig = Rig::new();
    let first = rig.session();
    let (options, taken) = sink(|_| Action::Take);
    let connection = first.open(&options, soon()).unwrap();
    let spec = spec(connection, Direction::Transmit, (ADU, TU), 4, 6);
    let number = first.stream(spec.clone(), soon()).unwrap().number();
    std::thread::scope(|scope| {
        for rank in 0..4_u16 {
            let (rig, spec, ticket) = (&rig, &spec, &first.welcome().ticket);
            scope.spawn(move || {
                let session = Session::join(&rig.unix, ticket, false, soon()).unwrap();
                session
                    .link(rank, CARRIERS[rank as usize % 2], soon())
                    .unwrap();
                let stream = session.adopt(number, spec, soon()).unwrap();
                for adu in 0..6 {
                    let whole = content(1, adu, ADU);
                    // One half passes the whole ADU, the other only its own SUs.
                    if rank < 2 {
                        stream.send(&whole, soon()).unwrap();
                        continue;
                    }
                    let format = stream.format().clone();
                    let mut own = Vec::new();
                    for index in 0..format.tus(ADU) {
                        let tu = format.tu(adu, ADU, index).unwrap();
                        for su in format.sus(tu.bytes).filter(|su| su.link.0 == rank) {
                            let at = (tu.offset + su.offset) as usize;
                            own.extend_from_slice(&whole[at..at + su.bytes as usize]);
                        }
                    }
                    assert_eq!(own.len() as u64, stream.own_bytes(ADU));
                    stream.send_own(ADU, &own, soon()).unwrap();
                }
                stream.wait(soon()).unwrap();
            });
        }
    });
    first.close(connection, soon()).unwrap();
    assert!(taken.join().unwrap().1 == all(1, ADU, 6));
}

#[test]
fn confirmed_adus_are_in_the_sink_while_the_stream_continues() {
    let rig = Rig::new();
    let session = Session::connect(&rig.unix, None, "a test", true, soon()).unwrap();
    links(&session, 2, RINGS);
    let (go, gate) = channel::<()>();
    let (options, taken) = sink(move |came| {
        if came == 3 {
            gate.recv().unwrap();
        }
        Action::Take
    });
    let connection = session.open(&options, soon()).unwrap();
    let mut open = spec(connection, Direction::Transmit, (TU, TU), 2, 0);
    open.adus = None;
    let stream = session.stream(open, soon()).unwrap();
    send_all(&stream, 1, TU, 3);
    // A sink may confirm several ADUs together if they arrive close together.
    assert_eq!(stream.wait_done(3, soon()).unwrap().done, 3);
    for adu in 3..5 {
        assert_eq!(stream.send(&content(1, adu, TU), soon()), Ok(adu));
    }
    let status = stream.wait_moved(5, soon()).unwrap();
    assert!(status.moved == 5 && status.done == 3, "{status:?}");
    let little = Timeout::after(Duration::from_millis(300));
    let said = stream.wait_done(5, little).unwrap_err().to_string();
    let begins = format!(
        "stream {}: waited for 5 ADUs done, and nothing moved for 300 ms; it is ",
        stream.number()
    );
    assert!(said.starts_with(&begins), "{said}");
    go.send(()).unwrap();
    assert_eq!(stream.wait_done(5, soon()).unwrap().done, 5);
    let said = stream.finish(4, soon()).unwrap_err().to_string();
    assert!(said.contains("of which 5 were sent"), "{said}");
    stream.finish(5, soon()).unwrap();
    stream.wait(soon()).unwrap();
    for (adus, moved) in [(6, false), (9, true)] {
        let said = match moved {
            true => stream.wait_moved(adus, soon()),
            false => stream.wait_done(adus, soon()),
        };
        let said = said.unwrap_err().to_string();
        let wanted = format!("has 5 ADUs: {adus} cannot be waited for");
        assert!(said.contains(&wanted), "{said}");
    }
    session.close(connection, soon()).unwrap();
    assert!(taken.join().unwrap().1 == all(1, TU, 5));
    let mut done = 0;
    while let Some(event) = session.event(soon()).unwrap() {
        match event {
            Event::Done {
                adu, good: true, ..
            } => {
                assert_eq!(adu, done);
                done += 1;
            }
            Event::Closed { .. } => break,
            _ => {}
        }
    }
    assert_eq!(done, 5);
}

#[test]
fn units_of_any_length_and_any_order() {
    let rig = Rig::new();
    let session = rig.session();
    links(&session, 3, RINGS);
    let (options, taken) = sink(|_| Action::Take);
    let connection = session.open(&options, soon()).unwrap();
    let mut variable = spec(connection, Direction::Transmit, (1, TU), 3, 4);
    variable.format.adu_bytes = None;
    variable.format.su_order = vec![2, 0, 1, 0];
    variable.format.granule_bytes = 8;
    let stream = session.stream(variable, soon()).unwrap();
    let lengths = [1, TU, 4097, 8];
    let mut expected = Vec::new();
    for (adu, bytes) in (0..).zip(lengths) {
        let data = content(2, adu, bytes);
        stream.send(&data, soon()).unwrap();
        expected.extend(data);
        if adu == 0 {
            let most = stream.send(&vec![0; TU as usize + 1], soon()).unwrap_err();
            assert!(
                most.to_string()
                    .ends_with("32769 bytes: its ADUs have 1 to 32768")
            );
        }
    }
    stream.wait(soon()).unwrap();
    session.close(connection, soon()).unwrap();
    assert!(taken.join().unwrap().1 == expected);
}

#[test]
fn an_adu_can_be_sent_in_parts_and_several_at_once() {
    let rig = Rig::new();
    let session = rig.session();
    links(&session, 2, RINGS);
    let (options, taken) = sink(|_| Action::Take);
    let connection = session.open(&options, soon()).unwrap();
    let spec = spec(connection, Direction::Transmit, (ADU, TU), 2, 6);
    let stream = session.stream(spec, soon()).unwrap();
    let whole = all(1, ADU, 6);
    // Two TUs, the rest of that ADU and two whole ADUs, one TU, the rest.
    let (tu, adu) = (TU as usize, ADU as usize);
    let cuts = [0, 2 * tu, 3 * adu, 3 * adu + tu, 6 * adu];
    for (number, cut) in cuts.windows(2).enumerate() {
        stream.send_run(&whole[cut[0]..cut[1]], soon()).unwrap();
        if number == 0 {
            let said = stream.send(&whole[..adu], soon()).unwrap_err().to_string();
            assert!(
                said.ends_with("2 TUs of ADU 0 were moved: go on there"),
                "{said}"
            );
            // Even after whole ADUs: none of them is sent.
            for bytes in [tu - 1, 2 * adu - 1] {
                let run = &whole[2 * tu..2 * tu + bytes];
                let said = stream.send_run(run, soon()).unwrap_err().to_string();
                assert!(
                    said.ends_with(&format!("{bytes} bytes: they end within a TU")),
                    "{said}"
                );
            }
        }
    }
    stream.wait(soon()).unwrap();
    session.close(connection, soon()).unwrap();
    assert!(taken.join().unwrap().1 == whole);
}

#[test]
fn threads_that_share_links_do_not_mix_their_streams() {
    let rig = Rig::new();
    let session = rig.session();
    links(&session, 3, RINGS);
    let opened: Vec<_> = (0..4).map(|_| sink(|_| Action::Take)).collect();
    let taken = std::thread::scope(|scope| {
        let each: Vec<_> = (0..)
            .zip(opened)
            .map(|(key, (options, taken))| {
                let session = &session;
                let send = move || {
                    let connection = session.open(&options, soon()).unwrap();
                    let spec = spec(connection, Direction::Transmit, (ADU, TU), 3, 10);
                    let stream = session.stream(spec, soon()).unwrap();
                    send_all(&stream, key, ADU, 10);
                    stream.wait(soon()).unwrap();
                    session.close(connection, soon()).unwrap();
                    taken.join().unwrap().1
                };
                scope.spawn(send)
            })
            .collect();
        let each = each.into_iter().map(|one| one.join().unwrap());
        each.collect::<Vec<_>>()
    });
    for (key, data) in (0..).zip(taken) {
        assert!(data == all(key, ADU, 10), "stream {key}");
    }
}

#[test]
fn a_stopped_sink_is_named_and_the_links_stay_usable() {
    stops(Checksum::None);
}

#[test]
fn links_stay_usable_after_a_unit_without_complete_checksums() {
    stops(Checksum::Crc32c);
}

fn stops(rank_sums: Checksum) {
    let rig = Rig::new();
    let session = rig.session();
    links(&session, 2, RINGS);
    let (go, gate) = channel::<()>();
    let (options, taken) = sink(move |came| {
        if came == 2 {
            // Until the test has detected that the sender stopped.
            let _ = gate.recv_timeout(Duration::from_secs(60));
        }
        Action::Take
    });
    let connection = session.open(&options, soon()).unwrap();
    let spec_ = Spec {
        rank_sums,
        ..spec(connection, Direction::Transmit, (8 << 20, TU), 2, 2)
    };
    let stream = session.stream(spec_, soon()).unwrap();
    // More than all memory on the path, so that only a part is accepted.
    let little = Timeout::after(Duration::from_millis(400));
    let error = stream.send(&content(1, 0, 8 << 20), little).unwrap_err();
    let said = error.to_string();
    assert!(matches!(error, Error::TimedOut(_)), "{error:?}");
    assert!(
        said.contains("the links took nothing more of ADU 0 for 400 ms; it is active"),
        "{said}"
    );
    let later = stream.send(&content(1, 0, 8 << 20), soon()).unwrap_err();
    assert!(
        matches!(&later, Error::Stream(_, why) if why.contains("cancelled")),
        "{later:?}"
    );
    go.send(()).unwrap();
    // The links stay usable for another stream.
    let (options, other) = sink(|_| Action::Take);
    let second = session.open(&options, soon()).unwrap();
    let spec_ = Spec {
        rank_sums,
        ..spec(second, Direction::Transmit, (ADU, TU), 2, 3)
    };
    let stream = session.stream(spec_, soon()).unwrap();
    send_all(&stream, 4, ADU, 3);
    stream.wait(soon()).unwrap();
    session.close(second, soon()).unwrap();
    assert!(other.join().unwrap().1 == all(4, ADU, 3));
    session.close(connection, soon()).unwrap();
    let (counts, data) = taken.join().unwrap();
    assert_eq!(counts.unwrap().cut, 1);
    assert!(data == content(1, 0, 8 << 20)[..data.len()]);
}

#[test]
fn a_blocking_earlier_stream_is_named() {
    let rig = Rig::new();
    let session = rig.session();
    links(&session, 1, RINGS);
    let (options, taken) = sink(|_| Action::Take);
    let connection = session.open(&options, soon()).unwrap();
    let first = spec(connection, Direction::Transmit, (ADU, TU), 1, 1);
    let streams = session.submit(&[first.clone(), first], soon()).unwrap();
    let little = Timeout::after(Duration::from_millis(300));
    let said = streams[1].send(&content(6, 0, ADU), little).unwrap_err();
    let said = said.to_string();
    let other = format!("stream {} comes before it", streams[0].number());
    assert!(
        said.contains("it is inactive") && said.contains(&other),
        "{said}"
    );
    drop(session);
    // The connection ends with its application.
    let (counts, _) = taken.join().unwrap();
    assert_eq!(counts.unwrap().adus, 0);
}

#[test]
fn an_adu_that_was_not_accepted_can_be_sent_again() {
    let rig = Rig::new();
    let session = rig.session();
    links(&session, 1, RINGS);
    let (go, gate) = channel::<()>();
    let (options, taken) = sink(move |came| {
        if came == 1 {
            gate.recv().unwrap();
        }
        Action::Take
    });
    let connection = session.open(&options, soon()).unwrap();
    let big = spec(connection, Direction::Transmit, (8 << 20, TU), 1, 1);
    let small = spec(connection, Direction::Transmit, (ADU, TU), 1, 1);
    let streams = session.submit(&[big, small], soon()).unwrap();
    std::thread::scope(|scope| {
        let whole = scope.spawn(|| streams[0].send(&content(1, 0, 8 << 20), soon()));
        streams[0].wait_moved(0, soon()).unwrap();
        // The link belongs to the first call until its whole ADU is written.
        while !streams[0]
            .status(soon())
            .is_ok_and(|status| status.bytes > 0)
        {
            std::thread::sleep(Duration::from_millis(1));
        }
        let little = Timeout::after(Duration::from_millis(200));
        let said = streams[1].send(&content(2, 0, ADU), little).unwrap_err();
        assert_eq!(said.to_string(), "link 0: another call has it");
        go.send(()).unwrap();
        whole.join().unwrap().unwrap();
    });
    streams[1].send(&content(2, 0, ADU), soon()).unwrap();
    streams[1].wait(soon()).unwrap();
    session.close(connection, soon()).unwrap();
    let expected = [content(1, 0, 8 << 20), content(2, 0, ADU)].concat();
    assert!(taken.join().unwrap().1 == expected);
}

#[test]
fn a_failed_stream_returns_an_error_to_its_sender() {
    let rig = Rig::new();
    let session = rig.session();
    links(&session, 2, RINGS);
    let (options, taken) = sink(|came| match came {
        4 => Action::Leave,
        _ => Action::Take,
    });
    let connection = session.open(&options, soon()).unwrap();
    let mut open = spec(connection, Direction::Transmit, (ADU, TU), 2, 0);
    open.adus = None;
    let stream = session.stream(open, soon()).unwrap();
    let error = loop {
        if let Err(error) = stream.send(&content(1, 0, ADU), soon()) {
            break error;
        }
    };
    assert!(matches!(error, Error::Stream(..)), "{error:?}");
    let said = error.to_string();
    assert!(said.contains("it has failed: "), "{said}");
    assert_eq!(stream.wait(soon()).unwrap_err(), error);
    drop(taken.join());
}

#[test]
fn the_end_of_the_daemon_during_a_send_is_one_clear_error() {
    for carrier in CARRIERS {
        let mut rig = Rig::new();
        let session = rig.session();
        links(&session, 2, carrier);
        let (options, taken) = sink(|_| {
            std::thread::sleep(Duration::from_millis(5));
            Action::Take
        });
        let connection = session.open(&options, soon()).unwrap();
        let spec = spec(connection, Direction::Transmit, (ADU, TU), 2, 10_000);
        let stream = session.stream(spec, soon()).unwrap();
        std::thread::scope(|scope| {
            let sender = scope.spawn(|| {
                loop {
                    if let Err(error) = stream.send(&content(1, 0, ADU), soon()) {
                        return error;
                    }
                }
            });
            let waiter = scope.spawn(|| stream.wait(soon()).unwrap_err());
            stream.wait_done(1, soon()).unwrap();
            drop(rig.daemon.take());
            let (sent, waited) = (sender.join().unwrap(), waiter.join().unwrap());
            for error in [sent, waited, session.open(&options, soon()).unwrap_err()] {
                let said = error.to_string();
                let ended = matches!(error, Error::Gone(..))
                    || said.contains("the daemon ends")
                    || said.contains("was cancelled");
                assert!(ended, "{carrier:?}: {error:?}");
            }
            assert!(matches!(session.gone(), Some(Error::Gone(..))));
        });
        drop(taken.join());
    }
}

#[test]
fn a_stale_ticket_and_a_link_in_use_are_refused() {
    let rig = Rig::new();
    let first = rig.session();
    let ticket = first.welcome().ticket.clone();
    links(&first, 1, RINGS);
    let second = Session::join(&rig.unix, &ticket, false, soon()).unwrap();
    let taken = second.link(0, RINGS, soon()).unwrap_err().to_string();
    assert!(taken.starts_with("link 0 has its ends"), "{taken}");
    let spec = spec(0, Direction::Transmit, (8, 8), 1, 1);
    let none = second.adopt(7, &spec, soon()).unwrap_err();
    assert!(none.is_refused(RefusalKind::Unknown), "{none}");
    drop(first);
    let gone = second.event(soon());
    assert!(
        matches!(gone, Err(Error::Gone(..))),
        "its application ended: {gone:?}"
    );
    let stale = Session::join(&rig.unix, &ticket, false, soon()).unwrap_err();
    assert!(matches!(stale, Error::Refused(_)), "{stale:?}");
}

#[test]
fn a_file_is_kept_when_its_connection_is_closed() {
    let rig = Rig::new();
    let session = Session::connect(&rig.unix, None, "a test", true, soon()).unwrap();
    links(&session, 2, RINGS);
    let path = rig.folder.join("image");
    let options = ConnectionOptions::to(&format!("file:{}", path.display()));
    let connection = session.open(&options, soon()).unwrap();
    let spec = spec(connection, Direction::Transmit, (ADU, TU), 2, 3);
    let stream = session.stream(spec, soon()).unwrap();
    send_all(&stream, 1, ADU, 3);
    stream.wait(soon()).unwrap();
    session.close(connection, soon()).unwrap();
    loop {
        if let Event::Kept { bytes, .. } = session.event(soon()).unwrap().unwrap() {
            assert_eq!(bytes, 3 * ADU);
            break;
        }
    }
    assert!(std::fs::read(&path).unwrap() == all(1, ADU, 3));
}

#[test]
fn streams_continue_at_the_limit_of_waiting_requests() {
    let rig = Rig::with(|config| config.limits.waits = 1);
    let session = rig.session();
    links(&session, 1, RINGS);
    let (options, taken) = sink(|_| Action::Take);
    let connection = session.open(&options, soon()).unwrap();
    let spec = spec(connection, Direction::Transmit, (TU, TU), 1, 3);
    let streams = session
        .submit(&[spec.clone(), spec.clone(), spec], soon())
        .unwrap();
    let held = session
        .ask(wait(streams[2].number()), false, soon())
        .unwrap();
    for (key, stream) in (0..).zip(&streams) {
        send_all(stream, key, TU, 3);
    }
    held.wait(soon()).unwrap();
    for stream in &streams {
        assert_eq!(stream.wait(soon()).unwrap().done, 3);
    }
    session.close(connection, soon()).unwrap();
    let wanted: Vec<u8> = (0..3).flat_map(|key| all(key, TU, 3)).collect();
    assert!(taken.join().unwrap().1 == wanted);
}

fn wait(stream: u32) -> Request {
    Request::Wait {
        stream,
        adus: None,
        moved: false,
    }
}

/// Random numbers from a seed, each below a bound.
fn chance(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut bytes = content(99, seed, 4096).into_iter();
    move |below| {
        let word = bytes.by_ref().take(4);
        word.fold(0, |word, byte| word << 8 | u64::from(byte)) % below
    }
}

#[test]
fn any_format_arrives_unchanged() {
    let rig = Rig::new();
    let session = rig.session();
    links(&session, 5, RINGS);
    let mut uneven = 0;
    for seed in 0..30 {
        let mut below = chance(seed);
        let (options, taken) = sink(|_| Action::Take);
        let connection = session.open(&options, soon()).unwrap();
        let (tu, adus) = (1 + below(5000), 1 + below(4));
        let adu = 1 + below(4 * tu);
        let mut spec = spec(connection, Direction::Transmit, (adu, tu), 1, adus);
        spec.format.su_order = (0..1 + below(7)).map(|_| below(5) as u16).collect();
        spec.format.granule_bytes = 1 + below(64);
        spec.format.packet_bytes = 1 + below(tu).max(tu / 9);
        spec.format.packet_bytes = spec.format.packet_bytes.min(tu);
        uneven += u32::from(!adu.is_multiple_of(tu));
        let stream = session.stream(spec.clone(), soon()).unwrap();
        // All at once, or one ADU at a time.
        if below(2) == 0 {
            stream.send_run(&all(seed, adu, adus), soon()).unwrap();
        } else {
            send_all(&stream, seed, adu, adus);
        }
        let status = stream.wait(soon());
        assert!(status.is_ok(), "{spec:?}: {status:?}");
        session.close(connection, soon()).unwrap();
        assert!(taken.join().unwrap().1 == all(seed, adu, adus), "{spec:?}");
    }
    assert!(uneven > 10, "{uneven} of 30 have shorter last TUs");
}

#[test]
fn a_sink_with_too_small_a_window_is_named() {
    let rig = Rig::new();
    let session = rig.session();
    links(&session, 1, RINGS);
    let (options, taken) = sink_of(Sink::new(TU), |_| Action::Take);
    let connection = session.open(&options, soon()).unwrap();
    let mut open = spec(connection, Direction::Transmit, (TU, TU), 1, 0);
    open.adus = None;
    let stream = session.stream(open, soon()).unwrap();
    stream.send(&content(1, 0, TU), soon()).unwrap();
    stream.wait_moved(1, soon()).unwrap();
    let little = Timeout::after(Duration::from_millis(300));
    let said = stream.wait_done(1, little).unwrap_err().to_string();
    assert!(said.contains("grants nothing more"), "{said}");
    drop(session);
    drop(taken.join());
}
