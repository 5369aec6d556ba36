//! Sockets of those who have not said who they are.
//!
//! They have places of their own, apart from sessions, so that silent sockets cannot keep out clients:
//! if all places are taken, a new socket takes the place of another stranger.

use crate::error::{Error, Result};
use crate::wire::{Moved, Peer, Wire, peek};
use rustix::net::{Shutdown, shutdown};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Strangers at a time: of all, and of one origin.
const MOST: usize = 128;
const MOST_OF_ONE: usize = 64;

/// How long one who has said something keeps its place.
const SPEAKS: Duration = Duration::from_secs(1);

/// How long a newcomer waits before it looks for a place again.
const AGAIN: Duration = Duration::from_millis(5);

/// Where a socket comes from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Origin {
    /// A user of this machine.
    User(u32),
    /// An address; of IPv6 the first 64 bits, which are one network's.
    Address(IpAddr),
}

impl Origin {
    fn of(peer: &Peer) -> Self {
        match peer {
            Peer::Unix { uid, .. } => Self::User(*uid),
            Peer::Tcp(address) => Self::Address(match address.ip().to_canonical() {
                IpAddr::V6(ip) => IpAddr::V6((ip.to_bits() >> 64 << 64).into()),
                ip => ip,
            }),
        }
    }
}

#[derive(Debug)]
struct Stranger {
    origin: Origin,
    since: Instant,
    spoke: bool,
    fd: OwnedFd,
}

impl Stranger {
    /// Whether nothing came of it, read or not.
    fn is_silent(&self) -> bool {
        !self.spoke && peek(&self.fd, &mut [0]) == Moved::None
    }
}

/// All strangers, by the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct Strangers {
    places: Mutex<BTreeMap<u64, Stranger>>,
    next: AtomicU64,
    dropped: AtomicU64,
}

impl Strangers {
    fn places(&self) -> MutexGuard<'_, BTreeMap<u64, Stranger>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.places().len()
    }

    /// How many have lost their places to others.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// A place for a new socket. Waits while all others speak, and no longer than each of them may.
    ///
    /// # Errors
    /// A system without descriptors.
    pub fn enter(self: &Arc<Self>, wire: &Wire) -> Result<Place> {
        let fd = wire.as_fd().try_clone_to_owned();
        let fd = fd.map_err(|error| Error::system("a new socket", error))?;
        let origin = Origin::of(&wire.peer);
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        loop {
            let mut places = self.places();
            if is_full(&places, origin) {
                let Some(last) = leaves(&places, origin) else {
                    drop(places);
                    std::thread::sleep(AGAIN);
                    continue;
                };
                if let Some(stranger) = places.remove(&last) {
                    self.dropped.fetch_add(1, Ordering::Relaxed);
                    dismiss(&stranger);
                }
            }
            let stranger = Stranger {
                origin,
                since: Instant::now(),
                spoke: false,
                fd,
            };
            places.insert(number, stranger);
            let strangers = Arc::clone(self);
            return Ok(Place { strangers, number });
        }
    }

    /// All are sent away.
    pub fn dismiss(&self) {
        let all = std::mem::take(&mut *self.places());
        all.values().for_each(dismiss);
    }
}

/// Its thread sees that no more comes, and can tell it why.
fn dismiss(stranger: &Stranger) {
    // One that is gone needs no word.
    let _ = shutdown(&stranger.fd, Shutdown::Read);
}

fn is_full(places: &BTreeMap<u64, Stranger>, origin: Origin) -> bool {
    let own = places.values().filter(|one| one.origin == origin).count();
    places.len() >= MOST || own >= MOST_OF_ONE
}

/// Who leaves for a newcomer: one of its own origin, if that has as many as it may, or of the origin
/// that has the most; the first that is silent, or else the first if it has spoken for long enough.
fn leaves(places: &BTreeMap<u64, Stranger>, newcomer: Origin) -> Option<u64> {
    let mut counts = BTreeMap::<Origin, usize>::new();
    for one in places.values() {
        *counts.entry(one.origin).or_default() += 1;
    }
    let own = counts.get(&newcomer).copied().unwrap_or(0);
    let origin = if own >= MOST_OF_ONE {
        newcomer
    } else {
        let most = counts.into_iter().max_by_key(|(_, count)| *count);
        most.map_or(newcomer, |(origin, _)| origin)
    };
    let theirs = || places.iter().filter(|(_, one)| one.origin == origin);
    let silent = theirs().find(|(_, one)| one.is_silent());
    let long = || {
        theirs()
            .next()
            .filter(|(_, one)| one.since.elapsed() >= SPEAKS)
    };
    silent.or_else(long).map(|(number, _)| *number)
}

