//! Clients, their connections, sessions, the cache, its log and a store, with faults in arbitrary order. Whatever
//! happens, a client reads what was written last, what it was told is safe outlives the failures that it is safe from,
//! and in the end everything is stored.
//!
//! Many cases with a seed: `PROPTEST_CASES=30000 PROPTEST_RNG_SEED=1 cargo test --release -p isthmus-forward --test all
//! simulation -- --nocapture`.

mod client;
mod daemon;
mod model;
mod server;
mod store;

use client::{Answer, Client, Event, FileKey, MESSAGE_BYTES, Operation, SLOTS};
use daemon::{Daemon, Host};
use isthmus_forward::cache::Goal;
use isthmus_forward::message::Key;
use isthmus_forward::{
    Buffer, Deferred, Done, Errno, Frames, Job, Limits, Opened, Result, Session, Work,
};
use model::{BYTES, Model, Snapshot};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use server::{Open, Server, range};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use store::Store;

/// The number of clients at a time.
const CLIENTS: usize = 2;

/// The names of files.
const NAMES: [&[u8]; 3] = [b"a", b"b", b"c"];

/// Maximum number of rounds in which everything is stored at the end.
const ROUNDS: usize = 10_000;

/// Something that happens.
#[derive(Clone, Debug)]
enum Step {
    Begin {
        client: usize,
        slot: usize,
        wish: Wish,
    },
    /// Bytes of a connection arrive, in one of the directions.
    Deliver {
        which: usize,
        bytes: usize,
    },
    /// A request that is carried out elsewhere goes on.
    Serve {
        which: usize,
    },
    Connect {
        client: usize,
    },
    /// A connection breaks. The daemon may still get what was sent.
    Cut {
        client: usize,
        is_lost: bool,
    },
    /// The daemon finds that a connection is broken.
    Notice {
        which: usize,
    },
    KillClient {
        client: usize,
    },
    BeginTask,
    EndTask {
        which: usize,
        is_ok: bool,
    },
    Postpone {
        which: usize,
    },
    EndFetch {
        which: usize,
        is_ok: bool,
    },
    Wait {
        ms: u64,
    },
    Drop {
        bytes: u64,
    },
    SyncInCache {
        file: usize,
    },
    Abandon {
        file: usize,
    },
    RewriteLog,
    Store {
        is_gone: bool,
    },
    /// The daemon is killed, after this number of records and operations of the store. The store may lose what it has not
    /// synced.
    Kill {
        after: u32,
        is_lost: bool,
    },
    /// The host fails: see [`Daemon::start`].
    Lose {
        records: usize,
        mask: u64,
    },
}

/// What a client would like to do.
#[derive(Clone, Debug)]
enum Wish {
    Open { name: usize, creates: bool },
    Write { offset: u64, bytes: u8, value: u8 },
    Read { offset: u64, count: u32 },
    Sync { level: u8 },
    Cut { size: u64 },
    Close,
    Fetch { name: usize },
    Rename { from: usize, to: usize },
    Remove { name: usize },
}

/// Returns an arbitrary wish.
fn wishes() -> impl Strategy<Value = Wish> {
    let (name, offset) = (0..NAMES.len(), 0..64u64);
    prop_oneof![
        4 => (name.clone(), any::<bool>()).prop_map(|(name, creates)| Wish::Open { name, creates }),
        8 => (offset.clone(), 1..20u8, any::<u8>())
            .prop_map(|(offset, bytes, value)| Wish::Write { offset, bytes, value }),
        4 => (offset.clone(), 1..30u32).prop_map(|(offset, count)| Wish::Read { offset, count }),
        4 => (0..3u8).prop_map(|level| Wish::Sync { level }),
        1 => offset.prop_map(|size| Wish::Cut { size }),
        1 => Just(Wish::Close),
        2 => name.clone().prop_map(|name| Wish::Fetch { name }),
        1 => (name.clone(), name.clone()).prop_map(|(from, to)| Wish::Rename { from, to }),
        1 => name.prop_map(|name| Wish::Remove { name }),
    ]
}

