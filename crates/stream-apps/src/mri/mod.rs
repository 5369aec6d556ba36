//! Medical imaging (paper, 7.2): 32 ranks have lines of 52 slices each and make triangles of the
//! surface that they show, as many as there happen to be: there is no ADU.
//!
//! Two routes pass through all ranks to two links of the interface, in opposite directions, so that
//! all ranks are as far from it, both ways together. One rank at a time has control over both: it
//! sends what it has, half of each block by either route, and hands control to the next. The others
//! compute for the next image meanwhile. Each block is an ADU of its own size, which is announced.

mod surface;

use crate::error::Error;
use crate::interface::Interface;
use crate::ranks::{Course, PATIENCE, Ranks, give, take};
use crate::shares::{Numbers, Shares};
use crate::sink::{Look, Taker};
use isthmus_stream::wire::Header;
use isthmus_stream::{ConnectionSpec, Direction, Format, LinkId, Protocol, StreamId, StreamSpec};
use isthmus_stream_net::rank::Sender;
use isthmus_stream_net::{Client, Driver};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use surface::{TRIANGLE_BYTES, VOLUME, print, read, triangles};

/// Ranks; as many as have lines of the images.
pub const RANKS: u32 = 32;
/// Routes, and so links.
const ROUTES: u16 = 2;
/// Bytes of a block at most: whole triangles in two SUs.
const BLOCK_BYTES: usize = 1600 * TRIANGLE_BYTES;
const RING_BYTES: u64 = 256 << 10;
const LOOK: Duration = Duration::from_millis(20);
/// Images at most: their numbers are small.
const IMAGES_MOST: u64 = 1000;

/// The results of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Report {
    /// Complete images.
    pub images: u64,
    /// Triangles received and verified.
    pub triangles: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Nanoseconds until the last was confirmed.
    pub ns: u64,
    /// Of these, nanoseconds in which the rank with control was sending.
    pub sending_ns: u64,
    /// Triangles of an image: of the rank with the fewest and of that with the most.
    pub of_rank: [u64; 2],
    /// Shares of the time of ranks: computing, waiting for control, sending.
    pub ranks: [f64; 3],
}

/// Control over both routes, which passes from rank to rank.
struct Control {
    routes: Vec<Sender>,
    /// The next ADU.
    adu: u64,
}

#[derive(Debug, Default)]
struct Shared {
    images: Numbers,
    shares: Shares<3>,
    sums: Mutex<Sums>,
    /// The routes and the number of ADUs after the last image.
    through: Mutex<Option<(Vec<Sender>, u64)>>,
}

#[derive(Debug, Default)]
struct Sums {
    triangles: u64,
    print: u64,
    sending_ns: u64,
    of_rank: Option<[u64; 2]>,
}

/// The received triangles.
#[derive(Debug, Default)]
struct Came {
    triangles: u64,
    print: u64,
    images: u64,
    /// Rank and number of the triangle before.
    last: Option<(u8, u32)>,
}

impl Look for Came {
    fn look(&mut self, header: &Header, data: &[u8]) -> Result<(), String> {
        let adu = header.adu;
        let (all, rest) = data.as_chunks::<TRIANGLE_BYTES>();
        if !rest.is_empty() {
            let bytes = data.len();
            return Err(format!("ADU {adu}: {bytes} bytes are no whole triangles"));
        }
        for bytes in all {
            let (points, rank, number) = read(bytes);
            let [next, first] = match self.last {
                // One after the other of a rank, and then those of a later one, from its first on.
                Some((before, at)) => [rank == before && number == at + 1, rank > before],
                None => [false, true],
            };
            let again = self.last.is_some_and(|(before, _)| rank < before);
            if !next && (number != 0 || !(first || again)) {
                return Err(format!(
                    "ADU {adu}: triangle {number} of rank {rank} after {:?}",
                    self.last
                ));
            }
            self.images += u64::from(again || self.last.is_none());
            let lines = lines(rank.into());
            for point in points.chunks(3) {
                let within = (lines.start as f32..=lines.end as f32).contains(&point[1]);
                if !within || u32::from(rank) >= RANKS {
                    return Err(format!(
                        "ADU {adu}: a point of rank {rank} at line {}, of lines {lines:?}",
                        point[1]
                    ));
                }
            }
            self.print = self.print.wrapping_add(print(bytes));
            self.last = Some((rank, number));
        }
        self.triangles += all.len() as u64;
        Ok(())
    }
}

