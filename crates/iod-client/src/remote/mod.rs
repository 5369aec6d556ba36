//! The files of a daemon by their paths, for programs that do not mount them.

mod fids;
mod parts;

use crate::connection::ROOT;
use crate::error::Error;
use crate::link::{Link, Recalled, Target};
use fids::Fids;
use isthmus_forward::message::{
    Attributes, DaemonStatus, Data, Entry, Path, Reply, Request, UnstoredFile,
};
use isthmus_forward::{Buffer, Errno};
use parts::Parts;
use rustix::fs::OFlags;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Gets the result of an operation, on another thread. It must not wait.
pub type Answer<T> = Box<dyn FnOnce(Result<T, Errno>) + Send>;

/// The flag with which an entry is removed that is a directory.
const REMOVE_DIRECTORY: u32 = 0x200;

/// Size in bytes of the part of the list of files that are not stored.
const UNSTORED_BYTES: u32 = 64 << 10;

/// Size in bytes of the part of a directory that is listed at a time.
const LISTED_BYTES: u32 = 64 << 10;

/// A small file, or the start of a larger one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// The number of the file at the daemon.
    pub number: u64,
    /// Size in bytes.
    pub size: u64,
    /// Time of the last write, in s and ns since 1970.
    pub modified: (u64, u32),
    /// The data from the start.
    pub data: Vec<u8>,
}

/// A file with bytes that are not stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unstored {
    /// Its number in the cache.
    pub number: u64,
    /// The number of bytes that are not stored.
    pub bytes: u64,
    /// For how long the oldest of them has waited.
    pub age: Duration,
    /// The error of the last attempt to store it.
    pub error: Option<Errno>,
    /// Its absolute path in the store.
    pub path: Vec<u8>,
}

impl Unstored {
    /// Copy what is in a reply.
    fn of(file: &UnstoredFile<'_>) -> Self {
        Self {
            number: file.number,
            bytes: file.bytes,
            age: Duration::from_millis(file.age_ms),
            error: (file.errno != 0).then_some(Errno(file.errno)),
            path: file.path.to_vec(),
        }
    }
}

/// An entry of a directory: its name, and the attributes of the file.
pub type Listed = (Vec<u8>, Attributes);

/// The files of a daemon.
///
/// Requests are sent without waiting for the replies to those before. Those that use a fid may follow the one that makes
/// it at once; if it cannot be made, they fail with the same error. A path is that from the root of the export: names
/// with `/` between them. Symbolic links are not followed.
pub struct RemoteFiles {
    link: Arc<Link>,
    fids: Arc<Fids>,
    /// The number of the root at the daemon.
    number: u64,
}

impl fmt::Debug for RemoteFiles {
    /// Write the connection.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.link.fmt(f)
    }
}

impl RemoteFiles {
    /// Connect to a daemon. `report` gets a line when the daemon is gone, and when it is back.
    ///
    /// # Errors
    /// As [`Link::open`]; the daemon does not know the messages of isthmus.
    pub fn open(
        target: Target,
        report: impl Fn(&str) + Send + Sync + 'static,
    ) -> crate::Result<Arc<Self>> {
        let remote = target.remote.to_string();
        let mut number = 0;
        let (link, fids) = Link::open(target, |root| {
            number = root.qid.path;
            Fids::new(Box::new(report))
        })?;
        if !link.has_own_messages() {
            link.end();
            let text = "is another server of 9P: give the address of `isthmus iod serve`";
            return Err(Error::Unfit(remote, text));
        }
        Ok(Arc::new(Self { link, fids, number }))
    }

    /// End the connection. Operations in flight fail with `EIO`.
    pub fn end(&self) {
        self.link.end();
    }

    /// Read an ordinary file from its start, at most `count` bytes.
    pub fn fetch(&self, path: &[u8], count: u32, answer: Answer<Fetched>) {
        let fid = ROOT;
        self.link.send(
            &Request::Fetch { fid, count, path },
            Box::new(move |reply| {
                answer(match reply {
                    Ok(Reply::Fetch {
                        qid,
                        size,
                        mtime_s,
                        mtime_ns,
                        data,
                    }) => Ok(Fetched {
                        number: qid.path,
                        size,
                        modified: (mtime_s, mtime_ns),
                        data: data.0.to_vec(),
                    }),
                    other => Err(error(other)),
                });
            }),
        );
    }

