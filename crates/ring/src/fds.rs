//! Sends and receives file descriptors through a Unix socket.

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

/// Maximum number of descriptors in one message (`SCM_MAX_FD` of Linux).
const MOST: usize = 253;

/// The contents of a received message.
#[derive(Debug)]
pub struct Received {
    /// Number of received bytes, which are at the start of the caller's buffer. 0 if the peer has
    /// closed the socket.
    pub bytes: usize,
    /// The descriptors in the message, with the close-on-exec flag.
    pub descriptors: Vec<OwnedFd>,
}

/// Sends all of `bytes` through a Unix socket, with `descriptors` attached to the first of them. No
/// other thread may write to a stream socket during the call.
///
/// # Errors
/// [`Error::TimedOut`] at `deadline`, with the number of sent bytes. [`Error::System`], for example
/// without bytes or with more than 253 descriptors (`EINVAL`), or if the socket is closed (`EPIPE`,
/// no signal).
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
        // A stream socket may accept only some bytes; the others follow without descriptors.
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
                    return Err(timed_out(Wanted::Sending, sent));
                }
            }
            Err(error) => return Err(refused(error)),
        }
    }
    Ok(())
}

/// Receives one message of a Unix socket, or the bytes of a stream up to the next descriptors: as
/// much as fits in `bytes`, and at most `most` descriptors.
///
/// # Errors
/// [`Error::Truncated`] if more descriptors arrived than expected, or more bytes of a message; all
/// received descriptors are closed. [`Error::TimedOut`] at `deadline`. [`Error::System`], for
/// example without room for bytes or with a limit above 253 descriptors (`EINVAL`).
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
                // The system rounds the space up, so one descriptor more than expected may have
                // fitted.
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
                    return Err(timed_out(Wanted::Message, 0));
                }
            }
            Err(error) => return Err(refused(error)),
        }
    }
}

/// Returns the error of a timeout on a socket.
fn timed_out(waited_for: Wanted, moved: usize) -> Error {
    Error::TimedOut {
        waited_for,
        moved,
        written: 0,
        read: 0,
    }
}