/// The lines of a rank.
fn lines(rank: u32) -> std::ops::Range<u32> {
    let each = VOLUME[1] / RANKS;
    rank * each..(rank + 1) * each
}

/// Send the triangles of `images` images, unless `over` returns true before.
///
/// # Errors
/// No images; a rank or the stream failed; triangles arrived changed.
pub fn run(images: u64, over: &dyn Fn() -> bool) -> Result<Report, Error> {
    if !(1..=IMAGES_MOST).contains(&images) {
        return Err(Error::Spec(format!(
            "{images} images: give 1 to {IMAGES_MOST}"
        )));
    }
    let config = Driver::config();
    let (sink, to_sink) = Taker::start(config.network_bytes, Came::default())?;
    let interface = Interface::new(config, |driver| driver.provide_socket("sink", to_sink))?;
    let stream = submit(&interface)?;
    let shared = Arc::new(Shared::default());
    let mut ranks = Ranks::default();
    let begin = Instant::now();
    start(&mut ranks, &interface, stream, images, &shared)?;
    let through = || {
        shared
            .through
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    };
    let mut stopped = false;
    while through().is_none() && ranks.failure().is_none() {
        if over() && !std::mem::replace(&mut stopped, true) {
            shared.images.stop();
        }
        std::thread::sleep(LOOK);
    }
    let adus = through().as_ref().map_or(0, |(_, adus)| *adus);
    let ended = interface
        .with(move |driver| driver.finish(stream, adus))
        .and_then(|()| {
            let failed = || ranks.failure().is_some();
            interface.wait(&[stream], PATIENCE, failed)
        });
    let ns = u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX);
    let failed = ranks.failure();
    interface.stop()?;
    let joined = ranks.join();
    if let Some(why) = failed {
        return Err(Error::Ended(why));
    }
    let seen = sink.join();
    ended.and(joined)?;
    let (seen, counts) = seen?;
    let sums = shared.sums.lock().unwrap_or_else(PoisonError::into_inner);
    if (seen.triangles, seen.print) != (sums.triangles, sums.print) {
        let (came, sent) = (seen.triangles, sums.triangles);
        return Err(Error::Wrong(format!(
            "{came} triangles came of {sent}, or others"
        )));
    }
    Ok(Report {
        images: seen.images,
        triangles: seen.triangles,
        bytes: counts.bytes,
        ns,
        sending_ns: sums.sending_ns,
        of_rank: sums.of_rank.unwrap_or_default(),
        ranks: shared.shares.parts(),
    })
}

fn format() -> Format {
    let links: Vec<LinkId> = (0..ROUTES).map(LinkId).collect();
    Format {
        granule_bytes: TRIANGLE_BYTES as u64,
        ..Format::variable(BLOCK_BYTES as u64, &links)
    }
}

fn submit(interface: &Interface) -> Result<StreamId, Error> {
    let app = interface.app;
    let spec = ConnectionSpec::new("raw:given:sink", Protocol::Stream, 0);
    let connection = interface.with(move |driver| driver.open(app, spec))?;
    let spec = StreamSpec {
        adus: None,
        ..StreamSpec::new(connection, Direction::Transmit, format(), 0)
    };
    Ok(interface.submit(vec![spec])?[0])
}

