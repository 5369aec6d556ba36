//! Connections between clients and sessions, and the requests that a session hands on.

use super::World;
use super::client::{Event, MESSAGE_BYTES};
use super::server::{Open, Server, range};
use isthmus_forward::cache::Goal;
use isthmus_forward::message::Key;
use isthmus_forward::{
    Buffer, Deferred, Done, Errno, Frames, Job, Limits, Opened, Result, Session, Work,
};
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// A request that is carried out elsewhere.
pub struct Waiting {
    deferred: Deferred<Server>,
    since: Duration,
    goal: Option<Goal>,
    /// The file that is read as a whole.
    opened: Option<Opened<Open>>,
}

/// A connection with its session.
pub struct Connection {
    pub client: Key,
    pub server: Server,
    pub session: Session<Server>,
    pub frames: Frames,
    /// What the client has sent, and what it has not got.
    pub inbox: Vec<u8>,
    pub outbox: Buffer,
    pub waiting: Vec<Waiting>,
    pub is_cut: bool,
}

impl World<'_> {
    /// Sends what a client has to send.
    pub fn send(&mut self, which: usize) {
        let client = &mut self.clients[which];
        let connection = client
            .connection
            .and_then(|number| self.connections.get_mut(&number));
        if let Some(connection) = connection.filter(|connection| !connection.is_cut) {
            connection.inbox.extend_from_slice(client.out.bytes());
        }
        client.out.clear();
    }

    /// Lets bytes of a connection arrive.
    pub fn deliver(&mut self, which: usize, bytes: usize) {
        let mut ways = Vec::new();
        for (number, connection) in &self.connections {
            if !connection.inbox.is_empty() {
                ways.push((*number, true));
            }
            if !connection.outbox.is_empty() {
                ways.push((*number, false));
            }
        }
        if ways.is_empty() {
            return;
        }
        let (number, is_request) = ways[which % ways.len()];
        let connection = self.connections.get_mut(&number).unwrap();
        if !is_request {
            let unsent = connection.outbox.unsent();
            let data = unsent[..bytes.min(unsent.len())].to_vec();
            connection.outbox.mark_sent(data.len());
            let to = self
                .clients
                .iter()
                .position(|client| client.connection == Some(number));
            if let Some(to) = to {
                self.receive(to, &data);
            }
            return;
        }
        let data: Vec<u8> = {
            let count = bytes.min(connection.inbox.len());
            connection.inbox.drain(..count).collect()
        };
        let mut left = data.as_slice();
        while !left.is_empty() {
            let Some(connection) = self.connections.get_mut(&number) else {
                return;
            };
            let space = connection.frames.space();
            let count = space.len().min(left.len());
            space[..count].copy_from_slice(&left[..count]);
            connection.frames.filled(count);
            left = &left[count..];
            self.handle(number);
        }
    }

    /// Carries out the requests that have arrived.
    pub fn handle(&mut self, number: u64) {
        while let Some(connection) = self.connections.get_mut(&number) {
            let Some(message) = connection.frames.take().expect("the client sends messages") else {
                return;
            };
            let (session, out) = (&mut connection.session, &mut connection.outbox);
            let deferred = session.handle(message, &connection.server, out);
            let since = self.daemon.borrow().now;
            connection.waiting.extend(deferred.map(|deferred| Waiting {
                deferred,
                since,
                goal: None,
                opened: None,
            }));
            let ended = std::mem::take(&mut self.daemon.borrow_mut().ended);
            for ended in ended {
                self.end_connection(ended);
            }
            if self.daemon.borrow().is_dead {
                return;
            }
        }
    }

    /// Ends a connection with its session. Its client finds that it is closed.
    pub fn end_connection(&mut self, number: u64) {
        self.connections.remove(&number);
        let client = self
            .clients
            .iter_mut()
            .find(|client| client.connection == Some(number));
        if let Some(client) = client {
            client.connection = None;
        }
        let daemon = &mut *self.daemon.borrow_mut();
        daemon.keys.retain(|(_, connection)| *connection != number);
    }

    /// Lets a request go on that is carried out elsewhere.
    pub fn serve(&mut self, which: usize) {
        let waiting = self.connections.iter().flat_map(|(number, connection)| {
            (0..connection.waiting.len()).map(move |at| (*number, at))
        });
        let waiting: Vec<_> = waiting.collect();
        if waiting.is_empty() {
            return;
        }
        let (number, at) = waiting[which % waiting.len()];
        let connection = self.connections.get_mut(&number).unwrap();
        if let Some(result) = carry_out(&connection.server, &mut connection.waiting[at]) {
            let waiting = connection.waiting.remove(at);
            let (session, out) = (&mut connection.session, &mut connection.outbox);
            session.finish(waiting.deferred.ticket, result, out);
        }
    }

    /// Hands bytes to a client, and does what it finds in them.
    pub fn receive(&mut self, which: usize, data: &[u8]) {
        let mut events = Vec::new();
        self.clients[which].receive(data, &mut events);
        for event in events {
            match event {
                Event::Ended(slot, operation, result) => self.end(which, slot, &operation, result),
                Event::Resumed => self.saw("sessions resumed"),
                Event::Restored => self.saw("files restored"),
                Event::Refused => return self.cut(which, true),
            }
        }
        self.send(which);
    }

    /// Connects a client without a connection.
    pub fn connect(&mut self, which: usize) {
        let client = &mut self.clients[which];
        if client.connection.is_some() {
            return;
        }
        let connection = self.next_connection;
        self.next_connection += 1;
        let daemon = Rc::clone(&self.daemon);
        let limits = Limits {
            message_bytes: MESSAGE_BYTES,
            ..Limits::default()
        };
        let new = Connection {
            client: client.key,
            server: Server { daemon, connection },
            session: Session::new(limits),
            frames: Frames::new(MESSAGE_BYTES as usize),
            inbox: Vec::new(),
            outbox: Buffer::new(),
            waiting: Vec::new(),
            is_cut: false,
        };
        self.connections.insert(connection, new);
        client.connect(connection);
        self.send(which);
    }

    /// Breaks the connection of a client.
    pub fn cut(&mut self, which: usize, is_lost: bool) {
        let number = self.clients[which].connection.take();
        let connection = number.and_then(|number| self.connections.get_mut(&number));
        if let Some(connection) = connection {
            connection.is_cut = true;
            connection.outbox.clear();
            if is_lost {
                connection.inbox.clear();
            }
        }
    }
}

