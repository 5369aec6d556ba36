//! The active streams, compared with a naive model that checks all streams at each step.

use crate::driver::{Driver, NOW};
use isthmus_stream::{
    Config, ConnectionSpec, Direction, Format, Limits, LinkId, Protocol, State, StreamId,
    StreamSpec, Work,
};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// One stream of the model. An ADU is one TU of one SU and one packet.
#[derive(Clone, Debug)]
struct Model {
    staging: u64,
    engines: u64,
    quantum: u64,
    permanent: bool,
    adus: u64,
    offered: bool,
    active: bool,
    /// When it began to wait.
    since: u64,
    left: u64,
    started: u64,
    filled: u64,
    stored: u64,
}

impl Model {
    fn ready(&self) -> bool {
        self.offered && !self.active && self.started < self.adus
    }

    fn between(&self) -> bool {
        self.active && self.started == self.stored
    }
}

/// The rules of the resource scheduler, restated.
struct Naive {
    staging: u64,
    engines: u64,
    clock: u64,
    streams: Vec<Model>,
}

impl Naive {
    /// Returns the next stream: permanent ones by number, then the one that has waited longest.
    fn head(&self) -> Option<usize> {
        let ready = (0..self.streams.len()).filter(|at| self.streams[*at].ready());
        ready.min_by_key(|at| {
            let stream = &self.streams[*at];
            (
                !stream.permanent,
                if stream.permanent { 0 } else { stream.since },
                *at,
            )
        })
    }

    fn fits(&self, at: usize) -> bool {
        let active = || self.streams.iter().filter(|stream| stream.active);
        let staging: u64 = active().map(|stream| stream.staging).sum();
        let engines: u64 = active().map(|stream| stream.engines).sum();
        staging + self.streams[at].staging <= self.staging
            && engines + self.streams[at].engines <= self.engines
    }

    /// Applies the rules until nothing changes.
    fn settle(&mut self) {
        loop {
            if let Some(at) = self.head().filter(|at| self.fits(*at)) {
                let stream = &mut self.streams[at];
                (stream.active, stream.left) = (true, stream.quantum);
                continue;
            }
            let waiter = self.head().map(|at| self.streams[at].permanent);
            let begins = |stream: &&mut Model| {
                let held_back = !stream.permanent
                    && match waiter {
                        Some(permanent) => {
                            (permanent || stream.left == 0) && stream.left < stream.quantum
                        }
                        None => false,
                    };
                stream.active
                    && !held_back
                    && stream.started < stream.adus
                    && stream.started == stream.filled
                    && stream.started < stream.stored + 2
            };
            if let Some(stream) = self.streams.iter_mut().find(begins) {
                stream.left = if stream.left == 0 {
                    stream.quantum
                } else {
                    stream.left
                } - 1;
                stream.started += 1;
                continue;
            }
            let through = |stream: &&mut Model| stream.active && stream.stored == stream.adus;
            if let Some(stream) = self.streams.iter_mut().find(through) {
                stream.active = false;
                continue;
            }
            let leaves = |stream: &&mut Model| {
                let used = stream.left == 0 || waiter == Some(true);
                stream.between() && !stream.permanent && waiter.is_some() && used
            };
            if let Some(stream) = self.streams.iter_mut().find(leaves) {
                self.clock += 1;
                (stream.active, stream.since) = (false, self.clock);
                continue;
            }
            return;
        }
    }

    fn active(&self) -> BTreeSet<StreamId> {
        let all = self.streams.iter().enumerate();
        let active = all.filter(|(_, stream)| stream.active);
        active.map(|(at, _)| StreamId(at as u32)).collect()
    }
}

/// A random stream: half of its staging memory, links, quantum, ADUs, permanent.
type Wanted = (u64, u16, u32, u64, bool);

fn streams() -> impl Strategy<Value = Vec<Wanted>> {
    let one = (
        1u64..10,
        1u16..4,
        1u32..4,
        1u64..7,
        prop::bool::weighted(0.15),
    );
    prop::collection::vec(one, 1..9)
}

