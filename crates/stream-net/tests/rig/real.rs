//! Two real drivers, each on its thread, with ranks on links of any kind and a proxy between them.

use super::plain::Taker;
use super::proxy::{Middle, Proxy};
use super::ranks::{Job, Links, Log, Writer, doomed, reader};
use super::{Had, Plan, Rig, Side};
use isthmus_stream::{
    AppId, Config, ConnectionId, ConnectionSpec, Direction, Event, Limits, LinkId, Other, Protocol,
    StreamId, StreamSpec,
};
use isthmus_stream_net::frame::Kind;
use isthmus_stream_net::{Driver, Service};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::process::Child;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// Returns the same event, with streams numbered by `key`.
pub fn renumber(event: &Event, key: &dyn Fn(StreamId) -> usize) -> Event {
    let mut event = event.clone();
    match &mut event {
        Event::Activated(stream)
        | Event::SwappedOut(stream)
        | Event::AduStarted { stream, .. }
        | Event::AduMoved { stream, .. }
        | Event::AduDone { stream, .. }
        | Event::Ended { stream, .. }
        | Event::Missing { stream, .. }
        | Event::Stalled { stream, .. }
        | Event::Corrupted {
            stream: Some(stream),
            ..
        } => *stream = StreamId(key(*stream) as u32),
        _ => {}
    }
    event
}

/// Returns the specifications for plans; `known` maps the numbers of earlier streams.
pub fn specs(plans: &[Plan], first: usize, known: &BTreeMap<usize, StreamId>) -> Vec<StreamSpec> {
    let other = |key: &usize| match key.checked_sub(first) {
        Some(here) => Other::Here(here),
        None => Other::Stream(known[key]),
    };
    let specs = plans.iter().map(|plan| {
        let connection = ConnectionId(plan.connection as u32);
        let format = plan.format.clone();
        StreamSpec {
            after: plan.after.iter().map(other).collect(),
            in_step_with: plan.in_step_with.iter().map(other).collect(),
            ..StreamSpec::new(connection, Direction::Transmit, format, plan.adus)
        }
    });
    specs.collect()
}

/// Bytes of data of a datagram.
const DATAGRAM: u64 = 32 << 10;

/// Events of a driver, and a signal for new ones.
#[derive(Default)]
struct Seen {
    events: Mutex<Vec<isthmus_stream_net::Event>>,
}

struct Node {
    service: Service,
    app: AppId,
    seen: Arc<Seen>,
    ids: BTreeMap<usize, StreamId>,
}

pub struct Real {
    links: Links,
    middle: Middle,
    nodes: [Node; 2],
    bell: Arc<(Mutex<u64>, Condvar)>,
    rung: u64,
    plans: Vec<Plan>,
    proxies: Vec<Proxy>,
    takers: Vec<Taker>,
    writers: BTreeMap<LinkId, Writer>,
    readers: BTreeMap<LinkId, Log>,
    doomed: BTreeMap<LinkId, Child>,
    /// Links of the receiver whose ranks are attached when the script says so.
    pub late: BTreeSet<LinkId>,
}

impl Real {
    pub fn new(links: Links, middle: Middle, config: &Config) -> Self {
        let bell = Arc::new((Mutex::new(0), Condvar::new()));
        let node = || {
            let mut driver = Driver::new(config.clone()).unwrap();
            let app = driver.add_application(Limits::NONE);
            let seen = Arc::new(Seen::default());
            let (record, bell) = (Arc::clone(&seen), Arc::clone(&bell));
            let service = Service::start(driver, move |event| {
                record.events.lock().unwrap().push(event);
                *bell.0.lock().unwrap() += 1;
                bell.1.notify_all();
            });
            Node {
                service: service.unwrap(),
                app,
                seen,
                ids: BTreeMap::new(),
            }
        };
        Self {
            links,
            middle,
            nodes: [node(), node()],
            bell: Arc::clone(&bell),
            rung: 0,
            plans: Vec::new(),
            proxies: Vec::new(),
            takers: Vec::new(),
            writers: BTreeMap::new(),
            readers: BTreeMap::new(),
            doomed: BTreeMap::new(),
            late: BTreeSet::new(),
        }
    }

