//! Resumable links of a driver: the incarnation in events, and links that were cut before.

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

/// Provides the first socket of the resumable link, and returns the rank's end.
fn first_socket(driver: &mut Driver) -> UnixStream {
    let (rank_end, driver_end) = UnixStream::pair().unwrap();
    driver.renew(LINK, 1, 0).unwrap();
    assert!(driver.restore(LINK, 1, Socket::from(driver_end)));
    rank_end
}

/// A link that was cut and is then attached as a resumable one continues without waiting for the
/// old one.
#[test]
fn a_link_that_was_cut_goes_on_as_one_that_lasts() {
    let (address, _thread) = sink(Sink::new(256 << 10), |_| Action::Take);
    let mut sends = Sends::new();
    let connection = sends.open(&address, Protocol::Stream);
    let (format, app) = (Format::fixed(ADU, TU, &[LINK]), sends.app);
    let spec = StreamSpec::new(connection, Direction::Transmit, format.clone(), 1);
    let (rank_end, driver_end) = UnixStream::pair().unwrap();
    let stream = sends.call(move |driver| {
        let ends = Ends::socket(driver_end.into()).grace(GRACE);
        driver.attach(LINK, ends).unwrap();
        driver.submit(app, &spec).unwrap()
    });
    drop(rank_end);
    let gone = |event: &Event| matches!(event, Event::LinkGone { .. }).then_some(());
    sends.wait("link gone", gone);
    let rank_end = sends.call(|driver| {
        driver.attach_resumable(LINK, GRACE).unwrap();
        first_socket(driver)
    });
    let data = content(0, 0, ADU);
    let mut sender = Sender::new(LINK, Pipe::Unix(rank_end));
    let sent = sender.send_adu(stream, &format, (0, &data), (0, 0), soon());
    sent.unwrap();
    assert_eq!(sends.end(stream), End::Done);
}

/// Events of a link that was replaced by another name its incarnation.
#[test]
fn an_event_names_the_incarnation_that_it_is_of() {
    let sends = Sends::new();
    let (events, made) = sends.call(|driver| {
        let mut made = Vec::new();
        let mut sockets = Vec::new();
        for _ in 0..3 {
            driver.attach_resumable(LINK, GRACE).unwrap();
            sockets.push(first_socket(driver));
            made.push(driver.incarnation(LINK));
            driver.renew(LINK, 2, 0).unwrap();
            driver.abandon(LINK, "its rank gave it up");
        }
        let events = std::iter::from_fn(|| driver.poll_event());
        let events = events.filter_map(|event| match event {
            Event::LinkCut { incarnation, .. } => Some(("cut", incarnation)),
            Event::LinkGone { incarnation, .. } => Some(("gone", incarnation)),
            _ => None,
        });
        (events.collect::<Vec<_>>(), made)
    });
    let each = made
        .iter()
        .flat_map(|made| [("cut", *made), ("gone", *made)]);
    assert_eq!(events, each.collect::<Vec<_>>());
    assert!(made.is_sorted_by(|a, b| a < b), "{made:?}");
}
