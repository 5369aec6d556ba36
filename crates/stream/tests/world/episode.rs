//! One episode: two interfaces of random sizes, random connections and streams, and random faults.
//! Then a time without faults in which all streams end, after which nothing may remain.

use super::node::{Node, Track};
use super::rng::Rng;
use super::{Counts, Faults, Next, World};
use isthmus_stream::{
    Adu, Config, Confirm, ConnectionId, ConnectionSpec, Direction, Finished, Format, Limits,
    LinkId, Manager, Other, Protocol, StreamId, StreamSpec, Timeouts, Wait,
};
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Runs the episode of this seed. A failure names the seed.
pub fn play(seed: u64) -> Counts {
    match catch_unwind(AssertUnwindSafe(|| Episode::new(seed).play())) {
        Ok(counts) => counts,
        Err(cause) => {
            eprintln!("episode of seed {seed} failed; `soak --episode {seed}` plays it again");
            resume_unwind(cause)
        }
    }
}

struct Episode {
    world: World,
    /// Open connections, by their two ends.
    pairs: Vec<[ConnectionId; 2]>,
    stall_ns: u64,
    keys: u64,
}

impl Episode {
    fn new(seed: u64) -> Self {
        let mut rng = Rng(seed);
        let stall_ns = 2_000_000_000;
        let nodes = [(); 2].map(|()| {
            let config = Config {
                staging_bytes: rng.between(64, 512),
                engines: rng.between(3, 6) as u32,
                network_bytes: rng.between(3000, 12000),
                stall_ns,
                ended_kept: rng.below(20) as usize + 200,
            };
            let mut manager = Manager::new(config).expect("sizes above 0");
            let app = manager.add_application(Limits::NONE);
            Node::new(manager, app)
        });
        let mut world = World::new(nodes, rng);
        let calm = world.rng.chance(200);
        if !calm {
            let rng = &mut world.rng;
            world.faults = Faults {
                lost: rng.below(150),
                doubled: rng.below(100),
                late: rng.below(200),
                corrupted: rng.below(80),
                actions: rng.below(12),
            };
        }
        Self {
            world,
            pairs: Vec::new(),
            stall_ns,
            keys: 0,
        }
    }

    fn play(mut self) -> Counts {
        for _ in 0..self.world.rng.between(1, 4) {
            self.connect();
        }
        let wanted = self.world.rng.between(2, 14);
        for _ in 0..wanted {
            self.submit();
        }
        let steps = self.world.rng.between(200, 3000);
        for _ in 0..steps {
            if !self.world.step() {
                break;
            }
            if self.world.rng.chance(self.world.faults.actions) {
                self.act();
            }
        }
        self.calm();
        self.leave();
        let mut counts = self.world.counts;
        for node in &self.world.nodes {
            let statistics = node.manager.statistics();
            counts.retransmissions += statistics.retransmissions;
            counts.predicted += statistics.predicted;
            counts.refused += statistics.refused;
            counts.swaps += statistics.swaps;
            counts.stored_early += statistics.stored_early;
            counts.bytes += statistics.bytes_delivered;
        }
        counts
    }

    /// Opens a connection between the two interfaces.
    fn connect(&mut self) {
        let now = self.world.at();
        let rng = &mut self.world.rng;
        let protocol = match rng.below(10) {
            0..5 => Protocol::Confirmed { repair: true },
            5 => Protocol::Confirmed { repair: false },
            6..8 => Protocol::Stream,
            _ => Protocol::Unconfirmed {
                reorder: rng.below(6) as u32,
            },
        };
        let channel = rng.below(1000) as u32;
        let by_held = rng.chance(150);
        let confirm = if by_held {
            Confirm::Held
        } else {
            Confirm::Delivered
        };
        let mut ids = [ConnectionId(0); 2];
        for (node, id) in ids.iter_mut().enumerate() {
            let window = rng.between(300, 900);
            let spec = ConnectionSpec {
                channel,
                confirm,
                share_bytes: rng.between(600, 3000),
                timeouts: Timeouts {
                    first_ns: 20_000_000,
                    least_ns: 1_000_000,
                    most_ns: 300_000_000,
                    tries: 40,
                },
                ..ConnectionSpec::new("the other", protocol, window)
            };
            let it = &mut self.world.nodes[node];
            match it.manager.open(now, it.app, spec) {
                Ok(opened) => *id = opened,
                Err(_) => return self.undo(ids, node),
            }
        }
        for node in 0..2 {
            let side = super::node::Side {
                protocol,
                peer: ids[1 - node],
                wire_free: 0,
                arrives: 0,
                backlog: Default::default(),
                gone: false,
                by_held,
            };
            self.world.nodes[node].sides.insert(ids[node], side);
        }
        self.pairs.push(ids);
        self.world.drain(0);
        self.world.drain(1);
    }

