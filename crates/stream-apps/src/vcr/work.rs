//! The storage ranks, rebuilders and forwarders of the VCR.

use super::picture::Picture;
use super::{REBUILDERS, STORES, until};
use crate::error::Error;
use crate::ranks::{Ended, IN_CHANNEL, PATIENCE, RankResult, Ranks, send, take};
use isthmus_framebuffer::Geometry;
use isthmus_redistribute::transfer::{Array, ArrayMut, Order, Packing, Source, strides};
use isthmus_redistribute::{Dim, Grid, Layout, Plan, Section};
use isthmus_stream::{Format, StreamId};
use isthmus_stream_net::rank::Sender;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// The common clock of all storage ranks, and the last frame that they read.
#[derive(Debug)]
pub(crate) struct Clock {
    rate_per_s: f64,
    begin: Instant,
    frames: Mutex<Frames>,
    stopped: Condvar,
}

/// Number of frames that have started and, after the stop, number of frames in total and time of
/// the stop.
#[derive(Debug, Default)]
struct Frames {
    started: u64,
    end: Option<(u64, Instant)>,
}

impl Clock {
    /// Create a clock for this number of frames per second.
    pub fn new(rate_per_s: f64) -> Self {
        Self {
            rate_per_s,
            begin: Instant::now(),
            frames: Mutex::default(),
            stopped: Condvar::new(),
        }
    }

    /// Lock the counts of frames and return them.
    fn frames(&self) -> MutexGuard<'_, Frames> {
        self.frames.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wait for the time of a frame. Return false if the VCR stops before that frame.
    fn begin(&self, frame: u64) -> bool {
        let mut frames = self.frames();
        loop {
            if frames.end.is_some_and(|(end, _)| frame >= end) {
                return false;
            }
            let left = until(self.begin, self.rate_per_s, frame);
            if left.is_zero() {
                break;
            }
            let waited = self.stopped.wait_timeout(frames, left);
            frames = waited.map_or_else(|error| error.into_inner().0, |(it, _)| it);
        }
        frames.started = frames.started.max(frame + 1);
        true
    }

    /// Stop the clock after the frames that a storage rank has started. Return the number of these
    /// frames.
    pub fn stop(&self) -> u64 {
        let mut frames = self.frames();
        let started = frames.started;
        self.stopped.notify_all();
        frames.end.get_or_insert((started, Instant::now())).0
    }

    /// Return the nanoseconds from the time of the first frame until now, or until the clock was
    /// stopped.
    pub fn ns(&self) -> u64 {
        let end = self.frames().end.map_or_else(Instant::now, |(_, at)| at);
        let since = end.saturating_duration_since(self.begin).as_nanos();
        u64::try_from(since).unwrap_or(u64::MAX)
    }
}

/// The output of a forwarder rank: its link to the interface and its stream.
pub(crate) struct Forwarding {
    pub sender: Sender,
    pub stream: StreamId,
    pub format: Format,
    /// List of links that the forwarder adds its link to when everything is sent. The link stays
    /// open until its stream has ended; otherwise the interface would treat this rank as lost.
    pub finished_links: Sending,
}

/// Links over which all data have been sent. The list keeps them open until their streams have
/// ended.
pub(crate) type Sending = Arc<Mutex<Vec<Sender>>>;

/// Redistribution from the lines of two fields, each divided into parts, to bands of whole frames.
/// The dimensions of the array are pairs of lines, field, and pixels.
struct Shuffle {
    plan: Plan,
    packing: Packing,
}

impl Shuffle {
    /// Create the redistribution for frames of this geometry and this number of rebuilders.
    fn new(geometry: &Geometry, rebuilders: u32) -> Result<Self, Error> {
        let shape = [u64::from(geometry.height) / 2, 2, u64::from(geometry.width)];
        let layout = |grid| {
            let layout = Layout::grid(&shape, grid);
            layout
                .map(Arc::new)
                .map_err(|error| Error::Spec(error.to_string()))
        };
        let stored = Grid::new(&STORES, &[Dim::block(0), Dim::block(1), Dim(None)]);
        let rebuilt = Grid::new(&[rebuilders], &[Dim::block(0), Dim(None), Dim(None)]);
        let plan = Plan::new(layout(stored)?, layout(rebuilt)?);
        let element = u64::from(geometry.pixel.bytes());
        Ok(Self {
            plan: plan.map_err(|error| Error::Spec(error.to_string()))?,
            packing: Packing {
                element,
                order: Order::C,
            },
        })
    }

    /// Return the pairs of lines that rank number `place` of a layout has: the first pair, and the
    /// number of pairs.
    fn pairs(layout: &Layout, place: u32) -> (u32, u32) {
        let parts = layout.parts(place);
        let (first, ..) = parts[0][0].runs();
        (first as u32, parts[0][0].size() as u32)
    }
}

