//! Files that clients have looked up in the store a short time ago, by path: within `--fresh` they are read from the
//! cache without asking the store.

use super::file::File;
use super::found::{Found, Paths};
use super::state::{self, Cache};
use crate::export::Export;
use isthmus_forward::Result;
use isthmus_forward::message::Attributes;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Instant;

/// The number of paths above which those of files that are not in the cache any more are removed.
const PRUNED_ABOVE: usize = 1024;

impl Cache {
    /// Return the paths, locked.
    fn paths(&self) -> MutexGuard<'_, Paths> {
        self.paths.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Return the number of an export.
    pub fn number_of(&self, export: &Arc<Export>) -> u32 {
        state::number_of(&self.exports, export)
    }

    /// Return whether files are read for some time without asking the store.
    pub fn keeps_paths(&self) -> bool {
        !self.config.fresh.is_zero()
    }

    /// Return how often a client has renamed or removed something.
    pub fn path_generation(&self) -> u64 {
        self.paths().generation
    }

    /// Record the attributes of a file at a path of an export. Before it was looked up, clients had changed it
    /// `changes` times, and names had this generation.
    pub fn record_path(
        &self,
        export: &Arc<Export>,
        path: Vec<u8>,
        (file, changes): (&Arc<File>, u64),
        generation: u64,
        attributes: Attributes,
    ) {
        if !self.keeps_paths() {
            return;
        }
        let found = Found {
            at: Instant::now(),
            file: Arc::clone(file),
            changes,
            attributes,
        };
        let mut paths = self.paths();
        if paths.generation != generation {
            return;
        }
        if paths.found.len() >= paths.pruned_at.max(PRUNED_ABOVE) {
            let state = self.state();
            paths.found.retain(|_, found| {
                found.at.elapsed() < self.config.fresh
                    && state.machine.status(found.file.id).is_some()
            });
            drop(state);
            paths.pruned_at = 2 * paths.found.len();
        }
        paths.found.insert((self.number_of(export), path), found);
    }

    /// Return the file at a path of an export and its attributes, if it was looked up a short time ago and no client
    /// of this daemon has changed it since.
    fn find_path(&self, export: &Arc<Export>, path: &[u8]) -> Option<(Arc<File>, Attributes)> {
        if !self.keeps_paths() {
            return None;
        }
        let paths = self.paths();
        let found = paths.found.get(&(self.number_of(export), path.to_vec()))?;
        let is_fresh = found.at.elapsed() < self.config.fresh;
        let is_same = found.file.changes() == found.changes;
        (is_fresh && is_same).then(|| (Arc::clone(&found.file), found.attributes))
    }

    /// Return whether such a file is in the cache as a whole.
    pub fn has_path(&self, export: &Arc<Export>, path: &[u8]) -> bool {
        self.find_path(export, path).is_some_and(|(file, of)| {
            let machine = &mut self.state().machine;
            machine.is_present(file.id, &(0..of.size))
        })
    }

    /// Read a file at a path of an export from its start, if it was looked up a short time ago, nothing has changed
    /// it since, and its bytes are in the cache.
    pub fn read_path(
        &self,
        export: &Arc<Export>,
        path: &[u8],
        bytes: &mut [u8],
    ) -> Option<Result<(Attributes, usize)>> {
        let (file, attributes) = self.find_path(export, path)?;
        let size = usize::try_from(attributes.size).unwrap_or(usize::MAX);
        let wanted = bytes.len().min(size);
        let read = self.read(&file, 0, &mut bytes[..wanted]).transpose()?;
        self.close_data(&file);
        Some(read.map(|count| (attributes, count)))
    }

    /// Close the data of a file that was read although no client has it open: there may be many such files.
    fn close_data(&self, file: &File) {
        // While the state is locked, no client opens it.
        let state = self.state();
        let status = state.machine.status(file.id);
        if status.is_none_or(|status| !status.is_open) {
            file.close_data();
        }
    }

    /// Forget all paths, since a client has renamed or removed something.
    pub fn forget_paths(&self) {
        let mut paths = self.paths();
        paths.generation += 1;
        paths.found.clear();
    }
}