/// The place of one stranger.
#[derive(Debug)]
pub(crate) struct Place {
    strangers: Arc<Strangers>,
    number: u64,
}

impl Place {
    /// Note that its first bytes have arrived.
    pub fn speaks(&self) {
        if let Some(stranger) = self.strangers.places().get_mut(&self.number) {
            stranger.spoke = true;
        }
    }

    /// It has said who it is, or left; false if it had to make room before.
    pub fn leave(self) -> bool {
        self.strangers.places().remove(&self.number).is_some()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.strangers.places().remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{SocketAddr, TcpListener, TcpStream};

    /// A socket that seems to come from an address, and its other end.
    fn from(address: &str) -> (Wire, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let theirs = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let ours = listener.accept().unwrap().0;
        let address = SocketAddr::new(address.parse().unwrap(), 1);
        (Wire::tcp(ours, address), theirs)
    }

    /// Sockets of one address, with their places.
    fn crowd(
        strangers: &Arc<Strangers>,
        address: &str,
        many: usize,
    ) -> Vec<(Wire, TcpStream, Place)> {
        let enter = |_| {
            let (wire, theirs) = from(address);
            let place = strangers.enter(&wire).unwrap();
            (wire, theirs, place)
        };
        (0..many).map(enter).collect()
    }

    /// Whether the thread of a socket would see its end.
    fn is_dropped(wire: &Wire) -> bool {
        peek(wire, &mut [0]) == Moved::End
    }

    #[test]
    fn the_first_silent_one_of_the_largest_origin_makes_room() {
        let strangers = Arc::new(Strangers::default());
        let few = crowd(&strangers, "10.0.0.1", 1);
        let mut many = crowd(&strangers, "10.0.0.2", MOST_OF_ONE);
        // The first has said something that is not read yet, and the second something that is.
        many[0].1.write_all(b"{").unwrap();
        many[1].2.speaks();
        while peek(&many[0].0, &mut [0]) == Moved::None {
            std::thread::yield_now();
        }
        // Too many of one address: one of these leaves.
        let more = crowd(&strangers, "10.0.0.2", 1);
        let left: Vec<_> = (0..4).map(|at| is_dropped(&many[at].0)).collect();
        assert_eq!(left, [false, false, true, false]);
        // Too many of all: the address with the most gives.
        let others = crowd(&strangers, "2001:db8::1", MOST - MOST_OF_ONE - 1);
        assert_eq!(strangers.count(), MOST);
        let last = crowd(&strangers, "10.0.0.3", 1);
        assert!(is_dropped(&many[3].0) && !is_dropped(&few[0].0));
        assert_eq!((strangers.count(), strangers.dropped()), (MOST, 2));
        // One network of IPv6 is one origin.
        drop(crowd(&strangers, "2001:db8::2", 1));
        assert_eq!(strangers.dropped(), 3);
        // Who was dropped is not let in, and the others are.
        let mut all = many.into_iter().map(|(_, _, place)| place.leave());
        assert!(all.next().is_some_and(|stayed| stayed));
        assert!(all.nth(1).is_some_and(|stayed| !stayed));
        drop((all, more, others, last, few));
        assert_eq!(strangers.count(), 0);
    }

    /// Where all have said something, a newcomer waits until the first has had its time.
    #[test]
    fn who_speaks_has_its_time() {
        let (strangers, began) = (Arc::new(Strangers::default()), Instant::now());
        let mut all = crowd(&strangers, "10.0.0.1", MOST_OF_ONE);
        all.iter().for_each(|(_, _, place)| place.speaks());
        let late = crowd(&strangers, "10.0.0.1", 1);
        assert!(began.elapsed() >= SPEAKS && is_dropped(&all[0].0));
        // Its socket still takes the refusal.
        all[0].0.write_all(b"why", Instant::now() + SPEAKS);
        let mut why = [0; 3];
        all[0].1.read_exact(&mut why).unwrap();
        assert_eq!(&why, b"why");
        strangers.dismiss();
        assert!(all.iter().all(|(wire, ..)| is_dropped(wire)));
        drop(late);
    }
}
