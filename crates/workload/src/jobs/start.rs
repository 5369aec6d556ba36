//! What jobs begin with: how many messages are known at first, whatever the network.

use crate::jobs::client::Asking;
use crate::jobs::layout::Layout;
use crate::jobs::roles::{clients, plan};
use crate::jobs::spec::{Job, Sizes};
use isthmus_units::{Bytes, Time};

/// The messages of a job that it begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Start {
    /// How many there are at most: of a closed loop, a checkpoint or a collective operation those that are
    /// handed over at once, of an open loop the first of each process, which is known before its time has come.
    pub messages: u64,
    /// How long they are.
    pub sizes: Sizes,
}

impl Layout {
    /// What job number `number` of the traffic that this is the layout of begins with.
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
        // How long a tick is does not matter: no time is looked at.
        let clients = clients(&job.traffic, nodes, &self.servers, Time::from_ps(1));
        let each = match clients.asking {
            Asking::Open { .. } => 1,
            Asking::Bursts { messages, .. } => messages.min(most),
            Asking::Closed { .. } => most,
        };
        Start {
            messages: each.saturating_mul(clients.nodes.len() as u64),
            sizes: clients.sizes,
        }
    }
}