    fn undo(&mut self, ids: [ConnectionId; 2], opened: usize) {
        let now = self.world.at();
        for (node, id) in ids.into_iter().enumerate().take(opened) {
            let manager = &mut self.world.nodes[node].manager;
            manager.close(now, id).expect("it was opened");
            while manager.poll_order().is_some() {}
            while manager.poll_event().is_some() {}
        }
    }

    /// Submits a stream, or a few in lock step, at both ends.
    fn submit(&mut self) {
        if self.pairs.is_empty() {
            return;
        }
        let members = if self.world.rng.chance(250) {
            self.world.rng.between(2, 3)
        } else {
            1
        };
        let from = self.world.rng.below(2) as usize;
        let adus = self.world.rng.between(1, 6);
        let permanent = self.world.rng.chance(60);
        let mut out = Vec::new();
        let mut back = Vec::new();
        let mut used = Vec::new();
        for at in 0..members {
            let pair = self.pairs[self.world.rng.below(self.pairs.len() as u64) as usize];
            if used.contains(&pair) {
                continue;
            }
            used.push(pair);
            let bytes = self.world.rng.between(1, 150);
            let variable = self.world.rng.chance(200);
            let mut sizes = [0; 2];
            for (node, size) in sizes.iter_mut().enumerate() {
                let most = self.world.nodes[node].manager.config().staging_bytes / 2;
                let least = if variable { bytes.min(most) } else { 1 };
                *size = self.world.rng.between(least, most);
            }
            let bytes = if variable {
                bytes.min(sizes[0]).min(sizes[1])
            } else {
                bytes
            };
            let step = (at > 0 && !out.is_empty()).then_some(Other::Here(0));
            let mut spec = self.spec(pair[from], Direction::Transmit, bytes, sizes[from], adus);
            spec.permanent = permanent && members == 1;
            spec.in_step_with.extend(step);
            let mut other = self.spec(
                pair[1 - from],
                Direction::Receive,
                bytes,
                sizes[1 - from],
                adus,
            );
            if variable {
                spec.format.adu = Adu::Variable;
                other.format.adu = Adu::Variable;
            }
            if self.world.rng.chance(200) {
                spec.adus = None;
            }
            if self.world.rng.chance(200) {
                other.adus = None;
            }
            out.push((spec, bytes, adus));
            back.push((other, bytes, adus));
        }
        if members == 1 && self.world.rng.chance(200) {
            let live = self.world.nodes[from].live();
            if let Some(other) = live.last() {
                out[0].0.after.push(Other::Stream(*other));
            }
        }
        self.register(from, out, back);
    }

    fn register(
        &mut self,
        from: usize,
        out: Vec<(StreamSpec, u64, u64)>,
        back: Vec<(StreamSpec, u64, u64)>,
    ) {
        let now = self.world.at();
        let lists = [(from, &out), (1 - from, &back)];
        let mut made: Vec<Vec<StreamId>> = Vec::new();
        for (node, list) in lists {
            let it = &mut self.world.nodes[node];
            let specs: Vec<_> = list.iter().map(|(spec, ..)| spec.clone()).collect();
            match it.manager.submit_all(now, it.app, &specs) {
                Ok(ids) => made.push(ids),
                // If the first one was refused, there is nothing to undo. If the second was, its
                // pair is cancelled.
                Err(_) => break,
            }
        }
        let Some(first) = made.first() else {
            return;
        };
        let paired = made.len() == 2;
        let keys: Vec<u64> = (self.keys..).take(first.len()).collect();
        self.keys += first.len() as u64;
        for (side, ids) in made.iter().enumerate() {
            let (node, list) = lists[side];
            for ((id, (spec, bytes, adus)), key) in ids.iter().zip(list).zip(&keys) {
                let step = ids.iter().filter(|_| list.len() > 1);
                let after = spec.after.iter().filter_map(|other| match other {
                    Other::Stream(other) => Some(*other),
                    Other::Here(_) => None,
                });
                let track = Track {
                    key: *key,
                    direction: spec.direction,
                    connection: spec.connection,
                    adus: *adus,
                    exact: exact(spec, *bytes, *adus),
                    tu_bytes: spec.format.tu_bytes,
                    by_done: spec.finished == Finished::Done,
                    after: after.collect(),
                    step: if side == 0 {
                        step.copied().collect()
                    } else {
                        Vec::new()
                    },
                    links: spec.format.links(),
                    offered: 0,
                    started: 0,
                    moved: 0,
                    done: 0,
                    good: 0,
                    last: None,
                    end: None,
                };
                self.world.nodes[node].streams.insert(*id, track);
                self.world.counts.streams += 1;
            }
        }
        for ((spec, bytes, adus), id) in out.iter().zip(&made[0]) {
            if spec.format.adu == Adu::Variable {
                for _ in 0..*adus {
                    let manager = &mut self.world.nodes[from].manager;
                    let bytes = self.world.rng.between(1, *bytes);
                    manager
                        .announce(now, *id, bytes)
                        .expect("a length that fits");
                }
            }
            let at = self.world.now + self.world.rng.below(300_000);
            self.world.plan(at, from, Next::Offer(*id));
        }
        self.world.drain(from);
        self.world.drain(1 - from);
        if !paired {
            for id in &made[0] {
                // It may have ended already, with a stream in lock step.
                let _ = self.world.nodes[from].manager.cancel(now, *id);
            }
            self.world.drain(from);
            // The ordinals of the two ends no longer match, so the connections are dropped.
            for (spec, ..) in &out {
                self.drop_connection(from, spec.connection);
            }
        }
    }

