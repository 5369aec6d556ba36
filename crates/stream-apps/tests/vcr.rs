//! The digital VCR, seen by a viewer of its page.

#![cfg(target_os = "linux")]

use isthmus_framebuffer::{HEAD_BYTES, Pixel};
use isthmus_stream_apps::vcr::{Spec, Vcr};
use std::collections::BTreeMap;
use std::fs;
use std::net::TcpStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tungstenite::{Message, WebSocket, client};

const PATIENCE: Duration = Duration::from_secs(60);
const FRAMES: usize = 5;

fn spec(pixel: Pixel, rate_per_s: f64) -> Spec {
    Spec {
        width: 83,
        height: 46,
        pixel,
        rate_per_s,
        films: Vec::new(),
        address: "127.0.0.1:0".parse().unwrap(),
    }
}

fn viewer(vcr: &Vcr) -> WebSocket<TcpStream> {
    let at = vcr.address();
    let socket = TcpStream::connect(at).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    client(format!("ws://{at}/stream"), socket).unwrap().0
}

/// A folder that goes when it is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("isthmus-{name}-{}", std::process::id()));
        fs::create_dir(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Bytes that no rule of the VCR gives.
fn noise(seed: u64, bytes: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let next = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..bytes).map(next).collect()
}

/// Plays four films, and compares every frame that a viewer sees with them.
fn films_are_shown(pixel: Pixel) {
    let folder = Folder::new(&format!("vcr-{pixel:?}"));
    let mut spec = spec(pixel, 200.0);
    let bytes = (spec.width * spec.height * pixel.bytes()) as usize;
    let films: Vec<Vec<u8>> = (1..5).map(|seed| noise(seed, FRAMES * bytes)).collect();
    for (number, film) in films.iter().enumerate() {
        let path = folder.0.join(format!("{number}.raw"));
        fs::write(&path, film).unwrap();
        spec.films.push(path);
    }
    let vcr = Vcr::start(&spec).unwrap();
    let mut viewer = viewer(&vcr);
    let mut seen: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    while seen.len() < 4 || seen.values().any(|numbers| numbers.len() < 40) {
        let Message::Binary(message) = viewer.read().unwrap() else {
            continue;
        };
        viewer.send(Message::text("+")).unwrap();
        let id = u32::from_le_bytes(message[4..8].try_into().unwrap());
        let number = u64::from_le_bytes(message[8..16].try_into().unwrap());
        let Some(frame) = number.checked_sub(1) else {
            continue;
        };
        let film = &films[id as usize - 1];
        let at = frame as usize % FRAMES * bytes;
        assert!(
            message[HEAD_BYTES..] == film[at..at + bytes],
            "frame {number} of screen {id} is another"
        );
        seen.entry(id).or_default().push(number);
    }
    let figures = vcr.finish().unwrap();
    assert!(figures.frames >= 40, "{figures:?}");
    assert_eq!(figures.in_step, [4 * figures.frames, 0]);
    assert_eq!(figures.bytes, 4 * figures.frames * bytes as u64);
}

#[test]
fn grey_films_are_shown_in_step() {
    films_are_shown(Pixel::Grey);
}

#[test]
fn coloured_films_are_shown_in_step() {
    films_are_shown(Pixel::Color);
}

#[test]
fn it_plays_at_the_rate_that_was_asked_for() {
    let vcr = Vcr::start(&spec(Pixel::Grey, 50.0)).unwrap();
    let until = Instant::now() + PATIENCE;
    while vcr.figures().frames < 25 {
        assert!(Instant::now() < until, "{:?}", vcr.figures());
        std::thread::sleep(Duration::from_millis(5));
    }
    let figures = vcr.finish().unwrap();
    // Never faster: frame n is not played before its time.
    let least = (figures.frames - 1) as f64 / 50.0;
    assert!(figures.ns as f64 / 1e9 >= least, "{figures:?}");
}

#[test]
fn it_can_be_ended_between_slow_frames_and_before_the_first() {
    let vcr = Vcr::start(&spec(Pixel::Grey, 0.01)).unwrap();
    let figures = vcr.finish().unwrap();
    assert!(figures.frames <= 1, "{figures:?}");
    // Dropped, it ends as well.
    drop(Vcr::start(&spec(Pixel::Grey, 100.0)).unwrap());
}

#[test]
fn a_film_that_is_cut_off_is_named() {
    let folder = Folder::new("vcr-cut");
    let path = folder.0.join("film.raw");
    let mut spec = spec(Pixel::Grey, 100.0);
    let bytes = (spec.width * spec.height) as usize;
    fs::write(&path, vec![1; FRAMES * bytes]).unwrap();
    spec.films = vec![path.clone()];
    let vcr = Vcr::start(&spec).unwrap();
    fs::write(&path, vec![1; bytes / 2]).unwrap();
    let until = Instant::now() + PATIENCE;
    while vcr.failure().is_none() {
        assert!(Instant::now() < until, "nobody misses the film");
        std::thread::sleep(Duration::from_millis(5));
    }
    let error = vcr.finish().unwrap_err().to_string();
    assert!(error.starts_with("store-"), "{error}");
    assert!(error.contains("film.raw: at byte"), "{error}");
}

#[test]
fn what_cannot_be_played_is_refused() {
    let refused = |change: fn(&mut Spec), part: &str| {
        let mut spec = spec(Pixel::Grey, 30.0);
        change(&mut spec);
        let error = Vcr::start(&spec).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    };
    refused(|spec| spec.height = 45, "even number, 14 or more");
    refused(|spec| spec.height = 12, "14 or more");
    refused(|spec| spec.width = 0, "each side has 1 to");
    refused(|spec| spec.rate_per_s = 0.0, "0.01 /s to 1000 /s");
    refused(|spec| spec.rate_per_s = f64::NAN, "0.01 /s to 1000 /s");
    refused(
        |spec| spec.address = "0.0.0.0:0".parse().unwrap(),
        "this machine only",
    );
    refused(
        |spec| spec.films = vec!["/none/such.raw".into()],
        "/none/such.raw",
    );
    refused(
        |spec| spec.films = vec!["/tmp".into()],
        "no frames of 3818 bytes",
    );
    assert_eq!(Spec::ranks(), [32, 26, 4]);
}