    /// Have the daemon read a file into its cache.
    pub fn prefetch(&self, path: &[u8], answer: Answer<()>) {
        let fid = ROOT;
        self.link.send(
            &Request::Prefetch { fid, path },
            Box::new(|reply| answer(reply.map(|_| ()))),
        );
    }

    /// Ask for the state of the daemon.
    pub fn status(&self, answer: Answer<DaemonStatus>) {
        self.link.send(
            &Request::Status {},
            Box::new(|reply| {
                answer(match reply {
                    Ok(Reply::Status { status }) => Ok(status),
                    other => Err(error(other)),
                });
            }),
        );
    }

    /// Ask for some of the files with bytes that are not stored, from the one with this number on, ordered by
    /// number; none at the end.
    pub fn list_unstored(&self, from: u64, answer: Answer<Vec<Unstored>>) {
        let count = UNSTORED_BYTES;
        self.link.send(
            &Request::ListUnstored { from, count },
            Box::new(|reply| {
                answer(match reply {
                    Ok(Reply::ListUnstored { files: Data(data) }) => UnstoredFile::read_all(data)
                        .map(|files| files.iter().map(Unstored::of).collect())
                        .map_err(|_| Errno::PROTO),
                    other => Err(error(other)),
                });
            }),
        );
    }

