//! One suite of scripts for the driver in memory and for all real drivers: the same script must
//! give the same events of each stream and kind, in the same order.
//!
//! Between kinds the order is causal: an ADU begins before it is moved and is moved before it is
//! done. Whether ADU 1 begins before or after ADU 0 is done depends on timing and is not compared.
//! Scripts assert it where rules require it (lock step, sequencing).

use crate::rig::memory::{Memory, adu_bytes};
use crate::rig::proxy::Middle;
use crate::rig::ranks::Links;
use crate::rig::real::Real;
use crate::rig::{Plan, Rig, Side, content};
use isthmus_stream::{
    Config, Direction, End, Event, Format, LinkId, Protocol, Reason, StreamId, Wait,
};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

const KB: u64 = 1 << 10;

pub fn config() -> Config {
    Config {
        staging_bytes: 256 * KB,
        engines: 16,
        network_bytes: 1024 * KB,
        stall_ns: 300_000_000,
        ..Config::default()
    }
}

/// The events of a stream on one side.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Fate {
    pub started: Vec<u64>,
    pub moved: Vec<(u64, bool)>,
    pub done: Vec<(u64, bool)>,
    pub end: Option<End>,
}

/// Returns the events of all streams, and checks that causes precede their effects.
pub fn fates(rig: &dyn Rig, side: Side) -> BTreeMap<StreamId, Fate> {
    fates_of(&rig.name(), rig.events(side))
}

pub fn fates_of(name: &str, events: Vec<Event>) -> BTreeMap<StreamId, Fate> {
    let mut fates: BTreeMap<StreamId, Fate> = BTreeMap::new();
    for event in events {
        let Some(stream) = event.stream() else {
            continue;
        };
        let fate = fates.entry(stream).or_default();
        assert_eq!(fate.end, None, "{name}: after its end: {event:?}");
        match event {
            Event::AduStarted { adu, .. } => fate.started.push(adu),
            Event::AduMoved { adu, good, .. } => {
                assert!(fate.started.contains(&adu), "{name}: ADU {adu} moved first");
                fate.moved.push((adu, good));
            }
            Event::AduDone { adu, good, .. } => {
                let moved = fate.moved.iter().any(|(of, _)| *of == adu);
                assert!(moved, "{name}: ADU {adu} done first");
                fate.done.push((adu, good));
            }
            Event::Ended { end, .. } => {
                // The text is the driver's.
                fate.end = Some(match end {
                    End::Failed(Reason::ConnectionLost(connection, _)) => {
                        End::Failed(Reason::ConnectionLost(connection, String::new()))
                    }
                    other => other,
                });
            }
            _ => {}
        }
    }
    fates
}

/// Waits until a side's events satisfy a condition.
pub fn wait(rig: &mut dyn Rig, side: Side, what: &str, wanted: impl Fn(&[Event]) -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let events = rig.events(side);
        if wanted(&events) {
            return;
        }
        assert!(
            Instant::now() < deadline,
            "{}: {side:?} waits for {what}; it had {events:#?}",
            rig.name()
        );
        rig.pump();
    }
}

pub fn ended(rig: &mut dyn Rig, side: Side, streams: &[usize]) {
    let all = |events: &[Event]| {
        streams.iter().all(|key| {
            let ends = |event: &Event| {
                matches!(event, Event::Ended { stream, .. } if stream.0 as usize == *key)
            };
            events.iter().any(ends)
        })
    };
    wait(rig, side, "the end of streams", all);
}

pub fn moved(rig: &mut dyn Rig, side: Side, key: usize, number: u64) {
    wait(
        rig,
        side,
        &format!("ADU {number} of stream {key} moved"),
        |events| {
            events.iter().any(|event| {
                matches!(event, Event::AduMoved { stream, adu, .. }
                if stream.0 as usize == key && *adu == number)
            })
        },
    );
}

