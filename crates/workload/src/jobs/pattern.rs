//! Pairs of nodes that exchange data, independent of time: the input of analytic models.

use crate::jobs::layout::Layout;
use crate::jobs::roles::clients;
use crate::jobs::spec::{Job, Traffic};
use isthmus_units::Time;
use std::sync::Arc;

/// A client process and its possible partners. All partners are equally likely for a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partners {
    /// Number of the node of the client.
    pub client: u32,
    /// The nodes of the partners. The client's own node may be in the list and must be ignored.
    pub others: Arc<[u32]>,
}

/// A client process and one of its partners.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pair {
    /// Number of the node of the client.
    pub client: u32,
    /// The node of the partner, different from `client`.
    pub other: u32,
    /// Number of partners of the client, all equally likely.
    pub of: usize,
}

impl Layout {
    /// Return for each client (a process that sends requests) of `job`, the job with this number, the nodes with
    /// which it exchanges data. The result is empty for collective operations and listed messages.
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
        // The result does not depend on times, so any length of the tick is suitable.
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

    /// Return [`partners`](Self::partners) as pairs of a client and one partner.
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
