mod counters;
mod engine;
mod error;
mod fabric;
mod rules;
mod traffic;

pub use counters::Counters;
pub use engine::Engine;
pub use error::Error;
pub use fabric::{End, Fabric, LinkId, NODES_MAX, Switch};
pub use rules::{
    Age, AgeFrom, Ascent, CHANNELS_MAX, Interface, Late, QUEUES_MAX, Rules, Switching, tie,
};
pub use traffic::{Delivery, Handler, Kind, Lane, Message, Offers, PacketSeen};
