//! The directories that clients read, and what is to be read ahead.

use crate::export::Export;
use isthmus_forward::cache::Directories;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// The directories that clients read, and what is to be read ahead.
#[derive(Debug, Default)]
pub(crate) struct ReadAhead {
    pub directories: Mutex<Directories>,
    pub waiting: Mutex<Waiting>,
}

/// Tasks that wait.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    pub tasks: VecDeque<Task>,
    /// The number of threads that carry them out.
    pub threads: usize,
}

/// What is done on another thread.
#[derive(Debug)]
pub(crate) enum Task {
    /// List a directory, which has this key.
    List {
        export: Arc<Export>,
        path: Vec<u8>,
        key: Vec<u8>,
    },
    /// Read a file into the cache.
    Read { export: Arc<Export>, path: Vec<u8> },
}
