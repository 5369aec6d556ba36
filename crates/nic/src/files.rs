//! Files that connections write, one file per connection. The answer to closing the connection
//! reports whether the file was completed.

use crate::refusal::refusal;
use crate::state::{State, WaitTarget};
use isthmus_nic_protocol::{Answer, Message, Refusal, RefusalKind};
use isthmus_stream::{ConnectionId, Manager};
use isthmus_stream_net::Event;

/// The state of the file that a connection writes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum File {
    /// The file is being written.
    Written,
    /// The file is complete and synced to disk.
    Kept,
    /// No stream wrote the file; the earlier file, if any, is unchanged.
    Unused,
    /// The file was discarded for this reason; the earlier file, if any, is unchanged.
    NotKept(String),
}

impl File {
    /// Return the answer to closing the connection; None while the file is being written.
    pub fn answer(&self) -> Option<Result<Answer, Refusal>> {
        match self {
            Self::Written => None,
            Self::Kept | Self::Unused => Some(Ok(Answer::Done)),
            Self::NotKept(why) => {
                let text = format!("the file was not kept, what was there before is: {why}");
                Some(Err(refusal(RefusalKind::Failed, text)))
            }
        }
    }
}

impl State {
    /// Check that no open connection writes the file `destination`. Otherwise return a refusal: of
    /// two connections, the one that is closed last would overwrite the other's file.
    pub fn check_free(&self, destination: &str) -> Result<(), Refusal> {
        let mut all = self.connections.iter();
        let Some((id, entry)) = all.find(|(_, entry)| {
            entry.file == Some(File::Written) && entry.destination == destination
        }) else {
            return Ok(());
        };
        let (app, name) = (entry.app, self.name(entry.app));
        let text = format!(
            "`{destination}`: application {app} ({name}) writes it over connection {id}: wait until \
             that is closed, or take another name"
        );
        Err(refusal(RefusalKind::Conflict, text))
    }

    /// Remove the entries of connections that the manager no longer knows, except those whose files
    /// are still being written.
    pub fn forget_connections(&mut self, manager: &Manager) {
        self.connections.retain(|id, entry| {
            entry.file == Some(File::Written) || manager.connection_status(*id).is_ok()
        });
    }

    /// Record whether the file of a connection was kept, if `event` reports it. Then answer the
    /// requests to close the connection, which wait for this.
    pub fn update_file(&mut self, event: &Event) {
        let (connection, file) = match event {
            Event::Kept { connection, .. } => (connection, File::Kept),
            Event::Unused { connection, .. } => (connection, File::Unused),
            Event::NotKept {
                connection, reason, ..
            } => (connection, File::NotKept(reason.clone())),
            _ => return,
        };
        let answer = file.answer();
        if let Some(entry) = self.connections.get_mut(connection) {
            entry.file = Some(file);
        }
        let waiters = self.waiters.remove(&WaitTarget::File(*connection));
        for waiter in waiters.into_iter().flatten() {
            let id = waiter.id;
            let message = match &answer {
                Some(Err(refusal)) => Message::Refused {
                    id: Some(id),
                    refusal: refusal.clone(),
                },
                _ => Message::Answer {
                    id,
                    answer: Answer::Done,
                },
            };
            waiter.mailbox.end_wait(&message);
        }
    }

    /// Return the state of the file of a connection, if it writes one.
    pub fn file(&self, id: ConnectionId) -> Option<&File> {
        self.connections.get(&id)?.file.as_ref()
    }
}
