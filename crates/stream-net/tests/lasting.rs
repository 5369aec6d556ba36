//! Links that last, of a driver: which link an event is of, and what was cut before.

use crate::outsides::{ADU, Sends, TU, sink};
use crate::rig::content;
use crate::rig::ranks::soon;
use isthmus_stream::{Direction, End, Format, LinkId, Protocol, StreamSpec};
use isthmus_stream_net::rank::{Pipe, Sender};
use isthmus_stream_net::sink::{Action, Sink};
use isthmus_stream_net::{Driver, Ends, Event, Socket};
use std::os::unix::net::UnixStream;
use std::time::Duration;

const LINK: LinkId = LinkId(7);
const GRACE: Duration = Duration::from_secs(600);

/// Gives the lasting link its first socket; the rank's end of it.
fn first_socket(driver: &mut Driver) -> UnixStream {
    let (ours, theirs) = UnixStream::pair().unwrap();
    driver.renew(LINK, 1, 0).unwrap();
    assert!(driver.restore(LINK, 1, Socket::from(theirs)));
    ours
}

/// A link that was cut, and is then one that lasts, goes on: nothing waits for the old one any more.
#[test]
fn a_link_that_was_cut_goes_on_as_one_that_lasts() {
    let (address, _thread) = sink(Sink::new(256 << 10), |_| Action::Take);
    let mut sends = Sends::new();
    let connection = sends.open(&address, Protocol::Stream);
    let (format, app) = (Format::fixed(ADU, TU, &[LINK]), sends.app);
    let spec = StreamSpec::new(connection, Direction::Transmit, format.clone(), 1);
    let (ours, theirs) = UnixStream::pair().unwrap();
    let stream = sends.call(move |driver| {
        let ends = Ends::socket(theirs.into()).grace(GRACE);
        driver.attach(LINK, ends).unwrap();
        driver.submit(app, &spec).unwrap()
    });
    drop(ours);
    let gone = |event: &Event| matches!(event, Event::LinkGone { .. }).then_some(());
    sends.wait("link gone", gone);
    let ours = sends.call(|driver| {
        driver.attach_lasting(LINK, GRACE).unwrap();
        first_socket(driver)
    });
    let data = content(0, 0, ADU);
    let mut sender = Sender::new(LINK, Pipe::Unix(ours));
    let sent = sender.send_adu(stream, &format, (0, &data), (0, 0), soon());
    sent.unwrap();
    assert_eq!(sends.end(stream), End::Done);
}

/// What is told of a link that another one has followed says of which of them it is.
#[test]
fn an_event_names_the_incarnation_that_it_is_of() {
    let sends = Sends::new();
    let (told, made) = sends.call(|driver| {
        let mut made = Vec::new();
        let mut sockets = Vec::new();
        for _ in 0..3 {
            driver.attach_lasting(LINK, GRACE).unwrap();
            sockets.push(first_socket(driver));
            made.push(driver.incarnation(LINK));
            driver.renew(LINK, 2, 0).unwrap();
            driver.forsake(LINK, "its rank gave it up");
        }
        let told = std::iter::from_fn(|| driver.poll_event());
        let told = told.filter_map(|event| match event {
            Event::LinkCut { incarnation, .. } => Some(("cut", incarnation)),
            Event::LinkGone { incarnation, .. } => Some(("gone", incarnation)),
            _ => None,
        });
        (told.collect::<Vec<_>>(), made)
    });
    let each = made
        .iter()
        .flat_map(|made| [("cut", *made), ("gone", *made)]);
    assert_eq!(told, each.collect::<Vec<_>>());
    assert!(made.is_sorted_by(|a, b| a < b), "{made:?}");
}