/// Returns an arbitrary step.
fn steps() -> impl Strategy<Value = Step> {
    let (client, which) = (0..CLIENTS, any::<usize>());
    let is_ok = prop::bool::weighted(0.9);
    let work = prop_oneof![
        16 => (client.clone(), 0..SLOTS, wishes())
            .prop_map(|(client, slot, wish)| Step::Begin { client, slot, wish }),
        24 => (which, 1..1000usize).prop_map(|(which, bytes)| Step::Deliver { which, bytes }),
        8 => which.prop_map(|which| Step::Serve { which }),
        6 => Just(Step::BeginTask),
        6 => (which, is_ok).prop_map(|(which, is_ok)| Step::EndTask { which, is_ok }),
        4 => (which, is_ok).prop_map(|(which, is_ok)| Step::EndFetch { which, is_ok }),
        8 => client.clone().prop_map(|client| Step::Connect { client }),
    ];
    let rare = prop_oneof![
        2 => (client.clone(), any::<bool>()).prop_map(|(client, is_lost)| Step::Cut { client, is_lost }),
        2 => which.prop_map(|which| Step::Notice { which }),
        1 => client.prop_map(|client| Step::KillClient { client }),
        1 => which.prop_map(|which| Step::Postpone { which }),
        2 => (1..7000u64).prop_map(|ms| Step::Wait { ms }),
        1 => (1..100u64).prop_map(|bytes| Step::Drop { bytes }),
        1 => which.prop_map(|file| Step::SyncInCache { file }),
        1 => which.prop_map(|file| Step::Abandon { file }),
        1 => Just(Step::RewriteLog),
        1 => any::<bool>().prop_map(|is_gone| Step::Store { is_gone }),
        1 => (0..12u32, any::<bool>()).prop_map(|(after, is_lost)| Step::Kill { after, is_lost }),
        1 => (which, any::<u64>()).prop_map(|(records, mask)| Step::Lose { records, mask }),
    ];
    prop_oneof![30 => work, 1 => rare]
}

/// A request that is carried out elsewhere.
struct Waiting {
    deferred: Deferred<Server>,
    since: Duration,
    goal: Option<Goal>,
    /// The file that is read as a whole.
    opened: Option<Opened<Open>>,
}

/// A connection with its session.
struct Connection {
    client: Key,
    server: Server,
    session: Session<Server>,
    frames: Frames,
    /// What the client has sent, and what it has not got.
    inbox: Vec<u8>,
    outbox: Buffer,
    waiting: Vec<Waiting>,
    is_cut: bool,
}

/// How often something happened.
#[derive(Debug, Default)]
struct Seen(BTreeMap<&'static str, u64>);

impl Seen {
    fn add(&mut self, what: &'static str) {
        *self.0.entry(what).or_default() += 1;
    }
}

/// Everything.
struct World<'a> {
    daemon: Rc<RefCell<Daemon>>,
    connections: BTreeMap<u64, Connection>,
    next_connection: u64,
    clients: Vec<Client>,
    next_client: u8,
    models: BTreeMap<FileKey, Model>,
    /// The files that a client changes or reads, and those of clients that were killed.
    busy: BTreeSet<FileKey>,
    graves: Vec<(Key, FileKey)>,
    /// What the sync of a slot of a client will have made safe.
    snapshots: HashMap<(Key, usize), (FileKey, Snapshot)>,
    /// The file that the operation of a slot is for, and the number of changes when it began.
    held: HashMap<(Key, usize), (FileKey, u64)>,
    changes: u64,
    /// Whether a kill of the daemon that is about to happen makes the store lose what it has not synced.
    is_store_lost: bool,
    seen: &'a RefCell<Seen>,
}

