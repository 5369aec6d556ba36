//! The fids of a client: numbers that it gives to files, values and its token.

use crate::files::{Errno, Files, Result, Subject};
use crate::message::NO_FID;
use std::collections::HashMap;
use std::sync::Arc;

/// Maximum number of values and tokens that the session keeps for a client at a time.
const VALUES_LIMIT: usize = 64;

/// What a fid refers to.
pub(super) enum Fid<F: Files> {
    /// A file that is not open.
    Named(F::Node),
    /// An open file.
    Open(F::Node, Arc<F::Open>),
    /// The value of an extended attribute.
    Value(Vec<u8>),
    /// The value of an extended attribute that is being written.
    NewValue(NewValue<F>),
    /// The token of the client, as far as it was written.
    Token(Vec<u8>),
}

impl<F: Files> Fid<F> {
    /// Return whether the session keeps bytes of the client for the fid.
    fn is_value(&self) -> bool {
        matches!(self, Self::Value(_) | Self::NewValue(_) | Self::Token(_))
    }
}

/// The value of an extended attribute that is being written. It is set when the fid is forgotten.
pub(super) struct NewValue<F: Files> {
    pub node: F::Node,
    pub open: Option<Arc<F::Open>>,
    pub name: Vec<u8>,
    pub flags: u32,
    pub size: usize,
    pub value: Vec<u8>,
}

/// All fids of a client.
pub(super) struct Fids<F: Files> {
    all: HashMap<u32, Fid<F>>,
    /// The number of fids for which the session keeps bytes of the client.
    values: usize,
}

impl<F: Files> Default for Fids<F> {
    /// Create an empty set.
    fn default() -> Self {
        Self {
            all: HashMap::new(),
            values: 0,
        }
    }
}

impl<F: Files> Fids<F> {
    /// Return the number of fids.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Return what a fid refers to.
    pub fn get(&self, fid: u32) -> Result<&Fid<F>> {
        self.all.get(&fid).ok_or(Errno::BADF)
    }

    /// Return what a fid refers to, to change it.
    pub fn get_mut(&mut self, fid: u32) -> Result<&mut Fid<F>> {
        self.all.get_mut(&fid).ok_or(Errno::BADF)
    }

    /// Return the file of a fid by name.
    pub fn node(&self, fid: u32) -> Result<&F::Node> {
        self.subject(fid).map(|subject| subject.node)
    }

    /// Return the file of a fid that is not open.
    pub fn unopened(&self, fid: u32) -> Result<&F::Node> {
        match self.get(fid)? {
            Fid::Named(node) => Ok(node),
            _ => Err(Errno::BADF),
        }
    }

    /// Return the file of a fid, by name and open.
    pub fn subject(&self, fid: u32) -> Result<Subject<'_, F>> {
        match self.get(fid)? {
            Fid::Named(node) => Ok(Subject { node, open: None }),
            Fid::Open(node, open) => Ok(Subject {
                node,
                open: Some(open),
            }),
            Fid::Value(_) | Fid::NewValue(_) | Fid::Token(_) => Err(Errno::BADF),
        }
    }

    /// Return the open file of a fid.
    pub fn opened(&self, fid: u32) -> Result<&Arc<F::Open>> {
        match self.get(fid)? {
            Fid::Open(_, open) => Ok(open),
            _ => Err(Errno::BADF),
        }
    }

    /// Check that a fid with this number can be added, of which there are `limit` at most.
    pub fn check_free(&self, fid: u32, limit: usize) -> Result<()> {
        match fid {
            NO_FID => Err(Errno::BADF),
            fid if self.all.contains_key(&fid) => Err(Errno::BUSY),
            _ if self.all.len() >= limit => Err(Errno::MFILE),
            _ => Ok(()),
        }
    }

    /// Add a fid, or let it refer to something else.
    pub fn set(&mut self, fid: u32, refers_to: Fid<F>) -> Result<()> {
        if refers_to.is_value() {
            if self.values >= VALUES_LIMIT {
                return Err(Errno::NOMEM);
            }
            self.values += 1;
        }
        let before = self.all.insert(fid, refers_to);
        self.values -= usize::from(before.is_some_and(|before| before.is_value()));
        Ok(())
    }

    /// Remove a fid.
    pub fn take(&mut self, fid: u32) -> Result<Fid<F>> {
        let taken = self.all.remove(&fid).ok_or(Errno::BADF)?;
        self.values -= usize::from(taken.is_value());
        Ok(taken)
    }

    /// Remove all fids.
    pub fn clear(&mut self) {
        self.all.clear();
        self.values = 0;
    }
}
