//! Medical imaging (paper, 7.2). Each of 32 ranks has some lines of 52 slices and computes the
//! triangles of the surface in them. The number of triangles is not known in advance, so
//! application data units (ADUs) have no fixed size.
//!
//! Two routes lead through all ranks to two links of the interface, in opposite directions, so that
//! the sum of both distances is the same for all ranks. One rank at a time has control over both
//! routes. It sends its triangles, half of each block by either route, and passes control to the
//! next rank. Meanwhile the other ranks compute the next image. Each block is an ADU of its own
//! size, which the rank announces to the manager.

mod surface;

use crate::error::Error;
use crate::interface::Interface;
use crate::ranks::{PATIENCE, RankResult, Ranks, send, take};
use crate::shares::{Numbers, Shares};
use crate::sink::{Taker, Verifier};
use isthmus_stream::wire::Header;
use isthmus_stream::{ConnectionSpec, Direction, Format, LinkId, Protocol, StreamId, StreamSpec};
use isthmus_stream_net::rank::Sender;
use isthmus_stream_net::{Client, Driver};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use surface::{TRIANGLE_BYTES, VOLUME, fingerprint, read, triangles};

/// Number of ranks. The lines of the images are divided among them.
pub const RANKS: u32 = 32;
/// Number of routes through the ranks, each with one link to the interface.
const ROUTES: u16 = 2;
/// Maximum number of bytes of a block, which consists of two striping units of whole triangles.
const BLOCK_BYTES: usize = 1600 * TRIANGLE_BYTES;
/// Size in bytes of a link: a ring buffer in shared memory between a rank and the interface.
const RING_BYTES: u64 = 256 << 10;
/// Interval between checks whether the run has been cancelled.
const LOOK: Duration = Duration::from_millis(20);
/// Maximum number of images of a run.
const IMAGES_MOST: u64 = 1000;

/// The results of a run of the medical imaging.
#[derive(Clone, PartialEq, Debug)]
pub struct Report {
    /// Number of images that were sent completely.
    pub images: u64,
    /// Number of triangles received and verified.
    pub triangles: u64,
    /// Number of bytes of the triangles received and verified.
    pub bytes: u64,
    /// Nanoseconds from the start until the confirmation of the last triangle.
    pub ns: u64,
    /// Nanoseconds of the run in which the rank with control was sending.
    pub sending_ns: u64,
    /// Smallest and largest number of triangles, among all ranks, that a rank makes of one image.
    pub of_rank: [u64; 2],
    /// Fractions of the time of ranks: computing, waiting for control, sending.
    pub ranks: [f64; 3],
}

/// Control over both routes: the permission to send, which passes from rank to rank like a token.
struct Control {
    routes: Vec<Sender>,
    /// The number of the next application data unit.
    adu: u64,
}

/// State that the threads of all ranks share.
#[derive(Debug, Default)]
struct Shared {
    images: Numbers,
    shares: Shares<3>,
    sums: Mutex<Sums>,
    /// The senders of both routes, and the number of application data units sent over them. `None`
    /// until the last image has been sent. The routes stay open until the stream has ended.
    finished_senders: Mutex<Option<(Vec<Sender>, u64)>>,
}

/// Totals of all ranks for the triangles that they have sent.
#[derive(Debug, Default)]
struct Sums {
    triangles: u64,
    /// Fingerprint of all triangles: the sum of their hashes.
    print: u64,
    sending_ns: u64,
    of_rank: Option<[u64; 2]>,
}

/// Counts and checksum of the received triangles.
#[derive(Debug, Default)]
struct ReceivedTriangles {
    triangles: u64,
    /// Fingerprint of the received triangles: the sum of their hashes.
    print: u64,
    images: u64,
    /// Rank and number of the previous triangle.
    last: Option<(u8, u32)>,
}

