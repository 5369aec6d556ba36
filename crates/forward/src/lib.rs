//! Forwarding of file I/O, as state machines without I/O: the server and the client of a protocol for
//! files.
//!
//! A client of an I/O daemon opens, reads and writes files of a store that only the daemon can
//! reach. Both speak 9P2000.L, the dialect of 9P of Linux kernels and diod; clients of isthmus have more
//! messages. A [`Session`] holds the
//! server's state of one client: the version, the largest message, the numbers that the client gives
//! to files (*fids*) and the requests in flight. It carries out requests through the trait
//! [`Files`]: the daemon implements it on directories, tests in memory.
//!
//! | module | contents |
//! |---|---|
//! | [`message`] | requests and replies, and their bytes |
//! | [`frames`](Frames) | whole messages out of a stream of bytes |
//! | [`session`](Session) | the server's side of one client: version, fids, tags, flush, limits |
//! | [`files`](Files) | the operations on files that a server implements |
//! | [`names`](Names) | files by parent and name, which follow renames |
//! | [`locks`](Locks) | locks of byte ranges among clients |
//! | [`buffer`](Buffer) | bytes of messages that wait to be sent |
//! | [`cache`] | which bytes of files are kept, written to the store and dropped, and when; its log |
//! | [`calls`](Calls) | the client's side: tags of requests in flight, and their replies |
//!
//! The crate uses no sockets, files, clocks or threads.
//!
//! A message is bytes with a tag, which joins a reply to its request:
//!
//! ```
//! use isthmus_forward::message::{Reply, Request};
//! use isthmus_forward::{Buffer, Calls};
//!
//! let (mut calls, mut out) = (Calls::default(), Buffer::new());
//! let read = Request::StatFs { fid: 1 };
//! let tag = calls.begin(&read, "the state of the store", &mut out).expect("a tag is free");
//! assert_eq!(out.len(), 11);
//!
//! let mut answer = Buffer::new();
//! Reply::Error { errno: 5 }.write(tag, &mut answer);
//! let (asked, reply) = calls.finish(answer.bytes())?;
//! assert_eq!((asked, reply.unwrap_err().0), ("the state of the store", 5));
//! # Ok::<(), isthmus_forward::message::Malformed>(())
//! ```

mod buffer;
pub mod cache;
mod calls;
mod files;
mod frames;
mod locks;
pub mod message;
mod names;
mod session;

pub use buffer::Buffer;
pub use calls::Calls;
pub use files::{Errno, Files, LockRange, Node, Opened, Result, Subject, SyncLevel};
pub use frames::Frames;
pub use locks::{Holder, Lock, LockMode, Locks};
pub use names::{Name, Names};
pub use session::{Deferred, Done, Job, Limits, Session, Ticket, Work};
