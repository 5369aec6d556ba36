//! What a mount knows of its files, for the kernel's requests and for a connection that is made again.

use super::locks::{Owner, lock_mode};
use super::nodes::Nodes;
use crate::error::Result;
use crate::link::{Memory, Recalled};
use isthmus_forward::message::Request;
use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// State that the threads of the kernel's requests and the thread of replies share.
pub(super) struct Shared {
    pub nodes: Mutex<Nodes>,
    /// The fids of files with a lock that could not be taken again.
    pub lost: Mutex<HashSet<u32>>,
    pub report: Box<dyn Fn(&str) + Send + Sync>,
}

impl Shared {
    /// Return what the kernel knows, locked. No request may be sent meanwhile.
    pub fn nodes(&self) -> MutexGuard<'_, Nodes> {
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Return the fids that have lost locks, locked.
    pub fn lost(&self) -> MutexGuard<'_, HashSet<u32>> {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Memory for Shared {
    fn recall(&self, fid: u32) -> Option<Recalled> {
        self.nodes().recall(fid)
    }

    fn lock_again(&self, again: &mut dyn FnMut(u32, &Request<'_>) -> Result<bool>) -> Result<()> {
        let locks = {
            let mut nodes = self.nodes();
            nodes.lose_removed();
            nodes.locks.clone()
        };
        for lock in locks {
            let owner = Owner::of(&lock);
            if !again(lock.fid, &owner.request(&lock, lock_mode(&lock)))? {
                let handles = self.nodes().handles_of(lock.node);
                self.lost().extend(handles);
                self.report(
                    "a lock could not be taken again: its file fails with EIO until it is closed",
                );
            }
        }
        Ok(())
    }

    fn is_lost(&self, fid: u32) -> bool {
        self.lost().contains(&fid)
    }

    fn report(&self, text: &str) {
        (self.report)(text);
    }
}
