//! What all threads of the daemon share.

use crate::hub::Hub;
use crate::metrics;
use crate::session;
use isthmus_daemon::{Service, Slot};
use isthmus_stream_net::Client;
use isthmus_wire::Transport;
use std::sync::Arc;

/// The service of the daemon: applications share one stream manager.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    pub hub: Arc<Hub>,
    pub client: Client,
}

impl Service for Shared {
    fn serve(&self, slot: Slot, transport: Transport) {
        session::run(self, slot, transport);
    }

    fn metrics(&self) -> Option<String> {
        let hub = Arc::clone(&self.hub);
        let called = self.client.call(move |driver| {
            let state = hub.state();
            metrics::text(&hub, &state, driver)
        });
        called.ok()
    }

    fn is_accepting(&self) -> bool {
        !self.hub.state().ending
    }
}