/// Checks that all ADUs reached the ranks, each byte at its position.
pub fn whole(rig: &mut dyn Rig, key: usize, plan: &Plan) {
    let bytes = adu_bytes(&plan.format);
    let tus = (0..plan.format.tus(bytes)).filter_map(|index| plan.format.tu(0, bytes, index));
    let sus: usize = tus.map(|tu| plan.format.sus(tu.bytes).count()).sum();
    let deadline = Instant::now() + Duration::from_secs(30);
    // Ranks read the driver's data a little later.
    while rig.had(key).len() < sus * plan.adus as usize {
        assert!(
            Instant::now() < deadline,
            "{}: {} SUs came",
            rig.name(),
            rig.had(key).len()
        );
        rig.pump();
    }
    let mut adus = vec![vec![0; bytes as usize]; plan.adus as usize];
    let mut count = 0;
    for had in rig.had(key) {
        assert!(had.good);
        count += had.data.len() as u64;
        let place = had.offset as usize;
        adus[had.adu as usize][place..place + had.data.len()].copy_from_slice(&had.data);
    }
    assert_eq!(
        count,
        bytes * plan.adus,
        "{}: bytes of stream {key}",
        rig.name()
    );
    for (adu, data) in adus.iter().enumerate() {
        let same = *data == content(key, adu as u64, bytes);
        assert!(same, "{}: bytes of ADU {adu} of stream {key}", rig.name());
    }
}

/// All tested combinations of links to ranks and of the path between two interfaces.
const WAYS: [(Links, Middle); 9] = [
    (Links::Ring, Middle::Unix),
    (Links::Roomy, Middle::Tcp),
    (Links::Roomy, Middle::Unix),
    (Links::Ring, Middle::Tcp),
    (Links::Ring, Middle::Datagrams),
    (Links::Unix, Middle::Unix),
    (Links::Unix, Middle::Tcp),
    (Links::Tcp, Middle::Unix),
    (Links::Tcp, Middle::Tcp),
];

/// Runs a script on all combinations, and compares the events.
pub fn on_all(script: impl Fn(&mut dyn Rig)) {
    on(&script, |_| true);
}

/// Runs a script on all combinations whose connections end if a packet is corrupted or a peer
/// leaves.
fn on_streams(script: impl Fn(&mut dyn Rig)) {
    on(&script, |middle| middle != Middle::Datagrams);
}

fn on(script: &impl Fn(&mut dyn Rig), fits: impl Fn(Middle) -> bool) {
    let mut memory = Memory::new(&config());
    script(&mut memory);
    let right = [Side::Sends, Side::Receives].map(|side| fates(&memory, side));
    assert!(right[0].values().all(|fate| fate.end.is_some()));
    for (links, middle) in WAYS.into_iter().filter(|(_, middle)| fits(*middle)) {
        let mut rig = Real::new(links, middle, &config());
        script(&mut rig);
        for (side, right) in [Side::Sends, Side::Receives].into_iter().zip(&right) {
            let found = fates(&rig, side);
            assert_eq!(found, *right, "{}, {side:?}", rig.name());
        }
    }
}

pub fn links(numbers: std::ops::RangeInclusive<u16>) -> Vec<LinkId> {
    numbers.map(LinkId).collect()
}

#[test]
fn a_stream_over_links_comes_whole() {
    for (count, adu, tu, packet) in [
        (1, 64 * KB, 64 * KB, 64 * KB),
        (4, 96 * KB, 64 * KB, 64 * KB),
        (3, 50_001, 16_384, 5_000),
        (16, 128 * KB, 64 * KB, 64 * KB),
    ] {
        on_all(|rig| {
            let connection = rig.open(Protocol::Stream, 256 * KB);
            let format = Format {
                packet_bytes: packet,
                ..Format::fixed(adu, tu, &links(1..=count))
            };
            let plan = Plan::new(connection, format, 5);
            let streams = rig.submit(std::slice::from_ref(&plan));
            rig.receive(&streams);
            rig.feed(0, 0..5);
            ended(rig, Side::Sends, &streams);
            ended(rig, Side::Receives, &streams);
            whole(rig, 0, &plan);
            let sends = fates(rig, Side::Sends);
            assert_eq!(sends[&StreamId(0)].done.len(), 5);
            rig.close(connection);
            wait(rig, Side::Sends, "the connection closed", |events| {
                events.iter().any(|event| matches!(event, Event::Closed(_)))
            });
            if rig.reports_the_end() {
                wait(rig, Side::Receives, "the peer gone", |events| {
                    events
                        .iter()
                        .any(|event| matches!(event, Event::Lost { .. }))
                });
            }
        });
    }
}

