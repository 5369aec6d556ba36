//! The metrics of the stream manager's daemon, as text for Prometheus.

use crate::counters::ENDS;
use crate::state::{Hub, State};
use isthmus_daemon::{Gate, Text};
use isthmus_stream::{Direction, State as StreamState};
use isthmus_stream_net::Driver;

/// Return the current value of all metrics of the daemon, as text for Prometheus.
pub(crate) fn render(hub: &Hub, state: &State, driver: &Driver) -> String {
    let mut text = Text::new("isthmus_nic", hub.started);
    add_gauges(&mut text, state, driver, &hub.gate);
    add_memory(&mut text, driver);
    add_counters(&mut text, state, driver);
    text.finish()
}

/// Add the metrics of the present state to the Prometheus text, such as the current numbers of
/// sessions, applications, connections and streams.
fn add_gauges(text: &mut Text, state: &State, driver: &Driver, gate: &Gate) {
    let (unauthenticated, dropped) = gate.unauthenticated();
    let apps = state.apps.len();
    text.gauge("applications", "Applications now.", apps);
    text.gauge("sessions", "Sessions now.", gate.sessions());
    let help = "Sockets now that have not said who they are.";
    text.gauge("unauthenticated", help, unauthenticated);
    let help = "Such sockets that were closed to make room for others.";
    text.counter("unauthenticated_dropped_total", help, dropped);
    let links = state.links.keys();
    let (mut whole, mut cut) = (0, 0);
    for link in links.filter(|link| driver.is_attached(**link)) {
        match driver.is_cut(*link) {
            true => cut += 1,
            false => whole += 1,
        }
    }
    text.gauge("links", "Links with ends now.", whole);
    let help = "Links now that were cut and may be made again.";
    text.gauge("links_cut", help, cut);
    let manager = driver.manager();
    let ids = state.connections.keys();
    let found = ids.filter_map(|id| manager.connection_status(*id).ok());
    let (open, opening) =
        found
            .filter(|one| one.gone.is_none())
            .fold((0, 0), |(open, opening), one| match one.open {
                true => (open + 1, opening),
                false => (open, opening + 1),
            });
    let each = [("open", open), ("opening", opening)];
    text.gauges("connections", "Connections now.", "state", &each);
    let mut streams = [0; 4];
    for id in manager.streams() {
        let index = match manager.status(id).map(|status| status.state) {
            Ok(StreamState::Inactive) => 0,
            Ok(StreamState::Pending) => 1,
            Ok(StreamState::Active) => 2,
            Ok(StreamState::Draining) => 3,
            _ => continue,
        };
        streams[index] += 1;
    }
    let names = ["inactive", "pending", "active", "draining"];
    let each: Vec<_> = names.into_iter().zip(streams).collect();
    let help = "Streams that have not ended, by state.";
    text.gauges("streams", help, "state", &each);
}

/// Add the memory in use, for staging and for the network, as gauges to the Prometheus text.
fn add_memory(text: &mut Text, driver: &Driver) {
    let manager = driver.manager();
    let directions = [Direction::Transmit, Direction::Receive];
    let [(out, sent), (into, held)] = directions.map(|direction| manager.used(direction));
    let (label, has) = ("direction", manager.config());
    let help = "Staging memory in use.";
    let each = [("transmit", out), ("receive", into)];
    text.gauges("staging_bytes", help, label, &each);
    let help = "Staging memory there is, in each direction.";
    text.gauge("staging_limit_bytes", help, has.staging_bytes);
    let help = "Network memory in use.";
    let each = [("transmit", sent), ("receive", held)];
    text.gauges("network_bytes", help, label, &each);
    let help = "Network memory there is, in each direction.";
    text.gauge("network_limit_bytes", help, has.network_bytes);
}

/// Add the counters since the start of the daemon to the Prometheus text.
fn add_counters(text: &mut Text, state: &State, driver: &Driver) {
    let counts = driver.manager().statistics();
    let counters = &state.counters;
    let help = "Data bytes sent for the first time.";
    text.counter("sent_bytes_total", help, counts.bytes_sent);
    let help = "Data bytes that went to ranks as good.";
    text.counter("delivered_bytes_total", help, counts.bytes_delivered);
    let help = "Packets sent for the first time.";
    text.counter("sent_packets_total", help, counts.packets_sent);
    let help = "Packets sent again.";
    text.counter("retransmissions_total", help, counts.retransmissions);
    let help = "Time-outs of the transmit half.";
    text.counter("timeouts_total", help, counts.timeouts);
    let help = "Packets that came again, or late.";
    text.counter("duplicate_packets_total", help, counts.duplicates);
    let help = "Packets whose data was not what was sent.";
    text.counter("corrupted_packets_total", help, counts.corrupted);
    let help = "Packets that cannot be of their connection.";
    text.counter("stray_packets_total", help, counts.stray);
    text.counter("adus_total", "ADUs moved.", counts.adus);
    let help = "Frames on links of streams they are not of.";
    text.counter("stray_frames_total", help, driver.figures().stray_frames);
    let help = "Connections that were lost.";
    text.counter("connections_lost_total", help, counters.lost);
    let help = "Times that a link lost its socket and waited for another one.";
    text.counter("links_cut_total", help, counters.links_cut);
    let help = "Times that a link was made again.";
    text.counter("links_restored_total", help, counters.links_restored);
    let help = "Links whose other end was gone.";
    text.counter("links_gone_total", help, counters.links_gone);
    let help = "Times that a stream made no progress for long.";
    text.counter("stalls_total", help, counters.stalls);
    let help = "Applications that were let in.";
    text.counter("applications_total", help, counters.applications);
    let help = "Requests that were answered.";
    text.counter("requests_total", help, counters.answered);
    let help = "Requests that were refused.";
    text.counter("refusals_total", help, counters.refused);
    let each: Vec<_> = ENDS.into_iter().zip(counters.ended).collect();
    let help = "Streams that ended, by how.";
    text.counters("streams_ended_total", help, "end", &each);
}
