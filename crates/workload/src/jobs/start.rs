//! Initial messages of jobs, which do not depend on the network.

use crate::jobs::client::ArrivalProcess;
use crate::jobs::layout::Layout;
use crate::jobs::roles::{clients, plan};
use crate::jobs::spec::{Job, Sizes};
use isthmus_units::{Bytes, Time};

/// The initial messages of a job: an upper bound on their number, and their sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Start {
    /// Upper bound on the number of initial messages. In a closed loop, a checkpoint or a collective operation, these
    /// messages are handed over at once. In an open loop they are the first message of each process, which is
    /// determined before it is due.
    pub messages: u64,
    /// Distribution of the lengths of the initial messages.
    pub sizes: Sizes,
}

impl Layout {
    /// Return the messages with which job number `number` of this layout starts.
    ///
    /// # Panics
    /// If there is no such job.
    pub fn start(&self, number: usize, job: &Job) -> Start {
        let nodes = &self.jobs[number];
        let most = job.outstanding.limit().map_or(u64::MAX, u64::from);
        if let Some((plan, _)) = plan(&job.traffic, nodes.len() as u32) {
            return Start {
                messages: plan.at_once().min(most) * nodes.len() as u64,
                sizes: Sizes::fixed(Bytes::new(plan.bytes())),
            };
        }
        // The result does not depend on times, so the length of a tick (here 1 ps) does not matter.
        let clients = clients(&job.traffic, nodes, &self.servers, Time::from_ps(1));
        let each = match clients.asking {
            ArrivalProcess::Open { .. } => 1,
            ArrivalProcess::Bursts { messages, .. } => messages.min(most),
            ArrivalProcess::Closed { .. } => most,
        };
        Start {
            messages: each.saturating_mul(clients.nodes.len() as u64),
            sizes: clients.sizes,
        }
    }
}
