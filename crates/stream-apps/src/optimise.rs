//! Chemical process optimisation (paper, 7.1). Each of four quadrants has ranks that compute
//! samples and one rank that forwards the samples. Four striping units (SUs) of 16 KB are a transfer
//! unit (TU) of 64 KB, and no data have to be reordered.
//!
//! A sample is the yield of a plant under random conditions: the conversion of a stirred tank
//! reactor in steady state. The number of a sample determines its conditions, so a receiver can
//! compute any sample again.

use crate::error::Error;
use crate::interface::Interface;
use crate::ranks::{IN_CHANNEL, PATIENCE, RankResult, Ranks, send, take};
use crate::shares::{Numbers, Shares};
use crate::sink::{Taker, Verifier};
use isthmus_stream::wire::Header;
use isthmus_stream::{ConnectionSpec, Direction, Format, LinkId, Protocol, StreamId, StreamSpec};
use isthmus_stream_net::Driver;
use isthmus_stream_net::rank::Sender;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Number of quadrants, each with one forwarder and one link.
pub const QUADRANTS: u32 = 4;
/// Number of bytes of a striping unit, which a forwarding rank sends as a whole.
pub const SU_BYTES: u64 = 16 << 10;
/// Number of bytes of a sample.
pub const SAMPLE_BYTES: u64 = 4;
/// Number of samples in a striping unit.
const SU_SAMPLES: u64 = SU_BYTES / SAMPLE_BYTES;
/// Number of samples in a transfer unit, which consists of one striping unit for each quadrant.
const TU_SAMPLES: u64 = SU_SAMPLES * QUADRANTS as u64;
/// The sink computes one of this number of samples again, to check it. Checksums of packets cover all samples.
pub const CHECKED_OF: u64 = 61;
/// Maximum number of computing ranks in a quadrant.
const NODES_MOST: u32 = 256;
/// Minimum duration of a run of the application.
const TIME_LEAST: Duration = Duration::from_millis(1);
/// Size in bytes of each link of the run: a ring buffer in shared memory between a rank and the interface.
const RING_BYTES: u64 = 256 << 10;
/// Interval at which the ranks check whether the run has been cancelled.
const LOOK: Duration = Duration::from_millis(20);

/// The parameters of a run of the process optimisation.
#[derive(Clone, PartialEq, Debug)]
pub struct Spec {
    /// Number of computing ranks in each quadrant; 15 in the paper.
    pub nodes: u32,
    /// Maximum number of samples per second of a computing rank; `None`: unlimited.
    pub samples_per_s: Option<f64>,
    /// The duration of the run.
    pub time: Duration,
}

/// The measured results of a run of the chemical process optimisation.
#[derive(Clone, PartialEq, Debug)]
pub struct Report {
    /// Number of samples that the sink received.
    pub samples: u64,
    /// Number of samples that the sink computed again with the same result.
    pub checked: u64,
    /// Nanoseconds from the start until the confirmation of the last sample.
    pub ns: u64,
    /// Fractions of the run time of the ranks that compute: 0 computing, 1 waiting for the rank that forwards their
    /// samples.
    pub nodes: [f64; 2],
    /// Fractions of the run time of the ranks that forward samples: 0 waiting for samples, 1 sending them or waiting
    /// for the network interface.
    pub forwarders: [f64; 2],
}

impl Spec {
    /// Check that the parameters are within bounds.
    fn check(&self) -> Result<(), Error> {
        if !(1..=NODES_MOST).contains(&self.nodes) {
            let nodes = self.nodes;
            return Err(Error::Spec(format!(
                "{nodes} nodes of a quadrant: give 1 to {NODES_MOST}"
            )));
        }
        if self.time < TIME_LEAST {
            return Err(Error::Spec(format!(
                "time: {:?} is too little: give {TIME_LEAST:?} or more",
                self.time
            )));
        }
        let rate = self.samples_per_s.unwrap_or(1.0);
        if !rate.is_finite() || !(1.0..=1e9).contains(&rate) {
            return Err(Error::Spec(format!(
                "{rate} samples/s of a node: give 1 /s to 1000000000 /s"
            )));
        }
        Ok(())
    }
}

/// Return sample number `number`: the yield of the plant in random conditions, which is the
/// fraction of the input that reacts.
///
/// The plant is a stirred tank with an exothermic reaction of first order. With conversion `x`, the
/// temperature rises by `b x`, and `x = d (1 - x) exp(b x / (1 + b x / g))`. The solution is by
/// Newton's method from 1/2.
#[must_use]
pub fn sample(number: u64) -> f32 {
    let mut state = number;
    // Return the next random number from 0 to 1, by SplitMix64. The three conditions of a sample use one each.
    let mut draw = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    };
    let (d, b, g) = (
        0.05 + 0.3 * draw(),
        1.0 + 2.0 * draw(),
        15.0 + 10.0 * draw(),
    );
    let mut x = 0.5;
    for _ in 0..6 {
        let heat = b * x / (1.0 + b * x / g);
        let rate = d * heat.exp();
        let slope = b / (1.0 + b * x / g).powi(2);
        let (off, steep) = (x - rate * (1.0 - x), 1.0 + rate - rate * (1.0 - x) * slope);
        x = (x - off / steep).clamp(0.0, 1.0);
    }
    x as f32
}

