//! Small tables that a person can check.

use crate::driver::{Driver, words};
use isthmus_stream::{
    Config, Direction, Event, Format, LinkId, Other, State, StreamId, StreamSpec, Work,
};

fn links(numbers: std::ops::Range<u16>) -> Vec<LinkId> {
    numbers.map(LinkId).collect()
}

/// Figure 8, with the TU of 32 KB that its other numbers require: 16 nodes with 8 KB each, a link
/// per column, four packets. With the 64 KB in the paper there would be two packets.
#[test]
fn figure_8_is_four_packets_of_four_blocks() {
    let mut driver = Driver::new(Config::iwarp());
    let connection = driver.connection();
    let columns = links(0..4);
    let format = Format::fixed(128 << 10, 32 << 10, &columns);
    let spec = StreamSpec::new(connection, Direction::Transmit, format, 1);
    let stream = driver.submit(&spec).expect("it fits");
    driver.offer(stream, &columns);
    let mut table = Vec::new();
    for work in driver.run() {
        table.push(match work {
            Work::Fetch { tu, su, .. } => {
                let kilobytes = (su.offset >> 10, su.bytes >> 10);
                format!(
                    "fetch TU {} link {} at {} KB: {} KB",
                    tu.index, su.link, kilobytes.0, kilobytes.1
                )
            }
            Work::Store { bytes, .. } => format!("store {} KB", bytes >> 10),
            Work::Send { header, .. } if header.bytes == 0 => "send the end".into(),
            Work::Send { header, .. } => {
                format!(
                    "send ADU {} at {} KB: {} KB",
                    header.adu,
                    header.offset >> 10,
                    header.bytes >> 10
                )
            }
            other => panic!("{other:?}"),
        });
    }
    let fetches: Vec<_> = table
        .iter()
        .filter(|line| line.starts_with("fetch"))
        .collect();
    let expected: Vec<_> = (0..4)
        .flat_map(|tu| {
            (0..4).map(move |link| format!("fetch TU {tu} link {link} at {} KB: 8 KB", 8 * link))
        })
        .collect();
    assert_eq!(fetches, expected.iter().collect::<Vec<_>>());
    let sends: Vec<_> = table
        .iter()
        .filter(|line| line.starts_with("send"))
        .collect();
    let expected = [
        "send ADU 0 at 0 KB: 32 KB",
        "send ADU 0 at 32 KB: 32 KB",
        "send ADU 0 at 64 KB: 32 KB",
        "send ADU 0 at 96 KB: 32 KB",
        "send the end",
    ];
    assert_eq!(sends, expected);
    // While one buffer is stored the other is filled: TU 1 is fetched before packet 0 is stored.
    let begin = table[..9].join("\n");
    assert!(begin.contains("store 32 KB"), "{begin}");
    assert_eq!(driver.manager.statistics().staging_most[0], 64 << 10);
    assert_eq!(driver.manager.statistics().engines_most[0], 4);
}

/// A TU of four SUs and four packets, with and without cut-through: the packets that are stored
/// after each SU. The SU in the middle comes last of the first three, and the last packet waits for
/// the whole TU.
#[test]
fn with_cut_through_a_packet_is_stored_when_its_bytes_are_there() {
    for (cut_through, expected) in [
        (true, ["0", "8", "", "16 24", "", "0", "8"]),
        (false, ["", "", "", "0 8 16 24", "", "", "0 8"]),
    ] {
        let mut driver = Driver::new(Config::iwarp());
        let connection = driver.connection();
        let columns = links(0..4);
        let mut format = Format::fixed(48 << 10, 32 << 10, &columns);
        format.packet_bytes = 8 << 10;
        let mut spec = StreamSpec::new(connection, Direction::Transmit, format, 1);
        spec.cut_through = cut_through;
        let stream = driver.submit(&spec).expect("it fits");
        driver.offer(stream, &columns);
        let mut table = Vec::new();
        // TU 0, then the TU of 16 KB after it: its SUs have 4 KB, its packets 8 KB.
        for (tu, su) in [(0, 0), (0, 1), (0, 3), (0, 2), (1, 0), (1, 1), (1, 3)] {
            let one = |work: &Work| {
                matches!(work, Work::Fetch { tu: of, su: found, .. }
                    if (of.index, found.index) == (tu, su))
            };
            driver.carry_out(one).expect("it is fetched");
            if (tu, su) == (1, 3) {
                let last = |work: &Work| matches!(work, Work::Fetch { .. });
                driver.carry_out(last).expect("SU 2 is left");
            }
            let mut stored = Vec::new();
            while let Some(Work::Store { offset, .. }) =
                driver.carry_out(|work| matches!(work, Work::Store { .. }))
            {
                stored.push((offset >> 10).to_string());
            }
            table.push(stored.join(" "));
        }
        assert_eq!(table, expected, "cut-through: {cut_through}");
        driver.run();
        let moved = Event::AduMoved {
            stream,
            adu: 0,
            good: true,
        };
        assert_eq!(
            driver
                .events
                .iter()
                .filter(|event| **event == moved)
                .count(),
            1
        );
        let early = driver.manager.statistics().stored_early;
        assert_eq!(early, if cut_through { 3 } else { 0 });
    }
}

