//! The thread of a session: writes requests, takes in what the daemon tells.

use crate::core::{Core, hush_bell};
use isthmus_nic_protocol::{Lines, Message, read};
use isthmus_wire::{Moved, Transport};
use rustix::event::{PollFd, PollFlags, poll};
use std::io;
use std::os::fd::AsFd;

/// Bytes that are read at a time.
const PIECE: usize = 64 << 10;
/// Pieces that are read before requests are looked at.
const TURN: usize = 16;

/// What is said when the daemon has closed the socket, however that is seen.
const ENDED: &str = "the daemon closed it or has ended";

/// Why a socket is over.
fn ended(doing: &str, error: &io::Error) -> String {
    match error.kind() {
        // It had not read all that was asked, or it is asked more after its end.
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => ENDED.into(),
        _ => format!("{doing} the daemon: {error}"),
    }
}

/// Runs until the socket or the session ends.
pub(crate) fn run(core: &Core, wire: Transport, lines: Lines) {
    let mut post = Post {
        core,
        wire,
        lines,
        line: Vec::new(),
        written: 0,
        piece: vec![0; PIECE],
    };
    let why = loop {
        match post.turn() {
            Ok(true) => {}
            // Closed here: who did it has told all.
            Ok(false) => break None,
            Err(why) => break Some(why),
        }
    };
    if let Some(why) = why {
        core.end(&why);
    }
    post.wire.close();
}

struct Post<'c> {
    core: &'c Core,
    wire: Transport,
    lines: Lines,
    /// The request that is being written, and what of it is.
    line: Vec<u8>,
    written: usize,
    piece: Vec<u8>,
}

impl Post<'_> {
    /// Does what is to be done, then sleeps until there is more; false once the session is over.
    fn turn(&mut self) -> Result<bool, String> {
        // First, so that what is asked for from here on rings again.
        hush_bell(&self.core.wake);
        if self.core.gone().is_some() {
            return Ok(false);
        }
        self.write()?;
        self.read()?;
        if self.core.gone().is_some() {
            return Ok(false);
        }
        let wanted = match self.written < self.line.len() {
            true => PollFlags::IN | PollFlags::OUT,
            false => self.wire.read_flags(),
        };
        let (wire, wake) = (self.wire.as_fd(), self.core.wake.as_fd());
        let mut fds = [
            PollFd::new(&wire, wanted),
            PollFd::new(&wake, PollFlags::IN),
        ];
        match poll(&mut fds, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(true),
            Err(error) => Err(format!("waiting for the daemon: {error}")),
        }
    }

    fn write(&mut self) -> Result<(), String> {
        let flushed = self.wire.flush();
        flushed.map_err(|error| ended("writing to", &error))?;
        loop {
            if self.written == self.line.len() {
                let Some(line) = self.core.next_unsent() else {
                    return Ok(());
                };
                (self.line, self.written) = (line, 0);
            }
            let left = &self.line[self.written..];
            let written = self.wire.write(left);
            match written.map_err(|error| ended("writing to", &error))? {
                Moved::Some(written) => self.written += written,
                Moved::None => return Ok(()),
                Moved::End => return Err(ENDED.into()),
            }
        }
    }

    fn read(&mut self) -> Result<(), String> {
        self.hear()?;
        // Not for ever, so that requests have their turn.
        for _ in 0..TURN {
            let read = self.wire.read(&mut self.piece);
            match read.map_err(|error| ended("reading from", &error))? {
                Moved::Some(read) => self.lines.push(&self.piece[..read]),
                Moved::None => return Ok(()),
                Moved::End => return Err(ENDED.into()),
            }
            self.hear()?;
        }
        Ok(())
    }

    fn hear(&mut self) -> Result<(), String> {
        let garbled = |error| format!("the daemon sent what is no line of its language: {error}");
        while let Some(line) = self.lines.take().map_err(garbled)? {
            let told: Message = read(&line).map_err(garbled)?;
            self.core.hear(told)?;
        }
        Ok(())
    }
}