impl<'a> World<'a> {
    fn new(seen: &'a RefCell<Seen>) -> Self {
        let daemon = Daemon::start(Store::default(), Host::default(), Duration::ZERO, None);
        let mut world = Self {
            daemon: Rc::new(RefCell::new(daemon)),
            connections: BTreeMap::new(),
            next_connection: 0,
            clients: (0..CLIENTS as u8).map(Client::new).collect(),
            next_client: CLIENTS as u8,
            models: BTreeMap::new(),
            busy: BTreeSet::new(),
            graves: Vec::new(),
            snapshots: HashMap::new(),
            held: HashMap::new(),
            changes: 0,
            is_store_lost: false,
            seen,
        };
        (0..CLIENTS).for_each(|which| world.connect(which));
        world
    }

    fn saw(&self, what: &'static str) {
        self.seen.borrow_mut().add(what);
    }

    /// Carries out a step.
    fn step(&mut self, step: &Step) {
        match *step {
            Step::Begin {
                client,
                slot,
                ref wish,
            } => self.begin(client, slot, wish),
            Step::Deliver { which, bytes } => self.deliver(which, bytes),
            Step::Serve { which } => self.serve(which),
            Step::Connect { client } => self.connect(client),
            Step::Cut { client, is_lost } => self.cut(client, is_lost),
            Step::Notice { which } => {
                let cut = self
                    .connections
                    .iter()
                    .filter(|(_, connection)| connection.is_cut);
                let cut: Vec<_> = cut.map(|(number, _)| *number).collect();
                if !cut.is_empty() {
                    self.end_connection(cut[which % cut.len()]);
                }
            }
            Step::KillClient { client } => self.kill_client(client),
            Step::BeginTask => {
                self.daemon.borrow_mut().begin_task();
            }
            Step::EndTask { which, is_ok } => self.daemon.borrow_mut().end_task(which, is_ok),
            Step::Postpone { which } => self.daemon.borrow_mut().postpone(which),
            Step::EndFetch { which, is_ok } => self.daemon.borrow_mut().end_fetch(which, is_ok),
            Step::Wait { ms } => self.daemon.borrow_mut().now += Duration::from_millis(ms),
            Step::Drop { bytes } => self.daemon.borrow_mut().drop_stored(bytes),
            Step::SyncInCache { file } => {
                let daemon = &mut *self.daemon.borrow_mut();
                if let Some(id) = daemon.nth(file) {
                    daemon.sync_in_cache(id);
                }
            }
            Step::Abandon { file } => self.abandon(file),
            Step::RewriteLog => self.daemon.borrow_mut().rewrite_log(),
            Step::Store { is_gone } => self.daemon.borrow_mut().store.is_gone = is_gone,
            Step::Kill { after, is_lost } => {
                self.is_store_lost = is_lost;
                match after {
                    0 => self.restart(None),
                    after => self.daemon.borrow_mut().fuse = Some(after - 1),
                }
            }
            Step::Lose { records, mask } => self.restart(Some((records, mask))),
        }
        if self.daemon.borrow().is_dead {
            self.saw("killed in an operation");
            self.restart(None);
        }
        self.note_removed();
    }

