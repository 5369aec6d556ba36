//! Registers streams, after checking their settings against the limits and for cyclic dependences.

use super::Manager;
use super::stream::{Group, Stream};
use crate::config::{Other, StreamSpec};
use crate::error::{Error, Result};
use crate::format::Adu;
use crate::ids::{AppId, Direction, Instant, StreamId};
use crate::order::State;
use std::collections::{BTreeMap, BTreeSet};

impl Manager {
    /// Registers a stream of an application.
    ///
    /// # Errors
    /// As [`submit_all`](Self::submit_all).
    pub fn submit(&mut self, now: Instant, app: AppId, spec: &StreamSpec) -> Result<StreamId> {
        let streams = self.submit_all(now, app, std::slice::from_ref(spec))?;
        Ok(streams[0])
    }

    /// Registers streams of an application together, in this order: either all of them or none.
    ///
    /// # Errors
    /// A format is invalid; a reference is unknown, closed or belongs to another application; a
    /// request exceeds the manager's resources or the application's limits; dependences are cyclic;
    /// a stream would join a group in lock step that has started already.
    pub fn submit_all(
        &mut self,
        now: Instant,
        app: AppId,
        specs: &[StreamSpec],
    ) -> Result<Vec<StreamId>> {
        self.advance(now);
        self.check_all(app, specs)?;
        let first = self.next_stream;
        let ids: Vec<_> = (first..).take(specs.len()).map(StreamId).collect();
        let steps = specs.iter().any(|spec| !spec.in_step_with.is_empty());
        let groups = steps.then(|| self.groups.clone());
        for (spec, id) in specs.iter().zip(&ids) {
            self.insert(app, spec, *id);
        }
        if let Err(error) = self.link_dependences(app, specs, &ids) {
            self.undo(&ids);
            self.restore_groups(groups);
            return Err(error);
        }
        self.next_stream += specs.len() as u32;
        for id in &ids {
            self.stalls
                .insert((self.now.after_ns(self.config.stall_ns), *id));
            self.dirty_connections.insert(self.streams[id].connection);
        }
        self.resolve = true;
        self.settle();
        Ok(ids)
    }

    /// Checks each stream of a submission, and their total against the application's limits.
    fn check_all(&self, app: AppId, specs: &[StreamSpec]) -> Result<()> {
        let state = self.apps.get(&app).ok_or(Error::NoApplication(app))?;
        let left = state.limits.streams - state.streams.min(state.limits.streams);
        if specs.len() as u64 > u64::from(left) {
            let limit = state.limits.streams;
            let what = format!("application {app} may have {limit} streams: wait for some to end");
            return Err(Error::Limit(what));
        }
        if specs.is_empty() {
            return Err(Error::Conflict(
                "no stream to submit: give at least one".into(),
            ));
        }
        specs.iter().try_for_each(|spec| self.check(app, spec))
    }

