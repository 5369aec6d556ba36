//! Lines of the protocol: reading returns the written requests for every split of the bytes, and
//! rejects garbage.

use isthmus_nic_protocol::{
    Carrier, Checksum, Direction, Format, LINE_BYTES, Lasting, Lines, Message, Other, Protocol,
    Refusal, RefusalKind, Request, RequestLine, Spec, read, write,
};
use proptest::prelude::*;

fn spec() -> impl Strategy<Value = Spec> {
    let format = (
        proptest::option::of(any::<u64>()),
        any::<u64>(),
        proptest::collection::vec(any::<u16>(), 0..9),
    );
    let others = proptest::collection::vec(
        prop_oneof![
            any::<u32>().prop_map(Other::Stream),
            any::<usize>().prop_map(Other::Here)
        ],
        0..3,
    );
    (any::<u32>(), any::<bool>(), format, others, any::<u32>()).prop_map(
        |(connection, sends, (adu_bytes, tu_bytes, su_order), after, quantum)| Spec {
            connection,
            direction: if sends {
                Direction::Transmit
            } else {
                Direction::Receive
            },
            format: Format {
                adu_bytes,
                tu_bytes,
                su_order,
                granule_bytes: 8,
                packet_bytes: tu_bytes,
            },
            adus: adu_bytes.map(|bytes| bytes / 3),
            quantum,
            permanent: sends,
            in_step_with: after.clone(),
            after,
            moved_is_finished: !sends,
            cut_through: sends,
            rank_sums: if sends {
                Checksum::Internet
            } else {
                Checksum::None
            },
        },
    )
}

fn request() -> impl Strategy<Value = Request> {
    prop_oneof![
        (
            any::<u32>(),
            proptest::option::of(".*"),
            ".*",
            any::<bool>()
        )
            .prop_map(|(version, token, name, watch)| Request::Hello {
                version,
                token,
                name,
                operator: !watch,
                watch
            }),
        (any::<u16>(), any::<u64>(), any::<bool>()).prop_map(|(link, bytes, socket)| {
            Request::Link {
                version: 2,
                ticket: "t".into(),
                link,
                carrier: match socket {
                    true => Carrier::Socket,
                    false => Carrier::Rings {
                        from_rank_bytes: bytes,
                        to_rank_bytes: 0,
                    },
                },
                lasting: socket.then(|| Lasting {
                    session: 5,
                    key: format!("{bytes:016x}"),
                    grace_ns: (link > 9).then_some(bytes),
                    nth: link.into(),
                    received: (link > 99).then_some(bytes),
                }),
            }
        }),
        (any::<u16>(), ".*", any::<u64>()).prop_map(|(link, key, bytes)| Request::Taken {
            link,
            key,
            bytes
        }),
        (any::<u16>(), ".*").prop_map(|(link, key)| Request::Unlink { link, key }),
        (".*", any::<u32>(), any::<bool>()).prop_map(|(destination, channel, repair)| {
            Request::Open {
                destination,
                channel,
                protocol: repair.then_some(Protocol::Confirmed { repair }),
                checksum: if repair {
                    Checksum::Internet
                } else {
                    Checksum::None
                },
                share_bytes: repair.then_some(u64::from(channel)),
                window_bytes: 7,
            }
        }),
        proptest::collection::vec(spec(), 0..4).prop_map(|streams| Request::Submit { streams }),
        (
            any::<u32>(),
            proptest::option::of(any::<u64>()),
            any::<bool>()
        )
            .prop_map(|(stream, adus, moved)| Request::Wait {
                stream,
                adus,
                moved
            }),
    ]
}

proptest! {
    #[test]
    fn requests_are_read_back_for_every_split(
        asked in proptest::collection::vec((any::<u64>(), request()), 1..6),
        piece in 1_usize..300,
    ) {
        let asked: Vec<RequestLine> =
            asked.into_iter().map(|(id, request)| RequestLine { id, request }).collect();
        let mut bytes: Vec<u8> = asked.iter().flat_map(|asked| write(asked).unwrap()).collect();
        bytes.extend_from_slice(b"IL\x01");
        let mut lines = Lines::default();
        let mut found: Vec<RequestLine> = Vec::new();
        for piece in bytes.chunks(piece) {
            lines.push(piece);
            while let Some(line) = lines.take().unwrap() {
                found.push(read(&line).unwrap());
            }
        }
        prop_assert_eq!(found, asked);
        prop_assert_eq!(lines.rest(), b"IL\x01");
    }

    #[test]
    fn garbage_is_rejected_and_at_most_one_line_is_kept(
        bytes in proptest::collection::vec(any::<u8>(), 0..2000),
    ) {
        let mut lines = Lines::default();
        lines.push(&bytes);
        while let Some(line) = lines.take().unwrap() {
            prop_assert!(read::<RequestLine>(&line).is_err());
        }
    }
}

#[test]
fn a_line_without_an_end_is_refused() {
    let mut lines = Lines::default();
    lines.push(&vec![b'x'; LINE_BYTES]);
    assert_eq!(lines.take(), Ok(None));
    lines.push(b"x");
    assert!(lines.take().is_err());
}

#[test]
fn a_line_above_the_limit_is_not_written() {
    let message = |bytes: usize| {
        let (kind, text) = (RefusalKind::Limit, "x".repeat(bytes));
        write(&Message::Refused {
            id: None,
            refusal: Refusal { kind, text },
        })
    };
    let most = LINE_BYTES + 1 - message(0).unwrap().len();
    assert_eq!(message(most).unwrap().len(), LINE_BYTES + 1);
    let error = message(most + 1).unwrap_err();
    assert!(error.0.contains("1048577 bytes"), "{error}");
}

#[test]
fn each_of_many_short_lines_is_taken_once() {
    let mut lines = Lines::default();
    lines.push(&vec![b'\n'; LINE_BYTES]);
    let mut count = 0;
    while let Some(line) = lines.take().unwrap() {
        assert!(line.is_empty());
        count += 1;
    }
    assert_eq!(count, LINE_BYTES);
    assert_eq!(lines.rest(), b"");
}

#[test]
fn errors_name_the_problem() {
    let wrong = read::<RequestLine>(br#"{"id":1,"ask":"cancel","stream":"two"}"#).unwrap_err();
    assert!(wrong.0.contains("two"), "{wrong}");
    let wrong = read::<RequestLine>(br#"{"id":1,"ask":"canel","stream":2}"#).unwrap_err();
    assert!(
        wrong.0.contains("canel") && wrong.0.contains("cancel"),
        "{wrong}"
    );
}
