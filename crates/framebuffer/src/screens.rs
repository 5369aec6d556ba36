//! The screens of a frame buffer by name, their newest frames, and the state of each viewer.

use crate::error::Error;
use crate::geometry::Geometry;
use crate::message::{blank, list, stamp};
use crate::painter::Painter;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tungstenite::Bytes;

/// Maximum number of screens of a frame buffer.
const MAX_SCREENS: usize = 64;
/// Maximum number of unconfirmed rounds of a viewer. A round is one frame of each screen.
const MAX_ROUNDS: usize = 2;
/// Maximum time for which a frame waits for the frames of other screens with the same number.
const SET_TIMEOUT: Duration = Duration::from_millis(250);

/// The screens of a frame buffer, shared by painters and viewers.
#[derive(Clone, Debug)]
pub struct Screens(Arc<Hub>);

/// The state of all screens behind its lock, with the condition variable that signals changes.
#[derive(Debug)]
struct Hub {
    state: Mutex<State>,
    changed: Condvar,
    origin: Instant,
}

/// The screens and viewers of a frame buffer, protected by the lock in `Hub`.
#[derive(Debug, Default)]
struct State {
    screens: BTreeMap<String, Screen>,
    /// Size of the frames that are being drawn in bytes, by screen, including frames for earlier
    /// geometries.
    painting_bytes: BTreeMap<String, u64>,
    next_id: u32,
    next_form: u64,
    /// Number of changes to the list of screens, with which a viewer's copy of the list is
    /// compared.
    edition: u64,
    /// The newest complete set of frames: its frame number, then the number of each screen on which
    /// a stream draws and the frame of that number on the screen.
    set: Option<(u64, Vec<(u32, Bytes)>)>,
    viewers: BTreeMap<u64, Viewer>,
    next_viewer: u64,
    /// Number of frames that viewers missed, including viewers that have left.
    missed: u64,
    closed: bool,
}

/// A screen: its geometry, its newest frame, and counts of frames.
#[derive(Debug)]
struct Screen {
    id: u32,
    geometry: Geometry,
    /// The number of the screen's current geometry, with which painters detect a change.
    form: u64,
    drawn: bool,
    number: u64,
    broken: u64,
    newest: Bytes,
}

/// The state of a viewer, which is a browser that shows the screens: queued and unconfirmed frames.
#[derive(Debug, Default)]
struct Viewer {
    edition: u64,
    /// The number of the newest frame that was sent to the viewer, by screen.
    sent: BTreeMap<u32, u64>,
    /// Queue of frames to send to the viewer, each with its screen's number; at most one per
    /// screen.
    line: VecDeque<(u32, Bytes)>,
    unanswered: usize,
    waits_since: Option<Instant>,
    pong: Option<Bytes>,
    gone: bool,
}

/// The next message to a viewer, or the end.
#[derive(Debug, PartialEq)]
pub(crate) enum Next {
    List(String),
    Frame(Bytes),
    Pong(Bytes),
    Over,
}

/// The counts of a frame buffer's screens and viewers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Figures {
    /// Number of frames that were shown and number of frames that were interrupted, by the name of
    /// the screen.
    pub frames: BTreeMap<String, (u64, u64)>,
    /// The number of viewers now.
    pub viewers: usize,
    /// Number of frames that were not sent to a viewer because it had not confirmed earlier ones.
    pub missed: u64,
}

impl Default for Screens {
    /// Create an empty set of screens.
    fn default() -> Self {
        Self(Arc::new(Hub {
            state: Mutex::default(),
            changed: Condvar::new(),
            origin: Instant::now(),
        }))
    }
}

/// Return an error unless this is a valid name of a screen.
fn check_name(name: &str) -> Result<(), Error> {
    let fits = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
    match (1..=64).contains(&name.len()) && name.chars().all(fits) {
        true => Ok(()),
        false => Err(Error::Name(name.into())),
    }
}

