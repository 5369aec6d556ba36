//! Links over TCP and TLS whose sockets are cut at random bytes: no data is lost, doubled or out of
//! order. The seed in the message of a failure repeats the random choices of the proxy.

use crate::fake::soon;
use crate::hidden;
use crate::proxy::Proxy;
use crate::rig::{CARRIERS, RINGS, Rig, all, content, send_all, sink, spec};
use isthmus_nic_client::protocol::{Direction, Event};
use isthmus_nic_client::{Address, ConnectionOptions, Error, Received, Session, Timeout};
use isthmus_stream_net::sink::Action;
use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Seeds per kind of test; run `ISTHMUS_CUTS=150` by hand for more.
fn seeds() -> u64 {
    let asked = std::env::var("ISTHMUS_CUTS").ok();
    asked.and_then(|seeds| seeds.parse().ok()).unwrap_or(12)
}

const ADU: u64 = 300_001;
const TU: u64 = 100_000;
const ADUS: u64 = 30;
const LINKS: u16 = 2;

/// A daemon, a session of an application, and a session of a further process behind a proxy.
struct World {
    rig: Rig,
    first: Session,
    proxy: Proxy,
    far: Session,
}

impl World {
    fn new(tls: bool, seed: u64, most: u64, grace: Duration) -> Self {
        let (mut rig, port) = hidden::rig_with(|config| config.link_grace = grace);
        let first = Session::connect(&rig.unix, None, "near", true, soon()).unwrap();
        let plain = rig.tcp.to_string();
        let port = match tls {
            true => &port,
            false => plain.rsplit_once(':').unwrap().1,
        };
        let daemon = SocketAddr::from(([127, 0, 0, 1], port.parse().unwrap()));
        let proxy = Proxy::new(daemon, seed, most);
        let address = match tls {
            true => hidden::trusting("localhost", &proxy.port.to_string()),
            false => Address::parse(&format!("tcp:127.0.0.1:{}", proxy.port)).unwrap(),
        };
        let far = Session::join(&address, &first.welcome().ticket, false, soon()).unwrap();
        rig.tcp = address;
        Self {
            rig,
            first,
            proxy,
            far,
        }
    }

    fn link(&self, links: impl IntoIterator<Item = u16>) {
        for link in links {
            self.far.link(link, CARRIERS[1], soon()).unwrap();
        }
    }

    /// Return the reported reasons why links are gone.
    fn ends(&self) -> String {
        let mut all = Vec::new();
        while let Ok(Some(event)) = self.first.event(Timeout::after(Duration::ZERO)) {
            if !matches!(event, Event::Moved { .. } | Event::Done { .. }) {
                all.push(format!("{event:?}"));
            }
        }
        all.join("; ")
    }

