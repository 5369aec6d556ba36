//! A file, which is written under a temporary name and renamed when it is complete.
//!
//! That name is unguessable, and only the daemon's user may open the file. Before the rename, the inode
//! under that name is compared with the file that was written. [`replaceable`] says what may be replaced.
//!
//! A thread per connection creates and writes the file, because a disk may block and the driver
//! must not. The thread owns the memory of a packet while it writes it. A packet is done when the
//! system has accepted it. The file survives a power cut once it is kept: synced, renamed, and its
//! directory synced.
//!
//! All operations on the file go through the descriptor of its directory, so that nobody can
//! redirect them by replacing the directory.
//!
//! A disk may hang permanently. Nothing waits for the thread then: it is abandoned, with the one
//! packet that it writes. There are at most [`WRITERS_MOST`] threads.

use super::part::{beside, replaceable};
use super::writers::{Slot, WRITERS_MOST, Writers};
use crate::memory::Block;
use isthmus_stream::{OrderId, PacketId};
use rustix::fs::{
    AtFlags, CWD, FlockOperation, Mode, OFlags, RenameFlags, Stat, fchmod, flock, fstat, fsync,
    openat, renameat, renameat_with, statat, unlinkat,
};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// Requests to the thread. Their packets are part of the manager's network memory, which bounds
/// their number. Unwanted packets are removed.
#[derive(Debug, Default)]
struct Asks {
    writes: VecDeque<(OrderId, PacketId, Block)>,
    end: Option<Then>,
}

/// A request to the thread.
enum Ask {
    Write(OrderId, PacketId, Block),
    End(Then),
}

/// What to do with the file when the connection ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Then {
    /// Keep it.
    Keep,
    /// Remove it, because a stream failed.
    Spoiled,
    /// Remove it, because there was no stream.
    Unused,
}

#[derive(Debug, Default)]
struct Line(Mutex<Asks>, Condvar);

impl Line {
    fn put(&self, what: impl FnOnce(&mut Asks)) {
        // The queue is consistent even if another thread panicked with the lock.
        what(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
        self.1.notify_one();
    }

    fn take(&self) -> Ask {
        let asks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let idle = |asks: &mut Asks| asks.writes.is_empty() && asks.end.is_none();
        let waited = self.1.wait_while(asks, idle);
        let mut asks = waited.unwrap_or_else(PoisonError::into_inner);
        match asks.writes.pop_front() {
            Some((order, packet, block)) => Ask::Write(order, packet, block),
            None => Ask::End(asks.end.unwrap_or(Then::Spoiled)),
        }
    }
}

/// An event of the thread.
pub(crate) enum Wrote {
    /// The file was created under its temporary name.
    Made,
    /// The file could not be created, and the thread has ended.
    Unmade(String),
    Done(OrderId, PacketId, Block),
    Refused(String),
    Ended(Kept),
}

/// The outcome of writing a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Kept {
    /// The file is complete, with this size in bytes.
    Whole(u64),
    /// The previous file is unchanged, for this reason.
    Not(String),
    /// The previous file is unchanged, because no stream was submitted.
    Unused,
}

/// A file that is being written.
#[derive(Debug)]
pub(crate) struct Filing {
    pub path: PathBuf,
    asks: Arc<Line>,
    wrote: Receiver<Wrote>,
    ending: bool,
}

impl Filing {
    /// Starts a thread that creates the file under its temporary name, in `directory` or in the
    /// directory of `path`. The thread calls `wake` after each event.
    ///
    /// # Errors
    /// No thread could be started; the message says why.
    pub fn new(
        path: &Path,
        directory: Option<OwnedFd>,
        writers: &Writers,
        wake: impl Fn() + Send + 'static,
    ) -> Result<Self, String> {
        let shown = path.display();
        let slot = writers.enter().ok_or_else(|| {
            format!(
                "making {shown}: {WRITERS_MOST} files are being written, or wait for their disk, \
                 which are the most"
            )
        })?;
        let asks = Arc::new(Line::default());
        let (tell, wrote) = channel();
        let (asked, place) = (Arc::clone(&asks), path.to_owned());
        let thread = std::thread::Builder::new().name("stream-file".into());
        let thread = thread.spawn(move || {
            work(place, directory, &slot, (&asked, &tell), &wake);
            drop(slot);
        });
        thread.map_err(|error| format!("making {shown}: {error}"))?;
        Ok(Self {
            path: path.to_owned(),
            asks,
            wrote,
            ending: false,
        })
    }