    /// Checks one stream against its connection, the manager's resources and the application's
    /// limits.
    fn check(&self, app: AppId, spec: &StreamSpec) -> Result<()> {
        spec.format.check()?;
        let id = spec.connection;
        let connection = self.connections.get(&id).ok_or(Error::NoConnection(id))?;
        if connection.app != app {
            let what = format!("connection {id} is not of application {app}");
            return Err(Error::Foreign(what));
        }
        if connection.closing {
            return Err(Error::NotOpen(id, "it is being closed".into()));
        }
        if let Some(why) = &connection.gone {
            // Data that arrived before the connection was lost can still be received.
            let held = spec.direction == Direction::Receive && !connection.receive.held.is_empty();
            if !held {
                return Err(Error::NotOpen(id, why.clone()));
            }
        }
        // Count also the streams that ended before their turn: they stay in the queue because their
        // numbers and end marks must still be used.
        let in_line = connection.order[spec.direction.index()].len();
        let most = self.apps.get(&app).map_or(0, |app| app.limits.streams);
        // Count also the end marks that the peer has not confirmed, even those of cancelled
        // streams.
        let marks = match spec.direction {
            Direction::Transmit if most < u32::MAX => connection.transmit.marks(),
            _ => 0,
        };
        if (in_line + marks) as u64 >= u64::from(most) {
            let unconfirmed = match marks {
                0 => String::new(),
                marks => format!(" and the ends of {marks} before them are not confirmed"),
            };
            return Err(Error::Limit(format!(
                "{in_line} streams are in line on connection {id}{unconfirmed}, application {app} \
                 may have {most} there: wait for the first, or cancel it"
            )));
        }
        if spec.quantum == 0 || spec.adus == Some(0) {
            let what = "a stream with a quantum or a number of ADUs of 0: each is at least 1";
            return Err(Error::Conflict(what.into()));
        }
        let tu = spec.format.tu_bytes;
        let staging = tu.saturating_mul(2);
        let engines = spec.format.links().len() as u64;
        if staging > self.config.staging_bytes || engines > u64::from(self.config.engines) {
            return Err(Error::NeverFits(format!(
                "two buffers of {tu} bytes and {engines} links: there are {} bytes of staging \
                 memory and {} engines",
                self.config.staging_bytes, self.config.engines
            )));
        }
        let (limit, network) = {
            let limits = self.limits(app);
            (limits.staging_bytes, limits.network_bytes)
        };
        if staging > limit {
            return Err(Error::Limit(format!(
                "two buffers of {tu} bytes: application {app} may have {limit} bytes of staging \
                 memory"
            )));
        }
        let (share, name) = match spec.direction {
            Direction::Transmit => {
                let share = connection.spec.share_bytes.min(network);
                (share, "its share of network memory")
            }
            Direction::Receive => (connection.spec.window_takes(), "its receive window"),
        };
        let packets = match spec.direction {
            Direction::Transmit => tu,
            Direction::Receive => 1,
        };
        if packets > share.min(self.memory.total()) {
            return Err(Error::NeverFits(format!(
                "a TU of {tu} bytes on connection {id}: {name} is {} bytes",
                share.min(self.memory.total())
            )));
        }
        Ok(())
    }

    /// Adds a checked stream to the manager's tables, under the number `id`.
    fn insert(&mut self, app: AppId, spec: &StreamSpec, id: StreamId) {
        let direction = spec.direction.index();
        let Some(connection) = self.connections.get_mut(&spec.connection) else {
            return;
        };
        let ordinal = connection.ordinals[direction];
        connection.ordinals[direction] += 1;
        connection.order[direction].push_back(id);
        connection.live += 1;
        self.streams
            .insert(id, Stream::new(app, spec, ordinal, self.now));
        if let Some(state) = self.apps.get_mut(&app) {
            state.streams += 1;
        }
    }

    /// Removes streams that were inserted into the manager's tables, after a later check failed.
    fn undo(&mut self, ids: &[StreamId]) {
        for id in ids.iter().rev() {
            let Some(stream) = self.streams.remove(id) else {
                continue;
            };
            let direction = stream.direction.index();
            if let Some(connection) = self.connections.get_mut(&stream.connection) {
                connection.order[direction].pop_back();
                connection.ordinals[direction] -= 1;
                connection.live -= 1;
            }
            if let Some(state) = self.apps.get_mut(&stream.app) {
                state.streams -= 1;
            }
        }
    }

    /// Restores the groups of streams in lock step to their state before a submission that failed.
    fn restore_groups(&mut self, groups: Option<BTreeMap<Group, BTreeSet<StreamId>>>) {
        let Some(groups) = groups else {
            return;
        };
        for stream in self.streams.values_mut() {
            stream.group = stream.group.filter(|group| groups.contains_key(group));
        }
        for (group, members) in &groups {
            for member in members {
                if let Some(stream) = self.streams.get_mut(member) {
                    stream.group = Some(*group);
                }
            }
        }
        self.groups = groups;
    }