/// Start all ranks of a camera: its storage ranks, its rebuilders and its forwarder.
pub(crate) fn camera(
    ranks: &mut Ranks,
    geometry: &Geometry,
    (camera, picture): (u32, Picture),
    clock: Arc<Clock>,
    to: Forwarding,
) -> Result<(), Error> {
    let rebuilders = REBUILDERS[camera as usize];
    let shuffle = Shuffle::new(geometry, rebuilders)?;
    let stores = STORES[0] * STORES[1];
    let mut outs: Vec<Vec<Out>> = (0..stores).map(|_| Vec::new()).collect();
    let (mut bands, mut sources) = (Vec::new(), Vec::new());
    for rebuilder in 0..rebuilders {
        let mut from = Vec::new();
        for message in shuffle.plan.receives(rebuilder) {
            let (out, into) = sync_channel(IN_CHANNEL);
            let sections = shuffle.plan.sections(message.peer, rebuilder);
            outs[message.peer as usize].push(Out {
                bytes: shuffle.packing.size(&sections) as usize,
                sections: sections.clone(),
                to: out,
            });
            from.push((message.peer, sections, into));
        }
        sources.push(from);
    }
    for (place, out) in (0..).zip(outs) {
        let store = Store {
            geometry: *geometry,
            camera,
            picture: picture.clone(),
            pairs: Shuffle::pairs(shuffle.plan.from(), place),
            field: place % STORES[1],
            packing: shuffle.packing,
            out,
        };
        let clock = Arc::clone(&clock);
        let name = format!("store-{camera}-{place}");
        ranks.start(name, move || store.run(&clock))?;
    }
    for (place, from) in (0..).zip(sources) {
        let (band, into) = sync_channel(IN_CHANNEL);
        bands.push(into);
        let (plan, packing) = (shuffle.plan.clone(), shuffle.packing);
        let size = (plan.to().element_count(place) * packing.element) as usize;
        ranks.start(format!("rebuild-{camera}-{place}"), move || {
            rebuild(&plan, packing, (place, size), &from, &band)
        })?;
    }
    let bytes = geometry.frame_bytes() as usize;
    ranks.start(format!("forward-{camera}"), move || {
        forward(to, bytes, &bands)
    })
}

/// The part of a video frame that a storage rank sends to one rebuilder, a rank that combines such
/// parts.
struct Out {
    sections: Vec<Section>,
    bytes: usize,
    /// The channel over which the rebuilder receives the part.
    to: SyncSender<Vec<u8>>,
}

/// Connection of a rebuilder to one storage rank: the number of the storage rank, the part of the
/// frame that it sends, and the channel of the messages.
type In = (u32, Vec<Section>, Receiver<Vec<u8>>);

/// A storage rank: its part of one field of the video frames, and the rebuilders (ranks that
/// combine the parts) to which it sends.
struct Store {
    geometry: Geometry,
    camera: u32,
    picture: Picture,
    /// The first pair of lines of the rank, and the number of pairs.
    pairs: (u32, u32),
    field: u32,
    packing: Packing,
    /// The part of each frame for each rebuilder.
    out: Vec<Out>,
}

impl Store {
    /// Read the fields of each frame and send their parts to the rebuilders until the clock stops.
    fn run(self, clock: &Clock) -> RankResult {
        let (first, count) = self.pairs;
        let shape = [count.into(), 1, self.geometry.width.into()];
        let steps = strides(&shape, self.packing.element, Order::C);
        let mut lines = vec![0; count as usize * self.geometry.line_bytes() as usize];
        for frame in 0.. {
            if !clock.begin(frame) {
                break;
            }
            let line = 2 * first + self.field;
            let of = (self.camera, frame);
            self.picture.field(&self.geometry, of, line, &mut lines)?;
            let part = [Array {
                bytes: &lines,
                strides: steps.clone(),
            }];
            for out in &self.out {
                let mut message = vec![0; out.bytes];
                let packed = self.packing.pack(&out.sections, &part, &mut message);
                packed.map_err(|error| Error::Ended(error.to_string()))?;
                send(&out.to, message)?;
            }
        }
        Ok(())
    }
}

/// Assemble this rank's band of lines of each frame from the sections that the storage ranks send.
fn rebuild(
    plan: &Plan,
    packing: Packing,
    (place, bytes): (u32, usize),
    from: &[In],
    to: &SyncSender<Vec<u8>>,
) -> RankResult {
    let held = plan.to().parts(place);
    let shape: Vec<u64> = held[0]
        .iter()
        .map(isthmus_redistribute::Comb::size)
        .collect();
    loop {
        let mut messages = Vec::new();
        for (peer, sections, channel) in from {
            let Some(message) = take(channel, format_args!("store {peer}"))? else {
                // The storage rank has ended, after the last frame or after a failure that it
                // reports itself. So this rank ends, too.
                return Ok(());
            };
            messages.push((sections.as_slice(), message));
        }
        let sources: Vec<_> = messages
            .iter()
            .map(|(sections, message)| (*sections, Source::Message(message)))
            .collect();
        let mut band = vec![0; bytes];
        let mut parts = [ArrayMut {
            bytes: &mut band,
            strides: strides(&shape, packing.element, Order::C),
        }];
        let woven = packing.unpack(&held, &sources, &mut parts);
        woven.map_err(|error| Error::Ended(error.to_string()))?;
        send(to, band)?;
    }
}

/// Combine the bands of lines of each frame, and send the frame to the network interface.
fn forward(mut to: Forwarding, bytes: usize, bands: &[Receiver<Vec<u8>>]) -> RankResult {
    let mut frame = Vec::with_capacity(bytes);
    let mut before = 0;
    for adu in 0.. {
        frame.clear();
        for (place, band) in bands.iter().enumerate() {
            match take(band, format_args!("rebuilder {place}"))? {
                Some(band) => frame.extend_from_slice(&band),
                None => {
                    let mut finished_links = to
                        .finished_links
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner);
                    finished_links.push(to.sender);
                    return Ok(());
                }
            }
        }
        let until = Instant::now() + PATIENCE;
        let (stream, format) = (to.stream, &to.format);
        let sent = to
            .sender
            .send_adu(stream, format, (adu, &frame), (before, 0), until);
        before = sent.map_err(|error| Ended::Failed(error.into()))?;
    }
    Ok(())
}