#[test]
fn streams_come_one_after_another() {
    on_all(|rig| {
        let connections = [0, 1].map(|_| rig.open(Protocol::Stream, 256 * KB));
        let plan = |connection: usize, link: u16| {
            let format = Format::fixed(48 * KB, 32 * KB, &[LinkId(link)]);
            Plan::new(connections[connection], format, 3)
        };
        // 0 and 1 on one connection; 2 on another, after 1.
        let plans = [
            plan(0, 1),
            plan(0, 2),
            Plan {
                after: vec![1],
                ..plan(1, 3)
            },
        ];
        let streams = rig.submit(&plans);
        rig.receive(&streams);
        for key in [2, 1, 0] {
            rig.feed(key, 0..3);
        }
        ended(rig, Side::Sends, &streams);
        ended(rig, Side::Receives, &streams);
        for (key, plan) in plans.iter().enumerate() {
            whole(rig, key, plan);
        }
        let events = rig.events(Side::Sends);
        let place = |wanted: &dyn Fn(&Event) -> bool| events.iter().position(wanted).unwrap();
        let started = |key: u32| {
            place(&|event| matches!(event, Event::AduStarted { stream, adu: 0 } if stream.0 == key))
        };
        let last = |key: u32| {
            place(
                &|event| matches!(event, Event::AduMoved { stream, adu: 2, .. } if stream.0 == key),
            )
        };
        let done = place(&|event| matches!(event, Event::Ended { stream, .. } if stream.0 == 1));
        assert!(
            last(0) < started(1),
            "{}: order within a connection",
            rig.name()
        );
        assert!(done < started(2), "{}: stream sequencing", rig.name());
    });
}

#[test]
fn streams_go_in_lock_step() {
    on_all(|rig| {
        let connections = [0, 1].map(|_| rig.open(Protocol::Stream, 256 * KB));
        let plan = |at: usize| {
            let format = Format::fixed(40 * KB, 32 * KB, &[LinkId(at as u16 + 1)]);
            Plan::new(connections[at], format, 4)
        };
        let plans = [
            plan(0),
            Plan {
                in_step_with: vec![0],
                ..plan(1)
            },
        ];
        let streams = rig.submit(&plans);
        rig.receive(&streams);
        // One stream is ahead with its data, and has to wait.
        rig.feed(0, 0..4);
        for adu in 0..4 {
            rig.feed(1, adu..adu + 1);
            moved(rig, Side::Sends, 1, adu);
        }
        ended(rig, Side::Sends, &streams);
        ended(rig, Side::Receives, &streams);
        for (key, plan) in plans.iter().enumerate() {
            whole(rig, key, plan);
        }
        let mut done = [0; 2];
        for event in rig.events(Side::Sends) {
            match event {
                Event::AduStarted { stream, adu } => {
                    let other = done[1 - stream.0 as usize];
                    assert!(adu <= other, "{}: ADU {adu} of {stream}", rig.name());
                }
                Event::AduDone { stream, .. } => done[stream.0 as usize] += 1,
                _ => {}
            }
        }
        assert_eq!(done, [4, 4]);
    });
}

