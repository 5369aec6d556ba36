//! Fuzz target: requests of 9P, to a session with files in memory.

use crate::Memory;
use isthmus_forward::message::{
    NO_FID, NO_TAG, OWN_VERSION, Path, Reply, Request, VERSION, read_reply, tag,
};
use isthmus_forward::{Buffer, Errno, Frames, Limits, Session};

/// Maximum size of a message in bytes.
const MESSAGE_BYTES: u32 = 8192;

/// The limits of the client.
const LIMITS: Limits = Limits {
    message_bytes: MESSAGE_BYTES,
    fids: 8,
};

/// Sends the fuzzer's bytes to a session, as messages one after the other. The first byte of `data`
/// selects what happens before. Bit 0: the client attaches as fid 0 to a root with a directory, and
/// creates a file as fid 1. Bits 0 and 1: it needs a token to attach, and has none. Bits 0 and 2: it agrees on
/// the messages of isthmus.
pub fn forward(data: &[u8]) {
    let Some((first, mut data)) = data.split_first() else {
        return;
    };
    let mut files = Memory::default();
    files.wants_token = first & 3 == 3;
    let mut session = Session::new(LIMITS);
    let mut deferred = Vec::new();
    let mut handle = |session: &mut Session<Memory>, message: &[u8]| {
        let mut out = Buffer::new();
        let later = session.handle(message, &files, &mut out);
        let tag = tag(message).unwrap_or(NO_TAG);
        match later {
            Some(later) => {
                assert!(
                    out.is_empty(),
                    "a request that is deferred has no reply yet"
                );
                deferred.push(later.ticket);
            }
            None => check(&out, tag, session.message_bytes()),
        }
        assert!(session.fids() <= LIMITS.fids);
        if deferred.len() > 1 {
            // Of two requests, one is finished while the other is in flight.
            out.clear();
            session.finish(deferred.remove(0), Err(Errno::IO), &mut out);
        }
    };
    if first & 1 == 1 {
        let version = match first & 4 {
            0 => VERSION,
            _ => OWN_VERSION,
        };
        for request in opening(version) {
            let mut message = Buffer::new();
            request.write(1, &mut message);
            handle(&mut session, message.bytes());
        }
    }
    let mut frames = Frames::new(MESSAGE_BYTES as usize);
    while !data.is_empty() {
        let space = frames.space();
        let count = space.len().min(data.len()).min(100);
        space[..count].copy_from_slice(&data[..count]);
        frames.filled(count);
        data = &data[count..];
        loop {
            match frames.take() {
                Ok(Some(message)) => handle(&mut session, message),
                Ok(None) => break,
                // The server closes the connection.
                Err(_) => return,
            }
        }
    }
}

/// Returns the first requests of a client.
fn opening(version: &'static [u8]) -> [Request<'static>; 5] {
    let nothing = b"".as_slice();
    let name = b"d".as_slice();
    [
        Request::Version {
            msize: MESSAGE_BYTES,
            version,
        },
        Request::Attach {
            fid: 0,
            afid: NO_FID,
            user: nothing,
            export: nothing,
            uid: 0,
        },
        Request::MakeDirectory {
            fid: 0,
            name,
            mode: 0o755,
            gid: 0,
        },
        Request::Walk {
            fid: 0,
            newfid: 1,
            path: Path::default(),
        },
        Request::Create {
            fid: 1,
            name: b"f",
            flags: 2,
            mode: 0o644,
            gid: 0,
        },
    ]
}

/// Checks that the bytes are one reply with this tag.
fn check(out: &Buffer, tag: u16, most: u32) {
    assert!(out.len() <= most as usize);
    let (found, reply) = read_reply(out.bytes()).expect("a server writes replies");
    assert_eq!(found, tag);
    if let Reply::Error { errno } = reply {
        assert!(errno > 0 && errno < 4096);
    }
}
