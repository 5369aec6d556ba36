//! Which streams this process receives, for what still comes of those it has given up.

use std::collections::{BTreeMap, BTreeSet};

/// By stream, the links on which something of it may come still.
type Links = BTreeMap<u32, BTreeSet<u16>>;

/// Streams that are received here, and those of which that was given up.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    received: Links,
    given_up: Links,
}

impl Registry {
    /// Somebody receives this stream over these links.
    pub fn receive(&mut self, stream: u32, links: impl IntoIterator<Item = u16>) {
        self.received.insert(stream, links.into_iter().collect());
    }

    /// Nobody does any more: what comes of it is passed by. Whether anything may.
    pub fn give_up(&mut self, stream: u32) -> bool {
        let left = self.received.remove(&stream);
        let left = left.filter(|links| !links.is_empty());
        left.is_some_and(|links| {
            self.given_up.insert(stream, links);
            true
        })
    }

    /// Whether what comes of it is passed by.
    pub fn is_given_up(&self, stream: u32) -> bool {
        self.given_up.contains_key(&stream)
    }

    /// No more of it comes on this link.
    pub fn ended_on(&mut self, stream: u32, link: u16) {
        if let Some(links) = self.received.get_mut(&stream) {
            links.remove(&link);
        }
        if let Some(links) = self.given_up.get_mut(&stream) {
            links.remove(&link);
            if links.is_empty() {
                self.given_up.remove(&stream);
            }
        }
    }

    /// The link is gone, and nothing comes on it.
    pub fn link_gone(&mut self, link: u16) {
        for links in self.received.values_mut() {
            links.remove(&link);
        }
        self.given_up.retain(|_, links| {
            links.remove(&link);
            !links.is_empty()
        });
    }
}
