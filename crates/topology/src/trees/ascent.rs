//! What the deterministic rules choose, and what is left of them on the way down.

use super::{Ascent, Tree, Vertex};

impl Ascent {
    /// The number that decides the way of a packet, if one does.
    pub(super) fn key(self, source: u32, destination: u32) -> Option<u32> {
        match self {
            Self::Adaptive | Self::Random => None,
            Self::Destination => Some(destination),
            Self::Source => Some(source),
        }
    }

    /// Whether packets are spread evenly over links that do as well as one another, so that all links between a
    /// subtree and the rest carry the same.
    pub fn is_spread(self) -> bool {
        self.key(0, 0).is_none()
    }

    /// In words.
    pub fn description(self) -> &'static str {
        match self {
            Self::Adaptive => "the least loaded link up, as each switch sees it",
            Self::Destination => "the link up that the number of the destination gives (d-mod-k)",
            Self::Source => "the link up that the number of the source gives (s-mod-k)",
            Self::Random => "any link up, at random for each packet",
        }
    }
}

impl Tree {
    /// The link up that a packet takes from a node or switch by a deterministic rule: on level i
    /// port floor(key / W_i) mod (w p), the key being the number of the destination or of the
    /// source, W_i the number of switches over a subtree of this level, w and p the parents and the
    /// parallel links to each (d-mod-k in the form of Zahavi, 2012, Eq. 1). The numbers of the keys
    /// thus count through all switches of the top before they come back to the first.
    ///
    /// `None` when the rule is not deterministic, and at the top.
    ///
    /// # Panics
    /// When there is no such node or switch.
    pub fn chosen(
        &self,
        ascent: Ascent,
        source: u32,
        destination: u32,
        from: Vertex,
    ) -> Option<u32> {
        let key = ascent.key(source, destination)?;
        let (level, _) = self.place(from);
        let ascents = self.ascents(from);
        (!ascents.is_empty()).then(|| ascents.start + self.port(level, key))
    }

    /// The link down that a packet takes from a switch to a node below it: the only one, or of
    /// parallel ones that beside which a packet of the same key would ascend by a deterministic
    /// rule.
    ///
    /// `None` when the node is not below the switch, and when there are parallel links and the rule
    /// does not say which.
    ///
    /// # Panics
    /// When there is no such node or switch.
    pub fn chosen_descent(
        &self,
        ascent: Ascent,
        source: u32,
        destination: u32,
        switch: u32,
    ) -> Option<u32> {
        let descents = self.descents(switch, destination)?;
        if descents.len() == 1 {
            return Some(descents.start);
        }
        let key = ascent.key(source, destination)?;
        let (level, _) = self.place(Vertex::Switch(switch));
        let parents = self.levels[level].down.parents;
        Some(descents.start + self.port(level - 1, key) / parents)
    }

    /// Port up that a key gives on a level.
    pub(super) fn port(&self, level: usize, key: u32) -> u32 {
        let level = &self.levels[level];
        key / level.lanes % level.up_ports
    }
}
