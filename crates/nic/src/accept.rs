//! Peers that come in: `raw:accept:ADDRESS` waits at an address for one whose first packet shows
//! the connection's channel, `tcp:accept:ADDRESS` for whoever comes. Several connections may wait at
//! one address, by different channels; the port is closed when none does. `udp:accept:ADDRESS` has
//! its port alone, and waits for a datagram that shows the channel: whence that came is its peer.

use crate::hub::{State, Waits};
use crate::refusal::refusal;
use crate::shared::Shared;
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

/// How long a peer may take to show a channel, and one that nobody waits for is kept.
const PATIENCE: Duration = Duration::from_secs(10);

/// How often it is looked whether anybody waits still.
const TICK: Duration = Duration::from_millis(100);

/// What the system is asked to keep of datagrams that have come before their connection is seated.
const KEPT: usize = 4 << 20;

/// Peers that have not shown their channel, at most at each address.
const PEERS: usize = 64;

impl Waits {
    /// Whether it waits for such a peer over TCP.
    fn takes(&self, address: SocketAddr, channel: Option<u32>) -> bool {
        !self.datagrams && (self.address, self.channel) == (address, channel)
    }
}

impl State {
    /// A connection waits no more: it has its peer, or is gone.
    pub fn stop_waiting(&mut self, id: ConnectionId) -> bool {
        let Some(waits) = self.accepting.remove(&id) else {
            return false;
        };
        if !waits.datagrams {
            self.leave_address(waits.address);
        }
        true
    }

    /// The first connection that waits for such a peer waits no more; the name of the socket that
    /// it is given.
    fn seated(&mut self, such: impl Fn(&Waits) -> bool) -> Option<String> {
        let (id, _) = self.accepting.iter().find(|(_, one)| such(one))?;
        let id = *id;
        self.stop_waiting(id);
        self.connections.get(&id)?.given.clone()
    }

    /// The channel that datagrams have to show at an address, if a connection waits for them there.
    fn datagrams_at(&self, address: SocketAddr) -> Option<u32> {
        let mut all = self.accepting.values();
        let waits = all.find(|one| one.datagrams && one.address == address);
        waits.filter(|_| !self.ending)?.channel
    }

    /// One less waits there.
    pub fn leave_address(&mut self, address: SocketAddr) {
        if let Some(users) = self.listening.get_mut(&address) {
            *users = users.saturating_sub(1);
        }
    }
}

/// Listens for one more connection; where, with the port as it is.
pub(crate) fn listen(shared: &Shared, at: SocketAddr) -> Result<SocketAddr, Refusal> {
    let refused = |error: std::io::Error| {
        let text = format!("listening at {at}: {error}");
        refusal(RefusalKind::Conflict, text)
    };
    // Ports are bound and given up under the lock, so that nobody finds one that is neither.
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

/// A peer, until when it is kept, and its channel once that is known.
struct Guest {
    socket: Socket,
    from: SocketAddr,
    until: Instant,
    channel: Option<u32>,
    /// Whether a part of its header is there, which a poll would tell again and again.
    begun: bool,
}

fn serve(shared: &Shared, address: SocketAddr, listener: TcpListener) {
    let mut guests: Vec<Guest> = Vec::new();
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
        sleep(&listener, &guests);
        loop {
            let (socket, from) = match listener.accept() {
                Ok(accepted) => accepted,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => {
                    // Descriptors may be there again soon.
                    std::thread::sleep(TICK);
                    break;
                }
            };
            let guest = Guest {
                socket: socket.into(),
                from,
                until: Instant::now() + PATIENCE,
                channel: None,
                begun: false,
            };
            if guests.len() == PEERS {
                // The oldest silent peer is closed, so that silent peers cannot keep out the others.
                let silent = guests.iter().position(|guest| !guest.begun);
                let first = guests.remove(silent.unwrap_or(0));
                first.refused(shared, address, "others come, and it shows no channel");
            }
            guests.push(guest);
        }
        let now = Instant::now();
        let mut left = Vec::new();
        for mut guest in guests {
            if waits(shared, address, None) {
                guest.log(shared, address, "plain bytes");
                seat(shared, address, None, guest.socket);
            } else if !guest.look() {
                guest.refused(shared, address, "it left, or speaks no packets");
            } else if let Some(channel) =
                guest.channel.filter(|it| waits(shared, address, Some(*it)))
            {
                guest.log(shared, address, &format!("channel {channel}"));
                seat(shared, address, Some(channel), guest.socket);
            } else if guest.until <= now {
                guest.refused(shared, address, "it shows no channel that is waited for");
            } else {
                left.push(guest);
            }
        }
        guests = left;
    }
}

/// Until somebody comes or says something, or it is time to look.
fn sleep(listener: &TcpListener, guests: &[Guest]) {
    let mut fds = vec![PollFd::new(listener, PollFlags::IN)];
    let mute = guests.iter().filter(|guest| !guest.begun);
    fds.extend(mute.map(|guest| PollFd::from_borrowed_fd(guest.socket.as_fd(), PollFlags::IN)));
    let tick = Timespec::try_from(TICK).ok();
    // Interrupted or not, all is looked at again.
    let _ = poll(&mut fds, tick.as_ref());
}

