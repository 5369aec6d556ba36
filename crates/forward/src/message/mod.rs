//! Messages of 9P2000.L: the requests of clients, the replies of the server, and their bytes. Those from
//! 200 on are of isthmus: a client may send them if both sides agreed on [`OWN_VERSION`].
//!
//! A message has its size in 32 bits (the whole message), its type, the tag that joins a reply to
//! its request, and its fields. All numbers are little-endian. Sources: intro(5) of Plan 9 for 9P,
//! and *diod: 9P2000.L protocol* for the types below 100, which Linux kernels speak.

pub(crate) mod field;
mod record;

pub use field::{Data, Key, Path, Trailing};
pub use record::{Attributes, Change, DaemonStatus, FileSystem, Qid};

use crate::buffer::Buffer;
use field::{Field, Unread};

/// The protocol.
pub const VERSION: &[u8] = b"9P2000.L";
/// The protocol with the messages of isthmus.
pub const OWN_VERSION: &[u8] = b"9P2000.L.isthmus";
/// The tag of a request for a version, which is no request in flight.
pub const NO_TAG: u16 = u16::MAX;
/// The number of a fid that does not exist: "none" in a request to attach.
pub const NO_FID: u32 = u32::MAX;
/// Size in bytes of the header of a message: size, type and tag.
pub const HEADER: usize = 7;
/// Size in bytes of a reply to a read request without the data.
pub const READ_HEADER: usize = HEADER + 4;

/// Size in bytes of a reply with the data of a small file without the data.
pub const FETCH_HEADER: usize = HEADER + Qid::BYTES + 8 + 8 + 4 + 4;
/// The flags in a request to restore a fid that is not open.
pub const NOT_OPEN: u32 = u32::MAX;

/// The reason why the bytes of a message are not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The message ends before its last field.
    #[error("the message ends before its last field")]
    Short,
    /// Bytes follow the last field.
    #[error("{0} bytes follow the last field")]
    Long(usize),
    /// No message has this type.
    #[error("no message has type {0}")]
    Type(u8),
    /// A walk has more than 16 names, or a name is too long.
    #[error("a walk of more than 16 names")]
    Path,
    /// A reply to no request in flight.
    #[error("a reply to no request in flight, with tag {0}")]
    Tag(u16),
    /// The size in the header is below that of the header, or above that agreed on.
    #[error("a message of {0} bytes")]
    Size(u32),
}