    /// Wait until the further process lists no link.
    fn until_unlisted(&self) {
        let until = Instant::now() + secs(30);
        while !self.far.links().is_empty() {
            assert!(Instant::now() < until, "it is not known to be gone");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn count(&self) -> [u64; 2] {
        let cuts = &self.proxy.cuts;
        [&cuts.early, &cuts.late].map(|count| count.load(Ordering::SeqCst))
    }
}

/// Send over links that are cut. Returns the number of cuts.
fn sends(tls: bool, seed: u64) -> [u64; 2] {
    let world = World::new(tls, seed, 1 << 20, Duration::from_secs(10));
    world.link(0..LINKS);
    let (options, taken) = sink(|_| Action::Take);
    let connection = world.far.open(&options, soon()).unwrap();
    let spec = spec(connection, Direction::Transmit, (ADU, TU), LINKS, ADUS);
    let stream = world.far.stream(spec, soon()).unwrap();
    send_all(&stream, seed, ADU, ADUS);
    let done = stream.wait(soon());
    let done =
        done.unwrap_or_else(|error| panic!("seed {seed}, tls {tls}: {error}; {}", world.ends()));
    let done = done.done;
    world.far.close(connection, soon()).unwrap();
    let same = taken.join().unwrap().1 == all(seed, ADU, ADUS);
    assert!(done == ADUS && same, "seed {seed}, tls {tls}: {done} ADUs");
    world.count()
}

/// Receive over links that are cut.
fn receives(tls: bool, seed: u64) -> [u64; 2] {
    let world = World::new(tls, seed, 1 << 20, Duration::from_secs(10));
    world.first.link(7, RINGS, soon()).unwrap();
    world.link(0..LINKS);
    let mut options = ConnectionOptions::to("raw:accept:127.0.0.1:0");
    options.window_bytes = 1 << 20;
    let into = world.far.open(&options, soon()).unwrap();
    let at = world.far.connection(into, soon()).unwrap().destination;
    let to = at.replace("accept", "tcp");
    let out = world
        .first
        .open(&ConnectionOptions::to(&to), soon())
        .unwrap();
    let mut sent = spec(out, Direction::Transmit, (ADU, TU), 1, ADUS);
    sent.format.su_order = vec![7];
    let sent = world.first.stream(sent, soon()).unwrap();
    let spec = spec(into, Direction::Receive, (ADU, TU), LINKS, ADUS);
    let stream = world.far.stream(spec, soon()).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| send_all(&sent, seed, ADU, ADUS));
        let mut room = vec![0; ADU as usize];
        for adu in 0..ADUS {
            let missing = Vec::new();
            let received = stream.recv(&mut room, soon());
            assert_eq!(received, Ok(Received::Adu { adu, missing }), "seed {seed}");
            assert!(room == content(seed, adu, ADU), "seed {seed}, ADU {adu}");
        }
    });
    assert_eq!(stream.wait(soon()).unwrap().done, ADUS, "seed {seed}");
    world.count()
}

/// Run all seeds and check that both kinds of cuts occurred.
fn rounds(tls: bool, round: fn(bool, u64) -> [u64; 2]) {
    let mut cuts = [0; 2];
    for seed in 1..=seeds() {
        let started = Instant::now();
        let now = round(tls, seed);
        println!("seed {seed}: {now:?} cuts, {:?}", started.elapsed());
        cuts = [cuts[0] + now[0], cuts[1] + now[1]];
    }
    println!("{cuts:?} cuts: in handshakes and later");
    assert!(cuts[0] > seeds() && cuts[1] > 5 * seeds(), "{cuts:?}");
}

#[test]
fn data_sent_over_cut_tcp_is_complete_and_in_order() {
    rounds(false, sends);
}

#[test]
fn data_sent_over_cut_tls_is_complete_and_in_order() {
    rounds(true, sends);
}

#[test]
fn data_received_over_cut_tcp_is_complete_and_in_order() {
    rounds(false, receives);
}

#[test]
fn data_received_over_cut_tls_is_complete_and_in_order() {
    rounds(true, receives);
}

fn wait_event<T>(session: &Session, wanted: impl Fn(&Event) -> Option<T>) -> T {
    loop {
        let event = session.event(soon()).unwrap().expect("an event in time");
        if let Some(found) = wanted(&event) {
            return found;
        }
    }
}

fn gone(event: &Event) -> Option<String> {
    match event {
        Event::LinkGone { reason, .. } => Some(reason.clone()),
        _ => None,
    }
}