impl Screens {
    /// Create an empty set of screens.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Return the state of the screens, locked.
    fn state(&self) -> MutexGuard<'_, State> {
        // Ignore a poisoned lock: a thread that panics while it holds the lock leaves the state
        // consistent.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Set the geometry of the new or existing screen with this name, and clear it.
    ///
    /// # Errors
    /// An invalid name or geometry; too many screens.
    pub fn set(&self, name: &str, geometry: Geometry) -> Result<(), Error> {
        check_name(name)?;
        geometry.check()?;
        let mut state = self.state();
        if !state.screens.contains_key(name) && state.screens.len() == MAX_SCREENS {
            return Err(Error::Screens(MAX_SCREENS));
        }
        let id = match state.screens.get(name) {
            Some(screen) => screen.id,
            None => {
                state.next_id += 1;
                state.next_id
            }
        };
        state.next_form += 1;
        let screen = Screen {
            id,
            geometry,
            form: state.next_form,
            drawn: false,
            number: 0,
            broken: 0,
            newest: blank(id, &geometry).into(),
        };
        state.screens.insert(name.into(), screen);
        state.cleared(id);
        self.0.changed.notify_all();
        Ok(())
    }

    /// Return the number of bytes that a screen needs with this geometry: its newest frame, the
    /// frame that is being drawn, and frames still being drawn for earlier geometries.
    #[must_use]
    pub fn needs(&self, name: &str, geometry: &Geometry) -> u64 {
        let painting_bytes = self.state().painting_bytes.get(name).copied().unwrap_or(0);
        painting_bytes.saturating_add(2 * geometry.frame_bytes())
    }

    /// Return the sizes of the screens in bytes, by name. Viewers may hold older frames in
    /// addition.
    #[must_use]
    pub fn sizes(&self) -> BTreeMap<String, u64> {
        let state = self.state();
        let mut sizes = state.painting_bytes.clone();
        for (name, screen) in &state.screens {
            let frame = screen.geometry.frame_bytes();
            // Count the frame that is being drawn once: for a screen with a painter,
            // `painting_bytes` includes it.
            let more = if screen.drawn { frame } else { 2 * frame };
            *sizes.entry(name.clone()).or_default() += more;
        }
        sizes
    }

    /// Clear a screen to black and set its counts to 0. Its painter can continue.
    ///
    /// # Errors
    /// [`Error::NoScreen`].
    pub fn reset(&self, name: &str) -> Result<(), Error> {
        let mut state = self.state();
        let Some(screen) = state.screens.get_mut(name) else {
            return Err(state.no_screen(name));
        };
        (screen.number, screen.broken) = (0, 0);
        screen.newest = blank(screen.id, &screen.geometry).into();
        let id = screen.id;
        state.cleared(id);
        self.0.changed.notify_all();
        Ok(())
    }

    /// Remove the screen with this name, if it exists. Returns false, and keeps the screen, if a
    /// stream still draws on it.
    pub fn forget(&self, name: &str) -> bool {
        let mut state = self.state();
        let Some(screen) = state.screens.get(name) else {
            return true;
        };
        if screen.drawn {
            return false;
        }
        let id = screen.id;
        state.screens.remove(name);
        state.cleared(id);
        self.0.changed.notify_all();
        true
    }

    /// Return the geometry of the screen with this name.
    ///
    /// # Errors
    /// [`Error::NoScreen`].
    pub fn geometry(&self, name: &str) -> Result<Geometry, Error> {
        let state = self.state();
        let screen = state.screens.get(name);
        let geometry = screen.map(|screen| screen.geometry);
        geometry.ok_or_else(|| state.no_screen(name))
    }

    /// Return the painter of a screen, which has the exclusive right to draw on it.
    ///
    /// # Errors
    /// [`Error::NoScreen`], [`Error::Drawn`].
    pub fn draw(&self, name: &str) -> Result<Painter, Error> {
        let mut state = self.state();
        let Some(screen) = state.screens.get_mut(name) else {
            return Err(state.no_screen(name));
        };
        if std::mem::replace(&mut screen.drawn, true) {
            return Err(Error::Drawn(name.into()));
        }
        let (whose, geometry) = ((screen.id, screen.form), screen.geometry);
        *state.painting_bytes.entry(name.into()).or_default() += geometry.frame_bytes();
        Ok(Painter::new(self.clone(), name, whose, geometry))
    }

