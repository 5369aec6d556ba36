//! Inputs of a switch: the packets that arrive over one link each, and how long they wait for their next links.

use super::Train;
use super::network::{Buffer, Class};

/// Slowdown factor that stands for infinity: that of a link whose packets wait forever.
const ENDLESS: f64 = 1e9;

/// Load of a link: that of all of its messages, or of those that arrive over one other link.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LinkLoad {
    /// rho: share of the time for which the link transmits.
    pub(super) work: f64,
    /// R: mean remaining work of the messages that the link is transmitting, in ns.
    pub(super) residual: f64,
    /// r: mean remaining work of the packets that the link is transmitting, in ns.
    pub(super) packets: f64,
    /// Number of packets per ns that cross the link.
    pub(super) count: f64,
}

impl LinkLoad {
    /// Add the load of trains of packets that arrive at `rate` per ns. Because of waits, a packet takes `relative_time`
    /// times as long as it would without them.
    pub(super) fn add(&mut self, rate: f64, train: &Train, relative_time: f64) {
        let on_link = train.on_link(relative_time);
        self.work += rate * on_link.work;
        self.residual += rate * on_link.residual;
        self.packets += rate * on_link.packet_residual;
        self.count += rate * train.packets;
    }

    /// Return M = R / (1 - rho): the mean work that waits in the queue, in ns.
    pub(super) fn mean_work(&self) -> f64 {
        if self.work >= 1.0 {
            return f64::INFINITY;
        }
        self.residual / (1.0 - self.work)
    }
}

/// Wait of the first packet of a train for the next link, after the train has arrived over one input of a switch.
#[derive(Debug, Clone, Copy)]
pub(super) struct FirstWait {
    pub(super) fixed: f64,
    /// Share of the next link's time that messages from other inputs use.
    pub(super) others: f64,
    /// Factor by which waits lengthen the time that the link takes for a packet.
    pub(super) relative_time: f64,
}

impl FirstWait {
    /// Return the wait of the last packet of a train for the next link.
    pub(super) fn wait(&self, train: &Train) -> f64 {
        (self.fixed + self.others * train.on_link(self.relative_time).before_last).max(0.0)
    }

    /// Return the wait of a packet in the middle of a train of packets.
    fn middle_wait(&self, train: &Train) -> f64 {
        (self.fixed + self.others * train.on_link(self.relative_time).before_last / 2.0).max(0.0)
    }
}

/// The traffic from one link over a switch to one next link, with its load and its waits.
#[derive(Debug)]
pub(super) struct Crossing<'a> {
    pub(super) to: u32,
    pub(super) rates: &'a Vec<f64>,
    /// Utilisation of the previous link by this traffic, if no waits lengthen the transmissions on that link.
    pub(super) own: f64,
    pub(super) first: FirstWait,
}

/// Traffic of a link into a switch: its load, and the shares that cross to each next link.
#[derive(Debug, Default)]
pub(super) struct Input<'a> {
    pub(super) load: LinkLoad,
    /// Sum of the arrival rate times the wait (lambda W) over all messages of the link.
    pub(super) wait: f64,
    pub(super) met: f64,
    /// Rate of the messages per ns, each weighted with the share of its next link that messages from other inputs use.
    pub(super) met_others: f64,
    pub(super) crossings: Vec<Crossing<'a>>,
}

impl Input<'_> {
    /// Return the time that a packet loses on the link into this input because packets in the input's buffer wait for
    /// other links. It is relative to the time of a packet without waits.
    pub(super) fn slowdown(&self, classes: &[Class], buffer: Buffer) -> f64 {
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
                    wait += other * packets * first.middle_wait(train);
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

    /// Return an upper bound of the additional wait of a packet that is caused by packets before it at this input,
    /// which wait for other links.
    pub(super) fn blocking(&self, own: &Crossing<'_>, lanes: f64) -> f64 {
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
        full * (held / (1.0 - share) - self.load.mean_work()).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use crate::trains::network::examples::{class, hop};
    use crate::trains::{Buffer, Channels, Network};

    /// Checks that packets which wait for their next link slow down the previous one. Packets of 1 ns from link 0
    /// continue on two other links, and occupy their buffer slots for longer while they wait. If the buffer has no room
    /// beyond its round trip, each nanosecond of wait takes its share of the link.
    #[test]
    fn waiting_packets_slow_down_their_link() {
        let mut network = Network::new(1);
        for (node, to) in [(0, 8), (0, 9), (1, 8), (2, 9)] {
            network.add(0, 0.1, node, &[hop(node), hop(to)]);
        }
        let classes = [class(1.0)];
        let queues = network.queues(&classes, Channels::Buffers(f64::INFINITY));
        let slowdown = |room: f64| {
            let buffer = Buffer { room, round: 2.0 };
            queues.inputs()[&0].slowdown(&classes, buffer)
        };
        // Half of the packets cross to the other link, so only half of this wait counts: W = M - 2 M_1 + 0.1 M_1 + 0.05
        // with M = 0.1 / 0.8, for two links with a rate of 0.1 each.
        let one = 0.05 / 0.9;
        let wait = 0.5 * (0.1 / 0.8 - 2.0 * one + 0.1 * one + 0.05);
        assert!((slowdown(2.0) - wait / 2.0).abs() < 1e-12);
        let spare = (-0.1 / wait).exp() * wait / 3.0;
        assert!((slowdown(3.0) - spare).abs() < 1e-12);
    }
}