    pub fn send(&self, order: OrderId, packet: PacketId, block: Block) {
        self.asks
            .put(|asks| asks.writes.push_back((order, packet, block)));
    }

    /// Ends the file. If it is not kept, queued writes are dropped.
    pub fn end(&mut self, then: Then) {
        self.ending = true;
        self.asks.put(|asks| {
            asks.end = Some(then);
            if then != Then::Keep {
                asks.writes = VecDeque::new();
            }
        });
    }

    /// Returns the next event of the thread.
    pub fn told(&mut self) -> Option<Wrote> {
        self.wrote.try_recv().ok()
    }
}

impl Drop for Filing {
    fn drop(&mut self) {
        // The thread removes its file when it can. Nothing waits for it.
        if !self.ending {
            self.end(Then::Spoiled);
        }
    }
}

/// Runs the thread.
fn work(
    place: PathBuf,
    directory: Option<OwnedFd>,
    slot: &Slot,
    (asked, tell): (&Line, &Sender<Wrote>),
    wake: &dyn Fn(),
) {
    let tell = |said| {
        // The receiver is gone if the driver is gone; then the event does not matter.
        let _ = tell.send(said);
        wake();
    };
    match Writer::new(&place, directory, slot) {
        Ok(writer) => {
            tell(Wrote::Made);
            writer.run(asked, &tell);
        }
        Err(error) => tell(Wrote::Unmade(format!(
            "making {}: {error}",
            place.display()
        ))),
    }
}

struct Writer {
    file: File,
    directory: OwnedFd,
    part: OsString,
    place: PathBuf,
    bytes: u64,
    /// Inode and final mode of the file under its temporary name.
    made: Stat,
    broken: Option<String>,
}