#[test]
fn a_stream_is_cancelled_in_mid_stream() {
    on_all(|rig| {
        let connection = rig.open(Protocol::Stream, 256 * KB);
        let plan = Plan::new(
            connection,
            Format::fixed(64 * KB, 32 * KB, &links(1..=2)),
            3,
        );
        let next = Plan::new(
            connection,
            Format::fixed(10 * KB, 10 * KB, &links(3..=3)),
            1,
        );
        let streams = rig.submit(&[plan, next.clone()]);
        rig.receive(&streams);
        rig.feed(0, 0..1);
        moved(rig, Side::Receives, 0, 0);
        wait(rig, Side::Sends, "ADU 0 done", |events| {
            events
                .iter()
                .any(|event| matches!(event, Event::AduDone { adu: 0, .. }))
        });
        rig.cancel(Side::Sends, 0);
        rig.feed(1, 0..1);
        ended(rig, Side::Sends, &streams);
        ended(rig, Side::Receives, &streams);
        // The next stream on the connection is not affected.
        whole(rig, 1, &next);
        let ends = [Side::Sends, Side::Receives].map(|side| fates(rig, side));
        assert_eq!(ends[0][&StreamId(0)].end, Some(End::Cancelled));
        let cut = &ends[1][&StreamId(0)].end;
        let cut = matches!(cut, Some(End::Failed(Reason::CutShort { .. })));
        assert!(cut, "{}", rig.name());
    });
}

#[test]
fn a_link_is_cut_and_restored() {
    on_all(|rig| {
        let connection = rig.open(Protocol::Stream, 512 * KB);
        let plan = Plan::new(
            connection,
            Format::fixed(48 * KB, 32 * KB, &links(1..=2)),
            6,
        );
        let streams = rig.submit(std::slice::from_ref(&plan));
        rig.receive(&streams);
        // One link is ahead of the other when it is cut.
        rig.feed_link(0, LinkId(1), 0..3);
        rig.feed_link(0, LinkId(2), 0..2);
        moved(rig, Side::Sends, 0, 1);
        rig.cut(LinkId(1));
        wait(rig, Side::Sends, "a cut link", |events| {
            events
                .iter()
                .any(|event| matches!(event, Event::LinkCut { link, .. } if link.0 == 1))
        });
        rig.feed_link(0, LinkId(2), 2..6);
        rig.restore(LinkId(1), 0, 6);
        ended(rig, Side::Sends, &streams);
        ended(rig, Side::Receives, &streams);
        whole(rig, 0, &plan);
    });
}

#[test]
fn a_rank_is_killed_in_mid_adu() {
    on_all(|rig| {
        let connection = rig.open(Protocol::Stream, 256 * KB);
        let plan = Plan::new(
            connection,
            Format::fixed(64 * KB, 64 * KB, &links(1..=2)),
            3,
        );
        let next = Plan::new(
            connection,
            Format::fixed(10 * KB, 10 * KB, &links(3..=3)),
            1,
        );
        let streams = rig.submit(&[plan, next.clone()]);
        rig.receive(&streams);
        rig.doom(0, LinkId(1));
        rig.feed_link(0, LinkId(2), 0..2);
        moved(rig, Side::Receives, 0, 0);
        wait(rig, Side::Sends, "ADU 1 started", |events| {
            events
                .iter()
                .any(|event| matches!(event, Event::AduStarted { adu: 1, .. }))
        });
        wait(rig, Side::Sends, "ADU 0 done", |events| {
            events
                .iter()
                .any(|event| matches!(event, Event::AduDone { adu: 0, .. }))
        });
        rig.kill(LinkId(1));
        rig.feed(1, 0..1);
        ended(rig, Side::Sends, &streams);
        ended(rig, Side::Receives, &streams);
        whole(rig, 1, &next);
        let sends = fates(rig, Side::Sends);
        let lost = End::Failed(Reason::RankLost(LinkId(1)));
        assert_eq!(sends[&StreamId(0)].end, Some(lost), "{}", rig.name());
        let good = rig.had(0).into_iter().filter(|had| had.good);
        assert!(
            good.into_iter().all(|had| had.adu == 0),
            "{}: none of ADU 1",
            rig.name()
        );
    });
}