/// If a link cannot reconnect within the time of grace, its sender and the waits for its stream
/// fail. The daemon reports the cut, the stream that waits for the link, and its end.
#[test]
fn a_link_that_does_not_reconnect_in_time_is_lost_with_its_streams() {
    let grace = Duration::from_millis(700);
    let world = World::new(false, 1, u64::MAX - 1, grace);
    world.link([0]);
    let (options, taken) = sink(|_| Action::Take);
    let connection = world.far.open(&options, soon()).unwrap();
    let spec = spec(connection, Direction::Transmit, (ADU, TU), 1, 9);
    let stream = world.far.stream(spec, soon()).unwrap();
    stream.send(&content(1, 0, ADU), soon()).unwrap();
    stream.wait_done(1, soon()).unwrap();
    world.proxy.closed.store(true, Ordering::SeqCst);
    world.proxy.cut_all();
    let started = Instant::now();
    let cut = |event: &Event| matches!(event, Event::LinkCut { link: 0, .. }).then_some(());
    wait_event(&world.first, cut);
    // Data sent meanwhile waits.
    let error = loop {
        match stream.send(&content(1, 1, ADU), soon()) {
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    let took = started.elapsed();
    assert!(took >= grace / 2 && took < 20 * grace, "{took:?}");
    let said = error.to_string();
    assert!(!said.contains("for 0"), "{said}");
    assert!(
        matches!(error, Error::Link(0, _)) && said.contains("could not be made again within 700ms")
            || said.contains("a rank on link 0 is gone"),
        "{said}"
    );
    let reason = wait_event(&world.first, gone);
    assert!(reason.starts_with("it was cut") && reason.ends_with("within 700ms"));
    let error = stream.wait(soon()).unwrap_err().to_string();
    assert!(error.contains("a rank on link 0 is gone"), "{error}");
    drop((world, taken));
}

/// The daemon does not wait for a process that ends or releases its link: its streams fail at once.
#[test]
fn the_daemon_does_not_wait_for_links_of_ended_processes() {
    for gives_up in [false, true] {
        let world = World::new(false, 1, u64::MAX - 1, Duration::from_secs(3600));
        world.link([0]);
        let (options, taken) = sink(|_| Action::Take);
        let connection = world.first.open(&options, soon()).unwrap();
        let spec = spec(connection, Direction::Transmit, (ADU, TU), 1, 9);
        let stream = world.first.stream(spec.clone(), soon()).unwrap();
        let sends = world.far.adopt(stream.number(), &spec, soon()).unwrap();
        sends.send(&content(1, 0, ADU), soon()).unwrap();
        stream.wait_done(1, soon()).unwrap();
        match gives_up {
            true => world.far.unlink(0),
            false => world.far.end(),
        }
        let error = stream.wait(soon()).unwrap_err().to_string();
        assert!(error.contains("a rank on link 0 is gone"), "{error}");
        drop((world, taken));
    }
}

/// After the daemon's end every call fails with the error of a closed session, whatever its links
/// wait for.
#[test]
fn a_daemon_that_ends_while_a_link_is_cut_ends_its_calls() {
    let mut world = World::new(false, 1, u64::MAX - 1, Duration::from_secs(3600));
    world.link([0]);
    let (options, taken) = sink(|_| Action::Take);
    let connection = world.far.open(&options, soon()).unwrap();
    let spec = spec(connection, Direction::Transmit, (ADU, TU), 1, 1 << 20);
    let stream = world.far.stream(spec, soon()).unwrap();
    stream.send(&content(1, 0, ADU), soon()).unwrap();
    world.proxy.closed.store(true, Ordering::SeqCst);
    world.proxy.cut_all();
    std::thread::scope(|scope| {
        let sender = scope.spawn(|| {
            loop {
                if let Err(error) = stream.send(&content(1, 1, ADU), soon()) {
                    return error;
                }
            }
        });
        std::thread::sleep(Duration::from_millis(300));
        assert!(!sender.is_finished());
        drop(world.rig.daemon.take());
        let error = sender.join().unwrap();
        assert!(matches!(error, Error::Gone(..)), "{error:?}");
    });
    drop(taken);
}

/// An idle link reconnects too, and a timeout names a cut link for which it waits.
#[test]
fn an_idle_link_reconnects_and_a_timeout_names_a_cut_link() {
    let world = World::new(false, 1, u64::MAX - 1, Duration::from_secs(3600));
    world.link([0]);
    let restored = |event: &Event| match event {
        Event::LinkRestored { link: 0, again } => Some(*again),
        _ => None,
    };
    for _ in 0..3 {
        world.proxy.cut_all();
        assert_eq!(wait_event(&world.first, restored), 0);
    }
    let (options, taken) = sink(|_| Action::Take);
    let connection = world.far.open(&options, soon()).unwrap();
    let spec = spec(connection, Direction::Transmit, (ADU, TU), 1, 2);
    let stream = world.far.stream(spec, soon()).unwrap();
    stream.send(&content(1, 0, ADU), soon()).unwrap();
    stream.wait_done(1, soon()).unwrap();
    world.proxy.closed.store(true, Ordering::SeqCst);
    world.proxy.cut_all();
    let a_while = Timeout::after(Duration::from_millis(400));
    let error = stream.wait_done(2, a_while).unwrap_err().to_string();
    assert!(error.contains("link 0 is cut"), "{error}");
    let overview = world.far.overview(false, soon()).unwrap();
    let link = &overview.links[0];
    assert!(
        link.cut && !link.attached && link.carrier == "tcp",
        "{link:?}"
    );
    world.proxy.closed.store(false, Ordering::SeqCst);
    stream.send(&content(1, 1, ADU), soon()).unwrap();
    assert_eq!(stream.wait(soon()).unwrap().done, 2);
    world.far.close(connection, soon()).unwrap();
    assert!(taken.join().unwrap().1 == all(1, ADU, 2));
}

/// Without a time of grace a link ends with its socket, whether the daemon or the client sets it.
#[test]
fn a_link_without_grace_ends_with_its_socket() {
    for (operator, client) in [(0, 9), (9, 0)].map(|(a, b)| (secs(a), secs(b))) {
        let world = World::new(false, 1, u64::MAX - 1, operator);
        let linked = world.far.link_for(0, CARRIERS[1], client, soon());
        linked.unwrap();
        let (options, taken) = sink(|_| Action::Take);
        let connection = world.far.open(&options, soon()).unwrap();
        let spec = spec(connection, Direction::Transmit, (ADU, TU), 1, 9);
        let stream = world.far.stream(spec, soon()).unwrap();
        world.proxy.cut_all();
        let reason = wait_event(&world.first, gone);
        assert!(reason.contains("closed"), "{reason}");
        assert!(stream.wait(soon()).is_err());
        drop((world, taken));
    }
}

/// A link that was cut and never used since is not listed.
#[test]
fn a_link_without_grace_that_is_cut_is_not_listed() {
    let world = World::new(false, 1, u64::MAX - 1, Duration::ZERO);
    world
        .far
        .link_for(0, CARRIERS[1], Duration::ZERO, soon())
        .unwrap();
    assert_eq!(world.far.links(), [0]);
    world.proxy.cut_all();
    world.until_unlisted();
}

/// A lost link, whichever side gave up first, can be made again with its number, and streams use
/// the new one.
#[test]
fn a_lost_link_is_made_again_with_its_number() {
    for [operator, client] in [[300, 300], [9000, 300], [0, 0], [9000, 0]] {
        let world = World::new(false, 1, u64::MAX - 1, Duration::from_millis(operator));
        let grace = Duration::from_millis(client);
        world.far.link_for(0, CARRIERS[1], grace, soon()).unwrap();
        let (options, taken) = sink(|_| Action::Take);
        let connection = world.far.open(&options, soon()).unwrap();
        let spec = spec(connection, Direction::Transmit, (ADU, TU), 1, 1);
        let mut more = spec.clone();
        more.adus = None;
        let under_way = world.far.stream(more, soon()).unwrap();
        world.proxy.closed.store(true, Ordering::SeqCst);
        world.proxy.cut_all();
        // The stream fails when the link is used, or when the daemon reports that the link is lost.
        let error = loop {
            if let Err(error) = under_way.send(&content(1, 0, ADU), soon()) {
                break error.to_string();
            }
        };
        assert!(error.contains("link 0"), "{error}");
        assert!(under_way.wait(soon()).is_err());
        world.until_unlisted();
        world.proxy.closed.store(false, Ordering::SeqCst);
        world.far.link_for(0, CARRIERS[1], grace, soon()).unwrap();
        assert_eq!(world.far.links(), [0]);
        let stream = world.far.stream(spec, soon()).unwrap();
        stream.send(&content(1, 0, ADU), soon()).unwrap();
        stream.wait(soon()).unwrap();
        world.far.close(connection, soon()).unwrap();
        assert!(taken.join().unwrap().1 == all(1, ADU, 1));
    }
}

fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}