impl Verifier for ReceivedTriangles {
    /// Verify that the triangles of a packet are in order and within the lines of their ranks.
    fn verify(&mut self, header: &Header, data: &[u8]) -> Result<(), String> {
        let adu = header.adu;
        let (all, rest) = data.as_chunks::<TRIANGLE_BYTES>();
        if !rest.is_empty() {
            let bytes = data.len();
            return Err(format!("ADU {adu}: {bytes} bytes are no whole triangles"));
        }
        for bytes in all {
            let (points, rank, number) = read(bytes);
            let [next, first] = match self.last {
                // The triangles of a rank come one after another; those of a later rank follow,
                // from number 0 on.
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
            self.print = self.print.wrapping_add(fingerprint(bytes));
            self.last = Some((rank, number));
        }
        self.triangles += all.len() as u64;
        Ok(())
    }
}

/// Return the lines of an image for which a rank computes triangles.
fn lines(rank: u32) -> std::ops::Range<u32> {
    let each = VOLUME[1] / RANKS;
    rank * each..(rank + 1) * each
}

/// Send the triangles of `images` images, or fewer if `over` returns true before the end.
///
/// # Errors
/// No images are requested; a rank or the stream failed; triangles arrived changed.
pub fn run(images: u64, over: &dyn Fn() -> bool) -> Result<Report, Error> {
    if !(1..=IMAGES_MOST).contains(&images) {
        return Err(Error::Spec(format!(
            "{images} images: give 1 to {IMAGES_MOST}"
        )));
    }
    let config = Driver::config();
    let (sink, to_sink) = Taker::start(config.network_bytes, ReceivedTriangles::default())?;
    let interface = Interface::new(config, |driver| driver.provide_socket("sink", to_sink))?;
    let stream = submit(&interface)?;
    let shared = Arc::new(Shared::default());
    let mut ranks = Ranks::default();
    let begin = Instant::now();
    start(&mut ranks, &interface, stream, images, &shared)?;
    let finished_senders = || {
        shared
            .finished_senders
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    };
    let mut stopped = false;
    while finished_senders().is_none() && ranks.failure().is_none() {
        if over() && !std::mem::replace(&mut stopped, true) {
            shared.images.stop();
        }
        std::thread::sleep(LOOK);
    }
    let adus = finished_senders().as_ref().map_or(0, |(_, adus)| *adus);
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

/// Return the format of the stream: application data units of any size up to a block, divided over
/// the routes.
fn format() -> Format {
    let links: Vec<LinkId> = (0..ROUTES).map(LinkId).collect();
    Format {
        granule_bytes: TRIANGLE_BYTES as u64,
        ..Format::variable(BLOCK_BYTES as u64, &links)
    }
}

/// Open the connection to the receiver of the triangles (the sink), and register the stream on it.
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

/// Start all ranks, and pass control to the first.
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
    // The send fails only if all ranks have failed; then they report the errors.
    let _ = first.send(control);
    Ok(())
}

/// A rank: its lines, and its connections to the manager and to the neighbouring ranks.
struct Rank {
    rank: u32,
    /// Number of images of the run.
    images: u64,
    stream: StreamId,
    client: Client,
    shared: Arc<Shared>,
    /// Channel over which the previous rank passes control.
    from: Receiver<Control>,
    /// Channel over which control is passed to the next rank.
    to: SyncSender<Control>,
}

impl Rank {
    /// Compute the images and send them when this rank has control.
    fn run(self) -> RankResult {
        let shared = &self.shared;
        for image in 0..self.images {
            let make = || triangles(image, self.rank as u8, lines(self.rank));
            let made = shared.shares.time(0, make);
            let whom = "the rank before";
            let Some(mut control) = shared.shares.time(1, || take(&self.from, whom))? else {
                return Ok(());
            };
            // The first rank determines for all ranks whether another image follows.
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
            send(&self.to, control)?;
        }
        Ok(())
    }

    /// End the run with this rank. The other ranks detect the end by their closed channels.
    fn end(&self, control: Control) {
        let finished_senders = self.shared.finished_senders.lock();
        let mut finished_senders = finished_senders.unwrap_or_else(PoisonError::into_inner);
        *finished_senders = Some((control.routes, control.adu));
    }

    /// Send the triangles of this rank, block by block, half of each block by either route.
    fn forward(&self, control: &mut Control, made: &[u8]) -> RankResult {
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

    /// Add the triangles that this rank has sent since `begin` to the sums.
    fn count(&self, made: &[u8], begin: Instant) {
        let ns = u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let (all, _) = made.as_chunks::<TRIANGLE_BYTES>();
        let prints = all.iter().map(|one| fingerprint(one));
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

    /// Checks that triangles in the wrong order, or of the wrong rank, cause an error.
    #[test]
    fn triangles_in_the_wrong_order_or_rank_cause_an_error() {
        let good = triangles(0, 12, lines(12));
        let header = Header::new(isthmus_stream::wire::Kind::Data, 0);
        let verify = |data: &[u8]| ReceivedTriangles::default().verify(&header, data);
        assert_eq!(verify(&good[..4000]), Ok(()));
        assert!(verify(&good[..4001]).unwrap_err().contains("no whole"));
        // Errors: a rank's first triangles are missing; a triangle is in another rank's lines; a
        // triangle is left out.
        assert!(
            verify(&good[40..400])
                .unwrap_err()
                .contains("triangle 1 of rank 12")
        );
        let mut other = good[..400].to_vec();
        other[39] = 13;
        assert!(verify(&other).unwrap_err().contains("of lines 104..112"));
        let mut gap = good[..400].to_vec();
        gap.drain(40..80);
        assert!(verify(&gap).unwrap_err().contains("triangle 2"));
    }
}
