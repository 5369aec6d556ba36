//! Limits the connections whose clients have not authenticated.
//!
//! These connections have slots separate from those of sessions, so that silent connections cannot
//! keep out clients: when all slots are in use, a new connection replaces another one.

use isthmus_wire::{Error, Moved, Peer, Result, Socket, Transport};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Maximum number of unauthenticated connections at a time from all origins.
const LIMIT: usize = 128;
/// Maximum number of unauthenticated connections at a time from one origin.
const LIMIT_OF_ONE: usize = 64;

/// Time for which a connection keeps its slot after its first bytes have arrived.
const ACTIVE: Duration = Duration::from_secs(1);

/// Interval at which a new connection tries again to get a slot.
const RETRY: Duration = Duration::from_millis(5);

/// The origin of a connection, to which a limit on connections applies.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Origin {
    /// A user of this machine, by user ID, for connections over Unix sockets.
    User(u32),
    /// An address; of an IPv6 address only the first 64 bits, which are the same within a network.
    Address(IpAddr),
}

impl Origin {
    /// Return the origin of the peer of a connection.
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

/// An unauthenticated connection that occupies a slot.
#[derive(Debug)]
struct Connection {
    origin: Origin,
    since: Instant,
    has_spoken: bool,
    socket: Socket,
}

impl Connection {
    /// Return whether no bytes of the connection have arrived, read or unread.
    fn is_silent(&self) -> bool {
        !self.has_spoken && matches!(self.socket.peek(&mut [0]), Ok(Moved::None))
    }
}

/// All connections whose clients have not authenticated, in the order of their arrival.
#[derive(Debug, Default)]
pub(crate) struct Unauthenticated {
    slots: Mutex<BTreeMap<u64, Connection>>,
    next: AtomicU64,
    dropped: AtomicU64,
}

impl Unauthenticated {
    /// Return the connections by slot number, locked.
    fn slots(&self) -> MutexGuard<'_, BTreeMap<u64, Connection>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Return the number of unauthenticated connections.
    pub fn count(&self) -> usize {
        self.slots().len()
    }

    /// Return the number of unauthenticated connections that were closed to make room for others.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Allocate a slot for a new connection. While all others are active this waits, at most
    /// [`ACTIVE`].
    ///
    /// # Errors
    /// The system has no free file descriptor.
    pub fn enter(self: &Arc<Self>, transport: &Transport) -> Result<Slot> {
        let socket = transport.try_clone_socket();
        let socket = socket.map_err(|error| Error::system("a new socket", error))?;
        let origin = Origin::of(transport.peer());
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        loop {
            let mut slots = self.slots();
            if is_full(&slots, origin) {
                let Some(last) = choose(&slots, origin) else {
                    drop(slots);
                    std::thread::sleep(RETRY);
                    continue;
                };
                if let Some(connection) = slots.remove(&last) {
                    self.dropped.fetch_add(1, Ordering::Relaxed);
                    dismiss(&connection);
                }
            }
            let connection = Connection {
                origin,
                since: Instant::now(),
                has_spoken: false,
                socket,
            };
            slots.insert(number, connection);
            let all = Arc::clone(self);
            return Ok(Slot { all, number });
        }
    }

    /// Close all unauthenticated connections.
    pub fn dismiss(&self) {
        let all = std::mem::take(&mut *self.slots());
        all.values().for_each(dismiss);
    }
}

/// Close a connection for reading: its thread gets the end of the data, and can still send the
/// reason to the client.
fn dismiss(connection: &Connection) {
    connection.socket.close_reading();
}

/// Return whether all slots, or all slots of one origin, are in use.
fn is_full(slots: &BTreeMap<u64, Connection>, origin: Origin) -> bool {
    let own = slots.values().filter(|one| one.origin == origin).count();
    slots.len() >= LIMIT || own >= LIMIT_OF_ONE
}

/// Choose the unauthenticated connection that is closed for a new one. It has the same origin if
/// that has reached its limit, otherwise the origin with the most connections. Of these it is the
/// first silent connection, or if none is silent, the first one if it was active for long enough.
fn choose(slots: &BTreeMap<u64, Connection>, newcomer: Origin) -> Option<u64> {
    let mut counts = BTreeMap::<Origin, usize>::new();
    for one in slots.values() {
        *counts.entry(one.origin).or_default() += 1;
    }
    let own = counts.get(&newcomer).copied().unwrap_or(0);
    let origin = if own >= LIMIT_OF_ONE {
        newcomer
    } else {
        let most = counts.into_iter().max_by_key(|(_, count)| *count);
        most.map_or(newcomer, |(origin, _)| origin)
    };
    let of_origin = || slots.iter().filter(|(_, one)| one.origin == origin);
    let silent = of_origin().find(|(_, one)| one.is_silent());
    let long = || {
        of_origin()
            .next()
            .filter(|(_, one)| one.since.elapsed() >= ACTIVE)
    };
    silent.or_else(long).map(|(number, _)| *number)
}

/// The slot of an unauthenticated connection, which is free again when this is dropped.
#[derive(Debug)]
pub struct Slot {
    all: Arc<Unauthenticated>,
    number: u64,
}

impl Slot {
    /// Record that the first bytes of the connection have arrived.
    pub fn mark_active(&self) {
        if let Some(connection) = self.all.slots().get_mut(&self.number) {
            connection.has_spoken = true;
        }
    }