/// Runs the streams on both. Returns the numbers of swaps and of refused streams.
fn play(wanted: &[Wanted], choices: &[u8]) -> (u64, u64) {
    let config = Config {
        staging_bytes: 20,
        engines: 4,
        ..Config::iwarp()
    };
    let mut driver = Driver::new(config);
    let mut naive = Naive {
        staging: 20,
        engines: 4,
        clock: 0,
        streams: Vec::new(),
    };
    let mut refused = 0;
    let mut wanted = wanted.iter();
    let mut choices = choices.iter().map(|choice| usize::from(*choice)).cycle();
    loop {
        let active: Vec<_> = driver
            .manager
            .active(Direction::Transmit)
            .into_iter()
            .collect();
        let choice = choices.next().unwrap_or(0);
        if active.is_empty() || (choice % 4 == 0 && wanted.len() > 0) {
            // Submits another stream.
            if let Some((half, links, quantum, adus, permanent)) = wanted.next() {
                let connection = driver.connection();
                let links: Vec<_> = (0..*links).map(LinkId).collect();
                let mut format = Format::fixed(*half, *half, &links);
                // One SU, over the first link; the others only hold engines.
                format.granule_bytes = *half;
                let mut spec = StreamSpec::new(connection, Direction::Transmit, format, *adus);
                (spec.quantum, spec.permanent) = (*quantum, *permanent);
                let Ok(id) = driver.submit(&spec) else {
                    refused += 1;
                    continue;
                };
                naive.clock += 1;
                naive.streams.push(Model {
                    staging: 2 * half,
                    engines: links.len() as u64,
                    quantum: u64::from(*quantum),
                    permanent: *permanent,
                    adus: *adus,
                    offered: true,
                    active: false,
                    since: naive.clock,
                    left: 0,
                    started: 0,
                    filled: 0,
                    stored: 0,
                });
                driver.offer(id, &links);
                naive.settle();
            } else if active.is_empty() {
                break;
            }
        } else {
            // Carries out one order of an active stream.
            let id = active[choice / 4 % active.len()];
            let is_of_stream = |work: &Work| match work {
                Work::Fetch { stream, .. } | Work::Store { stream, .. } => *stream == id,
                _ => false,
            };
            let work = driver.carry_out(is_of_stream);
            let model = &mut naive.streams[id.0 as usize];
            match work.expect("an active stream has something to do") {
                Work::Fetch { .. } => model.filled += 1,
                _ => model.stored += 1,
            }
            naive.settle();
            while driver
                .carry_out(|work| matches!(work, Work::Send { .. }))
                .is_some()
            {}
        }
        assert_eq!(driver.manager.active(Direction::Transmit), naive.active());
        for (at, model) in naive.streams.iter().enumerate() {
            let status = driver
                .manager
                .status(StreamId(at as u32))
                .expect("it is known");
            assert_eq!(
                (status.started, status.moved),
                (model.started, model.stored),
                "stream {at}"
            );
        }
    }
    for at in 0..naive.streams.len() {
        let status = driver
            .manager
            .status(StreamId(at as u32))
            .expect("it is known");
        assert_eq!(status.state, State::Done);
    }
    (driver.manager.statistics().swaps, refused)
}

#[test]
fn the_active_streams_are_those_of_the_naive_model() {
    use proptest::test_runner::{Config as Cases, TestRunner};
    use std::cell::Cell;
    let (swaps, refused, permanent) = (Cell::new(0), Cell::new(0), Cell::new(0));
    let mut runner = TestRunner::new(Cases::with_cases(1500));
    let cases = (streams(), prop::collection::vec(any::<u8>(), 1..200));
    let played = runner.run(&cases, |(wanted, choices)| {
        let (swapped, turned_away) = play(&wanted, &choices);
        swaps.set(swaps.get() + swapped);
        refused.set(refused.get() + turned_away);
        permanent.set(permanent.get() + wanted.iter().filter(|one| one.4).count());
        Ok(())
    });
    played.unwrap();
    println!("swaps {swaps:?}, refused {refused:?}, permanent {permanent:?}");
    assert!(swaps.get() > 2000 && refused.get() > 50 && permanent.get() > 300);
}