/// Start all ranks, and give control to the first.
fn start(
    ranks: &mut Ranks,
    interface: &Interface,
    stream: StreamId,
    images: u64,
    shared: &Arc<Shared>,
) -> Result<(), Error> {
    let routes = (0..ROUTES).map(|link| interface.link(LinkId(link), RING_BYTES));
    let control = Control {
        routes: routes.collect::<Result<_, _>>()?,
        adu: 0,
    };
    let (first, mut from) = sync_channel(1);
    let ring = first.clone();
    for rank in 0..RANKS {
        let (to, next) = sync_channel(1);
        let to = if rank + 1 == RANKS { ring.clone() } else { to };
        let rank = Rank {
            rank,
            images,
            stream,
            client: interface.client(),
            shared: Arc::clone(shared),
            from: std::mem::replace(&mut from, next),
            to,
        };
        ranks.start(format!("rank-{}", rank.rank), move || rank.run())?;
    }
    drop(ring);
    // If no rank takes it, all of them have failed.
    let _ = first.send(control);
    Ok(())
}

struct Rank {
    rank: u32,
    images: u64,
    stream: StreamId,
    client: Client,
    shared: Arc<Shared>,
    from: Receiver<Control>,
    to: SyncSender<Control>,
}

impl Rank {
    fn run(self) -> Course {
        let shared = &self.shared;
        for image in 0..self.images {
            let make = || triangles(image, self.rank as u8, lines(self.rank));
            let made = shared.shares.time(0, make);
            let whom = "the rank before";
            let Some(mut control) = shared.shares.time(1, || take(&self.from, whom))? else {
                return Ok(());
            };
            // The first rank decides for all whether there is a further image.
            if self.rank == 0 && !shared.images.begin(image) {
                self.end(control);
                return Ok(());
            }
            let begin = Instant::now();
            shared
                .shares
                .time(2, || self.forward(&mut control, &made))?;
            self.count(&made, begin);
            if self.rank + 1 == RANKS && image + 1 == self.images {
                self.end(control);
                return Ok(());
            }
            give(&self.to, control)?;
        }
        Ok(())
    }

    /// End the run. The other ranks detect it by their closed channels.
    fn end(&self, control: Control) {
        let through = self.shared.through.lock();
        let mut through = through.unwrap_or_else(PoisonError::into_inner);
        *through = Some((control.routes, control.adu));
    }

    /// Send the triangles of this rank, block by block, half by each route.
    fn forward(&self, control: &mut Control, made: &[u8]) -> Course {
        let format = format();
        for block in made.chunks(BLOCK_BYTES) {
            let (stream, bytes, adu) = (self.stream, block.len() as u64, control.adu);
            self.client
                .call(move |driver| driver.announce(stream, bytes))??;
            let until = Instant::now() + PATIENCE;
            for route in &mut control.routes {
                route.send_adu(stream, &format, (adu, block), (0, 0), until)?;
            }
            control.adu += 1;
        }
        Ok(())
    }

    fn count(&self, made: &[u8], begin: Instant) {
        let ns = u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let (all, _) = made.as_chunks::<TRIANGLE_BYTES>();
        let prints = all.iter().map(|one| print(one));
        let sum = prints.fold(0, u64::wrapping_add);
        let count = all.len() as u64;
        let sums = self.shared.sums.lock();
        let mut sums = sums.unwrap_or_else(PoisonError::into_inner);
        sums.triangles += count;
        sums.print = sums.print.wrapping_add(sum);
        sums.sending_ns += ns;
        let [least, most] = sums.of_rank.unwrap_or([count; 2]);
        sums.of_rank = Some([least.min(count), most.max(count)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn triangles_out_of_order_or_place_are_found() {
        let good = triangles(0, 12, lines(12));
        let header = Header::new(isthmus_stream::wire::Kind::Data, 0);
        let look = |data: &[u8]| Came::default().look(&header, data);
        assert_eq!(look(&good[..4000]), Ok(()));
        assert!(look(&good[..4001]).unwrap_err().contains("no whole"));
        // Not from the first on; another's line; one left out.
        assert!(
            look(&good[40..400])
                .unwrap_err()
                .contains("triangle 1 of rank 12")
        );
        let mut other = good[..400].to_vec();
        other[39] = 13;
        assert!(look(&other).unwrap_err().contains("of lines 104..112"));
        let mut gap = good[..400].to_vec();
        gap.drain(40..80);
        assert!(look(&gap).unwrap_err().contains("triangle 2"));
    }
}
