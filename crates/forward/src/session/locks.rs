//! Requests for locks.

use super::Session;
use crate::buffer::Buffer;
use crate::files::{Errno, Files, LockRange, Result};
use crate::locks::LockMode;
use crate::message::{Reply, Request};

/// The mode of a request that unlocks bytes, and of a reply that no lock is in the way.
const UNLOCK: u8 = 2;

/// Maximum length in bytes of the name that a client gives itself.
const CLIENT_BYTES: usize = 256;

impl<F: Files> Session<F> {
    /// Carry out a request for a lock, and append the reply.
    pub(super) fn lock(
        &self,
        tag: u16,
        request: &Request<'_>,
        files: &F,
        out: &mut Buffer,
    ) -> Result<()> {
        let (Request::Lock {
            fid,
            mode,
            start,
            length,
            process,
            client,
            ..
        }
        | Request::GetLock {
            fid,
            mode,
            start,
            length,
            process,
            client,
        }) = *request
        else {
            return Err(Errno::PROTO);
        };
        let range = range((mode, start, length), process, client)?;
        let open = self.fids.opened(fid)?;
        if matches!(request, Request::Lock { .. }) {
            let is_done = files.lock(open, &range)?;
            let status = u8::from(!is_done);
            Reply::Lock { status }.write(tag, out);
            return Ok(());
        }
        let found = files.conflict(open, &range)?;
        let reply = match &found {
            None => Reply::GetLock {
                mode: UNLOCK,
                start,
                length,
                process,
                client,
            },
            Some(lock) => Reply::GetLock {
                mode: u8::from(lock.mode == LockMode::Exclusive),
                start: lock.start,
                length: match lock.end {
                    u64::MAX => 0,
                    end => end - lock.start,
                },
                process: lock.holder.process,
                client: &lock.holder.client,
            },
        };
        reply.write(tag, out);
        Ok(())
    }
}

/// Return the byte range of a request for a lock.
fn range(
    (mode, start, length): (u8, u64, u64),
    process: u32,
    client: &[u8],
) -> Result<LockRange<'_>> {
    let mode = match mode {
        0 => Some(LockMode::Shared),
        1 => Some(LockMode::Exclusive),
        UNLOCK => None,
        _ => return Err(Errno::INVAL),
    };
    // Offsets of files are signed on Linux.
    if i64::try_from(start).is_err() || client.len() > CLIENT_BYTES {
        return Err(Errno::INVAL);
    }
    let end = match length {
        0 => u64::MAX,
        length => start.checked_add(length).ok_or(Errno::INVAL)?,
    };
    Ok(LockRange {
        mode,
        start,
        end,
        process,
        client,
    })
}
