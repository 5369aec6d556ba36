//! A client: files that it has open, one request for each at a time, and how it goes on over a new connection.

use isthmus_forward::message::{
    Change, Data, Key, NO_FID, OWN_VERSION, Path, Reply, Request, Trailing,
};
use isthmus_forward::{Buffer, Calls, Errno, Frames, Result};

/// The number of files that a client has open.
pub const SLOTS: usize = 3;

/// Maximum size of a message in bytes.
pub const MESSAGE_BYTES: u32 = 4096;

/// A file by number and time of creation.
pub type FileKey = (u64, u64);

/// What a client wants.
#[derive(Clone, Debug)]
pub enum Operation {
    Open {
        name: Vec<u8>,
        creates: bool,
    },
    Write {
        offset: u64,
        data: Vec<u8>,
    },
    Read {
        offset: u64,
        count: u32,
    },
    /// Sync in the cache (1), in the store (2), or as `fsync` of Linux (0).
    Sync {
        level: u8,
    },
    Cut {
        size: u64,
    },
    Close,
    Fetch {
        name: Vec<u8>,
    },
    Rename {
        from: Vec<u8>,
        to: Vec<u8>,
    },
    Remove {
        name: Vec<u8>,
    },
}

/// What a client gets.
#[derive(Debug)]
pub enum Answer {
    Done,
    Opened(FileKey),
    Data(Vec<u8>),
    Fetched(FileKey, Vec<u8>),
}

/// A file that a client has open.
#[derive(Debug)]
pub struct OpenFile {
    pub key: FileKey,
    name: Vec<u8>,
    fid: u32,
    /// Whether the connection has the fid.
    is_here: bool,
}

/// A file, and what the client wants of it or of others.
#[derive(Debug, Default)]
pub struct Slot {
    pub file: Option<OpenFile>,
    pub operation: Option<Operation>,
    /// The fid that an open or a close is for.
    fid: u32,
}

/// What a request was for.
#[derive(Clone, Copy, Debug)]
enum Asked {
    Version,
    Attach,
    Resume,
    Restore(usize),
    Walk(usize),
    Operation(usize),
}

/// What a client has come to know.
#[derive(Debug)]
pub enum Event {
    /// The operation of a slot has ended.
    Ended(usize, Operation, Result<Answer>),
    /// It goes on with the session of its last connection.
    Resumed,
    /// A file is open again.
    Restored,
    /// The connection is of no use.
    Refused,
}

/// A client.
pub struct Client {
    pub key: Key,
    pub connection: Option<u64>,
    pub slots: [Slot; SLOTS],
    /// What is to be sent.
    pub out: Buffer,
    calls: Calls<Asked>,
    frames: Frames,
    /// Whether the connection has the session.
    is_ready: bool,
    next_fid: u32,
}

impl Client {
    /// Creates a client without a connection.
    pub fn new(key: u8) -> Self {
        Self {
            key: Key([key; 16]),
            connection: None,
            slots: Default::default(),
            out: Buffer::new(),
            calls: Calls::default(),
            frames: Frames::new(MESSAGE_BYTES as usize),
            is_ready: false,
            next_fid: 1,
        }
    }

    /// Begins to use a new connection.
    pub fn connect(&mut self, connection: u64) {
        self.connection = Some(connection);
        self.calls = Calls::default();
        self.frames = Frames::new(MESSAGE_BYTES as usize);
        self.out.clear();
        self.is_ready = false;
        for slot in &mut self.slots {
            if let Some(file) = &mut slot.file {
                file.is_here = false;
            }
            // The session has closed the file.
            slot.operation
                .take_if(|operation| matches!(operation, Operation::Close));
        }
        let (msize, version) = (MESSAGE_BYTES, OWN_VERSION);
        self.ask(&Request::Version { msize, version }, Asked::Version);
    }

    /// Returns whether a slot can begin an operation.
    pub fn is_free(&self, at: usize) -> bool {
        let slot = &self.slots[at];
        let is_restoring = |file: &OpenFile| self.is_ready && !file.is_here;
        slot.operation.is_none() && !slot.file.as_ref().is_some_and(is_restoring)
    }