/// Return, as bytes, the samples of one striping unit: that of `quadrant` in transfer unit number `tu`.
fn samples(tu: u64, quadrant: u32) -> Vec<u8> {
    let first = tu * TU_SAMPLES + u64::from(quadrant) * SU_SAMPLES;
    let each = (first..first + SU_SAMPLES).flat_map(|number| sample(number).to_le_bytes());
    each.collect()
}

/// Verifier of the received samples at the sink: it computes some of them again.
#[derive(Debug, Default)]
struct SampleVerifier {
    samples: u64,
    checked: u64,
}

impl Verifier for SampleVerifier {
    /// Compute some of the received samples again. Return an error text if one differs from what was received.
    fn verify(&mut self, header: &Header, data: &[u8]) -> Result<(), String> {
        let first = header.adu * TU_SAMPLES + header.offset / SAMPLE_BYTES;
        let (all, rest) = data.as_chunks::<{ SAMPLE_BYTES as usize }>();
        if !rest.is_empty() || !header.offset.is_multiple_of(SAMPLE_BYTES) {
            return Err(format!("a packet of {} bytes: samples have 4", data.len()));
        }
        for (number, bytes) in (first..).zip(all) {
            if number % CHECKED_OF == 0 {
                let (found, wanted) = (f32::from_le_bytes(*bytes), sample(number));
                if found.to_bits() != wanted.to_bits() {
                    return Err(format!("sample {number} came as {found}, not as {wanted}"));
                }
                self.checked += 1;
            }
        }
        self.samples += all.len() as u64;
        Ok(())
    }
}

/// State that the threads of all ranks of a run share.
#[derive(Debug, Default)]
struct Shared {
    tus: Numbers,
    nodes: Shares<2>,
    forwarders: Shares<2>,
    /// Links over which everything has been sent. They stay open until the stream has ended;
    /// otherwise the interface would treat their ranks as lost.
    through: Mutex<Vec<Sender>>,
}

/// Compute and send samples until the time is over or `over` returns true.
///
/// # Errors
/// The parameters are impossible; a rank or the stream failed; samples arrived changed.
pub fn run(spec: &Spec, over: &dyn Fn() -> bool) -> Result<Report, Error> {
    spec.check()?;
    let config = Driver::config();
    let (sink, to_sink) = Taker::start(config.network_bytes, SampleVerifier::default())?;
    let interface = Interface::new(config, |driver| driver.provide_socket("sink", to_sink))?;
    let stream = submit(&interface)?;
    let shared = Arc::new(Shared::default());
    let mut ranks = Ranks::default();
    let begin = Instant::now();
    for quadrant in 0..QUADRANTS {
        let sender = interface.link(LinkId(quadrant as u16), RING_BYTES)?;
        start(&mut ranks, spec, quadrant, &shared, (sender, stream))?;
    }
    while begin.elapsed() < spec.time && !over() && ranks.failure().is_none() {
        std::thread::sleep(LOOK);
    }
    let tus = shared.tus.stop();
    let finish = move |driver: &mut Driver| driver.finish(stream, tus);
    let ended = interface.with(finish).and_then(|()| {
        let failed = || ranks.failure().is_some();
        interface.wait(&[stream], PATIENCE, failed)
    });
    let ns = u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX);
    let failed = ranks.failure();
    // Stop the manager: this closes its connections and links, so that the sink and the ranks end, too.
    interface.stop()?;
    let joined = ranks.join();
    if let Some(why) = failed {
        return Err(Error::Ended(why));
    }
    let seen = sink.join();
    ended.and(joined)?;
    let (seen, _) = seen?;
    if seen.samples != tus * TU_SAMPLES {
        let (came, sent) = (seen.samples, tus * TU_SAMPLES);
        return Err(Error::Wrong(format!("{came} samples came of {sent}")));
    }
    Ok(Report {
        samples: seen.samples,
        checked: seen.checked,
        ns,
        nodes: shared.nodes.parts(),
        forwarders: shared.forwarders.parts(),
    })
}

/// Return the format of the application's stream: each transfer unit has one striping unit for each quadrant.
fn format() -> Format {
    let links: Vec<LinkId> = (0..QUADRANTS as u16).map(LinkId).collect();
    let tu = SU_BYTES * u64::from(QUADRANTS);
    Format {
        granule_bytes: SAMPLE_BYTES,
        ..Format::fixed(tu, tu, &links)
    }
}