    fn call<T: Send + 'static>(
        &self,
        side: usize,
        what: impl FnOnce(&mut Driver) -> T + Send + 'static,
    ) -> T {
        self.nodes[side]
            .service
            .client()
            .call(what)
            .expect("the thread goes on")
    }

    fn writer(&mut self, link: LinkId) {
        if self.writers.contains_key(&link) || self.doomed.contains_key(&link) {
            return;
        }
        let (writer, ends) = Writer::start(self.links, link);
        self.writers.insert(link, writer);
        self.call(0, move |driver| driver.attach(link, ends))
            .unwrap();
    }

    /// Attaches a rank to a link of the receiver, which leaves when it has read `most` SUs.
    pub fn reader(&mut self, link: LinkId, most: usize) {
        let (log, ends) = reader(self.links, most);
        self.readers.insert(link, log);
        self.call(1, move |driver| driver.attach(link, ends))
            .unwrap();
    }

    /// Waits until the receiver has detected that the ranks of a link are gone.
    pub fn seen_gone(&mut self, gone: LinkId) {
        let is_gone = |event: &isthmus_stream_net::Event| matches!(event, isthmus_stream_net::Event::LinkGone { link, .. } if *link == gone);
        let deadline = Instant::now() + Duration::from_secs(60);
        while !self.nodes[1]
            .seen
            .events
            .lock()
            .unwrap()
            .iter()
            .any(is_gone)
        {
            let name = self.name();
            assert!(
                Instant::now() < deadline,
                "{name}: link {gone} is not reported"
            );
            self.pump();
        }
    }

    /// Announces another ADU of a stream of any size at the sender.
    pub fn announce(&mut self, stream: usize, bytes: u64) {
        let id = self.nodes[0].ids[&stream];
        self.call(0, move |driver| driver.announce(id, bytes))
            .unwrap();
    }

    fn open_plain(&mut self) -> usize {
        let (taker, words) = match self.middle {
            Middle::File => Taker::file(),
            _ => Taker::reader(),
        };
        self.takers.push(taker);
        let spec = ConnectionSpec::new(&words, Protocol::Unconfirmed { reorder: 0 }, 0);
        let app = self.nodes[0].app;
        let id = self.call(0, move |driver| driver.open(app, spec));
        id.unwrap().0 as usize
    }

    fn job(&self, stream: usize, adu: u64, from: u64) -> Job {
        Job {
            stream: self.nodes[0].ids[&stream],
            key: stream,
            format: self.plans[stream].format.clone(),
            adu,
            from,
        }
    }
}

impl Rig for Real {
    fn name(&self) -> String {
        format!("{:?} links, packets over {:?}", self.links, self.middle)
    }

    fn reports_the_end(&self) -> bool {
        self.middle != Middle::Datagrams
    }

    fn open(&mut self, protocol: Protocol, window: u64) -> usize {
        if !self.middle.has_ranks() {
            return self.open_plain();
        }
        let number = self.proxies.len();
        let (proxy, first, second) = Proxy::new(self.middle);
        self.proxies.push(proxy);
        let (kind, protocol) = match (self.middle, protocol) {
            // Lost datagrams must be repaired.
            (Middle::Datagrams, Protocol::Stream) => ("udp", Protocol::Confirmed { repair: true }),
            (Middle::Datagrams, other) => ("udp", other),
            (_, other) => ("raw", other),
        };
        for (side, given) in [first, second].into_iter().enumerate() {
            let window = if side == 1 { window } else { 0 };
            let app = self.nodes[side].app;
            let id = self.call(side, move |driver| {
                let name = format!("c{number}");
                let spec = ConnectionSpec::new(&format!("{kind}:given:{name}"), protocol, window);
                let id = driver.open(app, spec);
                given.to(driver, &name);
                id
            });
            assert_eq!(id.unwrap().0 as usize, number);
        }
        number
    }

    fn close(&mut self, connection: usize) {
        let id = ConnectionId(connection as u32);
        self.call(0, move |driver| driver.close(id)).unwrap();
    }

    fn submit(&mut self, plans: &[Plan]) -> Vec<usize> {
        let first = self.plans.len();
        let mut plans = plans.to_vec();
        if self.middle == Middle::Datagrams {
            for plan in &mut plans {
                plan.format.packet_bytes = plan.format.packet_bytes.min(DATAGRAM);
            }
        }
        let plans = &plans;
        let specs = specs(plans, first, &self.nodes[0].ids);
        let app = self.nodes[0].app;
        let ids = self
            .call(0, move |driver| driver.submit_all(app, &specs))
            .unwrap();
        for (at, id) in ids.iter().enumerate() {
            self.nodes[0].ids.insert(first + at, *id);
            self.plans.push(plans[at].clone());
        }
        (first..self.plans.len()).collect()
    }