    fn spec(
        &mut self,
        connection: ConnectionId,
        direction: Direction,
        adu: u64,
        tu: u64,
        adus: u64,
    ) -> StreamSpec {
        let rng = &mut self.world.rng;
        let links: Vec<_> = (0..rng.between(1, 3))
            .map(|_| LinkId(rng.below(4) as u16))
            .collect();
        let mut format = Format::fixed(adu, tu, &links);
        format.granule_bytes = rng.between(1, 4);
        format.packet_bytes = rng.between(tu.div_ceil(3).min(150), tu.min(180)).max(1);
        let mut spec = StreamSpec::new(connection, direction, format, adus);
        spec.quantum = rng.between(1, 3) as u32;
        if rng.chance(300) {
            spec.finished = Finished::Moved;
        }
        spec.cut_through = rng.chance(500);
        spec
    }

    /// Lets one random event happen.
    fn act(&mut self) {
        let now = self.world.at();
        let node = self.world.rng.below(2) as usize;
        let live = self.world.nodes[node].live();
        let any = |rng: &mut Rng| {
            live.get(rng.below(live.len().max(1) as u64) as usize)
                .copied()
        };
        match self.world.rng.below(20) {
            0..4 => {
                if let Some(stream) = any(&mut self.world.rng) {
                    let _ = self.world.nodes[node].manager.cancel(now, stream);
                }
            }
            4..6 => {
                if let Some(stream) = any(&mut self.world.rng) {
                    let link = self.world.nodes[node].streams[&stream].links[0];
                    self.world.counts.ranks_lost += 1;
                    self.world.nodes[node]
                        .manager
                        .handle_rank_lost(now, stream, link);
                }
            }
            6..12 => self.cut(node),
            12 => {
                let pair = self.world.rng.below(self.pairs.len().max(1) as u64) as usize;
                if let Some(pair) = self.pairs.get(pair).copied() {
                    self.drop_connection(node, pair[node]);
                }
            }
            _ => self.submit(),
        }
        self.world.drain(node);
    }

    fn cut(&mut self, node: usize) {
        let now = self.world.at();
        let link = LinkId(self.world.rng.below(4) as u16);
        let it = &mut self.world.nodes[node];
        if !it.cut.insert(link) {
            return;
        }
        it.under_way.retain(|_, work| match work {
            isthmus_stream::Work::Fetch { su, .. } | isthmus_stream::Work::Deliver { su, .. } => {
                su.link != link
            }
            _ => true,
        });
        it.manager.handle_link_cut(now, link);
        let later = self.world.now + self.world.rng.below(100_000_000);
        self.world.plan(later, node, Next::Restore(link));
    }

    fn drop_connection(&mut self, node: usize, id: ConnectionId) {
        let now = self.world.at();
        self.pairs.retain(|pair| pair[node] != id);
        self.world.forget(node, id);
        self.world.nodes[node]
            .manager
            .handle_disconnected(now, id, "it was pulled out");
        self.world.drain(node);
    }

