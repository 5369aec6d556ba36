//! Accepts peers for connections that wait for them. `raw:accept:ADDRESS` waits for a peer whose
//! first packet shows the connection's channel, `tcp:accept:ADDRESS` for any peer. Several
//! connections with different channels may wait at one address; the port closes when none waits any
//! more. `udp:accept:ADDRESS` has a port of its own and waits for a datagram that shows the
//! channel; the sender of that datagram becomes the peer.

use crate::refusal::refusal;
use crate::shared::Shared;
use crate::state::{PendingAccept, State};
use isthmus_nic_protocol::{Refusal, RefusalKind};
use isthmus_stream::ConnectionId;
use isthmus_stream::wire::Header;
use isthmus_wire::{Moved, Socket, bind_udp, listen_tcp};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt;
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

/// Time within which a peer must show a channel in its first packet. A peer whose channel is not
/// expected stays connected for the same time.
const CHANNEL_TIMEOUT: Duration = Duration::from_secs(10);

/// Interval at which the accepting thread checks whether a connection still waits for a peer.
const TICK: Duration = Duration::from_millis(100);

/// Requested size in bytes of the kernel's receive buffer, for datagrams that arrive before their
/// connection uses the socket.
const RECEIVE_BUFFER_BYTES: usize = 4 << 20;

/// Maximum number of peers per address that have not shown their channel.
const MAX_PEERS: usize = 64;

impl PendingAccept {
    /// Return whether the connection waits for a TCP peer at this address with this channel.
    fn accepts(&self, address: SocketAddr, channel: Option<u32>) -> bool {
        !self.datagrams && (self.address, self.channel) == (address, channel)
    }
}

impl State {
    /// Stop waiting for a peer: the connection has one or is gone. Returns whether it was waiting.
    pub fn stop_waiting(&mut self, id: ConnectionId) -> bool {
        let Some(pending) = self.accepting.remove(&id) else {
            return false;
        };
        if !pending.datagrams {
            self.release_address(pending.address);
        }
        true
    }

    /// Remove the first waiting connection that `matches`, and return the name of the socket that
    /// the driver connects it to.
    fn take_accept(&mut self, matches: impl Fn(&PendingAccept) -> bool) -> Option<String> {
        let (id, _) = self.accepting.iter().find(|(_, one)| matches(one))?;
        let id = *id;
        self.stop_waiting(id);
        self.connections.get(&id)?.given.clone()
    }

    /// Return the channel that a peer's datagrams must show at an address, if a connection waits
    /// there.
    fn datagrams_at(&self, address: SocketAddr) -> Option<u32> {
        let mut all = self.accepting.values();
        let pending = all.find(|one| one.datagrams && one.address == address);
        pending.filter(|_| !self.ending)?.channel
    }

    /// Subtract one from the number of connections that wait for peers at an address.
    pub fn release_address(&mut self, address: SocketAddr) {
        if let Some(users) = self.listening.get_mut(&address) {
            *users = users.saturating_sub(1);
        }
    }
}

/// Listen at an address for the peer of one more connection. Returns the address with the actual
/// port.
pub(crate) fn listen(shared: &Shared, at: SocketAddr) -> Result<SocketAddr, Refusal> {
    let refused = |error: std::io::Error| {
        let text = format!("listening at {at}: {error}");
        refusal(RefusalKind::Conflict, text)
    };
    // Ports are bound and released under the lock, so that a released port is always free to bind.
    let mut state = shared.hub.state();
    if let Some(users) = state.listening.get_mut(&at) {
        *users += 1;
        return Ok(at);
    }
    let listener = listen_tcp(at).map_err(refused)?;
    let address = listener.local_addr().map_err(refused)?;
    listener.set_nonblocking(true).map_err(refused)?;
    let own = shared.clone();
    let thread = std::thread::Builder::new().name("nic-accept".into());
    let thread = thread.spawn(move || serve(&own, address, listener));
    thread.map_err(refused)?;
    state.listening.insert(address, 1);
    Ok(address)
}

/// A connected peer that has not been assigned to a connection.
struct Peer {
    socket: Socket,
    from: SocketAddr,
    until: Instant,
    channel: Option<u32>,
    /// Whether a part of the peer's header has arrived, so that polling the socket would return at
    /// once.
    has_data: bool,
}

