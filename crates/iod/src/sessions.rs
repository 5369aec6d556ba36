//! The sessions of all clients, as other threads see them: connections, keys and locks.

use isthmus_forward::message::Key;
use isthmus_forward::{Errno, Locks, Result};
use isthmus_wire::{Signal, Socket};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Wakes the thread of a connection.
#[derive(Debug)]
pub(crate) struct Waker {
    pub signal: Signal,
    is_replaced: AtomicBool,
}

impl Waker {
    /// Create the waker of a new connection.
    pub fn new() -> std::io::Result<Self> {
        Ok(Self {
            signal: Signal::new()?,
            is_replaced: AtomicBool::new(false),
        })
    }

    /// Return whether the client goes on over another connection: the thread carries out no further request.
    pub fn is_replaced(&self) -> bool {
        self.is_replaced.load(Ordering::SeqCst)
    }
}

/// A session and its connection.
#[derive(Debug)]
struct Entry {
    socket: Socket,
    waker: Arc<Waker>,
    /// The key by which its client takes it up again.
    key: Option<Key>,
    /// The session that gets its locks.
    successor: Option<u32>,
}

/// Keeps a session: its key and its locks. The thread of its connection has one, and each write that it has
/// started. Dropping the last one ends the session.
#[derive(Debug)]
pub(crate) struct Membership {
    sessions: Arc<Sessions>,
    session: u32,
}

impl Drop for Membership {
    /// Release the locks of the session, or give them to its successor.
    fn drop(&mut self) {
        let sessions = &self.sessions;
        let mut entries = sessions.entries();
        let ended = entries.remove(&self.session);
        match ended.and_then(|entry| entry.successor) {
            Some(successor) => sessions.locks().move_session(self.session, successor),
            None => sessions.locks().end_session(self.session),
        }
        sessions.ended.notify_all();
    }
}

/// The sessions of all clients. The entries may be locked before the locks, not after them.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    entries: Mutex<BTreeMap<u32, Entry>>,
    /// Wakes those who wait for the end of a session.
    ended: Condvar,
    locks: Mutex<Locks<(u64, u64)>>,
    is_ending: AtomicBool,
}

impl Sessions {
    /// Return the locks of byte ranges of files, locked.
    pub fn locks(&self) -> MutexGuard<'_, Locks<(u64, u64)>> {
        self.locks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Return the entries by session, locked.
    fn entries(&self) -> MutexGuard<'_, BTreeMap<u32, Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Add a session.
    pub fn add(
        sessions: &Arc<Self>,
        session: u32,
        socket: Socket,
        waker: Arc<Waker>,
    ) -> Arc<Membership> {
        let mut entries = sessions.entries();
        if sessions.is_ending() {
            socket.close_reading();
        }
        let entry = Entry {
            socket,
            waker,
            key: None,
            successor: None,
        };
        entries.insert(session, entry);
        let sessions = Arc::clone(sessions);
        Arc::new(Membership { sessions, session })
    }

