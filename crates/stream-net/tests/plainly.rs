//! Conformance without a second interface: the other end takes plain bytes, over TCP or in a file.
//! The sender must get the same events as elsewhere.

use crate::conformance::{config, ended, fates, links, moved, wait};
use crate::rig::memory::Memory;
use crate::rig::proxy::Middle;
use crate::rig::ranks::Links;
use crate::rig::real::Real;
use crate::rig::{Plan, Rig, Side, content};
use isthmus_stream::{End, Event, Format, LinkId, Protocol, Reason, StreamId};

const KB: u64 = 1 << 10;
const UNCONFIRMED: Protocol = Protocol::Unconfirmed { reorder: 0 };

/// Runs a script in memory and on both, and compares the sender's events.
fn on_both(script: impl Fn(&mut dyn Rig)) {
    let mut memory = Memory::new(&config());
    script(&mut memory);
    let right = fates(&memory, Side::Sends);
    assert!(right.values().all(|fate| fate.end.is_some()));
    for links in [Links::Ring, Links::Unix, Links::Tcp] {
        for middle in [Middle::PlainTcp, Middle::File] {
            let mut rig = Real::new(links, middle, &config());
            script(&mut rig);
            assert_eq!(fates(&rig, Side::Sends), right, "{}", rig.name());
        }
    }
}

fn plan(connection: usize, link: u16) -> Plan {
    let format = Format::fixed(48 * KB, 32 * KB, &[LinkId(link)]);
    Plan::new(connection, format, 3)
}

#[test]
fn streams_come_one_after_another_as_plain_bytes() {
    on_both(|rig| {
        let connection = rig.open(UNCONFIRMED, 256 * KB);
        let striped = Format {
            packet_bytes: 10_000,
            ..Format::fixed(50_001, 16_384, &links(3..=6))
        };
        let plans = [plan(connection, 1), Plan::new(connection, striped, 2)];
        let streams = rig.submit(&plans);
        rig.receive(&streams);
        rig.feed(1, 0..2);
        rig.feed(0, 0..3);
        ended(rig, Side::Sends, &streams);
        rig.close(connection);
        wait(rig, Side::Sends, "the connection closed", |events| {
            events.iter().any(|event| matches!(event, Event::Closed(_)))
        });
        let right: Vec<u8> = (0..3)
            .flat_map(|adu| content(0, adu, 48 * KB))
            .chain((0..2).flat_map(|adu| content(1, adu, 50_001)))
            .collect();
        let taken = rig.taken(connection);
        let name = rig.name();
        assert!(taken.is_none_or(|taken| taken == right), "{name}: bytes");
    });
}

#[test]
fn plain_streams_go_in_lock_step() {
    on_both(|rig| {
        let connections = [0, 1].map(|_| rig.open(UNCONFIRMED, 256 * KB));
        let plans = [
            plan(connections[0], 1),
            Plan {
                in_step_with: vec![0],
                ..plan(connections[1], 2)
            },
        ];
        let streams = rig.submit(&plans);
        rig.receive(&streams);
        rig.feed(0, 0..3);
        for adu in 0..3 {
            rig.feed(1, adu..adu + 1);
            moved(rig, Side::Sends, 1, adu);
        }
        ended(rig, Side::Sends, &streams);
    });
}

#[test]
fn a_link_of_a_plain_stream_is_cut_and_restored() {
    on_both(|rig| {
        let connection = rig.open(UNCONFIRMED, 512 * KB);
        let format = Format::fixed(48 * KB, 32 * KB, &links(1..=2));
        let streams = rig.submit(&[Plan::new(connection, format, 6)]);
        rig.receive(&streams);
        rig.feed_link(0, LinkId(1), 0..3);
        rig.feed_link(0, LinkId(2), 0..2);
        moved(rig, Side::Sends, 0, 1);
        rig.cut(LinkId(1));
        wait(rig, Side::Sends, "a cut link", |events| {
            let cut = |event: &Event| matches!(event, Event::LinkCut { link, .. } if link.0 == 1);
            events.iter().any(cut)
        });
        rig.feed_link(0, LinkId(2), 2..6);
        rig.restore(LinkId(1), 0, 6);
        ended(rig, Side::Sends, &streams);
        rig.close(connection);
        let right: Vec<u8> = (0..6).flat_map(|adu| content(0, adu, 48 * KB)).collect();
        let taken = rig.taken(connection);
        let name = rig.name();
        assert!(taken.is_none_or(|taken| taken == right), "{name}: bytes");
    });
}

#[test]
fn a_rank_of_a_plain_stream_is_killed() {
    on_both(|rig| {
        let connection = rig.open(UNCONFIRMED, 256 * KB);
        let format = Format::fixed(64 * KB, 64 * KB, &links(1..=2));
        let streams = rig.submit(&[Plan::new(connection, format, 3)]);
        rig.receive(&streams);
        rig.doom(0, LinkId(1));
        rig.feed_link(0, LinkId(2), 0..2);
        wait(rig, Side::Sends, "ADU 1 started and ADU 0 done", |events| {
            let started = |event: &Event| matches!(event, Event::AduStarted { adu: 1, .. });
            let done = |event: &Event| matches!(event, Event::AduDone { adu: 0, .. });
            events.iter().any(started) && events.iter().any(done)
        });
        rig.kill(LinkId(1));
        ended(rig, Side::Sends, &streams);
        let lost = End::Failed(Reason::RankLost(LinkId(1)));
        let sends = fates(rig, Side::Sends);
        assert_eq!(sends[&StreamId(0)].end, Some(lost), "{}", rig.name());
    });
}