    /// Ends the faults: all streams of connections with repair must end, and all others must report
    /// their waits.
    fn calm(&mut self) {
        self.world.faults = Faults::default();
        let until = self.world.now + 100 * self.stall_ns;
        while self.world.nodes.iter().any(|node| !node.live().is_empty()) {
            if self.world.now > until || !self.world.step() {
                break;
            }
        }
        let hung: Vec<_> = (0..2)
            .flat_map(|node| {
                self.world.nodes[node]
                    .live()
                    .into_iter()
                    .map(move |id| (node, id))
            })
            .collect();
        // Without repair an end may be lost; streams that wait for such a stream also hang.
        let mut may: BTreeSet<_> = hung.iter().filter(|one| self.unrepaired(**one)).collect();
        loop {
            let more = hung
                .iter()
                .filter(|one| self.leans_on(**one).iter().any(|on| may.contains(on)));
            let more: Vec<_> = more.filter(|one| !may.contains(one)).collect();
            if more.is_empty() {
                break;
            }
            may.extend(more);
        }
        for one in &hung {
            let waits = self.world.nodes[one.0]
                .manager
                .waits(one.1)
                .expect("it is live");
            let words: Vec<_> = waits.iter().map(ToString::to_string).collect();
            let words = words.join("; ");
            assert!(
                !waits.is_empty(),
                "stream {one:?} hangs and does not say why"
            );
            let why = format!("stream {one:?} hangs: {words}\n{}", self.describe());
            assert!(may.contains(one), "{why}");
            self.world.counts.hung_named += 1;
        }
        let now = self.world.at();
        for node in 0..2 {
            for id in self.world.nodes[node].live() {
                let _ = self.world.nodes[node].manager.cancel(now, id);
            }
            self.world.drain(node);
        }
    }

    fn unrepaired(&self, (node, id): (usize, StreamId)) -> bool {
        let node = &self.world.nodes[node];
        let side = &node.sides[&node.streams[&id].connection];
        !matches!(
            side.protocol,
            Protocol::Stream | Protocol::Confirmed { repair: true }
        )
    }

    /// Returns the streams that a stream waits for, its other end, and the streams on the same
    /// connection there, since its end mark waits for them.
    fn leans_on(&self, (node, id): (usize, StreamId)) -> Vec<(usize, StreamId)> {
        let it = &self.world.nodes[node];
        let mut on = Vec::new();
        for wait in it.manager.waits(id).expect("it is live") {
            match wait {
                Wait::Behind(other, _) | Wait::After(other) => on.push((node, other)),
                Wait::Step { with, .. } => on.push((node, with)),
                Wait::Resources { held_by, .. } | Wait::Turn(held_by) => {
                    on.extend(held_by.into_iter().map(|other| (node, other)));
                }
                _ => (),
            }
        }
        let peer = it.sides[&it.streams[&id].connection].peer;
        let others = self.world.nodes[1 - node].streams.iter();
        let there = others.filter(|(_, track)| track.connection == peer && track.end.is_none());
        on.extend(there.map(|(other, _)| (1 - node, *other)));
        on
    }

    /// Describes both ends of all live streams, for messages.
    fn describe(&self) -> String {
        let mut lines = Vec::new();
        for (node, it) in self.world.nodes.iter().enumerate() {
            for id in it.live() {
                let waits = it.manager.waits(id);
                lines.push(format!("{node} {:?} {waits:?}", it.manager.status(id)));
            }
            for (id, side) in &it.sides {
                let status = it.manager.connection_status(*id);
                lines.push(format!("{node} {id} {:?} {status:?}", side.protocol));
            }
        }
        lines.join("\n")
    }

    /// Closes everything, and checks that nothing remains.
    fn leave(&mut self) {
        let now = self.world.at();
        for node in 0..2 {
            let ids: Vec<_> = self.world.nodes[node].sides.keys().copied().collect();
            for id in ids {
                let _ = self.world.nodes[node].manager.close(now, id);
            }
            self.world.drain(node);
        }
        let until = self.world.now + 20 * self.stall_ns;
        while self.world.now < until && self.world.step() {}
        for node in &self.world.nodes {
            assert_eq!(node.live(), Vec::new(), "streams that do not end");
            for direction in [Direction::Transmit, Direction::Receive] {
                assert_eq!(
                    node.manager.used(direction),
                    (0, 0),
                    "{direction} memory is left"
                );
            }
            assert!(
                node.places.is_empty(),
                "places that were not freed: {:?}",
                node.places
            );
            for id in node.sides.keys() {
                if let Ok(status) = node.manager.connection_status(*id) {
                    assert!(
                        status.gone.is_some(),
                        "connection {id} does not close: {status:?}"
                    );
                }
            }
        }
    }
}

/// Returns the bytes of a stream on each link, if its number of ADUs is set after all data is
/// offered. Variable ADUs are offered when they are announced.
fn exact(spec: &StreamSpec, bytes: u64, adus: u64) -> Option<BTreeMap<LinkId, u64>> {
    if spec.adus.is_some() || spec.direction == Direction::Receive {
        return None;
    }
    let mut all: BTreeMap<_, _> = spec
        .format
        .links()
        .into_iter()
        .map(|link| (link, 0))
        .collect();
    if spec.format.adu == Adu::Variable {
        return Some(all);
    }
    let tus = (0..spec.format.tus(bytes)).filter_map(|index| spec.format.tu(0, bytes, index));
    for tu in tus {
        for su in spec.format.sus(tu.bytes) {
            *all.entry(su.link).or_insert(0) += su.bytes * adus;
        }
    }
    Some(all)
}
