//! The stream manager of a network interface, as a state machine without I/O (Steenkiste, *A
//! High-Speed Network Interface for Distributed-Memory Systems*, 1996, sections 4 and 5).
//!
//! Ranks of a parallel machine and the network meet at an interface. A [`Manager`] there moves
//! *streams*: sequences of application data units (ADUs). Each ADU is divided into transfer units
//! (TUs). Each TU is striped over several links as striping units (SUs), and sent in packets over a
//! logical connection. Receiving works the other way. The manager handles descriptors only. A
//! driver carries out its [orders](Work) with data, links and sockets, or in simulated time, and
//! reports the results. [`Manager`] documents the calls.
//!
//! | module | part of the paper |
//! |---|---|
//! | `control` | stream control unit (5.3.2, Figure 9): registration, status, cancellation |
//! | `resolver` | dependence resolver: order, sequencing, synchronisation |
//! | `scheduler` | resource scheduler: staging memory, engines, quantum, permanent resources |
//! | `execution`, `loading` | execution module: double buffering, transmit and receive |
//! | `network_memory` | network memory (4.2): packets until acknowledged, input until received |
//! | `protocol` | transmit and receive halves (4.3) |
//! | [`format`](mod@format) | data format specification (5.2) |
//! | [`checksum`] | checksums folded into a copy (4.2), partial sums (4.1) |
//! | [`wire`] | the header of packets |
//!
//! The crate uses no sockets, files, clocks, threads or data bytes. Time is the driver's
//! [`Instant`].
//!
//! The manager decides, the driver acts: a transfer unit of a stream over two links is fetched as
//! two striping units.
//!
//! ```
//! use isthmus_stream::{
//!     Config, ConnectionSpec, Direction, Format, Instant, Limits, LinkId, Manager, Protocol,
//!     StreamSpec, Work,
//! };
//!
//! let now = Instant(0);
//! let mut manager = Manager::new(Config::iwarp())?;
//! let app = manager.add_application(Limits::NONE);
//! let protocol = Protocol::Unconfirmed { reorder: 0 };
//! let connection = manager.open(now, app, ConnectionSpec::new("framebuffer", protocol, 0))?;
//! manager.handle_connected(now, connection);
//!
//! let links = [LinkId(0), LinkId(1)];
//! let format = Format::fixed(64 << 10, 64 << 10, &links);
//! let spec = StreamSpec::new(connection, Direction::Transmit, format, 1);
//! let stream = manager.submit(now, app, &spec)?;
//! for link in links {
//!     manager.handle_offered(now, stream, link, 32 << 10)?;
//! }
//! let mut fetched = Vec::new();
//! while let Some(order) = manager.poll_order() {
//!     if let Work::Fetch { su, .. } = order.work {
//!         fetched.push((su.link, su.bytes));
//!     }
//! }
//! assert_eq!(fetched, [(LinkId(0), 32 << 10), (LinkId(1), 32 << 10)]);
//! # Ok::<(), isthmus_stream::Error>(())
//! ```

pub mod checksum;
mod config;
mod control;
mod discarded;
mod error;
mod execution;
pub mod format;
mod ids;
mod loading;
mod network_memory;
mod order;
mod protocol;
mod resolver;
mod scheduler;
mod stall;
mod statistics;
pub mod wire;

pub use config::{Config, Confirm, ConnectionSpec, Finished, Limits, Other, Protocol};
pub use config::{StreamSpec, Timeouts};
pub use control::{ConnectionStatus, Manager, Status};
pub use error::{Error, Result};
pub use format::{Adu, Format, Su, Tu};
pub use ids::StreamId;
pub use ids::{AppId, BufferId, ConnectionId, Direction, Instant, LinkId, OrderId, PacketId};
pub use order::{End, Event, Order, Reason, State, Work};
pub use protocol::{Drop, Offer};
pub use stall::Wait;
pub use statistics::Statistics;
