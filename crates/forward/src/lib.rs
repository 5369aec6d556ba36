//! Forwarding of file I/O, as state machines without I/O: the server of a protocol for files, and
//! the requests of its clients.
//!
//! A client of an I/O daemon opens, reads and writes files of a store that only the daemon can
//! reach. Both speak 9P2000.L, the dialect of 9P that Linux kernels, QEMU and diod have. A
//! [`Session`] holds what the server knows of one client: the version, the largest message, the
//! files that the client names by numbers (*fids*) and the requests that are still in flight. It
//! calls [`Files`] for what the requests want, which the daemon carries out in a directory, and
//! tests in memory.
//!
//! | module | contents |
//! |---|---|
//! | [`message`] | requests and replies, and their bytes |
//! | [`frames`](Frames) | whole messages out of a stream of bytes |
//! | [`session`](Session) | the server's side of one client: version, fids, tags, flush, limits |
//! | [`files`](Files) | what a server must be able to do with files |
//! | [`names`](Names) | files by parent and name, which follow renames |
//! | [`locks`](Locks) | locks of byte ranges among clients |
//! | [`buffer`](Buffer) | bytes of messages that wait to be sent |
//! | [`calls`](Calls) | the client's side: tags of requests in flight, and their replies |
//!
//! The crate uses no sockets, files, clocks or threads.
//!
//! The session answers a request with bytes for the client:
//!
//! ```
//! use isthmus_forward::Buffer;
//! use isthmus_forward::message::{NO_TAG, Reply, Request, read_reply};
//!
//! let mut bytes = Buffer::new();
//! let version = b"9P2000.L".as_slice();
//! Request::Version { msize: 65_536, version }.write(NO_TAG, &mut bytes);
//! assert_eq!(bytes.len(), 21);
//!
//! let mut answer = Buffer::new();
//! Reply::Version { msize: 8_192, version }.write(NO_TAG, &mut answer);
//! let (tag, reply) = read_reply(answer.bytes())?;
//! assert_eq!((tag, reply), (NO_TAG, Reply::Version { msize: 8_192, version }));
//! # Ok::<(), isthmus_forward::message::Malformed>(())
//! ```

mod buffer;
mod calls;
mod files;
mod frames;
mod locks;
pub mod message;
mod names;
mod session;

pub use buffer::Buffer;
pub use calls::Calls;
pub use files::{Errno, Files, Node, Opened, Range, Result, Subject};
pub use frames::Frames;
pub use locks::{Holder, Lock, Locks, Mode};
pub use names::{Name, Names};
pub use session::{Deferred, Limits, Session, Ticket};
