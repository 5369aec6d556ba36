//! A connection to a file, which is written under a temporary name and renamed when it is complete.
//!
//! The temporary name is unguessable, and only the daemon's user may open the file. Before the
//! rename, the inode under the temporary name is compared with the file that was written.
//! [`replaceable`] decides which files may be replaced.
//!
//! A thread per connection creates and writes the file, because a disk may block and the driver
//! must not. The thread owns the memory of a packet while it writes it. A packet is done when the
//! system has accepted it. A completed file survives a power cut: it is synced, renamed, and its
//! directory is synced.
//!
//! All operations on the file go through the descriptor of its directory, so that no process can
//! redirect them by replacing the directory.
//!
//! A disk may hang permanently. No other thread waits for the writing thread then: it is abandoned,
//! with the one packet that it writes. There are at most [`WRITERS_MAX`] threads.

use super::part::{replaceable, temporary_name};
use super::writers::{Slot, WRITERS_MAX, Writers};
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

/// Queued requests to the writing thread. Their packets are part of the stream manager's network
/// memory, which limits their number. Packets that are no longer needed are removed.
#[derive(Debug, Default)]
struct Requests {
    writes: VecDeque<(OrderId, PacketId, Block)>,
    end: Option<FileEnd>,
}

/// A request to the thread that writes a file.
enum Request {
    Write(OrderId, PacketId, Block),
    End(FileEnd),
}

/// Treatment of the file when the connection ends: it is kept or removed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FileEnd {
    /// Rename the complete file to its final name.
    Keep,
    /// Remove the incomplete file, because a stream failed.
    Failed,
    /// Remove the file, because no stream was submitted that writes it.
    Unused,
}

/// The queue of requests to the thread that writes a file.
#[derive(Debug, Default)]
struct RequestQueue(Mutex<Requests>, Condvar);

impl RequestQueue {
    /// Calls `what` to change the queue, then wakes the writing thread.
    fn put(&self, what: impl FnOnce(&mut Requests)) {
        // Ignore a poisoned lock: the queue is consistent even if another thread panicked while it
        // held the lock.
        what(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
        self.1.notify_one();
    }

    /// Waits for the next request to the writing thread: to write a packet, or to end the file.
    fn take(&self) -> Request {
        let requests = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let idle = |requests: &mut Requests| requests.writes.is_empty() && requests.end.is_none();
        let waited = self.1.wait_while(requests, idle);
        let mut requests = waited.unwrap_or_else(PoisonError::into_inner);
        match requests.writes.pop_front() {
            Some((order, packet, block)) => Request::Write(order, packet, block),
            None => Request::End(requests.end.unwrap_or(FileEnd::Failed)),
        }
    }
}

/// An event of the thread that writes a file.
pub(crate) enum WriterEvent {
    /// The thread has created the file under its temporary name.
    Made,
    /// The file could not be created, for this reason, and the thread has ended.
    Unmade(String),
    Done(OrderId, PacketId, Block),
    Refused(String),
    Ended(FileOutcome),
}

/// The outcome of writing a file, when the writing thread ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum FileOutcome {
    /// The file is complete and has this size in bytes.
    Whole(u64),
    /// The file was not completed, for this reason. An older file of the same name is unchanged.
    NotKept(String),
    /// No stream was submitted that writes the file. An older file of the same name is unchanged.
    Unused,
}

/// The driver's side of a connection to a file: it passes packets to the thread that writes the
/// file.
#[derive(Debug)]
pub(crate) struct FileTransport {
    pub path: PathBuf,
    requests: Arc<RequestQueue>,
    events: Receiver<WriterEvent>,
    ending: bool,
}

