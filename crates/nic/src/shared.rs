//! The state that all threads of the daemon share.

use crate::state::Hub;
use isthmus_stream_net::Client;
use std::sync::Arc;

/// The handles that all threads of the daemon share: its state and the driver.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    pub hub: Arc<Hub>,
    pub client: Client,
}
