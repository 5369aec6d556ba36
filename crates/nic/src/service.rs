//! The stream manager as a service that the crate `isthmus-daemon` runs.

use crate::metrics;
use crate::session;
use crate::shared::Shared;
use isthmus_daemon::{Service, Slot};
use isthmus_wire::Transport;
use std::sync::Arc;

impl Service for Shared {
    /// Serve a client that has connected until its session or link ends.
    fn serve(&self, slot: Slot, transport: Transport) {
        session::run(self, slot, transport);
    }

    /// Return the metrics of the stream manager in the text format of Prometheus; `None` if it has failed.
    fn metrics(&self) -> Option<String> {
        let hub = Arc::clone(&self.hub);
        let called = self.client.call(move |driver| {
            let state = hub.state();
            metrics::render(&hub, &state, driver)
        });
        called.ok()
    }

    /// Return whether the daemon accepts new clients.
    fn is_accepting(&self) -> bool {
        !self.hub.state().ending
    }
}
