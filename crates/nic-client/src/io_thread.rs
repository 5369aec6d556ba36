//! The thread of a session, which writes requests to the daemon and handles its messages.

use crate::core::Core;
use isthmus_nic_protocol::{Lines, Message, read};
use isthmus_wire::{Moved, Transport};
use rustix::event::{PollFd, PollFlags, poll};
use std::io;

/// Number of bytes that one call reads from the socket.
const PIECE_BYTES: usize = 64 << 10;
/// Maximum number of reads from the socket before queued requests are written.
const PIECES_PER_STEP: usize = 16;

/// The error message when the daemon has closed the socket, however the client detects it.
const DAEMON_ENDED: &str = "the daemon closed it or has ended";

/// Return the error message of a socket that failed; `doing` names the operation.
fn error_text(doing: &str, error: &io::Error) -> String {
    match error.kind() {
        // These errors occur if the daemon ended with unread requests, or before this write.
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => DAEMON_ENDED.into(),
        _ => format!("{doing} the daemon: {error}"),
    }
}

/// Run the I/O thread of a session with the daemon, until the socket or the session ends.
pub(crate) fn run(core: &Core, wire: Transport, lines: Lines) {
    let mut io = IoThread {
        core,
        wire,
        lines,
        line: Vec::new(),
        written: 0,
        piece: vec![0; PIECE_BYTES],
    };
    let why = loop {
        match io.step() {
            Ok(true) => {}
            // A call of this process closed the session, and has notified all waiting calls.
            Ok(false) => break None,
            Err(why) => break Some(why),
        }
    };
    if let Some(why) = why {
        core.end(&why);
    }
    io.wire.close();
}

/// The state of the thread that writes a session's requests and reads the daemon's messages.
struct IoThread<'c> {
    core: &'c Core,
    wire: Transport,
    lines: Lines,
    /// The line of the request that is being written. `written` is the number of its bytes that
    /// were written.
    line: Vec<u8>,
    written: usize,
    piece: Vec<u8>,
}

impl IoThread<'_> {
    /// Read and write as much as possible, then sleep until more is possible. Returns false once
    /// the session is over.
    fn step(&mut self) -> Result<bool, String> {
        // Clear the signal first, so that every later request sets it again.
        self.core.wake.clear();
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
        let mut fds = [
            PollFd::new(&self.wire, wanted),
            PollFd::new(&self.core.wake, PollFlags::IN),
        ];
        match poll(&mut fds, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(true),
            Err(error) => Err(format!("waiting for the daemon: {error}")),
        }
    }

    /// Write queued requests until the socket is full.
    fn write(&mut self) -> Result<(), String> {
        let flushed = self.wire.flush();
        flushed.map_err(|error| error_text("writing to", &error))?;
        loop {
            if self.written == self.line.len() {
                let Some(line) = self.core.next_unsent() else {
                    return Ok(());
                };
                (self.line, self.written) = (line, 0);
            }
            let left = &self.line[self.written..];
            let written = self.wire.write(left);
            match written.map_err(|error| error_text("writing to", &error))? {
                Moved::Some(written) => self.written += written,
                Moved::None => return Ok(()),
                Moved::End => return Err(DAEMON_ENDED.into()),
            }
        }
    }

    /// Read available bytes and handle their lines.
    fn read(&mut self) -> Result<(), String> {
        self.receive_lines()?;
        // The number of reads is limited, so that queued requests are written too.
        for _ in 0..PIECES_PER_STEP {
            let read = self.wire.read(&mut self.piece);
            match read.map_err(|error| error_text("reading from", &error))? {
                Moved::Some(read) => self.lines.push(&self.piece[..read]),
                Moved::None => return Ok(()),
                Moved::End => return Err(DAEMON_ENDED.into()),
            }
            self.receive_lines()?;
        }
        Ok(())
    }

    /// Handle all complete lines that were read from the socket.
    fn receive_lines(&mut self) -> Result<(), String> {
        let garbled = |error| format!("the daemon sent what is no line of its language: {error}");
        while let Some(line) = self.lines.take().map_err(garbled)? {
            let message: Message = read(&line).map_err(garbled)?;
            self.core.receive(message)?;
        }
        Ok(())
    }
}