/// Accept peers at one address, and pass each to the connection that waits for it.
fn serve(shared: &Shared, address: SocketAddr, listener: TcpListener) {
    let mut peers: Vec<Peer> = Vec::new();
    loop {
        {
            let mut state = shared.hub.state();
            let users = state.listening.get(&address).copied();
            if state.ending || users.is_none_or(|users| users == 0) {
                state.listening.remove(&address);
                drop(listener);
                return;
            }
        }
        sleep(&listener, &peers);
        loop {
            let (socket, from) = match listener.accept() {
                Ok(accepted) => accepted,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => {
                    // Accepting failed, for example because no file descriptor is free. Wait and
                    // try again.
                    std::thread::sleep(TICK);
                    break;
                }
            };
            let peer = Peer {
                socket: socket.into(),
                from,
                until: Instant::now() + CHANNEL_TIMEOUT,
                channel: None,
                has_data: false,
            };
            if peers.len() == MAX_PEERS {
                // The oldest silent peer is closed, so that silent peers cannot keep out the
                // others.
                let silent = peers.iter().position(|peer| !peer.has_data);
                let first = peers.remove(silent.unwrap_or(0));
                first.refused(shared, address, "others come, and it shows no channel");
            }
            peers.push(peer);
        }
        let now = Instant::now();
        let mut waiting = Vec::new();
        for mut peer in peers {
            if is_awaited(shared, address, None) {
                peer.log(shared, address, "plain bytes");
                hand_over(shared, address, None, peer.socket);
            } else if !peer.read_channel() {
                peer.refused(shared, address, "it left, or speaks no packets");
            } else if let Some(channel) = peer
                .channel
                .filter(|it| is_awaited(shared, address, Some(*it)))
            {
                peer.log(shared, address, &format!("channel {channel}"));
                hand_over(shared, address, Some(channel), peer.socket);
            } else if peer.until <= now {
                peer.refused(shared, address, "it shows no channel that is waited for");
            } else {
                waiting.push(peer);
            }
        }
        peers = waiting;
    }
}

/// Sleep until a peer connects or sends, or for one `TICK`.
fn sleep(listener: &TcpListener, peers: &[Peer]) {
    let mut fds = vec![PollFd::new(listener, PollFlags::IN)];
    let silent = peers.iter().filter(|peer| !peer.has_data);
    fds.extend(silent.map(|peer| PollFd::from_borrowed_fd(peer.socket.as_fd(), PollFlags::IN)));
    let tick = Timespec::try_from(TICK).ok();
    // If a signal interrupts the call, the caller checks everything again as after a timeout.
    let _ = poll(&mut fds, tick.as_ref());
}

impl Peer {
    /// Log the result of accepting the peer.
    fn log(&self, shared: &Shared, at: SocketAddr, result: &str) {
        let what = format!("peer at {at}");
        shared
            .hub
            .log()
            .record(&self.from.to_string(), &what, result);
    }

    /// Log and count the refusal of the peer, for this reason.
    fn refused(&self, shared: &Shared, at: SocketAddr, why: &str) {
        shared
            .hub
            .gate
            .log_refusal(&self.from.to_string(), &format!("peer at {at}"), why);
        shared.hub.state().counters.refused += 1;
    }

    /// Read the channel number from the header that the peer has sent so far, and leave the data in
    /// the socket. Returns false if the data is invalid.
    fn read_channel(&mut self) -> bool {
        let mut head = [0; Header::BYTES];
        match self.socket.peek(&mut head) {
            Ok(Moved::End) | Err(_) => false,
            Ok(Moved::Some(Header::BYTES)) => match Header::decode(&head) {
                Ok(header) => {
                    self.has_data = true;
                    self.channel = Some(header.channel);
                    true
                }
                Err(_) => false,
            },
            Ok(Moved::Some(_)) => {
                self.has_data = true;
                true
            }
            Ok(Moved::None) => true,
        }
    }
}

/// A UDP port that was bound for a connection. The caller must drop it once the connection is
/// registered or refused.
pub(crate) struct Bound {
    pub address: SocketAddr,
    /// Wakes the thread that waits for datagrams on the port when it is dropped.
    _known: Sender<()>,
}

