//! Descriptors through a Unix socket.

use crate::error::{Error, Wanted};
use crate::wait::ready;
use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Instant;

/// The most descriptors in a message (`SCM_MAX_FD` of Linux).
const MOST: usize = 253;

/// What one message brought.
#[derive(Debug)]
pub struct Received {
    /// Bytes of it, at the beginning of the buffer; 0 if the other side has closed the socket.
    pub bytes: usize,
    /// The descriptors that came with them, closed when a program is executed.
    pub descriptors: Vec<OwnedFd>,
}

/// Sends all of `bytes` through a Unix socket, and `descriptors` with the first of them. A stream
/// must not be written by others meanwhile.
///
/// # Errors
/// [`Error::TimedOut`] at `deadline`, with the bytes that were sent; [`Error::System`], as for no
/// bytes or more than 253 descriptors (`EINVAL`), or for a socket that is closed (`EPIPE`, no
/// signal).
pub fn send_fds(
    socket: impl AsFd,
    bytes: &[u8],
    descriptors: &[BorrowedFd<'_>],
    deadline: Instant,
) -> Result<(), Error> {
    let refused = |error: Errno| Error::system("sending descriptors", error);
    if bytes.is_empty() || descriptors.len() > MOST {
        return Err(refused(Errno::INVAL));
    }
    let socket = socket.as_fd();
    let mut sent = 0;
    while sent < bytes.len() {
        // Of a stream what is left of the bytes follows without them.
        let with = if sent == 0 { descriptors } else { &[] };
        let mut space = vec![MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(with.len()))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !with.is_empty() && !control.push(SendAncillaryMessage::ScmRights(with)) {
            return Err(refused(Errno::INVAL));
        }
        let rest = [IoSlice::new(&bytes[sent..])];
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        match sendmsg(socket, &rest, &mut control, flags) {
            Ok(len) => sent += len,
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => {
                if !ready(socket, PollFlags::OUT, deadline)? {
                    return Err(in_vain(Wanted::Sending, sent));
                }
            }
            Err(error) => return Err(refused(error)),
        }
    }
    Ok(())
}

/// Receives one message of a Unix socket, or what there is of a stream up to the next descriptors:
/// into `bytes` what fits, and at most `most` descriptors.
///
/// # Errors
/// [`Error::Truncated`] if more descriptors came, or more bytes of a message: all that came are
/// closed. [`Error::TimedOut`] at `deadline`; [`Error::System`], as for no room for bytes or for
/// more than 253 descriptors (`EINVAL`).
pub fn recv_fds(
    socket: impl AsFd,
    bytes: &mut [u8],
    most: usize,
    deadline: Instant,
) -> Result<Received, Error> {
    let refused = |error: Errno| Error::system("receiving descriptors", error);
    if bytes.is_empty() || most > MOST {
        return Err(refused(Errno::INVAL));
    }
    let socket = socket.as_fd();
    loop {
        let mut space = vec![MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(most))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
        match recvmsg(socket, &mut [IoSliceMut::new(bytes)], &mut control, flags) {
            Ok(message) => {
                let mut descriptors = Vec::new();
                for found in control.drain() {
                    if let RecvAncillaryMessage::ScmRights(found) = found {
                        descriptors.extend(found);
                    }
                }
                // Space is rounded up, so that one more may have found place in it.
                let lost = ReturnFlags::CTRUNC | ReturnFlags::TRUNC;
                if message.flags.intersects(lost) || descriptors.len() > most {
                    return Err(Error::Truncated);
                }
                return Ok(Received {
                    bytes: message.bytes,
                    descriptors,
                });
            }
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => {
                if !ready(socket, PollFlags::IN, deadline)? {
                    return Err(in_vain(Wanted::Message, 0));
                }
            }
            Err(error) => return Err(refused(error)),
        }
    }
}

fn in_vain(waited_for: Wanted, moved: usize) -> Error {
    Error::TimedOut {
        waited_for,
        moved,
        written: 0,
        read: 0,
    }
}
