//! Dependences in hand-written cases: refused cycles, propagated failures, and reported waits.

use crate::driver::{Driver, NOW};
use isthmus_stream::{
    Config, Direction, End, Event, Format, Instant, LinkId, Other, Protocol, Reason, State,
    StreamId, StreamSpec, Work,
};

const LINK: [LinkId; 1] = [LinkId(0)];

fn spec(driver: &mut Driver) -> StreamSpec {
    let connection = driver.connection();
    StreamSpec::new(
        connection,
        Direction::Transmit,
        Format::fixed(8, 8, &LINK),
        3,
    )
}

fn words(driver: &Driver, stream: StreamId) -> Vec<String> {
    let waits = driver.manager.waits(stream).expect("it is known");
    waits.iter().map(ToString::to_string).collect()
}

#[test]
fn cycles_are_refused_and_named() {
    let mut driver = Driver::new(Config::iwarp());
    let app = driver.app;
    let [mut a, mut b, mut c] = [(); 3].map(|()| spec(&mut driver));
    a.after = vec![Other::Here(1)];
    b.after = vec![Other::Here(2)];
    c.after = vec![Other::Here(0)];
    let refusal = driver
        .manager
        .submit_all(NOW, app, &[a.clone(), b.clone(), c.clone()]);
    assert_eq!(
        refusal.expect_err("a cycle").to_string(),
        "streams would wait for one another: stream 0 after stream 1, stream 1 after stream 2, \
         stream 2 after stream 0; leave out one of these"
    );
    // It follows a stream with which another one is in lock step.
    a.after = Vec::new();
    let first = driver.submit(&a).expect("no cycle");
    b.after = vec![Other::Stream(first)];
    b.in_step_with = vec![Other::Stream(first)];
    let refusal = driver.submit(&b).expect_err("a cycle");
    assert_eq!(
        refusal.to_string(),
        "streams would wait for one another: stream 1 after stream 0, stream 0 in step with \
         stream 1; leave out one of these"
    );
    // It is behind another one on the same connection.
    let mut d = a.clone();
    d.in_step_with = vec![Other::Stream(first)];
    let refusal = driver.submit(&d).expect_err("a cycle");
    assert_eq!(
        refusal.to_string(),
        "streams would wait for one another: stream 1 behind stream 0 on connection 0, stream 0 in \
         step with stream 1; leave out one of these"
    );
    // Refused streams leave nothing behind, and a chain is not a cycle.
    b.in_step_with = Vec::new();
    c.after = vec![Other::Here(0)];
    let made = driver
        .manager
        .submit_all(NOW, app, &[b, c])
        .expect("a chain");
    assert_eq!(made, [StreamId(1), StreamId(2)]);
    for id in 0..3 {
        driver.offer(StreamId(id), &LINK);
    }
    driver.run();
    assert_eq!(
        driver
            .manager
            .status(StreamId(2))
            .map(|status| status.state),
        Ok(State::Done)
    );
}

#[test]
fn a_failure_fails_later_streams() {
    let mut driver = Driver::new(Config::iwarp());
    let app = driver.app;
    let [a, mut b, mut c, mut d] = [(); 4].map(|()| spec(&mut driver));
    b.after = vec![Other::Here(0)];
    c.after = vec![Other::Here(1)];
    d.in_step_with = vec![Other::Here(2)];
    let ids = driver
        .manager
        .submit_all(NOW, app, &[a, b, c, d])
        .expect("a chain");
    driver.manager.handle_rank_lost(NOW, ids[0], LinkId(0));
    driver.poll();
    let ends: Vec<_> = driver
        .events
        .iter()
        .filter_map(|event| match event {
            Event::Ended { stream, end } => Some((*stream, end.clone())),
            _ => None,
        })
        .collect();
    let expected = [
        (ids[0], End::Failed(Reason::RankLost(LinkId(0)))),
        (ids[1], End::Failed(Reason::After(ids[0]))),
        (ids[2], End::Failed(Reason::After(ids[1]))),
        (ids[3], End::Failed(Reason::Step(ids[2]))),
    ];
    assert_eq!(ends, expected);
}