/// An application with a low limit blocks neither others nor itself.
#[test]
fn the_limit_of_an_application_affects_no_other() {
    let config = Config {
        staging_bytes: 60,
        ..Config::iwarp()
    };
    let mut driver = Driver::new(config);
    let small = driver.manager.add_application(Limits {
        staging_bytes: 20,
        ..Limits::NONE
    });
    let link = [LinkId(0)];
    let submit = |driver: &mut Driver, app| {
        driver.app = app;
        let connection = driver.connection();
        let format = Format::fixed(10, 10, &link);
        let spec = StreamSpec::new(connection, Direction::Transmit, format, 3);
        let id = driver.submit(&spec).expect("it fits");
        driver.offer(id, &link);
        id
    };
    let large = driver.app;
    let ids = [small, small, large].map(|app| submit(&mut driver, app));
    let active = driver.manager.active(Direction::Transmit);
    assert_eq!(active, BTreeSet::from([ids[0], ids[2]]));
    let waits = driver.manager.waits(ids[1]).expect("it is known");
    assert_eq!(
        waits[0].to_string(),
        "its application has all staging memory that it may have"
    );
    driver.run();
    for id in ids {
        assert_eq!(
            driver.manager.status(id).map(|status| status.state),
            Ok(State::Done)
        );
    }
    assert!(driver.manager.statistics().swaps > 0);
    let mut spec = StreamSpec::new(
        driver.connection(),
        Direction::Transmit,
        Format::fixed(11, 11, &link),
        1,
    );
    driver.app = small;
    let id = driver.closed_connection(isthmus_stream::Protocol::Stream);
    spec.connection = id;
    let refusal = driver.submit(&spec).expect_err("22 bytes are more than 20");
    let words = "two buffers of 11 bytes: application 1 may have 20 bytes of staging memory";
    assert_eq!(refusal.to_string(), words);
}

/// Connections on which nothing is sent hold at most their application's limit of network memory,
/// whatever their own shares are. Those of others continue, and store parts of TUs early.
#[test]
fn the_network_memory_limit_of_an_application_affects_no_other() {
    let config = Config {
        network_bytes: 100,
        ..Config::iwarp()
    };
    let mut driver = Driver::new(config);
    let (links, other) = ([LinkId(0), LinkId(1)], driver.app);
    let stalled = driver.manager.add_application(Limits {
        network_bytes: 50,
        ..Limits::NONE
    });
    let submit = |driver: &mut Driver, app| {
        driver.app = app;
        let connection = driver.connection();
        let mut format = Format::fixed(20, 20, &links);
        (format.granule_bytes, format.packet_bytes) = (10, 10);
        let mut spec = StreamSpec::new(connection, Direction::Transmit, format, 4);
        spec.cut_through = true;
        let id = driver.submit(&spec).expect("it fits");
        driver.offer(id, &links);
        (id, connection)
    };
    let two = [(); 2].map(|()| submit(&mut driver, stalled));
    while driver
        .carry_out(|work| !matches!(work, Work::Send { .. }))
        .is_some()
    {}
    assert_eq!(driver.manager.used(Direction::Transmit).1, 40);
    for (id, _) in two {
        let waits = driver.manager.waits(id).expect("it is known");
        assert_eq!(
            waits[0].to_string(),
            "its application has all network memory that it may have"
        );
    }
    let (id, connection) = submit(&mut driver, other);
    let is_of_others = |work: &Work| match work {
        Work::Send { connection: of, .. } => *of == connection,
        _ => true,
    };
    while driver.carry_out(is_of_others).is_some() {}
    let status = driver.manager.status(id).expect("it is known");
    assert_eq!(status.state, State::Done);
    assert!(driver.manager.statistics().stored_early > 0);
    // Windows use the same limit, in the other direction.
    let open = |driver: &mut Driver, window| {
        let spec = ConnectionSpec::new("anywhere", Protocol::Stream, window);
        driver.manager.open(NOW, stalled, spec)
    };
    open(&mut driver, 30).expect("30 of 50");
    let refusal = open(&mut driver, 30).expect_err("60 of 50");
    assert_eq!(
        refusal.to_string(),
        "a receive window of 30 bytes: application 1 may have 50 bytes of network memory, of which \
         20 are not promised to its other connections"
    );
    let mut spec = StreamSpec::new(
        two[0].1,
        Direction::Transmit,
        Format::fixed(51, 51, &links),
        1,
    );
    let refusal = driver
        .manager
        .submit(NOW, stalled, &spec)
        .expect_err("51 of 50");
    assert!(
        refusal
            .to_string()
            .ends_with("its share of network memory is 50 bytes"),
        "{refusal}"
    );
    driver.run();
    spec.format = Format::fixed(50, 50, &links);
    driver
        .manager
        .submit(NOW, stalled, &spec)
        .expect("50 of 50");
}

