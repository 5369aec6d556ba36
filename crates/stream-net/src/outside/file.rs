//! A file: written under a name of its own, and renamed when all of it is there.
//!
//! A thread of the connection writes, since writing may wait for a disk and the driver waits for
//! nothing. It has the memory of the packet meanwhile. A packet is done when the system has taken
//! it; what a power cut keeps is known when the file is kept: synced, renamed, its folder synced.

use crate::memory::Block;
use isthmus_stream::{OrderId, PacketId};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

/// What the thread is asked for.
enum Ask {
    Write(OrderId, PacketId, Block),
    /// Keep what was written, or take it away.
    End(bool),
}

/// What the thread tells.
pub(crate) enum Wrote {
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
    asks: Sender<Ask>,
    wrote: Receiver<Wrote>,
    thread: Option<JoinHandle<()>>,
    ending: bool,
}

/// The name that it has meanwhile: of this process, so that two do not meet.
fn beside(path: &Path, number: u32) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".part-{}-{number}", std::process::id()));
    path.with_file_name(name)
}

impl Filing {
    /// Makes the file, under its other name. `number` is different for each of the process; `wake`
    /// is called when the thread has told something.
    pub fn new(path: &Path, number: u32, wake: impl Fn() + Send + 'static) -> io::Result<Self> {
        let part = beside(path, number);
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&part)?;
        let (asks, asked) = channel();
        let (tell, wrote) = channel();
        let place = path.to_owned();
        let thread = std::thread::Builder::new()
            .name("stream-file".into())
            .spawn(move || {
                let writer = Writer {
                    file,
                    part,
                    place,
                    bytes: 0,
                    broken: None,
                };
                writer.run(&asked, &|said| {
                    // Nobody hears it when the driver is gone; then there is nothing to tell.
                    let _ = tell.send(said);
                    wake();
                });
            })?;
        Ok(Self {
            path: path.to_owned(),
            asks,
            wrote,
            thread: Some(thread),
            ending: false,
        })
    }

    pub fn send(&self, order: OrderId, packet: PacketId, block: Block) {
        // A thread that has ended was asked to end.
        let _ = self.asks.send(Ask::Write(order, packet, block));
    }

    /// Asks to keep the file, or to take it away.
    pub fn end(&mut self, keep: bool) {
        self.ending = true;
        let _ = self.asks.send(Ask::End(keep));
    }

    /// What the thread has told since.
    pub fn told(&mut self) -> Option<Wrote> {
        let told = self.wrote.try_recv().ok()?;
        if matches!(told, Wrote::Ended(_))
            && let Some(thread) = self.thread.take()
        {
            // It has nothing to do any more.
            let _ = thread.join();
        }
        Some(told)
    }
}

impl Drop for Filing {
    fn drop(&mut self) {
        if !self.ending {
            self.end(false);
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Writer {
    file: File,
    part: PathBuf,
    place: PathBuf,
    bytes: u64,
    broken: Option<String>,
}

impl Writer {
    fn run(mut self, asked: &Receiver<Ask>, tell: &dyn Fn(Wrote)) {
        while let Ok(ask) = asked.recv() {
            match ask {
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
                        let _ = std::fs::remove_file(&self.part);
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
        std::fs::rename(&self.part, &self.place)?;
        let folder = match self.place.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        File::open(folder)?.sync_all()
    }
}
