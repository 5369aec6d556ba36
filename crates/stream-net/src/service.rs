//! A thread that runs a driver, and how others reach it.

use crate::driver::{Driver, Waker};
use crate::error::{Error, Result};
use crate::event::Event;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Instant;

/// Calls that are done before the driver has its turn.
const CALLS: usize = 16;

type Call = Box<dyn FnOnce(&mut Driver) + Send>;

/// A driver on a thread of its own. Dropped, the thread ends, and what it had is closed.
#[derive(Debug)]
pub struct Service {
    client: Client,
    thread: Option<JoinHandle<Result<()>>>,
}

/// How other threads reach the driver.
#[derive(Clone)]
pub struct Client {
    calls: Sender<Option<Call>>,
    waker: Waker,
}

impl Service {
    /// Starts the thread. All events of the driver go to `tell`, on that thread.
    ///
    /// # Errors
    /// A system without threads.
    pub fn start(driver: Driver, mut tell: impl FnMut(Event) + Send + 'static) -> Result<Self> {
        Self::start_with(driver, move |_, event| tell(event))
    }

    /// The same, for who looks at the driver when something happens.
    ///
    /// # Errors
    /// A system without threads.
    pub fn start_with(
        driver: Driver,
        tell: impl FnMut(&mut Driver, Event) + Send + 'static,
    ) -> Result<Self> {
        let (calls, called) = channel();
        let waker = driver.waker();
        let thread = std::thread::Builder::new().name("stream-manager".into());
        let thread = thread.spawn(move || run(driver, &called, tell));
        let thread = thread.map_err(|error| Error::system("the thread of a manager", error))?;
        Ok(Self {
            client: Client { calls, waker },
            thread: Some(thread),
        })
    }

    /// How to reach it.
    #[must_use]
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// Ends the thread, as it is, and waits for it.
    ///
    /// # Errors
    /// Why it had ended before.
    pub fn stop(mut self) -> Result<()> {
        self.end()
    }

    fn end(&mut self) -> Result<()> {
        let Some(thread) = self.thread.take() else {
            return Ok(());
        };
        // If it has ended already nobody hears this.
        let _ = self.client.calls.send(None);
        self.client.waker.wake();
        thread.join().unwrap_or(Err(Error::Ended))
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // Why it ended was there to be asked for.
        let _ = self.end();
    }
}

impl Client {
    /// Lets the thread do something with the driver, and waits for the answer.
    ///
    /// # Errors
    /// [`Error::Ended`] if the thread has ended.
    pub fn call<T: Send + 'static>(
        &self,
        what: impl FnOnce(&mut Driver) -> T + Send + 'static,
    ) -> Result<T> {
        let (answer, answered) = channel();
        let call: Call = Box::new(move |driver| {
            // Who asked may be gone.
            let _ = answer.send(what(driver));
        });
        self.calls.send(Some(call)).map_err(|_| Error::Ended)?;
        self.waker.wake();
        answered.recv().map_err(|_| Error::Ended)
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").finish_non_exhaustive()
    }
}

fn run(
    mut driver: Driver,
    called: &Receiver<Option<Call>>,
    mut tell: impl FnMut(&mut Driver, Event),
) -> Result<()> {
    loop {
        // Who calls without end does not keep the driver from its work.
        let mut done = 0;
        for call in called.try_iter().take(CALLS) {
            match call {
                Some(call) => call(&mut driver),
                None => return Ok(()),
            }
            done += 1;
        }
        // More may wait, and what woke the driver for them may be spent: it does not sleep then.
        driver.turn((done == CALLS).then(Instant::now))?;
        while let Some(event) = driver.poll_event() {
            tell(&mut driver, event);
        }
    }
}
