//! The digital VCR (paper, 7.3). 32 ranks store the images of four cameras as fields, 26 others
//! rebuild frames, and 4 forward them to the interface. The interface shows them on four screens in
//! step.
//!
//! A storage rank reads its lines of a field of one camera at the rate of frames. Each rebuilder of
//! a camera has a band of its frames. The messages between them are a redistribution, from the
//! lines of two fields to whole lines in order. A forwarder combines the bands and sends frames
//! over its link. The manager moves the four streams in lock step: no stream starts a frame before
//! all streams have shown the previous one.

mod picture;
mod work;

use crate::error::Error;
use crate::interface::Interface;
use crate::ranks::Ranks;
use isthmus_framebuffer::{Geometry, Page, Pixel, Screens};
use isthmus_stream::{
    ConnectionSpec, Direction, Format, LinkId, Other, Protocol, StreamId, StreamSpec,
};
use isthmus_stream_net::Driver;
use picture::Picture;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
pub(crate) use work::Clock;

/// Number of cameras, and of images, forwarders, links and screens.
pub const CAMERAS: u32 = 4;
/// Numbers whose product is the number of storage ranks of a camera: the parts into which each field is split, and the
/// fields (every second line) of a frame.
pub const STORES: [u32; 2] = [4, 2];
/// Number of rebuilders of each camera: 26 in total.
pub const REBUILDERS: [u32; CAMERAS as usize] = [7, 7, 6, 6];
/// Maximum number of bytes of a transfer unit. The last transfer unit of a frame is shorter.
const TU_BYTES: u64 = 64 << 10;
/// Size in bytes of a link: a ring buffer in shared memory between a rank and the interface.
const RING_BYTES: u64 = 1 << 20;
/// Time within which the streams must end after the VCR has been stopped.
const PATIENCE: Duration = Duration::from_secs(60);

/// The parameters of the digital VCR.
#[derive(Clone, PartialEq, Debug)]
pub struct Spec {
    /// Number of pixels in a line; 496 in the paper.
    pub width: u32,
    /// Number of lines; 486 in the paper.
    pub height: u32,
    /// Format of a pixel: grey, or four bytes of colour.
    pub pixel: Pixel,
    /// Frames per second.
    pub rate_per_s: f64,
    /// Files of frames, assigned to the cameras in turn. Without files, the cameras see a pattern.
    pub films: Vec<PathBuf>,
    /// The network address of the web page that shows the screens.
    pub address: SocketAddr,
}

impl Spec {
    /// Check the parameters and return the format of the frames.
    fn geometry(&self) -> Result<Geometry, Error> {
        let geometry = Geometry {
            width: self.width,
            height: self.height,
            pixel: self.pixel,
            interlaced: false,
        };
        geometry.check()?;
        let least = 2 * REBUILDERS[0];
        if self.height % 2 == 1 || self.height < least {
            let height = self.height;
            return Err(Error::Spec(format!(
                "{height} lines: two fields over {} ranks take an even number, {least} or more",
                least / 2
            )));
        }
        if self.films.len() > CAMERAS as usize {
            return Err(Error::Spec(format!(
                "{} films for {CAMERAS} cameras: give {CAMERAS} or fewer",
                self.films.len()
            )));
        }
        if !self.rate_per_s.is_finite() || !(0.01..=1000.0).contains(&self.rate_per_s) {
            return Err(Error::Spec(format!(
                "rate: {} frames/s: give 0.01 /s to 1000 /s",
                self.rate_per_s
            )));
        }
        Ok(geometry)
    }

    /// Return the number of ranks of each kind: storage ranks, rebuilders, forwarders.
    #[must_use]
    pub fn ranks() -> [u32; 3] {
        let stores = CAMERAS * STORES[0] * STORES[1];
        [stores, REBUILDERS.iter().sum(), CAMERAS]
    }
}

/// The counters that show the progress of the digital VCR: frames, bytes, viewers.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Figures {
    /// Number of frames that all screens have shown.
    pub frames: u64,
    /// Nanoseconds from the time of the first frame until now; after the end, until the last frame.
    pub ns: u64,
    /// Number of frames, of all cameras, that the manager started after all other cameras had shown
    /// the previous frame, and number of frames that it started earlier.
    pub in_step: [u64; 2],
    /// Number of bytes of the frames shown.
    pub bytes: u64,
    /// Number of viewers of the web page that shows the screens.
    pub viewers: usize,
    /// Number of frames that viewers missed because they had not confirmed earlier frames.
    pub missed: u64,
    /// The conditions for which streams waited at their last stalls.
    pub waits: Vec<String>,
}

/// A running digital VCR: its ranks, its manager and its screens.
#[derive(Debug)]
pub struct Vcr {
    interface: Interface,
    ranks: Ranks,
    clock: Arc<Clock>,
    screens: Screens,
    page: Page,
    geometry: Geometry,
    streams: Vec<StreamId>,
    /// Links over which everything has been sent.
    finished_links: work::Sending,
}