/// Bind a port for one connection whose peer sends datagrams.
pub(crate) fn bind(shared: &Shared, at: SocketAddr) -> Result<Bound, Refusal> {
    let refused = |error: std::io::Error| {
        let text = format!("waiting for datagrams at {at}: {error}");
        refusal(RefusalKind::Conflict, text)
    };
    let started = Instant::now();
    let socket = loop {
        match bind_udp(at) {
            // Try again: another connection may have just stopped waiting at this address, and its
            // thread may still hold the port.
            Err(error) if error.kind() == ErrorKind::AddrInUse && started.elapsed() < 3 * TICK => {
                std::thread::sleep(TICK / 10);
            }
            bound => break bound.map_err(refused)?,
        }
    };
    // Ignore an error: with a smaller buffer more datagrams are lost, which are repaired or
    // reported as missing.
    let _ = sockopt::set_socket_recv_buffer_size(&socket, RECEIVE_BUFFER_BYTES);
    let address = socket.local_addr().map_err(refused)?;
    socket.set_nonblocking(true).map_err(refused)?;
    let (known, knows) = channel();
    let own = shared.clone();
    let thread = std::thread::Builder::new().name("nic-accept".into());
    let thread = thread.spawn(move || {
        // Wait until the connection drops its sender: `recv` then returns, and this thread reads
        // the datagrams.
        let _ = knows.recv();
        datagrams(&own, address, socket);
    });
    thread.map_err(refused)?;
    Ok(Bound {
        address,
        _known: known,
    })
}

/// Wait for a datagram with the expected channel number, until no connection waits for one.
/// Datagrams of other senders that arrive meanwhile stay queued in the socket; later the stream
/// manager refuses them.
fn datagrams(shared: &Shared, address: SocketAddr, socket: UdpSocket) {
    let mut head = [0; Header::BYTES];
    let mut rejected = 0;
    loop {
        let wanted = match shared.hub.state().datagrams_at(address) {
            Some(channel) => channel,
            None => return,
        };
        let mut fds = [PollFd::new(&socket, PollFlags::IN)];
        // If a signal interrupts the call, the loop checks again as after a timeout.
        let _ = poll(&mut fds, Timespec::try_from(TICK).ok().as_ref());
        let Ok((len, from)) = socket.peek_from(&mut head) else {
            continue;
        };
        let header = Header::decode(&head[..len]).ok();
        let log = |result: &str| {
            let what = format!("datagram at {address}");
            shared.hub.log().record(&from.to_string(), &what, result);
        };
        if header.is_none_or(|header| header.channel != wanted) {
            // Remove a datagram without the expected channel, because it would block those behind
            // it.
            let _ = socket.recv_from(&mut head);
            rejected += 1;
            if rejected == 1 {
                log("refused: it shows no channel that is waited for; more such are not reported");
            }
            continue;
        }
        if let Err(error) = socket.connect(from) {
            log(&format!("refused: {error}"));
            let _ = socket.recv_from(&mut head);
            continue;
        }
        log(&format!("channel {wanted}"));
        let hub = Arc::clone(&shared.hub);
        // Ignore an error: the call fails only if the driver thread has ended, and then no
        // connection waits.
        let _ = shared.client.call(move |driver| {
            let mut state = hub.state();
            if let Some(name) = state.take_accept(|one| one.datagrams && one.address == address) {
                driver.provide_datagrams(&name, socket);
            }
        });
        return;
    }
}

/// Return whether a connection waits for a TCP peer at this address with this channel.
fn is_awaited(shared: &Shared, address: SocketAddr, channel: Option<u32>) -> bool {
    let state = shared.hub.state();
    let mut all = state.accepting.values();
    all.any(|pending| pending.accepts(address, channel))
}

/// Give the socket of a peer to the connection that waits for this peer, if it still waits.
fn hand_over(shared: &Shared, address: SocketAddr, channel: Option<u32>, socket: Socket) {
    let hub = Arc::clone(&shared.hub);
    // Ignore an error: the call fails only if the driver thread has ended, and then no connection
    // waits.
    let _ = shared.client.call(move |driver| {
        let mut state = hub.state();
        if let Some(name) = state.take_accept(|one| one.accepts(address, channel)) {
            driver.provide_socket(&name, socket);
        }
    });
}
