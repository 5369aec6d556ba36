//! The cache of the daemon: data of files in a folder of its own, between the clients and the store.
//!
//! What happens to the data is decided by [`isthmus_forward::cache`]; this module moves it. Names and
//! attributes of files are those of the store at any time: only data is kept here. A byte that a client has
//! written is in the folder and in the log before the client gets its reply, so a daemon that is killed loses
//! nothing.

mod clients;
mod drain;
mod file;
mod folder;
mod foreground;
mod found;
mod log;
mod names;
mod objects;
mod operators;
mod paths;
mod progress;
mod recover;
mod state;
mod syncs;

pub(crate) use file::File;
pub(crate) use folder::Folder;
pub use recover::cached_exports;
pub(crate) use state::Cache;
pub use state::CacheStatus;