#[test]
fn waits_are_reported() {
    let config = Config {
        staging_bytes: 16,
        network_bytes: 8,
        ..Config::iwarp()
    };
    let mut driver = Driver::new(config);
    let app = driver.app;
    let connection = driver.closed_connection(Protocol::Stream);
    let stream = |connection| {
        StreamSpec::new(
            connection,
            Direction::Transmit,
            Format::fixed(8, 8, &LINK),
            3,
        )
    };
    let first = driver.submit(&stream(connection)).expect("it fits");
    let second = driver.submit(&stream(connection)).expect("it fits");
    let none = ["connection 0 is not open", "no data on link 0"];
    assert_eq!(words(&driver, first), none);
    let behind = [
        "connection 0 is not open",
        "stream 0 comes before it on connection 0",
        none[1],
    ];
    assert_eq!(words(&driver, second), behind);
    driver.manager.handle_connected(NOW, connection);
    driver.offer(first, &LINK);
    assert_eq!(words(&driver, first), ["data is under way on link 0"]);
    let mut third = spec(&mut driver);
    let other = third.connection;
    let third_id = driver.submit(&third).expect("it fits");
    driver.offer(third_id, &LINK);
    assert_eq!(
        words(&driver, third_id),
        ["16 bytes of staging memory with 0 free and 1 engines with 5 free, held by streams 0"]
    );
    driver.run();
    // The first ADU of the first stream is stored but may not be sent, since the peer has granted
    // no credit, and it fills network memory. So the third, whose turn has come, cannot continue
    // either.
    let full = "network memory is full of unacknowledged packets: 8 bytes of connection 0";
    assert_eq!(words(&driver, third_id), [full]);
    assert_eq!(
        words(&driver, first),
        ["16 bytes of staging memory with 0 free and 1 engines with 5 free, held by streams 2"]
    );
    driver.manager.handle_link_cut(NOW, LinkId(0));
    third.connection = other;
    third.after = vec![Other::Stream(first)];
    let fourth = driver.manager.submit(NOW, app, &third).expect("it fits");
    let after = "stream 0, which it comes after, is not done";
    assert!(words(&driver, fourth).iter().any(|word| word == after));
}

/// A stream without progress for the configured time is reported once per such time, with its
/// waits.
#[test]
fn a_stall_is_reported_with_its_reason() {
    let mut driver = Driver::new(Config::iwarp());
    let spec = spec(&mut driver);
    let stream = driver.submit(&spec).expect("it fits");
    let mut stalls = 0;
    for _ in 0..6 {
        let due = driver
            .manager
            .poll_timeout()
            .expect("a stream that lives has a deadline");
        driver.manager.handle_timeout(due);
        driver.poll();
        for event in driver.events.drain(..) {
            if let Event::Stalled {
                stream: of,
                idle_ns,
                waits,
            } = event
            {
                assert_eq!(of, stream);
                assert!(idle_ns >= Config::iwarp().stall_ns);
                assert_eq!(waits[0].to_string(), "no data on link 0");
                stalls += 1;
            }
        }
    }
    assert!(stalls >= 5, "{stalls} stalls in 6 times");
}

/// At the last possible time, stalls are reported once, and the call returns.
#[test]
fn stalls_at_the_end_of_time_are_reported_once() {
    let mut driver = Driver::new(Config::iwarp());
    let specs = [(); 3].map(|()| spec(&mut driver));
    for spec in &specs {
        driver.submit(spec).expect("it fits");
    }
    for expected in [3, 6] {
        driver.manager.handle_timeout(Instant(u64::MAX));
        driver.poll();
        let stalls = |event: &&Event| matches!(event, Event::Stalled { .. });
        assert_eq!(driver.events.iter().filter(stalls).count(), expected);
    }
}

#[test]
fn streams_that_never_fit_are_refused_on_submission() {
    let mut driver = Driver::new(Config::iwarp());
    let mut large = spec(&mut driver);
    large.format = Format::fixed(1 << 20, (64 << 10) + 1, &LINK);
    let refusal = driver.submit(&large).expect_err("two buffers do not fit");
    assert_eq!(
        refusal.to_string(),
        "two buffers of 65537 bytes and 1 links: there are 131072 bytes of staging memory and 6 \
         engines"
    );
    let seven: Vec<_> = (0..7).map(LinkId).collect();
    large.format = Format::fixed(64, 64, &seven);
    assert!(driver.submit(&large).is_err());
    // 64 KB is the maximum: two such TUs fill the staging memory.
    large.format = Format::fixed(1 << 20, 64 << 10, &LINK);
    large.permanent = true;
    driver.submit(&large).expect("it fits");
    let mut other = spec(&mut driver);
    other.permanent = true;
    assert!(
        driver.submit(&other).is_err(),
        "nothing is left for another that is permanent"
    );
    other.permanent = false;
    other.in_step_with = vec![Other::Stream(StreamId(0))];
    assert!(
        driver.submit(&other).is_err(),
        "in step with one that lets nobody else in"
    );
    assert!(
        !driver
            .orders
            .iter()
            .any(|order| matches!(order.work, Work::Fetch { .. }))
    );
}