impl FileTransport {
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
                "making {shown}: {WRITERS_MAX} files are being written, or wait for their disk, \
                 which are the most"
            )
        })?;
        let requests = Arc::new(RequestQueue::default());
        let (send_event, events) = channel();
        let (queue, place) = (Arc::clone(&requests), path.to_owned());
        let thread = std::thread::Builder::new().name("stream-file".into());
        let thread = thread.spawn(move || {
            work(place, directory, &slot, (&queue, &send_event), &wake);
            drop(slot);
        });
        thread.map_err(|error| format!("making {shown}: {error}"))?;
        Ok(Self {
            path: path.to_owned(),
            requests,
            events,
            ending: false,
        })
    }

    /// Queues a packet whose data is to be written to the file.
    pub fn send(&self, order: OrderId, packet: PacketId, block: Block) {
        self.requests
            .put(|requests| requests.writes.push_back((order, packet, block)));
    }

    /// Ends the file as `then` says. If the file is to be removed, queued writes are dropped.
    pub fn end(&mut self, then: FileEnd) {
        self.ending = true;
        self.requests.put(|requests| {
            requests.end = Some(then);
            if then != FileEnd::Keep {
                requests.writes = VecDeque::new();
            }
        });
    }

    /// Returns the next event of the writing thread; None if there is none now.
    pub fn poll_event(&mut self) -> Option<WriterEvent> {
        self.events.try_recv().ok()
    }
}

impl Drop for FileTransport {
    /// Ends the file as failed unless it has been ended already.
    fn drop(&mut self) {
        // Ask the thread to remove its unfinished file. No caller waits for that.
        if !self.ending {
            self.end(FileEnd::Failed);
        }
    }
}

/// Runs the thread that creates and writes one file, and then renames or removes it.
fn work(
    place: PathBuf,
    directory: Option<OwnedFd>,
    slot: &Slot,
    (queue, send_event): (&RequestQueue, &Sender<WriterEvent>),
    wake: &dyn Fn(),
) {
    let send_event = |event| {
        // Ignore an error: if the driver is gone, no receiver exists and the event does not matter.
        let _ = send_event.send(event);
        wake();
    };
    match Writer::new(&place, directory, slot) {
        Ok(writer) => {
            send_event(WriterEvent::Made);
            writer.run(queue, &send_event);
        }
        Err(error) => send_event(WriterEvent::Unmade(format!(
            "making {}: {error}",
            place.display()
        ))),
    }
}

