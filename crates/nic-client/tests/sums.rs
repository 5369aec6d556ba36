//! Checksums that ranks compute of their data, and packets that leave before their TU is complete.

use crate::fake::soon;
use crate::rig::{CARRIERS, RINGS, Rig, all, links, send_all, sink, sink_of, spec};
use isthmus_nic_client::protocol::{Answer, Carrier, Checksum, Direction, RefusalKind};
use isthmus_nic_client::{ConnectionOptions, Session};
use isthmus_stream::checksum::crc32c;
use isthmus_stream_net::frame::{BLOCK_BYTES, Frame, Kind};
use isthmus_stream_net::sink::{Action, Sink};
use std::io::Read;

const ADU: u64 = 200_003;
const TU: u64 = 64 << 10;

/// The sink accepts every checksum of ranks, over every carrier and format.
#[test]
fn sums_of_ranks_are_those_of_the_data() {
    let rig = Rig::new();
    let mut tried = 0;
    for carrier in CARRIERS {
        for checksum in [Checksum::Crc32c, Checksum::Internet] {
            for (count, packet, cut_through) in [(1, TU, false), (3, 16 << 10, true)] {
                let session = rig.session();
                links(&session, count, carrier);
                let of = Sink {
                    checksum,
                    ..Sink::new(256 << 10)
                };
                let (options, taken) = sink_of(of, |_| Action::Take);
                let options = ConnectionOptions {
                    checksum,
                    ..options
                };
                let connection = session.open(&options, soon()).unwrap();
                let mut spec = spec(connection, Direction::Transmit, (ADU, TU), count, 5);
                spec.format.packet_bytes = packet;
                spec.cut_through = cut_through;
                spec.rank_sums = checksum;
                let stream = session.stream(spec, soon()).unwrap();
                send_all(&stream, tried, ADU, 5);
                assert_eq!(stream.wait(soon()).unwrap().state, "done");
                session.close(connection, soon()).unwrap();
                let (counts, data) = taken.join().unwrap();
                assert_eq!(counts.unwrap().adus, 5);
                assert!(
                    data == all(tried, ADU, 5),
                    "{carrier:?} {checksum:?} {count}"
                );
                tried += 1;
            }
        }
    }
    assert_eq!(tried, 8);
}

/// A link carries the data, followed by the checksum of each block.
#[test]
fn checksums_of_blocks_follow_the_data() {
    const BYTES: u64 = 40_000;
    let (listener, address) = crate::fake::listener();
    let thread = std::thread::spawn(move || {
        let mut sockets = listener.incoming().map(Result::unwrap);
        let mut first = crate::fake::Side::new(sockets.next().unwrap());
        let hello = first.next().unwrap();
        first.answer(hello.id, crate::fake::welcome());
        let mut link = crate::fake::Side::new(sockets.next().unwrap());
        let asked = link.next().unwrap();
        link.answer(asked.id, Answer::Linked);
        let submitted = first.next().unwrap();
        first.answer(submitted.id, Answer::Streams { streams: vec![7] });
        let mut head = [0; Frame::BYTES];
        link.socket.read_exact(&mut head).unwrap();
        let frame = Frame::decode(&head).unwrap();
        let mut rest = vec![0; frame.follow() as usize];
        link.socket.read_exact(&mut rest).unwrap();
        (frame, rest)
    });
    let session = Session::connect(&address, None, "sums", false, soon()).unwrap();
    session.link(0, Carrier::Socket, soon()).unwrap();
    let mut spec = spec(1, Direction::Transmit, (BYTES, BYTES), 1, 1);
    spec.rank_sums = Checksum::Crc32c;
    let stream = session.stream(spec, soon()).unwrap();
    send_all(&stream, 1, BYTES, 1);
    let (frame, rest) = thread.join().unwrap();
    let data = all(1, BYTES, 1);
    assert_eq!((frame.kind, frame.bytes), (Kind::Crc32c, BYTES as u32));
    let sums = data
        .chunks(BLOCK_BYTES)
        .flat_map(|it| crc32c(it).to_le_bytes());
    assert!(rest == [data.clone(), sums.collect()].concat());
}

/// Settings without effect are refused with a remedy.
#[test]
fn settings_without_effect_are_refused() {
    let rig = Rig::new();
    let session = rig.session();
    links(&session, 1, RINGS);
    let (options, _taken) = sink(|_| Action::Take);
    let connection = session.open(&options, soon()).unwrap();
    let file = ConnectionOptions::to(&format!("file:{}/image", rig.folder.display()));
    let file = session.open(&file, soon()).unwrap();
    let sends = spec(connection, Direction::Transmit, (ADU, TU), 1, 1);
    let takes = spec(connection, Direction::Receive, (ADU, TU), 1, 1);
    for (spec, change, word) in [
        (
            &sends,
            (true, Checksum::None, TU, connection),
            "cut_through",
        ),
        (
            &takes,
            (true, Checksum::None, 4096, connection),
            "cut_through",
        ),
        (
            &takes,
            (false, Checksum::Crc32c, TU, connection),
            "are sent",
        ),
        (
            &sends,
            (false, Checksum::Internet, TU, connection),
            "is crc32c",
        ),
        (
            &sends,
            (false, Checksum::Crc32c, 5000, connection),
            "of 5000 cut",
        ),
        (&sends, (false, Checksum::Crc32c, TU, file), "is none"),
    ] {
        let mut spec = spec.clone();
        (spec.cut_through, spec.rank_sums) = (change.0, change.1);
        (spec.format.packet_bytes, spec.connection) = (change.2, change.3);
        let error = session.stream(spec, soon()).unwrap_err();
        assert!(error.is_refused(RefusalKind::Conflict), "{error:?}");
        assert!(error.to_string().contains(word), "{error}");
    }
}