    /// Give a session a key, and end those that have it. Return whether there were any: their locks belong to this
    /// one then, and none of their requests changes anything.
    ///
    /// # Errors
    /// [`Errno::IO`] if one has not ended within `timeout`, or this one has to end. It has no key then.
    pub fn resume(&self, session: u32, key: Key, timeout: Duration) -> Result<bool> {
        let mut entries = self.entries();
        let mut is_known = false;
        for (of, entry) in entries.iter_mut() {
            if *of == session {
                entry.key = Some(key);
            } else if entry.key == Some(key) {
                is_known = true;
                entry.successor = Some(session);
                entry.waker.is_replaced.store(true, Ordering::SeqCst);
                entry.waker.signal.set();
                entry.socket.close();
            }
        }
        // One of them may be waiting here.
        self.ended.notify_all();
        let has_others = |entries: &mut BTreeMap<u32, Entry>| {
            let mut all = entries.iter();
            all.any(|(of, entry)| *of != session && entry.key == Some(key))
        };
        let waits = |entries: &mut BTreeMap<u32, Entry>| {
            let is_replaced = |own: &Entry| own.waker.is_replaced();
            has_others(entries) && !entries.get(&session).is_some_and(is_replaced)
        };
        let waited = self.ended.wait_timeout_while(entries, timeout, waits);
        let (mut entries, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if !has_others(&mut entries) {
            return Ok(is_known);
        }
        for (of, entry) in entries.iter_mut() {
            if *of == session {
                entry.key = None;
            } else if entry.successor == Some(session) {
                entry.successor = None;
            }
        }
        self.ended.notify_all();
        Err(Errno::IO)
    }

    /// Close all connections for reading, so that sessions end after the requests received so far.
    pub fn end(&self) {
        self.is_ending.store(true, Ordering::SeqCst);
        let entries = self.entries();
        entries
            .values()
            .for_each(|entry| entry.socket.close_reading());
    }

    /// Return whether the daemon ends.
    pub fn is_ending(&self) -> bool {
        self.is_ending.load(Ordering::SeqCst)
    }

    /// Close the connections of sessions that have not ended.
    pub fn close(&self) {
        let entries = self.entries();
        entries.values().for_each(|entry| entry.socket.close());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isthmus_forward::{Holder, Lock, LockMode};
    use std::os::unix::net::UnixStream;
    use std::time::Instant;

    const KEY: Key = Key([1; 16]);

    /// Returns the membership of a session, which has a lock.
    fn add(sessions: &Arc<Sessions>, session: u32) -> Arc<Membership> {
        let (socket, _) = UnixStream::pair().unwrap();
        let waker = Arc::new(Waker::new().unwrap());
        Sessions::add(sessions, session, socket.into(), waker)
    }

    /// Locks the file for a session. Returns whether that is possible.
    fn lock(sessions: &Sessions, session: u32) -> bool {
        let holder = Holder {
            session,
            process: 1,
            client: Vec::new(),
        };
        let (mode, start, end) = (LockMode::Exclusive, 0, 1);
        let wanted = Lock {
            holder,
            mode,
            start,
            end,
        };
        sessions.locks().lock((0, 0), wanted).unwrap()
    }

    /// Checks that a session whose requests do not end in time is not taken up, and is when they have ended.
    #[test]
    fn a_session_is_taken_up_after_its_requests() {
        let (sessions, soon) = (Arc::default(), Duration::from_millis(50));
        let old = add(&sessions, 1);
        assert_eq!(sessions.resume(1, KEY, soon), Ok(false));
        assert!(lock(&sessions, 1));
        let other = add(&sessions, 2);
        assert_eq!(sessions.resume(2, Key([2; 16]), soon), Ok(false));
        let next = add(&sessions, 3);
        assert_eq!(sessions.resume(3, KEY, soon), Err(Errno::IO));
        assert!(!lock(&sessions, 3));
        std::thread::scope(|scope| {
            scope.spawn(move || {
                std::thread::sleep(soon);
                drop(old);
            });
            let long = Duration::from_secs(20);
            assert_eq!(sessions.resume(3, KEY, long), Ok(true));
        });
        assert!(lock(&sessions, 3) && !lock(&sessions, 2));
        // A session that could not take it up does not get its locks.
        let last = add(&sessions, 4);
        assert_eq!(sessions.resume(4, KEY, soon), Err(Errno::IO));
        drop(next);
        assert!(lock(&sessions, 2));
        assert_eq!(sessions.resume(4, KEY, soon), Ok(false));
        drop((other, last));
        assert_eq!(sessions.locks().count(), 0);
    }

    /// Checks that of two connections that wait for the same session, the later one gets it, and the other one
    /// does not wait any longer.
    #[test]
    fn the_last_connection_gets_the_session() {
        let (sessions, long) = (Arc::<Sessions>::default(), Duration::from_secs(20));
        let old = add(&sessions, 1);
        assert_eq!(sessions.resume(1, KEY, long), Ok(false));
        assert!(lock(&sessions, 1));
        let started = Instant::now();
        std::thread::scope(|scope| {
            let waits = |session| {
                let membership = add(&sessions, session);
                let sessions = &sessions;
                let thread = scope.spawn(move || {
                    let result = sessions.resume(session, KEY, long);
                    (result, membership)
                });
                while !sessions
                    .entries()
                    .get(&session)
                    .is_some_and(|own| own.key == Some(KEY))
                {
                    std::thread::yield_now();
                }
                thread
            };
            let first = waits(9);
            let second = waits(5);
            assert_eq!(first.join().unwrap().0, Err(Errno::IO));
            drop(old);
            let (result, _membership) = second.join().unwrap();
            assert_eq!(result, Ok(true));
            assert!(lock(&sessions, 5));
        });
        assert!(started.elapsed() < long);
        assert_eq!(sessions.locks().count(), 0);
    }
}
