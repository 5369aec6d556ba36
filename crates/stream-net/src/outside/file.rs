//! A file: written under a name of its own, and renamed when all of it is there.
//!
//! A thread of the connection makes and writes it, since that may wait for a disk and the driver
//! waits for nothing. It has the memory of the packet meanwhile. A packet is done when the system
//! has taken it; what a power cut keeps is known when the file is kept: synced, renamed, its folder
//! synced.
//!
//! All that is done with the file goes by the descriptor of its directory and its name there, so
//! that nobody who puts something else in the directory's place meanwhile leads it elsewhere.
//!
//! A disk may hang for good. Nobody waits for the thread then: it is left alone, with the one
//! packet that it writes, and there are [`WRITERS_MOST`] of them at most.

use crate::memory::Block;
use isthmus_stream::{OrderId, PacketId};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, fsync, openat, renameat, unlinkat};
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Threads that write files of a driver, at most, those that hang among them.
const WRITERS_MOST: usize = 256;

/// What the thread is asked for. Packets in it are of the network memory that the manager has given
/// out, so there are no more of them than fit that; those that nobody wants any more leave it.
#[derive(Debug, Default)]
struct Asks {
    writes: VecDeque<(OrderId, PacketId, Block)>,
    /// Keep what was written, or take it away.
    end: Option<bool>,
}

/// One of them.
enum Ask {
    Write(OrderId, PacketId, Block),
    End(bool),
}

#[derive(Debug, Default)]
struct Line(Mutex<Asks>, Condvar);

impl Line {
    fn put(&self, what: impl FnOnce(&mut Asks)) {
        // A queue is whole whoever failed with it.
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
            None => Ask::End(asks.end == Some(true)),
        }
    }
}

/// The threads that write files of a driver.
#[derive(Clone, Debug, Default)]
pub(crate) struct Writers(Arc<(Mutex<usize>, Condvar)>);

/// One of them.
struct Seat(Writers);

impl Writers {
    fn enter(&self) -> Option<Seat> {
        let mut there = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        let room = *there < WRITERS_MOST;
        *there += usize::from(room);
        room.then(|| Seat(self.clone()))
    }

    /// Waits until there are none, not longer than `most`; whether there are none.
    pub fn wait(&self, most: Duration) -> bool {
        let there = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.0.1.wait_timeout_while(there, most, |there| *there > 0);
        *waited.unwrap_or_else(PoisonError::into_inner).0 == 0
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let (there, changed) = &*self.0.0;
        *there.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        changed.notify_all();
    }
}

/// What the thread tells.
pub(crate) enum Wrote {
    /// The file is there, under its other name.
    Made,
    /// It could not be made, and the thread has ended.
    Unmade(String),
    Done(OrderId, PacketId, Block),
    Refused(String),
    Ended(Kept),
}

/// What became of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Kept {
    /// It is there, whole, so many bytes.
    Whole(u64),
    /// It is as it was before: why.
    Not(String),
}

/// A file that is being written.
#[derive(Debug)]
pub(crate) struct Filing {
    pub path: PathBuf,
    asks: Arc<Line>,
    wrote: Receiver<Wrote>,
    ending: bool,
}

/// The name that it has meanwhile: of this process, so that two do not meet.
fn beside(name: &OsStr, number: u32) -> OsString {
    let mut name = name.to_owned();
    name.push(format!(".part-{}-{number}", std::process::id()));
    name
}

