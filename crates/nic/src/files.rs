//! Files that connections write: one connection each, and who closes it is told what became of it.

use crate::hub::{Awaited, State};
use crate::refusal::refusal;
use isthmus_nic_protocol::{Answer, Refusal, RefusalKind, Told};
use isthmus_stream::{ConnectionId, Manager};
use isthmus_stream_net::Event;

/// What becomes of the file of a connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum File {
    /// It is being written, or about to be kept.
    Written,
    /// It is there, whole and synced.
    Kept,
    /// Nothing was asked: what was there before is there still.
    Unused,
    /// What was there before is there still: why.
    NotKept(String),
}

impl File {
    /// The answer to who closes its connection; none while that is not known.
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
    /// Refuses a file that a connection writes already: the last to be closed would be all that is
    /// left.
    pub fn is_free(&self, destination: &str) -> Result<(), Refusal> {
        let mut all = self.connections.iter();
        let Some((id, line)) = all
            .find(|(_, line)| line.file == Some(File::Written) && line.destination == destination)
        else {
            return Ok(());
        };
        let (app, name) = (line.app, self.name(line.app));
        let text = format!(
            "`{destination}`: application {app} ({name}) writes it over connection {id}: wait until \
             that is closed, or take another name"
        );
        Err(refusal(RefusalKind::Conflict, text))
    }

    /// Forgets connections that the manager has forgotten, but for those whose files are not
    /// settled.
    pub fn forget_connections(&mut self, manager: &Manager) {
        self.connections.retain(|id, line| {
            line.file == Some(File::Written) || manager.connection_status(*id).is_ok()
        });
    }

    /// What became of a file, to those who closed its connection.
    pub fn settle_file(&mut self, event: &Event) {
        let (connection, file) = match event {
            Event::Kept { connection, .. } => (connection, File::Kept),
            Event::Unused { connection, .. } => (connection, File::Unused),
            Event::NotKept {
                connection, reason, ..
            } => (connection, File::NotKept(reason.clone())),
            _ => return,
        };
        let answer = file.answer();
        if let Some(line) = self.connections.get_mut(connection) {
            line.file = Some(file);
        }
        let waiters = self.waiters.remove(&Awaited::File(*connection));
        for waiter in waiters.into_iter().flatten() {
            let id = waiter.id;
            let told = match &answer {
                Some(Err(refusal)) => Told::Refused {
                    id: Some(id),
                    refusal: refusal.clone(),
                },
                _ => Told::Answer {
                    id,
                    answer: Answer::Done,
                },
            };
            waiter.mailbox.end_wait(&told);
        }
    }

    /// The file of a connection, if it goes to one.
    pub fn file(&self, id: ConnectionId) -> Option<&File> {
        self.connections.get(&id)?.file.as_ref()
    }
}