    /// Have the daemon store all files, and wait until everything that was written before is stored.
    pub fn drain(&self, answer: Answer<()>) {
        let done = Box::new(|reply: Result<Reply<'_>, Errno>| answer(reply.map(|_| ())));
        self.link.send(&Request::Drain {}, done);
    }

    /// Drop the bytes of a file that are not stored, given by its number and path as in the list. The answer is how
    /// many they were.
    pub fn abandon(&self, number: u64, path: &[u8], answer: Answer<u64>) {
        self.link.send(
            &Request::Abandon { number, path },
            Box::new(|reply| {
                answer(match reply {
                    Ok(Reply::Abandon { bytes }) => Ok(bytes),
                    other => Err(error(other)),
                });
            }),
        );
    }

    /// Ask for the attributes of the file at a path.
    pub fn attributes(&self, path: &[u8], answer: Answer<Attributes>) {
        let fid = self.walk(path);
        self.attributes_of(fid, answer);
        self.close(fid);
    }

    /// Ask for the attributes of the file of a fid.
    pub fn attributes_of(&self, fid: u32, answer: Answer<Attributes>) {
        let mask = Attributes::BASIC;
        self.send(fid, &Request::GetAttributes { fid, mask }, |reply| {
            answer(match reply {
                Ok(Reply::GetAttributes { attributes }) => Ok(attributes),
                other => Err(error(other)),
            });
        });
    }

    /// Ask for the target of a symbolic link.
    pub fn read_link(&self, path: &[u8], answer: Answer<Vec<u8>>) {
        let fid = self.walk(path);
        self.send(fid, &Request::ReadLink { fid }, |reply| {
            answer(match reply {
                Ok(Reply::ReadLink { target }) => Ok(target.to_vec()),
                other => Err(error(other)),
            });
        });
        self.close(fid);
    }

    /// Create a directory.
    pub fn make_directory(&self, path: &[u8], mode: u32, answer: Answer<()>) {
        let (parent, name) = split(path);
        let fid = self.walk(parent);
        let request = Request::MakeDirectory {
            fid,
            name,
            mode,
            gid: u32::MAX,
        };
        self.send(fid, &request, |reply| answer(reply.map(|_| ())));
        self.close(fid);
    }

    /// Remove a file, or an empty directory.
    pub fn remove(&self, path: &[u8], is_directory: bool, answer: Answer<()>) {
        let (parent, name) = split(path);
        let directory = self.walk(parent);
        let request = Request::UnlinkAt {
            directory,
            name,
            flags: if is_directory { REMOVE_DIRECTORY } else { 0 },
        };
        self.send(directory, &request, |reply| answer(reply.map(|_| ())));
        self.close(directory);
    }

    /// Rename a file or directory. A file that has the new path is replaced.
    pub fn rename(&self, old_path: &[u8], new_path: &[u8], answer: Answer<()>) {
        let ((parent, old), (new_parent, new)) = (split(old_path), split(new_path));
        let (from, to) = (self.walk(parent), self.walk(new_parent));
        let fids = Arc::clone(&self.fids);
        let paths = (old_path.to_vec(), new_path.to_vec());
        let made = self.fids.made(to);
        self.send(
            from,
            &Request::RenameAt { from, old, to, new },
            move |reply| {
                let result = made.and_then(|made| made.check(reply.map(|_| ())));
                if result.is_ok() {
                    fids.renamed(&paths.0, &paths.1);
                }
                answer(result);
            },
        );
        self.close(from);
        self.close(to);
    }

    /// Open a file with flags of Linux and return its fid. With `O_CREAT` it is created with `mode` if it does not exist.
    pub fn open_file(&self, path: &[u8], flags: u32, mode: u32) -> u32 {
        let is_created = OFlags::from_bits_retain(flags).contains(OFlags::CREATE);
        let (parent, name) = split(path);
        let fid = self.walk_from(ROOT, b"", if is_created { parent } else { path });
        let request = match is_created {
            true => Request::Create {
                fid,
                name,
                flags,
                mode,
                gid: u32::MAX,
            },
            false => Request::Open { fid, flags },
        };
        let (fids, path) = (Arc::clone(&self.fids), path.to_vec());
        let flags = flags & !(OFlags::CREATE | OFlags::EXCL | OFlags::TRUNC).bits();
        self.send(fid, &request, move |reply| match reply {
            // Before the next reply: if the connection is lost then, the fid comes back open.
            Ok(Reply::Create { qid, .. } | Reply::Open { qid, .. }) => {
                let (number, flags) = (qid.path, Some(flags));
                fids.found(fid, recalled(path, number, flags));
            }
            other => fids.fail(fid, error(other)),
        });
        // By its time of creation as well, the daemon sees after a restart that the file is the same.
        let fids = Arc::clone(&self.fids);
        let created: Answer<Attributes> = Box::new(move |found| {
            if let Ok(attributes) = found {
                fids.set_created(fid, attributes.created());
            }
        });
        self.attributes_of(fid, created);
        fid
    }

    /// Read `count` bytes of an open file; fewer at its end.
    pub fn read(&self, fid: u32, offset: u64, count: usize, answer: Answer<Vec<u8>>) {
        let mut bytes = Vec::new();
        if bytes.try_reserve_exact(count).is_err() {
            return answer(Err(Errno::NOMEM));
        }
        bytes.resize(count, 0);
        let part = self.link.data_bytes() as usize;
        // The bytes, and the number of them that the file has.
        let answer: Answer<(Vec<u8>, usize)> = Box::new(move |read| {
            answer(read.map(|(mut bytes, end)| {
                bytes.truncate(end);
                bytes
            }));
        });
        let parts = Parts::new(count.div_ceil(part) + 1, (bytes, count), answer);
        for start in (0..count).step_by(part) {
            let wanted = part.min(count - start);
            let request = Request::Read {
                fid,
                offset: offset + start as u64,
                count: u32::try_from(wanted).unwrap_or(u32::MAX),
            };
            let parts = Arc::clone(&parts);
            self.send(fid, &request, move |reply| {
                parts.fill(|(bytes, end)| match reply {
                    Ok(Reply::Read { data: Data(data) }) => {
                        let data = &data[..data.len().min(wanted)];
                        bytes[start..start + data.len()].copy_from_slice(data);
                        if data.len() < wanted {
                            *end = (*end).min(start + data.len());
                        }
                        Ok(())
                    }
                    other => Err(error(other)),
                });
            });
        }
        parts.fill(|_| Ok(()));
    }

    /// Write bytes to an open file.
    pub fn write(&self, fid: u32, offset: u64, bytes: &[u8], answer: Answer<()>) {
        let part = self.link.data_bytes() as usize;
        let parts = Parts::new(bytes.len().div_ceil(part) + 1, (), answer);
        for (data, start) in bytes.chunks(part).zip((0..).step_by(part)) {
            let parts = Arc::clone(&parts);
            let request = Request::Write {
                fid,
                offset: offset + start as u64,
                data: Data(data),
            };
            let wanted = data.len();
            self.send(fid, &request, move |reply| {
                parts.fill(|()| match reply {
                    Ok(Reply::Write { count }) if count as usize == wanted => Ok(()),
                    // As a file system: the next write says why.
                    Ok(Reply::Write { .. }) => Err(Errno::NOSPC),
                    other => Err(error(other)),
                });
            });
        }
        parts.fill(|()| Ok(()));
    }

    /// Wait until the data of an open file is safe at a level: see [`Request::Commit`].
    pub fn commit(&self, fid: u32, level: u8, answer: Answer<()>) {
        self.send(fid, &Request::Commit { fid, level }, |reply| {
            answer(reply.map(|_| ()));
        });
    }

    /// Forget a fid.
    pub fn close(&self, fid: u32) {
        if fid == ROOT {
            return;
        }
        let fids = Arc::clone(&self.fids);
        self.link.send(
            &Request::Clunk { fid },
            Box::new(move |reply| {
                // A daemon with too many requests that wait for the store keeps it.
                if reply.err() != Some(Errno::AGAIN) {
                    fids.remove(fid);
                }
            }),
        );
    }

    /// List a directory. An entry that is removed meanwhile may be left out.
    pub fn list(self: &Arc<Self>, path: &[u8], answer: Answer<Vec<Listed>>) {
        let listing = Listing {
            files: Arc::clone(self),
            directory: self.walk(path),
            open: self.open_file(path, OFlags::RDONLY.bits(), 0),
            path: path.to_vec(),
            entries: Vec::new(),
        };
        listing.go_on(0, answer);
    }

    /// Walk from the root to the file at a path. Return its fid.
    fn walk(&self, path: &[u8]) -> u32 {
        match path {
            b"" => ROOT,
            path => self.walk_from(ROOT, b"", path),
        }
    }

    /// Walk along a path from a fid that has the path `base`. Return the fid of the file.
    fn walk_from(&self, start: u32, base: &[u8], path: &[u8]) -> u32 {
        let (last, made) = self.fids.add();
        let names = path
            .split(|byte| *byte == b'/')
            .filter(|name| !name.is_empty());
        let names = names.collect::<Vec<_>>();
        let whole = match base {
            b"" => path.to_vec(),
            base => [base, path].join(&b'/'),
        };
        let steps = names.len().div_ceil(Path::LIMIT).max(1);
        let mut fid = start;
        for step in 0..steps {
            let is_last = step + 1 == steps;
            // A fid of its own: if it cannot be made, what follows must not use the directory before it.
            let newfid = if is_last { last } else { self.fids.add().0 };
            let some = names.iter().skip(step * Path::LIMIT).take(Path::LIMIT);
            let mut bytes = Buffer::new();
            match Path::encode(some.copied(), &mut bytes) {
                Ok(path) => {
                    let (fids, made, root) = (Arc::clone(&self.fids), made.clone(), self.number);
                    let path_of_last = is_last.then(|| whole.clone());
                    self.link.send(
                        &Request::Walk { fid, newfid, path },
                        Box::new(move |reply| match (reply, path_of_last) {
                            (Ok(Reply::Walk { qids }), Some(path)) => {
                                let number = qids.last().map_or(root, |qid| qid.path);
                                let flags = None;
                                fids.found(newfid, recalled(path, number, flags));
                            }
                            (Ok(Reply::Walk { .. }), None) => {}
                            (other, _) => made.fail(error(other)),
                        }),
                    );
                }
                Err(_) => made.fail(Errno::NAMETOOLONG),
            }
            if fid != start {
                self.close(fid);
            }
            fid = newfid;
        }
        last
    }

    /// Send a request that uses a fid. `done` gets the reply, or the error for which there is no fid.
    fn send(
        &self,
        fid: u32,
        request: &Request<'_>,
        done: impl for<'a> FnOnce(Result<Reply<'a>, Errno>) + Send + 'static,
    ) {
        match self.fids.made(fid) {
            Ok(made) => self
                .link
                .send(request, Box::new(move |reply| done(made.check(reply)))),
            Err(errno) => done(Err(errno)),
        }
    }
}

