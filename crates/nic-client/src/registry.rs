//! The streams that this process receives, and the abandoned streams of which data still arrives.

use std::collections::{BTreeMap, BTreeSet};

/// The links that may still carry data of a stream, by stream.
type Links = BTreeMap<u32, BTreeSet<u16>>;

/// The streams that this process receives, and those that it has abandoned, with the links that may
/// still carry their data.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    received: Links,
    abandoned: Links,
}

impl Registry {
    /// Add a stream that this process receives over these links.
    pub fn receive(&mut self, stream: u32, links: impl IntoIterator<Item = u16>) {
        self.received.insert(stream, links.into_iter().collect());
    }

    /// Abandon a received stream, so that its data is discarded. Returns whether data may still
    /// arrive.
    pub fn abandon(&mut self, stream: u32) -> bool {
        let links = self.received.remove(&stream);
        let links = links.filter(|links| !links.is_empty());
        links.is_some_and(|links| {
            self.abandoned.insert(stream, links);
            true
        })
    }

    /// Return whether this process has abandoned the received stream, so that data that still
    /// arrives for it is discarded.
    pub fn is_abandoned(&self, stream: u32) -> bool {
        self.abandoned.contains_key(&stream)
    }

    /// Record that the end of the stream has arrived on this link.
    pub fn ended_on(&mut self, stream: u32, link: u16) {
        if let Some(links) = self.received.get_mut(&stream) {
            links.remove(&link);
        }
        if let Some(links) = self.abandoned.get_mut(&stream) {
            links.remove(&link);
            if links.is_empty() {
                self.abandoned.remove(&stream);
            }
        }
    }

    /// Record that the link is gone, so that no data can arrive over it.
    pub fn link_gone(&mut self, link: u16) {
        for links in self.received.values_mut() {
            links.remove(&link);
        }
        self.abandoned.retain(|_, links| {
            links.remove(&link);
            !links.is_empty()
        });
    }
}