impl Guest {
    fn log(&self, shared: &Shared, at: SocketAddr, result: &str) {
        let what = format!("peer at {at}");
        shared
            .hub
            .log()
            .record(&self.from.to_string(), &what, result);
    }

    fn refused(&self, shared: &Shared, at: SocketAddr, why: &str) {
        shared
            .hub
            .gate
            .log_refusal(&self.from.to_string(), &format!("peer at {at}"), why);
        shared.hub.state().tally.refused += 1;
    }

    /// Looks at what it has sent so far, which stays in its socket; false if it is no peer.
    fn look(&mut self) -> bool {
        let mut head = [0; Header::BYTES];
        match self.socket.peek(&mut head) {
            Ok(Moved::End) | Err(_) => false,
            Ok(Moved::Some(Header::BYTES)) => match Header::decode(&head) {
                Ok(header) => {
                    self.begun = true;
                    self.channel = Some(header.channel);
                    true
                }
                Err(_) => false,
            },
            Ok(Moved::Some(_)) => {
                self.begun = true;
                true
            }
            Ok(Moved::None) => true,
        }
    }
}

/// A port of datagrams that is bound; dropped once it is known whether a connection waits there.
pub(crate) struct Bound {
    pub address: SocketAddr,
    /// Its thread looks when this is gone.
    _known: Sender<()>,
}

/// Binds a port for one connection, whose peer sends datagrams.
pub(crate) fn bind(shared: &Shared, at: SocketAddr) -> Result<Bound, Refusal> {
    let refused = |error: std::io::Error| {
        let text = format!("waiting for datagrams at {at}: {error}");
        refusal(RefusalKind::Conflict, text)
    };
    let begun = Instant::now();
    let socket = loop {
        match bind_udp(at) {
            // One that waited here may just have been closed, and its thread not have looked since.
            Err(error) if error.kind() == ErrorKind::AddrInUse && begun.elapsed() < 3 * TICK => {
                std::thread::sleep(TICK / 10);
            }
            bound => break bound.map_err(refused)?,
        }
    };
    // Less than that costs datagrams, which are repaired or told to be lost.
    let _ = sockopt::set_socket_recv_buffer_size(&socket, KEPT);
    let address = socket.local_addr().map_err(refused)?;
    socket.set_nonblocking(true).map_err(refused)?;
    let (known, knows) = channel();
    let own = shared.clone();
    let thread = std::thread::Builder::new().name("nic-accept".into());
    let thread = thread.spawn(move || {
        // Nothing is sent: it ends when the other side is gone.
        let _ = knows.recv();
        datagrams(&own, address, socket);
    });
    thread.map_err(refused)?;
    Ok(Bound {
        address,
        _known: known,
    })
}

/// Until a datagram has come that shows the channel which is waited for, or nobody waits. What others have sent
/// meanwhile stays behind it, and is the manager's to refuse.
fn datagrams(shared: &Shared, address: SocketAddr, socket: UdpSocket) {
    let mut head = [0; Header::BYTES];
    let mut strangers = 0;
    loop {
        let wanted = match shared.hub.state().datagrams_at(address) {
            Some(channel) => channel,
            None => return,
        };
        let mut fds = [PollFd::new(&socket, PollFlags::IN)];
        // Interrupted or not, it is looked again.
        let _ = poll(&mut fds, Timespec::try_from(TICK).ok().as_ref());
        let Ok((len, from)) = socket.peek_from(&mut head) else {
            continue;
        };
        let header = Header::decode(&head[..len]).ok();
        let say = |result: &str| {
            let what = format!("datagram at {address}");
            shared.hub.log().record(&from.to_string(), &what, result);
        };
        if header.is_none_or(|header| header.channel != wanted) {
            // It is taken away, as it would be in front for ever.
            let _ = socket.recv_from(&mut head);
            strangers += 1;
            if strangers == 1 {
                say("refused: it shows no channel that is waited for; more such are not told");
            }
            continue;
        }
        if let Err(error) = socket.connect(from) {
            say(&format!("refused: {error}"));
            let _ = socket.recv_from(&mut head);
            continue;
        }
        say(&format!("channel {wanted}"));
        let hub = Arc::clone(&shared.hub);
        // Without a driver nobody waits.
        let _ = shared.client.call(move |driver| {
            let mut state = hub.state();
            if let Some(name) = state.seated(|one| one.datagrams && one.address == address) {
                driver.give_datagrams(&name, socket);
            }
        });
        return;
    }
}

fn waits(shared: &Shared, address: SocketAddr, channel: Option<u32>) -> bool {
    let state = shared.hub.state();
    let mut all = state.accepting.values();
    all.any(|waits| waits.takes(address, channel))
}

/// Gives the peer to the connection that waits for it, if one does still.
fn seat(shared: &Shared, address: SocketAddr, channel: Option<u32>, socket: Socket) {
    let hub = Arc::clone(&shared.hub);
    // Without a driver nobody waits.
    let _ = shared.client.call(move |driver| {
        let mut state = hub.state();
        if let Some(name) = state.seated(|one| one.takes(address, channel)) {
            driver.give(&name, socket);
        }
    });
}