    /// Begins an operation of a client, if that is possible now.
    fn begin(&mut self, which: usize, slot: usize, wish: &Wish) {
        if !self.clients[which].is_free(slot) {
            return;
        }
        let client = &self.clients[which];
        let file = client.slots[slot].file.as_ref().map(|file| file.key);
        let name = |at: usize| NAMES[at].to_vec();
        let operation = match (wish, file) {
            (Wish::Open { name: at, creates }, None) => Operation::Open {
                name: name(*at),
                creates: *creates,
            },
            (Wish::Fetch { name: at }, None) => Operation::Fetch { name: name(*at) },
            (Wish::Remove { name: at }, None) => Operation::Remove { name: name(*at) },
            (Wish::Rename { from, to }, None) => Operation::Rename {
                from: name(*from),
                to: name(*to),
            },
            (
                Wish::Write {
                    offset,
                    bytes,
                    value,
                },
                Some(_),
            ) => Operation::Write {
                offset: *offset,
                data: (0..*bytes).map(|at| value.wrapping_add(at)).collect(),
            },
            (Wish::Read { offset, count }, Some(_)) => Operation::Read {
                offset: *offset,
                count: *count,
            },
            (Wish::Sync { level }, Some(_)) => Operation::Sync { level: *level },
            (Wish::Cut { size }, Some(_)) => Operation::Cut { size: *size },
            (Wish::Close, Some(_)) => Operation::Close,
            (Wish::Write { value, .. }, None) => Operation::Open {
                name: name(usize::from(*value) % NAMES.len()),
                creates: true,
            },
            _ => return,
        };
        let key = client.key;
        // One operation on a file at a time, except syncs.
        let held = match &operation {
            Operation::Write { .. } | Operation::Read { .. } | Operation::Cut { .. } => file,
            Operation::Fetch { name } => {
                let store = &self.daemon.borrow().store;
                let number = store.names.get(name);
                number.map(|number| (*number, store.inodes[number].born))
            }
            _ => None,
        };
        if let Some(held) = held
            && !self.busy.insert(held)
        {
            return;
        }
        if let Some(model) = file.and_then(|file| self.models.get_mut(&file)) {
            match &operation {
                Operation::Write { offset, data } => {
                    self.changes += 1;
                    let start = *offset as usize;
                    let value = |at: usize| data[at - start];
                    model.begin(self.changes, start..start + data.len(), value);
                }
                Operation::Cut { size } => {
                    self.changes += 1;
                    model.begin(self.changes, *size as usize..BYTES, |_| 0);
                }
                Operation::Sync { .. } => {
                    let snapshot = model.snapshot(self.changes);
                    self.snapshots
                        .insert((key, slot), (file.unwrap(), snapshot));
                }
                _ => {}
            }
        }
        if let Some(held) = held {
            self.held.insert((key, slot), (held, self.changes));
        }
        self.clients[which].begin(slot, operation);
        self.send(which);
    }

    /// Sends what a client has to send.
    fn send(&mut self, which: usize) {
        let client = &mut self.clients[which];
        let connection = client
            .connection
            .and_then(|number| self.connections.get_mut(&number));
        if let Some(connection) = connection.filter(|connection| !connection.is_cut) {
            connection.inbox.extend_from_slice(client.out.bytes());
        }
        client.out.clear();
    }

    /// Records the result of an operation.
    fn end(&mut self, which: usize, slot: usize, operation: &Operation, result: Result<Answer>) {
        let place = (self.clients[which].key, slot);
        let held = self.held.remove(&place);
        let changes = held.map_or(0, |(_, changes)| changes);
        let held = held.map(|(held, _)| held);
        if let Some(held) = held {
            self.busy.remove(&held);
        }
        let snapshot = self.snapshots.remove(&place);
        let Ok(answer) = result else {
            return self.saw("errors");
        };
        if let Answer::Opened(key) = answer {
            self.saw("opens");
            // It may have been removed meanwhile.
            let inodes = &self.daemon.borrow().store.inodes;
            if inodes
                .get(&key.0)
                .is_some_and(|inode| inode.born == key.1 && inode.has_name)
            {
                self.models.entry(key).or_default();
            }
            return;
        }
        let file = held.or(snapshot.as_ref().map(|(file, _)| *file));
        let Some(model) = file.and_then(|file| self.models.get_mut(&file)) else {
            return;
        };
        match (operation, answer) {
            (Operation::Write { offset, data }, _) => {
                let start = *offset as usize;
                let value = |at: usize| data[at - start];
                model.acknowledge(changes, start..start + data.len(), value, false);
                self.saw("writes");
            }
            (Operation::Cut { size }, _) => {
                model.acknowledge(changes, *size as usize..BYTES, |_| 0, true);
                self.saw("cuts");
            }
            (Operation::Read { offset, count }, Answer::Data(data)) => {
                let start = *offset as usize;
                let end = (start + *count as usize).min(BYTES);
                model.read(changes, start..end, |at| {
                    data.get(at - start).copied().unwrap_or(0)
                });
                self.saw("reads");
            }
            (Operation::Fetch { .. }, Answer::Fetched(key, data)) if Some(key) == file => {
                model.read(changes, 0..BYTES, |at| data.get(at).copied().unwrap_or(0));
                self.saw("fetches");
            }
            (Operation::Sync { level: 1 }, _) => {
                model.sync(&snapshot.unwrap().1, None);
                self.saw("syncs in the cache");
            }
            (Operation::Sync { .. }, _) => {
                let (file, snapshot) = snapshot.unwrap();
                let daemon = self.daemon.borrow();
                model.sync(&snapshot, Some(&daemon.store.inodes[&file.0].synced));
                self.seen.borrow_mut().add("syncs in the store");
            }
            _ => {}
        }
    }

