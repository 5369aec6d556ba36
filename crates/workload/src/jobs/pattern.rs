//! Who moves data with whom, whatever the time: what analysis needs to know of a job.

use crate::jobs::layout::Layout;
use crate::jobs::roles::clients;
use crate::jobs::spec::{Job, Traffic};
use isthmus_units::Time;
use std::sync::Arc;

/// A client and the nodes that its messages go to, or come from, each as often as the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partners {
    /// Its node.
    pub client: u32,
    /// The nodes; its own may be among them and counts as none.
    pub others: Arc<[u32]>,
}

/// A client and one of the nodes that its messages go to, or come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pair {
    /// The node of the client.
    pub client: u32,
    /// The other, never the same.
    pub other: u32,
    /// How many others the client has, each as often.
    pub of: usize,
}

impl Layout {
    /// The clients of job number `job` of the traffic that this is the layout of; empty for
    /// collective operations, in which no node sends on its own.
    ///
    /// # Panics
    /// If there is no such job.
    pub fn partners(&self, number: usize, job: &Job) -> Vec<Partners> {
        let collective = matches!(
            job.traffic,
            Traffic::AllToAll { .. }
                | Traffic::AllReduce { .. }
                | Traffic::Neighbours { .. }
                | Traffic::Listed { .. }
        );
        if collective {
            return Vec::new();
        }
        // Times do not matter here, whatever they are counted in.
        let tick = Time::from_ps(1);
        let clients = clients(&job.traffic, &self.jobs[number], &self.servers, tick);
        let targets: Arc<[u32]> = clients.targets.as_slice().into();
        clients
            .nodes
            .iter()
            .map(|&(client, partner)| Partners {
                client,
                others: partner.map_or_else(|| Arc::clone(&targets), |partner| [partner].into()),
            })
            .collect()
    }

    /// The same pair by pair.
    ///
    /// # Panics
    /// If there is no such job.
    pub fn pairs(&self, number: usize, job: &Job) -> impl Iterator<Item = Pair> + use<> {
        let partners = self.partners(number, job).into_iter();
        partners.flat_map(|Partners { client, others }| {
            let of = others.iter().filter(|&&other| other != client).count();
            let all = (0..others.len()).map(move |at| others[at]);
            let others = all.filter(move |&other| other != client);
            others.map(move |other| Pair { client, other, of })
        })
    }
}