impl Filing {
    /// Makes the file, under its other name, in `directory`, or where the path says. `number` is
    /// different for each of the process; `wake` is called when the thread has told something.
    ///
    /// # Errors
    /// No thread for it, in words.
    pub fn new(
        path: &Path,
        directory: Option<OwnedFd>,
        number: u32,
        writers: &Writers,
        wake: impl Fn() + Send + 'static,
    ) -> Result<Self, String> {
        let shown = path.display();
        let seat = writers.enter().ok_or_else(|| {
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
            work(place, directory, number, &asked, &tell, &wake);
            drop(seat);
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

    /// Asks to keep the file, or to take it away: then what was to be written is not.
    pub fn end(&mut self, keep: bool) {
        self.ending = true;
        self.asks.put(|asks| {
            asks.end = Some(keep);
            if !keep {
                asks.writes = VecDeque::new();
            }
        });
    }

    /// What the thread has told since.
    pub fn told(&mut self) -> Option<Wrote> {
        self.wrote.try_recv().ok()
    }
}

impl Drop for Filing {
    fn drop(&mut self) {
        // The thread ends when it can, and takes away what it wrote; nobody waits for it.
        if !self.ending {
            self.end(false);
        }
    }
}

/// All that the thread does.
fn work(
    place: PathBuf,
    directory: Option<OwnedFd>,
    number: u32,
    asked: &Line,
    tell: &Sender<Wrote>,
    wake: &dyn Fn(),
) {
    let tell = |said| {
        // Nobody hears it when the driver is gone; then there is nothing to tell.
        let _ = tell.send(said);
        wake();
    };
    match Writer::new(&place, directory, number) {
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
    broken: Option<String>,
}

impl Writer {
    fn new(place: &Path, directory: Option<OwnedFd>, number: u32) -> io::Result<Self> {
        let name = place.file_name().ok_or(io::ErrorKind::InvalidFilename)?;
        let directory = match (directory, place.parent()) {
            (Some(directory), _) => directory,
            (None, Some(folder)) if !folder.as_os_str().is_empty() => {
                let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
                openat(CWD, folder, flags, Mode::empty())?
            }
            (None, _) => openat(CWD, ".", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?,
        };
        let part = beside(name, number);
        // Made new, so that a link of this name is not followed.
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = openat(&directory, &part, flags, Mode::from_raw_mode(0o666))?;
        Ok(Self {
            file: file.into(),
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
                Ask::End(keep) => {
                    let kept = match (&self.broken, keep) {
                        (Some(why), _) => Err(why.clone()),
                        (None, false) => Err("its streams did not end well".to_owned()),
                        (None, true) => self
                            .keep()
                            .map_err(|error| format!("keeping {}: {error}", self.place.display())),
                    };
                    if kept.is_err() {
                        // What is there is of no use; if it cannot be removed, it has a name that
                        // says what it is.
                        let _ = unlinkat(&self.directory, &self.part, AtFlags::empty());
                    }
                    tell(Wrote::Ended(match kept {
                        Ok(()) => Kept::Whole(self.bytes),
                        Err(why) => Kept::Not(why),
                    }));
                    return;
                }
            }
        }
    }

    fn keep(&self) -> io::Result<()> {
        self.file.sync_all()?;
        let (of, name) = (&self.directory, self.place.file_name());
        let name = name.ok_or(io::ErrorKind::InvalidFilename)?;
        renameat(of, &self.part, of, name)?;
        // What was opened to find names cannot be synced.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(fsync(openat(of, ".", flags, Mode::empty())?)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::sync_channel;
    use std::time::Instant;

    /// Writers that hang: nobody waits for them, there are not more than can be, and what they were
    /// to write does not stay with them.
    #[test]
    fn nobody_waits_for_a_writer_that_hangs() {
        let name = format!("isthmus-writers-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let writers = Writers::default();
        // Each hangs in its first word.
        let (hangs, hung) = sync_channel(WRITERS_MOST);
        let gate = Arc::new(Mutex::new(()));
        let shut = gate.lock().unwrap();
        let new = |number: u32| {
            let (hangs, gate) = (hangs.clone(), Arc::clone(&gate));
            Filing::new(&folder.join("out"), None, number, &writers, move || {
                let _ = hangs.try_send(());
                drop(gate.lock());
            })
        };
        let began = Instant::now();
        for number in 0..WRITERS_MOST as u32 {
            let filing = new(number).unwrap();
            hung.recv_timeout(Duration::from_secs(60)).unwrap();
            let (order, packet) = (OrderId(u64::from(number)), PacketId(number));
            filing.send(order, packet, Block::default());
            let asks = Arc::clone(&filing.asks);
            drop(filing);
            assert!(asks.0.lock().unwrap().writes.is_empty());
        }
        assert!(began.elapsed() < Duration::from_secs(60));
        let refused = new(0).unwrap_err();
        assert!(refused.contains("256 files"), "{refused}");
        assert!(!writers.wait(Duration::from_millis(1)));
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), WRITERS_MOST);
        drop(shut);
        assert!(writers.wait(Duration::from_secs(60)));
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
        assert!(new(0).is_ok());
        assert!(writers.wait(Duration::from_secs(60)));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