/// Two streams of four ADUs each, of which each needs all of the staging memory.
fn two_streams(quantum: u32) -> String {
    let config = Config {
        staging_bytes: 16,
        ..Config::iwarp()
    };
    let mut driver = Driver::new(config);
    let link = links(0..1);
    for _ in 0..2 {
        let connection = driver.connection();
        let format = Format::fixed(8, 8, &link);
        let mut spec = StreamSpec::new(connection, Direction::Transmit, format, 4);
        spec.quantum = quantum;
        driver.submit(&spec).expect("it fits");
    }
    // Both have their data before the first begins to move.
    driver.offer(StreamId(0), &link);
    driver.offer(StreamId(1), &link);
    driver.run();
    words(&driver.events)
}

#[test]
fn streams_take_turns_by_their_quantum() {
    assert_eq!(
        two_streams(1),
        "A+ A0> A0. A- B+ B0> B0. B- A+ A1> A1. A- B+ B1> B1. B- \
         A+ A2> A2. A- B+ B2> B2. B- A+ A3> A3. B+ B3> B3."
    );
    // Within a quantum the next ADU begins while the previous one is stored.
    assert_eq!(
        two_streams(2),
        "A+ A0> A1> A0. A1. A- B+ B0> B1> B0. B1. B- A+ A2> A3> A2. A3. B+ B2> B3> B2. B3."
    );
}

/// Four images on one frame buffer (paper, 7.3): no stream is more than one frame ahead.
#[test]
fn four_streams_go_in_lock_step() {
    let mut driver = Driver::new(Config::iwarp());
    let link = links(0..1);
    let mut specs = Vec::new();
    for at in 0..4 {
        let connection = driver.connection();
        let format = Format::fixed(16 << 10, 16 << 10, &link);
        let mut spec = StreamSpec::new(connection, Direction::Transmit, format, 2);
        spec.in_step_with = (at > 0).then_some(Other::Here(0)).into_iter().collect();
        specs.push(spec);
    }
    let app = driver.app;
    let streams = driver
        .manager
        .submit_all(crate::driver::NOW, app, &specs)
        .expect("they fit");
    for stream in &streams {
        driver.offer(*stream, &link);
    }
    // Each stream is carried out as far as possible, one after the other. A, B and C stop at the
    // end of their first frame. D, the last to finish it, lets all continue.
    loop {
        let mut any = false;
        for stream in &streams {
            let is_of_stream = |work: &Work| match work {
                Work::Fetch { stream: of, .. } | Work::Store { stream: of, .. } => of == stream,
                Work::Send { .. } => true,
                _ => false,
            };
            while driver.carry_out(is_of_stream).is_some() {
                any = true;
            }
        }
        if !any {
            break;
        }
    }
    assert_eq!(
        words(&driver.events),
        "A+ A0> B+ B0> C+ C0> D+ D0> A0. B0. C0. D0. A1> B1> C1> D1> D1. A1. B1. C1."
    );
    let ended = |event: &&Event| matches!(event, Event::Ended { .. });
    assert_eq!(driver.events.iter().filter(ended).count(), 4);
    assert_eq!(
        driver.manager.status(streams[3]).map(|status| status.state),
        Ok(State::Done)
    );
}
