//! Released links over TCP, and new links with their numbers.

use crate::fake::soon;
use crate::proxy::Proxy;
use crate::rig::{CARRIERS, Rig, all, content, sink_of, spec};
use isthmus_nic_client::protocol::{Direction, Event};
use isthmus_nic_client::{Address, Error, Session, Timeout};
use isthmus_stream_net::sink::{Action, Sink};
use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// A time of grace that no test waits for.
const GRACE: Duration = Duration::from_secs(600);
const ADU: u64 = 1 << 20;
const ADUS: u64 = 8;

fn rig() -> Rig {
    Rig::with(|config| {
        config.link_grace = GRACE;
        config.limits.staging_bytes = 16 << 20;
        config.limits.network_bytes = 64 << 20;
    })
}

/// Create the link as soon as the earlier one of its number is gone.
fn link(session: &Session) {
    let until = Instant::now() + Duration::from_secs(20);
    while let Err(error) = session.link(0, CARRIERS[1], soon()) {
        let said = error.to_string();
        let had = ["link 0 has its ends", "link 0 is another rank's"];
        assert!(had.iter().any(|words| said.contains(words)), "{said}");
        assert!(
            Instant::now() < until,
            "its number does not come back: {said}"
        );
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn sends(session: &Session, round: u64) {
    let (options, taken) = sink_of(Sink::new(64 << 20), |_| Action::Take);
    let connection = session.open(&options, soon()).unwrap();
    let spec = spec(connection, Direction::Transmit, (ADU, ADU / 4), 1, ADUS);
    let stream = session.stream(spec, soon()).unwrap();
    for adu in 0..ADUS {
        let sent = stream.send(
            &content(round, adu, ADU),
            Timeout::after(Duration::from_secs(20)),
        );
        assert_eq!(sent, Ok(adu), "round {round}");
    }
    assert_eq!(stream.wait(soon()).unwrap().done, ADUS, "round {round}");
    session.close(connection, soon()).unwrap();
    assert!(
        taken.join().unwrap().1 == all(round, ADU, ADUS),
        "round {round}"
    );
}

/// News and late data of a link do not affect the next link of its number.
#[test]
fn a_released_number_makes_a_link_again() {
    let rig = rig();
    for round in 0..60 {
        let session = Session::connect(&rig.tcp, None, "a test", true, soon()).unwrap();
        session.link(0, CARRIERS[1], soon()).unwrap();
        if round % 3 == 2 {
            sends(&session, round);
        }
        session.unlink(0);
        link(&session);
        sends(&session, round);
    }
}

/// The same if the earlier process has ended with its session.
#[test]
fn a_number_of_a_session_that_has_ended_makes_a_link_again() {
    let rig = rig();
    let first = Session::connect(&rig.unix, None, "a test", true, soon()).unwrap();
    for round in 0..30 {
        let join = || Session::join(&rig.tcp, &first.welcome().ticket, false, soon()).unwrap();
        let before = join();
        link(&before);
        let session = join();
        drop(before);
        link(&session);
        sends(&session, round);
    }
}

/// A link that its rank releases ends without being reported as cut.
#[test]
fn a_released_link_is_not_reported_as_cut() {
    let rig = rig();
    let session = Session::connect(&rig.tcp, None, "a test", true, soon()).unwrap();
    for _ in 0..40 {
        link(&session);
        session.unlink(0);
        let event = session.event(soon()).unwrap().expect("an event in time");
        assert!(
            matches!(event, Event::LinkGone { link: 0, .. }),
            "{event:?}"
        );
    }
}

/// A rank that times out waiting for its answer leaves no unused link in the daemon.
#[test]
fn a_link_whose_request_timed_out_is_released() {
    let rig = rig();
    let plain = rig.tcp.to_string();
    let port = plain.rsplit_once(':').unwrap().1.parse().unwrap();
    let proxy = Proxy::new(SocketAddr::from(([127, 0, 0, 1], port)), 1, u64::MAX - 1);
    let address = Address::parse(&format!("tcp:127.0.0.1:{}", proxy.port)).unwrap();
    let session = Session::connect(&address, None, "a test", true, soon()).unwrap();
    proxy.mute.store(true, Ordering::SeqCst);
    let mut made = 0;
    // The proxy cuts some before their request; those create nothing.
    while made == 0 {
        let error = session.link(0, CARRIERS[1], Timeout::after(Duration::from_millis(500)));
        assert!(matches!(error, Err(Error::TimedOut(_))), "{error:?}");
        made = session.overview(false, soon()).unwrap().links.len();
    }
    proxy.mute.store(false, Ordering::SeqCst);
    link(&session);
    sends(&session, 1);
}
