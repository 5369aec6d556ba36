//! Choices of links up and down by deterministic routing rules.

use super::{Ascent, Tree, Vertex};

impl Ascent {
    /// Return the node number that determines the route of a packet, or `None` if the rule is not deterministic.
    pub(super) fn key(self, source: u32, destination: u32) -> Option<u32> {
        match self {
            Self::Adaptive | Self::Random => None,
            Self::Destination => Some(destination),
            Self::Source => Some(source),
        }
    }

    /// Return whether this rule spreads packets evenly over equivalent links, so that all links between a subtree and
    /// the rest carry the same load.
    pub fn is_spread(self) -> bool {
        self.key(0, 0).is_none()
    }

    /// Return a text that describes the rule.
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
    /// Return the link up by which a packet leaves a node or switch under a deterministic rule: on level i port
    /// floor(key / W_i) mod (w p). The key is the number of the destination or of the source. W_i is the number of
    /// switches over a subtree of this level, w the number of parents, and p the number of parallel links to each
    /// parent (d-mod-k in the form of Zahavi, 2012, Eq. 1). So consecutive keys use all switches of the top before one
    /// of them is used again.
    ///
    /// The result is `None` if the rule is not deterministic, and for switches at the top.
    ///
    /// # Panics
    /// The node or switch does not exist.
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

    /// Return the link down by which a packet goes from a switch towards a node below the switch. It is the only link,
    /// or the one parallel to the link that a packet with the same key would ascend by a deterministic rule.
    ///
    /// The result is `None` if the node is not below the switch, or if parallel links exist and the rule does not
    /// choose among them.
    ///
    /// # Panics
    /// The node or switch does not exist.
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

    /// Return the port up that a deterministic rule chooses on a level. `key` is the number of the source or of the
    /// destination, whichever the rule uses.
    pub(super) fn port(&self, level: usize, key: u32) -> u32 {
        let level = &self.levels[level];
        key / level.lanes % level.up_ports
    }
}