/// Carries out a request, as far as that is possible now.
fn carry_out(server: &Server, waiting: &mut Waiting) -> Option<Result<Done>> {
    let since = waiting.since;
    let read = |open: &Open, offset, count| {
        let daemon = &mut *server.daemon.borrow_mut();
        let range = range(offset, count);
        let data = daemon.read(open.file, &range);
        match data {
            Some(data) => Some(Ok(data)),
            None if daemon.is_late(since) => Some(Err(Errno::IO)),
            None => {
                if !daemon.cache.is_fetching(open.file, &range) {
                    daemon.fetch(open.file, &range);
                }
                None
            }
        }
    };
    match &waiting.deferred.work {
        Work::Fetch { path, count, .. } => {
            if waiting.opened.is_none() {
                let found = server.daemon.borrow().find(path);
                match found {
                    Ok(inode) => waiting.opened = Some(server.open_inode(inode)),
                    Err(error) => return Some(Err(error)),
                }
            }
            let opened = waiting.opened.as_ref()?;
            let data = read(&opened.open, 0, *count)?;
            let attributes = server.attributes_of(opened.qid.path);
            Some(data.map(|data| Done::Fetched(attributes, data)))
        }
        Work::Data { open, job } => match job {
            Job::Read { offset, count } => {
                let data = read(open, *offset, *count)?;
                Some(data.map(Done::Read))
            }
            Job::Write { offset, data } => {
                let daemon = &mut *server.daemon.borrow_mut();
                if waiting.deferred.is_flushed.load(Ordering::Relaxed) {
                    return Some(Err(Errno::INTR));
                }
                match daemon.write(open.file, *offset, data) {
                    Ok(false) if daemon.is_late(since) => Some(Err(Errno::IO)),
                    Ok(false) => None,
                    Ok(true) => Some(Ok(Done::Written(data.len()))),
                    Err(error) => Some(Err(error)),
                }
            }
            Job::Sync(_) => {
                let daemon = &mut *server.daemon.borrow_mut();
                let goal = waiting.goal.get_or_insert_with(|| daemon.want(open.file));
                match daemon.reached(open.file, *goal) {
                    Some(result) => Some(result.map(|()| Done::Synced)),
                    None if daemon.is_late(since) => Some(Err(Errno::IO)),
                    None => None,
                }
            }
            Job::Close => Some(Ok(Done::Closed)),
        },
        _ => Some(Err(Errno::OPNOTSUPP)),
    }
}