    /// Lets bytes of a connection arrive.
    fn deliver(&mut self, which: usize, bytes: usize) {
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
    fn handle(&mut self, number: u64) {
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
    fn end_connection(&mut self, number: u64) {
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
    fn serve(&mut self, which: usize) {
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
    fn receive(&mut self, which: usize, data: &[u8]) {
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
    fn connect(&mut self, which: usize) {
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
    fn cut(&mut self, which: usize, is_lost: bool) {
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

    /// Kills a client. Another one takes its place.
    fn kill_client(&mut self, which: usize) {
        self.cut(which, false);
        let key = self.clients[which].key;
        for slot in 0..SLOTS {
            self.snapshots.remove(&(key, slot));
            // Until its sessions have ended, they may still carry out what it has asked for.
            let held = self.held.remove(&(key, slot));
            self.graves.extend(held.map(|(held, _)| (key, held)));
        }
        self.clients[which] = Client::new(self.next_client);
        self.next_client = self.next_client.wrapping_add(1);
        self.saw("clients killed");
        self.bury();
    }

    /// Releases the files of clients that were killed, and whose sessions have ended.
    fn bury(&mut self) {
        let connections = &self.connections;
        let busy = &mut self.busy;
        self.graves.retain(|(key, file)| {
            let is_left = connections
                .values()
                .any(|connection| connection.client == *key);
            if !is_left {
                busy.remove(file);
            }
            is_left
        });
    }

    /// Forgets the files that were removed.
    fn note_removed(&mut self) {
        for removed in std::mem::take(&mut self.daemon.borrow_mut().removed) {
            self.models.remove(&removed);
            self.seen.borrow_mut().add("files removed");
        }
        self.bury();
    }

    /// Drops what is not stored of a file.
    fn abandon(&mut self, file: usize) {
        let daemon = &mut *self.daemon.borrow_mut();
        let Some(id) = daemon.nth(file) else {
            return;
        };
        if daemon.store.is_gone || daemon.cache.unstored_of(id) == 0 {
            return;
        }
        let key = daemon.key(id);
        daemon.abandon(id);
        self.changes += 1;
        if let Some(model) = self.models.get_mut(&key) {
            let content = daemon.content(key.0);
            model.abandon(self.changes, &content, self.busy.contains(&key));
            self.seen.borrow_mut().add("files abandoned");
        }
    }

    /// Starts another daemon, after the last one was killed or its host has failed.
    fn restart(&mut self, loss: Option<(usize, u64)>) {
        self.note_removed();
        self.daemon.borrow_mut().is_dead = true;
        self.connections.clear();
        if loss.is_some() {
            // The clients were on the same host.
            (0..CLIENTS).for_each(|which| self.kill_client(which));
        }
        self.clients
            .iter_mut()
            .for_each(|client| client.connection = None);
        self.bury();
        let (mut store, host, now) = self.daemon.borrow_mut().take();
        if loss.is_some() || self.is_store_lost {
            let numbers: Vec<_> = store.inodes.keys().copied().collect();
            numbers.iter().for_each(|number| store.fail(*number));
        }
        let daemon = Daemon::start(store, host, now, loss);
        let names: Vec<_> = daemon.store.names.values().copied().collect();
        let keys = names
            .iter()
            .map(|number| (*number, daemon.store.inodes[number].born));
        let keys: BTreeSet<_> = keys.collect();
        // One that was killed had no time to say which files it had removed.
        self.models.retain(|key, _| keys.contains(key));
        self.changes += 1;
        for key in keys {
            let content = daemon.content(key.0);
            match (self.models.get_mut(&key), loss) {
                (None, _) => assert_eq!(content, b""),
                (Some(model), None) => model.check(&content),
                (Some(model), Some(_)) => model.lose(self.changes, &content),
            }
        }
        let is_unstored = daemon.cache.unstored() > 0;
        self.daemon = Rc::new(RefCell::new(daemon));
        match (loss, is_unstored) {
            (None, true) => self.saw("daemons killed with unstored data"),
            (Some(_), true) => self.saw("hosts lost with unstored data"),
            _ => self.saw("other restarts"),
        }
    }

    /// Lets everything end well, and checks the store.
    fn finish(&mut self) {
        {
            let daemon = &mut *self.daemon.borrow_mut();
            (daemon.fuse, daemon.store.is_gone) = (None, false);
        }
        for _ in 0..ROUNDS {
            (0..CLIENTS).for_each(|which| self.connect(which));
            self.step(&Step::Deliver {
                which: 0,
                bytes: 1 << 20,
            });
            self.step(&Step::Notice { which: 0 });
            let waiting = self
                .connections
                .values()
                .map(|connection| connection.waiting.len());
            let waiting: usize = waiting.sum();
            (0..waiting).for_each(|which| self.step(&Step::Serve { which }));
            let daemon = &mut *self.daemon.borrow_mut();
            let is_busy = daemon.begin_task();
            daemon.end_task(0, true);
            daemon.end_fetch(0, true);
            let mut slots = self.clients.iter().flat_map(|client| &client.slots);
            if slots.all(|slot| slot.operation.is_none()) && daemon.cache.unstored() == 0 {
                break;
            }
            if !is_busy {
                daemon.now += Duration::from_millis(100);
            }
        }
        let daemon = self.daemon.borrow();
        assert_eq!(daemon.cache.unstored(), 0, "all is stored");
        for client in &self.clients {
            for slot in &client.slots {
                assert!(slot.operation.is_none(), "{slot:?} goes on");
            }
        }
        for (key, model) in &self.models {
            model.check(&daemon.store.inodes[&key.0].synced);
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

/// Checks clients, connections, the cache, the log and the store, with faults in arbitrary order.
#[test]
fn what_is_acknowledged_outlives_what_it_is_safe_from() {
    let given = std::env::var_os("PROPTEST_CASES").is_some();
    let default = ProptestConfig::default();
    let config = ProptestConfig {
        cases: if given { default.cases } else { 300 },
        failure_persistence: None,
        max_shrink_iters: 100_000,
        ..default
    };
    let (seen, count) = (RefCell::new(Seen::default()), RefCell::new(0));
    let steps = prop::collection::vec(steps(), 1..400);
    let result = TestRunner::new(config).run(&steps, |steps| {
        let mut world = World::new(&seen);
        for step in &steps {
            world.step(step);
        }
        world.finish();
        *count.borrow_mut() += steps.len();
        Ok(())
    });
    println!("{} steps: {:#?}", count.borrow(), seen.borrow().0);
    result.unwrap();
}