/// A directory that is being listed.
struct Listing {
    files: Arc<RemoteFiles>,
    /// Its fid, and one that is open.
    directory: u32,
    open: u32,
    path: Vec<u8>,
    entries: Vec<Listed>,
}

impl Listing {
    /// List the entries from an offset.
    fn go_on(self, offset: u64, answer: Answer<Vec<Listed>>) {
        let (fid, count) = (self.open, LISTED_BYTES);
        let files = Arc::clone(&self.files);
        let request = Request::ReadDirectory { fid, offset, count };
        files.send(fid, &request, move |reply| {
            let result = match reply {
                Ok(Reply::ReadDirectory {
                    entries: Data(data),
                }) => names(data),
                other => Err(error(other)),
            };
            match result {
                Ok((_, None)) => self.end(Ok(()), answer),
                Ok((names, Some(next))) => self.add(names, next, answer),
                Err(errno) => self.end(Err(errno), answer),
            }
        });
    }

    /// Add entries with their attributes, and go on at an offset.
    fn add(self, names: Vec<Vec<u8>>, next: u64, answer: Answer<Vec<Listed>>) {
        let files = Arc::clone(&self.files);
        let (directory, path) = (self.directory, self.path.clone());
        let count = names.len();
        let added: Answer<Vec<Listed>> = Box::new(move |added| {
            let mut listing = self;
            match added {
                Ok(added) => {
                    listing.entries.extend(added);
                    listing.go_on(next, answer);
                }
                Err(errno) => listing.end(Err(errno), answer),
            }
        });
        let parts = Parts::new(count + 1, Vec::with_capacity(count), added);
        for name in names {
            let fid = files.walk_from(directory, &path, &name);
            let parts = Arc::clone(&parts);
            let attributes: Answer<Attributes> = Box::new(move |found| {
                parts.fill(|entries| match found {
                    Ok(attributes) => {
                        entries.push((name, attributes));
                        Ok(())
                    }
                    // It was removed meanwhile.
                    Err(Errno::NOENT | Errno::STALE) => Ok(()),
                    Err(errno) => Err(errno),
                });
            });
            files.attributes_of(fid, attributes);
            files.close(fid);
        }
        parts.fill(|_| Ok(()));
    }