    /// Return the counts of screens and viewers.
    #[must_use]
    pub fn figures(&self) -> Figures {
        let state = self.state();
        let each = state.screens.iter();
        Figures {
            frames: each
                .map(|(name, screen)| (name.clone(), (screen.number, screen.broken)))
                .collect(),
            viewers: state.viewers.len(),
            missed: state.missed,
        }
    }

    /// Show a frame on the screen with this name. The frame was drawn for the geometry number
    /// `form` of the screen.
    pub(crate) fn show(&self, name: &str, form: u64, mut frame: Vec<u8>) -> Result<(), Error> {
        let ns = u64::try_from(self.0.origin.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let mut state = self.state();
        let screen = state.screens.get_mut(name);
        let Some(screen) = screen.filter(|screen| screen.form == form) else {
            return Err(Error::Changed(name.into()));
        };
        screen.number += 1;
        stamp(&mut frame, screen.number, ns);
        screen.newest = frame.into();
        let number = screen.number;
        // Wait only for the frames of screens with a painter: other screens do not change.
        let drawn = || state.screens.values().filter(|one| one.drawn);
        if drawn().all(|one| one.number == number) {
            let all = drawn().map(|one| (one.id, one.newest.clone()));
            state.set = Some((number, all.collect()));
        }
        self.0.changed.notify_all();
        Ok(())
    }

    /// Count a frame of the screen with this name that was interrupted.
    pub(crate) fn broken(&self, name: &str) {
        if let Some(screen) = self.state().screens.get_mut(name) {
            screen.broken += 1;
        }
    }

    /// Record that a painter of a screen was dropped. It drew for the geometry number `form` and
    /// used `bytes` bytes of memory.
    pub(crate) fn leave(&self, name: &str, form: u64, bytes: u64) {
        let mut state = self.state();
        let left = state
            .painting_bytes
            .get(name)
            .map(|all| all.saturating_sub(bytes));
        match left {
            Some(0) | None => _ = state.painting_bytes.remove(name),
            Some(left) => _ = state.painting_bytes.insert(name.into(), left),
        }
        let screen = state.screens.get_mut(name);
        if let Some(screen) = screen.filter(|screen| screen.form == form) {
            screen.drawn = false;
        }
    }

    /// Add a viewer, unless there are already `most`. Returns the number of the viewer.
    pub(crate) fn enter(&self, most: usize) -> Option<u64> {
        let mut state = self.state();
        if state.viewers.len() >= most || state.closed {
            return None;
        }
        state.next_viewer += 1;
        let id = state.next_viewer;
        state.viewers.insert(id, Viewer::default());
        Some(id)
    }

    /// Remove a viewer.
    pub(crate) fn exit(&self, viewer: u64) {
        self.state().viewers.remove(&viewer);
    }

    /// Record that a viewer has confirmed a frame. Returns false if the viewer had no
    /// unconfirmed frame, so that its message was wrong.
    pub(crate) fn confirm_frame(&self, viewer: u64) -> bool {
        self.update_viewer(viewer, |it| match it.unanswered.checked_sub(1) {
            Some(rest) => {
                it.unanswered = rest;
                true
            }
            None => false,
        })
    }

    /// Queue the answer to a ping of a viewer.
    pub(crate) fn pinged(&self, viewer: u64, what: Bytes) {
        self.update_viewer(viewer, |it| {
            it.pong = Some(what);
            true
        });
    }

    /// Record that a viewer has left, or has violated the protocol and must be disconnected.
    pub(crate) fn gone(&self, viewer: u64) {
        self.update_viewer(viewer, |it| {
            it.gone = true;
            true
        });
    }

    /// Change a viewer with `what` and wake the writing threads. Returns the result of `what`, or
    /// false if the viewer has left.
    fn update_viewer(&self, viewer: u64, what: impl FnOnce(&mut Viewer) -> bool) -> bool {
        let mut state = self.state();
        let done = state.viewers.get_mut(&viewer).is_some_and(what);
        self.0.changed.notify_all();
        done
    }

    /// Make all viewers leave.
    pub(crate) fn close(&self) {
        self.state().closed = true;
        self.0.changed.notify_all();
    }

    /// Allow viewers again after `close`.
    pub(crate) fn open(&self) {
        self.state().closed = false;
    }

    /// Wait for the next message to a viewer and return it.
    pub(crate) fn next(&self, viewer: u64) -> Next {
        let mut state = self.state();
        loop {
            if let Some(next) = state.next(viewer) {
                return next;
            }
            let waited = self.0.changed.wait_timeout(state, SET_TIMEOUT);
            state = waited.map_or_else(|error| error.into_inner().0, |(state, _)| state);
        }
    }
}

impl State {
    /// Return the error for the name of a screen that does not exist.
    fn no_screen(&self, name: &str) -> Error {
        Error::NoScreen(name.into(), self.screens.keys().cloned().collect())
    }