    /// Begins an operation.
    pub fn begin(&mut self, at: usize, operation: Operation) {
        let slot = &mut self.slots[at];
        if let Operation::Close = operation {
            let file = slot.file.take().expect("an open file is closed");
            slot.fid = file.fid;
            if !file.is_here {
                // The session never had it.
                return;
            }
        }
        slot.operation = Some(operation);
        let is_here = slot.file.as_ref().is_none_or(|file| file.is_here);
        if self.is_ready && is_here {
            self.send(at);
        }
    }

    /// Sends a request.
    fn ask(&mut self, request: &Request<'_>, asked: Asked) {
        let tag = self.calls.begin(request, asked, &mut self.out);
        tag.expect("a tag is free");
    }

    /// Sends the request of a slot, if it has any.
    fn send(&mut self, at: usize) {
        let slot = &mut self.slots[at];
        let Some(operation) = slot.operation.clone() else {
            return;
        };
        let fid = slot.file.as_ref().map_or(slot.fid, |file| file.fid);
        let asked = Asked::Operation(at);
        match operation {
            Operation::Open { name, creates } => {
                let newfid = self.next_fid;
                self.next_fid += 1;
                slot.fid = newfid;
                let names = (!creates).then_some(name.as_slice());
                let mut bytes = Buffer::new();
                let path = Path::encode(names.into_iter(), &mut bytes).unwrap();
                let fid = 0;
                self.ask(&Request::Walk { fid, newfid, path }, Asked::Walk(at));
            }
            Operation::Write { offset, data } => {
                let data = Data(&data);
                self.ask(&Request::Write { fid, offset, data }, asked);
            }
            Operation::Read { offset, count } => {
                self.ask(&Request::Read { fid, offset, count }, asked);
            }
            Operation::Sync { level: 0 } => {
                let data_only = Trailing(0);
                self.ask(&Request::Fsync { fid, data_only }, asked);
            }
            Operation::Sync { level } => self.ask(&Request::Commit { fid, level }, asked),
            Operation::Cut { size } => {
                let valid = Change::SIZE;
                let change = Change {
                    valid,
                    size,
                    ..Change::default()
                };
                self.ask(&Request::SetAttributes { fid, change }, asked);
            }
            Operation::Close => self.ask(&Request::Clunk { fid }, asked),
            Operation::Fetch { name: path } => {
                let (fid, count, path) = (0, MESSAGE_BYTES, &path);
                self.ask(&Request::Fetch { fid, count, path }, asked);
            }
            Operation::Rename { from, to } => {
                let (old, new) = (&from, &to);
                let (from, to) = (0, 0);
                self.ask(&Request::RenameAt { from, old, to, new }, asked);
            }
            Operation::Remove { name } => {
                let (directory, name, flags) = (0, &name, 0);
                let request = Request::UnlinkAt {
                    directory,
                    name,
                    flags,
                };
                self.ask(&request, asked);
            }
        }
    }

    /// Takes bytes of the connection.
    pub fn receive(&mut self, bytes: &[u8], events: &mut Vec<Event>) {
        let mut left = bytes;
        while !left.is_empty() {
            let space = self.frames.space();
            let count = space.len().min(left.len());
            space[..count].copy_from_slice(&left[..count]);
            self.frames.filled(count);
            left = &left[count..];
            while let Some(message) = self.frames.take().expect("the server sends messages") {
                let message = message.to_vec();
                let (asked, reply) = self.calls.finish(&message).expect("the reply to a request");
                self.on_reply(asked, reply, events);
            }
        }
    }