/// A removed application counts until its connections are closed.
#[test]
fn a_removed_application_counts_until_its_connections_end() {
    let mut driver = Driver::new(Config::iwarp());
    let (link, connection) = ([LinkId(0)], driver.connection());
    let format = Format::fixed(20, 20, &link);
    let spec = StreamSpec::new(connection, Direction::Transmit, format, 1);
    let id = driver.submit(&spec).expect("it fits");
    driver.offer(id, &link);
    while driver
        .carry_out(|work| !matches!(work, Work::Send { .. }))
        .is_some()
    {}
    assert_eq!(driver.manager.leaving(), 0);
    let app = driver.app;
    driver
        .manager
        .remove_application(NOW, app)
        .expect("it is known");
    assert_eq!(driver.manager.leaving(), 1);
    let stalled = NOW.after_ns(Config::iwarp().stall_ns);
    driver.manager.handle_timeout(stalled);
    assert_eq!(driver.manager.leaving(), 0);
    assert_eq!(driver.manager.used(Direction::Transmit).1, 0);
}

/// Permanent streams hold all their resources until they end. The needs of one submission are added
/// up, since the last one would otherwise wait for the first and block all others.
#[test]
fn permanent_streams_of_one_submission_must_fit_together() {
    let config = Config {
        staging_bytes: 60,
        ..Config::iwarp()
    };
    let mut driver = Driver::new(config);
    let mut permanent = |half: u64| {
        let format = Format::fixed(half, half, &[LinkId(0)]);
        let connection = driver.connection();
        let mut spec = StreamSpec::new(connection, Direction::Transmit, format, 2);
        spec.permanent = true;
        spec
    };
    let both = [permanent(20), permanent(11)];
    let fitting = [permanent(20), permanent(10)];
    let app = driver.app;
    let refusal = driver.manager.submit_all(NOW, app, &both);
    assert_eq!(
        refusal.expect_err("62 bytes of 60").to_string(),
        "permanent streams would hold 62 bytes of staging memory and 2 engines: there are 60 and 6"
    );
    let taken = driver.manager.submit_all(NOW, app, &fitting);
    assert_eq!(taken.map(|ids| ids.len()), Ok(2));
    // The limit of an application may be lower.
    driver.app = driver.manager.add_application(Limits {
        staging_bytes: 50,
        ..Limits::NONE
    });
    let connection = driver.connection();
    let own = [20, 6].map(|half| {
        let format = Format::fixed(half, half, &[LinkId(0)]);
        let mut spec = StreamSpec::new(connection, Direction::Transmit, format, 2);
        spec.permanent = true;
        spec
    });
    driver
        .manager
        .remove_application(NOW, app)
        .expect("it is known");
    let refusal = driver.manager.submit_all(NOW, driver.app, &own);
    assert_eq!(
        refusal.expect_err("52 bytes of 50").to_string(),
        "permanent streams would hold 52 bytes of staging memory: application 1 may have 50"
    );
}

/// Streams that are cancelled before their turn are reported to the peer in their turn. They count
/// until then, since an application could otherwise have any number of them.
#[test]
fn a_limit_counts_streams_that_ended_before_their_turn() {
    let mut driver = Driver::new(Config {
        ended_kept: 2,
        ..Config::iwarp()
    });
    driver.app = driver.manager.add_application(Limits {
        streams: 3,
        ..Limits::NONE
    });
    let connection = driver.connection();
    let link = [LinkId(0)];
    let spec = StreamSpec::new(
        connection,
        Direction::Transmit,
        Format::fixed(8, 8, &link),
        1,
    );
    let first = driver.submit(&spec).expect("the first of three");
    for _ in 0..2 {
        let id = driver.submit(&spec).expect("one of three");
        driver.manager.cancel(NOW, id).expect("it lives");
        driver.poll();
    }
    let refusal = driver.submit(&spec).expect_err("the fourth");
    assert_eq!(
        refusal.to_string(),
        "3 streams are in line on connection 0, application 1 may have 3 there: wait for the \
         first, or cancel it"
    );
    driver.manager.cancel(NOW, first).expect("it lives");
    driver.poll();
    assert!(driver.submit(&spec).is_err(), "no end is sent yet");
    driver.run();
    driver.submit(&spec).expect("nobody is in line");
    // Those in line, and those whose status is kept.
    assert!(driver.manager.streams().count() <= 3 + 2);
}
