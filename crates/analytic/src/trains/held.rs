//! The packets that a link has brought to a switch, and their waits for the links that they go on to.

use super::Train;
use super::network::{Buffer, Class};

/// Factor of a link whose packets wait without limit.
const ENDLESS: f64 = 1e9;

/// What asks for a link, or comes by one.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Work {
    /// rho.
    pub(super) work: f64,
    /// R.
    pub(super) residual: f64,
    /// r.
    pub(super) packets: f64,
    /// Packets per ns.
    pub(super) count: f64,
}

impl Work {
    pub(super) fn add(&mut self, rate: f64, train: &Train, slower: f64) {
        let on_link = train.on_link(slower);
        self.work += rate * on_link.work;
        self.residual += rate * on_link.residual;
        self.packets += rate * on_link.packet_residual;
        self.count += rate * train.packets;
    }

    /// M.
    pub(super) fn queue(&self) -> f64 {
        if self.work >= 1.0 {
            return f64::INFINITY;
        }
        self.residual / (1.0 - self.work)
    }
}

/// The wait of the first packet of an input for a link.
#[derive(Debug, Clone, Copy)]
pub(super) struct First {
    pub(super) fixed: f64,
    /// Share of the link that other inputs ask for.
    pub(super) others: f64,
    /// How many times longer than alone packets take on the link.
    pub(super) slower: f64,
}

impl First {
    /// Of the last packet of a train.
    pub(super) fn wait(&self, train: &Train) -> f64 {
        (self.fixed + self.others * train.on_link(self.slower).before_last).max(0.0)
    }

    /// Of one in the middle of a train.
    fn middle(&self, train: &Train) -> f64 {
        (self.fixed + self.others * train.on_link(self.slower).before_last / 2.0).max(0.0)
    }
}

#[derive(Debug)]
pub(super) struct Crossing<'a> {
    pub(super) to: u32,
    pub(super) rates: &'a Vec<f64>,
    /// rho at the link before, with nothing that makes it slower.
    pub(super) own: f64,
    pub(super) first: First,
}

/// A link into a switch, and what its packets go on to.
#[derive(Debug, Default)]
pub(super) struct Held<'a> {
    pub(super) load: Work,
    /// lambda W
    pub(super) wait: f64,
    pub(super) met: f64,
    /// Messages per ns, each by the share of its link that others ask for.
    pub(super) met_others: f64,
    pub(super) crossings: Vec<Crossing<'a>>,
}

impl Held<'_> {
    /// By how many times the time of a packet alone the link before is slower because packets wait here for others.
    pub(super) fn longer(&self, classes: &[Class], buffer: Buffer) -> f64 {
        let (mut wait, mut met, mut all) = (0.0, 0.0, 0.0);
        for Crossing {
            own, rates, first, ..
        } in &self.crossings
        {
            let other = (1.0 - own / self.load.work).max(0.0);
            let some = classes.iter().zip(*rates).filter(|(_, rate)| **rate > 0.0);
            for (Class { train, .. }, rate) in some {
                let packets = rate * train.packets;
                if other > 0.0 {
                    wait += other * packets * first.middle(train);
                }
                met += packets * first.others;
                all += packets;
            }
        }
        debug_assert!(!wait.is_nan(), "rates are zero or waits are numbers");
        if wait.is_infinite() {
            return ENDLESS;
        }
        if wait <= 0.0 {
            return 0.0;
        }
        let left = (buffer.room - buffer.round).max(0.0);
        wait / all / buffer.room * (-left * met / wait).exp()
    }

    /// What the packets that wait here, for other links than its own, bring a packet at most.
    pub(super) fn before(&self, own: &Crossing<'_>, lanes: f64) -> f64 {
        let share = self.load.work;
        if share <= 0.0 || share >= 1.0 || self.wait <= 0.0 || self.wait.is_infinite() {
            return 0.0;
        }
        let other = (1.0 - own.own / share).max(0.0);
        let (wait, met) = (other * self.wait, other * self.met);
        let left = self.load.residual / share;
        let held = self.load.residual + met + 2.0 / 3.0 * wait * left;
        let packet = share / self.load.count;
        let each = self.wait / self.met_others;
        let full = (-2.0 * (lanes - 1.0) * packet / each).exp();
        full * (held / (1.0 - share) - self.load.queue()).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use crate::trains::network::examples::{class, hop};
    use crate::trains::{Buffer, Channels, Network};

    /// Packets of 1 ns from the link 0 that go on to two others hold their places for longer while they wait. Where the
    /// buffer has no room left beyond its round trip, each nanosecond of that takes its share of the link.
    #[test]
    fn packets_that_wait_hold_their_places() {
        let mut network = Network::new(1);
        for (node, to) in [(0, 8), (0, 9), (1, 8), (2, 9)] {
            network.add(0, 0.1, node, &[hop(node), hop(to)]);
        }
        let classes = [class(1.0)];
        let queues = network.queues(&classes, Channels::Buffers(f64::INFINITY));
        let longer = |room: f64| {
            let buffer = Buffer { room, round: 2.0 };
            queues.held()[&0].longer(&classes, buffer)
        };
        // Half of the packets are for the other link. Of 0.1 each W = M - 2 M_1 + 0.1 M_1 + 0.05, M = 0.1 / 0.8.
        let one = 0.05 / 0.9;
        let wait = 0.5 * (0.1 / 0.8 - 2.0 * one + 0.1 * one + 0.05);
        assert!((longer(2.0) - wait / 2.0).abs() < 1e-12);
        let spare = (-0.1 / wait).exp() * wait / 3.0;
        assert!((longer(3.0) - spare).abs() < 1e-12);
    }
}
