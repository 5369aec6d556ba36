//! A daemon with an export of its own, and clients of it.

use isthmus_forward::Errno;
use isthmus_forward::message::{
    Attributes, Change, Data, Key, NO_FID, Qid, Reply, Request, Trailing, VERSION,
};
use isthmus_iod::{Address, CacheConfig, Config, Daemon};
use isthmus_iod_client::{Connection, ROOT};
use isthmus_wire::Remote;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Time that the daemon may take for an answer.
pub const TIME: Duration = Duration::from_secs(20);

/// A folder that is removed at the end.
pub struct Folder(pub PathBuf);

impl Folder {
    /// Makes an empty folder.
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("isthmus-iod-{}-{number}", std::process::id());
        let path = std::env::temp_dir().canonicalize().unwrap().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Lets a daemon listen at a port of this machine as well, for clients without a token.
pub fn allow_plain(config: &mut Config) {
    let port = Address::parse("tcp:127.0.0.1:0").unwrap();
    config.server.listen.push(port);
    config.allow_plain = true;
}

/// A daemon that exports `files` at the Unix socket `socket`, below a folder of its own.
pub struct Rig {
    pub daemon: Daemon,
    pub folder: Folder,
}

impl Rig {
    /// Starts a daemon with default settings.
    pub fn start() -> Self {
        Self::with(|_| {})
    }

    /// Starts a daemon whose settings are changed by `change`.
    pub fn with(change: impl FnOnce(&mut Config)) -> Self {
        let folder = Folder::new();
        std::fs::create_dir(folder.0.join("files")).unwrap();
        let mut config = Self::config(&folder);
        change(&mut config);
        let daemon = Daemon::start(config).unwrap();
        Self { daemon, folder }
    }

    /// Returns the settings of a daemon.
    pub fn config(folder: &Folder) -> Config {
        let listen = Address::Unix(folder.0.join("socket"));
        Config::new(vec![listen], vec![folder.0.join("files")])
    }

    /// Starts a daemon with a cache that drains nothing by itself for an hour, with settings that `change`
    /// changes.
    pub fn cached(change: impl FnOnce(&mut Config)) -> Self {
        let folder = Folder::new();
        std::fs::create_dir(folder.0.join("files")).unwrap();
        let mut config = Self::config(&folder);
        Self::add_cache(&mut config, &folder);
        change(&mut config);
        let daemon = Daemon::start(config).unwrap();
        Self { daemon, folder }
    }

    /// Gives a daemon a cache below a folder.
    pub fn add_cache(config: &mut Config, folder: &Folder) {
        let mut cache = CacheConfig::new(folder.0.join("cache"));
        cache.settings.dirty_age = Duration::from_secs(3600);
        config.cache = Some(cache);
    }

    /// Ends the daemon as if it were killed: nothing is drained. Starts another one with the same folders.
    pub fn restart(self, change: impl FnOnce(&mut Config)) -> Self {
        let Self { daemon, folder } = self;
        drop(daemon);
        let mut config = Self::config(&folder);
        Self::add_cache(&mut config, &folder);
        change(&mut config);
        let daemon = Daemon::start(config).unwrap();
        Self { daemon, folder }
    }

    /// Returns the path of a file in the export.
    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.folder.0.join("files").join(name)
    }

    /// Returns the address of the daemon.
    pub fn remote(&self) -> Remote {
        Remote::parse(&self.daemon.addresses()[0].to_string()).unwrap()
    }

    /// Connects a client, which is attached to the export.
    pub fn client(&self) -> Client {
        Client(Connection::open(&self.remote(), None, b"", TIME).unwrap())
    }

    /// Connects a client of 9P2000.L without the messages of isthmus.
    pub fn plain(&self) -> Client {
        let mut client = self.client();
        let (msize, version) = (client.0.data_bytes() + 24, VERSION);
        let agreed = client.call(Request::Version { msize, version }, |reply| {
            assert_eq!(reply, Reply::Version { msize, version });
        });
        agreed.unwrap();
        let (fid, afid, uid) = (ROOT, NO_FID, 0);
        let (user, export) = (b"".as_slice(), b"".as_slice());
        let attach = Request::Attach {
            fid,
            afid,
            user,
            export,
            uid,
        };
        client.does(attach).unwrap();
        client
    }
}

/// A client that sends one request at a time.
pub struct Client(pub Connection<()>);