impl Vcr {
    /// Start to play the images of all cameras.
    ///
    /// # Errors
    /// The parameters are impossible, a file is unreadable, or the address is not one of this
    /// computer.
    pub fn start(spec: &Spec) -> Result<Self, Error> {
        let geometry = spec.geometry()?;
        let films = spec.films.iter();
        let films: Vec<Picture> = films
            .map(|path| Picture::film(path, &geometry))
            .collect::<Result<_, _>>()?;
        let screens = Screens::new();
        let names: Vec<String> = (1..=CAMERAS).map(|one| format!("camera-{one}")).collect();
        for name in &names {
            screens.set(name, geometry)?;
        }
        let page = Page::serve(screens.clone(), spec.address)?;
        let shown = Box::new(screens.clone());
        let interface = Interface::new(Driver::config(), |driver| driver.set_screens(shown))?;
        let streams = submit(&interface, &geometry, &names)?;
        let clock = Arc::new(Clock::new(spec.rate_per_s));
        let mut vcr = Self {
            interface,
            ranks: Ranks::default(),
            clock,
            screens,
            page,
            geometry,
            streams,
            finished_links: work::Sending::default(),
        };
        for camera in 0..CAMERAS {
            let mut of = films.iter().cycle().skip(camera as usize);
            let picture = of.next().cloned().unwrap_or(Picture::Pattern);
            vcr.camera(camera, picture)?;
        }
        Ok(vcr)
    }

    /// Start the storage ranks, rebuilders and forwarder of a camera.
    fn camera(&mut self, camera: u32, picture: Picture) -> Result<(), Error> {
        let link = LinkId(camera as u16);
        let sender = self.interface.link(link, RING_BYTES)?;
        let stream = self.streams[camera as usize];
        let to = work::Forwarding {
            sender,
            stream,
            format: format(&self.geometry, link),
            finished_links: Arc::clone(&self.finished_links),
        };
        let clock = Arc::clone(&self.clock);
        work::camera(
            &mut self.ranks,
            &self.geometry,
            (camera, picture),
            clock,
            to,
        )
    }

    /// Return the network address of the web page that shows the screens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.page.address()
    }

    /// Return the error with which the VCR ended early, if it did.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        let ends = self.interface.progress(&self.streams);
        let ended = ends.iter().find_map(|one| one.end.as_ref());
        let ended = ended.map(|end| format!("a stream has ended: {end:?}"));
        self.ranks.failure().or(ended)
    }

    /// Return the numbers of frames that the screens have shown so far, and of those that were late or dropped.
    #[must_use]
    pub fn figures(&self) -> Figures {
        let progress = self.interface.progress(&self.streams);
        let shown = self.screens.figures();
        let in_step = [0, 1].map(|at| progress.iter().map(|one| one.in_step[at]).sum());
        let done = || progress.iter().map(|one| one.done);
        Figures {
            frames: done().min().unwrap_or(0),
            ns: self.clock.ns(),
            in_step,
            bytes: done().sum::<u64>() * self.geometry.frame_bytes(),
            viewers: shown.viewers,
            missed: shown.missed,
            waits: progress.iter().flat_map(|one| one.waits.clone()).collect(),
        }
    }

    /// Stop the VCR after the frames that have started. Return its final progress.
    ///
    /// # Errors
    /// The reason why the VCR ended early: a rank or a stream failed, or the end took too long.
    pub fn finish(mut self) -> Result<Figures, Error> {
        let frames = self.clock.stop();
        let ended = if frames == 0 {
            Ok(())
        } else {
            let streams = self.streams.clone();
            let progress = self.interface.with(move |driver| {
                let mut each = streams.iter();
                each.try_for_each(|stream| driver.finish(*stream, frames))
            });
            progress.and_then(|()| {
                let failed = || self.ranks.failure().is_some();
                self.interface.wait(&self.streams, PATIENCE, failed)
            })
        };
        let figures = self.figures();
        // The error of a rank is more specific than that of its stream.
        let failed = self.ranks.failure();
        // Stop the interface; ranks that wait for it detect that it has ended.
        self.interface.stop()?;
        let joined = self.ranks.join();
        if let Some(why) = failed {
            return Err(Error::Ended(why));
        }
        ended.and(joined).map(|()| figures)
    }
}

/// Return the format of the stream of a camera, in which a frame is an application data unit.
fn format(geometry: &Geometry, link: LinkId) -> Format {
    let bytes = geometry.frame_bytes();
    Format::fixed(bytes, TU_BYTES.min(bytes), &[link])
}

/// Register the streams of all screens, which run in lock step and have no fixed number of frames.
/// Return their numbers.
fn submit(
    interface: &Interface,
    geometry: &Geometry,
    names: &[String],
) -> Result<Vec<StreamId>, Error> {
    let mut specs = Vec::new();
    for (camera, name) in (0..).zip(names) {
        let to = format!("framebuffer:{name}");
        let spec = ConnectionSpec::new(&to, Protocol::Unconfirmed { reorder: 0 }, 0);
        let app = interface.app;
        let connection = interface.with(move |driver| driver.open(app, spec))?;
        let format = format(geometry, LinkId(camera));
        let spec = StreamSpec::new(connection, Direction::Transmit, format, 0);
        let first = (camera > 0).then_some(Other::Here(0));
        specs.push(StreamSpec {
            adus: None,
            in_step_with: first.into_iter().collect(),
            ..spec
        });
    }
    interface.submit(specs)
}

/// Return the time from the first frame to frame number `frame`.
pub(crate) fn frame_time(rate_per_s: f64, frame: u64) -> Duration {
    Duration::from_secs_f64(frame as f64 / rate_per_s)
}

/// Return the time from now until frame number `frame`; 0 if that has passed.
pub(crate) fn until(begin: Instant, rate_per_s: f64, frame: u64) -> Duration {
    let at = begin + frame_time(rate_per_s, frame);
    at.saturating_duration_since(Instant::now())
}
