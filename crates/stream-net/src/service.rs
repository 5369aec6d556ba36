//! A thread that runs a driver of the stream manager, and handles through which other threads call
//! the driver.

use crate::driver::{Driver, Waker};
use crate::error::{Error, Result};
use crate::event::Event;
use std::any::Any;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Instant;

/// Maximum number of calls of other threads that run before the driver moves data again.
const CALLS: usize = 16;

/// A closure that the thread of the driver runs, with access to the driver.
type Call = Box<dyn FnOnce(&mut Driver) + Send>;
/// A call with a result of any type.
type Answering = Box<dyn FnOnce(&mut Driver) -> Box<dyn Any + Send> + Send>;

/// A driver of the stream manager on its own thread. Dropping the service ends the thread, and
/// closes all links and connections.
#[derive(Debug)]
pub struct Service {
    client: Client,
    thread: Option<JoinHandle<Result<()>>>,
}

/// A handle through which other threads call the driver of the stream manager.
#[derive(Clone)]
pub struct Client {
    calls: Sender<Option<Call>>,
    waker: Waker,
}

impl Service {
    /// Starts the thread, which passes all events of the driver to `on_event`.
    ///
    /// # Errors
    /// The system cannot start a thread.
    pub fn start(driver: Driver, mut on_event: impl FnMut(Event) + Send + 'static) -> Result<Self> {
        Self::start_with(driver, move |_, event| on_event(event))
    }

    /// Starts the thread as [`Service::start`] does, and passes the driver to `on_event` with each
    /// event.
    ///
    /// # Errors
    /// The system cannot start a thread.
    pub fn start_with(
        driver: Driver,
        on_event: impl FnMut(&mut Driver, Event) + Send + 'static,
    ) -> Result<Self> {
        let (calls, called) = channel();
        let waker = driver.waker();
        let thread = std::thread::Builder::new().name("stream-manager".into());
        let thread = thread.spawn(move || run(driver, &called, on_event));
        let thread = thread.map_err(|error| Error::system("the thread of a manager", error))?;
        Ok(Self {
            client: Client { calls, waker },
            thread: Some(thread),
        })
    }

    /// Returns a handle through which other threads call the driver of the stream manager.
    #[must_use]
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// Ends the driver's thread and waits for it.
    ///
    /// # Errors
    /// The error with which the thread had ended before.
    pub fn stop(mut self) -> Result<()> {
        self.end()
    }

    /// Ends the driver's thread, and returns the error with which it ended.
    fn end(&mut self) -> Result<()> {
        let Some(thread) = self.thread.take() else {
            return Ok(());
        };
        // Ask the thread to end. If it has ended already, the message is lost, and `join` still
        // returns its result.
        let _ = self.client.calls.send(None);
        self.client.waker.wake();
        thread.join().unwrap_or(Err(Error::Ended))
    }
}

impl Drop for Service {
    /// Ends the driver's thread and waits for it.
    fn drop(&mut self) {
        // Ignore the error; a caller that needs it calls `stop` instead.
        let _ = self.end();
    }
}

impl Client {
    /// Runs a closure with the driver on the driver's thread, and returns its result.
    ///
    /// # Errors
    /// [`Error::Ended`] if the thread has ended.
    pub fn call<T: Send + 'static>(
        &self,
        what: impl FnOnce(&mut Driver) -> T + Send + 'static,
    ) -> Result<T> {
        let answer = self.answer(Box::new(|driver| Box::new(what(driver))))?;
        Ok(*answer.downcast().expect("`what` returns a T"))
    }

    /// Runs a call on the driver's thread, and returns its result. All calls share this code: a channel for each
    /// type of result takes long to compile.
    fn answer(&self, what: Answering) -> Result<Box<dyn Any + Send>> {
        let (answer, answered) = channel();
        let call: Call = Box::new(move |driver| {
            // Ignore an error: the caller may have ended before the result is sent.
            let _ = answer.send(what(driver));
        });
        self.calls.send(Some(call)).map_err(|_| Error::Ended)?;
        self.waker.wake();
        answered.recv().map_err(|_| Error::Ended)
    }
}

impl std::fmt::Debug for Client {
    /// Writes the debug form of the handle, without its fields.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").finish_non_exhaustive()
    }
}

/// Runs the thread of the driver: executes calls, moves data, and reports events.
fn run(
    mut driver: Driver,
    called: &Receiver<Option<Call>>,
    mut on_event: impl FnMut(&mut Driver, Event),
) -> Result<()> {
    loop {
        // Limit the calls per round, so that a caller that never pauses does not block the driver.
        let mut done = 0;
        for call in called.try_iter().take(CALLS) {
            match call {
                Some(call) => call(&mut driver),
                None => return Ok(()),
            }
            done += 1;
        }
        // Do not sleep if more calls may be queued: their wake-up may have been consumed.
        driver.turn((done == CALLS).then(Instant::now))?;
        while let Some(event) = driver.poll_event() {
            on_event(&mut driver, event);
        }
    }
}
