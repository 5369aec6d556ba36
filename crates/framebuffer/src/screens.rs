//! Screens by name, their newest frames, and what each viewer was sent.

use crate::error::Error;
use crate::geometry::Geometry;
use crate::message::{blank, list, stamp};
use crate::painter::Painter;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tungstenite::Bytes;

/// Screens at most.
const MAX_SCREENS: usize = 64;
/// Rounds of frames that a viewer may have without having said that it took them.
const MAX_ROUNDS: usize = 2;
/// How long a frame waits for those of the other screens with its number.
const SET_TIMEOUT: Duration = Duration::from_millis(250);

/// Screens, shared by all that draw on them and look at them.
#[derive(Clone, Debug)]
pub struct Screens(Arc<Hub>);

#[derive(Debug)]
struct Hub {
    state: Mutex<State>,
    changed: Condvar,
    origin: Instant,
}

#[derive(Debug, Default)]
struct State {
    screens: BTreeMap<String, Screen>,
    /// Bytes of the frames that are being drawn, by the name of the screen, those of its earlier
    /// forms among them.
    painting_bytes: BTreeMap<String, u64>,
    next_id: u32,
    next_form: u64,
    /// Counts changes to the list of screens.
    edition: u64,
    /// The newest frames of one number that all screens had which are drawn on.
    set: Option<(u64, Vec<(u32, Bytes)>)>,
    viewers: BTreeMap<u64, Viewer>,
    next_viewer: u64,
    /// Frames that viewers missed, of viewers that are gone as well.
    missed: u64,
    closed: bool,
}

#[derive(Debug)]
struct Screen {
    id: u32,
    geometry: Geometry,
    /// Which of the forms that screens ever had.
    form: u64,
    drawn: bool,
    number: u64,
    broken: u64,
    newest: Bytes,
}

#[derive(Debug, Default)]
struct Viewer {
    edition: u64,
    /// The number of the newest frame that it was sent, by screen.
    sent: BTreeMap<u32, u64>,
    /// What is sent next, at most a frame of each screen.
    line: VecDeque<(u32, Bytes)>,
    unanswered: usize,
    waits_since: Option<Instant>,
    pong: Option<Bytes>,
    gone: bool,
}

/// What a viewer is sent next.
#[derive(Debug, PartialEq)]
pub(crate) enum Next {
    List(String),
    Frame(Bytes),
    Pong(Bytes),
    Over,
}

/// What is there.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Figures {
    /// Frames shown and frames broken off, by the name of the screen.
    pub frames: BTreeMap<String, (u64, u64)>,
    /// Who looks.
    pub viewers: usize,
    /// Frames that a viewer was not sent, as it had not taken earlier ones.
    pub missed: u64,
}

impl Default for Screens {
    fn default() -> Self {
        Self(Arc::new(Hub {
            state: Mutex::default(),
            changed: Condvar::new(),
            origin: Instant::now(),
        }))
    }
}

fn named(name: &str) -> Result<(), Error> {
    let fits = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
    match (1..=64).contains(&name.len()) && name.chars().all(fits) {
        true => Ok(()),
        false => Err(Error::Name(name.into())),
    }
}