impl Writer {
    fn new(place: &Path, directory: Option<OwnedFd>, slot: &Slot) -> io::Result<Self> {
        let name = place.file_name().ok_or(io::ErrorKind::InvalidFilename)?;
        let directory = match (directory, place.parent()) {
            (Some(directory), _) => directory,
            (None, Some(folder)) if !folder.as_os_str().is_empty() => {
                let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
                openat(CWD, folder, flags, Mode::empty())?
            }
            (None, _) => openat(CWD, ".", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?,
        };
        let part = beside(name)?;
        let noted = slot.note(&place.with_file_name(&part));
        let why = |error| io::Error::other(format!("noting it in the journal: {error}"));
        noted.map_err(why)?;
        // Creating the file exclusively does not follow a link of this name.
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = openat(&directory, &part, flags, Mode::from_raw_mode(0o666))?;
        // The next daemon does not remove a locked part. Where the file system has no locks, it cannot
        // lock the part either, and leaves it.
        let _ = flock(&file, FlockOperation::NonBlockingLockExclusive);
        // The mode that the umask allows is set at the end.
        let made = fstat(&file)?;
        fchmod(&file, Mode::RUSR | Mode::WUSR)?;
        Ok(Self {
            file: file.into(),
            made,
            directory,
            part,
            place: place.to_owned(),
            bytes: 0,
            broken: None,
        })
    }

    fn run(mut self, asked: &Line, tell: &dyn Fn(Wrote)) {
        loop {
            match asked.take() {
                Ask::Write(order, packet, block) => {
                    if self.broken.is_none()
                        && let Err(error) = self.file.write_all(block.data())
                    {
                        let (path, at) = (self.place.display(), self.bytes);
                        let why = format!("writing {path} at byte {at}: {error}");
                        self.broken = Some(why.clone());
                        tell(Wrote::Refused(why));
                    }
                    if self.broken.is_none() {
                        self.bytes += block.data().len() as u64;
                        tell(Wrote::Done(order, packet, block));
                    }
                }
                Ask::End(then) => {
                    let not = |error: io::Error| {
                        Kept::Not(format!("keeping {}: {error}", self.place.display()))
                    };
                    let kept = match (&self.broken, then) {
                        (Some(why), _) => Kept::Not(why.clone()),
                        (None, Then::Spoiled) => Kept::Not("its streams did not end well".into()),
                        (None, Then::Unused) => Kept::Unused,
                        (None, Then::Keep) => {
                            self.keep().map_or_else(not, |()| Kept::Whole(self.bytes))
                        }
                    };
                    if !matches!(kept, Kept::Whole(_)) {
                        // If the incomplete file cannot be removed, its temporary name still tells
                        // what it is.
                        let _ = unlinkat(&self.directory, &self.part, AtFlags::empty());
                    }
                    tell(Wrote::Ended(kept));
                    return;
                }
            }
        }
    }

    fn keep(&self) -> io::Result<()> {
        let (of, name) = (&self.directory, self.place.file_name());
        let name = name.ok_or(io::ErrorKind::InvalidFilename)?;
        let mode = match look(of, name)? {
            Some(there) => {
                replaceable(&there).map_err(io::Error::other)?;
                there.st_mode
            }
            None => self.made.st_mode,
        };
        fchmod(&self.file, Mode::from_raw_mode(mode))?;
        self.file.sync_all()?;
        let ours =
            |found: Stat| (found.st_dev, found.st_ino) == (self.made.st_dev, self.made.st_ino);
        if !look(of, &self.part)?.is_some_and(ours) {
            return Err(io::Error::other(
                "something else was put in the place of what was written",
            ));
        }
        self.rename(name)?;
        // A descriptor opened with `O_PATH` cannot be synced.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(fsync(openat(of, ".", flags, Mode::empty())?)?)
    }

    /// Renames the file to its final name. If the name was created since it was checked, the
    /// existing file is kept, where the file system supports that.
    fn rename(&self, name: &OsStr) -> io::Result<()> {
        let of = &self.directory;
        if look(of, name)?.is_some() {
            return Ok(renameat(of, &self.part, of, name)?);
        }
        match renameat_with(of, &self.part, of, name, RenameFlags::NOREPLACE) {
            Err(Errno::INVAL | Errno::NOSYS) => Ok(renameat(of, &self.part, of, name)?),
            renamed => Ok(renamed?),
        }
    }
}

/// Returns the status of a name in a directory without following links.
fn look(directory: impl AsFd, name: &OsStr) -> io::Result<Option<Stat>> {
    match statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(found) => Ok(Some(found)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::sync_channel;
    use std::time::{Duration, Instant};

    /// Writers that hang block nothing, their number is limited, and their queued writes are
    /// dropped.
    #[test]
    fn nobody_waits_for_a_writer_that_hangs() {
        let name = format!("isthmus-writers-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let writers = Writers::default();
        // Each hangs in its first event.
        let (hangs, hung) = sync_channel(WRITERS_MOST);
        let gate = Arc::new(Mutex::new(()));
        let shut = gate.lock().unwrap();
        let new = || {
            let (hangs, gate) = (hangs.clone(), Arc::clone(&gate));
            Filing::new(&folder.join("out"), None, &writers, move || {
                let _ = hangs.try_send(());
                drop(gate.lock());
            })
        };
        let began = Instant::now();
        for number in 0..WRITERS_MOST as u32 {
            let filing = new().unwrap();
            hung.recv_timeout(Duration::from_secs(60)).unwrap();
            let (order, packet) = (OrderId(u64::from(number)), PacketId(number));
            filing.send(order, packet, Block::default());
            let asks = Arc::clone(&filing.asks);
            drop(filing);
            assert!(asks.0.lock().unwrap().writes.is_empty());
        }
        assert!(began.elapsed() < Duration::from_secs(60));
        let refused = new().unwrap_err();
        assert!(refused.contains("256 files"), "{refused}");
        assert!(!writers.wait(Duration::from_millis(1)));
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), WRITERS_MOST);
        drop(shut);
        assert!(writers.wait(Duration::from_secs(60)));
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
        assert!(new().is_ok());
        assert!(writers.wait(Duration::from_secs(60)));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
