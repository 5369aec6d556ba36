//! Clients, their connections, sessions, the cache, its log and a store, with faults in arbitrary order. Whatever
//! happens, a client reads the data that was written last, acknowledged data outlives the failures that its level
//! covers, and in the end everything is stored.
//!
//! Many cases with a seed: `PROPTEST_CASES=30000 PROPTEST_RNG_SEED=1 cargo test --release -p isthmus-forward --test all
//! simulation -- --nocapture`.

mod client;
mod connections;
mod daemon;
mod host;
mod model;
mod names;
mod recover;
mod server;
mod steps;
mod store;

use client::{Answer, Client, FileKey, Operation, SLOTS};
use connections::Connection;
use daemon::Daemon;
use host::Host;
use isthmus_forward::message::Key;
use isthmus_forward::{Errno, Result};
use model::{BYTES, Model, Snapshot};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;
use std::time::Duration;
use steps::{CLIENTS, NAMES, Step, Wish, steps};
use store::Store;

/// Maximum number of rounds in which everything is stored at the end.
const ROUNDS: usize = 10_000;

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
    /// Whether something has happened that explains errors.
    has_failed: bool,
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
            has_failed: false,
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
        self.has_failed |= step.can_fail();
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
            Step::BeginSync { file } => {
                let daemon = &mut *self.daemon.borrow_mut();
                if let Some(id) = daemon.nth(file) {
                    // No client waits for it.
                    let _ = daemon.begin_sync(id);
                }
            }
            Step::EndSync { .. } if self.daemon.borrow().syncs.is_empty() => {}
            Step::EndSync { which, outcome } => {
                let ended = self.daemon.borrow_mut().end_sync(which, outcome);
                match ended {
                    Ok(true) => self.saw("syncs in the cache that ended"),
                    Ok(false) => self.saw("syncs in the cache to be repeated"),
                    Err(_) => self.saw("syncs in the cache that failed"),
                }
            }
            Step::FillLog { is_full } => {
                self.daemon.borrow().host.log.0.borrow_mut().is_full = is_full;
            }
            Step::FailLog => self.daemon.borrow().host.log.0.borrow_mut().fails_to_sync = true,
            Step::Abandon { file } => self.abandon(file),
            Step::RewriteLog => {
                // If that fails, the old one stays in use.
                let _ = self.daemon.borrow_mut().rewrite_log();
            }
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
                    model.begin_write(self.changes, start..start + data.len(), value);
                }
                Operation::Cut { size } => {
                    self.changes += 1;
                    model.begin_cut(self.changes, *size as usize);
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
        let answer = match result {
            Ok(answer) => answer,
            Err(error) => {
                // A name or a file may be gone.
                let is_gone = matches!(error, Errno::NOENT | Errno::STALE);
                assert!(is_gone || self.has_failed, "{operation:?}: {error:?}");
                return self.saw(if is_gone {
                    "errors by removal"
                } else {
                    "errors by failures"
                });
            }
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
                model.end_write(changes, start..start + data.len(), value);
                self.saw("writes");
            }
            (Operation::Cut { size }, _) => {
                model.end_cut(changes, *size as usize);
                self.saw("cuts");
            }
            (Operation::Read { offset, count }, Answer::Data(data)) => {
                model.read(changes, *offset as usize, *count as usize, &data);
                self.saw("reads");
            }
            (Operation::Fetch { .. }, Answer::Fetched(key, data)) if Some(key) == file => {
                model.read(changes, 0, BYTES, &data);
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
        let abandoned = daemon.abandon(id);
        self.changes += 1;
        if let Some(model) = self.models.get_mut(&key) {
            let content = daemon.content(key.0);
            let is_certain = abandoned.is_ok() && !self.busy.contains(&key);
            model.abandon(self.changes, &content, is_certain);
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
            let mut log = daemon.host.log.0.borrow_mut();
            (log.is_full, log.fails_to_sync) = (false, false);
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
    let expected = [
        "clients killed",
        "cuts",
        "daemons killed with unstored data",
        "errors by failures",
        "fetches",
        "files abandoned",
        "files removed",
        "files restored",
        "hosts lost with unstored data",
        "killed in an operation",
        "reads",
        "sessions resumed",
        "syncs in the cache",
        "syncs in the cache that ended",
        "syncs in the cache that failed",
        "syncs in the store",
        "writes",
    ];
    let seen = &seen.borrow().0;
    let missing: Vec<_> = expected
        .iter()
        .filter(|what| !seen.contains_key(*what))
        .collect();
    assert!(given || missing.is_empty(), "never happened: {missing:?}");
}

/// A failure of the host does not have a cut carried out again, whatever it leaves of the log.
#[test]
fn a_cut_takes_nothing_that_was_stored_since() {
    for records in 0..20 {
        let mut store = Store::default();
        let inode = store.create(b"a");
        let mut daemon = Daemon::start(store, Host::default(), Duration::ZERO, None);
        let id = daemon.open(inode);
        assert!(daemon.write(id, 0, b"old").unwrap());
        daemon.cut(id, 0).unwrap();
        assert!(daemon.write(id, 0, b"new").unwrap());
        let goal = daemon.want(id);
        while daemon.begin_task() {
            daemon.end_task(0, true);
        }
        assert_eq!(daemon.reached(id, goal), Some(Ok(())));
        let (mut store, host, now) = daemon.take();
        store.fail(inode);
        let daemon = Daemon::start(store, host, now, Some((records, 0)));
        assert_eq!(daemon.content(inode), b"new", "with {records} records");
    }
}