impl Client {
    /// Sends a request, and returns what `take` makes of the reply.
    pub fn call<R>(
        &mut self,
        request: Request<'_>,
        take: impl FnOnce(Reply<'_>) -> R,
    ) -> Result<R, Errno> {
        self.0.call(&request, (), |reply| reply.map(take)).unwrap()
    }

    /// Sends a request, whose reply has no fields of interest.
    pub fn does(&mut self, request: Request<'_>) -> Result<(), Errno> {
        self.call(request, |_| ())
    }

    /// Walks from the root along a path, and returns the last qid.
    pub fn walk(&mut self, newfid: u32, path: &str) -> Result<Option<Qid>, Errno> {
        let names: Vec<_> = path.split('/').filter(|name| !name.is_empty()).collect();
        let bytes: Vec<_> = names.iter().map(|name| name.as_bytes()).collect();
        self.0.begin_walk(ROOT, newfid, &bytes, ()).unwrap();
        let walked = self.0.next(|(), reply| {
            reply.map(|reply| match reply {
                Reply::Walk { qids } => qids,
                other => panic!("{other:?}"),
            })
        });
        let qids = walked.unwrap()?;
        match qids.len() == names.len() {
            true => Ok(qids.last().copied()),
            false => Err(Errno::NOENT),
        }
    }

    /// Forgets a fid.
    pub fn clunk(&mut self, fid: u32) {
        self.does(Request::Clunk { fid }).unwrap();
    }

    /// Opens a file at a path.
    pub fn open(&mut self, fid: u32, path: &str, flags: u32) -> Result<(), Errno> {
        self.walk(fid, path)?;
        let opened = self.does(Request::Open { fid, flags });
        if opened.is_err() {
            self.clunk(fid);
        }
        opened
    }

    /// Creates a file in a directory and opens it for reading and writing.
    pub fn create(&mut self, fid: u32, directory: &str, name: &str) -> Result<(), Errno> {
        self.walk(fid, directory)?;
        let (name, flags, mode, gid) = (name.as_bytes(), 0o302, 0o640, 0);
        let created = self.does(Request::Create {
            fid,
            name,
            flags,
            mode,
            gid,
        });
        if created.is_err() {
            self.clunk(fid);
        }
        created
    }

    /// Writes data to an open file.
    pub fn write(&mut self, fid: u32, offset: u64, data: &[u8]) -> Result<u32, Errno> {
        let data = Data(data);
        self.call(Request::Write { fid, offset, data }, |reply| match reply {
            Reply::Write { count } => count,
            other => panic!("{other:?}"),
        })
    }

    /// Returns the attributes of a fid.
    pub fn attributes(&mut self, fid: u32) -> Result<Attributes, Errno> {
        let mask = Attributes::BASIC;
        self.call(Request::GetAttributes { fid, mask }, |reply| match reply {
            Reply::GetAttributes { attributes } => attributes,
            other => panic!("{other:?}"),
        })
    }

    /// Changes attributes of a file.
    pub fn change(&mut self, fid: u32, change: Change) -> Result<(), Errno> {
        self.does(Request::SetAttributes { fid, change })
    }

    /// Has the data of an open file stored.
    pub fn fsync(&mut self, fid: u32) -> Result<(), Errno> {
        let data_only = Trailing(0);
        self.does(Request::Fsync { fid, data_only })
    }

    /// Renames an entry of the root.
    pub fn rename(&mut self, old: &str, new: &str) -> Result<(), Errno> {
        let (old, new) = (old.as_bytes(), new.as_bytes());
        let (from, to) = (ROOT, ROOT);
        self.does(Request::RenameAt { from, old, to, new })
    }

    /// Removes an entry of the root.
    pub fn unlink(&mut self, name: &str) -> Result<(), Errno> {
        let (directory, name, flags) = (ROOT, name.as_bytes(), 0);
        self.does(Request::UnlinkAt {
            directory,
            name,
            flags,
        })
    }

    /// Takes up the session with a key. Returns whether there was one.
    pub fn resume(&mut self, key: u8) -> Result<bool, Errno> {
        let key = Key([key; 16]);
        self.call(Request::Resume { key }, |reply| match reply {
            Reply::Resume { is_known } => is_known == 1,
            other => panic!("{other:?}"),
        })
    }

    /// Restores a fid for the file at a path from the root.
    pub fn restore(
        &mut self,
        newfid: u32,
        number: u64,
        flags: u32,
        path: &str,
    ) -> Result<(), Errno> {
        let (fid, path) = (ROOT, path.as_bytes());
        self.does(Request::Restore {
            fid,
            newfid,
            number,
            created_s: 0,
            created_ns: 0,
            flags,
            path,
        })
    }

    /// Waits until the data of an open file is safe.
    pub fn commit(&mut self, fid: u32, level: u8) -> Result<(), Errno> {
        self.does(Request::Commit { fid, level })
    }

    /// Locks all of an open file for one process, or unlocks it with mode 2. Returns the status.
    pub fn lock(&mut self, fid: u32, mode: u8) -> Result<u8, Errno> {
        let (flags, start, length, process) = (0, 0, 0, 7);
        let client = b"host".as_slice();
        let request = Request::Lock {
            fid,
            mode,
            flags,
            start,
            length,
            process,
            client,
        };
        self.call(request, |reply| match reply {
            Reply::Lock { status } => status,
            other => panic!("{other:?}"),
        })
    }

    /// Reads data of an open file.
    pub fn read(&mut self, fid: u32, offset: u64, count: u32) -> Result<Vec<u8>, Errno> {
        self.call(Request::Read { fid, offset, count }, |reply| match reply {
            Reply::Read { data } => data.0.to_vec(),
            other => panic!("{other:?}"),
        })
    }
}
