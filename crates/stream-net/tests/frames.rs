//! Frames, and destinations of packets: encoding round-trips, and invalid input is refused with a
//! message of one line.

use isthmus_stream::StreamId;
use isthmus_stream_net::Destination;
use isthmus_stream_net::frame::{Frame, Kind};
use proptest::prelude::*;
use std::cell::Cell;

fn frame() -> impl Strategy<Value = Frame> {
    let kinds = prop_oneof![
        Just(Kind::Data),
        Just(Kind::Void),
        Just(Kind::Cut),
        Just(Kind::End),
        Just(Kind::Resume),
        Just(Kind::Crc32c),
        Just(Kind::Internet)
    ];
    (kinds, any::<u32>(), any::<u64>(), any::<u32>(), 1..u32::MAX).prop_map(
        |(kind, stream, adu, offset, bytes)| Frame {
            kind,
            stream: StreamId(stream),
            adu,
            offset: u64::from(offset),
            bytes: match kind {
                Kind::Cut | Kind::End | Kind::Resume => 0,
                _ => bytes,
            },
        },
    )
}

proptest! {
    #[test]
    fn a_frame_is_read_as_it_was_written(frame in frame()) {
        prop_assert_eq!(Frame::decode(&frame.encode()).unwrap(), frame);
    }

    #[test]
    fn a_frame_with_a_flipped_bit_is_refused(frame in frame(), bit in 0..8 * Frame::BYTES) {
        let mut bytes = frame.encode();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let error = Frame::decode(&bytes).unwrap_err().to_string();
        prop_assert!(!error.contains('\n') && error.starts_with("a frame of a link: "));
    }
}

/// Invalid headers with a correct checksum reach the checks of the fields.
#[test]
fn garbage_is_refused() {
    let refused = Cell::new(0);
    let mut runner = proptest::test_runner::TestRunner::default();
    let garbage = (any::<[u8; Frame::BYTES]>(), 0..10u8, 0..3u8);
    let outcome = runner.run(&garbage, |(mut bytes, kind, version)| {
        bytes[..4].copy_from_slice(&[b'I', b'L', version, kind]);
        let sum = isthmus_stream::checksum::crc32c(&bytes[..28]);
        bytes[28..].copy_from_slice(&sum.to_le_bytes());
        match Frame::decode(&bytes) {
            // Accepted bytes are those that encoding would produce.
            Ok(frame) => prop_assert_eq!(frame.encode(), bytes),
            Err(_) => refused.set(refused.get() + 1),
        }
        Ok(())
    });
    outcome.unwrap();
    assert!(refused.get() > 100, "{} were refused", refused.get());
}

#[test]
fn destinations_are_read() {
    let four = "127.0.0.1:5000".parse().unwrap();
    let six = "[::1]:80".parse().unwrap();
    for (words, right) in [
        ("raw:tcp:127.0.0.1:5000", Destination::RawTcp(four)),
        ("raw:unix:/tmp/a:b", Destination::RawUnix("/tmp/a:b".into())),
        ("raw:unix:@nic", Destination::RawUnix("@nic".into())),
        ("raw:given:peer", Destination::RawProvided("peer".into())),
        ("tcp:[::1]:80", Destination::Tcp(six)),
        (
            "tcp:given:camera",
            Destination::TcpProvided("camera".into()),
        ),
        (
            "file:/data/out.raw",
            Destination::File("/data/out.raw".into()),
        ),
        ("udp:127.0.0.1:5000", Destination::Udp(four, None)),
        (
            "udp:127.0.0.1:5000?mb_per_s=80",
            Destination::Udp(four, Some(80_000_000)),
        ),
        ("udp:given:peer", Destination::UdpProvided("peer".into())),
    ] {
        assert_eq!(Destination::parse(words).unwrap(), right, "{words}");
    }
    for words in [
        "",
        "raw",
        "raw:tcp:",
        "raw:tcp:localhost:80",
        "raw:unix:",
        "raw:carrier:pigeon",
        "file:",
        "udp:127.0.0.1:1?mb_per_s=0",
        "udp:127.0.0.1",
        "http://127.0.0.1:80",
    ] {
        let error = Destination::parse(words).unwrap_err().to_string();
        let named = error.starts_with(&format!("destination `{words}`: "));
        assert!(named && !error.contains('\n'), "{error}");
    }
}
