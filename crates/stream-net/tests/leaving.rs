//! Ranks that leave before their stream has ended, over all kinds of links.

use crate::conformance::{config, ended, fates, links, whole};
use crate::rig::memory::adu_bytes;
use crate::rig::proxy::Middle;
use crate::rig::ranks::Links;
use crate::rig::real::Real;
use crate::rig::{Plan, Rig, Side};
use isthmus_stream::{Adu, End, Format, LinkId, Protocol, Reason, StreamId};

const KB: u64 = 1 << 10;

/// Runs a stream of ADUs of one TU that two ranks receive. The first leaves when it has received
/// its part of ADU 0, before more has come. The second is attached after that was detected.
///
/// # Returns
/// How the stream ended at the receiver.
fn first_leaves(kind: Links, format: Format, adus: u64) -> Option<End> {
    let mut rig = Real::new(kind, Middle::Unix, &config());
    rig.late.extend(links(1..=2));
    let connection = rig.open(Protocol::Stream, 256 * KB);
    let bytes = adu_bytes(&format);
    let sus = format.sus(bytes).filter(|su| su.link == LinkId(1)).count();
    let plan = Plan::new(connection, format, adus);
    let streams = rig.submit(std::slice::from_ref(&plan));
    if plan.format.adu == Adu::Variable {
        (0..adus).for_each(|_| rig.announce(0, bytes));
    }
    rig.receive(&streams);
    rig.reader(LinkId(1), sus);
    rig.feed(0, 0..1);
    rig.seen_gone(LinkId(1));
    rig.feed(0, 1..adus);
    rig.reader(LinkId(2), usize::MAX);
    ended(&mut rig, Side::Receives, &streams);
    let end = fates(&rig, Side::Receives)[&StreamId(0)].end.clone();
    if end == Some(End::Done) {
        ended(&mut rig, Side::Sends, &streams);
        assert_eq!(fates(&rig, Side::Sends)[&StreamId(0)].end, end);
        whole(&mut rig, 0, &plan);
    }
    end
}

/// Returns all kinds of links, with ADUs of one size and of any.
fn cases() -> impl Iterator<Item = (Links, Format)> {
    let kinds = [Links::Ring, Links::Roomy, Links::Unix, Links::Tcp];
    let order = [LinkId(1), LinkId(2), LinkId(1)];
    let formats = [
        Format::fixed(50_000, 50_000, &order),
        Format::variable(50_000, &order),
    ];
    let of = move |kind| formats.clone().map(|format| (kind, format));
    kinds.into_iter().flat_map(of)
}

#[test]
fn a_rank_that_received_its_part_may_leave() {
    for (kind, format) in cases() {
        let case = format!("{kind:?}, {:?}", format.adu);
        let end = first_leaves(kind, format, 1);
        assert_eq!(end, Some(End::Done), "{case}");
    }
}

#[test]
fn a_rank_that_leaves_before_it_received_its_part_is_reported() {
    for (kind, format) in cases() {
        let case = format!("{kind:?}, {:?}", format.adu);
        let end = first_leaves(kind, format, 2);
        let lost = End::Failed(Reason::RankLost(LinkId(1)));
        assert_eq!(end, Some(lost), "{case}");
    }
}