impl Screens {
    /// No screens.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // What a thread that failed left is whole: nothing in here fails half way.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives a screen its form, a new one or one that is there, and clears it.
    ///
    /// # Errors
    /// A name or a form that cannot be; more screens than can be.
    pub fn set(&self, name: &str, geometry: Geometry) -> Result<(), Error> {
        named(name)?;
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

    /// Bytes that a screen takes when it is given this form: its newest frame, the one that is drawn
    /// beside it, and those that are drawn still for forms that it had.
    #[must_use]
    pub fn needs(&self, name: &str, geometry: &Geometry) -> u64 {
        let painting_bytes = self.state().painting_bytes.get(name).copied().unwrap_or(0);
        painting_bytes.saturating_add(2 * geometry.frame_bytes())
    }

    /// Bytes that screens take, by name. Beside them viewers have frames that were the newest.
    #[must_use]
    pub fn sizes(&self) -> BTreeMap<String, u64> {
        let state = self.state();
        let mut sizes = state.painting_bytes.clone();
        for (name, screen) in &state.screens {
            let frame = screen.geometry.frame_bytes();
            // One that is drawn on has its second frame among those that are drawn.
            let more = if screen.drawn { frame } else { 2 * frame };
            *sizes.entry(name.clone()).or_default() += more;
        }
        sizes
    }

    /// Clears a screen: it is black, and its counts are 0. Who draws on it goes on.
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

    /// Takes a screen away; false if somebody draws on it.
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

    /// The form of a screen.
    ///
    /// # Errors
    /// [`Error::NoScreen`].
    pub fn geometry(&self, name: &str) -> Result<Geometry, Error> {
        let state = self.state();
        let screen = state.screens.get(name);
        let geometry = screen.map(|screen| screen.geometry);
        geometry.ok_or_else(|| state.no_screen(name))
    }

    /// Begins to draw on a screen.
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

    /// What is there.
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

    /// Shows a frame that was made for this form of the screen.
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
        // Screens on which nobody draws stand still, and nobody waits for them.
        let drawn = || state.screens.values().filter(|one| one.drawn);
        if drawn().all(|one| one.number == number) {
            let all = drawn().map(|one| (one.id, one.newest.clone()));
            state.set = Some((number, all.collect()));
        }
        self.0.changed.notify_all();
        Ok(())
    }

    pub(crate) fn broken(&self, name: &str) {
        if let Some(screen) = self.state().screens.get_mut(name) {
            screen.broken += 1;
        }
    }

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

    /// Lets a viewer in, if there are not as many as can be.
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

    pub(crate) fn exit(&self, viewer: u64) {
        self.state().viewers.remove(&viewer);
    }

    /// A viewer has taken a frame; false if it was sent none that it has not answered.
    pub(crate) fn taken(&self, viewer: u64) -> bool {
        self.update_viewer(viewer, |it| match it.unanswered.checked_sub(1) {
            Some(rest) => {
                it.unanswered = rest;
                true
            }
            None => false,
        })
    }

    /// A viewer wants to be answered.
    pub(crate) fn pinged(&self, viewer: u64, what: Bytes) {
        self.update_viewer(viewer, |it| {
            it.pong = Some(what);
            true
        });
    }

    /// A viewer is gone, or sends what it should not.
    pub(crate) fn gone(&self, viewer: u64) {
        self.update_viewer(viewer, |it| {
            it.gone = true;
            true
        });
    }

    fn update_viewer(&self, viewer: u64, what: impl FnOnce(&mut Viewer) -> bool) -> bool {
        let mut state = self.state();
        let done = state.viewers.get_mut(&viewer).is_some_and(what);
        self.0.changed.notify_all();
        done
    }

    /// All viewers are sent away.
    pub(crate) fn close(&self) {
        self.state().closed = true;
        self.0.changed.notify_all();
    }

    pub(crate) fn open(&self) {
        self.state().closed = false;
    }

    /// What a viewer is sent next. Waits until there is something.
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
    fn no_screen(&self, name: &str) -> Error {
        Error::NoScreen(name.into(), self.screens.keys().cloned().collect())
    }

    /// A screen is black now, and frames that were shown together are none any more.
    fn cleared(&mut self, id: u32) {
        self.edition += 1;
        self.set = None;
        for viewer in self.viewers.values_mut() {
            viewer.sent.remove(&id);
            // Old frames of it may stand in line.
            viewer.line.retain(|(of, _)| *of != id);
        }
    }

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
    /// Lines up a frame of each screen: those that were there together, or the newest ones of
    /// screens that do not go in step. How many it was never sent in between.
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

    fn add(&mut self, id: u32, number: u64, frame: &Bytes) -> u64 {
        self.line.push_back((id, frame.clone()));
        let before = self.sent.insert(id, number);
        before.map_or(0, |before| number.saturating_sub(before + 1))
    }
}

impl isthmus_stream_net::Screens for Screens {
    fn draw(&self, name: &str) -> Result<Box<dyn isthmus_stream_net::Screen>, String> {
        let painter = Self::draw(self, name).map_err(|error| error.to_string())?;
        Ok(Box::new(painter))
    }
}
