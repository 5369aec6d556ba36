//! Streams of the real manager that draw on screens.

use isthmus_framebuffer::{Geometry, Pixel, Screens};
use isthmus_ring::ring;
use isthmus_stream::{
    ConnectionSpec, Direction, End, Event, Format, Limits, LinkId, Other, Protocol, Reason,
    StreamId, StreamSpec,
};
use isthmus_stream_net::rank::{Pipe, Sender};
use isthmus_stream_net::{Driver, Ends, Event as NetEvent};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);
const SENT: Protocol = Protocol::Unconfirmed { reorder: 0 };

fn form(interlaced: bool) -> Geometry {
    Geometry {
        width: 40,
        height: 30,
        pixel: Pixel::Grey,
        interlaced,
    }
}

/// Runs until all these streams have ended.
fn ended(driver: &mut Driver, streams: &[StreamId]) -> BTreeMap<StreamId, End> {
    let until = Instant::now() + PATIENCE;
    let mut ends = BTreeMap::new();
    while ends.len() < streams.len() {
        assert!(Instant::now() < until, "they do not end: {ends:?}");
        driver.turn(Some(until)).unwrap();
        while let Some(event) = driver.poll_event() {
            if let NetEvent::Stream(Event::Ended { stream, end }) = event {
                ends.insert(stream, end);
            }
        }
    }
    ends
}

#[test]
fn adus_are_done_when_the_screens_have_them_in_step() {
    let screens = Screens::new();
    let mut driver = Driver::new(Driver::config()).unwrap();
    driver.set_screens(Box::new(screens.clone()));
    let app = driver.add_application(Limits::NONE);
    let mut specs: Vec<StreamSpec> = Vec::new();
    for (index, name) in ["left", "right", "fields"].into_iter().enumerate() {
        screens.set(name, form(index == 2)).unwrap();
        let to = format!("framebuffer:{name}");
        let spec = ConnectionSpec::new(&to, SENT, 0);
        let connection = driver.open(app, spec).unwrap();
        // Two links each, TUs of which a frame is no whole number.
        let links = [LinkId(2 * index as u16), LinkId(2 * index as u16 + 1)];
        let bytes = form(index == 2).adu_bytes();
        let format = Format {
            packet_bytes: 100,
            ..Format::fixed(bytes, 256, &links)
        };
        let spec = StreamSpec::new(connection, Direction::Transmit, format, 20);
        let with = (index > 0).then_some(Other::Here(0));
        specs.push(StreamSpec {
            in_step_with: with.into_iter().collect(),
            ..spec
        });
    }
    let streams = driver.submit_all(app, &specs).unwrap();
    let mut ranks = Vec::new();
    for (spec, stream) in specs.iter().zip(&streams) {
        for link in spec.format.links() {
            let (out, into) = ring(1 << 16).unwrap();
            driver.attach(link, Ends::rings(Some(into), None)).unwrap();
            let (format, stream) = (spec.format.clone(), *stream);
            ranks.push(std::thread::spawn(move || {
                let mut sender = Sender::new(link, Pipe::Producer(out));
                let until = Instant::now() + PATIENCE;
                let isthmus_stream::Adu::Fixed(bytes) = format.adu else {
                    unreachable!("they are frames")
                };
                for adu in 0..20 {
                    let data = vec![adu as u8 + 1; bytes as usize];
                    sender
                        .send_adu(stream, &format, (adu, &data), (0, 0), until)
                        .unwrap();
                }
            }));
        }
    }
    let ends = ended(&mut driver, &streams);
    assert!(ends.values().all(|end| *end == End::Done), "{ends:?}");
    for rank in ranks {
        rank.join().unwrap();
    }
    let frames = screens.figures().frames;
    let wanted = [("fields", 10), ("left", 20), ("right", 20)];
    let found: Vec<_> = frames
        .iter()
        .map(|(name, it)| (name.as_str(), it.0))
        .collect();
    assert_eq!(found, wanted);
}

#[test]
fn what_is_no_frame_of_a_screen_is_refused() {
    let screens = Screens::new();
    let mut driver = Driver::new(Driver::config()).unwrap();
    let app = driver.add_application(Limits::NONE);
    let open = |driver: &mut Driver, protocol| {
        let spec = ConnectionSpec::new("framebuffer:left", protocol, 0);
        driver.open(app, spec).map_err(|error| error.to_string())
    };
    let error = open(&mut driver, SENT).unwrap_err();
    assert!(error.contains("no screens here"), "{error}");
    driver.set_screens(Box::new(screens.clone()));
    let error = open(&mut driver, SENT).unwrap_err();
    assert!(error.contains("geometry is set first"), "{error}");
    screens.set("left", form(false)).unwrap();
    let error = open(&mut driver, Protocol::Stream).unwrap_err();
    assert!(error.contains("unconfirmed"), "{error}");
    let connection = open(&mut driver, SENT).unwrap();
    let error = open(&mut driver, SENT).unwrap_err();
    assert!(error.contains("another connection"), "{error}");
    for format in [
        Format::fixed(1201, 1201, &[LinkId(0)]),
        Format::variable(1200, &[LinkId(0)]),
    ] {
        let spec = StreamSpec::new(connection, Direction::Transmit, format, 1);
        let error = driver.submit(app, &spec).unwrap_err().to_string();
        assert!(error.contains("1200 bytes"), "{error}");
    }
    // Closed, another may draw.
    driver.close(connection).unwrap();
    let until = Instant::now() + PATIENCE;
    while open(&mut driver, SENT).is_err() {
        assert!(Instant::now() < until, "the screen stays drawn on");
        driver.turn(Some(Instant::now())).unwrap();
    }
}

#[test]
fn a_screen_of_another_form_ends_the_stream() {
    let screens = Screens::new();
    screens.set("left", form(false)).unwrap();
    let mut driver = Driver::new(Driver::config()).unwrap();
    driver.set_screens(Box::new(screens.clone()));
    let app = driver.add_application(Limits::NONE);
    let spec = ConnectionSpec::new("framebuffer:left", SENT, 0);
    let connection = driver.open(app, spec).unwrap();
    let format = Format::fixed(1200, 1200, &[LinkId(0)]);
    let spec = StreamSpec::new(connection, Direction::Transmit, format.clone(), 2);
    let stream = driver.submit(app, &spec).unwrap();
    let (out, into) = ring(1 << 16).unwrap();
    driver
        .attach(LinkId(0), Ends::rings(Some(into), None))
        .unwrap();
    let mut sender = Sender::new(LinkId(0), Pipe::Producer(out));
    let until = Instant::now() + PATIENCE;
    screens.set("left", form(true)).unwrap();
    for adu in 0..2 {
        let data = (adu, &[1; 1200][..]);
        sender
            .send_adu(stream, &format, data, (0, 0), until)
            .unwrap();
    }
    let ends = ended(&mut driver, &[stream]);
    let End::Failed(Reason::ConnectionLost(_, why)) = &ends[&stream] else {
        panic!("{ends:?}")
    };
    assert!(why.contains("geometry was changed"), "{why}");
}
