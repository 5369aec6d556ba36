//! Sessions: answers, events, errors and ends of waits.

use crate::fake::{daemon, listener, listening, name, soon, welcome};
use isthmus_nic_client::protocol::{
    Answer, Carrier, Event, Message, Refusal, RefusalKind, Request, VERSION, write,
};
use isthmus_nic_client::{Address, ConnectionOptions, Error, Session, Timeout};
use std::io::Write;
use std::os::fd::AsFd;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

fn little() -> Timeout<'static> {
    Timeout::after(Duration::from_millis(150))
}

fn status(stream: u32) -> Request {
    Request::Stream { stream }
}

#[test]
fn the_first_request_has_all_fields() {
    let address = listening(|mut side| {
        let asked = side.next().unwrap();
        assert_eq!(
            asked.request,
            Request::Hello {
                version: VERSION,
                token: Some("secret".into()),
                name: "who".into(),
                operator: false,
                watch: false
            }
        );
        side.answer(asked.id, welcome());
        // Until the client has left.
        assert!(side.next().is_none());
    });
    let session = Session::connect(&address, Some("secret"), "who", false, soon()).unwrap();
    let welcome = session.welcome();
    assert_eq!((welcome.application, &*welcome.ticket), (3, "ticket"));
    assert_eq!(
        (welcome.staging_bytes, welcome.network_bytes),
        (1 << 20, 2 << 20)
    );
}

#[test]
fn a_refusal_has_its_kind_and_text() {
    let refusal = Refusal {
        kind: RefusalKind::Denied,
        text: "no token that is known here: ask the operator".into(),
    };
    let said = refusal.clone();
    let address = listening(move |mut side| {
        let id = Some(side.next().unwrap().id);
        side.send(&Message::Refused { id, refusal: said });
    });
    let error = Session::connect(&address, None, "who", false, soon()).unwrap_err();
    assert_eq!(error, Error::Refused(refusal));
    assert!(error.is_refused(RefusalKind::Denied));
    assert_eq!(
        error.to_string(),
        "no token that is known here: ask the operator"
    );
}

#[test]
fn answers_in_any_order_reach_their_requests() {
    let session = daemon(|mut side| {
        let asked: Vec<_> = (0..20).map(|_| side.next().unwrap()).collect();
        for asked in asked.iter().rev() {
            let Request::Close { connection } = asked.request else {
                panic!("{asked:?}");
            };
            side.answer(asked.id, Answer::Connection { connection });
        }
        assert!(side.next().is_none());
    });
    std::thread::scope(|scope| {
        for connection in 0..20 {
            let session = &session;
            scope.spawn(move || {
                let answer = session.request(Request::Close { connection }, soon());
                assert_eq!(answer, Ok(Answer::Connection { connection }));
            });
        }
    });
}

#[test]
fn a_silent_daemon_is_named_and_its_late_answer_is_dropped() {
    let (go, gate) = channel::<()>();
    let session = daemon(move |mut side| {
        let first = side.next().unwrap().id;
        gate.recv().unwrap();
        side.answer(first, Answer::Linked);
        let second = side.next().unwrap().id;
        side.answer(second, Answer::Done);
        assert!(side.next().is_none());
    });
    let error = session.request(status(1), little()).unwrap_err();
    let said = error.to_string();
    assert!(matches!(error, Error::TimedOut(_)), "{error:?}");
    assert!(
        said.starts_with("unix:") && said.ends_with("has not answered for 150 ms"),
        "{said}"
    );
    go.send(()).unwrap();
    assert_eq!(session.close(7, soon()), Ok(()));
}