/// State of the thread that writes the file of a connection.
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
    /// Creates the file under its temporary name.
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
        let part = temporary_name(name)?;
        let noted = slot.note(&place.with_file_name(&part));
        let why = |error| io::Error::other(format!("noting it in the journal: {error}"));
        noted.map_err(why)?;
        // Creating the file exclusively fails if a symbolic link with this name exists.
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = openat(&directory, &part, flags, Mode::from_raw_mode(0o666))?;
        // Lock the file, because the next daemon does not remove a temporary file that is locked.
        // Where the file system has no locks, the next daemon cannot lock the file either, and does
        // not remove it.
        let _ = flock(&file, FlockOperation::NonBlockingLockExclusive);
        // Note the mode that the umask allows now; the file gets it when it is complete.
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

    /// Writes the queued packets to the file until the request to end it, and then ends it.
    fn run(mut self, queue: &RequestQueue, send_event: &dyn Fn(WriterEvent)) {
        loop {
            match queue.take() {
                Request::Write(order, packet, block) => {
                    if self.broken.is_none()
                        && let Err(error) = self.file.write_all(block.data())
                    {
                        let (path, at) = (self.place.display(), self.bytes);
                        let why = format!("writing {path} at byte {at}: {error}");
                        self.broken = Some(why.clone());
                        send_event(WriterEvent::Refused(why));
                    }
                    if self.broken.is_none() {
                        self.bytes += block.data().len() as u64;
                        send_event(WriterEvent::Done(order, packet, block));
                    }
                }
                Request::End(then) => {
                    let not = |error: io::Error| {
                        FileOutcome::NotKept(format!("keeping {}: {error}", self.place.display()))
                    };
                    let kept = match (&self.broken, then) {
                        (Some(why), _) => FileOutcome::NotKept(why.clone()),
                        (None, FileEnd::Failed) => {
                            FileOutcome::NotKept("its streams did not end well".into())
                        }
                        (None, FileEnd::Unused) => FileOutcome::Unused,
                        (None, FileEnd::Keep) => self
                            .keep()
                            .map_or_else(not, |()| FileOutcome::Whole(self.bytes)),
                    };
                    if !matches!(kept, FileOutcome::Whole(_)) {
                        // Ignore an error: if the incomplete file cannot be removed, its temporary
                        // name still marks it as incomplete.
                        let _ = unlinkat(&self.directory, &self.part, AtFlags::empty());
                    }
                    send_event(WriterEvent::Ended(kept));
                    return;
                }
            }
        }
    }

    /// Syncs the file and renames it to its final name.
    fn keep(&self) -> io::Result<()> {
        let (of, name) = (&self.directory, self.place.file_name());
        let name = name.ok_or(io::ErrorKind::InvalidFilename)?;
        let mode = match stat_name(of, name)? {
            Some(there) => {
                replaceable(&there).map_err(io::Error::other)?;
                there.st_mode
            }
            None => self.made.st_mode,
        };
        fchmod(&self.file, Mode::from_raw_mode(mode))?;
        self.file.sync_all()?;
        let is_written_file =
            |found: Stat| (found.st_dev, found.st_ino) == (self.made.st_dev, self.made.st_ino);
        if !stat_name(of, &self.part)?.is_some_and(is_written_file) {
            return Err(io::Error::other(
                "something else was put in the place of what was written",
            ));
        }
        self.rename(name)?;
        // Open the directory again to sync it: a descriptor opened with `O_PATH` cannot be synced.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(fsync(openat(of, ".", flags, Mode::empty())?)?)
    }

    /// Renames the file to its final name. If a file with that name was created since the check,
    /// that file is not replaced, where the file system supports it.
    fn rename(&self, name: &OsStr) -> io::Result<()> {
        let of = &self.directory;
        if stat_name(of, name)?.is_some() {
            return Ok(renameat(of, &self.part, of, name)?);
        }
        match renameat_with(of, &self.part, of, name, RenameFlags::NOREPLACE) {
            Err(Errno::INVAL | Errno::NOSYS) => Ok(renameat(of, &self.part, of, name)?),
            renamed => Ok(renamed?),
        }
    }
}

/// Returns the status of a name in a directory without following links. None if no file has the
/// name.
fn stat_name(directory: impl AsFd, name: &OsStr) -> io::Result<Option<Stat>> {
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

    /// Checks that threads that hang in a write block no other thread, that their number is
    /// limited, and that their queued writes are dropped.
    #[test]
    fn no_thread_waits_for_a_writer_that_hangs() {
        let name = format!("isthmus-writers-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let writers = Writers::default();
        // Let the callback of each writer report on `hangs`, then block until the test releases
        // `gate`.
        let (hangs, hung) = sync_channel(WRITERS_MAX);
        let gate = Arc::new(Mutex::new(()));
        let shut = gate.lock().unwrap();
        let new = || {
            let (hangs, gate) = (hangs.clone(), Arc::clone(&gate));
            FileTransport::new(&folder.join("out"), None, &writers, move || {
                let _ = hangs.try_send(());
                drop(gate.lock());
            })
        };
        let began = Instant::now();
        for number in 0..WRITERS_MAX as u32 {
            let file = new().unwrap();
            hung.recv_timeout(Duration::from_secs(60)).unwrap();
            let (order, packet) = (OrderId(u64::from(number)), PacketId(number));
            file.send(order, packet, Block::default());
            let requests = Arc::clone(&file.requests);
            drop(file);
            assert!(requests.0.lock().unwrap().writes.is_empty());
        }
        assert!(began.elapsed() < Duration::from_secs(60));
        let refused = new().unwrap_err();
        assert!(refused.contains("256 files"), "{refused}");
        assert!(!writers.wait(Duration::from_millis(1)));
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), WRITERS_MAX);
        drop(shut);
        assert!(writers.wait(Duration::from_secs(60)));
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
        assert!(new().is_ok());
        assert!(writers.wait(Duration::from_secs(60)));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