/// Open a connection to the sink and submit the stream that it carries. Return the number of the stream.
fn submit(interface: &Interface) -> Result<StreamId, Error> {
    let app = interface.app;
    let spec = ConnectionSpec::new("raw:given:sink", Protocol::Stream, 0);
    let connection = interface.with(move |driver| driver.open(app, spec))?;
    let spec = StreamSpec {
        adus: None,
        ..StreamSpec::new(connection, Direction::Transmit, format(), 0)
    };
    let streams = interface.submit(vec![spec])?;
    Ok(streams[0])
}

/// Start the threads of a quadrant: its computing ranks, and the rank that forwards their units.
fn start(
    ranks: &mut Ranks,
    spec: &Spec,
    quadrant: u32,
    shared: &Arc<Shared>,
    to: (Sender, StreamId),
) -> Result<(), Error> {
    let mut made = Vec::new();
    let su_time = spec
        .samples_per_s
        .map(|rate| Duration::from_secs_f64(SU_SAMPLES as f64 / rate));
    for node in 0..spec.nodes {
        let (out, into) = sync_channel(IN_CHANNEL);
        made.push(into);
        let (shared, step) = (Arc::clone(shared), u64::from(spec.nodes));
        ranks.start(format!("compute-{quadrant}-{node}"), move || {
            compute((quadrant, node.into(), step), su_time, &shared, &out)
        })?;
    }
    let shared = Arc::clone(shared);
    ranks.start(format!("forward-{quadrant}"), move || {
        forward(to, quadrant, &made, &shared)
    })
}

/// Compute the striping unit (SU) of this quadrant for every `step`-th transfer unit (TU) from number `first` on, and
/// pass it to the forwarding rank. If `su_time` is set, a unit takes at least that time.
fn compute(
    (quadrant, first, step): (u32, u64, u64),
    su_time: Option<Duration>,
    shared: &Shared,
    to: &SyncSender<Vec<u8>>,
) -> RankResult {
    let mut due = Instant::now();
    let mut tu = first;
    while shared.tus.begin(tu) {
        let made = shared.nodes.time(0, || {
            let made = samples(tu, quadrant);
            if let Some(time) = su_time {
                // Set the time of the next unit: a rank that is late does not compute faster afterwards.
                due = (due + time).max(Instant::now());
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
            }
            made
        });
        shared.nodes.time(1, || send(to, made))?;
        tu += step;
    }
    Ok(())
}

/// Receive striping units from the computing ranks of a quadrant in turn, and send each to the network interface.
fn forward(
    (mut sender, stream): (Sender, StreamId),
    quadrant: u32,
    made: &[Receiver<Vec<u8>>],
    shared: &Shared,
) -> RankResult {
    let format = format();
    for (adu, (node, from)) in (0..).zip(made.iter().enumerate().cycle()) {
        let step_text = format_args!("node {node}").to_string();
        let Some(data) = shared.forwarders.time(0, || take(from, step_text))? else {
            let through = shared.through.lock();
            let mut through = through.unwrap_or_else(PoisonError::into_inner);
            through.push(sender);
            return Ok(());
        };
        let tu = format.tu(adu, format.tu_bytes, 0);
        let su = format.sus(format.tu_bytes).nth(quadrant as usize);
        let (Some(tu), Some(su)) = (tu, su) else {
            return Ok(());
        };
        let until = Instant::now() + PATIENCE;
        shared
            .forwarders
            .time(1, || sender.send_su(stream, &tu, &su, &data, until))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that yields are fractions from 0 to 1, and that they differ widely over the samples.
    #[test]
    fn yields_are_fractions_that_differ_widely() {
        let mut all: Vec<f32> = (0..1000).map(sample).collect();
        assert!(all.iter().all(|x| (0.0..=1.0).contains(x)));
        all.sort_by(f32::total_cmp);
        // The yields must differ widely: 80% of the samples span more than 0.2.
        assert!(all[900] - all[100] > 0.2, "{} to {}", all[100], all[900]);
    }

    /// Checks that the verifier detects a wrong sample.
    #[test]
    fn the_verifier_detects_a_wrong_sample() {
        let mut header = Header::new(isthmus_stream::wire::Kind::Data, 0);
        (header.adu, header.offset) = (3, SU_BYTES);
        let good = samples(3, 1);
        let mut verifier = SampleVerifier::default();
        verifier.verify(&header, &good).unwrap();
        assert_eq!(verifier.samples, SU_SAMPLES);
        assert!(verifier.checked >= SU_SAMPLES / CHECKED_OF);
        // Move the data in the stream: samples depend on their position, so the same bytes are now wrong.
        header.offset = 2 * SU_BYTES;
        let why = verifier.verify(&header, &good).unwrap_err();
        assert!(why.contains("came as"), "{why}");
        assert!(verifier.verify(&header, &good[..6]).is_err());
    }
}