    /// Forget the fids and pass the entries on.
    fn end(self, result: Result<(), Errno>, answer: Answer<Vec<Listed>>) {
        self.files.close(self.directory);
        self.files.close(self.open);
        answer(result.map(|()| self.entries));
    }
}

/// Return how a file is found again, of which the time of creation is not known.
fn recalled(path: Vec<u8>, number: u64, flags: Option<u32>) -> Recalled {
    Recalled {
        path,
        number,
        created: (0, 0),
        flags,
    }
}

/// Return the names in a part of a directory, and the offset of the next part; `None` at the end.
fn names(data: &[u8]) -> Result<(Vec<Vec<u8>>, Option<u64>), Errno> {
    let (mut names, mut next) = (Vec::new(), None);
    for entry in Entry::read_all(data) {
        let entry = entry.map_err(|_| Errno::PROTO)?;
        next = Some(entry.next);
        if !matches!(entry.name, b"." | b"..") {
            names.push(entry.name.to_vec());
        }
    }
    Ok((names, next))
}

/// Return the directory of a path, and the name in it.
fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(at) => (&path[..at], &path[at + 1..]),
        None => (b"", path),
    }
}

/// Return the error in a reply of another type than expected.
fn error(reply: Result<Reply<'_>, Errno>) -> Errno {
    reply.err().unwrap_or(Errno::PROTO)
}
