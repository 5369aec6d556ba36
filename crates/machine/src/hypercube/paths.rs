//! Paths of messages: the channels that each kind of message crosses.

use crate::hypercube::build::Machine;
use crate::hypercube::layout::ChannelKind;
use isthmus_topology::{FaultyCube, FaultyRoute, Hop};
use isthmus_wormhole::ChannelId;

impl Machine {
    /// Append the path from PE to PE: the channel from the sender to its router, links in e-cube order, and the
    /// channel from the router to the receiver.
    #[inline]
    pub fn path_pe_pe(&self, from: u32, to: u32, path: &mut Vec<ChannelId>) {
        path.push(self.layout.channel(ChannelKind::PeInject, from));
        self.push_links(from, to, path);
        path.push(self.layout.channel(ChannelKind::PeEject, to));
    }

    /// Append the path from a PE to the I/O node at another or the same PE: the channel from the PE to its
    /// router, links in e-cube order, and the channel into the I/O node. If the I/O node has failed, the last
    /// channel leads to its PE.
    pub fn path_ask(&self, pe: u32, io_node: u32, path: &mut Vec<ChannelId>) {
        let at = self.pe_of(io_node);
        path.push(self.layout.channel(ChannelKind::PeInject, pe));
        self.push_links(pe, at, path);
        path.push(if self.serving_io_node(io_node) == io_node {
            self.layout.channel(ChannelKind::IoNodeIn, io_node)
        } else {
            self.layout.channel(ChannelKind::PeEject, at)
        });
    }

    /// Append the path from I/O node to I/O node: the channel to its I/O router, links of the I/O network in
    /// e-cube order, and the channel from the last I/O router. Without an I/O network, the path crosses the PE
    /// network.
    pub fn path_forward(&self, from: u32, to: u32, path: &mut Vec<ChannelId>) {
        let layout = &self.layout;
        if self.separate {
            path.push(layout.channel(ChannelKind::IoInject, from));
            self.push_io_links(from, to, path);
            path.push(layout.channel(ChannelKind::IoEject, to));
        } else {
            path.push(layout.channel(ChannelKind::IoNodeOut, from));
            self.push_links(self.pe_of(from), self.pe_of(to), path);
            path.push(layout.channel(ChannelKind::IoNodeIn, to));
        }
    }

    /// Append the path of data from the I/O node `from` to `pe` through the I/O node `asked`. If both are the
    /// same, the path crosses only the PE network. Otherwise one worm crosses the I/O network to the I/O router
    /// of `asked`, and then the PE network. Without an I/O network, the path crosses the PE network from `from`
    /// straight to `pe`.
    pub fn path_reply(&self, from: u32, asked: u32, pe: u32, path: &mut Vec<ChannelId>) {
        let layout = &self.layout;
        if from != asked && self.separate {
            path.push(layout.channel(ChannelKind::IoInject, from));
            self.push_io_links(from, asked, path);
            path.push(layout.channel(ChannelKind::IoToPe, asked));
            self.push_links(self.pe_of(asked), pe, path);
        } else {
            path.push(layout.channel(ChannelKind::IoNodeOut, from));
            self.push_links(self.pe_of(from), pe, path);
        }
        path.push(layout.channel(ChannelKind::PeEject, pe));
    }

    /// Append the links of the PE network on the route from one PE to another, around faults if there are
    /// any.
    #[inline]
    fn push_links(&self, from: u32, to: u32, path: &mut Vec<ChannelId>) {
        let cube = self.layout.cube;
        let mut push = |hop: Hop| {
            let link = cube.link(hop.node, hop.dimension) as u32;
            path.push(self.layout.channel(ChannelKind::Link, link));
        };
        match &self.routes {
            None => cube.route(from, to).for_each(&mut push),
            Some(routes) => around(routes, from, to).for_each(&mut push),
        }
    }

    /// Append the links of the I/O network on the route from one I/O node to another, around faults if there
    /// are any.
    #[inline]
    fn push_io_links(&self, from: u32, to: u32, path: &mut Vec<ChannelId>) {
        let cube = self.layout.io_cube;
        let mut push = |hop: Hop| {
            let link = cube.link(hop.node, hop.dimension) as u32;
            path.push(self.layout.channel(ChannelKind::IoLink, link));
        };
        match &self.io_routes {
            None => cube.route(from, to).for_each(&mut push),
            Some(routes) => around(routes, from, to).for_each(&mut push),
        }
    }
}

/// Return a route around faults. A route exists, because a machine whose working nodes are disconnected is
/// never built.
fn around(routes: &FaultyCube, from: u32, to: u32) -> FaultyRoute<'_> {
    routes.route(from, to).expect("working nodes are connected")
}
