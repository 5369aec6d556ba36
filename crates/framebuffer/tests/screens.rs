//! Screens, the page, and viewers of all sorts.

use isthmus_framebuffer::{Error, Geometry, HEAD_BYTES, Page, Pixel, Screens};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};
use tungstenite::{Message, WebSocket, client};

const PATIENCE: Duration = Duration::from_secs(60);

fn grey(width: u32, height: u32) -> Geometry {
    Geometry {
        width,
        height,
        pixel: Pixel::Grey,
        interlaced: false,
    }
}

fn page(screens: &Screens) -> Page {
    let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
    Page::serve(screens.clone(), any).unwrap()
}

fn socket(at: SocketAddr) -> TcpStream {
    let socket = TcpStream::connect(at).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket.set_write_timeout(Some(PATIENCE)).unwrap();
    socket
}

fn look(at: SocketAddr) -> WebSocket<TcpStream> {
    client(format!("ws://{at}/stream"), socket(at)).unwrap().0
}

/// What an answer begins with, of bytes sent as they are.
fn answer(at: SocketAddr, said: &[u8]) -> String {
    let mut socket = socket(at);
    // It may be refused before all is sent.
    let _ = socket.write_all(said);
    let _ = socket.shutdown(std::net::Shutdown::Write);
    let mut text = Vec::new();
    let _ = socket.read_to_end(&mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// Screen, number and pixels of a frame.
fn frame(message: &Message) -> Option<(u32, u64, Vec<u8>)> {
    let Message::Binary(bytes) = message else {
        return None;
    };
    assert_eq!(&bytes[..4], b"IFB1");
    let id = u32::from_le_bytes(bytes[4..8].try_into().unwrap());
    let number = u64::from_le_bytes(bytes[8..16].try_into().unwrap());
    Some((id, number, bytes[HEAD_BYTES..].to_vec()))
}

/// The next frame, which is answered.
fn next(socket: &mut WebSocket<TcpStream>) -> (u32, u64, Vec<u8>) {
    loop {
        if let Some(found) = frame(&socket.read().unwrap()) {
            socket.send(Message::text("+")).unwrap();
            return found;
        }
    }
}

/// Screen and number of the next three frames, which are not answered.
fn numbers(socket: &mut WebSocket<TcpStream>) -> Vec<(u32, u64)> {
    let frames = std::iter::repeat_with(|| frame(&socket.read().unwrap())).flatten();
    frames.take(3).map(|(id, number, _)| (id, number)).collect()
}

fn until(what: &str, mut done: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !done() {
        assert!(
            Instant::now() < end,
            "{what} did not come within {PATIENCE:?}"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_viewer_sees_the_list_and_each_frame() {
    let screens = Screens::new();
    screens.set("left", grey(3, 2)).unwrap();
    let page = page(&screens);
    let mut viewer = look(page.address());
    let list = viewer.read().unwrap().into_text().unwrap();
    assert_eq!(
        list.as_str(),
        r#"{"screens":[{"id":1,"name":"left","width":3,"height":2}]}"#
    );
    assert_eq!(next(&mut viewer), (1, 0, vec![0; 6]));
    let mut painter = screens.draw("left").unwrap();
    for adu in 0..20 {
        painter.put(adu, 0, &[adu as u8; 4]).unwrap();
        painter.put(adu, 4, &[7; 2]).unwrap();
        let mut wanted = vec![adu as u8; 4];
        wanted.extend([7; 2]);
        assert_eq!(next(&mut viewer), (1, adu + 1, wanted));
    }
    screens.reset("left").unwrap();
    loop {
        if next(&mut viewer) == (1, 0, vec![0; 6]) {
            break;
        }
    }
    painter.put(20, 0, &[9; 6]).unwrap();
    assert_eq!(next(&mut viewer), (1, 1, vec![9; 6]));
    screens.set("left", grey(1, 1)).unwrap();
    let error = painter.put(21, 0, &[9; 6]).unwrap_err();
    assert!(matches!(error, Error::Changed(_)), "{error}");
    assert_eq!(next(&mut viewer), (1, 0, vec![0]));
}

#[test]
fn who_answers_nothing_is_sent_two_rounds_and_misses_the_rest() {
    let screens = Screens::new();
    let names = ["a", "b", "c"];
    for name in names {
        screens.set(name, grey(640, 480)).unwrap();
    }
    let page = page(&screens);
    let mut slow = look(page.address());
    let mut quick = look(page.address());
    until("both", || screens.figures().viewers == 2);
    // The first round is sent at once, so before anything is drawn it is of one number.
    assert_eq!(numbers(&mut slow), [(1, 0), (2, 0), (3, 0)]);
    let mut painters = names.map(|name| screens.draw(name).unwrap());
    let data = vec![5; 640 * 480];
    let seen = std::thread::scope(|scope| {
        let seen = scope.spawn(|| {
            let mut seen = BTreeMap::new();
            while seen.values().filter(|number| **number == 500).count() < 3 {
                let (id, number, _) = next(&mut quick);
                assert!(seen.insert(id, number).is_none_or(|before| before < number));
            }
            seen
        });
        // 450 MB, more than sockets hold: it is not the viewers that this waits for.
        for adu in 0..500 {
            for painter in &mut painters {
                painter.put(adu, 0, &data).unwrap();
            }
        }
        seen.join().unwrap()
    });
    assert_eq!(seen.len(), 3);
    let second = numbers(&mut slow);
    let number = second[0].1;
    assert_eq!(second, [(1, number), (2, number), (3, number)]);
    slow.get_ref()
        .set_read_timeout(Some(Duration::from_millis(200)))
        .unwrap();
    assert!(slow.read().is_err(), "a seventh frame without an answer");
    slow.get_ref().set_read_timeout(Some(PATIENCE)).unwrap();
    for _ in 0..6 {
        slow.send(Message::text("+")).unwrap();
    }
    let last: Vec<_> = (0..3).map(|_| next(&mut slow).1).collect();
    assert_eq!(last, [500; 3]);
    let missed = screens.figures().missed;
    assert!(missed >= 3 * (500 - number - 1), "{missed} missed");
}

#[test]
fn rounds_of_a_slow_viewer_are_of_one_number() {
    let screens = Screens::new();
    let names = ["a", "b", "c", "d"];
    for name in names {
        screens.set(name, grey(64, 64)).unwrap();
    }
    let page = page(&screens);
    let mut viewer = look(page.address());
    // What was there before anything was drawn; then as many rounds as it can take.
    let first: Vec<_> = (0..4).map(|_| next(&mut viewer).1).collect();
    assert_eq!(first, [0; 4]);
    let mut painters = names.map(|name| screens.draw(name).unwrap());
    let feeds = std::thread::spawn(move || {
        for adu in 0..3000 {
            for painter in &mut painters {
                painter.put(adu, 0, &[1; 64 * 64]).unwrap();
            }
        }
        painters
    });
    loop {
        let round: Vec<_> = (0..4).map(|_| next(&mut viewer)).collect();
        let ids: Vec<_> = round.iter().map(|(id, ..)| *id).collect();
        assert_eq!(ids, [1, 2, 3, 4]);
        assert!(round.iter().all(|(_, number, _)| *number == round[0].1));
        if round[0].1 == 3000 {
            break;
        }
    }
    feeds.join().unwrap();
}

#[test]
fn a_screen_that_stands_still_holds_up_no_rounds() {
    let screens = Screens::new();
    for name in ["a", "b", "still"] {
        screens.set(name, grey(64, 64)).unwrap();
    }
    let page = page(&screens);
    let mut viewer = look(page.address());
    let first: Vec<_> = (0..3).map(|_| next(&mut viewer).1).collect();
    assert_eq!(first, [0; 3]);
    let mut painters = ["a", "b"].map(|name| screens.draw(name).unwrap());
    let feeds = std::thread::spawn(move || {
        for adu in 0..2000 {
            for painter in &mut painters {
                painter.put(adu, 0, &[1; 64 * 64]).unwrap();
            }
        }
        painters
    });
    loop {
        let round = [next(&mut viewer), next(&mut viewer)];
        let [one, two] = round.map(|(id, number, _)| (id, number));
        assert_eq!((one.0, two), (1, (2, one.1)));
        if one.1 == 2000 {
            break;
        }
    }
    feeds.join().unwrap();
}

#[test]
fn screens_that_do_not_go_in_step_are_shown_all_the_same() {
    let screens = Screens::new();
    screens.set("still", grey(2, 2)).unwrap();
    screens.set("quick", grey(2, 2)).unwrap();
    let page = page(&screens);
    let mut viewer = look(page.address());
    let mut painter = screens.draw("quick").unwrap();
    for adu in 0..9 {
        painter.put(adu, 0, &[1; 4]).unwrap();
        while next(&mut viewer).1 != adu + 1 {}
    }
}

#[test]
fn garbage_is_answered_in_a_line_and_ends_nobody_else() {
    let screens = Screens::new();
    screens.set("one", grey(2, 2)).unwrap();
    let page = page(&screens);
    let at = page.address();
    let mut viewer = look(at);
    let host = format!("Host: {at}\r\n");
    let cases: &[(Vec<u8>, &str)] = &[
        (vec![0xff; 300], "HTTP/1.1 400"),
        (b"GET / HTTP/1.1\r\n".to_vec(), "HTTP/1.1 400"),
        (b"GET / HTTP/1.1\r\n\r\n".to_vec(), "HTTP/1.1 400"),
        (vec![b'a'; 100_000], ""),
        (
            format!("GET /x HTTP/1.1\r\n{host}\r\n").into(),
            "HTTP/1.1 404",
        ),
        (
            format!("PUT / HTTP/1.1\r\n{host}\r\n").into(),
            "HTTP/1.1 405",
        ),
        (
            b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n".to_vec(),
            "HTTP/1.1 403",
        ),
        (
            format!("GET / HTTP/1.1\r\n{host}X: {}\r\n\r\n", "y".repeat(9000)).into(),
            "",
        ),
        (
            format!("GET / HTTP/1.1\r\n{host}\r\n").into(),
            "HTTP/1.1 200",
        ),
    ];
    for (said, wanted) in cases {
        let found = answer(at, said);
        let begin: String = found.chars().take(60).collect();
        assert!(found.starts_with(wanted), "{wanted}: {begin}");
    }
    for message in [
        Message::text("x"),
        Message::text("x".repeat(1000)),
        Message::binary(vec![1; 50]),
    ] {
        let mut bad = look(at);
        bad.send(message).unwrap();
        while bad.read().is_ok() {}
    }
    let mut eager = look(at);
    for _ in 0..1000 {
        if eager.send(Message::text("+")).is_err() {
            break;
        }
    }
    while eager.read().is_ok() {}
    let mut torn = look(at);
    torn.get_mut().write_all(&[0xff; 32]).unwrap();
    while torn.read().is_ok() {}
    drop(look(at));
    until("all but one are gone", || screens.figures().viewers == 1);
    let mut painter = screens.draw("one").unwrap();
    painter.put(0, 0, &[3; 4]).unwrap();
    while next(&mut viewer) != (1, 1, vec![3; 4]) {}
}

#[test]
fn there_are_so_many_viewers_and_no_more() {
    let screens = Screens::new();
    let page = page(&screens);
    let at = page.address();
    let all: Vec<_> = (0..16).map(|_| look(at)).collect();
    until("16", || screens.figures().viewers == 16);
    assert!(client(format!("ws://{at}/stream"), socket(at)).is_err());
    drop(all);
    until("none", || screens.figures().viewers == 0);
    drop(look(at));
    let mut last = look(at);
    drop(page);
    while last.read().is_ok() {}
    assert!(TcpStream::connect(at).is_err());
}

#[test]
fn pings_are_answered_between_frames() {
    let screens = Screens::new();
    let page = page(&screens);
    let mut viewer = look(page.address());
    viewer.send(Message::Ping("here?".into())).unwrap();
    while viewer.read().unwrap() != Message::Pong("here?".into()) {}
}

#[test]
fn what_cannot_be_is_refused_in_words() {
    let screens = Screens::new();
    let refused = |name: &str, geometry: Geometry, part: &str| {
        let error = screens.set(name, geometry).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    };
    refused("", grey(1, 1), "1 to 64 letters");
    refused("a b", grey(1, 1), "\"a b\"");
    refused("<a>", grey(1, 1), "digits");
    refused("a", grey(0, 1), "each side has 1 to 16384");
    refused("a", grey(16385, 1), "each side");
    refused("a", grey(16384, 16384), "at most 67108864");
    let fields = Geometry {
        interlaced: true,
        ..grey(4, 3)
    };
    refused("a", fields, "even");
    let error = screens.draw("a").unwrap_err().to_string();
    assert!(error.contains("geometry is set first"), "{error}");
    screens.set("a", grey(2, 2)).unwrap();
    let mut painter = screens.draw("a").unwrap();
    assert!(matches!(screens.draw("a"), Err(Error::Drawn(_))));
    for (adu, at, bytes) in [(0, 1, 1), (0, 0, 5), (0, u64::MAX, 1)] {
        let error = painter.put(adu, at, &vec![0; bytes]).unwrap_err();
        assert!(matches!(error, Error::Bytes(..)), "{error}");
    }
    drop(painter);
    let mut painter = screens.draw("a").unwrap();
    painter.put(0, 0, &[1; 3]).unwrap();
    painter.put(0, 0, &[2; 4]).unwrap();
    assert_eq!(screens.figures().frames["a"], (1, 1));
    for number in 1..64 {
        screens.set(&format!("s{number}"), grey(1, 1)).unwrap();
    }
    refused("s64", grey(1, 1), "64 screens are the most");
    let outside = "0.0.0.0:0".parse().unwrap();
    let error = Page::serve(screens.clone(), outside).unwrap_err();
    assert!(error.to_string().contains("this machine only"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// However a frame comes in pieces, each pixel is where its line says.
    #[test]
    fn fields_are_woven(
        width in 1u32..9, half in 1u32..6, color in any::<bool>(), interlaced in any::<bool>(),
        cuts in proptest::collection::vec(1usize..40, 1..20),
    ) {
        let pixel = if color { Pixel::Color } else { Pixel::Grey };
        let geometry = Geometry { width, height: 2 * half, pixel, interlaced };
        let screens = Screens::new();
        screens.set("s", geometry).unwrap();
        let page = page(&screens);
        let mut viewer = look(page.address());
        let mut painter = screens.draw("s").unwrap();
        let line = geometry.line_bytes() as usize;
        let byte = |y: usize, x: usize| (y * 37 + x * 11 + 1) as u8;
        let fields = geometry.fields() as usize;
        let mut cuts = cuts.iter().cycle();
        for field in 0..fields {
            let rows = (field..2 * half as usize).step_by(fields);
            let data: Vec<u8> = rows.flat_map(|y| (0..line).map(move |x| byte(y, x))).collect();
            prop_assert_eq!(data.len() as u64, geometry.adu_bytes());
            let mut at = 0;
            while at < data.len() {
                let piece = (*cuts.next().unwrap()).min(data.len() - at);
                painter.put(field as u64, at as u64, &data[at..at + piece]).unwrap();
                at += piece;
            }
        }
        let wanted: Vec<u8> =
            (0..2 * half as usize).flat_map(|y| (0..line).map(move |x| byte(y, x))).collect();
        loop {
            let (_, number, found) = next(&mut viewer);
            if number == 1 {
                prop_assert_eq!(found, wanted);
                break;
            }
        }
    }
}