#[test]
fn the_death_of_the_daemon_is_one_error_for_waiting_and_later_calls() {
    let session = daemon(|mut side| {
        for _ in 0..3 {
            side.next().unwrap();
        }
    });
    let errors: Vec<Error> = std::thread::scope(|scope| {
        let wait = || session.request(status(1), soon()).unwrap_err();
        let all: Vec<_> = (0..3).map(|_| scope.spawn(wait)).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let later = session.request(status(1), soon()).unwrap_err();
    assert!(
        errors.iter().all(|error| *error == later),
        "{errors:?} {later:?}"
    );
    let said = later.to_string();
    assert!(
        said.ends_with("is over: the daemon closed it or has ended"),
        "{said}"
    );
    assert_eq!(session.event(soon()), Err(later.clone()));
    assert_eq!(session.gone(), Some(later));
}

#[test]
fn an_invalid_line_ends_the_session_and_is_quoted() {
    let session = daemon(|mut side| {
        side.next().unwrap();
        side.socket.write_all(b"{\"answer\":{\"id\":1}}\n").unwrap();
        assert!(side.next().is_none());
    });
    let said = session.request(status(1), soon()).unwrap_err().to_string();
    assert!(
        said.contains("no line of its language: missing field `answer`"),
        "{said}"
    );
}

#[test]
fn unread_events_are_counted() {
    let session = daemon(|mut side| {
        for adu in 0..5000 {
            let event = Event::Moved {
                stream: 1,
                adu,
                good: true,
            };
            side.send(&Message::Event { event });
        }
        let asked = side.next().unwrap().id;
        side.answer(asked, Answer::Done);
        assert!(side.next().is_none());
    });
    // All events precede that answer.
    session.close(1, soon()).unwrap();
    assert_eq!(
        session.event(soon()),
        Ok(Some(Event::Missed { events: 904 }))
    );
    let kept = std::iter::from_fn(|| session.event(little()).unwrap());
    let kept: Vec<u64> = kept
        .map(|event| match event {
            Event::Moved { adu, .. } => adu,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(kept, (904..5000).collect::<Vec<_>>());
}

#[test]
fn a_descriptor_notifies_event_loops() {
    let (go, gate) = channel::<()>();
    let session = daemon(move |mut side| {
        let noticed = side.next().unwrap().id;
        gate.recv().unwrap();
        side.answer(noticed, Answer::Done);
        let quiet = side.next().unwrap().id;
        side.answer(quiet, Answer::Done);
        gate.recv().unwrap();
    });
    let readable = |ms: i64| {
        let fd = session.as_fd();
        let mut fds = [rustix::event::PollFd::new(
            &fd,
            rustix::event::PollFlags::IN,
        )];
        let time = rustix::event::Timespec {
            tv_sec: ms / 1000,
            tv_nsec: ms % 1000 * 1_000_000,
        };
        rustix::event::poll(&mut fds, Some(&time)).unwrap() > 0
    };
    let pending = session.ask(status(1), true, soon()).unwrap();
    assert!(!readable(50) && pending.poll().is_none());
    go.send(()).unwrap();
    assert!(readable(60_000));
    assert_eq!(session.notices(), (vec![pending.id()], Vec::new()));
    assert_eq!(pending.poll(), Some(Ok(Answer::Done)));
    session.close(1, soon()).unwrap();
    assert!(!readable(50), "no notification was requested");
    let again = session.ask(status(1), true, soon()).unwrap();
    go.send(()).unwrap();
    assert!(readable(60_000));
    let until = Instant::now() + Duration::from_secs(60);
    while session.gone().is_none() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(
        session.notices().0,
        vec![again.id()],
        "the end notifies too"
    );
    assert!(matches!(again.poll(), Some(Err(Error::Gone(..)))));
}

#[test]
fn a_caller_can_interrupt_a_wait() {
    let session = daemon(|mut side| while side.next().is_some() {});
    let asked = std::sync::atomic::AtomicU32::new(0);
    let go_on = |_: Instant| asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed) < 3;
    let answer = session.request(status(1), Timeout::never().while_true(&go_on));
    assert_eq!(answer, Err(Error::Interrupted));
}

#[test]
fn a_session_closed_by_its_caller_names_the_reason() {
    let session = daemon(|mut side| while side.next().is_some() {});
    let pending = session.ask(status(1), false, soon()).unwrap();
    session.end();
    let said = pending.wait(soon()).unwrap_err().to_string();
    assert!(said.ends_with("is over: it was closed here"), "{said}");
}

#[test]
fn missing_daemons_and_invalid_addresses_are_named() {
    for (words, said) in [
        ("/run/x.sock", "it begins with unix:, tcp: or tls:"),
        ("unix:", "a path is missing"),
        ("tcp:7000", "a host and a port are missing"),
        ("tcp:localhost:x", "a host and a port are missing"),
    ] {
        let error = Address::parse(words).unwrap_err().to_string();
        assert!(error.contains(words) && error.contains(said), "{error}");
    }
    for words in [format!("unix:@{}", name()), "tcp:127.0.0.1:1".into()] {
        let address = Address::parse(&words).unwrap();
        let error = Session::connect(&address, None, "who", false, soon()).unwrap_err();
        let said = format!("no daemon can be reached at {words}: ");
        assert!(error.to_string().starts_with(&said), "{error}");
    }
    // A daemon that hangs up at once.
    let address = listening(drop);
    let error = Session::connect(&address, None, "who", false, soon()).unwrap_err();
    assert!(matches!(error, Error::Unreachable(..)), "{error:?}");
}

#[test]
fn impossible_requests_are_refused_locally() {
    let session = daemon(|mut side| {
        let asked = side.next();
        assert!(asked.is_none(), "{asked:?}");
    });
    let mut spec = isthmus_nic_client::spec(
        1,
        isthmus_nic_client::protocol::Direction::Transmit,
        64,
        &[0],
        1,
    );
    spec.format.packet_bytes = 65;
    let error = session.stream(spec, soon()).unwrap_err().to_string();
    assert!(
        error.contains("packets of 65 bytes with TUs of 64"),
        "{error}"
    );
    let destination = "x".repeat(2 << 20);
    let error = session
        .open(&ConnectionOptions::to(&destination), soon())
        .unwrap_err();
    assert!(matches!(error, Error::Misfit(_)), "{error:?}");
    let tcp = Address::parse("tcp:127.0.0.1:1").unwrap();
    assert!(!tcp.is_local());
    drop(session);
}

#[test]
fn wrong_descriptors_of_rings_are_reported() {
    let (listener, address) = listener();
    std::thread::spawn(move || {
        let line = |answer| write(&Message::Answer { id: 0, answer }).unwrap();
        let mut hello = listener.accept().unwrap().0;
        hello.write_all(&line(welcome())).unwrap();
        let mut link = listener.accept().unwrap().0;
        link.write_all(&line(Answer::Linked)).unwrap();
        link.write_all(b"these are no descriptors").unwrap();
        std::thread::sleep(Duration::from_secs(60));
    });
    let session = Session::connect(&address, None, "who", false, soon()).unwrap();
    let rings = Carrier::Rings {
        from_rank_bytes: 4096,
        to_rank_bytes: 0,
    };
    let error = session.link(4, rings, soon()).unwrap_err().to_string();
    assert!(
        error.starts_with("link 4: ") && error.contains("no ring"),
        "{error}"
    );
    assert!(session.links().is_empty());
}
