//! Two interfaces in one memory, in virtual time: the simplest possible driver. It shares only the
//! manager with the real ones.

use super::{Had, Plan, Rig, Side, content};
use isthmus_stream::checksum::crc32c;
use isthmus_stream::wire::Header;
use isthmus_stream::{
    Adu, AppId, BufferId, Config, ConnectionId, ConnectionSpec, Direction, Event, Format, Instant,
    Limits, LinkId, Manager, Offer, Order, PacketId, Protocol, StreamId, StreamSpec, Work,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;

struct Node {
    manager: Manager,
    app: AppId,
    buffers: BTreeMap<BufferId, Vec<u8>>,
    places: BTreeMap<PacketId, Vec<u8>>,
    /// Orders that wait for ranks.
    fetches: VecDeque<Order>,
    events: Vec<Event>,
    ids: BTreeMap<usize, StreamId>,
    inbox: VecDeque<(ConnectionId, Header, Vec<u8>)>,
    had: BTreeMap<StreamId, Vec<(LinkId, Had)>>,
}

/// Data that ranks have written of a stream on a link: bytes offered, and bytes present.
#[derive(Default, Clone, Copy)]
struct Fed {
    offered: u64,
    there: u64,
}

pub struct Memory {
    now: Instant,
    nodes: [Node; 2],
    plans: Vec<Plan>,
    fed: BTreeMap<(usize, LinkId), Fed>,
    cut: BTreeSet<LinkId>,
    corrupt: BTreeSet<usize>,
    lost: BTreeSet<usize>,
}

fn bytes_on(format: &Format, adu_bytes: u64, link: LinkId) -> u64 {
    let tus = (0..format.tus(adu_bytes)).filter_map(|index| format.tu(0, adu_bytes, index));
    tus.flat_map(|tu| format.sus(tu.bytes).collect::<Vec<_>>())
        .filter(|su| su.link == link)
        .map(|su| su.bytes)
        .sum()
}

pub fn adu_bytes(format: &Format) -> u64 {
    match format.adu {
        Adu::Fixed(bytes) => bytes,
        Adu::Variable => format.tu_bytes,
    }
}

impl Memory {
    pub fn new(config: &Config) -> Self {
        let node = || {
            let mut manager = Manager::new(config.clone()).unwrap();
            let app = manager.add_application(Limits::NONE);
            Node {
                manager,
                app,
                buffers: BTreeMap::new(),
                places: BTreeMap::new(),
                fetches: VecDeque::new(),
                events: Vec::new(),
                ids: BTreeMap::new(),
                inbox: VecDeque::new(),
                had: BTreeMap::new(),
            }
        };
        Self {
            now: Instant(0),
            nodes: [node(), node()],
            plans: Vec::new(),
            fed: BTreeMap::new(),
            cut: BTreeSet::new(),
            corrupt: BTreeSet::new(),
            lost: BTreeSet::new(),
        }
    }

    fn key(&self, node: usize, stream: StreamId) -> usize {
        let ids = self.nodes[node].ids.iter();
        ids.filter(|(_, id)| **id == stream)
            .map(|(key, _)| *key)
            .next()
            .unwrap()
    }

    fn begin(&mut self, at: usize, order: Order) {
        let now = self.now;
        match &order.work {
            Work::Connect { connection, .. } => {
                self.nodes[at].manager.handle_connected(now, *connection);
            }
            Work::Disconnect { connection } => {
                let index = connection.0 as usize;
                // The peer is notified.
                self.nodes[1 - at]
                    .manager
                    .handle_disconnected(now, *connection, "closed");
                self.lost.insert(index);
            }
            Work::Fetch { .. } => self.nodes[at].fetches.push_back(order),
            Work::Prepare { .. } => {}
            Work::Store {
                packet,
                buffer,
                offset,
                bytes,
                ..
            } => {
                let node = &mut self.nodes[at];
                let data = node.buffers[buffer][*offset as usize..][..*bytes as usize].to_vec();
                let sum = crc32c(&data);
                node.places.insert(*packet, data);
                node.manager.handle_completed(now, order.id, sum);
            }
            Work::Send {
                connection,
                packet,
                header,
            } => {
                let mut data = match header.bytes {
                    0 => Vec::new(),
                    _ => self.nodes[at].places[packet].clone(),
                };
                let index = connection.0 as usize;
                if header.adu > 0 && !data.is_empty() && self.corrupt.remove(&index) {
                    let middle = data.len() / 2;
                    data[middle] ^= 1;
                }
                if !self.lost.contains(&index) {
                    self.nodes[1 - at]
                        .inbox
                        .push_back((*connection, *header, data));
                }
                self.nodes[at].manager.handle_completed(now, order.id, 0);
            }
            Work::Control { connection, header } => {
                if !self.lost.contains(&(connection.0 as usize)) {
                    self.nodes[1 - at]
                        .inbox
                        .push_back((*connection, *header, Vec::new()));
                }
            }
            Work::Load {
                packet,
                from,
                buffer,
                to,
                bytes,
                ..
            } => {
                let node = &mut self.nodes[at];
                let data = node.places[packet][*from as usize..][..*bytes as usize].to_vec();
                let room = node.buffers.entry(*buffer).or_default();
                room.resize(room.len().max((*to + *bytes) as usize), 0);
                room[*to as usize..][..data.len()].copy_from_slice(&data);
                node.manager.handle_completed(now, order.id, 0);
            }
            Work::Deliver {
                stream,
                tu,
                su,
                buffer,
                good,
            } => {
                let node = &mut self.nodes[at];
                let data = match good {
                    true => {
                        node.buffers[buffer][su.offset as usize..][..su.bytes as usize].to_vec()
                    }
                    false => vec![0; su.bytes as usize],
                };
                let had = Had {
                    adu: tu.adu,
                    offset: tu.offset + su.offset,
                    good: *good,
                    data,
                };
                node.had.entry(*stream).or_default().push((su.link, had));
                node.manager.handle_completed(now, order.id, 0);
            }
            Work::Free { packet } => _ = self.nodes[at].places.remove(packet),
            Work::Withdraw { order } => {
                let fetches = &mut self.nodes[at].fetches;
                if let Some(place) = fetches.iter().position(|waiting| waiting.id == *order) {
                    fetches.remove(place);
                    self.nodes[at].manager.handle_withdrawn(now, *order);
                }
            }
        }
    }

    /// Carries out the fetches whose data is present. Returns whether there was one.
    fn fetch(&mut self) -> bool {
        let mut place = 0;
        let mut any = false;
        while place < self.nodes[0].fetches.len() {
            let order = self.nodes[0].fetches[place].clone();
            let Work::Fetch {
                stream,
                tu,
                su,
                buffer,
            } = order.work
            else {
                unreachable!("only fetches wait");
            };
            let key = self.key(0, stream);
            let format = &self.plans[key].format;
            let adu = adu_bytes(format);
            // The data before it on its link, and its own.
            let tus = (0..tu.index).filter_map(|index| format.tu(tu.adu, adu, index));
            let before = tus.flat_map(|tu| format.sus(tu.bytes).collect::<Vec<_>>());
            let here = format
                .sus(tu.bytes)
                .take_while(|other| other.index <= su.index);
            let needed: u64 = before
                .chain(here)
                .filter(|other| other.link == su.link)
                .map(|other| other.bytes)
                .sum();
            let needed = needed + tu.adu * bytes_on(format, adu, su.link);
            let fed = self.fed.get(&(key, su.link)).copied().unwrap_or_default();
            if fed.there < needed {
                place += 1;
                continue;
            }
            let data = content(key, tu.adu, adu);
            let node = &mut self.nodes[0];
            node.fetches.remove(place);
            let room = node.buffers.entry(buffer).or_default();
            room.resize(room.len().max(tu.bytes as usize), 0);
            let (from, to) = ((tu.offset + su.offset) as usize, su.offset as usize);
            let bytes = su.bytes as usize;
            room[to..to + bytes].copy_from_slice(&data[from..from + bytes]);
            node.manager.handle_completed(self.now, order.id, 0);
            any = true;
            self.orders();
        }
        any
    }

    fn orders(&mut self) -> bool {
        let mut any = false;
        for at in 0..2 {
            while let Some(order) = self.nodes[at].manager.poll_order() {
                any = true;
                self.begin(at, order);
            }
            while let Some(event) = self.nodes[at].manager.poll_event() {
                self.nodes[at].events.push(event);
            }
        }
        any
    }

    fn arrivals(&mut self) -> bool {
        let mut any = false;
        for at in 0..2 {
            // A packet without room stays first, as in a pipe.
            while let Some((connection, header, data)) = self.nodes[at].inbox.pop_front() {
                let node = &mut self.nodes[at];
                match node.manager.offer(self.now, connection, &header) {
                    Offer::Take(packet) => {
                        let sum = crc32c(&data);
                        node.places.insert(packet, data);
                        node.manager.handle_arrived(self.now, packet, Some(sum));
                    }
                    Offer::Taken | Offer::Drop(_) => {}
                    Offer::Later => {
                        node.inbox.push_front((connection, header, data));
                        break;
                    }
                }
                any = true;
                self.orders();
            }
        }
        any
    }

    fn renumber(&self, side: usize, event: &Event) -> Event {
        super::real::renumber(event, &|id| self.key(side, id))
    }
}

impl Rig for Memory {
    fn name(&self) -> String {
        "memory".into()
    }

    fn open(&mut self, protocol: Protocol, window: u64) -> usize {
        let mut ids = Vec::new();
        for (at, node) in self.nodes.iter_mut().enumerate() {
            let window = if at == 1 { window } else { 0 };
            let spec = ConnectionSpec::new("the other", protocol, window);
            ids.push(node.manager.open(self.now, node.app, spec).unwrap());
        }
        assert_eq!(ids[0], ids[1]);
        self.orders();
        ids[0].0 as usize
    }

    fn close(&mut self, connection: usize) {
        let id = ConnectionId(connection as u32);
        self.nodes[0].manager.close(self.now, id).unwrap();
        self.orders();
    }

    fn submit(&mut self, plans: &[Plan]) -> Vec<usize> {
        let first = self.plans.len();
        let known = self.nodes[0].ids.clone();
        let specs = super::real::specs(plans, first, &known);
        let app = self.nodes[0].app;
        let ids = self.nodes[0]
            .manager
            .submit_all(self.now, app, &specs)
            .unwrap();
        for (at, id) in ids.iter().enumerate() {
            self.nodes[0].ids.insert(first + at, *id);
            self.plans.push(plans[at].clone());
        }
        self.orders();
        (first..self.plans.len()).collect()
    }

    fn receive(&mut self, streams: &[usize]) {
        for key in streams {
            let plan = &self.plans[*key];
            let connection = ConnectionId(plan.connection as u32);
            let format = plan.format.clone();
            let spec = StreamSpec::new(connection, Direction::Receive, format, plan.adus);
            let app = self.nodes[1].app;
            let id = self.nodes[1].manager.submit(self.now, app, &spec).unwrap();
            self.nodes[1].ids.insert(*key, id);
        }
        self.orders();
    }

    fn cancel(&mut self, side: Side, stream: usize) {
        let node = &mut self.nodes[side as usize];
        node.manager.cancel(self.now, node.ids[&stream]).unwrap();
        self.orders();
    }

    fn feed_link(&mut self, stream: usize, link: LinkId, adus: Range<u64>) {
        let format = self.plans[stream].format.clone();
        let id = self.nodes[0].ids[&stream];
        let bytes = bytes_on(&format, adu_bytes(&format), link) * (adus.end - adus.start);
        let fed = self.fed.entry((stream, link)).or_default();
        fed.offered += bytes;
        fed.there += bytes;
        let offered = fed.offered;
        self.nodes[0]
            .manager
            .handle_offered(self.now, id, link, offered)
            .unwrap();
    }

    fn links(&self, stream: usize) -> Vec<LinkId> {
        self.plans[stream].format.links()
    }

    fn doom(&mut self, stream: usize, link: LinkId) {
        let format = self.plans[stream].format.clone();
        let adu = bytes_on(&format, adu_bytes(&format), link);
        let tu = format.tu(1, adu_bytes(&format), 0).unwrap();
        let su = format.sus(tu.bytes).find(|su| su.link == link).unwrap();
        let fed = self.fed.entry((stream, link)).or_default();
        (fed.offered, fed.there) = (adu + su.bytes, adu + su.bytes / 2);
        let (id, offered) = (self.nodes[0].ids[&stream], fed.offered);
        self.nodes[0]
            .manager
            .handle_offered(self.now, id, link, offered)
            .unwrap();
    }

    fn kill(&mut self, link: LinkId) {
        let streams = self.plans.iter().enumerate();
        let users = streams.filter(|(_, plan)| plan.format.links().contains(&link));
        for (key, _) in users.collect::<Vec<_>>() {
            let id = self.nodes[0].ids[&key];
            self.nodes[0].manager.handle_rank_lost(self.now, id, link);
        }
        self.orders();
    }

    fn cut(&mut self, link: LinkId) {
        self.cut.insert(link);
        let on = |order: &Order| matches!(&order.work, Work::Fetch { su, .. } if su.link == link);
        self.nodes[0].fetches.retain(|order| !on(order));
        self.nodes[0].manager.handle_link_cut(self.now, link);
        self.orders();
    }

    fn restore(&mut self, link: LinkId, stream: usize, adus: u64) {
        self.cut.remove(&link);
        self.nodes[0].manager.handle_link_restored(self.now, link);
        let format = self.plans[stream].format.clone();
        let bytes = bytes_on(&format, adu_bytes(&format), link) * adus;
        self.fed.insert(
            (stream, link),
            Fed {
                offered: bytes,
                there: bytes,
            },
        );
        let id = self.nodes[0].ids[&stream];
        self.nodes[0]
            .manager
            .handle_offered(self.now, id, link, bytes)
            .unwrap();
        self.orders();
    }

    fn corrupt(&mut self, connection: usize) {
        self.corrupt.insert(connection);
    }

    fn lose(&mut self, connection: usize) {
        self.lost.insert(connection);
        let id = ConnectionId(connection as u32);
        for node in &mut self.nodes {
            node.inbox.retain(|(of, ..)| *of != id);
            node.manager.handle_disconnected(self.now, id, "gone");
        }
        self.orders();
    }

    fn pump(&mut self) {
        if self.orders() | self.fetch() | self.arrivals() {
            return;
        }
        let due = self
            .nodes
            .iter()
            .filter_map(|node| node.manager.poll_timeout())
            .min();
        if let Some(due) = due {
            self.now = self.now.max(due);
            for node in &mut self.nodes {
                node.manager.handle_timeout(self.now);
            }
        }
    }

    fn events(&self, side: Side) -> Vec<Event> {
        let side = side as usize;
        let events = self.nodes[side].events.iter();
        events.map(|event| self.renumber(side, event)).collect()
    }

    fn had(&mut self, stream: usize) -> Vec<Had> {
        let id = self.nodes[1].ids[&stream];
        let mut had = self.nodes[1].had.get(&id).cloned().unwrap_or_default();
        had.sort_by_key(|(link, _)| *link);
        had.into_iter().map(|(_, had)| had).collect()
    }

    fn most(&mut self, side: Side, direction: Direction) -> u64 {
        let statistics = self.nodes[side as usize].manager.statistics();
        statistics.network_most[direction as usize]
    }
}