    /// Connects the new streams to the streams that they must follow or run in step with, as their
    /// specifications say.
    fn link_dependences(
        &mut self,
        app: AppId,
        specs: &[StreamSpec],
        ids: &[StreamId],
    ) -> Result<()> {
        let new: BTreeSet<_> = ids.iter().copied().collect();
        let mut joined = false;
        for (spec, id) in specs.iter().zip(ids) {
            for other in &spec.after {
                let other = self.other(*other, *id, ids)?;
                if self.streams[&other]
                    .end
                    .as_ref()
                    .is_some_and(|end| *end != crate::order::End::Done)
                {
                    let what = format!("stream {other} did not end well: nothing comes after it");
                    return Err(Error::Conflict(what));
                }
                if let Some(stream) = self.streams.get_mut(id) {
                    stream.after.push(other);
                }
            }
            for other in &spec.in_step_with {
                let other = self.other(*other, *id, ids)?;
                let member = &self.streams[&other];
                if member.end.is_some() || member.started > 1 {
                    return Err(Error::Conflict(format!(
                        "stream {other} has started ADU {} or ended: a lock step is joined before \
                         that",
                        member.started.saturating_sub(1)
                    )));
                }
                joined |= !new.contains(&other);
                self.merge_groups(*id, other);
            }
        }
        self.view().check_cycles(&new, joined)?;
        if specs.iter().any(|spec| spec.permanent) {
            self.check_permanent(app)?;
        }
        new.iter().try_for_each(|id| self.check_step(*id))
    }

    /// Returns the stream to which a reference in a submission points.
    fn other(&self, other: Other, id: StreamId, ids: &[StreamId]) -> Result<StreamId> {
        let found = match other {
            Other::Stream(found) => found,
            Other::Here(place) => *ids.get(place).ok_or_else(|| {
                let what = format!("place {place} of a submission of {} streams", ids.len());
                Error::Conflict(what)
            })?,
        };
        let stream = self.streams.get(&found).ok_or(Error::NoStream(found))?;
        if stream.app != self.streams[&id].app {
            let what = format!("stream {found} is of another application");
            return Err(Error::Foreign(what));
        }
        Ok(found)
    }

    /// Merges the lock step groups of two streams.
    fn merge_groups(&mut self, id: StreamId, other: StreamId) {
        let group = Group(self.next_group);
        self.next_group += 1;
        let mut members = BTreeSet::from([id, other]);
        for stream in [id, other] {
            let old = self.streams.get(&stream).and_then(|stream| stream.group);
            members.extend(
                old.and_then(|old| self.groups.remove(&old))
                    .into_iter()
                    .flatten(),
            );
        }
        for member in &members {
            if let Some(stream) = self.streams.get_mut(member) {
                stream.group = Some(group);
            }
        }
        self.groups.insert(group, members);
    }

    /// Checks that all permanent streams fit into the resources together, since each holds its
    /// resources to its end.
    fn check_permanent(&self, app: AppId) -> Result<()> {
        let limit = self.limits(app).staging_bytes;
        for direction in [Direction::Transmit, Direction::Receive] {
            let alike = self.streams.values().filter(|stream| {
                stream.permanent && stream.end.is_none() && stream.direction == direction
            });
            let (mut bytes, mut engines, mut own) = (0u64, 0u64, 0u64);
            for need in alike.map(Stream::need) {
                bytes = bytes.saturating_add(need.staging_bytes);
                engines += u64::from(need.engines);
                if need.app == app {
                    own = own.saturating_add(need.staging_bytes);
                }
            }
            if own > limit {
                return Err(Error::Limit(format!(
                    "permanent streams would hold {own} bytes of staging memory: application {app} \
                     may have {limit}"
                )));
            }
            let there = (self.config.staging_bytes, self.config.engines);
            if bytes > there.0 || engines > u64::from(there.1) {
                return Err(Error::NeverFits(format!(
                    "permanent streams would hold {bytes} bytes of staging memory and {engines} \
                     engines: there are {} and {}",
                    there.0, there.1
                )));
            }
        }
        Ok(())
    }