#[test]
fn a_receiver_that_reads_nothing_stops_the_sender_and_is_reported() {
    on_all(|rig| {
        let connection = rig.open(Protocol::Stream, 100 * KB);
        let plan = Plan::new(
            connection,
            Format::fixed(32 * KB, 32 * KB, &links(1..=1)),
            64,
        );
        let streams = rig.submit(std::slice::from_ref(&plan));
        rig.feed(0, 0..64);
        wait(rig, Side::Sends, "a stall that names the peer", |events| {
            events.iter().any(|event| match event {
                Event::Stalled { waits, .. } => waits
                    .iter()
                    .any(|wait| matches!(wait, Wait::NotGranted(_) | Wait::Undelivered(..))),
                _ => false,
            })
        });
        // 2 MB are sent. The sender holds at most 1 MB, and the receiver at most its window.
        assert!(rig.most(Side::Sends, Direction::Transmit) <= config().network_bytes);
        assert!(rig.most(Side::Receives, Direction::Receive) <= 100 * KB);
        rig.receive(&streams);
        ended(rig, Side::Sends, &streams);
        ended(rig, Side::Receives, &streams);
        whole(rig, 0, &plan);
    });
}

fn corrupted(events: &[Event]) -> bool {
    events.iter().any(|event| {
        matches!(
            event,
            Event::Corrupted {
                adu: 1,
                tu: Some(0),
                range: (0, 32768),
                ..
            }
        )
    })
}

#[test]
fn a_corrupted_byte_is_found_and_repaired() {
    on_all(|rig| {
        let connection = rig.open(Protocol::Confirmed { repair: true }, 512 * KB);
        let plan = Plan::new(
            connection,
            Format::fixed(48 * KB, 32 * KB, &links(1..=2)),
            4,
        );
        let streams = rig.submit(std::slice::from_ref(&plan));
        rig.receive(&streams);
        rig.feed(0, 0..1);
        moved(rig, Side::Receives, 0, 0);
        rig.corrupt(connection);
        rig.feed(0, 1..4);
        wait(rig, Side::Receives, "a corrupted packet", corrupted);
        ended(rig, Side::Sends, &streams);
        ended(rig, Side::Receives, &streams);
        whole(rig, 0, &plan);
    });
}

#[test]
fn a_corrupted_byte_ends_what_nothing_repairs() {
    on_streams(|rig| {
        let connection = rig.open(Protocol::Stream, 512 * KB);
        let plan = Plan::new(
            connection,
            Format::fixed(32 * KB, 32 * KB, &links(1..=1)),
            4,
        );
        let streams = rig.submit(std::slice::from_ref(&plan));
        rig.receive(&streams);
        rig.feed(0, 0..1);
        moved(rig, Side::Receives, 0, 0);
        wait(rig, Side::Sends, "ADU 0 done", |events| {
            events
                .iter()
                .any(|event| matches!(event, Event::AduDone { adu: 0, .. }))
        });
        rig.corrupt(connection);
        rig.feed(0, 1..2);
        moved(rig, Side::Sends, 0, 1);
        wait(rig, Side::Receives, "a corrupted packet", corrupted);
        ended(rig, Side::Sends, &streams);
        ended(rig, Side::Receives, &streams);
        assert!(
            rig.had(0).iter().all(|had| had.adu == 0),
            "{}: none of ADU 1",
            rig.name()
        );
    });
}

#[test]
fn a_peer_is_gone() {
    on_streams(|rig| {
        let connection = rig.open(Protocol::Stream, 512 * KB);
        let plan = Plan::new(
            connection,
            Format::fixed(48 * KB, 32 * KB, &links(1..=2)),
            4,
        );
        let streams = rig.submit(std::slice::from_ref(&plan));
        rig.receive(&streams);
        rig.feed(0, 0..1);
        moved(rig, Side::Receives, 0, 0);
        wait(rig, Side::Sends, "ADU 0 done", |events| {
            events
                .iter()
                .any(|event| matches!(event, Event::AduDone { adu: 0, .. }))
        });
        rig.lose(connection);
        for side in [Side::Sends, Side::Receives] {
            ended(rig, side, &streams);
            wait(rig, side, "a lost connection", |events| {
                events
                    .iter()
                    .any(|event| matches!(event, Event::Lost { .. }))
            });
        }
    });
}