/// Defines the messages of one direction: the code, the name and the fields of each.
macro_rules! messages {
    ($(#[$about:meta])* $kind:ident {
        $($(#[$doc:meta])* $code:literal $name:ident { $($field:ident: $type:ty),* }),* $(,)?
    }) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        #[expect(missing_docs, reason = "the fields have the names of the protocol")]
        pub enum $kind<'a> {
            $($(#[$doc])* $name { $($field: $type),* }),*
        }

        impl<'a> $kind<'a> {
            /// Return the type of the message in its header.
            #[must_use]
            pub fn code(&self) -> u8 {
                match self {
                    $(Self::$name { .. } => $code),*
                }
            }

            /// Read the fields of a message of this type.
            fn read(code: u8, fields: &'a [u8]) -> Result<Self, $crate::message::Malformed> {
                use $crate::message::field::{Field, Unread};
                let mut unread = Unread(fields);
                let message = match code {
                    $($code => Self::$name { $($field: Field::read(&mut unread)?),* },)*
                    other => return Err($crate::message::Malformed::Type(other)),
                };
                match unread.0.len() {
                    0 => Ok(message),
                    left => Err($crate::message::Malformed::Long(left)),
                }
            }

            /// Append the bytes of the message with this tag.
            pub fn write(&self, tag: u16, out: &mut $crate::Buffer) {
                use $crate::message::{begin, field::Field, finish};
                let start = begin(self.code(), tag, out);
                match self {
                    $(Self::$name { $($field),* } => { $($field.write(out);)* })*
                }
                finish(start, out);
            }
        }
    };
}

pub(crate) use messages;

messages! {
    /// A request of a client. Numbers are fids, except sizes, offsets and flags of Linux.
    Request {
        /// Agree on the protocol and on the largest message; removes all fids and requests.
        100 Version { msize: u32, version: &'a [u8] },
        /// Make the fid `afid`, to which the client writes its token.
        102 Auth { afid: u32, user: &'a [u8], export: &'a [u8], uid: u32 },
        /// Make the fid of the root of an export; `afid` has the token, if one is needed.
        104 Attach { fid: u32, afid: u32, user: &'a [u8], export: &'a [u8], uid: u32 },
        /// Forget the request with this tag.
        108 Flush { oldtag: u16 },
        /// Walk along names and create `newfid` for the last file.
        110 Walk { fid: u32, newfid: u32, path: Path<'a> },
        /// Read data of an opened file, or the value of an extended attribute.
        116 Read { fid: u32, offset: u64, count: u32 },
        /// Write data to an opened file, an extended attribute or a fid for tokens.
        118 Write { fid: u32, offset: u64, data: Data<'a> },
        /// Forget a fid.
        120 Clunk { fid: u32 },
        /// Remove the file of a fid, and forget the fid.
        122 Remove { fid: u32 },
        /// Ask for the state of the file system.
        8 StatFs { fid: u32 },
        /// Open the file of a fid.
        12 Open { fid: u32, flags: u32 },
        /// Create a file in a directory, and open it: the fid of the directory becomes that of the file.
        14 Create { fid: u32, name: &'a [u8], flags: u32, mode: u32, gid: u32 },
        /// Create a symbolic link.
        16 Symlink { fid: u32, name: &'a [u8], target: &'a [u8], gid: u32 },
        /// Create a special file.
        18 MakeNode { fid: u32, name: &'a [u8], mode: u32, major: u32, minor: u32, gid: u32 },
        /// Rename the file of a fid.
        20 Rename { fid: u32, directory: u32, name: &'a [u8] },
        /// Ask for the target of a symbolic link.
        22 ReadLink { fid: u32 },
        /// Ask for attributes; `mask` says which.
        24 GetAttributes { fid: u32, mask: u64 },
        /// Change attributes.
        26 SetAttributes { fid: u32, change: Change },
        /// Make the fid of an extended attribute's value, or of the list of their names.
        30 WalkXattr { fid: u32, newfid: u32, name: &'a [u8] },
        /// Turn a fid into one to which the value of an extended attribute is written.
        32 CreateXattr { fid: u32, name: &'a [u8], size: u64, flags: u32 },
        /// Read entries of a directory from this offset.
        40 ReadDirectory { fid: u32, offset: u64, count: u32 },
        /// Have the data of a file stored; with `data_only` not all of its attributes.
        50 Fsync { fid: u32, data_only: Trailing },
        /// Lock or unlock bytes of a file; a length of 0 is to the end.
        52 Lock { fid: u32, mode: u8, flags: u32, start: u64, length: u64, process: u32, client: &'a [u8] },
        /// Ask which lock would prevent this one.
        54 GetLock { fid: u32, mode: u8, start: u64, length: u64, process: u32, client: &'a [u8] },
        /// Create a hard link.
        70 Link { directory: u32, fid: u32, name: &'a [u8] },
        /// Create a directory.
        72 MakeDirectory { fid: u32, name: &'a [u8], mode: u32, gid: u32 },
        /// Rename an entry of a directory.
        74 RenameAt { from: u32, old: &'a [u8], to: u32, new: &'a [u8] },
        /// Remove an entry of a directory.
        76 UnlinkAt { directory: u32, name: &'a [u8], flags: u32 },
        /// Give the connection a key, and take up the session that had the same one. See [`Key`].
        200 Resume { key: Key },
        /// Create `newfid` for the file at a path from a directory, if its qid has this number, and it was created
        /// at this time in s and ns since 1970, unless both are 0; otherwise `ESTALE`. Open it with `flags` of Linux,
        /// unless they are [`NOT_OPEN`]; it is not created or truncated.
        202 Restore { fid: u32, newfid: u32, number: u64, created_s: u64, created_ns: u32, flags: u32, path: &'a [u8] },
        /// Wait until the data of an open file is safe. The level is 0 for what a close waits for and
        /// reports, 1 for synced in the cache, 2 for synced in the store.
        204 Commit { fid: u32, level: u8 },
        /// Read an ordinary file at a path from a directory from its start, at most `count` bytes.
        206 Fetch { fid: u32, count: u32, path: &'a [u8] },
        /// Read an ordinary file at a path from a directory into the cache.
        208 Prefetch { fid: u32, path: &'a [u8] },
        /// Ask for the state of the daemon.
        210 Status {},
        /// Ask for the files with bytes that are not stored: those with this number or a larger one.
        212 ListUnstored { from: u64, count: u32 },
        /// Store all files, and wait until everything that was written before is stored.
        214 Drain {},
        /// Drop the bytes of the file with this number and path that are not stored.
        216 Abandon { number: u64, path: &'a [u8] },
    }
}

messages! {
    /// A reply of the server.
    Reply {
        /// The request failed with this error number of Linux.
        7 Error { errno: u32 },
        /// The protocol and the largest message in bytes.
        101 Version { msize: u32, version: &'a [u8] },
        /// The fid for the token exists.
        103 Auth { qid: Qid },
        /// The fid of the root exists.
        105 Attach { qid: Qid },
        /// The old request is forgotten: its tag is free.
        109 Flush {},
        /// The qids of the walk. If fewer than names, no fid was created.
        111 Walk { qids: Vec<Qid> },
        /// The data; empty at the end.
        117 Read { data: Data<'a> },
        /// The number of bytes written.
        119 Write { count: u32 },
        /// The fid is forgotten.
        121 Clunk {},
        /// The file is removed and the fid forgotten.
        123 Remove {},
        /// The state of the file system.
        9 StatFs { state: FileSystem },
        /// The file is open; `iounit` is the largest piece, 0 for what fits in a message.
        13 Open { qid: Qid, iounit: u32 },
        /// The file exists and is open.
        15 Create { qid: Qid, iounit: u32 },
        /// The symbolic link exists.
        17 Symlink { qid: Qid },
        /// The special file exists.
        19 MakeNode { qid: Qid },
        /// The file has its new name.
        21 Rename {},
        /// The target of a symbolic link.
        23 ReadLink { target: &'a [u8] },
        /// Attributes of a file.
        25 GetAttributes { attributes: Attributes },
        /// The attributes are changed.
        27 SetAttributes {},
        /// The size in bytes of the value.
        31 WalkXattr { size: u64 },
        /// The value can be written.
        33 CreateXattr {},
        /// Entries of a directory: for each its qid, the offset of the next, its type and its name.
        41 ReadDirectory { entries: Data<'a> },
        /// The data is stored.
        51 Fsync {},
        /// The result of a request for a lock: 0 done, 1 held by another, 2 failed.
        53 Lock { status: u8 },
        /// The lock in the way; of mode 2 if there is none.
        55 GetLock { mode: u8, start: u64, length: u64, process: u32, client: &'a [u8] },
        /// The hard link exists.
        71 Link {},
        /// The directory exists.
        73 MakeDirectory { qid: Qid },
        /// The entry is renamed.
        75 RenameAt {},
        /// The entry is removed.
        77 UnlinkAt {},
        /// The key is recorded; 1 if a session had it, whose locks belong to this one now, otherwise 0.
        201 Resume { is_known: u8 },
        /// The fid exists, and is open if that was asked for.
        203 Restore { qid: Qid },
        /// The data is safe.
        205 Commit {},
        /// The data, with size in bytes and time of the last write in s and ns since 1970. The file has more data
        /// if `size` is more than the length of `data`.
        207 Fetch { qid: Qid, size: u64, mtime_s: u64, mtime_ns: u32, data: Data<'a> },
        /// The file is in the cache.
        209 Prefetch {},
        /// The state of the daemon.
        211 Status { status: DaemonStatus },
        /// The files, ordered by number, each as [`UnstoredFile`]; empty at the end.
        213 ListUnstored { files: Data<'a> },
        /// Everything is stored.
        215 Drain {},
        /// The number of bytes that were dropped.
        217 Abandon { bytes: u64 },
    }
}

/// The types of requests by which callers tell them apart without decoding them.
impl Request<'_> {
    /// To sync an open file.
    pub const FSYNC: u8 = 50;
    /// To lock bytes of a file.
    pub const LOCK: u8 = 52;
    /// To find a lock in the way of another.
    pub const GET_LOCK: u8 = 54;
    /// To forget a request.
    pub const FLUSH: u8 = 108;
    /// To read from an open file.
    pub const READ: u8 = 116;
    /// To write to an open file.
    pub const WRITE: u8 = 118;
    /// To forget a fid.
    pub const CLUNK: u8 = 120;
    /// To take up a session.
    pub const RESUME: u8 = 200;
    /// To wait until a file is safe.
    pub const COMMIT: u8 = 204;
    /// For the state of the daemon.
    pub const STATUS: u8 = 210;
    /// For the files that are not stored.
    pub const LIST_UNSTORED: u8 = 212;
    /// To store everything.
    pub const DRAIN: u8 = 214;
}

impl Reply<'_> {
    /// The type of an error.
    pub const ERROR: u8 = 7;
}

/// Append a header without a size, and return where the message starts.
pub(crate) fn begin(code: u8, tag: u16, out: &mut Buffer) -> usize {
    let start = out.len();
    out.put(&[0; 4]);
    code.write(out);
    tag.write(out);
    start
}

/// Write the size of the message that starts at `start`, and ends at the end of `out`.
pub(crate) fn finish(start: usize, out: &mut Buffer) {
    let size = u32::try_from(out.len() - start).unwrap_or(u32::MAX);
    out[start..start + 4].copy_from_slice(&size.to_le_bytes());
}

/// An entry of a directory, as in the reply to a request for entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Type, version and number of the file.
    pub qid: Qid,
    /// The offset at which the next entry is read.
    pub next: u64,
    /// The type of the file, as `d_type` of Linux.
    pub kind: u8,
    /// The name.
    pub name: &'a [u8],
}

impl<'a> Entry<'a> {
    /// Return the number of bytes of the entry in a reply.
    #[must_use]
    pub fn bytes(&self) -> usize {
        Qid::BYTES + 8 + 1 + 2 + self.name.len()
    }

    /// Append the bytes of the entry.
    pub fn write(&self, out: &mut Buffer) {
        self.qid.write(out);
        self.next.write(out);
        self.kind.write(out);
        self.name.write(out);
    }

    /// Read the entries in the data of a reply.
    pub fn read_all(data: &'a [u8]) -> impl Iterator<Item = Result<Self, Malformed>> + use<'a> {
        let mut unread = Unread(data);
        std::iter::from_fn(move || {
            if unread.0.is_empty() {
                return None;
            }
            let entry = Self::read(&mut unread);
            if entry.is_err() {
                unread.0 = &[];
            }
            Some(entry)
        })
    }

    /// Read the next entry.
    fn read(unread: &mut Unread<'a>) -> Result<Self, Malformed> {
        Ok(Self {
            qid: Field::read(unread)?,
            next: Field::read(unread)?,
            kind: Field::read(unread)?,
            name: Field::read(unread)?,
        })
    }
}

/// A file with bytes that are not stored, as in the reply to a request for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnstoredFile<'a> {
    /// Its number in the cache.
    pub number: u64,
    /// The number of bytes that are not stored.
    pub bytes: u64,
    /// For how long the oldest of them has waited, in ms.
    pub age_ms: u64,
    /// The error of the last attempt to store it; 0 if there is none.
    pub errno: u32,
    /// Its absolute path in the store.
    pub path: &'a [u8],
}

impl<'a> UnstoredFile<'a> {
    /// Return the number of bytes of the file in a reply.
    #[must_use]
    pub fn bytes_in_reply(&self) -> usize {
        8 + 8 + 8 + 4 + 2 + self.path.len()
    }

    /// Append the bytes of the file.
    pub fn write(&self, out: &mut Buffer) {
        self.number.write(out);
        self.bytes.write(out);
        self.age_ms.write(out);
        self.errno.write(out);
        self.path.write(out);
    }

    /// Read the files in the data of a reply.
    ///
    /// # Errors
    /// The data is cut off.
    pub fn read_all(data: &'a [u8]) -> Result<Vec<Self>, Malformed> {
        let mut unread = Unread(data);
        let mut files = Vec::new();
        while !unread.0.is_empty() {
            files.push(Self {
                number: Field::read(&mut unread)?,
                bytes: Field::read(&mut unread)?,
                age_ms: Field::read(&mut unread)?,
                errno: Field::read(&mut unread)?,
                path: Field::read(&mut unread)?,
            });
        }
        Ok(files)
    }
}

/// Split a whole message into its type, its tag and its fields.
fn split(message: &[u8]) -> Result<(u8, u16, &[u8]), Malformed> {
    let mut unread = Unread(message);
    let size = u32::read(&mut unread)?;
    if usize::try_from(size) != Ok(message.len()) {
        return Err(Malformed::Size(size));
    }
    let code = u8::read(&mut unread)?;
    let tag = u16::read(&mut unread)?;
    Ok((code, tag, unread.0))
}

/// Return the tag of a whole message.
#[must_use]
pub fn tag(message: &[u8]) -> Option<u16> {
    split(message).ok().map(|(_, tag, _)| tag)
}

/// Set the tag of a whole message.
pub fn set_tag(message: &mut Buffer, tag: u16) {
    message[5..HEADER].copy_from_slice(&tag.to_le_bytes());
}

/// Read a request and its tag from the bytes of one message.
///
/// # Errors
/// The bytes are no request.
pub fn read_request(message: &[u8]) -> Result<(u16, Request<'_>), Malformed> {
    let (code, tag, fields) = split(message)?;
    Ok((tag, Request::read(code, fields)?))
}

/// Read a reply and its tag from the bytes of one message.
///
/// # Errors
/// The bytes are no reply.
pub fn read_reply(message: &[u8]) -> Result<(u16, Reply<'_>), Malformed> {
    let (code, tag, fields) = split(message)?;
    Ok((tag, Reply::read(code, fields)?))
}