    /// Checks a stream that runs in lock step with others. The permanent members of its group hold
    /// their resources until they end; they must leave enough resources for every other member.
    fn check_step(&self, id: StreamId) -> Result<()> {
        let stream = &self.streams[&id];
        let limit = self.limits(stream.app).staging_bytes;
        let Some(group) = stream.group else {
            return Ok(());
        };
        let members = self.groups.get(&group).into_iter().flatten();
        let members = members.filter_map(|id| self.streams.get(id));
        let members: Vec<_> = members.filter(|stream| stream.end.is_none()).collect();
        for direction in [Direction::Transmit, Direction::Receive] {
            let here = members
                .iter()
                .filter(|stream| stream.direction == direction);
            let needs: Vec<_> = here.map(|stream| stream.need()).collect();
            let kept = || needs.iter().filter(|need| need.permanent);
            let swapped = || needs.iter().filter(|need| !need.permanent);
            let bytes = kept().map(|need| need.staging_bytes).sum::<u64>()
                + swapped().map(|need| need.staging_bytes).max().unwrap_or(0);
            let engines = kept().map(|need| need.engines).sum::<u32>()
                + swapped().map(|need| need.engines).max().unwrap_or(0);
            let most = self.config.staging_bytes.min(limit);
            if bytes > most || engines > self.config.engines {
                return Err(Error::NeverFits(format!(
                    "streams in step with stream {id}: those that are permanent and one other need \
                     {bytes} bytes of staging memory and {engines} engines, there are {most} and {}",
                    self.config.engines
                )));
            }
        }
        Ok(())
    }

    /// Announces the next application data unit (ADU) of a stream with ADUs of variable size: its
    /// size is `bytes`, and its data is ready on the stream's links.
    ///
    /// # Errors
    /// The stream is unknown, has ended, receives, or has ADUs of fixed size; the ADU exceeds its
    /// number of ADUs; the size is 0 or above that of a transfer unit (TU).
    pub fn announce(&mut self, now: Instant, id: StreamId, bytes: u64) -> Result<()> {
        self.advance(now);
        let stream = self.streams.get_mut(&id).ok_or(Error::NoStream(id))?;
        let refuse = |what: String| Err(Error::Conflict(format!("stream {id}: {what}")));
        if stream.end.is_some() {
            return refuse("it has ended, nothing is announced any more".into());
        }
        if stream.direction == Direction::Receive || stream.format.adu != Adu::Variable {
            return refuse("only what is sent in ADUs of variable size is announced".into());
        }
        let announced = stream.started + stream.lengths.len() as u64;
        if stream.adus.is_some_and(|adus| announced >= adus) {
            return refuse(format!("it has {announced} ADUs, all of them announced"));
        }
        if bytes == 0 || bytes > stream.format.tu_bytes {
            let most = stream.format.tu_bytes;
            return refuse(format!(
                "an ADU of {bytes} bytes: 1 to {most}, a TU, can be"
            ));
        }
        stream.lengths.push_back(bytes);
        for link in &mut stream.links {
            let sus = stream.format.sus(bytes).filter(|su| su.link == link.id);
            link.offered = link.offered.saturating_add(sus.map(|su| su.bytes).sum());
        }
        self.schedule_stream(id);
        self.settle();
        Ok(())
    }

    /// Sets the total number of application data units (ADUs) of a stream that was submitted
    /// without one.
    ///
    /// # Errors
    /// The stream is unknown, has ended or receives; a different number was set before; more ADUs
    /// have been started or announced.
    pub fn finish(&mut self, now: Instant, id: StreamId, adus: u64) -> Result<()> {
        self.advance(now);
        let stream = self.streams.get_mut(&id).ok_or(Error::NoStream(id))?;
        let refuse = |what: String| Err(Error::Conflict(format!("stream {id}: {what}")));
        if stream.direction == Direction::Receive {
            return refuse("the sender says how many ADUs there are".into());
        }
        if stream.end.is_some() {
            return refuse("it has ended already".into());
        }
        if let Some(said) = stream.adus.filter(|said| *said != adus) {
            return refuse(format!("{adus} ADUs, {said} were said before"));
        }
        let least = stream.started + stream.lengths.len() as u64;
        if adus < least {
            return refuse(format!(
                "{adus} ADUs, of which {least} have started or were announced"
            ));
        }
        stream.adus = Some(adus);
        self.dirty_streams.insert(id);
        self.resolve = true;
        self.dirty_connections.insert(self.streams[&id].connection);
        self.settle();
        Ok(())
    }

    /// Marks a stream to be scheduled again, because new data or free memory is available to it.
    /// Does nothing if the stream is unknown.
    pub(crate) fn schedule_stream(&mut self, id: StreamId) {
        let Some(stream) = self.streams.get(&id) else {
            return;
        };
        match stream.state {
            State::Inactive => self.resolve = true,
            State::Pending => self.reschedule[stream.direction.index()] = true,
            _ => {}
        }
        self.dirty_streams.insert(id);
    }
}
