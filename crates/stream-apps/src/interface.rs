//! The interface node of a machine: a stream manager on its own thread. Also the progress of its
//! streams.

use crate::error::Error;
use isthmus_stream::{AppId, Config, End, Event, Limits, LinkId, StreamId, StreamSpec};
use isthmus_stream_net::rank::{Pipe, Sender};
use isthmus_stream_net::{Client, Driver, Ends, Event as NetEvent, Service};
use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Interval between checks whether the caller has given up waiting.
const LOOK: Duration = Duration::from_millis(50);

/// The progress of a stream: the numbers of application data units that have started and ended, and
/// its end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stream {
    pub started: u64,
    pub done: u64,
    pub end: Option<End>,
    /// Number of application data units (ADUs) that started after all streams in lock step with
    /// this one had finished the previous ADU, and number of ADUs that started earlier.
    pub in_step: [u64; 2],
    /// Number of stalls that the manager has reported.
    pub stalls: u64,
    /// The names of the conditions for which the stream waited when it last stalled.
    pub waits: Vec<String>,
}

/// The progress of all streams, which the events of the manager update.
#[derive(Debug, Default)]
struct Watched {
    streams: Mutex<BTreeMap<StreamId, Stream>>,
    changed: Condvar,
}

impl Watched {
    /// Lock the progress of all streams.
    fn streams(&self) -> MutexGuard<'_, BTreeMap<StreamId, Stream>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Update the progress of a stream by an event of the manager.
    fn on_event(&self, event: NetEvent) {
        let NetEvent::Stream(event) = event else {
            return;
        };
        let mut all = self.streams();
        match event {
            Event::AduStarted { stream, adu } => {
                let behind = all.values().map(|one| one.done).min();
                let one = all.entry(stream).or_default();
                one.started = adu + 1;
                one.in_step[usize::from(behind.is_some_and(|done| done < adu))] += 1;
            }
            Event::AduDone { stream, adu, .. } => all.entry(stream).or_default().done = adu + 1,
            Event::Ended { stream, end } => all.entry(stream).or_default().end = Some(end),
            Event::Stalled { stream, waits, .. } => {
                let one = all.entry(stream).or_default();
                one.stalls += 1;
                one.waits = waits.iter().map(ToString::to_string).collect();
            }
            _ => return,
        }
        self.changed.notify_all();
    }
}

/// The interface node: a stream manager on its own thread.
#[derive(Debug)]
pub(crate) struct Interface {
    service: Service,
    client: Client,
    watched: Arc<Watched>,
    pub app: AppId,
}

impl Interface {
    /// Start a manager with this configuration; `prepare` sets up its driver.
    pub fn new(config: Config, prepare: impl FnOnce(&mut Driver)) -> Result<Self, Error> {
        let mut driver = Driver::new(config)?;
        prepare(&mut driver);
        let app = driver.add_application(Limits::NONE);
        let watched = Arc::new(Watched::default());
        let observer = Arc::clone(&watched);
        let service = Service::start(driver, move |event| observer.on_event(event))?;
        let client = service.client();
        Ok(Self {
            service,
            client,
            watched,
            app,
        })
    }

    /// Call a function with the driver of the manager, on the thread of the driver.
    pub fn with<T: Send + 'static>(
        &self,
        what: impl FnOnce(&mut Driver) -> isthmus_stream_net::Result<T> + Send + 'static,
    ) -> Result<T, Error> {
        Ok(self.client.call(what)??)
    }

    /// Return a client by which ranks call the manager.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// Register streams with the manager: all or none of them.
    pub fn submit(&self, specs: Vec<StreamSpec>) -> Result<Vec<StreamId>, Error> {
        let app = self.app;
        let streams = self.with(move |driver| driver.submit_all(app, &specs))?;
        let mut all = self.watched.streams();
        for stream in &streams {
            all.entry(*stream).or_default();
        }
        Ok(streams)
    }

    /// Create a ring from a rank to the interface. Return the sender for the rank.
    pub fn link(&self, link: LinkId, bytes: u64) -> Result<Sender, Error> {
        let (out, into) = isthmus_ring::ring(bytes)?;
        self.with(move |driver| driver.attach(link, Ends::rings(Some(into), None)))?;
        Ok(Sender::new(link, Pipe::Producer(out)))
    }

    /// Return the progress of these streams.
    pub fn progress(&self, streams: &[StreamId]) -> Vec<Stream> {
        let all = self.watched.streams();
        let each = streams.iter().map(|stream| all.get(stream).cloned());
        each.map(Option::unwrap_or_default).collect()
    }

    /// Wait until all these streams are done, `given_up` returns true, or the time `patience` is
    /// over.
    ///
    /// # Errors
    /// A stream failed or was cancelled, or not all streams have ended in time. The latter error
    /// names the conditions for which the streams wait.
    pub fn wait(
        &self,
        streams: &[StreamId],
        patience: Duration,
        given_up: impl Fn() -> bool,
    ) -> Result<(), Error> {
        let began = Instant::now();
        let until = began + patience;
        let mut all = self.watched.streams();
        loop {
            let ends = streams.iter().map(|id| all.get(id)?.end.clone());
            let ends: Vec<Option<End>> = ends.collect();
            let bad = ends.iter().flatten().find(|end| **end != End::Done);
            if let Some(end) = bad {
                return Err(Error::Ended(match end {
                    End::Failed(reason) => reason.to_string(),
                    _ => "a stream was cancelled".into(),
                }));
            }
            if ends.iter().all(Option::is_some) {
                return Ok(());
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || given_up() {
                break;
            }
            let waited = self.watched.changed.wait_timeout(all, left.min(LOOK));
            all = waited.map_or_else(|error| error.into_inner().0, |(all, _)| all);
        }
        drop(all);
        let s = began.elapsed().as_secs();
        let waits = self.waits(streams)?.join("; ");
        Err(Error::Ended(format!("not done after {s} s: {waits}")))
    }

    /// Return the reasons why these streams wait now, as texts with the number of the stream.
    pub fn waits(&self, streams: &[StreamId]) -> Result<Vec<String>, Error> {
        let streams = streams.to_vec();
        self.with(move |driver| {
            let each = streams.iter().flat_map(|id| {
                let waits = driver.manager().waits(*id).unwrap_or_default();
                let said = move |wait: isthmus_stream::Wait| format!("stream {id}: {wait}");
                waits.into_iter().map(said)
            });
            Ok(each.collect())
        })
    }

    /// Stop the manager of the streams at once, even if streams are still running.
    pub fn stop(self) -> Result<(), Error> {
        Ok(self.service.stop()?)
    }
}