    /// Update the viewers after a screen was cleared. The newest complete set of frames is invalid
    /// then.
    fn cleared(&mut self, id: u32) {
        self.edition += 1;
        self.set = None;
        for viewer in self.viewers.values_mut() {
            viewer.sent.remove(&id);
            // Remove old frames of the screen that are queued for viewers.
            viewer.line.retain(|(of, _)| *of != id);
        }
    }

    /// Return the next message to a viewer, if there is one.
    fn next(&mut self, id: u64) -> Option<Next> {
        let viewer = self.viewers.get_mut(&id)?;
        if viewer.gone || self.closed {
            return Some(Next::Over);
        }
        if let Some(what) = viewer.pong.take() {
            return Some(Next::Pong(what));
        }
        if viewer.edition != self.edition {
            viewer.edition = self.edition;
            let all = self.screens.iter();
            let all = all.map(|(name, one)| (one.id, name.as_str(), &one.geometry));
            return Some(Next::List(list(all)));
        }
        if viewer.line.is_empty() && viewer.unanswered <= (MAX_ROUNDS - 1) * self.screens.len() {
            self.missed += viewer.line_up(&self.screens, self.set.as_ref());
        }
        let (_, frame) = viewer.line.pop_front()?;
        viewer.unanswered += 1;
        Some(Next::Frame(frame))
    }
}

impl Viewer {
    /// Queue frames for a viewer: one frame of each screen, all with the same number, or the newest
    /// frame of each if their numbers differ for long. Returns the number of skipped frames.
    fn line_up(
        &mut self,
        screens: &BTreeMap<String, Screen>,
        set: Option<&(u64, Vec<(u32, Bytes)>)>,
    ) -> u64 {
        if let Some((number, all)) = set
            && all.iter().all(|(id, _)| self.sent.get(id) < Some(number))
        {
            self.waits_since = None;
            let add = |(id, frame): &(u32, Bytes)| self.add(*id, *number, frame);
            return all.iter().map(add).sum();
        }
        let unsent = |one: &&Screen| self.sent.get(&one.id) != Some(&one.number);
        let newer: Vec<&Screen> = screens.values().filter(unsent).collect();
        if newer.is_empty() {
            self.waits_since = None;
            return 0;
        }
        let drawn = || screens.values().filter(|one| one.drawn);
        let numbers = || drawn().map(|one| one.number);
        let apart = numbers().max() > numbers().min().map(|least| least + 1);
        let since = *self.waits_since.get_or_insert_with(Instant::now);
        let first = newer.iter().any(|one| !self.sent.contains_key(&one.id));
        if !apart && !first && since.elapsed() < SET_TIMEOUT {
            return 0;
        }
        self.waits_since = None;
        let newest = newer.iter();
        newest
            .map(|one| self.add(one.id, one.number, &one.newest))
            .sum()
    }

    /// Queue a frame of a screen for a viewer, if it is newer than the last one that was queued.
    /// Returns the number of skipped frames.
    fn add(&mut self, id: u32, number: u64, frame: &Bytes) -> u64 {
        self.line.push_back((id, frame.clone()));
        let before = self.sent.insert(id, number);
        before.map_or(0, |before| number.saturating_sub(before + 1))
    }
}

impl isthmus_stream_net::Screens for Screens {
    /// Return the painter of a screen for a stream connection, as [`Screens::draw`] does.
    fn draw(&self, name: &str) -> Result<Box<dyn isthmus_stream_net::Screen>, String> {
        let painter = Self::draw(self, name).map_err(|error| error.to_string())?;
        Ok(Box::new(painter))
    }
}