    /// Release the slot, because the client has authenticated or is gone. Return `false` if the
    /// connection was closed before, to make room for another one.
    #[must_use]
    pub fn leave(self) -> bool {
        self.all.slots().remove(&self.number).is_some()
    }
}

impl Drop for Slot {
    /// Free the slot of the connection.
    fn drop(&mut self) {
        self.all.slots().remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{SocketAddr, TcpListener, TcpStream};

    /// Return a connection whose peer address is `address`, and its other end.
    fn from(address: &str) -> (Transport, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let remote = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let local = listener.accept().unwrap().0;
        let address = SocketAddr::new(address.parse().unwrap(), 1);
        (Transport::tcp(local, address), remote)
    }

    /// Return several connections of one address, with their slots.
    fn crowd(
        shared: &Arc<Unauthenticated>,
        address: &str,
        many: usize,
    ) -> Vec<(Transport, TcpStream, Slot)> {
        let enter = |_| {
            let (transport, remote) = from(address);
            let slot = shared.enter(&transport).unwrap();
            (transport, remote, slot)
        };
        (0..many).map(enter).collect()
    }

    /// Return whether the connection was closed for reading: a reader gets the end of the data.
    fn is_dropped(transport: &Transport) -> bool {
        matches!(transport.peek(&mut [0]), Ok(Moved::End))
    }

    /// Checks that the first silent connection of the origin with the most connections is closed
    /// for a new connection.
    #[test]
    fn the_first_silent_one_of_the_largest_origin_makes_room() {
        let shared = Arc::new(Unauthenticated::default());
        let few = crowd(&shared, "10.0.0.1", 1);
        let mut many = crowd(&shared, "10.0.0.2", LIMIT_OF_ONE);
        // Bytes of the first connection wait to be read; those of the second were read.
        many[0].1.write_all(b"{").unwrap();
        many[1].2.mark_active();
        while matches!(many[0].0.peek(&mut [0]), Ok(Moved::None)) {
            std::thread::yield_now();
        }
        // One address has too many connections: one of them is closed.
        let more = crowd(&shared, "10.0.0.2", 1);
        let left: Vec<_> = (0..4).map(|at| is_dropped(&many[at].0)).collect();
        assert_eq!(left, [false, false, true, false]);
        // There are too many connections in total: one of the address with the most is closed.
        let others = crowd(&shared, "2001:db8::1", LIMIT - LIMIT_OF_ONE - 1);
        assert_eq!(shared.count(), LIMIT);
        let last = crowd(&shared, "10.0.0.3", 1);
        assert!(is_dropped(&many[3].0) && !is_dropped(&few[0].0));
        assert_eq!((shared.count(), shared.dropped()), (LIMIT, 2));
        // One IPv6 network is one origin.
        drop(crowd(&shared, "2001:db8::2", 1));
        assert_eq!(shared.dropped(), 3);
        // A connection that was closed is not admitted; the others are.
        let mut left = many.into_iter().map(|(_, _, slot)| slot.leave());
        assert!(left.next().is_some_and(|stayed| stayed));
        assert!(left.nth(1).is_some_and(|stayed| !stayed));
        drop((left, more, others, last, few));
        assert_eq!(shared.count(), 0);
    }

    /// Checks that a new connection waits until the time of the first one is over when all
    /// connections are active.
    #[test]
    fn an_active_connection_keeps_its_slot_for_a_time() {
        let (shared, started) = (Arc::new(Unauthenticated::default()), Instant::now());
        let mut all = crowd(&shared, "10.0.0.1", LIMIT_OF_ONE);
        all.iter().for_each(|(_, _, slot)| slot.mark_active());
        let late = crowd(&shared, "10.0.0.1", 1);
        assert!(started.elapsed() >= ACTIVE && is_dropped(&all[0].0));
        // The refusal can still be sent.
        assert!(all[0].0.write_all(b"why", Instant::now() + ACTIVE));
        let mut why = [0; 3];
        all[0].1.read_exact(&mut why).unwrap();
        assert_eq!(&why, b"why");
        shared.dismiss();
        assert!(all.iter().all(|(transport, ..)| is_dropped(transport)));
        drop(late);
    }
}
