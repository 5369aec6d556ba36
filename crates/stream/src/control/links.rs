//! Handles the driver's reports on links: data that ranks offer, and links that are cut and
//! restored.

use super::stream::live;
use super::{Manager, Task};
use crate::error::{Error, Result};
use crate::ids::{Instant, LinkId, StreamId};
use crate::order::{Event, Work};

impl Manager {
    /// Handles the report that ranks have offered `bytes` of the stream's data on this link since
    /// the stream was submitted. A driver that does not know the number passes `u64::MAX`; orders
    /// to fetch data may then wait at the link.
    ///
    /// # Errors
    /// The stream is unknown, or does not transmit over the link.
    pub fn handle_offered(
        &mut self,
        now: Instant,
        id: StreamId,
        link: LinkId,
        bytes: u64,
    ) -> Result<()> {
        self.advance(now);
        let stream = self.streams.get_mut(&id).ok_or(Error::NoStream(id))?;
        let Some(link) = stream.links.iter_mut().find(|known| known.id == link) else {
            let what = format!("stream {id} does not use link {link}: name one of its format");
            return Err(Error::Conflict(what));
        };
        link.offered = link.offered.max(bytes);
        self.schedule_stream(id);
        self.settle();
        Ok(())
    }

    /// Handles the cut of a link: streams over it stop until it is restored. Data that was on the
    /// link at the cut is then moved again.
    pub fn handle_link_cut(&mut self, now: Instant, link: LinkId) {
        self.advance(now);
        if self.cut.contains_key(&link) {
            return;
        }
        let tasks = self.outstanding.iter().filter(|(_, task)| {
            matches!(task, Task::Fetch(.., su) | Task::Deliver(.., su) if su.link == link)
        });
        let orders: Vec<_> = tasks.map(|(order, _)| *order).collect();
        self.cut.insert(link, Vec::new());
        for order in orders {
            let Some(task) = self.outstanding.remove(&order) else {
                continue;
            };
            let (Task::Fetch(stream, slot, _) | Task::Deliver(stream, slot, _)) = task else {
                continue;
            };
            self.orders.retain(|waiting| waiting.id != order);
            let live = live(&self.streams, stream).is_some();
            match live.then(|| self.work_to_repeat(&task)).flatten() {
                Some(work) => {
                    if let Some(waiting) = self.cut.get_mut(&link) {
                        waiting.push((stream, slot, work));
                    }
                }
                None => self.completed(&task, 0, false),
            }
        }
        let users = self.streams.iter().filter(|(_, stream)| {
            stream.end.is_none() && stream.links.iter().any(|used| used.id == link)
        });
        let streams = users.map(|(id, _)| *id).collect();
        self.push_event(Event::LinkCut { link, streams });
        self.settle();
    }

    /// Handles the restore of a link that was cut: its streams continue.
    pub fn handle_link_restored(&mut self, now: Instant, link: LinkId) {
        self.advance(now);
        for (stream, slot, work) in self.cut.remove(&link).unwrap_or_default() {
            let task = match work {
                Work::Fetch { su, .. } => Task::Fetch(stream, slot, su),
                Work::Deliver { su, .. } => Task::Deliver(stream, slot, su),
                _ => continue,
            };
            self.issue_task(task, work);
            self.record_progress(stream);
        }
        self.settle();
    }

    /// Returns the part of a task that the manager must order again when the cut link is restored;
    /// `None` if the task needs no link or its stream has ended.
    fn work_to_repeat(&self, task: &Task) -> Option<Work> {
        let (Task::Fetch(stream, slot, su) | Task::Deliver(stream, slot, su)) = *task else {
            return None;
        };
        let buffers = self.streams.get(&stream)?.buffers.as_ref()?;
        let (tu, buffer, good) = (buffers[slot].tu, buffers[slot].id, !buffers[slot].void);
        Some(match task {
            Task::Fetch(..) => Work::Fetch {
                stream,
                tu,
                su,
                buffer,
            },
            _ => Work::Deliver {
                stream,
                tu,
                su,
                buffer,
                good,
            },
        })
    }
}