    fn receive(&mut self, streams: &[usize]) {
        if !self.middle.has_ranks() {
            return;
        }
        for key in streams {
            let plan = self.plans[*key].clone();
            for link in plan.format.links() {
                if !self.readers.contains_key(&link) && !self.late.contains(&link) {
                    self.reader(link, usize::MAX);
                }
            }
            let connection = ConnectionId(plan.connection as u32);
            let spec = StreamSpec::new(connection, Direction::Receive, plan.format, plan.adus);
            let app = self.nodes[1].app;
            let id = self
                .call(1, move |driver| driver.submit(app, &spec))
                .unwrap();
            self.nodes[1].ids.insert(*key, id);
        }
    }

    fn cancel(&mut self, side: Side, stream: usize) {
        let id = self.nodes[side as usize].ids[&stream];
        self.call(side as usize, move |driver| driver.cancel(id))
            .unwrap();
    }

    fn feed_link(&mut self, stream: usize, link: LinkId, adus: Range<u64>) {
        self.writer(link);
        for adu in adus {
            let job = self.job(stream, adu, 0);
            if let Some(writer) = self.writers.get(&link) {
                // A writer that ended was on a link that was cut.
                let _ = writer.jobs.send(job);
            }
        }
    }

    fn links(&self, stream: usize) -> Vec<LinkId> {
        self.plans[stream].format.links()
    }

    fn doom(&mut self, stream: usize, link: LinkId) {
        let (child, ends) = doomed(self.links, link, &self.job(stream, 0, 0));
        self.doomed.insert(link, child);
        self.call(0, move |driver| driver.attach(link, ends))
            .unwrap();
    }

    fn kill(&mut self, link: LinkId) {
        // SIGKILL.
        let mut child = self.doomed.remove(&link).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    fn cut(&mut self, link: LinkId) {
        self.call(0, move |driver| driver.cut(link, None));
        self.writers.remove(&link);
    }

    fn restore(&mut self, link: LinkId, stream: usize, adus: u64) {
        let (mut writer, ends) = Writer::start(self.links, link);
        self.call(0, move |driver| driver.attach(link, ends))
            .unwrap();
        // The rank learns how much was taken, and continues from there.
        let frames = writer.frames.take().unwrap();
        let frame = frames
            .recv_timeout(Duration::from_secs(20))
            .expect("the rank gets a frame");
        assert_eq!(frame.kind, Kind::Resume);
        assert_eq!(frame.stream, self.nodes[0].ids[&stream]);
        for adu in 0..adus {
            writer
                .jobs
                .send(self.job(stream, adu, frame.offset))
                .unwrap();
        }
        self.writers.insert(link, writer);
    }

    fn corrupt(&mut self, connection: usize) {
        self.proxies[connection].flip();
    }

    fn lose(&mut self, connection: usize) {
        self.proxies[connection].cut();
    }

    fn pump(&mut self) {
        let (count, rings) = &*self.bell;
        let count = count.lock().unwrap();
        let rung = self.rung;
        let wait = Duration::from_millis(200);
        let waited = rings.wait_timeout_while(count, wait, |count| *count == rung);
        self.rung = *waited.unwrap().0;
    }

    fn events(&self, side: Side) -> Vec<Event> {
        let node = &self.nodes[side as usize];
        let key = |stream| {
            let mut ids = node.ids.iter();
            ids.find(|(_, id)| **id == stream)
                .map_or(usize::MAX, |(key, _)| *key)
        };
        let events = node.seen.events.lock().unwrap();
        let streams = events.iter().filter_map(|event| match event {
            isthmus_stream_net::Event::Stream(event) => Some(renumber(event, &key)),
            _ => None,
        });
        streams.collect()
    }

    fn had(&mut self, stream: usize) -> Vec<Had> {
        let id = self.nodes[1].ids[&stream];
        let links = self.plans[stream].format.links();
        let logs = links.iter().map(|link| self.readers[link].lock().unwrap());
        let of_stream = logs.flat_map(|log| {
            let of_stream = log.iter().filter(|(of, ..)| *of == id);
            of_stream
                .filter_map(|(_, had, _)| had.clone())
                .collect::<Vec<_>>()
        });
        of_stream.collect()
    }

    fn taken(&mut self, connection: usize) -> Option<Vec<u8>> {
        Some(self.takers.get_mut(connection)?.taken())
    }

    fn most(&mut self, side: Side, direction: Direction) -> u64 {
        let most = self.call(side as usize, |driver| {
            driver.manager().statistics().network_most
        });
        most[direction as usize]
    }
}

impl Drop for Real {
    fn drop(&mut self) {
        for child in self.doomed.values_mut() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