    /// Handles a reply.
    fn on_reply(&mut self, asked: Asked, reply: Result<Reply<'_>>, events: &mut Vec<Event>) {
        match (asked, reply) {
            (Asked::Version, Ok(Reply::Version { version, .. })) => {
                assert_eq!(version, OWN_VERSION);
                let request = Request::Attach {
                    fid: 0,
                    afid: NO_FID,
                    user: b"",
                    export: b"",
                    uid: 0,
                };
                self.ask(&request, Asked::Attach);
            }
            (Asked::Attach, Ok(_)) => self.ask(&Request::Resume { key: self.key }, Asked::Resume),
            (Asked::Resume, Ok(Reply::Resume { is_known })) => {
                self.is_ready = true;
                if is_known == 1 {
                    events.push(Event::Resumed);
                }
                (0..SLOTS).for_each(|at| self.restore(at));
            }
            (Asked::Version | Asked::Attach | Asked::Resume, _) => events.push(Event::Refused),
            (Asked::Restore(at), Ok(_)) => {
                events.push(Event::Restored);
                if let Some(file) = &mut self.slots[at].file {
                    file.is_here = true;
                }
                self.send(at);
            }
            (Asked::Restore(_), Err(Errno::IO)) => events.push(Event::Refused),
            (Asked::Restore(at), Err(error)) => {
                assert_eq!(error, Errno::STALE);
                self.slots[at].file = None;
                self.end(at, Err(error), events);
            }
            (Asked::Walk(at), Ok(_)) => {
                let asked = Asked::Operation(at);
                match self.slots[at].operation.clone() {
                    Some(Operation::Open { name, creates }) => {
                        let (fid, name) = (self.slots[at].fid, &name);
                        let (flags, mode, gid) = (0o102, 0o600, 0);
                        let create = Request::Create {
                            fid,
                            name,
                            flags,
                            mode,
                            gid,
                        };
                        let open = Request::Open { fid, flags: 2 };
                        self.ask(if creates { &create } else { &open }, asked);
                    }
                    other => panic!("a walk for {other:?}"),
                }
            }
            (Asked::Walk(at) | Asked::Operation(at), Err(error)) => {
                self.end(at, Err(error), events);
            }
            (Asked::Operation(at), Ok(reply)) => {
                let answer = match reply {
                    Reply::Open { qid, .. } | Reply::Create { qid, .. } => {
                        Answer::Opened((qid.path, qid.version.into()))
                    }
                    Reply::Read { data } => Answer::Data(data.0.to_vec()),
                    Reply::Fetch { qid, data, .. } => {
                        Answer::Fetched((qid.path, qid.version.into()), data.0.to_vec())
                    }
                    Reply::Write { count } => {
                        let operation = &self.slots[at].operation;
                        let Some(Operation::Write { data, .. }) = operation else {
                            panic!("a write for {operation:?}");
                        };
                        assert_eq!(count as usize, data.len());
                        Answer::Done
                    }
                    _ => Answer::Done,
                };
                self.end(at, Ok(answer), events);
            }
        }
    }

    /// Opens the file of a slot over the connection again, or sends the request of the slot.
    fn restore(&mut self, at: usize) {
        let slot = &self.slots[at];
        let Some(OpenFile { key, name, fid, .. }) = &slot.file else {
            return self.send(at);
        };
        let (path, newfid) = (name.clone(), *fid);
        let request = Request::Restore {
            fid: 0,
            newfid,
            number: key.0,
            created_s: key.1,
            created_ns: 0,
            flags: 2,
            path: &path,
        };
        self.ask(&request, Asked::Restore(at));
    }

    /// Ends the operation of a slot.
    fn end(&mut self, at: usize, result: Result<Answer>, events: &mut Vec<Event>) {
        let Some(operation) = self.slots[at].operation.take() else {
            return;
        };
        match (&operation, &result) {
            (Operation::Open { name, .. }, Ok(Answer::Opened(key))) => {
                let (key, name, fid) = (*key, name.clone(), self.slots[at].fid);
                let is_here = true;
                let file = OpenFile {
                    key,
                    name,
                    fid,
                    is_here,
                };
                self.slots[at].file = Some(file);
            }
            (Operation::Rename { from, to }, Ok(_)) => {
                let files = self.slots.iter_mut().filter_map(|slot| slot.file.as_mut());
                for file in files.filter(|file| file.name == *from) {
                    file.name.clone_from(to);
                }
            }
            _ => {}
        }
        events.push(Event::Ended(at, operation, result));
    }
}
